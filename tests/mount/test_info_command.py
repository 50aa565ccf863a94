"""What `unshard info` tells of a source: every word of it, for programs and for people."""

import json

import pytest

import object_sources as objects
import precomputed_sources as volumes
import zarr_sources as zarrs
from judging import put_file
from precomputed_sources import Scale, Volume
from shard_container import Sharding
from zarr_sources import CRC32C, GZIP, LITTLE, Array, Level

HALVES = Sharding(0, 1, 1)  # two shards of two minishards


def array_at(work):
    """Inner chunks of 4 × 4 below two levels of sharding; some of them are there."""
    array = Array("nested", (33, 20), (32, 16), [Level((16, 8)), Level((4, 4))], present=0.3,
                  codecs=(LITTLE, GZIP, CRC32C))
    chunks = zarrs.build(work / "source", work / "twins", array).chunks
    described = "uint16 [33, 20], chunks [4, 4], bytes, gzip, crc32c"
    plain = {"description": described, "data_type": "uint16", "encoding": "bytes, gzip, crc32c",
             "shape": [33, 20], "chunk_shape": [4, 4]}
    put_file(work / "source/plain/zarr.json", zarrs.metadata_text(array, sharded=False))
    shards = {tuple(4 * int(at) // extent for at, extent in zip(key.split("/")[1:], array.shard))
              for key in chunks}
    assert len(chunks) > len(shards) > 1
    fitting = sum(min(8, 9 - 8 * row) * min(4, 5 - 4 * column) for row, column in shards)
    return [{"path": "nested", "format": "zarr v3 array, sharded", "sharded": True, **plain,
             "description": described + ", in shards of [32, 16]", "shard_shape": [32, 16],
             "sharding": {"index_location": "end", "index_codecs": "bytes, crc32c"},
             "shards": len(shards), "chunks": len(chunks), "chunks_that_fit": fitting},
            {"path": "plain", "format": "zarr v3 array", "sharded": False, **plain}]


def volume_at(work):
    """A scale in shards, half of its chunks there; one without sharding; one without any chunk."""
    segments = dict(chunk=(8, 8, 8), encoding="compressed_segmentation")
    volume = Volume("labels", "uint64", scales=[
        Scale((20, 18, 10), **segments, key="s0", present=0.5, sharding=HALVES),
        Scale((10, 9, 10), **segments, key="s1", sharding=None),
        Scale((5, 5, 4), (4, 4, 4), key="s2", sharding=HALVES, present=0)])
    expected = volumes.build(work / "source", work / "twins", volume)

    def scale(number, extent, chunk, encoding, **more):
        sharded = bool(more)
        return {"path": f"labels/s{number}", "sharded": sharded,
                "format": "precomputed scale" + (", sharded" if sharded else ""),
                "description": f"uint64 {extent}, chunks {chunk}, {encoding}",
                "data_type": "uint64", "encoding": encoding, "shape": extent,
                "chunk_shape": chunk, "channels": 1, "dimensions": ["x", "y", "z"],
                "resolution": [4 * 2 ** number, 4 * 2 ** number, 40], "units": ["nm"] * 3,
                "voxel_offset": [0, 0, 0], **more}

    return [{"path": "labels", "format": "precomputed volume", "sharded": False},
            scale(1, [10, 9, 10], [8, 8, 8], "compressed_segmentation"),
            scale(0, [20, 18, 10], [8, 8, 8], "compressed_segmentation",
                  sharding=HALVES.json(), shards=2, chunks=len(expected[0].files)),
            scale(2, [5, 5, 4], [4, 4, 4], "raw", sharding=HALVES.json(), shards=0, chunks=0,
                  chunks_that_fit=0)]


def sharded(path, kind, description, shards, chunks):
    return {"path": path, "format": f"precomputed {kind}, sharded", "sharded": True,
            "description": description, "sharding": HALVES.json(), "shards": shards,
            "chunks": chunks}


def meshes_at(work):
    files = objects.build_meshes(work / "source/mesh", HALVES, "by hand")
    return [sharded("mesh", "meshes", "multi-resolution meshes", 2, len(files) // 2)]


def skeletons_at(work):
    files = objects.build_skeletons(work / "source/skeletons", HALVES)
    return [sharded("skeletons", "skeletons", "skeletons", 2, len(files))]


def annotations_at(work):
    """Sharded by id and by place; what belongs to a cell is not."""
    plain = work / "plain"
    objects.write_unsharded_annotations(plain, "point", 3)
    objects.add_spatial_level(plain, (2, 3, 2))
    keys = {"by_id": "by id", "spatial0": "by place", "spatial1": "by place"}
    objects.shard_annotations(plain, work / "source/points", dict.fromkeys(keys, HALVES))
    count = {key: len(list((plain / key).iterdir())) for key in keys}
    assert count["by_id"] == 40 and count["spatial0"] == 1
    found = [{"path": "points", "format": "precomputed annotations", "sharded": False}] + [
        sharded(f"points/{key}", "annotations", f"annotations {what}", min(2, count[key]),
                count[key]) for key, what in keys.items()]
    found[2]["chunks_that_fit"] = 1  # the ids of the other levels come back to the same shards
    return found


KINDS = {"array": array_at, "volume": volume_at, "meshes": meshes_at, "skeletons": skeletons_at,
         "annotations": annotations_at}


@pytest.mark.parametrize("kind", list(KINDS))
def test_info_for_programs_tells_exactly_what_is_there(kind, work, run_unshard):
    expected = KINDS[kind](work)
    done = run_unshard("info", "--json", work / "source")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"source": str(work / "source"), "datasets": expected}


PEOPLE = """\
/labels
    precomputed volume
/labels/s1
    precomputed scale: uint64 [10, 9, 10], chunks [8, 8, 8], compressed_segmentation
    1 channel, dimensions x y z, resolution 8.0 x 8 x 40 nm, offset [0, 0, 0] voxels
/labels/s0
    precomputed scale, sharded: uint64 [20, 18, 10], chunks [8, 8, 8], compressed_segmentation
    1 channel, dimensions x y z, resolution 4.0 x 4 x 40 nm, offset [0, 0, 0] voxels
    {halves}
    2 shards, {s0} chunks
/labels/s2
    precomputed scale, sharded: uint64 [5, 5, 4], chunks [4, 4, 4], raw
    1 channel, dimensions x y z, resolution 16.0 x 16 x 40 nm, offset [0, 0, 0] voxels
    {halves}
    0 shards, 0 chunks
/mesh
    precomputed meshes, sharded: multi-resolution meshes
    {halves}
    2 shards, 9 chunks
/nested
    zarr v3 array, sharded: uint16 [33, 20], chunks [4, 4], bytes, gzip, crc32c, in shards of [32, 16]
    sharding: index at the end, bytes, crc32c
    {nested[shards]} shards, {nested[chunks]} chunks of {nested[chunks_that_fit]} that fit ({fill} %)
/plain
    zarr v3 array: uint16 [33, 20], chunks [4, 4], bytes, gzip, crc32c
"""


def test_info_for_people_tells_the_same_of_a_tree_of_datasets(work, run_unshard):
    nested, *_ = array_at(work)
    scales = volume_at(work)
    meshes_at(work)
    done = run_unshard("info", work / "source")
    assert (done.returncode, done.stderr) == (0, "")
    halves = ("sharding: identity, preshift 0 bits, minishard 1 bits, shard 1 bits, "
              "minishard index raw, data raw")
    fill = nested["chunks"] * 100 // nested["chunks_that_fit"]
    assert done.stdout == PEOPLE.format(s0=scales[2]["chunks"], nested=nested, halves=halves,
                                        fill=fill)


def test_info_tells_how_full_the_shards_of_a_volume_are(work, run_unshard):
    """Half of the 18 chunks of the grid, which the ids of all shards have room for."""
    volume = Volume("labels", "uint8", channels=3, scales=[
        Scale((20, 18, 10), (8, 8, 8), key="s0", present=0.5, offset=(-5, 6, 7),
              sharding=Sharding(1, 2, 2))])
    expected, = volumes.build(work / "source", work / "twins", volume)
    done = run_unshard("info", "--json", work / "source")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["datasets"][1]
    assert (found["channels"], found["voxel_offset"]) == (3, [-5, 6, 7])
    assert found["chunks"] == len(expected.files)
    shards = {int(path.stem, 16) for path in (work / "source/labels/s0").glob("*.shard")}
    cells = [(x, y, z) for x in range(3) for y in range(3) for z in range(2)]
    ids = [x % 2 | y % 2 << 1 | z % 2 << 2 | x // 2 << 3 | y // 2 << 4 for x, y, z in cells]
    assert found["chunks_that_fit"] == sum(number >> 3 in shards for number in ids)


OME = {"version": "0.5", "multiscales": [{
    "axes": [{"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space"}],
    "datasets": [{"path": "0", "coordinateTransformations": [
        {"type": "scale", "scale": [0.5, 0.25]}, {"type": "translation", "translation": [7, 8]}]}]}]}


def test_info_tells_what_an_ome_zarr_group_says_of_its_arrays(work, run_unshard):
    array = Array("0", (33, 20), (32, 16), [Level((4, 4))], codecs=(LITTLE,))
    zarrs.build(work / "source/image", work / "twins", array)
    put_file(work / "source/image/zarr.json", json.dumps(
        {"zarr_format": 3, "node_type": "group", "attributes": {"ome": OME}}))
    done = run_unshard("info", "--json", work / "source")
    assert (done.returncode, done.stderr) == (0, "")
    found, = (one for one in json.loads(done.stdout)["datasets"] if one["path"] == "image/0")
    assert {key: found[key] for key in ("dimensions", "resolution", "units", "offset")} == {
        "dimensions": ["y", "x"], "resolution": [0.5, 0.25], "units": ["micrometer", ""],
        "offset": [7, 8]}
    shown = run_unshard("info", work / "source").stdout
    assert "dimensions y x, resolution 0.5 micrometer x 0.25, offset [7, 8]" in shown
    assert "/image\n    zarr v3 group\n    OME-Zarr 0.5: image; axes y, x\n" in shown


SIX = {"version": "0.6", "multiscales": [{
    "coordinateSystems": [{"name": "world", "axes": OME["multiscales"][0]["axes"]},
                          {"name": "physical", "axes": OME["multiscales"][0]["axes"]}],
    "coordinateTransformations": [{"type": "rotation", "rotation": [[0, 1], [1, 0]],
                                   "input": {"name": "physical"}, "output": {"name": "world"}}],
    "datasets": [{"path": "0", "coordinateTransformations": [
        {"type": "scale", "scale": [0.5, 0.25], "input": {"path": "0"}, "output": {"name": "physical"}}]}]}]}


def test_info_says_the_coordinate_systems_and_what_is_not_used(work, run_unshard):
    array = Array("0", (33, 20), (32, 16), [Level((4, 4))], codecs=(LITTLE,))
    zarrs.build(work / "source/image", work / "twins", array)
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": SIX}}
    put_file(work / "source/image/zarr.json", json.dumps(document))
    ignored = ["the coordinate system world", "the transformation rotation from physical to world"]
    found = json.loads(run_unshard("info", "--json", work / "source").stdout)["datasets"]
    assert [one["ome"] for one in found if "ome" in one] == [
        {"version": "0.6", "kinds": ["image"], "coordinate_system": "physical", "axes": ["y", "x"], "ignored": ignored}]
    shown = run_unshard("info", work / "source").stdout
    assert "/image\n    zarr v3 group\n    OME-Zarr 0.6: image; axes y, x in the coordinate system physical\n" \
        "    not used by views: the coordinate system world\n" in shown
    assert "dimensions y x, resolution 0.5 micrometer x 0.25\n" in shown

    level, = document["attributes"]["ome"]["multiscales"][0]["datasets"]
    level["coordinateTransformations"][0]["type"] = "mapAxis"
    put_file(work / "source/image/zarr.json", json.dumps(document))
    shown = run_unshard("info", work / "source").stdout
    assert "not valid: ome.multiscales[0].datasets[0].coordinateTransformations[0].mapAxis: expected" in shown
    assert "views cannot place the levels: multiscales[0].datasets[0].coordinateTransformations[0]: " \
        "the transformation mapAxis" in shown


def test_info_tells_which_files_of_the_whole_array_there_are_not(work, run_unshard):
    array = Array("half", (33, 20), (32, 16), [Level((4, 4))], codecs=(LITTLE,))
    document = json.loads(zarrs.metadata_text(array, sharded=False))
    put_file(work / "source/plain/zarr.json", json.dumps(document))
    document.update(data_type="float16", fill_value=0)
    put_file(work / "source/half/zarr.json", json.dumps(document))
    done = run_unshard("info", "--json", work / "source")
    assert (done.returncode, done.stderr) == (0, "")
    found = {one["path"]: one for one in json.loads(done.stdout)["datasets"]}
    assert "no_files" not in found["plain"]
    reasons = found["half"]["no_files"]
    assert reasons.keys() == {"nii", "nrrd"}
    assert all("float16" in reason for reason in reasons.values()), reasons


def test_info_counts_the_shards_and_not_the_chunks_where_an_index_is_damaged(work, run_unshard):
    expected = skeletons_at(work)
    shard = work / "source/skeletons/0.shard"
    shard.write_bytes(b"\xff" * 8 + b"\0" * 8 + shard.read_bytes()[16:])
    del expected[0]["chunks"]
    done = run_unshard("info", "--json", work / "source")
    assert done.returncode == 1 and not done.stderr
    found, = json.loads(done.stdout)["datasets"]
    assert found.pop("unreadable_shards") == 1
    named, = found.pop("unreadable")
    assert named["path"] == "skeletons/0.shard" and str(shard) in named["why"]
    assert [found] == expected
    done = run_unshard("info", work / "source")
    assert done.returncode == 1 and f"damaged: {shard}: " in done.stdout


def test_info_names_what_is_broken_beside_what_is_not(work, run_unshard):
    expected = meshes_at(work)
    put_file(work / "source/array/zarr.json", '{"zarr_format": 3, "node_type": "arr')
    done = run_unshard("info", "--json", work / "source")
    assert done.returncode == 1
    broken, *others = json.loads(done.stdout)["datasets"]
    assert others == expected
    assert broken.keys() == {"path", "format", "sharded", "fault"} and broken["path"] == "array"
    assert "array/zarr.json" in broken["fault"]


@pytest.mark.parametrize("command", ["info", "mount"])
@pytest.mark.parametrize("kind, below, above", [("volume", "labels/s0", "labels"),
                                                ("array", "nested/c/0", "nested")])
def test_the_directory_of_chunks_leads_to_its_dataset(
        kind, below, above, command, work, run_unshard):
    KINDS[kind](work)
    (work / "source" / below).mkdir(parents=True, exist_ok=True)
    (work / "point").mkdir()
    done = run_unshard(command, work / "source" / below, *[work / "point"][:command == "mount"])
    assert done.returncode == 1 and "no dataset found" in done.stderr
    assert f"; {work / 'source' / above} has such a file: name that directory instead" in done.stderr


def test_a_source_without_any_dataset_names_no_other(work, run_unshard):
    (work / "a/b").mkdir(parents=True)
    done = run_unshard("info", work / "a/b")
    assert done.returncode == 1 and "instead" not in done.stderr
