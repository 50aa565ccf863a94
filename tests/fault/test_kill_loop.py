"""kill -9 of the daemon under load, again and again: what was acknowledged is there afterwards.

UNSHARD_KILLS: which part of the kills is made (default 1: all; four of each kind at least).
"""

import errno
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from chunk_writer import WAYS, WHOLE
from faults import (DEAD, OTHER_PIDS, SourceWatch, Writers, assert_ends, clear_away, flush,
                    guardian_of, kill, write_state)
from held_opens import HeldOpens
from history import History
from io_uring import io_uring_if_offered
from line_source import LineSource
from mounting import daemon_of, thread_states, wait_until



def rounds(most):
    return max(min(most, 4), round(most * float(os.environ.get("UNSHARD_KILLS", "1"))))


ROUNDS = rounds(12)
ENDS = rounds(8)
HANG_ROUNDS = rounds(15)
WRITERS = 8
TWO_MOUNT_ROUNDS = rounds(3)


@pytest.fixture(autouse=True)
def io_uring():
    with io_uring_if_offered():
        yield


def requests_of(number):
    """Half of the rounds, with and without a pid namespace, read requests from the device."""
    return ",no_io_uring" if number % 4 in (1, 2) else ""


def pids_of(number):
    """Every other round the daemon has a pid namespace of its own."""
    return OTHER_PIDS if number % 2 else ()


def test_nothing_acknowledged_is_lost_by_killing_the_daemon_again_and_again(work, mount_again):
    source = LineSource(str(work / "source"), "zarr/", shards=8, per_shard=32).create()
    journal, rng = work / "journal", random.Random(4)
    publishes = 0
    with SourceWatch(source, pause=0.2) as watch:
        for number in range(ROUNDS):
            mounted = mount_again(source, f"publish_after=0.1{requests_of(number)}",
                                  prefix=pids_of(number))
            with Writers() as writers:
                for writer in range(WRITERS):
                    own = list(range(writer, source.count, WRITERS))
                    writers.start(source, mounted.path, journal, writer, 60, WAYS, chunks=own,
                                  first=1 + number * 1_000_000)
                writers.await_ready()
                before = written(journal)
                target = before + rng.randrange(2_000, 60_000)
                # Every other daemon has published something when it is killed, however slow it is.
                while written(journal) < target or number % 2 and write_state(mounted)["publishes"] == 0:
                    assert mounted.process.poll() is None, mounted.log()
                    time.sleep(0.01)
                publishes += write_state(mounted)["publishes"]
                kill_under(writers, mounted)
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
    assert not history.failures(expected=DEAD)
    mounted.unmount()
    assert not list((work / "spools").iterdir()), "the last mount leaves an empty spool folder"
    print(f"{ROUNDS} kills, {history.acknowledged} acknowledged writes, "
          f"{publishes} publishes seen, {watch.reads} reads by TensorStore")
    assert history.acknowledged > ROUNDS * 20 and publishes > 0


def test_a_mount_that_is_told_to_end_under_load_publishes_all_and_ends(work, mount_again):
    source = LineSource(str(work / "source"), "zarr/", shards=4, per_shard=32).create()
    journal, rng = work / "journal", random.Random(5)
    for number in range(ENDS):
        mounted = mount_again(source, f"publish_after=0.05{requests_of(number)}",
                              prefix=pids_of(number))
        # Who writes in place joins others, and would mix with what these write in pieces; from
        # another pid namespace it may have to wait for them until it is EBUSY.
        ways, pieces = (WHOLE, 2) if pids_of(number) else (WAYS, 1)
        with Writers() as writers:
            for writer in range(WRITERS):
                # Chunks of all: names that others have are dropped again and again.
                writers.start(source, mounted.path, journal, writer, 60, ways, pieces=pieces,
                              first=1 + number * 1_000_000)
            writers.await_ready()
            target = written(journal) + rng.randrange(2_000, 40_000)
            assert wait_until(lambda: written(journal) >= target, 60)
            assert mounted.terminate() == 0, mounted.log()
            writers.wait(30)
        history = History().load(journal)
        assert not history.lost(source.read_values()), f"round {number}"
    # Each writer ends with its first error, which is that the mount has gone.
    # An open that waits for another writer when the mount is told to end may end with ESTALE.
    assert set(history.errors()) <= {*DEAD, errno.ESTALE}, history.failures()
    assert history.errors()[errno.ESTALE] <= ENDS, history.failures()
    assert sum(history.errors().values()) <= ENDS * WRITERS, history.errors()
    assert history.acknowledged > ENDS * 20


@pytest.mark.parametrize("guarded", [True, False], ids=["guardian", "alone"])
def test_nothing_hangs_where_a_daemon_is_killed_that_names_are_changed_through(
        work, mount_again, guarded):
    """Few directories. Without a guardian too: no write makes the kernel wait for a directory. One in
    another pid namespace is killed with its daemon."""
    source = LineSource(str(work / "source"), "zarr/", shards=2, per_shard=8).create()
    journal, rng = work / "journal", random.Random(6)
    for number in range(HANG_ROUNDS):
        mounted = mount_again(source, f"publish_after=0{requests_of(number)}",
                              prefix=pids_of(number))
        with Writers() as writers:
            for writer in range(4):
                writers.start(source, mounted.path, journal, writer, 60, ("rename", "unlink"),
                              first=1 + number * 1_000_000)
            writers.await_ready()
            target = written(journal) + rng.randrange(500, 30_000)
            assert wait_until(lambda: written(journal) >= target, 60)
            if not guarded and not pids_of(number):
                os.kill(guardian_of(mounted), signal.SIGKILL)
            kill_under(writers, mounted)
            writers.wait(30)
    unexpected = set(History().load(journal).errors()) - set(DEAD)
    assert not unexpected


LOOK = """
import os, sys
sys.stdin.read()
try:
    os.stat(sys.argv[1])
except OSError:
    pass
"""
# As servers do; the kernel is to be notified of the name, which may lead to the file.
OPEN_WITHOUT_NAME = """
import os, sys
sys.stdin.read()
place = os.open(sys.argv[1], os.O_PATH)
file = os.open(f"/proc/self/fd/{place}", os.O_WRONLY | os.O_TRUNC)
os._exit(0)
"""


class Program:
    """Waits for begin(). `with`: it is killed at the end, if it still runs."""

    def __init__(self, text, path):
        self.process = subprocess.Popen([sys.executable, "-S", "-c", text, path], stdin=subprocess.PIPE)

    def begin(self):
        self.process.stdin.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def test_a_daemon_that_is_killed_while_it_notifies_ends_without_its_guardian(work, mount_again):
    """A thread of it waits in the kernel for a directory, whose lock a look-up has that nobody answers."""
    source = LineSource(str(work / "source"), "zarr.", shards=3, per_shard=8).create()
    source.write_values({chunk: (0, 1) for chunk in range(source.count)})
    mounted = mount_again(source, "publish_after=1000,no_io_uring")
    name = [mounted.path / source.name(shard * source.per_shard) for shard in range(3)]
    name[0].stat()  # the kernel has the name
    guardian, daemon = guardian_of(mounted), daemon_of(mounted)

    def notifies():
        return any("fuse_reverse_inval" in state for state in thread_states([daemon]).values())

    with (Program(LOOK, name[1]) as before, Program(OPEN_WITHOUT_NAME, name[0]) as opener,
          Program(LOOK, name[2]) as after,
          HeldOpens(source.shard_path(1)) as first, HeldOpens(source.shard_path(2)) as second):
        before.begin()
        first.await_one(30)
        # The notification comes once all look-ups have been answered that are under way: the open
        # does not wait for that for ever.
        opener.begin()
        assert opener.process.wait(30) == 0
        after.begin()
        second.await_one(30)
        first.let_go()
        assert before.process.wait(30) == 0
        assert wait_until(notifies, 30), thread_states([daemon])
        os.kill(guardian, signal.SIGKILL)
        os.kill(daemon, signal.SIGKILL)
        assert_ends(mounted, [after.process.pid])
        assert after.process.wait(30) == 0
        clear_away(mounted)


def test_nothing_hangs_where_a_read_only_mount_is_killed_while_its_source_changes(
        work, mount, mount_again):
    """It tells the kernel to drop names, and may wait in there for its own readers. The next mount at
    the same place is served, however late the guardian of the one before wakes."""
    source = LineSource(str(work / "source"), "zarr/", shards=2, per_shard=8).create()
    journal = work / "journal"
    changing = mount_again(source, "publish_after=0")
    with Writers() as writers:
        for writer in range(2):
            writers.start(source, changing.path, journal, writer, 60, ("rename", "unlink"))
        writers.await_ready()
        for number in range(HANG_ROUNDS // 2):
            mounted = mount(source.path, f"ro{requests_of(number)}", point=work / "readers",
                            prefix=pids_of(number))
            with Writers() as readers:
                for reader in range(4):
                    readers.start(source, mounted.path, journal, 10 + reader, 60, ("read",))
                readers.await_ready()
                changes = mounted.status()["counters"]["shards_changed"]
                assert wait_until(
                    lambda: mounted.status()["counters"]["shards_changed"] > changes + number, 60)
                # Those go on that read what the kernel has in its caches.
                kill_under(readers, mounted)


def test_of_two_mounts_that_are_killed_one_after_the_other_each_keeps_what_it_acknowledged(
        work, mount, spools):
    """Half of the chunks belong to one writer each, the others to all of both mounts."""
    source = LineSource(str(work / "source"), "zarr/", shards=4, per_shard=32).create()
    journal, rng = work / "journal", random.Random(7)
    shared = list(range(1, source.count, 2))
    for number in range(TWO_MOUNT_ROUNDS):
        options = f"spool={spools},publish_after=0.1{requests_of(number)}"
        both = [mount(source.path, options, point=work / name, prefix=pids_of(number))
                for name in ("first", "second")]
        with Writers() as of_first, Writers() as of_second:
            for writer in range(WRITERS):
                programs = (of_first, of_second)[writer % 2]
                own = list(range(2 * writer, source.count, 2 * WRITERS))
                programs.start(source, both[writer % 2].path, journal, writer, 60, WHOLE,
                               chunks=own + shared, first=1 + number * 1_000_000)
            for programs in (of_first, of_second):
                programs.await_ready()
            # Of the second one the writers write more once the first is dead.
            for parity, programs in enumerate((of_first, of_second)):
                target = written(journal, parity) + rng.randrange(2_000, 20_000)
                assert wait_until(lambda p=parity, t=target: written(journal, p) >= t, 60)
                assert write_state(both[parity])["spool_files"] >= 0, "it is served"
                kill_under(programs, both[parity])
                programs.wait(30)
        history = History().load(journal)
        adopting = mount(source.path, f"spool={spools}", point=work / "first")
        flush(adopting)
        found = source.read_values()
        own = {chunk: found[chunk] for chunk in range(0, source.count, 2)}
        assert not history.lost(own), f"round {number}"
        adopting.unmount()
    assert not history.failures(expected=DEAD)
    assert history.acknowledged > TWO_MOUNT_ROUNDS * 20


def kill_under(writers, mounted):
    """kill -9, and a look at what it leaves of the daemon and of the programs that are writing."""
    os.kill(daemon_of(mounted), signal.SIGKILL)
    assert_ends(mounted, [process.pid for process in writers.processes])
    clear_away(mounted)


def written(journal, parity=None):
    """Bytes in all journals, or in those of even or odd writers: how far the writers are."""
    return sum(path.stat().st_size for path in journal.glob("*.journal")
               if parity is None or int(path.stem) % 2 == parity)
