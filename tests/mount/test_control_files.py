"""What `.unshard/` at the root of a mount tells."""

import datetime
import errno
import json
import os
import re
import struct

import pytest

from mount_data import VersionedVolume, VersionedZarr, refused
from mounting import wait_until

NAMES = ("config.json", "errors", "metrics", "status.json")
REQUESTS = {"lookup", "getattr", "read", "readdir", "readdirplus", "open", "opendir", "flush",
            "release", "getxattr", "listxattr", "statfs", "forget", "create", "write", "fsync",
            "setattr", "unlink", "rename", "link", "mkdir", "rmdir", "access"}


@pytest.fixture
def source(work):
    return VersionedVolume(work / "source")


@pytest.fixture
def mounted(source, mount):
    return mount(source.path, "ro")


def damage(source, shard):
    """Makes the second minishard's index of a shard point behind the end of the file."""
    path = source.shard_path(shard)
    data = bytearray(path.read_bytes())
    data[16:32] = struct.pack("<QQ", 1 << 40, (1 << 40) + 24)
    path.write_bytes(data)


def damaged_numbers(source, shard):
    return [n for n in source.names if source.shard_of(n) == shard and n >> 1 & 3 == 1]


# ------------------------------------------------------------------------------------------ status.json


def test_status_tells_what_is_mounted_and_by_whom(mounted, source, run_unshard):
    status = mounted.status()
    assert status["pid"] == mounted.process.pid
    assert os.path.samefile(status["source"], source.path)
    assert status["mount_point"] == str(mounted.path)
    assert status["version"] in run_unshard("--version").stdout


def test_status_counts_requests_reads_and_errors(mounted, source):
    counters = mounted.status()["counters"]
    assert set(counters["requests"]) == REQUESTS
    assert set(counters["store"]) >= {"opens", "index_reads", "data_reads"}
    assert counters["errors"] == 0
    assert counters["store"]["data_reads"] == 0
    for name in source.names.values():
        (mounted.path / name).read_bytes()
    after = mounted.status()["counters"]
    assert after["requests"]["read"] == len(source.names)
    assert after["store"]["data_reads"] == len(source.names)
    assert after["store"]["opens"] == len(source.shards)


def test_the_counters_never_run_backwards_and_are_not_changed_by_looking(mounted, source):
    (mounted.path / source.names[0]).read_bytes()
    first = mounted.status()["counters"]
    for name in NAMES * 3:
        mounted.control(name)
    last = mounted.status()["counters"]
    del first["nodes"], last["nodes"]  # that are in use now
    assert last == first


# ----------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_exact_and_contents_fresh_at_each_open(mounted, source, name):
    path = mounted.path / ".unshard" / name
    for number in list(source.names)[:12]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            data = os.read(descriptor, 1 << 20)
            assert len(data) == size
            assert os.read(descriptor, 1) == b""
            assert os.pread(descriptor, 1 << 20, 0) == data
        finally:
            os.close(descriptor)
        (mounted.path / source.names[number]).read_bytes()
    reads = [json.loads(mounted.control("status.json"))["counters"]["requests"]["read"]]
    (mounted.path / source.names[63]).read_bytes()
    reads.append(json.loads(mounted.control("status.json"))["counters"]["requests"]["read"])
    assert reads[1] == reads[0] + 1


@pytest.mark.parametrize("name", NAMES)
def test_control_files_are_read_only_files_of_the_mounting_user(mounted, name):
    status = os.stat(mounted.path / ".unshard" / name)
    assert status.st_uid == os.getuid() and status.st_nlink == 1
    assert status.st_mode & 0o222 == 0 and status.st_mode & 0o400
    refused(errno.EROFS, open, mounted.path / ".unshard" / name, "w")


def test_the_control_directory_lists_its_files_and_knows_no_others(mounted):
    assert sorted(os.listdir(mounted.path / ".unshard")) == sorted([*NAMES, "schema"])
    refused(errno.ENOENT, os.stat, mounted.path / ".unshard/other")
    refused(errno.ENOENT, os.stat, mounted.path / "scale/.unshard")


def test_schemas_stand_below_their_arrays(mounted, source, run_unshard):
    schemas = mounted.path / ".unshard/schema"
    assert os.listdir(schemas) == ["scale.json"]
    printed = run_unshard("schema", source.path, "scale")
    assert (schemas / "scale.json").read_text() == printed.stdout != ""
    refused(errno.ENOENT, os.stat, schemas / "other.json")
    refused(errno.ENOENT, os.stat, schemas / "other")
    refused(errno.EROFS, open, schemas / "scale.json", "w")


def test_the_schema_of_a_source_that_is_one_array(work, mount, run_unshard):
    done = run_unshard("create", work / "array", "--format", "zarr3", "--shape", "8,8", "--dtype",
                       "uint8", "--chunk", "2,2", "--shard", "4,4")
    assert done.returncode == 0, done.stderr
    control = mount(work / "array", "ro").path / ".unshard"
    assert "schema.json" in os.listdir(control) and "schema" not in os.listdir(control)
    assert (control / "schema.json").read_text() == run_unshard("schema", work / "array").stdout


def test_a_directory_of_that_name_in_the_source_is_hidden_behind_the_control_files(source, mount):
    (source.path / ".unshard").mkdir()
    (source.path / ".unshard/status.json").write_text("not this one")
    assert mount(source.path).status()["pid"]


def test_config_tells_every_option_in_force(source, mount):
    config = json.loads(mount(source.path).control("config.json"))
    assert config["list"] == "present" and config["immutable"] is False
    assert config["watch"] == "on" and config["memory_bytes"] == 512 << 20
    assert (config["sync"], config["strict"], config["publish_threads"]) == ("spool", False, 2)
    assert config["spool_bytes"] == 4 << 30 and config["publish_after_milliseconds"] == 5000
    options = "list=grid,watch=off,ttl=2.5,immutable,memory=64M,umask=027,uid=12,gid=13"
    config = json.loads(mount(source.path, options).control("config.json"))
    assert (config["list"], config["watch"], config["ttl_milliseconds"]) == ("grid", "off", 2500)
    assert config["immutable"] is True and config["memory_bytes"] == 64 << 20
    assert config["umask"] in (0o027, "027", "0027") and config["source"] == str(source.path)


# ---------------------------------------------------------------------------------------------- metrics

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? '
                    r'(-?[0-9.]+(e[+-]?[0-9]+)?)$')


def samples(text):
    """{name and labels: value} of a Prometheus exposition; fails on any other line."""
    found, typed = {}, set()
    for line in text.splitlines():
        if line.startswith("#"):
            keyword, name = line.split()[1:3]
            assert keyword in ("HELP", "TYPE")
            typed.add(name)
            continue
        match = SAMPLE.match(line)
        assert match, line
        assert match[1] in typed, f"{match[1]} has no TYPE"
        assert match[1] + (match[2] or "") not in found, f"{line} stands there twice"
        found[match[1] + (match[2] or "")] = float(match[4])
    return found


def test_metrics_are_prometheus_text_and_agree_with_the_status(mounted, source):
    before = samples(mounted.control("metrics"))
    assert before and all(name.startswith("unshard_") for name in before)
    for name in list(source.names.values())[:20]:
        (mounted.path / name).read_bytes()
    after = samples(mounted.control("metrics"))
    reads = [name for name in after if "request" in name and '"read"' in name]
    assert len(reads) == 1
    assert after[reads[0]] - before[reads[0]] == 20
    assert after[reads[0]] == mounted.status()["counters"]["requests"]["read"]
    assert before.keys() <= after.keys()
    assert all(after[name] >= value for name, value in before.items() if name.endswith("_total"))


# ----------------------------------------------------------------------------------------------- errors


def test_errors_is_empty_as_long_as_nothing_failed(source, mount):
    mounted = mount(source.path, "ro")
    refused(errno.ENOENT, os.stat, mounted.path / "scale/no-such-chunk")
    refused(errno.EROFS, open, mounted.path / source.names[0], "w")
    assert mounted.control("errors") == ""


def test_each_failed_request_is_one_line_with_time_operation_path_errno_and_cause(
        source, mount):
    damage(source, 2)
    mounted = mount(source.path)
    numbers = damaged_numbers(source, 2)
    for number in numbers:
        refused(errno.EIO, (mounted.path / source.names[number]).read_bytes)
    lines = mounted.control("errors").splitlines()
    assert len(lines) >= len(numbers)
    for line in lines:
        moment, operation, path, name, cause = line.split(" ", 4)
        age = (datetime.datetime.now(datetime.timezone.utc)
               - datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")))
        assert abs(age) < datetime.timedelta(minutes=5)
        assert operation in REQUESTS and name == "EIO"
        assert path.lstrip("/") in source.names.values()
        assert "2.shard" in cause
    for number in numbers:
        assert source.names[number] in mounted.control("errors")
    assert mounted.status()["counters"]["errors"] == len(lines)
    log = mounted.log()
    assert all(source.names[number] in log and "2.shard" in log for number in numbers)


def test_damage_of_one_minishard_leaves_everything_else_readable(source, mount):
    damage(source, 2)
    mounted = mount(source.path)
    bad = damaged_numbers(source, 2)
    for number, name in source.names.items():
        if number in bad:
            refused(errno.EIO, (mounted.path / name).read_bytes)
        else:
            assert (mounted.path / name).read_bytes() == source.expected(number, 1)


def test_damage_is_repaired_by_replacing_the_shard(source, mount):
    damage(source, 2)
    mounted = mount(source.path)
    number = damaged_numbers(source, 2)[0]
    refused(errno.EIO, (mounted.path / source.names[number]).read_bytes)
    source.publish(2, 2)

    def repaired():
        try:
            return (mounted.path / source.names[number]).read_bytes() == source.expected(number, 2)
        except OSError:
            return False

    assert wait_until(repaired, 30)


def test_an_unreadable_or_misplaced_shard_fails_only_its_own_chunks(work, mount):
    source = VersionedZarr(work / "source")
    source.shard_path(0).write_bytes(b"")
    source.shard_path(5).unlink()
    source.shard_path(5).mkdir()
    mounted = mount(source.path)
    for number, name in source.names.items():
        if source.shard_of(number) in (0, 5):
            refused(errno.EIO, (mounted.path / name).read_bytes)
        else:
            assert (mounted.path / name).read_bytes() == source.expected(number, 1)
    errors = mounted.control("errors")
    assert "c/0/0" in errors and "c/1/1" in errors


def test_the_list_of_errors_is_bounded(source, mount):
    damage(source, 2)
    mounted = mount(source.path)
    number = damaged_numbers(source, 2)[0]
    for _ in range(1500):
        refused(errno.EIO, os.stat, mounted.path / source.names[number])
    assert mounted.status()["counters"]["errors"] >= 1500
    assert 1 <= len(mounted.control("errors").splitlines()) <= 1000
