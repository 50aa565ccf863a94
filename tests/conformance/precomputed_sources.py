"""Sharded precomputed volumes as TensorStore and CloudVolume write them, with what they must look
like unsharded: names, bytes and voxels, all told by the peers."""

import dataclasses
import json
import os
import pathlib
import random

import numpy as np
import tensorstore as ts

from judging import SEED, put_file
from shard_container import (MURMUR, Sharding, cells_of, compressed_morton, grid_of, legacy_morton,
                             range_name, read_values, split_into_pairs, write_values)


@dataclasses.dataclass
class Scale:
    size: tuple = (20, 18, 10)
    chunk: tuple = (8, 8, 8)
    offset: tuple = (0, 0, 0)
    sharding: object = dataclasses.field(default_factory=Sharding)  # None: absent; "null": null
    encoding: str = "raw"
    key: str = "s0"
    present: float = 1.0   # share of the chunks that are written
    split: bool = False    # into the obsolete pair of files
    legacy: bool = False   # chunk ids by the rule of before mid-2021

    @property
    def folder(self):
        """Of the chunks, below the directory of the info."""
        return os.path.normpath(self.key)

    @property
    def sharded(self):
        return isinstance(self.sharding, Sharding)

    def grid(self):
        return grid_of(self.size, self.chunk)

    def json(self, resolution, with_sharding=True):
        scale = {"chunk_sizes": [list(self.chunk)], "encoding": self.encoding, "key": self.key,
                 "resolution": resolution, "size": list(self.size)}
        if self.encoding == "compressed_segmentation":
            scale["compressed_segmentation_block_size"] = [4, 3, 2]
        if self.encoding == "jpeg":
            scale["jpeg_quality"] = 80
        if with_sharding and self.sharding is not None:
            scale["sharding"] = None if self.sharding == "null" else self.sharding.json()
        scale["voxel_offset"] = list(self.offset)
        return scale


@dataclasses.dataclass
class Volume:
    name: str
    dtype: str = "uint8"
    channels: int = 1
    writer: str = "tensorstore"
    scales: list = dataclasses.field(default_factory=lambda: [Scale()])
    folder: str | None = None  # of the info, below the source; default: the name

    def __str__(self):
        return self.name

    @property
    def directory(self):
        return self.folder or self.name


@dataclasses.dataclass
class Expected:
    """What one scale must look like in the mount."""
    voxels: np.ndarray  # x y z channel
    files: dict         # name: bytes that the peer's sharded store gives
    twin: dict          # name: bytes that the peer writes unsharded


def info_text(volume, with_sharding=True):
    """An `info` with members and number tokens that a careless rewrite would lose."""
    scales = []
    for number, scale in enumerate(volume.scales):
        resolution = [4.0 * 2 ** number, 4 * 2 ** number, 40]
        scales.append(scale.json(resolution, with_sharding))
    segmentation = volume.dtype in ("uint32", "uint64")
    document = {"zeta": {"kept": [1, None, True, "ü \\ \" /"]}, "@type":
                "neuroglancer_multiscale_volume", "type": "segmentation" if segmentation else "image",
                "data_type": volume.dtype, "num_channels": volume.channels, "scales": scales,
                "mip": 7777777777777, "alpha": "BIG"}
    text = json.dumps(document, ensure_ascii=False, indent=1)
    return text.replace("7777777777777", "1.50e+2").replace('"BIG"', "18446744073709551617")


def sample_voxels(volume, scale, rng):
    """Voxels without a chunk of zeros, which peers would leave out."""
    shape = (*scale.size, volume.channels)
    dtype = np.dtype(volume.dtype)
    if scale.encoding == "compressed_segmentation":
        coarse = rng.integers(1, 2 ** 31, size=[(n + 4) // 5 for n in scale.size] + [volume.channels])
        fine = coarse.repeat(5, 0).repeat(5, 1).repeat(5, 2)[:shape[0], :shape[1], :shape[2]]
        return (fine.astype(dtype) << (20 if dtype.itemsize == 8 else 0)) | dtype.type(1)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    voxels = rng.integers(limits.min, limits.max, size=shape, dtype=dtype, endpoint=True)
    voxels[voxels == 0] = 1
    return voxels


def open_tensorstore(directory, scale_index):
    return ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{directory}/",
                    "scale_index": scale_index}, open=True).result()


def read_tensorstore(directory, scale_index):
    return open_tensorstore(directory, scale_index).read().result()


def write_cells(store, scale, voxels, cells):
    """Writes whole chunks, all in one transaction, so that each shard is written once."""
    with ts.Transaction() as transaction:
        view = store.with_transaction(transaction)
        for cell in cells:
            low = [at * step for at, step in zip(cell, scale.chunk)]
            high = [min(a + step, n) for a, step, n in zip(low, scale.chunk, scale.size)]
            here = tuple(slice(a, b) for a, b in zip(low, high))
            there = tuple(slice(a + o, b + o) for a, b, o in zip(low, high, scale.offset))
            view[there] = voxels[here]


def build(source, twins, volume):
    """Writes the volume below `source` and its unsharded twin below `twins`: [Expected] by scale."""
    rng = np.random.default_rng([SEED, *volume.name.encode()])
    root, twin = pathlib.Path(source) / volume.directory, pathlib.Path(twins) / volume.directory
    put_file(twin / "info", info_text(volume, with_sharding=False))
    put_file(root / "info", info_text(volume))
    result = []
    for index, scale in enumerate(volume.scales):
        cells = [cell for cell in cells_of(scale.grid()) if rng.random() < scale.present]
        voxels = sample_voxels(volume, scale, rng)
        names = {cell: range_name(cell, scale.size, scale.offset, scale.chunk) for cell in cells}
        if volume.writer == "cloudvolume":
            write_cloudvolume(root, twin, index, scale, voxels, cells)
        else:
            write_cells(open_tensorstore(twin, index), scale, voxels, cells)
        twin_files = {name: (twin / scale.folder / name).read_bytes() for name in names.values()}
        if volume.writer != "cloudvolume":
            write_sharded(root, index, scale, voxels, names, twin_files)
        result.append(expected_of(root, twin, index, scale, names, twin_files))
        (root / scale.folder).mkdir(parents=True, exist_ok=True)
    return result


def write_sharded(root, index, scale, voxels, names, twin_files):
    if scale.legacy:
        write_values(root / scale.folder, scale.sharding,
                     {legacy_morton(cell, scale.grid()): twin_files[name]
                      for cell, name in names.items()})
    else:
        write_cells(open_tensorstore(root, index), scale, voxels, names)


def expected_of(root, twin, index, scale, names, twin_files):
    reference = twin if scale.legacy or not scale.sharded else root
    voxels = read_tensorstore(reference, index)
    files = twin_files
    if scale.sharded:
        number = legacy_morton if scale.legacy else compressed_morton
        ids = {number(cell, scale.grid()): name for cell, name in names.items()}
        values = read_values(root / scale.folder, scale.sharding, ids)
        files = {ids[key]: value for key, value in values.items()}
        assert set(files) == set(names.values()), "the peer did not write the chunks it was given"
    if scale.split:
        split_into_pairs(root / scale.folder, scale.sharding)
    return Expected(voxels, files, twin_files)


def open_cloudvolume(directory, scale_index, **more):
    from cloudvolume import CloudVolume
    return CloudVolume(f"file://{directory}", mip=scale_index, progress=False, parallel=1,
                       **{"fill_missing": True, "compress": False, **more})


def write_cloudvolume(root, twin, index, scale, voxels, cells):
    """CloudVolume's own encoders and its own shard writer."""
    from cloudvolume import Bbox
    from cloudvolume.datasource.precomputed.sharding import synthesize_shard_files
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification
    plain, sharded = open_cloudvolume(twin, index), open_cloudvolume(root, index)
    labels = {}
    for cell in cells:
        low = np.array(cell) * scale.chunk
        high = np.minimum(low + scale.chunk, scale.size)
        part = np.asfortranarray(voxels[tuple(slice(a, b) for a, b in zip(low, high))])
        box = Bbox(low + scale.offset, high + scale.offset)
        plain[box.to_slices()] = part
        name = range_name(cell, scale.size, scale.offset, scale.chunk)
        labels[compressed_morton(cell, scale.grid())] = (twin / scale.folder / name).read_bytes()
    spec = ShardingSpecification.from_dict(sharded.meta.scale(index)["sharding"])
    for name, content in synthesize_shard_files(spec, labels).items():
        put_file(root / scale.folder / name, content)


RAW_TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "float32"]


def random_volume(rng, number, writer):
    """One draw from the matrix. CloudVolume's draws keep to what CloudVolume can write."""
    cloud = writer == "cloudvolume"
    encoding = rng.choice(["raw", "raw", "jpeg", "compressed_segmentation"] + ["png"] * (not cloud))
    dtype, channels = {
        "raw": (rng.choice(RAW_TYPES), rng.choice([1, 1, 2, 3])),
        "jpeg": ("uint8", rng.choice([1, 3])),
        "png": (rng.choice(["uint8", "uint16"]), rng.choice([1, 2, 3, 4])),
        "compressed_segmentation": (rng.choice(["uint32", "uint64"]), 1 if cloud else
                                    rng.choice([1, 2])),
    }[encoding]
    chunk = tuple(rng.randint(3, 12) for _ in range(3))
    grid = [rng.choice([1, 1, 2, 3, 4, 5]) for _ in range(3)]
    size = tuple(max(1, n * c - rng.randrange(c)) for n, c in zip(grid, chunk))
    offset = tuple(rng.choice([0, 0, 17, -5, -40, 10 ** 6]) for _ in range(3))
    sharding = Sharding(rng.choice([0, 0, 1, 2, 3, 5]), rng.choice([0, 1, 2, 3, 6]),
                        rng.choice([0, 1, 2, 3, 5, 9]), rng.choice(["identity", MURMUR]),
                        rng.choice(["raw", "gzip", None]), rng.choice(["raw", "gzip", None]))
    scale = Scale(size, chunk, offset, sharding, encoding, rng.choice(["s0", "8_8_40", "a/b/c"]),
                  rng.choice([1.0, 1.0, 0.6]))
    short = {"tensorstore": "ts", "cloudvolume": "cv"}[writer]
    name = f"{short}{number:02}-{dtype}x{channels}-{encoding}-{sharding}"
    return Volume(name, dtype, channels, writer, [scale])


def random_volumes():
    rng = random.Random(SEED)
    return ([random_volume(rng, number, "tensorstore") for number in range(60)] +
            [random_volume(rng, number, "cloudvolume") for number in range(20)])


def chosen_volumes():
    """The corners of the parameter space, whatever the seed."""
    box = dict(size=(20, 18, 10), chunk=(8, 8, 8))
    gzip = dict(index_encoding="gzip", data_encoding="gzip")
    return [
        Volume("all-bits-zero", scales=[Scale(**box)]),
        Volume("preshift-64", scales=[Scale(**box, sharding=Sharding(64, 0, 0, **gzip))]),
        Volume("preshift-64-murmur", scales=[Scale(**box, sharding=Sharding(64, 2, 3, MURMUR))]),
        Volume("shard-bits-62", scales=[Scale(**box, sharding=Sharding(0, 2, 62))]),
        Volume("shard-bits-64-murmur", scales=[Scale(**box, sharding=Sharding(0, 0, 64, MURMUR))]),
        Volume("minishard-bits-16", scales=[Scale(**box, sharding=Sharding(0, 16, 0, MURMUR, **gzip))]),
        Volume("one-chunk", scales=[Scale((5, 6, 7), (8, 8, 8), sharding=Sharding(1, 1, 1))]),
        Volume("one-voxel", scales=[Scale((1, 1, 1), (1, 1, 1))]),
        Volume("grid-1-7-1", "uint16", scales=[Scale((8, 50, 8), (8, 8, 8), (0, -24, 3),
                                                     Sharding(1, 1, 1, **gzip))]),
        Volume("no-chunks-written", scales=[Scale(**box, present=0)]),
        Volume("few-chunks-written", scales=[Scale(**box, present=0.1, sharding=Sharding(0, 0, 9))]),
        Volume("shards-wrap", scales=[Scale((40, 40, 40), (8, 8, 8), sharding=Sharding(1, 1, 2))]),
        Volume("negative-offset", "int16", 2, scales=[
            Scale(**box, offset=(-13, -800, -8), sharding=Sharding(0, 1, 1, **gzip))]),
        Volume("sharding-null", scales=[Scale(**box, sharding="null")]),
        Volume("unsharded", "uint32", scales=[Scale(**box, sharding=None,
                                                    encoding="compressed_segmentation")]),
        Volume("mixed-scales", "uint64", scales=[
            Scale(**box, sharding=Sharding(1, 2, 1, **gzip), encoding="compressed_segmentation"),
            Scale((10, 9, 10), (8, 8, 8), sharding=None, key="s1"),
            Scale((5, 5, 5), (3, 3, 3), sharding="null", key="s2", encoding="compressed_segmentation"),
            Scale((3, 3, 5), (2, 2, 2), sharding=Sharding(0, 0, 2), key="s3")]),
        Volume("one-key-sharded-and-not", scales=[
            Scale(**box, key="shared", sharding=Sharding(0, 1, 1)),
            Scale((20, 18, 10), (5, 5, 5), sharding=None, key="shared")]),
        Volume("one-key-two-shardings", scales=[
            Scale(**box, key="shared", sharding=Sharding(0, 1, 1)),
            Scale((20, 18, 10), (5, 5, 5), sharding=Sharding(0, 1, 6, **gzip), key="shared")]),
        Volume("nested-keys", scales=[
            Scale(**box, key="a/b", sharding=Sharding(0, 1, 1)),
            Scale((10, 9, 10), (8, 8, 8), key="a", sharding=Sharding(0, 0, 1)),
            Scale((5, 5, 5), (3, 3, 3), key="a/b/c/d", sharding=Sharding(2, 0, 3))]),
        Volume("key-above", scales=[Scale(**box, key="../moved/s0", sharding=Sharding(0, 1, 1)),
                                    Scale((10, 9, 10), (8, 8, 8), key="in/../here")],
               folder="wide/volume"),
        Volume("obsolete-pair", "uint16", scales=[
            Scale(**box, sharding=Sharding(0, 1, 2, **gzip), split=True)]),
        Volume("obsolete-pair-raw", scales=[Scale(**box, sharding=Sharding(1, 2, 0), split=True)]),
        Volume("legacy-morton-found-out", scales=[
            Scale((32, 16, 8), (8, 8, 8), sharding=Sharding(0, 1, 2), legacy=True)]),
    ]


def legacy_volumes():
    """For a mount with morton=legacy."""
    return [
        Volume("legacy-raw", scales=[Scale((32, 16, 8), (8, 8, 8), sharding=Sharding(0, 1, 2),
                                           legacy=True)]),
        Volume("legacy-png-gzip", "uint8", 3, scales=[
            Scale((64, 40, 10), (8, 8, 8), (8, -8, 0), Sharding(2, 1, 3, MURMUR, "gzip", "gzip"),
                  "png", legacy=True, present=0.7)]),
        Volume("legacy-no-power-of-two", scales=[
            Scale((40, 24, 20), (8, 8, 8), sharding=Sharding(0, 1, 2), legacy=True)]),
    ]
