"""Chunk files "<name>.gz", ".br", ".zstd", ".xz" and ".bz2" of unsharded volumes, as CloudVolume
writes them: in every view, copied, over http, and written. CloudVolume is the judge."""

import collections
import contextlib
import errno
import functools
import gzip
import http.server
import os
import pathlib
import threading

import numpy as np
import pytest
import zarr

import remote_stores
from judging import names
from mounting import wait_until
from precomputed_sources import open_cloudvolume

SUFFIXES = {"": False, ".gz": "gzip", ".br": "br", ".zstd": "zstd", ".xz": "xz", ".bz2": "bz2"}
EDGE = 8
FORMS = list(SUFFIXES)
NAMES = [f"{EDGE * i}-{EDGE * (i + 1)}_0-{EDGE}_0-{EDGE}" for i in range(len(FORMS) + 1)]
ABSENT = NAMES[-1]
STORED = {name + suffix for name, suffix in zip(NAMES, FORMS)}


def voxels(seed=3):
    values = np.random.default_rng(seed).integers(1, 2 ** 16, (EDGE * len(NAMES), EDGE, EDGE), "u2")
    values[EDGE * len(FORMS):] = 0
    return values


def bytes_of(number, values):
    return values[EDGE * number:EDGE * (number + 1)].tobytes("F")


def as_xyz(found):
    """Views have the axes in the order of their format, and one channel or none."""
    found = np.squeeze(np.asarray(found))
    return found if found.shape == voxels().shape else found.T


def build(path):
    """One chunk of each form along x, and one that is absent."""
    from cloudvolume import CloudVolume
    values = voxels()
    info = CloudVolume.create_new_info(1, "image", "uint16", "raw", [8, 8, 40], [0, 0, 0],
                                       values.shape, chunk_size=[EDGE] * 3)
    volume = CloudVolume(f"file://{path}", info=info, progress=False)
    volume.commit_info()
    for i, compress in enumerate(SUFFIXES.values()):
        part = slice(EDGE * i, EDGE * (i + 1))
        open_cloudvolume(path, 0, compress=compress)[part, :, :] = values[part, ..., None]
    assert set(names(path / "8_8_40")) == STORED
    return path


@pytest.fixture(scope="module")
def volume(module_work):
    return build(module_work / "volume")


class Counting(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests[pathlib.PurePath(self.path).name] += 1
        super().do_GET()

    def do_HEAD(self):
        self.server.requests[pathlib.PurePath(self.path).name] += 1
        super().do_HEAD()

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(directory):
    """(URL, {file name: requests}) of a plain file server, which cannot list or read ranges."""
    handler = functools.partial(Counting, directory=directory)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requests = collections.Counter()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", server.requests
        finally:
            server.shutdown()
            thread.join(30)


@pytest.fixture(params=["local", "http"])
def source(request, volume):
    if request.param == "local":
        yield volume
        return
    with served(volume) as (url, _):
        yield url


@pytest.mark.parametrize("view", ["raw", "zarr3", "zarr2", "n5", "precomputed"])
def test_views_have_the_voxels(source, mount, view):
    shown = mount(source, f"ro,view={view}").path
    if view in ("raw", "precomputed"):
        scale = shown / "8_8_40"
        for i, name in enumerate(NAMES[:-1]):
            assert (scale / name).read_bytes() == bytes_of(i, voxels()), FORMS[i]
        with pytest.raises(FileNotFoundError):
            (scale / ABSENT).read_bytes()
        return
    if view == "n5":
        import tensorstore as ts
        found = ts.open({"driver": "n5", "kvstore": f"file://{shown}/s0/"}).result().read().result()
    else:
        found = zarr.open_array(shown / "0", mode="r")[...]
    np.testing.assert_array_equal(as_xyz(found), voxels())


@pytest.mark.parametrize("arguments", [["--format", "zarr3"], ["--format", "precomputed"]])
def test_copies_have_the_voxels(source, work, run_unshard, arguments):
    done = run_unshard("copy", "-q", source, work / "copy", *arguments, "--verify")
    assert done.returncode == 0, done.stderr
    if "zarr3" in arguments:
        found = zarr.open_array(work / "copy" / "0", mode="r")[...]
        np.testing.assert_array_equal(as_xyz(found), voxels())
    else:
        found = np.asarray(open_cloudvolume(work / "copy", 0)[:, :, :])
        np.testing.assert_array_equal(found[..., 0], voxels())


@pytest.mark.parametrize("number", range(len(NAMES)), ids=[*[s or "plain" for s in FORMS], "absent"])
def test_a_chunk_costs_few_requests(volume, mount, number):
    """One that is opened and read, of a server that cannot list: first it is looked for as the last
    one was stored, so that the others of a volume of one form cost as .gz does."""
    most = {"": 2, ".gz": 2, ".br": 3, ".zstd": 4, ".xz": 5, ".bz2": 6, None: 6}
    with served(volume) as (url, requests):
        chunk = mount(url, "ro,view=raw").path / "8_8_40" / NAMES[number]
        suffix = FORMS[number] if number < len(FORMS) else None
        if suffix is None:
            assert not chunk.exists()
        else:
            assert chunk.read_bytes() == bytes_of(number, voxels())
        found = {name: count for name, count in requests.items() if name.startswith(NAMES[number])}
        assert sum(found.values()) <= most[suffix], found


def test_the_form_that_was_found_last_is_looked_for_first(volume, work, mount):
    scale = work / "volume" / "8_8_40"
    scale.mkdir(parents=True)
    (work / "volume" / "info").write_bytes((volume / "info").read_bytes())
    stored = (volume / "8_8_40" / (NAMES[5] + ".bz2")).read_bytes()
    for name in NAMES:
        (scale / (name + ".bz2")).write_bytes(stored)
    with served(work / "volume") as (url, requests):
        shown = mount(url, "ro,view=raw").path / "8_8_40"
        for name in NAMES:
            assert (shown / name).read_bytes() == bytes_of(5, voxels())
        found = [sum(count for each, count in requests.items() if each.startswith(name))
                 for name in NAMES]
    assert found[0] <= 6 and max(found[1:]) <= 2, found


@pytest.mark.parametrize("options", ["ro", ""])  # without it a directory can be written
def test_the_native_view_lists_stored_names_and_opens_both(source, mount, options):
    scale = mount(source, options).path / "8_8_40"
    if isinstance(source, pathlib.Path):
        assert set(names(scale)) == STORED
        for name in STORED:
            assert (scale / name).read_bytes() == (source / "8_8_40" / name).read_bytes()
    for i, name in enumerate(NAMES[:-1]):
        assert (scale / name).stat().st_size == len(bytes_of(i, voxels()))
        assert (scale / name).read_bytes() == bytes_of(i, voxels()), FORMS[i]
    assert not (scale / ABSENT).exists()


def test_one_of_the_native_view_is_what_the_source_has_now(work, mount):
    volume = build(work / "volume")
    scale, stored = mount(volume, "").path / "8_8_40", volume / "8_8_40"
    name, new = NAMES[1], bytes_of(1, voxels(5))
    assert (scale / name).read_bytes() == bytes_of(1, voxels())
    (scale / (name + ".gz")).write_bytes(gzip.compress(new))  # by its other name
    assert wait_until(lambda: (scale / name).read_bytes() == new, 20)
    (stored / (name + ".gz")).unlink()  # by another program
    assert wait_until(lambda: not (scale / name).exists(), 20)
    (scale / name).write_bytes(new)
    assert (stored / name).read_bytes() == new and (scale / name).read_bytes() == new
    (stored / (name + ".gz")).write_bytes(b"the file without a suffix comes first")
    assert (scale / name).read_bytes() == new


def test_a_rename_onto_a_chunk_of_the_native_view_replaces_the_stored_form(work, mount, run_unshard):
    volume = build(work / "volume")
    scale = mount(volume, "").path / "8_8_40"
    new = voxels(6)
    for i, name in enumerate(NAMES[:-1]):
        (scale / f"{name}.tmp").write_bytes(bytes_of(i, new))
        os.replace(scale / f"{name}.tmp", scale / name)
        assert (scale / name).read_bytes() == bytes_of(i, new)
    assert run_unshard("flush", scale.parent).returncode == 0
    assert set(names(volume / "8_8_40")) == STORED
    np.testing.assert_array_equal(np.asarray(open_cloudvolume(volume, 0)[:, :, :])[..., 0], new)


@pytest.mark.parametrize("view", ["raw", "precomputed", "native", "all"])
def test_writes_go_to_the_form_that_is_stored(work, mount, run_unshard, view):
    volume = build(work / "volume")
    root = mount(volume, f"view={view}").path
    shown = (root / "native" if view == "all" else root) / "8_8_40"
    new = voxels(4)
    for i, name in enumerate(NAMES[:-1]):
        (shown / name).write_bytes(bytes_of(i, new))
        assert (shown / name).read_bytes() == bytes_of(i, new)
    assert run_unshard("flush", root).returncode == 0
    assert set(names(volume / "8_8_40")) == STORED
    found = np.asarray(open_cloudvolume(volume, 0)[:, :, :])[..., 0]
    np.testing.assert_array_equal(found, new)
    for name in NAMES[:-1]:
        (shown / name).unlink()
        assert not (shown / name).exists()
    assert run_unshard("flush", root).returncode == 0
    assert names(volume / "8_8_40") == set()


@pytest.mark.parametrize("suffix", FORMS[1:])
def test_a_damaged_file_is_never_an_absent_chunk(work, mount, run_unshard, suffix):
    volume = build(work / "volume")
    number = FORMS.index(suffix)
    stored = volume / "8_8_40" / (NAMES[number] + suffix)
    stored.write_bytes(stored.read_bytes()[:-9])
    with pytest.raises(OSError) as failed:
        (mount(volume, "ro,view=raw").path / "8_8_40" / NAMES[number]).read_bytes()
    assert failed.value.errno == errno.EIO
    done = run_unshard("copy", "-q", volume, work / "copy", "--format", "zarr3")
    assert done.returncode == 1 and stored.name in done.stderr, done.stderr
    assert os.path.exists(stored)


@pytest.mark.usefixtures("no_settings_of_ours")
@pytest.mark.parametrize("kind", remote_stores.KINDS)
@pytest.mark.parametrize("view", ["native", "raw"])
def test_buckets_are_read_and_written_in_the_form_that_is_stored(volume, work, mount, run_unshard,
                                                                 kind, view):
    bucket = remote_stores.open_bucket(kind, work)
    try:
        remote_stores.upload(bucket, volume, "volume")
        mounted = mount(f"{bucket.scheme}://{remote_stores.BUCKET}/volume",
                        f"view={view},spool={work / 'spools'}", environment=bucket.environment)
        shown = mounted.path
        new = voxels(8)
        for i, name in enumerate(NAMES[:-1]):
            assert (shown / "8_8_40" / name).read_bytes() == bytes_of(i, voxels()), FORMS[i]
            (shown / "8_8_40" / name).write_bytes(bytes_of(i, new))
            assert (shown / "8_8_40" / name).read_bytes() == bytes_of(i, new), FORMS[i]
        assert not (shown / "8_8_40" / ABSENT).exists()
        assert run_unshard("flush", shown).returncode == 0
        mounted.unmount()
        remote_stores.download(bucket, "volume", work / "copy")
    finally:
        bucket.server.stop()
    assert set(names(work / "copy" / "8_8_40")) == STORED
    np.testing.assert_array_equal(np.asarray(open_cloudvolume(work / "copy", 0)[:, :, :])[..., 0],
                                  new)
