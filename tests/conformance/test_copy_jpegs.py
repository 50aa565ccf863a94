"""`unshard copy` puts JPEGs into JPEG XL without loss, and takes out the same JPEGs; imagecodecs and CloudVolume judge."""

import json

import imagecodecs
import numpy as np
import pytest
import tensorstore as ts

from test_copy_safety import copy, create  # noqa: F401 (fixtures)

SIZE = [40, 36, 20]
SHARDING = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1, "hash": "identity",
            "minishard_bits": 1, "shard_bits": 2, "data_encoding": "gzip"}


def image(channels):
    x, y, z, channel = np.indices([*SIZE, channels])
    return ((np.sin(x / 5 + channel) + np.cos(y / 7) + np.sin(z / 3)) * 40 + 120).astype("uint8")


def volume(path, channels, encoding="jpeg", **members):
    store = ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/", "create": True,
                     "multiscale_metadata": {"type": "image", "data_type": "uint8", "num_channels": channels},
                     "scale_metadata": {"key": "s", "size": SIZE, "chunk_size": [16, 16, 8],
                                        "resolution": [1, 1, 1], "encoding": encoding, **members}}).result()
    store[...] = image(channels)
    return path


def chunks(path):
    return {chunk.name: chunk.read_bytes() for chunk in (path / "s").iterdir()}


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("sharded", [False, True], ids=["unsharded", "sharded"])
def test_jpegs_are_kept_in_jxl(channels, sharded, copy, work):
    members = {"sharding": SHARDING} if sharded else {}
    volume(work / "from", channels, jpeg_quality=90, **members)
    copy(work / "from", work / "files", "--format", "precomputed", "--codec", "jpeg", "--verify")
    jpegs = chunks(work / "files")
    shards = ["--shard", "32,32,16"] if sharded else []
    copy(work / "from", work / "jxl", "--format", "precomputed", "--codec", "jxl", *shards, "--verify")
    assert json.loads((work / "jxl/info").read_text())["scales"][0]["encoding"] == "jxl"
    assert (work / "jxl/s").is_dir() and (len(list((work / "jxl/s").glob("*.shard"))) > 0) == sharded
    copy(work / "jxl", work / "jxl files", "--format", "precomputed", "--codec", "jxl", "--verify")
    packed = chunks(work / "jxl files")
    assert packed.keys() == jpegs.keys() and len(jpegs) == 27
    for name, jpeg in jpegs.items():
        assert imagecodecs.jpegxl_decode_jpeg(packed[name]) == jpeg, name
    copy(work / "jxl", work / "again", "--format", "precomputed", "--codec", "jpeg", "--verify")
    assert chunks(work / "again") == jpegs


def test_jpegs_of_another_grid_and_images_from_no_jpeg_are_decoded(copy, work):
    volume(work / "from", 1)
    copy(work / "from", work / "jxl", "--codec", '{"driver": "neuroglancer_precomputed", "encoding": "jxl", '
         '"jxl_quality": 100}', "--chunk", "8,8,8", "--verify")
    decoded = ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{work / 'from'}/"}).result().read()
    expected = np.asarray(decoded.result())
    for name, chunk in chunks(work / "jxl").items():
        (x, x_end), (y, y_end), (z, z_end) = ([int(end) for end in axis.split("-")] for axis in name.split("_"))
        pixels = imagecodecs.jpegxl_decode(chunk).T.reshape(x_end - x, y_end - y, z_end - z, order="F")
        assert np.array_equal(pixels, expected[x:x_end, y:y_end, z:z_end, 0]), name
    copy(work / "jxl", work / "jpeg", "--codec", "jpeg", "--verify")
    found = ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{work / 'jpeg'}/"}).result().read()
    assert np.abs(np.asarray(found.result()).astype(int) - expected).max() <= 16


@pytest.mark.parametrize("quality", [None, 100])
def test_cloudvolume_reads_jxl_that_is_written(quality, copy, work):
    from cloudvolume import CloudVolume

    volume(work / "from", 1, "raw")
    codec = "jxl" if quality is None else json.dumps(
        {"driver": "neuroglancer_precomputed", "encoding": "jxl", "jxl_quality": quality})
    copy(work / "from", work / "jxl", "--codec", codec, "--verify")
    scale = json.loads((work / "jxl/info").read_text())["scales"][0]
    assert scale["jxl_quality"] == (quality or 85)
    found = np.asarray(CloudVolume(f"file://{work / 'jxl'}", progress=False)[:])
    difference = np.abs(found.astype(int) - image(1)).max()
    assert difference == 0 if quality else 0 < difference < 16
