"""`unshard copy` and `create --like` of pyramids with more in them than levels: labels, other arrays,
files. Readers of the format of the copy find all of it."""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import numpy as np
import pytest

import remote_stores
from judging import put_file, tree
from pyramid_sources import DTYPES, LARGE, RESOLUTION, make_pyramid
from test_copy import copy, inodes, left_over, voxels_of  # noqa: F401 (fixture)
from tiers import in_turn

SOURCES = ["zarr3", "zarr2", "n5"]
FORMATS = ["precomputed", *SOURCES]
PYRAMIDS = [path for path in DTYPES if path != "mask"]


def check_voxels(root, format, voxels):
    for path, levels in voxels.items():
        for level, wanted in enumerate(levels):
            below = f"s{level}" if format == "n5" else str(level)
            found = voxels_of(root / path, format, "" if path == "mask" else below, level)
            assert found.dtype == wanted.dtype and np.array_equal(found, wanted), (path, level)


def check_files(root, files):
    for name, content in files.items():
        assert (root / name).read_bytes() == content, name
    assert left_over(root) == []


def ome(node):
    attributes = dict(node.attrs)
    return attributes.get("ome", attributes)


def check_as_ome_zarr(root, voxels):
    """As ome-zarr-py reads it: from the image to its labels, by what each group names."""
    import zarr

    image = zarr.open_group(root, mode="r")

    def check_image(group, path):
        multiscale = ome(group)["multiscales"][0]
        assert group.attrs["made"] == "here"
        assert len(multiscale["datasets"]) == len(voxels[path])
        for dataset, wanted in zip(multiscale["datasets"], voxels[path]):
            assert np.array_equal(group[dataset["path"]][...], wanted)

    check_image(image, "")
    assert ome(image)["omero"]["channels"][0]["label"] == "one"
    labels = image["labels"]
    assert ome(labels)["labels"] == ["cells", "deep/nuclei"]
    for name in ome(labels)["labels"]:
        check_image(labels[name], f"labels/{name}")
        assert ome(labels[name])["image-label"]["colors"][0]["rgba"] == [255, 0, 0, 255]
    assert ome(image["OME"])["series"] == ["0"]
    assert np.array_equal(image["mask"][...], voxels["mask"][0])


@pytest.mark.parametrize("to", in_turn(FORMATS))
@pytest.mark.parametrize("format", in_turn(SOURCES))
def test_labels_arrays_and_files_go_with_the_image(format, to, copy, work):
    voxels, files = make_pyramid(work / "source", format)
    said = copy(work / "source", work / "copy", "--format", to, "--verify").stderr
    check_voxels(work / "copy", to, voxels)
    check_files(work / "copy", files)
    if to.startswith("zarr") and format.startswith("zarr"):
        check_as_ome_zarr(work / "copy", voxels)
    # What precomputed cannot hold is said, and what it has to assume of the array without units; only that.
    lost, guessed = ("made", 0) if format == "n5" else ("omero", int(format != "precomputed"))
    if to == "precomputed":
        assert lost in said and "not copied" in said and said.count("\n") == 1 + guessed
        assert said.count("mask: no units: a voxel is taken to be 1 nm wide\n") == guessed
    else:
        assert said == ""


@pytest.mark.parametrize("command", ["copy", "mount"])
@pytest.mark.parametrize("format", ["zarr3", "zarr2"])
def test_what_is_said_of_a_lone_level_is_a_command_that_takes_its_scale(format, command, copy, mount, work):
    make_pyramid(work / "source", format)
    if command == "copy":
        said = copy(work / "source/1", work / "alone", "--format", "precomputed").stderr
    else:
        said = mount(work / "source/1", "ro,view=precomputed").log()
    [[named, source, root, option, value]] = [
        words.split() for words in re.findall("has the scale: `unshard (.*)`", said)]
    assert named == command
    if command == "copy":
        root = work / "whole"
        copy(source, root, option, value)
    else:
        root = mount(source, f"ro,{value}").path
    scales = json.loads((root / "info").read_text())["scales"]
    assert scales[1]["resolution"] == [2 * RESOLUTION] * 3


@pytest.mark.parametrize("form", ["--shard", "--like"])
def test_sharded(form, copy, work):
    voxels, files = make_pyramid(work / "source", "zarr2")
    # Labels have no channels: of the lists they take the axes that they have.
    options = ["--format", "zarr3", "--chunk", "1,6,8,8", "--shard", "1,12,16,16"]
    if form == "--like":
        make_pyramid(work / "like", "zarr3")
        options = ["--like", work / "like"]
    else:  # the axes of this one have no names
        said = copy(work / "source", work / "copy", *options, code=2).stderr
        assert "--chunk 1,6,8,8: mask: level 0: 4 numbers, but there are 3 dimensions" in said and not (work / "copy").exists()
        shutil.rmtree(work / "source" / "mask")
        shutil.copytree(work / "source" / "labels/cells/0", work / "source" / "mask")
        put_file(work / "source" / "mask/.zattrs", '{"_ARRAY_DIMENSIONS": ["z", "y", "x"]}')
        voxels["mask"] = voxels["labels/cells"][:1]
    copy(work / "source", work / "copy", *options, "--verify")
    check_voxels(work / "copy", "zarr3", voxels)
    check_files(work / "copy", files)
    check_as_ome_zarr(work / "copy", voxels)
    for path in PYRAMIDS:
        document = json.loads((work / "copy" / path / "0/zarr.json").read_text())
        assert document["codecs"][0]["name"] == "sharding_indexed", path
        assert document["chunk_grid"]["configuration"]["chunk_shape"][-3:] == [12, 16, 16]


def test_it_goes_on_and_keeps_what_is_there(copy, work):
    voxels, files = make_pyramid(work / "source", "zarr3")
    copy(work / "source", work / "copy", "--like", work / "source")
    before = inodes(work / "copy")
    gone = [work / "copy" / "README.md", work / "copy" / "labels/cells/0/c/0/0/0"]
    for path in gone:
        path.unlink()
    changed = work / "copy" / "labels/cells/colours.csv"
    changed.write_bytes(b"1,red\n2,grey\n"[:len(files["labels/cells/colours.csv"])])
    # What a copy leaves that was killed while it wrote a file.
    (work / "copy" / "empty.__lock").touch()
    (work / "copy" / "empty.new.__lock").touch()
    copy(work / "source", work / "copy")
    copy(work / "source", work / "copy", "--verify")
    check_voxels(work / "copy", "zarr3", voxels)
    check_files(work / "copy", files)
    after = inodes(work / "copy")
    assert after.keys() == before.keys()
    assert {path for path in before if before[path] != after[path]} <= {*gone, changed}
    assert changed.read_bytes() == files["labels/cells/colours.csv"]


def test_verification_finds_the_byte_that_differs(copy, work):
    make_pyramid(work / "source", "zarr3")
    copy(work / "source", work / "copy", "--format", "n5")
    # Of a large file that is there a copy compares the size and both ends.
    with open(work / "copy" / LARGE, "r+b") as file:
        file.seek(2_000_000)
        byte = file.read(1)
        file.seek(2_000_000)
        file.write(bytes([byte[0] ^ 1]))
    said = copy(work / "source", work / "copy", "--verify", code=1).stderr
    assert (f"copy/{LARGE}: differs from the source: byte 2000000; remove this file, and copy again\n" in said
            and said.count("\n") == 1)
    copy(work / "source", work / "copy", "--replace", "--verify")


@pytest.mark.parametrize("format, form", [("zarr3", "--format"), ("zarr2", "--like"), ("n5", "--format")])
def test_without_what_is_excluded(format, form, copy, work):
    voxels, files = make_pyramid(work / "source", format)
    options = [form, work / "source" if form == "--like" else "zarr3"]
    level = "s0" if format == "n5" else "0"
    for name, code, wrong in [("label", 1, "--exclude label: "), ("label", 1, "; there is "), ("label", 1, "labels"),
                              ("..", 2, "a path below the source"), (level, 1, "is a level of a pyramid")]:
        said = copy(work / "source", work / "copy", *options, "--exclude", name, code=code).stderr
        assert name in said and wrong in said and said.count("\n") == 1
        assert not (work / "copy").exists()
    # Twice: what an earlier copy has made is taken for the same.
    for _ in range(2):
        copy(work / "source", work / "copy", *options, "--exclude", "/labels/", "--exclude", "OME", "--verify")
    assert not (work / "copy/labels").exists() and not (work / "copy/OME").exists()
    check_voxels(work / "copy", format if form == "--like" else "zarr3",
                 {path: voxels[path] for path in ("", "mask")})
    check_files(work / "copy", {name: files[name] for name in ("README.md", "empty", "notes/how/it was made.txt")})


@pytest.mark.parametrize("kind", ["group", "array", "file"])
def test_what_would_land_in_a_level_is_refused_before_a_byte_is_written(kind, copy, work):
    import zarr

    make_pyramid(work / "source", "zarr3")
    if kind == "group":
        zarr.create_group(work / "source" / "labels/cells/s0/inner", zarr_format=3)
    elif kind == "array":
        zarr.create_array(work / "source" / "labels/cells/s0", shape=(4, 4), dtype="uint8", zarr_format=3)
    else:
        put_file(work / "source" / "labels/cells/s0", "a file")
    said = copy(work / "source", work / "copy", "--format", "n5", code=1).stderr
    assert "source/labels/cells/s0: in the destination this is the path of a level of labels/cells" in said
    assert said.count("\n") == 1 and not (work / "copy").exists()
    copy(work / "source", work / "other", "--format", "zarr2", "--verify")


def test_a_destination_without_the_labels_is_refused_before_a_byte_is_written(copy, work):
    make_pyramid(work / "source", "zarr3")
    copy(work / "source", work / "copy", "--like", work / "source")
    shutil.rmtree(work / "copy" / "labels/cells/1")
    (work / "copy" / "README.md").unlink()
    before = tree(work / "copy")
    said = copy(work / "source", work / "copy", code=1).stderr
    assert "labels/cells" in said and tree(work / "copy") == before


def test_a_place_inside_the_source_is_refused(copy, work):
    make_pyramid(work / "source", "zarr3")
    before = tree(work / "source")
    os.symlink(work / "source", work / "link")
    for place in (work / "source" / "labels/copy", work / "link" / "copy", work / "source"):
        said = copy(work / "source", place, "--format", "zarr3", code=2).stderr
        assert "lies in the source" in said
    assert tree(work / "source") == before


def make_volume(root):
    """A precomputed volume with sharded meshes and properties of its segments."""
    import tensorstore as ts

    volume = ts.open({
        "driver": "neuroglancer_precomputed", "kvstore": f"file://{root}/", "create": True,
        "multiscale_metadata": {"type": "segmentation", "data_type": "uint32", "num_channels": 1},
        "scale_metadata": {"size": [20, 18, 12], "resolution": [8, 8, 8], "encoding": "raw",
                           "chunk_size": [8, 8, 6], "key": "8_8_8"}}).result()
    volume.write(np.arange(20 * 18 * 12, dtype="uint32").reshape(20, 18, 12, 1)).result()
    info = json.loads((root / "info").read_text())
    put_file(root / "info", json.dumps({**info, "mesh": "mesh", "segment_properties": "properties"}))
    put_file(root / "mesh/info", json.dumps({
        "@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10,
        "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "lod_scale_multiplier": 1,
        "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "identity",
                     "minishard_bits": 0, "shard_bits": 0}}))
    put_file(root / "mesh/0.shard", b"\0" * 16 + b"meshes")
    put_file(root / "properties/info", json.dumps({
        "@type": "neuroglancer_segment_properties", "inline": {"ids": ["1"], "properties": []}}))
    put_file(root / "provenance", '{"sources": []}')


def test_meshes_go_with_a_volume_and_nowhere_else(copy, work):
    make_volume(work / "source")
    said = copy(work / "source", work / "copy", "--format", "precomputed", "--shard", "16,16,12",
                "--verify").stderr
    assert said == ""
    objects = ["mesh/info", "mesh/0.shard", "properties/info", "provenance"]
    for name in objects:
        assert (work / "copy" / name).read_bytes() == (work / "source" / name).read_bytes()
    info = json.loads((work / "copy" / "info").read_text())
    assert info["mesh"] == "mesh" and info["segment_properties"] == "properties"
    said = copy(work / "source", work / "zarr", "--format", "zarr3", "--verify").stderr
    assert "segment properties; not copied: mesh, properties" in said
    assert said.count("\n") == 1
    assert {name for name in objects if (work / "zarr" / name).exists()} == {"provenance"}


@pytest.mark.parametrize("kind", remote_stores.KINDS)
def test_into_a_bucket_and_back(kind, copy, work):
    voxels, files = make_pyramid(work / "source", "zarr3")
    bucket = remote_stores.open_bucket(kind, work)
    try:
        url = f"{kind}://{remote_stores.BUCKET}/image"
        copy(work / "source", url, "--format", "zarr3", "--verify", environment=bucket.environment)
        keys = {key: bucket.get(key) for key in bucket.keys("image/")}
        assert {f"image/{name}" for name in files} <= keys.keys()
        copy(work / "source", url, environment=bucket.environment)
        assert {key: bucket.get(key) for key in bucket.keys("image/")} == keys
        copy(url, work / "copy", "--format", "zarr2", "--verify", environment=bucket.environment)
        check_files(work / "copy", files)
        check_as_ome_zarr(work / "copy", voxels)
    finally:
        bucket.server.stop()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def test_labels_behind_a_web_server(copy, work):
    """It cannot be listed: labels are where OME-Zarr has them, and files are not found."""
    voxels, files = make_pyramid(work / "source", "zarr3")
    handler = functools.partial(QuietHandler, directory=work / "source")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            said = copy(f"http://127.0.0.1:{server.server_port}", work / "copy", "--format", "zarr3",
                        "--verify").stderr
        finally:
            server.shutdown()
    assert "cannot be listed" in said and said.count("\n") == 1
    wanted = {path: levels for path, levels in voxels.items() if path != "mask"}
    check_voxels(work / "copy", "zarr3", wanted)
    assert not (work / "copy" / "README.md").exists()
    import zarr
    image = zarr.open_group(work / "copy", mode="r")
    assert ome(image["labels"])["labels"] == ["cells", "deep/nuclei"]


@pytest.mark.parametrize("format", SOURCES)
def test_create_like_an_image_with_labels(format, copy, work, unshard_binary):
    voxels, files = make_pyramid(work / "source", format)
    done = subprocess.run([unshard_binary, "create", work / "new", "--like", work / "source"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    documents = {"zarr.json", ".zgroup", ".zattrs", ".zarray", "attributes.json"}
    there = {name for name, content in tree(work / "new").items() if content is not None}
    assert there == {name for name, content in tree(work / "source").items()
                     if content is not None and name.rsplit("/")[-1] in documents}
    for name in there:
        assert (work / "new" / name).read_bytes() == (work / "source" / name).read_bytes()
    # Readers find empty arrays, and can write them.
    empty = {path: [np.zeros_like(level) for level in levels] for path, levels in voxels.items()}
    check_voxels(work / "new", format, empty)
    if format.startswith("zarr"):
        check_as_ome_zarr(work / "new", empty)
    copy(work / "source", work / "new")
    copy(work / "source", work / "new", "--verify")
    check_voxels(work / "new", format, voxels)
    check_files(work / "new", files)


def test_create_like_a_volume_with_meshes(copy, work, unshard_binary):
    make_volume(work / "source")
    subprocess.run([unshard_binary, "create", work / "new", "--like", work / "source"], check=True)
    # What `info` names is there, and shards of meshes can be written into it.
    assert {name for name, content in tree(work / "new").items() if content is not None} == \
        {"info", "mesh/info", "properties/info"}
    assert not voxels_of(work / "new", "precomputed").any()
    copy(work / "source", work / "new")
    copy(work / "source", work / "new", "--verify")
    assert (work / "new" / "mesh/0.shard").read_bytes() == (work / "source" / "mesh/0.shard").read_bytes()
