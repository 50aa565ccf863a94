"""The volume that unshard-sample writes is what it says: peers read it, it is no noise, the labels
and the image belong together, and the mounted view of it equals it."""

import json
import math
import pathlib
import re
import resource
import signal

import numpy as np
import pytest
import tensorstore as ts
import zarr

MEGABYTES = 4


def open_scale(directory, index):
    return ts.open({"driver": "neuroglancer_precomputed", "scale_index": index,
                    "kvstore": {"driver": "file", "path": f"{directory}/"}}).result()


def read_scale(directory, index):
    return open_scale(directory, index)[..., 0].read().result()


def read_level(directory, level):
    return ts.open({"driver": "zarr3", "kvstore": {
        "driver": "file", "path": f"{directory}/{level}/"}}).result().read().result()


@pytest.fixture(scope="module")
def sample(run_sample, module_work):
    directory = module_work / "sample"
    done = run_sample(directory, "--megabytes", MEGABYTES)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return directory


@pytest.fixture(scope="module")
def labels(sample):
    return [read_scale(sample / "segmentation", index) for index in (0, 1)]


@pytest.fixture(scope="module")
def image(sample):
    return [read_level(sample / "image", level) for level in (0, 1)]


def test_it_is_about_as_large_as_asked_for(sample):
    size = sum(path.stat().st_size for path in sample.rglob("*") if path.is_file())
    assert 0.7 * MEGABYTES < size / 1e6 < 1.4 * MEGABYTES


def test_the_segmentation_is_sharded_offset_and_ragged(sample):
    info = json.loads((sample / "segmentation" / "info").read_text())
    assert info["data_type"] == "uint64" and len(info["scales"]) == 2
    for index, scale in enumerate(info["scales"]):
        assert scale["sharding"]["@type"] == "neuroglancer_uint64_sharded_v1"
        assert scale["encoding"] == "compressed_segmentation"
        assert all(scale["voxel_offset"])
        assert any(size % 64 for size in scale["size"])
        domain = open_scale(sample / "segmentation", index).domain
        assert list(domain.origin[:3]) == scale["voxel_offset"]
        assert list(domain.shape[:3]) == scale["size"]
        assert list((sample / "segmentation" / scale["key"]).glob("*.shard"))


def test_labels_are_cells_and_not_noise(labels):
    fine = labels[0]
    numbers, counts = np.unique(fine, return_counts=True)
    voxels_per_label = fine.size / len(numbers)
    assert len(numbers) >= 5 and voxels_per_label > 20_000
    assert numbers[0] > 2 ** 53, "labels that a double cannot hold"
    assert np.median(counts) > 2_000
    for axis in range(3):
        moved = np.moveaxis(fine, axis, 0)
        assert 0.9 < (moved[1:] == moved[:-1]).mean() < 0.999


def test_the_second_scale_is_the_first_at_every_other_voxel(labels):
    np.testing.assert_array_equal(labels[1], labels[0][::2, ::2, ::2])


def test_zarr_python_and_tensorstore_read_the_same_image(sample, image):
    group = zarr.open_group(str(sample / "image"), mode="r")
    assert sorted(group.array_keys()) == ["0", "1"]
    for level in (0, 1):
        array = group[str(level)]
        assert array.shards == (256, 256, 256) and array.chunks == (64, 64, 64)
        assert array.dtype == np.uint8
        np.testing.assert_array_equal(array[...], image[level])


def test_the_image_has_texture_and_is_not_noise(image):
    for level in (0, 1):
        values = image[level].astype(np.float64)
        assert values.std() > 15 and 60 < values.mean() < 200
        for axis in range(3):
            moved = np.moveaxis(values, axis, 0)
            assert np.corrcoef(moved[1:].ravel(), moved[:-1].ravel())[0, 1] > 0.8


def test_the_second_level_is_the_mean_of_the_first(image):
    z, y, x = (extent // 2 for extent in image[0].shape)
    mean = image[0].astype(np.float64).reshape(z, 2, y, 2, x, 2).mean((1, 3, 5))
    assert image[1].shape == mean.shape
    assert np.abs(image[1] - mean).max() <= 0.5


def test_membranes_lie_between_the_labels(labels, image):
    cells = labels[0].transpose(2, 1, 0)
    assert cells.shape == image[0].shape
    between = cells[:, :, 1:] != cells[:, :, :-1]
    values = image[0][:, :, 1:].astype(np.float64)
    assert values[between].mean() < values[~between].mean() - 40


def test_the_group_places_its_levels_where_the_segmentation_stands(sample):
    info = json.loads((sample / "segmentation" / "info").read_text())
    group = json.loads((sample / "image" / "zarr.json").read_text())
    datasets = group["attributes"]["ome"]["multiscales"][0]["datasets"]
    for index, (dataset, scale) in enumerate(zip(datasets, info["scales"], strict=True)):
        assert dataset["path"] == str(index)
        stretch, shift = dataset["coordinateTransformations"]
        assert stretch["scale"] == scale["resolution"][::-1]
        # OME-Zarr places the center of a voxel, relative to that of the finest level.
        corner = [offset * edge for offset, edge in zip(scale["voxel_offset"], scale["resolution"])]
        center = (scale["resolution"][0] - info["scales"][0]["resolution"][0]) / 2
        assert shift["translation"] == [each + center for each in corner[::-1]]


def test_the_mounted_sample_equals_the_sample(sample, labels, image, mount):
    mounted = mount(sample).path
    for index in (0, 1):
        np.testing.assert_array_equal(read_scale(mounted / "segmentation", index), labels[index])
        np.testing.assert_array_equal(read_level(mounted / "image", index), image[index])
    info = json.loads((mounted / "segmentation" / "info").read_text())
    assert all("sharding" not in scale for scale in info["scales"])
    for index, scale in enumerate(info["scales"]):
        count = math.prod(-(-size // 64) for size in scale["size"])
        for folder in (f"segmentation/{scale['key']}", f"image/{index}/c"):
            assert sum(path.is_file() for path in (mounted / folder).rglob("*")) == count, folder


def contents(directory):
    return {path.relative_to(directory): path.read_bytes()
            for path in directory.rglob("*") if path.is_file()}


def test_each_run_writes_the_same_bytes(sample, work, run_sample):
    done = run_sample(work / "deeper/still", "--megabytes", MEGABYTES)
    assert done.returncode == 0, done.stderr
    assert contents(work / "deeper/still") == contents(sample)


def test_a_directory_that_is_not_empty_is_refused(run_sample, work):
    (work / "mine").write_text("precious")
    done = run_sample(work, "--megabytes", "1")
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == (f"unshard-sample: {work}: is not empty; name a new or an empty directory "
                           "for the sample\n")
    assert contents(work) == {pathlib.Path("mine"): b"precious"}


def test_a_directory_that_cannot_be_made_is_named(run_sample, work):
    (work / "file").write_text("")
    done = run_sample(work / "file/sample")
    assert done.returncode == 1
    assert done.stderr.startswith(f"unshard-sample: {work}/file/sample: making the directory: Not a dir")


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(run_sample, work):
    def full_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = run_sample(work / "sample", "--megabytes", "1", preexec_fn=full_disk)
    assert done.returncode == 1
    assert re.fullmatch(rf"unshard-sample: {work}/sample/\S+: writing: File too large\n", done.stderr)
    assert not list((work / "sample").iterdir())


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a", "--megabytes"], ["a", "--megabytes", "0"],
                                       ["a", "--megabytes", "100001"], ["a", "--megabytes", "1x"],
                                       ["a", "--megabytes", "-1"], ["a", "--size", "1"], [""]])
def test_wrong_arguments_are_refused_with_the_usage(run_sample, work, arguments):
    done = run_sample(*arguments, cwd=work)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: unshard-sample DIR [--megabytes N]\n")
    assert done.stderr == run_sample("--help").stdout
    assert not list(work.iterdir())
