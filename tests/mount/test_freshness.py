"""Sources that change under a mount: every read is wholly old or wholly new, and soon new."""

import errno
import json
import mmap
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import pytest

from mount_data import (VersionedSkeletons, VersionedVolume, VersionedZarr, drop_caches, refused,
                        replace_file)
from mounting import wait_until
from tiers import in_turn
from watch_chunks import version_of

SOON = 30  # bounds what a test waits for; how long it takes is measured, and not judged
PAUSE = 1.0  # for what is not to happen
LOAD_SECONDS = 4

SOURCES = {
    "precomputed": VersionedVolume,
    "precomputed gzip": lambda path: VersionedVolume(path, gzip_data=True),
    "zarr /": VersionedZarr,
    "zarr .": lambda path: VersionedZarr(path, separator="."),
    "skeletons": VersionedSkeletons,
}


class Fresh:
    def __init__(self, source, mounted):
        self.source, self.mount, self.path = source, mounted, mounted.path

    def chunk(self, number):
        return self.path / self.source.names[number]

    def version(self, number):
        """The version that a new open shows; None where the chunk is absent."""
        try:
            return version_of(number, self.chunk(number).read_bytes())
        except FileNotFoundError:
            return None

    def of_shard(self, shard):
        return [n for n in self.source.names if self.source.shard_of(n) == shard]

    def shows(self, numbers, version, seconds=SOON):
        """Whether every one of these chunks is of this version within `seconds`."""
        return wait_until(lambda: all(self.version(n) == version for n in numbers), seconds)


@pytest.fixture(params=in_turn(SOURCES))
def fresh(request, work, mount):
    source = SOURCES[request.param](work / "source")
    return Fresh(source, mount(source.path))


@pytest.fixture
def zarr(work, mount):
    source = VersionedZarr(work / "source")
    return Fresh(source, mount(source.path))


# --------------------------------------------------------------------------------- replaced by renaming


def test_new_opens_see_a_replaced_shard_soon(fresh, measured, request):
    first, second = fresh.of_shard(1), fresh.of_shard(2)
    assert fresh.shows(first + second, 1)
    taken = []
    for version in (2, 3, 4):
        fresh.source.publish(1, version)
        begun = time.monotonic()
        assert fresh.shows(first, version)
        taken.append(time.monotonic() - begun)
        assert fresh.shows(second, 1, seconds=0)
    measured(f"{request.node.callspec.id}: a replaced shard is seen after {max(taken):.3f} s")


def test_the_size_and_the_time_of_a_chunk_follow_its_shard(fresh):
    number = fresh.of_shard(1)[0]
    before = os.stat(fresh.chunk(number))
    time.sleep(0.02)
    fresh.source.publish(1, 2)
    assert fresh.shows([number], 2)
    after = os.stat(fresh.chunk(number))
    assert after.st_size == fresh.source.size(2)
    assert after.st_mtime_ns == os.stat(fresh.source.shard_path(1)).st_mtime_ns > before.st_mtime_ns
    assert after.st_ino == before.st_ino


def test_the_extended_attributes_follow_the_shard(fresh):
    number = fresh.of_shard(1)[0]
    before = os.getxattr(fresh.chunk(number), "user.unshard.generation")
    fresh.source.publish(1, 2)
    assert fresh.shows([number], 2)
    path = fresh.chunk(number)
    assert os.getxattr(path, "user.unshard.generation") != before
    begin, length = (int(os.getxattr(path, f"user.unshard.{key}")) for key in ("offset", "length"))
    stored = fresh.source.shard_path(1).read_bytes()[begin:begin + length]
    assert stored in (path.read_bytes(), stored if stored[:2] == b"\x1f\x8b" else None)


def test_an_open_file_keeps_its_old_bytes_whole_also_pages_it_had_not_read(fresh):
    number = fresh.of_shard(1)[0]
    old = fresh.source.expected(number, 1)
    descriptor = os.open(fresh.chunk(number), os.O_RDONLY)
    try:
        assert os.pread(descriptor, 100, 0) == old[:100]
        for version in (2, 3):
            fresh.source.publish(1, version)
            assert fresh.shows([number], version)
            assert os.fstat(descriptor).st_size == len(old)
            assert os.pread(descriptor, len(old) + 1, 0) == old
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        drop_caches()
        assert os.pread(descriptor, len(old) + 1, 0) == old
        assert fresh.version(number) == 3
    finally:
        os.close(descriptor)


def test_a_mapping_keeps_its_old_bytes_whole_after_the_file_was_closed(fresh):
    number = fresh.of_shard(1)[0]
    with open(fresh.chunk(number), "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with mapped:
        touched = mapped[:10]
        fresh.source.publish(1, 2)
        assert fresh.shows([number], 2)
        drop_caches()
        assert mapped[:] == fresh.source.expected(number, 1) and mapped[:10] == touched


def test_a_descriptor_opened_after_the_change_does_not_see_pages_kept_from_before(fresh):
    number = fresh.of_shard(1)[0]
    keeper = os.open(fresh.chunk(number), os.O_RDONLY)
    try:
        old = os.read(keeper, 1 << 20)
        fresh.source.publish(1, 2)
        assert fresh.shows([number], 2)
        assert fresh.chunk(number).read_bytes() == fresh.source.expected(number, 2)
        assert os.pread(keeper, 1 << 20, 0) == old == fresh.source.expected(number, 1)
    finally:
        os.close(keeper)


def test_more_replacements_than_generation_numbers_are_all_seen(work, mount):
    """One reader holds the first version while a shard is replaced more than a thousand times."""
    source = VersionedSkeletons(work / "source")
    fresh = Fresh(source, mount(source.path))
    number, other = fresh.of_shard(1)[:2]
    held = os.open(fresh.chunk(number), os.O_RDONLY)
    try:
        for version in range(2, 1202):
            source.publish(1, version)
            seen = fresh.version(other)
            assert seen is not None and seen <= version
            if version % 300 == 0:
                assert fresh.shows([other], version)
        assert fresh.shows([number, other], 1201)
        assert os.pread(held, 1 << 20, 0) == source.expected(number, 1)
    finally:
        os.close(held)
    assert fresh.mount.status()["counters"]["errors"] == 0


# ------------------------------------------------------------------------------------------ under load


def start_watchers(fresh, seconds, modes):
    script = pathlib.Path(__file__).with_name("watch_chunks.py")
    watchers = []
    for seed, mode in enumerate(modes):
        watchers.append(subprocess.Popen(
            [sys.executable, str(script), str(fresh.path), mode, str(seconds), str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        watchers[-1].stdin.write(json.dumps(fresh.source.names))
        watchers[-1].stdin.close()
        watchers[-1].stdin = None
    return watchers


def assert_all_whole(watchers, modes):
    for mode, watcher in zip(modes, watchers):
        out, problems = watcher.communicate(timeout=60)
        assert watcher.returncode == 0, problems
        report = json.loads(out)
        assert not report["faults"], report
        assert report["reads"] > 20, report
        assert mode == "list" or len(report["versions"]) > 5, report


def test_every_read_is_wholly_old_or_wholly_new_while_shards_are_replaced(fresh):
    modes = ["whole", "whole", "pieces", "mmap", "held", "list"]
    watchers = start_watchers(fresh, LOAD_SECONDS, modes)
    choose, version = random.Random(1), 1
    deadline = time.monotonic() + LOAD_SECONDS + 0.5
    while time.monotonic() < deadline:
        version += 1
        fresh.source.publish(choose.choice(fresh.source.shards), version)
        time.sleep(choose.random() * 0.02)
    assert_all_whole(watchers, modes)
    for shard in fresh.source.shards:
        fresh.source.publish(shard, version + 1)
    assert fresh.shows(fresh.source.names, version + 1, seconds=SOON)
    assert fresh.mount.status()["counters"]["errors"] == 0, fresh.mount.control("errors")


def test_every_read_is_whole_also_where_nobody_tells_of_changes(work, mount):
    source = VersionedVolume(work / "source")
    fresh = Fresh(source, mount(source.path, "watch=off,ttl=0.2"))
    modes = ["whole", "pieces", "mmap", "held"]
    watchers = start_watchers(fresh, LOAD_SECONDS, modes)
    deadline, version = time.monotonic() + LOAD_SECONDS, 1
    while time.monotonic() < deadline:
        version += 1
        for shard in source.shards:
            source.publish(shard, version)
        time.sleep(0.1)
    for mode, watcher in zip(modes, watchers):
        report = json.loads(watcher.communicate(timeout=60)[0])
        assert not report["faults"] and len(report["versions"]) >= 2, (mode, report)


# --------------------------------------------------------------------------- appearing and vanishing


def test_a_missing_shard_that_appears_makes_absent_names_vanish_soon(fresh):
    numbers = fresh.of_shard(3)
    fresh.source.shard_path(3).unlink()
    assert wait_until(lambda: all(fresh.version(n) is None for n in numbers), SOON)
    for number in numbers:
        refused(errno.ENOENT, os.stat, fresh.chunk(number))
    fresh.source.publish(3, 2)
    assert fresh.shows(numbers, 2)


def test_a_shard_that_was_missing_from_the_start_appears(work, mount):
    for kind, make in SOURCES.items():
        source = make(work / kind.replace("/", "slash"))
        source.shard_path(2).unlink()
        fresh = Fresh(source, mount(source.path))
        numbers = fresh.of_shard(2)
        assert all(fresh.version(n) is None for n in numbers)
        source.publish(2, 5)
        assert fresh.shows(numbers, 5), kind


def test_a_deleted_shard_takes_its_chunks_away_but_open_files_stay_readable(fresh):
    numbers = fresh.of_shard(1)
    descriptor = os.open(fresh.chunk(numbers[0]), os.O_RDONLY)
    try:
        assert fresh.shows(numbers, 1)
        fresh.source.shard_path(1).unlink()
        assert wait_until(lambda: all(fresh.version(n) is None for n in numbers), SOON)
        drop_caches()
        assert os.pread(descriptor, 1 << 20, 0) == fresh.source.expected(numbers[0], 1)
    finally:
        os.close(descriptor)
    assert fresh.shows(fresh.of_shard(2), 1, seconds=0)


def test_a_chunk_appears_in_and_vanishes_from_an_existing_shard(fresh):
    gone, *others = fresh.of_shard(1)
    fresh.source.publish(1, 2, leave_out=[gone])
    assert wait_until(lambda: fresh.version(gone) is None, SOON)
    assert fresh.shows(others, 2)
    fresh.source.publish(1, 3)
    assert fresh.shows([gone, *others], 3)


def test_a_listing_follows_chunks_and_shards_that_come_and_go(fresh):
    def listed():
        return {os.path.relpath(os.path.join(directory, name), fresh.path)
                for directory, _, names in os.walk(fresh.path) for name in names}

    everything = set(fresh.source.names.values())
    assert listed() >= everything
    gone, *others = fresh.of_shard(1)
    fresh.source.publish(1, 2, leave_out=[gone])
    assert wait_until(lambda: listed() & everything == everything - {fresh.source.names[gone]},
                      SOON)
    fresh.source.shard_path(1).unlink()
    absent = {fresh.source.names[n] for n in [gone, *others]}
    assert wait_until(lambda: listed() & everything == everything - absent, SOON)
    fresh.source.publish(1, 3)
    assert wait_until(lambda: listed() >= everything, SOON)


def test_a_new_directory_of_a_nested_key_appears_with_its_first_shard(zarr):
    for shard in range(4):
        zarr.source.shard_path(shard).unlink()
    zarr.source.shard_path(0).parent.rmdir()
    assert wait_until(lambda: sorted(os.listdir(zarr.path / "c")) == list("234567"), SOON)
    zarr.source.publish(1, 2)
    assert wait_until(lambda: sorted(os.listdir(zarr.path / "c")) == list("01234567"), SOON)
    assert zarr.shows(zarr.of_shard(1), 2)
    assert sorted(os.listdir(zarr.path / "c/0")) == ["2", "3"]


def test_a_whole_directory_of_shards_that_is_moved_away_and_back_is_followed(zarr):
    numbers = zarr.of_shard(0) + zarr.of_shard(5)
    assert zarr.shows(numbers, 1)
    (zarr.source.path / "c").rename(zarr.source.path / "d")
    assert wait_until(lambda: all(zarr.version(n) is None for n in numbers), SOON)
    (zarr.source.path / "d").rename(zarr.source.path / "c")
    assert zarr.shows(numbers, 1)
    zarr.source.publish(0, 2)
    assert zarr.shows(zarr.of_shard(0), 2)


def test_a_shard_that_was_overwritten_in_place_is_seen_when_its_writer_is_done(fresh):
    numbers = fresh.of_shard(1)
    assert fresh.shows(numbers, 1)
    with open(fresh.source.shard_path(1), "wb") as file:
        file.write(fresh.source.shard_bytes(1, 2))
    assert fresh.shows(numbers, 2)


# ----------------------------------------------------------------------------------- watch=, ttl=, immutable


def test_with_watch_off_a_change_is_seen_when_the_ttl_is_over(work, mount):
    for kind, make in SOURCES.items():
        source = make(work / kind.replace("/", "slash"))
        fresh = Fresh(source, mount(source.path, "watch=off,ttl=0.2"))
        numbers, gone = fresh.of_shard(1), fresh.of_shard(2)
        assert fresh.shows(numbers + gone, 1)
        source.publish(1, 2)
        source.shard_path(2).unlink()
        assert fresh.shows(numbers, 2), kind
        assert wait_until(lambda: all(fresh.version(n) is None for n in gone), SOON), kind
        source.publish(2, 4)
        assert fresh.shows(gone, 4), kind


def test_immutable_looks_at_nothing_twice(fresh, work, mount):
    constant = Fresh(fresh.source, mount(fresh.source.path, "immutable"))
    numbers = fresh.of_shard(1)
    assert constant.shows(numbers, 1)
    fresh.source.publish(1, 2)
    assert fresh.shows(numbers, 2)
    time.sleep(PAUSE)
    drop_caches()
    assert all(constant.version(n) == 1 for n in numbers)


# -------------------------------------------------------------------------- metadata and other files


def test_changed_attributes_are_seen_without_sharding(zarr):
    def document():
        return json.loads((zarr.path / "zarr.json").read_text())

    assert document()["attributes"] == {}
    zarr.source.write_metadata(unit="nm", big=[1] * 1000)
    assert wait_until(lambda: document()["attributes"].get("unit") == "nm", SOON)
    assert document()["codecs"][0]["name"] == "bytes"
    assert os.stat(zarr.path / "zarr.json").st_size == len((zarr.path / "zarr.json").read_bytes())
    assert zarr.shows(zarr.source.names, 1, seconds=0)


def test_another_grid_replaces_the_old_one_also_while_a_chunk_of_it_is_open(zarr):
    name = zarr.source.names[9]
    with open(zarr.path / name, "rb") as held:
        metadata = json.loads((zarr.source.path / "zarr.json").read_text())
        metadata["codecs"][0]["configuration"]["chunk_shape"] = [2 * zarr.source.EDGE] * 2
        replace_file(zarr.source.path / "zarr.json", json.dumps(metadata).encode())
        rows = [str(row) for row in range(zarr.source.OUTER)]
        assert wait_until(lambda: sorted(os.listdir(zarr.path / "c")) == rows, SOON)
        refused(errno.ENOENT, os.stat, zarr.path / zarr.source.names[63])
        assert held.read() == zarr.source.expected(9, 1)


@pytest.mark.parametrize("make", [VersionedVolume, VersionedSkeletons])
def test_a_changed_info_is_seen_without_sharding(work, mount, make):
    source = make(work / "source")
    fresh = Fresh(source, mount(source.path))
    assert "owner" not in (fresh.path / "info").read_text()
    source.write_metadata(owner="somebody " * 50)
    assert wait_until(lambda: "owner" in (fresh.path / "info").read_text(), SOON)
    assert "sharding" not in (fresh.path / "info").read_text()
    assert fresh.shows(source.names, 1, seconds=0)


def test_broken_metadata_takes_nothing_away_that_was_mounted(zarr):
    good = (zarr.source.path / "zarr.json").read_bytes()
    replace_file(zarr.source.path / "zarr.json", good[:100])
    time.sleep(PAUSE / 2)
    assert zarr.shows(zarr.of_shard(0), 1)
    replace_file(zarr.source.path / "zarr.json", good)
    zarr.source.publish(0, 2)
    assert zarr.shows(zarr.of_shard(0), 2)
    assert wait_until(lambda: json.loads((zarr.path / "zarr.json").read_text()), SOON)


@pytest.fixture(params=["", "folder/deep"])
def other(request, fresh):
    """A directory beside the data: (in the source, in the mount)."""
    place = pathlib.PurePath(request.param)
    (fresh.source.path / place).mkdir(parents=True, exist_ok=True)
    assert wait_until(lambda: (fresh.path / place).is_dir(), SOON)
    return fresh.source.path / place, fresh.path / place


def shown(path):
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def test_files_that_pass_through_appear_change_and_vanish_soon(other):
    stored, seen = other[0] / "notes.txt", other[1] / "notes.txt"
    assert shown(seen) is None
    stored.write_bytes(b"first\n")
    assert wait_until(lambda: shown(seen) == b"first\n", SOON)
    assert "notes.txt" in os.listdir(other[1])
    replace_file(stored, b"second, renamed over\n" * 1000)
    assert wait_until(lambda: shown(seen) == b"second, renamed over\n" * 1000, SOON)
    stored.write_bytes(b"third, in place\n")
    assert wait_until(lambda: shown(seen) == b"third, in place\n", SOON)
    with open(stored, "ab") as file:
        file.write(b"and more\n")
    assert wait_until(lambda: shown(seen) == b"third, in place\nand more\n", SOON)
    stored.unlink()
    assert wait_until(lambda: shown(seen) is None, SOON)
    assert wait_until(lambda: "notes.txt" not in os.listdir(other[1]), SOON)


def test_an_open_file_that_passes_through_keeps_its_bytes_when_it_is_replaced(other):
    stored, seen = other[0] / "large.bin", other[1] / "large.bin"
    stored.write_bytes(b"a" * 1_000_000)
    assert wait_until(seen.exists, SOON)
    descriptor = os.open(seen, os.O_RDONLY)
    try:
        assert os.pread(descriptor, 10, 0) == b"a" * 10
        replace_file(stored, b"b" * 2_000_000)
        assert wait_until(lambda: seen.read_bytes() == b"b" * 2_000_000, SOON)
        assert os.pread(descriptor, 3_000_000, 0) == b"a" * 1_000_000
    finally:
        os.close(descriptor)


def test_directories_that_pass_through_appear_and_vanish_with_what_is_in_them(fresh):
    folder = fresh.source.path / "meshes"
    assert not (fresh.path / "meshes").exists()
    folder.mkdir()
    (folder / "7:0").write_text('{"fragments": []}')
    assert wait_until(lambda: shown(fresh.path / "meshes/7:0") == b'{"fragments": []}', SOON)
    assert os.listdir(fresh.path / "meshes") == ["7:0"]
    shutil.rmtree(folder)
    # On a writable mount the name of a directory lives for ttl=, a second.
    assert wait_until(lambda: not (fresh.path / "meshes").exists(), SOON)


# ----------------------------------------------------------------------------- what a mount cannot have


def test_a_user_without_instances_of_inotify_has_mounts_that_go_by_ttl(work, unshard_binary):
    """A user may have 128 by default, and each mount, editor or container runtime takes one."""
    source = VersionedZarr(work / "source")
    (work / "next").write_bytes(source.shard_bytes(0, 2))
    script = """
        echo 0 > /proc/sys/user/max_inotify_instances
        mkdir mnt
        "$1" mount source mnt -o ro,ttl=0.2 2> said
        cat mnt/c/0/0 > before
        mv next source/c/0/0
        sleep 1
        cat mnt/c/0/0 > after
        cp mnt/.unshard/status.json .
        "$1" umount mnt"""
    done = subprocess.run(["unshare", "-Urm", "bash", "-ec", script, "bash", unshard_binary], cwd=work,
                          capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr:
        pytest.skip("needs user namespaces")
    assert done.returncode == 0, done.stderr + (work / "said").read_text()
    assert [(work / name).read_bytes() for name in ("before", "after")] == \
        [source.expected(0, 1), source.expected(0, 2)]
    assert json.loads((work / "status.json").read_text())["watched"] is False
    assert "fs.inotify.max_user_instances" in (work / "said").read_text()


@pytest.mark.parametrize("options", ["ro", "ro,watch=off,ttl=0.2", "publish_after=600", "ro,view=raw"])
def test_a_source_that_was_removed_does_not_look_empty(work, mount, options):
    """What mirrors the mount would remove its copies."""
    source = VersionedZarr(work / "source")
    mounted = mount(source.path, f"spool={work}/spool,{options}")
    expected = source.expected(0, 1)
    assert (mounted.path / "c/0/0").read_bytes() == expected
    if options == "publish_after=600":
        expected = source.expected(0, 2)
        (mounted.path / "c/0/0").write_bytes(expected)
    os.rename(source.path, work / "renamed")
    assert (mounted.path / "c/7/7").read_bytes() == source.expected(63, 1)
    shutil.rmtree(work / "renamed")
    VersionedZarr(work / "source", version=3)

    def fails(call, *arguments):
        try:
            call(*arguments)
        except OSError as error:
            return error.errno == errno.EIO
        return False

    for call, path in ((os.listdir, ""), (os.stat, "c/7/6"), (os.listdir, "c/6")):
        assert wait_until(lambda: fails(call, mounted.path / path), SOON), path
    (mounted.path / ".unshard/status.json").read_text()
    assert "this directory was removed" in mounted.control("errors")
    # Whoever looks again and again is answered, and the log says once what has happened.
    time.sleep(2.5)
    for _ in range(5):
        fails(os.listdir, mounted.path)
    warnings = [line.partition(" warning: ")[2] for line in mounted.log().splitlines()]
    passed = [line for line in warnings if "shown as it is stored" in line or "earlier metadata" in line]
    assert len(passed) <= 1, passed
    mounted.unmount()
    again = mount(source.path, "ro")
    assert (again.path / "c/0/0").read_bytes() == source.expected(0, 3)
