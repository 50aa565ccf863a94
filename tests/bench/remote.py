"""Measures reading from servers: which distances, which workloads, in which order.

All programs and the server run on this machine, so that they share its processors. A cold read is one
of a file system that has just been mounted, from a server that has the data in memory.
"""

import contextlib
import dataclasses
import os
import re

import remote_report
from dataset import Dataset
from remote_contestants import line_up
from remote_dataset import write_lists
from remote_servers import SERVERS, Program
from workloads import check_same_bytes, read_files, time_command

LATENCIES = (0, 20)  # added milliseconds a round trip
READERS = (1, 16, 64, 256)
SLOW_SECONDS = 30  # what takes longer is not repeated


@dataclasses.dataclass(frozen=True)
class Size:
    latencies: tuple
    readers: tuple
    reads: int  # at least, and of each reader
    reads_near: int  # at least, without added latency


SMOKE = Size((0, 2), (4,), 4, 8)
QUICK = Size(LATENCIES, READERS, 128, 2048)
FULL = Size(LATENCIES, READERS, 512, 8192)


@dataclasses.dataclass(frozen=True)
class Workload:
    """Random reads by so many readers, or 0: a copy of all chunks."""

    readers: int
    latency: float

    @property
    def command(self):
        return None if self.readers else ("cp", "-r", "{root}", "{copy}")

    @property
    def name(self):
        return f"random {self.readers}" if self.readers else "copy"

    @property
    def title(self):
        what = f"random {self.readers} readers" if self.readers else "copy"
        return f"{what} {self.latency:g} ms"

    def count(self, dataset, size):
        """Chunks to read: all of the dataset at most."""
        grid = dataset.make.grid
        return min(grid[0] * grid[1] * grid[2],
                   max(size.reads * min(self.readers, 32), 0 if self.latency else size.reads_near))


class Bench:
    def __init__(self, size, repeat, server, reader):
        self.size, self.repeat, self.server, self.reader = size, repeat, server, reader

    def run(self, dataset, workload, contestants):
        """{contestant: {round: sample}}. Every round begins with somebody else."""
        contestants = [each for each in contestants if each.reads_chunks or workload.command]
        samples = {each.name: {} for each in contestants}
        for number in range(self.repeat):
            turn = number % len(contestants)
            for each in contestants[turn:] + contestants[:turn]:
                if number and samples[each.name][0]["seconds"] > SLOW_SECONDS:
                    continue
                samples[each.name][number] = self._sample(dataset, workload, each, number)
        check_same_bytes(dataset, workload, {name: [each[0]] for name, each in samples.items()})
        return samples

    def _sample(self, dataset, workload, contestant, number):
        if not contestant.shows_files:
            self.server.take_requests()
            sample = self._read(dataset, workload, contestant, number)
            return {**sample, "requests": self.server.take_requests()}
        try:
            self.server.take_requests()
            contestant.start(dataset)
            mounting = self.server.take_requests()
            try:
                sample = self._read(dataset, workload, contestant, number)
            except RuntimeError as error:
                raise RuntimeError(f"{contestant.name}: {error}\n"
                                   f"{contestant.log_path.read_text()}") from error
            return {**sample, "memory": contestant.memory(), "mounting_requests": mounting,
                    "mount_seconds": contestant.mount_seconds,
                    "requests": self.server.take_requests()}
        finally:
            contestant.stop()

    def _read(self, dataset, workload, contestant, number):
        count, seed = workload.count(dataset, self.size), 100 + number
        if workload.command and contestant.shows_files:
            return time_command(workload.command, contestant.root / dataset.scale)
        if workload.command:
            return contestant.copy(dataset)
        if contestant.shows_files:
            return read_files(self.reader, contestant.root, dataset, count, workload.readers, seed)
        return contestant.read(dataset, count, workload.readers, seed)


def numbers(text, default):
    return tuple(map(float, text.split(","))) if text else default


def workloads(arguments, size, latency):
    readers = [int(each) for each in numbers(arguments.readers, size.readers)]
    return [Workload(each, latency) for each in (*readers, 0)]


@contextlib.contextmanager
def proxy(arguments, server, latency):
    """The address of a proxy that makes `server` seem as far away as `latency` says, behind a wire."""
    program = Program(arguments.build / "bench_delay_proxy", f"{latency:g}", server.address,
                      f"{arguments.wire if latency else 0:g}")
    try:
        yield program.address
    finally:
        program.stop()


def measure(arguments, makes, data, work, repeat, document):
    """Adds rows and samples to the document, printing as it goes."""
    size = SMOKE if arguments.smoke else QUICK if arguments.quick else FULL
    server = SERVERS[arguments.server](data, work / "server")
    try:
        for make in makes:
            dataset = None
            for latency in numbers(arguments.latency, size.latencies):
                chosen = [each for each in workloads(arguments, size, latency)
                          if re.search(arguments.only, f"{make.name} {each.title}")]
                if chosen and dataset is None:
                    dataset = Dataset(make, data).prepare()
                    write_lists(dataset, work)
                if chosen:
                    measure_at(arguments, dataset, chosen, Bench(
                        size, repeat, server, arguments.build / "bench_chunk_reader"), latency, data,
                        work, document)
    finally:
        server.stop()


def measure_at(arguments, dataset, chosen, bench, latency, data, work, document):
    server = bench.server
    with proxy(arguments, server, latency) as address:
        contestants = (line_up(arguments, data, server, address, work) if latency else
                       line_up(arguments, data, server, server.address, work, proxied=address))
        names = [each.name for each in contestants]
        way = f"{latency:g} ms added" + (f", {arguments.wire:g} Mbit/s" if latency and arguments.wire else "")
        print(remote_report.show_header(dataset, server.name, way, names))
        for workload in chosen:
            samples = bench.run(dataset, workload, contestants)
            load = os.getloadavg()[0]
            document["samples"].append({"dataset": dataset.name, "workload": workload.title,
                                        "server": server.name, "load": load,
                                        "contestants": samples})
            row = remote_report.row(dataset, workload, samples, with_targets=not arguments.smoke)
            document["rows"].append(row)
            print(remote_report.show_row(row, names), flush=True)
        print(f"load of the machine at the end: {load:.1f}", flush=True)
