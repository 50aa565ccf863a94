"""What the threads of ring queues (fs/kernel/ring_queues.h) do where requests wait, or are killed."""

import concurrent.futures
import os
import subprocess
import sys
import time

import pytest

from faults import SmallDisk, flush, kill
from io_uring import io_uring_switched_on, over_io_uring
from line_source import LineSource, value
from mounting import wait_until

NEVER = "publish_after=1000"


@pytest.fixture(autouse=True)
def switched_on():
    with io_uring_switched_on():
        yield


def make_source(folder, **more):
    """Chunks as (writer 0, counter 1)."""
    source = LineSource(str(folder / "source"), **{"kind": "zarr.", "shards": 4, "per_shard": 16,
                                                   "chunk_bytes": 64 << 10, **more}).create()
    return source.write_values({chunk: (0, 1) for chunk in range(source.count)})


def put(mounted, source, chunk, counter):
    with open(mounted.path / source.name(chunk), "wb", buffering=0) as file:
        file.write(value(chunk, 1, counter, source.chunk_bytes))


def test_readers_do_not_wait_behind_writers_that_wait_for_their_disk(work, mount_again):
    writers_count = 40
    with SmallDisk("ext4", work / "disk") as disk:
        source = make_source(disk.path)
        mounted = mount_again(source, f"{NEVER},spool={disk.path / 'spools'}")
        tasks = f"/proc/{mounted.status()['pid']}/task"
        with concurrent.futures.ThreadPoolExecutor(writers_count) as writers:
            subprocess.run(["fsfreeze", "-f", disk.path], check=True)
            try:
                def waiting():
                    return sum(" D " in open(f"{tasks}/{task}/stat").read()
                               for task in os.listdir(tasks))

                written = []
                for chunk in range(writers_count):
                    written.append(writers.submit(put, mounted, source, chunk, 2))
                    assert wait_until(lambda: waiting() >= len(written), 60), waiting()
                before = over_io_uring(mounted)
                for chunk in range(writers_count, source.count):
                    for processor in os.sched_getaffinity(0):
                        read = subprocess.run(
                            [sys.executable, "-c", "import os, sys\n"
                             f"os.sched_setaffinity(0, {{{processor}}})\n"
                             "sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())",
                             mounted.path / source.name(chunk)], capture_output=True, timeout=60)
                        assert read.stdout == value(chunk, 0, 1, source.chunk_bytes)
                assert over_io_uring(mounted) > before
                assert not any(each.done() for each in written)
            finally:
                subprocess.run(["fsfreeze", "-u", disk.path], check=True)
            concurrent.futures.wait(written, 60)
            assert [each.exception() for each in written] == [None] * writers_count
        flush(mounted)
        assert source.read_values() == {chunk: (1, 2) if chunk < writers_count else (0, 1)
                                        for chunk in range(source.count)}
        mounted.unmount()


def test_nothing_that_was_acknowledged_is_lost_when_daemons_are_killed(work, mount_again):
    source = make_source(work)
    held = {chunk: {(0, 1)} for chunk in range(source.count)}
    for counter in range(2, 8):
        mounted = mount_again(source, "publish_after=0")
        with concurrent.futures.ThreadPoolExecutor(6) as writers:
            def write(chunk, counter=counter, mounted=mounted):
                try:
                    put(mounted, source, chunk, counter)
                except OSError:
                    return chunk, False
                return chunk, True

            tried = [writers.submit(write, chunk) for chunk in range(source.count)]
            time.sleep(0.02 * counter)
            kill(mounted)
            for chunk, acknowledged in (each.result(60) for each in tried):
                # What failed may be there or not.
                held[chunk] = {(1, counter)} | (set() if acknowledged else held[chunk])
    mounted = mount_again(source, NEVER)
    flush(mounted)
    found = source.read_values()
    lost = {chunk: found[chunk] for chunk in held if found[chunk] not in held[chunk]}
    assert not lost, lost
