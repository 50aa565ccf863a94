"""Small sharded datasets for the mount tests, and the bytes that their virtual files must hold.

Two kinds: written by TensorStore or zarr-python (what real data looks like), and written by hand
(`VersionedSource`) where a test replaces shards many times and must recognise each version.
"""

import contextlib
import fcntl
import gzip
import json
import os
import pathlib
import random
import struct

import numpy as np
import pytest

MISSING = 2**64 - 1


# ------------------------------------------------------------------------ written by the libraries


def files_in(root):
    """{path: bytes} of all files that listings lead to."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = pathlib.Path(folder, name)
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


class PrecomputedVolume:
    """A uint8 image of 100 × 90 × 40 voxels in chunks of 32³, written by TensorStore.

    Scale `fine` has gzip data, scale `coarse` raw data. The chunk at the origin of each scale is
    all zero and therefore missing.
    """

    SIZE = (100, 90, 40)
    CHUNK = (32, 32, 32)
    OFFSET = (-32, 0, 8)

    def __init__(self, path):
        self.path = path
        self.voxels = {"fine": _image(self.SIZE, 1), "coarse": _image(self.SIZE, 2)}
        for index, (key, encoding) in enumerate([("fine", "gzip"), ("coarse", "raw")]):
            self._write(key, index, encoding)
        (path / "notes.txt").write_text("stands beside the data\n")

    def _write(self, key, index, encoding):
        import tensorstore as ts

        store = ts.open({
            "driver": "neuroglancer_precomputed",
            "kvstore": {"driver": "file", "path": str(self.path) + "/"},
            "multiscale_metadata": {"type": "image", "data_type": "uint8", "num_channels": 1},
            "scale_metadata": {
                "key": key, "size": self.SIZE, "voxel_offset": self.OFFSET, "chunk_size": self.CHUNK,
                "resolution": [8 * (index + 1)] * 3, "encoding": "raw",
                "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 2,
                             "hash": "identity", "minishard_bits": 1, "shard_bits": 2,
                             "minishard_index_encoding": "gzip", "data_encoding": encoding}},
        }, create=True, open=True).result()
        store[..., 0].write(self.voxels[key]).result()

    def chunks(self, key):
        """{file name: bytes} of all chunks that are there."""
        found, missing = self._split(key)
        del missing
        return found

    def missing(self, key):
        return self._split(key)[1]

    def _split(self, key):
        found, missing = {}, []
        for begin in np.ndindex(*(-(-s // c) for s, c in zip(self.SIZE, self.CHUNK))):
            low = [b * c for b, c in zip(begin, self.CHUNK)]
            high = [min(v + c, s) for v, c, s in zip(low, self.CHUNK, self.SIZE)]
            name = "_".join(f"{a + o}-{b + o}" for a, b, o in zip(low, high, self.OFFSET))
            part = self.voxels[key][tuple(slice(a, b) for a, b in zip(low, high))]
            if part.any():
                found[name] = part.tobytes(order="F")
            else:
                missing.append(name)
        return found, missing


class ZarrTree:
    """A Zarr group with array `image` (int32, 16³ chunks in 64 × 64 × 32 shards), by zarr-python.

    Inner chunks are plain bytes. The first 2 × 2 × 2 of them are all zero and therefore missing.
    """

    SHAPE = (100, 90, 40)
    CHUNK = (16, 16, 16)
    SHARD = (64, 64, 32)

    def __init__(self, path):
        import zarr

        self.path = path
        self.voxels = (_image(self.SHAPE, 3).astype("<i4") * 1000)
        group = zarr.create_group(path, zarr_format=3, attributes={"title": "a tree"})
        array = group.create_array("image", shape=self.SHAPE, dtype="<i4", chunks=self.CHUNK,
                                   shards=self.SHARD, compressors=None, filters=None, fill_value=0,
                                   attributes={"unit": "nm"},
                                   config={"write_empty_chunks": False})
        array[...] = self.voxels
        (path / "notes.txt").write_text("stands beside the data\n")

    def chunks(self):
        """{path relative to the array: bytes} of all inner chunks that are there."""
        found = {}
        for cell in np.ndindex(*(-(-s // c) for s, c in zip(self.SHAPE, self.CHUNK))):
            part = self.voxels[tuple(slice(i * c, (i + 1) * c) for i, c in zip(cell, self.CHUNK))]
            if not part.any():
                continue
            whole = np.zeros(self.CHUNK, "<i4")
            whole[tuple(slice(0, n) for n in part.shape)] = part
            found["c/" + "/".join(map(str, cell))] = whole.tobytes()
        return found


def _image(shape, seed):
    """Smooth values, different everywhere, never zero but in the first 32³ cube."""
    axes = np.ogrid[tuple(slice(0, n) for n in shape)]
    image = (np.sin(axes[0] / 9 + seed) + np.cos(axes[1] / 7) + np.sin(axes[2] / 5)) * 40 + 125
    noise = np.random.default_rng(seed).integers(0, 3, shape)
    image = (image + noise).clip(1, 255).astype(np.uint8)
    image[:32, :32, :32] = 0
    return image


# ----------------------------------------------------------------------------- helpers of the tests


class Case:
    """One mounted dataset: `root` and {path below root: bytes} of all its chunk files."""

    def __init__(self, mounted, chunks):
        self.mount = mounted
        self.root = mounted.path
        self.chunks = chunks
        self.name = max(chunks, key=lambda name: len(chunks[name]))
        self.path = self.root / self.name
        self.data = chunks[self.name]


def refused(number, call, *arguments, **more):
    with pytest.raises(OSError) as caught:
        call(*arguments, **more)
    numbers = number if isinstance(number, tuple) else (number,)
    assert caught.value.errno in numbers, caught.value


@contextlib.contextmanager
def kernel_caches():
    """Keeps test programs that run at the same time from dropping the caches meanwhile."""
    if _holds_kernel_caches:
        yield
        return
    with open(__file__) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _holds_kernel_caches.append(True)
        try:
            yield
        finally:
            _holds_kernel_caches.pop()


_holds_kernel_caches = []


def drop_caches():
    """Makes the kernel forget pages and names, as far as this process is allowed to."""
    try:
        with kernel_caches(), open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("3")
    except PermissionError:
        pytest.skip("needs root")


# ------------------------------------------------------------------------------- written by hand


def neuroglancer_shard(chunks, preshift_bits, minishard_bits, gzip_data=False, padding=0):
    """The bytes of one shard with these {id: chunk}, hash identity, indexes raw.

    `padding` unreferenced bytes before each chunk make the offsets differ between two versions.
    """
    minishards = {}
    for chunk_id in sorted(chunks):
        number = (chunk_id >> preshift_bits) & ((1 << minishard_bits) - 1)
        minishards.setdefault(number, []).append(chunk_id)
    body = bytearray()
    shard_index = [(0, 0)] * (1 << minishard_bits)
    for number, ids in minishards.items():
        rows, last_id, last_end = ([], [], []), 0, 0
        for chunk_id in ids:
            data = gzip.compress(chunks[chunk_id], 1) if gzip_data else chunks[chunk_id]
            body += b"\xee" * padding
            rows[0].append(chunk_id - last_id)
            rows[1].append(len(body) - last_end)
            rows[2].append(len(data))
            body += data
            last_id, last_end = chunk_id, len(body)
        index = struct.pack(f"<{3 * len(ids)}Q", *rows[0], *rows[1], *rows[2])
        shard_index[number] = (len(body), len(body) + len(index))
        body += index
    return b"".join(struct.pack("<QQ", *pair) for pair in shard_index) + bytes(body)


def zarr_shard(chunks, count, padding=0):
    """The bytes of one Zarr shard, index at the end without checksum; `chunks` is {slot: chunk}."""
    body, index = bytearray(), []
    for slot in range(count):
        if slot in chunks:
            body += b"\xee" * padding
            index.append((len(body), len(chunks[slot])))
            body += chunks[slot]
        else:
            index.append((MISSING, MISSING))
    return bytes(body) + b"".join(struct.pack("<QQ", *pair) for pair in index)


def marked(chunk, version, size):
    """A chunk of `size` bytes (a multiple of 24) that tells its number, version and size anywhere."""
    return struct.pack("<QQQ", chunk, version, size) * (size // 24)


def replace_file(path, data):
    """What careful writers do: a temporary file beside the target, renamed over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{random.getrandbits(32):08x}")
    temporary.write_bytes(data)
    os.replace(temporary, path)


class VersionedSource:
    """A sharded directory whose shards can be rewritten in any version.

    names    {chunk number: path of the virtual file}
    shards   shard numbers that hold chunks
    """

    def __init__(self, path, version=1):
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.write_metadata()
        for shard in self.shards:
            self.publish(shard, version)

    def publish(self, shard, version, leave_out=()):
        replace_file(self.shard_path(shard), self.shard_bytes(shard, version, leave_out))

    def expected(self, chunk, version):
        return marked(chunk, version, self.size(version))


class VersionedVolume(VersionedSource):
    """Precomputed, 4³ chunks of 24³ bytes, eight shards, four minishards in each."""

    EDGE = 24
    CELLS = 4
    PRESHIFT, MINISHARD, SHARD = 1, 2, 3

    def __init__(self, path, gzip_data=False, version=1):
        self.gzip_data = gzip_data
        self.names = {}
        for cell in np.ndindex(self.CELLS, self.CELLS, self.CELLS):
            spans = [f"{c * self.EDGE}-{(c + 1) * self.EDGE}" for c in cell]
            self.names[_morton(cell)] = "scale/" + "_".join(spans)
        self.shards = range(1 << self.SHARD)
        super().__init__(path, version)

    def write_metadata(self, **more):
        edge = self.EDGE * self.CELLS
        sharding = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": self.PRESHIFT,
                    "hash": "identity", "minishard_bits": self.MINISHARD, "shard_bits": self.SHARD,
                    "data_encoding": "gzip" if self.gzip_data else "raw"}
        replace_file(self.path / "info", json.dumps({
            "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint8",
            "num_channels": 1, "scales": [{
                "key": "scale", "size": [edge] * 3, "resolution": [8, 8, 8], "encoding": "raw",
                "chunk_sizes": [[self.EDGE] * 3], "voxel_offset": [0, 0, 0],
                "sharding": sharding}], **more}).encode())

    def size(self, version):
        del version
        return self.EDGE**3

    def shard_of(self, chunk):
        return (chunk >> (self.PRESHIFT + self.MINISHARD)) & ((1 << self.SHARD) - 1)

    def shard_path(self, shard):
        return self.path / "scale" / f"{shard:x}.shard"

    def shard_bytes(self, shard, version, leave_out=()):
        chunks = {number: self.expected(number, version) for number in self.names
                  if self.shard_of(number) == shard and number not in leave_out}
        return neuroglancer_shard(chunks, self.PRESHIFT, self.MINISHARD, self.gzip_data,
                                  padding=version * 7 % 1000)


class VersionedSkeletons(VersionedSource):
    """Skeletons under the ids 1 … 64: every version has files of another size."""

    MINISHARD, SHARD = 2, 2

    def __init__(self, path, version=1):
        self.names = {number: str(number) for number in range(1, 65)}
        self.shards = range(1 << self.SHARD)
        super().__init__(path, version)

    def write_metadata(self, **more):
        replace_file(self.path / "info", json.dumps({
            "@type": "neuroglancer_skeletons", "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
            "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0,
                         "hash": "identity", "minishard_bits": self.MINISHARD,
                         "shard_bits": self.SHARD}, **more}).encode())

    def size(self, version):
        return 24 * (1 + version * 577 % 900)

    def shard_of(self, chunk):
        return (chunk >> self.MINISHARD) & ((1 << self.SHARD) - 1)

    def shard_path(self, shard):
        return self.path / f"{shard:x}.shard"

    def shard_bytes(self, shard, version, leave_out=()):
        chunks = {number: self.expected(number, version) for number in self.names
                  if self.shard_of(number) == shard and number not in leave_out}
        return neuroglancer_shard(chunks, 0, self.MINISHARD, padding=version * 7 % 1000)


class VersionedZarr(VersionedSource):
    """A Zarr array of 8 × 8 inner chunks of 14 400 bytes in 4 × 4 shards, keys with `/` or `.`."""

    EDGE = 120
    INNER, OUTER = 8, 4

    def __init__(self, path, separator="/", version=1):
        self.separator = separator
        self.names = {i * self.INNER + j: separator.join(["c", str(i), str(j)])
                      for i in range(self.INNER) for j in range(self.INNER)}
        self.shards = range(self.OUTER * self.OUTER)
        super().__init__(path, version)

    def write_metadata(self, **attributes):
        extent, shard = self.EDGE * self.INNER, self.EDGE * self.INNER // self.OUTER
        raw = {"name": "bytes", "configuration": {"endian": "little"}}
        replace_file(self.path / "zarr.json", json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": [extent, extent], "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [shard, shard]}},
            "chunk_key_encoding": {"name": "default",
                                   "configuration": {"separator": self.separator}},
            "fill_value": 0, "attributes": attributes,
            "codecs": [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": [self.EDGE, self.EDGE], "codecs": [raw], "index_codecs": [raw],
                "index_location": "end"}}]}).encode())

    def size(self, version):
        del version
        return self.EDGE * self.EDGE

    def shard_of(self, chunk):
        row, column = divmod(chunk, self.INNER)
        return row // 2 * self.OUTER + column // 2

    def shard_path(self, shard):
        row, column = divmod(shard, self.OUTER)
        return self.path / self.separator.join(["c", str(row), str(column)])

    def shard_bytes(self, shard, version, leave_out=()):
        chunks = {}
        for number in self.names:
            row, column = divmod(number, self.INNER)
            if self.shard_of(number) == shard and number not in leave_out:
                chunks[row % 2 * 2 + column % 2] = self.expected(number, version)
        return zarr_shard(chunks, 4, padding=version * 7 % 1000)


def _morton(cell):
    code = 0
    for bit in range(2):
        for axis in range(3):
            code |= (cell[axis] >> bit & 1) << (3 * bit + axis)
    return code
