"""A build without any library that it may lack: what needs one is refused by name, and all else works."""

import json
import subprocess

import numpy as np
import pytest
import tensorstore

import zarr_sources as zarrs
from judging import put_file
from mounting import MountFailed
from zarr_sources import CRC32C, GZIP, LITTLE, ZSTD, Array, Level

NOT_HERE = 'codecs[1]: the codec "zstd" is not in this build (libzstd)'


@pytest.fixture
def arrays(work):
    """{name: what it has}: one array by a codec of each build, one by a codec that this build lacks."""
    return {name: zarrs.build(work / "source", work / "twins",
                              Array(name, (33, 20), (32, 16), [Level((4, 4))], codecs=(LITTLE, codec, CRC32C)))
            for name, codec in (("gzip", GZIP), ("zstd", ZSTD))}


def test_version_lists_all_that_the_build_lacks(run_unshard):
    lines = run_unshard("--version").stdout.splitlines()
    assert len(lines) == 3 and lines[1].startswith("with: zlib ")
    assert lines[2] == ("without: isa-l, libdeflate, zstd (libzstd), blosc (libblosc), lz4 (liblz4), bz2 (libbz2), "
                        "lzma (liblzma), br (libbrotli), png (libpng), jxl (libjxl), zfp (libzfp), io_uring (liburing)")


def test_chunks_are_presented_as_stored_and_written(arrays, work, mount):
    mounted = mount(work / "source")
    for name, expected in arrays.items():
        shown = mounted.path / name
        twin = work / "twins" / name
        assert {key: (shown / key).read_bytes() for key in expected.chunks} == expected.chunks
        assert json.loads((shown / "zarr.json").read_text()) == json.loads((twin / "zarr.json").read_text())
        assert np.array_equal(zarrs.read(shown, "tensorstore"), expected.voxels)
        zarrs.open_tensorstore(shown)[8:24, 4:12] = expected.voxels[:16, :8]
    mounted.unmount()
    for name, expected in arrays.items():
        expected.voxels[8:24, 4:12] = expected.voxels[:16, :8].copy()
        assert np.array_equal(zarrs.read(work / "source" / name, "tensorstore"), expected.voxels)


def test_info_says_what_cannot_be_read_and_why(arrays, work, run_unshard):
    done = run_unshard("info", work / "source")
    assert (done.returncode, done.stderr) == (0, "")
    of_gzip, of_zstd = done.stdout.split("/zstd\n")
    assert "voxels" not in of_gzip and "bytes, zstd, crc32c" in of_zstd
    line, = [line for line in of_zstd.splitlines() if "voxels cannot be read" in line]
    assert line.startswith("    voxels cannot be read: ") and line.endswith(f"{NOT_HERE}; chunks are presented as stored")
    assert str(work / "source/zstd") in line


def test_what_has_to_be_decoded_or_encoded_is_refused_before_it_begins(arrays, work, mount, run_unshard):
    for name, refused in (("gzip", False), ("zstd", True)):
        done = run_unshard("copy", "--format", "n5", work / "source" / name, work / f"copy_of_{name}")
        assert done.returncode == int(refused), done.stderr
        assert (NOT_HERE in done.stderr) == refused
        copied = run_unshard("copy", work / "source" / name, work / f"same_as_{name}")
        assert copied.returncode == 0, copied.stderr
        assert np.array_equal(zarrs.read(work / f"same_as_{name}", "tensorstore"), arrays[name].voxels)
    with pytest.raises(MountFailed) as failure:
        mount(work / "source/zstd", "view=n5")
    assert NOT_HERE in str(failure.value)
