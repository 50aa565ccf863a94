"""A mount against a plain directory under random operations; compared after each of them.

The plain directory holds what the documented promises make of each operation: a chunk of a wrong
length is refused at close and the old one stays, who has a chunk open for reading keeps its bytes,
scratch files are gone with the mount.
"""

import errno
import os
import random
import stat

import pytest

from faults import flush, kill
from line_source import LineSource, value

STEPS = 400
SCRATCH = ["notes.tmp", ".hidden", "new file"]


class Model:
    def __init__(self, source, plain, mount_again, seed):
        self.source, self.plain, self.mount_again = source, plain, mount_again
        self.random = random.Random(seed)
        self.counter = 0
        self.log = []
        self.held = []  # (descriptor, bytes that it must go on showing)
        folder = os.path.dirname(source.name(0))
        self.chunks = source.names(range(0, source.count, 3))[:16]
        self.all_chunks = set(source.names())
        self.scratch = [os.path.join(folder, name) for name in SCRATCH]
        os.makedirs(plain / folder, exist_ok=True)
        self.folder = folder
        self.mounted = None
        self.remount()

    # ----------------------------------------------------------------------------------- helpers

    def remount(self):
        self.mounted = self.mount_again(self.source, "publish_after=0.3")
        self.root = self.mounted.path

    def any_of(self, names):
        name = self.random.choice(names)
        self.log[-1:] = [f"{self.log[-1]} {os.path.basename(name)}"] if self.log else []
        return name

    def any_chunk(self):
        return self.any_of(self.chunks)

    def any_scratch(self):
        return self.any_of(self.scratch)

    def fresh(self, size=None):
        self.counter += 1
        whole = value(self.counter, 1, self.counter, self.source.chunk_bytes * 2)
        return whole[:self.source.chunk_bytes if size is None else size]

    def wrong_size(self):
        size = self.source.chunk_bytes
        return self.random.choice([1, size - 1, size + 1, size // 2, size * 3 // 2])

    def exists(self, name):
        return (self.plain / name).exists()

    def outcome(self, call, *arguments):
        try:
            call(*arguments)
        except OSError as error:
            return error.errno
        return 0

    def same(self, call):
        """Runs `call(root)` on both; they must end alike."""
        ours, theirs = self.outcome(call, self.root), self.outcome(call, self.plain)
        assert ours == theirs, f"{errno.errorcode.get(ours)} and not {errno.errorcode.get(theirs)}"
        return ours

    def write_whole(self, root, name, data, flags=os.O_CREAT | os.O_TRUNC, pieces=1):
        descriptor = os.open(os.path.join(root, name), os.O_WRONLY | flags, 0o644)
        cuts = [len(data) * i // pieces for i in range(pieces + 1)]
        try:
            for begin, end in zip(cuts, cuts[1:]):
                os.pwrite(descriptor, data[begin:end], begin)
        finally:
            os.close(descriptor)

    # -------------------------------------------------------------------------------- operations

    def do_write(self):
        name, data = self.any_chunk(), self.fresh()
        pieces = self.random.choice([1, 2, 5])
        self.same(lambda root: self.write_whole(root, name, data, pieces=pieces))

    def do_write_exclusively(self):
        name, data = self.any_chunk(), self.fresh()
        self.same(lambda root: self.write_whole(root, name, data, os.O_CREAT | os.O_EXCL))

    def do_write_without_create(self):
        name, data = self.any_chunk(), self.fresh()
        self.same(lambda root: self.write_whole(root, name, data, 0))

    def do_patch(self):
        """Some bytes in the middle of what is there; the rest stays."""
        name = self.any_chunk()
        offset = self.random.randrange(self.source.chunk_bytes - 100)
        data = self.random.randbytes(self.random.randrange(1, 100))

        def patch(root):
            descriptor = os.open(os.path.join(root, name), os.O_RDWR)
            try:
                assert len(os.pread(descriptor, 50, offset)) == 50
                os.pwrite(descriptor, data, offset)
                assert os.pread(descriptor, len(data), offset) == data
            finally:
                os.close(descriptor)

        self.same(patch)

    def do_shrink_and_append(self):
        """Through one handle: truncate down, look, append up to the length again."""
        name, data = self.any_chunk(), self.fresh()
        keep = self.random.randrange(self.source.chunk_bytes)

        def change(root):
            descriptor = os.open(os.path.join(root, name), os.O_RDWR | os.O_APPEND)
            try:
                os.ftruncate(descriptor, keep)
                assert os.fstat(descriptor).st_size == keep
                os.write(descriptor, data[keep:])
                assert os.fstat(descriptor).st_size == len(data)
                assert os.pread(descriptor, len(data), 0)[keep:] == data[keep:]
            finally:
                os.close(descriptor)

        self.same(change)

    def do_sparse(self):
        """A new chunk of which only a part is written: the rest is zero."""
        name, size = self.any_chunk(), self.source.chunk_bytes
        data, offset = self.fresh(100), self.random.randrange(size - 100)

        def change(root):
            descriptor = os.open(os.path.join(root, name), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.ftruncate(descriptor, size)
            os.pwrite(descriptor, data, offset)
            os.close(descriptor)

        self.same(change)

    def do_write_wrong_length(self):
        name, data = self.any_chunk(), self.fresh(self.wrong_size())
        flags = os.O_TRUNC | (os.O_CREAT if self.random.random() < 0.8 else 0)
        ours = self.outcome(self.write_whole, self.root, name, data, flags)
        if not flags & os.O_CREAT and not self.exists(name):
            assert ours == errno.ENOENT
        else:
            larger = len(data) > self.source.chunk_bytes
            assert ours in ((errno.EINVAL, errno.EFBIG) if larger else (errno.EINVAL,)), ours

    def do_truncate_by_path(self):
        name = self.any_chunk()
        if self.random.random() < 0.3:
            self.same(lambda root: os.truncate(os.path.join(root, name), self.source.chunk_bytes))
            return
        ours = self.outcome(os.truncate, self.root / name, self.wrong_size())
        assert ours == (errno.EINVAL if self.exists(name) else errno.ENOENT), ours

    def do_write_nothing(self):
        """A shell's redirection that is never written to leaves what was there."""
        name = self.any_chunk()
        assert self.outcome(self.write_whole, self.root, name, b"") == 0

    def do_unlink(self):
        name = self.any_of(self.chunks + self.scratch)
        self.same(lambda root: os.unlink(os.path.join(root, name)))

    def do_scratch(self):
        name = self.any_scratch()
        size = self.source.chunk_bytes if self.random.random() < 0.8 else self.wrong_size()
        data = self.fresh(size)
        self.same(lambda root: self.write_whole(root, name, data, pieces=2))

    def do_rename_scratch_to_chunk(self):
        scratch, chunk = self.any_scratch(), self.any_chunk()
        if self.exists(scratch) and len((self.plain / scratch).read_bytes()) != self.source.chunk_bytes:
            ours = self.outcome(os.rename, self.root / scratch, self.root / chunk)
            assert ours in (errno.EINVAL, errno.EFBIG), ours
            return
        self.same(lambda root: os.rename(os.path.join(root, scratch), os.path.join(root, chunk)))

    def do_link_scratch_to_chunk(self):
        scratch, chunk = self.any_scratch(), self.any_chunk()
        there = self.exists(scratch)
        wrong = there and len((self.plain / scratch).read_bytes()) != self.source.chunk_bytes
        ours = self.outcome(os.link, self.root / scratch, self.root / chunk)
        if not there:
            assert ours == errno.ENOENT, ours
        elif self.exists(chunk):
            assert ours == errno.EEXIST, ours
        elif wrong:
            assert ours in (errno.EINVAL, errno.EFBIG), ours
        else:
            assert ours == 0, ours
            os.link(self.plain / scratch, self.plain / chunk)
            self.same(lambda root: os.unlink(os.path.join(root, scratch)))

    def do_rename_scratch(self):
        a, b = self.any_scratch(), self.any_scratch()
        self.same(lambda root: os.rename(os.path.join(root, a), os.path.join(root, b)))

    def do_rename_chunk(self):
        a, b = self.any_chunk(), self.any_chunk()
        self.same(lambda root: os.rename(os.path.join(root, a), os.path.join(root, b)))

    def do_rename_chunk_to_scratch(self):
        chunk, scratch = self.any_chunk(), self.any_scratch()
        ours = self.outcome(os.rename, self.root / chunk, self.root / scratch)
        assert ours == (errno.EPERM if self.exists(chunk) else errno.ENOENT), ours

    def do_hold(self):
        """Somebody opens a chunk for reading: that is what it will see."""
        name = self.any_chunk()
        if self.exists(name) and len(self.held) < 6:
            self.held.append((os.open(self.root / name, os.O_RDONLY),
                              (self.plain / name).read_bytes()))

    def do_write_slowly(self):
        """Until the close everybody else sees what was there before."""
        name, data = self.any_chunk(), self.fresh()
        descriptor = os.open(self.root / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.pwrite(descriptor, data[:1000], 0)
        self.compare_one(name, being_written=True)
        os.pwrite(descriptor, data[1000:], 1000)
        self.compare_one(name, being_written=True)
        os.close(descriptor)
        (self.plain / name).write_bytes(data)

    def do_out_of_grid(self):
        name = self.source.name(self.source.count + 5)
        assert self.outcome(self.write_whole, self.root, name, self.fresh()) == errno.EINVAL

    def do_directories(self):
        name = os.path.join(self.folder, "folder")
        assert self.outcome(os.rmdir, self.root / self.any_chunk()) in (errno.ENOTDIR, errno.ENOENT)
        assert self.outcome(os.rmdir, self.root / name) == errno.ENOENT

    def do_times(self):
        name = self.any_chunk()
        at = 1_600_000_000 + self.counter
        if self.same(lambda root: os.utime(os.path.join(root, name), (at, at))) == 0:
            assert os.stat(self.root / name).st_mtime == at

    def do_flush(self):
        flush(self.mounted)
        self.compare_source()

    def do_remount(self):
        self.release_held()
        if self.random.random() < 0.5:
            self.mounted.unmount()
            self.compare_source()
        else:
            kill(self.mounted)
        for name in self.scratch:
            (self.plain / name).unlink(missing_ok=True)
        self.remount()

    # ------------------------------------------------------------------------------- comparisons

    def compare_one(self, name, being_written=False):
        path = self.root / name
        if not self.exists(name):
            # While it is created it can be seen and removed, but not read.
            assert path.exists() == being_written, name
            with pytest.raises(FileNotFoundError):
                path.read_bytes()
            return
        expected = (self.plain / name).read_bytes()
        assert path.read_bytes() == expected, name
        status = os.stat(path)
        assert status.st_size == len(expected) and stat.S_ISREG(status.st_mode), name

    def compare_names(self):
        hidden = {"zarr.json"} if not self.folder else set()
        ours = sorted(set(os.listdir(self.root / self.folder)) - hidden)
        theirs = sorted(os.listdir(self.plain / self.folder))
        assert ours == theirs

    def compare_source(self):
        """The source, by TensorStore, holds exactly the chunks."""
        rows = self.source.read_rows()
        for chunk in range(self.source.count):
            path = self.plain / self.source.name(chunk)
            expected = path.read_bytes() if path.exists() else bytes(self.source.chunk_bytes)
            assert rows[chunk].tobytes() == expected, f"in the source: {path.name}"

    def compare(self, everything):
        self.compare_names()
        for name in self.chunks + self.scratch if everything else [self.random.choice(self.chunks)]:
            self.compare_one(name)
        for descriptor, expected in self.held:
            assert os.pread(descriptor, len(expected) + 1, 0) == expected, "held open"

    def release_held(self):
        for descriptor, _ in self.held:
            os.close(descriptor)
        self.held.clear()

    def step(self, number):
        operations = [name for name in dir(self) if name.startswith("do_")]
        weights = [RARE.get(name, 10) for name in operations]
        name = self.random.choices(operations, weights)[0]
        self.log.append(name)
        getattr(self, name)()
        if self.held and self.random.random() < 0.05:
            self.compare(True)
            self.release_held()
        self.compare(everything=number % 10 == 0)


RARE = {"do_flush": 4, "do_remount": 2, "do_directories": 3, "do_out_of_grid": 3,
        "do_write_nothing": 5, "do_write": 20}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["zarr.", "precomputed"])
def test_a_mount_behaves_as_a_plain_directory_under_random_operations(kind, seed, work, mount_again):
    source = LineSource(str(work / "source"), kind, shards=4, per_shard=16).create()
    model = Model(source, work / "plain", mount_again, seed)
    try:
        for number in range(STEPS):
            model.step(number)
        model.compare(True)
        flush(model.mounted)
        model.compare_source()
    except (AssertionError, OSError) as fault:
        raise AssertionError(f"after {len(model.log)} operations, seed {seed}, the last: "
                             f"{'; '.join(model.log[-12:])}\n{fault}\n{model.mounted.log()}") from fault
    finally:
        model.release_held()
