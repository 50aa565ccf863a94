"""Buckets that tests write into through mounts: one of S3 served by versitygw, one of GCS served by
fake-gcs-server. Their methods read and replace objects without a mount."""

import json
import pathlib
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import botocore.config
import botocore.session

from mounting import freeze, wait_until

SERVERS = pathlib.Path(__file__).resolve().parents[1] / "servers"
USER, SECRET = "unshard-tests", "unshard-tests-secret"
BUCKET = "unshard-bucket"
SECONDS = 30
KINDS = ["s3", "gs"]


class Server:
    """A program of tests/servers; it runs until `stop`."""

    def __init__(self, *command, environment=None):
        self.process = subprocess.Popen([sys.executable, *map(str, command)], text=True,
                                        env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.url = self.process.stdout.readline().strip()
        assert self.url and self.url != "missing", f"{command[0]} is missing: tests/run installs it"

    def pause(self):
        """From now on the server answers nothing, until `go_on`."""
        freeze(self.process.pid)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class S3Bucket:
    scheme = "s3"

    def __init__(self, server, seen_at=None, region="us-east-1"):
        self.server = server
        url = seen_at or server.url
        self.environment = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": USER,
                            "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": region,
                            "AWS_EC2_METADATA_DISABLED": "true"}
        config = botocore.config.Config(s3={"addressing_style": "path"},
                                        retries={"max_attempts": 10})
        self.client = botocore.session.get_session().create_client(
            "s3", endpoint_url=server.url, aws_access_key_id=USER, aws_secret_access_key=SECRET,
            region_name=region, config=config)

    def seen_at(self, url):
        """The environment of a mount that reaches the server through a proxy at `url`."""
        return {**self.environment, "AWS_ENDPOINT_URL": url}

    def create(self):
        def created():
            try:
                self.client.create_bucket(Bucket=BUCKET)
            except botocore.exceptions.EndpointConnectionError:
                return False
            return True

        assert wait_until(created, SECONDS)
        return self

    def keys(self, prefix=""):
        found, more = [], {}
        while True:
            page = self.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix, **more)
            found += [each["Key"] for each in page.get("Contents", [])]
            if not page.get("IsTruncated"):
                return found
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def get(self, key):
        try:
            return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        except self.client.exceptions.NoSuchKey:
            return None

    def put(self, key, data):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)


class GcsBucket:
    scheme = "gs"

    def __init__(self, server, seen_at=None):
        self.server = server
        self.url = server.url
        self.environment = {"STORAGE_EMULATOR_HOST": (seen_at or server.url).removeprefix("http://")}

    def seen_at(self, url):
        return {"STORAGE_EMULATOR_HOST": url.removeprefix("http://")}

    def _ask(self, path, data=None, method=None):
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.read()

    def create(self):
        def created():
            try:
                self._ask("/storage/v1/b", b'{"name":"%s"}' % BUCKET.encode())
            except urllib.error.URLError:
                return False
            return True

        assert wait_until(created, SECONDS)
        return self

    def keys(self, prefix=""):
        page = json.loads(self._ask(f"/storage/v1/b/{BUCKET}/o?maxResults=10000&prefix="
                                    + urllib.parse.quote(prefix, safe="")))
        return [each["name"] for each in page.get("items", [])]

    def get(self, key):
        try:
            return self._ask(f"/storage/v1/b/{BUCKET}/o/{urllib.parse.quote(key, safe='')}?alt=media")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def put(self, key, data):
        self._ask(f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name="
                  + urllib.parse.quote(key, safe=""), data, "POST")


def open_bucket(kind, work):
    if kind == "s3":
        return S3Bucket(Server(SERVERS / "versitygw", work / "buckets")).create()
    return GcsBucket(Server(SERVERS / "fake_gcs")).create()


def upload(bucket, root, prefix):
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        bucket.put(f"{prefix}/{path.relative_to(root)}", path.read_bytes())


def download(bucket, prefix, root):
    """Writes the objects of the bucket as files, for programs that read directories only."""
    for key in bucket.keys(prefix + "/"):
        path = root / key.removeprefix(prefix + "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bucket.get(key))
    return root
