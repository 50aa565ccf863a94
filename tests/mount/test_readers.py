"""Readers that know nothing of shards open the mounted view: every voxel must be right."""

import errno
import json
import os
import pathlib
import signal
import subprocess

import numpy as np
import pytest

from mount_data import ZarrTree, refused
from mounting import daemon_of, freeze, wait_until


SECONDS = 20
CLOUDVOLUME_SUFFIXES = ("", ".gz", ".br", ".zstd", ".xz", ".bz2")


def test_tensorstore_reads_the_precomputed_view(volume):
    import tensorstore as ts

    for index, key in enumerate(volume.source.voxels):
        store = ts.open({"driver": "neuroglancer_precomputed", "scale_index": index,
                         "kvstore": {"driver": "file", "path": f"{volume.root}/"}},
                        read=True).result()
        assert "sharding" not in json.loads((volume.root / "info").read_text())["scales"][index]
        np.testing.assert_array_equal(store[..., 0].read().result(), volume.source.voxels[key])


def test_tensorstore_reads_the_zarr_view_and_lists_its_keys(tree):
    import tensorstore as ts

    store = ts.open({"driver": "zarr3", "kvstore": f"file://{tree.root}/image/"}).result()
    assert store.chunk_layout.read_chunk.shape == tree.source.CHUNK
    assert store.chunk_layout.write_chunk.shape == tree.source.CHUNK
    np.testing.assert_array_equal(store.read().result(), tree.source.voxels)
    keys = {key.decode() for key in ts.KvStore.open(f"file://{tree.root}/").result().list().result()}
    assert keys == {*tree.chunks, "zarr.json", "image/zarr.json", "notes.txt"}


@pytest.mark.parametrize("mode", [{"file_io_mode": {"mode": "memmap"}},
                                  {"file_io_mode": {"mode": "direct"}},
                                  {"file_io_concurrency": {"limit": 32}}])
def test_tensorstore_reads_with_memory_maps_direct_io_and_many_threads(tree, mode):
    import tensorstore as ts

    store = ts.open({"driver": "zarr3", "kvstore": f"file://{tree.root}/image/",
                     "context": mode}).result()
    np.testing.assert_array_equal(store.read().result(), tree.source.voxels)


def test_zarr_python_3_reads_the_view_and_sees_no_shards(tree):
    import zarr

    group = zarr.open_group(tree.root, mode="r")
    assert dict(group.attrs) == {"title": "a tree"} and list(group.array_keys()) == ["image"]
    array = group["image"]
    assert array.shards is None and array.chunks == tree.source.CHUNK
    np.testing.assert_array_equal(array[...], tree.source.voxels)
    assert array.nchunks_initialized == len(tree.chunks)


def test_zarr_python_3_is_refused_when_it_writes(tree):
    import zarr

    array = zarr.open_array(tree.root / "image", mode="r+")
    refused(errno.EROFS, array.__setitem__, (0, 0, 0), 7)


def test_cloudvolume_reads_the_precomputed_view(volume):
    from cloudvolume import CloudVolume

    for mip, key in enumerate(volume.source.voxels):
        image = CloudVolume(f"file://{volume.root}", mip=mip, progress=False, cache=False,
                            fill_missing=True)
        assert image.scale.get("sharding") is None
        np.testing.assert_array_equal(image[:][..., 0], volume.source.voxels[key])


def test_cloudvolume_raises_for_an_absent_chunk_unless_told_to_fill(volume):
    from cloudvolume import CloudVolume
    from cloudvolume.exceptions import EmptyVolumeException

    image = CloudVolume(f"file://{volume.root}", mip=0, progress=False, cache=False)
    with pytest.raises(EmptyVolumeException):
        image[:]


def test_cloudvolume_probes_six_names_and_each_reaches_the_daemon_once(volume, mount):
    mounted = mount(volume.source.path, "ro")
    os.stat(mounted.path / "fine")
    name = volume.source.missing("fine")[0]
    paths = [mounted.path / "fine" / f"{name}{suffix}" for suffix in CLOUDVOLUME_SUFFIXES]

    def requests():
        return mounted.status()["counters"]["requests"]

    before = requests()
    for _ in range(5):
        for path in paths:
            refused(errno.ENOENT, os.open, path, os.O_RDONLY)
        paths = paths[1:] + paths[:1]
    after = requests()
    assert {key: after[key] - before.get(key, 0) for key in after
            if after[key] != before.get(key, 0)} == {"lookup": len(CLOUDVOLUME_SUFFIXES)}


def test_cloudfiles_lists_reads_and_sizes_what_is_there(volume):
    from cloudfiles import CloudFiles

    files = CloudFiles(f"file://{volume.root}/fine")
    assert set(files.list()) == set(volume.source.chunks("fine"))
    for name, data in volume.source.chunks("fine").items():
        assert files.get(name) == data
        # It may ask for the name with .gz first, as the order of its probes rotates.
        assert files.size(name) in (len(data), os.stat(volume.root / "fine" / f"{name}.gz").st_size)
    assert files.exists(volume.source.missing("fine")[0]) is False


FROZEN = """
import sys, numpy, zarr
assert zarr.__version__.startswith("2.18"), zarr.__version__
root, wanted = sys.argv[1], numpy.load(sys.argv[2])
store = (zarr.NestedDirectoryStore if sys.argv[3] == "/" else zarr.DirectoryStore)(root)
array = zarr.open_array(store, mode="r", path="image")
numpy.testing.assert_array_equal(array[...], wanted)
assert array.nchunks_initialized == array.nchunks
group = zarr.open_group(root, mode="r")
assert list(group.array_keys()) == ["image"] and group.attrs["title"] == "old"
try:
    zarr.open_array(root, mode="r+", path="image")[0, 0] = 1
except OSError as problem:
    assert problem.errno == 30, problem
else:
    raise AssertionError("wrote to a read-only mount")
print("read")
"""

FROZEN_N5 = """
import sys, numpy, zarr
array = zarr.open_group(zarr.N5Store(sys.argv[1]), mode="r")["image"]
numpy.testing.assert_array_equal(array[...], numpy.load(sys.argv[2]))
print("read")
"""


def in_frozen(python, script, *arguments):
    done = subprocess.run([python, "-W", "ignore", "-c", script, *map(str, arguments)], timeout=60,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr


@pytest.mark.parametrize("separator", [".", "/"])
def test_zarr_python_2_reads_a_zarr_v2_tree_that_passes_through(
        frozen_python, work, mount, separator):
    import zarr

    voxels = np.arange(60 * 50, dtype="<i4").reshape(60, 50) + 1
    group = zarr.create_group(work / "source", zarr_format=2, attributes={"title": "old"})
    group.create_array("image", shape=voxels.shape, chunks=(16, 16), dtype="<i4",
                       chunk_key_encoding={"name": "v2", "separator": separator})[...] = voxels
    np.save(work / "wanted.npy", voxels)
    mounted = mount(work / "source", "ro")
    in_frozen(frozen_python, FROZEN, mounted.path, work / "wanted.npy", separator)
    for directory, _, names in os.walk(work / "source"):
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), work / "source")
            assert (mounted.path / path).read_bytes() == (work / "source" / path).read_bytes()


def test_zarr_python_2_reads_an_n5_tree_that_passes_through(frozen_python, work, mount):
    import tensorstore as ts

    voxels = np.arange(60 * 50, dtype="<u2").reshape(60, 50) + 1
    (work / "source").mkdir()
    (work / "source" / "attributes.json").write_text('{"n5": "2.0.0"}')
    ts.open({"driver": "n5", "kvstore": f"file://{work}/source/image/", "create": True,
             "metadata": {"dataType": "uint16", "dimensions": [50, 60], "blockSize": [16, 16],
                          "compression": {"type": "gzip"}}}).result().write(voxels.T).result()
    np.save(work / "wanted.npy", voxels)
    in_frozen(frozen_python, FROZEN_N5, mount(work / "source").path, work / "wanted.npy")


def test_the_sample_reads_the_same_through_the_mount_as_from_its_shards(
        work, mount, run_sample):
    import tensorstore as ts

    done = run_sample(work / "sample", "--megabytes", "4")
    assert done.returncode == 0, done.stderr
    mounted = mount(work / "sample")
    compared = 0
    for directory, _, names in os.walk(work / "sample"):
        place = os.path.relpath(directory, work / "sample")
        if "info" in names:
            scales = json.loads(open(os.path.join(directory, "info")).read()).get("scales", [])
            specs = [{"driver": "neuroglancer_precomputed", "scale_index": index}
                     for index in range(len(scales))]
        elif "zarr.json" in names:
            document = json.loads(open(os.path.join(directory, "zarr.json")).read())
            specs = [{"driver": "zarr3"}] if document["node_type"] == "array" else []
        else:
            continue
        for spec in specs:
            one, two = (ts.open({**spec, "kvstore": f"file://{root}/{place}/"}, read=True).result()
                        for root in (work / "sample", mounted.path))
            assert one.chunk_layout.write_chunk.shape != two.chunk_layout.write_chunk.shape
            np.testing.assert_array_equal(one.read().result(), two.read().result())
            compared += 1
    assert compared >= 2


def test_a_hundred_readers_wait_for_a_network_file_system_at_once(mount, work):
    """As of NFS or Lustre: here it is FUSE, and its daemon does not answer."""
    source, readers = ZarrTree(work / "tree").path, []
    for number in range(100):
        (source / f"note{number}").write_text("a note")
    below = mount(source, "ro")
    shown = mount(below.path, "ro")
    server = daemon_of(below)
    freeze(server)
    try:
        readers = [subprocess.Popen(["cat", str(shown.path / f"note{number}")], stdout=subprocess.PIPE)
                   for number in range(100)]
        threads = pathlib.Path(f"/proc/{daemon_of(shown)}/task")
        assert wait_until(lambda: len(list(threads.iterdir())) > len(readers), SECONDS)
        # Nobody who waits keeps others from what needs no server.
        assert shown.status()["read_only"]
    finally:
        os.kill(server, signal.SIGCONT)
        read = [reader.communicate(timeout=SECONDS)[0] for reader in readers]
    assert read == [b"a note"] * 100
