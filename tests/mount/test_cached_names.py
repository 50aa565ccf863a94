"""Names that the kernel has remembered on a writable mount heal by themselves: it is not told to drop them.

FUSE_NOTIFY_INVAL_ENTRY waits in the kernel for the lock of the directory, which a request to the
mount may hold; the mount counts those that it sends.
"""

import contextlib
import gzip
import os
import pathlib
import shutil
import subprocess

import pytest

from mount_data import refused
from mounting import wait_until
from write_data import PATIENT, WriteCase, flush, write_all, write_file

KINDS = ["precomputed-raw", "zarr-nested"]


def names_told(case):
    return case.mount.status()["counters"]["entries_invalidated"]


def remember(case):
    """The kernel keeps all names, also those of absent chunks, with nodes and attributes."""
    for name in case.names:
        try:
            os.stat(case.path(name))
            case.path(name).read_bytes()
        except FileNotFoundError:
            pass


@pytest.mark.parametrize("reader", ["nobody", "a reader"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_that_is_renamed_onto_another_is_seen_at_once(kind, reader, work, mount):
    case = WriteCase(kind, work, mount)
    one, two = same_size(case)
    for version in range(1, 6):
        remember(case)
        held = None if reader == "nobody" else open(case.path(one), "rb")
        moved, modified = case.expected.pop(one), os.stat(case.path(one)).st_mtime_ns
        os.rename(case.path(one), case.path(two))
        case.expected[two] = moved
        refused(2, os.stat, case.path(one))
        seen = os.stat(case.path(two))
        assert (seen.st_size, seen.st_mtime_ns) == (len(moved), modified)
        assert case.path(two).read_bytes() == moved
        # The node of the old name must not lead from the new one to what is written next.
        case.put(one, version)
        assert case.path(two).read_bytes() == moved
        assert os.stat(case.path(one)).st_ino != os.stat(case.path(two)).st_ino
        if held:
            assert os.fstat(held.fileno()).st_size == len(moved) and held.read() == moved
            held.close()
        case.check_mount()
        if version == 3:
            flush(case.mount)
    assert names_told(case) == 0
    case.check()


@contextlib.contextmanager
def found(path):
    """A file as servers find it, before they open it: the kernel keeps its node meanwhile, and its pages."""
    place = os.open(path, os.O_PATH)
    try:
        yield pathlib.Path(f"/proc/self/fd/{place}")
    finally:
        os.close(place)


@pytest.mark.parametrize("why", ["conflict", "lost"])
def test_nothing_is_seen_of_what_was_written_through_a_descriptor_and_is_withdrawn(why, work, mount):
    case = WriteCase("precomputed-raw", work, mount, f"{UNTOLD},strict,spool={work}/spools")
    name, before = case.present()[0], case.expected[case.present()[0]]
    ours = case.bytes_for(name, 1)
    with found(case.path(name)) as place:
        with open(place, "w+b") as file:
            file.write(ours)
            file.seek(0)
            assert file.read() == ours
        assert case.path(name).read_bytes() == ours
        if why == "conflict":  # another process has changed the chunk first
            case.expected[name] = case.bytes_for(name, 9)
            case.source.fill(case.expected)
        else:
            for sealed in (work / "spools").rglob("*,s*"):
                sealed.unlink()
        with pytest.raises(OSError):
            flush(case.mount)
        assert wait_until(lambda: case.path(name).read_bytes() != ours, 30)
        assert case.path(name).read_bytes() == case.expected[name]
        assert place.read_bytes() == before
    case.put(name, 2)
    flush(case.mount)
    case.check_source()
    case.check_mount()


def same_size(case):
    sizes = {}
    for name in case.expected:
        if (other := sizes.setdefault(case.source.size(name), name)) != name:
            return other, name
    raise AssertionError("no two chunks of the same size")


def test_a_chunk_that_is_handed_on_from_name_to_name_is_seen_at_once(work, mount):
    case = WriteCase("zarr-nested", work, mount)
    remember(case)
    names = [name for name in case.names if case.source.size(name) == case.source.size(case.names[0])]
    for old, new in zip(names, names[1:]):
        os.makedirs(case.path(new).parent, exist_ok=True)
        os.rename(case.path(old), case.path(new))
        case.expected[new] = case.expected.pop(old)
        assert case.path(new).read_bytes() == case.expected[new]
    assert names_told(case) == 0
    case.check()


# What the kernel remembers it remembers for an hour, and nobody tells it of changes.
UNTOLD = f"{PATIENT},watch=off,ttl=3600"


def test_a_renamed_directory_of_the_source_goes_along_with_all_below(work, mount):
    case = WriteCase("zarr-nested", work, mount, UNTOLD)
    beside = case.mount.path / "beside"
    os.makedirs(beside / "old/deep/deeper")
    write_file(beside / "old/deep/file", b"first")
    refused(2, os.stat, beside / "old/deep/absent")
    inside = os.open(beside / "old/deep/deeper", os.O_DIRECTORY)
    os.rename(beside / "old", beside / "new")
    refused(2, os.stat, beside / "old")
    for number in range(3):
        # The name is free again, and what is made there has nothing to do with what was moved away.
        os.makedirs(beside / "old/deep")
        write_file(beside / "old/deep/file", b"second")
        assert (beside / "new/deep/file").read_bytes() == b"first"
        assert sorted(os.listdir(beside / "new/deep")) == ["deeper", "file"]
        assert os.stat(beside / "old").st_ino != os.stat(beside / "new").st_ino
        refused(2, os.stat, beside / "new/deep/absent")
        shutil.rmtree(beside / "old")
    # Who stands in it, or has it open, goes on working there.
    write_file(beside / "new/deep/deeper/file", b"by name")
    file = os.open("another", os.O_CREAT | os.O_WRONLY, dir_fd=inside)
    os.write(file, b"by descriptor")
    os.close(file)
    assert sorted(os.listdir(inside)) == ["another", "file"]
    assert (case.top / "beside/new/deep/deeper/another").read_bytes() == b"by descriptor"
    os.close(inside)
    # Onto an empty directory that the kernel knows and that a program has open.
    os.mkdir(beside / "empty")
    replaced = os.open(beside / "empty", os.O_DIRECTORY)
    os.rename(beside / "new", beside / "empty")
    write_file(beside / "empty/file", b"third")
    assert sorted(os.listdir(beside / "empty")) == ["deep", "file"]
    refused(2, os.open, "file", os.O_CREAT | os.O_WRONLY, dir_fd=replaced)
    os.close(replaced)
    # As a log is rotated.
    os.rename(beside / "empty", beside / "log")
    os.mkdir(beside / "empty")
    os.rename(beside / "log", beside / "empty/log")
    subprocess.run(["find", beside / "empty", "-type", "f", "-size", "+0"], check=True, timeout=30)
    shutil.rmtree(beside / "empty")
    os.mkdir(beside / "empty")
    write_file(beside / "empty/file", b"fourth")
    assert names_told(case) == 0


def test_a_file_of_the_source_that_is_renamed_onto_a_chunk_is_that_chunk_at_once(work, mount):
    case = WriteCase("zarr-nested", work, mount, UNTOLD)
    name = case.present()[0]
    remember(case)
    for version in range(1, 4):
        case.expected[name] = case.bytes_for(name, version)
        file = case.mount.path / "beside"
        write_file(file, case.expected[name])
        os.rename(file, case.path(name))
        assert case.path(name).read_bytes() == case.expected[name]
        refused(2, os.stat, file)
        write_file(file, b"something else")
        assert case.path(name).read_bytes() == case.expected[name]
    assert names_told(case) == 0
    case.check()


def gz(case, name):
    return case.path(name + ".gz")


def test_a_new_chunk_that_is_written_as_gzip_is_seen_at_once_where_the_name_was_absent(work, mount):
    case = WriteCase("precomputed-gzip", work, mount, UNTOLD, share=0.3)
    told = names_told(case)
    for name in [name for name in case.names if name not in case.expected]:
        for path in (case.path(name), gz(case, name)):
            refused(2, os.stat, path)
        data = case.bytes_for(name, 1)
        write_file(gz(case, name), gzip.compress(data))
        case.expected[name] = data
        assert os.stat(case.path(name)).st_size == len(data)
        assert case.path(name).read_bytes() == data
        os.unlink(gz(case, name))
        refused(2, os.stat, case.path(name))
        write_file(gz(case, name), gzip.compress(data))
        assert case.path(name).read_bytes() == data
    assert names_told(case) == told
    case.check()


def test_a_chunk_that_is_overwritten_as_gzip_is_seen_by_its_other_name(work, mount):
    case = WriteCase("precomputed-gzip", work, mount, UNTOLD)
    remember(case)
    names = list(case.expected)
    for version in range(1, 4):
        for name in names:
            before = case.expected[name]
            with open(case.path(name), "rb") as held:
                case.expected[name] = case.bytes_for(name, version)
                write_file(gz(case, name), gzip.compress(case.expected[name]))
                assert case.path(name).read_bytes() == case.expected[name]
                now = os.stat(gz(case, name)).st_mtime_ns
                assert wait_until(lambda: os.stat(case.path(name)).st_mtime_ns == now, 10)
                assert held.read() == before
    # Once a version that the kernel had remembered before the array was written to.
    assert names_told(case) <= len(names)
    for name in names:
        os.unlink(gz(case, name))
        del case.expected[name]
        refused(2, os.stat, case.path(name))
    case.check()


# ------------------------------------------------------------ what the watcher tells of our own changes


def test_what_is_made_and_removed_in_the_source_through_the_mount_drops_no_name(work, mount):
    case = WriteCase("zarr-nested", work, mount)
    beside = case.mount.path / "beside"
    for number in range(20):
        os.makedirs(beside / "folder/deep")
        write_file(beside / "folder/file", b"one")
        os.rename(beside / "folder/file", beside / "folder/deep/file")
        os.rename(beside / "folder", beside / "other")
        assert (beside / "other/deep/file").read_bytes() == b"one"
        refused(2, os.stat, beside / "folder")
        shutil.rmtree(beside / "other")
        refused(2, os.stat, beside / "other")
    for name in case.names:
        case.put(name, 1)
    flush(case.mount)
    # The event of this change comes behind those of all others.
    write_file(case.top / "last", b"by others")
    assert wait_until(lambda: "last" in os.listdir(case.mount.path), 10)
    assert names_told(case) == 0
    case.check()


@pytest.mark.parametrize("options", ["watch=on", "watch=off"])
def test_what_others_change_in_the_source_is_seen_by_names_that_the_kernel_knows(
        options, work, mount):
    case = WriteCase("zarr-nested", work, mount, f"{PATIENT},{options}")
    theirs, ours = case.top / "beside", case.mount.path / "beside"
    theirs.mkdir()
    for number in range(3):
        (theirs / "folder/deep").mkdir(parents=True)
        (theirs / "folder/file").write_bytes(b"one")
        assert wait_until((ours / "folder/deep").is_dir, 30)
        assert (ours / "folder/file").read_bytes() == b"one"
        refused(2, os.stat, ours / "absent")
        (theirs / "absent").write_bytes(b"there")
        assert (ours / "absent").read_bytes() == b"there", "absence has no time to live"
        (theirs / "absent").unlink()
        refused(2, os.stat, ours / "absent")
        (theirs / "folder").rename(theirs / "other")
        assert wait_until(lambda: not (ours / "folder").exists(), 30)
        assert (ours / "other/file").read_bytes() == b"one"
        shutil.rmtree(theirs / "other")
        (theirs / "other").write_bytes(b"a file now")
        assert wait_until(lambda: (ours / "other").is_file(), 30)
        assert (ours / "other").read_bytes() == b"a file now"
        (theirs / "other").unlink()
    assert names_told(case) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_listing_of_before_a_commit_does_not_hide_the_chunk(kind, work, mount):
    case = WriteCase(kind, work, mount)
    name = case.absent()[0]
    directory = case.path(name).parent
    created = os.open(case.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    before = os.listdir(directory)
    assert os.path.basename(name) not in before
    write_all(created, case.bytes_for(name, 1))
    os.close(created)
    assert set(os.listdir(directory)) == {*before, os.path.basename(name)}
    case.expect([name], 1)
    case.check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_that_is_created_again_is_not_the_file_that_was_removed(kind, work, mount):
    case = WriteCase(kind, work, mount)
    name = case.absent()[0]
    removed = os.open(case.path(name), os.O_RDWR | os.O_CREAT)
    os.write(removed, b"of the removed file")
    os.unlink(case.path(name))
    case.put(name, 1)
    case.check(quiet=False)
    os.pwrite(removed, b"OF", 0)
    assert os.pread(removed, 100, 0) == b"OF the removed file"
    case.check_mount()
    os.close(removed)
    case.check(quiet=False)
