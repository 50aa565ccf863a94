"""Makes the datasets of the benchmarks: each volume sharded, as plain files, and as an image.

The voxels are the same at every run: a smooth texture with a little noise, which gzip shrinks about
as much as it does electron microscopy. Datasets are kept, and made again when their make-up changes.
"""

import dataclasses
import functools
import hashlib
import json
import pathlib
import shutil
import subprocess

import numpy
import tensorstore

SHARD_VOXELS = (1024, 512, 512)  # volumes are written in blocks that no shard straddles
TILE = 256


@dataclasses.dataclass(frozen=True)
class Make:
    """What decides the bytes of a dataset."""

    format: str  # "zarr" or "precomputed"
    encoding: str  # "raw" or "gzip"
    edge: int  # chunks are edge^3 uint8 voxels
    shape: tuple  # voxels; a multiple of the edge
    shard_bits: int  # precomputed; minishard_bits more say the minishard

    @property
    def name(self):
        return f"{self.format}-{self.encoding}-{self.edge ** 3 // 1024}k"

    minishard_bits = 3

    @property
    def chunk(self):
        return (self.edge,) * 3

    @property
    def grid(self):
        return tuple(size // self.edge for size in self.shape)

    @property
    def grid_bits(self):
        return tuple((count - 1).bit_length() for count in self.grid)

    @property
    def preshift_bits(self):
        return max(0, sum(self.grid_bits) - self.minishard_bits - self.shard_bits)

    @property
    def shard_edge(self):
        return min(512, *self.shape)

    @property
    def shard(self):
        return (self.shard_edge,) * 3


class Dataset:
    """A dataset on disk: `sharded` and `plain` directories, `list` of chunks, `image` (squashfs)."""

    def __init__(self, make, directory):
        self.make = make
        self.name = make.name
        self.directory = pathlib.Path(directory) / make.name
        self.sharded = self.directory / "sharded"
        self.plain = self.directory / "plain"
        self.list = self.directory / "chunks.tsv"
        self.image = self.directory / "plain.squashfs"
        self.scale = "c" if make.format == "zarr" else "8_8_8"  # what is listed and copied

    def prepare(self):
        """Makes what is missing. Returns self."""
        stamp = self.directory / "made.json"
        sources = pathlib.Path(__file__).read_bytes()
        wanted = json.dumps([dataclasses.asdict(self.make), hashlib.sha256(sources).hexdigest()])
        if stamp.exists() and stamp.read_text() == wanted:
            return self
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self._write()
        self._write_list()
        subprocess.run(["mksquashfs", self.plain, self.image, "-noI", "-noD", "-noF", "-noX",
                        "-no-progress", "-quiet"], check=True, stdout=subprocess.DEVNULL)
        stamp.write_text(wanted)
        return self

    def _write(self):
        stores = [tensorstore.open(spec(self.make, self.sharded, True)).result(),
                  tensorstore.open(spec(self.make, self.plain, False)).result()]
        tile = texture()
        steps = [range(0, size, step) for size, step in zip(self.make.shape, SHARD_VOXELS)]
        for x in steps[0]:
            for y in steps[1]:
                for z in steps[2]:
                    block = voxels(tile, (x, y, z), self.make.shape)
                    where = tuple(slice(low, low + size)
                                  for low, size in zip((x, y, z), block.shape))
                    for store in stores:
                        with tensorstore.Transaction() as transaction:
                            target = store.with_transaction(transaction)
                            target[where + (0,) * (target.rank - 3)] = block

    def _write_list(self):
        root = self.plain / self.scale
        names = sorted(str(path.relative_to(self.plain))
                       for path in root.rglob("*") if path.is_file())
        lines = []
        for name in names:
            shard, minishard, number = locate(self.make, cell_of(self.make, name))
            lines.append(f"{name}\t{self.sharded / shard}\t{minishard}\t{number}\n")
        self.list.write_text("".join(lines))


@functools.cache
def texture():
    """A periodic tile of smooth texture and noise."""
    random = numpy.random.Generator(numpy.random.PCG64(20))
    noise = numpy.fft.rfftn(random.standard_normal((TILE,) * 3, dtype=numpy.float32))
    squares = [numpy.fft.fftfreq(TILE) ** 2] * 2 + [numpy.fft.rfftfreq(TILE) ** 2]
    radius = squares[0][:, None, None] + squares[1][None, :, None] + squares[2][None, None, :]
    smooth = numpy.fft.irfftn(noise * numpy.exp(-radius * 2000), (TILE,) * 3)
    grain = random.standard_normal((TILE,) * 3, dtype=numpy.float32)
    return numpy.clip(128 + 40 * smooth / smooth.std() + 2 * grain, 0, 255).astype(numpy.uint8)


def voxels(tile, origin, shape):
    """One block of a volume: the tile, shifted differently in each place so that none repeats."""
    size = [min(step, whole - low) for step, whole, low in zip(SHARD_VOXELS, shape, origin)]
    block = numpy.empty(size, numpy.uint8)
    for x in range(0, size[0], TILE):
        for y in range(0, size[1], TILE):
            for z in range(0, size[2], TILE):
                seed = [low + step for low, step in zip(origin, (x, y, z))]
                shift = numpy.random.Generator(numpy.random.PCG64(seed)).integers(1, TILE, 3)
                part = block[x:x + TILE, y:y + TILE, z:z + TILE]
                part[...] = numpy.roll(tile, shift, (0, 1, 2))[tuple(map(slice, part.shape))]
    return block


def spec(make, path, sharded):
    """The TensorStore spec that creates a dataset."""
    return (zarr_spec if make.format == "zarr" else precomputed_spec)(make, path, sharded)


def zarr_spec(make, path, sharded):
    codecs = [{"name": "bytes"}]
    if make.encoding == "gzip":
        codecs.append({"name": "gzip", "configuration": {"level": 5}})
    chunk = list(make.chunk)
    if sharded:
        codecs = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunk, "codecs": codecs,
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                             {"name": "crc32c"}]}}]
        chunk = list(make.shard)
    return {"driver": "zarr3", "kvstore": f"file://{path}/", "create": True, "metadata": {
        "shape": list(make.shape), "data_type": "uint8", "fill_value": 0, "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}}}}


def precomputed_spec(make, path, sharded):
    scale = {"key": "8_8_8", "resolution": [8, 8, 8], "encoding": "raw",
             "chunk_size": list(make.chunk), "size": list(make.shape)}
    if sharded:
        scale["sharding"] = {
            "@type": "neuroglancer_uint64_sharded_v1", "hash": "identity",
            "preshift_bits": make.preshift_bits, "minishard_bits": make.minishard_bits,
            "shard_bits": make.shard_bits,
            "minishard_index_encoding": make.encoding, "data_encoding": make.encoding}
    return {"driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/", "create": True,
            "multiscale_metadata": {"type": "image", "data_type": "uint8", "num_channels": 1},
            "scale_metadata": scale}


def cell_of(make, name):
    """The grid cell that a chunk's name below the dataset says."""
    if make.format == "zarr":
        return tuple(int(part) for part in name.split("/")[1:])
    return tuple(int(part.split("-")[0]) // make.edge for part in name.split("/")[1].split("_"))


def locate(make, cell):
    """Where a cell's chunk is: shard file, minishard, number of the chunk in there."""
    if make.format == "zarr":
        per_shard = make.shard_edge // make.edge
        number = 0
        for position in cell:
            number = number * per_shard + position % per_shard
        return "c/" + "/".join(str(p // per_shard) for p in cell), 0, number
    number = morton(cell, make.grid_bits)
    minishard = number >> make.preshift_bits & 7
    shard = number >> make.preshift_bits + 3
    return f"8_8_8/{shard:0{-(-make.shard_bits // 4)}x}.shard", minishard, number


def morton(cell, bits):
    """The compressed Morton code: bits of x, y and z in turn, as long as each has any."""
    code = place = 0
    for level in range(max(bits)):
        for axis in range(3):
            if level < bits[axis]:
                code |= (cell[axis] >> level & 1) << place
                place += 1
    return code


def page_size(make):
    """What the bare reader takes as PAGE."""
    return (make.shard_edge // make.edge) ** 3 if make.format == "zarr" else 8
