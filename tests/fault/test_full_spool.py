"""Writers that are faster than their shards are published: they wait, and nobody else does."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading

import pytest

from faults import flush, locked
from line_source import LineSource, value
from mounting import wait_until

BOUND = 60
CHUNK = 256 << 10
# Nothing is published but to make room.
OPTIONS = "publish_after=1000,spool_size=1M,no_io_uring"


@pytest.fixture
def source(work):
    made = LineSource(str(work / "source"), kind="zarr.", shards=2, per_shard=100,
                      chunk_bytes=CHUNK).create()
    return made.write_values({chunk: (0, 1) for chunk in (0, 100)})


def put(mounted, source, chunk, counter=2):
    """Writes as a careful program does; OSError is that of the call that failed."""
    with open(mounted.path / source.name(chunk), "wb", buffering=0) as file:
        file.write(value(chunk, 1, counter, CHUNK))


class Waiting:
    """Threads that write chunks of shard 0, all of which have begun and cannot end."""

    def __init__(self, mounted, source, count, write=put):
        self.pool = concurrent.futures.ThreadPoolExecutor(count)
        self.begun = [self.pool.submit(write, mounted, source, chunk) for chunk in range(count)]
        assert wait_until(lambda: mounted.status()["write"]["spool_bytes"] > (1 << 20), BOUND)

    def left(self):
        return sum(not one.done() for one in self.begun)

    def finish(self):
        for one in self.begun:
            one.result(timeout=BOUND)
        self.pool.shutdown()


def test_readers_do_not_wait_behind_writers_that_wait_for_room(source, mount_again):
    mounted = mount_again(source, OPTIONS)
    with locked(source.shard_path(0)):
        writers = Waiting(mounted, source, 90)
        before = writers.left()
        assert before > 80, "they wait, more than there are threads"
        assert (mounted.path / source.name(100)).read_bytes() == value(100, 0, 1, CHUNK)
        created = os.open(mounted.path / source.name(150), os.O_WRONLY | os.O_CREAT)
        assert writers.left() > 80, "neither does what opens, or creates"
    writers.finish()
    os.close(created)
    flush(mounted)
    assert source.read_values() == {**{chunk: (1, 2) for chunk in range(90)}, 100: (0, 1),
                                    **{chunk: None for chunk in range(90, 200) if chunk != 100}}


WRITER = """
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.siginterrupt(signal.SIGUSR1, True)
file = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
print("open", flush=True)
sys.stdin.readline()
print(os.write(file, b"x" * int(sys.argv[2])), flush=True)
os._exit(0)
"""


def test_a_signal_ends_the_wait_with_what_was_written(source, mount_again):
    mounted = mount_again(source, OPTIONS)
    command = [sys.executable, "-c", WRITER, str(mounted.path / source.name(50)), str(CHUNK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "open\n"
        with locked(source.shard_path(0)):
            writers = Waiting(mounted, source, 10)
            writer.stdin.write("\n")
            writer.stdin.flush()
            over = threading.Event()

            def interrupt():
                while not over.wait(0.1) and writer.poll() is None:
                    writer.send_signal(signal.SIGUSR1)

            thread = threading.Thread(target=interrupt)
            thread.start()
            try:
                assert writer.stdout.readline() == f"{CHUNK}\n"
                assert writers.left() > 0
            finally:
                over.set()
                thread.join()
        writers.finish()


def test_closing_in_a_view_waits_for_room(source, mount_again):
    """What a close stages again, encoded, is beyond the cap as well."""
    mounted = mount_again(source, f"{OPTIONS},view=zarr2")

    def put_in_view(mounted, source, chunk):
        with open(mounted.path / f"{chunk}/0", "wb", buffering=0) as file:
            file.write(value(chunk, 1, 2, CHUNK))

    with locked(source.shard_path(0)):
        writers = Waiting(mounted, source, 12, put_in_view)
    writers.finish()
    flush(mounted)
    found = source.read_values()
    assert [found[chunk] for chunk in range(12)] == [(1, 2)] * 12


def test_removals_do_not_wait_for_room_and_are_published(source, mount_again):
    mounted = mount_again(source, "publish_after=1000,spool_files=8,no_io_uring")
    for chunk in range(30):
        put(mounted, source, chunk)
    for chunk in range(30):
        os.unlink(mounted.path / source.name(chunk))
    flush(mounted)
    assert {source.read_values()[chunk] for chunk in range(30)} == {None}


def test_the_end_of_the_mount_answers_what_is_held(source, mount_again):
    mounted = mount_again(source, OPTIONS)
    with locked(source.shard_path(0)):
        writers = Waiting(mounted, source, 10)
        mounted.terminate()
        for one in writers.begun:
            one.exception(timeout=BOUND)  # none hangs; what they do next meets the end of the mount
