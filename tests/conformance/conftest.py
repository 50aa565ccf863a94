"""Options of the conformance tests: UNSHARD_SEED=<n> draws another matrix of parameters."""

import pathlib

import pytest

from judging import SEED
from python_service import PythonService


def pytest_report_header():
    return f"conformance matrix: UNSHARD_SEED={SEED}"


@pytest.fixture(scope="session")
def frozen_zarr(frozen_python):
    """zarr-python 2.18: its `call` runs a function of frozen_zarr.py."""
    service = PythonService(frozen_python, pathlib.Path(__file__).parent / "frozen_zarr.py")
    yield service
    service.end()
