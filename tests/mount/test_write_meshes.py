"""igneous makes meshes of a segmentation that is mounted, with the mount as its target.

Its fragments, spatial indexes and manifests are files beside the chunks and pass through; the meshes
of several resolutions that it then writes file by file go into the shards of the mesh directory.
"""

import json
import os

import numpy as np
import pytest
import tensorstore as ts

from write_data import PATIENT, flush

SHAPE, CHUNK, TASK, RESOLUTION = (64, 64, 64), (32, 32, 32), (32, 64, 64), (4, 4, 40)
LABELS = (3, 7)
MESH_SHARDING = {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity", "preshift_bits": 0,
                 "minishard_bits": 1, "shard_bits": 1, "minishard_index_encoding": "gzip",
                 "data_encoding": "raw"}


def two_balls():
    """One ball within a single meshing task, and one that two tasks share."""
    voxels = np.zeros(SHAPE, np.uint64)
    grid = np.indices(SHAPE)
    for label, center, radius in ((LABELS[0], (9, 12, 10), 7), (LABELS[1], (36, 33, 35), 20)):
        distance = sum((axis - middle)**2 for axis, middle in zip(grid, center))
        voxels[distance < radius**2] = label
    return voxels


def make_segmentation(path, sharded):
    sharding = {"sharding": {**MESH_SHARDING, "data_encoding": "gzip"}} if sharded else {}
    ts.open({
        "driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/",
        "multiscale_metadata": {"type": "segmentation", "data_type": "uint64", "num_channels": 1},
        "scale_metadata": {"size": SHAPE, "chunk_size": CHUNK, "resolution": RESOLUTION,
                           "encoding": "raw", **sharding},
    }, create=True).result()[..., 0].write(two_balls()).result()
    return path


def mesh_with_igneous(root):
    """Fragments by two tasks, then the manifests: meshes in their oldest form."""
    import igneous.task_creation as tasks

    for task in tasks.create_meshing_tasks(f"file://{root}", mip=0, shape=TASK, mesh_dir="mesh",
                                           simplification=False, compress="gzip"):
        task.execute()
    for task in tasks.create_mesh_manifest_tasks(f"file://{root}", mesh_dir="mesh"):
        task()


def merge_with_igneous(root):
    import igneous.task_creation as tasks

    for task in tasks.create_unsharded_multires_mesh_tasks(f"file://{root}", num_lod=1, magnitude=1,
                                                           mesh_dir="mesh"):
        task()


def expect_multires_meshes(root, **more):
    """What the owner of the dataset decides, which no program can through the mount."""
    path = root / "mesh" / "info"
    info = json.loads(path.read_text())
    info.update({"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 16,
                 "lod_scale_multiplier": 1.0, "transform": [4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 40, 0],
                 **more})
    path.write_text(json.dumps(info))


def triangles(root):
    """{label: the corners of its triangles} as CloudVolume reads them; files have any order."""
    from cloudvolume import CloudVolume

    volume = CloudVolume(f"file://{root}", progress=False)
    found = {}
    for label in LABELS:
        mesh = volume.mesh.get(label)
        mesh = mesh[label] if isinstance(mesh, dict) else mesh
        corners = mesh.vertices[mesh.faces].tolist()
        found[label] = sorted(sorted(map(tuple, triangle)) for triangle in corners)
        assert len(found[label]) > 100
    return found


def names_in(directory):
    return sorted(name.removesuffix(".gz") for name in os.listdir(directory))


def mesh_files(root):
    names = {f"{label}{suffix}" for label in LABELS for suffix in ("", ".index")}
    return {name: (root / "mesh" / name).read_bytes()
            for name in names.intersection(os.listdir(root / "mesh"))}


@pytest.fixture
def twin(work):
    """The same segmentation without shards, where igneous does the same without a mount."""
    return make_segmentation(work / "twin", sharded=False)


def test_igneous_meshes_a_mounted_segmentation_and_the_files_pass_through(work, mount, twin):
    source = make_segmentation(work / "source", sharded=True)
    mounted = mount(source, PATIENT)
    mesh_with_igneous(twin)
    mesh_with_igneous(mounted.path)
    assert names_in(source / "mesh") == names_in(twin / "mesh") == names_in(mounted.path / "mesh")
    assert triangles(source) == triangles(mounted.path) == triangles(twin)
    info = json.loads((source / "info").read_text())
    assert info["mesh"] == "mesh" and "sharding" in info["scales"][0]
    assert mounted.control("errors") == ""


def test_igneous_writes_meshes_of_several_resolutions_into_the_shards(work, mount, twin):
    source = make_segmentation(work / "source", sharded=True)
    for root in (twin, source):
        mesh_with_igneous(root)
    expect_multires_meshes(twin)
    expect_multires_meshes(source, sharding=MESH_SHARDING)
    mounted = mount(source, PATIENT)
    merge_with_igneous(twin)
    merge_with_igneous(mounted.path)
    written = mesh_files(mounted.path)
    assert triangles(mounted.path) == triangles(twin)
    flush(mounted)
    assert triangles(source) == triangles(twin)
    assert mesh_files(mounted.path) == written and len(written) == 2 * len(LABELS)
    assert not mesh_files(source)
    assert [name for name in os.listdir(source / "mesh") if name.endswith(".shard")]
    assert mounted.control("errors") == ""
