"""Runs `unshard mount -f` for a test; no process and no mount of it is left afterwards."""

import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

# What takes longer hangs, however slow the machine is.
MOUNT_SECONDS = 120
UNMOUNT_SECONDS = 120
BUSY_SECONDS = 30
END_SECONDS = 60


# What a call gets whose daemon was killed; the last two over io_uring only.
DEAD = (errno.ENOTCONN, errno.ECONNABORTED, errno.ECANCELED, errno.EINTR)


class MountFailed(Exception):
    """The program ended, or ran out of time, before the mount point was mounted."""

    def __init__(self, message, returncode=None, log=""):
        super().__init__(f"{message}\n{log}".rstrip())
        self.returncode = returncode
        self.log = log


def mounted_at(path):
    """The file system type mounted on `path`, or None. Reads the kernel's table of mounts, because
    asking the mount itself may hang."""
    wanted = os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path)
    for line in pathlib.Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
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


def freeze(pid):
    """Stops a process until SIGCONT. Waits until all its threads have stopped, because on a loaded
    machine some run on for a while after the signal."""
    def frozen():
        try:
            states = [task.read_text().rpartition(")")[2].split()[0]
                      for task in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
        except OSError:  # a thread has ended
            return False
        return set(states) == {"T"}

    os.kill(pid, signal.SIGSTOP)
    assert wait_until(frozen, 60), pid


# Runs a command in a mount namespace without the mounts of the tests beside this one.
OWN_NAMESPACE = (str(pathlib.Path(__file__).with_name("own_namespace")), "--")


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
        """Sends a signal and returns the exit code. Does not check the code, nor that the mount is gone."""
        self.ended = True
        if self.process.poll() is None:
            os.kill(daemon_of(self), number)
        return self.process.wait(UNMOUNT_SECONDS)

    def unmount(self):
        """Unmounts. AssertionError where the mount is busy or left, or the exit code is not 0."""
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
        """Calls fusermount3 -u, again while it is busy: threads of a library may still have a file open."""
        end = time.monotonic() + BUSY_SECONDS
        while True:
            done = subprocess.run(["fusermount3", "-u", str(self.path)], capture_output=True,
                                  text=True, timeout=UNMOUNT_SECONDS)
            if "busy" not in done.stderr or time.monotonic() > end:
                return done
            time.sleep(0.1)

    def _force(self):
        """Unmounts and kills whatever is left, in any state."""
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
    """Sends SIGKILL to the daemon, asserts that it ends, and unmounts what it left."""
    os.kill(daemon_of(mounted), signal.SIGKILL)
    assert_ends(mounted)
    clear_away(mounted)


def assert_ends(mounted, others=()):
    """Asserts that the killed daemon ends, and that no thread of `others`, which use the mount, hangs.

    A thread of the daemon that hangs in the kernel keeps the process a zombie that cannot be waited
    for, and keeps its device open; then the programs that use the mount are in uninterruptible sleep.
    Nothing may be unmounted before this check: a forced unmount would end, and so hide, what hangs.
    """
    processes = [mounted.process.pid, *others]
    try:
        mounted.process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        states = thread_states(processes)
        clear_away(mounted)
        raise AssertionError(f"the killed daemon does not end: {states}") from None
    asleep = {}

    def is_free():
        asleep.clear()
        asleep.update({thread: state for thread, state in thread_states(others).items()
                       if state[0] == "D"})
        return not asleep

    if not wait_until(is_free, END_SECONDS):
        clear_away(mounted)
        raise AssertionError(f"hang after the daemon's end: {asleep}")


def thread_states(processes):
    """{thread id: "D where in the kernel"} of all threads of these processes that are left."""
    states = {}
    for process in processes:
        for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
            with contextlib.suppress(OSError):
                state = (task / "stat").read_text().rpartition(")")[2].split()[0]
                states[task.name] = f"{state} {(task / 'wchan').read_text()}"
    return states


def daemon_of(mounted):
    """The daemon's process id here, whatever it was started through (`prefix`: unshare, strace)."""
    process = mounted.process.pid
    while pathlib.Path(f"/proc/{process}/comm").read_text() in ("unshare\n", "strace\n"):
        [process] = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return int(process)


def guardian_of(mounted):
    """The process id of the guardian of a mount (fs/kernel/guardian.h)."""
    daemon = mounted.status()["pid"]

    def named():
        children = pathlib.Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()
        return [int(child) for child in children
                if pathlib.Path(f"/proc/{child}/comm").read_text() == "unshard-guard\n"]
    # It takes its name after it was started.
    assert wait_until(named, 20), f"process {daemon} has no guardian"
    return named()[0]


def clear_away(mounted):
    """Unmounts what a dead daemon left, also where programs still use it."""
    mounted.ended = True
    for how in ("-f", "-l"):
        if mounted_at(mounted.path):
            subprocess.run(["umount", how, str(mounted.path)], capture_output=True, timeout=30)
    assert mounted_at(mounted.path) is None
    mounted.process.wait(30)


def remove_tree(path):
    """Removes a work directory, but never walks into a mount that was left in it."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
        point = line.split()[4]
        assert not point.startswith(str(path) + "/"), f"{point} is still mounted"
    # Killed mounts leave records of their spools there, for an `unshard umount`.
    below = f"{path}/".replace("%", "%25").replace("/", "%2F")
    for record in pathlib.Path("/run/unshard").glob("*"):
        if record.name.startswith(below):
            record.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
