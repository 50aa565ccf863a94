"""FUSE over io_uring: the same mount, whose requests come another way (fs/kernel/ring_queues.h).

The kernel offers it where its administrator has switched it on, which these tests do for as long as
they run: mounts of other tests that begin meanwhile take it as well, and must not notice.
"""

import contextlib
import errno
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from io_uring import FORBIDDEN, SWITCH, io_uring_switched_on, over_io_uring, setting
from mount_data import VersionedVolume, VersionedZarr, refused
from mounting import END_SECONDS, assert_ends, clear_away, daemon_of, mounted_at, wait_until
from write_data import PATIENT, flush, write_file

@pytest.fixture(scope="module", autouse=True)
def switched_on():
    with io_uring_switched_on():
        yield


def own_tasks(mounted):
    return len(os.listdir(f"/proc/{daemon_of(mounted)}/task"))


@pytest.fixture(params=["ro", "rw"])
def served(request, work, mount):
    """A precomputed volume and its mount."""
    source = VersionedVolume(work / "source", gzip_data=True)
    made = mount(source.path, f"{request.param},spool={work}/spools")
    made.source = source
    return made


def read_all(mounted):
    return {number: (mounted.path / name).read_bytes()
            for number, name in mounted.source.names.items()}


def expected(source, version=1):
    return {number: source.expected(number, version) for number in source.names}


def test_every_chunk_is_read_and_only_over_the_ring(served):
    assert read_all(served) == expected(served.source)
    counters = served.status()["counters"]
    answered = {name: count for name, count in counters["requests"].items() if name != "forget"}
    assert answered["read"] == len(served.source.names)
    assert counters["over_io_uring"] == sum(answered.values())


@pytest.mark.parametrize("why", ["the option", "the kernel", "no io_uring"])
def test_without_it_requests_are_read_from_the_device(why, work, mount):
    source = VersionedVolume(work / "source")
    options = "ro,no_io_uring" if why == "the option" else "ro"
    with contextlib.ExitStack() as settings:
        if why == "the kernel":
            settings.enter_context(setting(SWITCH, "N"))
        if why == "no io_uring":
            settings.enter_context(setting(FORBIDDEN, "2"))
        made = mount(source.path, options)
        made.source = source
        # The kernel and the daemon agree only after the mount is in the table of mounts.
        assert read_all(made) == expected(source)
    assert over_io_uring(made) == 0


def test_switched_off_between_offer_and_reply_requests_are_read_from_the_device(work, mount):
    source = VersionedVolume(work / "source")
    calls = work / "calls"
    # The daemon makes its rings when it has read the offer, here for two seconds.
    made = mount(source.path, "ro", prefix=["strace", "-f", "-qq", "-o", calls, "-e", "trace=io_uring_setup",
                                            "-e", "inject=io_uring_setup:delay_enter=2000000"])
    assert wait_until(lambda: calls.exists() and "io_uring_setup(" in calls.read_text(), END_SECONDS)
    with setting(SWITCH, "N"):
        made.source = source
        assert read_all(made) == expected(source)
    assert over_io_uring(made) == 0


def test_readers_on_every_processor_at_a_time_get_their_own_bytes(served):
    wanted = expected(served.source)

    def read(reader):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(os.getpid()))[
            reader % len(os.sched_getaffinity(os.getpid()))]})
        for _ in range(5):
            for number, name in served.source.names.items():
                descriptor = os.open(served.path / name, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                data = os.read(descriptor, 1 << 20)
                os.close(descriptor)
                if data != wanted[number]:
                    return number
        return None

    with ThreadPoolExecutor(16) as readers:
        assert list(readers.map(read, range(16))) == [None] * 16


def test_large_files_are_read_and_written_whole(work, mount):
    source = VersionedVolume(work / "source")
    data = os.urandom(9_000_001)
    (source.path / "large").write_bytes(data)
    reader = mount(source.path, "ro")
    assert (reader.path / "large").read_bytes() == data
    descriptor = os.open(reader.path / "large", os.O_RDONLY)
    assert os.pread(descriptor, 1 << 20, 8_000_000) == data[8_000_000:9_000_001]
    assert os.pread(descriptor, 1 << 20, 9_000_001) == b""
    os.close(descriptor)
    writer = mount(source.path, f"rw,spool={work}/spools")
    write_file(writer.path / "another", data)
    assert (source.path / "another").read_bytes() == data


def test_chunks_are_written_renamed_removed_and_published(work, mount):
    source = VersionedZarr(work / "source")
    made = mount(source.path, f"{PATIENT},spool={work}/spools")
    names = list(source.names.values())
    data = {name: os.urandom(source.size(1)) for name in names[:32]}
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda name: write_file(made.path / name, data[name]), data))
    scratch = made.path / "c" / "0" / ".partial"
    write_file(scratch, b"x" * source.size(1))
    os.rename(scratch, made.path / names[0])
    data[names[0]] = b"x" * source.size(1)
    os.unlink(made.path / names[1])
    del data[names[1]]
    for again in (False, True):
        assert {name: (made.path / name).read_bytes() for name in data} == data
        refused(errno.ENOENT, os.stat, made.path / names[1])
        refused(errno.EINVAL, write_file, made.path / "c" / "0" / "99", b"no chunk")
        flush(made)
        if again:
            break
    assert made.status()["write"]["dirty_chunks"] == 0
    assert over_io_uring(made) > 64
    made.unmount()
    plain = mount(source.path, "ro,no_io_uring")
    assert {name: (plain.path / name).read_bytes() for name in data} == data


def test_a_replaced_shard_is_seen_at_once(served):
    assert read_all(served) == expected(served.source)
    for shard in served.source.shards:
        served.source.publish(shard, 2)
    wanted = expected(served.source, 2)
    assert wait_until(lambda: read_all(served) == wanted, 10)


def test_a_program_that_asks_one_at_a_time_starts_few_threads(served):
    read_all(served)
    tasks = own_tasks(served)
    for _ in range(10):
        read_all(served)
        subprocess.run(["ls", "-lR", served.path], check=True, stdout=subprocess.DEVNULL)
    # RELEASE is sent while the program goes on.
    assert own_tasks(served) <= tasks + 2 * os.cpu_count()


class Readers:
    """Processes that read a mount without a pause until they fail."""

    SCRIPT = """
import os, sys
while True:
    for name in sys.argv[1:]:
        file = os.open(name, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.read(file, 1 << 20)
        os.close(file)
"""

    def __init__(self, mounted, count):
        names = [str(mounted.path / name) for name in mounted.source.names.values()]
        self.processes = [subprocess.Popen(["python3", "-c", self.SCRIPT, *names[i:], *names[:i]],
                                           stderr=subprocess.DEVNULL) for i in range(count)]
        before = over_io_uring(mounted)
        assert wait_until(lambda: over_io_uring(mounted) > before + 200, 60)

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    def all_end(self):
        return wait_until(lambda: all(process.poll() is not None for process in self.processes),
                          END_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def test_a_killed_daemon_leaves_nothing_that_hangs(served):
    with Readers(served, 6) as readers:
        os.kill(daemon_of(served), signal.SIGKILL)
        assert_ends(served, readers.pids)
        assert readers.all_end()
    clear_away(served)


def test_a_connection_that_is_aborted_ends_the_daemon_and_all_requests(served):
    with Readers(served, 6) as readers:
        subprocess.run(["umount", "-f", served.path], capture_output=True)  # busy, and aborted
        assert readers.all_end()
        assert served.process.wait(END_SECONDS) is not None
    clear_away(served)


def test_a_signal_ends_a_mount_that_is_read(served):
    with Readers(served, 6) as readers:
        assert served.terminate() == 0
        assert readers.all_end()
    assert mounted_at(served.path) is None


def test_a_lazy_unmount_serves_open_files_and_then_ends(served):
    number, name = next(iter(served.source.names.items()))
    with open(served.path / name, "rb") as file:
        served.ended = True
        subprocess.run(["umount", "-l", served.path], check=True)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert file.read() == served.source.expected(number, 1)
        assert served.process.poll() is None
    assert served.process.wait(END_SECONDS) == 0


def test_mounts_that_end_as_soon_as_they_are_there(work, mount):
    source = VersionedVolume(work / "source")
    for number in range(20):
        made = mount(source.path, "ro", work / "point")
        if number % 2:
            list(ThreadPoolExecutor(8).map(os.listdir, [made.path / "scale"] * 8))
        made.unmount()
