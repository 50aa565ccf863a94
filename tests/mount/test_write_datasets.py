"""Whole datasets of every kind are copied into mounts: what stands in the shards then, and at what
cost.

The unsharded twin of each dataset is written by the peers, its files are copied in in random order,
and the shards are read by TensorStore's key-value stores, by the peers' array readers and, for Zarr,
by the independent reading of shards in zarr_sources.py.
"""

import errno
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess

import google_crc32c
import numpy as np
import pytest

import object_sources as objects
import precomputed_sources as volumes
import zarr_sources as zarrs
from judging import names_below, put_file, tree
from mount_data import refused
from mounting import wait_until
from precomputed_sources import Scale, Volume
from shard_container import (MURMUR, Sharding, cells_of, compressed_morton, range_name, read_values)
from tiers import in_turn
from write_data import KINDS, PATIENT, WriteCase, ZarrSource, flush, write_file
from zarr_sources import BIG, CRC32C, GZIP, LITTLE, ZSTD, Array, Level, transpose


def copy_in(files, root, seed=1):
    """Writes {name: bytes} below the mount, in random order."""
    order = sorted(files)
    random.Random(seed).shuffle(order)
    for name in order:
        path = pathlib.Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, files[name])


def assert_shown(files, root):
    for name, data in files.items():
        assert os.stat(root / name).st_size == len(data), name
        assert (root / name).read_bytes() == data, name


def shards_below(root, metadata=("info", "zarr.json")):
    return {name: data for name, data in tree(root).items()
            if data is not None and os.path.basename(name) not in metadata}


# ------------------------------------------------------------------------------- precomputed volumes

BOX = dict(size=(20, 18, 10), chunk=(8, 8, 8))
GZIPPED = dict(index_encoding="gzip", data_encoding="gzip")
VOLUMES = [
    Volume("raw-uint8", scales=[Scale(**BOX, sharding=Sharding(0, 1, 1))]),
    Volume("raw-three-channels", "uint16", 3, scales=[Scale(**BOX, sharding=Sharding(1, 1, 2))]),
    Volume("raw-float-gzip", "float32", scales=[
        Scale(**BOX, offset=(-13, -800, 8), sharding=Sharding(0, 2, 1, MURMUR, **GZIPPED))]),
    Volume("jpeg", scales=[Scale(**BOX, encoding="jpeg", sharding=Sharding(1, 1, 1))]),
    Volume("jpeg-rgb-gzip", "uint8", 3, scales=[
        Scale(**BOX, encoding="jpeg", sharding=Sharding(1, 0, 2, MURMUR, **GZIPPED))]),
    Volume("png", "uint16", scales=[Scale(**BOX, encoding="png", sharding=Sharding(0, 1, 2))]),
    Volume("png-rgba", "uint8", 4, scales=[Scale(**BOX, encoding="png", sharding=Sharding(2, 1, 1))]),
    Volume("segments-64", "uint64", scales=[
        Scale(**BOX, encoding="compressed_segmentation", sharding=Sharding(1, 1, 1, **GZIPPED))]),
    Volume("segments-32", "uint32", 2, scales=[
        Scale(**BOX, encoding="compressed_segmentation", sharding=Sharding(0, 1, 2))]),
    Volume("two-scales-one-key", scales=[
        Scale(**BOX, key="shared", sharding=Sharding(0, 1, 1)),
        Scale((20, 18, 10), (5, 5, 5), key="shared", sharding=Sharding(0, 1, 6, **GZIPPED))]),
    Volume("one-chunk", scales=[Scale((5, 6, 7), (8, 8, 8), sharding=Sharding(1, 1, 1))]),
]


class Twin:
    """An unsharded volume by TensorStore, and its sharded, still empty counterpart."""

    def __init__(self, volume, work):
        self.volume, self.plain, self.path = volume, work / "plain", work / "source"
        rng = np.random.default_rng([7, *volume.name.encode()])
        put_file(self.plain / "info", volumes.info_text(volume, with_sharding=False))
        put_file(self.path / "info", volumes.info_text(volume))
        for index, scale in enumerate(volume.scales):
            voxels = volumes.sample_voxels(volume, scale, rng)
            volumes.write_cells(volumes.open_tensorstore(self.plain, index), scale, voxels,
                                cells_of(scale.grid()))
        self.files = {name: data for name, data in tree(self.plain).items()
                      if data is not None and name != "info"}
        # Of scales without sharding, which pass through.
        self.plain_files = {name: self.files[name] for scale in volume.scales if not scale.sharded
                            for name in self.ids(scale).values()}

    def ids(self, scale):
        return {compressed_morton(cell, scale.grid()):
                f"{scale.folder}/{range_name(cell, scale.size, scale.offset, scale.chunk)}"
                for cell in cells_of(scale.grid())}

    def shard_count(self):
        return len({(scale.folder, index, name) for index, scale in enumerate(self.volume.scales)
                    for name in self._shards(scale)})

    @staticmethod
    def _shards(scale):
        import cloudvolume.datasource.precomputed.sharding as sharding

        spec = sharding.ShardingSpecification.from_dict(scale.sharding.json())
        return {str(spec.compute_shard_location(number).shard_number)
                for number in (compressed_morton(cell, scale.grid())
                               for cell in cells_of(scale.grid()))}

    def check(self):
        for index, scale in enumerate(self.volume.scales):
            if scale.sharded:
                ids = self.ids(scale)
                found = read_values(self.path / scale.folder, scale.sharding, ids)
                assert {ids[number]: value for number, value in found.items()} == {
                    name: self.files[name] for name in ids.values()}
            assert np.array_equal(volumes.read_tensorstore(self.path, index),
                                  volumes.read_tensorstore(self.plain, index), equal_nan=False)
        assert {name: data for name, data in shards_below(self.path).items()
                if not name.endswith(".shard")} == self.plain_files


@pytest.mark.parametrize("volume", VOLUMES, ids=str)
def test_a_volume_of_every_encoding_is_copied_in(work, mount, volume):
    twin = Twin(volume, work)
    mounted = mount(twin.path, PATIENT)
    copy_in(twin.files, mounted.path)
    assert_shown(twin.files, mounted.path)
    flush(mounted)
    twin.check()
    assert_shown(twin.files, mounted.path)
    assert mounted.control("errors") == ""
    assert names_below(mounted.path) == {"info", *twin.files}


@pytest.mark.parametrize("volume", [each for each in VOLUMES if each.scales[0].encoding != "raw"],
                         ids=str)
def test_chunks_that_no_reader_could_decode_are_refused_at_close(work, mount, volume):
    twin = Twin(volume, work)
    mounted = mount(twin.path, PATIENT)
    sizes = {}
    for name in twin.files:
        spans = [tuple(map(int, part.split("-"))) for part in os.path.basename(name).split("_")]
        sizes.setdefault(tuple(b - a for a, b in spans), name)
    (one, name), (other, clipped) = list(sizes.items())[0], list(sizes.items())[-1]
    assert one != other
    data = twin.files[name]
    bad = {"empty of meaning": b"no such encoding" * 20, "cut": data[:len(data) // 2],
           "other dimensions": twin.files[clipped], "one byte": b"\x00"}
    if volume.scales[0].encoding == "compressed_segmentation":
        del bad["other dimensions"]  # its header does not tell the extent
        bad["header beyond the end"] = struct.pack("<I", 1 << 30) + data[4:]
    for what, wrong in bad.items():
        refused(errno.EINVAL, write_file, mounted.path / name, wrong)
        refused(errno.ENOENT, os.stat, mounted.path / name)
        assert name in mounted.control("errors"), what
    copy_in(twin.files, mounted.path)
    refused(errno.EINVAL, write_file, mounted.path / name, bad["one byte"])
    assert_shown(twin.files, mounted.path)
    flush(mounted)
    twin.check()


# ------------------------------------------------------------------------------- damaged chunks


def garble(shard, begin, length):
    """Another file in the place of the shard, with other bytes in this range."""
    content = bytearray(shard.read_bytes())
    content[begin:begin + length] = bytes(0x55 ^ each for each in content[begin:begin + length])
    aside = shard.with_name("aside")
    aside.write_bytes(content)
    os.replace(aside, shard)


def copied(path, data):
    new = put_file(path.parents[2] / "new", data)
    subprocess.run(["cp", new, path], check=True)


def moved(path, data):
    new = put_file(path.parents[2] / "new", data)
    subprocess.run(["mv", "-f", new, path], check=True)


def beside(path, data):
    write_file(path.with_name(".partial"), data)
    os.replace(path.with_name(".partial"), path)


def removed_before(path, data):
    subprocess.run(["rm", path], check=True, stdin=subprocess.DEVNULL)
    refused(errno.ENOENT, os.stat, path)
    write_file(path, data, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@pytest.mark.parametrize("way, option", [
    (write_file, ""), (write_file, ",strict"), (write_file, ",single_writer"), (copied, ""),
    (moved, ""), (beside, ""), (removed_before, ""), (removed_before, ",strict")])
@pytest.mark.parametrize("volume", [each for each in VOLUMES if each.scales[0].sharding.data_encoding
                                    == "gzip"], ids=str)
def test_a_chunk_that_cannot_be_decoded_is_replaced_through_the_mount(work, mount, volume, way,
                                                                      option):
    """Reading it stays an error until then, and nothing takes it for absent."""
    twin = Twin(volume, work)
    mounted = mount(twin.path, PATIENT)
    copy_in(twin.files, mounted.path)
    flush(mounted)
    name = sorted(twin.files)[3]
    shard, begin, length = (os.getxattr(mounted.path / name, f"user.unshard.{key}").decode()
                            for key in ("shard", "offset", "length"))
    mounted.unmount()
    garble(twin.path / shard, int(begin), int(length))
    mounted = mount(twin.path, PATIENT + option)
    path = mounted.path / name
    assert path.name in os.listdir(path.parent)
    refused(errno.EIO, path.read_bytes)
    assert os.stat(path).st_size > 0, "no program may take it for an empty file"
    refused(errno.EEXIST, os.open, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    refused(errno.EIO, path.read_bytes)
    way(path, twin.files[name])
    assert_shown(twin.files, mounted.path)
    flush(mounted)
    twin.check()
    assert_shown(twin.files, mounted.path)


def misplace(shard, slot):
    """The index entry of this inner chunk points outside of the shard; the checksum of the index is right."""
    content = bytearray(shard.read_bytes())
    index = content[-4 - 16 * math.prod(ZarrSource.PER_SHARD):-4]
    struct.pack_into("<Q", index, 16 * slot, len(content))
    content[-4 - len(index):] = index + struct.pack("<I", google_crc32c.value(bytes(index)))
    shard.write_bytes(content)


@pytest.mark.parametrize("option", ["", ",strict", ",single_writer"])
@pytest.mark.parametrize("way", [write_file, copied, moved, beside, removed_before, os.unlink])
def test_a_chunk_whose_index_entry_is_damaged_is_replaced_through_the_mount(work, mount, way, option):
    """What else was written to its shard is published then, too."""
    source = ZarrSource(work / "source")
    names = sorted(source.cells)[:2]
    values = {name: np.full(source.CHUNK, 1 + at, source.DTYPE).tobytes() for at, name in enumerate(names)}
    source.fill(values)
    misplace(source.shard_path(names[0]), 0)
    mounted = mount(source.path, PATIENT + option)
    path, other = (mounted.path / name for name in names)
    assert path.name in os.listdir(path.parent) and os.stat(path).st_size == 1
    refused(errno.EIO, path.read_bytes)
    assert other.read_bytes() == values[names[1]]
    new = [np.full(source.CHUNK, 8 + at, source.DTYPE).tobytes() for at in range(2)]
    write_file(other, new[1])
    with pytest.raises(OSError):
        flush(mounted)  # that would lose the entry
    if way is os.unlink:
        way(path)
        refused(errno.ENOENT, os.stat, path)
    else:
        way(path, new[0])
        assert path.read_bytes() == new[0]
    flush(mounted)
    assert source.stored() == {name: data for name, data in zip(names, new) if name != names[0] or path.exists()}
    assert path.exists() == (way is not os.unlink)


# --------------------------------------------------------------------- volumes that are not sharded

UNSHARDED = [volume for volume in volumes.chosen_volumes()
             if volume.name in ("unsharded", "mixed-scales", "one-key-sharded-and-not")]


class PlainTwin(Twin):
    """Of a volume that has scales without sharding, mounted."""

    def __init__(self, volume, work, mount):
        super().__init__(volume, work)
        self.mount = mount(self.path, PATIENT)
        self.root = self.mount.path

    def check_plain(self):
        """At any time, without a flush: the same files here and there, and no others."""
        assert_shown(self.plain_files, self.root)
        assert {name: data for name, data in shards_below(self.path).items()
                if not name.endswith(".shard")} == self.plain_files

    def check_voxels(self, voxels):
        """CloudVolume and TensorStore read these {scale index: voxels} from the source."""
        for index, expected in voxels.items():
            np.testing.assert_array_equal(volumes.read_tensorstore(self.path, index), expected)
            cloud = volumes.open_cloudvolume(self.path, index, fill_missing=False)
            np.testing.assert_array_equal(np.asarray(cloud[:]), expected)

    def voxels(self):
        return {index: volumes.read_tensorstore(self.plain, index)
                for index in range(len(self.volume.scales))}


@pytest.fixture(params=UNSHARDED, ids=str)
def plain_twin(request, work, mount):
    return PlainTwin(request.param, work, mount)


def test_chunks_of_scales_without_sharding_are_copied_into_the_source(plain_twin):
    copy_in(plain_twin.files, plain_twin.root)
    plain_twin.check_plain()
    assert_shown(plain_twin.files, plain_twin.root)
    flush(plain_twin.mount)
    plain_twin.check()
    plain_twin.check_plain()
    plain_twin.check_voxels(plain_twin.voxels())
    assert names_below(plain_twin.root) == {"info", *plain_twin.files}
    assert plain_twin.mount.control("errors") == ""


def in_place(path, data):
    write_file(path, data, os.O_WRONLY)


def renamed(path, data):
    """As TensorStore, rsync and editors do, under a name that is no chunk's."""
    write_file(path.with_name(path.name + ".__lock"), data)
    os.replace(path.with_name(path.name + ".__lock"), path)


def removed_first(path, data):
    os.unlink(path)
    write_file(path, data, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@pytest.mark.parametrize("way", [write_file, in_place, renamed, removed_first])
def test_chunks_without_sharding_are_replaced_beside_those_in_shards(plain_twin, way):
    """All chunks change places with others of their size; those in shards stay what they were."""
    copy_in(plain_twin.files, plain_twin.root)
    flush(plain_twin.mount)
    by_size = {}
    for name, data in plain_twin.plain_files.items():
        by_size.setdefault(len(data), []).append(name)
    old = dict(plain_twin.plain_files)
    for names in by_size.values():
        for name, other in zip(names, names[1:] + names[:1]):
            plain_twin.plain_files[name] = old[other]
            way(plain_twin.root / name, old[other])
    assert plain_twin.plain_files != old
    plain_twin.check_plain()
    name = min(plain_twin.plain_files)
    del plain_twin.plain_files[name]
    os.unlink(plain_twin.root / name)
    refused(errno.ENOENT, os.stat, plain_twin.root / name)
    flush(plain_twin.mount)
    plain_twin.check_plain()
    assert names_below(plain_twin.root) == {"info", *plain_twin.files} - {name}
    shards = {path: data for path, data in plain_twin.files.items() if path not in old}
    assert_shown(shards, plain_twin.root)
    assert plain_twin.mount.control("errors") == ""


@pytest.mark.parametrize("library", ["tensorstore", "cloudvolume"])
def test_libraries_write_scales_with_and_without_sharding_through_one_mount(plain_twin, library):
    rng = np.random.default_rng(21)
    voxels = {}
    for index, scale in enumerate(plain_twin.volume.scales):
        voxels[index] = volumes.sample_voxels(plain_twin.volume, scale, rng)
        if library == "tensorstore":
            volumes.open_tensorstore(plain_twin.root, index)[...].write(voxels[index]).result()
        else:
            volumes.open_cloudvolume(plain_twin.root, index)[:] = voxels[index]
    flush(plain_twin.mount)
    plain_twin.check_voxels(voxels)
    stored = {name for name in names_below(plain_twin.path) if not name.endswith(".shard")}
    assert stored == {"info", *plain_twin.plain_files}
    assert plain_twin.mount.control("errors") == ""


def test_beside_chunks_without_sharding_there_is_no_scratch(work, mount):
    """What is put there stays, as in a directory without shards; chunks in shards stay chunks."""
    twin = PlainTwin(UNSHARDED[-1], work, mount)
    assert twin.volume.name == "one-key-sharded-and-not"
    one, other = (next(iter(twin.ids(scale).values())) for scale in twin.volume.scales)
    assert not (twin.path / "shared").exists() and os.listdir(twin.root / "shared") == []
    write_file(twin.root / "shared/notes.txt", b"kept")
    assert (twin.path / "shared/notes.txt").read_bytes() == b"kept"
    for suffix in (".br", ".zstd"):
        refused(errno.EINVAL, write_file, twin.root / (one + suffix), b"of no use in a shard")
        write_file(twin.root / (other + suffix), b"whatever its reader makes of it")
        assert (twin.path / (other + suffix)).read_bytes() == b"whatever its reader makes of it"
    renamed(twin.root / one, twin.files[one])
    assert not (twin.path / one).exists() and (twin.root / one).read_bytes() == twin.files[one]
    flush(twin.mount)
    index, sharding = min(twin.ids(twin.volume.scales[0])), twin.volume.scales[0].sharding
    assert read_values(twin.path / "shared", sharding, [index]) == {index: twin.files[one]}
    refused(errno.EPERM, write_file, twin.root / "shared/0.shard", b"")
    assert set(os.listdir(twin.path / "shared")) == {"notes.txt", "0.shard"} | {
        os.path.basename(other) + suffix for suffix in (".br", ".zstd")}


# ---------------------------------------------------------------------------------------------- Zarr

TWO = dict(shape=(20, 14), shard=(8, 12))
ARRAYS = [
    Array("plain", **TWO, levels=[Level((4, 3))]),
    Array("index-first", **TWO, levels=[Level((4, 3), location="start")]),
    Array("index-without-checksum", **TWO, levels=[Level((4, 3), index=(BIG,))], key="."),
    Array("gzip-inside", **TWO, levels=[Level((4, 3))], codecs=(LITTLE, GZIP), key=("v2", ".")),
    Array("zstd-and-checksum-inside", **TWO, levels=[Level((4, 3))],
          codecs=(BIG, ZSTD, CRC32C), key=("v2", "/")),
    Array("transposed-inside", (20, 14, 9), (8, 12, 4), [Level((4, 3, 2))],
          codecs=(transpose((2, 0, 1)), LITTLE)),
    Array("transposed-before", (20, 14, 9), (8, 12, 4), [Level((4, 3, 2), (2, 0, 1))]),
    Array("nested", (33, 20), (32, 16), [Level((16, 8)), Level((4, 4))]),
    Array("nested-index-first", (33, 20), (32, 16),
          [Level((16, 8), location="start"), Level((4, 4), None, (LITTLE,), "start")]),
    Array("nested-twice-transposed", (20, 14, 9), (16, 12, 8),
          [Level((8, 6, 4), (2, 0, 1)), Level((4, 3, 2), (1, 0, 2), (LITTLE,), "start")]),
    Array("checksum-around", **TWO, levels=[Level((4, 3), after=(CRC32C,))]),
    Array("checksum-around-index-first", **TWO,
          levels=[Level((4, 3), location="start", after=(CRC32C,))]),
    Array("gzip-around", **TWO, levels=[Level((4, 3), after=(GZIP,))]),
    Array("rank-0", (), (), [Level(())]),
    Array("half-empty", **TWO, levels=[Level((4, 3))], present=0.5),
    Array("complex", **TWO, levels=[Level((4, 3))], dtype="complex64", fill='[0.5, "NaN"]'),
]


@pytest.fixture(params=ARRAYS, ids=str)
def zarr_case(request, work):
    """(array, what a peer wrote of it, the sharded and still empty array)"""
    expected = zarrs.build(work / "reference", work / "twins", request.param)
    put_file(work / "source/zarr.json", zarrs.metadata_text(request.param))
    return request.param, expected, work / "source"


def test_a_zarr_array_of_every_layout_is_copied_in(zarr_case, mount):
    array, expected, path = zarr_case
    mounted = mount(path, PATIENT)
    copy_in(expected.chunks, mounted.path)
    assert_shown(expected.chunks, mounted.path)
    flush(mounted)
    assert zarrs.cut_out(path, array) == expected.chunks
    np.testing.assert_array_equal(zarrs.read(mounted.path, "tensorstore"), expected.voxels)
    wrapped = any(level.after for level in array.levels)  # which peers do not read
    if not wrapped:
        np.testing.assert_array_equal(zarrs.read(path, "tensorstore"), expected.voxels)
    if not wrapped and not any(level.order for level in array.levels):  # nor zarr-python these
        np.testing.assert_array_equal(zarrs.read(path, "zarr-python"), expected.voxels)
    assert_shown(expected.chunks, mounted.path)
    assert names_below(mounted.path) == {"zarr.json", *expected.chunks}
    assert mounted.control("errors") == ""


def test_a_zarr_array_is_rewritten_and_emptied_chunk_by_chunk(zarr_case, mount):
    array, expected, path = zarr_case
    mounted = mount(path, PATIENT)
    copy_in(expected.chunks, mounted.path)
    flush(mounted)
    left = dict(expected.chunks)
    for turn, name in enumerate(sorted(expected.chunks)):
        if turn % 3 == 0:
            os.unlink(mounted.path / name)
            del left[name]
        elif turn % 3 == 1:
            write_file(mounted.path / name, left[name])
    flush(mounted)
    assert zarrs.cut_out(path, array) == left
    assert_shown(left, mounted.path)
    for name in left:
        os.unlink(mounted.path / name)
    flush(mounted)
    assert not shards_below(path)
    assert (path / "zarr.json").read_text() == zarrs.metadata_text(array)


def test_zarr_chunks_that_cannot_be_decoded_are_refused_at_close(zarr_case, mount):
    array, expected, path = zarr_case
    mounted = mount(path, PATIENT)
    copy_in(expected.chunks, mounted.path)
    name = sorted(expected.chunks)[0]
    for wrong in (b"x", expected.chunks[name][:-1], expected.chunks[name] + b"x"):
        if wrong:
            refused(errno.EINVAL, write_file, mounted.path / name, wrong)
    assert_shown(expected.chunks, mounted.path)
    flush(mounted)
    assert zarrs.cut_out(path, array) == expected.chunks


# -------------------------------------------------------------------- skeletons, annotations, meshes

OBJECT_SHARDINGS = [Sharding(0, 1, 1), Sharding(3, 2, 2, MURMUR, "gzip", "gzip")]


@pytest.fixture(params=OBJECT_SHARDINGS, ids=str)
def sharding(request):
    return request.param


def test_skeletons_are_copied_in_and_read_back(work, mount, sharding):
    files = objects.build_skeletons(work / "reference", sharding)
    put_file(work / "source/info", (work / "reference/info").read_bytes())
    mounted = mount(work / "source", PATIENT)
    copy_in(files, mounted.path)
    assert_shown(files, mounted.path)
    flush(mounted)
    found = read_values(work / "source", sharding, objects.IDS)
    assert {str(number): value for number, value in found.items()} == files
    for wrong in (files["1"][:-1], b"x", struct.pack("<II", 1 << 30, 1) + files["1"][8:]):
        refused(errno.EINVAL, write_file, mounted.path / "1", wrong)
    for name in ("01", str(2**64)):
        refused(errno.EINVAL, write_file, mounted.path / name, files["1"])
    os.unlink(mounted.path / "1")
    write_file(mounted.path / "2", files["7"])
    files["2"] = files["7"]
    del files["1"]
    flush(mounted)
    found = read_values(work / "source", sharding, objects.IDS)
    assert {str(number): value for number, value in found.items()} == files
    assert_shown(files, mounted.path)
    assert names_below(mounted.path) == {"info", *files}


@pytest.mark.parametrize("kind", ["point", "line"])
def test_annotations_by_id_relationship_and_place_are_copied_in(work, mount, sharding, kind):
    objects.write_unsharded_annotations(work / "plain", kind, 3)
    objects.add_spatial_level(work / "plain", (2, 3, 2))
    keys = ["by_id", "rel_cell", "spatial0", "spatial1"]
    present = [key for key in os.listdir(work / "plain") if (work / "plain" / key).is_dir()]
    keys = [key for key in keys if key in present] or present
    objects.shard_annotations(work / "plain", work / "reference", {key: sharding for key in keys})
    source = work / "source"
    put_file(source / "info", (work / "reference/info").read_bytes())
    files = {name: data for name, data in tree(work / "plain").items()
             if data is not None and name != "info"}
    mounted = mount(source, PATIENT)
    assert set(os.listdir(source)) == {"info"}  # directories come into being as they are needed
    renamed(mounted.path / "by_id/notes.txt", b"beside the annotations")
    assert (source / "by_id/notes.txt").read_bytes() == b"beside the annotations"
    os.unlink(mounted.path / "by_id/notes.txt")
    copy_in(files, mounted.path)
    assert_shown(files, mounted.path)
    flush(mounted)
    wanted = contents(work / "reference", sharding, keys, files)
    assert len(wanted) == sum(name.split("/")[0] in keys for name in files)
    assert contents(source, sharding, keys, files) == wanted
    assert_shown(files, mounted.path)
    one = next(name for name in sorted(files) if name.startswith("by_id/"))
    refused(errno.EINVAL, write_file, mounted.path / one, files[one][:-1])
    assert (mounted.path / one).read_bytes() == files[one]


def contents(directory, sharding, keys, files):
    """{(key, id): bytes} in the shards of these indexes."""
    found = {}
    for key in keys:
        names = [name.split("/")[1] for name in files if name.startswith(key + "/")]
        grids = {"spatial0": (1, 1, 1), "spatial1": (2, 3, 2)}
        ids = [compressed_morton([int(part) for part in name.split("_")], grids[key])
               if key in grids else int(name) for name in names]
        for number, value in read_values(directory / key, sharding, ids).items():
            found[key, number] = value
    return found


class Meshes:
    """A sharded directory of meshes of which some are there, and {name: bytes} of what it must hold."""

    def __init__(self, path, sharding, ids):
        self.path, self.sharding = path, sharding
        self.files = objects.build_meshes(path, sharding, "by hand", ids)

    def add(self, root, number, files, order=("", ".index")):
        for suffix in order:
            write_file(root / f"{number}{suffix}", files[f"{number}{suffix}"])
            self.files[f"{number}{suffix}"] = files[f"{number}{suffix}"]

    def check(self):
        """TensorStore finds each manifest, and each mesh's fragments right before it."""
        for name, data in self.files.items():
            number = int(name.removesuffix(".index"))
            before = 0 if name.endswith(".index") else len(data)
            if before or name.endswith(".index"):
                assert objects.mesh_value(self.path, self.sharding, number, before) == data, name


MESH_SHARDINGS = [Sharding(0, 1, 1), Sharding(2, 1, 1, MURMUR, "gzip", "gzip")]


@pytest.fixture(params=MESH_SHARDINGS, ids=str)
def meshes(request, work, mount):
    """Five of the meshes are there; `.new` holds all."""
    case = Meshes(work / "source", request.param, objects.IDS[:5])
    case.new = objects.build_meshes(work / "reference", request.param, "by hand")
    case.mount = mount(work / "source", PATIENT)
    return case


def test_meshes_are_added_in_any_order_and_all_others_survive(meshes):
    root = meshes.mount.path
    for number, order in zip(objects.IDS[5:], [("", ".index"), (".index", "")] * 4):
        meshes.add(root, number, meshes.new, order)
        assert_shown(meshes.files, root)
        flush(meshes.mount)
        meshes.check()
    assert_shown(meshes.files, root)
    assert names_below(root) == {"info", *meshes.files}


def write_in_halves(meshes, number, meanwhile=lambda: None):
    """Gives a mesh the files of another: its fragments, which wait, then its manifest."""
    root = meshes.mount.path
    other = next(n for n in objects.IDS
                 if len(meshes.new[str(n)]) not in (0, len(meshes.files[str(number)])))
    write_file(root / str(number), meshes.new[str(other)])
    with pytest.raises(OSError):
        flush(meshes.mount)
    meanwhile()
    assert (root / str(number)).read_bytes() == meshes.new[str(other)]
    write_file(root / f"{number}.index", meshes.new[f"{other}.index"])
    flush(meshes.mount)
    meshes.files[str(number)] = meshes.new[str(other)]
    meshes.files[f"{number}.index"] = meshes.new[f"{other}.index"]
    meshes.check()
    assert_shown(meshes.files, root)


def test_the_two_files_of_a_mesh_are_published_together(meshes):
    # The old pair stands in the source until the new one is whole.
    write_in_halves(meshes, objects.IDS[1], meanwhile=meshes.check)


# One level of one node, whose fragment has no bytes.
EMPTY_MESH = struct.pack("<6fI 4fI 4I", 64, 64, 64, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0)


def test_a_mesh_without_fragments_is_copied_like_any_other(meshes):
    root, number = meshes.mount.path, objects.IDS[1]
    for suffix, data in (("", b""), (".index", EMPTY_MESH)):
        with open(root / f"{number}{suffix}", "wb") as target:  # as cp does it, and no rename
            target.write(data)
        meshes.files[f"{number}{suffix}"] = data
    assert wait_until(lambda: (root / str(number)).stat().st_size == 0, 30)
    flush(meshes.mount)
    meshes.check()
    assert_shown(meshes.files, root)


def test_a_mesh_whose_manifest_announces_no_fragments_waits_for_none(meshes):
    root, number = meshes.mount.path, objects.IDS[1]
    os.unlink(root / f"{number}.index")
    flush(meshes.mount)
    with open(root / f"{number}.index", "wb") as target:
        target.write(EMPTY_MESH)
    flush(meshes.mount)
    meshes.files[f"{number}.index"], meshes.files[str(number)] = EMPTY_MESH, b""
    meshes.check()
    assert_shown(meshes.files, root)


def test_strict_keeps_the_fragments_of_a_mesh_that_others_have_published(work, mount):
    case = Meshes(work / "source", MESH_SHARDINGS[0], objects.IDS[:5])
    mounted = mount(work / "source", f"{PATIENT},strict")
    name = next(name for name, data in case.files.items() if data and not name.endswith(".index"))
    seen = case.files[name]
    theirs, ours = bytes(255 - byte for byte in seen), seen[::-1]
    write_file(mounted.path / name, ours)
    shard = next(path for path in case.path.glob("*.shard") if seen in path.read_bytes())
    put_file(work / "theirs", shard.read_bytes().replace(seen, theirs))
    os.replace(work / "theirs", shard)
    with pytest.raises(OSError):
        flush(mounted)
    case.files[name] = theirs
    case.check()
    assert mounted.status()["write"]["conflicts"] == 1
    flush(mounted)  # said once


def test_a_mesh_is_removed_with_its_fragments(meshes):
    root, number = meshes.mount.path, objects.IDS[2]
    os.unlink(root / str(number))
    os.unlink(root / f"{number}.index")
    del meshes.files[str(number)], meshes.files[f"{number}.index"]
    flush(meshes.mount)
    meshes.check()
    assert_shown(meshes.files, root)
    assert names_below(root) == {"info", *meshes.files}
    with pytest.raises(Exception):
        objects.mesh_value(meshes.path, meshes.sharding, number)


def test_a_mesh_that_is_removed_and_written_anew_is_whole_whenever_it_is_published(meshes):
    root, number = meshes.mount.path, objects.IDS[1]
    os.unlink(root / f"{number}.index")
    os.unlink(root / str(number))
    # The removal is published, the new fragments wait for their manifest.
    write_in_halves(meshes, number)


def test_who_has_a_file_open_is_shown_the_size_of_what_he_reads(meshes):
    root, number = meshes.mount.path, objects.IDS[1]
    sizes = {len(meshes.new[str(n)]): n for n in objects.IDS if meshes.new[str(n)]}
    small, large = sizes[min(sizes)], sizes[max(sizes)]
    for version, (new, old) in enumerate([(large, number), (small, large), (large, small)]):
        before = meshes.new[str(old)]
        with open(root / str(number), "rb", buffering=0) as reader:
            assert reader.read(1) == before[:1], version
            write_file(root / f"{number}.index", meshes.new[f"{new}.index"])
            write_file(root / str(number), meshes.new[str(new)])
            if version != 1:  # once before it is published
                flush(meshes.mount)
            assert os.fstat(reader.fileno()).st_size == len(before), version
            assert before[:1] + reader.read() == before, version
            assert os.fstat(reader.fileno()).st_size == len(before), version
        assert os.stat(root / str(number)).st_size == len(meshes.new[str(new)])


def test_a_manifest_that_contradicts_itself_is_refused(meshes):
    root, number = meshes.mount.path, objects.IDS[1]
    manifest = meshes.files[f"{number}.index"]
    for wrong in (manifest[:-4], manifest + b"1234", b"x",
                  manifest[:24] + struct.pack("<I", 1 << 30) + manifest[28:]):
        refused(errno.EINVAL, write_file, root / f"{number}.index", wrong)
    assert_shown(meshes.files, root)
    flush(meshes.mount)
    meshes.check()


# ------------------------------------------------------------------------------- cost and determinism


@pytest.mark.parametrize("volume", [each for each in VOLUMES if len(each.scales) == 1], ids=str)
def test_a_full_scale_costs_one_publish_per_shard_and_hardly_more_than_its_bytes(
        work, mount, volume):
    twin = Twin(volume, work)
    mounted = mount(twin.path, PATIENT)
    copy_in(twin.files, mounted.path, seed=5)
    flush(mounted)
    write = mounted.status()["write"]
    assert write["publishes"] == twin.shard_count()
    stored = sum(map(len, shards_below(twin.path).values()))
    assert 0 < write["bytes_published"] <= stored
    twin.check()


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_the_bytes_published_are_those_of_the_chunks_and_a_tenth_at_most(work, mount, kind):
    case = WriteCase(kind, work, mount, share=0)
    case.expect(case.names, 1)
    copy_in(case.expected, case.root)
    # Complete shards are published at once, without a quiet time and without a flush.
    assert wait_until(lambda: case.write_status()["dirty_chunks"] == 0, 20)
    write = case.write_status()
    assert write["publishes"] == len({case.source.shard_of(name) for name in case.names})
    assert write["bytes_published"] <= 1.1 * sum(map(len, case.expected.values()))
    case.check()
    assert case.write_status()["publishes"] == write["publishes"]


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_rewriting_half_of_the_chunks_costs_one_publish_per_touched_shard(work, mount, kind):
    case = WriteCase(kind, work, mount, share=1)
    chosen = random.Random(3).sample(case.names, len(case.names) // 2)
    for turn in (1, 2):
        for name in chosen:
            case.put(name, turn)
    case.check()
    touched = {case.source.shard_of(name) for name in chosen}
    assert case.write_status()["publishes"] <= len(touched)


def shards_of(work, mount, name, kind, seed, steps):
    (work / name).mkdir()
    case = WriteCase(kind, work / name, mount, share=0)
    case.expect(case.names, 1)
    for step in range(steps):
        copy_in(dict(list(sorted(case.expected.items()))[step::steps]), case.root, seed)
    case.check()
    return {str(path.relative_to(case.top)): path.read_bytes()
            for path in case.top.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_the_same_content_gives_the_same_bytes_in_whatever_order_it_came(work, mount, kind):
    one = shards_of(work, mount, "one", kind, 1, 1)
    assert shards_of(work, mount, "two", kind, 2, 1) == one
    assert shards_of(work, mount, "three", kind, 3, 3) == one


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_a_full_rewrite_of_the_same_content_gives_the_same_bytes(work, mount, kind):
    case = WriteCase(kind, work, mount, share=0)
    case.expect(case.names, 1)
    copy_in(case.expected, case.root)
    case.check()
    first = shards_below(case.top)
    for name in case.names:
        case.put(name, 2)
    flush(case.mount)
    assert shards_below(case.top) != first
    case.expect(case.names, 1)
    copy_in(case.expected, case.root, seed=9)
    case.check()
    assert shards_below(case.top) == first


def test_many_datasets_in_one_mount_are_written_side_by_side(work, mount):
    chosen = [VOLUMES[0], VOLUMES[3]]
    twins = []
    for volume in chosen:
        twins.append(Twin(volume, work / volume.name))
        shutil.move(twins[-1].path, work / "source" / volume.name)
        twins[-1].path = work / "source" / volume.name
    array = ARRAYS[0]
    expected = zarrs.build(work / "reference", work / "twins", array)
    put_file(work / "source/array/zarr.json", zarrs.metadata_text(array))
    mounted = mount(work / "source", PATIENT)
    files = {f"{twin.volume.name}/{name}": data for twin in twins
             for name, data in twin.files.items()}
    files.update((f"array/{name}", data) for name, data in expected.chunks.items())
    copy_in(files, mounted.path, seed=4)
    assert_shown(files, mounted.path)
    flush(mounted)
    for twin in twins:
        twin.check()
    assert zarrs.cut_out(work / "source/array", array) == expected.chunks
    assert mounted.control("errors") == ""
