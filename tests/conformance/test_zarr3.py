"""Sharded Zarr v3 arrays, written by TensorStore, zarr-python and zarrs, read through the mount as
ordinary unsharded ones. The peers are the judge: of voxels, keys, bytes and metadata."""

import json
import struct

import numpy as np
import pytest
import zarr
from zarr.core.metadata.v3 import ArrayV3Metadata

from judging import (SEED, assert_missing, assert_same_bytes, assert_same_names, lossless,
                     names_below, put_file)
from tiers import in_turn
from zarr_sources import (BIG, EMPTY, GZIP, LITTLE, Array, Level, build, chains, chosen_arrays,
                          crc32c, index_length, metadata_text, random_arrays, read, shard_files)

ARRAYS = random_arrays() + chosen_arrays()
READERS = ["tensorstore", "zarr-python", "zarrs"]


class Datasets:
    def __init__(self, directory, mount):
        print(f"UNSHARD_SEED={SEED}")
        self.source, self.twins = directory / "source", directory / "unsharded"
        self.expected = {each.name: build(self.source, self.twins, each) for each in ARRAYS}
        self.view = mount(self.source).path


@pytest.fixture(scope="module")
def datasets(module_work, module_mount):
    return Datasets(module_work, module_mount)


def swapped_by_zarrs(array):
    """zarrs 0.2.3 swaps the halves of big-endian complex numbers."""
    return array.dtype.startswith("complex") and BIG in array.codecs


@pytest.mark.parametrize("reader", in_turn(READERS))
@pytest.mark.parametrize("array", in_turn(ARRAYS), ids=str)
def test_the_view_holds_the_voxels_of_the_source(datasets, array, reader):
    if reader == "zarrs" and swapped_by_zarrs(array):
        reader = "zarr-python"
    expected = datasets.expected[array.name].voxels
    found = read(datasets.view / array.name, reader)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("array", [each for each in ARRAYS if any(
    codec for level in each.levels for codec in level.after)], ids=str)
def test_zarr_python_reads_shards_that_were_encoded_by_hand(datasets, array):
    """Proves the source, not the view: the hand-made part of the matrix is legal."""
    found = read(datasets.source / array.name, "zarr-python")
    np.testing.assert_array_equal(found, datasets.expected[array.name].voxels)


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_exactly_the_stored_chunks_are_listed(datasets, array):
    assert_same_names(names_below(datasets.view / array.name),
                      {"zarr.json", *datasets.expected[array.name].chunks}, str(array))


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_each_file_holds_the_bytes_that_stand_in_the_shard(datasets, array):
    expected = datasets.expected[array.name]
    for key, content in expected.chunks.items():
        assert_same_bytes(datasets.view / array.name / key, content)
        if not (GZIP in array.codecs and array.writer == "zarr-python"):  # it stamps the time
            assert expected.twin[key] == content, f"{key} differs from the peer's unsharded one"


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_the_metadata_is_that_of_the_unsharded_array(datasets, array):
    found = (datasets.view / array.name / "zarr.json").read_text()
    assert lossless(found) == expected_metadata(array)
    twin = (datasets.twins / array.name / "zarr.json").read_text()
    assert _parsed(found) == _parsed(twin)


def expected_metadata(array):
    """The source's document with just the chunk shape and the codecs of the unsharded array."""
    document = lossless(metadata_text(array))
    grid = document.get("chunk_grid")
    shape = lossless(json.dumps(array.chunk))
    grid = grid.replaced("configuration", grid.get("configuration").replaced("chunk_shape", shape))
    codecs = lossless(json.dumps(chains(array)[1]))
    return document.replaced("chunk_grid", grid).replaced("codecs", codecs)


def _parsed(text):
    """The metadata as zarr-python understands it; NaN equals itself in this form."""
    return json.dumps(ArrayV3Metadata.from_dict(json.loads(text)).to_dict(), default=str,
                      sort_keys=True)


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_keys_that_are_no_chunk_do_not_resolve(datasets, array):
    view, chunks = datasets.view / array.name, datasets.expected[array.name].chunks
    for _, path in shard_files(datasets.source / array.name, array):
        key = str(path.relative_to(datasets.source / array.name))
        if key not in chunks:  # the key of a shard may be that of another chunk, or a folder
            assert not (view / key).is_file()
    beyond = array.chunk_key(array.grid())
    if array.rank:
        assert_missing(view / beyond)
    for key in list(chunks)[:1]:
        for wrong in (f"{key}.gz", f"{key}0x", f"{key}+1"):
            assert_missing(view / wrong)


def test_the_matrix_covers_what_it_should():
    """A seed that leaves out a corner would prove less than it seems."""
    assert {each.rank for each in ARRAYS} == {0, 1, 2, 3, 4}
    assert len({each.key for each in ARRAYS}) == 4
    levels = [level for each in ARRAYS for level in each.levels]
    assert len({(tuple(codec["name"] + str(codec == BIG) for codec in level.index),
                 level.location) for level in levels if level.location}) == 8
    names = {codec["name"] for each in ARRAYS for codec in each.codecs}
    assert names == {"transpose", "bytes", "gzip", "zstd", "blosc", "crc32c"}
    assert {each.dtype for each in ARRAYS} >= {"uint64", "float16", "bool", "complex64"}


# --- documents and shards that no peer writes -----------------------------------------------------

SIMPLE = Array("simple", (20, 14), (8, 12), [Level((4, 3))], fill="9", present=0.6)


def built(work, array, change=lambda text: text):
    """The array below work/src, its zarr.json changed, and what is expected of it."""
    expected = build(work / "src", work / "unsharded", array)
    path = work / "src" / array.name / "zarr.json"
    changed = change(path.read_text())
    path.write_text(changed)
    return expected


def changed_json(change):
    def apply(text):
        document = json.loads(text)
        change(document)
        return json.dumps(document)
    return apply


def assert_reads_everywhere(view, expected, readers=READERS):
    for reader in readers:
        np.testing.assert_array_equal(read(view, reader), expected.voxels, err_msg=reader)
    assert_same_names(names_below(view), {"zarr.json", *expected.chunks}, str(view))


@pytest.mark.parametrize("location", ["start", "end"])
def test_wrapped_markers_of_empty_chunks_mean_empty(work, mount, location):
    """Old writers added the length of the index to the offset of an empty chunk."""
    array = Array("wrapped", (20, 14), (8, 12), [Level((4, 3), None, (LITTLE,), location)],
                  fill="9", present=0.6)
    expected = built(work, array)
    length = index_length(array.levels[0], 8)
    wrapped = 0
    for _, path in shard_files(work / "src" / "wrapped", array):
        content = bytearray(path.read_bytes())
        at = 0 if location == "start" else len(content) - length
        for slot in range(at, at + length, 16):
            if struct.unpack_from("<Q", content, slot)[0] == EMPTY:
                struct.pack_into("<Q", content, slot, (EMPTY + length) % 2 ** 64)
                wrapped += 1
        path.write_bytes(content)
    assert wrapped
    assert_reads_everywhere(mount(work / "src").path / "wrapped", expected)


def test_a_shard_without_any_chunk_is_an_empty_one(work, mount):
    array = Array("hollow", (20, 14), (8, 12), [Level((4, 3))], fill="9", present=0)
    expected = built(work, array)
    index = struct.pack("<16Q", *[EMPTY] * 16)
    put_file(work / "src" / "hollow" / "c" / "1" / "0", index + crc32c(index))
    np.testing.assert_array_equal(read(work / "src" / "hollow", "zarr-python"), expected.voxels)
    view = mount(work / "src").path / "hollow"
    assert_reads_everywhere(view, expected)
    assert_missing(view / "c" / "2" / "0")


def test_the_old_name_of_the_bytes_codec_is_understood(work, mount):
    def rename(document):
        inner = document["codecs"][0]["configuration"]
        inner["codecs"][0]["name"] = "endian"
        inner["index_codecs"][0]["name"] = "endian"
    expected = built(work, SIMPLE, changed_json(rename))
    view = mount(work / "src").path / "simple"
    for key, content in expected.chunks.items():
        assert_same_bytes(view / key, content)
    assert_reads_everywhere(view, expected)


def test_short_hand_names_are_written_out_where_readers_refuse_them(work, mount):
    array = Array("short", (20, 14), (8, 12), [Level((4, 3))], "uint8", present=0.6,
                  codecs=({"name": "bytes"}, {"name": "crc32c"}))

    def shorten(document):
        inner = document["codecs"][0]["configuration"]
        inner["codecs"] = ["bytes", "crc32c"]
        inner["index_codecs"] = [inner["index_codecs"][0], "crc32c"]
        document["chunk_key_encoding"] = "default"
    expected = built(work, array, changed_json(shorten))
    assert_reads_everywhere(mount(work / "src").path / "short", expected)


def test_an_unknown_codec_inside_shards_is_served_as_bytes(work, mount):
    def add(document):
        document["codecs"][0]["configuration"]["codecs"].append(
            {"name": "example.unheard_of", "configuration": {"depth": 1.0}})
    expected = built(work, SIMPLE, changed_json(add))
    view = mount(work / "src").path / "simple"
    assert_same_names(names_below(view), {"zarr.json", *expected.chunks}, "the view")
    for key, content in expected.chunks.items():
        assert_same_bytes(view / key, content)
    codecs = lossless((view / "zarr.json").read_text()).get("codecs")
    assert codecs[-1].get("name") == "example.unheard_of"
    assert codecs[-1].get("configuration").get("depth") == "1.0"


def test_unknown_members_and_unknown_data_types_survive(work, mount):
    def add(document):
        document["example"] = {"must_understand": False, "x": 1}
        document["data_type"] = {"name": "example.type", "configuration": {"bits": 16}}
        document["fill_value"] = "opaque"
    expected = built(work, SIMPLE, changed_json(add))
    view = mount(work / "src").path / "simple"
    document = json.loads((view / "zarr.json").read_text())
    assert document["example"] == {"must_understand": False, "x": 1}
    assert document["data_type"]["name"] == "example.type" and document["fill_value"] == "opaque"
    for key, content in expected.chunks.items():
        assert_same_bytes(view / key, content)


def test_files_beside_the_chunks_pass_through(work, mount):
    expected = built(work, SIMPLE)
    beside = {"notes.txt": b"kept", "c/readme": b"", "labels/info.txt": b"x",
              "c/7/3": b"beyond the grid of shards"}
    for name, content in beside.items():
        put_file(work / "src" / "simple" / name, content)
    view = mount(work / "src" / "simple").path
    found = names_below(view)
    passed = {name for name in beside if name != "c/7/3"}
    assert_same_names(found - {"c/7/3"}, {"zarr.json", *expected.chunks} | passed, "the view")
    for name in passed:
        assert_same_bytes(view / name, beside[name])


def test_an_unknown_grid_is_passed_through_or_refused_with_a_reason(work, mount):
    def unknown(document):
        document["chunk_grid"] = {"name": "hexagonal", "configuration": {"side": 8}}
    built(work, SIMPLE, changed_json(unknown))
    good = Array("good", (20, 14), (8, 12), [Level((4, 3))])
    expected = built(work, good)
    mounted = mount(work / "src")
    assert_reads_everywhere(mounted.path / "good", expected)
    assert "hexagonal" in mounted.log() + mounted.control("errors")


# --- groups ---------------------------------------------------------------------------------------

TREE = {
    "": [Array("top", (20, 14), (8, 12), [Level((4, 3))], present=0.5)],
    "one": [Array("raw", (9,), (4,), [Level((2,))], "float64", fill='"NaN"', key="."),
            Array("plain-attributes", (6, 6), (6, 6), [Level((3, 3))], "uint64",
                  fill="9007199254740993", extra={"dimension_names": ["y", "x"]})],
    "one/two": [Array("nested", (33, 20), (32, 16), [Level((16, 8)), Level((4, 2))])],
    "one/two/three": [Array("deep", (5, 5, 5), (4, 4, 4), [Level((2, 4, 1))], "int16")],
}


def build_tree(work, consolidate):
    expected = {}
    for group, arrays in TREE.items():
        put_file(work / "src" / group / "zarr.json", json.dumps(
            {"zarr_format": 3, "node_type": "group", "attributes": {"at": group}}))
        for array in arrays:
            path = f"{group}/{array.name}".lstrip("/")
            expected[path] = array, build(work / "src" / group, work / "unsharded" / group, array)
    for group in consolidate:
        zarr.consolidate_metadata(str(work / "src" / group), zarr_format=3)
    return expected


@pytest.mark.parametrize("consolidate", [(), ("",), ("one", "")], ids=["plain", "root", "both"])
def test_groups_are_read_with_and_without_consolidated_metadata(work, mount, consolidate):
    expected = build_tree(work, consolidate)
    view = mount(work / "src").path
    for use in (None, False):
        root = zarr.open_group(str(view), mode="r", use_consolidated=use)
        for path, (array, known) in expected.items():
            assert root[path].chunks == array.chunk, path
            assert root[path].shards is None, path
            np.testing.assert_array_equal(np.asarray(root[path][...]), known.voxels, err_msg=path)
        assert root["one/two"].attrs["at"] == "one/two"
    for path, (_, known) in expected.items():
        assert_reads_everywhere(view / path, known)


def test_consolidated_copies_agree_with_the_documents_and_nothing_else_changes(work, mount):
    expected = build_tree(work, ("one", ""))
    source_path = work / "src" / "zarr.json"
    source_path.write_text(source_path.read_text().replace('"at": ""', '"at": 1.50e0'))
    view = mount(work / "src").path
    for group, prefix in (("", ""), ("one", "one/")):
        source = lossless((work / "src" / group / "zarr.json").read_text())
        found = lossless((view / group / "zarr.json").read_text())
        assert found.without("consolidated_metadata") == source.without("consolidated_metadata")
        copies = found.get("consolidated_metadata").get("metadata")
        originals = source.get("consolidated_metadata").get("metadata")
        assert [name for name, _ in copies] == [name for name, _ in originals]
        for name, copy in copies:
            if prefix + name in expected:
                array = expected[prefix + name][0]
                grid = copy.get("chunk_grid").get("configuration").get("chunk_shape")
                assert [int(n) for n in grid] == list(array.chunk), name
                assert _as_dict(copy.get("codecs")) == _as_dict(
                    lossless(json.dumps(chains(array)[1]))), name
                left = ("chunk_grid", "codecs")
                assert copy.without(*left) == originals.get(name).without(*left), name
            else:
                assert copy == originals.get(name), name


def _as_dict(value):
    """Objects without the order of their members: zarr-python writes them in its own."""
    if isinstance(value, list) and type(value) is not list:
        return {name: _as_dict(member) for name, member in value}
    return [_as_dict(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("breakage", ["no JSON", "non-dividing chunk", "unknown index codec"])
def test_a_broken_array_does_not_take_the_others_away(work, mount, breakage):
    expected = build_tree(work, ())
    path = work / "src" / "one" / "raw" / "zarr.json"
    document = json.loads(path.read_text())
    configuration = document["codecs"][0]["configuration"]
    if breakage == "non-dividing chunk":
        configuration["chunk_shape"] = [3]
    configuration["index_codecs"] += [{"name": "gzip"}] if breakage == "unknown index codec" else []
    path.write_text("{broken" if breakage == "no JSON" else json.dumps(document))
    mounted = mount(work / "src")
    for name, (_, known) in expected.items():
        if name != "one/raw":
            assert_reads_everywhere(mounted.path / name, known)
    assert "one/raw/zarr.json" in mounted.log()
    if breakage == "unknown index codec":
        assert "gzip" in mounted.log()
