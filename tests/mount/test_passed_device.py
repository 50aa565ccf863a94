"""A mount whose device another process has opened and mounted, as the driver of a container does: the daemon
gets the mount point /dev/fd/N, and may do without the right to mount and without /dev/fuse."""

import contextlib
import ctypes
import errno
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from mount_data import VersionedVolume
from mounting import DEAD, mounted_at, wait_until

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "packaging/container/kubernetes.md"
BOUND = 120
NOBODY = 65534
LIBC = ctypes.CDLL(None, use_errno=True)
# What an unprivileged container has: no capability, and a /dev/fuse that it may not open.
WHO = {"root": {}, "nobody": {"user": NOBODY, "group": NOBODY, "extra_groups": []}}


class Passed:
    """A device that is mounted on `point`, and a daemon that serves it from `source`."""

    def __init__(self, binary, work, who):
        self.binary, self.how, self.point, self.log = binary, WHO[who], work / "point", work / "log"
        self.source, self.spool = VersionedVolume(work / "source"), work / "spool"
        self.point.mkdir()
        self.spool.mkdir(mode=0o700)
        user = self.how.get("user", 0)
        for path in (self.source.path, *self.source.path.rglob("*"), self.spool):
            os.chown(path, user, user)
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = (f"fd={self.device},rootmode=40000,user_id={user},group_id={user},allow_other,"
                   "default_permissions")
        if LIBC.mount(b"source", bytes(self.point), b"fuse.unshard", 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        self.process = None

    def serve(self, *options):
        """Starts the daemon, which then alone holds the device. With -f this process is the daemon."""
        command = [self.binary, "mount", self.source.path, f"/dev/fd/{self.device}",
                   "-o", f"spool={self.spool},publish_after=1000", *options]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, pass_fds=[self.device], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, cwd="/", **self.how)
        self.close()

    def close(self):
        if self.device >= 0:
            os.close(self.device)
        self.device = -1

    def end(self):
        self.close()
        if self.process:
            self.process.kill()
            self.process.wait(BOUND)
        LIBC.umount2(bytes(self.point), 2)  # MNT_DETACH

    def write(self, number, version):
        """Makes version of a chunk; it waits in the spool to be published."""
        (self.point / self.source.names[number]).write_bytes(self.source.expected(number, version))

    def published(self, number, version):
        return self.source.expected(number, version) in self.source.shard_path(
            self.source.shard_of(number)).read_bytes()


@pytest.fixture
def passed(work, unshard_binary):
    if os.getuid() != 0:
        pytest.skip("needs root: mounts by mount(2)")
    with contextlib.ExitStack() as stack:
        def make(who="root"):
            made = Passed(unshard_binary, work, who)
            stack.callback(made.end)
            return made
        yield make


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("options", [["-f"], []], ids=["foreground", "background"])
def test_chunks_are_read_and_written_until_the_mount_is_unmounted(passed, unshard_binary, who, options):
    mount = passed(who)
    mount.serve(*options)
    if not options:
        assert mount.process.wait(BOUND) == 0, mount.log.read_text()
    for number in (0, 5):
        assert (mount.point / mount.source.names[number]).read_bytes() == mount.source.expected(number, 1)
    mount.write(5, 2)
    assert (mount.point / mount.source.names[5]).read_bytes() == mount.source.expected(5, 2)
    listed = subprocess.run([unshard_binary, "list"], check=True, capture_output=True, text=True, timeout=BOUND)
    assert str(mount.point) in listed.stdout
    subprocess.run([unshard_binary, "umount", mount.point], check=True, timeout=BOUND)
    assert mount.process.wait(BOUND) == 0
    assert mounted_at(mount.point) is None and mount.published(5, 2)
    assert "unshard:" not in mount.log.read_text()


@pytest.mark.parametrize("who", WHO)
def test_the_kernel_is_notified_of_changes_of_the_source(passed, who):
    """Also where the daemon may open no second device for that: it does not ask for attributes again by itself."""
    mount = passed(who)
    mount.serve("-f")
    chunk, shard = mount.point / mount.source.names[5], mount.source.shard_of(5)
    before = chunk.stat().st_mtime_ns
    mount.source.publish(shard, 2)
    after = mount.source.shard_path(shard).stat().st_mtime_ns
    assert after != before
    assert wait_until(lambda: chunk.stat().st_mtime_ns == after, BOUND), mount.log.read_text()


def test_a_signal_ends_all_requests_and_publishes(passed):
    mount = passed("nobody")
    mount.serve("-f")
    mount.write(5, 2)
    os.kill(mount.process.pid, signal.SIGTERM)
    assert mount.process.wait(BOUND) == 0, mount.log.read_text()
    assert mount.published(5, 2)
    with pytest.raises(OSError) as refused:
        os.listdir(mount.point)
    assert refused.value.errno == errno.ENOTCONN
    assert mounted_at(mount.point) == "fuse.unshard", "it belongs to the process that made it"


def test_a_killed_daemon_keeps_what_was_closed(passed):
    mount = passed()
    mount.serve("-f")
    mount.write(5, 2)
    mount.process.kill()
    mount.process.wait(BOUND)

    def dead():
        try:
            return not os.listdir(mount.point)
        except OSError as error:
            return error.errno in DEAD
    assert wait_until(dead, BOUND)
    subprocess.run([mount.binary, "spool", "publish", "--spool", mount.spool, mount.source.path], check=True,
                   timeout=BOUND)
    assert mount.published(5, 2)


def test_the_program_in_the_document_mounts(passed):
    """packaging/container/kubernetes.md has the whole of it in a few lines of Python."""
    mount = passed()
    LIBC.umount2(bytes(mount.point), 2)
    program, = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    program = program.replace("/data/h01", str(mount.source.path)).replace("/mnt/h01", str(mount.point))
    path = f"{mount.binary.parent}:{os.environ['PATH']}"
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PATH": path}, timeout=BOUND)
    assert (mount.point / mount.source.names[5]).read_bytes() == mount.source.expected(5, 1)
    subprocess.run([mount.binary, "umount", mount.point], check=True, timeout=BOUND)


@pytest.mark.parametrize("descriptor", ["closed", "file"])
def test_what_is_no_device_is_refused(work, unshard_binary, descriptor):
    source = VersionedVolume(work / "source")
    with open(work / "file", "wb") as file:
        os.set_inheritable(file.fileno(), descriptor == "file")
        done = subprocess.run([unshard_binary, "mount", source.path, f"/dev/fd/{file.fileno()}"], capture_output=True,
                              text=True, close_fds=False, timeout=BOUND)
        assert done.returncode == 1
        assert done.stderr.startswith(f"unshard: /dev/fd/{file.fileno()}: is no open descriptor of /dev/fuse; ")
