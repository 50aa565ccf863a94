"""Sharded Zarr v3 arrays as TensorStore, zarr-python and zarrs write them, with what they must look
like unsharded. Metadata is written here, token by token; chunks are written by the peers."""

import contextlib
import dataclasses
import gzip
import itertools
import json
import math
import pathlib
import random
import struct

import google_crc32c
import numpy as np
import tensorstore as ts
import zarr

from judging import SEED, put_file

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
CRC32C = {"name": "crc32c"}
EMPTY = 2 ** 64 - 1


def blosc(dtype):
    return {"name": "blosc", "configuration": {
        "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0,
        "typesize": np.dtype(dtype).itemsize}}


def transpose(order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


@dataclasses.dataclass
class Level:
    """One level of sharding_indexed: what stands inside it, in array axis order."""
    chunk: tuple
    order: tuple | None = None  # of a transpose before it
    index: tuple = (LITTLE, CRC32C)
    location: str | None = "end"  # None: the member is absent
    after: tuple = ()           # bytes-to-bytes codecs behind it


@dataclasses.dataclass
class Array:
    name: str
    shape: tuple
    shard: tuple
    levels: list
    dtype: str = "uint16"
    writer: str = "tensorstore"
    codecs: tuple = (LITTLE,)
    key: object = "/"           # separator of `default`; ("v2", separator)
    fill: str = "0"             # the JSON token
    present: float = 1.0
    extra: dict = dataclasses.field(default_factory=dict)  # more members of zarr.json

    def __str__(self):
        return self.name

    @property
    def chunk(self):
        return self.levels[-1].chunk

    @property
    def rank(self):
        return len(self.shape)

    def grid(self, extent=None):
        return tuple(-(-n // c) for n, c in zip(self.shape, extent or self.chunk))

    def chunk_key(self, cell):
        kind, separator = self.key if isinstance(self.key, tuple) else ("default", self.key)
        if kind == "default":
            return separator.join(["c", *map(str, cell)])
        return separator.join(map(str, cell)) if cell else "0"


def chains(array):
    """The codec chain of the sharded array, and of the unsharded one."""
    axes = list(range(array.rank))
    outer, plain = [], []
    here = outer
    for level in array.levels:
        if level.order is not None:
            axes = [axes[i] for i in level.order]
            here.append(transpose(level.order))
            plain.append(transpose(level.order))
        inner = []
        configuration = {"chunk_shape": [level.chunk[axis] for axis in axes], "codecs": inner,
                         "index_codecs": list(level.index)}
        if level.location is not None:
            configuration["index_location"] = level.location
        here.append({"name": "sharding_indexed", "configuration": configuration})
        here.extend(level.after)
        here = inner
    here.extend(array.codecs)
    return outer, plain + list(array.codecs)


def metadata_text(array, sharded=True):
    """A zarr.json with members, orders and number tokens that a careless rewrite would lose."""
    outer, plain = chains(array)
    kind, separator = array.key if isinstance(array.key, tuple) else ("default", array.key)
    document = {
        "node_type": "array", "zarr_format": 3, "shape": list(array.shape),
        "attributes": {"z": "FLOAT", "a": ["BIG", {"codecs": [], "chunk_shape": [7]}, "é\\\""]},
        "data_type": array.dtype,
        "codecs": outer if sharded else plain,
        "chunk_grid": {"name": "regular", "configuration": {
            "chunk_shape": list(array.shard if sharded else array.chunk)}},
        "fill_value": "FILL",
        "chunk_key_encoding": {"name": kind, "configuration": {"separator": separator}},
        **array.extra,
    }
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return (text.replace('"FILL"', array.fill).replace('"FLOAT"', "1.50e+2")
            .replace('"BIG"', "18446744073709551617"))


def fill_number(array):
    value = json.loads(array.fill, parse_constant=float)
    dtype = np.dtype(array.dtype)
    special = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    if dtype.kind == "c":
        return dtype.type(complex(*(special.get(part, part) for part in value)))
    if isinstance(value, str) and value.startswith("0x"):
        return np.frombuffer(bytes.fromhex(value[2:]), dtype.newbyteorder(">"))[0].astype(dtype)
    return dtype.type(special[value] if isinstance(value, str) else value)


def slices_of(cell, extent, shape):
    return tuple(slice(at * step, min((at + 1) * step, n))
                 for at, step, n in zip(cell, extent, shape))


def sample(array, rng):
    """(voxels, the cells that hold something else than the fill value)."""
    dtype, fill = np.dtype(array.dtype), fill_number(array)
    if dtype.kind == "b":
        voxels = np.full(array.shape, not fill, dtype)
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        voxels = rng.integers(limits.min, limits.max, size=array.shape, dtype=dtype, endpoint=True)
        voxels = np.where(voxels == fill, dtype.type(fill) ^ dtype.type(1), voxels)
    else:
        voxels = rng.standard_normal(array.shape).astype(dtype)
        if dtype.kind == "c":
            voxels = voxels + dtype.type(1j) * rng.standard_normal(array.shape).astype(dtype)
    cells = []
    for cell in itertools.product(*(range(n) for n in array.grid())):
        if rng.random() < array.present:
            cells.append(cell)
        else:
            voxels[slices_of(cell, array.chunk, array.shape)] = fill
    return np.asarray(voxels, dtype), cells


@contextlib.contextmanager
def zarrs_pipeline():
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline",
                          "codec_pipeline.strict": True}):
        yield


def open_tensorstore(path):
    return ts.open({"driver": "zarr3", "kvstore": f"file://{path}/"}, open=True).result()


def write(path, array, voxels, writer):
    if writer == "tensorstore":
        store = open_tensorstore(path)
        with ts.Transaction() as transaction:
            store.with_transaction(transaction)[...] = voxels
    elif writer == "zarrs":
        with zarrs_pipeline():
            zarr.open_array(str(path), mode="r+")[...] = voxels
    else:
        zarr.open_array(str(path), mode="r+")[...] = voxels


def read(path, reader):
    """The whole array as one peer reads it."""
    if reader == "tensorstore":
        return open_tensorstore(path).read().result()
    if reader == "zarrs":
        with zarrs_pipeline():
            return np.asarray(zarr.open_array(str(path), mode="r")[...])
    return np.asarray(zarr.open_array(str(path), mode="r")[...])


@dataclasses.dataclass
class Expected:
    voxels: np.ndarray
    chunks: dict  # key: bytes, cut out of the shards by the rules of the format
    twin: dict    # key: bytes that the peer writes unsharded


def build(source, twins, array):
    rng = np.random.default_rng([SEED, *array.name.encode()])
    root, twin = pathlib.Path(source) / array.name, pathlib.Path(twins) / array.name
    voxels, cells = sample(array, rng)
    put_file(twin / "zarr.json", metadata_text(array, sharded=False))
    write(twin, array, voxels, array.writer)
    plain = dataclasses.replace(array, levels=[dataclasses.replace(level, after=())
                                               for level in array.levels])
    put_file(root / "zarr.json", metadata_text(plain))
    write(root, array, voxels, array.writer)
    wrap_shards(root, array)
    put_file(root / "zarr.json", metadata_text(array))
    keys = {array.chunk_key(cell) for cell in cells}
    chunks = cut_out(root, array)
    files = {key: (twin / key).read_bytes() for key in keys if (twin / key).exists()}
    assert set(chunks) == keys and set(files) == keys, (
        f"{array}: the peer did not write the chunks it was given")
    return Expected(voxels, chunks, files)


def shard_files(root, array):
    for cell in itertools.product(*(range(n) for n in array.grid(array.shard))):
        path = root / array.chunk_key(cell)
        if path.is_file():
            yield cell, path


def wrap_shards(root, array):
    """Applies by hand the codecs behind the outermost sharding that peers do not write."""
    for _, path in shard_files(root, array):
        content = path.read_bytes()
        for codec in array.levels[0].after:
            content = encode(codec, content)
        path.write_bytes(content)


def encode(codec, content):
    from numcodecs import Zstd
    return {"crc32c": lambda: content + crc32c(content),
            "gzip": lambda: gzip.compress(content, mtime=0),
            "zstd": lambda: Zstd(level=1).encode(content)}[codec["name"]]()


def decode(codec, content):
    from numcodecs import Zstd
    return {"crc32c": lambda: content[:-4], "gzip": lambda: gzip.decompress(content),
            "zstd": lambda: bytes(Zstd().decode(content))}[codec["name"]]()


def crc32c(content):
    return struct.pack("<I", google_crc32c.value(content))


def cut_out(root, array):
    """{chunk key: stored bytes}: an independent reading of the shards."""
    found = {}
    for cell, path in shard_files(root, array):
        origin = [at * step for at, step in zip(cell, array.shard)]
        for corner, content in inner_chunks(array, array.shard, 0, range(array.rank),
                                            path.read_bytes()):
            here = [(a + b) // step for a, b, step in zip(origin, corner, array.chunk)]
            if all(at < n for at, n in zip(here, array.grid())):
                found[array.chunk_key(here)] = content
    return found


def inner_chunks(array, extent, depth, axes, content):
    """(corner in the shard, in array axis order; bytes) of each innermost chunk of a shard."""
    if depth == len(array.levels):
        yield [0] * array.rank, content
        return
    level = array.levels[depth]
    for codec in reversed(level.after):
        content = decode(codec, content)
    axes = [axes[i] for i in level.order] if level.order is not None else list(axes)
    counts = [extent[axis] // level.chunk[axis] for axis in axes]
    for position, (start, size) in zip(itertools.product(*(range(n) for n in counts)),
                                       shard_index(level, math.prod(counts), content)):
        if size == EMPTY:
            continue
        corner = [0] * array.rank
        for axis, at in zip(axes, position):
            corner[axis] = at * level.chunk[axis]
        for below, chunk in inner_chunks(array, level.chunk, depth + 1, axes,
                                         content[start:start + size]):
            yield [a + b for a, b in zip(corner, below)], chunk


def shard_index(level, count, content):
    length = index_length(level, count)
    index = content[:length] if level.location == "start" else content[len(content) - length:]
    order = ">" if BIG in level.index else "<"
    numbers = struct.unpack(f"{order}{2 * count}Q", index[:16 * count])
    return list(zip(numbers[::2], numbers[1::2]))


def index_length(level, count):
    return 16 * count + (4 if CRC32C in level.index else 0)


FILLS = {
    "bool": ["false", "true"], "int8": ["0", "-128"], "uint8": ["0", "255"],
    "int16": ["0", "-5"], "uint16": ["0", "3"], "int32": ["0", "-2147483648"],
    "uint32": ["0", "4294967295"], "int64": ["0", "-9223372036854775808", "9007199254740993"],
    "uint64": ["0", "18446744073709551615", "9007199254740993"],
    "float16": ["0.0", '"NaN"'], "float32": ["1.50", '"NaN"', '"Infinity"', "0"],
    "float64": ["0.1", '"NaN"', '"-Infinity"', "-0.0", "1.7976931348623157e308"],
    "complex64": ['[0.5, "NaN"]', "[0.0, 0.0]"], "complex128": ['["-Infinity", 1e-3]'],
}


def random_array(rng, number, writer):
    """One draw from the matrix, of what this peer can write."""
    rank = rng.choice([1, 2, 2, 3, 3, 4])
    dtype = rng.choice(list(FILLS))
    chunk = tuple(rng.randint(1, 5) for _ in range(rank))
    outer = tuple(c * rng.randint(1, 3) for c in chunk)
    nested = rng.random() < 0.3
    shard = tuple(c * rng.randint(1, 2) for c in outer) if nested else outer
    shape = tuple(max(1, s * rng.randint(1, 3 if rank < 3 else 2) - rng.randrange(s))
                  for s in shard)
    shapes = [outer, chunk] if nested else [chunk]
    if writer == "zarr-python":
        shapes = shapes[-1:]
        shard = outer
    levels = [random_level(rng, each, writer) for each in shapes]
    codecs = random_codecs(rng, rank, dtype, writer)
    key = rng.choice(["/", "/", ".", ("v2", "."), ("v2", "/")])
    short = {"tensorstore": "ts", "zarr-python": "zp", "zarrs": "zs"}[writer]
    name = "-".join([f"{short}{number:02}", dtype, f"rank{rank}", *("nested" for _ in shapes[1:]),
                     "+".join(codec["name"] for codec in codecs), levels[0].location,
                     "transposed" if levels[0].order else "straight",
                     "".join(key).replace("/", "slash").replace(".", "dot")])
    return Array(name, shape, shard, levels, dtype, writer, codecs, key, rng.choice(FILLS[dtype]),
                 rng.choice([1.0, 0.7, 0.3]))


def random_level(rng, chunk, writer):
    order = None
    if writer == "tensorstore" and rng.random() < 0.3:  # zarr-python refuses most of them
        order = tuple(rng.sample(range(len(chunk)), len(chunk)))
    index = rng.choice([(LITTLE, CRC32C), (LITTLE, CRC32C), (LITTLE,), (BIG,), (BIG, CRC32C)])
    return Level(chunk, order, index, rng.choice(["end", "start"]))


def random_codecs(rng, rank, dtype, writer):
    codecs = []
    if rng.random() < 0.3:
        codecs.append(transpose(rng.sample(range(rank), rank)))
    big = rng.random() < 0.4 and not (writer == "zarrs" and dtype.startswith("complex"))
    codecs.append(BIG if big else LITTLE)
    codecs += rng.choice([[], [], [GZIP], [ZSTD], [blosc(dtype)], [CRC32C], [ZSTD, CRC32C]])
    return tuple(codecs)


def random_arrays():
    rng = random.Random(SEED + 3)
    return [random_array(rng, number, writer) for writer in ("tensorstore", "zarr-python", "zarrs")
            for number in range({"tensorstore": 40}.get(writer, 20))]


def chosen_arrays():
    """The corners of the parameter space, whatever the seed."""
    two = dict(shape=(20, 14), shard=(8, 12))
    return [
        Array("rank-0", (), (), [Level(())]),
        Array("rank-0-v2", (), (), [Level((), location="start")], key=("v2", "."),
              codecs=(BIG, GZIP)),
        Array("rank-0-nothing-stored", (), (), [Level(())], present=0, fill="7"),
        Array("nothing-stored", **two, levels=[Level((4, 3))], present=0, fill="9"),
        Array("extent-0", (0, 5), (8, 12), [Level((4, 3))]),
        Array("few-chunks", (64, 64), (16, 16), [Level((4, 4))], present=0.03),
        Array("shard-is-one-chunk", (9, 9), (4, 4), [Level((4, 4))], present=0.6),
        Array("transposed-before", (20, 14, 9), (8, 12, 4), [Level((4, 3, 2), (2, 0, 1))]),
        Array("transposed-and-sparse", (44, 9, 14), (8, 6, 4), [Level((2, 3, 2), (2, 0, 1))],
              present=0.08),
        Array("transposed-before-and-after", (20, 14, 9), (8, 12, 4),
              [Level((4, 3, 2), (1, 2, 0), (BIG,), "start")],
              codecs=(transpose((2, 1, 0)), BIG, ZSTD)),
        Array("nested-twice", (33, 20), (32, 16), [Level((16, 8)), Level((8, 4), None, (BIG,)),
                                                   Level((4, 2), None, (LITTLE,), "start")],
              present=0.5),
        Array("nested-and-transposed", (20, 14, 9), (16, 12, 8),
              [Level((8, 6, 4), (2, 0, 1)), Level((4, 3, 2), (1, 0, 2), (LITTLE,), "start")]),
        Array("crc32c-behind", **two, levels=[Level((4, 3), after=(CRC32C,))], present=0.6),
        Array("crc32c-behind-index-first", **two,
              levels=[Level((4, 3), location="start", after=(CRC32C,))]),
        Array("gzip-behind", **two, levels=[Level((4, 3), after=(GZIP,))], present=0.6),
        Array("zstd-behind-index-first", **two,
              levels=[Level((4, 3), None, (BIG,), "start", (ZSTD,))], codecs=(BIG, CRC32C)),
        Array("gzip-and-crc32c-behind", **two, levels=[Level((4, 3), after=(GZIP, CRC32C))]),
        Array("location-absent", **two, levels=[Level((4, 3), location=None)]),
        Array("dimension-names", **two, levels=[Level((4, 3))],
              extra={"dimension_names": ["y", None], "storage_transformers": []}),
    ]
