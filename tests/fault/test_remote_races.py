"""Several mounts that write the same shards of one bucket, through a network that loses requests and
answers: nothing acknowledged is lost, and no reader sees half a value.

Each mount is a process with caches and a spool of its own. UNSHARD_RACE_SECONDS: how long the race of
each server goes on (default 60 is 20 seconds of writing here, and what follows it).
"""

import contextlib
import os
import random
import time

import pytest

from chunk_writer import WHOLE
from faults import Writers, flush, kill, write_state
from history import History
from line_source import LineSource
from mounting import wait_until
from networks import Network
from remote_stores import BUCKET, SERVERS, S3Bucket, Server, download, upload

pytestmark = pytest.mark.usefixtures("no_settings_of_ours")

SECONDS = float(os.environ.get("UNSHARD_RACE_SECONDS", "60")) / 3
MOUNTS, WRITERS = 4, 4  # writers of each mount
FAULTS = ["lost=0.03", "never=0.02", "busy=0.03", "again=0.05", "seed=1"]


@pytest.fixture(params=["versitygw", pytest.param("radosgw", marks=pytest.mark.long)])
def bucket(request, work):
    arguments = [work / "server"]
    server = Server(SERVERS / request.param, *arguments)
    proxy = Server(SERVERS / "unreliable_proxy", server.url, work / "proxy", "listen=0.0.0.0", *FAULTS)
    proxy.url = proxy.url.replace("0.0.0.0", "127.0.0.1")
    made = S3Bucket(server, seen_at=proxy.url,
                    region="default" if request.param == "radosgw" else "us-east-1").create()
    made.kind, made.proxy_work = request.param, work / "proxy"
    yield made
    proxy.stop()
    server.stop()


class Race:
    def __init__(self, bucket, mount, work, kind="zarr/"):
        self.bucket, self.make, self.work = bucket, mount, work
        self.source = LineSource(str(work / "source"), kind, shards=4, per_shard=16).create()
        upload(bucket, work / "source", "race")
        self.mounts = [None] * MOUNTS
        self.networks = []  # one a mount; none: all are in that of the test

    def mount(self, number):
        options = f"spool={self.work}/spools-{number},publish_after=0.3,ttl=0.2,allow_http"
        environment, prefix = dict(self.bucket.environment), ()
        if self.networks:
            network = self.networks[number]
            prefix = network.prefix
            environment["AWS_ENDPOINT_URL"] = environment["AWS_ENDPOINT_URL"].replace(
                "127.0.0.1", network.gateway)
        self.mounts[number] = self.make(f"s3://{BUCKET}/race", options, environment=environment,
                                        point=self.work / f"mnt-{number}", prefix=prefix)
        return self.mounts[number]

    def calm(self):
        """From now on the network is a good one."""
        (self.bucket.proxy_work / "faults").write_text("seed=1")
        time.sleep(2.5)  # what is sent again later has arrived

    def stored(self):
        copy = self.work / f"copy-{time.monotonic_ns()}"
        download(self.bucket, "race", copy)
        return LineSource(str(copy), self.source.kind, shards=4, per_shard=16).read_values()

    def drain(self):
        for mounted in self.mounts:
            assert wait_until(lambda: self.flushed(mounted), 120), write_state(mounted)

    @staticmethod
    def flushed(mounted):
        try:
            flush(mounted)
        except OSError:
            return False
        return True


@pytest.fixture
def race(bucket, mount, work):
    return Race(bucket, mount, work)


def start_writers(programs, race, seconds, first=1, own=False, **more):
    count = race.source.count
    for number, mounted in enumerate(race.mounts):
        for writer in range(WRITERS):
            identity = number * WRITERS + writer
            mine = range(identity, count, MOUNTS * WRITERS) if own else range(count)
            programs.start(race.source, mounted.path, race.work / "journal", identity, seconds, WHOLE,
                           chunks=list(mine), stop_at_error=False, first=first, pause=0.01, **more)


def judge(history, found):
    assert not history.torn, history.torn[:5]
    lost = history.lost(found)
    assert not lost, f"{len(lost)} lost: {lost[:5]}"


def test_sixteen_writers_at_four_mounts_lose_nothing(race, measured):
    """Each writer has chunks of its own in shards that all share."""
    for number in range(MOUNTS):
        race.mount(number)
    with Writers() as programs:
        start_writers(programs, race, SECONDS, own=True)
        programs.wait(SECONDS + 60)
    race.calm()
    race.drain()
    history = History().load(race.work / "journal")
    judge(history, race.stored())
    assert not history.errors(), history.failures()
    assert history.acknowledged > 5 * SECONDS
    states = [write_state(mounted) for mounted in race.mounts]
    assert all(state["dirty_chunks"] == 0 for state in states)
    assert sum(state["conflicts"] for state in states) == 0, states
    # Chunks that others have written are seen.
    time.sleep(0.5)
    for mounted in race.mounts:
        assert not history.lost(race.source.shown_values(mounted.path))
    measured(f"four mounts of {race.bucket.kind}: {history.acknowledged} acknowledged writes in "
             f"{SECONDS:g} s, 0 lost, {sum(state['publishes'] for state in states)} publishes, "
             f"{sum(state['publish_failures'] for state in states)} of them repeated")


def test_killed_at_any_time_they_lose_nothing(race, measured):
    """One mount after the other is killed and mounted again, under its writers."""
    for number in range(MOUNTS):
        race.mount(number)
    kills, chance, until = 0, random.Random(7), time.monotonic() + SECONDS
    first = 1
    while time.monotonic() < until or kills < 2:
        victim = chance.randrange(MOUNTS)
        with Writers() as programs:
            start_writers(programs, race, 2, first=first, own=True)
            programs.await_ready()
            time.sleep(chance.uniform(0.2, 1.8))
            kill(race.mounts[victim])
            programs.wait(60)
        race.mount(victim)
        kills += 1
        first += 100000
    race.calm()
    race.drain()
    history = History().load(race.work / "journal")
    judge(history, race.stored())
    states = [write_state(mounted) for mounted in race.mounts]
    assert sum(state["conflicts"] for state in states) == 0, states
    measured(f"four mounts of {race.bucket.kind}, killed {kills} times: {history.acknowledged} "
             "acknowledged writes, 0 lost")


def test_mounts_whose_networks_fail_one_by_one_lose_nothing(race, measured):
    """Each mount has a network of its own, of which the cable is pulled now and then: to the others
    its writers are gone, and what they close waits in its spool."""
    with contextlib.ExitStack() as networks:
        race.networks = [networks.enter_context(Network()) for _ in range(MOUNTS)]
        for number in range(MOUNTS):
            race.mount(number)
        cuts, chance, until = 0, random.Random(11), time.monotonic() + SECONDS
        with Writers() as programs:
            start_writers(programs, race, SECONDS, own=True)
            programs.await_ready()
            while time.monotonic() < until or cuts < 2:
                network = race.networks[chance.randrange(MOUNTS)]
                network.cut()
                time.sleep(chance.uniform(0.2, 2))
                network.join()
                time.sleep(chance.uniform(0.1, 1))
                cuts += 1
            programs.wait(SECONDS + 90)
        race.calm()
        race.drain()
        history = History().load(race.work / "journal")
        judge(history, race.stored())
        assert cuts >= 2 and history.acknowledged > 5 * SECONDS
        states = [write_state(mounted) for mounted in race.mounts]
        assert sum(state["conflicts"] for state in states) == 0, states
        measured(f"four mounts of {race.bucket.kind} in networks of their own, cut {cuts} times: "
                 f"{history.acknowledged} acknowledged writes, 0 lost")
        for mounted in race.mounts:
            mounted.unmount()


def test_writers_of_the_same_chunks_leave_whole_values(race):
    """Of two mounts that write one chunk the last to publish wins: any value that was written last by
    some mount may stand there in the end, and only such."""
    for number in range(MOUNTS):
        race.mount(number)
    with Writers() as programs:
        start_writers(programs, race, SECONDS / 4)
        programs.wait(SECONDS + 60)
    race.calm()
    race.drain()
    history = History().load(race.work / "journal")
    assert not history.torn, history.torn[:5]
    found = race.stored()
    for chunk, who in found.items():
        last = set()
        for number in range(MOUNTS):
            mine = [write for write in history.writes[chunk]
                    if write.value is not None and write.value[0] // WRITERS == number]
            # Of writes of one mount that overlap either may be the last, and one that failed may
            # have had its effect.
            last |= {write.value for write in mine
                     if not any(other.acknowledged and other.begin > write.end for other in mine)}
        removed = any(write.value is None for write in history.writes[chunk])
        assert who in last or (who is None and (removed or not last)), (chunk, who, last)
