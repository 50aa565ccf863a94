"""`unshard spool list|export|publish` on spools that dead mounts have left."""

import fcntl
import json
import os
import shutil
import zlib

import pytest

from mount_data import VersionedVolume
from mounting import kill
from write_data import PATIENT, WriteCase, damaged


def checksum(data):
    """CRC-32/BZIP2: the CRC of zlib with the bits of each byte, and of the result, reversed."""
    mirrored = bytes(int(f"{byte:08b}"[::-1], 2) for byte in data)
    return int(f"{zlib.crc32(mirrored):032b}"[::-1], 2)


class LeftSpool:
    """A spool as a mount leaves it when it is killed, written by hand."""

    def __init__(self, path, source):
        self.path = path
        (path / "staging").mkdir(parents=True)
        (path / "owner").write_text(json.dumps({
            "source": str(source), "host": "elsewhere", "boot": "some-boot", "process": "4711",
            "version": "2"}))

    def put(self, dataset, chunk, data, sequence, top="chunks"):
        """Seals a chunk, or a removal where `data` is None. Returns the file."""
        folder = self.path / top / dataset.replace("/", "%2F")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".path").write_text(dataset + "\n")
        seal = f"s{sequence}-r-a"
        if data is not None:
            seal = f"s{sequence}-f{len(data)}-{checksum(data):08x}-a"
        path = folder / f"{chunk.replace('/', '%2F')},{seal}"
        path.write_bytes(data or b"")
        return path


@pytest.fixture
def source(work):
    return VersionedVolume(work / "source")


@pytest.fixture
def folder(work):
    path = work / "spools"
    path.mkdir(0o700)
    return path


@pytest.fixture
def left(folder, source):
    spool = LeftSpool(folder / "one", source.path)
    spool.put("scale", "0-24_0-24_0-24", b"older", 1)
    spool.put("scale", "0-24_0-24_0-24", b"newer!", 4)
    spool.put("scale", "24-48_0-24_0-24", None, 5)
    spool.put("scale", "0-24_0-24_0-24", b"theirs", 2, top="conflicts")
    return spool


def test_an_empty_folder_and_the_default_one_have_no_spools(folder, work, run_unshard):
    done = run_unshard("spool", "list", "--spool", folder)
    assert (done.returncode, done.stderr) == (0, "") and "no spools" in done.stdout
    done = run_unshard("spool", "list", env={"XDG_STATE_HOME": str(work / "nothing")})
    assert (done.returncode, done.stderr) == (0, "") and str(work / "nothing") in done.stdout
    assert not (work / "nothing").exists()


def test_a_folder_that_is_not_there_is_named(work, run_unshard):
    for action in (["list"], ["publish", work], ["export", work]):
        done = run_unshard("spool", *action, "--spool", work / "missing")
        assert done.returncode == 1 and str(work / "missing") in done.stderr


@pytest.mark.parametrize("default", [False, True], ids=["--spool", "default folder"])
@pytest.mark.parametrize("action", ["list", "publish", "drop"])
def test_a_source_that_does_not_exist_is_named(left, folder, work, run_unshard, action, default):
    """A misspelled one must not look as if there were nothing to do."""
    options = [] if default else ["--spool", folder]
    options += ["--all"] if action == "drop" else []
    for wrong in (work / "suorce", "one", "file:///nowhere/at/all"):
        done = run_unshard("spool", action, *options, wrong, cwd=work,
                           env={**os.environ, "XDG_STATE_HOME": str(work / "state")})
        assert (done.returncode, done.stdout) == (1, ""), done
        assert str(wrong).removeprefix("file://") in done.stderr
        assert "No such file or directory" in done.stderr
        assert f"no spool in {work / 'state/unshard/spool' if default else folder}" in done.stderr
        assert "`unshard spool list" in done.stderr
    assert not (work / "state").exists() and len(list(left.path.rglob("*,*"))) == 4


def test_a_source_that_is_gone_is_known_by_its_spool(left, folder, source, run_unshard):
    shutil.rmtree(source.path)
    done = run_unshard("spool", "list", "--spool", folder, source.path)
    assert (done.returncode, done.stderr) == (0, "") and "2 chunks" in done.stdout
    done = run_unshard("spool", "drop", "--all", "--spool", folder, source.path)
    assert (done.returncode, done.stdout) == (0, "1 quarantined chunk dropped\n")


def test_drop_removes_empty_spools_of_a_source_that_is_gone(left, folder, source, work, run_unshard):
    """No mount of it comes to do so. What holds anything stays, and what a living mount uses."""
    empty, foreign, used = (LeftSpool(folder / name, source.path) for name in ("two", "x", "y"))
    (foreign.path / ".nfs0001").write_text("open elsewhere")
    uploading = LeftSpool(folder / "z", source.path)
    (uploading.path / "attempts").mkdir()
    (uploading.path / "attempts/1").write_text(json.dumps(
        {"key": "scale/0.shard", "id": "", "sequences": [], "upload": "some-upload"}) + "\n")
    LeftSpool(folder / "other", work / "another")
    shutil.rmtree(source.path)
    drop = ["spool", "drop", "--all", "--spool", folder, source.path]
    assert f"`unshard spool drop --all {source.path}` removes it" in run_unshard(
        "spool", "list", "--spool", folder, source.path).stdout
    assert empty.path.exists(), "looking never writes"
    with open(used.path / "owner", "r+b") as owner:
        fcntl.lockf(owner, fcntl.LOCK_EX)
        done = run_unshard(*drop)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "1 quarantined chunk dropped\n1 empty spool removed\n", "")
    kept = {"one", "other", "x", "y", "z"}
    assert {path.name for path in folder.iterdir()} == kept
    assert "2 chunks" in run_unshard("spool", "list", "--spool", folder).stdout
    assert (foreign.path / ".nfs0001").exists() and (uploading.path / "attempts/1").exists()
    assert run_unshard(*drop).stdout == "0 quarantined chunks dropped\n1 empty spool removed\n"
    assert {path.name for path in folder.iterdir()} == kept - {"y"}


def test_list_tells_source_owner_chunks_and_conflicts(left, folder, source, run_unshard):
    done = run_unshard("spool", "list", "--spool", folder)
    assert (done.returncode, done.stderr) == (0, "")
    for words in (str(left.path), f"source {source.path}", "left by process 4711 on elsewhere",
                  "2 chunks, 6 bytes, 1 conflict"):
        assert words in done.stdout, done.stdout
    assert "0-24" not in done.stdout
    lines = run_unshard("spool", "list", "-v", "--spool", folder).stdout.splitlines()
    chunks = [line.split()[:3] for line in lines if "scale/" in line.split()[0]]
    assert chunks == [["scale/0-24_0-24_0-24", "6", "bytes"],
                      ["scale/24-48_0-24_0-24", "removed", chunks[1][2]],
                      ["scale/0-24_0-24_0-24", "6", "bytes"]]
    assert "conflict," in lines[-1]


def test_list_of_one_source_leaves_the_others_out(left, folder, source, work, run_unshard):
    LeftSpool(folder / "two", work / "another")
    shown = run_unshard("spool", "list", "--spool", folder, source.path).stdout
    assert str(left.path) in shown and "two" not in shown
    shown = run_unshard("spool", "list", "--spool", folder).stdout
    assert str(left.path) in shown and str(folder / "two") in shown


def test_a_spool_whose_owner_lives_is_shown_as_such(left, folder, source, run_unshard):
    with open(left.path / "owner", "r+b") as owner:
        fcntl.lockf(owner, fcntl.LOCK_EX)
        assert "in use by process 4711" in run_unshard("spool", "list", "--spool", folder).stdout
        done = run_unshard("spool", "publish", "--spool", folder, source.path)
        assert done.returncode == 0
        assert "in use by" in done.stdout and "nothing to publish" in done.stdout
    assert "left by" in run_unshard("spool", "list", "--spool", folder).stdout


def test_export_makes_plain_files_and_leaves_the_spool(left, folder, work, run_unshard):
    assert not (work / "to").exists(), "the directory is made"
    before = sorted(str(path) for path in left.path.rglob("*"))
    done = run_unshard("spool", "export", "--spool", folder, work / "to")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 chunk (6 bytes), 1 removal, 1 conflict\n"
    assert (work / "to/scale/0-24_0-24_0-24").read_bytes() == b"newer!"
    assert (work / "to/REMOVED").read_text() == "scale/24-48_0-24_0-24\n"
    assert (work / "to/CONFLICTS/scale/0-24_0-24_0-24,2").read_bytes() == b"theirs"
    assert sorted(str(path) for path in left.path.rglob("*")) == before


def test_export_overwrites_nothing_and_says_so(left, folder, work, run_unshard):
    (work / "to/scale").mkdir(parents=True)
    (work / "to/scale/0-24_0-24_0-24").write_text("mine")
    done = run_unshard("spool", "export", "--spool", folder, work / "to")
    assert done.returncode == 1 and "scale/0-24_0-24_0-24" in done.stderr
    assert (work / "to/scale/0-24_0-24_0-24").read_text() == "mine"


def test_export_names_torn_chunks(left, folder, work, run_unshard):
    left.put("scale", "48-72_0-24_0-24", b"whole", 7).write_bytes(b"\0\0\0\0\0")
    (work / "to").mkdir()
    done = run_unshard("spool", "export", "--spool", folder, work / "to")
    assert done.returncode == 1 and "48-72_0-24_0-24" in done.stderr
    assert not (work / "to/scale/48-72_0-24_0-24").exists()


def test_export_gives_what_is_in_quarantine_as_it_is(left, folder, work, run_unshard):
    left.put("scale", "0-24_0-24_0-24", b"sound", 3, top="damaged").write_bytes(b"torn")
    shown = run_unshard("spool", "list", "--spool", folder).stdout
    assert "2 chunks, 6 bytes, 1 conflict, 1 damaged" in shown
    done = run_unshard("spool", "export", "--spool", folder, work / "to")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 chunk (6 bytes), 1 removal, 1 conflict, 1 damaged\n"
    assert (work / "to/DAMAGED/scale/0-24_0-24_0-24,3").read_bytes() == b"torn"


def test_export_with_swapped_arguments_is_refused(left, folder, source, work, run_unshard):
    before = sorted(source.path.rglob("*"))
    done = run_unshard("spool", "export", "--spool", folder, source.path, work / "to")
    assert done.returncode == 1 and "no spool of the source" in done.stderr
    assert "spool export DIRECTORY SOURCE" in done.stderr
    done = run_unshard("spool", "export", "--spool", folder, source.path)
    assert done.returncode == 1 and "is the source of these chunks" in done.stderr
    assert sorted(source.path.rglob("*")) == before and not (work / "to").exists()


def test_spools_that_hold_nothing_are_no_reason_to_ask_for_the_source(
        left, folder, work, run_unshard):
    LeftSpool(folder / "two", work / "another")
    done = run_unshard("spool", "export", "--spool", folder, work / "to")
    assert (done.returncode, done.stderr) == (0, "")


def test_names_reach_the_terminal_without_their_escape_sequences(left, folder, run_unshard):
    left.put("scale\x1b[31m", "0-24_0-24_0-24", b"red", 6)
    shown = run_unshard("spool", "list", "-v", "--spool", folder).stdout
    assert "scale\\x1b[31m/0-24_0-24_0-24" in shown and "\x1b" not in shown


def test_export_of_several_sources_wants_one_named(left, folder, source, work, run_unshard):
    other = LeftSpool(folder / "two", work / "another")
    other.put("scale", "0-24_0-24_0-24", b"another", 1)
    (work / "to").mkdir()
    done = run_unshard("spool", "export", "--spool", folder, work / "to")
    assert done.returncode == 1 and "2 sources" in done.stderr
    assert list((work / "to").iterdir()) == []
    done = run_unshard("spool", "export", "--spool", folder, work / "to", source.path)
    assert done.returncode == 0
    assert (work / "to/scale/0-24_0-24_0-24").read_bytes() == b"newer!"


def test_a_chunk_that_leads_out_of_the_directory_is_not_exported(left, folder, work, run_unshard):
    left.put("scale", "../../escaped", b"x", 9)
    (work / "deep/to").mkdir(parents=True)
    assert run_unshard("spool", "export", "--spool", folder, work / "deep/to").returncode == 0
    assert not list(work.rglob("escaped"))


def test_publish_without_anything_left_does_nothing(folder, source, run_unshard):
    done = run_unshard("spool", "publish", "--spool", folder, source.path)
    assert (done.returncode, done.stderr) == (0, "") and "nothing to publish" in done.stdout


# -------------------------------------------------------------------- what killed mounts have left


@pytest.fixture(params=["zarr-nested", "precomputed-gzip"])
def killed(request, work, mount, folder):
    """A WriteCase whose mount was killed with chunks of two shards in its spool: four new versions,
    of which two replace chunks, and a removal."""
    case = WriteCase(request.param, work, mount, f"{PATIENT},spool={folder}")
    present, absent = case.present(3), case.absent(2)
    for name in (*present[:2], *absent):
        case.put(name, 1)
    os.unlink(case.path(present[2]))
    del case.expected[present[2]]
    assert case.write_status()["dirty_chunks"] == 5
    kill(case.mount)
    return case


def test_publish_brings_what_was_left_into_its_shards(killed, folder, run_unshard):
    done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "5 chunks taken over and published\n", "")
    killed.check_source()
    assert list(folder.iterdir()) == [], "a spool without anything in it is removed"
    assert "no spools" in run_unshard("spool", "list", "--spool", folder).stdout


def test_publish_takes_over_several_spools_of_a_source(killed, work, folder, mount, run_unshard):
    first, second = (mount(killed.top, f"{PATIENT},spool={folder}") for _ in range(2))
    names = killed.present(2)
    for name, mounted in zip(names, (first, second), strict=True):
        killed.root = mounted.path / "data"
        killed.put(name, 2)
    kill(first)
    kill(second)
    assert len(list(folder.iterdir())) == 2
    done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    killed.check_source()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("held", [False, True])
def test_the_lock_of_a_publish_that_was_killed_is_removed(killed, folder, work, run_unshard, held):
    """Right after it had replaced the shards: no later publish of them comes to remove it. A lock
    that another process holds stays."""
    shutil.copytree(folder, work / "as killed")
    assert run_unshard("spool", "publish", "--spool", folder, killed.top).returncode == 0
    shard = killed.source.shard_path(killed.absent(1)[0])
    left = [shard.with_name(shard.name + suffix) for suffix in (".__lock", ".new.__lock")]
    for path in left:
        path.write_bytes(b"")
    folder.rmdir()
    os.rename(work / "as killed", folder)
    with open(left[0], "r+b") as lock:
        if held:
            fcntl.lockf(lock, fcntl.LOCK_EX)
        done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.exists() for path in left] == [held, held]
    killed.check_source()
    assert list(folder.iterdir()) == []


def copy_in_its_place(killed, work):
    """The same bytes and names at the same path, and yet another dataset."""
    shutil.copytree(killed.top, work / "copy")
    os.rename(killed.top, work / "aside")
    os.rename(work / "copy", killed.top)


def test_another_dataset_at_the_same_path_does_not_get_the_chunks(
        killed, folder, work, mount, run_unshard):
    copy_in_its_place(killed, work)
    before = {path: path.read_bytes() for path in killed.top.rglob("*") if path.is_file()}
    done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert done.returncode == 1
    assert "left alone" in done.stderr and "another directory has that path" in done.stderr
    assert "5 chunks" in done.stderr and "stay in" in done.stderr
    assert "another directory has that path" in run_unshard(
        "spool", "list", "--spool", folder).stdout
    other = mount(killed.top, f"{PATIENT},spool={folder}")
    assert other.status()["write"]["dirty_chunks"] == 0
    assert "left alone" in other.log()
    other.unmount()
    assert {path: path.read_bytes() for path in killed.top.rglob("*") if path.is_file()} == before
    assert len(in_spool(run_unshard, folder)) == 5
    # The right one comes back, and has its document edited in between.
    os.rename(killed.top, work / "copy")
    os.rename(work / "aside", killed.top)
    document = killed.source.path / ("info" if killed.precomputed else "zarr.json")
    document.write_text(document.read_text() + "\n")
    done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert (done.returncode, done.stderr) == (0, "")
    killed.check_source()


@pytest.mark.parametrize("way", ["publish", "mount"])
def test_chunks_of_a_source_that_was_moved_are_published_where_it_is_now(
        killed, folder, mount, run_unshard, work, way):
    moved = work / "moved"
    os.rename(killed.top, moved)
    if way == "publish":
        done = run_unshard("spool", "publish", "--spool", folder, moved)
        assert (done.returncode, done.stderr) == (0, "")
    else:
        mounted = mount(moved, f"spool={folder}")
        mounted.unmount()
    assert not in_spool(run_unshard, folder)
    os.rename(moved, killed.top)
    killed.check_source()


def test_a_spool_of_the_old_form_is_taken_over_on_its_own_host_only(
        killed, folder, run_unshard):
    owner = next(folder.iterdir()) / "owner"
    document = json.loads(owner.read_text())
    del document["identity"]
    owner.write_text(json.dumps({**document, "host": "node-a"}))
    done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert done.returncode == 1 and "of the host node-a" in done.stderr
    owner.write_text(json.dumps(document))
    done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert (done.returncode, done.stderr) == (0, "")
    killed.check_source()


def test_a_read_only_mount_says_that_chunks_are_not_published(killed, folder, mount):
    mounted = mount(killed.top, f"ro,spool={folder}")
    assert "5 chunks" in mounted.log() and "are not shown here" in mounted.log()
    assert f"`unshard spool publish --spool {folder} {killed.top}`" in mounted.log()


@pytest.mark.parametrize("command, below, chunks", [
    ("info", "", "5 chunks"), ("info", "data", "5 chunks"), ("copy", "data", "5 chunks"),
    ("info", "other", "")])
def test_who_reads_the_source_is_told_what_it_lacks(killed, folder, work, run_unshard, command,
                                                    below, chunks):
    """Also where a directory above the dataset was mounted; looking never writes."""
    VersionedVolume(killed.top / "other")
    (work / "state/unshard").mkdir(parents=True)
    default = work / "state/unshard/spool"
    os.rename(folder, default)
    before = {path: path.stat().st_mtime_ns for path in default.rglob("*")}
    arguments = [command, killed.top / below, *([work / "copy"] if command == "copy" else [])]
    env = {**os.environ, "XDG_STATE_HOME": str(work / "state")}
    done = run_unshard(*arguments, env=env)
    assert done.returncode == 0, done.stderr
    if chunks:
        assert f"{default}/" in done.stderr and chunks in done.stderr
        assert f"`unshard spool publish {killed.top}` to publish them" in done.stderr
    else:
        assert done.stderr == ""
    assert {path: path.stat().st_mtime_ns for path in default.rglob("*")} == before
    run_unshard("spool", "publish", killed.top, env=env)
    assert run_unshard(*arguments, env=env).stderr == ""


def test_foreign_names_in_a_spool_do_not_keep_its_chunks_back(killed, folder, run_unshard):
    spool = next(folder.iterdir())
    foreign = [spool / ".nfs0001", *(spool / "chunks").glob("*")][1] / ".nfs0002"
    for path in (spool / ".nfs0001", foreign):
        path.write_text("open elsewhere")
    done = run_unshard("spool", "publish", "--spool", folder, killed.top)
    assert (done.returncode, done.stderr) == (0, "")
    killed.check_source()
    assert foreign.read_text() == (spool / ".nfs0001").read_text() == "open elsewhere"
    assert not in_spool(run_unshard, folder)


def test_publish_that_fails_says_what_stays_and_a_later_one_succeeds(
        killed, folder, mount, run_unshard):
    shard = killed.source.shard_path(killed.names[0])
    there = sum(killed.source.shard_path(name) == shard for name in killed.names[:3])
    arguments = ["spool", "publish", "--spool", folder, killed.top]
    with damaged(shard):
        done = run_unshard(*arguments)
        assert done.returncode == 1 and str(shard) in done.stderr
        assert "the shard cannot be rewritten without losing its other chunks" in done.stderr
        assert f"unshard: {folder}: " in done.stderr
        left = in_spool(run_unshard, folder)
        assert there <= len(left) < 5 and f"data/{killed.names[0]}" in left
        # Once more, and nothing has become less.
        assert run_unshard(*arguments).returncode == 1
        assert in_spool(run_unshard, folder) == left
    done = run_unshard(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{len(left)} chunk{'s'[:len(left) != 1]} taken over and published\n"
    killed.check_source()
    assert list(folder.iterdir()) == []


def in_spool(run_unshard, folder):
    """The chunks that `unshard spool list -v` shows."""
    lines = run_unshard("spool", "list", "-v", "--spool", folder).stdout.splitlines()
    return {line.split()[0] for line in lines if line.lstrip().startswith("data/")}
