"""A mount that is killed while it uploads an object in parts: the parts that it leaves in the bucket are
dropped by the next mount, also a part that arrives later, and what it had taken is put."""

import pathlib
import sys

import pytest

from mounting import kill, wait_until
from remote_stores import BUCKET, SERVERS, S3Bucket, Server

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))
from write_data import flush, write_file  # noqa: E402

LARGE = 72 << 20  # above what is put at once


# radosgw completes uploads whatever their condition: only who writes alone uses them there.
@pytest.fixture(params=[("versitygw", "us-east-1", ""), ("radosgw", "default", "single_writer")],
                ids=lambda param: param[0])
def bucket(request, work, no_credentials, monkeypatch):
    program, region, options = request.param
    monkeypatch.setenv("HOME", str(work))
    server = Server(SERVERS / program, work / "server")
    proxy = Server(SERVERS / "fault_proxy", server.url, work / "proxy")
    made = S3Bucket(server, seen_at=proxy.url, region=region).create()
    made.faults, made.options = work / "proxy" / "faults", options
    made.times, made.release = work / "proxy" / "times", work / "proxy" / "release"
    yield made
    proxy.stop()
    server.stop()


def uploads(bucket):
    return bucket.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])


def parts(bucket):
    """How many parts the bucket has of the one upload that is under way."""
    return sum(len(bucket.client.list_parts(Bucket=BUCKET, Key=each["Key"],
                                            UploadId=each["UploadId"]).get("Parts", []))
               for each in uploads(bucket))


def answered(bucket, upload):
    """How many requests for parts of this upload the bucket has answered."""
    return sum(" PUT " in line and upload in line for line in bucket.times.read_text().splitlines())


def test_killed_while_parts_are_uploaded_the_next_mount_drops_them(bucket, mount, work):
    bucket.put("data/zarr.json", b'{"zarr_format": 3, "node_type": "group"}')

    def open_mount(publish_after):
        options = [f"spool={work / 'spools'}", f"publish_after={publish_after}", "allow_http",
                   *bucket.options.split()]
        return mount(f"s3://{BUCKET}/data", options, environment=bucket.environment,
                     point=work / "mnt")

    mounted = open_mount(0.3)
    first, second = b"1" * LARGE, b"2" * LARGE
    write_file(mounted.path / "large", first)
    flush(mounted)
    assert bucket.get("data/large") == first and uploads(bucket) == []
    # One part is stored, another one is on its way when the mount is killed, and the next ones never end.
    bucket.faults.write_text("on PUT;pass\non PUT;late\n" + "on PUT;stall\n" * 100)
    write_file(mounted.path / "large", second)
    assert wait_until(lambda: parts(bucket) == 1 and "late" not in bucket.faults.read_text(), 60), \
        bucket.faults.read_text()
    kill(mounted)
    [left] = uploads(bucket)
    assert bucket.get("data/large") == first
    bucket.faults.write_text("")
    again = open_mount(600)
    assert wait_until(lambda: uploads(bucket) == [], 30), uploads(bucket)
    assert (again.path / "large").read_bytes() == second
    # versitygw stores what arrives now, and lists it again once another upload of the object begins.
    bucket.release.touch()
    assert wait_until(lambda: answered(bucket, left["UploadId"]) == 2, 30)
    flush(again)
    assert bucket.get("data/large") == second and uploads(bucket) == []
