"""Damaged data fails with EIO on just the chunk that is hurt and says why; broken metadata refuses
the mount with one line. Nothing crashes and everything else in the mount is served."""

import errno
import json
import os
import pathlib
import subprocess

import pytest

from damaged_sources import (CELLS, KEYS, NAMES, RAW, Damage, precomputed_damages, value_of,
                             write_volume, write_zarr, zarr_damages, zarr_document, zarr_value)
from judging import assert_missing, assert_same_bytes, error_of_reading, names_and_end, put_file
from mounting import MountFailed, daemon_of
from shard_container import MURMUR, Sharding, write_values

VOLUMES, ARRAYS = precomputed_damages(), zarr_damages()


class Datasets:
    def __init__(self, directory, mount):
        source = directory / "source"
        for damage in VOLUMES:
            write_volume(source / "volumes" / damage.name, damage)
        for damage in ARRAYS:
            write_zarr(source / "arrays" / damage.name, damage)
        self.mount = mount(source)
        self.volumes, self.arrays = (self.mount.path / each for each in ("volumes", "arrays"))


@pytest.fixture(scope="module")
def datasets(module_work, module_mount):
    made = Datasets(module_work, module_mount)
    yield made
    assert made.mount.process.poll() is None, "the program ended"


def judge(mounted, directory, damage, expected):
    """`expected` is {file name: (key in damage.hurt and damage.other, bytes if nothing is wrong)}."""
    listed, end = names_and_end(directory)
    listed -= {"zarr.json"}
    assert listed <= set(expected)
    # Chunks that may be there are in the listing, or it does not end as a whole one does.
    hurt = {name for name, (key, _) in expected.items() if key in damage.hurt}
    assert end == (None if hurt <= listed else errno.EIO)
    for name, (key, value) in expected.items():
        if key in damage.hurt:
            assert error_of_reading(directory / name) == errno.EIO, name
            assert_reported(mounted, directory / name, damage)
            continue
        value = damage.other.get(key, value)
        if value is None:
            assert_missing(directory / name)
            assert name not in listed
        else:
            assert_same_bytes(directory / name, value)
            assert name in listed


def assert_reported(mounted, path, damage):
    """Path, errno and cause stand in one line, both in the log and in the control file."""
    relative = str(path.relative_to(mounted.path))
    for text in (mounted.control("errors"), mounted.log()):
        lines = [line for line in text.splitlines() if relative in line]
        assert lines, f"{relative} is not named"
        told = [line.split(" EIO ", 1) for line in lines if " EIO " in line]
        assert told and damage.says in told[-1][1] and len(told[-1][1].strip(" :")) > 10, lines


@pytest.mark.parametrize("damage", VOLUMES, ids=str)
def test_a_damaged_precomputed_shard_hurts_only_its_own_chunks(datasets, damage):
    judge(datasets.mount, datasets.volumes / damage.name / "s0", damage,
          {name: (number, value_of(number)) for number, name in NAMES.items()})


@pytest.mark.parametrize("damage", ARRAYS, ids=str)
def test_a_damaged_zarr_shard_hurts_only_its_own_chunks(datasets, damage):
    judge(datasets.mount, datasets.arrays / damage.name, damage,
          {KEYS[cell]: (KEYS[cell], zarr_value(cell)) for cell in CELLS})


def test_a_damage_hurts_again_at_every_read_and_through_every_call(datasets):
    path = datasets.volumes / "gzip-garbled" / "s0" / NAMES[7]
    for _ in range(3):
        assert error_of_reading(path) == errno.EIO
    done = subprocess.run(["cat", str(path)], capture_output=True, text=True)
    assert done.returncode != 0 and "Input/output error" in done.stderr
    good = datasets.volumes / "gzip-garbled" / "s0" / NAMES[5]
    assert_same_bytes(good, value_of(5))


def test_a_directory_in_the_place_of_a_shard_is_damage(work, mount):
    nothing = Damage("nothing", [], lambda shard: None)
    write_volume(work / "src" / "volume", nothing)
    os.unlink(work / "src" / "volume" / "s0" / "1.shard")
    put_file(work / "src" / "volume" / "s0" / "1.shard" / "inside", b"x")
    write_zarr(work / "src" / "array", Damage("nothing", [], None))
    os.unlink(work / "src" / "array" / "c.1.1")
    os.mkdir(work / "src" / "array" / "c.1.1")
    mounted = mount(work / "src")
    for number, name in NAMES.items():
        path = mounted.path / "volume" / "s0" / name
        if number >> 1 & 1:
            assert error_of_reading(path) == errno.EIO
            assert_reported(mounted, path, Damage("", [], None, says="directory"))
        else:
            assert_same_bytes(path, value_of(number))
    assert error_of_reading(mounted.path / "array" / "c.3.1") == errno.EIO
    assert_same_bytes(mounted.path / "array" / "c.1.0", zarr_value((1, 0)))
    for directory in ("volume/s0", "array"):
        assert names_and_end(mounted.path / directory)[1] == errno.EIO


def cpu_seconds(mounted):
    """What the daemon has computed so far."""
    fields = pathlib.Path(f"/proc/{daemon_of(mounted)}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_2_to_the_32_minishards_in_a_tiny_file(work, mount):
    for label, hash_name in (("identity", "identity"), ("murmur", MURMUR)):
        sharding = Sharding(0, 32, 0, hash_name)
        write_volume(work / "src" / label, Damage("unused", [], lambda shard: None))
        info = json.loads((work / "src" / label / "info").read_text())
        info["scales"][0]["sharding"] = sharding.json()
        put_file(work / "src" / label / "info", json.dumps(info))
        put_file(work / "src" / label / "s0" / "0.shard", bytes(200))
        os.unlink(work / "src" / label / "s0" / "1.shard")
    mounted = mount(work / "src")
    start = cpu_seconds(mounted)
    for label in ("identity", "murmur"):
        view = mounted.path / label / "s0"
        listed, end = names_and_end(view)
        assert listed <= set(NAMES.values()) and end == errno.EIO
        assert {error_of_reading(view / name) for name in NAMES.values()} <= {
            errno.EIO, errno.ENOENT}
    # The entries of murmur-hashed ids lie far beyond the file.
    assert error_of_reading(mounted.path / "murmur" / "s0" / NAMES[3]) == errno.EIO
    assert cpu_seconds(mounted) - start < 5


@pytest.mark.skipif(os.geteuid() != 0, reason="root gives up its right to read everything")
def test_an_unreadable_shard_hurts_only_its_own_chunks(work, mount):
    write_volume(work / "src", Damage("nothing", [], lambda shard: None))
    os.chmod(work / "src" / "s0" / "1.shard", 0)
    mounted = mount(work / "src", prefix=("setpriv", "--bounding-set",
                                          "-dac_override,-dac_read_search"))
    for number, name in NAMES.items():
        if number >> 1 & 1:
            assert error_of_reading(mounted.path / "s0" / name) in (errno.EACCES, errno.EIO)
        else:
            assert_same_bytes(mounted.path / "s0" / name, value_of(number))
    assert "1.shard" in mounted.log()


# --- metadata -------------------------------------------------------------------------------------

def volume(**changes):
    """An info whose scale is changed; a member set to `...` is left out."""
    scale = {"key": "s0", "size": [16, 8, 8], "chunk_sizes": [[4, 4, 4]], "resolution": [1, 1, 1],
             "voxel_offset": [0, 0, 0], "encoding": "raw", "sharding": RAW.json()}
    for path, value in changes.items():
        target = scale
        *outer, last = path.split("__")
        for part in outer:
            target = target[part]
        if value is ...:
            del target[last]
        else:
            target[last] = value
    return json.dumps({"@type": "neuroglancer_multiscale_volume", "type": "image",
                       "data_type": "uint8", "num_channels": 1, "scales": [scale]})


HUGE = [2 ** 62, 2 ** 62, 2 ** 62]
INFOS = {  # name: (text, the JSON path or word that the message must name)
    "empty": ("", "line 1"),
    "no-json": ("{broken", "line 1"),
    "cut": (volume()[:-9], "line 1"),
    "trailing-text": (volume() + "x", "line 1"),
    "not-utf-8": (b"\xff\xfe{}", "line 1"),
    "deep": ('{"@type":"neuroglancer_multiscale_volume","scales":' + "[" * 100_000, "line 1"),
    "a-list": ("[]", "expected an object"),
    "scales-no-list": ('{"@type":"neuroglancer_multiscale_volume","scales":{}}', "scales"),
    "scale-no-object": ('{"@type":"neuroglancer_multiscale_volume","data_type":"uint8",'
                        '"num_channels":1,"scales":[7]}', "scales[0]"),
    "size-text": (volume(size="big"), "scales[0].size"),
    "size-of-rank-2": (volume(size=[1, 2]), "scales[0].size"),
    "size-negative": (volume(size=[16, -8, 8]), "scales[0].size[1]"),
    "size-fraction": (volume(size=[16, 8.5, 8]), "scales[0].size[1]"),
    "size-overflows": (volume(size=HUGE), "scales[0]"),
    "size-beyond-64-bits": (volume(size=[2 ** 70, 8, 8]), "scales[0].size[0]"),
    "chunk-overflows": (volume(size=HUGE, chunk_sizes=[HUGE]), "scales[0]"),
    "chunk-extent-0": (volume(chunk_sizes=[[4, 0, 4]]), "scales[0].chunk_sizes"),
    "two-chunk-sizes": (volume(chunk_sizes=[[4, 4, 4], [8, 8, 8]]), "scales[0].chunk_sizes"),
    "no-chunk-sizes": (volume(chunk_sizes=...), "scales[0]"),
    "key-number": (volume(key=7), "scales[0].key"),
    "no-key": (volume(key=...), "scales[0]"),
    "offset-text": (volume(voxel_offset=["0", 0, 0]), "scales[0].voxel_offset[0]"),
    "too-many-morton-bits": (volume(size=[2 ** 40] * 3, chunk_sizes=[[1, 1, 1]]), "scales[0]"),
    "sharding-text": (volume(sharding="yes"), "scales[0].sharding"),
    "sharding-of-another-type": (volume(**{"sharding__@type": "example_v2"}),
                                 "scales[0].sharding.@type"),
    "unknown-hash": (volume(sharding__hash="md5"), "scales[0].sharding.hash"),
    "minishard-bits-negative": (volume(sharding__minishard_bits=-1),
                                "scales[0].sharding.minishard_bits"),
    "minishard-bits-text": (volume(sharding__minishard_bits="1"),
                            "scales[0].sharding.minishard_bits"),
    "minishard-bits-65": (volume(sharding__minishard_bits=65), "scales[0].sharding"),
    "bits-sum-65": (volume(sharding__minishard_bits=32, sharding__shard_bits=33),
                    "scales[0].sharding"),
    "preshift-65": (volume(sharding__preshift_bits=65), "scales[0].sharding.preshift_bits"),
    "no-shard-bits": (volume(sharding__shard_bits=...), "scales[0].sharding"),
    "unknown-data-encoding": (volume(sharding__data_encoding="zstd"),
                              "scales[0].sharding.data_encoding"),
    "channels-0": (volume().replace('"num_channels": 1', '"num_channels": 0'), "num_channels"),
    "channels-text": (volume().replace('"num_channels": 1', '"num_channels": "1"'),
                      "num_channels"),
}


def array(change):
    document = zarr_document()
    change(document, document["codecs"][0]["configuration"])
    return json.dumps(document)


def _put(where, name, value):
    if value is ...:
        del where[name]
    else:
        where[name] = value


def _d(name, value):
    return array(lambda document, _: _put(document, name, value))


def _s(name, value):
    return array(lambda _, sharding: _put(sharding, name, value))


def _grid(shape, kind="regular"):
    return {"name": kind, "configuration": {"chunk_shape": shape}}


DOCUMENTS = {
    "empty": ("", "line 1"),
    "no-json": ("{broken", "line 1"),
    "deep": ("[" * 100_000, "line 1"),
    "another-format": (_d("zarr_format", 4), "zarr_format"),
    "no-node-type": (_d("node_type", ...), "node_type"),
    "no-shape": (_d("shape", ...), "shape"),
    "shape-negative": (_d("shape", [8, -4]), "shape[1]"),
    "shape-text": (_d("shape", "8x4"), "shape"),
    "shape-of-another-rank": (_d("shape", [8]), "shape"),
    "shape-overflows": (_d("shape", [2 ** 63, 2 ** 63]), "shape"),
    "shard-extent-0": (_d("chunk_grid", _grid([4, 0])), "chunk_grid"),
    "shard-overflows": (_d("chunk_grid", _grid([2 ** 62, 2 ** 62])), "chunk_shape"),
    "inner-extent-0": (_s("chunk_shape", [2, 0]), "codecs[0].configuration.chunk_shape"),
    "inner-does-not-divide": (_s("chunk_shape", [3, 2]), "codecs[0].configuration.chunk_shape"),
    "inner-of-another-rank": (_s("chunk_shape", [2]), "codecs[0].configuration.chunk_shape"),
    "inner-text": (_s("chunk_shape", "2"), "codecs[0].configuration.chunk_shape"),
    "inner-codecs-missing": (_s("codecs", ...), "codecs"),
    "codecs-no-list": (_d("codecs", {}), "codecs"),
    "unknown-key-encoding": (_d("chunk_key_encoding", {"name": "example"}), "chunk_key_encoding"),
    "unknown-separator": (_d("chunk_key_encoding", {
        "name": "default", "configuration": {"separator": "-"}}), "chunk_key_encoding"),
    "unknown-location": (_s("index_location", "middle"), "index_location"),
    "index-compressed": (_s("index_codecs", [{"name": "bytes", "configuration": {
        "endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]), "gzip"),
    "index-codec-unknown": (_s("index_codecs", [{"name": "example.index"}]), "example.index"),
    "codec-unknown-behind-the-shard": (array(lambda document, _: document["codecs"].append(
        {"name": "example.wrapper"})), "example.wrapper"),
    "codec-unknown-before-the-shard": (array(lambda document, _: document["codecs"].insert(
        0, {"name": "example.filter"})), "example.filter"),
    "transpose-no-permutation": (array(lambda document, _: document["codecs"].insert(
        0, {"name": "transpose", "configuration": {"order": [0, 0]}})), "order"),
}


def assert_refused(mount, source, document, says):
    with pytest.raises(MountFailed) as refused:
        mount(source)
    code, log = refused.value.returncode, refused.value.log.strip()
    assert code is not None and code > 0, f"exit status {code}: {log}"
    assert len(log.splitlines()) == 1, log
    assert document in log and says in log, log


@pytest.mark.parametrize("name", INFOS)
def test_a_broken_info_refuses_the_mount(work, mount, name):
    text, says = INFOS[name]
    put_file(work / "src" / "info", text)
    assert_refused(mount, work / "src", "info", says)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_broken_zarr_json_refuses_the_mount(work, mount, name):
    text, says = DOCUMENTS[name]
    put_file(work / "src" / "zarr.json", text)
    assert_refused(mount, work / "src", "zarr.json", says)


def test_a_huge_document_refuses_the_mount(work, mount):
    with open(put_file(work / "src" / "info", b""), "r+b") as huge:
        huge.truncate(2 ** 40)  # sparse
    assert_refused(mount, work / "src", "info", "bytes")


@pytest.mark.parametrize("kind", ["meshes", "skeletons", "annotations"])
def test_broken_sharding_of_other_objects_refuses_the_mount(work, mount, kind):
    broken = {**RAW.json(), "hash": "md5"}
    text, says = {
        "meshes": ({"@type": "neuroglancer_multilod_draco", "sharding": broken}, "sharding.hash"),
        "skeletons": ({"@type": "neuroglancer_skeletons", "sharding": broken}, "sharding.hash"),
        "annotations": ({"@type": "neuroglancer_annotations_v1", "by_id": {
            "key": "by_id", "sharding": broken}, "relationships": [], "spatial": []},
            "by_id.sharding.hash"),
    }[kind]
    put_file(work / "src" / "info", json.dumps(text))
    assert_refused(mount, work / "src", "info", says)


def test_a_broken_dataset_among_others_leaves_them_alone(work, mount):
    write_volume(work / "src" / "good", Damage("nothing", [], lambda shard: None))
    put_file(work / "src" / "broken" / "info", volume(sharding__hash="md5"))
    mounted = mount(work / "src")
    for number, name in NAMES.items():
        assert_same_bytes(mounted.path / "good" / "s0" / name, value_of(number))
    assert "broken/info" in mounted.log() and "scales[0].sharding.hash" in mounted.log()


def test_a_shard_that_peers_wrote_reads_beside_a_damaged_one(work, mount):
    """The hand-made shards of this file are not the only ones that share a directory."""
    write_volume(work / "src", Damage("nothing", [], lambda shard: None))
    os.unlink(work / "src" / "s0" / "0.shard")
    write_values(work / "src" / "s0", RAW, {number: value_of(number) for number in range(16)
                                            if not number >> 1 & 1})
    put_file(work / "src" / "s0" / "1.shard", bytes(range(250)) * 2)
    mounted = mount(work / "src")
    for number, name in NAMES.items():
        if number >> 1 & 1:
            assert error_of_reading(mounted.path / "s0" / name) == errno.EIO
        else:
            assert_same_bytes(mounted.path / "s0" / name, value_of(number))
