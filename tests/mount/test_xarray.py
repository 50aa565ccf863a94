"""xarray: datasets whose variables are sharded arrays are extended and changed through a mount.

xarray itself creates them, in the source. Consolidated metadata are copies of all documents in that of
the group; they change with these.
"""

import json

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
