"""Runs in the newest environment, with zarr-python 3.4, anndata and xarray, as tests/support/python_service.py says.

make SEED FOLDER FORMAT  a group with a table of anndata, a dataset of xarray with texts and times, and an image with
                         labels and files, as SpatialData has them, in Zarr v2 or v3
same FOLDER OTHER        fails unless both groups have the same members, items and attributes, and anndata and xarray
                         find the same in them
"""

import pathlib
import random
import sys
import warnings

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sparse
import xarray
import zarr

sys.path.append(str(pathlib.Path(__file__).parent.parent / "support"))
from python_service import serve  # noqa: E402

WORDS = ["a", "bb", "", "é", "日本", "x" * 40]


def table(draw):
    rows, genes = draw.randint(40, 90), draw.randint(5, 30)
    numbers = np.random.default_rng(draw.randint(0, 99))
    made = anndata.AnnData(sparse.random(rows, genes, 0.3, format="csr", random_state=1, dtype=np.float32))
    made.obs_names = [f"{WORDS[i % 6]} {i}" for i in range(rows)]
    made.var_names = [f"g{i}" for i in range(genes)]
    made.obs["kind"] = pd.Categorical([draw.choice(WORDS) for _ in range(rows)])
    made.obs["note"] = pd.array([draw.choice([None, *WORDS]) for _ in range(rows)], dtype="string")
    made.obs["count"] = pd.array([draw.choice([None, 3, 4]) for _ in range(rows)], dtype="Int64")
    made.obs["flag"] = numbers.random(rows) > 0.5
    made.obsm["X_pca"] = numbers.random((rows, 5))
    made.layers["dense"] = numbers.random((rows, genes)).astype("f4")
    made.uns["title"] = "日本"
    made.uns["nested"] = {"n": 3, "names": np.array(WORDS, dtype=object)}
    made.uns["records"] = np.array([(1, 2.5, "ab"), (2, 3.5, "c")], dtype=[("i", "<i4"), ("f", "<f8"), ("s", "U3")])
    return made


def write_table(made, folder, format):
    """In small chunks: anndata writes each column as one."""
    def each(write, store, key, item, dataset_kwargs, **_):
        if isinstance(item, np.ndarray) and item.shape:
            dataset_kwargs = {**dataset_kwargs, "chunks": tuple(min(16, extent) for extent in item.shape)}
        write(store, key, item, dataset_kwargs=dataset_kwargs)
    anndata.experimental.write_dispatched(zarr.open_group(folder, mode="w", zarr_format=format), "/", made, each)


def dataset(draw):
    length = draw.randint(9, 30)
    return xarray.Dataset(
        {"name": ("x", np.array([WORDS[i % 6] for i in range(length)], dtype="U40")),
         "free": ("x", np.array([WORDS[-i % 6] for i in range(length)], dtype=object)),
         "when": ("x", np.arange(length).astype("datetime64[s]").astype("datetime64[ns]")),
         "height": (("y", "x"), np.arange(3.0 * length).reshape(3, length))},
        coords={"x": np.arange(length), "step": ("y", np.array([1, 2, 5]).astype("timedelta64[h]").astype("m8[ns]"))},
        attrs={"title": "日本"})


def write_image(draw, group):
    ome = {"multiscales": [{"version": "0.4", "axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
                            "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale",
                                                                                      "scale": [1, 1]}]}]}]}
    for path in ["images/cells", "labels/cells"]:
        image = group.create_group(path)
        image.attrs.update(ome if group.metadata.zarr_format == 2 else {"ome": {"version": "0.5", **ome}})
        level = image.create_array("0", shape=(40, 50), chunks=(8, 8), dtype="uint16")
        level[:20] = np.arange(20 * 50).reshape(20, 50)
    times = group.create_array("times", shape=(30,), chunks=(4,), dtype="datetime64[10us]")
    times[3:9] = np.arange(6).astype("datetime64[10us]")


def make(seed, folder, format):
    draw, format = random.Random(f"{seed} tables"), int(format)
    anndata.settings.zarr_write_format = format
    group = zarr.open_group(folder, mode="w", zarr_format=format)
    group.attrs["spatialdata_attrs"] = {"version": "0.2"}
    group.create_group("tables")
    write_table(table(draw), f"{folder}/tables/one", format)
    dataset(draw).to_zarr(f"{folder}/grid", zarr_format=format, consolidated=False,
                          encoding={"name": {"chunks": (5,)}, "free": {"chunks": (4,)}})
    write_image(draw, group)
    points = group.create_group("points/all")
    points.attrs["encoding-type"] = "ngff:points"
    part = pathlib.Path(folder, "points/all/points.parquet/part.0.parquet")
    part.parent.mkdir()
    part.write_bytes(random.Random(seed).randbytes(999))


def members(folder):
    return dict(zarr.open_group(folder, mode="r").members(max_depth=None))


def attributes_of(member):
    """Scalars of Zarr v2 get the empty list of names that xarray wants."""
    return {name: value for name, value in dict(member.attrs).items() if name != "_ARRAY_DIMENSIONS" or value}


def same(folder, other):
    first, second = members(folder), members(other)
    assert sorted(first) == sorted(second), set(first) ^ set(second)
    for name, member in first.items():
        assert attributes_of(member) == attributes_of(second[name]), name
        if isinstance(member, zarr.Array):
            assert member.dtype == second[name].dtype, name
            np.testing.assert_array_equal(member[...], second[name][...], name)
    tables = [anndata.read_zarr(f"{each}/tables/one") for each in (folder, other)]
    for frame in ("obs", "var"):
        pd.testing.assert_frame_equal(*(getattr(each, frame) for each in tables))
    assert abs(tables[0].X - tables[1].X).nnz == 0
    assert tables[0].uns["title"] == tables[1].uns["title"]
    grids = [xarray.open_zarr(f"{each}/grid", consolidated=False).load() for each in (folder, other)]
    xarray.testing.assert_identical(*grids)
    parts = [pathlib.Path(each, "points/all/points.parquet/part.0.parquet").read_bytes() for each in (folder, other)]
    assert parts[0] == parts[1]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # some types are not a part of the specification
    serve({"make": make, "same": same})
