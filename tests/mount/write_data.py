"""Small sharded datasets that tests write into through a mount, and peers that read them back.

A `WriteCase` knows at any time what each chunk must hold (`expected`); tests change that as they
change the mount, and `check` compares: through the mount, then, after a flush, in the shards of the
source as TensorStore's key-value stores give them, and as voxels that zarr-python or CloudVolume
reads. Test files import the fixtures `case` and `one_of_each`.
"""

import contextlib
import errno
import json
import os
import pathlib
import struct

import numpy as np
import pytest
import tensorstore as ts

from mount_data import refused
from shard_container import Sharding, compressed_morton, container, write_values
from tiers import in_turn

# Nothing is published before a test asks for it.
PATIENT = "publish_after=600"

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
CRC32C = {"name": "crc32c"}


def flush(mounted):
    """What `unshard flush` does: returns once all that was committed before stands in the source."""
    os.setxattr(pathlib.Path(getattr(mounted, "path", mounted)) / ".unshard",
                "user.unshard.flush", b"")


def write_file(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode=0o666):
    """open, write everything, close; each failure is raised, also that of the close."""
    descriptor = os.open(path, flags, mode)
    try:
        write_all(descriptor, data)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]


@contextlib.contextmanager
def damaged(shard):
    """A shard that nobody can publish onto, for as long as this lasts; then it is what it was."""
    aside = shard.with_name(f"{shard.name}.aside")
    os.rename(shard, aside)
    shard.write_bytes(bytes(range(256)) * 20)
    try:
        yield
    finally:
        os.replace(aside, shard)


class ZarrSource:
    """A uint16 array of 4 × 4 inner chunks of 48 × 64, in 2 × 2 shards, checksummed index."""

    SHAPE, CHUNK, PER_SHARD = (180, 250), (48, 64), (2, 2)
    DTYPE = np.dtype("<u2")
    CODECS = [LITTLE]

    def __init__(self, path, separator="/", location="end", attributes=None):
        self.path, self.separator, self.location = path, separator, location
        self.cells = {self.key(cell): cell for cell in np.ndindex(4, 4)}
        self.index_codecs = [LITTLE, CRC32C]
        path.mkdir(parents=True)
        (path / "zarr.json").write_text(json.dumps(self.document(attributes or {"unit": "nm"})))

    def document(self, attributes):
        shard = [c * n for c, n in zip(self.CHUNK, self.PER_SHARD)]
        return {
            "zarr_format": 3, "node_type": "array", "shape": list(self.SHAPE),
            "data_type": "uint16", "fill_value": 0, "attributes": attributes,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
            "chunk_key_encoding": {"name": "default",
                                   "configuration": {"separator": self.separator}},
            "codecs": [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": list(self.CHUNK), "codecs": self.CODECS,
                "index_codecs": self.index_codecs, "index_location": self.location}}]}

    def key(self, cell):
        return self.separator.join(["c", *map(str, cell)])

    def size(self, name):
        del name
        return self.CHUNK[0] * self.CHUNK[1] * 2

    def shard_of(self, name):
        return tuple(at // n for at, n in zip(self.cells[name], self.PER_SHARD))

    def shard_path(self, name):
        return self.path / self.key(self.shard_of(name))

    def _shard_store(self, path):
        return ts.KvStore.open({
            "driver": "zarr3_sharding_indexed", "base": f"file://{path}",
            "grid_shape": list(self.PER_SHARD), "index_codecs": self.index_codecs,
            "index_location": self.location}, context=ts.Context()).result()

    def _slot(self, name):
        return struct.pack(">2I", *(at % n for at, n in zip(self.cells[name], self.PER_SHARD)))

    def fill(self, chunks):
        """Writes {name: bytes} into shards, by TensorStore."""
        by_shard = {}
        for name, data in chunks.items():
            by_shard.setdefault(self.shard_path(name), {})[name] = data
        for path, part in by_shard.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with ts.Transaction() as transaction:
                store = self._shard_store(path).with_transaction(transaction)
                for name, data in part.items():
                    store[self._slot(name)] = data

    def stored(self):
        """{name: bytes} of all chunks in the shards, as TensorStore's key-value store gives them."""
        found = {}
        for name in self.cells:
            if not self.shard_path(name).is_file():
                continue
            result = self._shard_store(self.shard_path(name)).read(self._slot(name)).result()
            if result.state == "value":
                found[name] = bytes(result.value)
        return found

    def assert_voxels(self, expected):
        """zarr-python and TensorStore read these voxels from the shards."""
        import zarr

        wanted = np.zeros(self.SHAPE, self.DTYPE)
        for name, data in expected.items():
            part = np.frombuffer(data, self.DTYPE).reshape(self.CHUNK)
            here = tuple(slice(at * n, (at + 1) * n) for at, n in zip(self.cells[name], self.CHUNK))
            there = wanted[here].shape
            wanted[here] = part[tuple(slice(0, n) for n in there)]
        assert np.array_equal(zarr.open_array(str(self.path), mode="r")[...], wanted)
        array = ts.open({"driver": "zarr3", "kvstore": f"file://{self.path}/"},
                        context=ts.Context()).result()
        assert np.array_equal(array.read().result(), wanted)


class PrecomputedSource:
    """A uint8 volume of 2 × 2 × 4 chunks of 32 × 32 × 8 voxels, clipped at the end, in 4 shards."""

    SIZE, CHUNK, OFFSET = (60, 50, 28), (32, 32, 8), (-32, 0, 16)
    KEY = "scale"

    def __init__(self, path, data_encoding="raw"):
        self.path = path
        self.sharding = Sharding(1, 1, 2, "identity", "gzip", data_encoding)
        self.grid = tuple(-(-n // c) for n, c in zip(self.SIZE, self.CHUNK))
        self.cells = {self.name(cell): cell for cell in np.ndindex(*self.grid)}
        (path / self.KEY).mkdir(parents=True)
        (path / "info").write_text(json.dumps({
            "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint8",
            "num_channels": 1, "scales": [{
                "key": self.KEY, "size": self.SIZE, "resolution": [8, 8, 8], "encoding": "raw",
                "chunk_sizes": [self.CHUNK], "voxel_offset": self.OFFSET,
                "sharding": self.sharding.json()}]}))

    def _spans(self, cell):
        return [(at * c, min((at + 1) * c, n)) for at, c, n in zip(cell, self.CHUNK, self.SIZE)]

    def name(self, cell):
        spans = zip(self._spans(cell), self.OFFSET)
        return self.KEY + "/" + "_".join(f"{a + o}-{b + o}" for (a, b), o in spans)

    def size(self, name):
        return int(np.prod([b - a for a, b in self._spans(self.cells[name])]))

    def _id(self, name):
        return compressed_morton(self.cells[name], self.grid)

    def shard_of(self, name):
        return self._id(name) >> 2 & 3

    def shard_path(self, name):
        return self.path / self.KEY / f"{self.shard_of(name):x}.shard"

    def fill(self, chunks):
        write_values(self.path / self.KEY, self.sharding,
                     {self._id(name): data for name, data in chunks.items()})

    def stored(self):
        store = ts.KvStore.open(container(self.path / self.KEY, self.sharding).spec(),
                                context=ts.Context()).result()
        results = {name: store.read(struct.pack(">Q", self._id(name))).result()
                   for name in self.cells}
        return {name: bytes(result.value) for name, result in results.items()
                if result.state == "value"}

    def assert_voxels(self, expected):
        """CloudVolume and TensorStore read these voxels from the shards."""
        from cloudvolume import CloudVolume

        wanted = np.zeros(self.SIZE, np.uint8)
        for name, data in expected.items():
            spans = self._spans(self.cells[name])
            part = np.frombuffer(data, np.uint8).reshape([b - a for a, b in spans], order="F")
            wanted[tuple(slice(a, b) for a, b in spans)] = part
        volume = CloudVolume(f"file://{self.path}", mip=0, progress=False, parallel=1,
                             fill_missing=True)
        assert np.array_equal(np.asarray(volume[:])[..., 0], wanted)
        array = ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{self.path}/"},
                        context=ts.Context()).result()
        assert np.array_equal(array.read().result()[..., 0], wanted)


KINDS = {
    "zarr-nested": lambda path: ZarrSource(path, "/"),
    "zarr-flat": lambda path: ZarrSource(path, "."),
    "precomputed-raw": lambda path: PrecomputedSource(path, "raw"),
    "precomputed-gzip": lambda path: PrecomputedSource(path, "gzip"),
}


class WriteCase:
    """A mounted dataset that is written to.

    source    ZarrSource or PrecomputedSource, in the directory `data` of what is mounted
    root      the same directory below the mount point
    expected  {name: bytes} that every chunk must hold now; all others are absent
    """

    def __init__(self, kind, directory, mount, options=PATIENT, share=0.5):
        self.kind = kind
        self.top = directory / "source"
        self.source = KINDS[kind](self.top / "data")
        (self.top / "notes.txt").write_text("stands beside the data\n")
        self.names = list(self.source.cells)
        whole = len(self.names) if share == 1 else int(len(self.names) * share)
        self.expected = {name: self.bytes_for(name, 0) for name in self.names[:whole]}
        self.source.fill(self.expected)
        self.mount = mount(self.top, options)
        self.root = self.mount.path / "data"

    @property
    def gzipped(self):
        return self.kind == "precomputed-gzip"

    @property
    def precomputed(self):
        return self.kind.startswith("precomputed")

    def bytes_for(self, name, version):
        """Contents of the right length that differ between names and versions."""
        seed = [self.names.index(name), version, 77]
        return np.random.default_rng(seed).integers(1, 256, self.source.size(name),
                                                    np.uint8).tobytes()

    def path(self, name):
        return self.root / name

    def present(self, count=1):
        """Names of chunks that were there before anybody wrote."""
        return self.names[:count]

    def absent(self, count=1):
        """Names of chunks that nobody has written yet, all parents of which exist as directories."""
        names = self.names[len(self.expected):][:count]
        for name in names:
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
        return names

    def put(self, name, version, **more):
        """Writes a chunk the simple way and expects it from then on."""
        data = self.bytes_for(name, version)
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        write_file(self.path(name), data, **more)
        self.expected[name] = data

    def write_status(self):
        return self.mount.status()["write"]

    def check_mount(self):
        """Byte for byte, name for name, through the mount."""
        for name in self.names:
            path = self.path(name)
            if name in self.expected:
                assert os.stat(path).st_size == len(self.expected[name]), name
                assert path.read_bytes() == self.expected[name], name
            else:
                refused((errno.ENOENT, errno.ENOTDIR), os.stat, path)
        assert self.listed() == set(self.expected)

    def listed(self):
        """The chunk files that the mount lists, scratch and metadata left out."""
        found = [os.path.relpath(os.path.join(directory, name), self.root)
                 for directory, _, names in os.walk(self.root) for name in names]
        assert len(found) == len(set(found)), "a name is listed twice"
        return {name for name in found if name in self.source.cells}

    def check_source(self):
        """What peers find in the shards."""
        assert self.source.stored() == self.expected
        self.source.assert_voxels(self.expected)

    def check(self, quiet=True):
        """Before a flush, after it, and in the source. `quiet`: nothing may have failed."""
        self.check_mount()
        flush(self.mount)
        self.check_source()
        self.check_mount()
        status = self.write_status()
        assert (status["dirty_chunks"], status["dirty_shards"], status["conflicts"]) == (0, 0, 0)
        if quiet:
            assert self.mount.control("errors") == ""

    def reasons(self):
        return self.mount.control("errors")

    def others(self):
        """All files of the source but the shards of the chunks: {path: bytes}."""
        shards = {self.source.shard_path(name) for name in self.names}
        return {str(path.relative_to(self.top)): path.read_bytes()
                for path in self.top.rglob("*") if path.is_file() and path not in shards}

    # ------------------------------------------------------------------ voxels, for array libraries

    @property
    def origin(self):
        """Of the array, in the coordinates that libraries use for it."""
        return self.source.OFFSET if self.precomputed else (0, 0)

    @property
    def dtype(self):
        return np.dtype(np.uint8) if self.precomputed else self.source.DTYPE

    def region(self, first, last):
        """Slices of all chunks from one cell to another, both included, without the origin."""
        extent = self.source.SIZE if self.precomputed else self.source.SHAPE
        return tuple(slice(a * n, min((b + 1) * n, e))
                     for a, b, n, e in zip(first, last, self.source.CHUNK, extent))

    def shifted(self, region):
        return tuple(slice(s.start + o, s.stop + o) for s, o in zip(region, self.origin))

    def values(self, region, version):
        shape = [s.stop - s.start for s in region]
        rng = np.random.default_rng([version, 78])
        return rng.integers(1, 256, shape).astype(self.dtype)

    def paint(self, region, values):
        """Changes `expected` as a library that stores `values` in this region does."""
        order = "F" if self.precomputed else "C"
        for name, cell in self.source.cells.items():
            low = [at * n for at, n in zip(cell, self.source.CHUNK)]
            shape = self._shape(name)
            here = [(max(s.start, a), min(s.stop, a + n)) for s, a, n in zip(region, low, shape)]
            if any(a >= b for a, b in here):
                continue
            old = self.expected.get(name, bytes(self.source.size(name)))
            chunk = np.frombuffer(old, self.dtype).reshape(shape, order=order).copy(order=order)
            chunk[tuple(slice(a - l, b - l) for (a, b), l in zip(here, low))] = values[
                tuple(slice(a - s.start, b - s.start) for (a, b), s in zip(here, region))]
            self.expected[name] = chunk.tobytes(order=order)

    def _shape(self, name):
        if not self.precomputed:
            return self.source.CHUNK
        spans = self.source._spans(self.source.cells[name])
        return tuple(b - a for a, b in spans)

    def lay_out(self, directory, names, version):
        """Writes these chunks as plain files, with times of the past: what people copy in."""
        for name in names:
            path = pathlib.Path(directory) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.bytes_for(name, version))
            os.utime(path, (10**9 + version, 10**9 + version))
        return pathlib.Path(directory)

    def expect(self, names, version):
        self.expected.update((name, self.bytes_for(name, version)) for name in names)


@pytest.fixture(params=in_turn(KINDS))
def case(request, work, mount):
    return WriteCase(request.param, work, mount)


@pytest.fixture(params=in_turn(["zarr-nested", "precomputed-gzip"]))
def one_of_each(request, work, mount):
    """For what does not depend on how keys are spelled or data are stored."""
    return WriteCase(request.param, work, mount)
