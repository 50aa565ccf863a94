"""The guardian of a mount: the child process that ends what a dead daemon leaves (fs/kernel/guardian.h)."""

import contextlib
import os
import pathlib
import signal

import pytest

from mount_data import VersionedVolume, refused
from mounting import DEAD, guardian_of, mounted_at, wait_until

BOUND = 30


@pytest.fixture
def source(work):
    return VersionedVolume(work / "source")


def files_open_in(process):
    """What the descriptors of a process refer to."""
    files = set()
    for each in pathlib.Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            files.add(os.readlink(each))
    return files


def test_the_foreground_process_is_one_process_with_a_guardian(source, mount):
    mounted = mount(source.path)
    daemon = mounted.process.pid
    assert mounted.status()["pid"] == daemon
    children = pathlib.Path(f"/proc/{daemon}/task/{daemon}/children")
    guardian = guardian_of(mounted)
    assert [str(guardian)] == children.read_text().split()
    # Who looks for the daemon by its command line does not find the guardian.
    command = pathlib.Path(f"/proc/{guardian}/cmdline")
    assert wait_until(lambda: command.read_bytes().startswith(b"unshard: guardian of"), BOUND)


def test_the_guardian_holds_nothing_and_ends_with_the_daemon(source, mount):
    mounted = mount(source.path)
    guardian = pathlib.Path(f"/proc/{guardian_of(mounted)}")
    allowed = {"/dev/null", "anon_inode:[pidfd]"}

    def surplus():
        return {each for each in files_open_in(guardian.name) if not each.endswith("/abort")} - allowed
    # Until it has its order it holds the pipe that this comes through.
    assert wait_until(lambda: not surplus(), BOUND), surplus()
    assert os.readlink(guardian / "cwd") == "/"
    for harmless in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        os.kill(int(guardian.name), harmless)
    assert mounted.terminate() == 0
    assert not guardian.exists()


def test_the_guardian_aborts_what_a_killed_daemon_leaves_and_leaves_it_mounted(source, mount):
    mounted = mount(source.path)
    guardian = pathlib.Path(f"/proc/{guardian_of(mounted)}/stat")
    mounted.terminate(signal.SIGKILL)
    assert wait_until(lambda: not guardian.exists() or ") Z " in guardian.read_text(), BOUND)
    assert mounted_at(mounted.path) == "fuse.unshard"
    refused(DEAD, os.statvfs, mounted.path)
