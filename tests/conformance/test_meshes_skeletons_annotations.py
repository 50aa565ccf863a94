"""Sharded meshes, skeletons and annotations read through the mount as unsharded ones, inside a
volume and on their own; legacy meshes and segment properties beside them pass through."""

import errno
import json
import struct

import numpy as np
import pytest

from judging import (assert_missing, assert_same_bytes, assert_same_names, error_of_reading,
                     lossless, names, names_below, put_file, tree)
from object_sources import (IDS, add_spatial_level, build_meshes, build_skeletons, mesh_info,
                            mesh_pieces, mesh_value, shard_annotations, volume_info,
                            write_unsharded_annotations)
from shard_container import MURMUR, Sharding, write_values

MESHES = {
    "one-shard": ("cloudvolume", Sharding()),
    "murmur": ("cloudvolume", Sharding(0, 2, 3, MURMUR)),
    "preshift-gzip-index": ("cloudvolume", Sharding(4, 3, 2, MURMUR, "gzip", "raw")),
    "encodings-absent": ("cloudvolume", Sharding(1, 1, 1, index_encoding=None, data_encoding=None)),
    "hand-made": ("by hand", Sharding(0, 2, 3, MURMUR)),
    "hand-made-gzip": ("by hand", Sharding(2, 1, 2, MURMUR, "gzip", "gzip")),
    "hand-made-one-minishard": ("by hand", Sharding(0, 0, 0, "identity", "gzip", "gzip")),
}
SKELETONS = {
    "one-shard": Sharding(),
    "murmur-gzip": Sharding(0, 3, 4, MURMUR, "gzip", "gzip"),
    "preshift": Sharding(9, 2, 7, "identity", "raw", "gzip"),
    "encodings-absent": Sharding(0, 1, 1, MURMUR, None, None),
}
GZIP = dict(index_encoding="gzip", data_encoding="gzip")
ALL_SHARDED = {"by_id": Sharding(0, 3, 2, MURMUR, **GZIP), "rel_cell": Sharding(1, 1, 1),
               "rel_nothing": Sharding(), "spatial0": Sharding(0, 0, 0),
               "spatial1": Sharding(1, 1, 2, data_encoding="gzip")}
MIXED = {"by_id": Sharding(0, 1, 1, MURMUR, None, None), "rel_cell": Sharding(3, 2, 9, MURMUR),
         "spatial1": Sharding(0, 2, 1, **GZIP)}
ANNOTATIONS = {  # kind, grid of the finer level (its rank is that of the annotations), shardings
    "points": ("point", (2, 3, 1), ALL_SHARDED),
    "points-rank-1": ("point", (9,), ALL_SHARDED),
    "points-rank-2": ("point", (5, 4), MIXED),
    "points-rank-5": ("point", (2, 1, 3, 2, 4), ALL_SHARDED),
    "lines": ("line", (4, 4, 4), MIXED),
    "ellipsoids": ("ellipsoid", (1, 1, 1), ALL_SHARDED),
    "boxes": ("axis_aligned_bounding_box", (3, 3, 3), ALL_SHARDED),
    "not-sharded-at-all": ("point", (2, 2, 2), {}),
}


class Datasets:
    def __init__(self, directory, mount):
        self.source = directory / "source"
        self.files = {}
        for name, (writer, sharding) in MESHES.items():
            volume = self.source / "meshes" / name
            put_file(volume / "info", volume_info(mesh="mesh"))
            self.files["meshes", name] = build_meshes(volume / "mesh", sharding, writer)
        for name, sharding in SKELETONS.items():
            volume = self.source / "skeletons" / name
            put_file(volume / "info", volume_info(skeletons="../bones/" + name))
            self.files["skeletons", name] = build_skeletons(
                self.source / "skeletons" / "bones" / name, sharding)
        for name, (kind, grid, shardings) in ANNOTATIONS.items():
            plain = directory / "unsharded" / name
            write_unsharded_annotations(plain, kind, len(grid))
            add_spatial_level(plain, grid)
            shard_annotations(plain, self.source / "annotations" / name, shardings)
            self.files["annotations", name] = {
                path: content for path, content in tree(plain).items() if content is not None}
        self.view = mount(self.source).path


@pytest.fixture(scope="module")
def datasets(module_work, module_mount):
    return Datasets(module_work, module_mount)


def members_without_sharding(text):
    return lossless(text).without("sharding")


# --- meshes ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", MESHES)
def test_a_mesh_directory_holds_manifests_and_fragments(datasets, name):
    view, expected = datasets.view / "meshes" / name / "mesh", datasets.files["meshes", name]
    assert_same_names(names(view), {"info", *expected}, name)
    for file_name, content in expected.items():
        assert_same_bytes(view / file_name, content)
    source = (datasets.source / "meshes" / name / "mesh" / "info").read_text()
    assert lossless((view / "info").read_text()) == members_without_sharding(source)


@pytest.mark.parametrize("name", MESHES)
def test_mesh_files_equal_what_tensorstore_finds_in_the_shards(datasets, name):
    view, sharding = datasets.view / "meshes" / name / "mesh", MESHES[name][1]
    source = datasets.source / "meshes" / name / "mesh"
    for number in IDS:
        assert_same_bytes(view / f"{number}.index", mesh_value(source, sharding, number))
        fragments = (view / str(number)).read_bytes()
        if fragments:
            assert fragments == mesh_value(source, sharding, number, len(fragments))


@pytest.mark.parametrize("name", [
    name for name, (_, sharding) in MESHES.items() if sharding.data_encoding != "gzip"])
def test_cloudvolume_reads_the_meshes_of_the_source(datasets, name):
    from cloudvolume import CloudVolume
    view, source = (CloudVolume(f"file://{root / 'meshes' / name}", progress=False)
                    for root in (datasets.view, datasets.source))
    assert type(view.mesh).__name__ == "UnshardedMultiLevelPrecomputedMeshSource"
    for number in IDS:
        found, expected = view.mesh.get(number, lod=0), source.mesh.get(number, lod=0)
        assert set(found) == set(expected)
        for key in expected:
            np.testing.assert_array_equal(found[key].vertices, expected[key].vertices)
            np.testing.assert_array_equal(found[key].faces, expected[key].faces)


def test_names_that_are_no_mesh_do_not_resolve(datasets):
    view = datasets.view / "meshes" / "murmur" / "mesh"
    for name in ("3", "3.index", "01", "01.index", "1.idx", "1.index.gz", "0.shard", "-1", "+1",
                 "18446744073709551616", "1:0"):
        assert_missing(view / name)


def test_meshes_mounted_on_their_own(datasets, mount):
    for name in ("murmur", "hand-made-gzip"):
        view = mount(datasets.source / "meshes" / name / "mesh").path
        expected = datasets.files["meshes", name]
        assert_same_names(names_below(view), {"info", *expected}, name)
        for file_name, content in expected.items():
            assert_same_bytes(view / file_name, content)


# --- skeletons ------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", SKELETONS)
def test_a_skeleton_directory_holds_one_file_for_each_segment(datasets, name):
    view = datasets.view / "skeletons" / "bones" / name
    expected = datasets.files["skeletons", name]
    assert_same_names(names(view), {"info", *expected}, name)
    for file_name, content in expected.items():
        assert_same_bytes(view / file_name, content)
    source = (datasets.source / "skeletons" / "bones" / name / "info").read_text()
    assert lossless((view / "info").read_text()) == members_without_sharding(source)


@pytest.mark.parametrize("name", SKELETONS)
def test_cloudvolume_reads_the_skeletons_of_the_source(datasets, name):
    from cloudvolume import CloudVolume
    plain = datasets.source / "skeletons" / name / "info"
    assert json.loads(plain.read_text())["skeletons"] == f"../bones/{name}"
    view = CloudVolume(f"file://{datasets.view / 'skeletons' / name}", progress=False)
    source = CloudVolume(f"file://{datasets.source / 'skeletons' / name}", progress=False)
    for number in IDS:
        found, expected = view.skeleton.get(number), source.skeleton.get(number)
        np.testing.assert_array_equal(found.vertices, expected.vertices)
        np.testing.assert_array_equal(found.edges, expected.edges)
        np.testing.assert_array_equal(found.radius, expected.radius)


def test_skeletons_mounted_on_their_own(datasets, mount):
    view = mount(datasets.source / "skeletons" / "bones" / "preshift").path
    expected = datasets.files["skeletons", "preshift"]
    assert_same_names(names_below(view), {"info", *expected}, "the view")
    for file_name, content in expected.items():
        assert_same_bytes(view / file_name, content)
    for name in ("3", "01", "1.zstd", "1.index"):
        assert_missing(view / name)


# --- annotations ----------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations_equal_what_the_package_wrote_unsharded(datasets, name):
    view, expected = datasets.view / "annotations" / name, datasets.files["annotations", name]
    assert_same_names(names_below(view), expected, name)
    for path, content in expected.items():
        if path != "info":
            assert_same_bytes(view / path, content)


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_the_info_of_annotations_loses_sharding_and_nothing_else(datasets, name):
    found = lossless((datasets.view / "annotations" / name / "info").read_text())
    plain = lossless(datasets.files["annotations", name]["info"].decode())
    assert found == plain


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_neuroglancer_reads_the_annotations_of_the_source(datasets, name):
    from neuroglancer.read_precomputed_annotations import AnnotationReader
    view, source = (AnnotationReader(f"file://{root / 'annotations' / name}/")
                    for root in (datasets.view, datasets.source))
    paths = [path.split("/") for path in datasets.files["annotations", name] if path != "info"]
    for index, key in paths:
        if index == "by_id":
            assert view.by_id[int(key)] == source.by_id[int(key)]
        elif index == "rel_cell":
            relation = "cell"
            assert view.relationships[relation][int(key)] == source.relationships[relation][
                int(key)]
        else:
            level, cell = int(index[-1]), tuple(int(part) for part in key.split("_"))
            assert view.spatial[level][cell] == source.spatial[level][cell]


def test_cloudvolume_reads_annotations(work, mount):
    from cloudvolume import from_cloudpath
    plain = work / "unsharded"
    write_unsharded_annotations(plain, "point", 3)
    shard_annotations(plain, work / "src", {key: ALL_SHARDED[key] for key in ALL_SHARDED
                                            if key != "spatial1"}, upper_case=True)
    view, source = (from_cloudpath(f"file://{root}")
                    for root in (mount(work / "src").path, work / "src"))
    for number in (int(name) for name in names(plain / "by_id")):
        found, expected = view.get_by_id(number), source.get_by_id(number)
        np.testing.assert_array_equal(found.geometry, expected.geometry)
        assert found.id == expected.id


def test_annotations_mounted_on_their_own_at_any_rank(datasets, mount):
    for name in ("points-rank-5", "points-rank-1"):
        view, expected = mount(datasets.source / "annotations" / name).path, datasets.files[
            "annotations", name]
        assert_same_names(names_below(view), expected, name)
        cells = names(view / "spatial1")
        for cell in list(cells)[:3]:
            for wrong in (f"{cell}_0", f"0{cell}", f"{cell}.br"):
                assert_missing(view / "spatial1" / wrong)


# --- a volume with everything -----------------------------------------------------------------------

def test_a_volume_with_all_its_company(work, mount):
    """One mount of a segmentation with meshes, skeletons, properties and annotations inside."""
    root = work / "src"
    put_file(root / "info", volume_info(mesh="mesh", skeletons="skeletons",
                                        segment_properties="properties"))
    voxels = np.arange(512, dtype="<u8").tobytes()
    write_values(root / "s0", Sharding(), {0: voxels})
    meshes = build_meshes(root / "mesh", Sharding(0, 2, 3, MURMUR), "cloudvolume")
    skeletons = build_skeletons(root / "skeletons", Sharding(0, 1, 2, MURMUR, **GZIP))
    properties = '{"@type": "neuroglancer_segment_properties", "inline": {"ids": ["1", "2"]}}\n'
    put_file(root / "properties" / "info", properties)
    write_unsharded_annotations(work / "plain", "point", 3)
    shard_annotations(work / "plain", root / "annotations", MIXED)
    view = mount(root).path
    expected = {"info", "s0/0-8_0-8_0-8", "mesh/info", "skeletons/info", "properties/info"}
    expected |= {f"mesh/{name}" for name in meshes} | {f"skeletons/{name}" for name in skeletons}
    expected |= {f"annotations/{path}" for path in names_below(work / "plain")}
    assert_same_names(names_below(view), expected, "the view")
    assert_same_bytes(view / "s0" / "0-8_0-8_0-8", voxels)
    assert_same_bytes(view / "properties" / "info", properties.encode())
    info = lossless((view / "info").read_text())
    assert [name for name, _ in info] == [name for name, _ in lossless(
        (root / "info").read_text())]


def legacy_mesh(number):
    rng = np.random.default_rng(number)
    vertices = rng.random((4, 3)).astype("<f4")
    return struct.pack("<I", 4) + vertices.tobytes() + np.array(
        [0, 1, 2, 1, 2, 3], "<u4").tobytes()


@pytest.mark.parametrize("with_info", [True, False], ids=["info", "no-info"])
def test_legacy_meshes_pass_through(work, mount, with_info):
    from cloudvolume import CloudVolume
    root = work / "src"
    put_file(root / "info", volume_info(mesh="mesh"))
    write_values(root / "s0", Sharding(), {0: bytes(4096)})
    if with_info:
        put_file(root / "mesh" / "info", '{"@type":"neuroglancer_legacy_mesh","kept": 1.0}')
    for number in (1, 2, 30):
        put_file(root / "mesh" / f"{number}:0", json.dumps({"fragments": [f"{number}:0:all"]}))
        put_file(root / "mesh" / f"{number}:0:all", legacy_mesh(number))
    view = mount(root).path
    assert tree(view / "mesh") == tree(root / "mesh")
    for number in (1, 2, 30):
        found, expected = (CloudVolume(f"file://{each}", progress=False).mesh.get(number)
                           for each in (view, root))
        np.testing.assert_array_equal(found.vertices, expected.vertices)
        np.testing.assert_array_equal(found.faces, expected.faces)


def test_a_manifest_that_disagrees_with_its_shard_is_damage(work, mount):
    """Fragments that would begin before the shard, and a manifest that is none: only they fail."""
    sharding = Sharding(0, 1, 0)
    put_file(work / "src" / "info", mesh_info(sharding))
    manifest, fragments = mesh_pieces(7)
    good_manifest = mesh_pieces(2)[0]
    write_values(work / "src", sharding, {7: manifest, 2: good_manifest, 9: b"too short"})
    assert len(fragments) > 200
    mounted = mount(work / "src")
    assert error_of_reading(mounted.path / "7") == errno.EIO
    assert error_of_reading(mounted.path / "9") == errno.EIO
    assert_same_bytes(mounted.path / "2.index", good_manifest)
    assert "7" in mounted.control("errors") and "9" in mounted.control("errors")
