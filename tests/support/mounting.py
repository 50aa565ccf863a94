"""Runs `unshard mount -f` for a test and guarantees that nothing of it stays behind."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

MOUNT_SECONDS = 30
UNMOUNT_SECONDS = 30
BUSY_SECONDS = 10


class MountFailed(Exception):
    """The program ended, or ran out of time, before the mount point was mounted."""

    def __init__(self, message, returncode=None, log=""):
        super().__init__(f"{message}\n{log}".rstrip())
        self.returncode = returncode
        self.log = log


def mounted_at(path):
    """The file system type mounted on `path`, or None. Asks the kernel's table, never the mount."""
    wanted = os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path)
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), fields.split()[4])
        if point == wanted:
            return rest.split()[0]
    return None


def wait_until(condition, seconds, pause=0.01):
    """Whether `condition()` became true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


class Mount:
    """One `unshard mount -f SRC MNT` under way. Use through the `mount` fixture or `with`.

    path      pathlib.Path of the mount point
    process   the subprocess.Popen of the program
    """

    def __init__(self, binary, source, point, log_path, options="", arguments=(), environment=None,
                 prefix=(), seconds=MOUNT_SECONDS):
        self.path = pathlib.Path(point)
        self.log_path = pathlib.Path(log_path)
        self.ended = False
        self.path.mkdir(parents=True, exist_ok=True)
        command = [*map(str, prefix), str(binary), "mount", "-f", str(source), str(self.path)]
        if options:
            command += ["-o", options if isinstance(options, str) else ",".join(options)]
        command += map(str, arguments)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **(environment or {})})
        try:
            self._wait_until_mounted(seconds)
        except BaseException:
            self._force()
            raise

    def _wait_until_mounted(self, seconds):
        wait_until(lambda: mounted_at(self.path) or self.process.poll() is not None, seconds)
        if self.process.poll() is not None:
            raise MountFailed(f"unshard mount ended with {self.process.returncode}",
                              self.process.returncode, self.log())
        if not mounted_at(self.path):
            raise MountFailed(f"not mounted after {seconds} s", None, self.log())

    def log(self):
        """Everything the program wrote to stdout and stderr so far."""
        return self.log_path.read_text(errors="replace")

    def control(self, name):
        """The text of the control file `.unshard/<name>`."""
        return (self.path / ".unshard" / name).read_text()

    def status(self):
        """`.unshard/status.json`, parsed."""
        return json.loads(self.control("status.json"))

    def terminate(self, number=signal.SIGTERM):
        """Sends a signal and returns the exit code; the test judges it and what stays mounted."""
        self.ended = True
        self.process.send_signal(number)
        return self.process.wait(UNMOUNT_SECONDS)

    def unmount(self):
        """Unmounts cleanly; what is not clean (busy, exit code, mount left) is an AssertionError."""
        if self.ended:
            self._force()
            return
        self.ended = True
        problem = ""
        if mounted_at(self.path):
            done = self._detach()
            if done.returncode != 0:
                problem = f"fusermount3 -u: {done.stderr.strip()}"
        if not problem:
            try:
                code = self.process.wait(UNMOUNT_SECONDS)
                problem = "" if code == 0 else f"unshard mount ended with {code}"
            except subprocess.TimeoutExpired:
                problem = f"unshard mount still runs {UNMOUNT_SECONDS} s after the unmount"
        if not problem and mounted_at(self.path):
            problem = f"{self.path} is still mounted although the program ended"
        self._force()
        assert not problem, f"{problem}\n{self.log()}"

    def _detach(self):
        """fusermount3 -u, again while the threads of some library still have a file open."""
        end = time.monotonic() + BUSY_SECONDS
        while True:
            done = subprocess.run(["fusermount3", "-u", str(self.path)], capture_output=True,
                                  text=True, timeout=UNMOUNT_SECONDS)
            if "busy" not in done.stderr or time.monotonic() > end:
                return done
            time.sleep(0.1)

    def _force(self):
        """Takes away whatever is left, whatever state it is in."""
        if mounted_at(self.path):
            subprocess.run(["fusermount3", "-u", "-z", str(self.path)], capture_output=True)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if mounted_at(self.path):
            subprocess.run(["umount", "-l", str(self.path)], capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.unmount()
        else:
            self._force()


def kill(mounted):
    """SIGKILL to the daemon, and the dead mount taken away."""
    mounted.process.send_signal(signal.SIGKILL)
    clear_away(mounted)


def clear_away(mounted):
    """Unmounts what a dead daemon left, by force.

    A thread of the daemon that told the kernel of a changed name may wait in there for somebody who
    waits for the daemon: only an abort of the connection, which is what force means, ends both.
    """
    mounted.ended = True
    for how in ("-f", "-l"):
        if mounted_at(mounted.path):
            subprocess.run(["umount", how, str(mounted.path)], capture_output=True, timeout=30)
    assert mounted_at(mounted.path) is None
    mounted.process.wait(30)


def remove_tree(path):
    """Removes a work directory, but never walks into a mount that was left in it."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split()[4]
        assert not point.startswith(str(path) + "/"), f"{point} is still mounted"
    shutil.rmtree(path, ignore_errors=True)
