"""Two sharded volumes of 2^30 chunks each, in sparse files of less than 300 MB on the disk.

As a program: scale_volume.py zarr|precomputed DIRECTORY

Both have 1024 × 1024 × 1024 chunks of 16 × 16 × 16 bytes, and every chunk is there. Indexes are real;
the data are holes, so that a chunk reads as zeros. Only some chunks, the marked ones, begin with
their own number (Morton code; position in the Zarr shard), which shows that the right bytes came.
"""

import functools
import json
import os
import random
import struct
import sys
import zlib

import numpy as np

GRID = 1024
EDGE = 16
CHUNK_BYTES = EDGE**3
CHUNK_COUNT = GRID**3


def marker(number):
    return struct.pack("<Q", number) + bytes(CHUNK_BYTES - 8)


def _create_sparse(path, head, head_at, size, marked):
    """A file of `size` bytes that is empty but for `head` and the (offset, bytes) in `marked`."""
    with open(path, "xb") as file:
        file.truncate(size)
        for offset, data in [(head_at, head), *marked]:
            os.pwrite(file.fileno(), data, offset)


class ScaleZarr:
    """Zarr v3, flat keys: 16³ shards of 64³ chunks. All shards are one file under many names, which
    is right, since a Zarr index does not say where its shard stands."""

    NAME = "zarr"
    SHARD = 64
    SLOTS = SHARD**3
    MARKED_SLOTS = range(0, SLOTS, 97)

    def __init__(self, path):
        self.path = path

    def build(self):
        self.path.mkdir(parents=True)
        shards = GRID // self.SHARD
        names = [f"c.{z}.{y}.{x}" for z in range(shards) for y in range(shards)
                 for x in range(shards)]
        index = np.empty((self.SLOTS, 2), "<u8")
        index[:, 0] = np.arange(self.SLOTS, dtype=np.uint64) * CHUNK_BYTES
        index[:, 1] = CHUNK_BYTES
        raw = index.tobytes()
        end = self.SLOTS * CHUNK_BYTES
        head = raw + struct.pack("<I", crc32c(raw))
        _create_sparse(self.path / names[0], head, end, end + len(head),
                       [(slot * CHUNK_BYTES, marker(slot)) for slot in self.MARKED_SLOTS])
        for name in names[1:]:
            os.link(self.path / names[0], self.path / name)
        (self.path / "zarr.json").write_text(json.dumps(self._metadata()))
        return self

    def _metadata(self):
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        sharding = {"name": "sharding_indexed", "configuration": {
            "chunk_shape": [EDGE] * 3, "codecs": [{"name": "bytes"}],
            "index_codecs": [little, {"name": "crc32c"}], "index_location": "end"}}
        return {
            "zarr_format": 3, "node_type": "array", "shape": [GRID * EDGE] * 3,
            "data_type": "uint8", "fill_value": 0, "codecs": [sharding],
            "chunk_grid": {"name": "regular",
                           "configuration": {"chunk_shape": [self.SHARD * EDGE] * 3}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}}

    directory = "."

    def chunk_name(self, cell):
        return f"c.{cell[0]}.{cell[1]}.{cell[2]}"

    def cell_of_name(self, name):
        """The cell of a chunk's name; None for any other name."""
        parts = name.split(".")
        if len(parts) != 4 or parts[0] != "c" or not all(part.isdecimal() for part in parts[1:]):
            return None
        cell = tuple(map(int, parts[1:]))
        return cell if max(cell) < GRID and self.chunk_name(cell) == name else None

    def random_cell(self, rng, marked):
        cell = [rng.randrange(GRID) for _ in range(3)]
        if marked:
            slot = rng.choice(self.MARKED_SLOTS)
            for axis in (2, 1, 0):
                slot, within = divmod(slot, self.SHARD)
                cell[axis] = cell[axis] // self.SHARD * self.SHARD + within
        return tuple(cell)

    def expected(self, cell):
        slot = 0
        for axis in range(3):
            slot = slot * self.SHARD + cell[axis] % self.SHARD
        return marker(slot) if slot in self.MARKED_SLOTS else bytes(CHUNK_BYTES)


class ScalePrecomputed:
    """A precomputed scale: 256 shards of 512 minishards of 8192 chunks, identity hash, raw data and
    gzip minishard indexes. Each minishard index is another one, since it holds chunk ids."""

    NAME = "precomputed"
    PRESHIFT, MINISHARD, SHARD = 13, 9, 8
    ROWS = 1 << PRESHIFT  # chunks of a minishard
    PER_SHARD = 1 << (PRESHIFT + MINISHARD)
    MARKED_STRIDE = PER_SHARD // 32 + 1
    directory = "scale"

    def __init__(self, path):
        self.path = path

    def build(self):
        (self.path / self.directory).mkdir(parents=True)
        for shard in range(1 << self.SHARD):
            self._write_shard(shard)
        (self.path / "info").write_text(json.dumps(self._info()))
        return self

    def _info(self):
        sharding = {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity",
                    "preshift_bits": self.PRESHIFT, "minishard_bits": self.MINISHARD,
                    "shard_bits": self.SHARD, "minishard_index_encoding": "gzip",
                    "data_encoding": "raw"}
        return {"type": "image", "data_type": "uint8", "num_channels": 1, "scales": [{
            "key": self.directory, "size": [GRID * EDGE] * 3, "resolution": [8, 8, 8],
            "voxel_offset": [0, 0, 0], "chunk_sizes": [[EDGE] * 3], "encoding": "raw",
            "sharding": sharding}]}

    def _write_shard(self, shard):
        minishards = 1 << self.MINISHARD
        index_bytes = 16 * minishards
        numbers = np.arange(minishards, dtype=np.uint64)
        length = len(self._minishard_indexes(numbers[:1], numbers[:1])[0])
        # Relative to the end of the shard index, as all offsets of this format are.
        data_at = -(-(index_bytes + minishards * length) // 4096) * 4096 - index_bytes
        ids = np.uint64(shard * self.PER_SHARD) + numbers * np.uint64(self.ROWS)
        starts = np.uint64(data_at) + numbers * np.uint64(self.ROWS * CHUNK_BYTES)
        indexes = self._minishard_indexes(ids, starts)
        ranges = np.stack([numbers * length, (numbers + 1) * length], axis=1).astype("<u8")
        marked = [(index_bytes + data_at + at * CHUNK_BYTES, marker(shard * self.PER_SHARD + at))
                  for at in range(0, self.PER_SHARD, self.MARKED_STRIDE)]
        _create_sparse(self.path / self.directory / f"{shard:02x}.shard",
                       ranges.tobytes() + b"".join(indexes), 0,
                       index_bytes + data_at + self.PER_SHARD * CHUNK_BYTES, marked)

    def _minishard_indexes(self, first_ids, first_starts):
        """The gzip minishard indexes that differ in their first id and first start only.

        Compressing 2^17 times 192 KiB would take minutes. Instead the parts that are always the same
        are compressed once, the others stand between them as stored blocks, and the checksum, which
        is linear in every bit of its input, is put together from the checksums of single bits.
        """
        checksum, id_effects, start_effects, ones, rest = self._constant_parts()
        checksums = np.full(len(first_ids), checksum, "u4")
        for bit in range(64):
            for values, effects in ((first_ids, id_effects), (first_starts, start_effects)):
                chosen = (values >> np.uint64(bit)) & np.uint64(1)
                checksums ^= chosen.astype("u4") * np.uint32(effects[bit])
        head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
        return [head + _stored_block(struct.pack("<Q", number)) + ones +
                _stored_block(struct.pack("<Q", start)) + rest + b"\x03\x00" +
                struct.pack("<II", checksum, 24 * self.ROWS)
                for number, start, checksum in zip(first_ids.tolist(), first_starts.tolist(),
                                                   checksums.tolist())]

    @functools.cache
    def _constant_parts(self):
        """(checksum with both words zero, effect of each bit of the id, of the start, and the
        compressed words that follow the id and that follow the start)"""
        ones = struct.pack("<Q", 1) * (self.ROWS - 1)
        rest = bytes(8) * (self.ROWS - 1) + struct.pack("<Q", CHUNK_BYTES) * self.ROWS
        nothing = zlib.crc32(bytes(24 * self.ROWS))
        effects = [[zlib.crc32(bytes(before) + struct.pack("<Q", 1 << bit) +
                               bytes(24 * self.ROWS - before - 8)) ^ nothing for bit in range(64)]
                   for before in (0, 8 + len(ones))]
        checksum = zlib.crc32(bytes(8) + ones + bytes(8) + rest)
        return checksum, *effects, _deflate_block(ones), _deflate_block(rest)

    def chunk_name(self, cell):
        return "_".join(f"{at * EDGE}-{(at + 1) * EDGE}" for at in cell)

    def cell_of_name(self, name):
        """The cell of a chunk's name; None for any other name."""
        begins = [part.split("-")[0] for part in name.split("_")]
        if len(begins) != 3 or not all(begin.isdecimal() for begin in begins):
            return None
        cell = tuple(int(begin) // EDGE for begin in begins)
        return cell if max(cell) < GRID and self.chunk_name(cell) == name else None

    def random_cell(self, rng, marked):
        number = rng.randrange(CHUNK_COUNT)
        if marked:
            at = rng.randrange(0, self.PER_SHARD, self.MARKED_STRIDE)
            number = number // self.PER_SHARD * self.PER_SHARD + at
        return tuple(sum((number >> (3 * bit + axis) & 1) << bit for bit in range(10))
                     for axis in range(3))

    def expected(self, cell):
        number = sum((cell[axis] >> bit & 1) << (3 * bit + axis)
                     for bit in range(10) for axis in range(3))
        marked = number % self.PER_SHARD % self.MARKED_STRIDE == 0
        return marker(number) if marked else bytes(CHUNK_BYTES)


def _stored_block(data):
    return struct.pack("<BHH", 0, len(data), len(data) ^ 0xFFFF) + data


def _deflate_block(data):
    """Compressed data that another block may follow, at a byte boundary."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)


def crc32c(data):
    """CRC-32C by a table: slow, but this file needs nothing beyond numpy."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def disk_bytes(path):
    """What the files below `path` take on the disk; a file with many names counts once."""
    blocks = {}
    for directory, _, names in os.walk(path):
        for name in names:
            info = os.stat(os.path.join(directory, name))
            blocks[info.st_dev, info.st_ino] = info.st_blocks * 512
    return sum(blocks.values())


def self_check(volume, number=50):
    """Whether names and cells map to each other; for the command line."""
    rng = random.Random(1)
    cells = [volume.random_cell(rng, marked=index % 2 == 0) for index in range(number)]
    return all(volume.cell_of_name(volume.chunk_name(cell)) == cell for cell in cells)


def main(arguments):
    import pathlib

    kinds = {each.NAME: each for each in (ScaleZarr, ScalePrecomputed)}
    if len(arguments) != 2 or arguments[0] not in kinds:
        sys.exit(__doc__)
    volume = kinds[arguments[0]](pathlib.Path(arguments[1])).build()
    assert self_check(volume)
    print(f"{CHUNK_COUNT} chunks in {disk_bytes(volume.path) / 1e6:.0f} MB on the disk")


if __name__ == "__main__":
    main(sys.argv[1:])
