"""Sharded datasets whose chunks stand in a line, and chunk values that tell who wrote them.

Chunk i of a source is row i of what read_rows() gives, in each format, so that tests speak of
chunks by number and let TensorStore say what the source holds. Programs that only write chunks
through a mount import this too: numpy and TensorStore are imported where they are needed.
"""

import dataclasses
import json
import os
import struct

VALUE = struct.Struct("<QQQQ")
MARK = 0x6b6e756863_6b61


class Torn(Exception):
    """The bytes are no value that anybody wrote whole."""


def value(chunk, writer, counter, size):
    """A chunk's bytes, `size` a multiple of 32: the same record from its begin to its end."""
    return VALUE.pack(chunk, writer, counter, MARK ^ chunk ^ writer << 20 ^ counter) * (size // 32)


def value_of(chunk, data, size):
    """(writer, counter) of a whole value of this chunk; None where all is zero; else Torn."""
    data = bytes(data)
    if data.count(0) == len(data) == size:
        return None
    found = VALUE.unpack_from(data) if len(data) >= 32 else ()
    if len(data) != size or data != value(*found[:3], size):
        records = sorted({data[i:i + 32].hex() for i in range(0, len(data), 32)})
        raise Torn(f"chunk {chunk}: {len(data)} bytes, {len(records)} different records, "
                   f"beginning with {records[:3]}")
    if found[0] != chunk:
        raise Torn(f"chunk {chunk} holds chunk {found[0]}")
    return found[1:3]


@dataclasses.dataclass
class LineSource:
    """kind: "zarr/" or "zarr." (separator of the chunk keys), or "precomputed"."""

    path: str
    kind: str = "zarr/"
    shards: int = 8
    per_shard: int = 32
    chunk_bytes: int = 4096

    EDGE = 16  # of the other two axes of a precomputed chunk

    @property
    def count(self):
        return self.shards * self.per_shard

    def as_json(self, path):
        """For a program that reaches the same dataset at `path`."""
        return {**dataclasses.asdict(self), "path": str(path)}

    # ----------------------------------------------------------------------------------- names

    def name(self, chunk):
        if self.kind == "precomputed":
            width = self._width()
            return f"scale/{chunk * width}-{(chunk + 1) * width}_0-{self.EDGE}_0-{self.EDGE}"
        return self.kind[-1].join(["c", str(chunk), "0"])

    def names(self, chunks=None):
        return [self.name(chunk) for chunk in (range(self.count) if chunks is None else chunks)]

    def scratch(self, chunk, word):
        """A name beside the chunk that is no chunk's."""
        directory, _, name = self.name(chunk).rpartition("/")
        return f"{directory}/.{name}.{word}" if directory else f".{name}.{word}"

    def shard_of(self, chunk):
        return chunk // self.per_shard

    def shard_path(self, shard):
        if self.kind == "precomputed":
            digits = -(-(self.shards - 1).bit_length() // 4)
            return os.path.join(self.path, "scale", f"{shard:0{max(1, digits)}x}.shard")
        return os.path.join(self.path, self.kind[-1].join(["c", str(shard), "0"]))

    def _width(self):
        return self.chunk_bytes // self.EDGE**2

    # ------------------------------------------------------------------------------- the source

    def create(self):
        os.makedirs(os.path.join(self.path, "scale") if self.kind == "precomputed" else self.path)
        name = "info" if self.kind == "precomputed" else "zarr.json"
        with open(os.path.join(self.path, name), "w") as file:
            json.dump(self._metadata(), file)
        return self

    def _metadata(self):
        if self.kind != "precomputed":
            return self._array()
        assert self.shards & self.shards - 1 == 0 and self.per_shard & self.per_shard - 1 == 0
        bits = (self.per_shard - 1).bit_length()
        return {"@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint8",
                "num_channels": 1, "scales": [{
                    "key": "scale", "size": [self.count * self._width(), self.EDGE, self.EDGE],
                    "resolution": [8, 8, 8], "encoding": "raw", "voxel_offset": [0, 0, 0],
                    "chunk_sizes": [[self._width(), self.EDGE, self.EDGE]],
                    "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity",
                                 "preshift_bits": bits - bits // 2, "minishard_bits": bits // 2,
                                 "shard_bits": (self.shards - 1).bit_length(),
                                 "minishard_index_encoding": "gzip", "data_encoding": "raw"}}]}

    def _array(self):
        raw = {"name": "bytes", "configuration": {"endian": "little"}}
        return {
            "zarr_format": 3, "node_type": "array", "shape": [self.count, self.chunk_bytes],
            "data_type": "uint8", "fill_value": 0, "attributes": {},
            "chunk_grid": {"name": "regular",
                           "configuration": {"chunk_shape": [self.per_shard, self.chunk_bytes]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": self.kind[-1]}},
            "codecs": [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": [1, self.chunk_bytes], "codecs": [raw],
                "index_codecs": [raw, {"name": "crc32c"}], "index_location": "end"}}]}

    def open(self):
        """The source as TensorStore sees it: rows of bytes, read anew each time."""
        import tensorstore as ts

        kvstore = {"driver": "file", "path": os.fspath(self.path) + "/"}
        fresh = {"recheck_cached_data": True, "recheck_cached_metadata": False}
        if self.kind != "precomputed":
            return ts.open({"driver": "zarr3", "kvstore": kvstore, **fresh}).result()
        store = ts.open({"driver": "neuroglancer_precomputed", "kvstore": kvstore, "scale_index": 0,
                         **fresh}).result()
        return store[..., 0]

    def rows(self, voxels):
        """What open() reads, as one row of bytes for each chunk."""
        if self.kind != "precomputed":
            return voxels
        blocks = voxels.reshape(self.count, self._width(), self.EDGE, self.EDGE)
        return blocks.transpose(0, 3, 2, 1).reshape(self.count, self.chunk_bytes)

    def read_rows(self):
        return self.rows(self.open().read().result())

    def read_values(self):
        """{chunk: (writer, counter) or None where it is absent}; Torn where one is not whole."""
        rows = self.read_rows()
        return {chunk: value_of(chunk, rows[chunk].tobytes(), self.chunk_bytes)
                for chunk in range(self.count)}

    def write_values(self, values):
        """Makes the source hold {chunk: (writer, counter)}, written by TensorStore."""
        import numpy as np

        rows = np.zeros((self.count, self.chunk_bytes), np.uint8)
        for chunk, (writer, counter) in values.items():
            rows[chunk] = np.frombuffer(value(chunk, writer, counter, self.chunk_bytes), np.uint8)
        store = self.open()
        if self.kind == "precomputed":
            blocks = rows.reshape(self.count, self.EDGE, self.EDGE, self._width())
            rows = blocks.transpose(0, 3, 2, 1).reshape(store.shape)
        store.write(rows).result()
        return self

    # -------------------------------------------------------------------------------- the mount

    def shown(self, root, chunk):
        """(writer, counter) that a mount at `root` shows; None where the chunk is absent."""
        try:
            with open(os.path.join(root, self.name(chunk)), "rb", buffering=0) as file:
                data = file.readall()
        except FileNotFoundError:
            return None
        found = value_of(chunk, data, self.chunk_bytes)
        if found is None:
            raise Torn(f"chunk {chunk} is nothing but zeros")
        return found

    def shown_values(self, root):
        return {chunk: self.shown(root, chunk) for chunk in range(self.count)}
