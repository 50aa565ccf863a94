"""-o files=: each array as one file, opened by the programs that know the format."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from judging import SEED
from mounting import MountFailed, daemon_of, wait_until
from remote_stores import BUCKET, upload
from test_view_writing import buckets, open_level  # noqa: F401
from test_views import (FACTOR, SOURCES, Colours, N5, Precomputed, ShardedZarr, Zarr2, paths_in,
                        resolution_of, sources, url)  # noqa: F401

ALL = "files=npy:nii:nrrd:raw"
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]
LACKS = {"npy": [], "raw": [], "nii": ["bool", "float16"],
         "nrrd": ["bool", "float16", "complex64", "complex128"]}


def same(found, wanted):
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def paths_of(source):
    return [path or "volume" for path in source.paths]


def stored_axes(source, voxels):
    """The voxels with their axes as the format of the source lists them."""
    if source.format == "precomputed":
        voxels = voxels if voxels.ndim == 4 else voxels[None]
    return voxels.T if source.format in ("precomputed", "n5") else voxels


def geometry(source, level):
    """Resolution in nm and first voxel of a level, x y z."""
    factor = FACTOR ** level
    offset = (0, 0, 0) if source.single else source.offset
    return (np.array(resolution_of(source)) * factor)[::-1], \
        np.array([o // f for o, f in zip(offset, factor)])[::-1]


def read_npy(path, source, voxels, level):
    wanted = stored_axes(source, voxels)
    mapped = np.load(path, mmap_mode="r")
    assert isinstance(mapped, np.memmap) and mapped.dtype == wanted.dtype
    same(mapped, wanted)
    same(np.load(path), wanted)
    part = tuple(slice(n // 3, n // 2 + 1) for n in wanted.shape)
    same(np.load(path, mmap_mode="r")[part], wanted[part])


def read_raw(path, source, voxels, level):
    wanted = stored_axes(source, voxels)
    order = "F" if source.format in ("precomputed", "n5") else "C"
    same(np.fromfile(path, voxels.dtype).reshape(wanted.shape, order=order), wanted)


def read_nii(path, source, voxels, level):
    import nibabel
    import SimpleITK

    image = nibabel.load(path)
    wanted = voxels.T
    same(np.asarray(image.dataobj), wanted if voxels.ndim == 3 else wanted[:, :, :, None])
    resolution, offset = geometry(source, level)
    np.testing.assert_allclose(np.diag(image.affine)[:3], resolution / 1000, rtol=1e-6)
    np.testing.assert_allclose(image.affine[:3, 3], offset * resolution / 1000, rtol=1e-6)
    assert image.header.get_xyzt_units()[0] == "micron"
    itk = SimpleITK.ReadImage(os.fspath(path))
    same(SimpleITK.GetArrayViewFromImage(itk), np.moveaxis(voxels, 0, -1) if voxels.ndim == 4 else voxels)
    np.testing.assert_allclose(itk.GetSpacing(), resolution / 1e6, rtol=1e-6)


def read_nrrd(path, source, voxels, level):
    import nrrd
    import SimpleITK

    found, header = nrrd.read(os.fspath(path))
    same(found, voxels.T)
    resolution, offset = geometry(source, level)
    np.testing.assert_allclose(header["space origin"], offset * resolution / 1e6)
    np.testing.assert_allclose(header["space directions"][:3], np.diag(resolution) / 1e6)
    assert header["space units"] == ["mm"] * 3
    itk = SimpleITK.ReadImage(os.fspath(path))
    same(SimpleITK.GetArrayViewFromImage(itk), np.moveaxis(voxels, 0, -1) if voxels.ndim == 4 else voxels)
    np.testing.assert_allclose(itk.GetSpacing(), resolution / 1e6)


READERS = {"npy": read_npy, "raw": read_raw, "nii": read_nii, "nrrd": read_nrrd}


def read_all(root, source, formats=READERS):
    for level, (name, voxels) in enumerate(zip(paths_of(source), source.levels)):
        for format in formats:
            READERS[format](root / "files" / f"{name}.{format}", source, voxels, level)


@pytest.mark.parametrize("kind", SOURCES, ids=lambda kind: kind.__name__)
def test_every_reader_sees_the_voxels_of_every_source(kind, sources, mount):
    source = sources(kind)
    root = mount(source.path, f"ro,{ALL}").path
    assert "files" in os.listdir(root)
    assert sorted(os.listdir(root / "files")) == \
        sorted(f"{name}.{format}" for name in paths_of(source) for format in READERS)
    read_all(root, source)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_that_a_format_can_say(dtype, order, mount, work, run_unshard):
    import zarr
    import zarr.codecs

    rng = np.random.default_rng(DTYPES.index(dtype))
    voxels = rng.integers(0, 200, (5, 6, 7)).astype(dtype) if dtype != "bool" else \
        rng.integers(0, 2, (5, 6, 7)).astype(bool)
    array = zarr.create_array(work / "source", shape=voxels.shape, chunks=(2, 4, 4), dtype=dtype,
                              shards=(4, 8, 8),
                              filters=[zarr.codecs.TransposeCodec(order=(2, 1, 0))] if order == "F" else None)
    array[...] = voxels
    mounted = mount(work / "source", f"ro,{ALL}")
    root = mounted.path

    class Single(ShardedZarr):
        single = True

        def __init__(self):
            pass

    for format, reader in READERS.items():
        path = root / "files" / f"volume.{format}"
        if dtype in LACKS[format]:
            assert not path.exists()
            assert f"volume.{format}" not in os.listdir(root / "files")
            why = run_unshard("why", path)
            assert f"{format} has no type for {dtype}" in why.stdout
            assert f"volume.{format}: {format} has no type for {dtype}" in mounted.log()
        elif dtype.startswith("complex") and format == "nii":
            import nibabel
            same(np.asarray(nibabel.load(path).dataobj), voxels.T)
        else:
            reader(path, Single(), voxels, 0)


def test_an_image_whose_x_is_slowest_is_turned(mount, work):
    import nibabel
    import zarr

    voxels = np.random.default_rng(1).integers(0, 9999, (3, 11, 12, 13), dtype="uint16")
    zarr.create_array(work / "source", shape=voxels.shape, chunks=(1, 4, 5, 6), dtype="uint16",
                      dimension_names=["c", "x", "y", "z"])[...] = voxels
    root = mount(work / "source", f"ro,{ALL}").path
    same(np.load(root / "files" / "volume.npy"), voxels)
    same(np.asarray(nibabel.load(root / "files" / "volume.nii").dataobj)[:, :, :, 0],
         np.moveaxis(voxels, 0, -1))


def test_a_size_that_nifti_1_cannot_say_is_nifti_2(mount, work):
    """ITK knows no NIfTI-2, whoever wrote it."""
    import nibabel
    import zarr

    voxels = np.random.default_rng(2).integers(0, 99, (2, 3, 40000), dtype="int16")
    zarr.create_array(work / "source", shape=voxels.shape, chunks=(2, 2, 3000), dtype="int16")[...] = voxels
    path = mount(work / "source", "ro,files=nii").path / "files" / "volume.nii"
    image = nibabel.load(path)
    assert isinstance(image, nibabel.Nifti2Image)
    same(np.asarray(image.dataobj), voxels.T)


def test_terabytes_are_mapped_at_once(mount, work):
    import zarr

    array = zarr.create_array(work / "source", shape=(30000, 30000, 30000), chunks=(64, 64, 64),
                              dtype="uint8", fill_value=5)
    array[29900:29910, 12345, :9] = 77
    path = mount(work / "source", "ro,files=npy").path / "files" / "volume.npy"
    assert path.stat().st_size == 128 + 27 * 10 ** 12
    mapped = np.load(path, mmap_mode="r")
    wanted = np.full((4, 11), 5, "uint8")
    wanted[2:, :9] = 77
    same(mapped[29898:29902, 12345, :11], wanted)
    assert mapped[-1, -1, -1] == 5


@pytest.mark.parametrize("view", ["raw", "precomputed", "zarr3", "zarr2", "n5", "all"])
@pytest.mark.parametrize("kind", [Precomputed, Colours, ShardedZarr, Zarr2, N5],
                         ids=lambda kind: kind.__name__)
def test_files_are_those_of_the_source_in_every_view(kind, view, sources, mount):
    source = sources(kind)
    root = mount(source.path, f"view={view},{ALL}").path
    read_all(root, source)
    if view == "all":
        assert set(os.listdir(root)) == {"files", "native", "raw", "precomputed", "zarr3", "zarr2", "n5"}


@pytest.mark.parametrize("kind", [Precomputed, Colours, ShardedZarr, Zarr2, N5],
                         ids=lambda kind: kind.__name__)
def test_sources_behind_urls_have_files(kind, sources, url, mount):
    source = sources(kind)
    read_all(mount(f"{url}/{kind.__name__}", ALL).path, source)


def test_files_are_never_written(sources, mount):
    root = mount(sources(Precomputed).path, "files=npy").path
    path = root / "files" / "scale 0.npy"
    assert path.stat().st_mode & 0o777 == 0o444
    for broken in (lambda: open(path, "r+b"), lambda: open(path, "wb"), path.unlink,
                   lambda: (root / "files" / "new.npy").write_bytes(b""),
                   (root / "files" / "new").mkdir, (root / "files").rmdir):
        with pytest.raises(OSError) as caught:
            broken()
        assert caught.value.errno in (1, 30)


def test_a_source_with_such_a_name_is_refused(mount, work):
    import zarr

    zarr.create_array(work / "source" / "files", shape=(4,), chunks=(2,), dtype="uint8")
    with pytest.raises(MountFailed) as caught:
        mount(work / "source", "ro,files=raw")
    assert caught.value.returncode == 1
    assert len(caught.value.log.splitlines()) == 1 and "files=" in caught.value.log
    mount(work / "source", "ro")


@pytest.mark.parametrize("kind", [Precomputed, ShardedZarr], ids=lambda kind: kind.__name__)
def test_what_is_written_to_chunks_is_seen_in_files(kind, mount, work, run_unshard):
    """Through the same mount at once, at the next open; in another one once it is published."""
    import tensorstore as ts

    source = kind(work / "source", 55)
    writer = mount(source.path, "files=npy,publish_after=3600")
    reader = mount(source.path, "ro,files=npy")
    name = f"files/{source.paths[0]}.npy"
    wanted = stored_axes(source, source.levels[0].copy())
    same(np.load(writer.path / name), wanted)
    at_writer, mapped = (np.load(each.path / name, mmap_mode="r") for each in (writer, reader))
    same(mapped, wanted)
    same(at_writer, wanted)
    if kind is Precomputed:
        store = ts.open({"driver": "neuroglancer_precomputed", "kvstore": f"file://{writer.path}/"}).result()
        store = store.translate_to[0, 0, 0, 0]
    else:
        store = ts.open({"driver": "zarr3", "kvstore": f"file://{writer.path}/{source.paths[0]}"}).result()
    wanted = wanted ^ 1
    store.write(np.asarray(wanted)).result()
    # Who has mapped it before sees it as well.
    assert wait_until(lambda: np.array_equal(at_writer, wanted), 20)
    same(np.load(writer.path / name, mmap_mode="r"), wanted)
    done = run_unshard("flush", writer.path)
    assert done.returncode == 0, done.stderr
    same(np.load(writer.path / name), wanted)
    assert wait_until(lambda: np.array_equal(np.load(reader.path / name), wanted), 20)
    # Pages that are mapped already are dropped as well.
    assert wait_until(lambda: np.array_equal(mapped, wanted), 20)


@pytest.mark.parametrize("scheme,kind,view", [("s3", ShardedZarr, "precomputed"),
                                              ("s3", Precomputed, "native"), ("s3", N5, "zarr3"),
                                              ("gcs", ShardedZarr, "n5"),
                                              ("gcs", Precomputed, "zarr2")],
                         ids=lambda one: getattr(one, "__name__", one))
def test_files_of_a_bucket_have_what_is_written_into_views(scheme, kind, view, buckets, mount, work,
                                                           no_credentials):
    source, bucket = kind(work / "source", 77), buckets(scheme)
    prefix = f"{kind.__name__}-{view}"
    upload(bucket, source.path, prefix)
    location = f"{bucket.scheme}://{BUCKET}/{prefix}"
    writer = mount(location, f"view={view},{ALL},publish_after=3600,spool={work / 'spools'}",
                   environment=bucket.environment)
    read_all(writer.path, source)
    format = source.format if view == "native" else view
    rng = np.random.default_rng([SEED, 77])
    for level, voxels in enumerate(source.levels):
        box = tuple(slice(*sorted(rng.choice(extent + 1, 2, replace=False).tolist()))
                    for extent in voxels.shape)
        voxels[box] ^= 1
        store = open_level(writer.path, format, paths_in(source, view)[level], level, voxels.ndim)
        store[box].write(voxels[box]).result()
    read_all(writer.path, source)
    os.setxattr(writer.path / ".unshard", "user.unshard.flush", b"")
    read_all(writer.path, source)
    reader = mount(location, f"ro,{ALL}", environment=bucket.environment)
    read_all(reader.path, source)


@pytest.mark.long
def test_many_levels_of_one_document_are_listed_in_a_moment(mount, work):
    """The document is read for the first of them."""
    levels = 3000
    scales = [{"key": f"k{level}", "size": [4, 4, 4], "resolution": [level + 1] * 3,
               "encoding": "raw", "chunk_sizes": [[4, 4, 4]]} for level in range(levels)]
    (work / "source").mkdir()
    (work / "source" / "info").write_text(json.dumps({
        "type": "image", "data_type": "uint8", "num_channels": 1, "scales": scales}))
    mounted = mount(work / "source", "files=raw")
    before = time.monotonic()
    names = os.listdir(mounted.path / "files")
    assert sorted(names) == sorted(f"k{level}.raw" for level in range(levels))
    # Read for each of them it takes minutes.
    assert time.monotonic() - before < 30


def test_metadata_that_change_make_another_file(mount, work):
    source = ShardedZarr(work / "source", 3)
    root = mount(source.path, "ro,files=raw,ttl=0.2").path
    path = root / "files" / "0.raw"
    before = path.stat().st_size
    document = source.path / "0" / "zarr.json"
    metadata = json.loads(document.read_text())
    metadata["shape"][0] = 13
    document.with_name("new").write_text(json.dumps(metadata))
    os.rename(document.with_name("new"), document)
    assert wait_until(lambda: path.stat().st_size == before // 21 * 13, 20)
    same(np.fromfile(path, "uint16").reshape(13, 29, 37), source.levels[0][:13])


def test_damage_is_that_of_one_chunk(mount, work, run_unshard):
    source = ShardedZarr(work / "source", 7)
    native = mount(source.path, "ro").path
    chunk = (native / "0" / "c" / "0" / "0" / "0").read_bytes()
    for shard in (source.path / "0").rglob("*"):
        if shard.is_file() and chunk in shard.read_bytes():
            shard.write_bytes(shard.read_bytes().replace(chunk, b"damage" + chunk[6:]))
    mounted = mount(source.path, "ro,files=raw")
    path = mounted.path / "files" / "0.raw"
    with open(path, "rb") as file:
        with pytest.raises(OSError) as caught:
            os.pread(file.fileno(), 10, 0)
        assert caught.value.errno == 5
        row = 8 * 29 * 37 * 2  # of the next chunk
        assert os.pread(file.fileno(), 4096, row) == source.levels[0].tobytes()[row:row + 4096]
    [line] = {line.split(" ", 1)[1] for line in mounted.control("errors").splitlines()}
    assert line.startswith("read /files/0.raw EIO") and "0/c/0/0/0" in line
    assert "0/c/0/0/0" in run_unshard("why", path).stdout


def test_many_readers_at_once(sources, mount):
    source = sources(ShardedZarr)
    path = mount(source.path, "ro,files=npy").path / "files" / "0.npy"
    wanted = source.levels[0]

    def read(seed):
        rng = np.random.default_rng(seed)
        mapped = np.load(path, mmap_mode="r")
        for _ in range(200):
            low = [int(rng.integers(0, n)) for n in wanted.shape]
            part = tuple(slice(b, b + int(rng.integers(1, 12))) for b in low)
            same(mapped[part], wanted[part])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))


def decoded(mounted):
    lines = mounted.control("metrics").splitlines()
    return next(int(line.split()[1]) for line in lines
                if line.startswith("unshard_file_chunks_decoded_total "))


def create_gzip_volume(path, data_type, size, chunk_size, sharding):
    """A sharded precomputed volume of one scale whose chunks are gzip, as TensorStore opens it."""
    import tensorstore as ts

    return ts.open({
        "driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/", "create": True,
        "multiscale_metadata": {"type": "image", "data_type": data_type, "num_channels": 1},
        "scale_metadata": {
            "size": size, "resolution": [8, 8, 8], "encoding": "raw", "key": "0",
            "chunk_size": chunk_size, "sharding": {
                "@type": "neuroglancer_uint64_sharded_v1", "hash": "identity", "minishard_bits": 0,
                "data_encoding": "gzip", **sharding}}}).result()


class Large:
    """A volume of 512 × 512 × 128 voxels in 512 chunks of 64³, sharded, and the same as .npy."""

    def __init__(self, work):
        self.path = work / "large"
        rng = np.random.default_rng(5)
        low = rng.integers(0, 60000, (64, 64, 16), dtype="uint16")
        self.voxels = np.asfortranarray(np.kron(low, np.ones((8, 8, 8), "uint16")))
        store = create_gzip_volume(self.path, "uint16", [512, 512, 128], [64, 64, 64],
                                   {"preshift_bits": 3, "shard_bits": 4,
                                    "minishard_index_encoding": "gzip"})
        store[..., 0].write(self.voxels).result()
        self.plain = work / "plain.npy"
        np.save(self.plain, self.voxels[..., None])


@pytest.fixture(scope="module")
def large(module_work):
    return Large(module_work)


def sequential(path):
    """Seconds for a read from beginning to end, and the bytes."""
    begun, total = time.monotonic(), 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            total += len(piece)
    return time.monotonic() - begun, total


def random(path, reads, seed):
    rng = np.random.default_rng(seed)
    size = path.stat().st_size
    offsets = rng.integers(0, size - 4096, reads)
    begun = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        for offset in offsets:
            os.pread(file.fileno(), 4096, int(offset))
    return (time.monotonic() - begun) / reads


def test_what_sequential_and_random_access_cost(large, mount, measured):
    mounted = mount(large.path, "ro,files=npy")
    path = mounted.path / "files" / "0.npy"
    seconds, size = sequential(path)
    assert size == large.plain.stat().st_size == path.stat().st_size
    assert decoded(mounted) == 8 * 8 * 2  # each chunk once
    plain, _ = sequential(large.plain)
    again, _ = sequential(path)
    measured(f"files=npy, 64 MiB of gzip chunks of 64³ uint16, sequential: {size / seconds / 2**20:.0f} "
             f"MiB/s, again from the page cache {size / again / 2**20:.0f} MiB/s; "
             f"a plain .npy file {size / plain / 2**20:.0f} MiB/s")
    same(np.load(path, mmap_mode="r")[..., 0], large.voxels)
    mounted.unmount()

    mounted = mount(large.path, "ro,files=npy,memory=16M")
    path = mounted.path / "files" / "0.npy"
    reads = 200
    ours = random(path, reads, 1)
    # 4096 bytes are at most five lines of x, here in eight chunks each.
    lines = decoded(mounted) / reads
    measured(f"files=npy, random reads of 4096 bytes in memory=16M: {ours * 1000:.2f} ms each, which "
             f"decode {lines:.1f} chunks; a plain .npy file {random(large.plain, reads, 1) * 1000:.3f} ms")

    # One voxel is in one page, which is read without those around it.
    before = decoded(mounted)
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(file.fileno(), 2, 128)
    assert decoded(mounted) - before <= 16


MEBI = 1 << 20
CAP = 64 * MEBI


@pytest.fixture(scope="module")
def large_chunks(module_work):
    """64 chunks of 8 MiB, an eighth of the cap, which is the most that is decoded."""
    import zarr

    path = module_work / "large chunks"
    array = zarr.create_array(path, shape=(512, 1024, 1024), chunks=(128, 256, 256), dtype="uint8",
                              compressors=zarr.codecs.ZstdCodec(level=1), dimension_names=[*"zyx"])
    block = np.random.default_rng(6).integers(0, 4, (128, 256, 256), dtype="uint8")
    for z, y, x in np.ndindex(4, 4, 4):
        array[z * 128:(z + 1) * 128, y * 256:(y + 1) * 256, x * 256:(x + 1) * 256] = block
    return path


@pytest.fixture(scope="module")
def large_gzip_chunks(module_work):
    """The same number of the same size, unpacked by the native view."""
    path = module_work / "large gzip chunks"
    store = create_gzip_volume(path, "uint8", [1024, 1024, 512], [256, 256, 128],
                               {"preshift_bits": 0, "shard_bits": 6})
    store.write(np.ones((1, 1, 1, 1), "uint8")).result()
    return path


@pytest.mark.parametrize("options", [pytest.param("files=raw", marks=pytest.mark.long), "view=precomputed",
                                     "view=native"])
def test_memory_stays_within_the_cap_however_many_read(options, large_chunks, large_gzip_chunks, mount):
    """Each reader has a chunk of its own decoded."""
    source = large_gzip_chunks if options == "view=native" else large_chunks
    mounted = mount(source, f"{options},memory={CAP >> 20}M")
    chunks = [path for path in mounted.path.rglob("*-*_*-*_*-*") if path.is_file()]
    if options.startswith("files"):
        chunks = [mounted.path / "files" / "volume.raw"]

    def read(seed):
        rng = np.random.default_rng(seed)
        for _ in range(2):
            with open(chunks[rng.integers(len(chunks))], "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                offset = int(rng.integers(os.fstat(file.fileno()).st_size // 4096)) * 4096
                assert len(os.pread(file.fileno(), 4096, offset)) == 4096

    with concurrent.futures.ThreadPoolExecutor(48) as pool:
        list(pool.map(read, range(48)))
    status = pathlib.Path(f"/proc/{daemon_of(mounted)}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    print(f"{options}: VmHWM {peak / MEBI:.1f} MiB")
    # The program itself, its libraries and threads, and the cap.
    assert peak <= CAP + 48 * MEBI


def test_a_reader_that_is_killed_ends(mount, work):
    """A read of a file that takes long ends with its process."""
    import zarr

    array = zarr.create_array(work / "source", shape=(64, 2048, 2048), chunks=(64, 64, 64), dtype="uint64",
                              compressors=zarr.codecs.ZstdCodec(level=1))
    array[:, :256] = 1
    path = mount(work / "source", "ro,files=raw,memory=64M").path / "files" / "volume.raw"
    program = f"open({os.fspath(path)!r}, 'rb').read()"
    reader = subprocess.Popen([sys.executable, "-c", program])
    time.sleep(0.5)
    assert reader.poll() is None
    reader.send_signal(signal.SIGKILL)
    assert reader.wait(60) == -signal.SIGKILL
