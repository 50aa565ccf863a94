"""`unshard copy` into a ZIP archive: every reader of such archives finds what was copied, and no archive
has its name before it is whole."""

import json
import os
import random
import signal
import stat
import subprocess
import time
import zipfile

import numpy as np
import pytest

from judging import SEED, put_file, tree
from pyramid_sources import make_pyramid
from test_copy import copy, left_over  # noqa: F401 (fixture)
from test_pyramid_copy import check_files, check_voxels
from tiers import in_turn

STREAMED, UTF8 = 1 << 3, 1 << 11
KILLS = 6


def members(path):
    """The entries of an archive, which is as all readers want it."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        entries, comment = archive.infolist(), archive.comment
    with open(path, "rb") as file:
        for entry in entries:
            assert entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & STREAMED
            assert bool(entry.flag_bits & UTF8) == (not entry.filename.isascii())
            assert not entry.is_dir() and stat.S_ISREG(entry.external_attr >> 16)
            file.seek(entry.header_offset + 14)
            header = file.read(12)
            assert header == b"".join(number.to_bytes(4, "little") for number in
                                      (entry.CRC, entry.compress_size, entry.file_size))
    names = [entry.filename for entry in entries]
    assert len(set(names)) == len(names)
    assert [entry.header_offset for entry in entries] == sorted(entry.header_offset for entry in entries)
    documents = [name for name in names if name.rpartition("/")[2] == "zarr.json"]
    assert documents == sorted(documents, key=lambda name: (name.count("/"), name))
    assert names == documents + sorted(name for name in names if name not in documents)
    return names, comment


def extract(path, root):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(root)
    return root


def nothing_beside(work, *names):
    assert sorted(os.listdir(work)) == sorted(names)


@pytest.mark.parametrize("format", in_turn(["zarr3", "zarr2", "n5"]))
@pytest.mark.parametrize("to", in_turn(["ozx", "zarr3", "zarr2", "n5", "precomputed"]))
def test_an_archive_is_a_copy_that_is_packed(format, to, copy, work):
    voxels, files = make_pyramid(work / "source", format)
    put_file(work / "source" / "größe.txt", "ASCII has no such name")
    ozx = to == "ozx"
    archive = work / ("out.ozx" if ozx else "out.ZIP")
    options = [] if ozx else ["--format", to]
    copy(work / "source", archive, *options, "--verify")
    nothing_beside(work, "source", archive.name)
    # Where nothing else is said a copy is like its source.
    copy(work / "source", work / "copy", *(["--format", "zarr3"] if ozx and format != "zarr3" else options))
    names, comment = members(archive)
    assert sorted(names) == sorted(path for path in tree(work / "copy") if (work / "copy" / path).is_file())
    unpacked = extract(archive, work / "unpacked")
    check_voxels(unpacked, "zarr3" if ozx else to, voxels)
    check_files(unpacked, files)
    if (work / "copy" / "zarr.json").exists() and format != "n5":
        ome = json.loads((work / "copy" / "zarr.json").read_text())["attributes"]["ome"]
        assert json.loads(comment) == {"ome": {"version": ome["version"],
                                               "zipFile": {"centralDirectory": {"jsonFirst": True}}}}
        assert len(comment) <= 4096
    # And back: the archive is a source as any other.
    copy(archive, work / "back", "--verify")
    check_voxels(work / "back", "zarr3" if ozx else to, voxels)


@pytest.mark.parametrize("shard", ["", "32,32,32"])
def test_peers_read_the_archive(shard, copy, work, newest_python):
    import tensorstore as ts
    import zarr

    data = np.random.default_rng(SEED).integers(0, 99, (50, 60, 70), dtype="uint16")
    array = zarr.create_array(work / "source", shape=data.shape, chunks=(16, 16, 16), dtype="uint16")
    array[...] = data
    said = copy(work / "source", work / "out.ozx", *(["--format", "zarr3", "--shard", shard] if shard else []))
    assert "its root is no OME-Zarr" in said.stderr
    members(work / "out.ozx")
    with zarr.storage.ZipStore(work / "out.ozx", mode="r") as store:
        assert np.array_equal(zarr.open_array(store, mode="r")[...], data)
    opened = ts.open({"driver": "zarr3", "kvstore": {"driver": "zip", "base": f"file://{work}/out.ozx"}}).result()
    assert np.array_equal(opened.read().result(), data)
    np.save(work / "expected.npy", data)
    program = ("import sys, zarr, numpy\n"
               "store = zarr.storage.ZipStore(sys.argv[1], mode='r')\n"
               "assert (zarr.open_array(store, mode='r')[...] == numpy.load(sys.argv[2])).all()")
    subprocess.run([newest_python, "-c", program, work / "out.ozx", work / "expected.npy"], check=True)


def test_what_is_there_is_replaced_only_where_that_is_said(copy, work):
    make_pyramid(work / "source", "zarr3")
    for there in (b"another file", b""):
        (work / "out.ozx").write_bytes(there)
        said = copy(work / "source", work / "out.ozx", code=2).stderr
        assert "out.ozx: is there already; --replace replaces it whole" in said
        assert (work / "out.ozx").read_bytes() == there
        nothing_beside(work, "source", "out.ozx")
    copy(work / "source", work / "out.ozx", "--replace")
    names, _ = members(work / "out.ozx")
    before = (work / "out.ozx").stat()
    # It is compared with --verify alone, and not written.
    copy(work / "source", work / "out.ozx", "--verify")
    copy(work / "source", work / "out.ozx", "--replace", "--dry-run")
    assert (work / "out.ozx").stat() == before
    copy(work / "source", work / "out.ozx", "--replace", "--exclude", "labels")
    assert {name for name in names if not name.startswith("labels/")} == set(members(work / "out.ozx")[0])
    said = copy(work / "source", work / "out.ozx", "--verify", code=1).stderr
    assert "labels" in said
    nothing_beside(work, "source", "out.ozx")


@pytest.mark.parametrize("destination, message", [
    ("s3://bucket/out.ozx", "archives are written to files of this machine"),
    ("out|zip:", "archives are written whole"),
    ("out.zip|zip:labels", "archives are written whole"),
    ("none/out.zip", "does not exist; make it first"),
    ("source/out.zip", "lies in the source")])
def test_archives_that_cannot_be_made_are_refused(destination, message, copy, work):
    make_pyramid(work / "source", "zarr3")
    given = destination if "://" in destination else work / destination
    said = copy(work / "source", given, code=2).stderr
    assert message in said
    nothing_beside(work, "source")


@pytest.mark.parametrize("format", ["n5", "zarr2", "precomputed"])
def test_an_ozx_archive_is_zarr_v3(format, copy, work):
    make_pyramid(work / "source", "zarr3")
    said = copy(work / "source", work / "out.ozx", "--format", format, code=1).stderr
    assert "out.ozx: an .ozx archive has a zarr.json at its root (RFC-9); add --format zarr3, or" in said
    nothing_beside(work, "source")


def test_the_name_of_a_directory_is_one_still(copy, work):
    voxels, files = make_pyramid(work / "source", "zarr3")
    (work / "out.zip").mkdir()
    copy(work / "source", work / "out.zip")
    check_voxels(work / "out.zip", "zarr3", voxels)
    check_files(work / "out.zip", files)


def test_a_copy_that_was_killed_leaves_no_archive_and_goes_on(copy, work, unshard_binary):
    make_pyramid(work / "source", "zarr3")
    begun = time.monotonic()
    copy(work / "source", work / "whole.ozx")
    took = time.monotonic() - begun
    (work / "other").mkdir()
    random.seed(SEED)
    for number in range(KILLS):
        process = subprocess.Popen([unshard_binary, "copy", "-q", work / "source", work / "out.ozx"],
                                   stderr=subprocess.DEVNULL)
        time.sleep(took * random.random() * (number + 1) / KILLS)
        process.send_signal(random.choice([signal.SIGKILL, signal.SIGTERM]))
        process.wait()
        if (work / "out.ozx").exists():
            members(work / "out.ozx")
            assert (work / "out.ozx").read_bytes() == (work / "whole.ozx").read_bytes()
            os.remove(work / "out.ozx")
    # Other work at the same archive does not go on with this one.
    copy(work / "source", work / "out.ozx", "--exclude", "labels")
    assert not [name for name in members(work / "out.ozx")[0] if name.startswith("labels/")]
    copy(work / "source", work / "out.ozx", "--replace", "--verify")
    assert (work / "out.ozx").read_bytes() == (work / "whole.ozx").read_bytes()
    nothing_beside(work, "source", "whole.ozx", "other", "out.ozx")


@pytest.mark.parametrize("kilobytes", [100, 4400])
def test_a_disk_that_is_full_leaves_no_archive_and_the_copy_goes_on(kilobytes, copy, work, unshard_binary):
    """The limits hit a file of the dataset, and the archive."""
    make_pyramid(work / "source", "zarr3")
    limited = subprocess.run(
        ["bash", "-c", f"trap '' XFSZ; ulimit -f {kilobytes}; exec \"$@\"", "-", unshard_binary, "copy", "-q",
         work / "source", work / "out.ozx"], capture_output=True, text=True)
    assert limited.returncode == 1 and "File too large" in limited.stderr
    assert f"{work}/out.ozx" in limited.stderr and ".unshard-" not in limited.stderr
    assert not (work / "out.ozx").exists()
    copy(work / "source", work / "out.ozx", "--verify")
    members(work / "out.ozx")
    nothing_beside(work, "source", "out.ozx")


def test_of_two_copies_to_one_archive_one_wins(work, unshard_binary):
    make_pyramid(work / "source", "zarr3")
    both = [subprocess.Popen([unshard_binary, "copy", "-q", work / "source", work / "out.ozx"],
                             stderr=subprocess.PIPE, text=True) for _ in range(4)]
    ended = [(each.communicate()[1], each.returncode) for each in both]
    assert [code for _, code in ended].count(0) == 1, ended
    for said, code in ended:
        assert code == 0 or "another process is writing it" in said or "is there already" in said, said
    members(work / "out.ozx")
    nothing_beside(work, "source", "out.ozx")


def test_the_plan_names_the_archive(work, unshard_binary):
    make_pyramid(work / "source", "zarr3")
    for options in (["--dry-run"], []):
        done = subprocess.run([unshard_binary, "copy", work / "source", work / "out.ozx", *options],
                              capture_output=True, text=True)
        assert done.returncode == 0 and ".unshard-" not in done.stdout + done.stderr
        assert ("packed" in done.stdout) == (not options)
        if options:
            nothing_beside(work, "source")
    assert f"{work}/out.ozx/labels/cells/0: uint32" in done.stdout
