"""Runs in the newest environment, with ome-zarr-models and ngff-zarr, for PythonService.

make(SEED, VERSION, FOLDER)     random images of OME-Zarr, and a plate; each with labels: what they say, by path
judge(VERSION, FOLDER, …)       fails unless both take every group for a valid one of the version: a list with {path of an
                                image: what they read of its multiscale} for each pair
same(FOLDER, OTHER, …)          fails unless all have the same levels with the same voxels
"""

import json
import pathlib
import random
import sys
import warnings

import ngff_zarr
import numpy as np
import ome_zarr_models
import zarr

sys.path.append(str(pathlib.Path(__file__).parent.parent / "support"))
from python_service import serve  # noqa: E402

IMAGES = 4
KINDS = {"t": "time", "c": "channel"}
UNITS = {"space": ["nanometer", "micrometer", "angstrom"], "time": ["second", "millisecond"], "channel": [None]}


def axes_of(draw, version):
    if version in ("0.1", "0.2"):
        return "tczyx"
    return draw.choice(["yx", "zyx", "czyx", "tyx", "tczyx", "cyx"])


def axis(draw, name):
    kind = KINDS.get(name, "space")
    unit = draw.choice(UNITS[kind])
    return {"name": name, "type": kind, **({"unit": unit} if unit else {})}


def image(draw, version, number):
    """What an image says, and the shapes of its levels. ome-zarr-models finds labels only in levels beside each other:
    those of the first image."""
    names = axes_of(draw, version)
    space = [name in "zyx" for name in names]
    count = draw.randint(1, 3)
    factors = [[(2 ** level if each else 1) for each in space] for level in range(count)]
    extent = [8 * draw.randint(1, 3) if each else draw.randint(1, 3) for each in space]
    shapes = [[length // factor for length, factor in zip(extent, each)] for each in factors]
    finest = [draw.choice([1, 4, 8.5, 40]) for _ in names]
    begin = [draw.choice([0, 0, 8, -16]) * size if each else 0 for each, size in zip(space, finest)]
    scales = [[size * factor for size, factor in zip(finest, each)] for each in factors]
    centres = [[start + (scale - size) / 2 for start, scale, size in zip(begin, each, finest)] for each in scales]
    axes = [axis(draw, name) for name in names]
    name = f"image {number}"
    return {"name": name, "axes": axes, "shapes": shapes, "scales": scales, "translations": centres,
            "paths": [draw.choice(["{}", "s{}", "scale{}/image"] if number else ["{}"]).format(level)
                      for level in range(count)]}


def transformations(described, level):
    steps = [{"type": "scale", "scale": described["scales"][level]}]
    if any(described["translations"][level]):
        steps.append({"type": "translation", "translation": described["translations"][level]})
    return steps


def multiscale(draw, version, described):
    """The document of a version."""
    paths = described["paths"]
    one = {"name": described["name"], "datasets": [{"path": path} for path in paths]}
    if version == "0.3":
        one["axes"] = [axis["name"] for axis in described["axes"]]
    if version < "0.4":
        return one
    if version < "0.6":
        one["axes"] = described["axes"]
        for level, dataset in enumerate(one["datasets"]):
            dataset["coordinateTransformations"] = transformations(described, level)
        return one
    system = draw.choice(["physical", "intrinsic", "a b"])
    one["coordinateSystems"] = [{"name": system, "axes": described["axes"]}]
    for level, dataset in enumerate(one["datasets"]):
        steps = transformations(described, level)
        step = steps[0] if len(steps) == 1 else {"type": "sequence", "transformations": steps}
        if len(steps) == 1 and set(steps[0]["scale"]) == {1}:
            step = {"type": "identity"}
        dataset["coordinateTransformations"] = [{**step, "input": {"path": paths[level]}, "output": {"name": system}}]
    if draw.random() < 0.5:
        world = [{**axis, "name": f"w{axis['name']}"} for axis in described["axes"]]
        # ngff-zarr takes the axes of the first system for those of the levels.
        one["coordinateSystems"].append({"name": "world", "axes": world})
        one["coordinateTransformations"] = [{"type": "translation", "translation": [3] * len(world),
                                             "input": {"name": system}, "output": {"name": "world"}}]
    return one


def attributes(version, ome):
    """As the version has it, of what the document of 0.5 has below `ome`."""
    if version >= "0.5":
        return {"ome": {"version": version, **ome}}
    for member in [*ome.get("multiscales", []), *(ome.get(name, {}) for name in ("image-label", "plate", "well"))]:
        if member:
            member["version"] = version
    return ome


def write_image(draw, version, folder, described, more):
    form = 3 if version >= "0.5" else 2
    zarr.create_group(folder, zarr_format=form,
                      attributes=attributes(version, {"multiscales": [multiscale(draw, version, described)], **more}))
    voxels = np.random.default_rng(draw.randint(0, 1 << 30))
    for path, shape in zip(described["paths"], described["shapes"]):
        for between in list(pathlib.PurePosixPath(path).parents)[:-1]:
            zarr.create_group(folder / between, zarr_format=form)
        inner = [min(4, length) for length in shape]
        options = {"chunk_key_encoding": {"name": "v2", "separator": "." if version == "0.1" else "/"}}
        if form == 3:
            options = {"dimension_names": [axis["name"] for axis in described["axes"]],
                       "shards": draw.choice([None, [2 * length for length in inner]])}
        array = zarr.create_array(folder / path, shape=shape, chunks=inner, dtype="uint16", zarr_format=form,
                                  fill_value=0, **options)
        array[...] = voxels.integers(0, 3, shape)


def make(seed, version, folder):
    draw, folder = random.Random(f"{seed} {version}"), pathlib.Path(folder)
    described = {}
    form = 3 if version >= "0.5" else 2
    zarr.create_group(folder, zarr_format=form)

    def add(path, more, **changes):
        described[path] = {**image(draw, version, len(described)), **changes}
        write_image(draw, version, folder / path, described[path], more)

    channel = {"color": "FF0000", "window": {"min": 0, "max": 9, "start": 1, "end": 8}}
    for number in range(IMAGES):
        add(f"i{number}", {"omero": {"channels": [channel]}})
    of = described["i0"]
    zarr.create_group(folder / "i0/labels", zarr_format=form, attributes=attributes(version, {"labels": ["cells"]}))
    add("i0/labels/cells", {"image-label": {"colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}],
                                            "source": {"image": "../../"}}},
        **{key: of[key] for key in ("axes", "shapes", "scales", "translations", "paths")})
    well = {"path": "A/1", **({"rowIndex": 0, "columnIndex": 0} if version >= "0.4" else {})}
    plate = {"name": "p", "rows": [{"name": "A"}], "columns": [{"name": "1"}], "wells": [well]}
    zarr.create_group(folder / "plate", zarr_format=form, attributes=attributes(version, {"plate": plate}))
    zarr.create_group(folder / "plate/A", zarr_format=form)
    zarr.create_group(folder / "plate/A/1", zarr_format=form,
                      attributes=attributes(version, {"well": {"images": [{"path": "0"}]}}))
    add("plate/A/1/0", {})
    return described


def groups(folder):
    """The groups with OME-Zarr metadata, by path."""
    folder = pathlib.Path(folder)
    for document in sorted([*folder.rglob("zarr.json"), *folder.rglob(".zattrs")]):
        content = json.loads(document.read_text())
        if document.name == "zarr.json":
            content = content.get("attributes", {}) if content["node_type"] == "group" else {}
        elif not (document.parent / ".zgroup").exists():
            content = {}
        content.get("ome", content) and (yield str(document.parent.relative_to(folder)), content)


def schema_of(ome):
    return next((name for member, name in [("plate", "plate"), ("well", "well"), ("image-label", "label"),
                                           ("multiscales", "image")] if member in ome), None)


def read_as(version, folder, path):
    scales = ngff_zarr.from_ome_zarr(str(folder / path), version=version, validate=True)
    return [{"scale": [each.scale.get(name, 1) for name in each.dims],
             "translation": [each.translation.get(name, 0) for name in each.dims],
             "axes": list(each.dims)} for each in scales.images]


def judge_one(version, folder):
    folder, read = pathlib.Path(folder), {}
    for path, content in groups(folder):
        ome = content.get("ome", content)
        if version >= "0.5":
            assert ome["version"] == version, path
        node = zarr.open_group(folder / path, mode="r")
        model = ome_zarr_models.open_ome_zarr(node, version=version)
        assert model is not None, path
        if schema := schema_of(ome):
            ngff_zarr.validate(content, version=version, model=schema)
        if "multiscales" in ome:
            levels = read_as(version, folder, path)
            read[path] = {"name": ome["multiscales"][0].get("name"), "levels": levels}
            for dataset, level in zip(ome["multiscales"][0]["datasets"], levels):
                names = node[dataset["path"]].metadata.dimension_names if version >= "0.5" else level["axes"]
                assert list(names) == level["axes"], path
    return read


def judge(*pairs):
    return [judge_one(version, folder) for version, folder in zip(pairs[::2], pairs[1::2])]


def arrays(folder):
    members = zarr.open_group(folder, mode="r").members(max_depth=None)
    return {path: node[...] for path, node in members if isinstance(node, zarr.Array)}


def same(folder, *others):
    first = arrays(folder)
    for other in others:
        second = arrays(other)
        assert set(first) == set(second), other
        for path, voxels in first.items():
            np.testing.assert_array_equal(voxels, second[path], f"{other}: {path}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve({each.__name__: each for each in (make, judge, same)})
