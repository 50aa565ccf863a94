"""Servers that mean harm: what they send is refused in time and within the memory cap, never believed.

The server is tests/servers/hostile_store, as a web server and as S3.
"""

import errno
import pathlib
import subprocess
import sys
import time

import pytest

from mount_data import PrecomputedVolume, ZarrTree
from mounting import MountFailed, daemon_of

SERVER = pathlib.Path(__file__).resolve().parents[1] / "servers" / "hostile_store"
SECONDS = 60
MEMORY = 64 << 20  # of the option memory=
# The program, its libraries and threads, and two whole objects of the largest size on their way.
BESIDE = (48 + 2 * 64) << 20
MANNERS = ["endless", "headers", "bomb", "huge", "short", "total", "elsewhere", "local", "nothing"]


@pytest.fixture(scope="module")
def volume(module_work):
    (module_work / "served").mkdir(exist_ok=True)
    return PrecomputedVolume(module_work / "served" / "volume")


@pytest.fixture(scope="module")
def tree(module_work):
    (module_work / "served").mkdir(exist_ok=True)
    return ZarrTree(module_work / "served" / "tree")


@pytest.fixture(scope="module")
def url(volume, tree, module_work):
    process = subprocess.Popen([sys.executable, str(SERVER), str(module_work / "served")], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait()
    process.stdout.close()


@pytest.fixture(autouse=True)
def no_settings_of_ours(no_credentials, monkeypatch, work, url):
    monkeypatch.setenv("HOME", str(work / "home"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)


def peak_bytes(mounted):
    status = pathlib.Path(f"/proc/{daemon_of(mounted)}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def mount_or_reason(mount, source, *options):
    """(the mount, None) or (None, its log); either comes in time."""
    begun = time.monotonic()
    try:
        return mount(source, [f"memory={MEMORY >> 20}M", *options], seconds=SECONDS), None
    except MountFailed as failed:
        assert failed.returncode == 1, f"{failed}: after {time.monotonic() - begun:.0f} s"
        return None, failed.log


def chunks_of(source, mounted):
    """{path in the mount: bytes} of a few chunks that are there."""
    if isinstance(source, PrecomputedVolume):
        return {mounted.path / key / name: data for key in ("fine", "coarse")
                for name, data in list(source.chunks(key).items())[::9]}
    return {mounted.path / "image" / name: data for name, data in list(source.chunks().items())[::40]}


@pytest.mark.parametrize("kind", ["volume", "tree"])
def test_an_honest_server_is_believed(kind, url, volume, tree, mount):
    mounted = mount(f"{url}/honest/{kind}")
    source = volume if kind == "volume" else tree
    for path, data in chunks_of(source, mounted).items():
        assert path.read_bytes() == data


@pytest.mark.parametrize("manner", MANNERS)
def test_documents_that_are_no_documents_fail_the_mount_in_time(manner, url, mount):
    mounted, log = mount_or_reason(mount, f"{url}/{manner}/volume")
    assert mounted is None and "/volume" in log, log
    assert len(log) < 4000 and "root:" not in log, log


@pytest.mark.parametrize("kind", ["volume", "tree"])
@pytest.mark.parametrize("manner", MANNERS)
def test_shards_that_are_no_shards_are_errors(kind, manner, url, volume, tree, mount):
    mounted, log = mount_or_reason(mount, f"{url}/{manner}-shards/{kind}")
    assert mounted, log
    source = volume if kind == "volume" else tree
    for path, data in list(chunks_of(source, mounted).items())[:2]:
        begun = time.monotonic()
        try:
            assert path.read_bytes() == data, "a total that is too large may go unnoticed"
            assert manner == "total"
        except OSError as error:
            # Where a size that is a lie leads nowhere, the shard seems to change each time.
            allowed = (errno.ESTALE,) if manner == "total" else ()
            assert error.errno in (errno.EIO, errno.ETIMEDOUT, errno.EOPNOTSUPP, *allowed), error
        assert time.monotonic() - begun < SECONDS, "a request ends after 30 s"
    assert mounted.status()["pid"] == daemon_of(mounted), "it still answers"
    assert peak_bytes(mounted) <= MEMORY + BESIDE, peak_bytes(mounted)


def listed(path, seconds=20):
    """The names, by a program that is ended after a while: None."""
    try:
        done = subprocess.run(["find", str(path), "-mindepth", "1", "-maxdepth", "1", "-print0"],
                              capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return [name.rpartition(b"/")[2].decode() for name in done.stdout.split(b"\0") if name]


def test_names_in_listings_lead_nowhere_else(url, volume, mount):
    mounted, log = mount_or_reason(mount, "s3://tricks/volume", "anonymous")
    assert mounted, log
    names = listed(mounted.path)
    assert {"fine", "coarse", "info", "notes.txt", "plain.txt", "same"} <= set(names)
    assert len(names) == len(set(names)), "a name stands once"
    for name in names:
        assert name not in ("", ".", "..") and "/" not in name and "\0" not in name
        assert len(name.encode()) <= 255
    for name in ("plain.txt", "same", "x" * 255, "..\\up", "%2e%2e"):
        with pytest.raises(OSError):
            (mounted.path / name).read_bytes()
    for path, data in chunks_of(volume, mounted).items():
        assert path.read_bytes() == data
    assert peak_bytes(mounted) <= MEMORY + BESIDE


@pytest.mark.parametrize("manner", ["many", "circle", "entities", "deep"])
def test_listings_without_an_end_end(manner, url, volume, mount):
    begun = time.monotonic()
    mounted, log = mount_or_reason(mount, f"s3://{manner}/volume", "anonymous")
    assert time.monotonic() - begun < SECONDS
    if mounted is None:
        assert manner in log, log
        return
    listed(mounted.path, 5)
    for path, data in chunks_of(volume, mounted).items():
        assert path.read_bytes() == data, "the other names are still found"
    assert peak_bytes(mounted) <= MEMORY + BESIDE, peak_bytes(mounted)
