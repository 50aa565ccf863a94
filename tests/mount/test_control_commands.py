"""`unshard status`, `flush` and `umount`, on mounts that nobody writes to and on dirty ones."""

import contextlib
import fcntl
import json
import os
import pathlib
import resource
import select
import signal
import subprocess

import pytest

from mount_data import VersionedVolume
from mounting import OWN_NAMESPACE, mounted_at, wait_until
from write_data import PATIENT, WriteCase, damaged

BOUND = 30


@pytest.fixture
def source(work):
    return VersionedVolume(work / "source")


def has_ended(pid):
    """Whether a process holds nothing any more; its parent may not have looked at it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_status_tells_source_mount_point_and_mode(source, mount, run_unshard):
    mounted = mount(source.path, "ro")
    done = run_unshard("status", mounted.path)
    assert (done.returncode, done.stderr) == (0, "")
    for word in (str(source.path), f"{mounted.path}, read-only", f"process {mounted.process.pid}"):
        assert word in done.stdout
    assert "spool" not in done.stdout


def test_status_as_json_is_the_control_file(source, mount, run_unshard):
    mounted = mount(source.path, "ro")
    shown = json.loads(run_unshard("status", "--json", mounted.path).stdout)
    assert shown["read_only"] is True and shown["write"] is None
    assert shown["pid"] == mounted.process.pid
    assert json.loads(mounted.control("config.json"))["read_only"] is True


@pytest.mark.parametrize("options", ["ro", "immutable"])
def test_the_kernel_knows_which_mounts_are_read_only(source, mount, options):
    mounted = mount(source.path, options)
    for line in open("/proc/self/mountinfo", encoding="utf-8", errors="replace"):
        if f" {mounted.path} " in line:
            assert "ro" in line.split()[5].split(",")
            break
    else:
        raise AssertionError("not in the table of mounts")
    assert mounted.status()["read_only"] is True


def test_watch_prints_one_line_a_second_where_no_terminal_is(source, mount, unshard_binary):
    mounted = mount(source.path, "ro")
    with subprocess.Popen([unshard_binary, "status", "--watch", str(mounted.path)], text=True,
                          stdout=subprocess.PIPE) as watching:
        lines = [watching.stdout.readline() for _ in range(3)]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(BOUND) != 0
    assert set(lines) == {f"{mounted.path}: read-only\n"}


def test_watch_ends_with_the_mount(source, mount, unshard_binary):
    mounted = mount(source.path, "ro")
    with subprocess.Popen([unshard_binary, "status", "--watch", str(mounted.path)], text=True,
                          stdout=subprocess.PIPE) as watching:
        watching.stdout.readline()
        # A look at the status may keep the mount busy for a moment.
        assert wait_until(lambda: subprocess.run(["fusermount3", "-u", mounted.path],
                                                 capture_output=True).returncode == 0, BOUND)
        mounted.ended = True
        rest = watching.stdout.read()
        assert watching.wait(BOUND) == 0
    assert rest.splitlines()[-1].startswith("the mount has ended")
    assert mounted.process.wait(BOUND) == 0


def test_flush_of_a_read_only_mount_has_nothing_to_wait_for(source, mount, run_unshard):
    done = run_unshard("flush", mount(source.path, "ro").path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("command", ["status", "flush"])
def test_what_is_no_mount_is_named(work, run_unshard, command):
    (work / "plain").mkdir()
    for path in (work / "plain", work / "missing"):
        done = run_unshard(command, path)
        assert done.returncode == 1 and str(path) in done.stderr and done.stdout == ""


@pytest.mark.parametrize("command", ["status", "flush"])
def test_a_dead_mount_is_named_as_such(source, work, run_unshard, command):
    point = work / "point"
    point.mkdir()
    assert run_unshard("mount", source.path, point, "-o", "ro").returncode == 0
    os.kill(json.loads((point / ".unshard/status.json").read_text())["pid"], signal.SIGKILL)
    try:
        assert wait_until(lambda: run_unshard(command, point).returncode != 0, BOUND)
        done = run_unshard(command, point)
        assert done.returncode == 1 and "process of this mount is gone" in done.stderr
    finally:
        assert run_unshard("umount", point).returncode == 0
    assert not mounted_at(point)


def test_umount_started_in_the_mount_is_not_kept_by_itself(source, mount, run_unshard):
    point = mount(source.path).path
    with subprocess.Popen(["sleep", "600"], cwd=point) as sleeper:
        done = run_unshard("umount", ".", cwd=point)
        sleeper.kill()
    assert done.returncode == 1
    assert f"{point}: busy, and still mounted: sleep ({sleeper.pid}) uses it" in done.stderr
    assert "leave the directory" in done.stderr
    done = run_unshard("umount", ".", cwd=point)
    assert (done.returncode, done.stderr) == (0, "")
    assert not mounted_at(point)


def test_umount_of_a_mount_that_no_process_keeps_busy_says_what_may(source, mount, run_unshard):
    """A mount point inside it, for example."""
    point = mount(source.path).path
    subprocess.run(["mount", "-t", "tmpfs", "none", point / "scale"], check=True, timeout=BOUND)
    try:
        done = run_unshard("umount", point)
    finally:
        subprocess.run(["umount", point / "scale"], check=True, timeout=BOUND)
    assert done.returncode == 1
    assert f"{point}: busy, and still mounted" in done.stderr and "findmnt" in done.stderr
    assert run_unshard("umount", point).returncode == 0


def test_umount_returns_once_the_process_has_ended(source, work, run_unshard):
    point = work / "point"
    point.mkdir()
    for _ in range(5):
        assert run_unshard("mount", source.path, point, "-o", "ro").returncode == 0
        pid = json.loads((point / ".unshard/status.json").read_text())["pid"]
        assert run_unshard("umount", point).returncode == 0
        assert has_ended(pid)


@pytest.mark.parametrize("options, words", [
    ("spool_size=1", ["spool_size", "1M"]), ("spool_files=0", ["spool_files"]),
    ("publish_after=soon", ["publish_after", "soon"]), ("publish_threads=0", ["publish_threads"]),
    ("sync=disk", ["sync", "spool", "store"]), ("strict=yes", ["strict"])])
def test_bad_options_of_writing_are_refused_by_name(source, work, run_unshard, options, words):
    (work / "point").mkdir()
    done = run_unshard("mount", source.path, work / "point", "-o", options)
    assert done.returncode != 0 and not mounted_at(work / "point")
    assert all(word in done.stderr for word in words), done.stderr


def test_a_spool_inside_the_mount_is_refused(source, work, run_unshard):
    point = work / "point"
    point.mkdir()
    for folder in (point, point / "spool", work / "point/../point/deep/spool"):
        done = run_unshard("mount", source.path, point, "-o", f"spool={folder}")
        assert done.returncode == 1 and "is inside the mount point" in done.stderr
        assert not mounted_at(point)


# ------------------------------------------------------------------------------------ dirty mounts


class Dirty:
    """A mount whose spool holds two chunks of one shard and one of another.

    pair, single   the paths of these shards
    """

    CHUNKS = 3

    def __init__(self, work, mount):
        self.options, self.make = f"{PATIENT},spool={work / 'spools'}", mount
        self.case = WriteCase("zarr-nested", work, mount, self.options)
        names = ("c/0/0", "c/0/1", "c/0/2")
        for name in names:
            self.case.put(name, 1)
        self.pair, self.single = (self.case.source.shard_path(name) for name in names[::2])
        assert self.pair == self.case.source.shard_path(names[1]) != self.single
        assert self.case.write_status()["dirty_chunks"] == self.CHUNKS
        self.spool = self.case.write_status()["spool"]

    @property
    def point(self):
        return self.case.mount.path

    def assert_unmounted(self):
        """The command, when it returns, leaves neither mount nor process."""
        assert not mounted_at(self.point) and has_ended(self.case.mount.process.pid)
        self.case.mount.ended = True

    def mount_again(self):
        self.case.mount = self.make(self.case.top, self.options)
        self.case.root = self.point / "data"


@pytest.fixture
def dirty(work, mount):
    return Dirty(work, mount)


def test_flush_waits_until_everything_stands_in_the_source(dirty, run_unshard):
    done = run_unshard("flush", dirty.point)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    dirty.case.check_source()
    assert dirty.case.write_status()["dirty_chunks"] == 0


def test_flush_that_fails_says_why_and_what_stays_and_the_mount_goes_on(dirty, run_unshard):
    with damaged(dirty.pair):
        for _ in range(2):  # what was once told of is not taken for done
            done = run_unshard("flush", dirty.point)
            assert (done.returncode, done.stdout) == (1, "")
            assert str(dirty.pair) in done.stderr and "EIO" in done.stderr
            assert f"{dirty.spool}: 2 chunks (12 kB) stay in the spool" in done.stderr
        assert dirty.case.write_status()["dirty_chunks"] == 2
        dirty.case.put("c/0/1", 2)
        assert dirty.case.path("c/0/1").read_bytes() == dirty.case.expected["c/0/1"]
    done = run_unshard("flush", dirty.point)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    dirty.case.check_source()
    dirty.case.check_mount()


def test_umount_publishes_and_leaves_no_spool(dirty, work, run_unshard):
    done = run_unshard("umount", dirty.point)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    dirty.assert_unmounted()
    dirty.case.check_source()
    assert list((work / "spools").iterdir()) == []


def test_umount_waits_for_a_process_in_another_pid_name_space(source, mount, run_unshard):
    """There it has the number 1, which is somebody else here."""
    if os.getuid() != 0:
        pytest.skip("needs root: a pid namespace of its own")
    mounted = mount(source.path, prefix=["unshare", "--pid", "--fork", "--kill-child"])
    assert mounted.status()["pid"] == 1
    inside = pathlib.Path(f"/proc/{mounted.process.pid}/task/{mounted.process.pid}/children")
    daemon, = inside.read_text().split()
    done = run_unshard("umount", mounted.path)
    assert (done.returncode, done.stderr) == (0, "")
    stat = pathlib.Path(f"/proc/{daemon}/stat")
    assert not stat.exists() or ") Z " in stat.read_text()
    mounted.ended = True
    assert mounted.process.wait(BOUND) == 0


ALONE = """
set -eu
'{program}' mount -o 'spool={spools},publish_after=3600' '{source}' '{point}'
'{program}' mount -o ro '{source}' '{other}'
cat '{bytes}' > '{point}/{name}'
grep -ho '"pid": *[0-9]*' '{point}/.unshard/status.json' '{other}/.unshard/status.json'
sleep 4
cmp '{bytes}' '{point}/{name}'
"""


def test_daemons_that_are_left_alone_in_a_mount_namespace_publish_and_end(work, source,
                                                                          unshard_binary):
    """Their being in it would keep the namespace, and so their mounts, which nobody can reach."""
    if os.getuid() != 0:
        pytest.skip("needs root: a mount namespace of its own")
    places = {name: work / name for name in ("spools", "point", "other", "bytes")}
    for name in ("spools", "point", "other"):
        places[name].mkdir(mode=0o700)
    places["bytes"].write_bytes(bytes(source.size(1)))
    script = ALONE.format(program=unshard_binary, source=source.path, name=source.names[0],
                          **places)
    done = subprocess.run([*OWN_NAMESPACE, "sh", "-c", script],
                          capture_output=True, text=True, timeout=BOUND)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    daemons = [int(line.rpartition(":")[2]) for line in done.stdout.splitlines()]
    assert len(daemons) == 2
    assert wait_until(lambda: all(has_ended(daemon) for daemon in daemons), BOUND)
    assert list(places["spools"].iterdir()) == []


def test_umount_that_cannot_publish_detaches_says_what_stays_and_loses_nothing(dirty, run_unshard):
    with damaged(dirty.pair):
        done = run_unshard("umount", dirty.point)
        assert (done.returncode, done.stdout) == (1, "")
        assert str(dirty.pair) in done.stderr and "EIO" in done.stderr
        assert f"{dirty.spool}: 2 chunks (12 kB) stay in the spool" in done.stderr
        assert "the next mount of the same source publishes them" in done.stderr
        dirty.assert_unmounted()
    dirty.mount_again()
    assert dirty.case.write_status()["dirty_chunks"] == 2
    dirty.case.check()


def test_a_limit_of_file_sizes_fails_the_publish_and_ends_nobody(dirty, run_unshard):
    """As set by ulimit -f or a service manager: beyond it the kernel sends SIGXFSZ."""
    daemon = json.loads((dirty.point / ".unshard/status.json").read_text())["pid"]
    before = resource.prlimit(daemon, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon, resource.RLIMIT_FSIZE, (1024, before[1]))
    done = run_unshard("flush", dirty.point)
    assert done.returncode == 1 and "EFBIG" in done.stderr, done.stderr
    resource.prlimit(daemon, resource.RLIMIT_FSIZE, before)
    done = run_unshard("flush", dirty.point)
    assert (done.returncode, done.stderr) == (0, "")
    dirty.case.check_source()
    dirty.case.check_mount()


def test_umount_of_a_killed_mount_says_what_is_left(dirty, run_unshard):
    dirty.case.mount.process.kill()
    dirty.case.mount.process.wait()
    done = run_unshard("umount", dirty.point)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{dirty.spool}: 3 chunks (18 kB) stay in the spool" in done.stderr
    assert "the next mount of the same source publishes them" in done.stderr
    dirty.assert_unmounted()
    dirty.mount_again()
    dirty.case.check()


def test_umount_of_a_killed_mount_with_nothing_left_is_content(dirty, run_unshard):
    assert run_unshard("flush", dirty.point).returncode == 0
    dirty.case.mount.process.kill()
    dirty.case.mount.process.wait()
    done = run_unshard("umount", dirty.point)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    dirty.assert_unmounted()


def test_a_source_whose_path_is_not_utf8_is_published_and_unmounted(work, mount, run_unshard):
    """Surrogates, an overlong form and a stray byte, in the names of source, spool and dataset."""
    odd = b"\xed\xa0\x80 \xc0\xaf \\ \xff"
    case = WriteCase("zarr-nested", work, mount, PATIENT)
    case.mount.unmount()
    top = pathlib.Path(os.fsdecode(os.fsencode(work / "top") + odd))
    array = top / os.fsdecode(b"data" + odd)
    os.rename(case.top, top)
    os.rename(top / "data", array)
    mounted = mount(top, f"{PATIENT},spool={top.parent / os.fsdecode(b'spools' + odd)}")
    point = mounted.path

    def put(name, version):
        (point / array.name / name).write_bytes(case.bytes_for(name, version))

    def stored(name):
        shard = array / case.source.shard_path(name).relative_to(case.source.path)
        return case.bytes_for(name, 1) in shard.read_bytes()

    put(case.names[0], 1)
    status = json.loads((point / ".unshard/status.json").read_bytes())
    assert status["source"].encode() == os.fsencode(work / "top") + (
        b"\0ed\0a0\x0080 \0c0\0af \\ \0ff")
    done = run_unshard("status", point)
    assert (done.returncode, done.stderr) == (0, "") and "\\xff" in done.stdout
    assert run_unshard("flush", point).returncode == 0
    assert stored(case.names[0])
    put(case.names[1], 1)
    done = run_unshard("umount", point)
    assert (done.returncode, done.stderr) == (0, "")
    mounted.ended = True
    assert stored(case.names[1])


@contextlib.contextmanager
def held(shard):
    """Takes the lock under which a shard is replaced, as another writer does."""
    with open(f"{shard}.__lock", "wb") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield


class Terminal:
    """A command under way with some of its outputs on a terminal, the others in pipes."""

    def __init__(self, command, outputs):
        self.own, theirs = os.openpty()
        self.text = ""
        streams = {name: theirs if name in outputs else subprocess.PIPE
                   for name in ("stdout", "stderr")}
        self.process = subprocess.Popen([str(word) for word in command], **streams)
        os.close(theirs)

    def read(self):
        """Collects what comes to the terminal next; False where nothing comes any more, or soon."""
        if not select.select([self.own], [], [], BOUND)[0]:
            return False
        try:
            self.text += os.read(self.own, 65536).decode()
        except OSError:  # nobody has the other side any more
            return False
        return True

    def read_until(self, condition):
        while not condition(self.text):
            assert self.read(), f"ended, or not within {BOUND} s: {self.text!r}"

    def finish(self):
        """(exit code, all that came to the terminal, all that came through pipes)"""
        piped = b"".join(part or b"" for part in self.process.communicate(timeout=BOUND))
        while self.read():
            pass
        return self.process.returncode, self.text, piped.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.own)


@pytest.mark.parametrize("command", ["flush", "umount"])
def test_a_terminal_is_shown_how_far_publishing_is(dirty, unshard_binary, command):
    lock = contextlib.ExitStack()
    lock.enter_context(held(dirty.single))
    # The lock goes first, whatever happens: a process that waits for an answer cannot be killed.
    with Terminal([unshard_binary, command, dirty.point], ["stderr"]) as shown, lock:
        shown.read_until(lambda text: "2 of 3 chunks published" in text)
        assert shown.process.poll() is None, "a chunk is not published yet"
        lock.close()
        code, text, piped = shown.finish()
    assert (code, piped) == (0, "")
    assert text.startswith("\r[" + "." * 40 + "] 0 of 3 chunks published")
    assert "\r[" + "#" * 26 + "." * 14 + "] 2 of 3 chunks published" in text
    assert text.endswith("\r\x1b[K"), "the line is taken away at the end"
    if command == "umount":
        dirty.assert_unmounted()
    dirty.case.check_source()


def test_flush_does_not_wait_for_ever_for_another_writer_of_a_shard(dirty, run_unshard):
    with held(dirty.single):
        done = run_unshard("flush", dirty.point)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{dirty.single}.__lock: another process" in done.stderr
        assert f"unshard: {dirty.spool}: " in done.stderr
        assert dirty.case.write_status()["dirty_chunks"] == 1
    done = run_unshard("flush", dirty.point)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    dirty.case.check_source()


def test_a_signal_ends_a_flush_that_waits(dirty, unshard_binary):
    with held(dirty.single), subprocess.Popen([unshard_binary, "flush", dirty.point]) as flushing:
        assert wait_until(lambda: dirty.case.write_status()["dirty_chunks"] == 1, BOUND)
        flushing.send_signal(signal.SIGINT)
        assert flushing.wait(BOUND) != 0
        assert dirty.case.write_status()["dirty_chunks"] == 1
    dirty.case.check_mount()


def test_a_mount_ends_at_a_signal_while_another_writer_holds_a_shard(dirty):
    process = dirty.case.mount.process
    with held(dirty.single):
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND) == 0
        dirty.assert_unmounted()
    dirty.mount_again()
    assert dirty.case.write_status()["dirty_chunks"] == 1
    dirty.case.check_mount()


@pytest.mark.parametrize("command", ["flush", "umount"])
@pytest.mark.parametrize("outputs, chunks", [(["stdout"], Dirty.CHUNKS), (["stdout", "stderr"], 0)],
                         ids=["no terminal", "nothing to publish"])
def test_no_bar_is_drawn_without_a_terminal_or_without_chunks(
        dirty, unshard_binary, run_unshard, command, outputs, chunks):
    if chunks == 0:
        assert run_unshard("flush", dirty.point).returncode == 0
    with Terminal([unshard_binary, command, dirty.point], outputs) as shown:
        assert shown.finish() == (0, "", "")
    if command == "umount":
        dirty.assert_unmounted()
    dirty.case.check_source()
