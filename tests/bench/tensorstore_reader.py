"""TensorStore reading chunks of the sharded dataset directly: prints the same JSON as the others.

    tensorstore_reader.py FORMAT URL LIST COUNT IN_FLIGHT SEED

It keeps indexes in its cache pool, and IN_FLIGHT reads are under way at a time. The chunks are drawn
from LIST by `random` (not in the other programs' order), so only figures are comparable, no checksums.
Over a network it may send as many requests at a time, and takes cached indexes for valid, as a mount
does.
"""

import json
import random
import sys
import time

import tensorstore


def slices(form, name, edge):
    parts = name.split("/")
    if form == "zarr":
        return tuple(slice(int(p) * edge, (int(p) + 1) * edge) for p in parts[1:])
    return tuple(slice(*map(int, p.split("-"))) for p in parts[1].split("_"))


def remote_options(url, in_flight):
    """(context, members of the spec) for a source behind `url`."""
    if url.startswith("file:"):
        return {}, {}
    scheme = url.split(":")[0].replace("https", "http").replace("gs", "gcs")
    return ({f"{scheme}_request_concurrency": {"limit": in_flight}},
            {"recheck_cached_data": "open", "recheck_cached_metadata": "open"})


def main(form, url, listed, count, in_flight, seed):
    driver = "zarr3" if form == "zarr" else "neuroglancer_precomputed"
    context, members = remote_options(url, in_flight)
    context["cache_pool"] = {"total_bytes_limit": 64 << 20}
    store = tensorstore.open({"driver": driver, "kvstore": url, **members}, open=True,
                             context=tensorstore.Context(context)).result()
    edge = store.chunk_layout.read_chunk.shape[0]
    with open(listed) as lines:
        names = [line.split("\t")[0] for line in lines]
    random.Random(seed).shuffle(names)
    chunks = [slices(form, name, edge) for name in names[:count or len(names)]]
    latencies = []
    size = 0
    waiting = []

    def finish():
        nonlocal size
        since, future = waiting.pop(0)
        size += future.result().nbytes
        latencies.append(time.perf_counter() - since)

    start = time.perf_counter()
    for chunk in chunks:
        waiting.append((time.perf_counter(), store[chunk].read()))
        if len(waiting) == in_flight:
            finish()
    while waiting:
        finish()
    seconds = time.perf_counter() - start
    latencies.sort()
    at = lambda p: round(latencies[(len(latencies) - 1) * p // 100] * 1e6, 2)  # noqa: E731
    print(json.dumps({"chunks": len(chunks), "threads": in_flight, "bytes": size,
                      "seconds": round(seconds, 6), "p50_us": at(50), "p99_us": at(99),
                      "max_us": at(100)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
