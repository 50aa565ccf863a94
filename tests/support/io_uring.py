"""Switches FUSE over io_uring on for a while, for all mounts that are made then, also by other tests."""

import contextlib
import fcntl
import pathlib

import pytest

SWITCH = pathlib.Path("/sys/module/fuse/parameters/enable_uring")
FORBIDDEN = pathlib.Path("/proc/sys/kernel/io_uring_disabled")


@contextlib.contextmanager
def setting(path, value):
    """Sets a parameter of the kernel, and restores it afterwards."""
    before = path.read_text().strip()
    path.write_text(value)
    try:
        yield
    finally:
        path.write_text(before)


@contextlib.contextmanager
def io_uring_if_offered():
    """Holds a lock meanwhile: two test programs at once would restore each other's setting."""
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
    """The number of requests of a mount that came over io_uring."""
    return mounted.status()["counters"]["over_io_uring"]
