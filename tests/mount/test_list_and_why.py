"""`unshard list` of all mounts of the machine, and `unshard why` of failed requests."""

import errno
import json
import mmap
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from mount_data import VersionedVolume, refused
from mounting import freeze, mounted_at, wait_until
from write_data import PATIENT, WriteCase, damaged, write_file

NOBODY = pwd.getpwnam("nobody")
BOUND = 30


@pytest.fixture
def case(work, mount):
    return WriteCase("zarr-nested", work, mount, f"{PATIENT},spool={work / 'spools'}")


def listed(run_unshard, *paths):
    """What the list says of mounts, for programs and for people: (object, line) of each."""
    done = run_unshard("list", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    mounts = json.loads(done.stdout)["mounts"]
    done = run_unshard("list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    answers = []
    for path in paths:
        found, = (one for one in mounts if one["mount_point"] == str(path))
        at = lines.index(str(path))
        assert lines[at + 1] == f"    source {found['source']}"
        answers.append((found, lines[at + 2].strip()))
    return answers if len(paths) > 1 else answers[0]


# ------------------------------------------------------------------------------------------------ list


def test_list_tells_what_a_writable_mount_has_not_published(case, work, run_unshard):
    path, pid = case.mount.path, case.mount.process.pid
    found, line = listed(run_unshard, path)
    assert line == f"read-write, process {pid}: all is published"
    case.put("c/0/0", 1)
    case.put("c/0/1", 1)
    found, line = listed(run_unshard, path)
    unpublished = found.pop("unpublished")
    assert found == {"mount_point": str(path), "source": str(case.top), "state": "serving",
                     "read_only": False, "pid": pid}
    assert unpublished.pop("spool").startswith(f"{work / 'spools'}/")
    assert unpublished.pop("oldest_milliseconds") >= 0
    assert unpublished == {"chunks": 2, "bytes": 2 * 48 * 64 * 2, "shards": 1, "conflicts": 0}
    assert line.startswith(f"read-write, process {pid}: 2 chunks (12 kB) not published, oldest ")


def test_list_tells_of_read_only_mounts(work, mount, run_unshard):
    mounted = mount(VersionedVolume(work / "source").path, "ro")
    found, line = listed(run_unshard, mounted.path)
    assert found["read_only"] is True and found["unpublished"] is None
    assert line == f"read-only, process {mounted.process.pid}"


@pytest.mark.long
def test_list_waits_for_no_mount_that_does_not_answer(work, mount, run_unshard):
    """Neither for a stopped one, nor for one whose process is gone; and tells of the others."""
    source = VersionedVolume(work / "source").path
    sound, stopped = (mount(source, "ro") for _ in range(2))
    point = work / "point"
    point.mkdir()
    assert run_unshard("mount", source, point, "-o", "ro").returncode == 0
    os.kill(json.loads((point / ".unshard/status.json").read_text())["pid"], signal.SIGKILL)
    assert wait_until(lambda: run_unshard("status", point).returncode != 0, BOUND)
    freeze(stopped.process.pid)
    try:
        dead, silent, serving = listed(run_unshard, point, stopped.path, sound.path)
        assert dead[0]["state"] == "dead" and f"unshard umount {point}" in dead[1]
        assert silent[0]["state"] == "silent" and "does not answer" in silent[1]
        assert serving[0]["state"] == "serving"
        done = run_unshard("why", stopped.path / "scale")
        assert done.returncode == 1 and "does not answer" in done.stderr
        done = run_unshard("why", point / "scale")
        assert done.returncode == 1 and "process of this mount is gone" in done.stderr
    finally:
        os.kill(stopped.process.pid, signal.SIGCONT)
        run_unshard("umount", point)
    assert not mounted_at(point)


def test_list_names_the_mounts_of_others(work, mount, unshard_binary):
    if os.geteuid() != 0:
        pytest.skip("needs root: runs a program as another user")
    mounted = mount(VersionedVolume(work / "source").path, "ro")
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        program = pathlib.Path(place) / "unshard"
        shutil.copy(unshard_binary, program)
        program.chmod(0o755)

        def run_as_nobody(*arguments):
            return subprocess.run([program, *arguments], capture_output=True, text=True, cwd="/",
                                  user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=[],
                                  timeout=BOUND)

        found, line = listed(run_as_nobody, mounted.path)
    assert found["state"] == "unreadable" and "another user" in line


def test_a_part_that_is_mounted_elsewhere_is_listed_and_led_back_to_its_mount(
        case, work, run_unshard):
    if os.geteuid() != 0:
        pytest.skip("needs root: makes a bind mount")
    part = work / "part"
    part.mkdir()
    subprocess.run(["mount", "--bind", case.root, part], check=True, timeout=BOUND)
    try:
        assert listed(run_unshard, part)[0]["state"] == "hidden"
        refused(errno.EINVAL, write_file, part / "c/0/0", b"short")
        done = run_unshard("why", part / "c/0/0")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"{case.root}/c/0/0: close failed with EINVAL at ")
    finally:
        subprocess.run(["umount", part], check=True, timeout=BOUND)


def test_list_escapes_what_moves_a_cursor(work, mount, run_unshard):
    source = VersionedVolume(work / "so\x1b[31mur\nce").path
    mounted = mount(source, "ro")
    done = run_unshard("list")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[lines.index(str(mounted.path)) + 1].endswith(r"so\x1b[31mur\x0ace")


# ------------------------------------------------------------------------------------------------- why


def explained(run_unshard, path, **more):
    """[what, why, what to do]"""
    done = run_unshard("why", path, **more)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    what, why, to_do = done.stdout.splitlines()
    assert why.startswith("    why: ") and to_do.startswith("    what to do: ")
    return what, why, to_do


def test_why_explains_a_chunk_of_a_wrong_length(case, run_unshard):
    chunk = case.path("c/0/0")
    refused(errno.EINVAL, write_file, chunk, b"short")
    for path in (chunk, chunk.parent, case.mount.path):
        what, why, to_do = explained(run_unshard, path)
        assert what.startswith(f"{chunk}: close failed with EINVAL at 20")
        assert "6144 bytes" in why and "found 5" in why
        assert "the previous chunk stays" in to_do and f"unshard info {case.top}" in to_do
    assert explained(run_unshard, "c/0/0", cwd=case.root)[0].startswith(f"{chunk}: ")
    assert chunk.read_bytes() == case.expected["c/0/0"]


def test_why_explains_the_last_failure_and_only_those_of_the_path(case, run_unshard):
    refused(errno.EINVAL, write_file, case.path("c/0/0"), b"short")
    refused(errno.EINVAL, write_file, case.path("c/0/1"), b"other")
    refused(errno.EINVAL, write_file, case.path("c/0/0"), b"longer")
    assert "found 6" in explained(run_unshard, case.path("c/0/0"))[1]
    assert "found 5" in explained(run_unshard, case.path("c/0/1"))[1]
    done = run_unshard("why", case.path("c/1/0"))
    assert (done.returncode, done.stdout) == (1, "")
    assert str(case.path("c/1/0")) in done.stderr and "no failed request is recorded" in done.stderr


@pytest.mark.parametrize("view, chunks", [("native", "scale"), ("all", "precomputed/scale")])
def test_why_explains_files_that_do_not_exist(view, chunks, work, mount, run_unshard):
    source = VersionedVolume(work / "source")
    source.shard_path(0).unlink()
    mounted = mount(source.path, f"ro,view={view}")
    for name, reason in ((f"{chunks}/0-24_0-24_0-24", "this chunk is not stored"),
                         (f"{chunks}/960-984_0-24_0-24", "the chunk is outside the array"),
                         (f"{chunks}/notes", "no file of the source and no chunk has this name"),
                         ("notes", "no file of the source and no chunk has this name")):
        assert not os.path.lexists(mounted.path / name)
        what, why, to_do = explained(run_unshard, mounted.path / name)
        assert what == f"{mounted.path / name}: does not exist"
        assert reason in why and f"unshard info {source.path}" in to_do


def test_why_knows_whether_a_missing_chunk_can_be_written(case, mount, run_unshard):
    absent = case.absent(1)[0]
    assert "creates it" in explained(run_unshard, case.path(absent))[1]
    read_only = mount(case.top, "ro")
    assert "creates it" not in explained(run_unshard, read_only.path / "data" / absent)[1]


def test_why_explains_names_that_belong_to_no_chunk_file(work, mount, run_unshard):
    VersionedVolume(work / "source/volume")
    plain = work / "source/plain"
    plain.mkdir()
    (plain / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [8, 8], "data_type": "uint8",
        "fill_value": 0, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}))
    mounted = mount(work / "source")
    for name, reason in (("volume/scale/0.shard", "this is a shard"),
                         ("volume/scale/0.shard.__lock", "this is a shard, or its lock"),
                         ("plain/c/0/0", "in an array without shards (uint8 [8, 8]")):
        assert reason in explained(run_unshard, mounted.path / name)[1], name


def test_why_explains_what_waits_is_quarantined_or_is_scratch(work, mount, run_unshard):
    case = WriteCase("zarr-nested", work, mount, f"{PATIENT},strict")
    theirs, ours, gone = case.present(3)
    assert run_unshard("why", case.path(ours)).returncode == 1
    case.put(ours, 1)
    what, why, to_do = explained(run_unshard, case.path(ours))
    assert what == f"{case.path(ours)}: written, and not published yet"
    assert "the chunk as it was" in why and f"unshard flush {case.mount.path}" in to_do
    os.unlink(case.path(gone))
    assert explained(run_unshard, case.path(gone))[0].endswith(": removed, and not published yet")
    scratch = case.path(ours).with_name(".partial")
    write_file(scratch, b"scratch")
    assert "ends with the mount" in explained(run_unshard, scratch)[1]
    case.put(theirs, 1)
    case.source.fill({theirs: case.bytes_for(theirs, 9)})
    refused(errno.EIO, os.setxattr, case.mount.path / ".unshard", "user.unshard.flush", b"")
    what, why, to_do = explained(run_unshard, case.path(theirs))
    assert what == f"{case.path(theirs)}: not published, but quarantined"
    assert "another program has changed this chunk" in why
    assert f"unshard spool drop {case.top} data/{theirs}" in to_do
    assert run_unshard("spool", "drop", case.top, f"data/{theirs}").returncode == 0


def test_why_of_a_read_only_mount_says_that_it_is(work, mount, run_unshard):
    source = VersionedVolume(work / "source")
    mounted = mount(source.path, "ro")
    chunk = mounted.path / source.names[0]
    refused(errno.EROFS, open, chunk, "wb")
    done = run_unshard("why", chunk)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the mount is read-only" in done.stderr and "without ro" in done.stderr


def test_why_explains_what_no_option_would_let_happen(case, run_unshard):
    control = case.mount.path / ".unshard/status.json"
    refused(errno.EROFS, open, control, "wb")
    assert "without ro" not in explained(run_unshard, control)[2]
    absent = case.path(case.absent(1)[0])
    refused(errno.EINVAL, os.mkdir, absent)
    assert "choose a name for the directory" in explained(run_unshard, absent)[2]
    document = case.path("zarr.json")
    changed = {**json.loads(document.read_text()), "data_type": "int16"}
    refused(errno.EPERM, write_file, document, json.dumps(changed).encode())
    assert "leave that member as it is" in explained(run_unshard, document)[2]


def test_why_explains_what_a_mount_does_not_let_happen(case, run_unshard):
    refused(errno.EPERM, os.unlink, case.path("zarr.json"))
    what, why, to_do = explained(run_unshard, case.path("zarr.json"))
    assert "unlink failed with EPERM" in what and "remove those chunks first" in why
    assert "`rm -r`" in to_do


def test_why_explains_damage(case, run_unshard):
    name = case.present(1)[0]
    shard = case.source.shard_path(name)
    with damaged(shard):
        assert wait_until(lambda: unreadable(case.path(name)), BOUND)
        what, why, to_do = explained(run_unshard, case.path(name))
    assert "failed with EIO" in what and shard.name in why
    assert "with an intact copy" in to_do and str(case.top) in to_do


def test_why_explains_a_read_that_the_disk_fails(work, mount, run_unshard):
    """Large pieces are spliced, and libfuse answers where that fails."""
    source = VersionedVolume(work / "source")
    (source.path / "large").write_bytes(bytes(1 << 20))
    time.sleep(3.5)  # what has just changed is read
    mounted = mount(source.path, "ro,no_io_uring", prefix=[
        "strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=splice", "-e", "inject=splice:error=EIO"])
    large = mounted.path / "large"
    # Past the page cache, which would ask again for each page, and as much as a pipe takes.
    with open(large, "rb", buffering=0, opener=lambda path, flags: os.open(path, flags | os.O_DIRECT)) as file:
        refused(errno.EIO, file.readinto, mmap.mmap(-1, 1 << 19))
    what, why, _ = explained(run_unshard, large)
    assert what.startswith(f"{large}: read failed with EIO"), what
    assert "reading the stored bytes: Input/output error" in why, why


def unreadable(path):
    try:
        path.read_bytes()
    except OSError as error:
        return error.errno == errno.EIO
    return False


def test_why_of_what_is_in_no_mount_says_so(work, run_unshard):
    for path in (work, work / "missing/file"):
        done = run_unshard("why", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert str(path) in done.stderr and "no mount of unshard" in done.stderr


def test_each_refused_close_is_one_line(case):
    def releases():
        return case.mount.status()["counters"]["requests"]["release"]

    for number in range(1, 4):
        before = releases()
        refused(errno.EINVAL, write_file, case.path("c/0/0"), b"short"[:number])
        # The kernel sends it after close has returned.
        assert wait_until(lambda: releases() > before, BOUND)
        lines = case.mount.control("errors").splitlines()
        assert len(lines) == number, lines
        assert lines[-1].endswith("close /data/c/0/0 EINVAL invalid argument: chunk: expected "
                                  f"exactly 6144 bytes, found {number}")
