"""Options of the conformance tests: UNSHARD_SEED=<n> draws another matrix of parameters."""

from judging import SEED


def pytest_report_header():
    return f"conformance matrix: UNSHARD_SEED={SEED}"
