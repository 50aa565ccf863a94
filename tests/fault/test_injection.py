"""The program under strace, whose system calls fail, or end it, at points all over a run.

After each point the mount is made anew, undisturbed: what was acknowledged is there, what was
refused left the old bytes, and TensorStore could read the source at every moment.
"""

import contextlib
import errno
import os
import subprocess

import pytest

from faults import (DEAD, OTHER_PIDS, SmallDisk, SourceWatch, attached, clear_away, flush, strace,
                    traced_calls)
from line_source import LineSource, value
from mounting import MountFailed
from tiers import is_full_run

POINTS = 12
COUNTED_RUNS = 3
PROGRAM, FIRST = 1, 0  # writer numbers: of this script, and of what stood there before
OPTIONS = "publish_after=0.05,publish_threads=1"

# {name: (system calls, whether the source is on a file system that clones)}
CALLS = {
    "write": ("pwrite64", False),
    "sync": ("fsync,fdatasync", False),
    "rename": ("rename,renameat,renameat2", False),
    "copy": ("copy_file_range", False),
    "clone": ("ioctl", True),
    "truncate": ("ftruncate", True),
    "unlink": ("unlinkat,unlink", False),
}
HURTS = {"killed": "signal=KILL", "full": "error=ENOSPC", "broken": "error=EIO"}


class Script:
    """Writes chunks in every way, and knows what each may hold at any time."""

    def __init__(self, source):
        self.source = source
        # The last chunk of each shard is absent at first.
        self.may_hold = {chunk: {None} if self.is_new(chunk) else {(FIRST, 1)}
                         for chunk in range(source.count)}
        self.refused = 0
        self.closing = False  # the last write had come to its close

    def is_new(self, chunk):
        return chunk % self.source.per_shard == self.source.per_shard - 1

    def initial(self):
        return {chunk: (FIRST, 1) for chunk in range(self.source.count) if not self.is_new(chunk)}

    def run(self, mounted):
        """Returns False as soon as the daemon is found dead."""
        ways = [self.truncate, self.in_place, self.rename, self.durable, self.create, self.remove]
        try:
            for counter in range(2, 4):
                for step in range(len(ways) * 2):
                    way, shard = ways[step % len(ways)], step % self.source.shards
                    chunk = (shard + 1) * self.source.per_shard - 1
                    if way != self.create:
                        chunk -= 1 + step // 2
                    self.write(mounted, way, chunk, counter)
                self.flush(mounted)
        except OSError as error:
            if error.errno not in DEAD:
                raise
            return False
        return True

    def write(self, mounted, way, chunk, counter):
        old = self.may_hold[chunk]
        new = {None} if way == self.remove else {(PROGRAM, counter)}
        path = mounted.path / self.source.name(chunk)
        data = value(chunk, PROGRAM, counter, self.source.chunk_bytes)
        self.may_hold[chunk] = old | new
        self.closing = False
        try:
            way(path, data)
        except OSError as error:
            if error.errno in DEAD:
                raise
            assert error.errno in (errno.ENOSPC, errno.EIO), error
            self.refused += 1
            # A commit may stand although it could not be made to last, and what a close could not
            # commit the release may have.
            unsure = way == self.durable or (self.closing and way != self.rename)
            self.may_hold[chunk] = old | new if unsure else old
        else:
            self.may_hold[chunk] = new
        self.check(mounted, chunk)

    def flush(self, mounted):
        try:
            flush(mounted)
        except OSError as error:
            if error.errno in DEAD:
                raise
            assert error.errno in (errno.ENOSPC, errno.EIO), error

    def check(self, mounted, chunk):
        shown = self.source.shown(mounted.path, chunk)
        assert shown in self.may_hold[chunk], f"chunk {chunk}, refused: {self.refused}"

    def check_all(self, values, who):
        for chunk, found in values.items():
            assert found in self.may_hold[chunk], f"{who}: chunk {chunk}"

    def store(self, path, flags, data, sync=False):
        """Like any careful program: an error of any call is an error of the write."""
        descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
        try:
            os.pwrite(descriptor, data, 0)
            if sync:
                os.fsync(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.close(descriptor)
            raise
        self.closing = True
        os.close(descriptor)
        self.closing = False

    def truncate(self, path, data):
        self.store(path, os.O_TRUNC, data)

    def in_place(self, path, data):
        self.store(path, 0, data)

    def durable(self, path, data):
        self.store(path, os.O_TRUNC, data, sync=True)

    def create(self, path, data):
        self.store(path, os.O_CREAT | os.O_TRUNC, data)

    def rename(self, path, data):
        scratch = path.with_name(f".{path.name}.temporary")
        self.store(scratch, os.O_CREAT | os.O_TRUNC, data)
        os.rename(scratch, path)

    def remove(self, path, data):
        del data
        path.unlink(missing_ok=True)


class Bench:
    """One folder for all points of one system call; each point has a source of its own in it."""

    def __init__(self, folder, mount_again, spools):
        self.folder, self.mount_again, self.spools = folder, mount_again, spools
        self.runs = 0

    def fresh(self):
        self.runs += 1
        source = LineSource(str(self.folder / f"source{self.runs}"), "zarr.", 3, 16, 4096).create()
        script = Script(source)
        source.write_values(script.initial())
        return script

    def calls_of_a_run(self, calls):
        """How often the busiest thread makes one of these calls in an undisturbed run."""
        script = self.fresh()
        log = self.folder / "trace"
        mounted = self.mount_again(script.source, OPTIONS, prefix=strace(log, calls))
        assert script.run(mounted)
        mounted.unmount()
        script.check_all(script.source.read_values(), "after an undisturbed run")
        threads = [thread for thread, *_ in traced_calls(log)]
        return max(map(threads.count, set(threads)), default=0)

    def point(self, calls, hurt, number, prefix=()):
        """Whether the fault happened. Everything else is asserted."""
        script = self.fresh()
        log = self.folder / "trace"
        inject = f"{HURTS[hurt]}:when={number}"
        with SourceWatch(script.source) as watch:
            happened = self.disturbed(script, hurt, [*prefix, *strace(log, calls, inject)])
            script.source.read_values()  # whole; how far it has got is not known now
            self.undisturbed(script, inject)
        assert not watch.findings, watch.findings[:3]
        return happened or "(INJECTED)" in log.read_text(errors="replace")

    def point_that_happens(self, calls, hurt, number, prefix=()):
        """The number of the call that was hurt: a run that publishes less often, as on a busy
        machine, makes fewer of them."""
        while not self.point(calls, hurt, number, prefix):
            assert number > 1, f"a run makes no {calls}"
            number //= 2
        return number

    def disturbed(self, script, hurt, prefix):
        try:
            mounted = self.mount_again(script.source, OPTIONS, prefix=prefix)
        except MountFailed:
            return True
        try:
            alive = script.run(mounted)
        except OSError as error:
            assert error.errno in DEAD
            alive = False
        assert alive or hurt == "killed", mounted.log()
        if alive:
            # What cannot be published now stays in the spool, and the mount point goes all the same.
            subprocess.run(["fusermount3", "-u", str(mounted.path)], capture_output=True, timeout=30)
        clear_away(mounted)
        return not alive

    def undisturbed(self, script, inject):
        mounted = self.mount_again(script.source)
        script.check_all(script.source.shown_values(mounted.path), f"a new mount, {inject}")
        flush(mounted)
        script.check_all(script.source.read_values(), f"published, {inject}")
        mounted.unmount()
        # A mount that failed at once may leave a spool without an owner; never one with a chunk.
        left = [str(each) for each in self.spools.rglob("*") if "," in each.name]
        assert not left, f"{inject} leaves {left} in the spool"


@pytest.fixture
def bench(request, work, mount_again, spools):
    calls, clones = CALLS[request.param]
    folder = work / "disk"
    if not clones:
        folder.mkdir()
        yield calls, Bench(folder, mount_again, spools)
        return
    with SmallDisk("xfs", folder):
        yield calls, Bench(folder, mount_again, spools)


@pytest.mark.parametrize("bench", CALLS, indirect=True)
def test_what_is_acknowledged_is_kept_and_what_is_refused_leaves_the_old_bytes(bench):
    calls, bench = bench
    total = min(bench.calls_of_a_run(calls) for _ in range(COUNTED_RUNS))
    assert total > 0, f"a run makes no {calls}"
    points = sorted({1 + step * total // POINTS for step in range(POINTS)})
    happened = []
    for turn, hurt in enumerate(HURTS):
        # For every change each hurt has a third of the points.
        own = points if is_full_run() else points[turn::len(HURTS)]
        happened += [bench.point_that_happens(calls, hurt, number, OTHER_PIDS if step % 2 else ())
                     for step, number in enumerate(own)]
    print(f"{calls}: of {points}, {happened} happened")


@pytest.mark.parametrize("calls", [CALLS["rename"][0], CALLS["sync"][0]], ids=["rename", "sync"])
@pytest.mark.parametrize("waiting", [False, True], ids=["stored", "waiting"])
def test_a_chunk_that_is_renamed_onto_another_is_under_one_name(work, mount_again, calls, waiting):
    """Wherever the daemon is killed: the bytes that move, and what they replace."""
    ends = set()
    for number in range(1, 20):
        source = LineSource(str(work / f"source{number}"), "zarr.", 1, 4, 4096).create()
        source.write_values({0: (FIRST, 1), 1: (FIRST, 1)})
        mounted = mount_again(source, "publish_after=600")
        names = [mounted.path / source.name(chunk) for chunk in (0, 1)]
        if waiting:
            for chunk, name in enumerate(names):
                name.write_bytes(value(chunk, PROGRAM, 2, source.chunk_bytes))
        before = [name.read_bytes() for name in names]
        with attached(mounted, calls, f"signal=KILL:when={number}"):
            try:
                os.rename(*names)
                alive = True
            except OSError as error:
                assert error.errno in DEAD
                alive = False
        clear_away(mounted)
        mounted = mount_again(source)
        for published in (False, True):
            found = [name.read_bytes() if name.exists() else None for name in names]
            assert found == [None, before[0]] or (found == before and not alive), \
                f"{calls} {number}, published: {published}"
            flush(mounted)
        ends.add("kept" if found == before else "moved")
        mounted.unmount()
        if alive:
            break
    assert number > 2 and ends == {"kept", "moved"}, ends
