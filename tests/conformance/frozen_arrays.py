"""Runs in the frozen environment, with zarr-python 2 and numcodecs as they were before Zarr v3.

    frozen_arrays.py write JSON_LINES   makes the arrays that the lines describe
    frozen_arrays.py read JSON_LINES    compares them with the .npy that each line names
"""

import json
import sys

import numcodecs
import numpy as np
import zarr


def codec(configuration):
    return configuration and numcodecs.get_codec(dict(configuration))


def store_of(case, path):
    return zarr.N5FSStore(path) if case["n5"] else zarr.DirectoryStore(path)


def write(case):
    values = np.load(case["values"])
    options = {} if case["n5"] else {
        "order": case["order"], "dimension_separator": case["separator"],
        "filters": [codec(each) for each in case["filters"]] or None}
    array = zarr.create(shape=values.shape, chunks=tuple(case["chunks"]), dtype=case["dtype"],
                        compressor=codec(case["compressor"]), store=store_of(case, case["path"]),
                        fill_value=case["fill"], **options)
    array[...] = values


def read(case):
    array = zarr.open_array(store_of(case, case["path"]), mode="r")
    np.testing.assert_array_equal(array[...], np.load(case["values"]), err_msg=str(case))


if __name__ == "__main__":
    with open(sys.argv[2]) as lines:
        for line in lines:
            {"write": write, "read": read}[sys.argv[1]](json.loads(line))
