"""What must not get lost although metadata are edited, or others write, at the wrong moment."""

import errno
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from mount_data import refused
from mounting import wait_until
from write_data import KINDS, PATIENT, WriteCase, flush, write_file


def add_member(path, **members):
    document = json.loads(path.read_text())
    write_file(path, json.dumps({**document, **members}).encode())


@pytest.mark.parametrize("kind", ["precomputed-raw", "zarr-nested"])
@pytest.mark.parametrize("editor", ["through the mount", "in the source"])
def test_chunks_that_wait_outlive_an_edit_of_the_metadata(work, mount, kind, editor):
    case = WriteCase(kind, work, mount)
    known, new = case.present(2)[1], case.absent()[0]
    case.put(known, 1)
    case.put(new, 1)
    folder = case.root if editor == "through the mount" else case.source.path
    if case.precomputed:
        add_member(folder / "info", mesh="mesh", owners=["nobody"])
    else:
        add_member(folder / "zarr.json", attributes={"unit": "mm"})
    assert wait_until(lambda: b"nobody" in (case.root / "info").read_bytes() if case.precomputed
                      else b"mm" in (case.root / "zarr.json").read_bytes(), 10)
    case.check_mount()
    for name in case.names:  # whole shards, which are published at once
        case.put(name, 2)
    case.check()


def test_strict_keeps_what_others_have_published_and_sets_ours_aside(work, mount):
    case = WriteCase("zarr-nested", work, mount, f"{PATIENT},strict")
    theirs, ours = [name for name in case.expected
                    if case.source.shard_of(name) == case.source.shard_of(case.names[0])][:2]
    lost = case.bytes_for(theirs, 1)
    case.put(theirs, 1)
    case.put(ours, 1)
    case.expected[theirs] = case.bytes_for(theirs, 9)
    case.source.fill({theirs: case.expected[theirs]})
    with pytest.raises(OSError) as failure:
        flush(case.mount)
    assert failure.value.errno == errno.EIO
    assert "another process has changed this chunk" in case.reasons()
    case.check_source()
    assert wait_until(lambda: case.path(theirs).read_bytes() == case.expected[theirs], 10)
    aside, = case.write_status()["set_aside"]
    assert aside["chunk"] == theirs
    # The path in the report is relative to nothing: a person finds the bytes there.
    assert open(aside["path"], "rb").read() == lost
    flush(case.mount)
    case.check_mount()
    # What is written to it now has seen what stands there.
    case.put(theirs, 2)
    flush(case.mount)
    case.check_source()
    assert os.path.exists(aside["path"])


def test_flush_says_once_what_was_set_aside_before_it(work, mount):
    """A publish that no program waited for has found that another process was first."""
    case = WriteCase("zarr-nested", work, mount, "publish_after=1,strict")
    theirs = next(iter(case.expected))
    case.put(theirs, 1)
    case.expected[theirs] = case.bytes_for(theirs, 9)
    case.source.fill({theirs: case.expected[theirs]})
    assert wait_until(lambda: case.write_status()["set_aside"]
                      and case.write_status()["dirty_chunks"] == 0, 30)
    refused(errno.EIO, flush, case.mount)
    assert "chunks or files that could not be published: 1 (" in case.reasons()
    flush(case.mount)
    case.check_source()


def test_a_directory_that_was_renamed_is_entered_by_its_new_name_at_once(work, mount):
    case = WriteCase("zarr-nested", work, mount)
    folder = case.mount.path / "beside"
    for number in range(50):
        before, after = folder / f"partial{number}", folder / f"whole{number}"
        os.makedirs(before / "below")
        write_file(before / "below" / "file", b"here")
        os.rename(before, after)
        assert (after / "below" / "file").read_bytes() == b"here", number
        write_file(after / "another", b"there")
        assert not before.exists()
        os.mkdir(before)  # the name is free again
        assert os.listdir(before) == []
        assert sorted(os.listdir(after)) == ["another", "below"]
    assert (case.top / "beside" / "whole7" / "another").read_bytes() == b"there"
    case.check()


# -------------------------------------------------------------------------- what can be published


def test_a_read_only_directory_of_the_source_accepts_no_chunk(work, mount):
    """Refused at open, not by a publish that is repeated for ever."""
    case = WriteCase("zarr-nested", work, mount)
    present, absent = case.present()[0], case.absent()[0]
    case.mount.unmount()
    subprocess.run(["mount", "--bind", case.source.path, case.source.path], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", case.source.path], check=True)
        with mount(case.top, PATIENT) as mounted:
            root = mounted.path / "data"
            (root / absent).parent.mkdir(parents=True, exist_ok=True)
            for name in (present, absent):
                refused(errno.EROFS, write_file, root / name, case.bytes_for(name, 1))
            refused(errno.EROFS, os.unlink, root / present)
            assert (root / present).read_bytes() == case.expected[present]
            assert mounted.status()["write"]["dirty_chunks"] == 0
            assert "cannot be rewritten" in mounted.control("errors")
    finally:
        subprocess.run(["umount", case.source.path], check=True)


def wrapped_array(path, shape, shard, chunk):
    """Zarr, uint8 without a compressor; shards are compressed as a whole."""
    sharding = {"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunk, "codecs": [{"name": "bytes"}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}
    path.mkdir(parents=True)
    write_file(path / "zarr.json", json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [sharding, {"name": "gzip", "configuration": {"level": 1}}]}).encode())


def test_a_chunk_whose_shard_could_never_be_put_together_is_refused(work, mount):
    """A quarter of memory= is for a shard that is compressed as a whole, an eighth for an index."""
    row = 1 << 20
    wrapped_array(work / "source/wrapped", [4, row], [4, row], [1, row])
    wrapped_array(work / "source/index", [1, 1 << 19], [1, 1 << 19], [1, 1])
    mounted = mount(work / "source", f"{PATIENT},memory=16M")
    chunks = [mounted.path / f"wrapped/c/{number}/0" for number in range(4)]
    for path in chunks[:3]:
        write_file(path, bytes([7]) * row)
    write_file(chunks[0], bytes([8]) * row)  # takes the place of the one before
    for _ in range(2):
        refused(errno.EFBIG, write_file, chunks[3], bytes([7]) * row)
        flush(mounted)  # what is published counts as well
    assert "mount with a larger memory=" in mounted.control("errors")
    assert [path.read_bytes()[:1] for path in chunks[:3]] == [b"\x08", b"\x07", b"\x07"]
    os.unlink(chunks[1])
    write_file(chunks[3], bytes([9]) * row)
    flush(mounted)
    assert chunks[3].read_bytes() == bytes([9]) * row and not chunks[1].exists()
    refused(errno.EROFS, write_file, mounted.path / "index/c/0/0", b"1")
    assert mounted.status()["write"]["dirty_chunks"] == 0


def test_what_a_shard_holds_already_counts(work, mount):
    """A quarter of memory= is for a shard that is compressed as a whole: all of it."""
    row = 1 << 20
    wrapped_array(work / "source/wrapped", [4, row], [4, row], [1, row])
    names = [f"wrapped/c/{number}/0" for number in range(4)]
    earlier = mount(work / "source", PATIENT)
    for name in names[:3]:
        write_file(earlier.path / name, bytes([7]) * row)
    flush(earlier)
    earlier.unmount()
    mounted = mount(work / "source", f"{PATIENT},memory=16M")
    refused(errno.EFBIG, write_file, mounted.path / names[3], bytes([8]) * row)
    assert "mount with a larger memory=" in mounted.control("errors")
    write_file(mounted.path / names[0], bytes([9]) * row)  # takes the place of what is there
    os.unlink(mounted.path / names[1])
    write_file(mounted.path / names[3], bytes([8]) * row)
    flush(mounted)
    assert mounted.status()["write"]["dirty_chunks"] == 0
    assert [(mounted.path / names[number]).read_bytes()[:1] for number in (0, 2, 3)] == [
        b"\x09", b"\x07", b"\x08"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_only_copy_becomes_scratch(kind, work, mount, run_unshard):
    """mv(1) copies after EXDEV, and removes the original: the copy would end with the mount."""
    case = WriteCase(kind, work, mount)
    name = case.present()[0]
    chunk = case.path(name)
    folder = pathlib.Path(os.path.dirname(chunk))
    (folder / "backup").mkdir()
    for target in (f"{chunk}.bak", folder / "backup"):
        done = subprocess.run(["mv", chunk, target], capture_output=True, text=True, timeout=30)
        assert done.returncode == 1 and "Operation not permitted" in done.stderr, done
    if kind == "zarr-nested":
        done = subprocess.run(["mv", folder, f"{folder}.old"], capture_output=True, text=True, timeout=30)
        assert done.returncode == 1, done
    case.check_mount()
    shutil.copyfile(chunk, f"{chunk}.bak")
    flushed = run_unshard("flush", case.mount.path)
    relative = os.path.relpath(f"{chunk}.bak", case.mount.path)
    assert flushed.returncode == 0 and "1 scratch file of the mount" in flushed.stderr, flushed
    assert relative in flushed.stderr
    case.check(quiet=False)
