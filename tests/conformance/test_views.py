"""Any source in any view: programs that know one format each read the source's voxels."""

import itertools
import json
import os
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from free_port import free_port
from judging import SEED, put_file, tree
from mounting import wait_until
from tiers import in_turn

VIEWS = ["native", "raw", "precomputed", "zarr3", "zarr2", "n5"]
FACTOR = np.array([1, 2, 2])  # z y x


class Source:
    """A dataset on disk, and the voxels of its levels: axes (c,) z y x, finest first."""

    format = None
    single = False      # one array, no levels
    resolution = None   # of the first level in nm: z y x
    offset = None       # of the first level in voxels: z y x
    fill = 0

    def __init__(self, path, seed):
        self.path = path
        self.rng = np.random.default_rng([SEED, seed])
        self.levels = []
        self.paths = []
        self.make()

    def voxels(self, dtype, shape):
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return self.rng.normal(size=shape).astype(dtype)
        if dtype.kind == "b":
            return self.rng.integers(0, 2, size=shape).astype(dtype)
        info = np.iinfo(dtype)
        return self.rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)


class Precomputed(Source):
    format = "precomputed"
    resolution, offset = (30, 8, 8), (3, -6, 10)
    dtype, channels, sharded, encoding = "uint16", 1, True, "raw"
    shapes, chunk = [(21, 29, 37), (21, 15, 19)], (8, 16, 16)

    def make(self):
        import tensorstore as ts

        for level, shape in enumerate(self.shapes):
            factor = FACTOR ** level
            offset = [int(o // f) for o, f in zip(self.offset, factor)]
            resolution = [int(r * f) for r, f in zip(self.resolution, factor)]
            scale = {"size": [*shape[::-1]], "voxel_offset": offset[::-1],
                     "resolution": resolution[::-1], "encoding": self.encoding,
                     "chunk_size": [*self.chunk[::-1]], "key": f"scale {level}"}
            if self.encoding == "compressed_segmentation":
                scale["compressed_segmentation_block_size"] = [8, 8, 8]
            if self.sharded:
                scale["sharding"] = {
                    "@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1,
                    "hash": "murmurhash3_x86_128", "minishard_bits": 1, "shard_bits": 1,
                    "minishard_index_encoding": "gzip",
                    "data_encoding": self.rng.choice(["gzip", "raw"])}
            store = ts.open({
                "driver": "neuroglancer_precomputed", "kvstore": f"file://{self.path}/",
                "multiscale_metadata": {"type": "image", "data_type": self.dtype,
                                        "num_channels": self.channels},
                "scale_metadata": scale}, create=True).result()
            voxels = self.voxels(self.dtype, (self.channels, *shape))
            voxels[:, 8:16, :16, :16] = 0
            for z, y, x in itertools.product(*(range(0, s, c) for s, c in zip(shape, self.chunk))):
                if (z, y, x) == (8, 0, 0):
                    continue  # absent
                part = voxels[:, z:z + 8, y:y + 16, x:x + 16]
                at = [slice(o + b, o + b + n) for o, b, n in
                      zip(offset[::-1], (x, y, z), part.shape[:0:-1])]
                store[(*at, slice(None))].write(part.transpose(3, 2, 1, 0)).result()
            if self.encoding == "jpeg":
                voxels = store.read().result().transpose()
            self.levels.append(voxels if self.channels > 1 else voxels[0])
            self.paths.append(f"scale {level}")


class Bytes(Precomputed):
    dtype, sharded = "uint8", True


class CloudVolumeFiles(Precomputed):
    """Files "<chunk>.gz", as CloudVolume writes them to a local disk."""

    dtype = "uint8"

    def make(self):
        from cloudvolume import CloudVolume

        for level, shape in enumerate(self.shapes):
            factor = FACTOR ** level
            self.levels.append(self.voxels(self.dtype, shape))
            self.paths.append("_".join(str(int(r)) for r in (np.array(self.resolution) * factor)[::-1]))
        info = CloudVolume.create_new_info(
            1, "image", self.dtype, "raw", [int(r) for r in self.resolution[::-1]],
            [int(o) for o in self.offset[::-1]], [*self.shapes[0][::-1]],
            chunk_size=[*self.chunk[::-1]])
        volume = CloudVolume(f"file://{self.path}", info=info, progress=False)
        volume.add_scale([int(f) for f in FACTOR[::-1]])
        volume.commit_info()
        for level, voxels in enumerate(self.levels):
            CloudVolume(f"file://{self.path}", mip=level, progress=False,
                        compress="gzip")[:] = voxels.transpose()[..., None]
        assert list(self.path.rglob("*.gz")) and not list(self.path.rglob("*-*_*-*_*-[0-9]"))


class Colours(Precomputed):
    dtype, channels, sharded = "uint8", 3, False


class Segmentation(Precomputed):
    dtype, encoding = "uint64", "compressed_segmentation"

    def voxels(self, dtype, shape):
        return self.rng.integers(2 ** 40, 2 ** 40 + 9, size=shape, dtype=dtype)


class Jpeg(Precomputed):
    dtype, channels, encoding = "uint8", 3, "jpeg"


class Png(Precomputed):
    encoding = "png"


class EvenLabels(Precomputed):
    dtype, shapes = "uint64", [(16, 32, 48), (16, 16, 32)]


class Zarr(Source):
    """OME-Zarr, or one array."""

    format = "zarr3"

    shapes, chunk, dtype, order, shards = [(21, 29, 37), (21, 15, 19)], (8, 16, 16), "uint16", "C", None
    resolution, offset = (30, 8, 8), (3, -6, 10)
    compressor, version, endian = None, 3, "little"

    def codecs(self):
        import zarr.codecs as codecs

        return {"gzip": codecs.GzipCodec(level=1), "zstd": codecs.ZstdCodec(level=1),
                "blosc": codecs.BloscCodec(cname="lz4", clevel=1)}.get(self.compressor)

    def array(self, path, shape, separator="/"):
        import zarr
        import zarr.codecs as codecs

        options = {}
        if self.version == 3:
            options = {"compressors": self.codecs(), "shards": self.shards,
                       "dimension_names": self.names(), "serializer": codecs.BytesCodec(
                           endian=self.endian if np.dtype(self.dtype).itemsize > 1 else None)}
            if self.order == "F":
                options["filters"] = [codecs.TransposeCodec(order=tuple(reversed(range(len(shape)))))]
        else:
            import numcodecs

            options = {"order": self.order, "chunk_key_encoding": {"name": "v2", "separator": separator},
                       "compressors": {"gzip": numcodecs.GZip(1), "zlib": numcodecs.Zlib(1),
                                       "blosc": numcodecs.Blosc("zstd", 1)}.get(self.compressor)}
        dtype = self.dtype if self.version == 3 or self.endian == "little" else \
            np.dtype(self.dtype).newbyteorder(">")
        array = zarr.create_array(path, shape=shape, chunks=self.chunk, dtype=dtype,
                                  fill_value=self.fill, zarr_format=self.version, overwrite=True,
                                  config={"write_empty_chunks": True}, **options)
        voxels = self.voxels(self.dtype, shape)
        voxels[(..., slice(8, 16), slice(0, 16), slice(0, 16))] = self.fill
        for at in itertools.product(*(range(0, s, c) for s, c in zip(shape, self.chunk))):
            if at[-3:] == (8, 0, 0) and not self.shards:
                continue  # absent
            part = tuple(slice(b, b + c) for b, c in zip(at, self.chunk))
            array[part] = voxels[part]
        self.levels.append(voxels)

    def names(self):
        return ["z", "y", "x"]

    def make(self):
        if self.single:
            self.array(self.path, self.shapes[0], ".")
            self.paths = [""]
            return
        for level, shape in enumerate(self.shapes):
            self.array(self.path / f"{level}", shape)
            self.paths.append(f"{level}")
        import zarr

        first = np.array(self.resolution)
        datasets = []
        for level in range(len(self.shapes)):
            factor = FACTOR ** level
            resolution = first * factor
            corner = np.array([o // f for o, f in zip(self.offset, factor)]) * resolution
            scale = [r / 1000 for r in resolution.tolist()]
            translation = ((corner + (resolution - first) / 2) / 1000).tolist()
            datasets.append({"path": f"{level}", "coordinateTransformations": [
                {"type": "scale", "scale": scale},
                {"type": "translation", "translation": translation}]})
        multiscale = {"axes": [{"name": name, "type": "space", "unit": "micrometer"}
                               for name in "zyx"], "datasets": datasets}
        attributes = {"title": "kept"}
        if self.version == 3:
            attributes["ome"] = {"version": "0.5", "multiscales": [multiscale]}
        else:
            attributes["multiscales"] = [{"version": "0.4", **multiscale}]
        zarr.create_group(self.path, zarr_format=self.version, attributes=attributes)


class ShardedZarr(Zarr):
    shards, compressor = (16, 32, 32), "zstd"


class BigEndianZarr(Zarr):
    endian, compressor, dtype, single = "big", "gzip", "int32", True


class FilledZarr(Zarr):
    """A fill value, on which N5 and precomputed readers would see zeros."""

    fill, dtype, order, single = 7, "uint8", "F", True


class ChannelsZarr(Zarr):
    shapes, chunk, dtype, compressor, single = [(2, 21, 29, 37)], (2, 8, 16, 16), "float32", "blosc", True

    def names(self):
        return ["c", "z", "y", "x"]


class SplitChannels(Zarr):
    """Each channel in a file of its own: a chunk of a precomputed volume is three of them."""

    shapes, chunk, compressor, single = [(3, 21, 29, 37)], (1, 8, 16, 16), "gzip", True

    def names(self):
        return ["c", "z", "y", "x"]


class ShardedChannels(SplitChannels):
    """The last chunk of channels reaches beyond the array, and is in another shard."""

    chunk, shards, compressor = (2, 8, 16, 16), (2, 16, 32, 32), "zstd"


class FilledChannels(SplitChannels):
    """All channels in one shard, and a fill value on which readers would see zeros."""

    shards, dtype, fill, endian = (3, 16, 32, 32), "uint8", 7, "little"


class Zarr2(Zarr):
    format, version, compressor = "zarr2", 2, "blosc"


class SingleZarr2(Zarr):
    format = "zarr2"
    version, compressor, order, single, endian = 2, "zlib", "F", True, "big"


class N5(Source):
    format = "n5"
    resolution, offset = (30, 8, 8), (0, 0, 0)
    shapes, chunk, dtype = [(21, 29, 37), (21, 15, 19)], (8, 16, 16), "uint16"
    compression = {"type": "gzip", "level": 1}

    def array(self, path, shape, members):
        import tensorstore as ts

        store = ts.open({"driver": "n5", "kvstore": f"file://{path}/", "create": True,
                         "metadata": {"dataType": self.dtype, "dimensions": [*shape[::-1]],
                                      "blockSize": [*self.chunk[::-1]],
                                      "axes": ["x", "y", "z", "c"][:len(shape)],
                                      "compression": self.compression, **members}}).result()
        voxels = self.voxels(self.dtype, shape)
        voxels[..., 8:16, :16, :16] = 0
        store.write(voxels.transpose()).result()
        self.levels.append(voxels)

    def make(self):
        if self.single:
            others = len(self.shapes[0]) - 3
            self.array(self.path, self.shapes[0], {
                "units": ["nm"] * 3 + [""] * others,
                "resolution": [*self.resolution[::-1]] + [1] * others})
            document = self.path / "attributes.json"
            document.write_text(json.dumps({"n5": "2.0.0", **json.loads(document.read_text())}))
            self.paths = [""]
            return
        put_file(self.path / "attributes.json", '{"n5": "2.0.0", "title": "kept"}')
        for level, shape in enumerate(self.shapes):
            factor = [int(f) for f in FACTOR ** level]
            self.array(self.path / f"s{level}", shape, {})
            document = self.path / f"s{level}" / "attributes.json"
            members = json.loads(document.read_text())
            members.update(downsamplingFactors=factor[::-1], pixelResolution={
                "unit": "nm", "dimensions": [*self.resolution[::-1]]})
            document.write_text(json.dumps(members))
            self.paths.append(f"s{level}")


class RawBytesN5(N5):
    dtype, compression = "uint8", {"type": "raw"}


class SingleN5(N5):
    dtype, single, compression = "float32", True, {"type": "blosc", "cname": "lz4", "clevel": 1, "shuffle": 1}


class SplitChannelsN5(N5):
    shapes, chunk, dtype, single = [(3, 21, 29, 37)], (2, 8, 16, 16), "uint16", True


JOINED = [SplitChannels, ShardedChannels, FilledChannels, SplitChannelsN5]
SOURCES = [Precomputed, Bytes, CloudVolumeFiles, Colours, Segmentation, Jpeg, Png,
           EvenLabels, Zarr, ShardedZarr, BigEndianZarr, FilledZarr,
           ChannelsZarr, Zarr2, SingleZarr2, N5, RawBytesN5, SingleN5, *JOINED]


@pytest.fixture(scope="module")
def sources(module_work):
    made = {}

    def make(kind):
        if kind not in made:
            made[kind] = kind(module_work / kind.__name__, SOURCES.index(kind))
        return made[kind]
    return make


def paths_in(source, view):
    """Where the levels stand in a view."""
    if view in ("native", "raw", source.format):
        return source.paths
    if view == "precomputed":
        return ["_".join(f"{r}" for r in (np.array(resolution_of(source)) * FACTOR ** level)[::-1])
                for level in range(len(source.levels))]
    if source.single or (view.startswith("zarr") and source.format.startswith("zarr")):
        return source.paths
    return [f"{'s' if view == 'n5' else ''}{level}" for level in range(len(source.levels))]


def resolution_of(source):
    """z y x; a single array without units has 1 nm."""
    return (1, 1, 1) if source.single and source.format != "n5" else source.resolution


def same(found, wanted):
    np.testing.assert_array_equal(found, wanted)


def read_level(root, format, path, level):
    """What TensorStore reads, slowest axis first."""
    import tensorstore as ts

    if format == "precomputed":
        spec = {"driver": "neuroglancer_precomputed", "kvstore": f"file://{root}/", "scale_index": level}
    else:
        driver = {"zarr3": "zarr3", "zarr2": "zarr", "n5": "n5"}[format]
        spec = {"driver": driver, "kvstore": f"file://{root}/{path}"}
    voxels = ts.open(spec, read=True).result().read().result()
    return voxels.transpose() if format in ("precomputed", "n5") else voxels


def read_precomputed(root, source):
    import tensorstore as ts
    from cloudvolume import CloudVolume

    for level, wanted in enumerate(source.levels):
        wanted = wanted if wanted.ndim == 4 else wanted[None]
        store = ts.open({"driver": "neuroglancer_precomputed", "scale_index": level,
                         "kvstore": f"file://{root}/"}, read=True).result()
        same(store.read().result().transpose(), wanted)
        offset = (0, 0, 0) if source.single else source.offset
        offset = [o // f for o, f in zip(offset, FACTOR ** level)]
        assert list(store.domain.origin[:3]) == [int(o) for o in offset[::-1]]
        resolution = [float(r) for r in (np.array(resolution_of(source)) * FACTOR ** level)[::-1]]
        assert [unit.multiplier for unit in store.dimension_units[:3]] == resolution
        # CloudVolume takes the channels of images in another order than TensorStore.
        if json.loads((root / "info").read_text())["scales"][level]["encoding"] not in ("jpeg", "png"):
            volume = CloudVolume(f"file://{root}", mip=level, progress=False, cache=False,
                                 fill_missing=True)
            same(np.asarray(volume[:]).transpose(), wanted)


def read_zarr3(root, source, paths):
    import tensorstore as ts
    import zarr

    for path, wanted in zip(paths, source.levels):
        same(ts.open({"driver": "zarr3", "kvstore": f"file://{root}/{path}"}).result()
             .read().result(), wanted)
        array = zarr.open_array(root / path, mode="r", zarr_format=3)
        same(array[...], wanted)
        assert array.shards is None
    if source.single:
        return
    ome = zarr.open_group(root, mode="r", zarr_format=3).attrs["ome"]
    assert ome["version"] == "0.5"
    check_ome(ome["multiscales"][0], source, paths)
    names = [axis["name"] for axis in ome["multiscales"][0]["axes"]]
    assert all(list(zarr.open_array(root / path, mode="r").metadata.dimension_names) == names
               for path in paths)


def check_ome(multiscale, source, paths):
    """Rule 5: coordinates name the centres of voxels."""
    assert [dataset["path"] for dataset in multiscale["datasets"]] == paths
    names = [axis["name"] for axis in multiscale["axes"]]
    assert names[-3:] == ["z", "y", "x"] and len(names) == source.levels[0].ndim
    per_nm = {"nanometer": 1, "micrometer": 1000}[multiscale["axes"][-1]["unit"]]
    first = np.array(source.resolution)
    for level, dataset in enumerate(multiscale["datasets"]):
        factor = FACTOR ** level
        scale, translation = (one[one["type"]] for one in dataset["coordinateTransformations"])
        corner = np.array([o // f for o, f in zip(source.offset, factor)]) * first * factor
        np.testing.assert_allclose(np.array(scale[-3:]) * per_nm, first * factor)
        np.testing.assert_allclose(np.array(translation[-3:]) * per_nm,
                                   corner + (first * factor - first) / 2)
        assert [*scale[:-3], *translation[:-3]] == [1, 0][:2 * (len(names) - 3)]


def read_by_zarr_2(frozen_zarr, root, source, paths, format, work):
    jobs = []
    for number, (path, wanted) in enumerate(zip(paths, source.levels)):
        np.save(work / f"{number}.npy", wanted)
        jobs.append([str(root), path, str(work / f"{number}.npy")])
    frozen_zarr.call("check", format, jobs)


def read_zarr2(root, source, paths):
    import tensorstore as ts
    import zarr

    for path, wanted in zip(paths, source.levels):
        same(ts.open({"driver": "zarr", "kvstore": f"file://{root}/{path}"}).result()
             .read().result(), wanted)
        same(zarr.open_array(root / path, mode="r", zarr_format=2)[...], wanted)
    if not source.single:
        multiscale = json.loads((root / ".zattrs").read_text())["multiscales"][0]
        assert multiscale["version"] == "0.4"
        check_ome(multiscale, source, paths)
        assert all(json.loads((root / path / ".zarray").read_text())["dimension_separator"] == "/"
                   for path in paths)


def read_n5(root, source, paths):
    import tensorstore as ts
    import z5py

    container = z5py.File(str(root), use_zarr_format=False, mode="r")
    for path, wanted in zip(paths, source.levels):
        wanted = wanted.view("uint8") if wanted.dtype == bool else wanted
        same(ts.open({"driver": "n5", "kvstore": f"file://{root}/{path}"}).result()
             .read().result().transpose(), wanted)
        if path:
            same(container[path][...], wanted)
    assert "n5" in json.loads((root / "attributes.json").read_text())
    if source.single:
        return
    group = json.loads((root / "attributes.json").read_text())
    first = [float(r) for r in source.resolution[::-1]]
    for level, path in enumerate(paths):
        factor = [float(f) for f in (FACTOR ** level)[::-1]]
        own = json.loads((root / path / "attributes.json").read_text())
        assert own["downsamplingFactors"][:3] == factor
        assert own["pixelResolution"]["dimensions"][:3] == first
        if source.format != "n5":
            assert group["downsamplingFactors"][level][:3] == factor
            assert group["scales"][level][:3] == factor and group["multiScale"] is True
            assert own["resolution"][:3] == [f * r for f, r in zip(factor, first)]
            assert own["axes"][:3] == ["x", "y", "z"] and own["units"][:3] == ["nm"] * 3
            offset = [int(o // f) for o, f in zip(source.offset, FACTOR ** level)][::-1]
            assert own["offset"][:3] == [o * f * r for o, f, r in zip(offset, factor, first)]


def read(source, view, root, work, frozen_zarr):
    shown = source.format if view in ("native", "raw") else view
    paths = paths_in(source, view)
    if shown == "precomputed":
        read_precomputed(root, source)
    elif shown == "zarr3":
        read_zarr3(root, source, paths)
    elif shown == "zarr2":
        read_zarr2(root, source, paths)
        if source.single or view != "native":
            read_by_zarr_2(frozen_zarr, root, source, paths, "zarr2", work)
    else:
        read_n5(root, source, paths)
        if not (source.single and view == "n5"):
            read_by_zarr_2(frozen_zarr, root, source, paths, "n5", work)


# What a view has in the format of the source is what the native view has: other tests read that.
# Views whose chunks are those of the source are the same whatever the channels.
PAIRS = [(kind, view) for kind in SOURCES for view in VIEWS[1:]
         if (view == "precomputed" if kind in JOINED else
             view != kind.format or kind in (Zarr, Zarr2, N5))]


@pytest.mark.parametrize("kind,view", in_turn(PAIRS), ids=lambda one: getattr(one, "__name__", one))
def test_every_reader_sees_the_voxels_of_the_source(kind, view, sources, mount, work,
                                                    frozen_zarr):
    source = sources(kind)
    read(source, view, mount(source.path, f"ro,view={view}").path, work, frozen_zarr)


@pytest.fixture(scope="module")
def url(sources, module_work):
    """What a plain web server, which cannot list, says of the sources."""
    for kind in (Precomputed, Colours, ShardedZarr, Zarr2, N5, ShardedChannels):
        sources(kind)
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory",
         str(module_work)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers():
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5).close()
        except OSError:
            return False
        return True

    assert wait_until(answers, 20)
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.wait()


@pytest.mark.parametrize("view", ["all", "zarr2", "n5"])
@pytest.mark.parametrize("kind", [Precomputed, Colours, ShardedZarr, Zarr2, N5, ShardedChannels],
                         ids=lambda kind: kind.__name__)
def test_sources_behind_urls_have_the_same_views(kind, view, sources, url, mount, work,
                                                 frozen_zarr):
    root = mount(f"{url}/{kind.__name__}", f"view={view}").path
    for name in VIEWS[2:] if view == "all" else [view]:
        read(sources(kind), name, root / name if view == "all" else root, work, frozen_zarr)


@pytest.mark.parametrize("codec", ["gzip", "zstd", "blosc"])
@pytest.mark.parametrize("view", ["zarr3", "zarr2", "n5"])
def test_chunks_that_are_encoded_again_are_compressed_as_asked(codec, view, sources, mount, work,
                                                              frozen_zarr):
    source = sources(Precomputed)
    whole = mount(source.path, f"view={view},view_codec={codec}")
    documents = [data.decode() for name, data in tree(whole.path).items()
                 if data and name.endswith((".json", ".zarray"))]
    assert sum(f'"{codec}"' in document for document in documents) == len(source.levels)
    if not (view == "n5" and codec == "zstd"):  # which zarr-python 2 and z5py do not know
        return read(source, view, whole.path, work, frozen_zarr)
    import tensorstore as ts

    for path, wanted in zip(paths_in(source, view), source.levels):
        same(ts.open({"driver": "n5", "kvstore": f"file://{whole.path}/{path}"}).result()
             .read().result().transpose(), wanted)


@pytest.mark.parametrize("kind", [Precomputed, FilledZarr, Zarr2, RawBytesN5, SplitChannels],
                         ids=lambda kind: kind.__name__)
def test_all_views_stand_side_by_side(kind, sources, mount, work, frozen_zarr):
    source = sources(kind)
    whole = mount(source.path, "ro,view=all")
    assert sorted(os.listdir(whole.path)) == sorted(VIEWS)
    assert whole.status()["refused_views"] == {}
    for view in VIEWS:
        read(source, view, whole.path / view, work, frozen_zarr)
        alone = mount(source.path, f"ro,view={view}")
        assert tree(whole.path / view) == tree(alone.path)


def test_views_are_read_where_the_mount_is(sources, mount):
    root = mount(sources(Precomputed).path, "ro,view=zarr2").path
    with pytest.raises(OSError) as caught:
        (root / "0" / "0" / "0" / "0").write_bytes(b"no")
    assert caught.value.errno == 30


def chunks_in(root):
    """What a view has beside documents."""
    return {name: data for name, data in tree(root).items() if data is not None and
            os.path.basename(name) not in ("info", "zarr.json", ".zarray", ".zattrs", ".zgroup",
                                           "attributes.json")}


def test_blocks_of_the_other_format_are_those_of_the_source(sources, mount):
    source = sources(ShardedZarr)
    native = chunks_in(mount(source.path, "ro").path)
    zarr2 = chunks_in(mount(source.path, "view=zarr2").path)
    assert {name.replace("/c/", "/"): data for name, data in native.items()} == zarr2
    source = sources(RawBytesN5)
    n5 = chunks_in(mount(source.path, "ro").path)
    volume = chunks_in(mount(source.path, "view=precomputed").path)
    whole = {tuple(map(int, name.split("/")[1:])): data for name, data in n5.items()
             if name.startswith("s0/")}
    for (x, y, z), data in whole.items():
        name = f"8_8_30/{16 * x}-{16 * x + 16}_{16 * y}-{16 * y + 16}_{8 * z}-{8 * z + 8}"
        if name in volume:
            assert volume[name] == data[16:]
    assert sum(name.startswith("8_8_30/") for name in volume) == len(whole)


def test_absent_chunks_are_absent_unless_they_would_be_read_as_zeros(sources, mount):
    filled = sources(FilledZarr)
    cells = {(z, y, x) for z in range(3) for y in range(2) for x in range(3)}
    assert set(chunks_in(mount(filled.path, "view=n5").path)) == \
        {f"{x}/{y}/{z}" for z, y, x in cells}
    # A fill value of Zarr v2 would be missing values, and without one absent chunks are undefined.
    assert set(chunks_in(mount(filled.path, "view=zarr2").path)) == {f"{z}/{y}/{x}" for z, y, x in cells}
    volume = sources(Precomputed)
    first = {name for name in chunks_in(mount(volume.path, "view=n5").path) if name[:3] == "s0/"}
    assert first == {f"s0/{x}/{y}/{z}" for z, y, x in cells - {(1, 0, 0)}}


@pytest.mark.parametrize("kind", [Precomputed, Zarr2], ids=lambda kind: kind.__name__)
def test_a_change_of_the_source_is_seen_in_its_views(kind, mount, module_work, work):
    import tensorstore as ts

    source = kind(work / "source", 99)
    mounted = mount(source.path, "view=n5").path
    shown = ts.open({"driver": "n5", "kvstore": f"file://{mounted}/s0",
                     "context": {"cache_pool": {"total_bytes_limit": 0}}}).result()
    same(shown.read().result().transpose(), source.levels[0])
    if kind is Precomputed:
        store = ts.open({"driver": "neuroglancer_precomputed",
                         "kvstore": f"file://{source.path}/"}).result()[..., 0].transpose()
    else:
        store = ts.open({"driver": "zarr", "kvstore": f"file://{source.path}/0"}).result()
    wanted = source.levels[0] ^ 1
    store.write(wanted).result()
    assert wait_until(lambda: np.array_equal(shown.read().result().transpose(), wanted), 20)


def test_damage_is_that_of_one_chunk(mount, work):
    source = ShardedZarr(work / "source", 7)
    native = mount(source.path, "ro").path
    path = next(path for path in (native / "0" / "c").rglob("*") if path.is_file())
    chunk = path.read_bytes()
    for shard in (source.path / "0").rglob("*"):
        if shard.is_file() and chunk in shard.read_bytes():
            shard.write_bytes(shard.read_bytes().replace(chunk, b"damage" + chunk[6:]))
    root = mount(source.path, "view=n5").path / "s0"
    z, y, x = path.relative_to(native / "0" / "c").parts
    with pytest.raises(OSError) as caught:
        (root / x / y / z).read_bytes()
    assert caught.value.errno == 5
    others = [other for other in root.rglob("*")
              if other.is_file() and other not in (root / x / y / z, root / "attributes.json")]
    assert len(others) > 10 and all(other.read_bytes() for other in others)
