"""The container neuroglancer_uint64_sharded_v1 for tests: TensorStore writes and reads it, ids are
computed here, independently of the program under test."""

import dataclasses
import itertools
import math
import pathlib
import struct

import tensorstore as ts


@dataclasses.dataclass(frozen=True)
class Sharding:
    preshift: int = 0
    minishard: int = 0
    shard: int = 0
    hash: str = "identity"
    index_encoding: str | None = "raw"  # None: the member is absent, which means raw
    data_encoding: str | None = "raw"

    def json(self):
        spec = {"@type": "neuroglancer_uint64_sharded_v1", "hash": self.hash,
                "preshift_bits": self.preshift, "minishard_bits": self.minishard,
                "shard_bits": self.shard}
        if self.index_encoding is not None:
            spec["minishard_index_encoding"] = self.index_encoding
        if self.data_encoding is not None:
            spec["data_encoding"] = self.data_encoding
        return spec

    def __str__(self):
        return (f"{'murmur' if self.hash.startswith('murmur') else 'id'}"
                f"-p{self.preshift}m{self.minishard}s{self.shard}"
                f"-{self.index_encoding or 'absent'}.{self.data_encoding or 'absent'}")


MURMUR = "murmurhash3_x86_128"


def container(directory, sharding):
    """TensorStore's key-value view of the shards in a directory."""
    return ts.KvStore.open({"driver": "neuroglancer_uint64_sharded", "metadata": sharding.json(),
                            "base": f"file://{directory}/"}).result()


def write_values(directory, sharding, values):
    """Writes {id: bytes} into shards, all in one transaction."""
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    store = container(directory, sharding)
    with ts.Transaction() as transaction:
        view = store.with_transaction(transaction)
        for number, value in values.items():
            view[struct.pack(">Q", number)] = value


def read_values(directory, sharding, ids):
    """{id: bytes} of those of `ids` that the shards hold."""
    store = container(directory, sharding)
    pending = {number: store.read(struct.pack(">Q", number)) for number in ids}
    results = {number: future.result() for number, future in pending.items()}
    return {number: bytes(result.value) for number, result in results.items()
            if result.state == "value"}


def compressed_morton(cell, grid):
    """The chunk id of a cell: bits interleaved, as many of each dimension as the grid needs."""
    return _morton(cell, [max(0, (n - 1).bit_length()) for n in grid])


def legacy_morton(cell, grid):
    """The id that writers before mid-2021 gave: one bit too many where the grid is a power of 2."""
    return _morton(cell, [n.bit_length() for n in grid])


def _morton(cell, bits):
    code, position = 0, 0
    for level in range(max(bits, default=0)):
        for coordinate, width in zip(cell, bits):
            if level < width:
                code |= ((coordinate >> level) & 1) << position
                position += 1
    return code


def grid_of(size, chunk):
    return tuple(math.ceil(n / c) for n, c in zip(size, chunk))


def cells_of(grid):
    return list(itertools.product(*(range(n) for n in grid)))


def range_name(cell, size, offset, chunk):
    """The file name of a chunk of an unsharded volume."""
    parts = []
    for at, extent, origin, step in zip(cell, size, offset, chunk):
        parts.append(f"{origin + at * step}-{origin + min((at + 1) * step, extent)}")
    return "_".join(parts)


def split_into_pairs(directory, sharding):
    """Turns each shard file into the obsolete pair of `<shard>.index` and `<shard>.data`."""
    for path in pathlib.Path(directory).glob("*.shard"):
        content = path.read_bytes()
        cut = 16 << sharding.minishard
        path.with_suffix(".index").write_bytes(content[:cut])
        path.with_suffix(".data").write_bytes(content[cut:])
        path.unlink()
