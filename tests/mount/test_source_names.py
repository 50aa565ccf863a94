"""Sources by the names that CloudVolume, TensorStore and Neuroglancer have for them, in every command
that takes one, and arguments that are empty."""

import json
import os
import pathlib
import subprocess

import pytest

from mount_data import PrecomputedVolume, ZarrTree


@pytest.fixture(scope="module")
def volume_path(module_work):
    return PrecomputedVolume(module_work / "volume").path


@pytest.fixture(scope="module")
def tree_path(module_work):
    return ZarrTree(module_work / "tree").path


VOLUME_NAMES = ["precomputed://{}", "precomputed://file://{}", "neuroglancer-precomputed://{}",
                "file://{}", "file://localhost{}", "{}|neuroglancer-precomputed:",
                "file://{}/|precomputed:"]


@pytest.mark.parametrize("name", VOLUME_NAMES)
def test_a_volume_has_these_names(volume_path, run_unshard, name):
    done = run_unshard("info", "--json", name.format(volume_path))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(run_unshard("info", "--json", volume_path).stdout)


@pytest.mark.parametrize("name", ["zarr://{}/image", "zarr3://file://{}/image", "{}/|zarr3:image",
                                  "file://{}/image/|zarr:"])
def test_an_array_has_these_names(tree_path, run_unshard, name):
    done = run_unshard("schema", name.format(tree_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == run_unshard("schema", tree_path / "image").stdout


def test_mounts_copies_and_creations_take_them(tree_path, work, mount, run_unshard):
    shown = mount(f"zarr3://{tree_path}/image").path
    assert json.loads((shown / ".unshard/status.json").read_text())["source"] == str(
        tree_path / "image")
    made = run_unshard("create", f"zarr3://{work}/new", "--like", f"file://{tree_path}/image|zarr3:")
    assert made.returncode == 0, made.stderr
    for options in ([], ["--verify"]):
        done = run_unshard("copy", "-q", f"zarr://{tree_path}/image", f"file://{work}/new", *options)
        assert done.returncode == 0, done.stderr
    refused = run_unshard("create", f"n5://{work}/other", "--like", tree_path / "image")
    assert refused.returncode == 1 and "n5" in refused.stderr, refused.stderr
    assert not (work / "other").exists()


@pytest.mark.parametrize("command", [["mount", None, "point"], ["info", None], ["schema", None],
                                     ["copy", None, "new"], ["create", "new", "--like", None]])
def test_another_format_is_refused_by_both_names(volume_path, work, run_unshard, command):
    (work / "point").mkdir()
    words = [f"n5://{volume_path}" if word is None else word for word in command]
    done = run_unshard(*words, cwd=work)
    assert done.returncode in (1, 2), done.stderr  # 2: of arguments, before anything was tried
    assert "n5" in done.stderr and "precomputed" in done.stderr, done.stderr
    assert os.listdir(work) == ["point"]


EMPTY = [["mount", "", "point"], ["mount", "source", ""], ["umount", ""], ["flush", ""],
         ["status", ""], ["why", ""], ["info", ""], ["schema", ""], ["schema", "source", ""],
         ["copy", "", "new"], ["copy", "source", ""], ["create", "", "--like", "source"],
         ["create", "new", "--like", ""], ["spool", "list", ""], ["spool", "publish", ""],
         ["spool", "export", ""], ["spool", "list", "--spool", ""]]


@pytest.mark.parametrize("command", EMPTY, ids=" ".join)
def test_an_empty_argument_is_refused_by_its_name(work, run_unshard, command):
    (work / "point").mkdir()
    done = run_unshard(*command, cwd=work)
    assert done.returncode == 2 and "is empty" in done.stderr, done.stderr
    assert os.listdir(work) == ["point"]


def test_the_mount_helper_refuses_an_empty_source(work, unshard_binary):
    helper = pathlib.Path(work / "mount.unshard")
    helper.symlink_to(unshard_binary)
    done = subprocess.run([helper, "", work / "point"], capture_output=True, text=True, timeout=60,
                          cwd=work)
    assert done.returncode == 2 and "source: is empty" in done.stderr, done.stderr
