"""Arrays that libraries create inside a writable mount: ordinary ones, and with `-o shard=` ones that
are stored in shards, which no library needs to know."""

import json
import os

import numpy as np
import pytest
import tensorstore as ts
import zarr

import remote_stores

VALUES = np.random.default_rng(3).integers(0, 60000, (20, 33, 17), dtype=np.uint16)


@pytest.fixture
def source(work):
    zarr.create_group(work / "source", attributes={"of": "mine"})
    return work / "source"


def by_zarr_python(root, name, **options):
    group = zarr.open_group(root, mode="r+")
    array = group.create_array(name, shape=VALUES.shape, chunks=(5, 8, 4), dtype="uint16", **options)
    array[:] = VALUES
    return array


def by_tensorstore(root, name):
    array = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{root}/{name}/"}},
                    create=True, dtype=ts.uint16, shape=VALUES.shape,
                    codec=ts.CodecSpec({"driver": "zarr3", "codecs": ["zstd"]}),
                    chunk_layout=ts.ChunkLayout(chunk_shape=(5, 8, 4))).result()
    array[...] = VALUES
    return array


WRITERS = [by_zarr_python, by_tensorstore]


def document(directory):
    return json.loads((directory / "zarr.json").read_text())


def files_below(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def read_by_both(directory):
    yield zarr.open_array(directory, mode="r")[:]
    yield ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{directory}/"}},
                  open=True).result().read().result()


@pytest.mark.parametrize("write", WRITERS)
def test_without_the_option_arrays_are_stored_as_they_are_written(source, mount, write):
    mounted = mount(source)
    write(mounted.path, "a")
    shown = (mounted.path / "a/zarr.json").read_bytes()
    mounted.unmount()
    assert (source / "a/zarr.json").read_bytes() == shown
    assert document(source / "a")["chunk_grid"]["configuration"]["chunk_shape"] == [5, 8, 4]
    for found in read_by_both(source / "a"):
        np.testing.assert_array_equal(found, VALUES)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("shard, stored", [("2c", [10, 16, 8]), ("10x16x17", [10, 16, 20]),
                                           ("4cx1cx3c", [20, 8, 12])])
def test_new_arrays_are_stored_in_shards(source, mount, write, shard, stored):
    mounted = mount(source, f"shard={shard}")
    write(mounted.path, "a")
    assert document(mounted.path / "a")["chunk_grid"]["configuration"]["chunk_shape"] == [5, 8, 4]
    assert "sharding_indexed" not in (mounted.path / "a/zarr.json").read_text()
    chunks = 4 * 5 * 5
    assert len(files_below(mounted.path / "a")) == 1 + chunks
    for found in read_by_both(mounted.path / "a"):
        np.testing.assert_array_equal(found, VALUES)
    mounted.unmount()
    assert document(source / "a")["chunk_grid"]["configuration"]["chunk_shape"] == stored
    shards = int(np.prod([-(-size // extent) for size, extent in zip(VALUES.shape, stored)]))
    assert len(files_below(source / "a")) == 1 + shards
    for found in read_by_both(source / "a"):
        np.testing.assert_array_equal(found, VALUES)


@pytest.mark.parametrize("kind", remote_stores.KINDS)
def test_new_arrays_in_a_bucket_are_stored_in_shards(kind, source, mount, work, monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    bucket = remote_stores.open_bucket(kind, work)
    try:
        remote_stores.upload(bucket, source, "group")
        mounted = mount(f"{bucket.scheme}://{remote_stores.BUCKET}/group",
                        f"shard=2c,spool={work / 'spools'}", environment=bucket.environment)
        names = ["a", "b", "deep/c"]  # a group that is missing is linked to its name
        by_zarr_python(mounted.path, "a")
        by_tensorstore(mounted.path, "b")
        by_zarr_python(mounted.path, "deep/c")
        for name in names:
            assert document(mounted.path / name)["chunk_grid"]["configuration"]["chunk_shape"] == [5, 8, 4]
            for found in read_by_both(mounted.path / name):
                np.testing.assert_array_equal(found, VALUES)
        mounted.unmount()
        remote_stores.download(bucket, "group", work / "stored")
    finally:
        bucket.server.stop()
    for name in names:
        stored = zarr.open_array(work / "stored" / name, mode="r")
        assert stored.shards == (10, 16, 8) and len(files_below(work / "stored" / name)) == 1 + 2 * 3 * 3
        np.testing.assert_array_equal(stored[:], VALUES)


def test_attributes_are_changed_and_arrays_grow_as_usual(source, mount):
    mounted = mount(source, "shard=2c")
    array = by_zarr_python(mounted.path, "deep/a", attributes={"unit": "mV"}, fill_value=7)
    array.attrs["unit"] = "V"
    array.resize((25, 33, 17))
    array[20:] = 9
    mounted.unmount()
    stored = zarr.open_array(source / "deep/a", mode="r")
    assert stored.shards == (10, 16, 8) and stored.attrs["unit"] == "V" and stored.fill_value == 7
    np.testing.assert_array_equal(stored[:], np.concatenate([VALUES, np.full((5, 33, 17), 9)]))


def test_consolidated_metadata_show_the_arrays_as_they_are_shown(source, mount):
    mounted = mount(source, "shard=2c")
    by_zarr_python(mounted.path, "a")
    zarr.consolidate_metadata(mounted.path)
    shown = zarr.open_consolidated(mounted.path)["a"]
    assert shown.shards is None and shown.chunks == (5, 8, 4)
    mounted.unmount()
    stored = zarr.open_consolidated(source)["a"]
    assert stored.shards == (10, 16, 8)
    np.testing.assert_array_equal(stored[:], VALUES)


@pytest.mark.parametrize("shard", ["1c", "2cx2c", "5x8x4"])
def test_arrays_that_the_template_does_not_fit_stay_as_they_are(source, mount, shard):
    mounted = mount(source, f"shard={shard}")
    by_zarr_python(mounted.path, "a")
    mounted.unmount()
    assert "sharding_indexed" not in (source / "a/zarr.json").read_text()
    np.testing.assert_array_equal(zarr.open_array(source / "a", mode="r")[:], VALUES)


def test_a_document_that_is_copied_over_chunks_stays_as_it_is(source, mount):
    """They would be read as shards."""
    mounted = mount(source, "shard=2c")
    (mounted.path / "a/c/0/0").mkdir(parents=True)
    (mounted.path / "a/c/0/0/0").write_bytes(b"\x01\x00" * 160)
    text = json.dumps({"zarr_format": 3, "node_type": "array", "shape": [20, 33, 17],
                       "data_type": "uint16", "fill_value": 0, "chunk_key_encoding": {
                           "name": "default", "configuration": {"separator": "/"}},
                       "chunk_grid": {"name": "regular",
                                      "configuration": {"chunk_shape": [5, 8, 4]}},
                       "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]})
    (mounted.path / "a/zarr.json").write_text(text)
    mounted.unmount()
    assert (source / "a/zarr.json").read_text() == text
    assert zarr.open_array(source / "a", mode="r")[0, 0, 0] == 1


def test_a_document_that_is_written_first_is_sharded_however_it_is_written(source, mount):
    mounted = mount(source, "shard=2c")
    by_zarr_python(mounted.path, "made")
    text = (mounted.path / "made/zarr.json").read_text()
    for name in ("copied", "renamed"):
        (mounted.path / name).mkdir()
        if name == "copied":
            (mounted.path / name / "zarr.json").write_text(text)
        else:
            (mounted.path / name / "zarr.json.part").write_text(text)
            os.rename(mounted.path / name / "zarr.json.part", mounted.path / name / "zarr.json")
        zarr.open_array(mounted.path / name, mode="r+")[:] = VALUES
    mounted.unmount()
    for name in ("copied", "renamed"):
        stored = zarr.open_array(source / name, mode="r")
        assert stored.shards == (10, 16, 8), name
        np.testing.assert_array_equal(stored[:], VALUES)


def test_zarr2_and_n5_arrays_are_created_in_groups(work, mount):
    import z5py
    zarr.create_group(work / "source/zarr2", zarr_format=2)
    z5py.File(str(work / "source/n5.n5"), mode="w", use_zarr_format=False)
    mounted = mount(work / "source", "shard=2c")
    group = zarr.open_group(mounted.path / "zarr2", mode="r+", zarr_format=2)
    group.create_array("a", shape=VALUES.shape, chunks=(5, 8, 4), dtype="uint16")[:] = VALUES
    container = z5py.File(str(mounted.path / "n5.n5"), mode="r+", use_zarr_format=False)
    container.create_dataset("a", data=VALUES, chunks=(5, 8, 4), compression="gzip")
    mounted.unmount()
    np.testing.assert_array_equal(zarr.open_array(work / "source/zarr2/a", mode="r")[:], VALUES)
    stored = z5py.File(str(work / "source/n5.n5"), mode="r", use_zarr_format=False)
    np.testing.assert_array_equal(stored["a"][:], VALUES)


@pytest.mark.parametrize("value", ["", "0", "8y", "8x", "-1", "8c8"])
def test_a_bad_template_is_refused(work, source, run_unshard, value):
    (work / "mnt").mkdir()
    done = run_unshard("mount", source, work / "mnt", "-o", f"shard={value}")
    assert done.returncode == 2 and "extents, 256x256x512" in done.stderr
