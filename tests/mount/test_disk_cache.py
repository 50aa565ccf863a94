"""cache=DIR: what remote stores send is kept on a disk, and serves later mounts and other ones.

The server is nginx, as tests/servers/nginx starts it; its log counts requests. Objects have times of
long ago: what was modified a moment ago is not kept.
"""

import contextlib
import os
import pathlib
import random
import signal
import stat
import subprocess
import sys
import time
import urllib.request

import pytest

from mount_data import VersionedSkeletons, VersionedVolume, VersionedZarr, drop_caches
from mounting import MountFailed, daemon_of, wait_until
from watch_chunks import version_of

SERVERS = pathlib.Path(__file__).resolve().parents[1] / "servers"
SECONDS = 20
TIME = 1_600_000_000


class Nginx:
    def __init__(self, root, work):
        self.process = subprocess.Popen([sys.executable, SERVERS / "nginx", root, work], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = self.process.stdout.readline().strip()
        self.log = work / "requests"
        self.seen = 0

    def answers(self):
        try:
            urllib.request.urlopen(f"{self.url}/plain/ready", timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def requests(self):
        """[(path, range, status)] since the last call. nginx writes of a request after its answer, and before
        it looks at another one: here at that of a last one."""
        last = f"/plain/last-{self.seen}"
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{self.url}{last}", timeout=SECONDS).close()
        assert wait_until(lambda: f" {last} " in self.log.read_text(), SECONDS)
        lines = self.log.read_text().splitlines()
        new, self.seen = lines[self.seen:], len(lines)
        return [(line.split()[1], line.split('"')[1], int(line.split()[-1])) for line in new]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def served(module_work):
    root = module_work / "served"
    root.mkdir()
    return root


@pytest.fixture(scope="module")
def nginx(served, module_work):
    server = Nginx(served, module_work / "nginx")
    assert wait_until(server.answers, SECONDS)
    yield server
    server.stop()


SOURCES = {"precomputed": VersionedVolume, "zarr": VersionedZarr, "skeletons": VersionedSkeletons,
           "precomputed-gzip": lambda path: VersionedVolume(path, gzip_data=True)}


class Cached:
    """A source on the server that is mounted with a cache, and again, as often as asked for."""

    def __init__(self, kind, served, nginx, mount, work):
        self.source = SOURCES[kind](served / f"{kind}-{work.name}")
        self.nginx, self.make_mount, self.cache = nginx, mount, work / "cache"
        self.mounted = None
        self.publish(1)

    def publish(self, version):
        for shard in self.source.shards:
            self.source.publish(shard, version)
            os.utime(self.source.shard_path(shard), (TIME + version, TIME + version))

    def mount(self, *options, location="plain", cache=None):
        if self.mounted and not self.mounted.ended:
            self.mounted.unmount()
        self.mounted = self.make_mount(f"{self.nginx.url}/{location}/{self.source.path.name}",
                                       [f"cache={cache or self.cache}", *options])
        self.nginx.requests()
        return self.mounted

    def read(self, number):
        return (self.mounted.path / self.source.names[number]).read_bytes()

    def version(self, number):
        return version_of(number, self.read(number))

    def asked(self):
        """The requests for shards since the last call: [(range, status)]."""
        shards = {f"/{self.source.path.name}/{self.source.shard_path(s).relative_to(self.source.path)}"
                  for s in self.source.shards}
        return [(asked, status) for path, asked, status in self.nginx.requests()
                if any(path.endswith(each) for each in shards)]

    def counters(self):
        return self.mounted.status()["counters"]["disk_cache"]

    def written(self):
        """How many entries, once all that was read is on the disk."""
        assert wait_until(lambda: self.counters()["waiting"] == 0, SECONDS)
        return self.counters()["written"]

    def entries(self):
        return [path for path in self.cache.rglob("*") if path.is_file()]


@pytest.fixture(params=["precomputed", "precomputed-gzip", "zarr", "skeletons"])
def cached(request, served, nginx, mount, work):
    return Cached(request.param, served, nginx, mount, work)


@pytest.fixture
def one(served, nginx, mount, work):
    return Cached("precomputed", served, nginx, mount, work)


def pairs(source):
    """[(chunk, another chunk of the same index page)], one for each shard."""
    found = []
    for shard in source.shards:
        numbers = [n for n in source.names if source.shard_of(n) == shard]
        page = (lambda n: n >> 1 & 3) if isinstance(source, VersionedVolume) else (
            lambda n: n & 3 if isinstance(source, VersionedSkeletons) else 0)
        same = [n for n in numbers[1:] if page(n) == page(numbers[0])]
        if same:
            found.append((numbers[0], same[0]))
    assert len(found) >= 4
    return found


def test_a_remounted_source_needs_no_request_for_an_index(cached):
    cached.mount("ttl=600")
    for known, _ in pairs(cached.source):
        assert cached.version(known) == 1
    cached.mount("ttl=600")
    for known, new in pairs(cached.source):
        assert cached.version(new) == 1
        asked = cached.asked()
        assert len(asked) == 1 and asked[0][1] == 206, asked
        first, last = asked[0][0].removeprefix("bytes=").split("-")
        # The bytes of the chunk and no others.
        assert int(last) - int(first) + 1 <= cached.source.size(1) + 64, asked
        assert cached.version(known) == 1
        assert cached.asked() == [], "the chunk that was read before is on the disk"


def test_a_chunk_on_the_disk_is_not_believed_without_a_word_of_the_server(cached):
    # Else some shards are looked into at mount.
    cached.mount("ttl=600", "morton=standard")
    for known, _ in pairs(cached.source):
        assert cached.version(known) == 1
    cached.mount("ttl=600", "morton=standard")
    for known, _ in pairs(cached.source):
        assert cached.version(known) == 1
        asked = cached.asked()
        assert asked == [("bytes=0-0", 206)], asked


def test_what_never_changes_is_read_from_the_disk_alone(cached):
    cached.mount("immutable")
    for number in cached.source.names:
        assert cached.version(number) == 1
    cached.written()
    cached.mount("immutable")
    for number in cached.source.names:
        assert cached.version(number) == 1
    assert cached.asked() == []
    assert cached.counters()["hits"] >= len(cached.source.names)


def test_all_views_at_once_are_read_from_the_disk_as_well(one):
    def read_all():
        return [version_of(number, (one.mounted.path / "native" / name).read_bytes())
                for number, name in one.source.names.items()]

    one.mount("immutable", "view=all")
    assert set(read_all()) == {1}
    one.written()
    one.mount("immutable", "view=all")
    assert set(read_all()) == {1}
    assert one.asked() == []
    assert one.counters()["hits"] >= len(one.source.names)


def test_a_source_that_changed_meanwhile_costs_a_request_a_shard_and_mixes_nothing(cached):
    cached.mount("ttl=600")
    for number in cached.source.names:
        assert cached.version(number) == 1
    cached.written()
    cached.publish(2)
    cached.mount("ttl=600")
    for number in cached.source.names:
        assert cached.version(number) == 2
    changed = [status for _, status in cached.asked() if status == 412]
    assert len(changed) <= len(list(cached.source.shards))
    cached.written()
    cached.publish(3)
    cached.mount("immutable")
    assert {cached.version(number) for number in cached.source.names} <= {2, 3}


def test_documents_and_plain_files_are_not_sent_again(cached):
    """A remount asks whether the server still has them, and gets the answer without their bytes."""
    notes = cached.source.path / "notes.txt"
    text = random.Random(3).randbytes(300_000)
    notes.write_bytes(text)
    for path in cached.source.path.rglob("*"):
        os.utime(path, (TIME, TIME))
    cached.mount("ttl=600", "morton=standard")
    assert (cached.mounted.path / "notes.txt").read_bytes() == text
    names = [name for name in ("info", "zarr.json") if (cached.source.path / name).exists()]
    documents = [(cached.mounted.path / name).read_bytes() for name in names]
    assert names
    cached.written()
    cached.mounted.unmount()
    cached.nginx.requests()
    url = f"{cached.nginx.url}/plain/{cached.source.path.name}"
    cached.mounted = cached.make_mount(url, [f"cache={cached.cache}", "ttl=600", "morton=standard"])
    assert (cached.mounted.path / "notes.txt").read_bytes() == text
    assert [(cached.mounted.path / name).read_bytes() for name in names] == documents
    requests = cached.nginx.requests()
    assert [each for each in requests if each[2] == 304], requests
    sent = [each for each in requests if each[2] not in (304, 404) and each[1:] != ("bytes=0-0", 206)]
    assert not sent, sent
    # One that was replaced is.
    notes.write_bytes(text[::-1])
    os.utime(notes, (TIME + 9, TIME + 9))
    cached.mount("ttl=600", "morton=standard")
    assert (cached.mounted.path / "notes.txt").read_bytes() == text[::-1]


def damaged(path, kind):
    data = bytearray(path.read_bytes())
    if kind == "flip" and data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif kind == "cut":
        del data[random.randrange(len(data)):]
    elif kind == "empty":
        data.clear()
    elif kind == "other":
        data[:] = random.randbytes(len(data))
    path.write_bytes(data)


def test_a_cache_that_is_damaged_or_deleted_at_any_time_gives_no_wrong_byte(cached):
    random.seed(11)
    cached.mount("immutable")
    numbers = list(cached.source.names)
    for round_ in range(3):
        for number in random.sample(numbers, len(numbers)):
            assert cached.version(number) == 1
        cached.written()
        for path in cached.entries():
            kind = random.choice(["flip", "cut", "empty", "other", "gone", "whole"])
            if kind == "gone":
                path.unlink()
            elif kind != "whole":
                damaged(path, kind)
        cached.mount("immutable")
    for number in numbers:
        assert cached.version(number) == 1
    assert cached.counters()["damaged"] > 0
    # Again where the mount has made an entry meanwhile.
    assert wait_until(lambda: subprocess.run(["rm", "-rf", cached.cache]).returncode == 0, SECONDS)
    drop_caches()
    for number in numbers:
        assert cached.version(number) == 1
    assert cached.mounted.control("errors") == ""


def test_entries_of_one_key_do_not_serve_another(one):
    one.mount("immutable")
    for number in one.source.names:
        assert one.version(number) == 1
    one.written()
    entries = one.entries()
    texts = [path.read_bytes() for path in entries]
    for path, text in zip(entries, texts[1:] + texts[:1]):
        path.write_bytes(text)
    one.mount("immutable")
    for number in one.source.names:
        assert one.version(number) == 1


def test_mounts_at_the_same_time_share_it_and_one_that_is_killed_harms_nobody(one, mount):
    url = f"{one.nginx.url}/plain/{one.source.path.name}"
    mounts = [mount(url, [f"cache={one.cache}", "immutable"]) for _ in range(3)]
    numbers = list(one.source.names)
    readers = [subprocess.Popen(["sh", "-c", 'while cat "$@" >/dev/null 2>&1; do :; done', "sh",
                                 *[str(each.path / one.source.names[n]) for n in numbers]])
               for each in mounts]
    try:
        time.sleep(1)
        mounts[0].terminate(signal.SIGKILL)
        time.sleep(1)
        for each in mounts[1:]:
            for number in numbers:
                data = (each.path / one.source.names[number]).read_bytes()
                assert version_of(number, data) == 1
    finally:
        for reader in readers:
            reader.kill()
            reader.wait()
    one.mount("immutable")
    for number in numbers:
        assert one.version(number) == 1
    assert one.asked() == []


def test_nothing_is_kept_that_a_server_cannot_tell_apart(one):
    """Only a time of modification, in whole seconds."""
    one.mount(location="untagged")
    for number in one.source.names:
        assert one.version(number) == 1
    assert one.written() == 0 and one.entries() == []


def test_nobody_else_can_read_it(one, run_unshard, work):
    one.mount()
    for number in one.source.names:
        assert one.version(number) == 1
    one.written()
    assert one.entries()
    for path in [one.cache, *one.cache.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))
    names = str(one.source.path.name).encode()
    assert not any(names in path.read_bytes() for path in one.entries()), "not even a name"
    one.cache.chmod(0o755)
    with pytest.raises(MountFailed) as failed:
        one.mount()
    assert "cache folder has mode 0755" in failed.value.log and "chmod 0700" in failed.value.log


def test_a_cache_in_the_mount_itself_is_refused(one, run_unshard, work):
    done = run_unshard("mount", f"{one.nginx.url}/plain/{one.source.path.name}", work / "mnt", "-o",
                       f"cache={work}/mnt/cache")
    assert done.returncode == 1 and "inside the mount point" in done.stderr


def test_a_local_source_has_no_use_for_it(one, mount):
    local = mount(one.source.path, [f"cache={one.cache}", "ro"])
    assert "has no effect" in local.log()
    assert local.status()["counters"]["disk_cache"] is None
    assert not one.cache.exists()


def test_it_is_told_of(one):
    one.mount("cache_size=32M")
    for number in one.source.names:
        assert one.version(number) == 1
    written = one.written()
    assert written > 0
    metrics = one.mounted.control("metrics")
    assert f"unshard_disk_cache_written_total {written}\n" in metrics
    config = one.mounted.control("config.json")
    assert str(one.cache) in config and str(32 << 20) in config
