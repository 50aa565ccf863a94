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
    return [{"path": "nested", "format": "zarr v3 array, sharded", "sharded": True, **plain,
             "description": described + ", in shards of [32, 16]", "shard_shape": [32, 16],
             "shards": len(shards), "chunks": len(chunks)},
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
                "chunk_shape": chunk, **more}

    return [{"path": "labels", "format": "precomputed volume", "sharded": False},
            scale(1, [10, 9, 10], [8, 8, 8], "compressed_segmentation"),
            scale(0, [20, 18, 10], [8, 8, 8], "compressed_segmentation",
                  shards=2, chunks=len(expected[0].files)),
            scale(2, [5, 5, 4], [4, 4, 4], "raw", shards=0, chunks=0)]


def sharded(path, kind, description, shards, chunks):
    return {"path": path, "format": f"precomputed {kind}, sharded", "sharded": True,
            "description": description, "shards": shards, "chunks": chunks}


def meshes_at(work):
    files = objects.build_meshes(work / "source/mesh", HALVES, "by hand")
    return [{"path": "mesh", "format": "precomputed meshes", "sharded": False},
            sharded("mesh", "meshes", "multi-resolution meshes", 2, len(files) // 2)]


def skeletons_at(work):
    files = objects.build_skeletons(work / "source/skeletons", HALVES)
    return [{"path": "skeletons", "format": "precomputed skeletons", "sharded": False},
            sharded("skeletons", "skeletons", "skeletons", 2, len(files))]


def annotations_at(work):
    """Sharded by id and by place; what belongs to a cell is not."""
    plain = work / "plain"
    objects.write_unsharded_annotations(plain, "point", 3)
    objects.add_spatial_level(plain, (2, 3, 2))
    keys = {"by_id": "by id", "spatial0": "by place", "spatial1": "by place"}
    objects.shard_annotations(plain, work / "source/points", dict.fromkeys(keys, HALVES))
    count = {key: len(list((plain / key).iterdir())) for key in keys}
    assert count["by_id"] == 40 and count["spatial0"] == 1
    return [{"path": "points", "format": "precomputed annotations", "sharded": False}] + [
        sharded(f"points/{key}", "annotations", f"annotations {what}", min(2, count[key]),
                count[key]) for key, what in keys.items()]


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
/labels/s0
    precomputed scale, sharded: uint64 [20, 18, 10], chunks [8, 8, 8], compressed_segmentation
    2 shards, {s0} chunks
/labels/s2
    precomputed scale, sharded: uint64 [5, 5, 4], chunks [4, 4, 4], raw
    0 shards, 0 chunks
/mesh
    precomputed meshes
/mesh
    precomputed meshes, sharded: multi-resolution meshes
    2 shards, 9 chunks
/nested
    zarr v3 array, sharded: uint16 [33, 20], chunks [4, 4], bytes, gzip, crc32c, in shards of [32, 16]
    {nested[shards]} shards, {nested[chunks]} chunks
/plain
    zarr v3 array: uint16 [33, 20], chunks [4, 4], bytes, gzip, crc32c
"""


def test_info_for_people_tells_the_same_of_a_tree_of_datasets(work, run_unshard):
    nested, *_ = array_at(work)
    scales = volume_at(work)
    meshes_at(work)
    done = run_unshard("info", work / "source")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PEOPLE.format(s0=scales[2]["chunks"], nested=nested)


def test_info_counts_the_shards_and_not_the_chunks_where_an_index_is_damaged(work, run_unshard):
    expected = skeletons_at(work)
    shard = work / "source/skeletons/0.shard"
    shard.write_bytes(b"\xff" * 8 + b"\0" * 8 + shard.read_bytes()[16:])
    del expected[1]["chunks"]
    done = run_unshard("info", "--json", work / "source")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["datasets"] == expected


def test_info_names_what_is_broken_beside_what_is_not(work, run_unshard):
    expected = meshes_at(work)
    put_file(work / "source/array/zarr.json", '{"zarr_format": 3, "node_type": "arr')
    done = run_unshard("info", "--json", work / "source")
    assert done.returncode == 0, done.stderr
    broken, *others = json.loads(done.stdout)["datasets"]
    assert others == expected
    assert broken.keys() == {"path", "format", "sharded", "fault"} and broken["path"] == "array"
    assert "array/zarr.json" in broken["fault"]
