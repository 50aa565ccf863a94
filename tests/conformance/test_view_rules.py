"""What a view says of the source beside its voxels: where levels stand, axes, units, places, types,
values of absent chunks. What it cannot say is refused, by name."""

import json
import os
import subprocess

import numpy as np
import pytest

from judging import SEED
from mounting import MountFailed
from test_views import (SOURCES, VIEWS, N5, Precomputed, ShardedZarr, SingleN5, SingleZarr2, SplitChannels,
                        SplitChannelsN5, Zarr2, chunks_in, paths_in, read_level, same)
from test_views import sources  # noqa: F401 (fixture)


def make_level(path, shape, dtype="uint8", **options):
    """An array of few voxels, all different."""
    import zarr

    array = zarr.create_array(path, shape=shape, chunks=(4,) * len(shape), dtype=dtype, **options)
    array[...] = np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def make_ome(path, levels, axes="zyx", unit="nanometer"):
    """An OME-Zarr of 8³ voxels and fewer; levels: path, resolution of all axes, translation."""
    import zarr

    datasets = []
    for level, resolution, translation in levels:
        make_level(path / level, (8 // int(resolution),) * len(axes), dimension_names=[*axes])
        datasets.append({"path": level, "coordinateTransformations": [
            {"type": "scale", "scale": [resolution] * len(axes)},
            {"type": "translation", "translation": [translation] * len(axes)}]})
    named = [{"name": name, "type": "space", "unit": unit} for name in axes]
    zarr.create_group(path, attributes={"ome": {"version": "0.5", "multiscales": [
        {"axes": named, "datasets": datasets}]}})


OBSTACLES = {  # what is in the way, the views that it is in the way of, and words of the reason
    "type": (lambda path: make_level(path, (8, 8, 8), "int64"), {"precomputed": "int64"}),
    "complex": (lambda path: make_level(path, (8, 8, 8), "complex64"),
                {"precomputed": "complex64", "n5": "complex64"}),
    "axis": (lambda path: make_level(path, (3, 8, 8, 8), dimension_names=[*"tzyx"]),
             {"precomputed": "the axis t of extent 3 is none of x, y, z and channel"}),
    "rank": (lambda path: make_level(path, (8,)), {"precomputed": "do not include both x and y"}),
    "unit": (lambda path: make_level(path, (8, 8, 8), dimension_names=[*"zyx"],
                                     attributes={"dimension_units": ["4 s", "1 nm", "1 nm"]}),
             {"precomputed": "the unit s of the axis z"}),
    "translation": (lambda path: make_ome(path, [("0", 1, 0), ("1", 2, 0.3)]),
                    {"precomputed": "translations", "n5": "translations"}),
    "factor": (lambda path: make_ome(path, [("0", 1, 0), ("1", 1.5, 0)]),
               {"n5": "1.5 times as coarse"}),
    "resolution": (lambda path: make_ome(path, [("0", 1, 0), ("1", 1, 0)]),
                   {"precomputed": "1_1_1"})}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_view_that_cannot_say_the_source_is_refused_and_missing_among_all(obstacle, mount, work):
    make, refused = OBSTACLES[obstacle]
    make(work / "source")
    for view, reason in refused.items():
        with pytest.raises(MountFailed) as caught:
            mount(work / "source", f"view={view}")
        assert caught.value.returncode == 1
        said = [line for line in caught.value.log.splitlines() if line]
        assert len(said) == 1 and reason in said[0] and str(work / "source") in said[0]
    whole = mount(work / "source", "view=all")
    assert sorted(os.listdir(whole.path)) == sorted(set(VIEWS) - refused.keys())
    said = whole.status()["refused_views"]
    assert said.keys() == refused.keys()
    for view, reason in refused.items():
        assert not (whole.path / view).exists() and reason in said[view]
        why = subprocess.run([os.environ["UNSHARD"], "why", whole.path / view], capture_output=True, text=True)
        assert f"/{view}: lookup failed with ENOENT" in why.stdout and reason in why.stdout


@pytest.mark.parametrize("translation", [4, 5], ids=["of corners", "of centres"])
def test_levels_begin_at_whole_voxels(translation, mount, work):
    """As BigStitcher and many older writers place them, and as ome-zarr-py does. Paths of several parts."""
    make_ome(work / "source", [("a/fine", 2, 4), ("a/coarse", 4, translation)])
    root = mount(work / "source", "ro,view=all").path
    scales = json.loads((root / "precomputed" / "info").read_text())["scales"]
    assert [(scale["key"], scale["voxel_offset"]) for scale in scales] == \
        [("2_2_2", [2, 2, 2]), ("4_4_4", [1, 1, 1])]
    for level, shape in enumerate([(4, 4, 4), (2, 2, 2)]):
        members = json.loads((root / "n5" / f"s{level}" / "attributes.json").read_text())
        assert members["offset"] == [4, 4, 4] and members["dimensions"] == [*shape]
    source = json.loads((root / "native" / "zarr.json").read_text())["attributes"]["ome"]
    moved = json.loads((root / "zarr2" / ".zattrs").read_text())["multiscales"]
    assert [{**one, "version": "0.4"} for one in source["multiscales"]] == moved
    assert (root / "zarr2" / "a" / "coarse" / ".zarray").exists()


@pytest.mark.parametrize("kind", [Precomputed, ShardedZarr, Zarr2, N5, SingleN5, SplitChannels],
                         ids=lambda kind: kind.__name__)
def test_a_dataset_stays_at_its_path(kind, mount, work):
    """Below directories of a source, beside another array; the root of N5 has its version."""
    source = kind(work / "source" / "deep" / "er" / "data", 3)
    SingleZarr2(work / "source" / "other", 4)
    root = mount(work / "source", "ro,view=all").path
    for view in VIEWS:
        format = source.format if view in ("native", "raw") else view
        for level, (path, wanted) in enumerate(zip(paths_in(source, view), source.levels)):
            place = root / view / "deep" / "er" / "data"
            same(read_level(place, format, path, level).reshape(wanted.shape), wanted)
        document = {"precomputed": "info", "zarr3": "zarr.json", "n5": "attributes.json"}
        assert (root / view / "other" / document.get(view, ".zarray")).exists(), view
    assert json.loads((root / "n5" / "attributes.json").read_text())["n5"]


FILLS = {"bool": True, "int8": -7, "uint8": 200, "int16": -300, "uint16": 60000, "int32": -70000,
         "uint32": 2 ** 32 - 1, "int64": -2 ** 63, "uint64": 2 ** 64 - 1, "float16": -np.inf,
         "float32": np.nan, "float64": 0.1, "complex64": complex(np.nan, np.inf),
         "complex128": 1.5 - 2j}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", FILLS)
def test_fill_values_are_those_of_the_source_in_every_view(dtype, version, mount, work):
    """Chunks that are absent, and chunks that have some such voxels."""
    import zarr

    fill = np.array(FILLS[dtype]).astype(dtype)
    options = {"shards": (4, 8, 8)} if version == 3 else {"order": "F"}
    array = zarr.create_array(work / "source", shape=(5, 9, 7), chunks=(2, 4, 4), dtype=dtype,
                              fill_value=fill[()], zarr_format=version, **options)
    array[:1, :4, :4] = np.arange(16).reshape(1, 4, 4) % 2
    wanted = array[...]
    root = mount(work / "source", "ro,view=all").path
    shown = [view for view in VIEWS[1:] if (root / view).exists()]
    assert {"raw", "zarr3", "zarr2"} <= {*shown}
    for view in shown:
        format = f"zarr{version}" if view == "raw" else view
        found = read_level(root / view, format, "", 0).reshape(wanted.shape)
        as_bytes = dtype == "bool" and not format.startswith("zarr")
        assert found.dtype == ("uint8" if as_bytes else dtype)
        same(found, wanted)
        if format.startswith("zarr"):
            other = zarr.open_array(root / view, mode="r", zarr_format=int(format[-1]))
            same(np.array(other.fill_value), fill)
            same(other[...], wanted)


@pytest.mark.parametrize("kind", SOURCES, ids=lambda kind: kind.__name__)
def test_raw_has_the_names_of_the_source_and_no_compression(kind, sources, mount):
    source = sources(kind)
    native = mount(source.path, "ro,view=native").path
    raw = mount(source.path, "ro,view=raw").path
    assert {name.removesuffix(".gz") for name in chunks_in(native)} == chunks_in(raw).keys()
    for level, path in enumerate(source.paths):
        if source.format == "precomputed":
            scale = json.loads((raw / "info").read_text())["scales"][level]
            assert scale["encoding"] == "raw" and "compressed_segmentation_block_size" not in scale
            continue
        document = {"zarr3": "zarr.json", "zarr2": ".zarray", "n5": "attributes.json"}[source.format]
        said = json.loads((raw / path / document).read_text())
        if source.format == "zarr3":
            assert {codec["name"] for codec in said["codecs"]} <= {"transpose", "bytes"}
        else:
            assert said.get("compressor") is None and not said.get("filters")
            assert said.get("compression") in (None, {"type": "raw"})


def test_names_and_units_of_one_array_are_in_every_view(mount, work):
    import tensorstore as ts
    import zarr

    values = np.arange(6 * 7 * 8, dtype="uint16").reshape(6, 7, 8)
    for name, units in (("units", ["30 nm", "8.5 nm", "8.5 nm"]), ("none", None)):
        array = zarr.create_array(work / name, shape=values.shape, chunks=(3, 4, 5), dtype="uint16",
                                  dimension_names=["z", "y", "x"],
                                  attributes={"dimension_units": units} if units else {})
        array[...] = values
        mounted = mount(work / name, "ro,view=all")
        root = mounted.path
        assert json.loads((root / "zarr2/.zattrs").read_text())["_ARRAY_DIMENSIONS"] == \
            ["z", "y", "x"]
        n5 = json.loads((root / "n5/attributes.json").read_text())
        assert n5["axes"] == ["x", "y", "z"]
        volume = json.loads((root / "precomputed/info").read_text())
        said = "no units" in mounted.log()
        if units:
            assert (n5["units"], n5["resolution"]) == (["nm"] * 3, [8.5, 8.5, 30])
            assert volume["scales"][0]["resolution"] == [8.5, 8.5, 30] and not said
        else:
            assert "units" not in n5 and "resolution" not in n5
            assert volume["scales"][0]["resolution"] == [1, 1, 1] and said
        for path, driver in (("zarr2", "zarr"), ("n5", "n5")):
            store = ts.open({"driver": driver, "kvstore": f"file://{root}/{path}/"}).result()
            same(store.read().result(), values if driver == "zarr" else values.T)
            if driver == "n5":
                found = [unit and (unit.multiplier, unit.base_unit)
                         for unit in store.dimension_units]
                assert found == ([(8.5, "nm"), (8.5, "nm"), (30, "nm")] if units else [None] * 3)


@pytest.mark.parametrize("kind", [SingleN5, SplitChannelsN5], ids=lambda kind: kind.__name__)
def test_names_and_units_of_one_n5_dataset_are_in_views_as_zarr(kind, sources, mount):
    import tensorstore as ts
    import zarr

    source = sources(kind)
    root = mount(source.path, "ro,view=all").path
    stored = ts.open({"driver": "n5", "kvstore": f"file://{source.path}/"}).result()
    shown = ts.open({"driver": "zarr3", "kvstore": f"file://{root}/zarr3/"}).result()
    assert shown.dimension_units == stored.dimension_units[::-1]
    names = [*"czyx"[-shown.rank:]]
    assert list(shown.domain.labels) == names
    assert zarr.open_array(root / "zarr2", mode="r", zarr_format=2).attrs["_ARRAY_DIMENSIONS"] == names


def test_flat_arrays_of_booleans_are_volumes_of_bytes(mount, work):
    import tensorstore as ts
    import zarr
    from cloudvolume import CloudVolume

    values = np.random.default_rng([SEED, 11]).integers(0, 2, (9, 14)).astype(bool)
    array = zarr.create_array(work / "source", shape=values.shape, chunks=(4, 5), dtype="bool")
    array[...] = values
    root = mount(work / "source", "ro,view=all").path
    info = json.loads((root / "precomputed/info").read_text())
    assert info["data_type"] == "uint8" and info["scales"][0]["size"] == [14, 9, 1]
    wanted = values.T.astype("uint8")
    same(ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{root}/precomputed/"})
         .result().read().result()[..., 0, 0], wanted)
    same(np.asarray(CloudVolume(f"file://{root}/precomputed", progress=False, cache=False,
                                fill_missing=True)[:])[..., 0, 0], wanted)
    assert json.loads((root / "n5/attributes.json").read_text())["dataType"] == "uint8"
    same(ts.open({"driver": "n5", "kvstore": f"file://{root}/n5/"}).result().read().result(), wanted)
    for version, view in ((2, "zarr2"), (3, "zarr3")):
        found = zarr.open_array(root / view, mode="r", zarr_format=version)
        assert found.dtype == bool
        same(found[...], values)
