"""Who reads a dataset behind a server. `address` is the server's own, or that of a proxy before it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import dataset as datasets
from contestants import HERE, Mounted, Plain, find_passthrough, passthrough, run_json
from remote_dataset import path_of
from workloads import MEMORY_DIRECTORY

WHOLE_SHARDS = 16  # requests for whole shards at a time


class Curl:
    """Requests for exactly the ranges of the chunks, or for the whole shards: what all are relative to.
    It knows the ranges beforehand, and keeps nothing."""

    shows_files = False
    reads_chunks = True

    def __init__(self, name, build, server, address):
        self.name, self.program = name, build / "bench_range_reader"
        self.server, self.address = server, address

    def read(self, dataset, count, readers, seed):
        return self._run(dataset, dataset.ranges, count, readers, seed)

    def copy(self, dataset):
        sample = self._run(dataset, dataset.shards, 0, WHOLE_SHARDS, 0)
        return {"seconds": sample["seconds"], "wire_bytes": sample["bytes"]}

    def _run(self, dataset, ranges, *arguments):
        url = self.server.url(self.address, path_of(dataset, "sharded"))
        return run_json([self.program, url, ranges, *arguments])


class TensorStore:
    """TensorStore reading the sharded dataset, which it decodes; its copy is one into files."""

    name = "tensorstore"
    shows_files = False
    reads_chunks = True

    def __init__(self, server, address):
        self.server, self.address = server, address

    def read(self, dataset, count, readers, seed):
        return run_json([sys.executable, HERE / "tensorstore_reader.py", dataset.make.format,
                         self._url(dataset), dataset.list, count, readers, seed])

    def copy(self, dataset):
        with tempfile.TemporaryDirectory(dir=MEMORY_DIRECTORY) as directory:
            target = datasets.spec(dataset.make, pathlib.Path(directory) / "copy", False)
            return run_json([sys.executable, HERE / "tensorstore_copier.py", dataset.make.format,
                             self._url(dataset), json.dumps(target)])

    def _url(self, dataset):
        return self.server.url(self.address, path_of(dataset, "sharded")) + "/"


class UnshardCopy:
    """unshard copy of the sharded dataset into files; without a mount, and only the copy."""

    name = "unshard copy"
    shows_files = False
    reads_chunks = False

    def __init__(self, binary, server, address):
        self.binary, self.server, self.address = binary, server, address

    def copy(self, dataset):
        environment, url = self.server.copied(self.address, path_of(dataset, "sharded"))
        with tempfile.TemporaryDirectory(dir=MEMORY_DIRECTORY) as directory:
            target = pathlib.Path(directory) / "copy"
            subprocess.run([self.binary, "create", target, "--like", dataset.plain], check=True,
                           stdout=subprocess.DEVNULL)
            before = time.perf_counter()
            subprocess.run([self.binary, "copy", "-q", url, target], check=True,
                           env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - before
            copied = (target / dataset.scale).rglob("*")
            return {"seconds": seconds,
                    "bytes": sum(path.stat().st_size for path in copied if path.is_file())}


def unshard(name, binary, options, server, address, work):
    given = ["ro", *(option for option in options.split(",") if option)]

    def command(dataset, point):
        environment, url, more = server.source(address, path_of(dataset, "sharded"))
        return ["env", *(f"{key}={value}" for key, value in environment.items()), binary, "mount", "-f",
                url, point, "-o", ",".join(given + more)]
    return Mounted(name, command, work)


def rclone(server, address, work):
    """The unsharded copy of the data through rclone's mount, as it is without options."""
    def command(dataset, point):
        # Its client of S3 fails where this variable names a file.
        return ["env", "-u", "AWS_CA_BUNDLE", "rclone", "mount",
                *server.rclone(address, path_of(dataset, "plain")), point, "--read-only", "--config",
                "/dev/null", "--cache-dir", work / "rclone"]
    return Mounted("rclone", command, work)


def s3fs(server, address, work):
    """The same through s3fs, which asks each object for its size, and may do so for many at a time."""
    def command(dataset, point):
        source, options = server.s3fs(address, path_of(dataset, "plain"))
        return ["s3fs", *source, point, "-f", "-o", ",".join(options)]
    return Mounted("s3fs", command, work)


def near(arguments, data, work):
    """What no server could serve faster: the unsharded files of this machine, and these through the
    kernel's requests to a file system that only passes them on."""
    program = find_passthrough(data / "tools", download=not arguments.smoke)
    return [Plain(), *([passthrough(program, work)] if program else [])]


def line_up(arguments, data, server, address, work, proxied=None):
    """All that are to be had. `proxied`: the address of a proxy without delay, which curl is measured
    through as well."""
    everybody = [Curl("curl", arguments.build, server, address)]
    if proxied:
        everybody.append(Curl("proxied curl", arguments.build, server, proxied))
    everybody.append(unshard("unshard", arguments.build / "unshard", arguments.options, server,
                             address, work))
    everybody.append(UnshardCopy(arguments.build / "unshard", server, address))
    if arguments.other:
        everybody.append(unshard("other", arguments.other, arguments.other_options, server, address,
                                 work))
    everybody.append(TensorStore(server, address))
    if shutil.which("rclone"):
        everybody.append(rclone(server, address, work))
    if shutil.which("s3fs") and server.speaks_s3:
        everybody.append(s3fs(server, address, work))
    everybody += near(arguments, data, work)
    wanted = arguments.contestants.split(",") if arguments.contestants else None
    return [each for each in everybody if not wanted or each.name in wanted + ["curl"]]
