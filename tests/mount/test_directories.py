"""What listings, stat and statfs tell about a mounted dataset."""

import ctypes
import errno
import os
import random
import stat
import threading

import numpy as np
import pytest

from mount_data import VersionedSkeletons, VersionedZarr, drop_caches, refused
from tiers import in_turn
from write_data import KINDS, PATIENT, WriteCase, flush

LISTING_OPTIONS = ("present", "grid", "none")


class Directory:
    """opendir(3), readdir(3), telldir(3) and seekdir(3), which Python does not offer."""

    class Entry(ctypes.Structure):
        _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("reclen", ctypes.c_uint16),
                    ("type", ctypes.c_uint8), ("name", ctypes.c_char * 256)]

    libc = ctypes.CDLL(None, use_errno=True)
    libc.opendir.restype = ctypes.c_void_p
    libc.readdir.restype = ctypes.POINTER(Entry)
    libc.readdir.argtypes = libc.closedir.argtypes = libc.telldir.argtypes = [ctypes.c_void_p]
    libc.rewinddir.argtypes = [ctypes.c_void_p]
    libc.telldir.restype = ctypes.c_long
    libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]

    def __init__(self, path):
        self.stream = self.libc.opendir(os.fsencode(path))
        assert self.stream, os.strerror(ctypes.get_errno())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.libc.closedir(self.stream)

    def next(self):
        """(name, d_type, d_ino), or None at the end."""
        ctypes.set_errno(0)
        entry = self.libc.readdir(self.stream)
        assert ctypes.get_errno() == 0, os.strerror(ctypes.get_errno())
        if not entry:
            return None
        return entry.contents.name.decode(), entry.contents.type, entry.contents.ino

    def rest(self):
        entries = []
        while (entry := self.next()) is not None:
            entries.append(entry)
        return entries

    def tell(self):
        return self.libc.telldir(self.stream)

    def seek(self, cookie):
        self.libc.seekdir(self.stream, cookie)

    def rewind(self):
        self.libc.rewinddir(self.stream)


def walk(root):
    """Every path below `root`, relative; {path: is a directory}."""
    found = {}
    for directory, directories, files in os.walk(root):
        relative = os.path.relpath(directory, root)
        for names, kind in ((directories, True), (files, False)):
            for name in names:
                found[os.path.normpath(os.path.join(relative, name))] = kind
    return found


def parents(paths):
    """All ancestors of these relative paths."""
    found = set()
    for path in paths:
        while path := os.path.dirname(path):
            found.add(path)
    return found


# ------------------------------------------------------------------------------------ what is listed


def test_a_listing_holds_exactly_the_chunks_that_are_there(volume, tree):
    for each, others in ((volume, {"info", "notes.txt"}),
                         (tree, {"zarr.json", "image/zarr.json", "notes.txt"})):
        wanted = dict.fromkeys([*each.chunks, *others], False)
        wanted.update(dict.fromkeys(parents(wanted), True))
        assert walk(each.root) == wanted


def test_ls_f_finds_dot_and_dot_dot_exactly_once(volume, tree):
    for path in (volume.root, volume.root / "fine", tree.root / "image/c/1"):
        with Directory(path) as directory:
            names = [name for name, _, _ in directory.rest()]
        assert sorted(n for n in names if n.startswith(".")) == [".", ".."]
        assert len(names) == len(set(names))


def test_the_control_directory_resolves_and_is_not_listed(volume):
    assert ".unshard" not in os.listdir(volume.root)
    assert stat.S_ISDIR(os.stat(volume.root / ".unshard").st_mode)
    assert sorted(os.listdir(volume.root / ".unshard")) == ["config.json", "errors", "metrics",
                                                           "schema", "status.json"]
    refused(errno.ENOENT, os.stat, volume.root / "fine" / ".unshard")


def test_list_grid_lists_every_directory_of_the_grid_and_only_chunks_that_are_there(volume, tree,
                                                                                    mount):
    grid = mount(volume.source.path, "list=grid")
    for key in volume.source.voxels:
        assert set(os.listdir(grid.path / key)) == set(volume.source.chunks(key))
        refused(errno.ENOENT, os.stat, grid.path / key / volume.source.missing(key)[0])
    cells = {"c/" + "/".join(map(str, cell)) for cell in np.ndindex(7, 6, 3)}
    root = mount(tree.source.path, "list=grid").path
    listed = walk(root / "image")
    assert {path for path, directory in listed.items() if directory} == parents(cells)
    chunks = {path for path, directory in walk(tree.root / "image").items() if not directory}
    assert {path for path, directory in listed.items() if not directory} == chunks
    for path in chunks:
        assert (root / "image" / path).read_bytes() == (tree.root / "image" / path).read_bytes()


def test_list_grid_lists_directories_that_the_store_does_not_have(work, mount):
    source = VersionedZarr(work / "source")
    for shard in range(4):
        source.shard_path(shard).unlink()
    source.shard_path(0).parent.rmdir()
    for options in ("list=grid", "ro,list=grid"):
        mounted = mount(source.path, options)
        assert sorted(os.listdir(mounted.path / "c")) == [str(index) for index in range(8)]
        assert os.listdir(mounted.path / "c/0") == []
        mounted.unmount()


def test_list_none_lists_no_chunk_and_still_serves_each_by_name(volume, tree, mount):
    for each in (volume, tree):
        hidden = mount(each.source.path, "list=none")
        listed = [path for path, directory in walk(hidden.path).items() if not directory]
        assert not set(listed) & set(each.chunks)
        assert {os.path.basename(path) for path in listed} <= {"info", "zarr.json", "notes.txt"}
        for name, data in each.chunks.items():
            assert (hidden.path / name).read_bytes() == data


@pytest.mark.parametrize("options", ["ro", "rw"])
def test_every_directory_of_the_grid_exists_and_those_with_chunks_are_listed(work, mount, options):
    source = VersionedZarr(work / "source")
    for shard in range(4):
        source.shard_path(shard).unlink()
    source.shard_path(0).parent.rmdir()
    mounted = mount(source.path, options)
    assert sorted(os.listdir(mounted.path / "c")) == ["2", "3", "4", "5", "6", "7"]
    assert stat.S_ISDIR(os.stat(mounted.path / "c/0").st_mode)
    assert os.listdir(mounted.path / "c/0") == []
    refused(errno.ENOENT, os.stat, mounted.path / "c/1/0")
    refused(errno.ENOENT, os.stat, mounted.path / "c/8")


def test_skeletons_are_listed_under_their_ids(work, mount):
    source = VersionedSkeletons(work / "source")
    mounted = mount(source.path)
    assert set(os.listdir(mounted.path)) == {*source.names.values(), "info"}


# --------------------------------------------------------------------------------- resuming a listing


@pytest.mark.parametrize("options", [f"list={mode}" for mode in LISTING_OPTIONS])
def test_seekdir_resumes_a_listing_at_any_entry(volume, mount, options):
    path = mount(volume.source.path, options).path / "fine"
    with Directory(path) as directory:
        cookies, entries = [], []
        while True:
            cookies.append(directory.tell())
            if (entry := directory.next()) is None:
                break
            entries.append(entry)
        assert len(set(cookies)) == len(cookies)
        places = list(range(len(entries) + 1))
        random.Random(1).shuffle(places)
        for place in places:
            directory.seek(cookies[place])
            assert directory.rest() == entries[place:]
    with Directory(path) as fresh:
        fresh.next()
        fresh.seek(cookies[len(entries) // 2])
        assert fresh.rest() == entries[len(entries) // 2:]


def test_rewinddir_starts_a_listing_again(tree):
    with Directory(tree.root / "image/c/0") as directory:
        first = directory.rest()
        directory.rewind()
        assert directory.rest() == first and len(first) > 2


def test_many_small_buffers_give_the_same_listing_as_a_large_one(volume):
    """getdents64 with room for one or two entries at a time, as musl and Go programs may ask."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(volume.root / "fine", os.O_RDONLY | os.O_DIRECTORY)
    names, buffer = [], ctypes.create_string_buffer(96)
    try:
        while (count := libc.syscall(217, descriptor, buffer, len(buffer))) > 0:
            at = 0
            while at < count:
                length = int.from_bytes(buffer.raw[at + 16:at + 18], "little")
                names.append(buffer.raw[at + 19:at + length].split(b"\0")[0].decode())
                at += length
        assert count == 0, os.strerror(ctypes.get_errno())
    finally:
        os.close(descriptor)
    assert sorted(names) == sorted([".", "..", *os.listdir(volume.root / "fine")])


def test_two_open_listings_of_one_directory_do_not_disturb_each_other(volume):
    with Directory(volume.root / "fine") as one, Directory(volume.root / "fine") as two:
        first = [one.next() for _ in range(5)]
        assert two.rest()[:5] == first
        assert len(one.rest()) == len(os.listdir(volume.root / "fine")) + 2 - 5


def test_listing_is_complete_while_names_are_looked_up_and_caches_are_dropped(volume, tree):
    places = [volume.root / "fine", volume.root / "coarse", tree.root / "image/c/1/2"]
    wanted = {path: sorted(os.listdir(path)) for path in places}
    stop, problems, listings = threading.Event(), [], []

    def look_up(seed):
        choose = random.Random(seed)
        while not stop.is_set():
            path = choose.choice(places)
            os.stat(path / choose.choice(wanted[path]))
            try:
                os.stat(path / f"absent-{choose.random()}")
            except FileNotFoundError:
                continue

    def list_all():
        while not stop.is_set():
            for path in places:
                if (got := sorted(os.listdir(path))) != wanted[path]:
                    problems.append((path, got))
                listings.append(path)

    threads = [threading.Thread(target=look_up, args=(seed,)) for seed in range(4)]
    threads += [threading.Thread(target=list_all) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        stop.wait(0.4)
        drop_caches()
    stop.set()
    for thread in threads:
        thread.join(30)
    assert not problems and len(listings) > 30


# ----------------------------------------------------------------------------------------------- stat


def all_stats(root):
    return {path: os.lstat(root / path) for path in walk(root)}


def test_d_type_and_d_ino_of_a_listing_agree_with_stat(volume, tree):
    for root in (volume.root, tree.root):
        directories = [root, *(root / path for path, directory in walk(root).items() if directory)]
        for path in directories:
            with Directory(path) as directory:
                for name, kind, number in directory.rest():
                    if name in (".", ".."):
                        assert kind == 4
                        continue
                    status = os.lstat(path / name)
                    assert kind == stat.S_IFMT(status.st_mode) >> 12
                    assert number == status.st_ino, name


def test_inode_numbers_are_unique_and_survive_dropped_caches(volume, tree):
    for root in (volume.root, tree.root):
        before = {path: status.st_ino for path, status in all_stats(root).items()}
        assert len(set(before.values())) == len(before) and 0 not in before.values()
        drop_caches()
        assert {path: status.st_ino for path, status in all_stats(root).items()} == before


def test_inode_numbers_of_chunks_follow_the_order_of_their_shards(volume):
    """Programs that sort by inode then read shards from front to back."""
    places = []
    for name in os.listdir(volume.root / "coarse"):
        path = volume.root / "coarse" / name
        places.append((os.stat(path).st_ino, os.getxattr(path, "user.unshard.shard"),
                       int(os.getxattr(path, "user.unshard.offset"))))
    places.sort()
    shards = [shard for _, shard, _ in places]
    assert sum(a != b for a, b in zip(shards, shards[1:])) == len(set(shards)) - 1
    for (_, shard, offset), (_, next_shard, next_offset) in zip(places, places[1:]):
        assert shard != next_shard or offset < next_offset


def test_permissions_links_and_blocks_are_those_of_ordinary_read_only_files(volume, tree):
    for root in (volume.root, tree.root):
        for path, status in all_stats(root).items():
            directory = stat.S_ISDIR(status.st_mode)
            assert stat.S_IMODE(status.st_mode) == (0o555 if directory else 0o444), path
            assert status.st_nlink == 1, path
            assert (status.st_uid, status.st_gid) == (os.getuid(), os.getgid())
            assert status.st_blksize >= 4096 and status.st_blksize & (status.st_blksize - 1) == 0
            if not directory:
                assert status.st_blocks == -(-status.st_size // 512), path


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_options_uid_gid_and_umask_change_what_stat_tells(volume, mount, mode):
    mounted = mount(volume.source.path, f"{mode},uid=1234,gid=2345,umask=077")
    for path, status in all_stats(mounted.path).items():
        assert (status.st_uid, status.st_gid) == (1234, 2345), path
        wanted = 0o500 if stat.S_ISDIR(status.st_mode) else 0o400
        wanted |= 0o200 if mode == "rw" else 0
        assert stat.S_IMODE(status.st_mode) == wanted, path


@pytest.mark.parametrize("options, file, directory", [
    ("rw,umask=000", 0o666, 0o777), ("rw,umask=002", 0o664, 0o775), ("ro,umask=000", 0o444, 0o555),
    ("rw,fmask=137", 0o640, 0o755), ("rw,dmask=007", 0o644, 0o770),
    ("rw,fmask=117,umask=027,dmask=0", 0o660, 0o777)])
def test_masks_take_permissions_away_from_all_of_them(volume, mount, options, file, directory):
    for path, status in all_stats(mount(volume.source.path, options).path).items():
        wanted = directory if stat.S_ISDIR(status.st_mode) else file
        assert stat.S_IMODE(status.st_mode) == wanted, path


def as_another_user(user, group, act):
    """The errno that `act` ends with in a process of that user; 0 where it succeeds."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
        try:
            act()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_group_can_write_through_a_mount_that_lets_it(work, mount):
    case = WriteCase("zarr-nested", work, mount, f"{PATIENT},allow_other,gid=2345,umask=002")
    name, data = case.names[0], case.bytes_for(case.names[0], 1)
    top = os.open(case.root, os.O_PATH)

    def write():
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666, dir_fd=top)
        os.write(descriptor, data)
        os.close(descriptor)

    assert as_another_user(1234, 1234, write) == errno.EACCES
    assert as_another_user(1234, 2345, write) == 0
    os.close(top)
    case.expect([name], 1)
    case.check()


def test_a_mount_says_that_others_may_read_what_they_may_not_in_the_source(work, mount):
    source = VersionedSkeletons(work / "source").path
    os.chmod(source, 0o700)
    for options, warned in (("allow_other", True), ("allow_other,umask=077", False), ("rw", False)):
        mounted = mount(source, options)
        assert ("other users may not read" in mounted.log()) == warned, options


def test_the_modification_time_of_a_chunk_is_that_of_its_shard(volume, tree):
    for each in (volume, tree):
        for name in each.chunks:
            shard = each.source.path / os.getxattr(each.root / name, "user.unshard.shard").decode()
            assert os.stat(each.root / name).st_mtime_ns == os.stat(shard).st_mtime_ns


def test_the_modification_time_of_metadata_is_that_of_its_source(volume, tree):
    for each, names in ((volume, ["info", "notes.txt"]), (tree, ["zarr.json", "image/zarr.json"])):
        for name in names:
            assert (os.stat(each.root / name).st_mtime_ns
                    == os.stat(each.source.path / name).st_mtime_ns)


def test_modification_times_of_directories_do_not_lie_in_the_future_and_stay(volume, tree):
    for root in (volume.root, tree.root):
        before = {path: s.st_mtime_ns for path, s in all_stats(root).items()}
        drop_caches()
        assert {path: s.st_mtime_ns for path, s in all_stats(root).items()} == before
        assert all(0 < moment <= os.stat(root / "notes.txt").st_mtime_ns + 60 * 10**9
                   for moment in before.values())


def test_access_checks_follow_the_mode_bits(volume):
    name = next(iter(volume.chunks))
    assert os.access(volume.root / name, os.R_OK)
    assert not os.access(volume.root / name, os.W_OK)
    assert not os.access(volume.root / name, os.X_OK)
    assert os.access(volume.root / "fine", os.R_OK | os.X_OK)


@pytest.mark.parametrize("options", ["rw", "rw,allow_other"])
def test_access_checks_follow_the_mode_bits_of_a_writable_mount(volume, mount, options):
    root = mount(volume.source.path, options).path
    name = next(iter(volume.chunks))
    assert os.access(root / name, os.R_OK | os.W_OK)
    assert not os.access(root / name, os.X_OK)
    assert os.access(root / "fine", os.R_OK | os.W_OK | os.X_OK)
    assert os.access(root / "info", os.R_OK | os.W_OK)
    assert not os.access(root / "info", os.X_OK)
    # Another user, who need not be able to come here.
    directory = os.open(root, os.O_PATH)
    child = os.fork()
    if child == 0:
        os.setuid(1234)
        os._exit(os.access(name, os.R_OK, dir_fd=directory))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == ("allow_other" in options)
    os.close(directory)


def test_statfs_tells_plausible_numbers(volume):
    status = os.statvfs(volume.root)
    assert status.f_namemax == 255
    assert status.f_bsize >= 512 and status.f_frsize >= 512
    assert status.f_blocks > 0 and status.f_bavail <= status.f_bfree <= status.f_blocks
    assert status.f_flag & os.ST_RDONLY


# ------------------------------------------------------------------------------- an empty scale


def listed_of_nothing(case, listing):
    """What the directory of the chunks lists while there are none."""
    if case.kind == "zarr-flat":
        return ["zarr.json"]
    if listing == "grid" and case.kind == "zarr-nested":
        return sorted({name.split("/")[1] for name in case.names})
    return []


@pytest.mark.parametrize("there", [True, False], ids=["directory there", "no directory"])
@pytest.mark.parametrize("listing", ["present", "grid"])
@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_the_directory_of_an_empty_scale_is_listed_before_the_first_chunk_and_after_the_last(
        work, mount, kind, listing, there):
    place = {"zarr-nested": "c", "zarr-flat": "."}.get(kind, "scale")

    def mount_prepared(source, options):
        (source / "data" / place).mkdir(exist_ok=True)
        if not there and place != ".":
            (source / "data" / place).rmdir()
        return mount(source, options)

    case = WriteCase(kind, work, mount_prepared, f"{PATIENT},list={listing}", share=0)

    def check(mounted):
        folder = mounted.path / "data"
        assert sorted(os.listdir(folder / place)) == listed_of_nothing(case, listing)
        if place != ".":
            metadata = "info" if case.precomputed else "zarr.json"
            assert sorted(os.listdir(folder)) == sorted([metadata, place])
        for name in case.names:
            refused((errno.ENOENT, errno.ENOTDIR), open, folder / name)

    check(case.mount)
    for name in case.names[:3]:
        case.put(name, 1)
    flush(case.mount)
    for name in case.names[:3]:
        os.unlink(case.path(name))
    check(case.mount)
    flush(case.mount)
    check(case.mount)
    case.mount.unmount()
    assert case.source.stored() == {}
    if kind == "zarr-nested":
        (case.source.path / "c/0").rmdir()  # of the shards; it is left in the source
    check(mount(case.top, f"ro,list={listing}"))


@pytest.mark.parametrize("separator", ["/", "."])
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [0, 1, 2]], ids=str)
def test_chunks_of_transposed_shards_are_listed_before_and_after_they_are_published(
        work, mount, order, separator):
    """The slots of such a shard are in another order than the names."""
    import tensorstore as ts

    chunk, shard, shape = (2, 3, 2), (4, 6, 8), (9, 14, 15)
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    ts.open({
        "driver": "zarr3", "kvstore": f"file://{work}/source/", "create": True, "metadata": {
            "shape": shape, "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}},
            "codecs": [{"name": "transpose", "configuration": {"order": order}},
                       {"name": "sharding_indexed", "configuration": {
                           "chunk_shape": [chunk[axis] for axis in order], "codecs": [little],
                           "index_codecs": [little, {"name": "crc32c"}]}}]}}).result()
    made = mount(work / "source", f"{PATIENT},spool={work}/spools")

    def listed():
        return {str(path.relative_to(made.path)) for path in made.path.rglob("*")
                if path.is_file() and path.name != "zarr.json"}

    cells = list(np.ndindex(*(-(-s // c) for s, c in zip(shape, chunk))))
    names = [separator.join(["c", *map(str, cell)]) for cell in cells]
    rng = random.Random(f"{order}{separator}")
    expected = set()
    for _ in range(3):
        for name in rng.sample(names, 8):
            if name in expected:
                os.unlink(made.path / name)
            else:
                (made.path / name).parent.mkdir(parents=True, exist_ok=True)
                (made.path / name).write_bytes(bytes(rng.randbytes(12)))
            expected ^= {name}
            assert listed() == expected
        flush(made)
        assert listed() == expected
