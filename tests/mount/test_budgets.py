"""What a read costs: kernel requests, and reads of shards, counted by the daemon itself."""

import errno
import os
import subprocess
import time

import pytest

from mount_data import (VersionedSkeletons, VersionedVolume, VersionedZarr, drop_caches,
                        kernel_caches, refused)
from mounting import wait_until


@pytest.fixture(autouse=True)
def undisturbed():
    with kernel_caches():
        yield


# A grid whose extents are powers of two is otherwise looked into at mount, for the old Morton rule.
# Read-only: writable mounts have open and release for each file as well.
NO_PROBE = "morton=standard,ro"


class Meter:
    """The daemon's counters since the last look."""

    def __init__(self, mounted):
        self.mount = mounted
        self.before = self.read()

    def read(self):
        counters = self.mount.status()["counters"]
        return {"requests": dict(counters["requests"]), "store": dict(counters["store"])}

    def spent(self):
        """({request: number}, {store access: number}) since the last call, zeros left out."""
        before, self.before = self.before, self.read()
        return tuple({name: count - before[group].get(name, 0)
                      for name, count in self.before[group].items()
                      if count != before[group].get(name, 0)} for group in ("requests", "store"))

    def reset(self):
        self.before = self.read()


def read_once(path):
    """open, one read, close: as a C program would."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 20)
    finally:
        os.close(descriptor)


class Prepared:
    """A mounted source whose shard 0 has been used, so that the rest of the mount is warm."""

    def __init__(self, source, mounted):
        self.source, self.path = source, mounted.path
        self.by_shard = {}
        for number in source.names:
            self.by_shard.setdefault(source.shard_of(number), []).append(number)
        self.know_directories()
        assert self.read(self.by_shard[0][0])
        self.meter = Meter(mounted)

    def know_directories(self):
        for directory in {os.path.dirname(name) for name in self.source.names.values()}:
            os.stat(self.path / directory)

    def read(self, number):
        return read_once(self.path / self.source.names[number])

    def read_checked(self, number):
        assert self.read(number) == self.source.expected(number, 1)


@pytest.fixture(params=["precomputed", "precomputed gzip", "zarr /", "zarr .", "skeletons"])
def prepared(request, work, mount):
    kind, _, detail = request.param.partition(" ")
    if kind == "precomputed":
        source = VersionedVolume(work / "source", gzip_data=detail == "gzip")
    elif kind == "zarr":
        source = VersionedZarr(work / "source", separator=detail)
    else:
        source = VersionedSkeletons(work / "source")
    ready = Prepared(source, mount(source.path, NO_PROBE))
    ready.index_reads = {} if kind == "zarr" else {"index_reads": 1}  # beside the opening request
    ready.page = (lambda n: 0) if kind == "zarr" else (
        (lambda n: n >> 1 & 3) if kind == "precomputed" else (lambda n: n & 3))
    return ready


# -------------------------------------------------------------------------------------- kernel requests


def test_a_cold_read_of_a_chunk_costs_one_lookup_and_one_read(prepared):
    for shard in list(prepared.by_shard)[1:3]:
        for number in prepared.by_shard[shard]:
            prepared.meter.reset()
            prepared.read_checked(number)
            assert prepared.meter.spent()[0] == {"lookup": 1, "read": 1}, number


def test_a_second_read_of_the_same_file_costs_no_request(prepared):
    number = prepared.by_shard[1][0]
    prepared.read_checked(number)
    prepared.meter.reset()
    for _ in range(10):
        prepared.read_checked(number)
        os.stat(prepared.path / prepared.source.names[number])
    assert prepared.meter.spent() == ({}, {})


def test_stat_then_read_costs_the_same_as_read_alone(prepared):
    path = prepared.path / prepared.source.names[prepared.by_shard[1][0]]
    os.stat(path)
    read_once(path)
    assert prepared.meter.spent()[0] == {"lookup": 1, "read": 1}


def test_a_read_after_ls_l_of_the_directory_costs_at_most_one_lookup_and_one_read(prepared):
    number = prepared.by_shard[1][0]
    path = prepared.path / prepared.source.names[number]
    subprocess.run(["ls", "-l", path.parent], check=True, capture_output=True, timeout=30)
    prepared.meter.reset()
    prepared.read_checked(number)
    spent = prepared.meter.spent()[0]
    assert spent.get("read", 0) == 1 and set(spent) <= {"lookup", "read"}


def test_a_second_probe_of_an_absent_name_costs_no_request(prepared):
    directory = (prepared.path / prepared.source.names[prepared.by_shard[1][0]]).parent
    for suffix in (".gz", ".br", ".partial", ".__lock"):
        path = directory / f"999{suffix}"
        refused(errno.ENOENT, os.stat, path)
        first = prepared.meter.spent()
        assert first == ({"lookup": 1}, {}), suffix
        for _ in range(5):
            refused(errno.ENOENT, os.open, path, os.O_RDONLY)
        assert prepared.meter.spent() == ({}, {}), suffix


def test_mmap_sendfile_and_o_direct_send_no_open_flush_or_release(prepared):
    number = prepared.by_shard[1][0]
    path = prepared.path / prepared.source.names[number]
    subprocess.run(["cp", path, os.devnull], check=True, timeout=30)
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=64K", "iflag=direct", "status=none"],
                   check=True, timeout=30)
    assert set(prepared.meter.spent()[0]) <= {"lookup", "read", "getxattr", "listxattr"}


def test_ls_l_does_not_ask_for_attributes_of_every_file(prepared):
    directory = (prepared.path / prepared.source.names[prepared.by_shard[1][0]]).parent
    files = len(os.listdir(directory))
    for _ in range(2):
        prepared.meter.reset()
        subprocess.run(["ls", "-l", directory], check=True, capture_output=True, timeout=30)
        spent = prepared.meter.spent()[0]
        assert spent.get("getxattr", 0) <= min(4, files) and spent.get("listxattr", 0) == 0
        assert spent.get("getattr", 0) <= 1


def test_a_second_ls_l_costs_at_most_a_listing(prepared):
    directory = (prepared.path / prepared.source.names[prepared.by_shard[1][0]]).parent
    command = ["ls", "-l", directory]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    prepared.meter.reset()
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    spent = prepared.meter.spent()[0]
    assert spent.get("lookup", 0) == 0 and spent.get("read", 0) == 0, spent


def test_looking_at_the_control_files_is_not_counted(prepared):
    for name in ("status.json", "metrics", "config.json", "errors"):
        (prepared.path / ".unshard" / name).read_bytes()
        os.stat(prepared.path / ".unshard" / name)
    os.listdir(prepared.path / ".unshard")
    assert prepared.meter.spent() == ({}, {})


def test_a_large_chunk_is_read_in_pieces_of_at_least_128_kib(work, mount):
    source = VersionedSkeletons(work / "source")
    source.size = lambda version: 24 * 40_000
    source.publish(1, 1)
    prepared = Prepared(source, mount(source.path, NO_PROBE))
    number = prepared.by_shard[1][0]
    prepared.read_checked(number)
    requests = prepared.meter.spent()[0]
    assert requests.pop("lookup") == 1
    assert 1 <= requests.pop("read") <= -(-source.size(1) // (128 << 10)) + 2 and not requests


# ---------------------------------------------------------------------------------------- store accesses


def test_the_first_chunk_of_a_cold_shard_costs_its_index_reads_and_one_data_read(prepared):
    number = prepared.by_shard[2][0]
    prepared.read_checked(number)
    assert prepared.meter.spent()[1] == {"opens": 1, "data_reads": 1, **prepared.index_reads}


def test_another_chunk_of_a_known_index_page_costs_one_data_read(prepared):
    first, *others = prepared.by_shard[2]
    same = [n for n in others if prepared.page(n) == prepared.page(first)]
    assert same
    prepared.read_checked(first)
    prepared.meter.reset()
    for number in same:
        prepared.read_checked(number)
        assert prepared.meter.spent()[1] == {"data_reads": 1}


def test_another_minishard_of_an_open_shard_costs_its_index_reads_and_one_data_read(prepared):
    first, *others = prepared.by_shard[2]
    far = [n for n in others if prepared.page(n) != prepared.page(first)]
    prepared.read_checked(first)
    prepared.meter.reset()
    for number in far[:1]:
        prepared.read_checked(number)
        spent = prepared.meter.spent()[1]
        assert spent == {"data_reads": 1, "index_reads": 1}


def test_a_chunk_that_the_kernel_forgot_costs_no_index_read_when_read_again(prepared):
    number = prepared.by_shard[2][0]
    prepared.read_checked(number)
    drop_caches()
    prepared.know_directories()
    prepared.meter.reset()
    prepared.read_checked(number)
    requests, store = prepared.meter.spent()
    assert requests["read"] == 1 and "index_reads" not in store and "opens" not in store
    assert store.get("data_reads", 0) <= 1


def test_stat_of_every_chunk_reads_no_plain_chunk(prepared):
    """Sizes come from the index, or, for gzip chunks of raw voxels, from arithmetic."""
    for number in prepared.source.names:
        assert (os.stat(prepared.path / prepared.source.names[number]).st_size
                == prepared.source.size(1))
    assert "data_reads" not in prepared.meter.spent()[1]


def test_a_listing_reads_each_index_page_at_most_once_and_no_chunk(prepared):
    def list_all():
        return sum(len(files) for _, _, files in os.walk(prepared.path))

    first = list_all()
    spent = prepared.meter.spent()[1]
    shards = len(prepared.by_shard)
    assert spent.get("data_reads", 0) == 0 and spent["opens"] <= shards
    assert spent.get("index_reads", 0) <= shards * (4 if prepared.index_reads else 0)
    assert list_all() == first
    assert prepared.meter.spent()[1] == {}


def test_find_looks_up_no_directory_of_nested_chunk_keys(work, mount):
    source = VersionedZarr(work / "source", separator="/")
    mounted = mount(source.path, NO_PROBE)
    meter = Meter(mounted)
    found = {os.path.relpath(os.path.join(directory, file), mounted.path)
             for directory, _, files in os.walk(mounted.path) for file in files}
    assert set(source.names.values()) <= found
    subprocess.run(["find", mounted.path], check=True, capture_output=True, timeout=30)
    above = min(name.split("/c/")[0].count("/") + 1 for name in source.names.values())
    assert meter.spent()[0].get("lookup", 0) <= above


def test_a_listing_costs_two_requests_for_each_directory_and_none_the_second_time(work, mount):
    """The second of the two is the kernel's, which asks until the answer is empty."""
    source = VersionedZarr(work / "source", separator="/")
    mounted = mount(source.path, NO_PROBE)
    meter = Meter(mounted)
    command = ["find", mounted.path, "-type", "d"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    directories = len(done.stdout.splitlines())
    requests = meter.spent()[0]
    assert requests.pop("opendir") == 1, "where it is answered that none is needed"
    assert requests.pop("readdir", 0) + requests.pop("readdirplus") == 2 * directories
    assert sum(requests.values()) <= requests.get("lookup", 0) <= 1, requests
    for command in (["find", mounted.path], ["ls", "-fR", mounted.path]):
        subprocess.run(command, check=True, capture_output=True, timeout=30)
        assert meter.spent() == ({}, {}), command


@pytest.mark.parametrize("kind", ["precomputed", "precomputed gzip", "zarr"])
def test_an_open_file_of_a_writable_mount_is_read_without_another_look_at_the_index(
        kind, work, mount):
    source = (VersionedZarr(work / "source", separator=".") if kind == "zarr" else
              VersionedVolume(work / "source", gzip_data=kind.endswith("gzip")))
    mounted = mount(source.path, "rw,morton=standard")
    prepared = Prepared(source, mounted)

    def look_ups():
        cache = mounted.status()["counters"]["index_cache"]
        return cache["hits"] + cache["misses"]

    for number in prepared.by_shard[1]:
        os.stat(mounted.path / source.names[number])
        before = look_ups()
        with open(mounted.path / source.names[number], "rb", buffering=0) as file:
            opened = look_ups()
            assert file.read() == source.expected(number, 1)
            assert look_ups() == opened <= before + 1


def test_an_absent_chunk_of_a_missing_shard_is_looked_for_once(work, mount):
    source = VersionedVolume(work / "source")
    source.shard_path(3).unlink()
    prepared = Prepared(source, mount(source.path, NO_PROBE))
    for number in prepared.by_shard[3]:
        refused(errno.ENOENT, os.stat, prepared.path / source.names[number])
    requests, store = prepared.meter.spent()
    assert requests == {"lookup": len(prepared.by_shard[3])}
    assert set(store) <= {"opens"} and store.get("opens", 0) <= 1


# ------------------------------------------------------------------------------------------ notifications


@pytest.mark.parametrize("kind", ["precomputed", "zarr /", "zarr ."])
def test_the_name_of_each_chunk_of_a_replaced_shard_is_dropped_once(kind, work, mount):
    source = (VersionedVolume(work / "source") if kind == "precomputed" else
              VersionedZarr(work / "source", separator=kind[-1]))
    mounted = mount(source.path, NO_PROBE)
    prepared = Prepared(source, mounted)
    for number in prepared.by_shard[1]:
        prepared.read_checked(number)

    def dropped():
        return mounted.status()["counters"]["entries_invalidated"]

    before = dropped()
    # One event: what is written in the directory itself has several, which come apart or together.
    (work / "new").write_bytes(source.shard_bytes(1, 2, ()))
    os.replace(work / "new", source.shard_path(1))
    names = [mounted.path / source.names[number] for number in prepared.by_shard[1]]
    assert wait_until(lambda: all(name.read_bytes() == source.expected(number, 2) for name, number
                                  in zip(names, prepared.by_shard[1])), 30)
    time.sleep(0.2)  # for more than that
    # Beside them that of the shard's file.
    assert len(names) <= dropped() - before <= len(names) + 1
