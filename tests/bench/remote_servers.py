"""Servers that datasets are read from, and the way to them.

A server serves the folder of all datasets, says how each contestant is told where something is, and
counts the requests that it has answered. To add one: a class like Nginx, and its line in SERVERS.
"""

import json
import pathlib
import re
import socket
import subprocess
import sys
import time

from mounting import wait_until

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "servers"
START_SECONDS = 20
SETTLE_SECONDS = 0.05  # the last line of a log comes after the last byte of its answer


class Program:
    """A program that says in its first line where it listens, and is ended by its process id."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(part) for part in command], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.line = self.process.stdout.readline().strip()
        self.address = self.line.split("//")[-1]  # HOST:PORT
        if not wait_until(self._listens, START_SECONDS):
            self.stop()
            raise RuntimeError(f"{command[0]} does not serve: {self.line or 'it has ended'}")

    def _listens(self):
        host, _, port = self.address.partition(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except (OSError, ValueError):
            return False
        return True

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Nginx:
    """tests/servers/nginx: plain HTTP with ranges."""

    name = "nginx"

    def __init__(self, root, work):
        self.root = root
        self.program = Program(sys.executable, SCRIPTS / "nginx", root, work)
        self.address = self.program.address
        self.log = work / "requests"
        self.taken = 0

    def stop(self):
        self.program.stop()

    speaks_s3 = False

    # Of the directory `path` below the served folder, for those who reach the server at `address`:
    def source(self, address, path):
        """For unshard: variables of its environment, the URL, mount options."""
        return {}, self.url(address, path), []

    def copied(self, address, path):
        """The same for unshard copy, which has no mount options."""
        return {}, self.url(address, path)

    def url(self, address, path):
        return f"http://{address}/plain/{path}"

    def rclone(self, address, path):
        """Arguments that name it, with listings, which HTTP knows only as pages of links."""
        return [":http:", "--http-url", f"http://{address}/listed/{path}/"]

    def take_requests(self):
        """Requests answered since the last call: how many, and how many bytes of objects in all."""
        time.sleep(SETTLE_SECONDS)
        with open(self.log, "rb") as log:
            log.seek(self.taken)
            text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        self.taken += len(text)
        lines = text.decode().splitlines()
        return {"count": len(lines), "bytes": sum(map(self._size, lines))}

    def _size(self, line):
        asked = re.match(r'GET (\S+) "(?:bytes=(\d*)-(\d*)|-)" .* 20[06]$', line)
        if not asked:
            return 0
        target, first, last = asked.groups()
        path = self.root / target.split("/", 2)[2]
        size = path.stat().st_size if path.is_file() else 0
        if first:
            return min(int(last) + 1 if last else size, size) - int(first)
        return min(int(last), size) if last else size


class Versitygw:
    """tests/servers/versitygw: S3, with a bucket that everybody may read. Datasets are uploaded when they
    are first asked for."""

    name = "versitygw"
    speaks_s3 = True
    BUCKET = "bench"

    def __init__(self, root, work):
        self.root = root
        self.log = work / "requests"
        work.mkdir(parents=True, exist_ok=True)
        self.program = Program(sys.executable, SCRIPTS / "versitygw", work / "buckets", self.log)
        self.address = self.program.address
        self.client = self._connect()
        self.client.create_bucket(Bucket=self.BUCKET)
        names = [f"arn:aws:s3:::{self.BUCKET}", f"arn:aws:s3:::{self.BUCKET}/*"]
        allowed = {"Effect": "Allow", "Principal": "*", "Action": ["s3:GetObject", "s3:ListBucket"],
                   "Resource": names}
        self.client.put_bucket_policy(
            Bucket=self.BUCKET, Policy=json.dumps({"Version": "2012-10-17", "Statement": [allowed]}))
        self.uploaded = set()
        self.taken = 0

    def _connect(self):
        import botocore.config
        import botocore.session

        config = botocore.config.Config(s3={"addressing_style": "path"})
        return botocore.session.get_session().create_client(
            "s3", endpoint_url=f"http://{self.address}", aws_access_key_id="unshard-tests",
            aws_secret_access_key="unshard-tests-secret", region_name="us-east-1", config=config)

    def _upload(self, path):
        if path in self.uploaded:
            return
        for file in sorted(each for each in (self.root / path).rglob("*") if each.is_file()):
            self.client.put_object(Bucket=self.BUCKET, Key=str(file.relative_to(self.root)),
                                   Body=file.read_bytes())
        self.uploaded.add(path)
        self.take_requests()

    def stop(self):
        self.program.stop()

    def url(self, address, path):
        self._upload(path)
        return f"http://{address}/{self.BUCKET}/{path}"

    def source(self, address, path):
        self._upload(path)
        return {"AWS_ENDPOINT_URL": f"http://{address}"}, f"s3://{self.BUCKET}/{path}", ["anonymous"]

    def copied(self, address, path):
        environment, url, _ = self.source(address, path)
        return {**environment, "AWS_NO_SIGN_REQUEST": "true"}, url

    def rclone(self, address, path):
        self._upload(path)
        return [f":s3,provider=Other,endpoint='http://{address}':{self.BUCKET}/{path}"]

    def s3fs(self, address, path):
        self._upload(path)
        return [f"{self.BUCKET}:/{path}"], ["public_bucket=1", f"url=http://{address}",
                                            "use_path_request_style", "ro"]

    def take_requests(self):
        """Its log has no sizes of answers."""
        time.sleep(SETTLE_SECONDS)
        with open(self.log, "rb") as log:
            log.seek(self.taken)
            text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        self.taken += len(text)
        return {"count": text.count(b" s3_"), "bytes": 0}


SERVERS = {each.name: each for each in (Nginx, Versitygw)}
