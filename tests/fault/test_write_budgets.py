"""What writing costs: publishes, bytes, memory and kernel requests, counted exactly."""

import concurrent.futures
import errno
import fcntl
import os
import pathlib
import random
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from faults import SmallDisk, flush, run, strace, traced_calls, write_state
from line_source import LineSource, value
from mounting import wait_until
from tiers import in_turn

KINDS = ["zarr/", "zarr.", "precomputed"]
ORDERS = {"forwards": lambda chunks: chunks, "backwards": lambda chunks: chunks[::-1],
          "shuffled": lambda chunks: random.Random(7).sample(chunks, len(chunks)),
          "a shard each in turn": lambda chunks: sorted(chunks, key=lambda chunk: chunk % 64)}
NEVER = "publish_after=1000"
MEBI = 1 << 20


def put(mounted, source, chunk, counter):
    path = os.path.join(mounted.path, source.name(chunk))
    if source.kind == "zarr/":
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb", buffering=0) as file:
        file.write(value(chunk, 1, counter, source.chunk_bytes))


def settled(mounted):
    """Waits until nothing is dirty, without asking for it: minutes where a busy machine publishes 1 GiB."""
    assert wait_until(lambda: write_state(mounted)["dirty_chunks"] == 0, 300), write_state(mounted)
    return write_state(mounted)


def peak_memory(mounted):
    text = pathlib.Path(f"/proc/{mounted.status()['pid']}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) << 10


def caches(mounted):
    counters = mounted.status()["counters"]
    return counters["index_cache"]["bytes"] + counters["chunk_cache"]["bytes"]


# ------------------------------------------------------------------------------ publishes and bytes


@pytest.mark.parametrize("order", in_turn(ORDERS))
@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_a_shard_whose_chunks_are_all_written_is_published_once(kind, order, work, mount_again):
    source = LineSource(str(work / "source"), kind, shards=8, per_shard=64,
                        chunk_bytes=16384).create()
    mounted = mount_again(source, NEVER)
    for chunk in ORDERS[order](list(range(source.count))):
        put(mounted, source, chunk, 1)
    state = settled(mounted)
    written = source.count * source.chunk_bytes
    assert state["publishes"] == source.shards
    assert written <= state["bytes_published"] <= 1.1 * written
    stored = sum(os.path.getsize(source.shard_path(shard)) for shard in range(source.shards))
    assert written <= stored <= 1.1 * written
    assert source.read_values() == {chunk: (1, 1) for chunk in range(source.count)}


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_rewriting_half_of_the_chunks_at_random_publishes_each_shard_at_most_once(
        kind, work, mount_again):
    source = LineSource(str(work / "source"), kind, shards=8, per_shard=64).create()
    source.write_values({chunk: (0, 1) for chunk in range(source.count)})
    mounted = mount_again(source, NEVER)
    rng = random.Random(3)
    half = rng.sample(range(source.count), source.count // 2)
    for counter in (2, 3):  # the second time only the last version of each counts
        for chunk in half:
            put(mounted, source, chunk, counter)
    flush(mounted)
    state = write_state(mounted)
    assert state["publishes"] <= len({source.shard_of(chunk) for chunk in half})
    assert state["bytes_published"] <= 1.1 * source.count * source.chunk_bytes
    assert source.read_values() == {chunk: (1, 3) if chunk in half else (0, 1)
                                    for chunk in range(source.count)}


def test_what_is_flushed_twice_is_published_once(work, mount_again):
    source = LineSource(str(work / "source"), "zarr.").create()
    mounted = mount_again(source, NEVER)
    put(mounted, source, 3, 1)
    for _ in range(3):
        flush(mounted)
        state = write_state(mounted)
        assert state["publishes"] == 1 and state["dirty_chunks"] == 0


@pytest.mark.parametrize("kind", ["zarr.", "precomputed"])
def test_the_daemon_writes_every_byte_of_a_chunk_at_most_twice(kind, work, mount_again):
    """Once into the spool and once into the shard; counted by strace, not by the daemon."""
    source = LineSource(str(work / "source"), kind, shards=4, per_shard=64,
                        chunk_bytes=65536).create()
    calls = "write,writev,pwrite64,pwritev,pwritev2,copy_file_range,sendfile,splice"
    mounted = mount_again(source, NEVER, prefix=strace(work / "trace", calls))
    for chunk in range(source.count):
        put(mounted, source, chunk, 1)
    assert settled(mounted)["publishes"] == source.shards
    mounted.unmount()
    # The file that is written to is the first argument, or, of those that copy, the third.
    given = 0
    for _, call, arguments, result in traced_calls(work / "trace"):
        files = re.findall(r"\d+<([^>]*)>", arguments)
        target = files[0] if "write" in call else files[-1] if call != "sendfile" else files[0]
        if target.startswith(str(work)) and result > 0 and not target.endswith(".log"):
            given += result
    written = source.count * source.chunk_bytes
    print(f"{kind}: {given / written:.3f} bytes given to write calls for each byte of a chunk")
    assert written < given <= 2.2 * written
    assert source.read_values() == {chunk: (1, 1) for chunk in range(source.count)}


# Times the bytes of the chunks. Seen: 1.025 to 1.039; 2.04 where the spool is synced before each publish.
ON_DISK = 1.1


def written_to_disk(disk, kind, folder, mount):
    """What reaches the disk of spool and source from copying in full shards, flush and sync: how
    many times the bytes of the chunks."""
    folder.mkdir()
    source = LineSource(str(disk.path / "source"), kind, shards=8, per_shard=64,
                        chunk_bytes=65536).create()
    mounted = mount(source.path, f"spool={disk.path}/spool,{NEVER}", point=folder / "mnt")
    run("sync", "-f", disk.path)
    before = disk.bytes_written()
    for chunk in range(source.count):
        put(mounted, source, chunk, 1)
    flush(mounted)
    run("sync", "-f", disk.path)
    written = disk.bytes_written() - before
    assert write_state(mounted)["publishes"] == source.shards
    assert source.read_values() == {chunk: (1, 1) for chunk in range(source.count)}
    mounted.unmount()
    return written / (source.count * source.chunk_bytes)


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_what_reaches_the_disk_is_little_more_than_the_bytes_of_the_chunks(
        kind, work, mount, measured):
    """What is published before the kernel writes the spool's files out never leaves its memory.

    The kernel may write them early, because somebody else syncs the whole machine or fills its
    memory. That only adds, and a second or third try decides then.
    """
    seen = []
    while not seen or min(seen) > ON_DISK and len(seen) < 3:
        folder = work / str(len(seen))
        with SmallDisk("ext4", work / f"disk{len(seen)}") as disk:
            # Else the kernel goes on to make the file system in the background.
            run("mount", "-o", "remount,noinit_itable", disk.path)
            seen.append(written_to_disk(disk, kind, folder, mount))
    measured(f"{kind}: {min(seen):.3f} bytes reach the disk for each byte of a chunk")
    assert 1 <= min(seen) <= ON_DISK, seen


# --------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("mebibytes", [256, pytest.param(1024, marks=pytest.mark.long)])
def test_a_large_shard_is_published_in_64_mebibytes_of_memory(mebibytes, work, mount_again):
    source = LineSource(str(work / "source"), "zarr.", shards=1, per_shard=16 * mebibytes,
                        chunk_bytes=65536).create()
    mounted = mount_again(source, NEVER)
    for chunk in range(source.count):
        put(mounted, source, chunk, 1)
    state = settled(mounted)
    whole = source.count * source.chunk_bytes
    assert state["publishes"] == 1 and whole <= state["bytes_published"] <= 1.01 * whole
    first = peak_memory(mounted)
    last = source.count - 1
    for chunk in (0, last // 2, last):
        put(mounted, source, chunk, 2)
        flush(mounted)
    peak, cached = peak_memory(mounted), caches(mounted)
    print(f"VmHWM {first / MEBI:.1f} MiB after writing, {peak / MEBI:.1f} MiB after rewriting; "
          f"caches {cached / MEBI:.1f} MiB")
    assert peak - cached <= 64 * MEBI and peak <= 512 * MEBI
    store = source.open()
    for chunk, counter in ((0, 2), (1, 1), (last // 2, 2), (last - 1, 1), (last, 2)):
        row = store[chunk].read().result()
        assert row.tobytes() == value(chunk, 1, counter, source.chunk_bytes)


@pytest.mark.parametrize("cap", [64, pytest.param(512, marks=pytest.mark.long)])
def test_many_shards_at_once_stay_within_the_memory_cap(cap, work, mount_again):
    source = LineSource(str(work / "source"), "precomputed", shards=64, per_shard=64,
                        chunk_bytes=65536).create()
    mounted = mount_again(source, f"{NEVER},memory={cap}M,publish_threads=8")
    for chunk in range(source.count):
        put(mounted, source, chunk, 1)
    assert settled(mounted)["publishes"] == source.shards
    for chunk in range(0, source.count, 8):
        put(mounted, source, chunk, 2)
    flush(mounted)
    assert write_state(mounted)["publishes"] == 2 * source.shards
    peak = peak_memory(mounted)
    print(f"memory={cap}M: VmHWM {peak / MEBI:.1f} MiB")
    assert peak <= cap * MEBI


def test_chunks_of_a_view_that_many_write_at_once_stay_within_the_memory_cap(work, mount):
    """Each joins four that are stored, one a channel; and what was written is kept for who has it open."""
    import tensorstore as ts

    shape = (4, 80, 128, 1024)
    spec = {"driver": "zarr3", "kvstore": f"file://{work}/source/", "create": True, "metadata": {
        "shape": shape, "dimension_names": list("czyx"), "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": (1, 4, 128, 1024), "codecs": [{"name": "bytes"}]}}]}}
    array = ts.open(spec).result()
    mounted = mount(work / "source", f"{NEVER},memory=16M,view=precomputed")
    values = np.random.default_rng(3).integers(1, 255, shape, np.uint8)
    ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{mounted.path}/"}
            ).result().write(values.T).result()
    files = [pathlib.Path(folder) / name for folder, _, names in os.walk(mounted.path)
             for name in names if name != "info"]
    assert {file.stat().st_size for file in files} == {2 * MEBI} and len(files) == 20
    written = {file: file.read_bytes() for file in files}
    with concurrent.futures.ThreadPoolExecutor(len(files)) as pool:
        list(pool.map(lambda file: file.write_bytes(written[file]), files))
    opened = [os.open(file, flags) for file in files for flags in [os.O_RDWR, os.O_RDONLY]]
    peak = peak_memory(mounted)
    for each in opened:
        os.close(each)
    flush(mounted)
    assert np.array_equal(array.read().result(), values)
    print(f"VmHWM {peak / MEBI:.1f} MiB")
    # The cap; the program itself, its libraries, and threads, each with the bytes of a request.
    assert peak <= (16 + 48) * MEBI


# ------------------------------------------------------------------------------------ kernel requests


def requests(mounted):
    """{operation: number} of .unshard/metrics."""
    text = mounted.control("metrics")
    return {name: int(number) for name, number in
            re.findall(r'^unshard_requests_total\{operation="(\w+)"\} (\d+)$', text, re.MULTILINE)}


def spent(before, after, files):
    return {name: (number - before.get(name, 0)) / files for name, number in after.items()
            if number - before.get(name, 0) >= files / 2}


def beyond(found, budget, slack):
    """What was asked for more often; nobody waits for a forget."""
    return {name: number for name, number in found.items()
            if number > budget.get(name, 0) + slack and name != "forget"}


BUDGETS = {
    # Three look-ups, and a fourth where the kernel's RELEASE comes before cp's last one: by then the
    # name has another node.
    "new": {"lookup": 4, "create": 1, "write": 1, "flush": 1, "release": 1},
    # Names of an array that is being written to are looked up each time, and twice where the kernel
    # still has the node of the version before; each chunk is opened once.
    "again": {"lookup": 5, "getattr": 1, "getxattr": 1, "open": 1, "write": 1, "flush": 1, "release": 1},
}


def test_the_requests_of_cp_for_one_chunk_are_few(work, mount_again):
    source = LineSource(str(work / "source"), "zarr.", shards=4, per_shard=64,
                        chunk_bytes=65536).create()
    plain = work / "plain"
    plain.mkdir()
    for chunk in range(source.count):
        (plain / source.name(chunk)).write_bytes(value(chunk, 1, 1, source.chunk_bytes))
    mounted = mount_again(source, NEVER)
    for round_, budget in BUDGETS.items():
        before = requests(mounted)
        subprocess.run(["cp", *(plain / name for name in source.names()), mounted.path],
                       check=True, timeout=60)
        found = spent(before, requests(mounted), source.count)
        print(f"cp, {round_}: {found} requests for each chunk")
        assert not beyond(found, budget, 0.5), f"{round_}: {found}"
    flush(mounted)
    assert source.read_values() == {chunk: (1, 1) for chunk in range(source.count)}


def test_a_program_that_writes_one_chunk_after_the_other_opens_each_of_them_once(work, mount_again):
    source = LineSource(str(work / "source"), "zarr/", shards=4, per_shard=64,
                        chunk_bytes=4096).create()
    # However slow the machine is, no name of a directory runs out of time meanwhile.
    mounted = mount_again(source, f"{NEVER},ttl=3600")
    # No shard is complete, so that nothing is published meanwhile.
    names = {chunk: mounted.path / name for chunk, name in enumerate(source.names())
             if chunk % source.per_shard != 0}
    for name in names.values():
        name.parent.mkdir(parents=True, exist_ok=True)
    # The kernel asks for an attribute that would have to go before it truncates a file.
    for version, budget in ((1, {"lookup": 1, "create": 1}),
                            (2, {"lookup": 1, "open": 1, "getxattr": 1}),
                            (3, {"lookup": 2, "open": 1, "getxattr": 1})):
        before = requests(mounted)
        for chunk, name in names.items():
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(descriptor, value(chunk, 1, version, source.chunk_bytes))
            os.close(descriptor)
        found = spent(before, requests(mounted), len(names))
        print(f"one after the other, version {version}: {found} requests for each chunk")
        budget |= {"write": 1, "flush": 1, "release": 1}
        assert not beyond(found, budget, 0.1), f"version {version}: {found}"
    flush(mounted)
    written = {chunk: (1, 3) for chunk in names}
    assert source.read_values() == {chunk: written.get(chunk) for chunk in range(source.count)}


# ------------------------------------------------------------------------------------- system calls


def calls_of_each(calls, below, files):
    """{system call: how often for each file}, of calls that name something below one of these directories."""
    found = {}
    for _, call, arguments, _ in calls:
        if any(str(directory) in arguments for directory in below):
            found[call] = found.get(call, 0) + 1 / files
    return {call: number for call, number in found.items() if number >= 0.1}


def overwrite(mounted, source, chunk, sync=False):
    with open(os.path.join(mounted.path, source.name(chunk)), "wb", buffering=0) as file:
        file.write(value(chunk, 1, 2, source.chunk_bytes))
        if sync:
            os.fsync(file.fileno())


# The staged file is made, it is written, its time is read, and it is renamed; whether the shard could be
# replaced is asked when the chunk is opened. It is closed once it is fsynced, or 256 chunks later.
NEW_CHUNK = {"openat2": 1, "statx": 1, "pwrite64": 1, "renameat": 1, "faccessat2": 1}
# The file and its directory are fsynced; the file of the version before, which is open still, is renamed
# and emptied for the next one, which opens it.
REPLACED_AND_FSYNCED = {"openat2": 1, "statx": 1, "pwrite64": 1, "renameat": 2, "faccessat2": 1,
                        "fsync": 2, "ftruncate": 1}


@pytest.mark.parametrize("kind", ["zarr.", "precomputed"])
def test_the_system_calls_of_one_chunk_are_few(kind, work, mount_again, spools):
    """Counted by strace: those that concern the spool or the source, of chunks that wait there."""
    source = LineSource(str(work / "source"), kind, shards=4, per_shard=64).create()
    # No shard is complete, so that nothing is published.
    chunks = [chunk for chunk in range(source.count) if chunk % source.per_shard != 0]
    traced = "openat,openat2,newfstatat,fstat,statx,pwrite64,pread64,ftruncate,renameat,renameat2,linkat," \
             "unlinkat,mkdirat,fchmod,fsync,fdatasync,close,faccessat2,poll"
    mounted = mount_again(source, NEVER, prefix=strace(work / "trace", traced))
    seen = 0

    def spent(what):
        nonlocal seen
        calls = traced_calls(work / "trace")
        found = calls_of_each(calls[seen:], (spools, source.path), len(chunks))
        print(f"{kind}, {what}: {found}")
        seen = len(calls)
        return found

    spent("mounted")
    for chunk in chunks:
        put(mounted, source, chunk, 1)
    found = spent("new")
    assert round(found.pop("close", 0)) <= 1
    assert {call: round(number) for call, number in found.items()} == NEW_CHUNK
    for chunk in chunks:
        overwrite(mounted, source, chunk, sync=True)
    found = spent("replaced and fsynced")
    assert round(found.pop("close", 0)) <= 2
    assert {call: round(number) for call, number in found.items()} == REPLACED_AND_FSYNCED
    flush(mounted)
    assert source.read_values() == {chunk: (1, 2) if chunk in chunks else None
                                    for chunk in range(source.count)}


# Of the thread that publishes. Opened are: the metadata, before and right before the rename; the shard,
# once for its status, once as the base and once as the new version that readers get; the lock file,
# made and twice looked at; the new version, which is made, and gone under that name afterwards; the
# staged file, which is emptied through the descriptor that has written it; the directory, to rename, to
# fsync, and to remove the lock. The status of a file that was opened is read once (statx). Where a name
# is missing, it is asked whether the source was removed; owner and group are compared (newfstatat).
PUBLISH = {"openat2": 14, "statx": 14, "newfstatat": 6, "pread64": 3, "renameat": 2, "unlinkat": 1, "fsync": 2}
# Beside that the obsolete pair of files is removed, where it is there. The directory of the scale has
# a name, so the status of both directories is read. The indexes of 8 minishards are read as well.
PUBLISH_PRECOMPUTED = {**PUBLISH, "openat2": 18, "statx": 16, "newfstatat": 4, "unlinkat": 3, "pread64": 19}
# Of a chunk, for its fingerprint; and of each index on the way to it, by the next look-up, where the
# publish does not leave the only one behind.
READ_ELSEWHERE = {"zarr.": 1, "precomputed": 3}


@pytest.mark.parametrize("kind", ["zarr.", "precomputed"])
def test_the_system_calls_of_one_publish_are_few(kind, work, mount_again, spools):
    """Counted by strace, of one chunk that is replaced in a full shard. The event of the mount's own
    rename costs no read of the index."""
    source = LineSource(str(work / "source"), kind, shards=1, per_shard=64).create()
    source.write_values({chunk: (0, 1) for chunk in range(source.count)})
    rounds = 8
    traced = "openat2,newfstatat,statx,pread64,renameat,unlinkat,fsync,fdatasync"
    mounted = mount_again(source, NEVER, prefix=strace(work / "trace", traced))
    time.sleep(0.1)  # names that have just changed are fsynced again
    overwrite(mounted, source, rounds)
    flush(mounted)
    begun = len(traced_calls(work / "trace"))
    for chunk in range(rounds):
        overwrite(mounted, source, chunk)
        flush(mounted)
    mounted.unmount()
    calls = traced_calls(work / "trace")[begun:]
    shard = source.shard_path(0)
    publishing = {thread for thread, call, arguments, _ in calls
                  if call == "fsync" and f"{shard}.new.__lock" in arguments}
    found = calls_of_each([each for each in calls if each[0] in publishing], (spools, source.path),
                          rounds)
    elsewhere = sum(call == "pread64" and f"<{shard}>" in arguments
                    for thread, call, arguments, _ in calls if thread not in publishing) / rounds
    print(f"{kind}: {found}, {elsewhere} reads of the shard by other threads")
    assert found == (PUBLISH if kind == "zarr." else PUBLISH_PRECOMPUTED)
    assert elsewhere <= READ_ELSEWHERE[kind]
    assert source.read_values() == {chunk: (1, 2) if chunk <= rounds else (0, 1)
                                    for chunk in range(source.count)}


# Of a new shard: the file, and its directory after the rename. A directory that is made for it is
# fsynced in the one above, those above that once, and again as long as they have just changed.
FSYNCS_OF_NEW_SHARDS = {"zarr/": lambda shards: 3 * shards + 1, "zarr.": lambda shards: 2 * shards,
                        "precomputed": lambda shards: 2 * shards + 1}


@pytest.mark.parametrize("kind", FSYNCS_OF_NEW_SHARDS)
def test_directories_that_are_durable_are_not_fsynced_for_each_new_shard(kind, work, mount_again):
    source = LineSource(str(work / "source"), kind, shards=8, per_shard=8).create()
    mounted = mount_again(source, f"{NEVER},publish_threads=1",
                          prefix=strace(work / "trace", "fsync,fdatasync"))
    for chunk in range(source.count):
        put(mounted, source, chunk, 1)
    assert settled(mounted)["publishes"] == source.shards
    mounted.unmount()
    fsyncs = [arguments for _, _, arguments, _ in traced_calls(work / "trace")
              if source.path in arguments]
    least = FSYNCS_OF_NEW_SHARDS[kind](source.shards)
    assert least <= len(fsyncs) <= least + source.shards, fsyncs
    assert source.read_values() == {chunk: (1, 1) for chunk in range(source.count)}


# Both names are looked up, and again after the ESTALE that leaves the moved dentry no time to live. The
# second time the kernel looks up the directories on both paths as well.
LOOKED_UP_TO_RENAME = {"zarr.": 4, "precomputed": 6}


@pytest.mark.parametrize("kind", ["zarr.", "precomputed"])
def test_a_chunk_that_is_renamed_onto_a_chunk_is_read_once(kind, work, mount_again):
    """Counted by strace: one read of the chunk that moves, for its copy and its tombstone, and one of
    the chunk that is replaced, for its fingerprint."""
    source = LineSource(str(work / "source"), kind, shards=1, per_shard=64).create()
    source.write_values({chunk: (0, 1) for chunk in range(source.count)})
    mounted = mount_again(source, NEVER, prefix=strace(work / "trace", "pread64"))
    names = [mounted.path / name for name in source.names()]
    for name in names:
        name.stat()  # the kernel has their dentries
    moved = [(chunk, chunk + 32) for chunk in range(1, 16)]
    before, begun = requests(mounted), len(traced_calls(work / "trace"))
    for old, new in moved:
        os.rename(names[old], names[new])
    found = spent(before, requests(mounted), len(moved))
    reads = sum(call == "pread64" and result == source.chunk_bytes and source.shard_path(0) in arguments
                for _, call, arguments, result in traced_calls(work / "trace")[begun:])
    print(f"{kind}: {found} requests, {reads / len(moved)} reads of chunks for each rename")
    assert not beyond(found, {"lookup": LOOKED_UP_TO_RENAME[kind], "rename": 2}, 0.1), found
    assert reads == 2 * len(moved)
    for _, new in moved:
        assert names[new].stat().st_size == source.chunk_bytes
    flush(mounted)
    rows = source.read_rows()
    for old, new in moved:
        assert rows[new].tobytes() == value(old, 0, 1, source.chunk_bytes)
        assert not rows[old].any()


# --------------------------------------------------------------------------------------------- waits

FLUSH_UNTIL_A_SIGNAL = """
import os, signal, sys
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.5, 0.1)
try:
    os.setxattr(sys.argv[1], "user.unshard.flush", b"")
except OSError as error:
    print(error.errno)
"""


def test_a_signal_ends_the_wait_for_a_publish(work, mount_again):
    """A request is registered for FUSE_INTERRUPT when its wait begins, and not before."""
    source = LineSource(str(work / "source"), "zarr.").create()
    mounted = mount_again(source, NEVER)
    put(mounted, source, 3, 1)
    with open(f"{source.shard_path(0)}.__lock", "wb") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        done = subprocess.run([sys.executable, "-c", FLUSH_UNTIL_A_SIGNAL, mounted.path / ".unshard"],
                              capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{errno.EINTR}\n", done
    flush(mounted)
    assert source.read_values()[3] == (1, 1)
