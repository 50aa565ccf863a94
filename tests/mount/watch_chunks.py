"""Reads chunks that other processes replace, and checks that no read ever mixes two versions.

    watch_chunks.py ROOT MODE SECONDS SEED < {"<chunk number>": "<path below ROOT>", ...}

MODE  whole   open, read everything, close
      pieces  open, read a page, wait, read the rest and the page again
      mmap    map, touch a page, wait, look at everything
      held    keep files open for long and read them again and again: their bytes never change
      list    list the directories of the chunks: each chunk stands there exactly once

Prints {"reads": n, "versions": [...], "faults": [...]} when the time is over.
"""

import collections
import json
import mmap
import os
import pathlib
import random
import struct
import sys
import time


def version_of(number, data):
    """The version that these whole bytes are of; ValueError where they are of none."""
    if len(data) < 24:
        raise ValueError(f"{len(data)} bytes")
    found, version, size = struct.unpack_from("<QQQ", data)
    if found != number:
        raise ValueError(f"bytes of chunk {found}")
    if size != len(data):
        raise ValueError(f"{len(data)} bytes of version {version}, which has {size}")
    if bytes(data) != bytes(data[:24]) * (size // 24):
        raise ValueError(f"a mixture that begins with version {version}")
    return version


class Watcher:
    def __init__(self, root, names, seed):
        self.root, self.names = root, names
        self.choose = random.Random(seed)
        self.newest = collections.Counter()
        self.versions, self.faults, self.reads = set(), [], 0
        self.held = {}

    def pick(self):
        number = self.choose.choice(list(self.names))
        return number, self.root / self.names[number]

    def whole(self):
        number, path = self.pick()
        self.check(number, path.read_bytes())

    def pieces(self):
        number, path = self.pick()
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            first = os.pread(descriptor, 4096, 0)
            time.sleep(self.choose.random() * 0.05)
            rest = os.pread(descriptor, size, len(first))
            again = os.pread(descriptor, 4096, 0)
        finally:
            os.close(descriptor)
        self.check(number, first + rest)
        self.check(number, again + rest)

    def mmap(self):
        number, path = self.pick()
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            first = mapped[:100]
            time.sleep(self.choose.random() * 0.05)
            whole = mapped[:]
        self.check(number, whole)
        self.check(number, first + whole[100:])

    def held_open(self):
        number, path = self.pick()
        if number not in self.held:
            if len(self.held) >= 20:
                os.close(self.held.pop(self.choose.choice(list(self.held)))[0])
            descriptor = os.open(path, os.O_RDONLY)
            size = os.fstat(descriptor).st_size
            self.held[number] = descriptor, size, os.pread(descriptor, 24, size // 48 * 24)
        descriptor, size, mark = self.held[number]
        if self.choose.random() < 0.3:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        data = os.pread(descriptor, size + 1, 0)
        if data[:24] != mark:
            raise ValueError("an open file shows another version than when it was opened")
        self.versions.add(version_of(number, data))
        time.sleep(0.001)

    def list(self):
        directory = os.path.dirname(self.pick()[1])
        wanted = sorted(os.path.basename(name) for name in self.names.values()
                        if self.root / os.path.dirname(name) == pathlib.Path(directory))
        found = os.listdir(directory)
        if sorted(name for name in found if name in set(wanted)) != wanted:
            raise ValueError(f"{directory} lists {len(found)} names, wanted {len(wanted)}")
        self.versions.add(0)

    def check(self, number, data):
        version = version_of(number, data)
        if version < self.newest[number]:
            raise ValueError(f"version {version} after version {self.newest[number]}")
        self.newest[number] = version
        self.versions.add(version)

    def run(self, mode, seconds):
        step = {"held": self.held_open}.get(mode) or getattr(self, mode)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and len(self.faults) < 20:
            try:
                step()
            except (OSError, ValueError) as problem:
                self.faults.append(f"{mode}: {problem}")
            self.reads += 1


def main():
    root, mode, seconds, seed = sys.argv[1:]
    names = {int(number): name for number, name in json.load(sys.stdin).items()}
    watcher = Watcher(pathlib.Path(root), names, seed)
    watcher.run(mode, float(seconds))
    print(json.dumps({"reads": watcher.reads, "versions": sorted(watcher.versions),
                      "faults": watcher.faults}))


if __name__ == "__main__":
    main()
