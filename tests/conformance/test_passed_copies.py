"""`unshard copy` of what nothing here decodes: texts, structs, times, codecs that are not known. Chunks are passed on
byte by byte, into shards and out of them, as the newest zarr-python, anndata and xarray read them."""

import json
import pathlib
import random
import shutil

import pytest

from judging import SEED, names_below
from python_service import PythonService
from test_copy import copy  # noqa: F401 (fixture)

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def newest(newest_python):
    services = {name: PythonService(newest_python, HERE / f"newest_{name}.py") for name in ("tree", "tables")}
    yield lambda program, *arguments: services[program].call(*arguments)
    for service in services.values():
        service.end()


def documents(root):
    return {path.parent: json.loads(path.read_text()) for path in sorted(root.rglob("zarr.json"))
            if "codecs" in path.read_text()}


def is_sharded(document):
    return document["codecs"][0]["name"] == "sharding_indexed"


@pytest.mark.parametrize("format", [2, 3])
@pytest.mark.parametrize("program,make", [("tree", "items"), ("tables", "make")])
def test_whole_trees_are_copied(program, make, format, newest, copy, work):  # noqa: F811
    print(f"UNSHARD_SEED={SEED}")
    newest(program, make, SEED, work / "source", format)
    assert copy(work / "source", work / "like", "--verify").stderr == ""
    newest(program, "same", work / "source", work / "like")
    assert copy(work / "source", work / "own", "--format", f"zarr{format}", "--verify").stderr == ""
    newest(program, "same", work / "source", work / "own")
    if format == 2:
        return
    copy(work / "source", work / "sharded", "--format", "zarr3", "--shard", "1kB", "--verify")
    newest(program, "same", work / "source", work / "sharded")
    # Arrays of few chunks become one shard, or none.
    assert sum(map(is_sharded, documents(work / "sharded").values())) > 5
    copy(work / "sharded", work / "back", "--format", "zarr3", "--verify")
    newest(program, "same", work / "source", work / "back")
    assert not any(map(is_sharded, documents(work / "back").values()))


def test_what_differs_is_found(newest, copy, work):  # noqa: F811
    newest("tree", "items", SEED, work / "source", 3)
    source, destination = work / "source" / "string0", work / "copy"
    copy(source, destination, "--format", "zarr3")
    chunks = [name for name in names_below(destination) if name != "zarr.json"]
    changed = destination / chunks[0]
    right = changed.read_bytes()
    changed.write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
    assert f"byte {len(right) - 1} of the chunk" in copy(source, destination, "--verify", code=1).stderr
    changed.unlink()
    assert "it is absent" in copy(source, destination, "--verify", code=1).stderr
    copy(source, destination, "--replace", "--verify")
    assert changed.read_bytes() == right


def test_other_encodings_and_grids_are_refused(newest, copy, work):  # noqa: F811
    newest("tree", "items", SEED, work / "source", 3)
    source = work / "source" / "string0"
    copy(source, work / "copy", "--format", "zarr3")
    document = json.loads((work / "copy" / "zarr.json").read_text())
    chunk = document["chunk_grid"]["configuration"]["chunk_shape"]
    for member, other, expected in [("fill_value", "none", "expected the fill value"),
                                    ("codecs", [{"name": "vlen-utf8"}, {"name": "gzip", "configuration": {"level": 1}}],
                                     "expected the encoding"),
                                    ("data_type", "variable_length_bytes", "expected the data type"),
                                    ("chunk_grid", {"name": "regular", "configuration": {
                                        "chunk_shape": [extent + 1 for extent in chunk]}}, "expected chunks")]:
        shutil.rmtree(work / "other", ignore_errors=True)
        (work / "other").mkdir()
        (work / "other" / "zarr.json").write_text(json.dumps({**document, member: other}))
        done = copy(source, work / "other", code=1)
        assert expected in done.stderr and "byte by byte" in done.stderr or member == "data_type", done.stderr
    refused = copy(source, work / "zarr2", "--format", "zarr2", code=1).stderr
    assert '"string" is not supported' in refused and not (work / "zarr2").exists()


def volume(root, encoding, draw, shape=(40, 30, 20), chunk=(8, 8, 8)):
    """Chunks of random bytes: nobody decodes them. Some are absent."""
    root.mkdir()
    (root / "info").write_text(json.dumps({
        "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "float32", "num_channels": 1,
        "scales": [{"key": "s", "size": shape, "resolution": [1, 1, 1], "voxel_offset": [0, 0, 0],
                    "chunk_sizes": [chunk], "encoding": encoding}]}))
    (root / "s").mkdir()
    for x in range(0, shape[0], 8):
        for y in range(0, shape[1], 8):
            for z in range(0, shape[2], 8):
                ends = [min(at + 8, extent) for at, extent in zip((x, y, z), shape)]
                name = "_".join(f"{begin}-{end}" for begin, end in zip((x, y, z), ends))
                if draw.random() < 0.7:
                    (root / "s" / name).write_bytes(draw.randbytes(draw.randint(1, 3000)))


def unknown(root, draw):
    """An array of Zarr v3 whose codecs, and type, nobody knows here."""
    root.mkdir()
    (root / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [20, 30], "data_type": "float6_e2m3fn",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 5]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 1.5,
        "codecs": [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}]}))
    for row in range(5):
        for column in range(6):
            if draw.random() < 0.7:
                file = root / "c" / str(row) / str(column)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(draw.randbytes(draw.randint(1, 3000)))


def chunks_below(root):
    return {name: (root / name).read_bytes() for name in names_below(root) if name not in ("info", "zarr.json")}


@pytest.mark.parametrize("encoding", ["mine", "pcodec"])
def test_chunks_of_unknown_codecs_keep_their_bytes(encoding, copy, mount, work):  # noqa: F811
    draw = random.Random(f"{SEED} {encoding}")
    print(f"UNSHARD_SEED={SEED}")
    if encoding == "pcodec":
        unknown(work / "source", draw)
        format, shards, others = "zarr3", "8,15", "20,10"
    else:
        volume(work / "source", encoding, draw)
        format, shards, others = "precomputed", "16,16,16", "32,8,32"
    wanted = chunks_below(work / "source")
    assert len(wanted) > 10
    copy(work / "source", work / "sharded", "--format", format, "--shard", shards, "--verify")
    assert len(chunks_below(work / "sharded")) < len(wanted)
    assert chunks_below(mount(work / "sharded", "ro").path) == wanted
    copy(work / "sharded", work / "other", "--format", format, "--shard", others, "--verify")
    assert chunks_below(work / "other") != chunks_below(work / "sharded")
    copy(work / "other", work / "back", "--format", format, "--verify")
    assert chunks_below(work / "back") == wanted
    copy(work / "source", work / "sharded", "--verify")
    if format == "precomputed":
        assert encoding in copy(work / "source", work / "zarr", "--format", "zarr3", code=1).stderr


@pytest.mark.parametrize("format", [2, 3])
def test_times_are_read_and_written_in_views(format, newest, copy, mount, work):  # noqa: F811
    newest("tree", "items", SEED, work / "all", format)
    source = work / "source"
    source.mkdir()
    for name in ["zarr.json", ".zgroup", ".zattrs"]:
        if (work / "all" / name).exists():
            shutil.copy(work / "all" / name, source)
    for name in ["time0", "time1", "span0", "span2"]:
        shutil.copytree(work / "all" / name, source / name)
    expected = work / "expected"
    shutil.copytree(source, expected)
    newest("tree", "change", expected)
    other = 5 - format
    view = mount(source, f"view=zarr{other}")
    assert ((view.path / "time0" / "zarr.json").exists()) == (other == 3)
    newest("tree", "same", source, view.path)
    copy(source, work / "copy", "--format", f"zarr{other}", "--verify")
    newest("tree", "same", source, work / "copy")
    newest("tree", "change", view.path)
    newest("tree", "same", expected, view.path)
    view.unmount()
    newest("tree", "same", expected, source)
    assert "numpy.datetime64" in copy(source / "time0", work / "n5", "--format", "n5", code=1).stderr
