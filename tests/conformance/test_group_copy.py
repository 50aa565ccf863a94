"""`unshard copy` of groups: every array goes to its path, with the attributes of arrays and groups."""

import json
import os
import subprocess

import numpy as np
import pytest

from judging import SEED, tree
from test_copy import copy, left_over, opened, voxels_of  # noqa: F401 (fixture)

FORMATS = ["zarr3", "zarr2", "n5"]
# By path: the shape, slowest axis first.
SHAPES = {"counts": (9, 30), "deep/er/labels": (12, 17, 20), "deep/signal": (5,)}
GROUPS = {"": {"author": "someone"}, "deep": {"wave": {"length": 488}}, "deep/er": {}}


def create(path, format, shape, dtype, sharded):
    import tensorstore as ts

    chunk = [min(n, 8) for n in shape]
    if format == "n5":
        shape, chunk = shape[::-1], chunk[::-1]
    spec = {"driver": {"zarr3": "zarr3", "zarr2": "zarr", "n5": "n5"}[format],
            "kvstore": f"file://{path}/", "create": True,
            "schema": {"dtype": dtype, "domain": {"shape": [*shape]},
                       "chunk_layout": {"read_chunk": {"shape": chunk}}}}
    if sharded:
        spec["schema"]["chunk_layout"]["write_chunk"] = {"shape": [n * 2 for n in chunk]}
    return ts.open(spec).result()


def set_attributes(directory, format, values):
    directory.mkdir(parents=True, exist_ok=True)
    name = {"zarr3": "zarr.json", "zarr2": ".zattrs", "n5": "attributes.json"}[format]
    document = directory / name
    there = json.loads(document.read_text()) if document.exists() else {}
    if format == "zarr3":
        there = there or {"zarr_format": 3, "node_type": "group"}
        there["attributes"] = values
    else:
        there.update(values)
    document.write_text(json.dumps(there))
    if format == "zarr2" and not (directory / ".zarray").exists():
        (directory / ".zgroup").write_text('{"zarr_format": 2}')


def make_group(root, format):
    """Returns the voxels by path, slowest axis first."""
    random = np.random.default_rng(SEED)
    made = {}
    for path, shape in SHAPES.items():
        dtype = {1: "float32", 2: "uint8", 3: "uint16"}[len(shape)]
        array = create(root / path, format, shape, dtype, format == "zarr3" and len(shape) == 3)
        made[path] = (random.random(shape) * 250).astype(dtype)
        array.write(made[path].T if format == "n5" else made[path]).result()
        set_attributes(root / path, format, {"of": path})
    for path, attributes in GROUPS.items():
        # Directories between two groups need no document in N5.
        if attributes or format != "n5":
            set_attributes(root / path, format, attributes)
    return made


def files(root):
    return {name: content for name, content in tree(root).items() if content is not None}


def check(root, format, voxels):
    for path, wanted in voxels.items():
        found = voxels_of(root, format, path)
        assert found.dtype == wanted.dtype and (found == wanted).all(), path


def attributes_of(directory, format):
    document = directory / {"zarr3": "zarr.json", "zarr2": ".zattrs", "n5": "attributes.json"}[format]
    if not document.exists():
        return {}
    there = json.loads(document.read_text())
    return there["attributes"] if format == "zarr3" else there


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("format", FORMATS)
def test_every_array_goes_to_its_path(format, to, copy, work):
    voxels = make_group(work / "source", format)
    copy(work / "source", work / "copy", "--format", to, "--verify")
    check(work / "copy", to, voxels)
    for path, wanted in {**GROUPS, **{path: {"of": path} for path in SHAPES}}.items():
        assert wanted.items() <= attributes_of(work / "copy" / path, to).items(), path
    assert left_over(work / "copy") == []
    if to != "n5":
        import zarr
        group = zarr.open_group(work / "copy", mode="r")
        arrays = {path: member for path, member in group.members(max_depth=None)
                  if isinstance(member, zarr.Array)}
        assert arrays.keys() == voxels.keys() and group.attrs["author"] == "someone"
        for path, wanted in voxels.items():
            assert (arrays[path][...] == wanted).all() and arrays[path].attrs["of"] == path
        assert group["deep"].attrs["wave"] == {"length": 488}


def test_like_the_source_and_sharded(copy, work):
    voxels = make_group(work / "source", "zarr3")
    copy(work / "source", work / "copy", "--like", work / "source")
    names = [name for name in files(work / "source") if name.endswith("zarr.json")]
    assert len(names) == len(SHAPES) + len(GROUPS)
    for name in names:
        assert (work / "copy" / name).read_bytes() == (work / "source" / name).read_bytes()
    check(work / "copy", "zarr3", voxels)
    assert len([name for name in files(work / "copy") if "/c/" in name]) == \
        len([name for name in files(work / "source") if "/c/" in name])


def test_to_precomputed_volumes(copy, work):
    root = work / "source"
    for path in ("one", "more/two"):
        create(root / path, "zarr3", (8, 9, 10), "uint8", False).write(7).result()
    set_attributes(root, "zarr3", {})
    set_attributes(root / "more", "zarr3", {})
    copy(root, work / "copy", "--format", "precomputed")
    for path in ("one", "more/two"):
        found = opened(work / "copy" / path, "precomputed").read().result()
        assert found.shape == (10, 9, 8, 1) and (found == 7).all()
    assert not (work / "copy" / "info").exists()


def test_goes_on_where_it_was(copy, work):
    voxels = make_group(work / "source", "zarr3")
    copy(work / "source", work / "copy", "--like", work / "source")
    before = {name: os.stat(work / "copy" / name).st_ino for name in files(work / "copy")}
    gone = work / "copy" / "deep/er/labels/c/0/0/0"
    gone.unlink()
    copy(work / "source", work / "copy")
    copy(work / "source", work / "copy", "--verify")
    check(work / "copy", "zarr3", voxels)
    after = {name: os.stat(work / "copy" / name).st_ino for name in files(work / "copy")}
    assert after.keys() == before.keys()
    assert {name for name in before if before[name] != after[name]} <= {str(gone.relative_to(work / "copy"))}


def test_an_array_that_the_destination_lacks_is_named_before_a_byte_is_written(copy, work):
    make_group(work / "source", "zarr3")
    copy(work / "source", work / "copy", "--like", work / "source")
    for name in files(work / "copy"):
        if "/c/" in name or name == "deep/signal/zarr.json":
            (work / "copy" / name).unlink()
    before = files(work / "copy")
    said = copy(work / "source", work / "copy", code=1).stderr
    assert f"{work}/copy/deep/signal: not an array" in said
    assert files(work / "copy") == before


def test_a_shape_for_all_is_refused(copy, work):
    make_group(work / "source", "zarr3")
    said = copy(work / "source", work / "copy", "--format", "zarr2", "--shape", "9,30",
                "--dtype", "uint8", code=2).stderr
    assert "--shape" in said and not (work / "copy").exists()


def test_an_array_that_cannot_be_read_is_named(copy, work):
    make_group(work / "source", "zarr3")
    (work / "source" / "deep/signal/zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}')
    said = copy(work / "source", work / "copy", "--format", "zarr3", code=1).stderr
    assert "deep/signal/zarr.json" in said and not (work / "copy").exists()


def test_an_empty_group_is_said(unshard_binary, work):
    set_attributes(work / "source", "zarr3", {})
    done = subprocess.run([unshard_binary, "copy", "-q", work / "source", work / "copy", "--format",
                           "zarr3"], capture_output=True, text=True)
    assert done.returncode == 1 and "not an array" in done.stderr
