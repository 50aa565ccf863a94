"""kill -9 of the daemon under load, again and again: what was acknowledged is there afterwards."""

import random
import time

from faults import DEAD, SourceWatch, Writers, flush, kill, write_state
from history import History
from line_source import LineSource
from mounting import wait_until

ROUNDS = 12
ENDS = 8
WRITERS = 8
WAYS = ("truncate", "in_place", "rename", "fsync", "link", "unlink")


def test_nothing_acknowledged_is_lost_by_killing_the_daemon_again_and_again(work, mount_again):
    source = LineSource(str(work / "source"), "zarr/", shards=8, per_shard=32).create()
    journal, rng = work / "journal", random.Random(4)
    publishes = 0
    with SourceWatch(source, pause=0.2) as watch:
        for number in range(ROUNDS):
            mounted = mount_again(source, "publish_after=0.1")
            with Writers() as writers:
                for writer in range(WRITERS):
                    own = list(range(writer, source.count, WRITERS))
                    writers.start(source, mounted.path, journal, writer, 60, WAYS, chunks=own,
                                  first=1 + number * 1_000_000)
                writers.await_ready()
                before = written(journal)
                target = before + rng.randrange(2_000, 60_000)
                while written(journal) < target:
                    assert mounted.process.poll() is None, mounted.log()
                    time.sleep(0.01)
                publishes += write_state(mounted)["publishes"]
                kill(mounted)
                writers.wait(30)
            mounted = mount_again(source, "publish_after=0.1")
            history = History().load(journal)
            assert not history.lost(source.shown_values(mounted.path)), f"round {number}"
            if number % 3 == 2:
                flush(mounted)
                assert not history.lost(source.read_values()), f"published in round {number}"
            kill(mounted)
    mounted = mount_again(source)
    flush(mounted)
    history = History().load(journal)
    assert not history.lost(source.read_values())
    assert not watch.findings and watch.reads
    unexpected = set(history.errors()) - set(DEAD)
    assert not unexpected, history.errors()
    mounted.unmount()
    assert not list((work / "spools").iterdir()), "the last mount leaves an empty spool folder"
    print(f"{ROUNDS} kills, {history.acknowledged} acknowledged writes, "
          f"{publishes} publishes seen, {watch.reads} reads by TensorStore")
    assert history.acknowledged > ROUNDS * 20 and publishes > 0


def test_a_mount_that_is_told_to_end_under_load_publishes_all_and_ends(work, mount_again):
    source = LineSource(str(work / "source"), "zarr/", shards=4, per_shard=32).create()
    journal, rng = work / "journal", random.Random(5)
    for number in range(ENDS):
        mounted = mount_again(source, "publish_after=0.05")
        with Writers() as writers:
            for writer in range(WRITERS):
                # Chunks of all: names that others have are dropped again and again.
                writers.start(source, mounted.path, journal, writer, 60, WAYS,
                              first=1 + number * 1_000_000)
            writers.await_ready()
            target = written(journal) + rng.randrange(2_000, 40_000)
            assert wait_until(lambda: written(journal) >= target, 60)
            assert mounted.terminate() == 0, mounted.log()
            writers.wait(30)
        history = History().load(journal)
        assert not history.lost(source.read_values()), f"round {number}"
    unexpected = set(history.errors()) - set(DEAD)
    assert not unexpected, history.errors()
    assert history.acknowledged > ENDS * 20


def written(journal):
    """Bytes in all journals: how far the writers are."""
    return sum(path.stat().st_size for path in journal.glob("*.journal")) if journal.exists() else 0
