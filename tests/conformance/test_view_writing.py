"""What programs write into a view is what the source holds: in its own encoding, in its shards.

Each program writes random parts of the levels into a view of a source of another kind. A model of
the voxels is compared with what the mount presents at once, and with what TensorStore reads from
the source itself after a flush. Seeded: UNSHARD_SEED repeats a run.
"""

import copy
import json
import os
import shutil
import subprocess
import threading

import numpy as np
import pytest

from judging import SEED, tree
from mounting import kill
from remote_stores import BUCKET, download, open_bucket, upload
from test_views import (FACTOR, PAIRS, SOURCES, VIEWS, BigEndianZarr, Bytes, ChannelsZarr,
                        CloudVolumeFiles, Colours, EvenLabels, FilledChannels, FilledZarr, Jpeg, N5,
                        Precomputed, RawBytesN5, Segmentation, ShardedChannels, ShardedZarr,
                        SingleN5, SplitChannels, SplitChannelsN5, Zarr, Zarr2,
                        paths_in, read, same, sources)
from tiers import in_turn

PATIENT = "publish_after=600"


def flush(mounted):
    os.setxattr(mounted.path / ".unshard", "user.unshard.flush", b"")


def format_in(source, view):
    return source.format if view in ("native", "raw") else view


def open_level(root, format, path, level, axes):
    """A level by TensorStore, with axes (c,) z y x."""
    import tensorstore as ts

    context = ts.Context({"cache_pool": {"total_bytes_limit": 0}})
    if format == "precomputed":
        store = ts.open({"driver": "neuroglancer_precomputed", "scale_index": level,
                         "kvstore": f"file://{root}/"}, context=context).result()
        store = store[ts.d[:].translate_to[0]].T
        return store if axes == 4 else store[0]
    driver = {"zarr3": "zarr3", "zarr2": "zarr", "n5": "n5"}[format]
    store = ts.open({"driver": driver, "kvstore": f"file://{root}/{path}"}, context=context).result()
    return store.T if format == "n5" else store


class Written:
    """A copy of a source, a mount of it, and what its levels must be."""

    def __init__(self, source, mount, work, options, seed=0):
        self.source, self.work = source, work
        self.path = work / "written"
        shutil.copytree(source.path, self.path)
        self.levels = [level.copy() for level in source.levels]
        self.rng = np.random.default_rng([SEED, seed, SOURCES.index(type(source))])
        self.mounted = mount(self.path, options)

    def values(self, shape, level):
        dtype = self.levels[level].dtype
        if dtype.kind == "f":
            return self.rng.normal(size=shape).astype(dtype)
        low, high = (2 ** 40, 2 ** 40 + 9) if isinstance(self.source, Segmentation) else \
            (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return self.rng.integers(low, high, size=shape, dtype=dtype, endpoint=True)

    def part(self, level, aligned=False, all_channels=True):
        """A box, as slices."""
        shape = self.levels[level].shape
        box = []
        for extent, chunk in zip(shape, [1] * (len(shape) - 3) + [*self.source.chunk[-3:]]):
            if aligned:
                begin = int(self.rng.integers(0, -(-extent // chunk))) * chunk
                box.append(slice(begin, min(begin + chunk, extent)))
            else:
                begin, end = sorted(self.rng.choice(extent + 1, 2, replace=False).tolist())
                box.append(slice(begin, end))
        if len(shape) == 4 and all_channels:
            box[0] = slice(0, shape[0])
        return tuple(box)

    def check(self, root, view):
        format = format_in(self.source, view)
        for level, path in enumerate(paths_in(self.source, view)):
            wanted = self.levels[level]
            same(open_level(root, format, path, level, wanted.ndim).read().result(), wanted)

    def check_source(self):
        """What TensorStore reads from the source, once everything is published."""
        flush(self.mounted)
        if not isinstance(self.source, CloudVolumeFiles):
            return self.check(self.path, "native")
        from cloudvolume import CloudVolume

        for level, wanted in enumerate(self.levels):
            volume = CloudVolume(f"file://{self.path}", mip=level, progress=False, cache=False,
                                 fill_missing=True)
            same(np.asarray(volume[:])[..., 0].transpose(), wanted)


def by_tensorstore(written, root, view, jobs):
    format = format_in(written.source, view)
    for level, box, values in jobs:
        path = paths_in(written.source, view)[level]
        open_level(root, format, path, level, values.ndim)[box].write(values).result()


def by_zarr_3(written, root, view, jobs):
    import zarr

    version = {"zarr3": 3, "zarr2": 2}[format_in(written.source, view)]
    for level, box, values in jobs:
        path = paths_in(written.source, view)[level]
        zarr.open_array(root / path, mode="r+", zarr_format=version)[box] = values


class ByZarr2:
    def __init__(self, frozen_zarr):
        self.frozen_zarr = frozen_zarr

    def __call__(self, written, root, view, jobs):
        described = []
        for number, (level, box, values) in enumerate(jobs):
            np.save(written.work / f"job {number}.npy", values)
            described.append([str(root), paths_in(written.source, view)[level],
                              [[part.start, part.stop] for part in box],
                              str(written.work / f"job {number}.npy")])
        format = format_in(written.source, view)
        self.frozen_zarr.call("write", format, described)


def by_cloud_volume(written, root, view, jobs):
    from cloudvolume import CloudVolume

    for level, box, values in jobs:
        volume = CloudVolume(f"file://{root}", mip=level, progress=False, cache=False,
                             fill_missing=True, non_aligned_writes=True)
        at = [slice(part.start + int(origin), part.stop + int(origin))
              for part, origin in zip(box[:-4:-1], volume.voxel_offset)]
        values = values if values.ndim == 4 else values[None]
        volume[tuple(at)] = np.asfortranarray(values.transpose())


def writers_of(source, view, frozen_zarr):
    format = format_in(source, view)
    writers = [by_tensorstore]
    if format in ("zarr3", "zarr2"):
        writers.append(by_zarr_3)
    if format in ("zarr2", "n5") and not (source.single and view == "n5" and source.format == "n5"):
        writers.append(ByZarr2(frozen_zarr))
    if format == "precomputed":
        writers.append(by_cloud_volume)
    return writers


def write(written, root, view, writers, rounds=2):
    for number in range(rounds):
        for writer in writers:
            jobs = []
            for level in range(len(written.levels)):
                box = written.part(level, number % 2 == 1, writer is by_cloud_volume)
                values = written.values(written.levels[level][box].shape, level)
                jobs.append((level, box, values))
            # A chunk of zeros, which some programs remove instead.
            box = written.part(0, aligned=True)
            jobs.append((0, box, np.zeros_like(written.levels[0][box])))
            for level, box, values in jobs:
                written.levels[level][box] = values
            writer(written, root, view, jobs)
            written.check(root, view)


LOSSY = [Jpeg]


@pytest.mark.parametrize("kind,view", in_turn(pair for pair in PAIRS if pair[0] not in LOSSY),
                         ids=lambda one: getattr(one, "__name__", one))
def test_what_programs_write_into_a_view_is_in_the_source(kind, view, sources, mount, work,
                                                          frozen_zarr):
    source = sources(kind)
    written = Written(source, mount, work, f"view={view},{PATIENT}")
    root = written.mounted.path
    write(written, root, view, writers_of(source, view, frozen_zarr))
    written.check_source()
    written.check(root, view)
    if format_in(source, view) == "n5":
        # By z5py and zarr 2 as well, which do not write all that they read.
        shown = copy.copy(source)
        shown.levels = written.levels
        read(shown, view, root, work, frozen_zarr)
    assert written.mounted.control("errors") == ""


@pytest.mark.parametrize("kind", [Precomputed, Segmentation, ShardedZarr, FilledZarr, Zarr2, N5,
                                  RawBytesN5, SplitChannels, ShardedChannels, SplitChannelsN5],
                         ids=lambda kind: kind.__name__)
def test_what_is_written_into_any_view_is_in_all_of_them_at_once(kind, sources, mount, work,
                                                                frozen_zarr):
    source = sources(kind)
    written = Written(source, mount, work, f"view=all,{PATIENT}", seed=1)
    root = written.mounted.path
    present = [view for view in VIEWS if (root / view).exists()]
    for view in [*written.rng.permutation(present), *written.rng.permutation(present)]:
        write(written, root / view, view, writers_of(source, view, frozen_zarr)[:1], rounds=1)
        for other in present:
            written.check(root / other, other)
    written.check_source()
    for view in present:
        written.check(root / view, view)
    # The spool is that of the source, whichever view it was written through.
    with_one = written.part(0, aligned=True)
    values = written.values(written.levels[0][with_one].shape, 0)
    written.levels[0][with_one] = values
    by_tensorstore(written, root / "zarr2", "zarr2", [(0, with_one, values)])
    written.mounted.unmount()
    native = mount(written.path, "view=native")
    written.mounted = native
    written.check_source()


@pytest.mark.parametrize("kind,view", [(Precomputed, "zarr3"), (ShardedZarr, "n5"),
                                       (Zarr2, "precomputed"), (N5, "zarr2"),
                                       (ShardedChannels, "precomputed")],
                         ids=lambda one: getattr(one, "__name__", one))
def test_a_killed_mount_of_a_view_leaves_a_spool_that_is_published_without_it(
        kind, view, sources, mount, work, run_unshard):
    source = sources(kind)
    spool = work / "spools"
    written = Written(source, mount, work, f"view={view},{PATIENT},spool={spool}", seed=2)
    write(written, written.mounted.path, view, [by_tensorstore])
    kill(written.mounted)
    done = run_unshard("spool", "publish", "--spool", spool, written.path)
    assert done.returncode == 0, done.stderr
    written.check(written.path, "native")


@pytest.mark.parametrize("kind", [ShardedZarr, ShardedChannels], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("before,after", [("all", "all"), ("native", "all"), ("all", "n5")])
def test_a_killed_mount_is_taken_over_by_one_of_other_views(kind, before, after, sources, mount,
                                                            work):
    """Levels of a group, and an array that is the source itself."""
    written = Written(sources(kind), mount, work, f"view={before},{PATIENT}", seed=7)
    for view in VIEWS[1:] if before == "all" else [before]:
        root = written.mounted.path / view if before == "all" else written.mounted.path
        write(written, root, view, [by_tensorstore], rounds=1)
    kill(written.mounted)
    written.mounted = mount(written.path, f"view={after},{PATIENT}")
    assert written.mounted.status()["write"]["dirty_chunks"] > 0
    for view in VIEWS[1:] if after == "all" else [after]:
        written.check(written.mounted.path / view if after == "all" else written.mounted.path, view)
    written.check_source()
    assert written.mounted.status()["write"]["conflicts"] == 0


def test_what_would_lose_is_refused_without_lossy(sources, mount, work):
    source = sources(Jpeg)
    written = Written(source, mount, work, "view=zarr3")
    chunk = next(path for path in (written.mounted.path / "0").rglob("*")
                 if path.is_file() and path.name != "zarr.json")
    before = chunk.read_bytes()
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        with pytest.raises(OSError) as caught:
            os.open(chunk, flags)
        assert caught.value.errno == 30
    with pytest.raises(OSError) as caught:
        chunk.unlink()
    assert caught.value.errno == 30
    assert "jpeg" in written.mounted.log() and "lossy=yes" in written.mounted.log()
    assert chunk.read_bytes() == before


def written_by_cloudvolume(path, dtype, encoding, **members):
    """A volume of one chunk and three parts of chunks, and its voxels z, y, x."""
    from cloudvolume import CloudVolume

    info = CloudVolume.create_new_info(1, "segmentation" if dtype == "uint32" else "image", dtype, encoding,
                                       [8, 8, 8], [0, 0, 0], [20, 18, 8], chunk_size=[16, 16, 8])
    info["scales"][0] |= members
    voxels = np.random.default_rng([SEED, 15]).integers(0, 200, (20, 18, 8, 1)).astype(dtype)
    volume = CloudVolume(f"file://{path}", info=info, progress=False, compress=False)
    volume.commit_info()
    volume[:] = voxels
    return np.array(volume[:])[..., 0].T


@pytest.mark.parametrize("encoding,dtype", [("compresso", "uint32"), ("fpzip", "float32"),
                                            ("kempressed", "float32")])
def test_encodings_that_are_only_decoded_are_read_and_never_written(encoding, dtype, mount, work):
    wanted = written_by_cloudvolume(work / "source", dtype, encoding)
    mounted = mount(work / "source", "view=zarr3,lossy=yes")
    assert np.array_equal(open_level(mounted.path, "zarr3", "0", 0, 3).read().result(), wanted)
    with pytest.raises(OSError) as caught:
        open(mounted.path / "0" / "c" / "0" / "0" / "0", "r+b")
    assert caught.value.errno == 30 and encoding in mounted.log()


@pytest.mark.parametrize("quality", [85, 100])
def test_jxl_is_written_as_its_quality_allows(quality, mount, work):
    from cloudvolume import CloudVolume

    wanted = written_by_cloudvolume(work / "source", "uint8", "jxl", jxl_quality=quality).astype(int)
    most = 1 if quality < 100 else 0  # CloudVolume's libjxl is of another version
    mounted = mount(work / "source", "view=zarr3")
    level = open_level(mounted.path, "zarr3", "0", 0, 3)
    assert np.abs(level.read().result() - wanted).max() <= most
    if quality < 100:
        with pytest.raises(OSError) as caught:
            open(mounted.path / "0" / "c" / "0" / "0" / "0", "r+b")
        assert caught.value.errno == 30 and "lossy=yes" in mounted.log()
        mounted.unmount()
        mounted = mount(work / "source", "view=zarr3,lossy=yes")
        level = open_level(mounted.path, "zarr3", "0", 0, 3)
    z, y, x = np.indices(wanted.shape)
    wanted = 5 * z + 4 * y + 3 * x
    level.write(wanted.astype("uint8")).result()
    flush(mounted)
    found = np.asarray(CloudVolume(f"file://{work / 'source'}", progress=False)[:])[..., 0].T
    assert np.abs(found.astype(int) - wanted).max() <= (16 if quality < 100 else 0)


def test_what_may_lose_is_close_to_what_was_written(sources, mount, work):
    source = sources(Jpeg)
    written = Written(source, mount, work, f"view=zarr3,lossy=yes,{PATIENT}")
    part = (slice(0, 3), slice(0, 8), slice(0, 16), slice(0, 16))
    ramp = np.add.outer(np.arange(8) * 8, np.add.outer(np.arange(16), np.arange(16)))
    values = np.stack([ramp, 255 - ramp, ramp // 2]).astype("uint8")
    root = written.mounted.path
    store = open_level(root, "zarr3", "0", 0, 4)
    store[part].write(values).result()
    at_once = store[part].read().result()
    assert np.abs(at_once.astype(int) - values).mean() < 12
    flush(written.mounted)
    stored = open_level(written.path, "precomputed", None, 0, 4)[part].read().result()
    same(stored, at_once)
    with open(next(iter((written.path / "scale 0").glob("*.shard"))), "rb") as shard:
        assert b"\xff\xd8\xff" in shard.read() or source.sharded


def test_bytes_that_are_no_chunk_of_the_view_are_refused(sources, mount, work):
    source = sources(Segmentation)
    written = Written(source, mount, work, f"view=zarr2,{PATIENT}")
    chunk = written.mounted.path / "0" / "0" / "0" / "0"
    before = chunk.read_bytes()
    for damaged in (before[:-1], before + b"x", b"\1"):
        with pytest.raises(OSError) as caught:
            with open(chunk, "wb", buffering=0) as file:
                file.write(damaged)
        assert caught.value.errno == 22
        assert chunk.read_bytes() == before


def test_files_are_created_renamed_truncated_and_removed_in_a_view(sources, mount, work):
    source = sources(Precomputed)
    written = Written(source, mount, work, f"view=zarr3,{PATIENT}")
    grid = written.mounted.path / "0" / "c"
    absent, present = grid / "1" / "0" / "0", grid / "0" / "1" / "1"
    assert not absent.exists()
    data = present.read_bytes()
    new = bytes(reversed(data))
    # As LocalStore does: a temporary file beside the chunk, and a rename onto it.
    partial = absent.with_name(f"{absent.name}.abc.partial")
    partial.write_bytes(new)
    os.replace(partial, absent)
    assert absent.read_bytes() == new and not partial.exists()
    assert absent.name in os.listdir(absent.parent)
    with open(absent, "r+b", buffering=0) as file:
        file.write(b"\7\7")
    assert absent.read_bytes() == b"\7\7" + new[2:]
    os.utime(absent, (5, 5))
    assert absent.stat().st_mtime == 5
    os.truncate(present, 0)
    assert present.read_bytes() == data  # readers go on seeing the whole chunk
    os.rename(absent, grid / "0" / "0" / "0")
    assert not absent.exists() and (grid / "0" / "0" / "0").read_bytes() == b"\7\7" + new[2:]
    present.unlink()
    assert not present.exists() and present.name not in os.listdir(present.parent)
    written.levels[0][8:16, :16, :16] = 0
    written.levels[0][:8, 16:, 16:32] = 0
    written.levels[0][:8, :16, :16] = np.frombuffer(b"\7\7" + new[2:], "<u2").reshape(8, 16, 16)
    written.check(written.mounted.path, "zarr3")
    written.check_source()
    shutil.rmtree(grid)
    flush(written.mounted)
    assert not open_level(written.path, "precomputed", None, 0, 3).read().result().any()


@pytest.mark.parametrize("view,name,header", [("n5", "0/0/0", 16),
                                              ("precomputed", "1_1_1/0-16_0-16_0-8", 0)])
def test_a_chunk_is_written_that_another_view_has_removed(view, name, header, mount, work):
    """Its file stays in a view of another fill value: no program has seen the name go."""
    import zarr

    options = {"shape": (16, 32, 32), "chunks": (8, 16, 16), "shards": (16, 32, 32),
               "dtype": "uint8", "fill_value": 7, "compressors": None,
               "dimension_names": ["z", "y", "x"]}
    zarr.create_array(work / "filled", **options)[:] = 1
    mounted = mount(work / "filled", f"view=all,{PATIENT}")
    removed, chunk = mounted.path / "native/c/0/0/0", mounted.path / view / name
    rng = np.random.default_rng(SEED)
    for mode in ("r+b", "wb"):
        removed.unlink()
        shown = chunk.read_bytes()
        assert set(shown[header:]) == {7}
        os.utime(chunk, (5, 5))
        assert chunk.stat().st_mtime == 5
        voxels = rng.integers(8, 256, (8, 16, 16), dtype="uint8")
        with open(chunk, mode) as file:
            file.write(shown[:header] + voxels.tobytes())
        assert chunk.read_bytes() == shown[:header] + voxels.tobytes()
        assert removed.exists()
    flush(mounted)
    same(zarr.open_array(work / "filled", mode="r")[:8, :16, :16], voxels)


AXES = {"xyz": (11, 12, 13), "xyzc": (11, 12, 13, 3), "zcyx": (5, 3, 9, 10), "zyxc": (5, 9, 10, 3),
        "yx": (9, 10), "xy": (9, 10), "cyx": (3, 9, 10), "tzyx": (1, 5, 9, 10)}


@pytest.mark.parametrize("names", AXES)
def test_axes_are_found_by_their_names_and_written_back(names, mount, work):
    """In any order: those of a volume are x, y, z, channel; what it lacks, it has once."""
    import zarr

    shape, rng = AXES[names], np.random.default_rng([SEED, 13])
    chunks = [min(extent, 2 if name in "tc" else 4) for name, extent in zip(names, shape)]
    array = zarr.create_array(work / "source", shape=shape, chunks=chunks, dtype="uint16",
                              shards=[2 * extent for extent in chunks], dimension_names=[*names])
    array[...] = rng.integers(0, 60000, shape, dtype="uint16")
    mounted = mount(work / "source", f"view=all,{PATIENT}")
    volume = open_level(mounted.path / "precomputed", "precomputed", "", 0, 4)
    order = [names.index(name) for name in "tczyx" if name in names]
    extents = [shape[names.index(name)] if name in names else 1 for name in "czyx"]
    same(volume.read().result(), array[...].transpose(order).reshape(extents))
    voxels = rng.integers(0, 60000, extents, dtype="uint16")
    volume.write(voxels).result()
    wanted = voxels.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
    same(open_level(mounted.path / "n5", "n5", "", 0, len(shape)).read().result(), wanted)
    flush(mounted)
    same(zarr.open_array(work / "source", mode="r")[...], wanted)


@pytest.mark.parametrize("codec", in_turn(["gzip", "zstd", "blosc"]))
@pytest.mark.parametrize("view", in_turn(["zarr3", "zarr2", "n5"]))
def test_chunks_that_are_written_compressed_are_stored_as_the_source_has_them(codec, view, sources, mount,
                                                                             work):
    written = Written(sources(Precomputed), mount, work, f"view={view},view_codec={codec},{PATIENT}", seed=8)
    write(written, written.mounted.path, view, [by_tensorstore])
    for path in (written.mounted.path / paths_in(written.source, view)[0]).rglob("*"):
        assert not path.is_file() or path.stat().st_size == len(path.read_bytes())
    written.check_source()


def test_booleans_are_written_as_bytes_of_0_and_1(mount, work):
    import zarr

    rng = np.random.default_rng([SEED, 14])
    array = zarr.create_array(work / "source", shape=(9, 14), chunks=(4, 5), shards=(8, 10), dtype="bool")
    array[...] = rng.integers(0, 2, (9, 14)).astype(bool)
    mounted = mount(work / "source", f"view=all,{PATIENT}")
    for view, axes in (("n5", 2), ("precomputed", 4)):
        voxels = rng.integers(0, 2, (9, 14), dtype="uint8")
        level = open_level(mounted.path / view, view, "", 0, axes)
        level.write(voxels.reshape(level.shape)).result()
        same(zarr.open_array(mounted.path / "native", mode="r")[...], voxels.astype(bool))
        chunk = next(path for path in (mounted.path / view).rglob("0*") if path.is_file())
        before = chunk.read_bytes()
        with pytest.raises(OSError) as caught:
            with open(chunk, "wb", buffering=0) as file:
                file.write(before[:-1] + b"\2")
        assert caught.value.errno == 22 and chunk.read_bytes() == before
    flush(mounted)
    same(zarr.open_array(work / "source", mode="r")[...], voxels.astype(bool))


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_without_axes_are_presented_and_written(version, mount, work):
    """Groups of xarray have them beside other arrays."""
    import zarr

    group = zarr.create_group(work / "scalars", zarr_format=version)
    group.create_array("scalar", shape=(), dtype="int32")[...] = 42
    group.create_array("line", shape=(4,), chunks=(2,), dtype="int32")[:] = range(4)
    mounted = mount(work / "scalars", f"view=all,{PATIENT}")
    formats = {"native": f"zarr{version}", "zarr3": "zarr3", "zarr2": "zarr2", "n5": "n5"}
    value = 42
    for view in formats:
        value += 1
        open_level(mounted.path / view, formats[view], "scalar", 0, 0).write(value).result()
        for other in formats:
            root = mounted.path / other
            assert open_level(root, formats[other], "scalar", 0, 0).read().result() == value
            same(open_level(root, formats[other], "line", 0, 1).read().result(),
                 np.arange(4, dtype="int32"))
    flush(mounted)
    assert zarr.open_array(work / "scalars" / "scalar", zarr_format=version)[...] == value


def test_documents_of_a_view_are_kept(sources, mount, work):
    source = sources(ShardedZarr)
    written = Written(source, mount, work, "view=n5")
    document = written.mounted.path / "s0" / "attributes.json"
    text = document.read_text()
    document.write_text(text)
    document.write_text(json.dumps(json.loads(text), indent=7))
    assert document.read_text() == text
    with pytest.raises(OSError) as caught:
        document.write_text(text.replace("uint16", "uint32"))
    assert caught.value.errno == 1
    with pytest.raises(OSError) as caught:
        document.unlink()
    assert caught.value.errno == 1
    before = tree(written.path)
    with pytest.raises(OSError):
        (written.mounted.path / "zarr.json").write_text("{}")
    (written.mounted.path / "0").mkdir()
    assert tree(written.path) == before


def test_compressed_files_of_cloud_volume_are_replaced_by_such_files(sources, mount, work):
    written = Written(sources(CloudVolumeFiles), mount, work, f"view=zarr3,{PATIENT}", seed=3)
    write(written, written.mounted.path, "zarr3", [by_tensorstore, by_zarr_3])
    written.check_source()
    names = [path.name for path in written.path.rglob("*-*_*-*_*-*") if path.is_file()]
    assert len({name.removesuffix(".gz") for name in names}) == len(names)


@pytest.mark.parametrize("kind", [SplitChannels, ShardedChannels, FilledChannels],
                         ids=lambda kind: kind.__name__)
def test_all_channels_that_are_seen_are_of_one_writer(kind, sources, mount, work):
    """Files of whole chunks, one value each, by several programs, while others read them."""
    written = Written(sources(kind), mount, work, f"view=precomputed,{PATIENT}", seed=5)
    directory = written.mounted.path / "1_1_1"
    names = ["0-16_0-16_0-8", "16-32_16-29_8-16"]
    dtype = written.levels[0].dtype
    size = {name: (directory / name).stat().st_size // dtype.itemsize for name in names}
    for name in names:
        (directory / name).write_bytes(np.full(size[name], 1, dtype).tobytes())
    done, mixed, last = threading.Event(), [], {}

    def write_values(first):
        for value in range(first, first + 30):
            for name in names:
                scratch = directory / f"{name}.{first}.tmp"
                scratch.write_bytes(np.full(size[name], value, dtype).tobytes())
                os.replace(scratch, directory / name)
        last[first] = value

    def read_values():
        while not done.is_set():
            for name in names:
                voxels = np.frombuffer((directory / name).read_bytes(), dtype)
                if len(voxels) != size[name] or len(set(voxels.tolist())) != 1:
                    mixed.append((name, sorted(set(voxels.tolist()))))

    readers = [threading.Thread(target=read_values) for _ in range(2)]
    writers = [threading.Thread(target=write_values, args=(first,)) for first in (10, 100, 200)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert mixed == [] and len(last) == 3
    for name in names:
        value, = set(np.frombuffer((directory / name).read_bytes(), dtype).tolist())
        assert value in last.values()
        x, y, z = (slice(*map(int, part.split("-"))) for part in name.split("_"))
        written.levels[0][:, z, y, x] = value
    written.check_source()


def test_writers_of_channels_and_of_whole_chunks_lose_nothing(sources, mount, work):
    """Beside each other, in views whose chunks are not the same, at different voxels."""
    written = Written(sources(ShardedChannels), mount, work, f"view=all,{PATIENT}", seed=6)
    root = written.mounted.path
    cells = [(z, y, x) for z in range(0, 21, 8) for y in range(0, 29, 16) for x in range(0, 37, 16)]
    jobs = {"precomputed": [], "zarr3": [], "n5": []}
    for number, (z, y, x) in enumerate(cells):
        view = list(jobs)[number % 3]
        box = (slice(0, 3), slice(z, min(z + 8, 21)), slice(y, min(y + 16, 29)),
               slice(x, min(x + 16, 37)))
        values = written.values(written.levels[0][box].shape, 0)
        written.levels[0][box] = values
        # Two chunks of channels, by a store each.
        parts = [slice(0, 3)] if view == "precomputed" else [slice(0, 2), slice(2, 3)]
        jobs[view] += [(0, (part, *box[1:]), values[part]) for part in parts]
    failed = []

    def run(view):
        try:
            by_tensorstore(written, root / view, view, jobs[view])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(view,)) for view in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for view in VIEWS:
        written.check(root / view, view)
    written.check_source()


@pytest.fixture(scope="module")
def buckets(module_work):
    opened = {}

    def bucket(scheme):
        if scheme not in opened:
            work = module_work / scheme
            work.mkdir()
            opened[scheme] = open_bucket(scheme, work)
        return opened[scheme]
    yield bucket
    for each in opened.values():
        each.server.stop()


@pytest.mark.parametrize("scheme,kind,view", [
    ("s3", Precomputed, "zarr3"), ("s3", ShardedZarr, "n5"), ("s3", FilledZarr, "precomputed"),
    ("s3", Zarr2, "zarr3"), ("s3", N5, "zarr2"), ("s3", ShardedZarr, "all"), ("s3", N5, "all"),
    ("s3", ShardedChannels, "all"), ("gcs", Precomputed, "n5"), ("gcs", ShardedZarr, "precomputed"),
    ("gcs", Zarr2, "zarr3"), ("gcs", N5, "all"), ("gcs", SplitChannels, "precomputed")],
    ids=lambda one: getattr(one, "__name__", one))
def test_views_of_a_bucket_are_written(scheme, kind, view, sources, buckets, mount, work,
                                       frozen_zarr, no_credentials):
    source, bucket = sources(kind), buckets(scheme)
    prefix = f"{kind.__name__}-{view}"
    upload(bucket, source.path, prefix)
    written = Written(source, lambda path, options: mount(
        f"{bucket.scheme}://{BUCKET}/{prefix}", options, environment=bucket.environment), work,
        f"view={view},{PATIENT},spool={work / 'spools'}", seed=4)
    views = ["zarr3", "precomputed", "zarr2"] if view == "all" else [view]
    for each in views:
        root = written.mounted.path / each if view == "all" else written.mounted.path
        write(written, root, each, writers_of(source, each, frozen_zarr)[:2], rounds=1)
        for other in views:
            written.check(written.mounted.path / other if view == "all" else root, other)
    flush(written.mounted)
    stored = work / "stored"
    download(bucket, prefix, stored)
    written.check(stored, "native")
