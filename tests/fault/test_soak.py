"""What a mount holds does not grow with what is written, nor with the threads that have served it."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

from faults import locked
from line_source import LineSource, value
from mounting import wait_until

SOAK = pathlib.Path(__file__).with_name("soak")
CHUNKS = 64  # of the one shard
THREADS = 24
BUFFER_KB = 1024  # of each of them
# glibc fills what malloc gives with this byte: all pages of it are in memory then.
FILLED = {"MALLOC_PERTURB_": "165"}


def test_what_a_mount_keeps_does_not_grow_with_what_is_written(work, unshard_binary, measured):
    words = (SOAK, "--build", unshard_binary.parent, "--folder", work, "--shards", 1,
             "--writes", 50 * CHUNKS, "--options", "publish_after=0.05")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    last = json.loads(done.stdout.splitlines()[-2])
    assert last["publishes"] > 2 and last["errors"] == 0
    assert last["index_cache"] <= 2, "one of the current generation, one of the generation that is being read"
    assert last["nodes"] < 3 * CHUNKS
    measured(f"{last['writes']} writes, {last['publishes']} publishes, {last['nodes']} nodes")


def of_process(mounted, member):
    text = pathlib.Path(f"/proc/{mounted.process.pid}/status").read_text()
    return int(re.search(rf"^{member}:\s+(\d+)", text, re.MULTILINE)[1])


def put_durably(mounted, source, chunk):
    with open(mounted.path / source.name(chunk), "wb", buffering=0) as file:
        file.write(value(chunk, 1, 1, source.chunk_bytes))
        os.fsync(file.fileno())


def test_a_thread_takes_no_memory_that_its_requests_do_not_need(work, mount):
    source = LineSource(str(work / "source"), "zarr.", shards=1, per_shard=CHUNKS).create()
    mounted = mount(source.path, "sync=store,no_io_uring", environment=FILLED)
    before = of_process(mounted, "RssAnon")
    with concurrent.futures.ThreadPoolExecutor(THREADS) as programs:
        with locked(source.shard_path(0)):  # each request waits, in a thread of its own
            written = [programs.submit(put_durably, mounted, source, chunk) for chunk in range(THREADS)]
            assert wait_until(lambda: of_process(mounted, "Threads") >= THREADS, 30)
            held = of_process(mounted, "RssAnon") - before
        for each in written:
            each.result()
    assert held < THREADS * BUFFER_KB / 4, f"{held} kB more"
