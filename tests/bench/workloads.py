"""What is measured, and how a cold or a warm state is reached."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

MEMORY_DIRECTORY = "/dev/shm"


@dataclasses.dataclass(frozen=True)
class Workload:
    """`command`: a shell tool with {root} and {copy}; None: random chunk reads."""

    name: str
    cold: bool
    threads: int = 0
    command: tuple = None

    @property
    def title(self):
        return f"{self.name} {'cold' if self.cold else 'warm'}"


def all_workloads():
    kinds = [("random 1 thread", 1, None), ("random 4 threads", 4, None),
             ("find", 0, ("find", "{root}")), ("ls -f", 0, ("ls", "-f", "-R", "{root}")),
             ("ls -l", 0, ("ls", "-l", "-R", "{root}")),
             ("cp -r", 0, ("cp", "-r", "{root}", "{copy}"))]
    return [Workload(name, cold, threads, command)
            for cold in (True, False) for name, threads, command in kinds]


class Bench:
    """Runs one workload for all contestants in turn, as often as asked."""

    def __init__(self, reader, repeat, reads):
        self.reader = reader
        self.repeat = repeat
        self.reads = reads  # bytes to read in one run of random reads

    def run(self, dataset, workload, contestants):
        """{contestant: [sample, …]}, one sample per repetition. Samples are dicts with `seconds`."""
        contestants = [each for each in contestants
                       if (each.shows_files or workload.command is None)
                       and not (workload.cold and getattr(each, "warm_only", False))]
        samples = {each.name: [] for each in contestants}
        try:
            if not workload.cold:
                self._warm_up(dataset, workload, contestants)
            for round_number in range(self.repeat):
                # Nobody always runs right after the same other one.
                turn = round_number % len(contestants)
                for each in contestants[turn:] + contestants[:turn]:
                    samples[each.name].append(self._sample(dataset, workload, each, round_number))
        finally:
            for each in contestants:
                if each.shows_files:
                    each.stop()
        check_same_bytes(dataset, workload, {each.name: samples[each.name] for each in contestants
                                             if not getattr(each, "reads_zeros", False)})
        return samples

    def _warm_up(self, dataset, workload, contestants):
        for each in contestants:
            if each.shows_files:
                each.start(dataset)
            for round_number in range(self.repeat if workload.command is None else 1):
                self._measure(dataset, workload, each, round_number)

    def _sample(self, dataset, workload, contestant, round_number):
        if not workload.cold:
            return self._measure(dataset, workload, contestant, round_number)
        drop_caches(workload)
        if contestant.shows_files:
            contestant.start(dataset)
        try:
            return self._measure(dataset, workload, contestant, round_number)
        finally:
            if contestant.shows_files:
                contestant.stop()

    def _measure(self, dataset, workload, contestant, round_number):
        if workload.command is None:
            count = max(1, self.reads // dataset.make.edge ** 3)
            seed = 100 + round_number
            if contestant.shows_files:
                sample = read_files(self.reader, contestant.root, dataset, count, workload.threads,
                                    seed)
            else:
                sample = contestant.read(dataset, count, workload.threads, seed)
        else:
            sample = time_command(workload.command, contestant.root / dataset.scale)
        if contestant.shows_files:
            sample["memory"] = contestant.memory()
            sample["mount_seconds"] = getattr(contestant, "mount_seconds", None)
        return sample


def read_files(reader, root, dataset, count, threads, seed):
    from contestants import run_json
    return run_json([reader, root, dataset.list, count, threads, seed])


def time_command(command, root):
    """Runs a tool with its output thrown away; copies go to memory and are removed, unmeasured."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DIRECTORY) as directory:
        copy = pathlib.Path(directory) / "copy"
        words = [part.format(root=root, copy=copy) for part in command]
        before = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - before
        sample = {"seconds": seconds}
        if copy.exists():
            sample["bytes"] = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
            shutil.rmtree(copy)
    return sample


def drop_caches(workload):
    """Empties the page, dentry and inode caches, then loads the tools again: they are not measured."""
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    if workload.command is not None:
        with tempfile.TemporaryDirectory(dir=MEMORY_DIRECTORY) as directory:
            (pathlib.Path(directory) / "file").write_text("x")
            time_command(workload.command, directory)


def check_same_bytes(dataset, workload, samples):
    """All contestants that say what they read must have read the same."""
    for key in ("checksum", "bytes"):
        for rounds in zip(*samples.values()):
            seen = {sample[key] for sample in rounds
                    if key in sample and ("checksum" in sample or workload.command)}
            if len(seen) > 1:
                raise RuntimeError(f"{dataset.name}, {workload.title}: contestants read different "
                                   f"bytes: {dict(zip(samples, rounds))}")
