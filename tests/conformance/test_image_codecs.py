"""The chunk encodings of precomputed volumes, judged by the libraries that write and read them.

What TensorStore, CloudVolume, imagecodecs and the compresso, crackle and fpzip packages encode, unshard decodes to
the same voxels; what unshard encodes, they read back. Where TensorStore writes an encoding, unshard
writes the same bytes, up to how zlib compresses the rows of a PNG."""

import json
import os
import pathlib
import subprocess
import zlib

import compresso
import crackle
import fpzip
import imagecodecs
import numpy as np
import pytest
import tensorstore
from cloudvolume import chunks as cloudvolume

from judging import SEED

TYPES = {"jpeg": ["uint8"], "png": ["uint8", "uint16"], "jxl": ["uint8"],
         "compressed_segmentation": ["uint32", "uint64"],
         "crackle": ["uint8", "uint16", "uint32", "uint64"],
         "compresso": ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]}
RAW = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", "float32"]


class Codec:
    """unshard's codec of one scale. Voxels are arrays [x, y, z, channel]."""

    def __init__(self, program, encoding, voxels, **parameters):
        self.program = program
        self.dtype = voxels.dtype
        self.shape = voxels.shape
        self.json = {"encoding": encoding, "data_type": voxels.dtype.name,
                     "num_channels": voxels.shape[3], **parameters}

    def run(self, direction, chunk):
        shape = ",".join(map(str, reversed(self.shape)))
        return subprocess.run([self.program, direction, "precomputed", json.dumps(self.json), shape],
                              input=chunk, capture_output=True, timeout=60)

    def encode(self, voxels):
        done = self.run("encode", voxels.tobytes("F"))
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def decode(self, chunk):
        done = self.run("decode", bytes(chunk))
        assert done.returncode == 0, done.stderr.decode()
        return np.frombuffer(done.stdout, self.dtype).reshape(self.shape, order="F")


def message(done):
    """The failure; libjxl reports what it met on stderr before."""
    return done.stderr.decode().splitlines()[-1]


class TensorStore:
    """A volume of one chunk in memory."""

    def __init__(self, encoding, voxels, **parameters):
        size = list(voxels.shape[:3])
        self.store = tensorstore.open(
            {"driver": "neuroglancer_precomputed", "kvstore": {"driver": "memory"}, "create": True,
             "multiscale_metadata": {"type": "image", "data_type": voxels.dtype.name,
                                     "num_channels": voxels.shape[3]},
             "scale_metadata": {"size": size, "chunk_size": size, "resolution": [1, 1, 1],
                                "encoding": encoding, **parameters}}).result()
        self.key = "1_1_1/" + "_".join(f"0-{extent}" for extent in size)

    def encode(self, voxels):
        self.store.write(voxels).result()
        return bytes(self.store.kvstore.read(self.key).result().value)

    def decode(self, chunk):
        self.store.kvstore.write(self.key, bytes(chunk)).result()
        return self.store.read(order="F").result()


@pytest.fixture(scope="session")
def program(unshard_binary):
    path = pathlib.Path(os.environ.get("UNSHARD_CHUNK_CODEC", unshard_binary.parent / "chunk_codec"))
    assert os.access(path, os.X_OK), f"{path} is not there: build it, or set UNSHARD_CHUNK_CODEC"
    return path


def random_shape(random, most=24):
    return tuple(int(extent) for extent in random.integers(1, most, 3))


def image(random, shape, dtype):
    """Smooth, with some noise: what lossy encodings are made for."""
    x, y, z, channel = np.indices(shape)
    most = np.iinfo(dtype).max
    values = (np.sin(x / 5) + np.cos(y / 7) + np.sin(z / 3 + channel)) / 6 + 0.5
    values += random.normal(0, 0.01, shape)
    return np.asfortranarray((np.clip(values, 0, 1) * most).astype(dtype))


def labels(random, shape, dtype):
    """Noise of all values, noise of few, cells of one label each, a single label."""
    most = np.iinfo(dtype).max
    kind = random.integers(4)
    if kind == 0:
        values = random.integers(0, most, shape, dtype=dtype, endpoint=True)
    elif kind == 1:
        values = random.integers(0, 4, shape).astype(dtype)
    elif kind == 2:
        cells = random.integers(0, most, [-(-extent // 5) for extent in shape[:3]] + [shape[3]],
                                dtype=dtype)
        values = np.kron(cells, np.ones((5, 5, 5, 1), dtype))
        values = values[:shape[0], :shape[1], :shape[2]]
    else:
        values = np.full(shape, random.integers(0, most, dtype=dtype))
    return np.asfortranarray(values)


def png_rows(image):
    """The filtered rows, and what precedes them."""
    at, header, data = 8, b"", b""
    while at < len(image):
        size, kind = int.from_bytes(image[at:at + 4], "big"), image[at + 4:at + 8]
        content = image[at + 8:at + 8 + size]
        header, data = (header, data + content) if kind == b"IDAT" else (header + kind + content, data)
        at += 12 + size
    return header, zlib.decompress(data)


@pytest.fixture
def random(request):
    return np.random.default_rng([SEED, *map(ord, request.node.name)])


@pytest.mark.parametrize("dtype", RAW)
def test_raw(program, random, dtype):
    shape = (*random_shape(random), int(random.integers(1, 4)))
    voxels = np.asfortranarray(random.integers(0, 100, shape).astype(dtype))
    codec, peer = Codec(program, "raw", voxels), TensorStore("raw", voxels)
    chunk = codec.encode(voxels)
    assert chunk == peer.encode(voxels)
    assert np.array_equal(codec.decode(chunk), voxels)
    assert np.array_equal(cloudvolume.decode(chunk, "raw", shape, dtype), voxels)
    assert codec.run("decode", chunk[:-1]).returncode == 1


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("quality", [None, 0, 50, 96, 100])
def test_jpeg(program, random, channels, quality):
    parameters = {} if quality is None else {"jpeg_quality": quality}
    voxels = image(random, (*random_shape(random), channels), "uint8")
    codec, peer = Codec(program, "jpeg", voxels, **parameters), TensorStore("jpeg", voxels, **parameters)
    chunk = codec.encode(voxels)
    assert chunk == peer.encode(voxels)
    decoded = codec.decode(chunk)
    assert np.array_equal(decoded, peer.decode(chunk))
    written = cloudvolume.encode(voxels, "jpeg", compression_params={"level": quality})
    assert np.array_equal(codec.decode(written), peer.decode(written))
    if channels == 1:  # CloudVolume 12 reads several channels in another order than it writes them
        assert np.array_equal(cloudvolume.decode(chunk, "jpeg", voxels.shape, "uint8"), decoded)
        assert np.array_equal(cloudvolume.decode(written, "jpeg", voxels.shape, "uint8"),
                              codec.decode(written))


def test_jpeg_of_a_deep_chunk(program, random):
    """65 536 rows are too many for a JPEG: planes become rows."""
    voxels = image(random, (2, 256, 256, 1), "uint8")
    codec = Codec(program, "jpeg", voxels)
    chunk = codec.encode(voxels)
    assert imagecodecs.jpeg8_decode(chunk).shape == (256, 512)
    assert np.array_equal(codec.decode(chunk), TensorStore("jpeg", voxels).decode(chunk))


@pytest.mark.parametrize("dtype", TYPES["png"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png(program, random, dtype, channels):
    for level in (None, 0, int(random.integers(1, 10))):
        parameters = {} if level is None else {"png_level": level}
        voxels = image(random, (*random_shape(random), channels), dtype)
        codec, peer = Codec(program, "png", voxels, **parameters), TensorStore("png", voxels, **parameters)
        chunk, written = codec.encode(voxels), peer.encode(voxels)
        assert np.array_equal(codec.decode(written), voxels)
        assert np.array_equal(peer.decode(chunk), voxels)
        assert png_rows(chunk) == png_rows(written), level  # its zlib is another one
        if dtype == "uint8":  # CloudVolume 12 cannot write 16 bits
            written = cloudvolume.encode(voxels, "png", compression_params={"level": level or 1})
            assert np.array_equal(codec.decode(written), voxels)
            if channels == 1:
                assert np.array_equal(cloudvolume.decode(chunk, "png", voxels.shape, dtype), voxels)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("level", [100, 80])
def test_jxl_of_cloudvolume(program, random, channels, level):
    voxels = image(random, (*random_shape(random), channels), "uint8")
    written = cloudvolume.encode(voxels, "jxl", compression_params={"level": level})
    codec = Codec(program, "jxl", voxels)
    decoded = codec.decode(written)
    if level == 100:
        assert np.array_equal(decoded, voxels)
    # Planes, as CloudVolume gave them to the encoder. Its decoder is of another version.
    planes = imagecodecs.jpegxl_decode(written).ravel().reshape(voxels.shape, order="F")
    assert np.abs(decoded.astype(int) - planes).max() <= (0 if level == 100 else 1)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("quality", [None, 0, 40, 99, 100])
def test_jxl_is_read_by_imagecodecs(program, random, channels, quality):
    parameters = {} if quality is None else {"jxl_quality": quality}
    for effort in (None, 1, int(random.integers(1, 11))):
        if effort is not None:
            parameters |= {"jxl_effort": effort, "jxl_decodingspeed": int(random.integers(5))}
        voxels = image(random, (*random_shape(random), channels), "uint8")
        codec = Codec(program, "jxl", voxels, **parameters)
        chunk = codec.encode(voxels)
        x, y, z, _ = voxels.shape
        pixels = imagecodecs.jpegxl_decode(chunk)
        assert pixels.shape == ((y * z, x) if channels == 1 else (y * z, x, 3))
        read = pixels.reshape(z, y, x, channels).transpose(2, 1, 0, 3)
        if quality == 100:
            assert np.array_equal(read, voxels)
        assert np.abs(codec.decode(chunk).astype(int) - read).max() <= (0 if quality == 100 else 1)
        if channels == 1:  # of three it does not read what it writes either
            assert np.array_equal(cloudvolume.decode(chunk, "jxl", voxels.shape, "uint8"), read)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("container", [False, True])
def test_jxl_of_one_frame(program, random, channels, container):
    voxels = image(random, (*random_shape(random), channels), "uint8")
    pixels = np.ascontiguousarray(np.moveaxis(voxels.T, 0, -1))
    pixels = pixels.reshape(-1, voxels.shape[0], channels)
    written = imagecodecs.jpegxl_encode(pixels if channels > 1 else pixels[..., 0], lossless=True,
                                        usecontainer=container)
    assert np.array_equal(Codec(program, "jxl", voxels).decode(written), voxels)


@pytest.mark.parametrize("dtype", TYPES["compressed_segmentation"])
@pytest.mark.parametrize("block", [(8, 8, 8), (4, 4, 4), (1, 1, 1), (3, 5, 2), (64, 64, 64)], ids=str)
def test_compressed_segmentation(program, random, dtype, block):
    parameters = {"compressed_segmentation_block_size": list(block)}
    for channels in (1, 1, 3):
        voxels = labels(random, (*random_shape(random), channels), dtype)
        codec = Codec(program, "compressed_segmentation", voxels, **parameters)
        peer = TensorStore("compressed_segmentation", voxels, **parameters)
        chunk = codec.encode(voxels)
        assert chunk == peer.encode(voxels)
        assert np.array_equal(codec.decode(chunk), voxels)
        assert np.array_equal(peer.decode(chunk), voxels)
        if channels == 1:
            written = cloudvolume.encode(voxels, "compressed_segmentation", block_size=block)
            assert np.array_equal(codec.decode(written), voxels)
            assert np.array_equal(cloudvolume.decode(chunk, "compressed_segmentation", voxels.shape,
                                                     dtype, block), voxels)


def test_compressed_segmentation_of_many_labels(program, random):
    """A block of more than 65536 labels has indexes of 32 bits, which TensorStore cannot read."""
    voxels = np.asfortranarray(random.permutation(41 ** 3).reshape(41, 41, 41, 1).astype("uint64"))
    parameters = {"compressed_segmentation_block_size": [41, 41, 41]}
    codec = Codec(program, "compressed_segmentation", voxels, **parameters)
    chunk = codec.encode(voxels)
    assert chunk == TensorStore("compressed_segmentation", voxels, **parameters).encode(voxels)
    assert np.array_equal(codec.decode(chunk), voxels)


@pytest.mark.parametrize("dtype", TYPES["compresso"])
@pytest.mark.parametrize("connectivity", [4, 6])
def test_compresso(program, random, dtype, connectivity):
    unsigned = dtype if dtype.startswith("u") else "u" + dtype  # what the package takes
    for steps in ((4, 4, 1), (8, 8, 1), (2, 2, 2), (1, 1, 1), (3, 5, 1)):
        voxels = labels(random, (*random_shape(random), 1), unsigned)
        with_index = bool(random.integers(2))  # version 1, else 0
        written = compresso.compress(voxels[..., 0], steps=steps, connectivity=connectivity,
                                     random_access_z_index=with_index)
        voxels = voxels.view(dtype)
        codec = Codec(program, "compresso", voxels)
        assert np.array_equal(codec.decode(written), voxels), (steps, with_index)
        damaged = codec.run("decode", written[:-1])
        assert damaged.returncode == 1
        assert message(damaged).startswith("data loss: compresso chunk: ")


@pytest.mark.parametrize("dtype", TYPES["crackle"])
def test_crackle(program, random, dtype):
    for markov, pins in ((0, False), (0, True), (1, False), (3, True), (5, False)):
        for draw in (labels, lambda random, shape, dtype: random.integers(0, 3, shape).astype(dtype)):
            voxels = np.asfortranarray(draw(random, (*random_shape(random), 1), dtype))
            written = crackle.compress(voxels[..., 0], allow_pins=pins, markov_model_order=markov)
            codec = Codec(program, "crackle", voxels)
            assert np.array_equal(codec.decode(written), voxels), (markov, pins)
            damaged = codec.run("decode", written[:-1])
            assert damaged.returncode == 1
            assert message(damaged).startswith("data loss: crackle chunk: ")


@pytest.mark.parametrize("encoding", ["compresso", "crackle"])
def test_labels_of_cloudvolume(program, random, encoding):
    voxels = np.asfortranarray(labels(random, (*random_shape(random, 64), 1), "uint64"))
    written = cloudvolume.encode(voxels, encoding)
    assert np.array_equal(Codec(program, encoding, voxels).decode(written), voxels)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_zfpc_of_cloudvolume(program, random, dtype):
    for channels in (1, 1, 3):
        shape = (*random_shape(random), channels)
        voxels = np.asfortranarray((random.random(shape) * 200).astype(dtype))
        written = cloudvolume.encode(voxels, "zfpc")
        assert np.array_equal(Codec(program, "zfpc", voxels).decode(written), voxels)


def floats(random, shape, dtype):
    """Smooth, noise, integers, zeros, and values of all kinds."""
    values = np.cumsum(random.normal(0, 1, shape), axis=0) * 10.0 ** random.integers(-30, 30)
    kind = random.integers(5)
    if kind == 1:
        values = random.normal(0, 1, shape)
    elif kind == 2:
        values = random.integers(0, 3, shape)
    elif kind == 3:
        values = np.zeros(shape)
    elif kind == 4:
        special = random.choice([np.inf, -np.inf, np.nan, -0.0, 1e-42, -1e38], shape)
        values = np.where(random.random(shape) < 0.1, special, values)
    return np.asfortranarray(values.astype(dtype))


def same_bits(found, expected):
    return found.dtype == expected.dtype and found.tobytes("F") == expected.tobytes("F")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("precision", [0, *range(2, 33)])
def test_fpzip_of_cloudvolume(program, random, dtype, precision):
    precision *= np.dtype(dtype).itemsize // 4
    for _ in range(3):
        voxels = floats(random, (*random_shape(random), int(random.integers(1, 4))), dtype)
        written = cloudvolume.encode(voxels, "fpzip", compression_params={"level": precision})
        decoded = Codec(program, "fpzip", voxels).decode(written)
        assert same_bits(decoded, fpzip.decompress(written, order="F"))
        assert precision or same_bits(decoded, voxels)
    damaged = Codec(program, "fpzip", voxels).run("decode", written[:-1])
    assert damaged.returncode == 1
    assert message(damaged).startswith("data loss: fpzip chunk: ")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("channels", [1, 3])
def test_kempressed_of_cloudvolume(program, random, dtype, channels):
    for _ in range(5):
        voxels = np.asfortranarray(random.random((*random_shape(random), channels)).astype(dtype))
        written = cloudvolume.encode(voxels, "kempressed")
        expected = cloudvolume.decode(written, "kempressed")
        assert same_bits(Codec(program, "kempressed", voxels).decode(written), expected)


@pytest.mark.parametrize("dtype", RAW)
def test_npz_of_cloudvolume(program, random, dtype):
    for channels in (1, 1, 3):
        shape = (*random_shape(random), channels)
        voxels = np.asfortranarray((random.random(shape) * 100).astype(dtype))
        codec = Codec(program, "npz", voxels)
        for order in (voxels, np.ascontiguousarray(voxels), voxels.astype(voxels.dtype.newbyteorder())):
            assert same_bits(codec.decode(cloudvolume.encode(order, "npz")), voxels)
        assert same_bits(cloudvolume.decode(codec.encode(voxels), "npz"), voxels)


@pytest.mark.parametrize("encoding", sorted(TYPES))
def test_damage_is_reported_or_read_as_something(program, random, encoding):
    """Never a crash, never another size."""
    dtype = TYPES[encoding][0]
    parameters = {}
    voxels = image(random, (8, 9, 5, 1), dtype)
    if encoding == "compressed_segmentation":
        parameters = {"compressed_segmentation_block_size": [4, 4, 4]}
        chunk = cloudvolume.encode(voxels, encoding, block_size=(4, 4, 4))
    else:
        chunk = cloudvolume.encode(voxels, encoding)
    codec = Codec(program, encoding, voxels, **parameters)
    for _ in range(12):
        damaged = bytearray(chunk)
        for _ in range(int(random.integers(1, 4))):
            damaged[int(random.integers(len(damaged)))] ^= int(random.integers(1, 256))
        done = codec.run("decode", bytes(damaged))
        assert done.returncode in (0, 1), done.stderr
        if done.returncode == 0:
            assert len(done.stdout) == voxels.nbytes
        else:
            assert message(done).startswith("data loss: "), done.stderr
