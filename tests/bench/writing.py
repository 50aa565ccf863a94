"""Measures writing: which volumes, which workloads, how large."""

import dataclasses
import os
import re

import write_report
from volumes import Prepared, Volume
from write_mounts import XFS_BYTES_PER_SHARD_BYTE, Xfs, work_folder
from write_races import ManyWriters
from write_workloads import CopyIn, ReplaceDurably, ReplacePublished, interleave


@dataclasses.dataclass(frozen=True)
class Size:
    copied: tuple  # voxels
    replaced: tuple
    raced: tuple
    part: int  # chunks that a library writes one by one
    durable: int  # chunks replaced durably in one round
    processes: int
    seconds: float  # that these write


SMOKE = Size((128, 128, 128), (64, 64, 128), (64, 64, 128), 2, 2, 2, 0.2)
QUICK = Size((512, 512, 1024), (512, 512, 1024), (256, 256, 512), 16, 20, 16, 5)
FULL = Size((1024, 1024, 1024), (1024, 1024, 1024), (256, 256, 512), 32, 50, 16, 20)


class Bench:
    """Runs what `only` selects and prints it. `programs`: {"unshard": path, …}; `wanted`: names of
    those to measure beside plain files, all where it is None."""

    def __init__(self, size, repeat, programs, data, only, with_targets, passthrough, floor, wanted):
        self.size, self.repeat, self.programs = size, repeat, programs
        self.passthrough, self.floor, self.wanted = passthrough, floor, wanted
        self.data, self.only, self.with_targets = data, only, with_targets
        self.document = {"rows": [], "samples": []}

    def run(self):
        with work_folder(self.data) as work:
            for form in ("zarr", "precomputed"):
                self._measure(CopyIn, Volume(form, self.size.copied, 8), work, self._in_turn,
                              write_report.copy_rows, self.programs, self.size.part, self.passthrough,
                              self.floor)
            one_shard = Volume("zarr", self.size.replaced, 1)
            self._measure(ReplaceDurably, one_shard, work, lambda made: made.samples(self.repeat),
                          self._replace_rows("replace, durable"), self.programs, self.size.durable)
            self._measure_published(one_shard, work)
            self._measure(ManyWriters, Volume("zarr", self.size.raced, 8), work, self._in_turn,
                          lambda samples, volume: write_report.race_rows(samples), self.programs,
                          self.size.processes, self.size.seconds)
        return self.document

    def _measure_published(self, volume, work):
        def samples(made):
            made.libraries = [each for each in made.libraries if self._is_chosen(each)]
            return made.samples(self.repeat)

        title = "replace, published"
        self._measure(ReplacePublished, volume, work, samples, self._replace_rows(title),
                      self.programs, False, title=title)
        title = "replace, on xfs"
        if not self._is_wanted(volume, title):
            return
        if reason := Xfs.reason_to_leave_out():
            print(f"\n{title}: left out: {reason}")
            return
        # One copy for each, of the plain ones two, one of these in the making.
        bytes_needed = volume.bytes * (XFS_BYTES_PER_SHARD_BYTE + 1 + len(self.programs))
        with Xfs(work, bytes_needed) as folder:
            self._measure(ReplacePublished, volume, folder, samples, self._replace_rows(title),
                          self.programs, True, title=title)

    def _in_turn(self, made):
        chosen = {name: run for name, run in made.contestants().items() if self._is_chosen(name)}
        return interleave(self.repeat, chosen)

    # "tensorstore by chunk" and "unshard, fsync" are chosen with the others of that program.
    def _is_chosen(self, name):
        program = name.split()[0].rstrip(",")
        return program == "plain" or self.wanted is None or program in self.wanted

    def _replace_rows(self, title):
        return lambda samples, volume: write_report.replace_rows(samples, title)

    def _is_wanted(self, volume, title):
        return re.search(self.only, f"{volume.name} writing {title}")

    def _measure(self, workload, volume, work, samples_of, rows_of, *arguments, title=None):
        title = title or workload.title
        if not self._is_wanted(volume, title):
            return
        samples = samples_of(workload(Prepared(volume, self.data), work, *arguments))
        load = os.getloadavg()[0]
        self.document["samples"].append({"dataset": volume.name, "workload": title, "load": load,
                                         "contestants": samples})
        print(write_report.show_header(volume, title, samples))
        for row in rows_of(samples, volume):
            if not self.with_targets:
                row.pop("target", None)
            self.document["rows"].append({"dataset": volume.name, "workload": title, **row})
            print(write_report.show_row(row, list(samples)))
        for remark in write_report.remarks(samples):
            print(remark)
        print(f"load of the machine at the end: {load:.1f}", flush=True)


def measure(arguments, data, repeat, programs, passthrough, floor, wanted):
    """The rows and samples of all write workloads, printed as they come."""
    size = SMOKE if arguments.smoke else QUICK if arguments.quick else FULL
    return Bench(size, repeat, programs, data, arguments.only, not arguments.smoke,
                 passthrough, floor, wanted).run()
