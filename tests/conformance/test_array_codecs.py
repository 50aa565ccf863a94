"""Other libraries judge the arrays that unshard reads and writes: seeded random arrays of every
data type, order and codec are written by zarr-python 3 and 2, TensorStore and z5py and read as
unshard does; what it writes with the same metadata, they read. `array_codec` is the program that
does both."""

import json
import os
import pathlib
import random
import subprocess

import numpy as np
import pytest
import tensorstore as ts
import z5py
import zarr
import zarr.codecs.numcodecs as numcodecs3
import zfpy
from zarr.abc.codec import ArrayBytesCodec
from zarr.registry import register_codec

from judging import SEED
from tiers import in_turn

FROZEN_ARRAYS = pathlib.Path(__file__).parent / "frozen_arrays.py"
INTEGERS = ["|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"]
# Of these TensorStore has another implementation or version, whose streams differ.
OTHER_STREAMS = {"gzip", "zlib", "zstd"}
WRITE_ALL = {"store_data_equal_to_fill_value": True}  # in chunks
TYPES = INTEGERS + ["|b1", "<f2", "<f4", "<f8", "<c8", "<c16"]


@pytest.fixture(scope="session")
def array_codec(unshard_binary):
    default = unshard_binary.parent / "array_codec"
    path = pathlib.Path(os.environ.get("UNSHARD_ARRAY_CODEC", default))
    assert os.access(path, os.X_OK), f"{path} is not there: build it, or set UNSHARD_ARRAY_CODEC"
    return path


def draws(*case):
    """The random numbers of one case, for arrays and for everything else."""
    return np.random.default_rng([SEED, *case]), random.Random(f"{SEED} {case}")


def values_of(rng, dtype, shape):
    """Few values, so that compressors compress, and some whole chunks of the fill value."""
    dtype = np.dtype(dtype)
    items = rng.integers(0, 5, shape) * rng.integers(0, 2, shape)
    if dtype.kind == "b":
        return items > 2
    if dtype.kind == "c":
        return (items - 1.5j * items).astype(dtype)
    if dtype.kind == "f":
        return (items * 0.37).astype(dtype)
    return (items * (2 ** (8 * dtype.itemsize - 4) + 3)).astype(dtype)


def read(array_codec, path, values):
    """Asserts that unshard reads `values`, of any byte order."""
    found = subprocess.run([array_codec, "read", path], capture_output=True)
    assert found.returncode == 0, f"{path}: {found.stderr.decode()}"
    expected = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).tobytes()
    assert found.stdout == expected, f"{path}: other voxels"


def write(array_codec, path, new, values):
    stored = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).tobytes()
    done = subprocess.run([array_codec, "write", path, new], input=stored, capture_output=True)
    assert done.returncode == 0, f"{path}: {done.stderr.decode()}"


def random_grid(rng, rank):
    shape = [int(each) for each in rng.integers(1, 12, rank)]
    return shape, [int(rng.integers(1, extent + 3)) for extent in shape]


def zarr3_codecs(draw, dtype):
    size = np.dtype(dtype).itemsize
    blosc = zarr.codecs.BloscCodec(
        cname=draw.choice(["lz4", "zstd", "blosclz", "zlib", "lz4hc"]), clevel=draw.randint(1, 9),
        shuffle=draw.choice(["noshuffle", "shuffle", "bitshuffle"]), typesize=size)
    compressors = {
        "none": (), "gzip": zarr.codecs.GzipCodec(level=draw.randint(0, 9)),
        "zstd": zarr.codecs.ZstdCodec(level=draw.randint(-5, 9), checksum=draw.random() < 0.5),
        "blosc": blosc, "crc32c": zarr.codecs.Crc32cCodec(),
        "zstd crc32c": (zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()),
        "zlib": numcodecs3.Zlib(level=3), "bz2": numcodecs3.BZ2(level=2),
        "lz4": numcodecs3.LZ4(acceleration=2), "lzma": numcodecs3.LZMA(preset=1),
        "shuffle zlib": (numcodecs3.Shuffle(elementsize=size), numcodecs3.Zlib(level=1)),
        "crc32": numcodecs3.CRC32(), "adler32": numcodecs3.Adler32(),
        "fletcher32": numcodecs3.Fletcher32(), "lookup3": numcodecs3.JenkinsLookup3(initval=7)}
    return sorted(compressors.items())


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
@pytest.mark.parametrize("dtype", in_turn(TYPES))
def test_zarr_python_3(tmp_path, array_codec, dtype):
    rng, draw = draws(1, TYPES.index(dtype))
    for number, (name, compressors) in enumerate(zarr3_codecs(draw, dtype)):
        if number % 3 != TYPES.index(dtype) % 3:  # each codec with some of the types
            continue
        shape, chunks = random_grid(rng, draw.randint(1, 4))
        values = values_of(rng, dtype, shape)
        order = list(rng.permutation(len(shape)))
        filters = [zarr.codecs.TransposeCodec(order=[int(each) for each in order])]
        endian = draw.choice(["little", "big"])
        # Big-endian items after such a filter are read back wrong by zarr-python itself.
        if np.dtype(dtype).kind in "iu" and draw.random() < 0.5:
            filters, endian = [numcodecs3.Delta(dtype=dtype)], "little"
        elif dtype in ("<f4", "<f8"):
            values = (np.round(values * 4) % 1000 / 4).astype(dtype)
            filters = [numcodecs3.FixedScaleOffset(offset=-3, scale=4, dtype=dtype, astype="<i4")]
            endian = "little"
        elif np.dtype(dtype).kind == "b":
            filters = [numcodecs3.PackBits()]
        path, new = tmp_path / f"{number}", tmp_path / f"new-{number}"
        array = zarr.create_array(
            path, shape=shape, chunks=chunks, dtype=np.dtype(dtype), compressors=compressors,
            filters=filters, serializer=zarr.codecs.BytesCodec(endian=endian),
            chunk_key_encoding={"name": draw.choice(["default", "v2"]), "separator": "/"},
            fill_value=values.flat[0].item())
        array[...] = values
        read(array_codec, path, values)
        write(array_codec, path, new, values)
        np.testing.assert_array_equal(zarr.open_array(new, mode="r")[...], values, err_msg=name)


def tensorstore_v3_codecs(draw, size):
    blosc = {"cname": draw.choice(["lz4", "zstd"]), "clevel": 5, "blocksize": 0, "typesize": size,
             "shuffle": draw.choice(["noshuffle", "shuffle", "bitshuffle"])}
    return [[], [{"name": "gzip", "configuration": {"level": 6}}],
            [{"name": "zstd", "configuration": {"level": draw.randint(1, 9)}}],
            [{"name": "blosc", "configuration": blosc}],
            [{"name": "blosc", "configuration": {**blosc, "cname": "zlib"}}, {"name": "crc32c"}]]


DOCUMENTS = ("zarr.json", ".zarray", ".zattrs", "attributes.json")


def same_files(path, new):
    """Asserts that what unshard wrote is what TensorStore wrote, as far as that wrote chunks."""
    compared = 0
    for file in sorted(new.rglob("*")):
        theirs = path / file.relative_to(new)
        if file.is_file() and file.name not in DOCUMENTS and theirs.exists():
            assert file.read_bytes() == theirs.read_bytes(), f"{file.relative_to(new)} of {path}"
            compared += 1
    assert compared > 0, f"{path} has no chunks"


def through_tensorstore_zarr3(folder, array_codec, values, chunks, chain):
    """TensorStore writes, unshard reads; unshard writes, TensorStore reads, and has written the same."""
    path, new = folder / "array", folder / "new"
    store = ts.open({"driver": "zarr3", "kvstore": f"file://{path}/", **WRITE_ALL, "metadata": {
        "shape": values.shape, "data_type": ts.dtype(values.dtype).name, "codecs": chain,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}}},
        create=True).result()
    store.write(values).result()
    found = subprocess.run([array_codec, "read", path], capture_output=True)
    assert found.returncode == 0, found.stderr.decode()
    assert found.stdout == np.ascontiguousarray(values).tobytes()
    done = subprocess.run([array_codec, "write", path, new], capture_output=True,
                          input=np.ascontiguousarray(values).tobytes())
    assert done.returncode == 0, done.stderr.decode()
    again = ts.open({"driver": "zarr3", "kvstore": f"file://{new}/"}).result()
    np.testing.assert_array_equal(again.read().result(), values)
    if not OTHER_STREAMS & {name for each in chain for name in (
            each["name"], each.get("configuration", {}).get("cname"))}:
        same_files(path, new)


@pytest.mark.parametrize("dtype", in_turn(TYPES + ["bfloat16"]))
def test_tensorstore_zarr3(tmp_path, array_codec, dtype):
    kinds = TYPES + ["bfloat16"]
    rng, draw = draws(2, kinds.index(dtype))
    numpy_type = ts.bfloat16.numpy_dtype if dtype == "bfloat16" else np.dtype(dtype)
    codecs = draw.choice(tensorstore_v3_codecs(draw, numpy_type.itemsize))
    shape, chunks = random_grid(rng, draw.randint(1, 4))
    values = values_of(rng, "<f4" if dtype == "bfloat16" else dtype, shape).astype(numpy_type)
    order = [int(each) for each in rng.permutation(len(shape))]
    endian = draw.choice(["little", "big"])
    chain = [{"name": "transpose", "configuration": {"order": order}},
             {"name": "bytes", "configuration": {"endian": endian}}] + codecs
    through_tensorstore_zarr3(tmp_path, array_codec, values, chunks, chain)


# TensorStore leaves `typesize` out of the metadata where nothing is shuffled.
@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
def test_blosc_of_tensorstore_zarr3(tmp_path, array_codec, shuffle):
    rng, _ = draws(12, len(shuffle))
    for dtype in ("|u1", "<u2", "<f8", "<c16"):
        values = values_of(rng, dtype, [9, 30])
        blosc = {"cname": "lz4", "clevel": 5, "blocksize": 0, "shuffle": shuffle,
                 "typesize": values.dtype.itemsize}
        through_tensorstore_zarr3(tmp_path / dtype[1:], array_codec, values, [4, 16], [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "blosc", "configuration": blosc}])


N5_COMPRESSIONS = [
    {"type": "raw"}, {"type": "gzip", "level": 4}, {"type": "gzip", "useZlib": True, "level": 1},
    {"type": "bzip2", "blockSize": 2}, {"type": "xz", "preset": 2}, {"type": "zstd", "level": 3},
    {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
    {"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2}]


@pytest.mark.parametrize("compression", N5_COMPRESSIONS, ids=json.dumps)
def test_tensorstore_n5(tmp_path, array_codec, compression):
    rng, draw = draws(3, N5_COMPRESSIONS.index(compression))
    for dtype in draw.sample(INTEGERS + ["<f4", "<f8"], 4):
        shape, chunks = random_grid(rng, draw.randint(1, 4))
        chunks = [min(pair) for pair in zip(shape, chunks)]
        values = values_of(rng, dtype, shape)
        path, new = tmp_path / dtype[1:], tmp_path / f"new-{dtype[1:]}"
        store = ts.open({"driver": "n5", "kvstore": f"file://{path}/", **WRITE_ALL, "metadata": {
            "dimensions": shape, "blockSize": chunks, "dataType": np.dtype(dtype).name,
            "compression": compression}}, create=True).result()
        store.write(values).result()
        read(array_codec, path, values.T)
        write(array_codec, path, new, values.T)
        again = ts.open({"driver": "n5", "kvstore": f"file://{new}/"}).result()
        np.testing.assert_array_equal(again.read().result(), values)
        whole = all(extent % chunk == 0 for extent, chunk in zip(shape, chunks))
        if whole and not OTHER_STREAMS & {compression["type"], compression.get("cname")}:
            same_files(path, new)  # TensorStore pads blocks at the end


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8"])
def test_rounded_floats_are_those_of_zarr_python_3(tmp_path, array_codec, dtype):
    """What unshard stores is what zarr-python stores, byte for byte."""
    rng, draw = draws(9, int(dtype[2]))
    shape, chunks = [5, 7, 11], [3, 4, 6]
    values = (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
    values.flat[:6] = [0, -0.0, np.inf, -np.inf, 1, -1]
    bits = {"<f2": 10, "<f4": 23, "<f8": 52}[dtype]
    filters = [numcodecs3.BitRound(keepbits=keep) for keep in (0, draw.randint(1, bits - 1), bits)]
    if dtype != "<f2":
        filters += [numcodecs3.Quantize(digits=digits, dtype=dtype)
                    for digits in (-2, 0, draw.randint(1, 5))]
    for number, each in enumerate(filters):
        path, new = tmp_path / f"{number}", tmp_path / f"new-{number}"
        array = zarr.create_array(
            path, shape=shape, chunks=chunks, dtype=np.dtype(dtype), filters=[each],
            compressors=None, serializer=zarr.codecs.BytesCodec(), fill_value=0,
            config={"write_empty_chunks": True})
        array[...] = values
        read(array_codec, path, array[...])
        write(array_codec, path, new, values)
        np.testing.assert_array_equal(zarr.open_array(new, mode="r")[...], array[...])


class PackBits(ArrayBytesCodec):
    """What zarrs does, under zarr-python's hands: this only carries the configuration."""

    is_fixed_size = False

    def __init__(self, **configuration):
        self.configuration = configuration

    @classmethod
    def from_dict(cls, data):
        return cls(**data.get("configuration", {}))

    def to_dict(self):
        return {"name": "packbits", "configuration": self.configuration}

    def evolve_from_array_spec(self, array_spec):
        return self

    def validate(self, **_):
        pass

    def compute_encoded_size(self, *_):
        raise NotImplementedError


@pytest.fixture
def zarrs():
    register_codec("packbits", PackBits)
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        yield


@pytest.mark.parametrize("dtype", INTEGERS + ["|b1", "<f4", "<f8", "<c8", "<c16"])
def test_bits_that_zarrs_packs(tmp_path, array_codec, zarrs, dtype):
    rng, draw = draws(10, len(dtype), ord(dtype[1]), int(dtype[2:]))
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    most = 8 * size
    for number, padding in enumerate(["first_byte", "last_byte", "none", None]):
        configuration = {}
        parts = kind in "iu" and padding
        if parts:
            count = draw.choice([bits for bits in range(1, most) if bits % 8])
            # zarrs extends the sign to the end of the byte that it is in; the specification of the
            # codec has it extended to the end of the item.
            first = draw.randint(max(0, most - 7 - count) if kind == "i" else 0, most - count)
            configuration = {"first_bit": first, "last_bit": first + count - 1}
        # zarrs adds no such byte to whole bytes, as the specification has it.
        if parts or kind == "b" and padding:
            configuration["padding_encoding"] = padding
        # Parts of chunks zarrs reads with other bits than whole ones.
        chunks = [int(each) for each in rng.integers(1, 7, draw.randint(1, 3))]
        shape = [each * draw.randint(1, 3) for each in chunks]
        values = rng.integers(0, 256, [*shape, size], dtype="u1").view(dtype)[..., 0]
        if kind == "b":
            values = rng.integers(0, 2, shape).astype(bool)
        if kind in "fc":
            values = values_of(rng, dtype, shape)
        values.flat[0] = ~np.zeros(1, f"u{size}").view(dtype)[0] if kind in "iu" else 1
        path, new = tmp_path / f"{number}", tmp_path / f"new-{number}"
        array = zarr.create_array(
            path, shape=shape, chunks=chunks, dtype=np.dtype(dtype), fill_value=0,
            serializer=PackBits(**configuration), config={"write_empty_chunks": True},
            compressors=zarr.codecs.ZstdCodec() if number == 1 else None)
        array[...] = values
        kept = array[...]
        read(array_codec, path, kept)
        write(array_codec, path, new, values)
        np.testing.assert_array_equal(zarr.open_array(new, mode="r")[...], kept)
        if number != 1:
            same_files(path, new)


@pytest.mark.parametrize("compression", [{"type": "raw"}, {"type": "gzip", "level": 2},
                                         {"type": "zstd", "level": 1}], ids=json.dumps)
def test_blocks_of_n5_in_zarr_v3(tmp_path, array_codec, compression):
    """An N5 dataset of TensorStore's, with a document of Zarr v3 beside its own, and the reverse."""
    rng, draw = draws(11, len(json.dumps(compression)))
    compressor = {"raw": [], "gzip": [{"name": "gzip", "configuration": {"level": 2}}],
                  "zstd": [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}]}
    for number, dtype in enumerate(INTEGERS + ["<f4", "<f8"]):
        shape, chunks = random_grid(rng, draw.randint(1, 4))
        values = values_of(rng, dtype, shape)
        path, new = tmp_path / f"{number}", tmp_path / f"new-{number}"
        metadata = {"dimensions": shape, "blockSize": chunks, "dataType": np.dtype(dtype).name,
                    "compression": compression}
        store = ts.open({"driver": "n5", "kvstore": f"file://{path}/", **WRITE_ALL,
                         "metadata": metadata}, create=True).result()
        store.write(values).result()
        (path / "zarr.json").write_text(json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": shape,
            "data_type": np.dtype(dtype).name, "fill_value": 0, "attributes": {},
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}},
            "codecs": [{"name": "n5_default", "configuration": {"codecs": [
                {"name": "transpose",
                 "configuration": {"order": list(range(len(shape)))[::-1]}},
                {"name": "bytes", "configuration": {"endian": "big"}},
                *compressor[compression["type"]]]}}]}))
        document = (path / "attributes.json").read_text()
        (path / "attributes.json").unlink()  # or it is read as N5
        read(array_codec, path, values)
        write(array_codec, path, new, values)
        (new / "attributes.json").write_text(document)
        again = ts.open({"driver": "n5", "kvstore": f"file://{new}/"}).result()
        np.testing.assert_array_equal(again.read().result(), values)


@pytest.mark.parametrize("compression", ["raw", "gzip", "bzip2", "xz", "lz4", "blosc", "zstd"])
def test_z5py_n5(tmp_path, array_codec, compression):
    rng, _ = draws(4, 0)
    file = z5py.File(str(tmp_path / "theirs.n5"), mode="a", use_zarr_format=False)
    for dtype in ["uint8", "int16", "uint32", "uint64", "float32"]:
        shape, chunks = [7, 9, 11], [3, 4, 5]
        values = values_of(rng, dtype, shape)
        dataset = file.create_dataset(dtype, shape=shape, chunks=chunks, dtype=dtype,
                                      compression=compression)
        dataset[...] = values
        path = tmp_path / "theirs.n5" / dtype
        read(array_codec, path, values)
        if compression == "lz4":
            continue  # z5 reads none but its own form of LZ4; lz4-java's is what N5 prescribes
        write(array_codec, path, tmp_path / "ours.n5" / dtype, values)
        (tmp_path / "ours.n5/attributes.json").write_text('{"n5": "2.0.0"}')
        ours = z5py.File(str(tmp_path / "ours.n5"), mode="r", use_zarr_format=False)
        np.testing.assert_array_equal(ours[dtype][...], values)


def frozen_cases(tmp_path):
    rng, draw = draws(5, 0)
    compressors = [
        None, {"id": "zlib", "level": 3}, {"id": "gzip", "level": 1}, {"id": "bz2", "level": 1},
        {"id": "lz4", "acceleration": 1}, {"id": "zstd", "level": 5}, {"id": "lzma", "preset": 1},
        {"id": "lzma", "preset": 1, "format": 2},
        {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": -1, "blocksize": 0},
        {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
        {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 2, "blocksize": 0}]
    for number in range(40):
        n5 = number % 4 == 3
        dtype = draw.choice(INTEGERS + ["<f4"] if n5 else TYPES + [">i2", ">u4", ">f8", ">c16"])
        kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
        shape, chunks = random_grid(rng, draw.randint(1, 4))
        compressor = compressors[number % len(compressors)]
        if n5 and compressor and (compressor["id"] == "lz4" or compressor.get("format")):
            compressor = None  # their N5 has no LZ4, and only .xz
        values = values_of(rng, dtype, shape)
        filters, values = value_filters(draw, dtype, values)
        if draw.random() < 0.3 and not filters or filters and filters[0]["id"] == "delta":
            filters.append({"id": "shuffle", "elementsize": size})
        np.save(tmp_path / f"{number}.npy", values)
        yield {"n5": n5, "path": str(tmp_path / "theirs" / f"{number}"), "dtype": dtype,
               "values": str(tmp_path / f"{number}.npy"), "chunks": chunks, "filters": filters,
               "compressor": compressor, "order": draw.choice("CF"),
               "separator": draw.choice("./"),
               "fill": 0 if n5 or kind not in "iuf" else draw.choice([None, 0, 1])}


def value_filters(draw, dtype, values):
    """A filter that stores other values than these, and values that come back from it as they were."""
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    if draw.random() < 0.4:
        return [], values
    if kind == "b":
        return [{"id": "packbits"}], values
    if kind == "f" and size >= 4:
        scaled = {"id": "fixedscaleoffset", "offset": draw.choice([-3, 0.25, 7]), "scale": 4,
                  "dtype": dtype, "astype": draw.choice(["<i2", ">i4", "<i8"])}
        return [scaled], (np.round(values * 4) % 1000 / 4).astype(dtype)
    if kind in "iu" and draw.random() < 0.5:
        return [{"id": "delta", "dtype": dtype}], values
    if kind in "iu":
        wider = draw.choice([f"<{kind}8", f">{kind}8", dtype, "<f8"])
        if wider == "<f8":
            values = (values % 100).astype(dtype)
        return [{"id": "astype", "encode_dtype": wider, "decode_dtype": dtype}], values
    return [], values


def run_frozen(frozen_python, mode, cases, path):
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    done = subprocess.run([frozen_python, "-W", "ignore", FROZEN_ARRAYS, mode, path],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_zarr_python_2(tmp_path, array_codec, frozen_python):
    cases = list(frozen_cases(tmp_path))
    run_frozen(frozen_python, "write", cases, tmp_path / "theirs.jsonl")
    ours = []
    for case in cases:
        values = np.load(case["values"])
        read(array_codec, case["path"], values)
        if (case["compressor"] or {}).get("format"):
            continue  # .lzma files are read only
        new = case["path"].replace("theirs", "ours")
        write(array_codec, case["path"], new, values)
        ours.append({**case, "path": new})
    run_frozen(frozen_python, "read", ours, tmp_path / "ours.jsonl")


@pytest.mark.parametrize("compressor", [
    None, {"id": "zlib", "level": 6}, {"id": "bz2", "level": 1}, {"id": "zstd", "level": 3},
    {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1}], ids=json.dumps)
def test_tensorstore_zarr2(tmp_path, array_codec, compressor):
    rng, draw = draws(6, len(json.dumps(compressor)))
    for dtype in draw.sample(TYPES + [">i2", ">f8", ">c16"], 6):
        shape, chunks = random_grid(rng, draw.randint(1, 4))
        values = values_of(rng, dtype, shape)
        name = dtype.replace("<", "little-").replace(">", "big-").replace("|", "")
        path, new = tmp_path / name, tmp_path / f"new-{name}"
        store = ts.open({"driver": "zarr", "kvstore": f"file://{path}/", **WRITE_ALL, "metadata": {
            "shape": shape, "chunks": chunks, "dtype": dtype, "compressor": compressor,
            "order": draw.choice("CF") if len(shape) > 1 else "C", "fill_value": None,
            "filters": None}}, create=True).result()
        store.write(values).result()
        read(array_codec, path, values)
        write(array_codec, path, new, values)
        again = ts.open({"driver": "zarr", "kvstore": f"file://{new}/"}).result()
        np.testing.assert_array_equal(again.read().result(), values)
        if not OTHER_STREAMS & {(compressor or {}).get("id")}:
            same_files(path, new)


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<i4", "<i8"])
def test_zfp_is_that_of_zfpy(tmp_path, array_codec, dtype):
    rng, _ = draws(9, np.dtype(dtype).num)
    modes = [({"mode": "reversible"}, {}), ({"mode": "fixed_rate", "rate": 16}, {"rate": 16}),
             ({"mode": "fixed_precision", "precision": 20}, {"precision": 20}),
             ({"mode": "fixed_accuracy", "tolerance": 0.1}, {"tolerance": 0.1})]
    for rank in (1, 2, 3, 4):
        values = (rng.random(rng.integers(1, 9, rank)) * 1000).astype(dtype)
        for number, (configuration, options) in enumerate(modes[:4 if dtype[1] == "f" else 3]):
            path, new = tmp_path / f"{rank}-{number}", tmp_path / f"new-{rank}-{number}"
            key = "/".join(["c", *"0" * rank])
            (path / key).parent.mkdir(parents=True)
            (path / key).write_bytes(zfpy.compress_numpy(values, write_header=False, **options))
            (path / "zarr.json").write_text(json.dumps({
                "zarr_format": 3, "node_type": "array", "shape": values.shape, "data_type": values.dtype.name,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": values.shape}},
                "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
                "codecs": [{"name": "zfp", "configuration": configuration}]}))
            read(array_codec, path, zfpy.decompress_numpy(zfpy.compress_numpy(values, **options)))
            write(array_codec, path, new, values)
            assert (new / key).read_bytes() == (path / key).read_bytes(), configuration


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<i4", "<i8"])
def test_zfpy_of_numcodecs(tmp_path, array_codec, dtype):
    rng, _ = draws(10, np.dtype(dtype).num)
    modes = [{}, {"mode": 2, "rate": 16}, {"mode": 3, "precision": 20}, {"mode": 4, "tolerance": 0.1}]
    for rank in (1, 2, 3, 4):
        for number, options in enumerate(modes[:4 if dtype[1] == "f" else 3]):
            shape, chunks = random_grid(rng, rank)
            values = (rng.random(shape) * 1000).astype(dtype)
            path, new = tmp_path / f"{rank}-{number}", tmp_path / f"new-{rank}-{number}"
            array = zarr.create_array(path, shape=shape, chunks=chunks, dtype=dtype, compressors=None,
                                      serializer=numcodecs3.ZFPY(**options))
            array[...] = values
            read(array_codec, path, array[...])
            write(array_codec, path, new, values)
            same_files(path, new)
