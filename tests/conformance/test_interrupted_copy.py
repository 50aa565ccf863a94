"""`unshard copy` of pyramids with labels and files, killed at any time, in directories and buckets: run
once more it is what a copy that nothing has interrupted is."""

import contextlib
import itertools
import os
import random
import signal
import subprocess
import time

import numpy as np
import pytest

import remote_stores
from judging import SEED, tree
from pyramid_sources import make_pyramid
from test_copy import copy, left_over  # noqa: F401 (fixture)
from test_pyramid_copy import FORMATS, SOURCES, check_files, check_voxels
from tiers import in_turn

PLACES = ["directory", *remote_stores.KINDS]
KILLS = 5


class Directory:
    environment = {}

    def __init__(self, root):
        self.root = root

    def url(self, name):
        return self.root / name

    def content(self, name):
        return {path: (self.root / name / path).read_bytes() for path in tree(self.root / name)
                if (self.root / name / path).is_file()}

    def unfinished(self):
        return left_over(self.root)


class InBucket:
    def __init__(self, bucket, kind):
        self.bucket, self.kind, self.environment = bucket, kind, bucket.environment

    def url(self, name):
        return f"{self.kind}://{remote_stores.BUCKET}/{name}"

    def content(self, name):
        """Without what a copy leaves that is killed while it asks the store for its conditions."""
        return {key.removeprefix(f"{name}/"): self.bucket.get(key) for key in self.bucket.keys(f"{name}/")
                if not key.startswith(f"{name}/.unshard-probe-")}

    def unfinished(self):
        if self.kind != "s3":
            return []
        return self.bucket.client.list_multipart_uploads(Bucket=remote_stores.BUCKET).get("Uploads", [])


@contextlib.contextmanager
def place(kind, work):
    if kind == "directory":
        yield Directory(work)
        return
    bucket = remote_stores.open_bucket(kind, work)
    try:
        yield InBucket(bucket, kind)
    finally:
        bucket.server.stop()


def upload_source(at, work):
    """The source itself where the copy is to come from a bucket."""
    if isinstance(at, Directory):
        return work / "source"
    remote_stores.upload(at.bucket, work / "source", "source")
    return at.url("source")


DRAWN = random.Random(SEED).sample(list(itertools.product(SOURCES, FORMATS, PLACES)), 8)


@pytest.mark.parametrize("format, to, where", in_turn(DRAWN), ids="-".join)
def test_a_pyramid(format, to, where, copy, work, unshard_binary):
    rng = np.random.default_rng([SEED, len(format), len(to), len(where)])
    voxels, files = make_pyramid(work / "source", format)
    options = ["--format", to]
    # Of Zarr v2 the mask has no names of axes, by which it would find its own in these lists.
    if to == "precomputed" or (to == "zarr3" and format != "zarr2"):
        options += ["--chunk", "1,6,8,8", "--shard", "1,12,16,16"] if to == "zarr3" else \
            ["--chunk", "8,8,6", "--shard", "16,16,12"]
    with place(where, work) as at:
        source = upload_source(at, work)
        begun = time.monotonic()
        copy(source, at.url("whole"), *options, environment=at.environment)
        whole = time.monotonic() - begun
        for _ in range(KILLS):
            process = subprocess.Popen([unshard_binary, "copy", "-q", str(source), str(at.url("killed")),
                                        *options], stderr=subprocess.PIPE, text=True,
                                       env={**os.environ, **at.environment})
            time.sleep(float(rng.uniform(0.01, whole)))
            process.send_signal(signal.SIGKILL)
            said = process.communicate()[1]
            assert process.returncode in (0, -signal.SIGKILL), said
        copy(source, at.url("killed"), *options, "--verify", environment=at.environment)
        assert at.content("killed") == at.content("whole")
        assert at.unfinished() == []
        copy(at.url("killed"), work / "back", "--format", to, environment=at.environment)
    check_files(work / "back", files)
    check_voxels(work / "back", to, voxels)


@pytest.mark.parametrize("where", PLACES)
def test_of_a_source_that_changes_meanwhile(where, copy, work, unshard_binary):
    """Once it does no more, the next copy has all of it."""
    import zarr

    voxels, files = make_pyramid(work / "source", "zarr3")
    with place(where, work) as at:
        for number in range(KILLS):
            process = subprocess.Popen([unshard_binary, "copy", "-q", str(work / "source"),
                                        str(at.url("copy")), "--format", "zarr3", "--shard", "1,12,16,16",
                                        "--chunk", "1,6,8,8"],
                                       stderr=subprocess.PIPE, text=True,
                                       env={**os.environ, **at.environment})
            for path in ("", "labels/cells"):
                array = zarr.open_array(work / "source" / path / "0")
                voxels[path][0] = voxels[path][0][..., ::-1].copy()
                array[...] = voxels[path][0]
            if number % 2:
                process.send_signal(signal.SIGKILL)
            said = process.communicate()[1]
            # What it reads may be half written: zarr-python replaces no file as a whole.
            assert process.returncode in (0, 1, -signal.SIGKILL), said
        # zarr-python removes chunks that become the fill value.
        copy(work / "source", at.url("copy"), "--delete", environment=at.environment)
        copy(work / "source", at.url("copy"), "--verify", environment=at.environment)
        copy(at.url("copy"), work / "back", "--format", "zarr3", environment=at.environment)
        assert at.unfinished() == []
    check_files(work / "back", files)
    check_voxels(work / "back", "zarr3", voxels)
