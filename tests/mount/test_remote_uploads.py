"""Reading from mounts of s3:// and gs:// while a shard of theirs is uploaded."""

import concurrent.futures
import os
import time

import pytest

from mounting import wait_until
from remote_stores import SERVERS, Server
from test_remote_writing import bytes_of, remote, store  # noqa: F401  (two of them are fixtures)
from write_data import flush, write_file

from line_source import LineSource

pytestmark = pytest.mark.usefixtures("no_settings_of_ours")


def test_readers_of_a_shard_do_not_wait_for_its_upload(remote, work):
    """The store takes a shard only when the test ends that; meanwhile what is known is shown."""
    source = LineSource(str(work / "array"), "zarr.", shards=1, per_shard=8).create()
    remote.upload(work / "array")
    proxy = Server(SERVERS / "fault_proxy", remote.store.server.url, work / "proxy")
    log = work / "proxy" / "requests"
    remote.environment = remote.store.seen_at(proxy.url)
    mounted = remote.mount()
    for chunk in range(2):
        write_file(mounted.path / source.name(chunk), bytes_of(chunk))
    flush(mounted)
    names = sorted(os.listdir(mounted.path))
    method = {"s3": "PUT", "gs": "POST"}[remote.store.scheme]
    write_file(mounted.path / source.name(0), bytes_of(0, counter=2))
    (work / "proxy" / "faults").write_text(f"on {method};hold\n")
    begun = len(log.read_text().splitlines())
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            flushed = pool.submit(flush, mounted)
            sent = lambda: log.read_text().splitlines()[begun:]
            assert wait_until(lambda: any(line.startswith(method + " ") for line in sent()), 30)
            time.sleep(1.1)  # the ttl: what is known of the shard is older
            before = len(sent())
            assert sorted(pool.submit(os.listdir, mounted.path).result(30)) == names
            assert pool.submit((mounted.path / source.name(1)).stat).result(30).st_size == 4096
            # The directory is listed, by its own names and by its shards; the shard is not asked for.
            meanwhile = sent()[before:]
            assert len(meanwhile) <= 2 and not any("c.0.0" in line for line in meanwhile), meanwhile
            assert not flushed.done()
        finally:
            (work / "proxy" / "release").touch()
        flushed.result(60)
    assert (mounted.path / source.name(0)).read_bytes() == bytes_of(0, counter=2)
    mounted.unmount()
    proxy.stop()
