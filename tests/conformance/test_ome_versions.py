"""Random images of every version of OME-Zarr, in views and copies of every version that is written: ome-zarr-models and
ngff-zarr, with its JSON schemas, take them for valid, and read where the source has its voxels."""

import itertools
import pathlib

import pytest

from judging import SEED
from python_service import PythonService
from test_copy import copy, voxels_of  # noqa: F401 (fixture)
from tiers import in_turn

OME = pathlib.Path(__file__).parent / "newest_ome.py"
READ = ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]
WRITTEN = {"0.4": "zarr2", "0.5": "zarr3", "0.6": "zarr3"}


@pytest.fixture(scope="module")
def ome(newest_python):
    service = PythonService(newest_python, OME)
    yield service.call
    service.end()


@pytest.fixture
def source(work, ome):
    def make(version):
        print(f"UNSHARD_SEED={SEED}")
        return ome("make", SEED, version, work / "src")
    return make


def expected(version, described):
    """Of levels without transformations the shapes say how coarse they are."""
    levels = []
    for level, shape in enumerate(described["shapes"]):
        scale, translation = described["scales"][level], described["translations"][level]
        if version < "0.4":
            scale = [whole / extent for whole, extent in zip(described["shapes"][0], shape)]
            translation = [(factor - 1) / 2 for factor in scale]
        levels.append({"scale": scale, "translation": translation,
                       "axes": [axis["name"] for axis in described["axes"]]})
    return {"name": described["name"], "levels": levels}


def all_expected(version, described):
    return {path: expected(version, image) for path, image in described.items()}


@pytest.mark.parametrize("version", in_turn(READ))
def test_views_have_the_version_that_is_asked_for(version, source, mount, ome, work):
    described = source(version)
    views = {target: mount(work / "src", f"ro,view={format},ome={target}", work / target).path
             for target, format in WRITTEN.items()}
    for read in ome("judge", *itertools.chain(*views.items())):
        assert read == all_expected(version, described)
    ome("same", work / "src", *views.values())
    for target, format in WRITTEN.items():
        for path, image in described.items():
            for level in image["paths"]:
                assert voxels_of(views[target] / path, format, level).dtype == "uint16", (path, level)


@pytest.mark.parametrize("version", in_turn(READ))
def test_copies_have_the_version_that_is_asked_for(version, source, copy, ome, work):
    described = source(version)
    copies = {target: work / target for target in WRITTEN}
    for target, folder in copies.items():
        copy(work / "src", folder, "--ome", target)
        copy(work / "src", folder, "--verify")
    for read in ome("judge", *itertools.chain(*copies.items())):
        assert read == all_expected(version, described)
    ome("same", work / "src", *copies.values())


@pytest.mark.parametrize("version", READ)
def test_without_a_choice_it_is_that_of_the_source_or_of_the_format(version, source, mount, copy, ome, work):
    described = source(version)
    for format, default in (("zarr2", "0.4"), ("zarr3", "0.5")):
        if WRITTEN.get(version) != format and (format, version < "0.4") != ("zarr2", True):
            read, = ome("judge", default, mount(work / "src", f"ro,view={format}", work / format).path)
            assert read == all_expected(version, described)
    copy(work / "src", work / "copied")
    for document in (work / "src").rglob("*"):
        if document.name in (".zattrs", ".zgroup"):
            assert (work / "copied" / document.relative_to(work / "src")).read_bytes() == document.read_bytes()
        if document.name == "zarr.json" and b'"group"' in document.read_bytes():
            assert (work / "copied" / document.relative_to(work / "src")).read_bytes() == document.read_bytes()


IN_NANOMETRES = {"nanometer": 1, "micrometer": 1000, "angstrom": 0.1}


@pytest.mark.parametrize("format", in_turn(["n5", "precomputed"]))
def test_pyramids_of_other_formats_become_any_version(format, source, mount, copy, ome, work):
    described = {path.replace("/", "-"): image for path, image in source("0.6").items()
                 if all(axis["type"] != "time" for axis in image["axes"])}
    for path in described:
        (work / format).mkdir(exist_ok=True)
        copy(work / "src" / path.replace("-", "/"), work / format / path, "--format", format)
    views = {target: mount(work / format, f"ro,view={shown},ome={target}", work / target).path
             for target, shown in WRITTEN.items()}
    for found in ome("judge", *itertools.chain(*views.items())):
        for path, image in described.items():
            assert len(found[path]["levels"]) == len(image["shapes"])
            for level, read in enumerate(found[path]["levels"]):
                for at, axis in enumerate(image["axes"]):
                    if axis["type"] != "space":
                        continue
                    there, unit = read["axes"].index(axis["name"]), IN_NANOMETRES[axis["unit"]]
                    assert read["scale"][there] == pytest.approx(image["scales"][level][at] * unit)
                    assert read["translation"][there] == pytest.approx(image["translations"][level][at] * unit)


def test_what_a_version_cannot_be_is_said(source, run_unshard, work):
    source("0.6")
    (work / "mnt").mkdir()
    done = run_unshard("mount", work / "src", work / "mnt", "-o", "view=n5,ome=0.6")
    assert done.returncode == 2 and "ome=0.6: expected view=zarr3" in done.stderr
    done = run_unshard("mount", work / "src", work / "mnt", "-o", "ome=0.3")
    assert done.returncode == 2 and "ome=0.3: expected 0.4, 0.5, 0.6" in done.stderr
    done = run_unshard("copy", work / "src", work / "out", "--ome", "0.4", "--format", "zarr3")
    assert done.returncode == 2 and "--ome 0.4: is a version of Zarr v2: expected --format zarr2" in done.stderr
    done = run_unshard("create", work / "new", "--ome", "0.6", "--shape", "8,8", "--dtype", "uint8")
    assert done.returncode == 2 and "--ome: expected --scales 2 or more" in done.stderr
    assert not (work / "out").exists() and not (work / "new").exists()


@pytest.mark.parametrize("version", list(WRITTEN))
def test_new_pyramids_have_the_version_that_is_asked_for(version, run_unshard, ome, work):
    done = run_unshard("create", work / "new", "--ome", version, "--shape", "16,32,32", "--dtype", "uint16", "--scales",
                       "3", "--resolution", "40,8,8", *(["--axes", "z,y,x"] if version > "0.4" else []))
    assert done.returncode == 0, done.stderr
    read = ome("judge", version, work / "new")[0]["."]["levels"]
    assert [level["scale"] for level in read] == [[40 * 2 ** k, 8 * 2 ** k, 8 * 2 ** k] for k in range(3)]
    assert [level["translation"] for level in read] == [[20 * (2 ** k - 1), 4 * (2 ** k - 1), 4 * (2 ** k - 1)]
                                                        for k in range(3)]
