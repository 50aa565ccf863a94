"""What is written, by whom, and how long it takes.

Each workload makes samples in interleaved rounds: a dict per contestant and round. All who write a
dataset get a fresh copy of their own on the same disk, and what is timed ends when it is on the disk.
"""

import fcntl
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import volumes
from contestants import Mounted
from write_mounts import Writable, fresh_folder

HERE = pathlib.Path(__file__).resolve().parent
FICLONE = 0x40049409
INDEX_ENTRY_BYTES = 16
NEVER = "publish_after=3600"


class WrongBytes(Exception):
    """A contestant left something else than what was written."""


def interleave(repeat, contestants):
    """{name: [sample, …]}; contestants are {name: function of the round's number}."""
    samples = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(repeat):
        # Nobody always runs right after the same other one.
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            os.sync()
            samples[name].append(contestants[name](number))
    return samples


def timed(action):
    since = time.perf_counter()
    action()
    return time.perf_counter() - since


def run(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def peer(volume, library, task, regions, sharded, plain=None):
    job = {"library": library, "form": volume.form, "task": task, "regions": regions,
           "sharded": str(sharded), "plain": str(plain)}
    done = subprocess.run([sys.executable, HERE / "peer_writer.py", json.dumps(job)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{library} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def write_file(path, data):
    """One whole file, on the disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError(f"{path}: a short write")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename_durably(source, target):
    """`target` is what `source` was, also after a power loss, where `source` is on the disk."""
    source.rename(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def replace_file(path, data):
    """As write_file(), but whatever ends the machine, the file is the old one or the new one."""
    new = path.with_name(path.name + ".new")
    write_file(new, data)
    rename_durably(new, path)


class CopyIn:
    """A whole scale of chunk files becomes shards; plain: `cp -r` of them, then `sync -f`."""

    title = "copy in"

    def __init__(self, prepared, work, programs, part, passthrough, floor):
        self.prepared, self.volume, self.work = prepared, prepared.volume, work
        self.programs = programs  # {name: path} of unshard programs
        self.part = part  # how many chunks are written one by one
        self.passthrough = passthrough  # libfuse's example, where it is to be had
        self.floor = floor  # the daemon that does nothing

    def contestants(self):
        result = {"plain": self._plain}
        for name, program in self.programs.items():
            result[name] = lambda number, program=program: self._mount(program)
        if self.passthrough:
            result["passthrough"] = self._through
        result["floor"] = self._to_nowhere
        libraries = ["tensorstore"] + (["zarr-python"] if self.volume.form == "zarr" else [])
        for library in libraries:
            result[library] = lambda number, library=library: self._whole_shards(library)
            result[f"{library} by chunk"] = lambda number, library=library: self._by_chunk(library)
        return result

    def _plain(self, number):
        with fresh_folder(self.work, "plain") as folder:
            def copy():
                run("cp", "-r", self.prepared.plain / self.volume.scale, folder)
                run("sync", "-f", folder)
            return {"seconds": timed(copy), "written": self.volume.bytes}

    # What FUSE alone costs: the same files, which stay files.
    def _through(self, number):
        with fresh_folder(self.work, "through") as folder:
            below = folder / "below"
            below.mkdir()
            mount = Mounted("passthrough", lambda directory, point: [
                self.passthrough, "--foreground", directory, point], folder)
            mount.start(below)
            try:
                def copy():
                    run("cp", "-r", self.prepared.plain / self.volume.scale, mount.root)
                    run("sync", "-f", below)
                return {"seconds": timed(copy), "written": self.volume.bytes}
            finally:
                mount.stop()

    # What the kernel and cp alone take.
    def _to_nowhere(self, number):
        with fresh_folder(self.work, "floor") as folder:
            below = folder / "below"
            below.mkdir()
            mount = Mounted("floor", lambda directory, point: [self.floor, directory, point, "rw"],
                            folder)
            mount.start(below)
            try:
                return {"seconds": timed(lambda: run(
                    "cp", "-r", self.prepared.plain / self.volume.scale, mount.root))}
            finally:
                mount.stop()

    def _mount(self, program):
        with fresh_folder(self.work, "copy") as folder:
            volumes.create(self.volume, folder / "sharded", True)
            with Writable(program, folder / "sharded", folder) as mount:
                def copy():
                    run("cp", "-r", self.prepared.plain / self.volume.scale, mount.path)
                copying = timed(copy)
                seconds = copying + timed(mount.flush)
                sample = {"seconds": seconds, "copying": copying, **mount.figures()}
            self._check(folder / "sharded", self.volume.shard_regions())
        return sample

    def _whole_shards(self, library):
        with fresh_folder(self.work, "copy") as folder:
            volumes.create(self.volume, folder / "sharded", True)
            sample = peer(self.volume, library, "copy", self.volume.shard_regions(),
                          folder / "sharded", self.prepared.plain)
            self._check(folder / "sharded", self.volume.shard_regions())
        return sample

    # A shard that grows chunk by chunk is half full on average: chunks of the second half are
    # written into one whose first half is there.
    def _by_chunk(self, library):
        low, high = self._first_shard_in_halves()
        with fresh_folder(self.work, "copy") as folder:
            volumes.fill(volumes.create(self.volume, folder / "sharded", True), low)
            inside = [cell for cell in self.volume.cells() if self._is_in(cell, high)]
            regions = [self.volume.chunk_region(cell) for cell in inside[:self.part]]
            sample = peer(self.volume, library, "copy", regions, folder / "sharded",
                          self.prepared.plain)
            self._check(folder / "sharded", regions)
        factor = self.volume.chunks / len(regions)
        return {**sample, "seconds": sample["seconds"] * factor,
                "written": sample["written"] * factor, "estimated_from": len(regions)}

    def _first_shard_in_halves(self):
        first = self.volume.shard_regions()[0]
        middle = (first[0][0] + first[0][1]) // 2
        return [(first[0][0], middle), *first[1:]], [(middle, first[0][1]), *first[1:]]

    def _is_in(self, cell, region):
        return all(low <= begin < high for (low, high), (begin, _) in
                   zip(region, self.volume.chunk_region(cell)))

    def _check(self, sharded, regions):
        wrong = volumes.differing_regions(self.volume, sharded, self.prepared.plain, regions)
        if wrong:
            raise WrongBytes(f"{wrong} of {len(regions)} regions of {sharded} are wrong")


class ReplaceDurably:
    """One chunk of a large shard, durable in the spool; plain: the same write and fsync to a file,
    which a power loss in between leaves in pieces; "plain, safe": to a new file that replaces it."""

    title = "replace, durable"
    WRITERS = {"plain": write_file, "plain, safe": replace_file}  # of plain files

    def __init__(self, prepared, work, programs, count):
        self.prepared, self.volume, self.work = prepared, prepared.volume, work
        self.programs = programs
        self.count = count  # chunks per round; those of all contestants take turns

    def samples(self, repeat):
        rounds = [self._round(number) for number in range(repeat)]
        return {name: [one[name] for one in rounds] for name in rounds[0]}

    def _round(self, number):
        cells = random.Random(number).sample(self.volume.cells(), self.count + 1)
        with fresh_folder(self.work, "durable") as folder:
            for name in self.WRITERS:
                shutil.copytree(self.prepared.plain / self.volume.scale, folder / name /
                                self.volume.scale, copy_function=self._copy_these(cells))
            os.sync()
            return self._in_mounts(folder, cells, [*self.programs.items()],
                                   {name: folder / name for name in self.WRITERS})

    def _copy_these(self, cells):
        wanted = {str(self.prepared.plain / self.volume.chunk_file(cell)) for cell in cells}
        return lambda source, target: shutil.copy2(source, target) if source in wanted else target

    # Mounts one program after the other around itself, then writes.
    def _in_mounts(self, folder, cells, programs, roots):
        if not programs:
            return self._take_turns(cells, roots)
        (name, program), *others = programs
        (folder / name).mkdir()
        run("cp", "-r", self.prepared.sharded, folder / name / "sharded")
        with Writable(program, folder / name / "sharded", folder / name, NEVER) as mount:
            result = self._in_mounts(folder, cells, others, {**roots, name: mount.path})
            result[name].update(mount.figures())
        return result

    def _take_turns(self, cells, roots):
        result = {name: {"seconds": 0} for name in roots}
        for position, cell in enumerate(cells):
            data = os.urandom(volumes.CHUNK_BYTES)
            names = list(roots)
            turn = position % len(names)
            for name in names[turn:] + names[:turn]:
                path = roots[name] / self.volume.chunk_file(cell)
                write = self.WRITERS.get(name, write_file)
                seconds = timed(lambda: write(path, data))
                if position > 0:  # the first one makes the way
                    result[name]["seconds"] += seconds / self.count
        return result


class ReplacePublished:
    """One chunk of a large shard, published; what it is compared with is a copy of the shard, beside
    it ("plain") or in its place, durably ("plain, safe")."""

    def __init__(self, prepared, work, programs, clones):
        self.prepared, self.volume, self.work = prepared, prepared.volume, work
        self.programs = programs
        self.clones = clones  # on a file system that clones: nobody but us makes use of it
        self.title = "replace, on xfs" if clones else "replace, published"
        self.libraries = [] if clones else ["tensorstore", "zarr-python"]

    def samples(self, repeat):
        names = ["plain", "plain, safe", *self.programs, *self.libraries]
        for name in names:
            run("cp", "-r", self.prepared.sharded, self.work / f"replaced-{name}")
        functions = {"plain": self._plain, "plain, safe": self._plain_safe}
        for name, program in self.programs.items():
            functions[name] = lambda number, name=name, program=program: self._mount(
                program, self.work / f"replaced-{name}", number)
        for library in self.libraries:
            functions[library] = lambda number, library=library: peer(
                self.volume, library, "replace", [self._region(number)],
                self.work / f"replaced-{library}")
        try:
            return interleave(repeat, functions)
        finally:
            for name in names:
                shutil.rmtree(self.work / f"replaced-{name}")

    def _cell(self, number):
        return random.Random(number).choice(self.volume.cells())

    def _region(self, number):
        return self.volume.chunk_region(self._cell(number))

    def _plain(self, number):
        copy = self.work / "copy"
        try:
            return {"seconds": timed(lambda: self._copy(self._shard("plain"), copy))}
        finally:
            copy.unlink()

    def _plain_safe(self, number):
        shard = self._shard("plain, safe")
        copy = shard.with_name("copy")

        def act():
            self._copy(shard, copy)
            rename_durably(copy, shard)
        return {"seconds": timed(act)}

    def _shard(self, name):
        return self.work / f"replaced-{name}" / self.volume.shard_file()

    def _copy(self, shard, copy):
        """With what replacing one chunk appends, where the file system clones; on the disk."""
        if not self.clones:
            run("cp", shard, copy)
            run("sync", copy)
            return
        appended = os.urandom(volumes.CHUNK_BYTES + self.volume.chunks * INDEX_ENTRY_BYTES + 4)
        with open(shard, "rb") as source, open(copy, "wb", buffering=0) as target:
            fcntl.ioctl(target, FICLONE, source.fileno())
            target.seek(0, os.SEEK_END)
            target.write(appended)
            os.fsync(target.fileno())

    def _mount(self, program, sharded, number):
        data = os.urandom(volumes.CHUNK_BYTES)
        with fresh_folder(self.work, "mounted") as folder:
            with Writable(program, sharded, folder, NEVER) as mount:
                def act(cell):
                    (mount.path / self.volume.chunk_file(cell)).write_bytes(data)
                    mount.flush()
                act(self._cell(-1 - number))  # the first one makes the way
                seconds = timed(lambda: act(self._cell(number)))
                sample = {"seconds": seconds, **mount.figures()}
        stored = volumes.opened(self.volume, sharded)[volumes.slices(self._region(number))]
        if stored.read().result().tobytes() != data:
            raise WrongBytes(f"{self._cell(number)} is not in the shard")
        return sample
