"""autofs: automount(8) of the Debian package mounts through the helper when somebody looks."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from mount_data import VersionedVolume
from mounting import OWN_NAMESPACE, wait_until

BOUND = 60

# automount(8) is told to end once the dataset was read and unmounted; `timeout` bounds what may hang.
SCRIPT = """
set -eu
mount -t overlay overlay -o lowerdir='{work}/sbin':/usr/sbin /usr/sbin
automount -f -p '{work}/pid' '{work}/auto.master' 2>'{work}/log' &
automount=$!
trap 'kill -KILL $automount; umount -l "{work}/auto/volume" "{work}/auto" 2>/dev/null || :' EXIT
until grep -q ' {work}/auto autofs ' /proc/self/mounts; do sleep 0.05; kill -0 $automount; done
timeout 20 cat '{work}/auto/volume/{name}' > '{work}/seen'
grep -q ' {work}/auto/volume fuse.unshard ' /proc/self/mounts
cat '{work}/auto/volume/.unshard/status.json'
umount '{work}/auto/volume'
kill -TERM $automount
wait $automount
trap - EXIT
"""


@pytest.fixture
def needs_autofs():
    if os.getuid() != 0:
        pytest.skip("needs root: mounts in a namespace of its own")
    if not re.search(r"\tautofs$", pathlib.Path("/proc/filesystems").read_text(), re.MULTILINE):
        pytest.skip("this kernel has no autofs (/proc/filesystems)")


def test_automount_mounts_what_somebody_looks_at(needs_autofs, work, unshard_binary):
    source = VersionedVolume(work / "source")
    for folder in ("sbin", "auto"):
        (work / folder).mkdir()
    (work / "sbin/mount.unshard").symlink_to(unshard_binary)
    (work / "auto.master").write_text(f"{work}/auto {work}/auto.map --timeout=300\n")
    (work / "auto.map").write_text(f"volume -fstype=unshard,ro :{source.path}\n")
    done = subprocess.run(
        [*OWN_NAMESPACE, "sh", "-c",
         SCRIPT.format(work=work, name=source.names[0])],
        capture_output=True, text=True, timeout=BOUND)
    log = (work / "log").read_text() if (work / "log").exists() else ""
    assert done.returncode == 0, f"{done.stderr}\n{log}"
    assert (work / "seen").read_bytes() == source.expected(0, 1)
    status = json.loads(done.stdout)
    assert status["mount_point"] == str(work / "auto/volume")
    assert wait_until(lambda: not is_running(status["pid"]), BOUND)


def is_running(process):
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
