"""Random trees of datasets as other programs write them, with foreign files beside them: each view and a copy
have the voxels that zarr-python and TensorStore read in the source, and the files as they are."""

import dataclasses
import json
import math

import numpy as np
import pytest

from judging import SEED, put_file
from test_copy import copy, opened, voxels_of  # noqa: F401 (fixture)

VIEWS = ["native", "raw", "zarr2", "zarr3", "n5", "precomputed"]
FILES = {"README.md": b"made elsewhere\n", "empty": b"", "sub dir/\u00e4\u6587.csv": b"1,2\n", "x.npy": bytes(range(256)) * 9}


@dataclasses.dataclass
class Member:
    """One array, or all levels of a pyramid, slowest axis first."""
    path: str
    format: str
    levels: list
    paths: list = dataclasses.field(default_factory=lambda: [""])  # of its levels, in the source
    is_image: bool = False  # with axes that a precomputed volume has

    def path_in(self, format, level):
        """The level's path in a view or a copy of that format."""
        single = self.paths == [""] and self.format != "precomputed"
        same = format == self.format or (format.startswith("zarr") and self.format.startswith("zarr"))
        below = self.paths[level] if single or same else f"{'s' if format == 'n5' else ''}{level}"
        return f"{self.path}/{below}".rstrip("/")


def values(rng, shape, dtype):
    made = rng.integers(0, 100, shape).astype(dtype)
    if made.ndim:
        made[: shape[0] // 2] = 0  # so that chunks are absent
    return made


def some_shape(rng):
    return tuple(int(n) for n in rng.integers(1, 14, rng.integers(1, 5)))


def zarr_array(path, rng, version, data, **options):
    import zarr

    chunks = tuple(int(rng.integers(1, n + 1)) for n in data.shape)
    if version == 3 and rng.random() < 0.6:
        options["shards"] = tuple(c * int(rng.integers(1, 4)) for c in chunks)
    if version == 2:
        options["order"] = str(rng.choice(["C", "F"]))
        options["chunk_key_encoding"] = {"name": "v2", "separator": str(rng.choice([".", "/"]))}
        compressors = ["auto", None]
    else:
        compressors = ["auto", None, zarr.codecs.GzipCodec(level=1), zarr.codecs.BloscCodec()]
    compressor = compressors[rng.integers(len(compressors))]
    array = zarr.create_array(path, shape=data.shape, dtype=data.dtype, chunks=chunks, zarr_format=version,
                              compressors=compressor, fill_value=0, **options)
    array[...] = data


def lone_zarr(version):
    def make(root, path, rng):
        data = values(rng, some_shape(rng), rng.choice(["u1", "u2", "i4", "f4", "u8"]))
        zarr_array(root / path, rng, version, data)
        return [Member(path, f"zarr{version}", [data])]
    return make


def lone_n5(root, path, rng):
    import tensorstore as ts

    data = values(rng, some_shape(rng), rng.choice(["u1", "u2", "i4", "f4", "u8"]))
    compression = rng.choice([{"type": "raw"}, {"type": "gzip"}, {"type": "zstd", "level": 2}, {
        "type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}])
    chunk = [int(rng.integers(1, n + 1)) for n in data.shape[::-1]]
    ts.open({"driver": "n5", "kvstore": f"file://{root / path}/", "create": True, "metadata": {
        "dimensions": data.shape[::-1], "blockSize": chunk, "dataType": str(data.dtype),
        "compression": compression}}).result().write(data.transpose()).result()
    return [Member(path, "n5", [data])]


def precomputed(root, path, rng):
    import tensorstore as ts

    levels, keys = [], []
    for level in range(2):
        data = values(rng, (16 >> level, 20 >> level, 24 >> level), "u2")
        keys.append(f"{8 << level}_{8 << level}_{8 << level}")
        scale = {"key": keys[-1], "size": data.shape[::-1], "resolution": [8 << level] * 3,
                 "chunk_size": [8, 8, 8], "encoding": "raw"}
        if rng.random() < 0.5:
            scale["sharding"] = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1, "hash": "identity",
                                 "minishard_bits": 1, "shard_bits": 2, "data_encoding": "gzip"}
        ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{root / path}/", "create": True, "open": True,
                 "scale_metadata": scale,
                 "multiscale_metadata": {"type": "image", "data_type": "uint16", "num_channels": 1}}).result().write(data.transpose()[..., None]).result()
        levels.append(data)
    return [Member(path, "precomputed", levels, keys, True)]


def ome(ngff):
    """An image of one version: 0.1 and 0.2 name no axes, and none before 0.4 has transformations."""
    def make(root, path, rng):
        import zarr

        version = 3 if ngff == "0.5" else 2
        axes = ["t", "c", "z", "y", "x"] if ngff < "0.3" else ["z", "y", "x"]
        shape = (1,) * (len(axes) - 3) + (9, 16, 13)
        where = str(rng.choice(["{}", "scale{}/image", "deep/er/{}"]))
        levels, datasets = [], []
        multiscale = {"name": "m"}
        zarr.create_group(root / path, zarr_format=version)
        for level in range(2):
            data = values(rng, shape[:-3] + tuple(-(-n // (1 << level)) for n in shape[-3:]), "u2")
            names = {"dimension_names": axes} if version == 3 else {}
            zarr_array(root / path / where.format(level), rng, version, data, **names)
            levels.append(data)
            datasets.append({"path": where.format(level)})
            if ngff >= "0.4":
                scale = [1.0] * (len(axes) - 3) + [4.0 * (1 << level)] * 3
                datasets[-1]["coordinateTransformations"] = [{"type": "scale", "scale": scale}]
        if ngff == "0.3":
            multiscale["axes"] = axes
        elif ngff > "0.3":
            multiscale["axes"] = [{"name": name, "type": "space", "unit": "nanometer"} for name in axes]
        multiscale["datasets"] = datasets
        if version == 3:
            attributes = {"ome": {"version": ngff, "multiscales": [multiscale]}}
        else:
            attributes = {"multiscales": [{**multiscale, "version": ngff}]}
        zarr.open_group(root / path, mode="r+").update_attributes({**attributes, "made": "here", "nothing": None})
        for name, content in FILES.items():
            put_file(root / path / name, content)
        return [Member(path, f"zarr{version}", levels, [where.format(level) for level in range(2)], True)]
    return make


def from_xarray(version):
    def make(root, path, rng):
        import xarray
        import zarr

        rows, columns = (int(n) for n in rng.integers(2, 9, 2))
        bad = {"bad": math.nan} if version == 2 else {}  # TensorStore opens no zarr.json with a bare NaN
        data = xarray.Dataset({"rain": (("y", "x"), values(rng, (rows, columns), "f4")),
                               "count": (("y", "x"), values(rng, (rows, columns), "i2"), bad),
                               "crs": ((), 7)}, coords={"x": np.arange(columns) * 0.5})
        data.to_zarr(root / path, zarr_format=version, consolidated=bool(rng.random() < 0.5),
                     encoding={"count": {"_FillValue": -9}})
        read = zarr.open_group(root / path, mode="r", zarr_format=version, use_consolidated=False)
        return [Member(f"{path}/{name}", f"zarr{version}", [np.asarray(read[name][...])]) for name in ("rain", "count", "crs", "x")]
    return make


MAKERS = [lone_zarr(2), lone_zarr(3), lone_n5, precomputed, from_xarray(2), from_xarray(3),
          *(ome(version) for version in ("0.1", "0.2", "0.3", "0.4", "0.5"))]


def make_tree(root, rng):
    """Returns the members, and the files that belong to none of them."""
    import zarr

    zarr.create_group(root, zarr_format=int(rng.choice([2, 3])), attributes={"title": "a tree"})
    members, files = [], dict(FILES)
    for number, which in enumerate(rng.permutation(len(MAKERS))[:6]):
        above = "/".join(str(rng.choice(["a", "b b", "\u00e9"])) for _ in range(rng.integers(0, 3)))
        path = f"{above}/d{number}".lstrip("/")
        made = MAKERS[which](root, path, rng)
        members += made
        if made[0].is_image and made[0].format != "precomputed":
            files |= {f"{path}/{name}": content for name, content in FILES.items()}
        if above:
            files[f"{above}/notes.txt"] = path.encode()
    for name, content in files.items():
        put_file(root / name, content)
    return members, files


def check(root, members, files, view):
    for member in members:
        format = member.format if view in ("native", "raw") else view
        for level, wanted in enumerate(member.levels):
            if format == "precomputed":
                if not member.is_image:
                    continue
                found = voxels_of(root / member.path, format, level=level)
                wanted = wanted.reshape(wanted.shape[-3:])
            elif format == "n5" and wanted.ndim == 0:
                continue  # TensorStore has no such N5
            else:
                found = voxels_of(root, format, member.path_in(format, level))
            assert found.shape == wanted.shape and found.dtype == wanted.dtype, (view, member.path, level)
            np.testing.assert_array_equal(found, wanted, f"{view} {member.path} {level}")
    for name, content in files.items():
        assert (root / name).read_bytes() == content, (view, name)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore")
def test_views_and_copies_of_random_trees(seed, work, mount, copy):
    rng = np.random.default_rng([SEED, seed])
    print("seed", SEED, seed)
    members, files = make_tree(work / "source", rng)
    check(work / "source", members, files, "native")  # what the peers read
    mounted = mount(work / "source", "ro,view=all")
    for view in VIEWS:
        check(mounted.path / view, members, files, view)
    format = str(rng.choice(["zarr2", "zarr3", "n5"]))
    copy(work / "source", work / "copy", "--format", format, "--verify")
    check(work / "copy", members, files, format)
