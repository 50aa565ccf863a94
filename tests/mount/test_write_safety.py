"""What must not get lost although metadata are edited, or others write, at the wrong moment."""

import errno
import json
import os

import pytest

from mounting import wait_until
from write_data import PATIENT, WriteCase, flush, write_file


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
    assert "somebody else has changed this chunk" in case.reasons()
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
