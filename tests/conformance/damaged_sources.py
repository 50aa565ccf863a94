"""Shards with one damage each, and which chunks it hurts. Everything is made by hand here: no peer
writes such files."""

import dataclasses
import functools
import gzip
import itertools
import json
import struct

from judging import put_file
from shard_container import Sharding, compressed_morton, range_name
from zarr_sources import CRC32C, EMPTY, GZIP, LITTLE, crc32c

WRAP = 2 ** 64

# --- precomputed ----------------------------------------------------------------------------------

GRID, CHUNK = (4, 2, 2), (4, 4, 4)
SIZE = tuple(n * c for n, c in zip(GRID, CHUNK))
NAMES = {compressed_morton(cell, GRID): range_name(cell, SIZE, (0, 0, 0), CHUNK)
         for cell in itertools.product(*(range(n) for n in GRID))}


def value_of(number):
    """The 64 bytes of a chunk of uint8."""
    return bytes((number * 16 + at) % 251 + 1 for at in range(64))


@dataclasses.dataclass
class Shard:
    """A shard file that is put together from parts, so that any of them can be wrong."""
    number: int
    sharding: Sharding
    body: bytes = b""
    rows: dict = dataclasses.field(default_factory=dict)    # minishard: [[id, start, size]]
    ranges: dict = dataclasses.field(default_factory=dict)  # minishard: (start, end) instead
    indices: dict = dataclasses.field(default_factory=dict)  # minishard: stored bytes instead

    def add(self, number, stored):
        minishard = (number >> self.sharding.preshift) % (1 << self.sharding.minishard)
        self.rows.setdefault(minishard, []).append([number, len(self.body), len(stored)])
        self.body += stored

    def row(self, number):
        return next(row for rows in self.rows.values() for row in rows if row[0] == number)

    def index_of(self, minishard):
        ids, starts, sizes, last_id, last_end = [], [], [], 0, 0
        for number, start, size in self.rows[minishard]:
            ids.append((number - last_id) % WRAP)
            starts.append((start - last_end) % WRAP)
            sizes.append(size % WRAP)
            last_id, last_end = number, start + size
        stored = struct.pack(f"<{3 * len(ids)}Q", *ids, *starts, *sizes)
        return gzip.compress(stored, mtime=0) if self.sharding.index_encoding == "gzip" else stored

    def content(self):
        body, table = self.body, [(0, 0)] * (1 << self.sharding.minishard)
        for minishard in self.rows:
            stored = self.indices.get(minishard) or self.index_of(minishard)
            table[minishard] = self.ranges.get(minishard) or (len(body), len(body) + len(stored))
            body += stored
        return struct.pack(f"<{2 * len(table)}Q", *(n % WRAP for pair in table for n in pair)) + body


RAW = Sharding(0, 1, 1)             # 16 chunks: 2 shards of 2 minishards of 4
ZIPPED = Sharding(0, 1, 1, "identity", "gzip", "gzip")
HURT_SHARD = [number for number in range(16) if number >> 1 & 1 == 1]
HURT_MINISHARD = [number for number in HURT_SHARD if number & 1 == 1]  # 3, 7, 11, 15


@dataclasses.dataclass
class Damage:
    name: str
    hurt: list                     # ids (or chunk keys) that must fail with EIO
    change: object                 # a function of the shard 1, or of its file content
    sharding: Sharding = RAW
    on_content: bool = False
    other: dict = dataclasses.field(default_factory=dict)  # id: bytes that differ, None: missing
    says: str = ""                 # to be found in the message

    def __str__(self):
        return self.name


def stored_value(number, sharding):
    value = value_of(number)
    return gzip.compress(value, mtime=0) if sharding.data_encoding == "gzip" else value


def write_volume(root, damage):
    sharding = damage.sharding
    scale = {"key": "s0", "size": SIZE, "chunk_sizes": [CHUNK], "resolution": [1, 1, 1],
             "voxel_offset": [0, 0, 0], "encoding": "raw", "sharding": sharding.json()}
    put_file(root / "info", json.dumps({
        "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint8",
        "num_channels": 1, "scales": [scale]}))
    for part in range(1 << sharding.shard):
        shard = Shard(part, sharding)
        for number in range(16):
            if number >> (sharding.preshift + sharding.minishard) & 1 == part:
                shard.add(number, stored_value(number, sharding))
        hurt = part == 1
        if hurt and not damage.on_content:
            damage.change(shard)
        content = shard.content()
        if hurt and damage.on_content:
            content = damage.change(content)
        put_file(root / "s0" / f"{part}.shard", content)


def _set(number, start=None, size=None):
    def change(shard):
        row = shard.row(number)
        row[1] = start if start is not None else row[1]
        row[2] = size if size is not None else row[2]
    return change


def _range(start, end):
    return lambda shard: shard.ranges.update({1: (start, end)})


def _replace_value(number, stored):
    def change(shard):
        row = shard.row(number)
        row[1], row[2] = len(shard.body), len(stored)
        shard.body += stored
    return change


def _replace_index(make):
    def change(shard):
        shard.indices[1] = make(shard.index_of(1))
    return change


def _same_range(shard):
    shard.row(7)[1:] = shard.row(3)[1:]


def _duplicate(shard):
    shard.rows[1].append([3, shard.row(7)[1], 64])


def _stray(number):
    return lambda shard: shard.rows[1].append([number, shard.row(3)[1], 64])


@functools.cache
def bomb():
    """A quarter of a gigabyte of zeros, deflated: more than any limit allows."""
    return gzip.compress(bytes(2 ** 28), 1, mtime=0)


def precomputed_damages():
    cut = stored_value(7, ZIPPED)
    wrong_crc = cut[:-8] + bytes([cut[-8] ^ 1]) + cut[-7:]
    garbled = cut[:12] + bytes(each ^ 0x55 for each in cut[12:-8]) + cut[-8:]
    members = gzip.compress(value_of(7)[:20]) + gzip.compress(value_of(7)[20:])
    return [
        Damage("cut-in-the-last-index", HURT_MINISHARD, lambda content: content[:-1],
               on_content=True),
        Damage("cut-in-the-shard-index", HURT_SHARD, lambda content: content[:8], on_content=True),
        Damage("one-byte", HURT_SHARD, lambda content: b"\0", on_content=True),
        Damage("index-beyond-the-file", HURT_MINISHARD, _range(0, 2 ** 40)),
        Damage("index-range-reversed", HURT_MINISHARD, _range(96, 24)),
        Damage("index-near-2^63", HURT_MINISHARD, _range(2 ** 63 - 24, 2 ** 63)),
        Damage("index-near-2^64", HURT_MINISHARD, _range(2 ** 64 - 49, 2 ** 64 - 1)),
        Damage("index-length-near-2^64", HURT_MINISHARD, _range(0, 2 ** 64 - 8)),
        Damage("index-not-whole-rows", HURT_MINISHARD, _range(0, 100)),
        Damage("chunk-one-byte-too-long", [15], lambda shard: shard.row(15).__setitem__(
            2, len(shard.body) - shard.row(15)[1] + 4 * 24 * 2 + 1)),
        Damage("chunk-size-2^63", [7], _set(7, size=2 ** 63)),
        Damage("chunk-size-near-2^64", [7], _set(7, size=2 ** 64 - 1)),
        Damage("chunk-start-2^63", [7], _set(7, start=2 ** 63)),
        Damage("chunk-start-near-2^64", [7], _set(7, start=2 ** 64 - 64)),
        Damage("chunk-start-before-the-shard", [7], _set(7, start=-40)),
        Damage("chunk-shorter-than-its-voxels", [], _set(7, size=63), other={7: value_of(7)[:63]}),
        Damage("chunk-of-no-bytes", [], _set(7, size=0), other={7: b""}),
        Damage("two-chunks-in-one-place", [], _same_range, other={7: value_of(3)}),
        Damage("duplicate-id-first-wins", [], _duplicate),
        Damage("id-of-another-minishard", [], _stray(2)),
        Damage("id-of-another-shard", [], _stray(1)),
        Damage("id-outside-the-grid", [], _stray(2 ** 40 + 3)),
        Damage("shard-of-length-0", [], lambda content: b"", on_content=True,
               other={number: None for number in HURT_SHARD}),
        Damage("gzip-garbled", [7], _replace_value(7, garbled), ZIPPED),
        Damage("gzip-cut", [7], _replace_value(7, cut[:-9]), ZIPPED),
        Damage("gzip-without-its-trailer", [7], _replace_value(7, cut[:-8]), ZIPPED),
        Damage("gzip-wrong-crc", [7], _replace_value(7, wrong_crc), ZIPPED),
        Damage("gzip-not-at-all", [7], _replace_value(7, b"no gzip"), ZIPPED),
        Damage("gzip-of-another-length", [7], _replace_value(7, gzip.compress(b"x" * 63)), ZIPPED),
        Damage("gzip-endless", [7], _replace_value(7, bomb()), ZIPPED),
        Damage("gzip-with-garbage-behind", [7], _replace_value(7, cut + b"garbage"), ZIPPED),
        Damage("gzip-of-two-members-is-legal", [], _replace_value(7, members), ZIPPED),
        Damage("gzip-padded-with-zeros-is-legal", [], _replace_value(7, cut + bytes(40)), ZIPPED),
        Damage("gzip-index-garbled", HURT_MINISHARD,
               _replace_index(lambda stored: stored[:10] + b"\xff" * 9 + stored[19:]), ZIPPED),
        Damage("gzip-index-cut", HURT_MINISHARD, _replace_index(lambda stored: stored[:-5]), ZIPPED),
        Damage("gzip-index-endless", HURT_MINISHARD,
               _replace_index(lambda stored: bomb()), ZIPPED),
        Damage("gzip-index-padded-is-legal", [],
               _replace_index(lambda stored: stored + bytes(7)), ZIPPED),
    ]


# --- Zarr -----------------------------------------------------------------------------------------

CELLS = list(itertools.product(range(4), range(2)))  # 2x2 shards of 2x1 chunks of 4 bytes
KEYS = {cell: f"c.{cell[0]}.{cell[1]}" for cell in CELLS}
HURT_KEYS = ["c.2.1", "c.3.1"]  # of the shard c.1.1


def zarr_value(cell):
    return bytes(40 + 8 * cell[0] + 4 * cell[1] + at for at in range(4))


def zarr_document(inner=None, after=()):
    sharding = {"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 2], "codecs": inner or [{"name": "bytes"}],
        "index_codecs": [LITTLE, CRC32C], "index_location": "end"}}
    return {"zarr_format": 3, "node_type": "array", "shape": [8, 4], "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": 0, "codecs": [sharding, *after]}


def zarr_shard(values, entries=None):
    body, table = b"", []
    for value in values:
        table.append((len(body), len(value)))
        body += value
    for at, entry in (entries or {}).items():
        table[at] = entry
    index = struct.pack(f"<{2 * len(table)}Q", *(n for pair in table for n in pair))
    return body + index + crc32c(index)


def write_zarr(root, damage):
    after = (GZIP,) if "wrapped" in damage.name else ()
    put_file(root / "zarr.json", json.dumps(zarr_document(after=after)))
    for row, column in itertools.product(range(2), range(2)):
        values = [zarr_value((2 * row + at, column)) for at in range(2)]
        hurt = (row, column) == (1, 1)
        content = zarr_shard(values, damage.change if hurt and not damage.on_content else None)
        if after:
            content = gzip.compress(content, mtime=0)
        if hurt and damage.on_content:
            content = damage.change(content)
        put_file(root / f"c.{row}.{column}", content)


def zarr_damages():
    first = ["c.2.1"]
    return [
        Damage("shorter-than-its-index", HURT_KEYS, lambda content: content[-35:], on_content=True),
        Damage("length-0", HURT_KEYS, lambda content: b"", on_content=True),
        Damage("one-byte", HURT_KEYS, lambda content: b"\0", on_content=True),
        Damage("wrong-crc32c", HURT_KEYS, lambda content: content[:-1] + bytes(
            [content[-1] ^ 1]), on_content=True, says="crc32c"),
        Damage("garbled-index", HURT_KEYS, lambda content: content[:10] + b"\1" + content[11:],
               on_content=True),
        Damage("bytes-behind-the-index", HURT_KEYS, lambda content: content + b"x", on_content=True),
        Damage("chunk-beyond-the-file", first, {0: (0, 4000)}),
        Damage("chunk-one-byte-beyond-the-file", first, {0: (0, 8 + 36 + 1)}),
        Damage("offset-2^63", first, {0: (2 ** 63, 4)}),
        Damage("length-2^63", first, {0: (0, 2 ** 63)}),
        Damage("offset-near-2^64", first, {0: (2 ** 64 - 3, 4)}),
        Damage("sum-wraps-to-the-file", first, {0: (2 ** 64 - 2, 6)}),
        Damage("length-near-2^64", first, {0: (1, 2 ** 64 - 2)}),
        Damage("two-chunks-in-one-place", [], {0: (4, 4)}, other={"c.2.1": zarr_value((3, 1))}),
        Damage("chunk-of-no-bytes", [], {0: (3, 0)}, other={"c.2.1": b""}),
        Damage("empty-by-its-length", [], {0: (0, EMPTY)}, other={"c.2.1": None}),
        Damage("wrapped-not-gzip", HURT_KEYS, lambda content: b"no gzip at all",
               on_content=True),
        Damage("wrapped-cut", HURT_KEYS, lambda content: content[:-6], on_content=True),
        Damage("wrapped-endless", HURT_KEYS, lambda content: bomb(), on_content=True),
        Damage("wrapped-shorter-than-its-index", HURT_KEYS,
               lambda content: gzip.compress(b"12345"), on_content=True),
    ]
