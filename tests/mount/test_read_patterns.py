"""Every way in which a program reads bytes, on real mounts: system calls, threads, processes."""

import ctypes
import errno
import fcntl
import gzip
import hashlib
import mmap
import os
import random
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mount_data import Case, drop_caches, refused

FICLONE = 0x40049409
BLOCK = 4096


@pytest.fixture(scope="module", params=["ro", "rw"])
def mount_options(request):
    """Readers meet the same files on a writable mount."""
    return request.param


@pytest.fixture
def read_only(mount_options):
    if mount_options != "ro":
        pytest.skip("about read-only mounts")


@pytest.fixture(params=["fine", "coarse", "zarr"])
def case(request, volume, tree):
    """Chunks whose stored bytes are gzip, chunks stored plain, and inner chunks of Zarr."""
    if request.param == "zarr":
        return tree
    name = next(n for n in volume.chunks
                if n.startswith(request.param) and len(volume.chunks[n]) == 32**3)
    chosen = Case(volume.mount, volume.chunks)
    chosen.name, chosen.path, chosen.data = name, volume.root / name, volume.chunks[name]
    return chosen


@pytest.fixture
def opened(case):
    descriptor = os.open(case.path, os.O_RDONLY | os.O_CLOEXEC)
    yield descriptor
    os.close(descriptor)


def all_of(root, names):
    return {name: (root / name).read_bytes() for name in names}


# ------------------------------------------------------------------------------------- whole files


def test_every_chunk_file_holds_exactly_the_bytes_of_its_chunk(volume, tree):
    assert all_of(volume.root, volume.chunks) == volume.chunks
    assert all_of(tree.root, tree.chunks) == tree.chunks


def test_the_size_at_lookup_is_the_number_of_bytes_that_can_be_read(volume, tree):
    for each in (volume, tree):
        sizes = {name: os.stat(each.root / name).st_size for name in each.chunks}
        assert sizes == {name: len(data) for name, data in each.chunks.items()}


def test_zarrita_reads_exactly_st_size_bytes(case, opened):
    assert os.read(opened, os.fstat(opened).st_size) == case.data


def test_zarr_python_2_reads_one_byte_more_than_the_size_and_then_end_of_file(case, opened):
    assert os.lseek(opened, 0, os.SEEK_CUR) == 0
    assert os.read(opened, os.fstat(opened).st_size + 1) == case.data
    assert os.read(opened, 1) == b""


def test_z5_finds_the_size_by_seeking_to_the_end(case, opened):
    assert os.lseek(opened, 0, os.SEEK_END) == len(case.data)
    assert os.lseek(opened, 0, os.SEEK_SET) == 0
    assert os.read(opened, len(case.data)) == case.data


def test_seeking_for_holes_finds_none(case, opened):
    assert os.lseek(opened, 0, os.SEEK_DATA) == 0
    assert os.lseek(opened, 0, os.SEEK_HOLE) == len(case.data)


def test_unsharded_metadata_and_files_beside_the_data_read_like_files(volume, tree):
    info = (volume.root / "info").read_text()
    assert '"sharding"' not in info and '"fine"' in info
    document = (tree.root / "image" / "zarr.json").read_text()
    assert "sharding_indexed" not in document and '"nm"' in document
    assert (volume.root / "notes.txt").read_text() == "stands beside the data\n"
    assert os.stat(volume.root / "info").st_size == len(info)
    assert os.stat(tree.root / "image" / "zarr.json").st_size == len(document)


def test_stored_shard_files_cannot_be_opened(volume, tree):
    for name in ("fine/0.shard", "coarse/0.shard"):
        assert (volume.source.path / name).exists()
        refused(errno.ENOENT, os.stat, volume.root / name)
    stored = (tree.source.path / "image/c/0/0/0").read_bytes()
    assert len((tree.root / "image/c/0/0/2").read_bytes()) < len(stored)


# ------------------------------------------------------------------------------------ parts of files


@pytest.mark.parametrize("seed", range(3))
def test_pread_gives_the_right_bytes_at_any_offset(case, opened, seed):
    choose = random.Random(seed)
    size = len(case.data)
    for _ in range(300):
        offset, length = choose.randrange(size + 100), choose.randrange(1, 9000)
        assert os.pread(opened, length, offset) == case.data[offset:offset + length]


def test_pread_at_and_after_the_end_gives_nothing(case, opened):
    size = len(case.data)
    for offset in (size, size + 1, size + BLOCK, 1 << 40, (1 << 63) - BLOCK):
        assert os.pread(opened, 100, offset) == b""
    assert os.pread(opened, 100, size - 1) == case.data[-1:]


def test_tensorstore_reads_ranges_by_pread_on_one_descriptor_from_many_threads(case, opened):
    size = len(case.data)

    def read(seed):
        choose = random.Random(seed)
        return all(os.pread(opened, 777, at) == case.data[at:at + 777]
                   for at in (choose.randrange(size) for _ in range(100)))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(32)))


def test_preadv_scatters_into_several_buffers(case, opened):
    first, second = bytearray(100), bytearray(5000)
    assert os.preadv(opened, [first, second], 11) == 5100
    assert bytes(first) + bytes(second) == case.data[11:5111]


def test_reading_backwards_byte_by_byte_gives_the_right_bytes(case, opened):
    tail = range(len(case.data) - 1, len(case.data) - 500, -1)
    assert bytes(os.pread(opened, 1, at)[0] for at in tail) == bytes(case.data[at] for at in tail)


# --------------------------------------------------------------------------------------------- mmap


@pytest.mark.parametrize("flags", [mmap.MAP_PRIVATE, mmap.MAP_SHARED])
def test_mmap_private_and_shared_show_the_bytes_and_zeros_after_them(case, opened, flags):
    size = len(case.data)
    pages = -(-size // BLOCK) * BLOCK
    with mmap.mmap(opened, size, flags=flags, prot=mmap.PROT_READ) as mapped:
        mapped.madvise(mmap.MADV_WILLNEED)
        assert mapped[:] == case.data
    if pages != size:
        with mmap.mmap(opened, 0, flags=flags, prot=mmap.PROT_READ) as mapped:
            assert mapped[size - 1:size] == case.data[-1:]


def test_mmap_stays_readable_after_the_descriptor_is_closed(case):
    with open(case.path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with mapped:
        assert mapped[:] == case.data


def test_mmap_at_an_offset_shows_the_bytes_from_there(case, opened):
    with mmap.mmap(opened, 2 * BLOCK, prot=mmap.PROT_READ, offset=BLOCK) as mapped:
        assert mapped[:] == case.data[BLOCK:3 * BLOCK]


def test_the_writable_private_mapping_of_a_reader_does_not_change_the_file(case, opened):
    with mmap.mmap(opened, 0, flags=mmap.MAP_PRIVATE,
                   prot=mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        mapped[:4] = b"mine"
        assert os.pread(opened, 4, 0) == case.data[:4]


# ------------------------------------------------------------------------- copies inside the kernel


def test_nginx_sends_a_chunk_by_sendfile_into_a_socket(case, opened):
    here, there = socket.socketpair()
    received = bytearray()

    def receive():
        while block := there.recv(1 << 16):
            received.extend(block)

    reader = threading.Thread(target=receive)
    reader.start()
    sent = 0
    while sent < len(case.data):
        count = os.sendfile(here.fileno(), opened, sent, len(case.data) - sent)
        assert count > 0
        sent += count
    here.close()
    reader.join(30)
    there.close()
    assert bytes(received) == case.data


def test_sendfile_from_the_middle_sends_the_right_range(case, opened):
    read_end, write_end = os.pipe()
    assert os.sendfile(write_end, opened, 1001, 3000) == 3000
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read() == case.data[1001:4001]


def test_splice_into_a_pipe_moves_the_right_bytes(case, opened):
    read_end, write_end = os.pipe()
    moved = os.splice(opened, write_end, 10_000, offset_src=7)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read() == case.data[7:7 + moved]
    assert moved > 0


def test_cp_copies_by_copy_file_range_or_is_told_to_fall_back(case, opened, work):
    with open(work / "copy", "w+b") as target:
        try:
            count = os.copy_file_range(opened, target.fileno(), 1 << 30, 0, 0)
            target.seek(0)
            assert target.read() == case.data[:count] and count > 0
        except OSError as problem:
            assert problem.errno in (errno.EXDEV, errno.EOPNOTSUPP), problem


def test_cp_asks_for_a_clone_and_is_told_to_fall_back(case, opened, work):
    with open(work / "clone", "wb") as target:
        refused((errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY),
                fcntl.ioctl, target.fileno(), FICLONE, opened)


def test_readers_may_advise_the_kernel(case, opened):
    for advice in (os.POSIX_FADV_SEQUENTIAL, os.POSIX_FADV_RANDOM, os.POSIX_FADV_WILLNEED,
                   os.POSIX_FADV_DONTNEED):
        os.posix_fadvise(opened, 0, 0, advice)
    assert os.pread(opened, 1 << 20, 0) == case.data


# --------------------------------------------------------------------------------------- open flags


def read_direct(descriptor, size, offset):
    with mmap.mmap(-1, size) as buffer:
        count = os.preadv(descriptor, [buffer], offset)
        return buffer[:count]


def test_zarrs_reads_with_o_direct_from_the_start(case):
    descriptor = os.open(case.path, os.O_RDONLY | os.O_DIRECT)
    try:
        assert read_direct(descriptor, 1 << 20, 0) == case.data
        assert read_direct(descriptor, BLOCK, 2 * BLOCK) == case.data[2 * BLOCK:3 * BLOCK]
        assert read_direct(descriptor, BLOCK, 1 << 30) == b""
    finally:
        os.close(descriptor)


def test_o_direct_serves_any_alignment(case):
    descriptor = os.open(case.path, os.O_RDONLY | os.O_DIRECT)
    try:
        buffer = bytearray(1003)
        assert os.preadv(descriptor, [memoryview(buffer)[3:]], 501) == 1000
        assert bytes(buffer[3:]) == case.data[501:1501]
    finally:
        os.close(descriptor)


def test_tensorstore_sets_o_direct_later_by_fcntl(case, opened):
    assert os.pread(opened, 10, 5) == case.data[5:15]
    fcntl.fcntl(opened, fcntl.F_SETFL, fcntl.fcntl(opened, fcntl.F_GETFL) | os.O_DIRECT)
    assert read_direct(opened, 1 << 20, 0) == case.data


@pytest.mark.parametrize("flag", ["O_NONBLOCK", "O_NOFOLLOW", "O_NOATIME", "O_CLOEXEC", "O_NOCTTY",
                                  "O_SYNC"])
def test_flags_that_mean_nothing_here_are_ignored(case, flag):
    descriptor = os.open(case.path, os.O_RDONLY | getattr(os, flag))
    try:
        assert os.read(descriptor, 1 << 20) == case.data
    finally:
        os.close(descriptor)


def test_tensorstore_opens_every_entry_as_a_directory_and_expects_enotdir_for_files(case):
    directory = os.open(case.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        refused(errno.ENOTDIR, os.open, case.path.name,
                os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    finally:
        os.close(directory)


def test_zarr_python_3_reads_a_directory_as_a_chunk_and_a_chunk_as_a_directory(case):
    refused(errno.EISDIR, lambda: open(case.path.parent, "rb").read())
    refused(errno.ENOTDIR, os.stat, case.path / "0")
    refused(errno.ENOTDIR, os.listdir, case.path)


def test_o_path_and_proc_lead_to_the_same_file(case):
    descriptor = os.open(case.path, os.O_PATH)
    try:
        with open(f"/proc/self/fd/{descriptor}", "rb") as file:
            assert file.read() == case.data
    finally:
        os.close(descriptor)


def test_n5_locks_a_block_for_reading_before_it_reads(case, opened):
    fcntl.lockf(opened, fcntl.LOCK_SH)
    assert os.pread(opened, len(case.data), 0) == case.data
    fcntl.lockf(opened, fcntl.LOCK_UN)
    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(case.path, "rb") as other:
        refused(errno.EWOULDBLOCK, fcntl.flock, other.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_every_attempt_to_write_is_told_that_the_file_system_is_read_only(case, read_only):
    path, directory = case.path, case.path.parent
    attempts = [
        (os.open, path, os.O_WRONLY), (os.open, path, os.O_RDWR),
        (os.open, path, os.O_RDONLY | os.O_TRUNC), (os.open, path, os.O_WRONLY | os.O_APPEND),
        (os.open, directory / ".new.partial", os.O_WRONLY | os.O_CREAT),
        (os.truncate, path, 0), (os.unlink, path), (os.mkdir, directory / "new"),
        (os.rename, path, directory / "other"), (os.link, path, directory / "other"),
        (os.symlink, "x", directory / "other"), (os.chmod, path, 0o600), (os.chown, path, 1, 1),
        (os.utime, path), (os.setxattr, path, "user.mine", b"1"), (os.rmdir, directory)]
    for call, *arguments in attempts:
        refused(errno.EROFS, call, *arguments)
    assert path.read_bytes() == case.data


def test_an_unnamed_temporary_file_is_refused_so_that_callers_fall_back(case):
    refused((errno.EROFS, errno.EOPNOTSUPP), os.open, case.path.parent,
            os.O_TMPFILE | os.O_RDWR)


# ------------------------------------------------------------------------------ absent and hidden names


def test_an_empty_chunk_is_absent(volume, tree):
    for key in volume.source.voxels:
        assert volume.source.missing(key)
        for name in volume.source.missing(key):
            refused(errno.ENOENT, os.stat, volume.root / key / name)
            refused(errno.ENOENT, os.open, volume.root / key / name, os.O_RDONLY)
    refused(errno.ENOENT, os.stat, tree.root / "image/c/0/0/0")


@pytest.mark.parametrize("name", [
    "fine/032-64_32-64_8-40", "fine/+32-64_32-64_8-40", "fine/0-33_32-64_8-40",
    "fine/1-33_32-64_8-40", "fine/0-32_32-64_8-40_0-1", "fine/0-32_32-64", "fine/0-32_32-64_8-40 ",
    "fine/0-32_32-64_8-40.br", "fine/.0-32_32-64_8-40.partial", "fine/68-100_0-32_8-40",
    "fine/99999999999999999999-99999999999999999999_0-32_8-40", "fine/" + "9" * 255,
    "fine/..index", "fine/0x20-64_32-64_8-40"])
def test_names_that_no_writer_would_write_are_absent(volume, name):
    assert (volume.root / "fine/0-32_32-64_8-40").exists()
    refused(errno.ENOENT, os.stat, volume.root / name)


@pytest.mark.parametrize("name", [
    "image/c/0/0/02", "image/c/0/0/-1", "image/c/0/0/99", "image/c/0/0/0/0", "image/c/7/0/0",
    "image/c/0/0/2.partial", "image/c/0.0.2", "image/0/0/2", "image/c/0/0/18446744073709551616"])
def test_zarr_keys_outside_the_grid_are_absent(tree, name):
    assert (tree.root / "image/c/0/0/2").exists()
    refused((errno.ENOENT, errno.ENOTDIR), os.stat, tree.root / name)


def test_a_name_that_is_too_long_is_refused_as_on_a_disk(volume):
    refused(errno.ENAMETOOLONG, os.stat, volume.root / "fine" / ("9" * 300))


def test_a_gzip_chunk_answers_under_its_gz_name_with_the_stored_bytes(volume):
    for name, data in volume.source.chunks("fine").items():
        path = volume.root / "fine" / f"{name}.gz"
        stored = path.read_bytes()
        assert os.stat(path).st_size == len(stored)
        assert gzip.decompress(stored) == data
        plain = volume.root / "fine" / name
        shard = volume.source.path / os.getxattr(plain, "user.unshard.shard").decode()
        offset = int(os.getxattr(plain, "user.unshard.offset"))
        length = int(os.getxattr(plain, "user.unshard.length"))
        assert shard.read_bytes()[offset:offset + length] == stored


def test_gz_names_are_never_listed(volume):
    for key in volume.source.voxels:
        assert not [n for n in os.listdir(volume.root / key) if n.endswith(".gz")]


def test_a_gz_name_is_absent_where_the_chunk_is_absent_or_stored_plain(volume, tree):
    refused(errno.ENOENT, os.stat, volume.root / "fine" / (volume.source.missing("fine")[0] + ".gz"))
    refused(errno.ENOENT, os.stat, volume.root / "coarse" / "0-32_32-64_8-40.gz")
    refused(errno.ENOENT, os.stat, tree.root / "image/c/0/0/2.gz")
    refused(errno.ENOENT, os.stat, volume.root / "fine" / "0-32_32-64_8-40.gz.gz")


# ---------------------------------------------------------------------------------- extended attributes


def test_extended_attributes_tell_where_a_chunk_stands(volume, tree):
    for each, stored_is_plain in ((volume, False), (tree, True)):
        for name, data in each.chunks.items():
            path = each.root / name
            value = {key: os.getxattr(path, f"user.unshard.{key}").decode()
                     for key in ("shard", "offset", "length", "id", "generation")}
            assert all(value[key].isdecimal() for key in ("offset", "length", "id", "generation"))
            shard = (each.source.path / value["shard"]).read_bytes()
            begin, length = int(value["offset"]), int(value["length"])
            stored = shard[begin:begin + length]
            gzipped = not stored_is_plain and name.startswith("fine")
            assert (gzip.decompress(stored) if gzipped else stored) == data


def test_extended_attributes_are_listed_and_unknown_ones_are_absent(case):
    listed = set(os.listxattr(case.path))
    assert listed >= {f"user.unshard.{key}" for key in ("shard", "offset", "length", "id",
                                                        "generation")}
    refused((errno.ENODATA, errno.EOPNOTSUPP), os.getxattr, case.path, "user.other")
    refused((errno.ENODATA, errno.EOPNOTSUPP), os.getxattr, case.path, "security.selinux")


# ------------------------------------------------------------------------------------- many at once


def test_many_threads_read_all_chunks_in_random_order(volume, tree):
    work = [(each.root / name, data) for each in (volume, tree)
            for name, data in each.chunks.items()] * 3
    random.Random(5).shuffle(work)
    with ThreadPoolExecutor(16) as pool:
        wrong = [path for (path, data), read in
                 zip(work, pool.map(lambda item: item[0].read_bytes(), work)) if read != data]
    assert not wrong


READER = """
import hashlib, os, pathlib, random, sys
root, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2])
names = sys.stdin.read().split("\\n")
random.Random(seed).shuffle(names)
digests = {n: hashlib.sha256((root / n).read_bytes()).hexdigest() for n in names}
print("\\n".join(digests[n] for n in sorted(digests)))
"""


def test_xargs_many_processes_read_all_chunks_after_the_caches_were_dropped(volume):
    drop_caches()
    names = sorted(volume.chunks)
    wanted = [hashlib.sha256(volume.chunks[name]).hexdigest() for name in names]
    readers = [subprocess.Popen([sys.executable, "-c", READER, str(volume.root), str(seed)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for seed in range(6)]
    answers = [reader.communicate("\n".join(names), timeout=60)[0].split() for reader in readers]
    assert answers == [wanted] * len(readers)


def test_an_interrupted_reader_does_not_disturb_the_others(volume):
    script = ("import os,sys\nwhile True:\n for n in sys.argv[1:]:\n"
              "  f=os.open(n,os.O_RDONLY|os.O_DIRECT)\n  import mmap\n"
              "  os.preadv(f,[mmap.mmap(-1,1<<16)],0); os.close(f)\n")
    paths = [str(volume.root / name) for name in volume.chunks]
    for _ in range(5):
        reader = subprocess.Popen([sys.executable, "-c", script, *paths])
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(0.15)
        reader.kill()
        reader.wait(60)
    assert all_of(volume.root, volume.chunks) == volume.chunks


def test_a_mapping_is_inherited_by_a_forked_child(case):
    """As dask and multiprocessing do with memory-mapped chunks."""
    with open(case.path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        child = os.fork()
        if child == 0:
            os._exit(0 if mapped[:] == case.data else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_statx_reports_a_regular_file_without_special_bits(case, mount_options):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(256)
    assert libc.statx(-100, os.fsencode(case.path), 0, 0xfff, buffer) == 0
    mode = int.from_bytes(buffer[28:30], "little")
    assert stat.S_ISREG(mode)
    assert stat.S_IMODE(mode) == (0o444 if mount_options == "ro" else 0o644)
    assert int.from_bytes(buffer[40:48], "little") == len(case.data)
