"""Tiny arrays of the codecs that Zarr had at the end of 2026, each with its stored bytes and its voxels. They are
decoded natively, in views, and after a copy; what cannot be decoded is refused by name, and passed through."""

import json
import pathlib

import numpy as np
import pytest
import tensorstore as ts
import z5py
import zarr

from test_array_codecs import array_codec, read  # noqa: F401

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors" / "codecs.json").read_text())
# No library here decodes them; the shard of a reshaped array has no inner chunks that are boxes of it; items of
# several lengths are no voxels.
UNDECODED = {"nc_pcodec": "pcodec", "reshape_then_shard": "reshape",
             **{name: "dtype" for name in VECTORS if name.startswith("v2_")}}
DECODED = sorted(set(VECTORS) - set(UNDECODED))


def store(vector, path):
    path.mkdir(parents=True)
    shape = vector["shape"]
    if vector.get("zarr_format", 3) == 2:
        document = {key: vector[key] for key in ("dtype", "filters", "compressor", "fill_value", "order")}
        document.update(zarr_format=2, shape=shape, chunks=vector.get("chunks", shape))
        (path / ".zarray").write_text(json.dumps(document))
    else:
        document = {key: vector[key] for key in ("shape", "data_type", "fill_value", "codecs")}
        document.update(zarr_format=3, node_type="array", chunk_key_encoding={"name": "default"}, chunk_grid={
            "name": "regular", "configuration": {"chunk_shape": vector.get("chunks", shape)}})
        (path / "zarr.json").write_text(json.dumps(document))
    for key, text in vector["stored"].items():
        (path / key).parent.mkdir(parents=True, exist_ok=True)
        (path / key).write_bytes(bytes.fromhex(text))
    return path


def decoded(vector):
    items = [float(item) if isinstance(item, str) else item for item in vector["decoded"]]
    return np.array(items, vector["data_type"]).reshape(vector["shape"])


def is_sharded(name):
    return "sharding_indexed" in json.dumps(VECTORS[name].get("codecs"))


@pytest.mark.parametrize("name", [name for name in DECODED if not is_sharded(name)])
def test_each_codec_decodes_its_vector(tmp_path, array_codec, name):  # noqa: F811
    read(array_codec, store(VECTORS[name], tmp_path / name), decoded(VECTORS[name]))


@pytest.fixture(scope="module")
def group(module_work):
    folder = module_work / "group"
    for name, vector in VECTORS.items():
        if vector.get("zarr_format", 3) == 3:
            store(vector, folder / name)
    (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    return folder


def voxels_of(form, path):
    if form == "n5":
        return z5py.File(path.parent, "r")[path.name][:]
    if form == "zarr2":
        return zarr.open_array(path, mode="r", zarr_format=2)[...]
    return ts.open({"driver": "zarr3", "kvstore": f"file://{path}"}).result().read().result()


def said_by(form, name):
    """Whether a format has the data type."""
    return form != "n5" or VECTORS[name]["data_type"] not in ("bool", "float16")


@pytest.mark.parametrize("view", ["raw", "zarr2", "n5"])
def test_views_and_copies_have_the_voxels(group, mount, work, run_unshard, view):
    form = "zarr3" if view == "raw" else view
    copied = run_unshard("copy", "--format", form, "--codec", "gzip", group, work / "copy")
    assert copied.returncode == 0, copied.stderr
    assert "nc_pcodec" in copied.stderr and "numcodecs.pcodec" in copied.stderr
    shown = mount(group, f"ro,view={view}").path
    for name in DECODED:
        if not said_by(form, name):
            continue
        for path in (shown / name, work / "copy" / name):
            np.testing.assert_array_equal(voxels_of(form, path), decoded(VECTORS[name]), f"{path}")


def test_chunks_are_shown_as_they_are_stored(group, mount):
    shown = mount(group, "ro").path
    for path in sorted(group.rglob("c/**/*")):
        name = path.relative_to(group).parts[0]
        if path.is_file() and not is_sharded(name):
            assert (shown / path.relative_to(group)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", sorted(UNDECODED))
def test_what_is_not_decoded_is_named(work, run_unshard, name):
    source = store(VECTORS[name], work / name)
    found = run_unshard("copy", "--strict", "--format", "n5", source, work / "other")
    assert found.returncode == 1 and UNDECODED[name] in found.stderr, found.stderr
    if is_sharded(name):
        return
    # A copy of its own format has its chunks.
    same = run_unshard("copy", "--strict", source, work / "copy")
    assert same.returncode == 0, same.stderr
    for key, text in VECTORS[name]["stored"].items():
        assert (work / "copy" / key).read_bytes() == bytes.fromhex(text)
