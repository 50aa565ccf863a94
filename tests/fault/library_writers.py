"""What libraries do with the work that the races give to a mount: a program each, for comparison.

    library_writers.py LIBRARY '{"source": {…}, "journal": "folder", "writers": 16, "seconds": 5}'

zarr and tensorstore: processes write values into random chunks of their own, straight into the
source, and keep the journals of chunk_writer.py. dask: dask.array.store, without its lock, writes
each chunk once as value (writer 0, counter 1) from as many processes.
"""

import json
import os
import random
import sys
import time

import numpy as np

from line_source import LineSource, value


def row(source, chunk, writer, counter):
    return np.frombuffer(value(chunk, writer, counter, source.chunk_bytes), np.uint8)


def open_zarr(source):
    import zarr

    array = zarr.open_array(source.path, mode="r+")

    def write(chunk, data):
        array[chunk] = data

    return write


def open_tensorstore(source):
    store = source.open()

    def write(chunk, data):
        if source.kind == "precomputed":
            width = source.chunk_bytes // source.EDGE**2
            block = data.reshape(source.EDGE, source.EDGE, width).transpose(2, 1, 0)
            store[chunk * width:(chunk + 1) * width].write(block).result()
        else:
            store[chunk].write(data).result()

    return write


OPEN = {"zarr": open_zarr, "tensorstore": open_tensorstore}


def write_for_a_while(library, order, writer):
    source = LineSource(**order["source"])
    first = order.get("first_writer", 0)
    own = order.get("chunks") or range(source.count)
    own = [chunk for index, chunk in enumerate(own) if index % order["writers"] == writer]
    rng, counter = random.Random(writer), 1
    journal = os.open(os.path.join(order["journal"], f"{first + writer}.journal"),
                      os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(*words):
        os.write(journal, (" ".join(map(str, words)) + "\n").encode())

    write = OPEN[library](source)
    until = time.monotonic() + order["seconds"]
    while time.monotonic() < until:
        chunk = rng.choice(own)
        note("begin", chunk, counter, time.monotonic_ns(), library)
        try:
            write(chunk, row(source, chunk, first + writer, counter))
        except Exception:  # pylint: disable=broad-except
            note("fail", chunk, counter, time.monotonic_ns(), 1)
        else:
            note("done", chunk, counter, time.monotonic_ns())
        counter += 1


def store_with_dask(order):
    import dask.array
    import zarr

    source = LineSource(**order["source"])
    rows = np.stack([row(source, chunk, 0, 1) for chunk in range(source.count)])
    array = dask.array.from_array(rows, chunks=(1, source.chunk_bytes))
    dask.array.store(array, zarr.open_array(source.path, mode="r+"), lock=False,
                     scheduler="processes", num_workers=order["writers"])


def main():
    library, order = sys.argv[1], json.loads(sys.argv[2])
    if library == "dask":
        store_with_dask(order)
        return
    if library == "zarr":
        import zarr  # noqa: F401  once for all: its own thread starts at first use, after fork
    children = []
    for writer in range(order["writers"]):
        child = os.fork()
        if child == 0:
            try:
                write_for_a_while(library, order, writer)
                os._exit(0)
            except BaseException as fault:  # pylint: disable=broad-except
                print(fault, file=sys.stderr)
                os._exit(1)
        children.append(child)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))


if __name__ == "__main__":
    main()
