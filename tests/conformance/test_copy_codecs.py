"""`unshard copy` keeps the compression where the format has it, and refuses shards that do not fit."""

import json

import numpy as np
import pytest

from test_copy import voxels_of
from test_copy_safety import copy, create, filled  # noqa: F401 (fixtures)
from tiers import in_turn

VOXELS = np.tile(np.arange(10, dtype="uint16"), 400)[:3960].reshape(10, 18, 22)


def zarr2(path, compressor):
    import numcodecs
    import zarr

    zarr.create_array(path, shape=VOXELS.shape, chunks=(4, 8, 8), dtype="uint16", zarr_format=2,
                      compressors=numcodecs.get_codec(compressor) if compressor else None)[...] = VOXELS


def n5(path, compression):
    import tensorstore as ts

    ts.open({"driver": "n5", "kvstore": f"file://{path}/", "create": True, "metadata": {
        "dimensions": [*VOXELS.shape[::-1]], "blockSize": [8, 8, 4], "dataType": "uint16",
        "compression": compression}}).result()[...] = VOXELS.T


def volume(path, encoding, data_encoding):
    import tensorstore as ts

    scale = {"size": [22, 18, 10], "voxel_offset": [0, 0, 0], "resolution": [1, 1, 1],
             "chunk_size": [8, 8, 4], "encoding": encoding}
    if encoding == "compressed_segmentation":
        scale["compressed_segmentation_block_size"] = [8, 8, 8]
    if data_encoding:
        scale["sharding"] = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 2, "hash": "identity",
                             "minishard_bits": 0, "shard_bits": 3, "data_encoding": data_encoding}
    ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/", "create": True,
             "multiscale_metadata": {"type": "segmentation", "num_channels": 1, "data_type":
                                     "uint32" if "comp" in encoding else "uint16"},
             "scale_metadata": scale}).result()[...] = VOXELS.T[..., None]


def codec_in(path, format):
    """The name of the compressor of the chunks, with its level."""
    if format == "zarr3":
        codecs = json.loads((path / "zarr.json").read_text())["codecs"]
        if codecs[0]["name"] == "sharding_indexed":
            codecs = codecs[0]["configuration"]["codecs"]
        last = codecs[-1] if codecs[-1]["name"] != "crc32c" else codecs[-2]
        return last["name"], last.get("configuration", {}).get("level")
    if format == "zarr2":
        compressor = json.loads((path / ".zarray").read_text())["compressor"] or {"id": "raw"}
        return compressor["id"], compressor.get("level")
    if format == "n5":
        compression = json.loads((path / "attributes.json").read_text())["compression"]
        return compression["type"], compression.get("level")
    scale = json.loads((path / "info").read_text())["scales"][0]
    return scale["encoding"], scale.get("sharding", {}).get("data_encoding")


SOURCES = {
    "zstd": (zarr2, {"id": "zstd", "level": 7}),
    "gzip": (zarr2, {"id": "gzip", "level": 7}),
    "zlib": (zarr2, {"id": "zlib", "level": 7}),
    "bz2": (zarr2, {"id": "bz2", "level": 7}),
    "lz4": (zarr2, {"id": "lz4"}),
    "blosc": (zarr2, {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": -1}),
    "none": (zarr2, None),
    "n5 gzip": (n5, {"type": "gzip", "level": -1}),
    "n5 xz": (n5, {"type": "xz"}),
    "n5 raw": (n5, {"type": "raw"}),
    "segmentation": (volume, "compressed_segmentation", "gzip"),
    "volume gzip": (volume, "raw", "gzip"),
    "volume raw": (volume, "raw", None),
}
KEPT = {
    ("zstd", "zarr3"): ("zstd", 7), ("zstd", "n5"): ("zstd", 7), ("zstd", "precomputed"): ("raw", None),
    ("gzip", "zarr3"): ("gzip", 7), ("gzip", "n5"): ("gzip", 7),
    ("zlib", "zarr3"): ("gzip", 7), ("zlib", "n5"): ("gzip", 7),
    ("bz2", "zarr3"): ("zstd", 3), ("bz2", "n5"): ("bzip2", None),
    ("lz4", "zarr3"): ("zstd", 3), ("lz4", "n5"): ("gzip", 6),
    ("blosc", "zarr3"): ("blosc", None), ("blosc", "n5"): ("blosc", None),
    ("none", "zarr3"): ("bytes", None), ("none", "n5"): ("raw", None),
    ("n5 gzip", "zarr3"): ("gzip", 6), ("n5 gzip", "zarr2"): ("gzip", 6),
    ("n5 xz", "zarr3"): ("zstd", 3), ("n5 xz", "zarr2"): ("zstd", 3),
    ("n5 raw", "zarr3"): ("bytes", None), ("n5 raw", "zarr2"): ("raw", None),
    ("segmentation", "zarr3"): ("zstd", 3), ("segmentation", "zarr2"): ("zstd", 3),
    ("segmentation", "n5"): ("gzip", 6),
    ("volume gzip", "zarr3"): ("gzip", 6), ("volume gzip", "n5"): ("gzip", 6),
    ("volume raw", "zarr3"): ("bytes", None),
}
LAYOUTS = {"as it is": [], "sharded": ["--shard", "8,16,16"], "other chunks": ["--chunk", "5,8,11"]}


def listed(format, options):
    if not options or format not in ("precomputed", "n5"):
        return options
    return [options[0], ",".join(reversed(options[1].split(",")))]


@pytest.mark.parametrize("layout", in_turn(LAYOUTS))
@pytest.mark.parametrize("source,format", in_turn(KEPT), ids=lambda one: one)
def test_the_compression_is_kept(source, format, layout, copy, work):
    make, *arguments = SOURCES[source]
    make(work / "from", *arguments)
    if layout == "sharded" and format in ("zarr2", "n5"):
        pytest.skip("has no shards")
    copy(work / "from", work / "to", "--format", format, *listed(format, LAYOUTS[layout]), "--verify")
    wanted = KEPT[source, format]
    if format == "precomputed" and layout == "sharded":
        wanted = ("raw", "gzip")
    # A volume is a pyramid, also with one scale.
    level = {"n5": "s0", "precomputed": ""}.get(format, "0") if make is volume else ""
    found = codec_in(work / "to" / level, format)
    # Chunks that are passed on byte by byte keep the level that their document has.
    assert found == wanted or (source == "n5 gzip" and found == ("gzip", -1)), found
    assert (voxels_of(work / "to", format, level) == VOXELS).all()


@pytest.mark.parametrize("format,options", [
    ("zarr2", {"compressors": "lz4"}), ("zarr3", {"compressors": "bz2"})])
def test_codecs_without_a_schema_stay_in_their_format(format, options, copy, work):
    import numcodecs
    import zarr
    import zarr.codecs.numcodecs as extensions

    compressor = numcodecs.LZ4() if format == "zarr2" else extensions.BZ2(level=3)
    array = zarr.create_array(work / "from", shape=VOXELS.shape, chunks=(4, 8, 8), dtype="uint16",
                              zarr_format=int(format[-1]), compressors=compressor)
    array[...] = VOXELS
    options = ["--shard", "8,16,16"] if format == "zarr3" else ["--chunk", "5,8,11"]
    copy(work / "from", work / "to", "--format", format, *options, "--verify")
    copied = zarr.open_array(work / "to", mode="r")
    assert copied.compressors == array.compressors and (copied[...] == VOXELS).all()


@pytest.mark.parametrize("options,said", [
    (["--shard", "8,50,64"], "--shard 8,50,64: level 0: shards of 50 are not a multiple of chunks of 8 along "
                             "dimension 1; 48 or 56 would fit"),
    (["--shard", "7,8,8"], "--shard 7,8,8: level 0: shards of 7 are not a multiple of chunks of 8 along "
                           "dimension 0; 8 would fit"),
    (["--chunk", "8,8,8", "--shard", "8,100,8"], "--shard 8,100,8: level 0: shards of 100 are not a multiple of "
                                                 "chunks of 8 along dimension 1; 96 or 104 would fit"),
    (["--chunk", "64"], "--chunk 64: level 0: 1 number, but there are 3 dimensions; for example 8,8,8"),
    (["--shard", "8,8"], "--shard 8,8: level 0: 2 numbers, but there are 3 dimensions; for example 8,8,8"),
    (["--codec", "lz4"], "--codec lz4: Zarr v3 has no codec of this name here; use raw, zstd, gzip or blosc"),
    (["--codec", "zstd:x"], "--codec zstd:x: expected a level as a whole number, as in zstd:5"),
    (["--dtype", "uint8"], "--dtype: cannot be changed by a copy: leave it out"),
    (["--dtype", "int3"], "--dtype int3: expected a data type, for example uint8"),
    (["--scales", "5"], "--scales: cannot be changed by a copy: leave it out"),
    (["--format", "zarr"], "--format: expected precomputed, zarr3, zarr2 or n5"),
    (["--exclude", ".."], '--exclude "..": expected a path below the source, such as labels'),
    (["--shape", "100x100"], "--shape: expected whole numbers separated by commas"),
])
def test_wrong_options_are_named_as_they_were_typed(options, said, copy, work):
    filled(work / "from")
    given = options if "--format" in options else ["--format", "zarr3", *options]
    done = copy(work / "from", work / "to", *given, code=2)
    assert done.stderr.startswith(f"unshard: {said}") and done.stderr.count("\n") == 1, done.stderr
    assert not (work / "to").exists()


def test_an_axis_of_one_chunk_takes_a_shard_of_any_size(copy, work):
    """The coarse levels of a pyramid are smaller than a chunk."""
    voxels = filled(work / "from", shape=(10, 32, 32), chunk=(10, 8, 8), shard=None)
    copy(work / "from", work / "to", "--format", "zarr3", "--shard", "64,16,16", "--verify")
    document = json.loads((work / "to/zarr.json").read_text())
    assert document["codecs"][0]["configuration"]["chunk_shape"] == [16, 8, 8]
    assert (voxels_of(work / "to", "zarr3") == voxels).all()


@pytest.mark.parametrize("arguments,said", [
    (["--format", "zarr3", "--shape", "100,100", "--dtype", "uint8", "--chunk", "64"],
     "--chunk 64: 1 number, but --shape 100,100 has 2 dimensions"),
    (["--format", "zarr3", "--shape", "200", "--dtype", "uint8", "--chunk", "64", "--shard", "100"],
     "--shard 100: shards of 100 are not a multiple of chunks of 64 along dimension 0; 64 or 128 would fit"),
    (["--format", "precomputed", "--shape", "9,9,9", "--dtype", "uint8", "--scales", "2", "--factor", "2,2"],
     "--factor 2,2: expected x,y,z or x,y,z,channels"),
    (["--format", "zarr2", "--shape", "9", "--dtype", "int3"], "--dtype int3: expected a data type"),
    (["--format", "zarr3", "--shape", "9", "--shard", "1GB"], "--shard 1GB: needs --dtype"),
    (["--format", "n5", "--shape", "9", "--dtype", "bool"], "--dtype bool: N5 has no bool"),
    (["--format", "zarr3", "--dtype", "uint8"], "--shape: missing: a new array needs its extents"),
])
def test_wrong_options_of_create(arguments, said, create, work):
    done = create(work / "to", *arguments, code=2)
    assert done.stderr.startswith(f"unshard: {said}") and done.stderr.count("\n") == 1, done.stderr
    assert not (work / "to").exists()
