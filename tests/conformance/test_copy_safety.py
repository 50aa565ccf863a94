"""`unshard copy`: what it removes, what it makes, what it says, and what it leaves alone."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
import zarr

from judging import tree
from test_copy import voxels_of


@pytest.fixture
def copy(unshard_binary):
    def run(*arguments, code=0, quiet=True):
        done = subprocess.run([unshard_binary, "copy", *(["-q"] if quiet else []), *map(str, arguments)],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    return run


@pytest.fixture
def create(unshard_binary):
    def run(*arguments, code=0):
        done = subprocess.run([unshard_binary, "create", *map(str, arguments)], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done
    return run


def array(path, shard=None, codec="zstd", shape=(16, 32, 32), chunk=(8, 8, 8), dtype="uint16"):
    import tensorstore as ts

    inner = [{"name": "bytes", "configuration": {"endian": "little"}}]
    inner += [{"name": codec}] if codec != "raw" else []
    layout = {"read_chunk": {"shape": [*chunk]}, "write_chunk": {"shape": [*(shard or chunk)]}}
    return ts.open({"driver": "zarr3", "kvstore": f"file://{path}/", "create": True, "schema": {
        "dtype": dtype, "domain": {"shape": [*shape]}, "chunk_layout": layout,
        "codec": {"driver": "zarr3", "codecs": inner}}}).result()


def filled(path, seed=1, **options):
    made = array(path, **options)
    voxels = np.random.default_rng(seed).integers(1, 250, size=made.shape).astype("uint16")
    made[...] = voxels
    return voxels


def read(path):
    import tensorstore as ts

    return ts.open({"driver": "zarr3", "kvstore": f"file://{path}/"}, open=True).result().read().result()


def states(root):
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in root.rglob("*")}


SHARDS = pytest.mark.parametrize("shard", [None, (16, 16, 16)], ids=["unsharded", "sharded"])


@SHARDS
def test_swapped_arguments_remove_nothing(shard, copy, create, work):
    voxels = filled(work / "full", shard=shard)
    create(work / "empty", "--like", work / "full")
    before = states(work / "full")
    said = copy(work / "empty", work / "full").stdout
    assert said == "32 chunks of the destination that the source lacks: kept; --delete removes them\n"
    assert states(work / "full") == before and (read(work / "full") == voxels).all()
    said = copy(work / "empty", work / "full", "--verify", code=1).stderr
    assert "the source has no such chunk; `unshard copy --delete` removes it" in said
    assert copy(work / "empty", work / "full", "--delete").stdout == \
        "32 chunks of the destination that the source lacks: removed\n"
    assert (read(work / "full") == 0).all()
    copy(work / "empty", work / "full", "--verify")


@SHARDS
@pytest.mark.parametrize("delete", [False, True])
def test_only_chunks_that_the_source_lacks_are_left(shard, delete, copy, work):
    """Chunks that the source has are written over them, also those of nothing but the fill value."""
    voxels = filled(work / "from", shard=shard)
    copy(work / "from", work / "to")
    source = array(work / "other", shard=shard)
    source[:8, :8, :8] = 7
    source[:8, 8:16, :8] = voxels[:8, 8:16, :8]
    wanted = np.zeros_like(voxels) if delete else voxels.copy()
    wanted[:8, :8, :8] = 7
    wanted[:8, 8:16, :8] = voxels[:8, 8:16, :8]
    said = copy(work / "other", work / "to", *(["--delete"] if delete else [])).stdout
    assert said.startswith("30 chunks of the destination that the source lacks: "
                           + ("removed" if delete else "kept"))
    assert (read(work / "to") == wanted).all()


def test_an_image_that_the_format_cannot_say_is_left_out_with_its_labels(copy, work):
    group = zarr.create_group(work / "from", zarr_format=3)
    group.create_array("plain", shape=(8, 8, 8), chunks=(4, 4, 4), dtype="u1")[...] = 7
    scale = [{"type": "scale", "scale": [1.0, 1.0, 1.0]}]
    axes = [{"name": name, "type": "space", "unit": "nanometer"} for name in "zyx"]
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [
        {"path": "0", "coordinateTransformations": scale}]}]}
    image = group.create_group("image")
    labels = image.create_group("labels")
    labels.attrs["ome"] = {"version": "0.5", "labels": ["cells"]}
    for node, dtype in (image, "f2"), (labels.create_group("cells"), "u4"):
        node.attrs["ome"] = ome
        node.create_array("0", shape=(8, 8, 8), chunks=(4, 4, 4), dtype=dtype)[...] = 1
    for _ in "made", "kept":
        assert "not copied: " in copy(work / "from", work / "to", "--format", "n5").stderr
        assert sorted(path.name for path in (work / "to").iterdir()) == ["attributes.json", "plain"]
        assert (voxels_of(work / "to" / "plain", "n5") == 7).all()
    said = copy(work / "from" / "image", work / "alone", "--format", "n5", code=1).stderr
    assert "n5 has no data type like float16" in said and not (work / "alone").exists()


TARGETS = [("n5", []), ("precomputed", []), ("precomputed", ["--shard", "8,4,4"]), ("zarr3", []),
           ("zarr3", ["--shard", "4,4,8"]), ("zarr3", ["--chunk", "4,4,4"]),
           ("zarr3", ["--chunk", "4,4,4", "--shard", "4,4,8"])]


@pytest.mark.parametrize("fill", [0, 5])
@pytest.mark.parametrize("format, options", TARGETS, ids=lambda one: one if isinstance(one, str) else " ".join(one))
def test_a_chunk_that_the_source_lost_stays_until_delete_is_asked(fill, format, options, copy, work):
    """Whatever absent chunks are read as in the two, and whichever chunks a new one is made from."""
    source = zarr.create_array(work / "from", shape=(4, 4, 8), chunks=(4, 4, 2), dtype="u2", zarr_format=2,
                               fill_value=fill, compressors=None)
    source[...] = 9
    copy(work / "from", work / "to", "--format", format, *options)
    (work / "from" / "0.0.0").unlink()
    for more in [], ["--replace"]:
        if "--chunk" in options:  # the other half of this chunk may be copied again, and with it this one
            break
        copy(work / "from", work / "to", *more)
        assert (voxels_of(work / "to", format) == 9).all()
    copy(work / "from", work / "to", "--delete")
    assert (voxels_of(work / "to", format) == source[...]).all()
    copy(work / "from", work / "to", "--verify")


def test_a_chunk_that_became_the_fill_value_is_copied(copy, work):
    filled(work / "from", codec="raw")
    copy(work / "from", work / "to")
    chunk = work / "from/c/0/0/0"
    chunk.write_bytes(bytes(chunk.stat().st_size))
    copy(work / "from", work / "to")
    assert (read(work / "to")[:8, :8, :8] == 0).all()


@pytest.mark.parametrize("to, chunks, shards", [
    ([], 32, None), (["--format", "zarr3", "--chunk", "4,4,4"], 256, 0),
    (["--format", "zarr3", "--chunk", "4,4,4", "--shard", "16,16,16"], 256, 4)],
    ids=["like", "encoded again", "encoded again in shards"])
@pytest.mark.parametrize("codec", ["zstd", "raw"])
@SHARDS
def test_a_copy_says_what_it_kept_without_comparing_it_and_replaces_it_when_asked(
        shard, codec, to, chunks, shards, copy, work):
    """It keeps a chunk of the right size, since an interrupted copy goes on; --replace restores a backup."""
    voxels = filled(work / "from", shard=shard, codec=codec)
    copy(work / "from", work / "to", *to)
    victim = sorted(path for path in (work / "to/c").rglob("*") if path.is_file())[-1]
    changed = bytearray(victim.read_bytes())
    changed[len(changed) // 2] ^= 1
    victim.write_bytes(changed)
    said = copy(work / "from", work / "to", quiet=False).stdout
    assert "copied 0 chunks (0 bytes) in " in said
    assert said.endswith(f"; 0 shards written\nkept {chunks} chunks that {work}/to had already, without comparing "
                         "them (--verify compares, --replace copies them again)\n")
    assert victim.read_bytes() == changed
    copy(work / "from", work / "to", "--verify", code=1)
    said = copy(work / "from", work / "to", "--replace", "--verify", quiet=False).stdout
    shards = (4 if shard else 0) if shards is None else shards
    assert f"copied {chunks} chunks (" in said
    assert f"; {shards} shards written\nverified {chunks} chunks" in said
    assert (read(work / "to") == voxels).all()
    said = copy(work / "from", work / "to", "--delete", "--verify", quiet=False).stdout
    assert f"\nkept {chunks} chunks that {work}/to had already\nverified {chunks} chunks" in said


@SHARDS
def test_replacing_leaves_chunks_that_the_source_lacks(shard, copy, work):
    voxels = filled(work / "to", shard=shard)
    array(work / "from", shard=shard)[:8, :8, :8] = 7
    voxels[:8, :8, :8] = 7
    for _ in range(2):
        said = copy(work / "from", work / "to", "--replace", quiet=False).stdout
        assert f"copied 1 chunk (" in said and "31 chunks of the destination that the source lacks: kept" in said
        assert (read(work / "to") == voxels).all()


@pytest.mark.parametrize("encoding", [[], ["--format", "n5"], ["--format", "precomputed", "--shard", "16,16,16"]],
                         ids=lambda options: options[-1] if options else "like")
@SHARDS
def test_the_plan_says_what_the_destination_has_and_what_becomes_of_it(shard, encoding, copy, create, work):
    filled(work / "full", shard=shard)
    a, b = work / "empty", work / "to"
    array(a, shard=shard)[8:, :8, :8] = 5
    copy(work / "full", b, *encoding)
    has = f"{b} has {'32 chunks' if '--shard' not in encoding and (encoding or not shard) else '4 shards'} already: "
    if encoding[-1:] == ["16,16,16"]:
        has = f"{b} has "
    kept = f"already: chunks are kept, unless {a} has newer ones, or larger or smaller ones\n"
    before = states(b)
    for options, last in ([], kept), (["--replace"], f"already: chunks that {a} has too are copied again\n"), (
            ["--delete"], kept + f"removes 31 chunks of {b} that {a} lacks\n"):
        planned = copy(a, b, "-n", *options).stdout
        assert planned.endswith(last) and f"\n{has}" in planned, planned
        assert states(b) == before
    planned = copy(a, b, "--verify", "-n").stdout
    assert "already" not in planned
    # The plan of a copy is the same, and true.
    said = copy(a, b, "--delete", quiet=False).stdout
    assert f"\n{has}" in said and f"removes 31 chunks of {b} that {a} lacks\ncopied " in said
    assert said.endswith("31 chunks of the destination that the source lacks: removed\n")
    assert "removes 0 chunks of " in copy(a, b, "--delete", "-n").stdout
    # Nothing is there.
    assert "already" not in copy(work / "full", work / "new", quiet=False).stdout.split("copied ")[0]


def test_a_removal_that_cannot_be_counted_is_said_without_a_number(copy, work):
    filled(work / "from", shard=(16, 16, 16))
    copy(work / "from", work / "to")
    shard = work / "to/c/0/1/0"
    shard.write_bytes(shard.read_bytes()[:-3] + b"bad")
    said = copy(work / "from", work / "to", "--delete", "-n").stdout
    assert said.endswith(f"removes the chunks of {work}/to that {work}/from lacks\n")


@pytest.mark.parametrize("damaged, cure", [
    ("to", "remove this shard of the destination, and copy again"),
    ("from", "replace this shard of the source with an intact copy")])
def test_a_damaged_index_is_named_with_its_side_and_what_to_do(damaged, cure, copy, work):
    filled(work / "from", shard=(16, 16, 16))
    copy(work / "from", work / "to")
    shard = work / damaged / "c/0/1/0"
    shard.write_bytes(shard.read_bytes()[:-3] + b"bad")
    said = copy(work / "from", work / "to", "--verify", code=1).stderr
    assert said.startswith(f"unshard: {shard}: shard index: ") and said.endswith(f"; {cure}\n")
    if damaged == "to":
        shard.unlink()
        copy(work / "from", work / "to")
        copy(work / "from", work / "to", "--verify")


CREATED = ["--format", "zarr3", "--shape", "8,64", "--dtype", "uint8", "--chunk", "1,16"]


@pytest.mark.parametrize("options, said", {
    "--axes x": "--axes x: 1 name, but --shape 8,64 has 2 dimensions",
    "--axes x,y,z": "--axes x,y,z: 3 names, but --shape 8,64 has 2 dimensions",
    "--axes x,x": "--axes x,x: expected a label that no other dimension has, found ",
    "--shard 1XB": "--shard: expected whole numbers separated by commas, a size such as 1GB, or auto, "
                   'found "1XB"'}.items())
def test_a_refused_option_is_named_with_the_form_that_it_has(options, said, create, work):
    assert create(work / "new", *CREATED, *options.split(), code=2).stderr.startswith(f"unshard: {said}")
    assert not (work / "new").exists()


@pytest.mark.parametrize("option, value", [("--axes", "y,x"), ("--axes", "x"), ("--offset", "1,1")])
def test_what_a_copy_takes_from_its_source_is_refused_by_the_name_of_the_option(option, value, copy, work):
    filled(work / "from")
    said = copy(work / "from", work / "to", "--format", "zarr3", option, value, code=2).stderr
    assert said.startswith(f"unshard: {option}: cannot be changed by a copy: leave it out")


@SHARDS
def test_verification_alone_writes_nothing(shard, copy, work):
    filled(work / "from", shard=shard)
    copy(work / "from", work / "to")
    victim = sorted(path for path in (work / "to/c").rglob("*") if path.is_file())[-1]
    victim.unlink()
    before = states(work / "to")
    os.chmod(work / "to", 0o555)
    said = copy(work / "from", work / "to", "--verify", code=1).stderr
    assert "differs from the source: it is absent; `unshard copy` adds it" in said
    assert states(work / "to") == before and not victim.exists()
    os.chmod(work / "to", 0o755)
    copy(work / "from", work / "to")
    copy(work / "from", work / "to", "--verify")


def test_verification_names_the_shard_and_the_chunk(copy, work):
    voxels = filled(work / "from", shard=(16, 16, 16), codec="raw")
    copy(work / "from", work / "to")
    shard = work / "to/c/0/1/0"
    data = bytearray(shard.read_bytes())
    at = data.find(voxels[8:16, 16:24, 8:16].tobytes())
    data[at] ^= 1
    shard.write_bytes(data)
    said = copy(work / "from", work / "to", "--verify", code=1).stderr
    assert said == (f"unshard: {shard} (shard), chunk c/1/2/1: chunk of the destination: differs from the "
                    "source: voxel [0, 0, 0] of the chunk; remove this shard, and copy again\n")
    shard.unlink()
    copy(work / "from", work / "to")
    assert (read(work / "to") == voxels).all()


def test_a_damaged_chunk_of_a_copy_is_named_with_what_to_do(copy, work):
    filled(work / "from")
    copy(work / "from", work / "to")
    chunk = work / "to/c/1/2/3"
    chunk.write_bytes(b"x" * 50)
    said = copy(work / "from", work / "to", "--verify", code=1).stderr
    assert f"{chunk}: chunk of the destination: " in said
    assert said.endswith("; remove this file, and copy again\n")


@SHARDS
def test_a_destination_that_is_missing_becomes_like_the_source(shard, copy, work):
    voxels = filled(work / "from", shard=shard)
    for name in ("new", "empty"):
        (work / "empty").mkdir(exist_ok=True)
        copy(work / "from", work / name, "--verify")
        assert (read(work / name) == voxels).all()
        assert (work / name / "zarr.json").read_bytes() == (work / "from/zarr.json").read_bytes()


def test_no_directories_are_made_above_a_destination(copy, work):
    filled(work / "from")
    said = copy(work / "from", work / "nope/x/y", code=1).stderr
    assert said == f"unshard: {work}/nope/x/y: the directory {work}/nope/x does not exist; make it first\n"
    assert not (work / "nope").exists()


def test_a_dry_run_writes_nothing_and_every_copy_prints_the_same_plan(copy, work):
    filled(work / "from", shard=(16, 16, 16))
    options = [work / "from", work / "to", "--format", "n5", "--codec", "gzip:3"]
    planned = copy(*options, "--dry-run", quiet=False).stdout
    assert not (work / "to").exists()
    assert "from zarr3, chunks [8, 8, 8], shards [16, 16, 16], zstd" in planned
    assert "to   n5, chunks [8, 8, 8], gzip 3\n" in planned
    assert re.search(r"at most 32 chunks in 32 files, of 32 kB of voxels .*; [\d.]+ .B are free there", planned)
    done = copy(*options, quiet=False).stdout
    assert "to   n5, chunks [8, 8, 8], gzip 3\n" in done and "copied 32 chunks" in done
    before = states(work / "to")
    assert "gzip 3" in copy(work / "from", work / "to", "-n", quiet=False).stdout
    assert states(work / "to") == before


@pytest.mark.parametrize("size,shards", [("auto", [16, 32, 32]), ("10kB", [16, 16, 16]), ("1MiB", [16, 32, 32])])
@pytest.mark.parametrize("format", ["zarr3", "precomputed"])
def test_shards_of_a_size(size, shards, format, copy, work):
    voxels = filled(work / "from")
    copy(work / "from", work / "to", "--format", format, "--shard", size, "--verify")
    if format == "precomputed":
        scale = json.loads((work / "to/info").read_text())["scales"][0]
        bits = scale["sharding"]["preshift_bits"] + scale["sharding"]["minishard_bits"]
        assert 1 << bits == np.prod([n // 8 for n in shards])
    else:
        grid = json.loads((work / "to/zarr.json").read_text())["chunk_grid"]
        assert grid["configuration"]["chunk_shape"] == shards
        assert (read(work / "to") == voxels).all()


def test_creation_says_what_differs_and_touches_nothing(create, copy, work):
    create(work / "a", "--format", "zarr3", "--shape", "64,64", "--dtype", "uint8", "--chunk", "32,32")
    before = states(work / "a")
    said = create(work / "a", "--format", "zarr3", "--shape", "64,64", "--dtype", "uint16", "--chunk",
                  "16,16", "--shard", "32,32", code=1).stderr
    assert ("there is a dataset already (zarr.json), which differs: data type uint8 there, uint16 asked; "
            "chunks 32,32 there, 16,16 asked; shards none there, 32,32 asked") in said
    assert said.count("\n") == 1 and states(work / "a") == before
    filled(work / "from")
    said = copy(work / "from", work / "a", "--format", "zarr3", "--dry-run", code=1).stderr
    assert "which differs: data type uint8 there, uint16 asked" in said and states(work / "a") == before


def test_copies_that_begin_together_share_the_work(unshard_binary, work):
    voxels = filled(work / "from", shard=(16, 16, 16))
    command = [unshard_binary, "copy", "-q", work / "from", work / "to", "--format", "zarr3", "--shard",
               "16,16,16"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert (read(work / "to") == voxels).all()


def test_what_a_format_cannot_say_is_left_out_and_named(copy, work):
    import zarr

    root = zarr.create_group(work / "from", zarr_format=3)
    root.create_array("image", shape=(8, 8), chunks=(4, 4), dtype="uint8")[...] = 5
    root.create_array("half", shape=(8, 8), chunks=(4, 4), dtype="float16")[...] = 2
    root.create_array("names", shape=(3,), dtype=str)[...] = np.array(["a", "b", "c"], dtype=object)
    for format, left_out in (("n5", ["half", "names"]), ("zarr2", ["names"]), ("zarr3", [])):
        to, options = work / f"to-{format}", ["--format", format]
        said = copy(work / "from", to, *options).stderr
        assert [line.split(": ")[2] for line in said.splitlines()] == [f"{work}/from/{name}" for name in left_out]
        assert (to / "image").is_dir()
        assert [name for name in ("half", "names") if not (to / name).exists()] == left_out
        # The same again, and compared.
        assert copy(work / "from", to, *options).stderr == said
        assert copy(work / "from", to, "--verify").stderr == said
        shutil.rmtree(to)
        said = copy(work / "from", to, *options, "--strict", code=1 if left_out else 0).stderr
        assert to.exists() == (not left_out)
        assert said.startswith(f"unshard: --strict: {work}/from/") == bool(left_out)
