"""`unshard copy`: any dataset into any other one, as programs that know one format each read both."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

import remote_stores
from judging import SEED, tree
from test_views import (N5, SOURCES, Bytes, Colours, EvenLabels, Jpeg, ShardedZarr, Zarr, Zarr2,
                        paths_in, read, same)
from test_views import sources  # noqa: F401 (fixtures)
from tiers import in_turn

FORMATS = ["precomputed", "zarr3", "zarr2", "n5"]
DRIVERS = {"precomputed": "neuroglancer_precomputed", "zarr3": "zarr3", "zarr2": "zarr", "n5": "n5"}


@pytest.fixture
def copy(unshard_binary):
    def run(source, destination, *options, code=0, environment=None):
        done = subprocess.run([unshard_binary, "copy", "-q", str(source), str(destination),
                               *map(str, options)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **(environment or {})})
        assert done.returncode == code, done.stderr
        return done
    return run


def opened(root, format, path="", level=0):
    import tensorstore as ts

    spec = {"driver": DRIVERS[format], "kvstore": f"file://{root}/{path}"}
    if format == "precomputed":
        spec = {"driver": DRIVERS[format], "kvstore": f"file://{root}/", "scale_index": level}
    return ts.open(spec, open=True).result()


def voxels_of(root, format, path="", level=0):
    """Axes (c,) z y x."""
    voxels = opened(root, format, path, level).read().result()
    if format in ("precomputed", "n5"):
        voxels = voxels.transpose()
    return voxels[0] if format == "precomputed" and len(voxels) == 1 else voxels


def check_levels(source, root, format):
    for level, (path, wanted) in enumerate(zip(paths_in(source, format), source.levels)):
        found = voxels_of(root, format, path, level)
        same(found, wanted.view("uint8") if wanted.dtype == bool else wanted)


def left_over(root):
    return [name for name in tree(root) if "__lock" in name or ".unshard-copy" in name]


PAIRS = list(itertools.product(SOURCES, FORMATS))


@pytest.mark.parametrize("kind,format", in_turn(PAIRS), ids=lambda one: getattr(one, "__name__", one))
def test_copies_are_what_their_readers_expect(kind, format, sources, copy, work, frozen_zarr):
    source = sources(kind)
    copy(source.path, work / "copy", "--format", format)
    if format != source.format or kind in (Zarr, Zarr2, N5):
        read(source, format, work / "copy", work, frozen_zarr)
    check_levels(source, work / "copy", format)
    assert left_over(work / "copy") == []


def chunked(format, shape):
    """A shape z y x as the format lists it."""
    return ",".join(map(str, shape[::-1] if format in ("precomputed", "n5") else shape))


def draw_layout(rng, source, format):
    """Options of chunks, shards and codec: a grid of its own, or that of the source."""
    options, shape = [], list(source.chunk[-3:])
    lead = list(source.levels[0].shape[:-3]) if format != "precomputed" else []
    if rng.random() < 0.7:
        shape = [rng.choice([4, 5, 8, 12, 16]) for _ in range(3)]
        options += ["--chunk", chunked(format, lead + shape)]
    if format in ("precomputed", "zarr3") and rng.random() < 0.8:
        options += ["--shard", chunked(format, lead + [n * rng.choice([1, 2, 4]) for n in shape])]
    codec = rng.choice({"precomputed": [None, "raw"], "zarr3": [None, "gzip", "zstd", "blosc"],
                        "zarr2": [None, "zlib", "blosc"], "n5": [None, "gzip", "zstd"]}[format])
    if isinstance(source, Jpeg) and format == "precomputed":
        codec = "raw"  # what is encoded again loses something
    return options + (["--codec", codec] if codec else [])


@pytest.mark.parametrize("number", in_turn(range(20)))
def test_chunks_shards_and_codecs_may_all_differ(number, sources, copy, work):
    rng = random.Random(f"{SEED} {number}")
    kind, format = rng.choice(SOURCES), rng.choice(FORMATS)
    source = sources(kind)
    options = draw_layout(rng, source, format)
    copy(source.path, work / "copy", "--format", format, *options, "--verify")
    check_levels(source, work / "copy", format)
    back = rng.choice([kind.format, "zarr3"])
    copy(work / "copy", work / "back", "--format", back, "--verify")
    for level, (path, wanted) in enumerate(zip(paths_of(work / "back", back), source.levels)):
        found = voxels_of(work / "back", back, path, level)
        same(found, wanted.view("uint8") if wanted.dtype == bool else wanted)


def paths_of(root, format):
    if format == "precomputed":
        return [scale["key"] for scale in json.loads((root / "info").read_text())["scales"]]
    if format == "n5":
        levels = sorted(path.parent.name for path in root.glob("s*/attributes.json"))
    else:
        document = {"zarr3": "zarr.json", "zarr2": ".zarray"}[format]
        levels = sorted(path.parent.name for path in root.glob(f"*/{document}"))
    return levels or [""]


@pytest.mark.parametrize("format", FORMATS)
def test_into_arrays_that_tensorstore_created(format, sources, copy, work):
    import tensorstore as ts

    source = sources(EvenLabels)
    wanted = source.levels[0]
    shape = list(wanted.shape)
    info = json.loads((source.path / "info").read_text())
    single = work / "single"
    shutil.copytree(source.path, single)
    (single / "info").write_text(json.dumps({**info, "scales": info["scales"][:1]}))
    schema = {"dtype": "uint64", "chunk_layout": {"read_chunk": {"elements": 600}}}
    if format == "zarr3":
        schema["chunk_layout"] = {"read_chunk": {"shape": [8, 8, 8]},
                                  "write_chunk": {"shape": [16, 16, 16]}}
        schema["codec"] = {"driver": "zarr3", "codecs": [{"name": "gzip"}]}
    if format == "precomputed":
        schema["domain"] = {"shape": [*shape[::-1], 1], "inclusive_min": [5, -9, 7, 0]}
        schema["chunk_layout"]["write_chunk"] = {"elements": 9000}
    else:
        schema["domain"] = {"shape": shape[::-1] if format == "n5" else shape}
    ts.open({"driver": DRIVERS[format], "kvstore": f"file://{work}/made/", "create": True,
             "schema": schema}).result()
    documents = tree(work / "made")
    copy(single, work / "made")
    same(voxels_of(work / "made", format), wanted)
    for name, text in documents.items():
        assert text is None or (work / "made" / name).read_bytes() == text


def test_chunks_that_are_copied_stay_byte_by_byte(sources, copy, work):
    source = sources(ShardedZarr)
    copy(source.path, work / "plain", "--format", "zarr3")
    copy(work / "plain", work / "again", "--like", source.path)
    shards = {name: data for name, data in tree(source.path).items() if data and "/c/" in name}
    again = {name: data for name, data in tree(work / "again").items() if data and "/c/" in name}
    assert shards.keys() == again.keys()
    # Shards of zarr-python have their chunks in another order.
    copy(work / "again", work / "plain2", "--format", "zarr3")
    assert tree(work / "plain") == tree(work / "plain2")


def inodes(root):
    return {path: path.stat().st_ino for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("options", [["--format", "zarr3", "--shard", "16,32,32"],
                                     ["--format", "precomputed", "--shard", "32,32,16"],
                                     ["--format", "zarr3", "--chunk", "5,7,11"],
                                     ["--format", "n5"]], ids=" ".join)
def test_what_is_there_already_is_not_written_again(options, sources, copy, work):
    source = sources(Zarr)
    copy(source.path, work / "copy", *options)
    before = inodes(work / "copy")
    copy(source.path, work / "copy", *options)
    assert inodes(work / "copy") == before
    victims = [path for path in before if path.name not in
               ("info", "zarr.json", "attributes.json")]
    random.Random(SEED).choice(victims).unlink()
    copy(source.path, work / "copy", *options)
    check_levels(source, work / "copy", options[1])
    assert inodes(work / "copy").keys() == before.keys()


@pytest.mark.parametrize("layout", [["--codec", "raw"], ["--codec", "gzip"],
                                    ["--codec", "raw", "--shard", "64,64,64"],
                                    ["--codec", "gzip", "--shard", "64,64,64"]], ids=" ".join)
def test_what_changed_in_the_source_is_copied_again(layout, sources, copy, work):
    """Also where no chunk has another size, and none of those that are compared has changed."""
    layout = ["--format", "zarr3", "--chunk", "8,8,8", *layout]
    copy(sources(Zarr).path, work / "from", *layout)
    copy(work / "from", work / "copy", "--like", work / "from")
    before = inodes(work / "copy")
    array = opened(work / "from", "zarr3", "0")
    array[20, 9, 9] = int(array[20, 9, 9].read().result()) ^ 1
    copy(work / "from", work / "copy")
    copy(work / "from", work / "copy", "--verify")
    again = inodes(work / "copy")
    changed = [path for path in before if again[path] != before[path]]
    assert [path.relative_to(work / "copy/0/c").parts[:1] for path in changed] == [
        ("0",) if "--shard" in layout else ("2",)]


def test_chunks_that_the_source_lacks_go(sources, copy, work):
    import tensorstore as ts

    source = sources(Zarr)
    for number, options in enumerate([["--shard", "16,32,32"], []]):
        root = work / f"{number}"
        copy(source.path, root, "--format", "zarr3", *options)
        array = opened(root, "zarr3", "0")
        array[8:16, :16, :16].write(9).result()  # absent in the source
        copy(source.path, root, "--delete")
        check_levels(source, root, "zarr3")


@pytest.mark.parametrize("format", FORMATS)
def test_verification_finds_the_voxel_that_differs(format, sources, copy, work):
    source = sources(Zarr)
    chunk = (5, 7, 11)
    options = ["--format", format, "--chunk", chunked(format, chunk)]
    copy(source.path, work / "copy", *options, "--verify")
    rng = random.Random(f"{SEED} {format}")
    at = tuple(rng.randrange(extent) for extent in source.levels[0].shape)
    array = opened(work / "copy", format, paths_of(work / "copy", format)[0])
    lead = (0,) if format == "precomputed" else ()
    stored = lead + at if format not in ("precomputed", "n5") else (lead + at)[::-1]
    origin = array.domain.origin
    array[tuple(a + b for a, b in zip(stored, origin))] = int(source.levels[0][at]) ^ 1 or 2  # no fill value
    # A chunk whose size is not known beforehand is kept by a copy: its bytes are not looked at.
    said = copy(source.path, work / "copy", "--verify", code=1).stderr
    within = [a % b for a, b in zip(at, chunk)]
    shown = [*([0] if format == "precomputed" else []), *within]
    assert said.count("\n") == 1 and f"differs from the source: voxel {shown} of the chunk; remove this file" in said
    shutil.rmtree(work / "copy")
    copy(source.path, work / "copy", *options, "--verify")


def test_verification_finds_a_voxel_in_a_shard_that_was_kept(sources, copy, work):
    layout = ["--format", "zarr3", "--codec", "raw", "--chunk", "8,8,8", "--shard", "64,64,64"]
    copy(sources(Zarr).path, work / "from", *layout)
    copy(work / "from", work / "copy", "--like", work / "from", "--verify")
    array = opened(work / "copy", "zarr3", "0")
    was = int(array[20, 9, 9].read().result())
    array[20, 9, 9] = was ^ 1
    # Of chunks that are passed on, a copy that goes on compares the sizes, and the bytes of two.
    said = copy(work / "from", work / "copy", "--verify", code=1).stderr
    assert "copy/0/c/0/0/0 (shard), chunk c/2/1/1: " in said
    assert "differs from the source: voxel [4, 1, 1] of the chunk; remove this shard" in said
    array[20, 9, 9] = was
    copy(work / "from", work / "copy", "--verify")


@pytest.mark.parametrize("what,options", [
    ("voxels instead of", ["--shape", "21,29,36", "--dtype", "uint16"]),
    ("data type", ["--shape", "21,29,37", "--dtype", "uint8"]),
    ("levels", ["--shape", "21,29,37", "--dtype", "uint16", "--scales", "2"])])
def test_another_shape_or_type_is_refused_before_a_byte_is_written(what, options, sources, copy, work,
                                                                   run_unshard):
    source = sources(Zarr)
    assert run_unshard("create", work / "to", "--format", "zarr3", *options).returncode == 0
    before = tree(work / "to")
    single = source.path / "0"
    said = copy(single, work / "to", code=1).stderr
    assert what in said and str(work / "to") in said and said.count("\n") == 1
    assert tree(work / "to") == before


def test_a_chunk_that_cannot_be_decoded_is_named(sources, copy, work):
    source = sources(N5)
    shutil.copytree(source.path, work / "damaged")
    chunk = work / "damaged" / "s0" / "1" / "0" / "2"
    chunk.write_bytes(chunk.read_bytes()[:-20] + b"x" * 20)
    for options in (["--format", "n5"], ["--format", "zarr3", "--shard", "16,32,32"]):
        root = work / options[1]
        said = copy(work / "damaged", root, *options, code=1).stderr
        assert "s0/1/0/2" in said and said.count("\n") == 1
        shutil.copy(source.path / "s0" / "1" / "0" / "2", chunk)
        copy(work / "damaged", root, *options)
        check_levels(source, root, options[1])
        chunk.write_bytes(b"")


def test_what_cannot_be_copied_is_said(copy, work):
    (work / "empty").mkdir()
    said = copy(work / "empty", work / "to", "--format", "zarr3", code=1).stderr
    assert "zarr.json" in said and not (work / "to").exists()


def big_source(path, rng):
    import tensorstore as ts

    array = ts.open({"driver": "zarr3", "kvstore": f"file://{path}/", "create": True, "schema": {
        "dtype": "uint8", "domain": {"shape": [256, 256, 256]},
        "chunk_layout": {"read_chunk": {"shape": [16, 16, 16]}, "write_chunk": {"shape": [64, 64, 64]}},
        "codec": {"driver": "zarr3", "codecs": [{"name": "zstd", "configuration": {"level": 1}}]},
    }}).result()
    voxels = rng.integers(0, 6, size=(256, 256, 256), dtype="uint8")
    array.write(voxels).result()
    return voxels


LONG = {"marks": pytest.mark.long}


@pytest.mark.parametrize("options", [
    ["--format", "zarr3", "--shard", "64,64,64"],
    pytest.param(["--format", "precomputed", "--shard", "64,64,64"], **LONG),
    pytest.param(["--format", "zarr3", "--chunk", "24,24,24", "--codec", "zstd"], **LONG),
    pytest.param(["--format", "n5"], **LONG)], ids=" ".join)
def test_a_copy_that_was_killed_goes_on(options, unshard_binary, copy, work):
    rng = np.random.default_rng([SEED, 77])
    wanted = big_source(work / "source", rng)
    command = [unshard_binary, "copy", "-q", work / "source", work / "to", *options]
    before = time.monotonic()
    subprocess.run([*command[:4], work / "whole", *options], check=True)
    whole = time.monotonic() - before
    kept = {}
    for _ in range(6):
        process = subprocess.Popen(command)
        time.sleep(float(rng.uniform(0.02, whole)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not (work / "to" / ("info" if "precomputed" in options else "")).exists():
            continue
        # What has its name is whole, and stays.
        there = {path: inode for path, inode in inodes(work / "to").items()
                 if "__lock" not in path.name and ".unshard-copy" not in str(path)}
        assert all(there.get(path) == inode for path, inode in kept.items())
        kept = there
    copy(work / "source", work / "to", *options)
    there = inodes(work / "to")
    assert all(there.get(path) == inode for path, inode in kept.items())
    assert left_over(work / "to") == []
    same(voxels_of(work / "to", options[1]), wanted)
    assert tree(work / "to") == tree(work / "whole")


@pytest.mark.parametrize("kind", remote_stores.KINDS)
def test_into_a_bucket_and_back(kind, sources, copy, work):
    bucket = remote_stores.open_bucket(kind, work)
    try:
        url = f"{kind}://{remote_stores.BUCKET}"
        for source, there, back in [(sources(ShardedZarr), ["zarr3", "--shard", "16,32,32"], "n5"),
                                    (sources(Colours), ["zarr3"], "precomputed"),
                                    (sources(Bytes), ["precomputed", "--shard", "32,32,16"], "zarr2")]:
            name = type(source).__name__
            copy(source.path, f"{url}/{name}", "--format", *there, environment=bucket.environment)
            keys = {key: bucket.get(key) for key in bucket.keys(f"{name}/")}
            copy(source.path, f"{url}/{name}", "--verify", environment=bucket.environment)
            assert {key: bucket.get(key) for key in bucket.keys(f"{name}/")} == keys
            copy(f"{url}/{name}", work / name, "--format", back, environment=bucket.environment)
            for level, (path, wanted) in enumerate(zip(paths_of(work / name, back), source.levels)):
                same(voxels_of(work / name, back, path, level), wanted)
    finally:
        bucket.server.stop()
