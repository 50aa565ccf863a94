"""What every change runs, and what the second tier runs beside that: tests that are marked `long`, and of
parameters that are taken in turn every other one."""

import os

import pytest


def is_full_run():
    """Whether the second tier runs as well."""
    return os.environ.get("UNSHARD_LONG") != "0"


def in_turn(values):
    """`values` as parameters that stand for each other: for every change a test takes every other one of them,
    and the next test of its file the others. All tests together take all of them. A tuple has a value for each name."""
    def parameter(number, value):
        if not hasattr(value, "marks"):  # no pytest.param
            value = pytest.param(*(value if isinstance(value, tuple) else (value,)))
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, pytest.mark.in_turn(number)])

    return [parameter(number, value) for number, value in enumerate(values)]


def of_the_second_tier(items):
    """Those of the collected tests that a run for every change leaves out."""
    turns, found = {}, set()
    for item in items:
        tests = turns.setdefault(item.module, {})
        turn = tests.setdefault(item.function, len(tests))
        numbers = [mark.args[0] for mark in item.iter_markers("in_turn")]
        if item.get_closest_marker("long") or numbers and (turn + sum(numbers)) % 2:
            found.add(item)
    return found
