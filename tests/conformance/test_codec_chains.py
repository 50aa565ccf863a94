"""Compositions of codecs, judged codec by codec by numcodecs, with NumPy's transpose between them, and whole by
zarr-python 3.4: pairs of array-to-array codecs, and random chains, sharded or not, in views and copies."""

import json
import pathlib
import random
import struct
import subprocess

import numcodecs
import numpy as np
import pytest
import tensorstore as ts

from judging import SEED
from test_array_codecs import array_codec, read, write  # noqa: F401 (fixture)

SHAPE, CHUNK = (4, 3, 6), (2, 3, 6)
DRIVERS = {"zarr2": "zarr", "n5": "n5", "raw": "zarr3", "zarr3": "zarr3"}


def filter_of(name, before, **configuration):
    """(codec of Zarr v3, the data type of what it gives); None where numcodecs has no such filter."""
    after = before
    kind = np.dtype(before).kind
    if name == "transpose":
        return {"name": name, "configuration": configuration}, after
    if name == "delta":
        after = configuration["astype"]
    elif name == "astype":
        after = configuration["encode_dtype"]
    elif name == "fixedscaleoffset":
        after = configuration["astype"]
    elif name in ("quantize", "bitround") and (kind != "f" or np.dtype(before).itemsize < 4):
        return None
    elif name == "packbits":
        if kind != "b":
            return None
        after = "|u1"
    return {"name": f"numcodecs.{name}", "configuration": configuration}, after


def filters_for(before):
    """Every array-to-array codec that takes items of this type, with what it gives."""
    wider = {"b": "|u1", "i": "<i8", "u": "<i8", "f": before}[np.dtype(before).kind]
    drawn = [filter_of("transpose", before, order=[2, 0, 1]),
             filter_of("astype", before, decode_dtype=before, encode_dtype="<i2"),
             filter_of("astype", before, decode_dtype=before, encode_dtype="<f8"),
             filter_of("quantize", before, digits=2, dtype=before),
             filter_of("bitround", before, keepbits=12), filter_of("packbits", before)]
    if np.dtype(before).kind != "b":
        offset = 0 if np.dtype(before).kind == "u" else -1
        drawn += [filter_of("delta", before, dtype=before, astype=wider),
                  filter_of("fixedscaleoffset", before, scale=2, offset=offset, dtype=before,
                            astype="<i4")]
    return [each for each in drawn if each]


def of_numcodecs(codec):
    configuration = {"id": codec["name"].removeprefix("numcodecs."), **codec["configuration"]}
    return numcodecs.get_codec(configuration)


def encode(values, chain):
    for codec, after in chain:
        values = np.ascontiguousarray(values)
        if codec["name"] == "transpose":
            values = values.transpose(codec["configuration"]["order"])
            continue
        shape = values.shape
        values = np.frombuffer(np.ascontiguousarray(of_numcodecs(codec).encode(values)).tobytes(),
                               after)
        if values.size == np.prod(shape):
            values = values.reshape(shape)
    return np.ascontiguousarray(values)


def document(shape, chunk, dtype, codecs):
    return json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": shape, "fill_value": np.dtype(dtype).type(0).item(),
        "data_type": np.dtype(dtype).name, "attributes": {}, "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}})


BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def store(path, dtype, chain, values):
    """The array as its definition has it."""
    for at in range(0, SHAPE[0], CHUNK[0]):
        file = path / f"c/{at // CHUNK[0]}/0/0"
        file.parent.mkdir(parents=True)
        file.write_bytes(encode(values[at:at + CHUNK[0]], chain).tobytes())
    path.joinpath("zarr.json").write_text(
        document(SHAPE, CHUNK, dtype, [codec for codec, _ in chain] + [BYTES]))


def pairs_for(dtype):
    return [[first, second] for first in filters_for(dtype) for second in filters_for(first[1])
            if first[0]["name"] != "numcodecs.packbits"]


def small(rng, dtype, shape=SHAPE):
    """Numbers that every codec here gives back."""
    return rng.integers(0, 2 if dtype == "|b1" else 50, shape).astype(dtype)


DTYPES = ["|b1", "|u1", "<i4", "<f4", "<f8"]


def test_zarr_python_reads_every_pair(tmp_path, newest_python):
    """Proves the reference of the next test."""
    rng, arrays = np.random.default_rng([SEED, 31]), {}
    for dtype in DTYPES:
        for number, chain in enumerate(pairs_for(dtype)):
            name = f"{np.dtype(dtype).name}-{number}"
            arrays[name] = small(rng, dtype)
            store(tmp_path / name, dtype, chain, arrays[name])
    check_by_zarr_python(newest_python, tmp_path, tmp_path, arrays)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_are_those_of_numcodecs(tmp_path, array_codec, dtype):  # noqa: F811
    rng = np.random.default_rng([SEED, 31])
    for number, chain in enumerate(pairs_for(dtype)):
        values = small(rng, dtype)
        path, new = tmp_path / f"{number}", tmp_path / f"new-{number}"
        store(path, dtype, chain, values)
        read(array_codec, path, values)
        write(array_codec, path, new, values)
        for file in sorted(path.rglob("0")):
            if file.is_file():
                written = new / file.relative_to(path)
                assert written.read_bytes() == file.read_bytes(), f"{chain}: {file}"


def draw_chain(draw, dtype, most, without=("numcodecs.packbits",)):
    chain = []
    for _ in range(draw.randint(0, most)):
        before = chain[-1][1] if chain else dtype
        chain.append(draw.choice([each for each in filters_for(before)
                                  if each[0]["name"] not in without]))
        if chain[-1][0]["name"] == "transpose":
            chain[-1] = filter_of("transpose", before, order=draw.sample(range(3), 3))
    return chain


def store_shards(path, draw, dtype, values):
    """Shards of two chunks; those that have only zeros are absent. What stores another number than 0 for them is not
    drawn: peers do not agree on their voxels, and it is refused."""
    outer = draw_chain(draw, dtype, 2, ("numcodecs.packbits", "numcodecs.delta", "numcodecs.fixedscaleoffset"))
    inner = draw_chain(draw, outer[-1][1] if outer else dtype, 2)
    for at in range(0, SHAPE[0], CHUNK[0]):
        whole = encode(values[at:at + CHUNK[0]], outer)
        axis = max(range(3), key=lambda each: whole.shape[each])
        parts = np.split(whole, 2, axis)
        shard, index = b"", b""
        empty = encode(np.zeros(CHUNK, dtype), outer)
        for part, absent in zip(parts, np.split(empty, 2, axis)):
            stored = encode(part, inner).tobytes()
            if np.array_equal(part, absent):
                index += b"\xff" * 16
                continue
            index += struct.pack("<QQ", len(shard), len(stored))
            shard += stored
        file = path / f"c/{at // CHUNK[0]}/0/0"
        file.parent.mkdir(parents=True)
        file.write_bytes(shard + index)
    sharding = {"name": "sharding_indexed", "configuration": {
        "chunk_shape": parts[0].shape, "codecs": [codec for codec, _ in inner] + [BYTES],
        "index_codecs": [BYTES]}}
    path.joinpath("zarr.json").write_text(
        document(SHAPE, CHUNK, dtype, [codec for codec, _ in outer] + [sharding]))


@pytest.fixture(scope="module")
def random_arrays(tmp_path_factory):
    """A group of arrays with random chains; {name: voxels}."""
    root = tmp_path_factory.mktemp("chains")
    root.joinpath("zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    rng, draw = np.random.default_rng([SEED, 32]), random.Random(f"{SEED} 32")
    arrays = {}
    for number in range(24):
        dtype = ["|u1", "<u2", "<i4", "<f4", "<f8"][number % 5]
        values = small(rng, dtype)
        if number % 2 == 0:
            store(root / f"a{number}", dtype, draw_chain(draw, dtype, 4), values)
        else:
            values[2:] = 0
            store_shards(root / f"a{number}", draw, dtype, values)
        arrays[f"a{number}"] = values
    return root, arrays


def check_by_zarr_python(python, folder, output, arrays):
    """All but those where a transpose before the shards confuses it: it divides the chunks by the transposed ones."""
    done = subprocess.run([python, pathlib.Path(__file__).parent / "newest_arrays.py", folder, output, *arrays],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    refused = json.loads(done.stdout)
    assert not [why for why in refused.values() if "not divisible by the shard's inner chunk" not in why]
    assert 4 * len(refused) < len(arrays)
    for name in arrays.keys() - refused.keys():
        np.testing.assert_array_equal(np.load(output / f"{name}.npy"), arrays[name], err_msg=name)


def check(root, format, arrays):
    for name, values in arrays.items():
        store_of = ts.open({"driver": DRIVERS[format], "kvstore": f"file://{root}/{name}/"})
        found = store_of.result().read().result()
        np.testing.assert_array_equal(found.transpose() if format == "n5" else found, values,
                                      err_msg=f"{name} as {format}")


def test_zarr_python_reads_the_random_chains(random_arrays, newest_python, tmp_path):
    """Proves the sources, not the view."""
    root, arrays = random_arrays
    check_by_zarr_python(newest_python, root, tmp_path, arrays)


@pytest.mark.parametrize("view", ["none", "raw", "zarr2"])
def test_zarr_python_reads_views_of_random_chains(random_arrays, newest_python, mount, tmp_path, view):
    root, arrays = random_arrays
    with mount(root, options="ro" if view == "none" else f"ro,view={view}") as mounted:
        check_by_zarr_python(newest_python, mounted.path, tmp_path, arrays)


@pytest.mark.parametrize("view", ["raw", "zarr2", "n5"])
def test_views_of_random_chains(random_arrays, mount, view):
    root, arrays = random_arrays
    with mount(root, options=f"ro,view={view}") as mounted:
        check(mounted.path, view, arrays)


@pytest.mark.parametrize("format", ["zarr2", "n5", "zarr3"])
def test_copies_of_random_chains(random_arrays, unshard_binary, tmp_path, format):
    root, arrays = random_arrays
    options = ["--codec", "gzip"] if format == "zarr3" else []
    done = subprocess.run([unshard_binary, "copy", "-q", root, tmp_path / "copy", "--format", format,
                           *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "copy", format, arrays)
