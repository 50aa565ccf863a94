"""TensorStore copying the sharded dataset into unsharded files: prints {"seconds": …}.

    tensorstore_copier.py FORMAT URL TARGET

TARGET is the spec, in JSON, of the unsharded copy. Opening and creating is not measured, nor is the
mounting of others.
"""

import json
import sys
import time

import tensorstore
from tensorstore_reader import remote_options

IN_FLIGHT = 64


def main(form, url, target):
    driver = "zarr3" if form == "zarr" else "neuroglancer_precomputed"
    context, members = remote_options(url, IN_FLIGHT)
    context = tensorstore.Context({**context, "cache_pool": {"total_bytes_limit": 64 << 20}})
    source = tensorstore.open({"driver": driver, "kvstore": url, **members}, open=True,
                              context=context).result()
    copy = tensorstore.open(json.loads(target), context=context).result()
    before = time.perf_counter()
    copy.write(source).result()
    print(json.dumps({"seconds": time.perf_counter() - before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
