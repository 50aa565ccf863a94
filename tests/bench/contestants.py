"""Who is measured: ways to get at the same chunks.

A file contestant shows the dataset as a tree of chunk files under `root` between start() and stop();
a direct one is a program that reads the sharded dataset itself. All load comes from the same programs.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from dataset import page_size
from mounting import mounted_at, wait_until

HERE = pathlib.Path(__file__).resolve().parent
MOUNT_SECONDS = 30


def peak_of(command):
    """Runs a program; returns its highest resident memory in kB. What wait4 says of it is at least that
    of this process when it forked."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    peak = 0
    while process.poll() is None:
        found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        peak = int(found[1]) if found else peak  # it has ended where there is none
        time.sleep(0.005)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[1]} failed with {process.returncode}")
    return peak


class Plain:
    """The plain files themselves: what every ratio is relative to."""

    name = "plain"
    shows_files = True
    reads_chunks = True
    mount_seconds = 0

    def start(self, dataset):
        self.root = dataset.plain

    def stop(self):
        pass

    def memory(self):
        return None


class Mounted:
    """A file system in user space. `command(dataset, point)` runs it in the foreground."""

    shows_files = True
    reads_chunks = True

    def __init__(self, name, command, work):
        self.name = name
        self.command = command
        self.point = pathlib.Path(work) / f"mnt-{name}"
        self.log_path = pathlib.Path(work) / f"{name}.log"
        self.process = None

    def start(self, dataset):
        self.point.mkdir(exist_ok=True)
        command = [str(part) for part in self.command(dataset, self.point)]
        since = time.perf_counter()
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: mounted_at(self.point) or self.process.poll() is not None, MOUNT_SECONDS,
                   0.002)
        if not mounted_at(self.point):
            raise RuntimeError(f"{self.name} did not mount: {self.log_path.read_text()}")
        self.root = self.point
        os.listdir(self.root)  # answers, so it is ready
        self.mount_seconds = time.perf_counter() - since

    def stop(self):
        if self.process is None:
            return
        if mounted_at(self.point):
            subprocess.run(["fusermount3", "-u", self.point], capture_output=True)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if mounted_at(self.point):
            subprocess.run(["fusermount3", "-u", "-z", self.point], check=True)
        self.process = None

    def memory(self):
        """Resident memory of the daemon in kB: now and at its highest."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        return {key: int(fields[key].split()[0]) for key in ("VmRSS", "VmHWM")}


class Bare:
    """Index look-up, pread and inflate, and nothing else."""

    name = "bare"
    shows_files = False

    def __init__(self, program):
        self.program = program

    def read(self, dataset, count, threads, seed):
        make = dataset.make
        data = make.encoding if make.format == "precomputed" else "raw"  # Zarr chunks stay encoded
        return run_json([self.program, make.format, make.encoding, data, page_size(make),
                         dataset.list, count, threads, seed])


class TensorStore:
    """TensorStore reading the sharded dataset; it decodes, so gzip costs it more."""

    name = "tensorstore"
    shows_files = False

    def read(self, dataset, count, threads, seed):
        return run_json([sys.executable, HERE / "tensorstore_reader.py", dataset.make.format,
                         f"file://{dataset.sharded}/", dataset.list, count, threads, seed])


def run_json(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def writable(binary, options, work):
    """A mount that could be written to, with a spool of its own: what that costs its readers."""
    spool = f"spool={pathlib.Path(work) / 'writable-spool'}"
    mount = unshard("writable", binary, ",".join(filter(None, [options, "rw", spool])), work)
    mount.warm_only = True  # cold reads cost what they cost a read-only mount
    return mount


def unshard(name, binary, options, work):
    """A read-only mount, unless `options` say otherwise."""
    given = [option for option in options.split(",") if option]
    if not {"ro", "rw"} & set(given):
        given.insert(0, "ro")

    def command(dataset, point):
        return [binary, "mount", "-f", dataset.sharded, point, "-o", ",".join(given)]
    return Mounted(name, command, work)


def squashfuse(work):
    def command(dataset, point):
        return ["squashfuse_ll", "-f", dataset.image, point]
    return Mounted("squashfuse", command, work)


def floor(name, program, mode, work):
    """A FUSE daemon that does nothing but answer with names and sizes from memory, and zeros: no other
    can be faster."""
    mount = Mounted(name, lambda dataset, point: [program, dataset.plain, point, mode], work)
    mount.reads_zeros = True
    return mount


def writable_floor(program, work):
    mount = floor("writable floor", program, "rw", work)
    mount.warm_only = True
    return mount


def passthrough(program, work):
    def command(dataset, point):
        return [program, "--foreground", dataset.plain, point]
    return Mounted("passthrough", command, work)


def find_passthrough(cache, download):
    """libfuse's example passthrough_hp: from PATH, from `cache`, or built from Debian's source."""
    found = shutil.which("passthrough_hp") or shutil.which("passthrough_hp", path=cache)
    if found or not download:
        return found
    try:
        with tempfile.TemporaryDirectory() as directory:
            build_passthrough(pathlib.Path(directory), pathlib.Path(cache) / "passthrough_hp")
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"passthrough_hp cannot be built: {error}", file=sys.stderr)
    return shutil.which("passthrough_hp", path=cache)


def build_passthrough(directory, target):
    codename = subprocess.run(["sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME"], check=True,
                              capture_output=True, text=True).stdout.strip()
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)"], check=True,
        capture_output=True, text=True).stdout.splitlines()
    mirrors = [line.split()[0] for line in targets if line.split()[1:] == [codename, "main"]]
    if not mirrors:
        raise OSError(f"apt knows no mirror of {codename}")
    (directory / "sources").write_text(
        f"deb-src [signed-by={keyring}] {mirrors[0]} {codename} main\n")
    (directory / "lists/partial").mkdir(parents=True)
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={directory}/sources",
           "-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={directory}/lists",
           "-o", f"Dir::Cache={directory}", "-o", "APT::Sandbox::User=root"]
    quiet = {"check": True, "capture_output": True, "cwd": directory}
    subprocess.run([*apt, "update"], **quiet)
    subprocess.run([*apt, "source", "--download-only", "fuse3"], **quiet)
    [archive] = directory.glob("fuse3_*.orig.tar.xz")
    subprocess.run(["tar", "-xf", archive, "--strip-components=1"], **quiet)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], check=True,
                           capture_output=True, text=True).stdout.split()
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["c++", "-O2", "-std=c++17", "-o", target.resolve(),
                    directory / "example/passthrough_hp.cc", *flags, "-pthread"], **quiet)
