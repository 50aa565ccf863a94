"""Many processes that write distinct random chunks of eight shards: how fast, and what is lost."""

import concurrent.futures
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import time

import numpy
import volumes
from many_writer import chunk_bytes
from write_mounts import Writable, fresh_folder

HERE = pathlib.Path(__file__).resolve().parent
WRITER = HERE / "many_writer.py"


class ManyWriters:
    """`processes` write for `seconds`; plain: the same files in a plain directory."""

    title = "many writers"

    def __init__(self, prepared, work, programs, processes, seconds):
        self.prepared, self.volume, self.work = prepared, prepared.volume, work
        self.programs = programs
        self.processes, self.seconds = processes, seconds

    def contestants(self):
        result = {"plain": lambda number: self._plain("files", number),
                  "plain, fsync": lambda number: self._plain("files-synced", number)}
        for name, program in self.programs.items():
            for title, kind in ((name, "files"), (f"{name}, fsync", "files-synced")):
                result[title] = lambda number, kind=kind, program=program: self._mount(
                    program, kind, number)
        for library in ("tensorstore", "zarr-python"):
            result[library] = lambda number, library=library: self._library(library, number)
        if has_dask():
            result["dask"] = lambda number: self._dask()
        return result

    def _plain(self, kind, number):
        with fresh_folder(self.work, "plain") as folder:
            self._make_directories(folder)
            sample, _ = self._race(kind, folder, number)
        return sample

    def _mount(self, program, kind, number):
        with fresh_folder(self.work, "race") as folder:
            self._make(folder / "sharded")
            with Writable(program, folder / "sharded", folder) as mount:
                self._make_directories(mount.path)
                sample, last = self._race(kind, mount.path, number)
                since = time.perf_counter()
                mount.flush()
                sample["flush_seconds"] = time.perf_counter() - since
                sample["publishes"] = mount.mount.status()["write"]["publishes"]
                sample.update(mount.figures())
            return {**sample, **self._judge(folder / "sharded", last)}

    def _library(self, library, number):
        with fresh_folder(self.work, "race") as folder:
            self._make(folder / "sharded")
            sample, last = self._race(library, folder / "sharded", number)
            return {**sample, **self._judge(folder / "sharded", last)}

    # dask does not write at random: it stores the whole array, as many processes as the others.
    def _dask(self):
        with fresh_folder(self.work, "race") as folder:
            self._make(folder / "sharded")
            last = dict.fromkeys(range(self.volume.chunks), 1)
            since = time.perf_counter()
            subprocess.run([sys.executable, HERE / "dask_writer.py", folder / "sharded",
                            str(self.processes), json.dumps(self.volume.chunk)], check=True)
            seconds = time.perf_counter() - since
            return {"rate": len(last) / seconds, "acknowledged": len(last), "refused": 0,
                    **self._judge(folder / "sharded", last)}

    def _make_directories(self, root):
        for folder in {(root / self.volume.chunk_file(cell)).parent for cell in self.volume.cells()}:
            folder.mkdir(parents=True, exist_ok=True)

    def _make(self, path):
        volumes.create(self.volume, path, True)

    def _jobs(self, kind, path, number):
        chunks = [(position, self.volume.chunk_region(cell), self.volume.chunk_file(cell))
                  for position, cell in enumerate(self.volume.cells())]
        random.Random(number).shuffle(chunks)
        return [{"kind": kind, "path": str(path), "form": self.volume.form, "seconds": self.seconds,
                 "chunks": chunks[first::self.processes]} for first in range(self.processes)]

    def _race(self, kind, path, number):
        """The sample, and {chunk number: last acknowledged version}."""
        with contextlib.ExitStack() as stack:
            children = []
            for job in self._jobs(kind, path, number):
                child = stack.enter_context(subprocess.Popen(
                    [sys.executable, WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True))
                stack.callback(lambda child=child: child.poll() is None and child.kill())
                child.stdin.write(json.dumps(job) + "\n")
                child.stdin.flush()
                children.append(child)
            for child in children:
                if child.stdout.readline() != "ready\n":
                    raise RuntimeError(f"a writer of {kind} ended before it began")
            for child in children:
                child.stdin.write("go\n")
                child.stdin.flush()
            with concurrent.futures.ThreadPoolExecutor(len(children)) as pool:
                results = [json.loads(text) for text in
                           pool.map(lambda child: child.communicate()[0], children)]
        last = {int(number): version for result in results
                for number, version in result["last"].items()}
        acknowledged = sum(result["acknowledged"] for result in results)
        return {"rate": acknowledged / max(result["seconds"] for result in results),
                "acknowledged": acknowledged,
                "refused": sum(result["refused"] for result in results)}, last

    def _judge(self, path, last):
        """Chunks whose last acknowledged version is not what stands there, read by TensorStore."""
        store = volumes.opened(self.volume, path)
        lost = 0
        for position, cell in enumerate(self.volume.cells()):
            if position in last:
                region = volumes.slices(self.volume.chunk_region(cell))
                found = numpy.asarray(store[region].read().result()).tobytes()
                lost += found != chunk_bytes(position, last[position])
        return {"lost": lost, "checked": len(last), "lost_part": lost / max(1, len(last))}


def has_dask():
    try:
        import dask.array  # noqa: F401
    except ImportError:
        return False
    return True
