"""What writing is measured on: mounts with a spool of their own, and an xfs in a file."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from mounting import Mount, remove_tree

XFS_BYTES_PER_SHARD_BYTE = 4


@contextlib.contextmanager
def work_folder(data):
    """A folder on the disk of the datasets, gone afterwards."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="writing-", dir=data))
    try:
        yield path
    finally:
        remove_tree(path)


@contextlib.contextmanager
def fresh_folder(work, name):
    path = work / name
    path.mkdir()
    try:
        yield path
    finally:
        remove_tree(path)


class Writable:
    """An unshard program that mounts `source` for writing. Use with `with`."""

    def __init__(self, program, source, folder, options=""):
        spool = folder / "spool"
        every = ",".join(filter(None, [f"spool={spool}", options]))
        self.mount = Mount(program, source, folder / "mnt", folder / "mount.log", every)
        self.path = self.mount.path
        self.pid = self.mount.process.pid
        self.written_before = self._io()["wchar"]

    def flush(self):
        """All that is committed stands in the shards when this returns: what `unshard flush` does,
        without starting a program."""
        os.setxattr(self.path / ".unshard", "user.unshard.flush", b"")

    def figures(self):
        """What the daemon has used so far, in the names that peer_writer.py gives them."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s*(\d+)", status)[1])
        counts = re.findall(r'^unshard_requests_total\{operation="(\w+)"\} (\d+)', self.metrics(),
                            re.MULTILINE)
        return {"memory": {"VmHWM": peak}, "written": self._io()["wchar"] - self.written_before,
                "published": self.mount.status()["write"]["bytes_published"],
                "requests": {name: int(count) for name, count in counts if int(count)}}

    def metrics(self):
        return self.mount.control("metrics")

    def _io(self):
        lines = pathlib.Path(f"/proc/{self.pid}/io").read_text().splitlines()
        return {name: int(value) for name, value in (line.split(": ") for line in lines)}

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.mount.__exit__(kind, value, trace)


class Xfs:
    """A loop-mounted xfs that can clone files. Use with `with`."""

    def __init__(self, folder, size):
        self.image = folder / "xfs.image"
        self.path = folder / "xfs"
        self.size = max(size, 512 << 20)  # what mkfs.xfs makes at least is 300 MB

    @staticmethod
    def reason_to_leave_out():
        if os.geteuid() != 0:
            return "not root"
        if not shutil.which("mkfs.xfs"):
            return "no mkfs.xfs (package xfsprogs)"
        return None

    def __enter__(self):
        with open(self.image, "wb") as image:
            image.truncate(self.size)
        subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", self.image], check=True)
        self.path.mkdir()
        done = subprocess.run(["mount", "-o", "loop", self.image, self.path], capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise OSError(done.stderr.strip())
        return self.path

    def __exit__(self, kind, value, trace):
        subprocess.run(["umount", self.path], check=True)
        self.image.unlink()
