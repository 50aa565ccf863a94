"""The volumes of the writing benchmarks: chunks of 64 KiB, stored raw, in one shard or in eight.

Each is kept as plain chunk files and as a sharded dataset; what is written to is a copy. The voxels
are noise: nothing here is decided by how well they compress, and none of the chunks is all zeros.
"""

import dataclasses
import hashlib
import itertools
import json
import pathlib
import shutil

import numpy
import tensorstore

import dataset

CHUNK = (32, 32, 64)
CHUNK_BYTES = 32 * 32 * 64


@dataclasses.dataclass(frozen=True)
class Volume:
    """What decides the bytes of a volume. It has all that dataset.spec() asks of a Make."""

    form: str  # "zarr" or "precomputed"
    shape: tuple  # voxels of one byte; a multiple of 2 * CHUNK
    shards: int  # 1, or 8: halves along each axis

    encoding = "raw"
    chunk = CHUNK

    @property
    def format(self):
        return self.form

    @property
    def name(self):
        return f"{self.form}-raw-64k-{self.shards}x{self.chunks * CHUNK_BYTES // self.shards >> 10}k"

    @property
    def grid(self):
        return tuple(size // step for size, step in zip(self.shape, self.chunk))

    @property
    def chunks(self):
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def bytes(self):
        return self.chunks * CHUNK_BYTES

    @property
    def shard(self):
        return self.shape if self.shards == 1 else tuple(size // 2 for size in self.shape)

    @property
    def shard_bits(self):
        return 0 if self.shards == 1 else 3

    @property
    def grid_bits(self):
        return tuple((count - 1).bit_length() for count in self.grid)

    @property
    def minishard_bits(self):
        return min(3, sum(self.grid_bits) - self.shard_bits)

    @property
    def preshift_bits(self):
        return sum(self.grid_bits) - self.shard_bits - self.minishard_bits

    @property
    def scale(self):
        return "c" if self.form == "zarr" else "8_8_8"  # the directory of the chunks

    def shard_regions(self):
        """The voxels of each shard: [(low, high), …] per axis, as JSON likes them."""
        axes = [[(low, low + step) for low in range(0, size, step)]
                for size, step in zip(self.shape, self.shard)]
        return [list(region) for region in itertools.product(*axes)]

    def cells(self):
        return list(itertools.product(*map(range, self.grid)))

    def chunk_region(self, cell):
        return [(at * step, (at + 1) * step) for at, step in zip(cell, self.chunk)]

    def chunk_file(self, cell):
        """The name of a chunk's file below the dataset."""
        if self.form == "zarr":
            return "c/" + "/".join(map(str, cell))
        return "8_8_8/" + "_".join(f"{low}-{high}" for low, high in self.chunk_region(cell))

    def shard_file(self):
        """The only shard, where there is one."""
        return "c/0/0/0" if self.form == "zarr" else "8_8_8/0.shard"


class Prepared:
    """A volume on disk, made once and kept: `plain` and `sharded` directories."""

    def __init__(self, volume, directory):
        self.volume = volume
        self.directory = pathlib.Path(directory) / volume.name
        self.plain = self.directory / "plain"
        self.sharded = self.directory / "sharded"
        stamp = self.directory / "made.json"
        sources = pathlib.Path(__file__).read_bytes() + pathlib.Path(dataset.__file__).read_bytes()
        wanted = json.dumps([dataclasses.asdict(volume), hashlib.sha256(sources).hexdigest()])
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        stores = [create(volume, self.plain, False), create(volume, self.sharded, True)]
        for region in volume.shard_regions():
            for store in stores:
                fill(store, region)
        stamp.write_text(wanted)


def create(volume, path, sharded):
    """An empty dataset, opened with TensorStore."""
    return tensorstore.open(dataset.spec(volume, path, sharded)).result()


def opened(volume, path):
    driver = "zarr3" if volume.form == "zarr" else "neuroglancer_precomputed"
    return tensorstore.open({"driver": driver, "kvstore": f"file://{path}/"}, open=True).result()


def fill(store, region):
    """Noise, the same for the same region; one transaction."""
    random = numpy.random.Generator(numpy.random.PCG64([low for low, _ in region]))
    size = [high - low for low, high in region]
    block = random.integers(1, 256, size, numpy.uint8)
    with tensorstore.Transaction() as transaction:
        target = store.with_transaction(transaction)[slices(region)]
        target[...] = block.reshape(target.shape)


def slices(region):
    return tuple(slice(low, high) for low, high in region)


def differing_regions(volume, path, plain, regions):
    """How many of these regions of a dataset are not what plain files hold."""
    stores = [opened(volume, each) for each in (path, plain)]
    return sum(not numpy.array_equal(*(store[slices(region)].read().result() for store in stores))
               for region in regions)
