"""Fixtures of the mount tests: two small datasets, mounted once for each test file."""

import pytest

pytest.register_assert_rewrite("write_data")

from mount_data import Case, PrecomputedVolume, ZarrTree


@pytest.fixture(scope="module")
def mount_options():
    """Of `volume` and `tree`; files whose tests hold for writable mounts as well say so."""
    return "ro"


@pytest.fixture(scope="module")
def volume(module_work, module_mount, mount_options):
    source = PrecomputedVolume(module_work / f"volume-{mount_options}")
    chunks = {f"{key}/{name}": data for key in source.voxels
              for name, data in source.chunks(key).items()}
    case = Case(module_mount(source.path, mount_options), chunks)
    case.source = source
    return case


@pytest.fixture(scope="module")
def tree(module_work, module_mount, mount_options):
    source = ZarrTree(module_work / f"tree-{mount_options}")
    chunks = {f"image/{name}": data for name, data in source.chunks().items()}
    case = Case(module_mount(source.path, mount_options), chunks)
    case.source = source
    return case
