"""`unshard schema` and `unshard create`, judged by TensorStore 0.1.86: random constraint sets are
resolved alike or refused by both, schemas of existing arrays are equal, and what is created is
opened and filled by every library."""

import json
import math
import os
import shutil
import subprocess

import numpy as np
import pytest
import tensorstore as ts
import zarr

import remote_stores
from judging import SEED
from schema_constraints import Schemas

BINARY = os.environ["UNSHARD"]
DRIVERS = {"precomputed": "neuroglancer_precomputed", "zarr3": "zarr3", "zarr2": "zarr", "n5": "n5"}
DOCUMENTS = {"precomputed": "info", "zarr3": "zarr.json", "zarr2": ".zarray",
             "n5": "attributes.json"}
SETS = 60  # of each format


def run(*arguments, environment=None):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(environment or {})})


def printed(*arguments):
    """The JSON that `unshard schema` prints."""
    done = run("schema", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"no JSON: {name}"))


def plain(value):
    """What Python's json gives for bare NaN, as the strings of zarr.json."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def opened(path, form="zarr3", **more):
    spec = {"driver": DRIVERS[form], "kvstore": {"driver": "file", "path": f"{path}/"}, **more}
    return ts.open(spec, open=True).result()


def told_by_tensorstore(path, form, **more):
    return plain(opened(path, form, **more).schema.to_json())


def created_by_tensorstore(path, form, schema):
    """The document that TensorStore writes; None where it refuses."""
    spec = {"driver": DRIVERS[form], "kvstore": {"driver": "file", "path": f"{path}/"},
            "create": True, "schema": schema}
    try:
        ts.open(spec).result()
    except ValueError:
        return None
    return json.loads((path / DOCUMENTS[form]).read_text())


def create(path, form, schema):
    done = run("create", path, "--format", form, "--schema", json.dumps(schema))
    if done.returncode == 0:
        assert done.stderr == ""
        assert os.listdir(path) == [DOCUMENTS[form]]
        return json.loads((path / DOCUMENTS[form]).read_text())
    assert done.returncode == 2 and done.stderr.startswith("unshard: --"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not path.exists(), "a failure leaves nothing"
    return None


@pytest.mark.parametrize("form", DRIVERS)
def test_random_constraints_are_resolved_as_tensorstore_does(work, form):
    print(f"UNSHARD_SEED={SEED}")
    schemas = Schemas(f"{SEED} {form}")
    resolved = 0
    for number in range(SETS):
        schema = schemas.next(form)
        expected = created_by_tensorstore(work / f"theirs/{number}", form, schema)
        made = create(work / f"ours/{number}", form, schema)
        assert made == expected, json.dumps(schema)
        if made is None:
            continue
        resolved += 1
        if number % 4 == 0:  # each process takes a while
            assert printed(work / f"ours/{number}") == \
                told_by_tensorstore(work / f"theirs/{number}", form), json.dumps(schema)
    assert SETS / 5 < resolved < SETS


# --- Schemas of existing arrays

ZARR3 = {"shape": (33, 20), "chunks": (8, 8)}


def arrays_of_zarr_python(work):
    named = {"plain": dict(ZARR3, dtype="uint8"),
             "sharded": dict(ZARR3, dtype="float32", shards=(16, 16), fill_value=float("nan")),
             "negative": dict(ZARR3, dtype="int16", fill_value=-7, compressors=None),
             "infinite": dict(ZARR3, dtype="float16", fill_value=float("-inf")),
             "complex": dict(ZARR3, dtype="complex64", fill_value=1.5 + 2j),
             "truth": dict(ZARR3, dtype="bool", fill_value=True),
             "wide": dict(ZARR3, dtype="uint64", fill_value=2**64 - 1),
             "named": dict(ZARR3, dtype="uint16", dimension_names=["y", None]),
             "blosc": dict(ZARR3, dtype="uint16",
                           compressors=zarr.codecs.BloscCodec(cname="zstd", shuffle="bitshuffle")),
             "transposed": dict(ZARR3, dtype="uint16",
                                filters=[zarr.codecs.TransposeCodec(order=(1, 0))])}
    group = zarr.create_group(work / "zarr3")
    for name, options in named.items():
        group.create_array(name, **options)
    return [("zarr3", work / "zarr3", name) for name in named]


def arrays_of_zarr2(work):
    group = zarr.create_group(work / "zarr2", zarr_format=2)
    named = {"plain": dict(dtype="uint8", compressors=None), "zlib": dict(dtype=">u2"),
             "fortran": dict(dtype="float64", order="F", fill_value=float("nan")),
             "truth": dict(dtype="bool", fill_value=True),
             "complex": dict(dtype="complex128", fill_value=2 - 1j)}
    import numcodecs
    for name, options in named.items():
        if name == "zlib":
            options["compressors"] = numcodecs.Zlib(level=3)
        options.setdefault("compressors", numcodecs.Blosc())
        group.create_array(name, shape=(33, 20), chunks=(8, 8), **options)
    return [("zarr2", work / "zarr2", name) for name in named]


def datasets_of_z5py(work):
    import z5py
    container = z5py.File(str(work / "n5.n5"), mode="w", use_zarr_format=False)
    named = {"gzip": {}, "raw": {}, "blosc": {}}
    for compression in named:
        container.create_dataset(compression, shape=(33, 20, 10), chunks=(8, 8, 8), dtype="uint16",
                                 compression=compression)
    documents = {name: work / "n5.n5" / name / "attributes.json" for name in named}
    # z5py counts the threads of Blosc, which TensorStore refuses.
    blosc = json.loads(documents["blosc"].read_text())
    blosc["compression"].pop("nthreads", None)
    documents["blosc"].write_text(json.dumps(blosc))
    gzip = json.loads(documents["gzip"].read_text())
    gzip.update(axes=["x", "y", "z"], units=["nm", "nm", "um"], resolution=[4, 4.5, 1])
    documents["gzip"].write_text(json.dumps(gzip))
    return [("n5", work / "n5.n5", name) for name in named]


@pytest.mark.parametrize("write", [arrays_of_zarr_python, arrays_of_zarr2, datasets_of_z5py])
def test_schemas_of_other_writers_are_those_of_tensorstore(work, write):
    for form, root, name in write(work):
        expected = told_by_tensorstore(root / name, form)
        assert printed(root, name) == expected, name
        assert printed(root / name) == expected, name


def cloud_volume(path, **more):
    from cloudvolume import CloudVolume
    info = CloudVolume.create_new_info(
        num_channels=more.pop("num_channels", 1), layer_type=more.pop("layer_type", "image"),
        data_type=more.pop("data_type", "uint8"), encoding=more.pop("encoding", "raw"),
        resolution=(8, 8, 40), voxel_offset=(-3, 5, 0), chunk_size=(64, 64, 32),
        volume_size=(500, 400, 70), **more)
    volume = CloudVolume(f"file://{path}", info=info, progress=False)
    volume.add_scale((2, 2, 1))
    volume.commit_info()
    return volume


@pytest.mark.parametrize("more", [
    {}, {"encoding": "jpeg"}, {"num_channels": 3}, {"encoding": "png"},
    {"layer_type": "segmentation", "data_type": "uint64", "encoding": "compressed_segmentation"}],
    ids=str)
def test_schemas_of_cloud_volumes_are_those_of_tensorstore(work, more):
    cloud_volume(work / "volume", **more)
    info = json.loads((work / "volume/info").read_text())
    for number, scale in enumerate(info["scales"]):
        expected = told_by_tensorstore(work / "volume", "precomputed", scale_index=number)
        assert printed(work / "volume", scale["key"]) == expected
        assert printed(work, f"volume/{scale['key']}") == expected
    assert printed(work / "volume") == told_by_tensorstore(work / "volume", "precomputed",
                                                           scale_index=0)


SHARDED = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 2, "minishard_bits": 2,
           "shard_bits": 6, "hash": "identity", "minishard_index_encoding": "gzip",
           "data_encoding": "gzip"}


@pytest.mark.parametrize("change", [
    {}, {"hash": "murmurhash3_x86_128"}, {"data_encoding": "raw"}, {"shard_bits": 1},
    {"preshift_bits": 9, "minishard_bits": 6}], ids=str)
def test_write_chunks_of_shards_are_those_of_tensorstore(work, change):
    """Boxes in the Morton order; the whole volume where shards are no boxes."""
    cloud_volume(work / "volume")
    info = json.loads((work / "volume/info").read_text())
    info["scales"][0]["sharding"] = {**SHARDED, **change}
    (work / "volume/info").write_text(json.dumps(info))
    assert printed(work / "volume") == told_by_tensorstore(work / "volume", "precomputed",
                                                           scale_index=0)


def test_schemas_are_read_from_servers(work, request):
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from functools import partial
    from threading import Thread
    cloud_volume(work / "volume")
    handler = partial(SimpleHTTPRequestHandler, directory=str(work))
    handler.func.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/volume"
        assert printed(url, "16_16_40") == printed(work / "volume", "16_16_40")
    finally:
        server.shutdown()
        server.server_close()


def test_what_is_no_array_is_named(work):
    zarr.create_group(work / "group").create_array("a", shape=(4,), dtype="uint8")
    for arguments, expected in [((work / "group",), "unshard info"),
                                ((work / "group", "b"), "no such array"),
                                ((work / "missing",), "No such file")]:
        done = run("schema", *arguments)
        assert done.returncode == 1 and expected in done.stderr and not done.stdout
        assert done.stderr.count("\n") == 1


# --- Created datasets are filled by every library

VOXELS = np.random.default_rng(1).integers(0, 200, (40, 30, 20), dtype=np.uint8)


def test_created_volumes_are_filled_by_cloud_volume_and_tensorstore(work):
    done = run("create", work / "v", "--format", "precomputed", "--shape", "40,30,20", "--dtype",
               "uint8", "--chunk", "8,8,8", "--offset=-4,0,8", "--resolution", "4,4.5,40")
    assert done.returncode == 0, done.stderr
    from cloudvolume import CloudVolume
    volume = CloudVolume(f"file://{work}/v", progress=False, non_aligned_writes=True,
                         compress=False)
    assert tuple(volume.resolution) == (4, 4.5, 40) and tuple(volume.voxel_offset) == (-4, 0, 8)
    volume[-4:36, 0:30, 8:28] = VOXELS[..., None]
    array = opened(work / "v", "precomputed")
    np.testing.assert_array_equal(array[..., 0].read().result(), VOXELS)


@pytest.mark.parametrize("form", ["zarr3", "zarr2"])
def test_created_arrays_are_filled_by_zarr_python_and_tensorstore(work, form):
    options = ["--shard", "16,16,16", "--codec", "zstd"] if form == "zarr3" else ["--codec", "gzip"]
    done = run("create", work / "a", "--format", form, "--shape", "40,30,20", "--dtype", "uint8",
               "--chunk", "8,8,8", *options)
    assert done.returncode == 0, done.stderr
    opened(work / "a", form)[:16] = VOXELS[:16]
    zarr.open_array(work / "a", mode="r+")[16:] = VOXELS[16:]
    np.testing.assert_array_equal(opened(work / "a", form).read().result(), VOXELS)


def test_created_datasets_are_filled_by_z5py_and_tensorstore(work):
    import z5py
    container = z5py.File(str(work / "c.n5"), mode="w", use_zarr_format=False)
    done = run("create", work / "c.n5/a", "--format", "n5", "--shape", "40,30,20", "--dtype",
               "uint8", "--chunk", "8,8,8", "--codec", "gzip")
    assert done.returncode == 0, done.stderr
    opened(work / "c.n5/a", "n5")[:16] = VOXELS[:16]
    container["a"][:, :, 16:] = VOXELS.T[:, :, 16:]  # slowest dimension first
    np.testing.assert_array_equal(opened(work / "c.n5/a", "n5").read().result(), VOXELS)


def test_created_shards_are_filled_through_a_mount(work, mount):
    for form in ("precomputed", "zarr3"):
        done = run("create", work / f"source/{form}", "--format", form, "--shape", "40,30,20",
                   "--dtype", "uint8", "--chunk", "8,8,8", "--shard", "16,16,16")
        assert done.returncode == 0, done.stderr
    mounted = mount(work / "source")
    view = opened(mounted.path / "precomputed", "precomputed")
    view[..., 0] = VOXELS
    zarr.open_array(mounted.path / "zarr3", mode="r+")[:] = VOXELS
    mounted.unmount()
    assert {os.path.splitext(name)[1] for name in os.listdir(work / "source/precomputed/1_1_1")} \
        == {".shard"}
    np.testing.assert_array_equal(
        opened(work / "source/precomputed", "precomputed")[..., 0].read().result(), VOXELS)
    np.testing.assert_array_equal(opened(work / "source/zarr3").read().result(), VOXELS)
    assert len(list((work / "source/zarr3/c").rglob("*/*/*"))) == 3 * 2 * 2


# --- The command

def test_several_scales_of_a_volume(work):
    done = run("create", work / "v", "--format", "precomputed", "--shape", "101,50,33", "--dtype",
               "uint64", "--chunk", "8,8,8", "--shard", "32,32,32", "--offset=-5,3,0",
               "--resolution", "8,8,40", "--codec", "compressed_segmentation", "--scales", "3",
               "--factor", "2,2,1", "--factor", "2,2,2")
    assert done.returncode == 0, done.stderr
    scales = json.loads((work / "v/info").read_text())["scales"]
    told = [(scale["key"], scale["size"], scale["voxel_offset"], scale["chunk_sizes"])
            for scale in scales]
    assert told == [("8_8_40", [101, 50, 33], [-5, 3, 0], [[8, 8, 8]]),
                    ("16_16_40", [51, 25, 33], [-3, 1, 0], [[8, 8, 8]]),
                    ("32_32_80", [26, 13, 17], [-2, 0, 0], [[8, 8, 8]])]
    assert all("sharding" in scale for scale in scales)
    for number in range(3):
        opened(work / "v", "precomputed", scale_index=number)


PYRAMID = ["--shape", "33,50,101", "--dtype", "uint16", "--chunk", "8,8,8", "--axes", "z,y,x",
           "--resolution", "40,8,8", "--scales", "3", "--factor", "1,2,2", "--factor", "2,2,2"]
LEVELS = [((33, 50, 101), [40, 8, 8], [0, 0, 0]), ((33, 25, 51), [40, 16, 16], [0, 4, 4]),
          ((17, 13, 26), [80, 32, 32], [20, 12, 12])]


@pytest.mark.parametrize("form", ["zarr3", "zarr2"])
def test_several_scales_of_an_ome_zarr(work, form):
    options = PYRAMID + (["--shard", "16,16,16"] if form == "zarr3" else [])
    if form == "zarr2":
        at = options.index("--axes")
        options = options[:at] + options[at + 2:]
    done = run("create", work / "v", "--format", form, *options)
    assert done.returncode == 0, done.stderr
    group = zarr.open_group(work / "v", mode="r+")
    ome = group.attrs["ome"] if form == "zarr3" else group.attrs
    multiscale, = ome["multiscales"]
    version = ome if form == "zarr3" else multiscale
    assert version["version"] == {"zarr3": "0.5", "zarr2": "0.4"}[form]
    assert multiscale["axes"] == [{"name": name, "type": "space", "unit": "nanometer"}
                                  for name in "zyx"]
    for dataset, (shape, scale, translation) in zip(multiscale["datasets"], LEVELS, strict=True):
        array = group[dataset["path"]]
        assert array.shape == shape and array.chunks == (8, 8, 8)
        assert array.shards == ((16, 16, 16) if form == "zarr3" else None)
        assert dataset["coordinateTransformations"] == [
            {"type": "scale", "scale": scale}, {"type": "translation", "translation": translation}]
        array[:] = 5
        told = opened(work / "v" / dataset["path"], form)
        assert told.read().result().min() == 5
        if form == "zarr3":
            assert printed(work / "v", dataset["path"])["dimension_units"] == \
                [[each, "nm"] for each in scale]


def test_several_scales_of_an_n5_dataset(work):
    import z5py
    done = run("create", work / "v.n5", "--format", "n5", "--shape", "101,50,33", "--dtype",
               "uint16", "--chunk", "8,8,8", "--axes", "x,y,z", "--resolution", "8,8,0.04 um",
               "--scales", "3", "--factor", "2,2,1", "--factor", "2,2,2", "--codec", "gzip")
    assert done.returncode == 0, done.stderr
    container = z5py.File(str(work / "v.n5"), mode="r+", use_zarr_format=False)
    factors = [[1, 1, 1], [2, 2, 1], [4, 4, 2]]
    assert container.attrs["downsamplingFactors"] == factors and container.attrs["multiScale"]
    for number, (shape, scale, _) in enumerate(LEVELS):
        dataset = container[f"s{number}"]
        assert dataset.shape == shape
        assert dataset.attrs["downsamplingFactors"] == factors[number]
        assert dataset.attrs["pixelResolution"] == {"unit": "nm", "dimensions": [8, 8, 40]}
        dataset[:] = 5
        array = opened(work / f"v.n5/s{number}", "n5")
        assert array.read().result().min() == 5
        units = printed(work / "v.n5", f"s{number}")["dimension_units"]
        assert units == [[scale[2], "nm"], [scale[1], "nm"], [scale[0] / 1000, "um"]]


def test_like_another_dataset(work):
    group = zarr.create_group(work / "source", attributes={"of": "mine"})
    group.create_array("a/b", shape=(9, 9), chunks=(3, 3), shards=(9, 3), dtype="uint8")[:] = 1
    cloud_volume(work / "source/volume")
    done = run("create", work / "copy", "--like", work / "source")
    assert done.returncode == 0, done.stderr
    names = {str(path.relative_to(work / "source")) for path in (work / "source").rglob("*")
             if path.name in ("zarr.json", "info")}
    found = {str(path.relative_to(work / "copy")) for path in (work / "copy").rglob("*")
             if path.is_file()}
    assert found == names and len(names) == 4
    for name in names:
        assert (work / "copy" / name).read_bytes() == (work / "source" / name).read_bytes()
    assert run("create", work / "v", "--like", work / "missing").returncode == 1
    assert not (work / "v").exists()


def test_a_dataset_is_never_touched(work):
    arguments = ("--format", "zarr3", "--shape", "4", "--dtype", "uint8")
    assert run("create", work / "deep/er/a", *arguments).returncode == 0
    before = (work / "deep/er/a/zarr.json").read_bytes()
    again = run("create", work / "deep/er/a", *arguments)
    assert again.returncode == 1 and "there is a dataset already (zarr.json)" in again.stderr
    assert (work / "deep/er/a/zarr.json").read_bytes() == before
    assert os.listdir(work / "deep/er/a") == ["zarr.json"]
    (work / "notes").mkdir()
    (work / "notes/README").write_text("mine")
    assert run("create", work / "notes", *arguments).returncode == 0
    assert sorted(os.listdir(work / "notes")) == ["README", "zarr.json"]


def test_a_failure_leaves_nothing(work):
    """A file is in the way of the second level: the first one is removed again."""
    source = zarr.create_group(work / "source")
    source.create_array("b", shape=(4,), dtype="uint8")
    source.create_array("c", shape=(4,), dtype="uint8")
    (work / "target").mkdir()
    (work / "target/c").write_text("a file")
    done = run("create", work / "target", "--like", work / "source")
    assert done.returncode == 1, done.stderr
    assert os.listdir(work / "target") == ["c"]


@pytest.mark.parametrize("kind", remote_stores.KINDS)
def test_a_failure_leaves_nothing_in_a_bucket(work, kind):
    source = zarr.create_group(work / "source")
    source.create_array("b", shape=(4,), dtype="uint8")
    source.create_array("c", shape=(4,), dtype="uint8")
    bucket = remote_stores.open_bucket(kind, work)
    try:
        url = f"{kind}://{remote_stores.BUCKET}/target"
        bucket.put("target/c/zarr.json", b"another document")
        done = run("create", url, "--like", work / "source", environment=bucket.environment)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        assert list(bucket.keys("target")) == ["target/c/zarr.json"]
        done = run("create", f"{url}2", "--like", work / "source", environment=bucket.environment)
        assert done.returncode == 0, done.stderr
        assert bucket.get("target2/c/zarr.json") == (work / "source/c/zarr.json").read_bytes()
        done = run("create", f"{url}2", "--like", work / "source", environment=bucket.environment)
        assert done.returncode == 1 and "there is a dataset already" in done.stderr
    finally:
        bucket.server.stop()


@pytest.mark.parametrize("arguments, expected", [
    (["--format", "zarr4"], "--format: expected precomputed, zarr3, zarr2 or n5"),
    ([], "--format: expected precomputed, zarr3, zarr2 or n5, or --like SOURCE"),
    (["--format", "zarr3", "--shape", "4,x"], "--shape: expected whole numbers"),
    (["--format", "zarr3", "--shape", "4,,4", "--dtype", "uint8"],
     '--shape: expected values with one comma between them, found "4,,4"'),
    (["--format", "zarr3", "--shape", "4,", "--dtype", "uint8"], 'found "4,"'),
    (["--format", "zarr3", "--shape", "4", "--shape", "5", "--dtype", "uint8"], "--shape: "),
    (["--format", "zarr3", "--shape", "4"], "--dtype: missing"),
    (["--format", "zarr3", "--dtype", "uint8"], "--shape: missing"),
    (["--format", "zarr3", "--shape", "4,99999999999999999999"],
     '--shape: expected numbers below 2^63, found "99999999999999999999"'),
    (["--format", "zarr3", "--schema", "{"], "--schema: line 1"),
    (["--format", "zarr3", "--schema", "no/such.json"],
     '--schema: expected a file, or a JSON object, found "no/such.json"'),
    (["--format", "zarr2", "--shape", "4", "--dtype", "uint8", "--shard", "4"],
     "--shard: zarr2 has no shards"),
    (["--format", "n5", "--shape", "4", "--dtype", "uint8", "--shard", "4"],
     "--shard: n5 has no shards"),
    (["--format", "zarr2", "--shape", "4", "--dtype", "uint8", "--axes", "x"],
     "--axes: zarr2 has names of dimensions only in a pyramid"),
    (["--format", "zarr3", "--shape", "4", "--dtype", "uint8", "--factor", "2"],
     "--factor: needs --scales"),
    (["--format", "zarr3", "--shape", "4", "--dtype", "uint8", "--scales", "2", "--factor", "2,2"],
     "--factor 2,2: expected one number for each of the 1 dimensions of --shape"),
    (["--format", "zarr3", "--shape", "4", "--dtype", "uint8", "--scales", "2", "--factor", "0"],
     "--factor 0: expected numbers of 1 or more, found 0"),
    (["--format", "precomputed", "--shape", "4,4,4", "--dtype", "uint8", "--resolution", "8,0,8"],
     '--resolution: expected numbers above 0, found "0"'),
    (["--format", "zarr3", "--shape", "4", "--dtype", "uint8", "--resolution", "-2 um"],
     '--resolution: expected numbers above 0, found "-2 um"'),
    (["--format", "zarr3", "--shape", "4", "--dtype", "uint8", "--schema", '{"dtype": "int8"}'],
     "--schema and another option contradict each other: dtype"),
    (["--format", "n5", "--shape", "4", "--dtype", "bool"], "N5 has no bool"),
    (["--like", "/tmp", "--shape", "4"], "--like: copies all metadata of the other dataset"),
], ids=str)
def test_messages_name_the_option(work, arguments, expected):
    done = run("create", work / "new", *arguments)
    assert done.returncode == 2 and expected in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (work / "new").exists()


def test_messages_name_the_file_of_a_schema(work):
    path = work / "schema.json"
    for text, field in [('{"dtype": "uint8", "fill_value": 300}', "fill_value: expected"),
                        ('{"dtype": "uint8", "chunk": 1}', "chunk: unknown member; known members: rank"),
                        ("[1]", "document: expected an object"), ("", "line 1")]:
        path.write_text(text)
        done = run("create", work / "new", "--format", "zarr3", "--shape", "4", "--schema", path)
        assert done.returncode == 2 and f"--schema {path}: {field}" in done.stderr, done.stderr
        assert not (work / "new").exists()


def test_a_schema_is_read_from_a_file_and_merged_with_options(work):
    (work / "schema.json").write_text(json.dumps({
        "dtype": "float32", "fill_value": "NaN", "codec": {"driver": "zarr3", "codecs": ["gzip"]},
        "chunk_layout": {"read_chunk": {"elements_soft_constraint": 64}}}))
    done = run("create", work / "a", "--format", "zarr3", "--schema", work / "schema.json",
               "--shape", "100,100", "--chunk", "10,10", "--resolution", "4,0.5 s", "--axes", "y,t")
    assert done.returncode == 0, done.stderr
    told = printed(work / "a")
    assert told["fill_value"] == "NaN" and told["domain"]["labels"] == ["y", "t"]
    assert told["dimension_units"] == [[4, "nm"], [0.5, "s"]]
    assert told["chunk_layout"]["read_chunk"]["shape"] == [10, 10]
    assert told == told_by_tensorstore(work / "a", "zarr3")


def test_a_volume_has_its_resolution_in_nanometres_whatever_unit_is_given(work):
    done = run("create", work / "new", "--format", "precomputed", "--shape", "5,5,5", "--dtype", "uint8",
               "--resolution", "1um,4 nm,0.5 um")
    assert done.returncode == 0, done.stderr
    assert json.loads((work / "new/info").read_text())["scales"][0]["resolution"] == [1000, 4, 500]
