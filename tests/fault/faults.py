"""Machinery of the fault tests: writer processes, a watcher of the source, small disks, strace."""

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

from line_source import Torn
from mounting import DEAD, assert_ends, clear_away, guardian_of, kill, mounted_at, wait_until  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent
# Before a daemon: in a pid namespace of its own the kernel does not tell it which process asks.
# Killed there, it takes its guardian with it.
OTHER_PIDS = ("unshare", "--pid", "--fork", "--kill-child")


def flush(mounted):
    """As `unshard flush`: OSError where something that was committed could not be published."""
    os.setxattr(pathlib.Path(mounted.path) / ".unshard", "user.unshard.flush", b"")


def write_state(mounted):
    """The member "write" of status.json."""
    return mounted.status()["write"]


@contextlib.contextmanager
def locked(path):
    """Holds the lock of a shard as another writer of it does."""
    with open(f"{path}.__lock", "wb") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield


# ------------------------------------------------------------------------------------- programs


class Writers:
    """Processes of chunk_writer.py under way. `with`: none is left at the end."""

    def __init__(self):
        self.processes = []

    def start(self, source, root, journal, writer, seconds, ways, **more):
        pathlib.Path(journal).mkdir(exist_ok=True)
        order = {"source": source.as_json(root), "journal": str(journal), "writer": writer,
                 "seconds": seconds, "ways": list(ways), **more}
        self.processes.append(subprocess.Popen(
            [sys.executable, "-B", "-S", str(HERE / "chunk_writer.py"), json.dumps(order)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def await_ready(self):
        """Every program has come to the mount: only from now on may its daemon be killed."""
        for process in self.processes:
            if process.stdout.readline() != "ready\n":
                raise AssertionError(process.communicate(timeout=30)[1])

    def wait(self, seconds):
        """Every program must end by itself, and well."""
        deadline = time.monotonic() + seconds
        for process in self.processes:
            _, complaint = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
            assert process.returncode == 0, complaint
        self.processes.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


class SourceWatch:
    """Reads the source by TensorStore again and again: it must be readable, and whole, always."""

    def __init__(self, source, pause=0.02):
        self.source, self.pause = source, pause
        self.reads, self.findings = 0, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        while not self.over.wait(self.pause):
            try:
                self.source.read_values()
                self.reads += 1
            except (Torn, ValueError) as fault:
                self.findings.append(str(fault))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


# --------------------------------------------------------------------------------------- strace


def strace(log, calls, inject=None):
    """What to put before a program so that these system calls of it are traced, or hurt."""
    prefix = ["strace", "-f", "-qq", "-s", "0", "-y", "-o", str(log), "-e", f"trace={calls}"]
    # With --seccomp-bpf a signal is not injected, although an error is.
    if not inject or not inject.startswith("signal"):
        prefix += ["--seccomp-bpf", "-e", "signal=none"]
    return prefix + (["-e", f"inject={calls}:{inject}"] if inject else [])


@contextlib.contextmanager
def attached(mounted, calls, inject, files=()):
    """strace of a mount that is there: its start makes such calls as well. `files`: only calls on
    these are hurt."""
    tracer = subprocess.Popen(["strace", "-f", "-p", str(mounted.process.pid), "-e", f"trace={calls}",
                               "-e", f"inject={calls}:{inject}",
                               *(word for file in files for word in ("-P", str(file)))],
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        while "attached" not in (line := tracer.stderr.readline()):
            assert "Requested path" in line, line  # it is resolved
        yield
    finally:
        tracer.kill()  # it lets go of what it traces; asked to end, it may wait for a dead thread
        tracer.communicate(timeout=30)


TRACED = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)", re.MULTILINE)


def traced_calls(log):
    """[(thread, call, its arguments as text, result)] of a log of strace; split lines are joined."""
    lines, begun = [], {}
    for line in pathlib.Path(log).read_text(errors="replace").splitlines():
        thread, _, rest = line.partition(" ")
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            begun[thread] = rest.removesuffix("<unfinished ...>")
        elif rest.startswith("<... ") and thread in begun:
            lines.append(f"{thread} {begun.pop(thread)}{rest.partition('resumed>')[2]}")
        else:
            lines.append(f"{thread} {rest}")
    return [(found[1], found[2], found[3], int(found[4]))
            for found in map(TRACED.match, lines) if found]


# ---------------------------------------------------------------------------------- small disks


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts file systems of its own")


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True, timeout=60).stdout


SMALLEST = {"ext4": 96 << 20, "xfs": 320 << 20, "btrfs": 160 << 20}
MAKE = {"ext4": ["mkfs.ext4", "-q", "-m", "0"], "xfs": ["mkfs.xfs", "-q"],
        "btrfs": ["mkfs.btrfs", "-q"]}


class SmallDisk:
    """A file system in an image file, mounted at `path`. `with` unmounts it."""

    def __init__(self, kind, folder, image=None, size=None):
        needs_root()
        self.kind, self.path = kind, pathlib.Path(folder)
        self.path.mkdir()
        self.image, self.own = pathlib.Path(image or f"{folder}.image"), image is None
        if image is None:
            with open(self.image, "wb") as file:
                file.truncate(size or SMALLEST[kind])
        self._make()
        self.mount()

    def _make(self):
        """mkfs.btrfs looks at all mounts and their loop devices, and fails while another test removes one."""
        def makes():
            done = subprocess.run([*MAKE[self.kind], self.image], capture_output=True, text=True)
            if done.returncode != 0:
                print(done.stderr)
            return done.returncode == 0

        assert wait_until(makes, 120), MAKE[self.kind]

    def mount(self):
        run("mount", "-o", "loop", self.image, self.path)

    def unmount(self):
        if mounted_at(self.path):
            run("umount", self.path)

    def bytes_written(self):
        """What the file system has given to its block device so far, counted by the kernel."""
        number = os.stat(self.path).st_dev
        device = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
        return int(device.read_text().split()[6]) * 512  # sectors, whatever the device's own are

    def fill(self):
        """Takes all the space that there is."""
        step = 64 << 20
        with open(self.path / "filler", "ab") as filler:
            while step >= 4096:
                size = os.fstat(filler.fileno()).st_size
                try:
                    os.posix_fallocate(filler.fileno(), size, step)
                except OSError as error:
                    assert error.errno == errno.ENOSPC, error
                    step //= 2
        # What was reserved, or is left over: in small pieces, synced, until nothing more fits.
        for number in range(4096):
            try:
                with open(self.path / f"filler{number}", "wb", buffering=0) as file:
                    file.write(b"x" * 4096)
                    os.fsync(file.fileno())
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
                return
        raise AssertionError(f"{self.path} does not become full")

    def make_room(self):
        for filler in self.path.glob("filler*"):
            filler.unlink()
        os.sync()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if mounted_at(self.path):
            done = subprocess.run(["umount", str(self.path)], capture_output=True)
            if done.returncode != 0:
                subprocess.run(["umount", "-l", str(self.path)], capture_output=True)
        if self.own:
            self.image.unlink(missing_ok=True)


@contextlib.contextmanager
def failing_device(folder, size=96 << 20):
    """(image file of a block device, fail): fail(True) makes its writes fail with EIO."""
    needs_root()
    folder = pathlib.Path(folder)
    folder.mkdir()
    switch, image = folder / "writes-fail", folder / "device" / "nbd"
    image.parent.mkdir()
    server = subprocess.Popen(
        ["nbdfuse", str(image), "--command", "nbdkit", "-s", "--exit-with-parent",
         "--filter=error", "memory", str(size), "error-pwrite=EIO", "error-pwrite-rate=100%",
         f"error-pwrite-file={switch}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)

    def fail(on):
        switch.touch() if on else switch.unlink(missing_ok=True)

    try:
        assert wait_until(image.exists, 30), "nbdfuse does not start"
        yield image, fail
    finally:
        fail(False)
        subprocess.run(["fusermount3", "-u", "-z", str(image.parent)], capture_output=True)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


