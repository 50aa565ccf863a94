"""Runs the examples of fs/SEMANTICS.md and fs/docs, in order, in one shell, and compares what they print.

The shell runs in an empty directory with `unshard` on its PATH, a directory `mnt` and the dataset
`source`, which `make_source` writes.
"""

import gzip
import json
import pathlib
import re
import struct

import pytest

from document_examples import differences, examples, matches, mounts_below, shell_in
from mount_data import MISSING, neuroglancer_shard, zarr_shard

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "fs"
# In the order in which their examples run: the first ones see a read-only mount.
DOCUMENTS = [FOLDER / "SEMANTICS.md",
             *(FOLDER / "docs" / f"{name}.md" for name in (
                 "views", "reading", "remote", "buckets", "zip", "limits", "writing", "spool", "copy"))]
# What these pages say mostly needs a service.
PAGES_OF_SERVICES = {"remote", "buckets"}
# No example: a list of what is not done, or what the example of another section does.
WITHOUT_EXAMPLES = {"Limits of writing", "Limits of sources", "The destination", "How chunks are copied"}
COMMAND_SECONDS = 60
RAW = {"name": "bytes", "configuration": {"endian": "little"}}


# ----------------------------------------------------------------------------------- the dataset


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data, indent=2).encode())


def text_chunk(row, column):
    return f"row {row}, column {column}".ljust(15).encode() + b"\n"


def array_metadata(codecs):
    return {
        "zarr_format": 3, "node_type": "array", "shape": [8, 64], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 32]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": codecs, "attributes": {"resolution": 8.000}}


def sharding(inner, **more):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner, "codecs": [RAW], "index_codecs": [RAW], **more}}


def make_image(path):
    """A Zarr array of 8 × 4 chunks of 16 letters, in 2 × 2 shards; the last chunk is empty."""
    write(path / "zarr.json", array_metadata([sharding([1, 16])]))
    for row in range(2):
        for column in range(2):
            chunks = {r * 2 + c: text_chunk(row * 4 + r, column * 2 + c)
                      for r in range(4) for c in range(2)}
            if (row, column) == (1, 1):
                del chunks[7]
            write(path / f"c/{row}/{column}", zarr_shard(chunks, 8))


def make_damaged(path):
    """The same with one shard, whose second entry reaches beyond it."""
    write(path / "zarr.json", array_metadata([sharding([1, 16])]))
    shard = bytearray(zarr_shard({0: text_chunk(0, 0), 1: text_chunk(0, 1)}, 8))
    shard[-112:-96] = struct.pack("<QQ", 1000, 16)
    write(path / "c/0/0", bytes(shard))


def make_segmentation(path):
    """A precomputed volume of 2 × 2 × 1 chunks, gzip in its shard; the last chunk is empty."""
    spec = {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity", "preshift_bits": 0,
            "minishard_bits": 1, "shard_bits": 0, "data_encoding": "gzip"}
    write(path / "info", {
        "@type": "neuroglancer_multiscale_volume", "type": "segmentation", "data_type": "uint8",
        "num_channels": 1, "owner": "nobody in particular", "scales": [{
            "key": "8_8_8", "size": [100, 128, 64], "resolution": [8, 8, 8.0], "encoding": "raw",
            "chunk_sizes": [[64, 64, 64]], "voxel_offset": [0, 0, 0], "sharding": spec}]})
    chunks = {0: b"\x01" * 64**3, 1: b"\x02" * (36 * 64**2), 2: b"\x03" * 64**3}
    write(path / "8_8_8/0.shard", neuroglancer_shard(chunks, 0, 1, gzip_data=True))


def make_mesh(path):
    """One multi-resolution mesh: id 7, one level, one fragment of 21 bytes."""
    spec = {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity", "preshift_bits": 0,
            "minishard_bits": 0, "shard_bits": 0}
    write(path / "info", {"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10,
                          "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
                          "lod_scale_multiplier": 1, "sharding": spec})
    fragment = b"21 bytes of triangles"
    manifest = struct.pack("<6fI4fI4I", 64, 64, 64, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0,
                           len(fragment))
    minishard_index = struct.pack("<3Q", 7, len(fragment), len(manifest))
    begin = len(fragment) + len(manifest)
    shard_index = struct.pack("<QQ", begin, begin + len(minishard_index))
    write(path / "0.shard", shard_index + fragment + manifest + minishard_index)


def make_source(path):
    make_image(path / "image")
    make_damaged(path / "damaged")
    make_segmentation(path / "segmentation")
    make_mesh(path / "mesh")
    write(path / "broken/zarr.json", array_metadata(
        [sharding([1, 16], index_codecs=[RAW, {"name": "gzip", "configuration": {"level": 1}}])]))
    write(path / "broken/c/0/0", b"a shard that nobody can find anything in\n")
    write(path / "notes.txt", b"stands beside the data\n")


@pytest.fixture
def shell(work, unshard_binary):
    make_source(work / "source")
    (work / "mnt").mkdir()
    with shell_in(work, {"unshard": unshard_binary}) as new:
        yield new


def test_every_example_prints_what_the_document_says(shell, work):
    faults = [fault for document in DOCUMENTS for fault in differences(document, shell, COMMAND_SECONDS)]
    assert not faults, "\n\n".join(faults)
    assert not mounts_below(work), "the examples leave something mounted"


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if each.stem not in PAGES_OF_SERVICES],
                         ids=lambda document: document.stem)
def test_a_page_has_an_example_in_each_section(document):
    sections = re.split(r"^## ", document.read_text(), flags=re.MULTILINE)[1:]
    without = {section.split("\n", 1)[0] for section in sections if "```console" not in section}
    assert without <= WITHOUT_EXAMPLES


def test_links_lead_to_headings_that_exist():
    for document in [FOLDER / "SEMANTICS.md", *(FOLDER / "docs").iterdir()]:
        for name, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", document.read_text()):
            page = (document.parent / name).resolve() if name else document
            headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
            anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{document.name}: {name}#{anchor}"


def test_examples_are_read_as_described_and_judged_strictly():
    text = "```console\n$ one\n> two\nfirst\n…\n$ three\n```\n$ no example\n"
    assert examples(text) == [(2, "one\ntwo", ["first", "…"]), (6, "three", [])]
    assert matches(["a…c", "…", "z"], ["abbc", "more", "z"]) and matches(["…"], [])
    assert matches([], []) and not matches([], ["x"]) and not matches(["x"], [])
    assert not matches(["a"], ["a", "b"]) and not matches(["a.c"], ["abc"])
    assert not matches(["a…"], ["a", "b"])
