"""Sharded multi-resolution meshes, skeletons and annotations, by CloudVolume, TensorStore and the
neuroglancer package; each beside the unsharded directory that it is equivalent to."""

import json
import pathlib
import struct

import numpy as np
import tensorstore as ts

from judging import put_file, tree
from shard_container import Sharding, compressed_morton, write_values

IDS = [1, 2, 7, 255, 256, 65537, 720575940379279312, 2 ** 63 + 5, 2 ** 64 - 1]


# --- meshes ---------------------------------------------------------------------------------------

def mesh_pieces(number):
    """(manifest, fragments) of one segment; CloudVolume and DracoPy encode both."""
    import DracoPy
    from cloudvolume.datasource.precomputed.mesh.multilod import MultiLevelPrecomputedMeshManifest
    rng = np.random.default_rng([number % 2 ** 32, 5])
    levels = int(rng.integers(1, 4))
    positions, sizes, fragments = [], [], []
    for level in range(levels):
        count = int(rng.integers(1, 4))
        positions.append([(i, (level + i) % 2, 0) for i in range(count)])
        here = []
        for _ in range(count):
            points = rng.integers(0, 2 ** 16, size=(30, 3)).astype(np.float32)
            faces = rng.integers(0, 30, size=(20, 3)).astype(np.uint32)
            here.append(DracoPy.encode(points, faces, quantization_bits=16))
        if rng.random() < 0.4:
            here[0] = b""  # a node of the octree without geometry
        fragments += here
        sizes += [len(each) for each in here]
    manifest = MultiLevelPrecomputedMeshManifest(
        number, (64, 64, 64), (0, 0, 0), levels, [2.0 ** i for i in range(levels)],
        np.zeros((levels, 3)), [len(each) for each in positions], positions, sizes)
    return manifest.to_binary(), b"".join(fragments)


def mesh_info(sharding):
    info = {"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 16, "mip": 0,
            "transform": [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "lod_scale_multiplier": "ONE",
            "note": {"deep": [None]}}
    if sharding:
        info["sharding"] = sharding.json()
    return json.dumps(info).replace('"ONE"', "1.00e0")


def build_meshes(root, sharding, writer, ids=IDS):
    """Writes shards of meshes; returns {file name: bytes} of the unsharded directory."""
    pieces = {number: mesh_pieces(number) for number in ids}
    if writer == "by hand":
        contents = hand_made_shards(sharding, pieces)
    else:
        from cloudvolume.datasource.precomputed.sharding import synthesize_shard_files
        contents = synthesize_shard_files(
            cloudvolume_spec(sharding),
            {number: fragments + manifest for number, (manifest, fragments) in pieces.items()},
            {number: len(manifest) for number, (manifest, _) in pieces.items()})
    for name, content in contents.items():
        put_file(root / name, content)
    put_file(root / "info", mesh_info(sharding))
    return {f"{number}{suffix}": content for number, (manifest, fragments) in pieces.items()
            for suffix, content in ((".index", manifest), ("", fragments))}


def cloudvolume_spec(sharding):
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification
    return ShardingSpecification.from_dict(sharding.json())


def hand_made_shards(sharding, pieces):
    """Shards in which the fragments of each mesh stand raw before its manifest, whatever the
    encoding, and ids descend, so that deltas wrap; CloudVolume tells which id goes where."""
    from cloudvolume import compression
    spec = cloudvolume_spec(sharding)
    places = {}
    for number in sorted(pieces, reverse=True):
        place = spec.compute_shard_location(number)
        places.setdefault(str(place.shard_number), {}).setdefault(
            int(place.minishard_number), []).append(number)

    def encoded(content, encoding):
        return content if encoding in ("raw", None) else compression.compress(content, "gzip")

    shards = {}
    for shard, minishards in places.items():
        index, body = [(0, 0)] * (1 << sharding.minishard), b""
        for minishard, numbers in minishards.items():
            ids, starts, sizes, last_id, last_end = [], [], [], 0, 0
            for number in numbers:
                manifest, fragments = pieces[number]
                value = encoded(manifest, sharding.data_encoding)
                body += fragments
                ids.append((number - last_id) % 2 ** 64)
                starts.append(len(body) - last_end)
                sizes.append(len(value))
                body += value
                last_id, last_end = number, len(body)
            rows = struct.pack(f"<{3 * len(ids)}Q", *ids, *starts, *sizes)
            rows = encoded(rows, sharding.index_encoding)
            index[minishard] = (len(body), len(body) + len(rows))
            body += rows
        shards[f"{shard}.shard"] = struct.pack(f"<{2 * len(index)}Q",
                                               *(n for pair in index for n in pair)) + body
    return shards


# --- skeletons ------------------------------------------------------------------------------------

ATTRIBUTES = [{"id": "radius", "data_type": "float32", "num_components": 1}]


def skeleton_of(number):
    from cloudvolume import Skeleton
    rng = np.random.default_rng([number % 2 ** 32, 6])
    count = int(rng.integers(2, 12))
    return Skeleton(rng.random((count, 3)).astype(np.float32) * 100,
                    np.array([(i, i + 1) for i in range(count - 1)], np.uint32),
                    radii=rng.random(count).astype(np.float32), segid=number,
                    extra_attributes=ATTRIBUTES)


def build_skeletons(root, sharding, ids=IDS):
    from cloudvolume.datasource.precomputed.sharding import synthesize_shard_files
    values = {number: skeleton_of(number).to_precomputed() for number in ids}
    for name, content in synthesize_shard_files(cloudvolume_spec(sharding), dict(values)).items():
        put_file(root / name, content)
    put_file(root / "info", json.dumps({
        "@type": "neuroglancer_skeletons", "sharding": sharding.json(),
        "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "vertex_attributes": ATTRIBUTES}))
    return {str(number): value for number, value in values.items()}


# --- annotations ----------------------------------------------------------------------------------

def write_unsharded_annotations(directory, kind, rank, count=40):
    """By the neuroglancer package; two relationships, properties of three alignments."""
    import neuroglancer
    from neuroglancer.write_annotations import AnnotationWriter
    rng = np.random.default_rng([rank, *kind.encode()])
    space = neuroglancer.CoordinateSpace(names=[f"d{i}" for i in range(rank)], units="nm",
                                         scales=[1.0 + i for i in range(rank)])
    writer = AnnotationWriter(
        space, annotation_type=kind, relationships=["cell", "nothing"],
        properties=[neuroglancer.AnnotationPropertySpec(id="size", type="float32"),
                    neuroglancer.AnnotationPropertySpec(id="kind", type="uint16"),
                    neuroglancer.AnnotationPropertySpec(id="tint", type="rgb")])
    for number in rng.choice(2 ** 62, size=count, replace=False):
        more = dict(id=int(number), size=float(rng.random()), kind=int(rng.integers(9)),
                    tint="#%06x" % int(rng.integers(2 ** 24)),
                    cell=[int(each) for each in rng.integers(1, 9, size=rng.integers(0, 3))])
        low, high = (rng.random(rank) * 50 for _ in range(2))
        if kind == "point":
            writer.add_point(low, **more)
        elif kind == "line":
            writer.add_line(low, high, **more)
        elif kind == "ellipsoid":
            writer.add_ellipsoid(low, high / 10 + 1, **more)
        else:
            writer.add_axis_aligned_bounding_box(low, low + high, **more)
    writer.write(str(directory))


def add_spatial_level(directory, grid):
    """A finer level below the one of the writer: some of its cells, each with all annotations."""
    info = json.loads((directory / "info").read_text())
    rank = len(grid)
    whole = (directory / "spatial0" / "_".join("0" * rank)).read_bytes()
    info["spatial"].append({"key": "spatial1", "grid_shape": list(grid), "limit": 40,
                            "chunk_size": [100.5 / n for n in grid]})
    cells = [cell for cell in np.ndindex(*grid) if sum(cell) % 3 != 1]
    for cell in cells:
        put_file(directory / "spatial1" / "_".join(map(str, cell)), whole)
    (directory / "info").write_text(json.dumps(info))


def shard_annotations(source, target, shardings, upper_case=False):
    """Copies an unsharded directory, each index with a sharding in `shardings` into shards.

    `shardings` is {key of the index: Sharding}; TensorStore writes the shards.
    """
    info = json.loads((source / "info").read_text())
    spatial = {level["key"]: level["grid_shape"] for level in info["spatial"]}
    for index in [info["by_id"], *info["relationships"], *info["spatial"]]:
        files = tree(source / index["key"])
        sharding = shardings.get(index["key"])
        (target / index["key"]).mkdir(parents=True, exist_ok=True)
        if sharding is None:
            for name, content in files.items():
                put_file(target / index["key"] / name, content)
            continue
        index["sharding"] = sharding.json()
        values = {}
        for name, content in files.items():
            if index["key"] in spatial:
                cell = [int(part) for part in name.split("_")]
                values[compressed_morton(cell, spatial[index["key"]])] = content
            else:
                values[int(name)] = content
        write_values(target / index["key"], sharding, values)
    if upper_case:
        info["annotation_type"] = info["annotation_type"].upper()
    put_file(target / "info", json.dumps(info))


def volume_info(**members):
    """The info of a small volume to which meshes and skeletons belong."""
    return json.dumps({
        "@type": "neuroglancer_multiscale_volume", "type": "segmentation", "data_type": "uint64",
        "num_channels": 1, **members, "scales": [
            {"key": "s0", "size": [8, 8, 8], "chunk_sizes": [[8, 8, 8]], "encoding": "raw",
             "resolution": [1, 1, 1], "voxel_offset": [0, 0, 0], "sharding": Sharding().json()}]})


def mesh_value(directory, sharding, number, size_before=0):
    """What TensorStore's store gives for a manifest, or for the bytes that precede it."""
    store = ts.KvStore.open({"driver": "neuroglancer_uint64_sharded", "metadata": sharding.json(),
                             "base": f"file://{pathlib.Path(directory)}/"}).result()
    key = struct.pack(">Q", number) + (struct.pack(">Q", size_before) if size_before else b"")
    return bytes(store[key])
