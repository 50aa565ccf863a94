"""Sources in Google Cloud Storage: what a mount of gs:// shows is what a local mount shows.

The server is fake-gcs-server, as tests/servers/fake_gcs starts it, which asks nobody for tokens;
tests/servers/gcs_gate in front of it does. Public objects are those for which it asks for none.
"""

import errno
import json
import os
import pathlib
import socket
import urllib.parse
import urllib.request

import pytest

from mount_data import PrecomputedVolume, VersionedVolume, VersionedZarr, ZarrTree, kernel_caches, refused
from mounting import MountFailed, wait_until
from test_http import SECONDS, SERVERS, Server, answers, files_in
from watch_chunks import version_of

SECRETS = ("secret-", "client secret", "1//refresh", "PRIVATE KEY", "Bearer")


@pytest.fixture(scope="module")
def buckets(module_work):
    """The directory whose directories are buckets: one with a precomputed volume and a Zarr tree."""
    import zarr

    root = module_work / "buckets"
    (root / "bucket").mkdir(parents=True)
    PrecomputedVolume(root / "bucket" / "volume")
    ZarrTree(root / "bucket" / "tree")
    # Where nobody may list, nothing else names its array.
    zarr.consolidate_metadata(root / "bucket" / "tree")
    return root


@pytest.fixture(scope="module")
def emulator(buckets):
    server = Server(SERVERS / "fake_gcs", buckets)
    server.url = server.urls[0]
    assert wait_until(lambda: answers(f"{server.url}/_internal/healthcheck"), SECONDS)
    server.environment = {"STORAGE_EMULATOR_HOST": server.url.removeprefix("http://")}
    yield server
    server.stop()


class Gate(Server):
    """tests/servers/gcs_gate."""

    def __init__(self, upstream, work):
        super().__init__(SERVERS / "gcs_gate", upstream, work)
        self.work = work
        # NO_GCE_CHECK: no test asks a metadata server that is not ours.
        self.anonymous = {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": self.urls[0],
                          "NO_GCE_CHECK": "true", "HOME": str(work)}
        self.service = {**self.anonymous,
                        "GOOGLE_APPLICATION_CREDENTIALS": str(work / "service.json")}
        self.user = {**self.anonymous, "GOOGLE_APPLICATION_CREDENTIALS": str(work / "user.json")}
        self.machine = {**self.anonymous, "NO_GCE_CHECK": "",
                        "GCE_METADATA_HOST": self.urls[0].removeprefix("http://")}

    def set(self, *words):
        (self.work / "settings").write_text(" ".join(words))

    def requests(self):
        """[(method, path and query, kind of token), …] so far."""
        return [tuple(line.split(" "))
                for line in (self.work / "requests").read_text().splitlines()]


@pytest.fixture
def gate(emulator, work):
    server = Gate(emulator.url, work / "gate")
    (work / "gate" / "requests").touch()
    yield server
    server.stop()


@pytest.mark.parametrize("dataset", ["volume", "tree"])
def test_it_is_what_a_local_mount_shows(dataset, buckets, emulator, mount):
    local = mount(buckets / "bucket" / dataset, "ro")
    remote = mount(f"gs://bucket/{dataset}", "ro", environment=emulator.environment)
    assert files_in(remote.path) == files_in(local.path)


def test_a_bucket_of_several_datasets(buckets, emulator, mount):
    local = mount(buckets / "bucket", "ro")
    remote = mount("gs://bucket", "ro", environment=emulator.environment)
    assert sorted(os.listdir(remote.path)) == ["tree", "volume"]
    assert files_in(remote.path) == files_in(local.path)


def test_info_counts_what_a_local_directory_has(buckets, emulator, run_unshard):
    def info(source):
        done = run_unshard("info", "--json", source, env={**os.environ, **emulator.environment})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["datasets"]

    assert info("gs://bucket/tree") == info(buckets / "bucket" / "tree")
    assert info("gs://bucket/volume") == info(buckets / "bucket" / "volume")


def test_datasets_are_created_in_buckets(emulator, run_unshard, work):
    arguments = ("--format", "precomputed", "--shape", "80,80,80", "--dtype", "uint8", "--chunk",
                 "16,16,16", "--shard", "64,64,64", "--scales", "2")
    environment = {**os.environ, **emulator.environment}
    done = run_unshard("create", "gs://bucket/made/volume", *arguments, env=environment)
    assert done.returncode == 0, done.stderr
    assert run_unshard("create", work / "volume", *arguments).returncode == 0
    for key in ("1_1_1", "2_2_2"):
        made = run_unshard("schema", "gs://bucket/made/volume", key, env=environment)
        assert made.stdout == run_unshard("schema", work / "volume", key).stdout != ""
    again = run_unshard("create", "gs://bucket/made/volume", *arguments, env=environment)
    assert again.returncode == 1 and "there is a dataset already (info)" in again.stderr


def test_writing_is_refused(emulator, mount):
    remote = mount("gs://bucket/tree", "ro", environment=emulator.environment)
    refused(errno.EROFS, (remote.path / "new").write_bytes, b"")
    assert remote.status()["read_only"]
    assert remote.status()["source"] == "gs://bucket/tree"


@pytest.mark.parametrize("kind", ["service", "user", "machine"])
def test_a_credential_gets_tokens(kind, buckets, gate, mount):
    local = mount(buckets / "bucket" / "volume", "ro")
    remote = mount("gs://bucket/volume", "ro", environment=getattr(gate, kind))
    assert files_in(remote.path) == files_in(local.path)
    kinds = [each for _, path, each in gate.requests() if path.startswith("/storage/")]
    # The token of a service account is one that only reads.
    assert set(kinds) == {"reader" if kind == "service" else kind}
    fetches = [path for _, path, each in gate.requests() if each == "none"]
    assert len(fetches) == 1, fetches


def test_a_token_that_is_refused_is_renewed(buckets, gate, mount):
    remote = mount("gs://bucket/tree", "ro", environment=gate.user)
    gate.set("expire")
    assert files_in(remote.path) == files_in(mount(buckets / "bucket" / "tree", "ro").path)
    assert remote.control("errors") == ""


def test_public_data_need_no_credential_and_no_listing(buckets, gate, mount):
    expected = files_in(mount(buckets / "bucket" / "volume", "ro").path)
    for words in (["public"], ["unlisted"]):
        gate.set(*words)
        remote = mount("gs://bucket/volume", "ro", environment=gate.anonymous)
        assert (remote.path / "notes.txt").read_bytes() == expected["notes.txt"]
        shown = files_in(remote.path)
        # Nothing mentions it: where nobody may list, it is found by its name only.
        assert shown == {k: v for k, v in expected.items() if "public" in words or k != "notes.txt"}
        assert not (remote.path / "absent").exists()
        assert {each for _, _, each in gate.requests()} == {"none"}


def message(run_unshard, url, environment):
    done = run_unshard("info", url, env={**os.environ, **environment})
    assert done.returncode == 1
    assert not any(secret in done.stderr for secret in SECRETS), done.stderr
    return done.stderr


def test_messages_say_what_is_wrong(emulator, gate, run_unshard, work):
    told = message(run_unshard, "gs://no-such-bucket/volume", emulator.environment)
    assert "gs://no-such-bucket/volume: there is no bucket of this name" in told
    told = message(run_unshard, "gs://bucket/nothing", emulator.environment)
    assert "gs://bucket/nothing: no dataset found" in told
    told = message(run_unshard, "gs://bucket/volume", gate.anonymous)
    assert "Anonymous caller does not have storage.objects.get access" in told
    gate.set("refuse")
    told = message(run_unshard, "gs://bucket/volume", gate.user)
    assert "the user's login" in told and "invalid_grant" in told
    broken = work / "broken.json"
    broken.write_text('{"type": "service_account", "private_key": "secret-1"}')
    told = message(run_unshard, "gs://bucket/volume",
                   {**gate.anonymous, "GOOGLE_APPLICATION_CREDENTIALS": str(broken)})
    assert str(broken) in told and "client_email" in told
    told = message(run_unshard, "gs://bucket/volume", {"STORAGE_EMULATOR_HOST": "127.0.0.1:1"})
    assert "gs://bucket/volume" in told and "connect" in told.lower()


def test_secrets_are_shown_nowhere(gate, mount, run_unshard):
    with pytest.raises(MountFailed) as failed:
        gate.set("refuse")
        mount("gs://bucket/tree", "ro", environment=gate.service)
    gate.set()
    remote = mount("gs://bucket/tree", "ro", environment=gate.service, arguments=["--verbose"])
    files_in(remote.path)
    gate.set("refuse", "expire")
    with pytest.raises(OSError):
        (remote.path / "image" / "absent").read_bytes()
    process = pathlib.Path(f"/proc/{remote.process.pid}")
    told = "\n".join([str(failed.value), remote.control("status.json"),
                      remote.control("config.json"), remote.control("errors"),
                      remote.control("metrics"), remote.log(), (process / "cmdline").read_text(),
                      pathlib.Path("/proc/self/mountinfo").read_text(), run_unshard("list").stdout])
    assert "gs://bucket/tree" in told
    assert not [secret for secret in SECRETS if secret in told]


def test_a_redirect_takes_no_token_to_another_host(gate, work, mount):
    proxy = Server(SERVERS / "fault_proxy", gate.urls[0], work / "proxy")
    try:
        with socket.create_server(("127.0.0.1", 0)) as other:
            location = f"http://127.0.0.1:{other.getsockname()[1]}/x"
            (work / "proxy" / "faults").write_text(f"status 307;field Location {location}\n" * 50)
            with pytest.raises(MountFailed):
                mount("gs://bucket/tree",
                      environment={**gate.service,
                                   "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": proxy.urls[0]})
            other.settimeout(0)
            try:
                request = other.accept()[0].recv(65536).decode(errors="replace").lower()
            except BlockingIOError:
                request = ""
            assert "authorization" not in request and "bearer" not in request
        assert (work / "proxy" / "requests").read_text(), "it was asked"
    finally:
        proxy.stop()


def test_requests_are_within_their_budget(gate, buckets, mount, measured):
    gate.set("public")
    remote = mount("gs://bucket/volume", "ro,ttl=600", environment=gate.anonymous)
    mounting = len(gate.requests())
    shards = os.listdir(buckets / "bucket" / "volume" / "coarse")
    shown = sorted(path.name for path in (remote.path / "coarse").iterdir())
    listing = len(gate.requests()) - mounting
    counts = []
    for name in shown:
        before = len(gate.requests())
        (remote.path / "coarse" / name).read_bytes()
        counts.append(len(gate.requests()) - before)
    measured(f"gs://: {mounting} requests to mount, {listing} to list {len(shown)} chunks of "
             f"{len(shards)} shards, {max(counts)} at most for a chunk")
    # The shard indexes are there since the listing.
    assert set(counts) <= {0, 1}, counts
    assert all("/o/" not in path or "alt=media" in path for _, path, _ in gate.requests())


class Uploaded:
    """A dataset whose shards are replaced in the bucket."""

    def __init__(self, source, emulator, mounted):
        self.source, self.url, self.path = source, emulator.url, mounted.path

    def publish(self, version, leave_out=()):
        for shard in self.source.shards:
            self.source.publish(shard, version, leave_out)
            upload(self.url, self.source.path, self.source.shard_path(shard))

    def version(self, number):
        try:
            return version_of(number, (self.path / self.source.names[number]).read_bytes())
        except FileNotFoundError:
            return None

    def shows(self, version):
        return wait_until(lambda: all(self.version(n) == version for n in self.source.names), SECONDS)


def upload(url, root, path):
    name = urllib.parse.quote(f"{root.name}/{path.relative_to(root)}", safe="")
    urllib.request.urlopen(f"{url}/upload/storage/v1/b/bucket/o?uploadType=media&name={name}",
                           data=path.read_bytes(), timeout=SECONDS).close()


@pytest.fixture(params=["precomputed", "precomputed gzip", "zarr"])
def uploaded(request, emulator, work, mount):
    name = request.param.replace(" ", "-") + "-versions"
    if request.param == "zarr":
        source = VersionedZarr(work / name)
    else:
        source = VersionedVolume(work / name, gzip_data=request.param.endswith("gzip"))
    for path in sorted(source.path.rglob("*")):
        if path.is_file():
            upload(emulator.url, source.path, path)
    return Uploaded(source, emulator, mount(f"gs://bucket/{name}", "ro", environment=emulator.environment))


def test_a_replaced_shard_is_seen_and_never_mixed(uploaded):
    # Pages that are dropped within the ttl after a replacement cannot be read again (ESTALE).
    with kernel_caches():
        uploaded.publish(1)
        assert uploaded.shows(1)
        for version in range(2, 5):
            uploaded.publish(version)
            # Each read is of one version (version_of checks every byte), and none fails.
            seen = {uploaded.version(n) for n in uploaded.source.names}
            assert seen <= {version - 1, version}
            assert uploaded.shows(version)
