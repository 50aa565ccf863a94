"""Writing into mounts of s3:// and gs://, as everyday programs and libraries do.

What was written is read back through a second mount, and by peers from what the store holds.
"""

import concurrent.futures
import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mounting import MountFailed, freeze, kill, wait_until
from remote_stores import BUCKET, KINDS, SERVERS, Server, download, open_bucket, upload
from write_data import PATIENT, flush, write_file

from mount_data import refused

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fault"))
from line_source import LineSource, value  # noqa: E402

# Seconds that a request takes at least of a store that is away, until that is found; then it fails at
# once. Many at a time tell this apart, also on a machine that is busy.
FOUND_AWAY = 5
MANY = 10

pytestmark = pytest.mark.usefixtures("no_settings_of_ours")


@pytest.fixture(scope="module", params=[KINDS[0], *(pytest.param(kind, marks=pytest.mark.long)
                                                       for kind in KINDS[1:])])
def store(request, module_work):
    work = module_work / request.param
    work.mkdir()
    bucket = open_bucket(request.param, work)
    yield bucket
    bucket.server.stop()


class Remote:
    """A prefix of a bucket of this test alone, and mounts of it."""

    def __init__(self, store, mount, work, name):
        self.store, self.work, self.prefix, self.mounts = store, work, name, 0
        self.make, self.environment = mount, store.environment

    def url(self):
        return f"{self.store.scheme}://{BUCKET}/{self.prefix}"

    def mount(self, options=PATIENT, **more):
        self.mounts += 1
        every = ",".join(filter(None, [f"spool={self.work / 'spools'}", options]))
        return self.make(self.url(), every, environment=self.environment, **more)

    def upload(self, root):
        upload(self.store, root, self.prefix)

    def names(self):
        return sorted(key.removeprefix(self.prefix + "/")
                      for key in self.store.keys(self.prefix + "/"))

    def get(self, name):
        return self.store.get(f"{self.prefix}/{name}")

    def put(self, name, data):
        self.store.put(f"{self.prefix}/{name}", data)


@pytest.fixture
def remote(request, store, mount, work):
    return Remote(store, mount, work, "".join(c if c.isalnum() else "-" for c in request.node.name))


@pytest.fixture
def array(remote, work):
    """An array without a chunk, 4 shards of 8, in the store."""
    source = LineSource(str(work / "array"), "zarr/", shards=4, per_shard=8).create()
    remote.upload(work / "array")
    remote.source = source
    return remote


def bytes_of(chunk, counter=1, writer=1):
    return value(chunk, writer, counter, 4096)


def write_shard(array, mounted):
    """The files of the chunks of the first shard, which is published."""
    names = [mounted.path / array.source.name(chunk) for chunk in range(8)]
    for chunk, name in enumerate(names):
        write_file(name, bytes_of(chunk))
    flush(mounted)
    return names


def stored_values(remote):
    """{chunk: (writer, counter)} as TensorStore reads what the store holds."""
    copy = remote.work / f"copy-{remote.mounts}-{os.urandom(4).hex()}"
    download(remote.store, remote.prefix, copy)
    return LineSource(str(copy), "zarr/", shards=4, per_shard=8).read_values()


def test_a_store_tells_the_size_of_its_blocks_and_has_room_where_it_can_be_written(array):
    """Programs divide by the size of a block, and do not write where nothing is free."""
    for options, free in (("ro", 0), (PATIENT, 1 << 40)):
        mounted = array.mount(options)
        told = os.statvfs(mounted.path)
        assert told.f_bsize == told.f_frsize == 128 * 1024
        assert told.f_bavail == told.f_bfree == told.f_blocks == free
        mounted.unmount()


# ------------------------------------------------------------------------------------- chunks


def test_chunks_are_written_and_read_back_by_another_mount_and_by_tensorstore(array):
    mounted = array.mount()
    assert not mounted.status()["read_only"]
    for chunk in range(32):
        write_file(mounted.path / array.source.name(chunk), bytes_of(chunk))
        assert (mounted.path / array.source.name(chunk)).read_bytes() == bytes_of(chunk)
    flush(mounted)
    assert array.names() == ["c/0/0", "c/1/0", "c/2/0", "c/3/0", "zarr.json"]
    assert stored_values(array) == {chunk: (1, 1) for chunk in range(32)}
    other = array.mount("ro")
    assert array.source.shown_values(other.path) == {chunk: (1, 1) for chunk in range(32)}
    state = mounted.status()["write"]
    assert (state["publishes"], state["conflicts"], state["dirty_chunks"]) == (4, 0, 0)


def test_chunks_that_are_open_stay_while_their_shard_is_replaced(array):
    """The store keeps no replaced version, and each publish replaces all chunks of a shard."""
    mounted = array.mount()
    names = write_shard(array, mounted)
    read, written = os.open(names[1], os.O_RDONLY), os.open(names[5], os.O_RDWR)
    write_file(names[7], bytes_of(7, 2))
    flush(mounted)
    try:
        os.pwrite(written, b"x" * 100, 0)
        assert os.pread(read, 4096, 0) == bytes_of(1)
    finally:
        os.close(read)
        os.close(written)
    assert names[5].read_bytes() == b"x" * 100 + bytes_of(5)[100:]


def test_many_chunks_that_are_open_at_once_stay_within_the_memory_cap(remote, work):
    """Where they are open for writing, too, their bytes have to stay; readers are many at a time."""
    source = LineSource(str(work / "array"), "zarr/", shards=2, per_shard=32,
                        chunk_bytes=1 << 20).create()
    remote.upload(work / "array")
    chunks = range(source.count)
    first = remote.mount()
    for chunk in chunks:
        write_file(first.path / source.name(chunk), value(chunk, 1, 1, 1 << 20))
    first.unmount()
    mounted = remote.mount(f"{PATIENT},memory=16M")
    names = [mounted.path / source.name(chunk) for chunk in chunks]
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda name: name.read_bytes(), names))
    assert found == [value(chunk, 1, 1, 1 << 20) for chunk in chunks]
    written = [os.open(name, os.O_RDWR) for name in names]
    status = pathlib.Path(f"/proc/{mounted.status()['pid']}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    os.pwrite(written[5], value(5, 1, 2, 1 << 20), 0)
    for each in written:
        os.close(each)
    assert names[5].read_bytes() == value(5, 1, 2, 1 << 20)
    # The program itself, its libraries and threads, and the cap.
    assert peak <= (16 + 40) << 20, peak


def test_a_shard_that_is_emptied_stays_as_an_empty_one(array):
    mounted = array.mount()
    names = write_shard(array, mounted)
    for name in names:
        name.unlink()
    flush(mounted)
    assert "c/0/0" in array.names()
    assert set(stored_values(array).values()) == {None}
    assert not any(name.exists() for name in names)


def test_everyday_programs_write_chunks(array, work):
    mounted = array.mount()
    plain = work / "plain"
    expected = {}
    commands = {"cp": ["cp", "-p"], "install": ["install", "-m", "644"], "rsync": ["rsync", "-t"],
                "dd": None, "mv": ["mv"]}
    for chunk, (name, command) in enumerate(commands.items()):
        plain.write_bytes(bytes_of(chunk))
        target = mounted.path / array.source.name(chunk)
        command = command or ["dd", "status=none", "bs=1000", f"if={plain}", f"of={target}"]
        if name != "dd":
            command = [*command, str(plain), str(target)]
        subprocess.run(command, check=True, timeout=60)
        expected[chunk] = (1, 1)
    subprocess.run(["rsync", "-rt", f"{mounted.path}/c/", f"{work}/out/"], check=True, timeout=60)
    assert (work / "out" / "0" / "0").read_bytes() == bytes_of(0)
    flush(mounted)
    found = stored_values(array)
    assert {chunk: who for chunk, who in found.items() if who} == expected


def test_requests_of_writing_are_few(watched, measured):
    """A new shard is one put, whatever the number of its chunks; so is a file under whatever names."""
    array = watched
    mounted = array.mount(f"{PATIENT},ttl=60")
    write_file(mounted.path / "first", b"finds out once what the store does with conditions")
    flush(mounted)
    before = len(array.requests())
    for chunk in range(8):
        write_file(mounted.path / array.source.name(chunk), bytes_of(chunk))
    write_file(mounted.path / "notes.partial", b"notes")
    os.rename(mounted.path / "notes.partial", mounted.path / "notes")
    flush(mounted)
    lines = array.requests()[before:]
    puts = [line for line in lines if line.startswith(("PUT", "POST"))]
    measured(f"{array.store.scheme}://: a new shard of 8 chunks and a renamed file: "
             f"{len(puts)} puts, {len(lines) - len(puts)} other requests")
    assert len(puts) == 2, lines
    assert len(lines) - len(puts) <= 16, lines


@pytest.mark.parametrize("options, most", [("single_writer", 16), ("", 32)])
def test_who_writes_alone_does_not_fetch_what_is_replaced(options, most, array, measured):
    """Beside that, a look-up fetches a chunk, as long as it cannot be told that none is read."""
    first = array.mount()
    for chunk in range(32):
        write_file(first.path / array.source.name(chunk), bytes_of(chunk))
    first.unmount()
    mounted = array.mount(",".join(filter(None, [PATIENT, options])))
    for chunk in range(32):
        write_file(mounted.path / array.source.name(chunk), bytes_of(chunk, counter=2))
    flush(mounted)
    reads = mounted.status()["counters"]["store"]["data_reads"]
    measured(f"{array.store.scheme}://, {options or 'with others'}: {reads} reads of 32 chunks that "
             "were replaced")
    assert reads <= most
    assert stored_values(array) == {chunk: (1, 2) for chunk in range(32)}


# -------------------------------------------------------------------------------------- files


def test_files_that_are_no_chunks(array, work):
    mounted = array.mount()
    path = mounted.path
    (path / "notes").mkdir()
    assert {*os.listdir(path)} - {"c"} == {"notes", "zarr.json"}
    write_file(path / "notes" / "a.txt", b"one\n")
    with open(path / "notes" / "a.txt", "ab") as file:
        file.write(b"two\n")
    subprocess.run(["sed", "-i", "s/one/ONE/", str(path / "notes" / "a.txt")], check=True)
    assert (path / "notes" / "a.txt").read_bytes() == b"ONE\ntwo\n"
    subprocess.run(["cp", "-p", str(path / "zarr.json"), str(work / "zarr.json")], check=True)
    subprocess.run(["rsync", "-a", str(work / "zarr.json"), f"{path}/notes/"], check=True)
    subprocess.run(["mv", str(path / "notes" / "zarr.json"), str(path / "notes" / "b.json")],
                   check=True)
    os.utime(path / "notes" / "b.json", ns=(10**18, 10**18))
    os.truncate(path / "notes" / "b.json", 10)
    assert (path / "notes" / "b.json").stat().st_size == 10
    refused(errno.EPERM, lambda: os.link(path / "zarr.json", path / "notes" / "linked"))
    refused(errno.EEXIST, lambda: os.link(path / "notes" / "b.json", path / "notes" / "a.txt"))
    refused(errno.EXDEV, lambda: os.rename(path / "notes", path / "renamed"))
    # Temporary files never get there, and nothing else does before its time.
    assert array.names() == ["zarr.json"]
    flush(mounted)
    assert array.names() == ["notes/a.txt", "notes/b.json", "zarr.json"]
    assert array.get("notes/a.txt") == b"ONE\ntwo\n"
    assert array.get("notes/b.json") == (work / "zarr.json").read_bytes()[:10]
    subprocess.run(["mv", str(path / "notes"), str(path / "moved")], check=True)
    flush(mounted)
    assert array.names() == ["moved/a.txt", "moved/b.json", "zarr.json"]
    other = array.mount("ro")
    assert (other.path / "moved" / "a.txt").read_bytes() == b"ONE\ntwo\n"
    shutil.rmtree(path / "moved")
    assert {*os.listdir(path)} - {"c"} == {"zarr.json"}
    flush(mounted)
    assert array.names() == ["zarr.json"]
    assert mounted.status()["write"]["conflicts"] == 0


def test_names_have_any_characters(remote, work):
    source = LineSource(str(work / "array"), "zarr/", shards=1, per_shard=2).create()
    remote.prefix += " a+b/100%/x%20y/\u00fc/'q\"~(p)*!"
    remote.upload(work / "array")
    mounted = remote.mount()
    write_file(mounted.path / source.name(1), bytes_of(1))
    names = ["f 1+2%25.txt", "\u00fcn\u00ef", "a;b&c=d?e#f", "dot.", "~x*'()!", "back\\slash", "a\nb\tc"]
    (mounted.path / "sub dir+%").mkdir()
    for name in names:
        write_file(mounted.path / name, name.encode())
        write_file(mounted.path / "sub dir+%" / name, name.encode())
    flush(mounted)
    stored = {each for name in names for each in (name, f"sub dir+%/{name}")}
    assert set(remote.names()) == stored | {"zarr.json", "c/0/0"}
    other = remote.mount("ro")
    assert {*os.listdir(other.path)} == {*names, "c", "sub dir+%", "zarr.json"}
    assert {*os.listdir(other.path / "sub dir+%")} == {*names}
    assert all((other.path / name).read_bytes() == name.encode() for name in stored if "/" not in name)
    assert (other.path / source.name(1)).read_bytes() == bytes_of(1)


def test_a_bucket_that_is_gone_holds_back_what_was_written(array):
    """NoSuchBucket is a 404, and no chunk is absent for that."""
    if array.store.scheme != "s3":
        pytest.skip("the emulator removes no bucket")
    client, bucket = array.store.client, "unshard-gone"
    document = {"Bucket": bucket, "Key": "zarr.json"}
    client.create_bucket(Bucket=bucket)
    client.put_object(**document, Body=array.get("zarr.json"))
    mounted = array.make(f"s3://{bucket}", f"spool={array.work / 'spools'},{PATIENT},ttl=0",
                         environment=array.store.environment)
    names = [mounted.path / array.source.name(chunk) for chunk in (0, 9)]
    write_file(names[0], bytes_of(0))
    client.delete_object(**document)
    client.delete_bucket(Bucket=bucket)
    refused(errno.EIO, names[1].read_bytes)
    refused(errno.EIO, lambda: os.listdir(mounted.path))
    refused(errno.EIO, lambda: flush(mounted))
    assert names[0].read_bytes() == bytes_of(0)
    assert f"the bucket {bucket} does not exist" in mounted.control("errors")
    # The mount, which tries again by itself, never finds the bucket without the document of the array.
    freeze(mounted.process.pid)
    try:
        client.create_bucket(Bucket=bucket)
        client.put_object(**document, Body=array.get("zarr.json"))
    finally:
        os.kill(mounted.process.pid, signal.SIGCONT)
    flush(mounted)
    assert client.get_object(Bucket=bucket, Key="c/0/0")["Body"].read()


def test_folders_that_consoles_make_are_directories(array):
    """An object whose key ends with a slash; without another below it nothing has a name in it."""
    array.put("empty/", b"")
    array.put("full/", b"")
    array.put("full/a.txt", b"a")
    mounted = array.mount()
    listed = subprocess.run(["ls", "-lR", mounted.path], capture_output=True, text=True, timeout=60)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert os.listdir(mounted.path / "empty") == [] and os.listdir(mounted.path / "full") == ["a.txt"]
    write_file(mounted.path / "empty" / "b.txt", b"b")
    shutil.rmtree(mounted.path / "full")
    flush(mounted)
    assert [name for name in array.names() if "/" in name] == ["empty/", "empty/b.txt", "full/"]
    assert os.listdir(mounted.path / "full") == []


def test_attributes_are_edited_in_the_document_of_the_store(array):
    mounted = array.mount()
    document = json.loads((mounted.path / "zarr.json").read_text())
    assert document["codecs"][0]["name"] != "sharding_indexed"
    document["attributes"] = {"edited": True}
    write_file(mounted.path / "zarr.json", json.dumps(document).encode())
    assert json.loads((mounted.path / "zarr.json").read_text())["attributes"] == {"edited": True}
    flush(mounted)
    stored = json.loads(array.get("zarr.json"))
    assert stored["attributes"] == {"edited": True}
    assert stored["codecs"][0]["name"] == "sharding_indexed"
    write_file(mounted.path / array.source.name(3), bytes_of(3))
    flush(mounted)
    assert stored_values(array)[3] == (1, 1)


# ---------------------------------------------------------------------------------- libraries


def test_zarr_python_writes_and_creates(array):
    import zarr

    mounted = array.mount()
    opened = zarr.open_array(str(mounted.path), mode="r+")
    rows = np.arange(32 * 4096, dtype=np.uint32).astype(np.uint8).reshape(32, 4096)
    opened[:] = rows
    opened.attrs["by"] = "zarr"
    assert np.array_equal(zarr.open_array(str(mounted.path), mode="r")[:], rows)
    group = zarr.open_group(str(mounted.path / "group"), mode="w", zarr_format=3)
    plain = group.create_array("plain", shape=(8, 8), chunks=(4, 4), dtype="uint16")
    plain[:] = 7
    flush(mounted)
    copy = download(array.store, array.prefix, array.work / "copy")
    assert np.array_equal(zarr.open_array(str(copy), mode="r")[:], rows)
    assert zarr.open_array(str(copy), mode="r").attrs["by"] == "zarr"
    assert (zarr.open_group(str(copy / "group"), mode="r")["plain"][:] == 7).all()
    assert not [name for name in array.names() if "partial" in name]


def test_tensorstore_writes_by_its_locks_and_renames(array):
    import tensorstore as ts

    mounted = array.mount()
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(mounted.path) + "/"}}
    rows = np.arange(32 * 4096, dtype=np.uint32).astype(np.uint8).reshape(32, 4096)
    ts.open(spec).result().write(rows).result()
    made = ts.open({"driver": "zarr", "kvstore": {"driver": "file",
                                                  "path": str(mounted.path / "v2") + "/"},
                    "metadata": {"shape": [8], "chunks": [4], "dtype": "<u2"}, "create": True}).result()
    made.write(np.arange(8, dtype=np.uint16)).result()
    made.write(np.arange(8, dtype=np.uint16) + 1).result()
    assert list(made.read().result()) == list(range(1, 9))
    flush(mounted)
    assert [name for name in array.names() if name.startswith("v2")] == ["v2/.zarray", "v2/0", "v2/1"]
    copy = download(array.store, array.prefix, array.work / "copy")
    read = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(copy) + "/"}}
    assert np.array_equal(ts.open(read).result().read().result(), rows)


def test_cloudvolume_writes_a_volume(remote, work):
    from cloudvolume import CloudVolume

    source = LineSource(str(work / "volume"), "precomputed", shards=4, per_shard=8).create()
    remote.upload(work / "volume")
    mounted = remote.mount()
    volume = CloudVolume(f"file://{mounted.path}", progress=False, fill_missing=True, compress=False)
    voxels = np.arange(volume.shape[0] * 256, dtype=np.uint32).astype(np.uint8)
    voxels = voxels.reshape(volume.shape[0], 16, 16, 1) | 1
    volume[:, :, :] = voxels
    flush(mounted)
    copy = download(remote.store, remote.prefix, work / "copy")
    assert {name.split(".")[-1] for name in remote.names() if name.startswith("scale")} == {"shard"}
    assert np.array_equal(CloudVolume(f"file://{copy}", progress=False)[:, :, :], voxels)


# ------------------------------------------------------------------------- kills and outages


@contextlib.contextmanager
def away(store):
    """Nobody is answered while this lasts."""
    store.server.pause()
    try:
        yield
    finally:
        store.server.go_on()


def test_a_killed_mounts_spool_is_taken_over_by_the_next(array):
    mounted = array.mount(point=array.work / "mnt")
    written = [chunk for chunk in range(20) if chunk % 8 != 7]  # a whole shard is published at once
    for chunk in written:
        write_file(mounted.path / array.source.name(chunk), bytes_of(chunk))
    write_file(mounted.path / "notes.txt", b"kept")
    kill(mounted)
    listed = subprocess.run([str(mounted.process.args[0]), "spool", "list", array.url(), "--spool",
                             str(array.work / "spools")], capture_output=True, text=True,
                            env={**os.environ, **array.store.environment})
    again = array.mount(point=array.work / "mnt")
    assert (again.path / "notes.txt").read_bytes() == b"kept"
    assert (again.path / array.source.name(19)).read_bytes() == bytes_of(19)
    flush(again)
    assert array.get("notes.txt") == b"kept"
    assert {c for c, who in stored_values(array).items() if who} == set(written)
    assert "19 chunks" in listed.stdout, (listed.stdout, listed.stderr)


@contextlib.contextmanager
def through_proxy(array, *chances):
    """Mounts of the array reach its store through tests/servers/unreliable_proxy meanwhile."""
    proxy = Server(SERVERS / "unreliable_proxy", array.store.server.url, array.work / "proxy", *chances)
    array.environment = array.store.seen_at(proxy.url)
    array.requests = lambda: (array.work / "proxy" / "requests").read_text().splitlines()
    try:
        yield
    finally:
        proxy.stop()


@pytest.fixture
def watched(array):
    """The array, of whose store `requests()` are known, in the order in which they were answered."""
    with through_proxy(array):
        yield array


@pytest.fixture
def late(array):
    """The array behind a network that brings requests to the store when their client is gone."""
    with through_proxy(array, "late=0.3"):
        yield array


def test_killed_while_it_publishes_it_loses_nothing(late):
    array, written = late, {}
    for round_ in range(1, 7):
        mounted = array.mount("publish_after=0.05", point=array.work / "mnt")
        for chunk in range(32):
            write_file(mounted.path / array.source.name(chunk), bytes_of(chunk, round_))
            written[chunk] = (1, round_)
            if chunk == 5 * round_ - 1:
                break
        write_file(mounted.path / f"file-{round_}", b"%d" % round_)
        kill(mounted)
    mounted = array.mount(point=array.work / "mnt")
    flush(mounted)
    found = {chunk: who for chunk, who in stored_values(array).items() if who}
    assert found == written
    assert [array.get(f"file-{round_}") for round_ in range(1, 7)] == [b"%d" % n for n in range(1, 7)]
    state = mounted.status()["write"]
    assert (state["dirty_chunks"], state["conflicts"]) == (0, 0)


def test_everything_waits_while_the_store_is_away(array):
    mounted = array.mount("publish_after=0.1")
    names = [mounted.path / array.source.name(chunk) for chunk in range(32)]
    write_file(names[0], bytes_of(0))
    flush(mounted)
    open_ones = [open(name, "wb", buffering=0) for name in names[:16]]
    notes = open(mounted.path / "notes.txt", "wb", buffering=0)
    with away(array.store):
        notes.write(b"kept")
        notes.close()
        for chunk, file in enumerate(open_ones):
            file.write(bytes_of(chunk, 2))
            os.fsync(file.fileno())
            file.close()
        for chunk, name in enumerate(names[:16]):
            assert name.read_bytes() == bytes_of(chunk, 2)
        assert (mounted.path / "notes.txt").read_bytes() == b"kept"
        assert mounted.status()["write"]["dirty_chunks"] == 17
    assert wait_until(lambda: mounted.status()["write"]["dirty_chunks"] == 0, 90)
    assert stored_values(array) == {c: (1, 2) if c < 16 else None for c in range(32)}
    assert array.get("notes.txt") == b"kept"
    assert mounted.status()["write"]["conflicts"] == 0


def test_chunks_are_replaced_while_nobody_knows_whether_they_exist(array):
    """A store that is away says of no name whether it has a file: writing asks it nothing."""
    other = array.mount()
    write_file(other.path / array.source.name(9), bytes_of(9))
    flush(other)
    other.unmount()
    mounted = array.mount("publish_after=0.1,ttl=0.1")
    names = [mounted.path / array.source.name(chunk) for chunk in range(32)]
    with away(array.store):
        begun = time.monotonic()
        for chunk in range(8, 24):
            write_file(names[chunk], bytes_of(chunk, 2))
        scratch = names[24].with_name("24.partial")
        scratch.write_bytes(bytes_of(24, 2))
        os.rename(scratch, names[24])
        took = time.monotonic() - begun
        for chunk in range(8, 25):
            assert names[chunk].read_bytes() == bytes_of(chunk, 2)
        assert mounted.status()["write"]["dirty_chunks"] == 17
        assert failure_of(names[25].stat) != errno.ENOENT, "a program would take it for absent"
    assert took < 17 * FOUND_AWAY / 2, f"{took:.1f} s for 17 chunks"
    assert wait_until(lambda: mounted.status()["write"]["dirty_chunks"] == 0, 90)
    assert stored_values(array) == {c: (1, 2) if 8 <= c < 25 else None for c in range(32)}
    assert not names[25].exists()
    assert mounted.status()["write"]["conflicts"] == 0


def failure_of(what):
    """The errno with which it fails."""
    with pytest.raises(OSError) as failure:
        what()
    return failure.value.errno


def failures_of(what):
    """The set of numbers with which it fails MANY times, and how many seconds that takes."""
    begun = time.monotonic()
    errors = {failure_of(what) for _ in range(MANY)}
    return errors, time.monotonic() - begun


def is_drained(mounted):
    return mounted.status()["write"]["dirty_chunks"] == 0


def wait_for_disk_cache(mounted):
    """Until all that was read is in it."""
    assert wait_until(lambda: mounted.status()["counters"]["disk_cache"]["waiting"] == 0, 60)


def test_new_files_are_written_while_nobody_knows_whether_they_exist(array):
    array.put("theirs.txt", b"theirs")
    mounted = array.mount("publish_after=0.1,ttl=0.1")
    path = mounted.path
    with away(array.store):
        write_file(path / "new.txt", b"new")
        write_file(path / "theirs.txt", b"ours")
        write_file(path / "notes.partial", b"notes")
        os.rename(path / "notes.partial", path / "notes")
        begun = time.monotonic()
        for number in range(MANY):
            write_file(path / f"late-{number}.txt", b"late")
        took = time.monotonic() - begun
        assert (path / "new.txt").read_bytes() == b"new"
        assert (path / "theirs.txt").read_bytes() == b"ours"
        assert (path / "notes").read_bytes() == b"notes"
        errors, failing = failures_of((path / "unknown.txt").read_bytes)
        assert not errors & {errno.ENOENT, errno.ENOTDIR}, "a program would take it for absent"
    assert max(took, failing) < MANY * FOUND_AWAY / 2, (took, failing)
    assert wait_until(lambda: is_drained(mounted), 90)
    assert [array.get(name) for name in ("new.txt", "theirs.txt", "notes", "late-9.txt")] == [
        b"new", b"ours", b"notes", b"late"]
    assert array.get("notes.partial") is None
    assert mounted.status()["write"]["conflicts"] == 0
    assert not (path / "unknown.txt").exists()


@pytest.mark.long
def test_what_the_disk_cache_has_is_opened_while_the_store_is_away(array):
    first = array.mount()
    for chunk in range(8):
        write_file(first.path / array.source.name(chunk), bytes_of(chunk))
    write_file(first.path / "notes.txt", b"notes " * 10)
    write_file(first.path / "unread.txt", b"unread " * 10)
    first.unmount()
    time.sleep(3.5)  # what is younger is not kept
    mounted = array.mount(f"{PATIENT},ttl=0.1,cache={array.work / 'cache'}")
    names = [mounted.path / array.source.name(chunk) for chunk in range(8)]
    for chunk in range(4):
        assert names[chunk].read_bytes() == bytes_of(chunk)
    assert (mounted.path / "notes.txt").read_bytes() == b"notes " * 10
    assert (mounted.path / "unread.txt").stat().st_size == 70
    wait_for_disk_cache(mounted)
    subprocess.run(["sync"], check=True)
    with away(array.store):
        failure_of((mounted.path / "unread.txt").read_bytes)  # waits until the store is found away
        for chunk in range(4):
            assert names[chunk].read_bytes() == bytes_of(chunk)
        assert (mounted.path / "notes.txt").read_bytes() == b"notes " * 10
        assert (mounted.path / "unread.txt").stat().st_size == 70
        errors, took = failures_of((mounted.path / "unread.txt").read_bytes)
        assert errors <= {errno.EIO, errno.ETIMEDOUT} and took < MANY * FOUND_AWAY / 2, (errors, took)
        assert "the store is unreachable" in (mounted.path / ".unshard" / "errors").read_text()
    assert wait_until(lambda: readable(mounted.path / "unread.txt"), 60)
    assert names[7].read_bytes() == bytes_of(7)


def test_what_this_mount_has_put_is_not_undone_while_the_store_is_away(array):
    """The disk cache has the version before, which is not read again once it is replaced."""
    first = array.mount()
    write_file(first.path / "notes.txt", b"old notes " * 6)
    write_file(first.path / "gone.txt", b"gone " * 12)
    first.unmount()
    time.sleep(3.5)  # what is younger is not kept
    mounted = array.mount(f"publish_after=0.1,ttl=0.1,cache={array.work / 'cache'}")
    for name in ("notes.txt", "gone.txt"):
        assert len((mounted.path / name).read_bytes()) == 60
    wait_for_disk_cache(mounted)
    write_file(mounted.path / "notes.txt", b"new")
    (mounted.path / "gone.txt").unlink()
    assert wait_until(lambda: is_drained(mounted), 30)
    assert (array.get("notes.txt"), array.get("gone.txt")) == (b"new", None)
    with away(array.store):
        failure_of((mounted.path / "unknown.txt").read_bytes)  # waits until it is found away
        assert (mounted.path / "notes.txt").stat().st_size == 3
        with contextlib.suppress(OSError):
            assert (mounted.path / "notes.txt").read_bytes() == b"new"
        failure_of((mounted.path / "gone.txt").read_bytes)
    assert wait_until(lambda: readable(mounted.path / "notes.txt"), 60)
    assert (mounted.path / "notes.txt").read_bytes() == b"new"


def readable(path):
    try:
        return path.read_bytes() != b""
    except OSError:
        return False


@pytest.mark.long
def test_whatever_the_store_answers_lets_the_spool_drain(array):
    """A publish that has failed waits; an answer to a read ends that (PublishQueueTest: at once)."""
    mounted = array.mount("publish_after=0.1,ttl=0.1")
    names = [mounted.path / array.source.name(chunk) for chunk in range(32)]
    array.put("there.txt", b"there")
    with away(array.store):
        write_file(names[0], bytes_of(0))
        write_file(names[8], bytes_of(8))
        assert wait_until(lambda: mounted.status()["write"]["publish_failures"] >= 1, 90)
    # A store that has been away is not waited for, when it is busy with what has come meanwhile.
    assert wait_until(lambda: readable(mounted.path / "there.txt"), 60)
    assert wait_until(lambda: is_drained(mounted), 60), mounted.status()["write"]
    assert {c: who for c, who in stored_values(array).items() if who} == {0: (1, 1), 8: (1, 1)}


def test_strict_replaces_nothing_that_nobody_knew_of(array):
    other = array.mount()
    write_file(other.path / array.source.name(9), bytes_of(9))
    write_file(other.path / "theirs.txt", b"theirs")
    flush(other)
    other.unmount()
    mounted = array.mount("publish_after=0.1,ttl=0.1,strict")
    with away(array.store):
        for chunk in (8, 9):
            write_file(mounted.path / array.source.name(chunk), bytes_of(chunk, 2))
        write_file(mounted.path / "theirs.txt", b"ours")
        write_file(mounted.path / "new.txt", b"new")
    assert wait_until(lambda: is_drained(mounted), 90)
    values = stored_values(array)
    assert (values[8], values[9]) == ((1, 2), (1, 1))
    assert (array.get("theirs.txt"), array.get("new.txt")) == (b"theirs", b"new")
    aside = {each["chunk"]: pathlib.Path(each["path"]).read_bytes()
             for each in mounted.status()["write"]["set_aside"]}
    assert aside == {array.source.name(9): bytes_of(9, 2), "theirs.txt": b"ours"}


def test_an_unmount_with_nothing_to_put_does_not_ask_the_store(watched):
    array = watched
    mounted = array.mount("ttl=0.1")
    write_file(mounted.path / array.source.name(0), bytes_of(0))
    document = json.loads((mounted.path / "zarr.json").read_text())
    document["attributes"] = {"edited": True}
    write_file(mounted.path / "zarr.json", json.dumps(document).encode())
    flush(mounted)
    with away(array.store):
        asked = array.requests()
        mounted.unmount()
    assert not wait_until(lambda: array.requests() != asked, 2), array.requests()
    assert "stay in the spool" not in mounted.log()


@pytest.mark.long
def test_an_unmount_ends_although_the_store_does_not_answer(array):
    mounted = array.mount()
    write_file(mounted.path / array.source.name(0), bytes_of(0))
    write_file(mounted.path / "notes.txt", b"kept")
    with away(array.store):
        mounted.unmount()
    assert "2 chunks (4.1 kB) stay in the spool" in mounted.log(), mounted.log()
    assert "retried in" not in mounted.log(), mounted.log()
    assert "has not transferred a byte for 15 s" in mounted.log(), mounted.log()
    again = array.mount()
    flush(again)
    assert stored_values(array)[0] == (1, 1)
    assert array.get("notes.txt") == b"kept"


# -------------------------------------------------------------------------------- permissions


def test_a_store_that_cannot_be_written_is_mounted_read_only(remote, work, unshard_binary):
    source = LineSource(str(work / "array"), "zarr/", shards=1, per_shard=2).create()
    remote.upload(work / "array")
    mounted = remote.make(remote.url(), "ro", environment=remote.store.environment)
    assert mounted.status()["read_only"]
    refused(errno.EROFS, lambda: write_file(mounted.path / source.name(0), bytes_of(0)))
    assert remote.names() == ["zarr.json"], "ro probes nothing"


@pytest.fixture
def refusing(array, work):
    """The array behind a proxy that refuses every write, as a bucket does to who may only read it."""
    proxy = Server(SERVERS / "fault_proxy", array.store.server.url, work / "proxy")
    method = {"s3": "PUT", "gs": "POST"}[array.store.scheme]
    (work / "proxy" / "faults").write_text(f"on {method};status 403\n" * 50)
    array.environment = array.store.seen_at(proxy.url)
    yield array
    proxy.stop()


def test_without_the_right_to_write_the_first_open_that_writes_is_refused(refusing, work):
    mounted = refusing.make(refusing.url(), f"spool={work / 'spools'}", environment=refusing.environment)
    assert not mounted.status()["read_only"], "mounting writes nothing"
    document = json.loads((mounted.path / "zarr.json").read_text())
    document["attributes"] = {"edited": True}
    for name, data in ((refusing.source.name(0), bytes_of(0)), ("notes.txt", b"notes"),
                       ("zarr.json", json.dumps(document).encode())):
        refused(errno.EACCES, lambda: write_file(mounted.path / name, data))
    assert "403" in mounted.log(), mounted.log()
    assert refusing.names() == ["zarr.json"]


def test_a_store_that_is_away_when_it_is_first_written_is_written_later(array):
    """Nothing is known of it: what is written waits in the spool. A store of another URL is not known."""
    proxy = Server(SERVERS / "fault_proxy", array.store.server.url, array.work / "proxy")
    try:
        mounted = array.make(array.url(), f"spool={array.work / 'spools'},{PATIENT}",
                             environment=array.store.seen_at(proxy.url))
        proxy.pause()
        write_file(mounted.path / array.source.name(0), bytes_of(0))
        assert (mounted.path / array.source.name(0)).read_bytes() == bytes_of(0)
        proxy.go_on()
        flush(mounted)
    finally:
        proxy.stop()
    assert stored_values(array)[0] == (1, 1)


# ------------------------------------------------------------------------- strict, and the commands


def test_strict_keeps_what_another_mount_has_put(array):
    """Chunks and files that both have written: theirs stays, ours is kept in the spool's conflicts."""
    ours, theirs = array.mount(f"{PATIENT},strict"), array.mount()
    for mounted, counter in ((ours, 1), (theirs, 2)):
        write_file(mounted.path / array.source.name(0), bytes_of(0, counter))
        write_file(mounted.path / "notes.txt", b"version %d" % counter)
    write_file(ours.path / array.source.name(1), bytes_of(1))
    flush(theirs)
    with pytest.raises(OSError):
        flush(ours)
    assert wait_until(lambda: ours.status()["write"]["dirty_chunks"] == 0, 30)
    values = stored_values(array)
    assert (values[0], values[1]) == ((1, 2), (1, 1))
    assert array.get("notes.txt") == b"version 2"
    aside = {each["chunk"]: pathlib.Path(each["path"]).read_bytes()
             for each in ours.status()["write"]["set_aside"]}
    assert aside == {array.source.name(0): bytes_of(0), "notes.txt": b"version 1"}
    assert ours.status()["write"]["conflicts"] == 2
    assert wait_until(
        lambda: (ours.path / array.source.name(0)).read_bytes() == bytes_of(0, 2), 30)
    flush(ours)


def test_without_strict_the_last_one_to_put_wins_and_it_is_counted(array):
    ours, theirs = array.mount(), array.mount()
    for mounted, counter in ((ours, 1), (theirs, 2)):
        write_file(mounted.path / array.source.name(0), bytes_of(0, counter))
        write_file(mounted.path / "notes.txt", b"version %d" % counter)
    flush(theirs)
    flush(ours)
    assert stored_values(array)[0] == (1, 1) and array.get("notes.txt") == b"version 1"
    assert ours.status()["write"]["conflicts"] == 2 and theirs.status()["write"]["conflicts"] == 0


def test_the_spool_commands_take_the_url(array, work, run_unshard):
    environment = {**os.environ, **array.store.environment}
    spools = work / "spools"

    def run(*arguments):
        return run_unshard("spool", *arguments, "--spool", spools, env=environment)

    mounted = array.mount()
    for chunk in (0, 1, 9):
        write_file(mounted.path / array.source.name(chunk), bytes_of(chunk))
    write_file(mounted.path / "notes.txt", b"kept")
    listed = run("list", array.url())
    assert "in use by" in listed.stdout and "4 chunks" in listed.stdout, listed.stdout
    kill(mounted)
    listed = run("list", "-v", array.url())
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "left by" in listed.stdout and "notes.txt  4 bytes" in listed.stdout, listed.stdout
    for secret in array.store.environment.values():
        assert "secret" not in secret or secret not in listed.stdout
    to = work / "to"
    to.mkdir()
    done = run("export", to)
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(to)): path.read_bytes() for path in to.rglob("*") if path.is_file()}
    assert found == {array.source.name(chunk): bytes_of(chunk) for chunk in (0, 1, 9)} | {
        "notes.txt": b"kept"}
    assert run("list", f"{array.url()}-other").stdout.startswith("no spools")
    done = run("publish", array.url())
    assert done.returncode == 0, done.stderr
    values = stored_values(array)
    assert {chunk for chunk, who in values.items() if who} == {0, 1, 9}
    assert array.get("notes.txt") == b"kept"
    assert "nothing to publish" in run("publish", array.url()).stdout


def test_publish_without_a_store_says_what_stays(array, work, run_unshard):
    mounted = array.mount()
    write_file(mounted.path / array.source.name(0), bytes_of(0))
    kill(mounted)
    environment = {**os.environ, **array.store.seen_at("http://127.0.0.1:1")}
    done = run_unshard("spool", "publish", array.url(), "--spool", work / "spools", env=environment)
    assert done.returncode == 1 and "port 1" in done.stderr, done.stderr
    assert "1 chunk (4 kB) stay in the spool" in done.stderr, done.stderr
    again = array.mount()
    flush(again)
    assert stored_values(array)[0] == (1, 1)


def test_why_explains_failures_behind_a_url(array, run_unshard):
    mounted = array.mount()
    chunk = mounted.path / array.source.name(0)
    refused(errno.EINVAL, lambda: write_file(chunk, b"short"))
    done = run_unshard("why", chunk)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    what, why, to_do = done.stdout.splitlines()
    assert what.startswith(f"{chunk}: close failed with EINVAL") and "4096 bytes" in why
    # What a store holds in place of a shard.
    array.put("c/2/0", b"no shard")
    broken = mounted.path / array.source.name(17)
    refused(errno.EIO, broken.read_bytes)
    what, why, to_do = run_unshard("why", broken).stdout.splitlines()
    assert "failed with EIO" in what and f"{array.prefix}/c/2/0" in why, (what, why)
    assert "secret" not in done.stdout
