"""Arrays that zarr-python 3.4 writes and older peers do not know: shards of several shapes, and items that are no
voxels. It reads and writes them through the mount, where all are unsharded."""

import errno
import json
import os
import pathlib
import shutil
import struct

import numcodecs
import numpy as np
import pytest
import tensorstore as ts

from judging import SEED, names_below
from python_service import PythonService

TREE = pathlib.Path(__file__).parent / "newest_tree.py"


@pytest.fixture(scope="module")
def tree(newest_python):
    service = PythonService(newest_python, TREE)
    yield service.call
    service.end()


@pytest.fixture
def source(work, tree):
    print(f"UNSHARD_SEED={SEED}")
    tree("make", SEED, work / "src")
    return work / "src"


def documents(folder):
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(folder.glob("*/zarr.json"))}


def test_all_arrays_are_shown_without_shards(source, mount, tree):
    view = mount(source, "ro").path
    tree("same", source, view)
    for name, document in documents(view).items():
        assert document["chunk_grid"]["name"] == "regular", name
        assert "sharding_indexed" not in json.dumps(document["codecs"]), name


def test_each_chunk_is_listed_and_read_by_tensorstore(source, mount):
    view = mount(source, "ro").path
    for name, document in documents(view).items():
        if not isinstance(document["data_type"], str) or document["data_type"] == "string":
            continue
        array = ts.open({"driver": "zarr3", "kvstore": f"file://{view / name}"}).result()
        voxels = array.read().result()
        chunk = document["chunk_grid"]["configuration"]["chunk_shape"]
        present = {tuple(int(index) for index in position)
                   for position in np.argwhere(voxels != 3) // np.array(chunk)}
        listed = [each for each in names_below(view / name) if each != "zarr.json"]
        found = {tuple(int(part) for part in each.replace("/", ".").split(".") if part != "c") for each in listed}
        assert found == present, name


def test_chunks_that_are_written_reach_the_shards(source, mount, tree, work):
    expected = work / "expected"
    shutil.copytree(source, expected)
    tree("change", expected)
    mounted = mount(source)
    tree("change", mounted.path)
    tree("same", expected, mounted.path)
    mounted.unmount()
    tree("same", expected, source)
    tree("same", expected, mount(source, "ro").path)


def test_texts_of_another_number_are_refused_at_close(source, mount):
    zstd = numcodecs.Zstd(level=0)
    chunk = mount(source).path / "string" / "c" / "1"
    right = zstd.decode(chunk.read_bytes())
    assert right[:4] == struct.pack("<I", 2)
    for damaged in [struct.pack("<I", 3) + right[4:], right[:-1], right + b"\0", b""]:
        file = chunk.open("wb")
        file.write(zstd.encode(damaged))
        with pytest.raises(OSError, match=os.strerror(errno.EINVAL)):
            file.close()
        assert zstd.decode(chunk.read_bytes()) == right
    chunk.write_bytes(zstd.encode(struct.pack("<III", 2, 0, 0)))
    assert chunk.read_bytes() == zstd.encode(struct.pack("<III", 2, 0, 0))


def test_a_resized_array_gets_more_shards(source, mount, tree, work):
    mounted = mount(source)
    before = documents(source)["r1"]["chunk_grid"]["configuration"]["chunk_shapes"]
    extents = [edge * 7 for edge in documents(source)["r1"]["shape"]]
    tree("resize", mounted.path, "r1", *extents)
    shutil.copytree(mounted.path, work / "shown")
    mounted.unmount()
    after = documents(source)["r1"]["chunk_grid"]["configuration"]["chunk_shapes"]
    assert [shapes[:len(kept)] for shapes, kept in zip(after, before)] == before
    tree("same", source, work / "shown")
    tree("same", source, mount(source, "ro").path)


@pytest.fixture
def numbers(work, tree):
    print(f"UNSHARD_SEED={SEED}")
    tree("numbers", SEED, work / "src")
    assert len(documents(work / "src")) > 15
    return work / "src"


@pytest.mark.parametrize("view", ["native", "zarr2", "zarr3"])
def test_numbers_that_are_stored_as_others_are_read_and_written(numbers, mount, tree, work, view):
    expected, written = work / "expected", "" if view == "native" else "exact"
    shutil.copytree(numbers, expected)
    tree("change", expected, written)
    assert len(list(expected.glob("exact*"))) > 3
    mounted = mount(numbers, "" if view == "native" else f"view={view}")
    tree("same", numbers, mounted.path)
    tree("change", mounted.path, written)
    tree("same", expected, mounted.path)
    mounted.unmount()
    tree("same", expected, numbers)


def test_views_show_the_voxels(source, mount, work):
    """Of sharded arrays the inner chunks are regular."""
    view = mount(source / "r2", "ro,view=zarr2").path
    kinds = {"zarr": view, "zarr3": mount(source / "r2", "ro", work / "native").path}
    voxels = [ts.open({"driver": driver, "kvstore": f"file://{path}"}).result().read().result()
              for driver, path in kinds.items()]
    np.testing.assert_array_equal(*voxels)


@pytest.fixture
def uneven(work, tree):
    print(f"UNSHARD_SEED={SEED}")
    tree("uneven", SEED, work / "src")
    assert len(documents(work / "src")) == 16
    return work / "src"


def test_chunks_of_several_shapes_pass_through(uneven, mount, tree, work, run_unshard):
    expected = work / "expected"
    shutil.copytree(uneven, expected)
    tree("change", expected)
    mounted = mount(uneven)
    assert documents(mounted.path) == documents(uneven)
    assert names_below(mounted.path) == names_below(uneven)
    tree("change", mounted.path)
    mounted.unmount()
    tree("same", expected, uneven)
    assert "chunks of several shapes" in run_unshard("info", uneven).stdout


def voxels_of(view, driver, name):
    voxels = ts.open({"driver": driver, "kvstore": f"file://{view / name}"}).result().read().result()
    return voxels[..., 0].T if driver == "neuroglancer_precomputed" else voxels.T if driver == "n5" else voxels


@pytest.mark.parametrize("view", ["zarr3", "zarr2", "n5"])
def test_views_and_copies_have_regular_chunks(uneven, mount, tree, work, run_unshard, view):
    """A chunk of a view is made of whole stored chunks. What is written into it reaches them."""
    driver = "zarr" if view == "zarr2" else view
    expected = work / "expected"
    shutil.copytree(uneven, expected)
    tree("change", expected)
    copied = run_unshard("copy", "--format", view, uneven, work / "copy")
    assert copied.returncode == 0, copied.stderr
    mounted = mount(uneven, f"view={view}")
    for name in documents(uneven):
        if view == "zarr3" and is_uneven(uneven / name):
            continue  # it says such chunks itself
        shown, kept = voxels_of(mounted.path, driver, name), voxels_of(work / "copy", driver, name)
        np.testing.assert_array_equal(shown, kept, name)
        if not is_uneven(uneven / name):
            np.testing.assert_array_equal(shown, voxels_of(uneven, "zarr3", name), name)
        if view == "zarr2":
            chunks = json.loads((mounted.path / name / ".zarray").read_text())["chunks"]
            present = {tuple(map(int, position)) for position in np.argwhere(shown != 3) // np.array(chunks)}
            listed = [each for each in names_below(mounted.path / name) if not each.startswith(".z")]
            assert {tuple(map(int, each.split("/"))) for each in listed} == present, name
    if view == "n5":
        return
    tree("same", uneven, mounted.path)
    tree("same", uneven, work / "copy")
    tree("change", mounted.path)
    tree("same", expected, mounted.path)
    mounted.unmount()
    tree("same", expected, uneven)


def is_uneven(array):
    return json.loads((array / "zarr.json").read_text())["chunk_grid"]["name"] != "regular"


def test_copies_keep_their_chunks_or_put_them_into_shards(uneven, tree, work, run_unshard, mount):
    same = run_unshard("copy", uneven, work / "same")
    assert same.returncode == 0, same.stderr
    assert "chunks of several shapes" in same.stdout
    tree("same", uneven, work / "same")
    assert names_below(work / "same") == names_below(uneven)
    sharded = run_unshard("copy", "--shard", "auto", uneven, work / "sharded")
    assert sharded.returncode == 0, sharded.stderr
    assert "sharding_indexed" in json.dumps(list(documents(work / "sharded").values()))
    tree("same", uneven, work / "sharded")


def test_a_file_has_all_voxels_of_chunks_of_several_shapes(uneven, mount, run_unshard, work):
    assert run_unshard("copy", "--format", "zarr2", uneven, work / "copy").returncode == 0
    shown = mount(uneven, "ro,files=npy").path / "files"
    for name in documents(uneven):
        np.testing.assert_array_equal(np.load(shown / f"{name}.npy"), voxels_of(work / "copy", "zarr", name), name)
