"""Sources behind s3:// URLs: what a mount of one shows is what a local mount shows.

The server is versitygw, as tests/servers/versitygw starts it: it verifies each signature. Objects come
to it through botocore. The fault proxy counts requests.
"""

import errno
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import botocore.config
import botocore.session
import pytest

from mount_data import PrecomputedVolume, ZarrTree, files_in
from mounting import MountFailed, wait_until
from test_remote_budgets import trips

SERVERS = pathlib.Path(__file__).resolve().parents[1] / "servers"
USER, SECRET = "unshard-tests", "unshard-tests-secret"
SECONDS = 20
BUCKET, PUBLIC, UNLISTED = "unshard-bucket", "unshard.public", "unshard-unlisted"


class Server:
    """A program that serves until `stop`, which ends it by its process id."""

    def __init__(self, *command):
        self.process = subprocess.Popen([sys.executable, *map(str, command)], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = self.process.stdout.readline().strip()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def client_of(url):
    config = botocore.config.Config(s3={"addressing_style": "path"}, retries={"max_attempts": 10})
    return botocore.session.get_session().create_client(
        "s3", endpoint_url=url, aws_access_key_id=USER, aws_secret_access_key=SECRET,
        region_name="us-east-1", config=config)


def upload(client, bucket, root):
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        client.put_object(Bucket=bucket, Key=f"data/{path.relative_to(root)}", Body=path.read_bytes())


@pytest.fixture(scope="module")
def local(module_work):
    """A directory with a precomputed volume and a Zarr tree."""
    root = module_work / "local"
    root.mkdir()
    PrecomputedVolume(root / "volume")
    ZarrTree(root / "tree")
    return root


@pytest.fixture(scope="module")
def s3(local, module_work):
    """The server: the same in a bucket of its user, in one that everybody may read, and in one that
    everybody may read and nobody else may list."""
    server = Server(SERVERS / "versitygw", module_work / "buckets")
    assert server.url, "versitygw is missing: tests/run installs it"
    server.client = client_of(server.url)

    def create():
        try:
            server.client.create_bucket(Bucket=BUCKET)
        except botocore.exceptions.EndpointConnectionError:
            return False
        return True

    assert wait_until(create, SECONDS)
    for bucket, actions, resources in (
            (PUBLIC, ["s3:GetObject", "s3:ListBucket"], [PUBLIC, f"{PUBLIC}/*"]),
            (UNLISTED, ["s3:GetObject"], [f"{UNLISTED}/*"])):
        server.client.create_bucket(Bucket=bucket)
        allowed = {"Effect": "Allow", "Principal": "*", "Action": actions,
                   "Resource": [f"arn:aws:s3:::{each}" for each in resources]}
        server.client.put_bucket_policy(
            Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [allowed]}))
    for bucket in (BUCKET, PUBLIC, UNLISTED):
        upload(server.client, bucket, local)
    yield server
    server.stop()


@pytest.fixture
def proxy(s3, work):
    """The fault proxy in front of the server; `requests()` are those since the last call."""
    server = Server(SERVERS / "fault_proxy", s3.url, work / "proxy")
    file, taken = work / "proxy" / "requests", [0]

    def requests():
        lines = file.read_text().splitlines() if file.exists() else []
        new, taken[0] = lines[taken[0]:], len(lines)
        return new

    server.requests = requests
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def no_machine_role(no_settings_of_ours, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def signed(url, **more):
    return {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": SECRET, **more}


@pytest.mark.parametrize("access", ["signed", "anonymous", "other region"])
@pytest.mark.parametrize("dataset", ["volume", "tree", ""])
def test_it_is_what_a_local_mount_shows(access, dataset, local, s3, mount):
    expected = files_in(mount(local / dataset, "ro").path)
    if access == "anonymous":
        remote = mount(f"s3://{PUBLIC}/data/{dataset}", "ro,anonymous",
                       environment={"AWS_ENDPOINT_URL": s3.url})
    else:
        region = {"AWS_REGION": "eu-west-1"} if access == "other region" else {}
        remote = mount(f"s3://{BUCKET}/data/{dataset}", "ro", environment=signed(s3.url, **region))
    assert remote.status()["read_only"]
    assert files_in(remote.path) == expected


@pytest.mark.parametrize("scheme", ["s3", "http"])
@pytest.mark.parametrize("dataset", ["volume", "tree"])
def test_a_bucket_that_may_be_read_and_not_listed_is_what_a_local_mount_shows(
        scheme, dataset, local, s3, mount, run_unshard, work):
    expected = files_in(mount(local / dataset, "ro").path)
    url = f"s3://{UNLISTED}/data/{dataset}" if scheme == "s3" else f"{s3.url}/{UNLISTED}/data/{dataset}"
    environment = {"AWS_ENDPOINT_URL": s3.url}
    remote = mount(url, "ro,anonymous", environment=environment)
    assert {name: (remote.path / name).read_bytes() for name in expected} == expected
    for name in (f"{name}x" for name in expected):
        assert not (remote.path / name).exists(), name
    if dataset == "volume":
        done = run_unshard("copy", url, work / "copied", "--format", "zarr3", "--verify",
                           env={**os.environ, **environment, "AWS_NO_SIGN_REQUEST": "1"})
        assert done.returncode == 0, done.stderr
    done = run_unshard("info", f"s3://{UNLISTED}/data/absent",
                       env={**os.environ, **environment, "AWS_NO_SIGN_REQUEST": "1"})
    assert done.returncode == 1 and "the bucket cannot be listed" in done.stderr, done.stderr


def test_a_mount_writes_nothing_and_costs_few_requests(local, s3, proxy, work, mount):
    """A volume of one scale, read-only and writable: nothing is asked to find out whether it can be."""
    counts = []
    info = json.loads((local / "volume" / "info").read_text())
    s3.client.put_object(Bucket=BUCKET, Key="one/info",
                         Body=json.dumps({**info, "scales": info["scales"][:1]}).encode())
    for options in ("ro", f"spool={work / 'spools'}"):
        remote = mount(f"s3://{BUCKET}/one", options, environment=signed(proxy.url))
        assert remote.status()["read_only"] == (options == "ro")
        asked = proxy.requests()
        assert {line.split()[0] for line in asked} == {"GET"}, asked
        counts.append(len(asked))
        remote.unmount()
    assert counts[0] == counts[1] <= 10, counts


def test_a_bucket_can_stand_in_fstab(local, s3, work, mount):
    """The endpoint, the region and the profile are options, which come before the environment."""
    (work / "home" / ".aws").mkdir()
    (work / "home" / ".aws" / "credentials").write_text(
        f"[lab]\naws_access_key_id = {USER}\naws_secret_access_key = {SECRET}\n")
    remote = mount(f"s3://{BUCKET}/data/tree", f"ro,endpoint={s3.url},region=us-east-1,profile=lab",
                   environment={"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "elsewhere",
                                "AWS_ACCESS_KEY_ID": "wrong", "AWS_SECRET_ACCESS_KEY": "wrong",
                                "AWS_PROFILE": "absent"})
    assert (remote.path / "zarr.json").read_bytes()
    assert json.loads(remote.control("config.json"))["profile"] == "lab"
    with pytest.raises(MountFailed) as failed:
        mount(f"s3://{BUCKET}/data/tree", "ro,profile=absent", environment=signed(s3.url))
    assert f"neither in {work / 'home'}/.aws/credentials nor in" in failed.value.log


def test_info_counts_what_a_local_directory_has(local, s3, run_unshard):
    def info(source):
        done = run_unshard("info", "--json", source, env={**os.environ, **signed(s3.url)})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["datasets"]

    assert info(f"s3://{BUCKET}/data") == info(local)


def test_credentials_come_from_a_profile(local, s3, work, mount):
    (work / "home" / ".aws").mkdir()
    (work / "home" / ".aws" / "credentials").write_text(
        f"[lab]\naws_access_key_id = {USER}\naws_secret_access_key = {SECRET}\n")
    (work / "home" / ".aws" / "config").write_text(
        f"[profile lab]\nregion = us-east-1\nendpoint_url = {s3.url}\n")
    remote = mount(f"s3://{BUCKET}/data/tree", "ro", environment={"AWS_PROFILE": "lab"})
    assert (remote.path / "zarr.json").read_bytes()


@pytest.mark.parametrize("command", ["schema", "info"])
def test_a_source_that_names_its_format_is_opened_once(command, s3, run_unshard, work):
    asked, program = work / "asked", work / "credentials"
    key = json.dumps({"Version": 1, "AccessKeyId": USER, "SecretAccessKey": SECRET})
    program.write_text(f"#!/bin/sh\necho >> {asked}\necho '{key}'\n")
    program.chmod(0o755)
    (work / "config").write_text(f"[default]\ncredential_process = {program}\n")
    done = run_unshard(command, f"zarr3://s3://{BUCKET}/data/tree/image", env={
        **os.environ, "AWS_ENDPOINT_URL": s3.url, "AWS_CONFIG_FILE": str(work / "config")})
    assert done.returncode == 0, done.stderr
    assert asked.read_text() == "\n", "each store asks for credentials once"


def test_credentials_come_from_cloudvolumes_secrets(s3, work, mount):
    (work / "home" / "secrets").mkdir()
    (work / "home" / "secrets" / f"{BUCKET}-aws-secret.json").write_text(
        json.dumps({"AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": SECRET}))
    remote = mount(f"s3://{BUCKET}/data/tree", "ro", environment={"AWS_ENDPOINT_URL": s3.url})
    assert (remote.path / "zarr.json").read_bytes()


@pytest.mark.parametrize("more, expected", [
    ({"AWS_SECRET_ACCESS_KEY": "password1"}, "SignatureDoesNotMatch"),
    ({"AWS_ACCESS_KEY_ID": "nobody"}, "refuses the access key"),
    ({"AWS_ACCESS_KEY_ID": ""}, "no access key id"),
    ({"AWS_NO_SIGN_REQUEST": "1"}, "not signed (anonymous)"),
    ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "none were found in"),
    ({"AWS_PROFILE": "absent"}, "the profile 'absent'"),
    ({"AWS_ENDPOINT_URL": "http://192.0.2.1:9000"}, "allow_http"),
])
def test_what_denies_access_is_told_at_the_mount(more, expected, s3, mount):
    with pytest.raises(MountFailed) as failed:
        mount(f"s3://{BUCKET}/data/tree", "ro", environment=signed(s3.url, **more))
    assert failed.value.returncode == 1
    assert expected in failed.value.log
    assert SECRET not in failed.value.log and "password1" not in failed.value.log


def test_a_missing_bucket_is_an_error_and_a_missing_dataset_is_none(s3, run_unshard):
    def info(source):
        done = run_unshard("info", source, env={**os.environ, **signed(s3.url)})
        assert done.returncode == 1
        return done.stderr

    assert "the bucket absent-bucket does not exist" in info("s3://absent-bucket/data")
    assert "no dataset found" in info(f"s3://{BUCKET}/absent")
    assert "the name of a bucket" in info("s3://x/data")


def test_secrets_are_shown_nowhere(s3, mount, run_unshard):
    remote = mount(f"s3://{BUCKET}/data/tree", "ro", environment=signed(s3.url), arguments=["-v"])
    assert (remote.path / "zarr.json").read_bytes()
    told = "\n".join([remote.control("status.json"), remote.control("config.json"),
                      remote.control("errors"), remote.control("metrics"), remote.log(),
                      pathlib.Path("/proc/self/mountinfo").read_text(),
                      pathlib.Path(f"/proc/{remote.process.pid}/cmdline").read_text(),
                      run_unshard("list").stdout])
    assert f"s3://{BUCKET}/data/tree" in told
    assert SECRET not in told and "AWS4-HMAC" not in told


def test_a_redirect_takes_no_credentials_to_another_host(s3, proxy, mount, work):
    with socket.create_server(("127.0.0.1", 0)) as other:
        location = f"http://127.0.0.1:{other.getsockname()[1]}/x"
        (work / "proxy" / "faults").write_text(f"status 307;field Location {location}\n" * 50)
        with pytest.raises(MountFailed) as failed:
            mount(f"s3://{BUCKET}/data/tree", "ro", environment=signed(proxy.url))
        assert "HTTP 307" in failed.value.log
        other.settimeout(0)
        with pytest.raises(BlockingIOError):
            other.accept()


def test_a_service_that_is_busy_is_asked_again(s3, proxy, mount, work):
    (work / "proxy" / "faults").write_text("status 503\n" * 3)
    remote = mount(f"s3://{BUCKET}/data/tree", "ro", environment=signed(proxy.url))
    assert (remote.path / "zarr.json").read_bytes()


def test_a_listing_that_fails_is_an_error_and_not_an_empty_directory(s3, proxy, mount, work):
    remote = mount(f"s3://{BUCKET}/data", "ro", environment=signed(proxy.url))
    faults = work / "proxy" / "faults"
    faults.write_text("body <html></html>;field Content-Length 13\n" * 50)
    with pytest.raises(OSError) as caught:
        os.listdir(remote.path)
    assert caught.value.errno == errno.EIO
    # The service has begun to answer before it failed.
    failure = "<Error><Code>InternalError</Code></Error>"
    faults.write_text(f"body {failure};field Content-Length {len(failure)}\n" * 2)
    assert "tree" in os.listdir(remote.path)
    assert not faults.read_text()


class NewRequests:
    """What the proxy was asked since the last call, but not before: a request whose answer is late is
    sent once more beside it."""

    def __init__(self, proxy):
        self.proxy, self.seen = proxy, set(proxy.requests())

    def __call__(self):
        new = set(self.proxy.requests()) - self.seen
        self.seen |= new
        return sorted(new)


def test_a_chunk_costs_two_requests_and_then_one(s3, proxy, mount):
    remote = mount(f"s3://{BUCKET}/data/tree", "ro,ttl=60", environment=signed(proxy.url))
    first, second = (remote.path / "image" / "c" / "3" / "3" / name for name in "01")
    assert first.parent.is_dir()
    requests = NewRequests(proxy)
    assert first.read_bytes()
    assert len(requests()) <= 2
    assert second.read_bytes()
    asked = requests()
    assert len(asked) == 1 and asked[0].startswith("GET"), "no HEAD, no index"


def test_with_a_cache_on_the_disk_the_next_mount_needs_no_index(s3, proxy, mount, work):
    time.sleep(3)  # what was modified a moment ago is not kept
    options = ["ttl=60", f"cache={work / 'cache'}"]
    parts = pathlib.Path("image", "c", "3", "3")
    for turn in range(2):
        remote = mount(f"s3://{BUCKET}/data/tree", options, environment=signed(proxy.url))
        assert (remote.path / parts).is_dir()
        requests = NewRequests(proxy)
        assert (remote.path / parts / str(turn)).read_bytes()
        assert len([line for line in requests() if "GET" in line]) == (2 if turn == 0 else 1)
        assert (remote.path / parts / "0").read_bytes()
        assert requests() == [], "its bytes are there as well"
        remote.unmount()
    assert not any(SECRET.encode() in path.read_bytes() or BUCKET.encode() in path.read_bytes()
                   for path in (work / "cache").rglob("*") if path.is_file())


def test_a_listing_costs_one_request_a_thousand_names(s3, proxy, mount):
    for number in range(1100):
        s3.client.put_object(Bucket=BUCKET, Key=f"data/tree/many/{number}", Body=b"")
    remote = mount(f"s3://{BUCKET}/data/tree", "ro", environment=signed(proxy.url))
    proxy.requests()
    assert sorted(os.listdir(remote.path / "many"), key=int) == [str(each) for each in range(1100)]
    assert len([line for line in proxy.requests() if "list-type" in line and "max-keys=1000" in line]) == 2


# Of arrays of 12 shards below each of 4 columns, and of a shard for each of 12 columns: an N5 view has
# a directory a column, with a name a row. At the top the shards that exist are listed before they are asked for.
@pytest.mark.parametrize("access, asked, most", [("ro", "rows/2", 2), ("rw", "rows/2", 2), ("rw", "columns", 3)])
def test_a_listing_of_a_view_waits_for_few_requests_in_a_row(access, asked, most, s3, proxy, mount, work):
    import zarr

    folder = work / "viewed"
    for name, shape, shards in (("rows", (48, 8), (4, 2)), ("columns", (8, 24), (8, 2))):
        array = zarr.create_array(folder / name, shape=shape, dtype="u1", chunks=(2, 2), shards=shards,
                                  compressors=None, filters=None, fill_value=0)
        array[...] = 1
    upload(s3.client, BUCKET, folder)
    remote = mount(f"s3://{BUCKET}/data/{asked.split('/')[0]}", f"{access},ttl=600,view=n5",
                   environment=signed(proxy.url))
    folder = remote.path / "/".join(asked.split("/")[1:])
    assert folder.is_dir()
    times = work / "proxy" / "times"
    before = len(times.read_text().splitlines())
    (work / "proxy" / "delay").write_text("1")
    expected = 24 if asked.startswith("rows") else 12
    assert len([name for name in os.listdir(folder) if name.isdigit()]) == expected
    lines = [line.split() for line in times.read_text().splitlines()[before:]]
    requests = [(float(begun), float(ended)) for begun, ended, *_ in lines]
    assert len(requests) >= 12 and trips(requests) <= most, lines


def test_datasets_are_created_in_buckets(s3, run_unshard, work):
    arguments = ("--format", "zarr3", "--shape", "8,8", "--dtype", "uint8", "--chunk", "2,2", "--shard",
                 "4,4")
    environment = {**os.environ, **signed(s3.url)}
    url = f"s3://{BUCKET}/made/deep/a"
    done = run_unshard("create", url, *arguments, env=environment)
    assert done.returncode == 0, done.stderr
    local = run_unshard("create", work / "a", *arguments)
    assert local.returncode == 0, local.stderr
    body = s3.client.get_object(Bucket=BUCKET, Key="made/deep/a/zarr.json")["Body"].read()
    assert body == (work / "a/zarr.json").read_bytes()
    assert run_unshard("schema", url, env=environment).stdout == \
        run_unshard("schema", work / "a").stdout
    again = run_unshard("create", url, *arguments, env=environment)
    assert again.returncode == 1 and "there is a dataset already (zarr.json)" in again.stderr
    listed = s3.client.list_objects_v2(Bucket=BUCKET, Prefix="made/")["Contents"]
    assert [each["Key"] for each in listed] == ["made/deep/a/zarr.json"]
