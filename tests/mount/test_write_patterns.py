"""How programs write chunk files, system call by system call, on each kind of sharded dataset.

Names, contents, locks, times and sizes; test_write_patterns_around.py has what is around a chunk:
directories, attributes, processes, metadata. The numbers are those of the project's list of access
patterns. Each test writes through the mount, compares byte for byte there, flushes, and has peers
read the shards (write_data.py).
"""

import ctypes
import errno
import fcntl
import mmap
import os
import stat
import struct
import subprocess
import sys
import threading
import time

import pytest

from mount_data import refused
from tiers import in_turn
from write_data import KINDS, PATIENT, WriteCase, case, flush, one_of_each, write_all, write_file

RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT = 1, 2, 4
F_OFD_SETLK = 37
AT_FDCWD = -100
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(params=["precomputed-raw", "precomputed-gzip"])
def volume(request, work, mount):
    return WriteCase(request.param, work, mount)


def renameat2(old, new, flags):
    if libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def scratch_names(name):
    """What programs call their temporary files beside the chunk `name`."""
    directory, base = os.path.split(name)
    stem = base.rsplit(".", 1)[0]
    return [os.path.join(directory, each) for each in (
        f"{base}.0123456789abcdef0123456789abcdef.partial", f"{stem}.0a1b2c.partial",
        f".{base}.Xa4f9Q", "sedAbCdEf", f"{base}.__lock", f"{base}_00ff.__lock", f"{base}~")]


# -------------------------------------------------------------------------------- scratch and rename


def test_pattern_01_a_temporary_file_of_any_name_is_scratch(case):
    before = case.others()
    for name in scratch_names(case.names[0]):
        write_file(case.path(name), b"scratch " + name.encode())
        assert case.path(name).read_bytes() == b"scratch " + name.encode()
        assert case.path(name).name in os.listdir(case.path(name).parent)
    flush(case.mount)
    assert case.others() == before
    os.unlink(case.path(scratch_names(case.names[0])[0]))
    refused(errno.ENOENT, os.stat, case.path(scratch_names(case.names[0])[0]))
    case.check()


def test_pattern_01_scratch_is_gone_after_the_next_mount(one_of_each, mount):
    case = one_of_each
    name = scratch_names(case.names[0])[0]
    write_file(case.path(name), b"scratch")
    case.mount.unmount()
    case.mount = mount(case.top, PATIENT)
    case.root = case.mount.path / "data"
    refused(errno.ENOENT, os.stat, case.path(name))
    case.check()


def test_pattern_02_rename_of_scratch_onto_a_chunk_is_a_put(case):
    for name in (case.present()[0], case.absent()[0]):
        data = case.bytes_for(name, 1)
        temporary = case.path(scratch_names(name)[0])
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        write_all(descriptor, data)
        before = os.fstat(descriptor)
        os.rename(temporary, case.path(name))
        assert os.pread(descriptor, len(data), 0) == data
        assert os.fstat(descriptor).st_ino == before.st_ino
        after = os.stat(case.path(name))
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        os.close(descriptor)
        refused(errno.ENOENT, os.stat, temporary)
        again = os.stat(case.path(name))
        assert (again.st_ino, again.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        case.expected[name] = data
    case.check()


def test_pattern_02_a_reader_sees_the_old_or_the_new_chunk_and_nothing_between(case):
    name = case.names[0]
    versions = {case.bytes_for(name, version) for version in range(40)}
    stop, wrong = threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                data = case.path(name).read_bytes()
            except OSError as problem:
                data = problem
            if data not in versions:
                wrong.append(data)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for version in range(1, 40):
        temporary = case.path(f"{name}.{version:x}.partial")
        write_file(temporary, case.bytes_for(name, version))
        os.replace(temporary, case.path(name))
    stop.set()
    for reader in readers:
        reader.join(30)
    assert not wrong, [str(each)[:80] for each in wrong[:3]]
    case.expected[name] = case.bytes_for(name, 39)
    case.check()


def test_pattern_03_the_temporary_name_does_not_tell_the_chunk(case):
    """zarr-python 3 replaces the last suffix: all chunks of `c.0.*` share the stem of their temps."""
    for number, name in enumerate(case.absent(3)):
        directory, base = os.path.split(name)
        temporary = case.path(os.path.join(directory, f"{base.rsplit('.', 1)[0]}.{number}.partial"))
        write_file(temporary, case.bytes_for(name, 1))
        os.replace(temporary, case.path(name))
        case.expected[name] = case.bytes_for(name, 1)
    case.check()


def test_pattern_04_link_of_scratch_makes_a_chunk_unless_there_is_one(case):
    name, data = case.absent()[0], None
    data = case.bytes_for(name, 1)
    temporary = case.path(f"{name}.abc.partial")
    write_file(temporary, data)
    os.link(temporary, case.path(name))
    assert os.stat(temporary).st_nlink == 2
    case.expected[name] = data
    refused(errno.EEXIST, os.link, temporary, case.path(name))
    refused(errno.EEXIST, os.link, temporary, case.path(case.present()[0]))
    os.unlink(temporary)
    case.check(quiet=False)


def test_pattern_04_of_those_who_race_to_link_one_wins(case):
    name = case.absent()[0]
    won, barrier = [], threading.Barrier(8)

    def race(number):
        temporary = case.path(f"{name}.{number}.partial")
        write_file(temporary, case.bytes_for(name, number))
        barrier.wait()
        try:
            os.link(temporary, case.path(name))
            won.append(number)
        except FileExistsError:
            pass
        os.unlink(temporary)

    racers = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(30)
    assert len(won) == 1
    case.expected[name] = case.bytes_for(name, won[0])
    case.check(quiet=False)


def test_pattern_05_flags_of_renameat2(case):
    present, absent = case.present()[0], case.absent()[0]
    temporary = case.path(f"{absent}.abc.partial")
    write_file(temporary, case.bytes_for(absent, 1))
    refused(errno.EEXIST, renameat2, temporary, case.path(present), RENAME_NOREPLACE)
    refused(errno.EINVAL, renameat2, temporary, case.path(present), RENAME_EXCHANGE)
    refused(errno.EINVAL, renameat2, temporary, case.path(absent), RENAME_WHITEOUT)
    assert case.path(present).read_bytes() == case.expected[present]
    renameat2(temporary, case.path(absent), RENAME_NOREPLACE)
    case.expected[absent] = case.bytes_for(absent, 1)
    case.check(quiet=False)


def same_size(case):
    """Two present chunks and an absent one, all of one size, so that one can become the other."""
    size = case.source.size(case.names[0])
    fits = [name for name in case.names if case.source.size(name) == size]
    there = [name for name in fits if name in case.expected]
    missing = [name for name in fits if name not in case.expected]
    if len(there) < 2:  # clipped volumes have few whole chunks
        case.put(missing.pop(0), 0)
        return same_size(case)
    if not missing:
        victim = there.pop()
        os.unlink(case.path(victim))
        del case.expected[victim]
        missing = [victim]
    case.path(missing[0]).parent.mkdir(parents=True, exist_ok=True)
    return there[0], there[1], missing[0]


def test_pattern_06_rename_of_a_chunk_within_its_array(case):
    one, two, absent = same_size(case)
    os.rename(case.path(one), case.path(absent))
    case.expected[absent] = case.expected.pop(one)
    refused(errno.ENOENT, os.stat, case.path(one))
    os.rename(case.path(absent), case.path(two))
    case.expected[two] = case.expected.pop(absent)
    case.check()


def test_pattern_06_a_chunk_that_is_moved_elsewhere_is_copied_by_mv(case, work):
    name = case.present()[0]
    refused(errno.EXDEV, os.rename, case.path(name), case.mount.path / "elsewhere")
    case.check_mount()
    subprocess.run(["mv", case.path(name), case.mount.path / "elsewhere"], check=True, timeout=30)
    assert (case.top / "elsewhere").read_bytes() == case.expected.pop(name)
    case.check(quiet=False)


# ----------------------------------------------------------------------------------------- in place


def test_pattern_07_open_trunc_write_close_is_atomic_for_readers(case):
    name = case.present()[0]
    old, new = case.expected[name], case.bytes_for(name, 1)
    reader = os.open(case.path(name), os.O_RDONLY)
    writer = os.open(case.path(name), os.O_RDWR | os.O_TRUNC)
    assert os.fstat(writer).st_size == 0
    write_all(writer, new[:1000])
    assert os.fstat(writer).st_size == 1000 and os.pread(writer, 5000, 0) == new[:1000]
    assert case.path(name).read_bytes() == old
    write_all(writer, new[1000:])
    assert case.path(name).read_bytes() == old
    os.close(writer)
    assert case.path(name).read_bytes() == new
    assert os.pread(reader, len(old), 0) == old
    os.close(reader)
    case.expected[name] = new
    case.check()


def test_pattern_07_a_new_chunk_is_there_when_it_is_closed(case):
    for name in case.absent(3):
        refused(errno.ENOENT, os.stat, case.path(name))
        writer = os.open(case.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        write_all(writer, case.bytes_for(name, 1))
        refused(errno.EEXIST, os.open, case.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.close(writer)
        assert case.path(name).read_bytes() == case.bytes_for(name, 1)
        case.expected[name] = case.bytes_for(name, 1)
    case.check(quiet=False)


def test_pattern_07_chunks_are_written_over_and_over(case):
    for version in range(1, 6):
        for name in case.names[:6]:
            case.put(name, version)
            assert case.path(name).read_bytes() == case.expected[name]
        if version == 3:
            flush(case.mount)
    case.check()


def test_pattern_08_open_create_lock_close_changes_nothing(case):
    present, absent = case.present()[0], case.absent()[0]
    before = os.stat(case.path(present))
    for name in (present, absent):
        descriptor = os.open(case.path(name), os.O_RDWR | os.O_CREAT)
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
    after = os.stat(case.path(present))
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    case.check(quiet=False)
    assert case.write_status()["publishes"] == 0


def test_pattern_08_a_clean_handle_closes_beside_a_dirty_one_and_commits_nothing(case):
    name = case.present()[0]
    dirty = os.open(case.path(name), os.O_RDWR)
    os.pwrite(dirty, b"half", 0)
    clean = os.open(case.path(name), os.O_RDWR | os.O_CREAT)
    os.close(clean)
    with open(case.path(name), "rb") as reader:
        reader.read(0)
    os.pwrite(dirty, case.bytes_for(name, 1), 0)
    os.close(dirty)
    case.expected[name] = case.bytes_for(name, 1)
    case.check()


def test_pattern_09_a_flush_before_any_data_commits_nothing(case):
    for name in (case.present()[0], case.absent()[0]):
        first = os.open(case.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        second = os.dup(first)
        os.close(first)
        if name in case.expected:
            assert case.path(name).read_bytes() == case.expected[name]
        write_all(second, case.bytes_for(name, 1))
        os.close(second)
        case.expected[name] = case.bytes_for(name, 1)
    case.check()


def test_pattern_09_a_file_that_is_closed_while_still_empty_leaves_what_was_there(case):
    for name in (case.present()[0], case.absent()[0]):
        os.close(os.open(case.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    case.check(quiet=False)
    assert "still empty" in case.reasons()


def test_pattern_10_a_chunk_of_the_wrong_length_is_refused_at_close(case):
    name = case.present()[0]
    for wrong in (case.bytes_for(name, 1)[:-1], case.bytes_for(name, 1) + b"x"):
        refused(errno.EINVAL, write_file, case.path(name), wrong)
        assert case.path(name).read_bytes() == case.expected[name]
    absent = case.absent()[0]
    refused(errno.EINVAL, write_file, case.path(absent), b"short")
    temporary = case.path(f"{name}.abc.partial")
    write_file(temporary, b"short")
    refused(errno.EINVAL, os.rename, temporary, case.path(name))
    assert temporary.read_bytes() == b"short"
    case.check(quiet=False)
    lines = case.reasons().splitlines()
    assert len(lines) >= 4 and all("EINVAL" in line for line in lines)
    assert any(name in line and " close " in line for line in lines)
    assert str(len(case.expected[name])) in case.reasons()


@pytest.mark.parametrize("access", [os.O_RDWR, os.O_WRONLY])
def test_pattern_10_what_a_close_drops_after_an_fsync_is_never_read(case, access):
    name = case.absent()[0]
    data = case.bytes_for(name, 1)
    descriptor = os.open(case.path(name), access | os.O_CREAT)
    write_all(descriptor, data)
    os.fsync(descriptor)
    os.pwrite(descriptor, bytes(len(data)) + b"x", 0)
    if access == os.O_RDWR:
        assert os.pread(descriptor, len(data), 0) == bytes(len(data))
    refused(errno.EINVAL, os.close, descriptor)
    assert case.path(name).read_bytes() == data
    case.expected[name] = data
    case.check(quiet=False)


def test_pattern_10_fsync_tells_what_is_wrong_and_the_writer_can_go_on(case):
    name = case.present()[0]
    descriptor = os.open(case.path(name), os.O_WRONLY | os.O_TRUNC)
    write_all(descriptor, case.bytes_for(name, 1)[:100])
    refused(errno.EINVAL, os.fsync, descriptor)
    write_all(descriptor, case.bytes_for(name, 1)[100:])
    os.fsync(descriptor)
    os.close(descriptor)
    case.expected[name] = case.bytes_for(name, 1)
    case.check(quiet=False)


@pytest.mark.parametrize("kind", in_turn(KINDS))
@pytest.mark.parametrize("sync", ["spool", "store"])
def test_pattern_11_fsync_of_file_and_directory_is_a_commit_barrier(work, mount, kind, sync):
    case = WriteCase(kind, work, mount, f"{PATIENT},sync={sync}")
    name = case.absent()[0]
    descriptor = os.open(case.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    write_all(descriptor, case.bytes_for(name, 1))
    os.fsync(descriptor)
    case.expected[name] = case.bytes_for(name, 1)
    assert case.path(name).read_bytes() == case.expected[name]
    if sync == "store":
        case.check_source()
    os.close(descriptor)
    other = case.present()[0]
    case.put(other, 1)
    directory = os.open(case.path(other).parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(directory)
    os.close(directory)
    if sync == "store":
        case.check_source()
    else:
        assert case.write_status()["publishes"] == 0
    case.check()


def test_pattern_12_partial_writes_change_these_bytes_only(case):
    name = case.present()[0]
    data = bytearray(case.expected[name])
    descriptor = os.open(case.path(name), os.O_RDWR)
    for offset, piece in ((0, b"begin"), (1000, b"x" * 700), (len(data) - 3, b"end")):
        os.pwrite(descriptor, piece, offset)
        data[offset:offset + len(piece)] = piece
    os.lseek(descriptor, 2000, os.SEEK_SET)
    os.write(descriptor, b"sought")
    data[2000:2006] = b"sought"
    assert os.pread(descriptor, len(data), 0) == bytes(data)
    assert case.path(name).read_bytes() == case.expected[name]
    os.close(descriptor)
    case.expected[name] = bytes(data)
    case.check()


def test_pattern_12_ftruncate_down_and_up_and_append(case):
    name = case.present()[0]
    old, new = case.expected[name], case.bytes_for(name, 1)
    descriptor = os.open(case.path(name), os.O_RDWR)
    os.ftruncate(descriptor, 100)
    assert os.fstat(descriptor).st_size == 100
    os.ftruncate(descriptor, 200)
    assert os.pread(descriptor, 300, 0) == old[:100] + bytes(100)
    other = os.open(case.path(name), os.O_WRONLY | os.O_APPEND)
    os.write(other, new[200:])
    os.close(other)
    os.pwrite(descriptor, new[:200], 0)
    os.close(descriptor)
    case.expected[name] = new
    case.check()


def test_pattern_12_truncate_by_path_to_a_length_that_cannot_be_fails(case):
    name = case.present()[0]
    for length in (10, len(case.expected[name]) + 1):
        refused(errno.EINVAL, os.truncate, case.path(name), length)
        assert case.path(name).read_bytes() == case.expected[name]
    os.truncate(case.path(name), len(case.expected[name]))
    case.check(quiet=False)


def test_pattern_12_who_writes_what_was_truncated_before_begins_with_nothing(case):
    """The way of file systems that pass O_TRUNC on as two calls, and of `: > chunk; cat >> chunk`."""
    by_path, by_open = case.present(2)
    os.truncate(case.path(by_path), 0)
    os.close(os.open(case.path(by_open), os.O_WRONLY | os.O_TRUNC))
    for name in (by_path, by_open):
        assert case.path(name).read_bytes() == case.expected[name], "nobody has written yet"
    case.expected[by_path] = case.bytes_for(by_path, 5)
    with open(case.path(by_path), "r+b", buffering=0) as file:
        assert file.read() == b""
        file.seek(0)
        file.write(case.expected[by_path])
    case.expected[by_open] = case.bytes_for(by_open, 6)
    with open(case.path(by_open), "ab", buffering=0) as file:
        for half in halves(case.expected[by_open]):
            file.write(half)
    case.check(quiet=False)


def halves(data):
    return data[:len(data) // 2], data[len(data) // 2:]


def test_pattern_12_a_chunk_that_is_removed_while_it_is_written_stays_removed(case):
    name = case.present()[0]
    with open(case.path(name), "wb", buffering=0) as file:
        file.write(case.expected[name])
        os.unlink(case.path(name))
        assert os.fstat(file.fileno()).st_size == len(case.expected.pop(name))
    assert not case.path(name).exists()
    case.check()


UNLINKING = ["unlink", "unlink by another process", "rm in another pid namespace"]


@pytest.mark.parametrize("how", UNLINKING)
def test_pattern_12_a_chunk_that_is_removed_while_it_is_created_never_comes(case, how):
    """The usual clean-up after a failure: unlink(partial), close. Half of it may look right."""
    for name in case.absent(2):
        path = case.path(name)
        for data in (case.bytes_for(name, 1), *halves(case.bytes_for(name, 2))):
            with open(path, "xb", buffering=0) as file:
                file.write(data)
                refused(errno.ENOENT, open, path, "rb")
                refused(errno.EEXIST, open, path, "xb")
                assert path.stat().st_size == len(data)
                assert path.name not in os.listdir(path.parent)
                if how == UNLINKING[0]:
                    os.unlink(path)
                else:
                    namespace = ["unshare", "--pid", "--fork"] if how == UNLINKING[2] else []
                    subprocess.run([*namespace, "rm", path], check=True)
                refused(errno.ENOENT, os.unlink, path)
                assert os.fstat(file.fileno()).st_size == len(data)
            assert not path.exists()
    flush(case.mount)
    assert case.reasons() == ""
    case.check()
    case.put(case.absent()[0], 3)
    case.check()


def test_pattern_12_a_chunk_that_two_create_is_the_last_one_that_was_closed(case):
    name = case.absent()[0]
    with open(case.path(name), "wb", buffering=0) as first:
        first.write(case.bytes_for(name, 1))
        with open(case.path(name), "wb", buffering=0) as second:
            second.write(case.bytes_for(name, 2))
            joined = os.open(case.path(name), os.O_WRONLY)
            os.write(joined, case.bytes_for(name, 3))
        assert case.path(name).read_bytes() == case.bytes_for(name, 3)
        os.close(joined)
    case.expected[name] = case.bytes_for(name, 1)
    case.check()


def test_pattern_12_an_open_file_is_opened_again_for_writing(case):
    """As servers do, which check a path before they open it (O_PATH, then /proc/self/fd)."""
    for number, name in enumerate(case.present(2)):
        case.expected[name] = case.bytes_for(name, 7 + number)
        place = os.open(case.path(name), os.O_PATH)
        descriptor = os.open(f"/proc/self/fd/{place}", os.O_RDWR | os.O_TRUNC)
        os.write(descriptor, case.expected[name])
        assert os.fstat(descriptor).st_size == len(case.expected[name])
        os.close(descriptor)
        os.close(place)
    case.check()


def open_again(path, flags):
    """As servers do, which check a path before they open it."""
    place = os.open(path, os.O_PATH)
    try:
        return os.open(f"/proc/self/fd/{place}", flags)
    finally:
        os.close(place)


def test_pattern_12_what_was_opened_again_for_writing_is_opened_again_for_reading(case):
    present, other = case.present(2)
    for path in (case.path(present), case.path(other)):
        assert path.stat().st_size  # the kernel remembers the name
    case.expected[present] = case.bytes_for(present, 7)
    descriptor = open_again(case.path(present), os.O_RDWR | os.O_TRUNC)
    os.write(descriptor, case.expected[present])
    os.close(descriptor)
    with open(open_again(case.path(present), os.O_RDONLY), "rb") as file:
        assert file.read() == case.expected[present]
    descriptor = open_again(case.path(other), os.O_RDWR | os.O_TRUNC)
    os.write(descriptor, b"short")
    refused(errno.EINVAL, os.close, descriptor)
    assert case.path(other).stat().st_size == len(case.expected[other])
    with open(open_again(case.path(other), os.O_RDONLY), "rb") as file:
        assert file.read() == case.expected[other]
    case.check(quiet=False)


def test_pattern_12_of_two_handles_with_a_wrong_length_one_is_told(case):
    name = case.present()[0]
    one, two = (os.open(case.path(name), os.O_RDWR) for _ in range(2))
    os.ftruncate(one, 1)
    refusals = 0
    for descriptor in (one, two):
        try:
            os.close(descriptor)
        except OSError as error:
            assert error.errno == errno.EINVAL
            refusals += 1
    assert refusals >= 1
    case.check(quiet=False)


def test_pattern_12_handles_without_trunc_share_the_chunk_that_is_being_written(case):
    name = case.present()[0]
    data = bytearray(case.expected[name])
    one, two = (os.open(case.path(name), os.O_RDWR) for _ in range(2))
    os.pwrite(one, b"one", 0)
    os.pwrite(two, b"two", 100)
    assert os.pread(two, 3, 0) == b"one" and os.pread(one, 3, 100) == b"two"
    os.close(one)
    os.close(two)
    data[0:3], data[100:103] = b"one", b"two"
    case.expected[name] = bytes(data)
    case.check()


BEGINS = {"by name": os.open, "without a name": open_again}


@pytest.mark.parametrize("first", BEGINS)
@pytest.mark.parametrize("second", BEGINS)
def test_two_writers_that_truncate_never_mix(first, second, one_of_each):
    case = one_of_each
    for number, name in enumerate(case.present(2)):
        whole_of_one, whole_of_two = (case.bytes_for(name, 7 + 2 * number + i) for i in range(2))
        begin, end = halves(whole_of_one)
        one = BEGINS[first](case.path(name), os.O_WRONLY | os.O_TRUNC)
        os.write(one, begin)
        two = BEGINS[second](case.path(name), os.O_WRONLY | os.O_TRUNC)
        os.write(two, whole_of_two)
        os.close(two)
        assert case.path(name).read_bytes() == whole_of_two
        os.write(one, end)
        os.close(one)
        assert case.path(name).read_bytes() == whole_of_one
        case.expected[name] = whole_of_one
    case.check()


@pytest.mark.parametrize("first", BEGINS)
def test_who_writes_without_trunc_shares_the_version_of_a_writer_that_truncated(first, one_of_each):
    case = one_of_each
    [name] = case.present()
    whole_of_one, whole_of_two = (case.bytes_for(name, 7 + i) for i in range(2))
    begin, end = halves(whole_of_one)
    one = BEGINS[first](case.path(name), os.O_WRONLY | os.O_TRUNC)
    os.write(one, begin)
    two = os.open(case.path(name), os.O_WRONLY)
    os.write(two, whole_of_two)
    os.close(two)
    assert case.path(name).read_bytes() == whole_of_two
    os.write(one, end)
    os.close(one)
    # As on a disk.
    case.expected[name] = halves(whole_of_two)[0] + end
    case.check()


@pytest.mark.parametrize("trunc", [os.O_TRUNC, 0], ids=["truncates", "in place"])
def test_who_has_no_name_to_look_up_waits_for_those_who_have_the_file_open(trunc, one_of_each):
    """Found by O_PATH before a reader, or a writer, opened the same file by its name."""
    case = one_of_each
    for name, flags in zip(case.present(2), (os.O_RDONLY, os.O_WRONLY | os.O_TRUNC)):
        case.put(name, 5)
        case.expected[name] = case.bytes_for(name, 6)
        place = os.open(case.path(name), os.O_PATH)
        other = os.open(case.path(name), flags)
        closing = threading.Timer(0.3, os.close, [other])
        closing.start()
        descriptor = os.open(f"/proc/self/fd/{place}", os.O_WRONLY | trunc)
        os.write(descriptor, case.expected[name])
        closing.join()
        os.close(descriptor)
        os.close(place)
    case.check(quiet=False)


def test_pattern_12_mmap_shared_writes_reach_the_chunk(case):
    name = case.present()[0]
    data = bytearray(case.expected[name])
    descriptor = os.open(case.path(name), os.O_RDWR)
    with mmap.mmap(descriptor, 0) as mapped:
        mapped[10:14] = b"mmap"
        mapped[-4:] = b"tail"
        mapped.flush()
    os.close(descriptor)
    data[10:14], data[-4:] = b"mmap", b"tail"
    case.expected[name] = bytes(data)
    case.check()


def test_who_joins_a_program_that_only_writes_sees_what_that_writes_at_once(case):
    [name] = case.absent()
    data = case.bytes_for(name, 1)
    half = len(data) // 2
    writer = os.open(case.path(name), os.O_WRONLY | os.O_CREAT)
    os.write(writer, data[:half])
    joined = os.open(case.path(name), os.O_RDWR | os.O_CREAT)
    assert os.pread(joined, half, 0) == data[:half]
    with mmap.mmap(joined, half, mmap.MAP_PRIVATE) as mapped:
        assert mapped[:] == data[:half]
        os.pwrite(writer, data[half:], half)
        os.pwrite(writer, bytes(half), 0)
        assert os.pread(joined, len(data), 0) == bytes(half) + data[half:]
        with pytest.raises(OSError) as refused:
            mmap.mmap(joined, half, mmap.MAP_SHARED)
        assert refused.value.errno == errno.ENODEV
    os.pwrite(writer, data[:half], 0)
    os.close(writer)
    os.close(joined)
    case.expected[name] = data
    case.check()


# -------------------------------------------------------------------------------------------- locks

LOCKER = """
import fcntl, os, struct, sys
kind, path = sys.argv[1:]
file = os.open(path, os.O_RDWR | os.O_CREAT)
if kind == "flock":
    fcntl.flock(file, fcntl.LOCK_EX)
elif kind == "posix":
    fcntl.lockf(file, fcntl.LOCK_EX)
else:
    fcntl.fcntl(file, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
print("locked", flush=True)
sys.stdin.readline()
os.close(file)
"""


def try_lock(kind, descriptor):
    if kind == "flock":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif kind == "posix":
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        fcntl.fcntl(descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))


@pytest.mark.parametrize("lock", ["flock", "posix", "ofd"])
def test_pattern_13_locks_of_all_kinds_hold_between_processes(one_of_each, lock):
    case = one_of_each
    name = case.present()[0]
    for path in (case.path(name), case.path(f"{name}.__lock")):
        with subprocess.Popen([sys.executable, "-c", LOCKER, lock, path], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout.readline() == "locked\n"
            descriptor = os.open(path, os.O_RDWR)
            refused((errno.EAGAIN, errno.EACCES), try_lock, lock, descriptor)
            holder.communicate("go\n", timeout=30)
            try_lock(lock, descriptor)
            os.close(descriptor)
    case.check(quiet=False)


# ------------------------------------------------------------------------------ inodes, times, sizes


def test_pattern_14_a_lock_file_that_is_opened_again_is_the_same_and_becomes_the_chunk(case):
    """TensorStore: lock, open again and compare (dev, ino), write, rename, compare for ever."""
    for name in (case.present()[0], case.absent()[0]):
        lock = case.path(f"{name}.__lock")
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT)
        try_lock("ofd", descriptor)
        again = os.open(lock, os.O_WRONLY | os.O_CREAT)
        one, two = os.fstat(descriptor), os.fstat(again)
        assert (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
        os.close(again)
        write_all(descriptor, case.bytes_for(name, 1))
        os.fsync(descriptor)
        written = os.fstat(descriptor)
        os.rename(lock, case.path(name))
        os.close(descriptor)
        generation = (written.st_dev, written.st_ino, written.st_mtime_ns)
        flush(case.mount)
        for _ in range(2):
            now = os.stat(case.path(name))
            assert (now.st_dev, now.st_ino, now.st_mtime_ns) == generation
            listed = {entry.name: entry.inode() for entry in os.scandir(case.path(name).parent)}
            assert listed[case.path(name).name] == written.st_ino
        case.expected[name] = case.bytes_for(name, 1)
    case.check()


def test_pattern_15_the_time_of_a_chunk_is_that_of_its_own_commit(case):
    same_shard = [name for name in case.expected
                  if case.source.shard_of(name) == case.source.shard_of(case.names[0])]
    name, *neighbours = same_shard
    before = {each: os.stat(case.path(each)) for each in same_shard}
    start = time.time_ns()
    case.put(name, 1)
    end = time.time_ns()
    changed = os.stat(case.path(name)).st_mtime_ns
    assert start - 50_000_000 <= changed <= end + 50_000_000
    flush(case.mount)
    assert os.stat(case.path(name)).st_mtime_ns == changed
    assert neighbours
    for each in neighbours:
        now = os.stat(case.path(each))
        assert now.st_mtime_ns == before[each].st_mtime_ns and now.st_ino == before[each].st_ino
    case.check()


def test_pattern_16_times_modes_and_owners_are_taken(case):
    moment = 1_234_567_890_123_456_789
    name, other = case.absent(2)
    descriptor = os.open(case.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    write_all(descriptor, case.bytes_for(name, 1))
    os.fchmod(descriptor, 0o640)
    os.utime(descriptor, ns=(moment, moment))
    os.fchown(descriptor, os.getuid(), os.getgid())
    os.close(descriptor)
    temporary = case.path(f".{os.path.basename(other)}.Ab12Cd")
    temporary = case.path(os.path.join(os.path.dirname(other), temporary.name))
    write_file(temporary, case.bytes_for(other, 1), mode=0o600)
    os.utime(temporary, ns=(moment + 1, moment + 1))
    os.chmod(temporary, 0o644)
    os.rename(temporary, case.path(other))
    present = case.present()[0]
    os.utime(case.path(present), ns=(moment + 2, moment + 2))
    os.chmod(case.path(present), 0o600)
    for each in (name, other):
        case.expected[each] = case.bytes_for(each, 1)
    for _ in range(2):
        times = [os.stat(case.path(each)).st_mtime_ns for each in (name, other, present)]
        assert times == [moment, moment + 1, moment + 2]
        assert stat.S_IMODE(os.stat(case.path(present)).st_mode) == 0o644
        flush(case.mount)
    case.check()


def test_pattern_17_sizes_are_exact_at_lookup_before_and_after_publishing(case):
    for name in case.absent(2):
        descriptor = os.open(case.path(name), os.O_RDWR | os.O_CREAT)
        for end in (1, 700, case.source.size(name)):
            os.pwrite(descriptor, case.bytes_for(name, 1)[:end], 0)
            assert os.fstat(descriptor).st_size == os.lseek(descriptor, 0, os.SEEK_END) == end
        os.close(descriptor)
        case.expected[name] = case.bytes_for(name, 1)
        assert os.stat(case.path(name)).st_size == case.source.size(name)
        with open(case.path(name), "rb") as reader:
            assert reader.seek(0, os.SEEK_END) == case.source.size(name)
            with mmap.mmap(reader.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                assert mapped[:] == case.expected[name]
    case.check()


def test_pattern_18_blocks_are_the_size_in_units_of_512(case):
    case.put(case.absent()[0], 1)
    write_file(case.path(f"{case.names[0]}.partial"), b"x" * 1025)
    for name in [*case.expected, f"{case.names[0]}.partial"]:
        status = os.stat(case.path(name))
        assert status.st_blocks == -(-status.st_size // 512), name
    os.unlink(case.path(f"{case.names[0]}.partial"))
    case.check()


# ------------------------------------------------------------------------------------------ suffixes


def test_pattern_20_a_write_to_gz_is_a_write_to_the_chunk(volume):
    import gzip

    for number, name in enumerate([volume.present()[0], *volume.absent(2)]):
        data = volume.bytes_for(name, 1)
        path = volume.path(name + ".gz")
        if number == 2:
            write_file(volume.path(name + ".part"), gzip.compress(data))
            os.rename(volume.path(name + ".part"), path)
        else:
            write_file(path, gzip.compress(data))
        assert volume.path(name).read_bytes() == data
        volume.expected[name] = data
    assert not [each for each in os.listdir(volume.root / "scale") if each.endswith(".gz")]
    volume.check()


def test_pattern_20_what_is_no_gzip_is_refused_at_close_and_other_suffixes_at_create(volume):
    import gzip

    name = volume.present()[0]
    whole = gzip.compress(volume.bytes_for(name, 1))
    for wrong in (b"no gzip at all", whole[:-9], gzip.compress(b"too short")):
        refused(errno.EINVAL, write_file, volume.path(name + ".gz"), wrong)
    for suffix in (".br", ".zstd", ".xz", ".bz2"):
        refused(errno.EINVAL, os.open, volume.path(name + suffix), os.O_WRONLY | os.O_CREAT)
    volume.check(quiet=False)
    assert ".br" in volume.reasons()


def test_pattern_21_both_names_show_the_new_bytes_at_once(work, mount):
    import gzip

    case = WriteCase("precomputed-gzip", work, mount)
    name = case.present()[0]
    for version in range(1, 5):
        assert gzip.decompress(case.path(name + ".gz").read_bytes()) == case.expected[name]
        if version % 2:
            case.put(name, version)
        else:
            case.expected[name] = case.bytes_for(name, version)
            write_file(case.path(name + ".gz"), gzip.compress(case.expected[name]))
        assert case.path(name).read_bytes() == case.expected[name]
        assert gzip.decompress(case.path(name + ".gz").read_bytes()) == case.expected[name]
        times = {os.stat(case.path(each)).st_mtime_ns for each in (name, name + ".gz")}
        assert len(times) == 1
    case.check()
    assert gzip.decompress(case.path(name + ".gz").read_bytes()) == case.expected[name]


def test_pattern_22_a_name_that_was_probed_is_there_once_it_is_written(case):
    for name in case.absent(2):
        for _ in range(3):
            refused(errno.ENOENT, os.open, case.path(name), os.O_RDONLY)
        case.put(name, 1)
        assert case.path(name).read_bytes() == case.expected[name]
        os.unlink(case.path(name))
        refused(errno.ENOENT, os.stat, case.path(name))
        case.put(name, 2)
    case.check()
