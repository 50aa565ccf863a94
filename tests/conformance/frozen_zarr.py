"""Runs in the frozen environment, with zarr-python 2.18, as tests/support/python_service.py says.

check FORMAT JOBS  fails unless the array at PATH below STORE has the voxels of FILE, for each [STORE, PATH, FILE]
write FORMAT JOBS  writes FILE into a BOX of it, for each [STORE, PATH, BOX, FILE]
"""

import pathlib
import sys

import numpy
import zarr

sys.path.append(str(pathlib.Path(__file__).parent.parent / "support"))
from python_service import serve  # noqa: E402


def opened(format, store, path, mode):
    store = {"zarr2": zarr.NestedDirectoryStore, "n5": zarr.N5Store}[format](store)
    return zarr.open_group(store, mode=mode)[path] if path else zarr.open_array(store, mode=mode)


def check(format, jobs):
    for store, path, file in jobs:
        numpy.testing.assert_array_equal(opened(format, store, path, "r")[...], numpy.load(file))


def write(format, jobs):
    for store, path, box, file in jobs:
        opened(format, store, path, "r+")[tuple(slice(*part) for part in box)] = numpy.load(file)


if __name__ == "__main__":
    serve({"check": check, "write": write})
