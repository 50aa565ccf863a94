"""Datasets that come into directories, change and go while these are mounted, by whatever way: as
soon as that can be seen they are datasets, and no shard of theirs is a file of the mount."""

import json
import os
import shutil
import subprocess
import time

import pytest

from line_source import LineSource, value
from mounting import wait_until

GROUP = '{"zarr_format": 3, "node_type": "group"}'
SEEN_SECONDS = 20
CHUNK = 4096


def make(path, **more):
    """An array of 4 shards of 16 chunks, all there, as (writer 0, counter 1)."""
    shutil.rmtree(path, ignore_errors=True)
    source = LineSource(str(path), **{"shards": 4, "per_shard": 16, "chunk_bytes": CHUNK, **more})
    return source.create().write_values({chunk: (0, 1) for chunk in range(source.count)})


def read(path):
    """The bytes, or None where there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def assert_seen(view, source):
    """A chunk whose name is that of a shard, too, and one of another shard."""
    for chunk in (1, 40):
        expected = value(chunk, 0, 1, source.chunk_bytes)
        path = view / source.name(chunk)
        assert wait_until(lambda: read(path) == expected, SEEN_SECONDS), (path, len(read(path) or b""))


@pytest.fixture
def top(work):
    """A group with an array, and an empty directory."""
    (work / "source").mkdir()
    (work / "source" / "zarr.json").write_text(GROUP)
    make(work / "source" / "other")
    (work / "source" / "sub" / "late").mkdir(parents=True)
    return work / "source"


WAYS = ["publish_after=600", "ro", "ro,watch=off", "publish_after=600,watch=off,ttl=0.2", "view=all",
        "view=all,ro"]


@pytest.mark.parametrize("looked", [False, True], ids=["unseen", "listed"])
@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("kind", ["zarr/", "precomputed"])
def test_a_dataset_comes_into_a_directory_that_was_there(top, mount, options, kind, looked):
    mounted = mount(top, options)
    view = mounted.path
    if "all" in options:
        view /= "precomputed" if kind == "precomputed" else "zarr3"
    if looked:
        assert os.listdir(view / "sub" / "late") == []
        assert read(view / "sub" / "late" / "c" / "1" / "0") is None
    source = make(top / "sub" / "late", kind=kind)
    assert_seen(view / "sub" / "late", source)
    if options.startswith("publish"):
        new = value(1, 1, 2, CHUNK)
        (view / "sub" / "late" / source.name(1)).write_bytes(new)
        mounted.unmount()
        assert source.read_values()[1] == (1, 2) and source.read_values()[0] == (0, 1)


@pytest.mark.parametrize("options", WAYS[:4])
def test_an_array_is_replaced_by_one_with_other_shards(top, mount, options):
    make(top / "late")
    mounted = mount(top, options)
    first = read(mounted.path / "late" / "c" / "40" / "0")
    assert first == value(40, 0, 1, CHUNK)
    source = make(top / "late", shards=2, per_shard=8, chunk_bytes=2 * CHUNK)
    paths = [mounted.path / "late" / source.name(chunk) for chunk in range(source.count)]
    expected = [value(chunk, 0, 1, 2 * CHUNK) for chunk in range(source.count)]

    def seen():
        try:
            return [read(path) for path in paths] == expected
        except OSError:  # shards and metadata do not come at once
            return False

    assert wait_until(seen, SEEN_SECONDS)
    assert json.loads((mounted.path / "late" / "zarr.json").read_text())["shape"] == [16, 2 * CHUNK]
    assert wait_until(lambda: len(os.listdir(mounted.path / "late" / "c")) == 16, SEEN_SECONDS)


@pytest.mark.parametrize("options", ["publish_after=600", "ro"])
def test_who_stands_in_a_directory_that_became_chunks_cannot_write_shards(top, mount, options):
    """Its name leads elsewhere by now; to who still has it open it has no files any more."""
    (top / "sub" / "late" / "c" / "1").mkdir(parents=True)
    mounted = mount(top, options)
    inside = os.open(mounted.path / "sub" / "late" / "c" / "1", os.O_RDONLY | os.O_DIRECTORY)
    try:
        source = make(top / "sub" / "late")
        assert_seen(mounted.path / "sub" / "late", source)
        for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT):
            with pytest.raises(OSError):
                os.close(os.open("0", flags, 0o644, dir_fd=inside))
    finally:
        os.close(inside)
    assert source.read_values() == {chunk: (0, 1) for chunk in range(source.count)}


def call(*command):
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


@pytest.fixture
def disk(top, work):
    """(directory of a disk, attach(), detach()): attached it is at `vol` in the source."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts file systems of its own")
    real, place = work / "disk", top / "vol"
    real.mkdir()
    place.mkdir()
    yield real, lambda: call("mount", "--bind", real, place), lambda: call("umount", "-l", place)
    subprocess.run(["umount", "-l", str(place)], capture_output=True)


@pytest.mark.parametrize("options", WAYS[:4])
def test_a_disk_in_the_source_goes_and_comes_back(top, disk, mount, options):
    real, attach, detach = disk
    source = make(real / "array")
    attach()
    mounted = mount(top, options)
    view = mounted.path / "vol" / "array"
    assert_seen(view, source)
    detach()
    assert wait_until(lambda: read(view / source.name(40)) is None, SEEN_SECONDS)
    assert wait_until(lambda: os.listdir(mounted.path / "vol") == [], SEEN_SECONDS)
    assert_seen(mounted.path / "other", source)
    attach()
    assert_seen(view, source)
    assert wait_until(lambda: len(os.listdir(view / "c")) == source.count, SEEN_SECONDS)
    if options.startswith("publish"):
        (view / source.name(1)).write_bytes(value(1, 1, 2, CHUNK))
    mounted.unmount()
    changed = {1: (1, 2)} if options.startswith("publish") else {}
    assert source.read_values() == {chunk: (0, 1) for chunk in range(source.count)} | changed


@pytest.mark.parametrize("options", ["publish_after=600,ttl=0.2", "ro,ttl=0.2"])
def test_what_other_hosts_change_is_seen_on_a_network_file_system_in_the_source(top, work, mount, options):
    """bindfs stands for it: what is changed below makes no event in it."""
    (top / "net").mkdir()
    (work / "server" / "sub").mkdir(parents=True)
    call("bindfs", "--no-allow-other", work / "server", top / "net")
    try:
        source = make(work / "server" / "early")
        mounted = mount(top, options)
        assert_seen(mounted.path / "net" / "early", source)
        assert os.listdir(mounted.path / "net" / "sub") == []
        late = make(work / "server" / "sub", kind="zarr/")
        assert_seen(mounted.path / "net" / "sub", late)
        source.write_values({40: (7, 7)})
        path = mounted.path / "net" / "early" / source.name(40)
        assert wait_until(lambda: read(path) == value(40, 7, 7, CHUNK), SEEN_SECONDS)
        mounted.unmount()
    finally:
        for _ in range(50):  # until the mount has let go of it
            if subprocess.run(["fusermount3", "-u", str(top / "net")], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
