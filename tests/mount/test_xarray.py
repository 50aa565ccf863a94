"""xarray: datasets whose variables are sharded arrays are extended and changed through a mount.

xarray itself creates them, in the source. Consolidated metadata are copies of all documents in that of
the group; they change with these.

In the other version of Zarr, in views and in copies, xarray reads the values that it reads in the source.
"""

import json
import subprocess

import numpy as np
import pytest
import xarray

from write_data import PATIENT, flush

CHUNKS, SHARDS = (2, 8, 8), (4, 16, 16)
ROWS, COLUMNS = 30, 20

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata:UserWarning")


def days(first, count):
    """A dataset of so many days, the values of which say when and where they stand."""
    shape = (count, ROWS, COLUMNS)
    place = np.arange(ROWS * COLUMNS, dtype="u2").reshape(1, ROWS, COLUMNS)
    values = 1 + place + 700 * np.arange(first, first + count, dtype="u2").reshape(-1, 1, 1)
    assert values.shape == shape
    return xarray.Dataset(
        {"rain": (("day", "y", "x"), values, {"unit": "mm"})},
        coords={"day": np.arange(first, first + count), "y": np.arange(ROWS) * 0.5})


class Weather:
    """Five days in the source, mounted."""

    DAYS = 5

    def __init__(self, directory, mount, consolidated):
        self.consolidated = consolidated
        self.path = directory / "source"
        days(0, self.DAYS).to_zarr(self.path, consolidated=consolidated, zarr_format=3, encoding={
            "rain": {"chunks": CHUNKS, "shards": SHARDS}})
        self.mount = mount(self.path, PATIENT)
        self.root = self.mount.path

    def read(self, root):
        """Through no cache of another reading."""
        return xarray.open_zarr(root, consolidated=self.consolidated, chunks=None).load()

    def check(self, expected):
        """Through the mount, then in the shards, which are still shards."""
        xarray.testing.assert_identical(self.read(self.root), expected)
        flush(self.mount)
        for root in (self.path, self.root):
            xarray.testing.assert_identical(self.read(root), expected)
        document = json.loads((self.path / "rain/zarr.json").read_text())
        assert document["codecs"][0]["name"] == "sharding_indexed"
        assert document["shape"][0] == expected.sizes["day"]
        group = json.loads((self.path / "zarr.json").read_text())
        if self.consolidated:
            assert group["consolidated_metadata"]["metadata"]["rain"] == document
        status = self.mount.status()["write"]
        assert (status["dirty_chunks"], status["conflicts"]) == (0, 0)
        assert self.mount.control("errors") == ""


@pytest.fixture(params=[False, True], ids=["plain", "consolidated"])
def weather(request, work, mount):
    return Weather(work, mount, request.param)


def test_append_dim_extends_a_sharded_array(weather):
    expected = days(0, weather.DAYS)
    for first, count in ((5, 1), (6, 6), (12, 3)):  # within a shard, and beyond it
        days(first, count).to_zarr(weather.root, append_dim="day",
                                   consolidated=weather.consolidated)
        expected = days(0, first + count)
        weather.check(expected)


def test_regions_are_written(weather):
    part = {"day": slice(1, 4), "y": slice(3, 29), "x": slice(0, 20)}
    changed = days(0, weather.DAYS)
    changed["rain"][part] = changed["rain"][part] + 7
    changed[["rain"]].isel(part).drop_vars(["day", "y"]).to_zarr(
        weather.root, region=part, consolidated=weather.consolidated)
    weather.check(changed)


def test_dask_appends_chunk_by_chunk(weather):
    """xarray itself checks that no two tasks write into one chunk, which is smaller than a shard."""
    chunked = days(5, 7).chunk({"day": (1, 2, 2, 2), "y": 8, "x": 8})
    chunked.to_zarr(weather.root, append_dim="day", consolidated=weather.consolidated)
    weather.check(days(0, 12))


def test_a_variable_is_added_that_is_not_sharded(weather):
    wind = (days(0, weather.DAYS) * 2).rename({"rain": "wind"})
    wind[["wind"]].to_zarr(weather.root, mode="a", consolidated=weather.consolidated)
    weather.check(days(0, weather.DAYS).merge(wind))
    assert "sharding_indexed" not in (weather.path / "wind/zarr.json").read_text()


def variables():
    """Every kind of missing value, over an axis of six in chunks of two; and their encodings."""
    values = np.array([0, 1, np.nan, -9, 4, 5])
    times = np.array(["2000-01-01", "2000-01-02", "NaT", "2000-01-04", "2000-01-05", "2000-01-06"], "M8[ns]")
    days_since = {"units": "days since 2000-01-01", "dtype": "i8"}
    plain = np.arange(6)
    described = {
        "int": (plain.astype("i4"), {}), "byte": (plain.astype("u1"), {}),
        "big_endian": (plain.astype(">i2"), {}), "long": (plain.astype("u8") << np.uint64(60), {}),
        "masked_int": (values, {"dtype": "i2", "_FillValue": -9}),
        "masked_by_zero": (values, {"dtype": "i2", "_FillValue": 0}),
        "packed": (values, {"dtype": "i2", "_FillValue": -99, "scale_factor": 0.5, "add_offset": 20.0}),
        "double": (values, {}), "single": (values.astype("f4"), {}), "half": (values.astype("f2"), {}),
        "masked_single": (values.astype("f4"), {"_FillValue": -9.0}),
        "masked_double": (values, {"_FillValue": 0.1}),
        "infinite": (values, {"_FillValue": np.inf}),
        "unmasked": (values, {"_FillValue": None}), "flag": (plain % 3 == 0, {}),
        "complex": (plain * (1 + 2j), {}), "days": (times[[0, 1, 3, 4, 5, 3]], days_since),
        "times": (times, {**days_since, "_FillValue": -1})}
    dataset = xarray.Dataset({name: ("x", data) for name, (data, _) in described.items()})
    dataset["spatial_ref"] = ((), 0, {"crs_wkt": "local"})
    dataset["scalar"] = ((), np.nan)
    encodings = {name: {"chunks": (2,), **encoding} for name, (_, encoding) in described.items()}
    return dataset, encodings


def open_plain(root):
    return xarray.open_zarr(root, consolidated=False, chunks=None).load()


def written_variables(path, version):
    """Some chunks are absent, also where an absent chunk has other values than the missing one."""
    dataset, encodings = variables()
    dataset.to_zarr(path, consolidated=False, zarr_format=version, encoding=encodings)
    document, chunk = (".zarray", "1") if version == 2 else ("zarr.json", "c/1")
    for name in ("int", "masked_int", "single", "masked_single", "unmasked", "flag", "complex"):
        (path / name / chunk).unlink(missing_ok=True)
    described = json.loads((path / "byte" / document).read_text())
    described["fill_value"] = 7
    (path / "byte" / document).write_text(json.dumps(described))
    (path / "byte" / chunk).unlink(missing_ok=True)
    return open_plain(path)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_the_other_version_of_zarr_has_the_same_values(version, work, mount, unshard_binary):
    expected = written_variables(work / "source", version)
    other = 5 - version
    for view in (f"zarr{other}", "raw"):
        mounted = mount(work / "source", f"ro,view={view}")
        xarray.testing.assert_identical(open_plain(mounted.path), expected)
    for source, copy, format in (("source", "copy", other), ("copy", "back", version)):
        subprocess.run([unshard_binary, "copy", "-q", work / source, work / copy,
                        "--format", f"zarr{format}", "--verify"], check=True, timeout=300)
        xarray.testing.assert_identical(open_plain(work / copy), expected)


def test_coordinates_beside_a_level_are_found(work, mount, unshard_binary):
    """The layout of multiscale-spatial-image: levels at scale0/image, their coordinates beside them."""
    levels = []
    for level, size in enumerate((8, 4)):
        image = xarray.Dataset({"image": (("y", "x"), np.arange(size * size, dtype="u2").reshape(size, size))},
                               coords={"y": np.arange(size) * 0.5, "x": np.arange(size) * 2.0}, attrs={"level": level})
        image.to_zarr(work / f"source/scale{level}", zarr_format=2, consolidated=False)
        scale = {"type": "scale", "scale": [2 ** level, 2 ** level]}
        levels.append({"path": f"scale{level}/image", "coordinateTransformations": [scale]})
    axes = [{"name": name, "type": "space", "unit": "nanometer"} for name in "yx"]
    (work / "source/.zgroup").write_text('{"zarr_format": 2}')
    (work / "source/.zattrs").write_text(json.dumps(
        {"multiscales": [{"version": "0.4", "axes": axes, "datasets": levels}]}))
    mounted = mount(work / "source", "ro,view=zarr3")
    subprocess.run([unshard_binary, "copy", "-q", work / "source", work / "copy", "--format", "zarr3"],
                   check=True, timeout=300)
    for level in range(2):
        expected = open_plain(work / f"source/scale{level}")
        for root in (mounted.path, work / "copy"):
            xarray.testing.assert_identical(open_plain(root / f"scale{level}"), expected)
