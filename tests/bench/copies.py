"""`unshard copy` between sharded datasets and plain chunk files, beside cp, TensorStore and zarrs.

Every contestant copies one dataset into a fresh one on the same disk; what is timed ends when it is on
the disk. The time of `cp -r` and sync of the plain chunk files is what all are compared with. Making the
empty dataset is not timed, nor is starting Python.

Copies are kept while there is room: ext4 without a journal looks at each inode that was removed in the last
minutes before it makes a new one, which takes ten times as long as the copying itself.
"""

import itertools
import json
import math
import pathlib
import shutil
import subprocess
import sys

import dataset as datasets
from contestants import peak_of
from write_report import ratios, row, spread
from write_workloads import WrongBytes, interleave, run, timed

HERE = pathlib.Path(__file__).resolve().parent
TARGET = 1.2  # to cp -r and sync
DIRECTIONS = ["to shards", "from shards"]
ROOM_FOR_COPIES = 3  # that is left free
NUMBERS = itertools.count()


def sync(path):
    run("sync", "-f", path)


class Job:
    """One copy: of `source`, into a fresh dataset like `model`."""

    def __init__(self, dataset, direction, folder, program):
        self.dataset = dataset
        self.source, self.model = dataset.plain, dataset.sharded
        if direction == "from shards":
            self.source, self.model = self.model, self.source
        self.sharded = direction == "to shards"
        self.folder = folder
        self.to = None  # the present copy
        self.program = program

    def fresh(self):
        """A new name for the next copy."""
        if shutil.disk_usage(self.folder).free < ROOM_FOR_COPIES * math.prod(self.dataset.make.shape):
            shutil.rmtree(self.folder)
            self.folder.mkdir()
        self.to = self.folder / f"copy-{next(NUMBERS)}"
        sync(self.folder)

    def plain(self, _):
        self.fresh()
        return {"seconds": timed(lambda: (run("cp", "-r", self.dataset.plain, self.to), sync(self.to)))}

    def unshard(self, _):
        self.fresh()
        run(self.program, "create", self.to, "--like", self.model)
        command = [str(self.program), "copy", "-q", str(self.source), str(self.to)]
        peak = []
        seconds = timed(lambda: (peak.append(peak_of(command)), sync(self.to)))
        return {"seconds": seconds, "memory": peak[0]}

    def tensorstore(self, _):
        self.fresh()
        done = subprocess.run(
            [sys.executable, HERE / "tensorstore_copier.py", self.dataset.make.format,
             f"file://{self.source}/",
             json.dumps(datasets.spec(self.dataset.make, self.to, self.sharded))],
            capture_output=True, text=True, check=True)
        return {"seconds": json.loads(done.stdout)["seconds"] + timed(lambda: sync(self.to))}

    def zarrs(self, _):
        self.fresh()
        edge, shard = self.dataset.make.edge, self.dataset.make.shard_edge
        shape = ",".join([str(shard if self.sharded else edge)] * 3)
        options = ["--chunk-shape", shape]
        if self.sharded:
            options = ["--chunk-shape", ",".join([str(edge)] * 3), "--shard-shape", shape]
        command = ["zarrs_reencode", *options, self.source, self.to]
        return {"seconds": timed(lambda: (run(*command), sync(self.to)))}

    def contestants(self):
        chosen = {"plain": self.plain, "unshard": self.unshard, "tensorstore": self.tensorstore}
        if self.dataset.make.format == "zarr" and shutil.which("zarrs_reencode"):
            chosen["zarrs"] = self.zarrs
        return chosen

    def check(self):
        """What unshard has written is what it has copied."""
        import tensorstore
        self.unshard(0)
        driver = {"zarr": "zarr3"}.get(self.dataset.make.format, "neuroglancer_precomputed")
        here, there = (tensorstore.open({"driver": driver, "kvstore": f"file://{path}/"}).result()
                       for path in (self.to, self.source))
        step = self.dataset.make.shard_edge
        for low in range(0, here.shape[0], step):
            if (here[low:low + step].read().result() != there[low:low + step].read().result()).any():
                raise WrongBytes(f"unshard copied {self.source} wrongly")


def measure(arguments, makes, data, work, repeat, document):
    """Measures, printing as it goes; adds to the JSON document."""
    program = arguments.build / "unshard"
    wanted = arguments.contestants.split(",") if arguments.contestants else None
    folder = data / "copies"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for make in makes:
        dataset = datasets.Dataset(make, data).prepare()
        for direction in DIRECTIONS:
            job = Job(dataset, direction, folder, program)
            job.check()
            chosen = {name: each for name, each in job.contestants().items()
                      if not wanted or name in wanted + ["plain"]}
            samples = interleave(repeat, chosen)
            values = {name: ratios(samples, "seconds", name, "plain")
                      for name in samples if name != "plain"}
            values["plain"] = spread([each["seconds"] * 1000 for each in samples["plain"]])
            goal = (TARGET, True, values["unshard"]["median"]) if "unshard" in values else None
            document["samples"].append({"dataset": make.name, "workload": direction,
                                        "contestants": samples})
            document["rows"].append({"dataset": make.name, "workload": direction,
                                     **row("time", "ratio", values, goal)})
            show(make, direction, values, samples)
    shutil.rmtree(folder)


def show(make, direction, values, samples):
    size = math.prod(make.shape)
    seconds = values["plain"]["median"] / 1000
    text = [f"cp -r {seconds:.2f} s ({size / seconds / 1e6:.0f} MB/s)"]
    for name, value in values.items():
        if name != "plain":
            text.append(f"{name} {value['median']:.2f} ({value['low']:.2f}–{value['high']:.2f})")
    peak = max((each.get("memory") or 0 for each in samples.get("unshard", [])), default=0)
    print(f"{make.name:22} {direction:12} {', '.join(text)}, peak RSS {peak / 1024:.0f} MiB",
          flush=True)
