"""Many writers of few shards: nothing acknowledged is lost, and no reader sees half a value.

UNSHARD_RACE_SECONDS: how long the long race goes on (default 60). What zarr-python, dask and
TensorStore make of the same work is measured in the same run and told beside ours.
"""

import contextlib
import errno
import json
import os
import subprocess
import sys
import time

import pytest

from chunk_writer import WAYS, WHOLE
from faults import HERE, OTHER_PIDS, SourceWatch, Writers, flush, write_state
from history import History
from line_source import LineSource
from mounting import wait_until

SECONDS = float(os.environ.get("UNSHARD_RACE_SECONDS", "60"))
WRITERS, READERS = 16, 4
REPLACING = tuple(way for way in WHOLE if way not in ("link", "unlink"))
READER = 1000  # readers' numbers begin here
KINDS = ["zarr/", "precomputed"]


def shards_of(work, name, kind, **more):
    folder = work / name
    return LineSource(str(folder), kind, **{"shards": 8, "per_shard": 64, **more}).create()


def judge(history, found, refusals=0):
    """Asserts that nothing is lost, torn or stale, and at most `refusals` writes failed (ESTALE)."""
    assert not history.torn, history.torn[:5]
    lost = history.lost(found)
    assert not lost, f"{len(lost)} lost: {lost[:5]}"
    stale = history.stale_reads()
    assert not stale, f"{len(stale)} of {len(history.reads)} reads: {stale[:5]}"
    errors = history.errors()
    assert set(errors) <= {errno.ESTALE} and errors.total() <= refusals, (errors, history.failures())


@pytest.fixture
def summary(measured):
    def tell(who, history, seconds, more=""):
        measured(f"{who}: {history.acknowledged} acknowledged writes in {seconds:g} s "
                 f"({history.acknowledged / seconds:.0f} a second), 0 lost, "
                 f"{len(history.reads)} reads, 0 torn{more}")

    return tell


# ----------------------------------------------------------------------------------- one mount


def race(source, mounted, journal, seconds, own, joined=False):
    """`joined`: writers of shared chunks write in place as well, and then each in one piece."""
    ways, pieces = (WAYS if own or joined else WHOLE), (1 if joined else 2)
    with Writers() as programs:
        for writer in range(WRITERS):
            chunks = range(writer, source.count, WRITERS) if own else range(source.count)
            programs.start(source, mounted.path, journal, writer, seconds, ways,
                           chunks=list(chunks), pieces=pieces, stop_at_error=False)
        for reader in range(READERS):
            programs.start(source, mounted.path, journal, READER + reader, seconds, ["read"],
                           pause=0.002)
        programs.wait(seconds + 60)


LONG = ("zarr/", "shared chunks")  # whoever writes, writes anywhere


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whose", ["own chunks", "shared chunks"])
def test_sixteen_writers_of_eight_shards_lose_nothing(kind, whose, work, mount_again, summary):
    source = shards_of(work, "source", kind)
    mounted = mount_again(source, "publish_after=0.2")
    own = whose == "own chunks"
    seconds = SECONDS if (kind, whose) == LONG else SECONDS / 4
    with SourceWatch(source, pause=0.25) as watch:
        race(source, mounted, work / "journal", seconds, own)
    flush(mounted)
    state = write_state(mounted)
    history = History().load(work / "journal")
    judge(history, source.shown_values(mounted.path))
    judge(history, source.read_values())
    assert not watch.findings, watch.findings[:3]
    assert history.acknowledged > WRITERS and len(history.reads) > WRITERS, "all of them had turns, however slow"
    assert state["dirty_chunks"] == 0 and state["conflicts"] == 0
    assert 8 <= state["publishes"] <= 8 * (seconds / 0.2 + 2), "counted, and not one for each chunk"
    summary(f"a mount, {kind}, {WRITERS} processes, {source.shards} shards, {whose}", history,
            seconds, f", {state['publishes']} publishes")


@pytest.mark.parametrize("whose, prefix", [("own chunks", OTHER_PIDS), ("shared chunks", OTHER_PIDS),
                                           ("shared chunks", ())],
                         ids=["own-other_pids", "shared-other_pids", "shared"])
def test_a_mount_with_few_chunks_shows_whole_values_and_refuses_nobody(
        whose, prefix, work, mount_again, summary):
    source = shards_of(work, "source", "zarr/", shards=2, per_shard=16)
    source.write_values({chunk: (9, 9) for chunk in range(source.count)})
    mounted = mount_again(source, "publish_after=0.2", prefix=prefix)
    own = whose == "own chunks"
    seconds = max(3, SECONDS / 6)
    race(source, mounted, work / "journal", seconds, own, joined=not own and not prefix)
    flush(mounted)
    history = History({chunk: (9, 9) for chunk in range(source.count)}).load(work / "journal")
    judge(history, source.shown_values(mounted.path))
    assert not history.refused, history.refused
    assert history.acknowledged > WRITERS and len(history.reads) > WRITERS, "all of them had turns, however slow"
    where = "a mount in another pid namespace" if prefix else "a mount"
    summary(f"{where}, few chunks, {whose}", history, seconds)


# ----------------------------------------------------------------------------------- several writers


@pytest.mark.parametrize("kind", KINDS)
def test_two_mounts_that_write_different_chunks_of_the_same_shards_lose_nothing(kind, work, mount,
                                                                                spools, summary):
    source = shards_of(work, "source", kind)
    options = f"spool={spools},publish_after=0.1"
    mounts = [mount(source.path, options) for _ in range(2)]
    seconds = max(2, SECONDS / 12)
    with Writers() as programs:
        for writer in range(8):
            programs.start(source, mounts[writer % 2].path, work / "journal", writer, seconds, WAYS,
                           chunks=list(range(writer, source.count, 8)), stop_at_error=False)
        for reader in range(2):
            programs.start(source, mounts[reader].path, work / "journal", READER + reader, seconds,
                           ["read"], stop_at_error=False)
        programs.wait(seconds + 60)
    for each in mounts:
        flush(each)
    history = History().load(work / "journal")
    assert errno.EIO not in history.refused, history.refused
    # What one mount has committed the other one sees once it is published.
    history.reads.clear()
    judge(history, source.read_values())
    for each in mounts:
        # The other mount's publishes are heard of a moment later.
        assert wait_until(lambda m=each: not history.lost(source.shown_values(m.path)), 60)
        assert write_state(each)["conflicts"] == 0
    summary(f"two mounts, {kind}", history, seconds)


def test_of_two_mounts_that_write_the_same_chunk_the_last_publisher_wins_and_it_is_counted(
        work, mount, spools):
    source = shards_of(work, "source", "zarr/").write_values({chunk: (9, 9) for chunk in range(64)})
    first, second = (mount(source.path, f"spool={spools},publish_after=1000") for _ in range(2))
    journal = work / "journal"
    with Writers() as programs:
        for writer, mounted, chunks in ((1, first, [3]), (2, second, [3, 4])):
            programs.start(source, mounted.path, journal, writer, 0.3, ["truncate"], chunks=chunks)
        programs.wait(30)
    assert source.shown(first.path, 3)[0] == 1 and source.shown(second.path, 3)[0] == 2
    flush(first)
    assert source.read_values()[3] == source.shown(first.path, 3)
    assert source.shown(second.path, 3)[0] == 2, "its own is not published yet"
    flush(second)
    last = source.shown(second.path, 3)
    assert last[0] == 2 and source.read_values()[3] == last
    assert wait_until(lambda: source.shown(first.path, 3) == last, 60)
    assert write_state(first)["conflicts"] == 0
    assert write_state(second)["conflicts"] == 1, "the other chunk of the shard is none"


@pytest.mark.parametrize("kind", ["zarr.", "zarr/"])
def test_two_mounts_that_race_for_the_same_chunks_show_whole_values_of_one_of_them(
        kind, work, mount, spools, measured):
    source = shards_of(work, "source", kind, shards=2, per_shard=8)
    mounts = [mount(source.path, f"spool={spools},publish_after=0.05") for _ in range(2)]
    with Writers() as programs, SourceWatch(source) as watch:
        for writer in range(4):
            programs.start(source, mounts[writer % 2].path, work / "journal", writer, 3, REPLACING,
                           stop_at_error=False, pause=0.01)
        for reader in range(2):
            programs.start(source, mounts[reader].path, work / "journal", READER + reader, 3,
                           ["read"], stop_at_error=False, pause=0.001)
        programs.wait(60)
    for each in mounts:
        flush(each)
    history = History().load(work / "journal")
    found = source.read_values()
    assert not watch.findings and not history.torn and not history.errors()
    assert errno.EIO not in history.refused, history.refused
    for chunk, last in found.items():
        # Each mount keeps the order of its own writers; between the two the last publisher decides.
        of_mounts = [one_mount(history, chunk, parity) for parity in range(2)]
        assert any(last in allowed for allowed in of_mounts), f"chunk {chunk}: {last}, {of_mounts}"
    for each in mounts:
        assert wait_until(lambda m=each: source.shown_values(m.path) == found, 60)
    conflicts = [write_state(each)["conflicts"] for each in mounts]
    measured(f"two mounts, {kind}, the same chunks: {history.acknowledged} writes, "
             f"conflicts {conflicts}")
    assert sum(conflicts) > 0


def one_mount(history, chunk, parity):
    """The values that the writers of one of two mounts may have left last."""
    part = History()
    part.writes[chunk] = [write for write in history.writes[chunk] if write.value[0] % 2 == parity]
    return part.admissible(chunk) - {None}


@contextlib.contextmanager
def library(name, source, journal, **order):
    """A process of library_writers.py beside what is done meanwhile; waits for its end."""
    journal.mkdir(exist_ok=True)
    order = {"source": source.as_json(source.path), "journal": str(journal), **order}
    process = subprocess.Popen([sys.executable, "-B", str(HERE / "library_writers.py"), name,
                                json.dumps(order)], stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        yield process
        _, complaint = process.communicate(timeout=300)
        assert process.returncode == 0, complaint
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.mark.parametrize("kind", KINDS)
def test_a_mount_beside_tensorstore_in_the_same_shards_loses_nothing(kind, work, mount_again,
                                                                     summary):
    source = shards_of(work, "source", kind)
    mounted = mount_again(source, "publish_after=0.1")
    seconds = max(3, SECONDS / 12)
    journal = work / "journal"
    mine, other = range(0, source.count, 2), list(range(1, source.count, 2))
    with library("tensorstore", source, journal, writers=2, seconds=seconds, chunks=other,
                 first_writer=100), Writers() as programs:
        for writer in range(6):
            programs.start(source, mounted.path, journal, writer, seconds, WAYS,
                           chunks=list(mine[writer::6]), stop_at_error=False)
        programs.wait(seconds + 60)
    flush(mounted)
    history = History().load(journal)
    # An open that meets a shard which is just being replaced by others may have to be repeated.
    judge(history, source.read_values(), refusals=history.acknowledged // 100)
    assert wait_until(lambda: not history.lost(source.shown_values(mounted.path)), 60)
    assert write_state(mounted)["conflicts"] == 0
    by_other = sum(write.acknowledged and write.value is not None and write.value[0] >= 100
                   for writes in history.writes.values() for write in writes)
    assert by_other > 0 and history.acknowledged > by_other
    summary(f"a mount beside TensorStore, {kind}", history, seconds,
            f", {by_other} of its writes, {history.errors().total()} refused")


# --------------------------------------------------------------------------------------- for comparison


@pytest.mark.parametrize("name", ["zarr", "tensorstore", "dask"])
@pytest.mark.long
def test_what_libraries_make_of_the_same_work(name, work, measured):
    """Measured, told, and not judged; only that the measurement is one."""
    source = shards_of(work, "source", "zarr/")
    journal, seconds = work / "journal", max(2, min(6, SECONDS / 10))
    begin = time.monotonic()
    with library(name, source, journal, writers=WRITERS, seconds=seconds):
        pass
    taken = time.monotonic() - begin
    values = {}
    rows = source.read_rows()
    for chunk in range(source.count):
        written = rows[chunk].any()
        values[chunk] = tuple(int(v) for v in rows[chunk][:24].view("<u8")[1:3]) if written else None
    if name == "dask":
        writes = source.count
        lost = sum(found is None for found in values.values())
        speed = f"{writes / taken:.0f} a second with its start"
    else:
        history = History().load(journal)
        writes, lost = lost_writes(history, values)
        speed = f"{history.acknowledged / seconds:.0f} writes a second"
    assert writes > 0
    measured(f"{name}, {WRITERS} processes, {source.shards} shards, straight into the source: "
             f"{lost} of {writes} chunks lost ({100 * lost / writes:.0f} %), {speed}")


def lost_writes(history, values):
    """(chunks with an acknowledged write, those of them that hold an older value or none)"""
    acknowledged = [chunk for chunk, writes in history.writes.items()
                    if any(write.acknowledged for write in writes)]
    return len(acknowledged), sum(values[chunk] not in history.admissible(chunk)
                                  for chunk in acknowledged)
