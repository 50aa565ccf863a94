"""Fixtures of the mount tests: two small datasets, mounted once for each test file."""

import pytest

from mount_data import Case, PrecomputedVolume, ZarrTree


@pytest.fixture(scope="module")
def volume(module_work, module_mount):
    source = PrecomputedVolume(module_work / "volume")
    chunks = {f"{key}/{name}": data for key in source.voxels
              for name, data in source.chunks(key).items()}
    case = Case(module_mount(source.path), chunks)
    case.source = source
    return case


@pytest.fixture(scope="module")
def tree(module_work, module_mount):
    source = ZarrTree(module_work / "tree")
    chunks = {f"image/{name}": data for name, data in source.chunks().items()}
    case = Case(module_mount(source.path), chunks)
    case.source = source
    return case
