"""Libraries of precomputed volumes that know nothing of shards write chunks: CloudVolume, CloudFiles
and igneous, for real. Each test compares through the mount, flushes, and reads the shards
(write_data.py).
"""

import errno
import gzip
import json
import os

import numpy as np
import pytest
import tensorstore as ts

from mount_data import refused
from tiers import in_turn
from write_data import KINDS, PATIENT, PrecomputedSource, WriteCase, flush

VOLUME_KINDS = [kind for kind in KINDS if kind.startswith("precomputed")]


@pytest.fixture(params=in_turn(VOLUME_KINDS))
def volume(request, work, mount):
    return WriteCase(request.param, work, mount)


def cloud_volume(root, **more):
    from cloudvolume import CloudVolume
    return CloudVolume(f"file://{root}", progress=False, parallel=1, fill_missing=True,
                       **{"mip": 0, "cache": False, **more})


@pytest.mark.parametrize("compress", [None, False, "gzip"])
def test_cloudvolume_uploads_under_plain_and_gz_names(volume, compress):
    more = {} if compress is None else {"compress": compress}
    image = cloud_volume(volume.root, **more)
    assert image.scale.get("sharding") is None
    for version, (first, last) in enumerate([((0, 0, 0), (1, 1, 1)), ((1, 0, 1), (1, 1, 2))]):
        region = volume.region(first, last)
        values = volume.values(region, version)
        image[volume.shifted(region)] = np.asfortranarray(values)
        volume.paint(region, values)
        again = cloud_volume(volume.root)[volume.shifted(region)]
        assert np.array_equal(np.asarray(again)[..., 0], values)
    volume.check()


def test_cloudvolume_writes_parts_of_chunks_and_deletes(volume):
    from cloudvolume import Bbox

    image = cloud_volume(volume.root, non_aligned_writes=True)
    part = (slice(3, 40), slice(5, 45), slice(2, 15))
    values = volume.values(part, 1)
    image[volume.shifted(part)] = np.asfortranarray(values)
    volume.paint(part, values)
    volume.check_mount()
    gone = volume.region((0, 0, 0), (1, 1, 0))
    shifted = volume.shifted(gone)
    cloud_volume(volume.root).delete(Bbox.from_slices(shifted))
    volume.expected = {name: data for name, data in volume.expected.items()
                       if volume.source.cells[name][2] != 0}
    volume.check()


def test_cloudvolume_rewrites_info_and_provenance(volume):
    image = cloud_volume(volume.root)
    image.info["owner"] = "somebody"
    image.commit_info()
    image.provenance.description = "written through a mount"
    image.commit_provenance()
    original = json.loads((volume.source.path / "info").read_text())
    assert original["owner"] == "somebody"
    assert original["scales"][0]["sharding"] == volume.source.sharding.json()
    assert "through a mount" in (volume.source.path / "provenance").read_text()
    image.info["scales"][0]["chunk_sizes"] = [[16, 16, 8]]
    refused(errno.EPERM, image.commit_info)
    volume.check(quiet=False)


def test_cloudvolume_adds_a_scale_that_is_not_sharded(volume):
    image = cloud_volume(volume.root)
    image.add_scale((2, 2, 1), encoding="raw", chunk_size=(16, 16, 16))
    image.commit_info()
    original = json.loads((volume.source.path / "info").read_text())
    assert len(original["scales"]) == 2
    assert [("sharding" in scale) for scale in original["scales"]] == [True, False]
    key = original["scales"][1]["key"]
    again = cloud_volume(volume.root, mip=1)
    again[...] = np.full(again.shape, 3, again.dtype)
    assert (cloud_volume(volume.root, mip=1)[...] == 3).all()
    assert len(os.listdir(volume.source.path / key)) == len(os.listdir(volume.root / key)) > 0
    volume.check(quiet=False)


@pytest.mark.parametrize("compress", [None, "gzip"])
def test_cloudfiles_puts_gets_lists_and_deletes(volume, compress):
    from cloudfiles import CloudFiles

    files = CloudFiles(f"file://{volume.root}")
    names = [*volume.present(2), *volume.absent(2)]
    files.puts([(name, volume.bytes_for(name, 1)) for name in names], compress=compress)
    volume.expect(names, 1)
    for name in names:
        assert files.get(name) == volume.expected[name]
    files.delete([volume.names[2]])
    del volume.expected[volume.names[2]]
    assert {name for name in files.list() if name in volume.source.cells} == set(volume.expected)
    volume.check()


def test_cloudfiles_is_refused_what_the_mount_cannot_take_apart(volume):
    from cloudfiles import CloudFiles

    files = CloudFiles(f"file://{volume.root}")
    name = volume.present()[0]
    for compress in ("br", "zstd"):
        with pytest.raises(OSError) as caught:
            files.put(name, volume.bytes_for(name, 1), compress=compress)
        assert caught.value.errno == errno.EINVAL
    volume.check(quiet=False)


def test_igneous_transfers_a_volume_into_the_mount(work, mount):
    import igneous.task_creation as tasks

    case = WriteCase("precomputed-gzip", work, mount, share=0)
    plain = PrecomputedSource(work / "plain")
    info = json.loads((work / "plain/info").read_text())
    del info["scales"][0]["sharding"]
    (work / "plain/info").write_text(json.dumps(info))
    case.expect(case.names, 1)
    for name in case.names:
        (plain.path / name).write_bytes(case.expected[name])
    for task in tasks.create_transfer_tasks(
            f"file://{work}/plain", f"file://{case.root}", chunk_size=case.source.CHUNK,
            skip_downsamples=True, no_src_update=True):
        task()
    case.check()


def test_igneous_deletes_what_it_is_told_to(volume):
    import igneous.task_creation as tasks

    for task in tasks.create_deletion_tasks(f"file://{volume.root}", mip=0, num_mips=0):
        task()
    volume.expected = {}
    volume.check()
    assert not list((volume.source.path / "scale").glob("*.shard"))


def two_scales(path):
    """A volume with an empty second scale, both sharded, as igneous expects to fill."""
    source = PrecomputedSource(path)
    info = json.loads((path / "info").read_text())
    first = info["scales"][0]
    first["voxel_offset"], first["size"] = [0, 0, 16], [64, 64, 24]
    second = {**first, "key": "16_16_8", "resolution": [16, 16, 8], "size": [32, 32, 24]}
    info["scales"] = [first, second]
    (path / "info").write_text(json.dumps(info))
    return source


def test_igneous_downsamples_into_a_sharded_scale(work, mount):
    import igneous.task_creation as tasks
    import tinybrain

    two_scales(work / "source")
    mounted = mount(work / "source", PATIENT)
    voxels = np.random.default_rng(3).integers(1, 255, (64, 64, 24), np.uint8)
    cloud_volume(mounted.path)[...] = np.asfortranarray(voxels)
    for task in tasks.create_downsampling_tasks(f"file://{mounted.path}", mip=0, num_mips=1,
                                                factor=(2, 2, 1), compress="gzip"):
        task()
    flush(mounted)
    wanted = tinybrain.downsample_with_averaging(np.asfortranarray(voxels[..., None]), (2, 2, 1))[0]
    for index, values in enumerate([voxels, np.asarray(wanted)[..., 0]]):
        store = ts.open({"driver": "neuroglancer_precomputed", "scale_index": index,
                         "kvstore": f"file://{work}/source/"}, context=ts.Context()).result()
        assert np.array_equal(store.read().result()[..., 0], values)
    info = json.loads((work / "source/info").read_text())
    assert [scale["key"] for scale in info["scales"]] == ["scale", "16_16_8"]
    assert all("sharding" in scale for scale in info["scales"])
    assert not [name for name in os.listdir(work / "source/16_16_8") if not name.endswith("shard")]


def test_igneous_downsamples_into_a_scale_that_it_adds(work, mount):
    """It is not sharded, as the mount shows the first one."""
    import igneous.task_creation as tasks
    import tinybrain

    source = two_scales(work / "source")
    info = json.loads((source.path / "info").read_text())
    del info["scales"][1]
    (source.path / "info").write_text(json.dumps(info))
    mounted = mount(source.path, PATIENT)
    voxels = np.random.default_rng(4).integers(1, 255, (64, 64, 24), np.uint8)
    cloud_volume(mounted.path)[...] = np.asfortranarray(voxels)
    for task in tasks.create_downsampling_tasks(f"file://{mounted.path}", mip=0, num_mips=1,
                                                factor=(2, 2, 1), compress="gzip"):
        task()
    flush(mounted)
    assert [scale["resolution"] for scale in added_scales(source)] == [[16, 16, 8]]
    smaller = tinybrain.downsample_with_averaging(np.asfortranarray(voxels[..., None]), (2, 2, 1))
    for root in (source.path, mounted.path):
        for mip, wanted in enumerate([voxels[..., None], *smaller]):
            assert np.array_equal(np.asarray(cloud_volume(root, mip=mip)[...]), wanted), (root, mip)
    assert mounted.status()["write"]["conflicts"] == 0


def added_scales(source):
    """The scales of a source's `info` beside the first, which is sharded as it was: they are not."""
    first, *added = json.loads((source.path / "info").read_text())["scales"]
    assert first["sharding"] == source.sharding.json()
    assert not any("sharding" in scale for scale in added)
    return added


def add_with_tensorstore(root, **scale):
    """A scale of half the resolution."""
    return ts.open(
        {"driver": "neuroglancer_precomputed", "kvstore": f"file://{root}/",
         "scale_metadata": {"key": "added", "size": [30, 25, 28], "voxel_offset": [-16, 0, 16],
                            "resolution": [16, 16, 8], "encoding": "raw", "chunk_size": [16, 16, 8],
                            **scale}}, context=ts.Context(), create=True).result()


def test_tensorstore_adds_a_scale_that_is_not_sharded(volume):
    store = add_with_tensorstore(volume.root)
    values = np.random.default_rng(5).integers(1, 255, (30, 25, 28, 1), np.uint8)
    store.write(values).result()
    assert [scale["key"] for scale in added_scales(volume.source)] == ["added"]
    for root in (volume.source.path, volume.root):
        again = ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{root}/",
                         "scale_index": 1}, context=ts.Context()).result()
        assert np.array_equal(again.read().result(), values)
    volume.check()


def test_tensorstore_is_refused_a_scale_that_is_sharded(volume):
    before = (volume.source.path / "info").read_bytes()
    with pytest.raises(ValueError, match="not permitted"):
        add_with_tensorstore(volume.root, sharding=volume.source.sharding.json())
    assert "sharded arrays cannot be created through the mount" in volume.reasons()
    assert (volume.source.path / "info").read_bytes() == before
    volume.check(quiet=False)


def test_gzip_members_written_by_cloudfiles_are_stored_once(volume):
    """A write to `X.gz` leaves one chunk: no file of that name, in mount or source."""
    name = volume.present()[0]
    data = volume.bytes_for(name, 1)
    with open(volume.path(name + ".gz"), "wb") as file:
        file.write(gzip.compress(data, mtime=0))
    volume.expect([name], 1)
    volume.check()
    assert sorted({path.suffix for path in (volume.source.path / "scale").iterdir()}) == [".shard"]
