"""Switches FUSE over io_uring on for mounts that begin meanwhile, also those of other tests."""

import contextlib
import fcntl
import pathlib

import pytest

SWITCH = pathlib.Path("/sys/module/fuse/parameters/enable_uring")
FORBIDDEN = pathlib.Path("/proc/sys/kernel/io_uring_disabled")


@contextlib.contextmanager
def setting(path, value):
    """A setting of the kernel, for a while."""
    before = path.read_text().strip()
    path.write_text(value)
    try:
        yield
    finally:
        path.write_text(before)


@contextlib.contextmanager
def io_uring_if_offered():
    """One test program at a time: each puts back what it has found."""
    with open(__file__) as lock, contextlib.ExitStack() as settings:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if SWITCH.exists():
            settings.enter_context(setting(SWITCH, "Y"))
        yield


def io_uring_switched_on():
    if not SWITCH.exists():
        pytest.skip(f"{SWITCH} is not there: FUSE over io_uring needs Linux 6.14")
    return io_uring_if_offered()


def over_io_uring(mounted):
    """How many requests of a mount came that way."""
    return mounted.status()["counters"]["over_io_uring"]
