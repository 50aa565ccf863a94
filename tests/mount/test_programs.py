"""Runs the examples of fs/docs/programs.md with the programs that are named there."""

import pathlib
import shlex
import sys

import pytest

from document_examples import differences, mounts_below, shell_in

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "fs/docs/programs.md"
COMMAND_SECONDS = 240


@pytest.fixture
def tools(work, unshard_binary, sample_binary):
    """`python3` is the Python that runs this, with all libraries of the tests."""
    python = work / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -W ignore "$@"\n')
    python.chmod(0o755)
    return {"unshard": unshard_binary, "unshard-sample": sample_binary, "python3": python}


def test_every_program_prints_what_the_page_says(work, tools):
    with shell_in(work, tools) as shell:
        faults = differences(DOCUMENT, shell, COMMAND_SECONDS)
        assert not faults, "\n\n".join(faults)
        assert not mounts_below(work), "the examples leave something mounted"
