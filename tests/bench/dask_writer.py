"""dask.array.store into one zarr-python array, without a lock, from many processes.

    dask_writer.py PATH PROCESSES CHUNK      CHUNK: a JSON list of voxels

Chunk number i in C order gets many_writer.chunk_bytes(i, 1).
"""

import json
import math
import sys

import dask.array
import numpy
import zarr
from many_writer import chunk_bytes


def block_of(block_info=None):
    """The voxels of one chunk."""
    [info] = block_info.values()
    number = int(numpy.ravel_multi_index(info["chunk-location"], info["num-chunks"]))
    return numpy.frombuffer(chunk_bytes(number, 1), numpy.uint8).reshape(info["chunk-shape"])


def main(path, processes, chunk):
    target = zarr.open_array(path, mode="r+")
    counts = [size // step for size, step in zip(target.shape, chunk)]
    assert math.prod(counts) * math.prod(chunk) == math.prod(target.shape)
    source = dask.array.map_blocks(block_of, dtype=numpy.uint8, meta=numpy.empty((0,) * 3, numpy.uint8),
                                   chunks=tuple((step,) * count
                                                for step, count in zip(chunk, counts)))
    dask.array.store(source, target, lock=False, scheduler="processes", num_workers=processes)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
