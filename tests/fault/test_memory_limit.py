"""A daemon that runs out of memory at any place: it fails requests or ends, and loses nothing that it
acknowledged."""

import errno
import os
import random
import struct
import time

import pytest

from chunk_writer import WAYS
from faults import DEAD, Writers, clear_away, flush, kill, write_state
from history import History
from line_source import LineSource
from mounting import wait_until

ROUNDS = 5
WRITERS = 6
# Of so many allocations one fails.
ONE_OF = [50_000, 10_000, 2_000, 500, 100]
# Not unlink(2): a write that failed may have its effect at the next mount alone; until then the name is
# missing, which chunk_writer.py takes for a removal.
REPLACING = tuple(way for way in WAYS if way != "unlink")
# What programs may be answered, beside what they get of a daemon that has ended. EROFS: the file was
# sealed, and memory ran out before that was known everywhere.
FAILED = (errno.ENOMEM, errno.EIO, errno.ENOSPC, errno.EROFS, errno.ESTALE)


@pytest.fixture
def failing_new(work, unshard_binary):
    library = unshard_binary.parent / "libfailing_new.so"
    assert library.exists(), f"{library} is not there: build it"
    return FailingNew(work / "one_of", library)


class FailingNew:
    def __init__(self, path, library):
        self.path = path
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "FAILING_NEW": str(path)}
        self.fail(0)

    def fail(self, one_of):
        """One of so many allocations of each daemon; 0: none."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(file, struct.pack("<I", one_of), 0)
        os.close(file)


@pytest.mark.parametrize("kind", ["zarr/", "precomputed"])
def test_nothing_acknowledged_is_lost_where_memory_runs_out(work, mount_again, failing_new, kind):
    source = LineSource(str(work / "source"), kind, shards=4, per_shard=32).create()
    journal, rng = work / "journal", random.Random(8)
    ended = 0
    for number in range(ROUNDS):
        mounted = mount_again(source, "publish_after=0.05", environment=failing_new.environment)
        with Writers() as writers:
            for writer in range(WRITERS):
                own = list(range(writer, source.count, WRITERS))
                writers.start(source, mounted.path, journal, writer, 3, REPLACING, chunks=own,
                              first=1 + number * 1_000_000, stop_at_error=False, pause=0.002)
            writers.await_ready()
            time.sleep(rng.random())
            failing_new.fail(ONE_OF[number % len(ONE_OF)])
            writers.wait(60)
        failing_new.fail(0)
        if mounted.process.poll() is None:
            # What one request has left undone keeps no other from going on.
            assert wait_until(lambda m=mounted: can_flush(m), 30), mounted.log()
            history = History().load(journal)
            assert not history.lost(source.read_values()), f"flushed in round {number}"
            kill(mounted)
        else:
            ended += 1
            clear_away(mounted)
        mounted = mount_again(source, "publish_after=0.05")
        history = History().load(journal)
        assert not history.lost(source.shown_values(mounted.path)), f"round {number}"
        flush(mounted)
        assert not history.lost(source.read_values()), f"published in round {number}"
        kill(mounted)
    errors = history.errors()
    assert not set(errors) - {*DEAD, *FAILED}, history.failures()
    assert errors[errno.ENOMEM] or ended, "memory never ran out"
    assert history.acknowledged > ROUNDS * 20
    print(f"{ROUNDS} rounds, {ended} daemons ended, {history.acknowledged} acknowledged writes, {errors}")


def can_flush(mounted):
    try:
        flush(mounted)
    except OSError:
        return False
    return write_state(mounted)["dirty_chunks"] == 0
