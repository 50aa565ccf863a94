"""`unshard status`, `flush` and `umount` on mounts that nobody writes to."""

import json
import os
import signal
import subprocess

import pytest

from mount_data import VersionedVolume
from mounting import mounted_at, wait_until

BOUND = 30


@pytest.fixture
def source(work):
    return VersionedVolume(work / "source")


def has_ended(pid):
    """Whether a process holds nothing any more; its parent may not have looked at it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_status_tells_source_mount_point_and_mode(source, mount, run_unshard):
    mounted = mount(source.path, "ro")
    done = run_unshard("status", mounted.path)
    assert (done.returncode, done.stderr) == (0, "")
    for word in (str(source.path), f"{mounted.path}, read-only", f"process {mounted.process.pid}"):
        assert word in done.stdout
    assert "spool" not in done.stdout


def test_status_as_json_is_the_control_file(source, mount, run_unshard):
    mounted = mount(source.path, "ro")
    shown = json.loads(run_unshard("status", "--json", mounted.path).stdout)
    assert shown["read_only"] is True and shown["write"] is None
    assert shown["pid"] == mounted.process.pid
    assert json.loads(mounted.control("config.json"))["read_only"] is True


@pytest.mark.parametrize("options", ["ro", "immutable", "rw,immutable", "immutable,rw"])
def test_the_kernel_knows_which_mounts_are_read_only(source, mount, options):
    mounted = mount(source.path, options)
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        if f" {mounted.path} " in line:
            assert "ro" in line.split()[5].split(",")
            break
    else:
        raise AssertionError("not in the table of mounts")
    assert mounted.status()["read_only"] is True


def test_watch_prints_one_line_a_second_where_no_terminal_is(source, mount, unshard_binary):
    mounted = mount(source.path, "ro")
    with subprocess.Popen([unshard_binary, "status", "--watch", str(mounted.path)], text=True,
                          stdout=subprocess.PIPE) as watching:
        lines = [watching.stdout.readline() for _ in range(3)]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(BOUND) != 0
    assert set(lines) == {f"{mounted.path}: read-only\n"}


def test_watch_ends_with_the_mount(source, mount, unshard_binary):
    mounted = mount(source.path, "ro")
    with subprocess.Popen([unshard_binary, "status", "--watch", str(mounted.path)], text=True,
                          stdout=subprocess.PIPE) as watching:
        watching.stdout.readline()
        # A look at the status may keep the mount busy for a moment.
        assert wait_until(lambda: subprocess.run(["fusermount3", "-u", mounted.path],
                                                 capture_output=True).returncode == 0, BOUND)
        mounted.ended = True
        rest = watching.stdout.read()
        assert watching.wait(BOUND) == 0
    assert rest.splitlines()[-1].startswith("the mount has ended")
    assert mounted.process.wait(BOUND) == 0


def test_flush_of_a_read_only_mount_has_nothing_to_wait_for(source, mount, run_unshard):
    done = run_unshard("flush", mount(source.path, "ro").path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("command", ["status", "flush"])
def test_what_is_no_mount_is_named(work, run_unshard, command):
    (work / "plain").mkdir()
    for path in (work / "plain", work / "missing"):
        done = run_unshard(command, path)
        assert done.returncode == 1 and str(path) in done.stderr and done.stdout == ""


@pytest.mark.parametrize("command", ["status", "flush"])
def test_a_dead_mount_is_named_as_such(source, work, run_unshard, command):
    point = work / "point"
    point.mkdir()
    assert run_unshard("mount", source.path, point, "-o", "ro").returncode == 0
    os.kill(json.loads((point / ".unshard/status.json").read_text())["pid"], signal.SIGKILL)
    try:
        assert wait_until(lambda: run_unshard(command, point).returncode != 0, BOUND)
        done = run_unshard(command, point)
        assert done.returncode == 1 and "process of this mount is gone" in done.stderr
    finally:
        assert run_unshard("umount", point).returncode == 0
    assert not mounted_at(point)


def test_umount_returns_once_the_process_has_ended(source, work, run_unshard):
    point = work / "point"
    point.mkdir()
    for _ in range(5):
        assert run_unshard("mount", source.path, point, "-o", "ro").returncode == 0
        pid = json.loads((point / ".unshard/status.json").read_text())["pid"]
        assert run_unshard("umount", point).returncode == 0
        assert has_ended(pid)


@pytest.mark.parametrize("options, words", [
    ("spool_size=1", ["spool_size", "1M"]), ("spool_files=0", ["spool_files"]),
    ("publish_after=soon", ["publish_after", "soon"]), ("publish_threads=0", ["publish_threads"]),
    ("sync=disk", ["sync", "spool", "store"]), ("strict=yes", ["strict"])])
def test_bad_options_of_writing_are_refused_by_name(source, work, run_unshard, options, words):
    (work / "point").mkdir()
    done = run_unshard("mount", source.path, work / "point", "-o", options)
    assert done.returncode != 0 and not mounted_at(work / "point")
    assert all(word in done.stderr for word in words), done.stderr


def test_a_spool_inside_the_mount_is_refused(source, work, run_unshard):
    point = work / "point"
    point.mkdir()
    for folder in (point, point / "spool", work / "point/../point/deep/spool"):
        done = run_unshard("mount", source.path, point, "-o", f"spool={folder}")
        assert done.returncode == 1 and "outside the mount point" in done.stderr
        assert not mounted_at(point)
