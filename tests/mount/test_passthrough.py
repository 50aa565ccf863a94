"""Files of the source that a writable mount presents as they are: the kernel reads and writes them
itself where it takes backing files (FUSE passthrough), and through requests where it does not."""

import errno
import mmap
import os
import platform
import re
import shutil
import stat
import struct
import subprocess
import sys

import pytest

from mount_data import VersionedZarr, refused
from mounting import wait_until

LINE = b"0123456789abcdef" * 4096
# The first one that takes backing files. The tests run as root.
PASSES_THROUGH = tuple(map(int, re.match(r"(\d+)\.(\d+)", platform.release()).groups())) >= (6, 9)


@pytest.fixture
def file_system(work):
    """file_system(type, options) -> the directory where it is mounted."""
    made = []

    def make(kind, options):
        point = work / kind
        point.mkdir()
        subprocess.run(["mount", "-t", kind, kind, "-o", options, point], check=True)
        made.append(point)
        return point

    yield make
    for point in made:
        subprocess.run(["umount", "-l", point], check=True)


def overlay(file_system, work, directory):
    """The same directory on overlayfs, from which the kernel takes no backing file."""
    upper, inner = work / "upper", work / "inner"
    for each in (upper, inner):
        each.mkdir()
    return file_system("overlay", f"lowerdir={directory},upperdir={upper},workdir={inner}")


@pytest.fixture(params=["backing files", "requests"])
def mounted(request, work, mount, file_system):
    """A mount with the folder "notes" in it, as `mounted.notes` and `mounted.stored`."""
    source = VersionedZarr(work / "source")
    (source.path / "notes").mkdir()
    path = source.path
    if request.param == "requests":
        path = overlay(file_system, work, path)
    made = mount(path, f"rw,spool={work}/spools")
    made.passes_through = PASSES_THROUGH and request.param == "backing files"
    made.source = source
    made.notes, made.stored = made.path / "notes", path / "notes"
    yield made
    made.unmount()


def requests(mounted):
    counted = mounted.status()["counters"]["requests"]
    return {name: counted[name] for name in ("read", "write")}


class Spent:
    def __init__(self, mounted):
        self.mounted, self.before = mounted, requests(mounted)

    def check(self, *names):
        """No request of these names has come where the kernel needs none, and some elsewhere."""
        after = requests(self.mounted)
        for name in names:
            assert (after[name] == self.before[name]) == self.mounted.passes_through, (name, after)


def test_reading_and_writing_cost_requests_only_where_the_kernel_takes_no_backing_file(mounted):
    spent = Spent(mounted)
    (mounted.notes / "new").write_bytes(LINE)
    spent.check("write")
    (mounted.stored / "there").write_bytes(LINE)
    assert (mounted.notes / "there").read_bytes() == LINE == (mounted.stored / "new").read_bytes()
    spent.check("read", "write")


def test_chunks_and_documents_are_read_by_requests_everywhere(mounted):
    before = requests(mounted)["read"]
    array = next(path for path in mounted.path.glob("**/zarr.json"))
    assert array.read_bytes() and requests(mounted)["read"] > before


def test_all_who_have_a_file_open_share_its_bytes(mounted):
    path = mounted.notes / "shared"
    path.write_bytes(LINE)
    with open(path, "rb", buffering=0) as reader, open(path, "r+b", buffering=0) as writer, \
            open(path, "ab", buffering=0) as appender:
        writer.write(b"first")
        appender.write(b"last")
        appender.write(b"!")
        assert reader.read(5) == b"first"
        os.truncate(path, len(LINE) + 4)
        reader.seek(-4, os.SEEK_END)
        assert reader.read() == b"last" and os.fstat(reader.fileno()).st_size == len(LINE) + 4
        with open(mounted.stored / "shared", "r+b") as other:
            other.write(b"other")
        assert os.pread(writer.fileno(), 5, 0) == b"other"
        writer.truncate(3)
        assert os.pread(reader.fileno(), 9, 0) == b"oth"
        os.fsync(writer.fileno())
    assert path.read_bytes() == b"oth" == (mounted.stored / "shared").read_bytes()
    with open(path, "wb") as again:
        again.write(b"again")
    assert path.read_bytes() == b"again"


# Runs through the mount and beside it. The length of a record divides that of a page: a record over
# two pages may come as two requests.
APPENDING = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
for number in range(int(sys.argv[3])):
    assert os.write(file, b"%s%014d\\n" % (sys.argv[2].encode(), number)) == 16
"""


def test_what_several_append_inside_and_outside_is_there(mounted):
    count = 2000
    (mounted.stored / "log").touch()
    places = {"a": mounted.notes, "b": mounted.notes, "c": mounted.stored}
    running = [subprocess.Popen([sys.executable, "-c", APPENDING, place / "log", writer, str(count)])
               for writer, place in places.items()]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    lines = (mounted.stored / "log").read_bytes().splitlines()
    assert len(lines) == 3 * count
    assert set(lines) == {b"%s%014d" % (writer.encode(), number)
                          for writer in places for number in range(count)}


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_files_and_directories_get_the_modes_that_programs_give_them(mounted):
    key, folder = mounted.notes / "key", mounted.notes / "folder"
    os.umask(0o022)
    os.close(os.open(key, os.O_WRONLY | os.O_CREAT, 0o640))
    os.mknod(mounted.notes / "made", 0o600 | stat.S_IFREG)
    os.mkdir(folder, 0o700)
    subprocess.run(["install", "-m", "600", key, mounted.notes / "installed"], check=True)
    for name, mode in (("key", 0o640), ("made", 0o600), ("folder", 0o700), ("installed", 0o600)):
        assert mode_of(mounted.stored / name) == mode == mode_of(mounted.notes / name), name
    for path, mode in ((key, 0o751), (folder, 0o755)):
        os.chmod(path, mode)
        assert mode_of(mounted.stored / path.name) == mode == mode_of(path)
    with open(key, "rb") as file:
        os.fchmod(file.fileno(), 0o604)
    assert mode_of(mounted.stored / "key") == 0o604
    key.write_bytes(b"#!/bin/sh\necho it runs\n")
    os.chmod(key, 0o700)
    assert subprocess.run([key], capture_output=True, check=True).stdout == b"it runs\n"


def test_attributes_of_a_file_are_set_without_opening_it(mounted):
    """So its owner may on a disk, also where nobody may write to it: a running program, or 0444."""
    path, stored = mounted.notes / "sleep", mounted.stored / "sleep"
    shutil.copy(shutil.which("sleep"), stored)
    running = subprocess.Popen([stored, "600"])
    try:
        refused((errno.ETXTBSY, errno.EIO), open, path, "r+b")
        os.chmod(path, 0o511)
        os.utime(path, (1, 1500000000))
        os.chown(path, 12, 34)
    finally:
        running.kill()
        running.wait()
    told = os.stat(stored)
    assert (told.st_mtime, mode_of(stored), told.st_uid) == (1500000000, 0o511, os.getuid())


def test_a_file_that_is_opened_for_writing_loses_its_privileges(mounted):
    path, stored = mounted.notes / "program", mounted.stored / "program"

    def privileged():
        stored.write_bytes(b"text")
        os.chmod(stored, 0o6755)
        os.setxattr(stored, "security.capability",
                    struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))

    def check():
        assert mode_of(stored) == 0o755
        assert "security.capability" not in os.listxattr(stored)

    for write in (lambda: path.write_bytes(b"new"), lambda: os.truncate(path, 2)):
        privileged()
        assert path.read_bytes() == b"text"
        assert mode_of(stored) == 0o6755, "a reader takes nothing away"
        write()
        check()
    privileged()
    with open(path, "r+b", buffering=0) as file:
        file.write(b"new")
        check()


def test_writes_need_not_ask_for_privileges_each_time(mounted):
    (mounted.stored / "there").write_bytes(LINE)
    for path in (mounted.notes / "there", mounted.path / mounted.source.names[0]):
        before = mounted.status()["counters"]["requests"]
        with open(path, "r+b", buffering=0) as file:
            for number in range(64):
                os.pwrite(file.fileno(), b"x", number)
        after = mounted.status()["counters"]["requests"]
        assert after["getxattr"] - before["getxattr"] <= 1, path


def test_mappings_read_and_write_the_file(mounted):
    path = mounted.notes / "mapped"
    path.write_bytes(LINE)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        assert mapped[:] == LINE
        mapped[16:20] = b"MAP!"
        mapped.flush()
        assert os.pread(file.fileno(), 4, 16) == b"MAP!"
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[16:20] == b"MAP!" == (mounted.stored / "mapped").read_bytes()[16:20]


def test_who_has_a_file_open_keeps_it_when_it_is_replaced_or_removed(mounted):
    path, stored = mounted.notes / "replaced", mounted.stored / "replaced"
    stored.write_bytes(b"one")
    with open(path, "rb", buffering=0) as first:
        (mounted.stored / "next").write_bytes(b"two")
        (mounted.stored / "next").rename(stored)
        with open(path, "rb", buffering=0) as second:
            (mounted.notes / "next").write_bytes(b"three")
            (mounted.notes / "next").rename(path)
            assert path.read_bytes() == b"three"
            path.unlink()
            assert (first.read(), second.read()) == (b"one", b"two")
            assert not stored.exists()


def test_two_names_of_one_file_are_open_at_once(mounted):
    (mounted.notes / "one").write_bytes(LINE)
    os.link(mounted.notes / "one", mounted.notes / "two")
    with open(mounted.notes / "one", "r+b", buffering=0) as one, \
            open(mounted.notes / "two", "rb", buffering=0) as two:
        one.write(b"both")
        assert two.read(4) == b"both"
        (mounted.notes / "two").rename(mounted.notes / "three")
        assert os.pread(two.fileno(), 4, 0) == (mounted.notes / "three").read_bytes()[:4]


def test_no_more_than_a_thousand_files_need_to_be_open_at_once(mounted):
    paths = [mounted.notes / str(number) for number in range(1000)]
    for path in paths:
        path.write_bytes(path.name.encode())
    files = [open(path, "rb", buffering=0) for path in paths]
    assert all(file.read() == path.name.encode() for file, path in zip(files, paths))
    for file in files:
        file.close()


def test_a_file_that_was_removed_is_freed_when_it_is_closed(work, mount, file_system):
    """As a backing file it is held by the kernel, and by nobody whom lsof(8) would name."""
    source = VersionedZarr(file_system("tmpfs", "size=64m") / "source")
    mounted = mount(source.path, f"rw,spool={work}/spools")
    (mounted.path / "notes").mkdir()

    def free():
        return os.statvfs(source.path).f_bavail * os.statvfs(source.path).f_frsize

    before = free()
    path = mounted.path / "notes" / "large"
    for _ in range(3):
        with open(path, "wb") as file:
            file.write(bytes(16 << 20))
            path.unlink()
            assert free() <= before - (16 << 20)
        assert wait_until(lambda: free() > before - (1 << 20), 30)
    mounted.unmount()
