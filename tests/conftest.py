"""Fixtures shared by tests/conformance, tests/mount and tests/fault.

UNSHARD              the program under test (default: build/unshard beside this folder)
UNSHARD_SAMPLE       the generator of sample datasets (default: beside the program)
UNSHARD_STORE_TESTS  the unit tests of store (default: store_tests beside the program)
UNSHARD_ARRAY_CODEC  reads and writes one array (default: array_codec beside the program)
UNSHARD_CHUNK_CODEC  encodes and decodes one chunk (default: chunk_codec beside the program)
UNSHARD_FROZEN_PYTHON  a Python with zarr 2.18 (default: as tests/run installs it)
UNSHARD_NEWEST_PYTHON  a Python with zarr 3.4 (default: as tests/run installs it)
UNSHARD_WORK         where work directories are made (default: tests-work beside the program)
UNSHARD_KEEP         where it is set, work directories are not removed
UNSHARD_LONG         0: tests of the second tier are left out (tests/support/tiers.py)
"""

import itertools
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from mounting import Mount, MountFailed, mounted_at, remove_tree  # noqa: F401
from tiers import is_full_run, of_the_second_tier

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(config, items):
    if is_full_run():
        return
    second = of_the_second_tier(items)
    config.hook.pytest_deselected(items=list(second))
    items[:] = [item for item in items if item not in second]


@pytest.fixture(scope="session")
def unshard_binary():
    """Path of the program under test; a missing program is a failure, never a skip."""
    path = pathlib.Path(os.environ.get("UNSHARD", ROOT / "build" / "unshard"))
    assert os.access(path, os.X_OK), f"{path} is not there: build it, or set UNSHARD"
    return path.resolve()


def _work_root(binary):
    root = pathlib.Path(os.environ.get("UNSHARD_WORK", binary.parent / "tests-work")).resolve()
    root.mkdir(parents=True, exist_ok=True)
    return root


@pytest.fixture(scope="session", autouse=True)
def state_home(unshard_binary):
    """Spools are below the build folder, not in the home directory of the user."""
    path = _work_root(unshard_binary) / f"state.{os.getpid()}"
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(path)
    yield path
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before
    shutil.rmtree(path, ignore_errors=True)


def _make_work(root, name):
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:80]
    for number in itertools.count():
        path = root / f"{stem}.{os.getpid()}.{number}"
        try:
            path.mkdir()
            return path
        except FileExistsError:
            continue


@pytest.fixture
def work(request, unshard_binary):
    """An empty directory below the build folder, removed after the test."""
    path = _make_work(_work_root(unshard_binary), request.node.name)
    yield path
    if "UNSHARD_KEEP" not in os.environ:
        remove_tree(path)


@pytest.fixture(scope="module")
def module_work(request, unshard_binary):
    """As `work`, but one for the whole file: for datasets that several tests read."""
    path = _make_work(_work_root(unshard_binary), request.module.__name__)
    yield path
    if "UNSHARD_KEEP" not in os.environ:
        remove_tree(path)


def _mounts(binary, directory):
    """Yields a function that mounts, then unmounts all that it mounted; fails where that fails."""
    mounts = []

    def make(source, options="", point=None, **more):
        number = len(mounts)
        new = Mount(binary, source, point or directory / f"mnt{number}",
                    directory / f"mount{number}.log", options, **more)
        mounts.append(new)
        return new

    yield make
    faults = []
    for each in reversed(mounts):
        try:
            each.unmount()
        except AssertionError as fault:
            faults.append(str(fault))
    assert not faults, "\n".join(faults)


@pytest.fixture
def mount(unshard_binary, work):
    """mount(source, options="a,b=c", point=None, arguments=(), environment=None, prefix=()) -> Mount.

    Runs the program in the foreground and returns once it is mounted (else MountFailed). After
    the test every mount must unmount cleanly with exit code 0, unless the test ended it itself
    by `.terminate()` or `.unmount()`.
    """
    yield from _mounts(unshard_binary, work)


@pytest.fixture(scope="module")
def module_mount(unshard_binary, module_work):
    """As `mount`, for the whole file."""
    yield from _mounts(unshard_binary, module_work)


@pytest.fixture
def measured(capsys):
    """measured("some figure"): tests/run prints the line again at its end."""

    def tell(line):
        with capsys.disabled():
            print(f"\n    measured: {line}", flush=True)

    return tell


@pytest.fixture
def run_unshard(unshard_binary):
    """run_unshard("info", path, …) -> CompletedProcess with text output, whatever the exit code is."""

    def run(*arguments, timeout=60, **more):
        return subprocess.run([str(unshard_binary), *map(str, arguments)], capture_output=True,
                              text=True, timeout=timeout, **more)

    return run


def _python_of(unshard_binary, name):
    default = unshard_binary.parent / ".cache" / name / "bin" / "python"
    variable = f"UNSHARD_{name.upper()}_PYTHON"
    path = os.environ.get(variable, str(default))
    assert os.access(path, os.X_OK), f"{path} is not there: set {variable}"
    return path


@pytest.fixture(scope="session")
def frozen_python(unshard_binary):
    """A Python whose zarr is 2.18, the last one that knows only Zarr v2 and N5."""
    return _python_of(unshard_binary, "frozen")


@pytest.fixture(scope="session")
def newest_python(unshard_binary):
    """A Python whose zarr is 3.4."""
    return _python_of(unshard_binary, "newest")


@pytest.fixture
def no_credentials(monkeypatch):
    """Removes credentials and settings of storage services from the environment."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "STORAGE_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def no_settings_of_ours(no_credentials, monkeypatch, work):
    """As no_credentials, and the home directory is an empty one."""
    for name in ("HOME", "CLOUD_VOLUME_DIR", "CLOUD_FILES_DIR"):
        monkeypatch.setenv(name, str(work / "home"))
    (work / "home").mkdir()


@pytest.fixture(scope="session")
def sample_binary(unshard_binary):
    path = pathlib.Path(os.environ.get("UNSHARD_SAMPLE", unshard_binary.parent / "unshard-sample"))
    assert os.access(path, os.X_OK), f"{path} is not there: build it, or set UNSHARD_SAMPLE"
    return path.resolve()


@pytest.fixture(scope="session")
def run_sample(sample_binary):
    """run_sample(directory, "--megabytes", 4) -> CompletedProcess, as of run_unshard."""

    def run(*arguments, timeout=120, **more):
        return subprocess.run([str(sample_binary), *map(str, arguments)], capture_output=True, text=True,
                              timeout=timeout, **more)

    return run
