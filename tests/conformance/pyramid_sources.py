"""Pyramids as they are found: an image with labels below it, and files and arrays beside its levels."""

import json

import numpy as np

from judging import SEED, put_file

DTYPES = {"": "uint16", "labels/cells": "uint32", "labels/deep/nuclei": "uint8", "mask": "uint8"}
RESOLUTION = 8  # nm, of all axes of the first level
FILES = {"README.md": b"# An image\n", "empty": b"", "notes/how/it was made.txt": b"by hand\n",
         "labels/cells/colours.csv": b"1,red\n2,blue\n"}
LARGE = "OME/METADATA.ome.xml"  # larger than what is read at a time


def voxels_of_levels(rng, path):
    shape = (2, 12, 18, 21) if path == "" else (12, 18, 21)
    dtype = np.dtype(DTYPES[path])
    whole = rng.integers(0, np.iinfo(dtype).max, size=shape, dtype=dtype, endpoint=True)
    whole[..., :6, :8, :8] = 0
    return [whole] if path == "mask" else [whole, whole[..., ::2, ::2, ::2].copy()]


def ome_of(path, levels, version):
    axes = ([{"name": "c", "type": "channel"}] if path == "" else []) + \
        [{"name": name, "type": "space", "unit": "nanometer"} for name in "zyx"]
    lead = [1.0] * (len(axes) - 3)
    datasets = [{"path": str(level), "coordinateTransformations": [
        {"type": "scale", "scale": lead + [RESOLUTION * 2.0 ** level] * 3},
        {"type": "translation", "translation":
            [0.0] * len(lead) + [RESOLUTION * (2.0 ** level - 1) / 2] * 3}]}
        for level in range(levels)]
    ome = {"multiscales": [{"axes": axes, "datasets": datasets}]}
    if path:
        ome["image-label"] = {"colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}],
                              "source": {"image": "../../"}}
    else:
        ome["omero"] = {"channels": [{"label": "one", "color": "FF0000"}]}
    if version == 3:
        return {"ome": {"version": "0.5", **ome}, "made": "here"}
    ome["multiscales"][0]["version"] = "0.4"
    return {**ome, "made": "here"}


def make_zarr(root, version, rng, voxels):
    import zarr

    def group(path, attributes):
        zarr.create_group(root / path, zarr_format=version, attributes=attributes)

    for path in DTYPES:
        voxels[path] = voxels_of_levels(rng, path)
        if path != "mask":
            group(path, ome_of(path, 2, version))
        for level, wanted in enumerate(voxels[path]):
            lead = (1,) * (wanted.ndim - 3)
            options = {"shards": (*lead, 12, 16, 16)} if version == 3 else {
                "chunk_key_encoding": {"name": "v2", "separator": "/"}}
            if version == 3:
                options["dimension_names"] = list("czyx"[-wanted.ndim:])
            array = zarr.create_array(root / path / ("" if path == "mask" else str(level)),
                                      shape=wanted.shape, chunks=(*lead, 6, 8, 8),
                                      dtype=wanted.dtype, zarr_format=version, fill_value=0, **options)
            array[...] = wanted
    labels = {"labels": ["cells", "deep/nuclei"]}
    group("labels", {"ome": {"version": "0.5", **labels}} if version == 3 else labels)
    group("labels/deep", {})
    group("OME", {"ome": {"version": "0.5", "series": ["0"]}} if version == 3 else {"series": ["0"]})


def make_n5(root, rng, voxels):
    import tensorstore as ts

    for path in DTYPES:
        voxels[path] = voxels_of_levels(rng, path)
        for level, wanted in enumerate(voxels[path]):
            members = {"axes": list("xyzc"[:wanted.ndim])}
            below = "" if path == "mask" else f"s{level}"
            array = ts.open({"driver": "n5", "kvstore": f"file://{root / path / below}/", "create": True,
                             "metadata": {"dataType": str(wanted.dtype), "compression": {"type": "gzip"},
                                          "dimensions": [*wanted.shape[::-1]],
                                          "blockSize": [8, 8, 6, 1][:wanted.ndim], **members}}).result()
            array.write(wanted.transpose()).result()
            document = root / path / below / "attributes.json"
            document.write_text(json.dumps({
                **json.loads(document.read_text()), "downsamplingFactors": [2 ** level] * 3 + [1] * (wanted.ndim - 3),
                "pixelResolution": {"unit": "nm", "dimensions": [RESOLUTION] * 3 + [1] * (wanted.ndim - 3)}}))
        if path != "mask":
            put_file(root / path / "attributes.json", json.dumps({"n5": "2.0.0", "made": "here"}))


def make_pyramid(root, format):
    """Returns the voxels of the levels by path, slowest axis first, and the files by path."""
    rng = np.random.default_rng([SEED, len(format)])
    voxels = {}
    make_n5(root, rng, voxels) if format == "n5" else make_zarr(root, 3 if format == "zarr3" else 2, rng, voxels)
    files = {**FILES, LARGE: rng.bytes((4 << 20) + 300_000)}
    for name, content in files.items():
        put_file(root / name, content)
    return voxels, files
