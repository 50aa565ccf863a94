"""TensorStore and zarr-python writing a sharded dataset directly, each run in a process of its own.

    peer_writer.py JOB      a JSON object with `library` (tensorstore or zarr-python), `form`, `task`:

copy      `regions` of the dataset `plain` go to `sharded`, one write (TensorStore: transaction) each
replace   the `regions` of `sharded` are overwritten with noise, one write each

Prints {"seconds", "memory": {"VmHWM"}, "written"}: the time begins when the libraries are loaded and
the datasets are open, and ends when all is on the disk.
"""

import json
import os
import pathlib
import sys
import time

import numpy


class TensorStore:
    def __init__(self, form, path):
        import tensorstore
        self.tensorstore = tensorstore
        driver = "zarr3" if form == "zarr" else "neuroglancer_precomputed"
        self.store = tensorstore.open({"driver": driver, "kvstore": f"file://{path}/"},
                                      open=True).result()

    def read(self, where):
        return self.store[where].read().result()

    def write(self, where, block):
        with self.tensorstore.Transaction() as transaction:
            target = self.store.with_transaction(transaction)[where]
            target[...] = block.reshape(target.shape)

    def sync(self):
        """Each of its writes is synced."""


class ZarrPython:
    def __init__(self, form, path):
        import zarr
        assert form == "zarr"
        self.path = path
        self.array = zarr.open_array(path, mode="r+")

    def read(self, where):
        return self.array[where]

    def write(self, where, block):
        self.array[where] = block

    def sync(self):
        for path in pathlib.Path(self.path).rglob("*"):
            if path.is_file() and path.stat().st_mtime >= START:
                descriptor = os.open(path, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)


LIBRARIES = {"tensorstore": TensorStore, "zarr-python": ZarrPython}
START = time.time() - 1


def slices(region):
    return tuple(slice(low, high) for low, high in region)


def of_this_process(file, field):
    """A number that the kernel keeps of this program, not of who started it."""
    for line in pathlib.Path("/proc/self", file).read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise KeyError(field)


def main(job):
    library = LIBRARIES[job["library"]]
    target = library(job["form"], job["sharded"])
    source = library(job["form"], job["plain"]) if job["task"] == "copy" else None
    random = numpy.random.default_rng()
    noise = None
    written = of_this_process("io", "wchar")
    since = time.perf_counter()
    for region in job["regions"]:
        where = slices(region)
        if source is not None:
            block = source.read(where)
        else:
            size = [high - low for low, high in region]
            if noise is None:
                noise = random.integers(1, 256, size, numpy.uint8)
            block = noise
        target.write(where, block)
    target.sync()
    seconds = time.perf_counter() - since
    print(json.dumps({
        "seconds": seconds, "written": of_this_process("io", "wchar") - written,
        "memory": {"VmHWM": of_this_process("status", "VmHWM")}}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
