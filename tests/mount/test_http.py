"""Sources behind http and https URLs: what a mount of one shows is what a local mount shows.

The servers are nginx, as tests/servers/nginx starts it, and python's http.server, which knows no
ranges and no ETags. nginx makes ETags of a file's size and the second of its modification, so that
each version of a shard gets a time of its own here.
"""

import contextlib
import errno
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import types
import urllib.error
import urllib.request

import pytest

from free_port import free_port
from mount_data import (PrecomputedVolume, VersionedVolume, VersionedZarr, ZarrTree, files_in, kernel_caches,
                        refused)
from mounting import daemon_of, wait_until
from watch_chunks import version_of

SERVERS = pathlib.Path(__file__).resolve().parents[1] / "servers"
SECONDS = 20  # for what happens once the ttl of a second is over
TIME = 1_600_000_000


class Server:
    """A program that serves until `stop`, which ends it by its process id."""

    def __init__(self, *command, lines=1, **more):
        self.process = subprocess.Popen([sys.executable, *map(str, command)], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)
        self.urls = [self.process.stdout.readline().strip() for _ in range(lines)]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def answers(url):
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def python_server(root, port):
    server = Server("-u", "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", root)
    url = f"http://127.0.0.1:{port}"
    assert wait_until(lambda: answers(url), SECONDS)
    return server, url


@pytest.fixture(scope="module")
def served(module_work):
    """The directory that both servers serve: a precomputed volume, a Zarr tree."""
    import zarr

    root = module_work / "served"
    root.mkdir()
    PrecomputedVolume(root / "volume")
    ZarrTree(root / "tree")
    # Else nothing names its array, and no listing has it.
    zarr.consolidate_metadata(root / "tree")
    return root


@pytest.fixture(scope="module")
def nginx(served, module_work):
    server = Server(SERVERS / "nginx", served, module_work / "nginx", lines=2)
    server.http, server.https = server.urls
    server.authority = module_work / "nginx" / "ca.pem"
    server.requests = module_work / "nginx" / "requests"
    assert wait_until(lambda: answers(server.http), SECONDS)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def plain_server(served):
    server, url = python_server(served, free_port())
    yield url
    server.stop()


LOCATIONS = ["plain", "tls", "whole", "untagged", "gzip", "near", "python"]


def url_of(location, nginx, plain_server):
    if location == "python":
        return plain_server
    return f"{nginx.https}/plain" if location == "tls" else f"{nginx.http}/{location}"


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("dataset", ["volume", "tree"])
def test_it_is_what_a_local_mount_shows(location, dataset, served, nginx, plain_server, mount):
    url = url_of(location, nginx, plain_server)
    local = mount(served / dataset, "ro")
    remote = mount(f"{url}/{dataset}", environment={"CURL_CA_BUNDLE": str(nginx.authority)})
    expected = files_in(local.path)
    # Not mentioned anywhere: found by its name, and in no listing.
    assert (remote.path / "notes.txt").read_bytes() == expected.pop("notes.txt")
    assert files_in(remote.path) == expected


GRID, CHUNK = (8, 16, 8), (32, 16, 32)  # 1024 chunks of 16 KiB


def write_one_zarr_shard(path, voxels):
    """By zarr-python, which stores the chunks of a shard in Morton order."""
    import zarr

    array = zarr.create_array(path, shape=voxels.shape, dtype=voxels.dtype, chunks=CHUNK,
                              shards=voxels.shape, compressors=None, filters=None, fill_value=0)
    array[...] = voxels
    return "c/0/0/0"


def write_one_precomputed_shard(path, voxels):
    """By TensorStore, which stores the index of each minishard behind its chunks."""
    import tensorstore as ts

    store = ts.open({
        "driver": "neuroglancer_precomputed",
        "kvstore": {"driver": "file", "path": str(path) + "/"},
        "multiscale_metadata": {"type": "image", "data_type": "uint8", "num_channels": 1},
        "scale_metadata": {
            "key": "scale", "size": voxels.shape, "chunk_size": CHUNK, "resolution": [8, 8, 8],
            "encoding": "raw", "sharding": {
                "@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 9, "hash": "identity",
                "minishard_bits": 1, "shard_bits": 0, "minishard_index_encoding": "gzip",
                "data_encoding": "raw"}},
    }, create=True, open=True).result()
    store[..., 0].write(voxels).result()
    return "scale/0.shard"


def range_bytes(line):
    """How many bytes a line of nginx's log asks for."""
    first, last = line.split('"')[1].removeprefix("bytes=").split("-")
    return int(last) - int(first) + 1 if first else int(last)


@pytest.mark.parametrize("write, chunks", [(write_one_zarr_shard, "c"),
                                           (write_one_precomputed_shard, "scale")])
def test_copying_a_shard_costs_few_requests(write, chunks, served, nginx, mount, work):
    import numpy as np

    shape = tuple(n * edge for n, edge in zip(GRID, CHUNK))
    voxels = np.random.default_rng(1).integers(1, 255, shape, "u1")
    path = served / write.__name__
    shard = write(path, voxels)
    # No request that only asks whether what is prefetched is still the present version.
    remote = mount(f"{nginx.http}/plain/{path.name}", "ttl=600")
    before = len(nginx.requests.read_text().splitlines())
    subprocess.run(["cp", "-r", remote.path / chunks, work / "copy"], check=True)
    asked = [line for line in nginx.requests.read_text().splitlines()[before:]
             if line.split()[1] == f"/plain/{path.name}/{shard}"]
    local = mount(path, "ro")
    assert files_in(work / "copy") == files_in(local.path / chunks)
    assert len(files_in(work / "copy")) == 1024
    assert 0 < len(asked) <= 0.02 * 1024, asked
    assert sum(map(range_bytes, asked)) <= 1.05 * voxels.size, asked


def test_a_certificate_of_an_unknown_authority_is_refused(nginx, run_unshard):
    done = run_unshard("info", f"{nginx.https}/plain/volume")
    assert done.returncode == 1
    assert "certificate" in done.stderr.lower()


def test_info_counts_what_a_local_directory_has(served, nginx, run_unshard):
    def info(source):
        done = run_unshard("info", "--json", source)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["datasets"]

    assert info(f"{nginx.http}/plain/tree") == info(served / "tree")
    assert info(f"{nginx.http}/plain/volume") == info(served / "volume")


def test_what_may_be_secret_is_shown_nowhere(nginx, mount, run_unshard):
    host = nginx.http.removeprefix("http://")
    remote = mount(f"http://someone:password1@{host}/plain/tree?token=password2")
    assert (remote.path / "zarr.json").read_bytes()
    shown = f"http://{host}/plain/tree"
    told = "\n".join([remote.control("status.json"), remote.control("config.json"),
                      remote.control("errors"), remote.control("metrics"), remote.log(),
                      pathlib.Path("/proc/self/mountinfo").read_text(),
                      pathlib.Path(f"/proc/{daemon_of(remote)}/cmdline").read_text(),
                      pathlib.Path(f"/proc/{remote.process.pid}/cmdline").read_text(),
                      run_unshard("list").stdout])
    # Nothing of the memory is in a core dump.
    dumped = pathlib.Path(f"/proc/{daemon_of(remote)}/coredump_filter").read_text()
    assert int(dumped, 16) == 0
    assert remote.status()["source"] == shown
    assert shown in told and "password" not in told and "someone" not in told
    broken = run_unshard("info", f"http://someone:password1@{host}/plain/nothing?token=password2")
    assert broken.returncode == 1
    assert "password" not in broken.stderr and "someone" not in broken.stderr
    assert "token=password2" in nginx.requests.read_text()


# Each is for one request.
FAULTS = [
    "pass", "pass", "status 503", "status 503;field Retry-After 0", "status 429", "status 500",
    "status 502", "drop", "cut 0", "cut 100", "cut 5000", "field Content-Range bytes 0-9/10",
    "field Content-Range bytes 5-20/*", "field Content-Range", "field Content-Length 7",
    "ask Range bytes=1-9", "ask Range", "body <html>busy</html>", "field ETag \"other\"",
    "field Content-Encoding gzip", "status 206", "status 304",
]


@pytest.mark.parametrize("make", [VersionedVolume, VersionedZarr])
def test_whatever_a_server_does_no_byte_is_wrong(make, served, nginx, mount, work):
    source = make(served / f"faults-{make.__name__}")
    proxy = Server(SERVERS / "fault_proxy", nginx.http, work / "proxy")
    seed = random.Random(5)
    try:
        remote = mount(f"{proxy.urls[0]}/plain/{source.path.name}", "ttl=0")
        numbers, right, failed = list(source.names), 0, 0
        for _ in range(5):
            lines = [seed.choice(FAULTS) + "\n" for _ in range(30)]
            (work / "proxy" / "faults").write_text("".join(lines))
            for number in seed.sample(numbers, 8):
                try:
                    data = (remote.path / source.names[number]).read_bytes()
                except OSError as error:
                    assert error.errno in (errno.EIO, errno.ESTALE, errno.ETIMEDOUT), error
                    failed += 1
                else:
                    assert data == source.expected(number, 1)
                    right += 1
        assert right > failed, (right, failed)
        faults = work / "proxy" / "faults"
        # The proxy may write back what it has just read.
        assert wait_until(lambda: faults.write_text("") or time.sleep(0.5) or not faults.read_text(),
                          SECONDS)
        for number in numbers:
            assert (remote.path / source.names[number]).read_bytes() == source.expected(number, 1)
        # A line for each request of a program that failed: time, operation, path, errno, cause.
        lines = remote.control("errors").splitlines()
        assert len(lines) >= failed
        for line in lines:
            at, operation, path, name, cause = line.split(" ", 4)
            assert at.endswith("Z") and operation in ("lookup", "read", "open", "getattr"), line
            assert path.startswith("/") and name in ("EIO", "ESTALE", "ETIMEDOUT") and cause, line
    finally:
        proxy.stop()


# The tag of such an answer is that of the whole object: asked whether it has changed, the server says no.
@pytest.mark.parametrize("first", ["field Content-Encoding gzip", "status 416"])
def test_an_answer_that_ends_too_early_is_not_kept(first, served, nginx, mount, work):
    source = VersionedZarr(served / f"early-{first.split()[-1]}")
    proxy = Server(SERVERS / "fault_proxy", nginx.http, work / "proxy")
    try:
        remote = mount(f"{proxy.urls[0]}/plain/{source.path.name}", "ttl=0")
        (work / "proxy" / "faults").write_text(f"{first}\nfield Content-Length 7\n")
        number = next(iter(source.names))
        with contextlib.suppress(OSError):
            (remote.path / source.names[number]).read_bytes()
        assert not (work / "proxy" / "faults").read_text()
        assert (remote.path / source.names[number]).read_bytes() == source.expected(number, 1)
    finally:
        proxy.stop()


def test_a_shard_that_is_replaced_between_its_index_and_its_chunk_is_read_anew(served, nginx, mount,
                                                                             work):
    source = VersionedVolume(served / "between")
    versions = Versions(source, types.SimpleNamespace(path=None))
    proxy = Server(SERVERS / "fault_proxy", nginx.http, work / "proxy")
    delay = work / "proxy" / "delay"
    try:
        versions.publish(1)
        versions.path = mount(f"{proxy.urls[0]}/plain/between", "ttl=600").path
        (versions.path / "scale").stat()
        requests = work / "proxy" / "requests"
        for version, number in enumerate(list(source.names)[:6], 2):
            before = len(requests.read_text().splitlines())
            delay.write_text("0.3")
            reader = subprocess.Popen(["cat", str(versions.path / source.names[number])],
                                      stdout=subprocess.PIPE)
            # The index has been asked for.
            assert wait_until(lambda: len(requests.read_text().splitlines()) > before, SECONDS)
            versions.publish(version)
            delay.unlink()
            data = reader.communicate(timeout=SECONDS)[0]
            assert reader.returncode == 0
            assert version_of(number, data) in (version - 1, version)
    finally:
        proxy.stop()


def test_writing_is_refused(nginx, mount, run_unshard, work):
    remote = mount(f"{nginx.http}/plain/tree")
    refused(errno.EROFS, (remote.path / "new").write_bytes, b"")
    assert remote.status()["read_only"]
    done = run_unshard("mount", f"{nginx.http}/plain/tree", work, "-o", "rw")
    assert done.returncode == 2
    assert "read-only" in done.stderr


def test_other_schemes_are_answered_with_those_that_exist(run_unshard, work):
    done = run_unshard("mount", "ftp://host/path", work)
    assert done.returncode == 2
    assert "ftp://" in done.stderr and "https://" in done.stderr


class Versions:
    """A dataset whose shards are rewritten behind the server's back."""

    def __init__(self, source, mounted):
        self.source, self.path = source, mounted.path

    def publish(self, version, leave_out=()):
        for shard in self.source.shards:
            self.source.publish(shard, version, leave_out)
            os.utime(self.source.shard_path(shard), (TIME + version, TIME + version))

    def version(self, number):
        try:
            return version_of(number, (self.path / self.source.names[number]).read_bytes())
        except FileNotFoundError:
            return None

    def shows(self, version):
        numbers = list(self.source.names)
        return wait_until(lambda: all(self.version(n) == version for n in numbers), SECONDS)


@pytest.fixture(params=["precomputed", "precomputed gzip", "zarr"])
def make_versions(request, served, nginx, mount):
    def make(*options):
        name = request.param.replace(" ", "-") + "-versions"
        if request.param == "zarr":
            source = VersionedZarr(served / name)
        else:
            source = VersionedVolume(served / name, gzip_data=request.param.endswith("gzip"))
        return Versions(source, mount(f"{nginx.http}/plain/{name}", *options))
    return make


@pytest.fixture
def versions(make_versions):
    return make_versions()


def test_a_replaced_shard_is_seen_and_never_mixed(versions):
    versions.publish(1)
    assert versions.shows(1)
    for version in range(2, 5):
        versions.publish(version)
        # Each read is of one version (version_of checks every byte), and none fails.
        assert {versions.version(n) for n in versions.source.names} <= {version - 1, version}
        assert versions.shows(version)


def test_a_chunk_that_was_found_before_its_shard_was_replaced_can_be_read(make_versions):
    versions = make_versions("ttl=600")
    names = versions.source.names
    versions.publish(1)
    assert {versions.version(n) for n in names} == {1}
    for _ in range(20):  # so often that look-ups read no bytes any more
        for name in names.values():
            os.stat(versions.path / name)
    versions.publish(2)
    with kernel_caches(), open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("1")  # pages, not dentries
    # Bytes that were prefetched are believed for the ttl. All others are those of the new version.
    shown = [versions.version(n) for n in names]
    assert set(shown) <= {1, 2} and 2 in shown, shown


def test_a_removed_shard_is_missing_and_comes_back(versions):
    versions.publish(1)
    shard = next(iter(versions.source.shards))
    inside = [n for n in versions.source.names if versions.source.shard_of(n) == shard]
    versions.source.shard_path(shard).unlink()
    assert wait_until(lambda: all(versions.version(n) is None for n in inside), SECONDS)
    versions.publish(7)
    assert wait_until(lambda: all(versions.version(n) == 7 for n in inside), SECONDS)


def test_a_server_that_is_away_is_an_error_until_it_is_back(work, mount):
    VersionedVolume(work / "source")
    port = free_port()
    server, url = python_server(work, port)
    try:
        remote = mount(f"{url}/source", "ttl=0")
        versions = Versions(VersionedVolume(work / "source"), remote)
        first, second = list(versions.source.names)[:2]
        assert versions.version(first) == 1
        server.stop()
        # In time: a read ends within the 30 s that a request may take.
        with pytest.raises(OSError) as caught:
            versions.version(second)
        assert caught.value.errno in (errno.EIO, errno.ETIMEDOUT)
        assert versions.source.names[second] in remote.control("errors")
        server, url = python_server(work, port)
        assert versions.version(second) == 1, "the error is not remembered"
    finally:
        server.stop()


def test_a_server_that_does_not_answer_holds_nobody_for_ever(served, nginx, mount, work):
    proxy = Server(SERVERS / "fault_proxy", nginx.http, work / "proxy")
    try:
        remote = mount(f"{proxy.urls[0]}/plain/tree")
        path = remote.path / "image" / "c" / "3" / "3" / "1"
        os.stat(path.parent)
        faults, requests = work / "proxy" / "faults", work / "proxy" / "requests"
        before = len(requests.read_text())
        faults.write_text("stall\n" * 100)
        reader = subprocess.Popen(["cat", str(path)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        assert wait_until(lambda: len(requests.read_text()) > before, SECONDS)
        reader.send_signal(signal.SIGINT)
        # Well before the 30 s after which the read would fail.
        assert reader.wait(SECONDS) == -signal.SIGINT
        faults.write_text("")
        assert path.read_bytes() == (mount(served / "tree", "ro").path / "image/c/3/3/1").read_bytes()
    finally:
        proxy.stop()


def test_a_hundred_readers_wait_for_the_server_at_once(served, nginx, mount, work):
    proxy = Server(SERVERS / "fault_proxy", nginx.http, work / "proxy")
    readers = []
    try:
        remote = mount(f"{proxy.urls[0]}/plain/tree")
        names = sorted(files_in(mount(served / "tree", "ro").path / "image" / "c"))[:100]
        chunks = remote.path / "image" / "c"
        for folder in sorted({os.path.dirname(name) for name in names}):
            os.stat(chunks / folder)
        (work / "proxy" / "faults").write_text("stall\n" * 1000)
        readers = [subprocess.Popen(["cat", str(chunks / name)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for name in names]
        threads = pathlib.Path(f"/proc/{daemon_of(remote)}/task")
        assert wait_until(lambda: len(list(threads.iterdir())) > len(names), SECONDS)
        # Nobody who waits keeps others from what needs no server.
        assert remote.status()["read_only"]
    finally:
        for reader in readers:
            reader.send_signal(signal.SIGINT)
        ends = [reader.wait(SECONDS) for reader in readers]
        proxy.stop()
    assert ends == [-signal.SIGINT] * len(names)


@pytest.mark.parametrize("make", [VersionedVolume, VersionedZarr, lambda path: VersionedZarr(path, ".")],
                         ids=["precomputed", "nested", "flat"])
def test_a_listing_without_a_torn_shard_is_not_taken_for_whole(make, served, nginx, mount, request):
    """What mirrors the mount would remove its copies."""
    source = make(served / f"torn-{request.node.callspec.id}")
    assert set(source.names.values()) <= set(files_in(mount(source.path, "ro").path))
    torn = source.shard_path(source.shard_of(0))
    torn.write_bytes(torn.read_bytes()[:3])
    url = f"{nginx.http}/plain/{source.path.name}"
    for mounted in (mount(url), mount(source.path, "ro"), mount(source.path, "ro,view=raw")):
        done = subprocess.run(["find", mounted.path, "-type", "f"], capture_output=True, text=True)
        shown = {line.removeprefix(f"{mounted.path}/") for line in done.stdout.splitlines()}
        left = [name for number, name in source.names.items() if source.shard_of(number) != source.shard_of(0)]
        assert done.returncode == 1 and "Input/output error" in done.stderr
        assert set(left) <= shown and source.names[0] not in shown
        assert " readdir /" in mounted.control("errors")
