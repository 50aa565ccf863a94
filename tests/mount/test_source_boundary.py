"""A mount shows SRC and nothing outside of it."""

import contextlib
import errno
import json
import os
import signal
import subprocess

import pytest

from mount_data import VersionedVolume, VersionedZarr, refused
from mounting import MountFailed, wait_until

BOUND = 30


def volume_with_key(place, key):
    """A volume in place/volume whose only scale stands where `key` leads to."""
    source = VersionedVolume(place / "volume")
    info = json.loads((source.path / "info").read_text())
    info["scales"][0]["key"] = key
    (source.path / "info").write_text(json.dumps(info))
    target = (source.path / key).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    (source.path / "scale").rename(target)
    source.names = {number: name.replace("scale/", "") for number, name in source.names.items()}
    return source


def test_a_key_that_leaves_the_source_is_refused_naming_it(work, mount):
    source = volume_with_key(work, "../elsewhere/scale")
    with pytest.raises(MountFailed) as caught:
        mount(source.path)
    assert "info" in str(caught.value) and "../elsewhere/scale" in str(caught.value)


def test_a_key_that_leaves_the_volume_is_served_where_a_wider_source_is_mounted(work, mount):
    wide = work / "wide"
    source = volume_with_key(wide, "../elsewhere/scale")
    mounted = mount(wide)
    for number, name in source.names.items():
        path = mounted.path / "elsewhere/scale" / name
        assert path.read_bytes() == source.expected(number, 1)
    assert sorted(os.listdir(mounted.path / "elsewhere/scale")) == sorted(source.names.values())
    info = json.loads((mounted.path / "volume/info").read_text())
    assert info["scales"][0]["key"] == "../elsewhere/scale"
    assert (mounted.path / "volume" / info["scales"][0]["key"]).is_dir()


def test_a_key_with_slashes_and_dots_that_stays_inside_is_served(work, mount):
    source = volume_with_key(work, "a/./b/../b/scale")
    mounted = mount(source.path)
    for number, name in source.names.items():
        assert (mounted.path / "a/b/scale" / name).read_bytes() == source.expected(number, 1)


@pytest.mark.parametrize("key", ["..", "../..", "a/../../b"])
def test_other_ways_out_by_a_key_are_refused(work, mount, key):
    source = VersionedVolume(work / "volume")
    info = json.loads((source.path / "info").read_text())
    info["scales"][0]["key"] = key
    (source.path / "info").write_text(json.dumps(info))
    with pytest.raises(MountFailed) as caught:
        mount(source.path)
    assert "info: scales[0]" in str(caught.value) and "is outside the mounted source" in str(caught.value)


def test_dot_dot_in_a_path_does_not_leave_the_mount(work, mount):
    source = VersionedZarr(work / "source")
    (work / "secret.txt").write_text("outside\n")
    mounted = mount(source.path)
    directory = os.open(mounted.path / "c", os.O_RDONLY | os.O_DIRECTORY)
    try:
        refused(errno.ENOENT, os.stat, "../secret.txt", dir_fd=directory)
        assert os.stat("../zarr.json", dir_fd=directory).st_size > 0
    finally:
        os.close(directory)


def test_symbolic_links_inside_the_source_are_followed_and_those_that_leave_it_are_refused(
        work, mount):
    source = VersionedZarr(work / "source")
    (work / "secret.txt").write_text("outside\n")
    (work / "outside").mkdir()
    (work / "outside" / "more.txt").write_text("outside\n")
    (source.path / "readme.txt").write_text("inside\n")
    os.symlink("readme.txt", source.path / "inside")
    os.symlink("../secret.txt", source.path / "relative")
    os.symlink(work / "secret.txt", source.path / "absolute")
    os.symlink("../outside", source.path / "folder")
    mounted = mount(source.path)
    assert (mounted.path / "inside").read_text() == "inside\n"
    for name in ("relative", "absolute", "folder/more.txt"):
        refused((errno.EACCES, errno.EPERM, errno.ENOENT), (mounted.path / name).read_bytes)


def test_a_shard_that_is_a_symbolic_link_out_of_the_source_is_refused(work, mount):
    source = VersionedZarr(work / "source")
    shard = source.shard_path(0)
    shard.rename(work / "elsewhere")
    os.symlink(work / "elsewhere", shard)
    mounted = mount(source.path)
    refused((errno.EACCES, errno.EPERM, errno.EIO), (mounted.path / "c/0/0").read_bytes)
    assert (mounted.path / "c/7/7").read_bytes() == source.expected(63, 1)
    assert "c/0/0" in mounted.control("errors")


def test_a_shard_that_is_a_loop_of_symbolic_links_is_told_as_one(work, mount):
    source = VersionedZarr(work / "source")
    shard = source.shard_path(0)
    shard.unlink()
    os.symlink(shard.name, shard)
    mounted = mount(source.path)
    refused((errno.ELOOP, errno.EIO), (mounted.path / "c/0/0").read_bytes)
    assert (mounted.path / "c/7/7").read_bytes() == source.expected(63, 1)


@contextlib.contextmanager
def bound(source, target):
    """`source` shows at `target` too, which is a directory of its own at the end."""
    if os.getuid() != 0:
        pytest.skip("needs root: binds a directory to another")
    subprocess.run(["mount", "--bind", source, target], check=True)
    try:
        yield
    finally:
        # Not asked of anybody: whoever waits in it must not keep it.
        subprocess.run(["umount", "-l", target], check=True, timeout=BOUND)


def walks(top):
    """Programs that walk a whole tree: their exit status, and what they say; None of one that hangs."""
    for command in (["find", top, "-name", "none"], ["ls", "-lR", top], ["du", "-s", top]):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            yield command[0], process.communicate(timeout=BOUND)[1]
        except subprocess.TimeoutExpired:
            yield command[0], None
            return


@pytest.mark.parametrize("options", ["ro", "ro,watch=off,ttl=0", "publish_after=0"])
@pytest.mark.parametrize("part", ["", "c"])
def test_a_mount_that_is_bound_into_its_own_source_later_answers_all_the_same(
        work, mount, options, part):
    """It would ask itself until all its threads wait for each other."""
    source = VersionedZarr(work / "source/array")
    inside = work / "source/inside"
    (inside / "below").mkdir(parents=True)
    os.symlink("inside/array/zarr.json", work / "source/link")
    mounted = mount(work / "source", options)
    array = mounted.path / "array"
    with bound(array / part if part else mounted.path, inside):
        try:
            for program, said in walks(mounted.path):
                assert said is not None, f"{program} hangs"
                assert "inside" in said and str(array) not in said, said
            for name in ("inside", "inside/array/zarr.json", "inside/below", "link"):
                refused((errno.ELOOP, errno.ENOENT), os.stat, mounted.path / name)
            failed, = {line.split(" ", 1)[1] for line in mounted.control("errors").splitlines()
                       if " lookup /inside ELOOP " in line}
            assert f"{inside}" in failed and "unmount it there" in failed
            for number in (0, 7, 63):
                assert (array / source.names[number]).read_bytes() == source.expected(number, 1)
        except BaseException:
            mounted.terminate(signal.SIGKILL)  # else those who wait would never end
            raise
    assert wait_until(lambda: (mounted.path / "inside/below").is_dir(), BOUND)
    assert os.listdir(mounted.path / "inside") == ["below"]


def test_other_file_systems_and_links_to_them_below_the_source_are_shown(work, mount):
    """Only its own mount is left out, not what else is mounted in the source, before or later."""
    source = VersionedZarr(work / "source/array")
    for name in ("before", "later", "elsewhere"):
        (work / "source" / name).mkdir()
    other = VersionedZarr(work / "other/array")
    os.symlink("later/array/zarr.json", work / "source/link")
    os.symlink(work / "source/later/array", work / "source/absolute")
    with bound(work / "other", work / "source/before"):
        mounted = mount(work / "source", "ro")
        with bound(work / "other", work / "source/later"):
            for place in ("before/array", "later/array", "absolute"):
                assert (mounted.path / place / other.names[5]).read_bytes() == other.expected(5, 1)
            document = (work / "other/array/zarr.json").read_bytes()
            assert (mounted.path / "link").read_bytes() == document
            assert (mounted.path / "array" / source.names[5]).read_bytes() == source.expected(5, 1)


@pytest.mark.parametrize("options", ["ro", "rw", "ro,view=zarr2"])
def test_links_that_lead_back_end_no_walk_and_are_followed_by_their_names(
        work, mount, run_unshard, options):
    """Programs take what a mount shows for directories, not links: two links would be 2^40 ways."""
    source = VersionedZarr(work / "source/a/array")
    (work / "source/b").mkdir()
    (work / "source/b/notes.txt").write_text("once\n")
    (work / "source/zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for link, target in (("self", "."), ("again", "a/.."), ("a/up", ".."), ("a/top", work / "source"),
                         ("a/array/image", "../array"), ("a/x", "../b"), ("b/y", "../a")):
        os.symlink(target, work / "source" / link)
    mounted = mount(work / "source", options)
    for program, said in walks(mounted.path):
        assert said == "", (program, said)
    found = subprocess.run(["find", mounted.path, "-name", "notes.txt"], capture_output=True, text=True)
    shown = [line.removeprefix(f"{mounted.path}/") for line in found.stdout.splitlines()]
    assert sorted(shown) == ["a/x/notes.txt", "b/notes.txt"]
    if options == "ro":
        for way in ("self/a/array", "a/up/again/a/array", "b/y/array", "a/top/a/array"):
            for number in (0, 63):
                assert (mounted.path / way / source.names[number]).read_bytes() == \
                    source.expected(number, 1)
    done = run_unshard("copy", "-q", work / "source", work / "copy", "--format", "zarr3")
    assert done.returncode == 0, done.stderr
    files = [path for path in (work / "copy").rglob("*") if path.is_file()]
    arrays = {path.parent.relative_to(work / "copy") for path in files
              if path.name == "zarr.json" and json.loads(path.read_text())["node_type"] == "array"}
    assert set(map(str, arrays)) == {"a/array", "b/y/array"}


@pytest.mark.parametrize("format", ["zarr3", "precomputed"])
def test_other_names_of_a_shard_keep_their_bytes_and_a_link_becomes_a_file(work, mount, format):
    """A publish renames the new version onto the name that the dataset has for it."""
    make = VersionedZarr if format == "zarr3" else VersionedVolume
    source = make(work / "source/data")
    document = source.path / ("zarr.json" if format == "zarr3" else "info")
    (work / "source/elsewhere").mkdir()
    linked, named = source.shard_path(source.shard_of(0)), source.shard_path(source.shard_of(max(source.names)))
    before = {}
    for path in (linked, document):
        moved = work / "source/elsewhere" / path.name
        path.rename(moved)
        os.symlink(os.path.relpath(moved, path.parent), path)
        before[moved] = moved.read_bytes()
    os.link(named, work / "source/elsewhere/snapshot")
    before[work / "source/elsewhere/snapshot"] = named.read_bytes()
    mounted = mount(work / "source", f"spool={work}/spool,publish_after=600")
    written = {number: source.expected(number, 2) for number in (0, max(source.names))}
    for number, data in written.items():
        (mounted.path / "data" / source.names[number]).write_bytes(data)
    shown = json.loads((mounted.path / "data" / document.name).read_text())
    shown.setdefault("attributes", {})["edited"] = True
    (mounted.path / "data" / document.name).write_text(json.dumps(shown))
    mounted.unmount()
    for path in (linked, document):
        assert path.is_file() and not path.is_symlink()
    assert all(path.read_bytes() == data for path, data in before.items())
    assert json.loads(document.read_text())["attributes"] == {"edited": True}
    again = mount(work / "source", "ro")
    for number, data in written.items():
        assert (again.path / "data" / source.names[number]).read_bytes() == data
