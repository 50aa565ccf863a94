"""Sharded precomputed volumes, written by TensorStore and CloudVolume, read through the mount as
ordinary unsharded ones. The peers are the judge: of voxels, of names and of every byte."""

import errno
import gzip
import os

import numpy as np
import pytest

from judging import (assert_missing, assert_same_bytes, assert_same_names, lossless, names,
                     names_below, put_file, SEED)
from mounting import MountFailed, wait_until
from precomputed_sources import (RAW_TYPES, Scale, Volume, build, chosen_volumes, info_text,
                                 legacy_volumes, open_cloudvolume, random_volumes,
                                 read_tensorstore)
from shard_container import (Sharding, cells_of, compressed_morton, legacy_morton, range_name,
                             read_values, write_values)
from tiers import in_turn

VOLUMES = random_volumes() + chosen_volumes()
LEGACY = legacy_volumes()
ALL = VOLUMES + LEGACY
SCALES = [pytest.param(volume, index, id=f"{volume}-scale{index}")
          for volume in ALL for index in range(len(volume.scales))]


class Datasets:
    """The built volumes and where they are mounted."""

    def __init__(self, directory, mount):
        print(f"UNSHARD_SEED={SEED}")
        self.expected, self.source, self.twin, self.view = {}, {}, {}, {}
        for label, volumes, options in (("modern", VOLUMES, ""), ("legacy", LEGACY, "morton=legacy")):
            root, twins = directory / label, directory / f"{label}-unsharded"
            for volume in volumes:
                self.expected[volume.name] = build(root, twins, volume)
            mounted = mount(root, options)
            for volume in volumes:
                self.source[volume.name] = root / volume.directory
                self.twin[volume.name] = twins / volume.directory
                self.view[volume.name] = mounted.path / volume.directory


@pytest.fixture(scope="module")
def datasets(module_work, module_mount):
    return Datasets(module_work, module_mount)


@pytest.mark.parametrize("volume, index", in_turn(SCALES))
def test_tensorstore_reads_the_voxels_of_the_source(datasets, volume, index):
    found = read_tensorstore(datasets.view[volume.name], index)
    expected = datasets.expected[volume.name][index].voxels
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def cloudvolume_can_read(volume, index):
    scale = volume.scales[index]
    sharding = scale.sharding if scale.sharded else Sharding()
    return (scale.encoding != "png"  # its decoder is a package apart
            and not (scale.encoding == "compressed_segmentation" and volume.channels > 1)
            and scale.sharding != "null" and ".." not in scale.key
            and sharding.preshift < 64 and sharding.shard < 62)


@pytest.mark.parametrize("volume, index", [
    each for each in SCALES if cloudvolume_can_read(*each.values)])
def test_cloudvolume_reads_the_voxels_of_the_source(datasets, volume, index):
    scale, expected = volume.scales[index], datasets.expected[volume.name][index]
    found = np.asarray(open_cloudvolume(datasets.view[volume.name], index)[:, :, :])
    if not (scale.encoding == "jpeg" and volume.channels > 1):  # the peers' decoders differ there
        np.testing.assert_array_equal(found, expected.voxels)
    readable = scale.sharded and not scale.split and not scale.legacy
    reference = (datasets.source if readable else datasets.twin)[volume.name]
    np.testing.assert_array_equal(found, np.asarray(open_cloudvolume(reference, index)[:, :, :]))


def expected_names(datasets, volume, folder):
    """All that stands in a directory of chunks: those of every scale, and folders of others."""
    expected = set()
    for scale, known in zip(volume.scales, datasets.expected[volume.name]):
        if scale.folder == folder:
            expected |= set(known.files)
        elif scale.folder.startswith(folder + "/"):
            expected.add(scale.folder[len(folder) + 1:].split("/")[0])
    return expected


@pytest.mark.parametrize("volume, index", in_turn(SCALES))
def test_exactly_the_stored_chunks_are_listed(datasets, volume, index):
    folder = volume.scales[index].folder
    assert_same_names(names(datasets.view[volume.name] / folder),
                      expected_names(datasets, volume, folder), f"{volume} {folder}")


@pytest.mark.parametrize("volume, index", in_turn(SCALES))
def test_each_file_holds_the_value_that_the_peer_stored(datasets, volume, index):
    known = datasets.expected[volume.name][index]
    directory = datasets.view[volume.name] / volume.scales[index].folder
    for name, value in known.files.items():
        assert_same_bytes(directory / name, value)
        assert known.twin[name] == value, f"{name} differs from what the peer writes unsharded"


def without_sharding(text):
    """The info as it must be: `sharding` gone, null or not; the rest as it was."""
    document = lossless(text)
    scales = [scale.without("sharding") for scale in document.get("scales")]
    return document.replaced("scales", scales)


@pytest.mark.parametrize("volume", ALL, ids=str)
def test_the_info_loses_sharding_and_nothing_else(datasets, volume):
    found = (datasets.view[volume.name] / "info").read_text()
    source = (datasets.source[volume.name] / "info").read_text()
    for scale in lossless(found).get("scales"):
        assert scale.get("sharding") is None
    assert without_sharding(found) == without_sharding(source)


@pytest.mark.parametrize("volume", ALL, ids=str)
def test_the_shard_files_are_neither_listed_nor_resolved(datasets, volume):
    for scale in volume.scales:
        source = datasets.source[volume.name] / scale.folder
        view = datasets.view[volume.name] / scale.folder
        stored = [path.name for path in source.iterdir()
                  if path.suffix in (".shard", ".index", ".data")]
        assert not set(stored) & names(view)
        for name in stored + ["0.shard", "info.shard"]:
            assert_missing(view / name)


@pytest.mark.parametrize("volume, index", in_turn(SCALES))
def test_names_that_are_no_chunk_do_not_resolve(datasets, volume, index):
    scale = volume.scales[index]
    view = datasets.view[volume.name] / scale.folder
    for name, value in datasets.expected[volume.name][index].files.items():
        if scale.sharded and scale.sharding.data_encoding == "gzip":
            # CloudVolume looks for this name first; it is the stored gzip member, never listed.
            assert gzip.decompress((view / f"{name}.gz").read_bytes()) == value
        else:
            assert_missing(view / f"{name}.gz")
        assert_missing(view / f"{name}.br")
        assert_missing(view / f"0{name}")
        assert_missing(view / name.replace("-", "-+", 1))
        break
    low, step = scale.offset[0], scale.chunk[0]
    assert_missing(view / f"{low + 1}-{low + 1 + step}_0-8_0-8")
    assert_missing(view / f"{low - step}-{low}_0-8_0-8")


@pytest.mark.parametrize("volume", [
    each for each in ALL if any(scale.present < 1 for scale in each.scales)], ids=str)
def test_a_chunk_that_was_never_written_does_not_exist(datasets, volume):
    for scale, known in zip(volume.scales, datasets.expected[volume.name]):
        for cell in cells_of(scale.grid()):
            name = range_name(cell, scale.size, scale.offset, scale.chunk)
            if name not in known.files:
                assert_missing(datasets.view[volume.name] / scale.folder / name)


def test_the_matrix_covers_what_it_should():
    """A seed that leaves out a corner would prove less than it seems."""
    scales = [(volume, scale) for volume in VOLUMES for scale in volume.scales if scale.sharded]
    assert {volume.dtype for volume, _ in scales} == set(RAW_TYPES)
    assert {scale.encoding for _, scale in scales} == {"raw", "jpeg", "png",
                                                       "compressed_segmentation"}
    encodings = {(s.sharding.index_encoding, s.sharding.data_encoding) for _, s in scales}
    assert len(encodings) == 9
    assert {s.sharding.preshift for _, s in scales} >= {0, 1, 64}
    assert any(min(s.offset) < 0 for _, s in scales) and any(1 in s.grid() for _, s in scales)


def test_a_key_that_leaves_a_narrow_mount_is_refused(work, mount):
    volume = Volume("narrow", scales=[Scale(key="../outside/s0", sharding=Sharding(0, 1, 1))])
    build(work / "src", work / "unsharded", volume)
    with pytest.raises(MountFailed) as refused:
        mount(work / "src" / "narrow")
    assert refused.value.returncode not in (0, None) and refused.value.returncode > 0
    assert "info" in refused.value.log and "../outside/s0" in refused.value.log


def test_a_volume_mounted_on_its_own_is_at_the_root(work, mount):
    volume = Volume("alone", "uint64", scales=[
        Scale(encoding="compressed_segmentation", key="8_8_40",
              sharding=Sharding(0, 1, 1, "identity", "gzip", "gzip"))])
    expected, = build(work / "src", work / "unsharded", volume)
    mounted = mount(work / "src" / "alone")
    assert_same_names(names_below(mounted.path),
                      {"info"} | {f"8_8_40/{name}" for name in expected.files}, "the mount")
    np.testing.assert_array_equal(read_tensorstore(mounted.path, 0), expected.voxels)


def test_every_way_of_listing_lists_only_chunks_that_can_be_opened(work, mount):
    volume = Volume("gaps", scales=[Scale(present=0.4, sharding=Sharding(0, 1, 1))])
    expected, = build(work / "src", work / "unsharded", volume)
    for listing in ("present", "grid"):
        listed = mount(work / "src" / "gaps", f"list={listing}")
        assert names(listed.path / "s0") == set(expected.files)
    silent = mount(work / "src" / "gaps", "list=none")
    assert names(silent.path / "s0") == set()
    for name, value in expected.files.items():
        assert_same_bytes(silent.path / "s0" / name, value)


def test_files_beside_the_chunks_pass_through(work, mount):
    volume = Volume("company", scales=[Scale(sharding=Sharding(0, 1, 1))])
    expected, = build(work / "src", work / "unsharded", volume)
    root = work / "src" / "company"
    beside = {"provenance": b"{}", "s0/notes.txt": b"kept", "s0/0.shard.txt": b"no shard",
              "s0/deep/er/0.shard": b"elsewhere", "README": b"", "s0/00.shard": b"too wide a name"}
    for name, content in beside.items():
        put_file(root / name, content)
    os.symlink("README", root / "link")
    mounted = mount(root)
    found = names_below(mounted.path)
    assert_same_names(found, {"info", "link"} | set(beside) | {f"s0/{n}" for n in expected.files},
                      "the mount")
    for name, content in beside.items():
        assert_same_bytes(mounted.path / name, content)


def test_a_value_that_is_zero_bytes_long_is_an_empty_file(work, mount):
    for label, encoding in (("raw", "raw"), ("gzip", "gzip")):
        sharding = Sharding(0, 1, 0, data_encoding=encoding)
        volume = Volume(label, scales=[Scale(sharding=sharding, encoding="png")])
        put_file(work / "src" / label / "info", info_text(volume))
        write_values(work / "src" / label / "s0", sharding, {0: b"", 1: b"not empty"})
    mounted = mount(work / "src")
    for label in ("raw", "gzip"):
        assert names(mounted.path / label / "s0") == {"0-8_0-8_0-8", "8-16_0-8_0-8"}
        assert_same_bytes(mounted.path / label / "s0" / "0-8_0-8_0-8", b"")
        assert_same_bytes(mounted.path / label / "s0" / "8-16_0-8_0-8", b"not empty")


def errno_of(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
    return 0


def test_where_the_rule_of_ids_cannot_be_found_out_no_chunk_is_taken_for_another(work, mount,
                                                                               run_unshard):
    """A disk that is back later, in which all ids follow the rule of before mid-2021."""
    scale = Scale((32, 16, 8), (8, 8, 8), sharding=Sharding(0, 1, 2), legacy=True)
    volume = Volume("volume", scales=[scale])
    known, = build(work, work / "twin", volume)
    folder = work / "volume" / scale.folder
    shards = {path: path.read_bytes() for path in folder.iterdir()}
    for path in shards:
        path.write_bytes(bytes(8) + b"\xff" * 100)
    mounted = mount(work / "volume", f"spool={work / 'spools'},ttl=0")
    cells = {range_name(cell, scale.size, scale.offset, scale.chunk): cell for cell in cells_of(scale.grid())}
    differing = [name for name, cell in cells.items()
                 if compressed_morton(cell, scale.grid()) != legacy_morton(cell, scale.grid())]
    assert differing
    chunks = {name: mounted.path / scale.folder / name for name in differing}
    for name, chunk in chunks.items():
        assert errno_of(chunk.read_bytes) == errno.EIO
        assert errno_of(chunk.write_bytes, known.files[name]) == errno.EIO
        assert "morton=" in run_unshard("why", chunk).stdout
    for path, data in shards.items():
        path.write_bytes(data)
    assert wait_until(lambda: errno_of(chunks[differing[0]].read_bytes) == 0, 30)
    written = {name: bytes(255 - byte for byte in known.files[name]) for name in differing}
    for name, chunk in chunks.items():
        assert chunk.read_bytes() == known.files[name]
        chunk.write_bytes(written[name])
    mounted.unmount()
    ids = {legacy_morton(cell, scale.grid()): name for name, cell in cells.items()}
    found = read_values(folder, scale.sharding, ids)
    assert {ids[number]: data for number, data in found.items()} == {**known.files, **written}
