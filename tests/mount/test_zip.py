"""ZIP archives as sources: what a mount of one shows is what other readers of the archive see.

The archives are those of tests/fuzz/corpus/zip_directory, and random ones of zarr-python and of
Python's zipfile.
"""

import errno
import io
import json
import os
import pathlib
import random
import shutil
import struct
import threading
import zipfile

import numpy as np
import pytest

from mount_data import PrecomputedVolume, ZarrTree, files_in, refused, replace_file
from mounting import MountFailed, wait_until
from remote_stores import KINDS, SERVERS, Server, open_bucket
from test_http import answers

ARCHIVES = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "zip_directory"
SECONDS = 20


def data_of(root):
    """The files of a mount, without its control files."""
    return {name: data for name, data in files_in(root).items() if not name.startswith(".unshard/")}


def pack(path, files, method=zipfile.ZIP_STORED):
    """What careful writers do: a temporary file, renamed over the archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    replace_file(path, packed.getvalue())


def pack_folder(path, folder, method=zipfile.ZIP_STORED):
    pack(path, {str(each.relative_to(folder)): each.read_bytes()
                for each in sorted(folder.rglob("*")) if each.is_file()}, method)


@pytest.mark.parametrize("name", sorted(each.name for each in ARCHIVES.iterdir()))
def test_archives_of_other_writers_are_mounted(name, mount, run_unshard):
    import zarr

    group = "img.zarr" if name == "invalid_subfolder.ozx" else ""
    mounted = mount(ARCHIVES / name)
    array = zarr.open_array(mounted.path / group / "0", mode="r")[...]
    if name == "odd_zarr_python_rewritten.ozx":
        assert np.array_equal(array, np.repeat([1, 2], 8).reshape(4, 4))
    else:
        assert np.array_equal(array, np.arange(192).reshape(4, 6, 8))
    info = run_unshard("info", ARCHIVES / name)
    assert info.returncode == 0 and "zarr v3 array, sharded" in info.stdout
    assert ("RFC-9" in info.stderr) == ("invalid" in name)
    copied = run_unshard("copy", "-q", "--verify", f"{ARCHIVES / name}|zip:{group}/0",
                         mounted.path.parent / "copied")
    assert copied.returncode == 0, copied.stderr


def random_zip(path, seed):
    """Of names below directories; each entry stored or deflated, its header long or short; written with
    and without seeking, with a comment, behind other bytes. Returns {name: bytes}."""
    choose = random.Random(seed)
    files, target = {}, io.BytesIO()
    files["zarr.json"] = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}).encode()
    for _ in range(choose.randrange(40)):
        name = "/".join(choose.choice(["a", "b-", "b", "grün", "0", "1.5"])
                        for _ in range(choose.randrange(3)))
        data = choose.randbytes(choose.choice([0, 1, 100, 70_000])) * choose.choice([1, 1, 9])
        files[f"{name}/f{choose.randrange(9)}".lstrip("/")] = data

    class Unseekable(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return target.write(data)

    with zipfile.ZipFile(Unseekable() if choose.random() < 0.3 else target, "w") as archive:
        for name, data in choose.sample(sorted(files.items()), len(files)):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = choose.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
            # Longer than what is read beside the local header.
            entry.extra = b"".join(struct.pack("<HH", 0x7075, size) + bytes(size)
                                   for size in [choose.choice([0, 10, 500])] if size)
            with archive.open(entry, "w", force_zip64=choose.random() < 0.3) as out:
                out.write(data)
            folder = name.rpartition("/")[0] + "/"
            if "/" in name and folder not in archive.NameToInfo and choose.random() < 0.2:
                archive.writestr(folder, b"")
        archive.comment = choose.choice([b"", b"a comment", b"PK\5\6" + bytes(30)])
    path.write_bytes(choose.choice([b"", b"#!/bin/sh\n" * 20]) + target.getvalue())
    return files


@pytest.mark.parametrize("seed", range(12))
def test_random_archives_have_the_files_that_were_put_into_them(seed, work, mount):
    files = random_zip(work / "random.zip", seed)
    mounted = mount(work / "random.zip")
    assert data_of(mounted.path) == files
    for name, data in files.items():
        with open(mounted.path / name, "rb") as file:  # the end, then a part
            file.seek(max(len(data) - 50, 0))
            assert file.read() == data[-50:]
            file.seek(len(data) // 3)
            assert file.read(100) == data[len(data) // 3:][:100]
        assert (mounted.path / name).stat().st_size == len(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("sharded", [True, False])
def test_archives_of_zarr_python_are_mounted(method, sharded, work, mount):
    import zarr

    data = np.random.default_rng(1).integers(0, 9, (40, 50, 60), dtype="uint8")
    store = zarr.storage.ZipStore(work / "zarr.zip", mode="w", compression=method)
    group = zarr.create_group(store)
    shards = (20, 20, 20) if sharded else None
    array = group.create_array("a", shape=data.shape, dtype="uint8", chunks=(10, 10, 10), shards=shards)
    array[...] = data
    with pytest.warns(UserWarning, match="Duplicate name"):
        array[:5, :5, :5] = 77
    data[:5, :5, :5] = 77
    store.close()
    mounted = mount(work / "zarr.zip")
    assert np.array_equal(zarr.open_array(mounted.path / "a", mode="r")[...], data)
    assert sorted(os.listdir(mounted.path / "a")) == ["c", "zarr.json"]
    n5 = mount(work / "zarr.zip", "view=n5")
    assert (n5.path / "a" / "attributes.json").is_file()


@pytest.fixture(scope="module")
def trees(module_work):
    """A sharded volume and a Zarr tree: as directories, and packed."""
    root = module_work / "trees"
    root.mkdir()
    PrecomputedVolume(root / "volume")
    ZarrTree(root / "tree")
    served = module_work / "served"
    served.mkdir()
    for method, name in [(zipfile.ZIP_STORED, "stored.zip"), (zipfile.ZIP_DEFLATED, "my deflated.zip")]:
        pack_folder(served / name, root, method)
    return root, served


@pytest.fixture(scope="module")
def nginx(trees, module_work):
    server = Server(SERVERS / "nginx", trees[1], module_work / "nginx")
    server.requests = module_work / "nginx" / "requests"
    assert wait_until(lambda: answers(server.url), SECONDS)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def directory(trees, module_mount):
    return data_of(module_mount(trees[0], "ro").path)


@pytest.mark.parametrize("name", ["stored.zip", "my deflated.zip"])
def test_a_local_archive_is_what_its_directory_is(name, trees, directory, mount):
    assert data_of(mount(trees[1] / name).path) == directory


@pytest.mark.parametrize("name", ["stored.zip", "my deflated.zip"])
@pytest.mark.parametrize("location", ["plain", "whole", "untagged", "near"])
def test_an_archive_behind_a_url_is_what_its_directory_is(location, name, nginx, directory, mount):
    url = f"{nginx.url}/{location}/{name.replace(' ', '%20')}"
    assert data_of(mount(url).path) == directory


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_in_a_bucket_is_what_its_directory_is(kind, trees, directory, work, mount, run_unshard):
    bucket = open_bucket(kind, work)
    try:
        for name in ("stored.zip", "my deflated.zip"):
            bucket.put(f"some/{name}", (trees[1] / name).read_bytes())
            url = f"{bucket.scheme}://unshard-bucket/some/{name}"
            mounted = mount(url, environment=bucket.environment)
            assert data_of(mounted.path) == directory
            inside = run_unshard("info", f"{url}|zip:volume/", env={**os.environ, **bucket.environment})
            assert inside.returncode == 0 and "precomputed volume" in inside.stdout, inside.stderr
            # Replaced under the mount.
            bucket.put(f"some/{name}", repacked(trees[1] / name))
            assert wait_until(lambda: "note" in os.listdir(mounted.path), SECONDS)
            assert data_of(mounted.path) == {**directory, "note": b"new"}
    finally:
        bucket.server.stop()


def repacked(path):
    """The archive with one more entry, which stands first: all offsets are others."""
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w") as new:
        new.writestr("note", b"new")
        for entry in old.infolist():
            new.writestr(entry, old.read(entry))
    return packed.getvalue()


def test_an_archive_behind_a_url_is_asked_for_few_times(trees, nginx, mount):
    def requests():
        return nginx.requests.read_text().splitlines()

    before = len(requests())
    mounted = mount(f"{nginx.url}/plain/stored.zip", "immutable")
    mounting = requests()[before:]
    # The end of the archive, which holds its directory, and each document.
    documents = [name for name in files_in(trees[0]) if name.rpartition("/")[2] in
                 ("info", "zarr.json", ".zarray", ".zgroup", ".zattrs", "attributes.json")]
    assert len(mounting) <= 1 + len(documents), mounting
    before = len(requests())
    for folder, _, names in os.walk(mounted.path / "tree"):
        for name in names:
            os.stat(os.path.join(folder, name))
    assert not [each for each in requests()[before:] if "stored.zip" in each and "-131072" in each]


def versioned(version):
    """Files of one size that say in each byte which version of the archive they are of, in an order that
    changes: an offset of one archive leads into another file of the next one."""
    names = [f"f{number}" for number in range(12)]
    random.Random(version).shuffle(names)
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"version": version}}
    return {"zarr.json": json.dumps(document).encode(),
            **{name: bytes([version % 251]) * (2000 + 500 * (version % 3)) for name in names}}


@pytest.mark.parametrize("how", ["renamed", "in place", "nginx", "nginx deflated"])
def test_no_reader_sees_two_archives_at_once(how, work, mount, trees, nginx):
    root = trees[1] if "nginx" in how else work
    path = root / f"{how.replace(' ', '-')}.zip"
    method = zipfile.ZIP_DEFLATED if "deflated" in how else zipfile.ZIP_STORED
    pack(path, versioned(0), method)
    # nginx's ETags are of seconds and sizes.
    os.utime(path, (1_600_000_000, 1_600_000_000))
    mounted = mount(f"{nginx.url}/plain/{path.name}" if "nginx" in how else path, "ttl=0.1")
    ended, seen, faults = threading.Event(), set(), []

    def read(number):
        choose = random.Random(number)
        while not ended.is_set():
            name = f"f{choose.randrange(12)}"
            try:
                data = (mounted.path / name).read_bytes()
            except OSError:  # the archive is being written, or was replaced while it was read
                continue
            if data:
                seen.add(data[0])
                if len(set(data)) != 1 or len(data) not in (2000, 2500, 3000):
                    faults.append((name, len(data), set(data)))

    readers = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for each in readers:
        each.start()
    try:
        for version in range(1, 40):
            replace_archive(path, version, how, method)
            wait_until(lambda: version in seen, 1)
        assert wait_until(lambda: 39 in seen, SECONDS), seen
    finally:
        ended.set()
        for each in readers:
            each.join()
    assert not faults, faults[:3]
    assert wait_until(lambda: json.loads((mounted.path / "zarr.json").read_bytes())["attributes"]["version"]
                      == 39, SECONDS)


def replace_archive(path, version, how, method):
    new = path.with_suffix(".new")
    pack(new, versioned(version), method)
    if how == "in place":
        path.write_bytes(new.read_bytes())
        return
    os.utime(new, (1_600_000_000 + version, 1_600_000_000 + version))
    os.replace(new, path)


def test_a_damaged_archive_and_damaged_entries_say_what_is_wrong(work, mount, run_unshard):
    files = {"zarr.json": versioned(1)["zarr.json"], "f": bytes(1000), "g": b"intact"}
    pack(work / "a.zip", files)
    data = bytearray((work / "a.zip").read_bytes())
    data[data.index(bytes(500)) + 400] = 1
    (work / "a.zip").write_bytes(data)
    mounted = mount(work / "a.zip")
    assert (mounted.path / "g").read_bytes() == b"intact"
    with pytest.raises(OSError):
        (mounted.path / "f").read_bytes()
    assert "a.zip/f: the CRC-32 of its bytes" in run_unshard("why", mounted.path).stdout
    # Half of an archive is none; then it is whole again.
    (work / "a.zip").write_bytes(data[:-30])
    assert wait_until(lambda: not os.path.exists(mounted.path / "g"), SECONDS)
    with pytest.raises(MountFailed, match="no end record: is it cut off?"):
        mount(work / "a.zip")
    pack(work / "a.zip", files)
    assert wait_until(lambda: os.path.exists(mounted.path / "g"), SECONDS)
    assert (mounted.path / "f").read_bytes() == bytes(1000)


@pytest.mark.parametrize("name, message", [
    ("../out", "the entry '../out': expected a relative path"),
    ("/out", "the entry '/out': expected a relative path"),
    ("a/../../out", "the entry 'a/../../out': expected a relative path")])
def test_names_that_leave_the_archive_are_refused(name, message, work, run_unshard):
    pack(work / "a.zip", {"zarr.json": b"{}", name: b"x"})
    info = run_unshard("info", work / "a.zip")
    assert info.returncode == 1 and f"{work}/a.zip: {message}" in info.stderr


def test_archives_are_only_read(work, trees, mount, run_unshard):
    archive = trees[1] / "stored.zip"
    with pytest.raises(MountFailed, match="ZIP archives are read-only; mount it without rw"):
        mount(archive, "rw")
    mounted = mount(archive)
    refused(errno.EROFS, (mounted.path / "tree" / "new").write_bytes, b"x")
    for command in (["create", work / "new.ozx", "--like", trees[0] / "volume"],
                    ["create", archive, "--like", trees[0] / "volume"],
                    ["create", "s3://bucket/new.zip", "--like", trees[0] / "volume"]):
        created = run_unshard(*command)
        assert created.returncode == 1 and "ZIP archives are written whole" in created.stderr
    assert not (work / "new.ozx").exists()


def test_a_directory_of_an_archive_can_be_named(trees, work, mount, run_unshard):
    archive = trees[1] / "stored.zip"
    whole = files_in(mount(archive).path / "tree")
    for source in (archive / "tree", f"{archive}|zip:tree/", f"{archive}|zip:|zarr3:tree"):
        assert data_of(mount(source).path) == whole
    shutil.copy(archive, work / "no name of an archive")
    assert data_of(mount(f"{work}/no name of an archive|zip:tree").path) == whole
    for source, message in [(archive / "none", "stored.zip/none: the archive has no such directory"),
                            (f"{archive}|zip:a|zip:b", "names an archive in another one"),
                            (work / "no name of an archive", "names of ZIP archives end with .ozx or .zip")]:
        info = run_unshard("info", source)
        assert info.returncode == 1 and message in info.stderr, info.stderr


def test_commands_take_archives(trees, run_unshard):
    archive = trees[1] / "my deflated.zip"
    schema = run_unshard("schema", archive, "volume")
    assert schema.returncode == 0 and "chunk_layout" in schema.stdout, schema.stderr
    info = json.loads(run_unshard("info", "--json", archive).stdout)
    assert info["source"] == str(archive) and {"volume", "tree"} <= {each["path"] for each in info["datasets"]}


def test_an_archive_that_goes_is_not_an_empty_dataset(work, mount):
    pack(work / "a.zip", versioned(1))
    mounted = mount(work / "a.zip")
    name = next(path for path in versioned(1) if not path.endswith("zarr.json"))
    assert (mounted.path / name).read_bytes() == versioned(1)[name]
    os.rename(work / "a.zip", work / "b.zip")
    assert wait_until(lambda: reading_fails(mounted.path / name), SECONDS)
    refused(errno.EIO, os.listdir, mounted.path)
    refused(errno.EIO, os.stat, mounted.path / "none")
    os.rename(work / "b.zip", work / "a.zip")
    assert wait_until(lambda: not reading_fails(mounted.path / name), SECONDS)


def reading_fails(path):
    try:
        path.read_bytes()
    except OSError as error:
        assert error.errno == errno.EIO
        return True
    return False


def test_archives_below_a_directory_can_be_entered(trees, directory, work, mount, run_unshard):
    folder = work / "folder"
    shutil.copytree(trees[0] / "tree", folder / "tree")
    (folder / "deep").mkdir()
    for name in ("stored.zip", "deep/Deflated.ZIP"):
        shutil.copy(trees[1] / ("stored.zip" if name == "stored.zip" else "my deflated.zip"), folder / name)
    (folder / "damaged.ozx").write_bytes(b"no archive")
    (folder / "directory.zip").mkdir()
    (folder / "directory.zip" / "note").write_bytes(b"a directory")
    pack(work / "inner.zip", {"f": b"x"})
    inner = {"inner.zip": (work / "inner.zip").read_bytes()}
    pack(folder / "outer.zip", inner)

    plain = mount(folder, "ro")
    assert (plain.path / "stored.zip").read_bytes() == (trees[1] / "stored.zip").read_bytes()
    mounted = mount(folder, "zip=enter")
    for name in ("stored.zip", "deep/Deflated.ZIP"):
        assert data_of(mounted.path / name) == directory
    assert data_of(mounted.path / "tree") == data_of(plain.path / "tree")
    assert data_of(mounted.path / "outer.zip") == inner
    assert data_of(mounted.path / "directory.zip") == {"note": b"a directory"}
    refused(errno.EROFS, (mounted.path / "new").write_bytes, b"x")
    refused(errno.EROFS, (mounted.path / "stored.zip" / "new").write_bytes, b"x")
    with pytest.raises(OSError):
        os.listdir(mounted.path / "damaged.ozx")
    assert "damaged.ozx: expected a ZIP archive" in run_unshard("why", mounted.path).stdout
    # An archive that is replaced, a new one, and one that goes.
    (work / "new").write_bytes(repacked(trees[1] / "stored.zip"))
    os.replace(work / "new", folder / "stored.zip")
    assert wait_until(lambda: "note" in os.listdir(mounted.path / "stored.zip"), SECONDS)
    assert data_of(mounted.path / "stored.zip") == {**directory, "note": b"new"}
    pack(folder / "later.zip", {"f": b"late"})
    assert wait_until(lambda: "later.zip" in os.listdir(mounted.path), SECONDS)
    assert (mounted.path / "later.zip" / "f").read_bytes() == b"late"
    os.remove(folder / "deep" / "Deflated.ZIP")
    assert wait_until(lambda: not os.listdir(mounted.path / "deep"), SECONDS)


@pytest.mark.parametrize("source, options, message", [
    ("folder", "rw,zip=enter", "directories with zip=enter are read-only"),
    ("folder/a.zip", "zip=enter", "option zip=enter: expected a directory of this machine"),
    ("http://127.0.0.1:9/a", "zip=enter", "option zip=enter: expected a directory of this machine"),
    ("folder", "zip=in", "zip")])
def test_what_cannot_be_entered_is_refused(source, options, message, work, mount):
    (work / "folder").mkdir()
    pack(work / "folder" / "a.zip", {"f": b"x"})
    with pytest.raises(MountFailed, match=message):
        mount(source if "//" in source else work / source, options)
