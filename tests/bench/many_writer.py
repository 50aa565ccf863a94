"""One of many processes that write chunks at the same time, each chunk by one process only.

    many_writer.py      the first line of standard input is a JSON object:

kind      files: whole chunk files, closed; files-synced: the same with fsync; tensorstore,
          zarr-python: their arrays
path      of the dataset
form      of the dataset
chunks    [[number, region, file name], …]: what this process writes, again and again
seconds   for how long

Says "ready", waits for a second line, writes, and prints {"acknowledged", "refused",
"seconds", "last": {number: version}}: the last version of each chunk of which it was told that it is
written. chunk_bytes(number, version) says what a version holds.
"""

import json
import os
import struct
import sys
import time

CHUNK_BYTES = 1 << 16


def chunk_bytes(number, version):
    """The bytes of one version of one chunk: different from all others, and never all zeros."""
    pair = struct.pack("<II", number + 1, version)
    return pair * (CHUNK_BYTES // len(pair))


def write_files(path, synced):
    def write(region, name, data):
        descriptor = os.open(os.path.join(path, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError("a short write")
            if synced:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)  # what fails here was not acknowledged
    return write


def write_tensorstore(path, form):
    import numpy
    import tensorstore
    driver = "zarr3" if form == "zarr" else "neuroglancer_precomputed"
    store = tensorstore.open({"driver": driver, "kvstore": f"file://{path}/"}, open=True).result()

    def write(region, name, data):
        target = store[tuple(slice(low, high) for low, high in region)]
        target.write(numpy.frombuffer(data, numpy.uint8).reshape(target.shape)).result()
    return write


def write_zarr_python(path):
    import numpy
    import zarr
    array = zarr.open_array(path, mode="r+")

    def write(region, name, data):
        size = [high - low for low, high in region]
        block = numpy.frombuffer(data, numpy.uint8).reshape(size)
        array[tuple(slice(low, high) for low, high in region)] = block
    return write


def writer(kind, path, form):
    if kind.startswith("files"):
        return write_files(path, kind == "files-synced")
    return write_tensorstore(path, form) if kind == "tensorstore" else write_zarr_python(path)


def main(job):
    write = writer(job["kind"], job["path"], job["form"])
    print("ready", flush=True)
    sys.stdin.readline()
    last = {}
    acknowledged = refused = version = 0
    since = time.perf_counter()
    end = since + job["seconds"]
    while time.perf_counter() < end:
        version += 1
        for number, region, name in job["chunks"]:
            try:
                write(region, name, chunk_bytes(number, version))
            except Exception as error:  # noqa: BLE001
                refused += 1
                print(f"chunk {name} version {version}: {error}", file=sys.stderr)
                last.pop(number, None)  # either version may stand there
            else:
                acknowledged += 1
                last[number] = version
            if time.perf_counter() >= end:
                break
    print(json.dumps({"acknowledged": acknowledged, "refused": refused, "last": last,
                      "seconds": time.perf_counter() - since}))


if __name__ == "__main__":
    main(json.loads(sys.stdin.readline()))
