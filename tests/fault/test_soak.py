"""What a mount holds does not grow with what is written."""

import json
import pathlib
import subprocess

SOAK = pathlib.Path(__file__).with_name("soak")
CHUNKS = 64  # of the one shard


def test_what_a_mount_keeps_does_not_grow_with_what_is_written(work, unshard_binary, measured):
    words = (SOAK, "--build", unshard_binary.parent, "--folder", work, "--shards", 1,
             "--writes", 50 * CHUNKS, "--options", "publish_after=0.05")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    last = json.loads(done.stdout.splitlines()[-2])
    assert last["publishes"] > 5 and last["errors"] == 0
    assert last["index_cache"] <= 2, "of the present generation, and of one that is read"
    assert last["nodes"] < 3 * CHUNKS
    measured(f"{last['writes']} writes, {last['publishes']} publishes, {last['nodes']} nodes")
