"""A disk under the source that cannot be read for a while: what fails says so, and once the disk is
back everything is there, without another mount."""

import errno
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from faults import attached, flush, write_state
from line_source import LineSource, value
from mounting import wait_until

READS = "pread64,preadv,preadv2,splice,copy_file_range"
BROKEN = "error=EIO"
KINDS = ["zarr/", "precomputed"]
AGAIN_SECONDS = 20


def make_source(path, kind="zarr/", **more):
    source = LineSource(str(path), **{"kind": kind, "shards": 4, "per_shard": 16,
                                      "chunk_bytes": 4096, **more}).create()
    return source.write_values({chunk: (0, 1) for chunk in range(source.count)})


def document(source):
    return pathlib.Path(source.path) / ("info" if source.kind == "precomputed" else "zarr.json")


def error_of(call, *arguments):
    with pytest.raises(OSError) as caught:
        call(*arguments)
    return caught.value.errno


def all_files(root):
    return sorted(os.path.join(directory, name) for directory, _, names in os.walk(root)
                  for name in names)


def listed(top, kind="f"):
    """The files that `find` sees, or the directories ("d"), whatever fails."""
    done = subprocess.run(["find", top, "-type", kind], capture_output=True, text=True)
    return done.stdout.splitlines()


def fails_to_list(folder):
    try:
        os.listdir(folder)
    except OSError as error:
        assert error.errno == errno.EIO
        return True
    return False


@pytest.mark.parametrize("options", ["ro", "publish_after=600", "ro,watch=off"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_listing_is_complete_once_the_disk_is_back(work, mount, kind, options):
    source = make_source(work / "source", kind)
    mounted = mount(source.path, options)
    with attached(mounted, READS, BROKEN):
        assert len(all_files(mounted.path)) < source.count
        assert error_of((mounted.path / source.name(0)).read_bytes) == errno.EIO
    assert "EIO" in mounted.control("errors")
    # The kernel is notified in the background that the listing it has kept was incomplete.
    assert wait_until(lambda: len(all_files(mounted.path)) == source.count + 1, 10)


@pytest.mark.parametrize("options", ["ro", "rw", "ro,view=raw", "view=zarr2"])
@pytest.mark.parametrize("kind", [*KINDS, "zarr."])
def test_no_program_takes_a_listing_without_a_torn_shard_for_whole(work, mount, kind, options):
    source = make_source(work / "source", kind)
    mounted = mount(source.path, options)
    backup = work / "backup"
    rsync = ("rsync", "-a", "--delete", f"{mounted.path}/", f"{backup}/")
    assert subprocess.run(rsync).returncode == 0
    whole = all_files(backup)
    shard = pathlib.Path(source.shard_path(2))
    shard.rename(work / "sound")
    shard.write_bytes((work / "sound").read_bytes()[:5])
    assert wait_until(lambda: len(listed(mounted.path)) < len(whole), 10)

    copied = subprocess.run(rsync, capture_output=True, text=True)
    assert copied.returncode == 23 and "Input/output error (5)" in copied.stderr
    assert all_files(backup) == whole, "nothing was deleted"
    for program in (["ls", "-R"], ["find"], ["cp", "-r", "-t", work / "copy"], ["du"]):
        os.makedirs(work / "copy", exist_ok=True)
        done = subprocess.run([*program, mounted.path], capture_output=True, text=True)
        assert done.returncode != 0 and "Input/output error" in done.stderr, program
    assert any(map(fails_to_list, listed(mounted.path, "d")))
    assert [line for line in mounted.control("errors").splitlines() if " EIO " not in line] == []
    (work / "sound").rename(shard)
    assert wait_until(lambda: len(listed(mounted.path)) == len(whole), 10)
    assert not any(map(fails_to_list, listed(mounted.path, "d")))
    assert subprocess.run(rsync).returncode == 0 and all_files(backup) == whole


@pytest.mark.parametrize("options", ["ro", "publish_after=600", "view=all", "view=raw,ro"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_that_could_not_be_read_at_first_is_read_later(work, mount, kind, options):
    """Of the same version: nothing about it changes when the disk is back."""
    (work / "source").mkdir()
    (work / "source" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    make_source(work / "source" / "other", kind)
    mounted = mount(work / "source", options)
    source = make_source(work / "source" / "late", kind)
    view = mounted.path
    if options == "view=all":
        view /= "precomputed" if kind == "precomputed" else "zarr3"
    with attached(mounted, READS, BROKEN, [document(source)]):
        assert error_of((view / "late" / source.name(0)).read_bytes) == errno.EIO
        [*_, line] = mounted.control("errors").splitlines()
        assert str(document(source)) in line and "Input/output error" in line
    for chunk in (0, 40):
        path = view / "late" / source.name(chunk)
        assert path.read_bytes() == value(chunk, 0, 1, source.chunk_bytes)


@pytest.mark.parametrize("options", ["ro", "publish_after=600", "ro,watch=off,ttl=0.2"])
def test_a_changed_document_that_cannot_be_read_is_followed_later(work, mount, options):
    source = make_source(work / "source")
    mounted = mount(source.path, options)
    shown = mounted.path / "zarr.json"
    assert json.loads(shown.read_text())["attributes"] == {}
    stored = document(source)
    new = stored.with_name("new")
    new.write_text(json.dumps({**json.loads(stored.read_text()), "attributes": {"a": 1}}))
    with attached(mounted, READS, BROKEN, [new, stored]):
        os.rename(new, stored)
        assert wait_until(lambda: shown.read_text() and "Input/output error" in mounted.log(),
                          AGAIN_SECONDS)
        assert json.loads(shown.read_text())["attributes"] == {}, "the last good one stands"
        assert (mounted.path / source.name(3)).read_bytes() == value(3, 0, 1, source.chunk_bytes)
    assert wait_until(lambda: json.loads(shown.read_text())["attributes"] == {"a": 1}, AGAIN_SECONDS)


@pytest.mark.skipif(os.geteuid() != 0, reason="root gives up its right to read everything")
def test_a_directory_that_cannot_be_listed_leaves_the_others_alone(work, mount):
    source = make_source(work / "source" / "array")
    home = work / "source" / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    os.chmod(home, 0o711)
    mounted = mount(work / "source", prefix=("setpriv", "--bounding-set",
                                             "-dac_override,-dac_read_search"))
    assert (mounted.path / "array" / source.name(0)).read_bytes() == value(0, 0, 1, 4096)
    assert error_of(os.listdir, mounted.path / "home") == errno.EACCES
    assert f"{home}: opening: Permission denied" in mounted.log()


@pytest.mark.parametrize("kind", KINDS)
def test_what_waits_is_published_by_itself_once_the_source_can_be_read(work, mount_again, kind):
    source = make_source(work / "source", kind)
    mounted = mount_again(source, "publish_after=0.2")
    with attached(mounted, READS, BROKEN, [source.shard_path(shard) for shard in range(2)]):
        for chunk in (5, 20):  # new bytes of chunks whose old ones cannot be read
            with pytest.raises(OSError) as caught:
                (mounted.path / source.name(chunk)).write_bytes(value(chunk, 1, 2, 4096))
            assert caught.value.errno == errno.EIO
    assert source.read_values() == {chunk: (0, 1) for chunk in range(source.count)}
    mounted.unmount()
    mounted = mount_again(source, "publish_after=600")
    for chunk in (5, 20):
        (mounted.path / source.name(chunk)).write_bytes(value(chunk, 1, 2, 4096))
    with attached(mounted, READS, BROKEN, [source.shard_path(shard) for shard in range(2)]):
        assert error_of(flush, mounted) == errno.EIO
        state = write_state(mounted)
        assert state["dirty_chunks"] == 2 and state["last_failure"]["errno"] == "EIO"
        assert (mounted.path / source.name(5)).read_bytes() == value(5, 1, 2, 4096)
    assert wait_until(lambda: write_state(mounted)["dirty_chunks"] == 0, AGAIN_SECONDS)
    changed = {5: (1, 2), 20: (1, 2)}
    assert source.read_values() == {chunk: (0, 1) for chunk in range(source.count)} | changed


@pytest.mark.parametrize("emptied", ["staging", "chunks"])
def test_a_folder_of_the_spool_that_was_cleaned_away_is_made_again(work, mount_again, spools, emptied):
    """As programs do that remove empty directories below /tmp and /var/tmp."""
    source = make_source(work / "source")
    mounted = mount_again(source, "publish_after=600")
    [spool] = spools.iterdir()
    shutil.rmtree(spool / emptied)
    for counter in (2, 3):
        (mounted.path / source.name(5)).write_bytes(value(5, 1, counter, 4096))
        flush(mounted)
        for folder in (spool / "chunks").glob("*"):
            if emptied == "chunks":
                shutil.rmtree(folder)
    mounted.unmount()
    assert source.read_values()[5] == (1, 3)


def test_a_spool_that_was_removed_refuses_what_is_written(work, mount_again, spools):
    """ENOENT would say that the program has mistaken the name."""
    source = make_source(work / "source")
    mounted = mount_again(source, "publish_after=600")
    shutil.rmtree(spools)
    path = mounted.path / source.name(5)
    assert error_of(path.write_bytes, value(5, 1, 2, 4096)) == errno.EIO
    assert error_of(os.unlink, path) == errno.EIO
    assert error_of((path.parent / ".scratch").write_bytes, b"x") == errno.EIO
    assert "unmount, and mount again" in mounted.control("errors")
    assert path.read_bytes() == value(5, 0, 1, 4096)
    subprocess.run(["fusermount3", "-u", str(mounted.path)], check=True)
    mounted.ended = True
    mounted.process.wait(30)
    mounted = mount_again(source, "publish_after=600")
    (mounted.path / source.name(5)).write_bytes(value(5, 1, 2, 4096))
    flush(mounted)
    assert source.read_values()[5] == (1, 2)
