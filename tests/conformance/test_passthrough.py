"""What was never sharded (Zarr v2, N5, unsharded precomputed, unsharded Zarr v3, any other files)
stands in the mount exactly as it stands on the disk, and peers read it there."""

import os
import pathlib
import struct
import subprocess
import zlib

import numpy as np
import pytest
import tensorstore as ts
import zarr

from judging import SEED, assert_same_names, put_file, tree
from precomputed_sources import Scale, Volume, build, open_cloudvolume, read_tensorstore


def write_zarr2(root):
    """A group of zarr-python's, with nested and flat keys, consolidated."""
    group = zarr.open_group(str(root), mode="w", zarr_format=2)
    rng = np.random.default_rng(SEED)
    arrays = {}
    for name, separator, order, dtype in (("flat", ".", "C", "<u2"), ("nested", "/", "F", ">f4")):
        array = group.create_array(name, shape=(20, 14), chunks=(7, 5), dtype=dtype, order=order,
                                   chunk_key_encoding={"name": "v2", "separator": separator})
        arrays[name] = rng.integers(1, 999, (20, 14)).astype(dtype)
        array[...] = arrays[name]
        array.attrs["note"] = name
    inner = group.create_group("deeper")
    arrays["deeper/scalar"] = np.array(7, "int64")
    inner.create_array("scalar", shape=(), dtype="int64")[...] = 7
    zarr.consolidate_metadata(str(root), zarr_format=2)
    return arrays


def write_n5(root):
    """TensorStore's N5 driver below a hand-made container."""
    put_file(root / "attributes.json", '{"n5":"2.0.0","pixelResolution":[1.50, 1e0]}')
    arrays = {}
    rng = np.random.default_rng(SEED)
    for name, compression in (("raw", {"type": "raw"}), ("gzip", {"type": "gzip", "level": 6}),
                              ("c0/s0", {"type": "blosc", "cname": "lz4", "clevel": 5,
                                         "shuffle": 1})):
        store = ts.open({"driver": "n5", "kvstore": f"file://{root / name}/", "metadata": {
            "compression": compression, "dataType": "uint16", "dimensions": [20, 14],
            "blockSize": [8, 5]}}, create=True).result()
        arrays[name] = rng.integers(1, 999, (20, 14)).astype("uint16")
        store[...] = arrays[name]
    return arrays


def write_hand_made_n5(root):
    """Blocks written byte by byte: mode 0, dimensions, big-endian voxels, deflated."""
    put_file(root / "attributes.json", '{"dimensions":[5,3],"blockSize":[3,2],"dataType":"int32",'
             '"compression":{"type":"gzip","useZlib":true,"level":-1},"unknown":{"kept":1.0}}')
    voxels = np.arange(15, dtype=">i4").reshape(5, 3)
    for x, y in np.ndindex(2, 2):
        block = voxels[3 * x:3 * x + 3, 2 * y:2 * y + 2]
        header = struct.pack(">HHII", 0, 2, *block.shape)
        put_file(root / str(x) / str(y), header + zlib.compress(block.tobytes(order="F")))


def write_zarr3(root):
    array = zarr.create_array(str(root), shape=(9, 9), chunks=(4, 4), dtype="uint16")
    voxels = np.arange(81, dtype="uint16").reshape(9, 9) + 1
    array[...] = voxels
    return voxels


def write_other_files(root):
    put_file(root / "README.md", "no dataset\n")
    put_file(root / "big.bin", np.random.default_rng(1).bytes(3_000_000))
    put_file(root / "empty", b"")
    put_file(root / "a b" / "ü,\\n" / "0-8_0-8_0-8", b"looks like a chunk")
    put_file(root / "0.shard", b"no shard of anything")
    put_file(root / "info.json", "{broken")
    (root / "empty directory").mkdir()
    os.symlink("README.md", root / "link")
    os.symlink("a b", root / "directory link")
    os.chmod(root / "big.bin", 0o640)


class Datasets:
    def __init__(self, directory, mount):
        self.source = directory / "source"
        self.zarr2 = write_zarr2(self.source / "zarr2")
        self.n5 = write_n5(self.source / "n5")
        write_hand_made_n5(self.source / "n5" / "hand-made")
        self.volume = Volume("volume", "uint32", scales=[
            Scale(sharding=None, encoding="compressed_segmentation"),
            Scale((10, 9, 10), (8, 8, 8), (-3, 4, 0), sharding=None, key="deep/s1")])
        self.voxels = build(self.source, directory / "twin", self.volume)
        self.zarr3 = write_zarr3(self.source / "zarr3")
        write_other_files(self.source / "others")
        self.mount = mount(self.source)
        self.view = self.mount.path


@pytest.fixture(scope="module")
def datasets(module_work, module_mount):
    return Datasets(module_work, module_mount)


PARTS = ["zarr2", "n5", "volume", "zarr3", "others"]


@pytest.mark.parametrize("part", PARTS)
def test_the_tree_is_identical(datasets, part):
    done = subprocess.run(["diff", "-r", str(datasets.source / part), str(datasets.view / part)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    expected, found = tree(datasets.source / part), tree(datasets.view / part)
    assert_same_names(found, expected, part)  # empty directories too, which diff may not tell
    assert found == expected


@pytest.mark.parametrize("part", PARTS)
def test_sizes_and_times_are_those_of_the_files(datasets, part):
    for name, content in tree(datasets.source / part).items():
        if content is None:
            continue
        expected = os.stat(datasets.source / part / name)
        found = os.stat(datasets.view / part / name)
        assert found.st_size == expected.st_size, name
        assert found.st_mtime_ns == expected.st_mtime_ns, name


@pytest.mark.parametrize("part", [*PARTS[:4], "n5/hand-made"])
def test_each_mounted_on_its_own_is_identical(datasets, mount, part):
    view = mount(datasets.source / part).path
    assert tree(view) == tree(datasets.source / part)


def test_nothing_is_listed_at_the_root_but_the_source(datasets):
    assert_same_names(os.listdir(datasets.view), PARTS, "the root")


def test_zarr_python_reads_zarr_2(datasets):
    for use in (None, False):
        group = zarr.open_group(str(datasets.view / "zarr2"), mode="r", use_consolidated=use)
        for name, expected in datasets.zarr2.items():
            np.testing.assert_array_equal(np.asarray(group[name][...]), expected, err_msg=name)
        assert group["flat"].attrs["note"] == "flat"


def test_tensorstore_reads_zarr_2_and_n5(datasets):
    for name in ("flat", "nested"):
        store = ts.open({"driver": "zarr", "kvstore": f"file://{datasets.view / 'zarr2' / name}/"},
                        open=True).result()
        np.testing.assert_array_equal(store.read().result(), datasets.zarr2[name])
    for name, expected in datasets.n5.items():
        store = ts.open({"driver": "n5", "kvstore": f"file://{datasets.view / 'n5' / name}/"},
                        open=True).result()
        np.testing.assert_array_equal(store.read().result(), expected, err_msg=name)


def test_hand_made_n5_blocks_inflate_in_the_mount(datasets):
    block = (datasets.view / "n5" / "hand-made" / "1" / "1").read_bytes()
    assert zlib.decompress(block[12:]) == np.array([[11], [14]], ">i4").tobytes()


def test_peers_read_unsharded_precomputed(datasets):
    for index, expected in enumerate(datasets.voxels):
        view = datasets.view / "volume"
        np.testing.assert_array_equal(read_tensorstore(view, index), expected.voxels)
        np.testing.assert_array_equal(np.asarray(open_cloudvolume(view, index)[:, :, :]),
                                      expected.voxels)


def test_peers_read_unsharded_zarr_3(datasets):
    path = datasets.view / "zarr3"
    np.testing.assert_array_equal(zarr.open_array(str(path), mode="r")[...], datasets.zarr3)
    store = ts.open({"driver": "zarr3", "kvstore": f"file://{path}/"}, open=True).result()
    np.testing.assert_array_equal(store.read().result(), datasets.zarr3)


def test_links_are_followed_only_inside_the_source(work, mount):
    put_file(work / "secret", "outside")
    write_zarr3(work / "src" / "array")
    put_file(work / "src" / "inside", "inside")
    os.symlink("inside", work / "src" / "good")
    os.symlink("../secret", work / "src" / "relative")
    os.symlink(work / "secret", work / "src" / "absolute")
    view = mount(work / "src").path
    assert (view / "good").read_bytes() == b"inside"
    for name in ("relative", "absolute"):
        path = view / name
        try:
            content = pathlib.Path(path).read_bytes()
        except OSError:
            continue
        # Shown as a symbolic link it is the reader's kernel that follows it, as on any disk.
        assert path.is_symlink() and content == b"outside"


def test_nothing_can_be_written_through_a_read_only_mount(datasets, mount):
    view = mount(datasets.source, "ro").path
    for path in ("zarr2/.zgroup", "others/README.md", "volume/info"):
        with pytest.raises(OSError) as refused:
            (view / path).write_bytes(b"x")
        assert refused.value.errno in (30, 13)  # EROFS, EACCES
    with pytest.raises(OSError):
        (view / "others" / "new").write_bytes(b"x")
