"""Runs in the newest environment, with zarr-python 3.4, as tests/support/python_service.py says.

make SEED FOLDER        a group of sharded arrays with random rectilinear shards, and of all data types
uneven SEED FOLDER      a group of arrays with random rectilinear chunks, without shards
items SEED FOLDER FORMAT  a group of arrays of all data types that are no numbers, in Zarr v2 or v3
numbers SEED FOLDER     a group of arrays whose numbers are stored as others
same FOLDER OTHER       fails unless both groups have the same arrays with the same items
change FOLDER [PREFIX]  writes other items into a box of each array of this name, and empties another
resize FOLDER NAME EXTENT...
"""

import pathlib
import random
import shutil
import sys
import warnings

import numpy as np
import zarr

sys.path.append(str(pathlib.Path(__file__).parent.parent / "support"))
from python_service import serve  # noqa: E402

TYPES = {"string": (str, np.array(["a", "bc", "", "é", "日本", "x" * 40, "", "z"], dtype=object)),
         "time": ("datetime64[10us]", np.arange(8).astype("datetime64[10us]")),
         "span": ("timedelta64[ms]", np.arange(8).astype("timedelta64[ms]")),
         "text": ("U3", np.array(list("abcdefgh"), dtype="U3")),
         "bytes": ("S3", np.array([b"ab", b"c"] * 4, dtype="S3")),
         "raw": ("V3", np.array([b"abc"] * 8, dtype="V3")),
         "struct": ([("id", "<i4"), ("at", [("x", "<f4"), ("y", "<f8")])],
                    np.array([(i, (i / 2, -i)) for i in range(8)],
                             dtype=[("id", "<i4"), ("at", [("x", "<f4"), ("y", "<f8")])]))}


def edges(draw, inner):
    return [inner * draw.randint(1, 4) for _ in range(draw.randint(1, 5))]


def make(seed, folder):
    draw = random.Random(f"{seed} rectilinear")
    group = zarr.open_group(folder, mode="w")
    for number in range(12):
        rank = number % 3 + 1
        inner = tuple(draw.randint(1, 3) for _ in range(rank))
        shards = [edges(draw, each) for each in inner]
        array = group.create_array(
            f"r{number}", shape=tuple(map(sum, shards)), chunks=inner, shards=shards,
            dtype=draw.choice(["uint8", ">u2", "float64"]), fill_value=3, compressors=draw.choice([None, "auto"]),
            chunk_key_encoding=draw.choice([None, {"name": "v2", "separator": "."}]),
            attributes={"number": number})
        # Then shards reach beyond the array, or lie outside it.
        array.resize(tuple(sum(each) - draw.randint(0, sum(each) // 2) for each in shards))
        values = np.random.default_rng(number).integers(0, 200, array.shape)
        values[..., : array.shape[-1] // 2] = 3  # so that chunks, and shards, are absent
        array[...] = values
    for name, (dtype, values) in TYPES.items():
        array = group.create_array(name, shape=(9,), chunks=(2,), shards=(4,), dtype=dtype)
        array[:8] = values


def uneven(seed, folder):
    draw = random.Random(f"{seed} uneven")
    group = zarr.open_group(folder, mode="w")
    for number in range(16):
        rank = number % 3 + 1
        chunks = [edges(draw, draw.randint(1, 3)) for _ in range(rank)]
        if number % 4 == 0:
            chunks[-1] = [chunks[-1][0]] * 4
        array = group.create_array(
            f"u{number}", shape=tuple(map(sum, chunks)), chunks=chunks, dtype=draw.choice(["uint8", ">u2", "float32"]),
            fill_value=3, compressors=draw.choice([None, "auto"]), attributes={"number": number})
        # Then chunks reach beyond the array, or lie outside it.
        array.resize(tuple(sum(each) - draw.randint(0, sum(each) // 2) for each in chunks))
        values = np.random.default_rng(number).integers(0, 200, array.shape)
        values[..., : array.shape[-1] // 2] = 3  # so that chunks are absent
        array[...] = values


def items(seed, folder, format):
    draw = random.Random(f"{seed} items")
    group = zarr.open_group(folder, mode="w", zarr_format=int(format))
    for number in range(3):
        for name, (dtype, values) in TYPES.items():
            shape = tuple(draw.randint(1, 20) for _ in range(draw.randint(1, 3)))
            chunk = tuple(draw.randint(1, 6) for _ in shape)
            shards = [None, tuple(each * draw.randint(1, 4) for each in chunk)][int(format) - 2 and draw.randint(0, 1)]
            array = group.create_array(f"{name}{number}", shape=shape, chunks=chunk, shards=shards, dtype=dtype,
                                       compressors=draw.choice([None, "auto"]), attributes={"number": number})
            filled = tuple(slice(0, extent - extent // 3) for extent in shape)  # other chunks are absent
            size = array[filled].size
            array[filled] = np.resize(values, size).reshape(array[filled].shape)


def numbers(seed, folder):
    draw = random.Random(f"{seed} numbers")
    group = zarr.open_group(folder, mode="w")
    roundings = ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]
    for number in range(30):
        dtype = np.dtype(["uint8", "int16", "uint32", "int64", "float16", "float32", "float64"][number % 7])
        is_float = dtype.kind == "f"
        filters, fill = [], draw.choice([0, 20, "nan" if is_float else 10])
        if number % 3 != 0:
            filters.append(zarr.codecs.ScaleOffset(offset=draw.choice([0, 5, 10]), scale=draw.choice([1, 2])))
        target = draw.choice(["int8", "uint8", "int32", "uint64", "float16", "float32", "float64"])
        cast = {"rounding": draw.choice(roundings), "out_of_range": draw.choice(["clamp", "clamp", "wrap"])}
        if target.startswith("float"):
            cast["out_of_range"] = "clamp"
        elif is_float:
            cast["scalar_map"] = {"encode": [("NaN", 99)], "decode": [(99, "NaN")]}
        if number % 4 != 1:
            filters.append(zarr.codecs.CastValue(data_type=target, **cast))
        values = np.random.default_rng(number).integers(20, 60, (8, 6)).astype(dtype)
        values[:4, :3] = fill = dtype.type(fill)
        if is_float:
            values[5] += dtype.type(draw.choice([0, 0.5, 0.25]))
            values[6, 1] = "nan"
        # Only those that give back every number can be written in views.
        exact = not is_float and (number % 4 == 1 or (np.can_cast(dtype, target) and dtype.itemsize < 8))
        name = f"{'exact' if exact else 'n'}{number}"
        try:
            array = group.create_array(name, shape=(8, 6), chunks=(2, 3), dtype=dtype, fill_value=fill,
                                       shards=draw.choice([None, (4, 3)]), filters=filters or None)
            array[...] = values
        except Exception:  # a number that this chain cannot store
            shutil.rmtree(f"{folder}/{name}", ignore_errors=True)


def arrays(folder):
    return dict(sorted(zarr.open_group(folder, mode="r").arrays()))


def same(folder, other):
    first, second = arrays(folder), arrays(other)
    assert list(first) == list(second), (list(first), list(second))
    for name, array in first.items():
        assert array.dtype == second[name].dtype, name
        assert dict(array.attrs) == dict(second[name].attrs), name
        np.testing.assert_array_equal(array[...], second[name][...], name)


def change(folder, prefix=""):
    for name, array in zarr.open_group(folder, mode="r+").arrays():
        if not name.startswith(prefix):
            continue
        if name in TYPES:
            array[3:5] = array[0:2]
            continue
        if name.rstrip("0123456789") in TYPES:
            array[array.shape[0] // 2] = array[0]
            continue
        box = tuple(slice(extent // 3, extent // 3 + extent // 2 + 1) for extent in array.shape)
        array[box] = 37
        array[tuple(slice(extent - 1, extent) for extent in array.shape)] = array.fill_value


def resize(folder, name, *extents):
    array = zarr.open_group(folder, mode="r+")[name]
    array.resize(tuple(int(extent) for extent in extents))
    array[...] = np.arange(array.size).reshape(array.shape)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # some types are not a part of the specification
    zarr.config.set({"array.rectilinear_chunks": True, "array.write_empty_chunks": False})
    serve({each.__name__: each for each in (make, uneven, items, numbers, same, change, resize)})
