"""A program that writes or reads chunks of a mounted line source and keeps a journal of it.

    chunk_writer.py '{"source": {…}, "journal": "folder", "writer": 3, "seconds": 2.0, …}'

More members: chunks (the numbers it works on), ways (some of WAYS, or "read" alone), first (the
first counter), pause (seconds between two), pieces (of a write, default 2), stop_at_error. Says
"ready" once its working directory is the mount: from then on the mount may die. Ends with 0; what
goes wrong stands in the journal.
"""

import contextlib
import json
import os
import random
import sys
import time

from line_source import LineSource, Torn, value

# Ways in which two writers of one chunk never mix, however many pieces each writes.
WHOLE = ("truncate", "reopen", "rename", "fsync", "link", "unlink")
# in_place writes to the version that another writer has begun: where that writes in pieces as well,
# the chunk holds pieces of both, as a file on a disk would.
WAYS = (*WHOLE, "in_place")


class Writer:
    def __init__(self, order):
        self.source = LineSource(**order["source"])
        # Relative to the working directory: with the mount gone, nothing is written to what is below.
        self.root = "."
        os.chdir(self.source.path)
        self.writer = order["writer"]
        self.chunks = order.get("chunks") or range(self.source.count)
        self.ways = order["ways"]
        self.counter = order.get("first", 1)
        self.pause = order.get("pause", 0)
        self.pieces = order.get("pieces", 2)
        self.stop_at_error = order.get("stop_at_error", True)
        self.random = random.Random(self.writer * 1000003 + self.counter)
        self.journal = os.open(os.path.join(order["journal"], f"{self.writer}.journal"),
                               os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, *words):
        os.write(self.journal, (" ".join(map(str, words)) + "\n").encode())

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            chunk = self.random.choice(self.chunks)
            way = self.random.choice(self.ways)
            if not (self.read(chunk) if way == "read" else self.write(chunk, way)):
                return
            if self.pause:
                time.sleep(self.pause)

    def write(self, chunk, way):
        self.note("begin", chunk, self.counter, time.monotonic_ns(), way)
        try:
            getattr(self, way)(os.path.join(self.root, self.source.name(chunk)), chunk)
        except OSError as error:
            self.note("fail", chunk, self.counter, time.monotonic_ns(), error.errno)
            if self.stop_at_error:
                return False
        else:
            self.note("done", chunk, self.counter, time.monotonic_ns())
        self.counter += 1
        return True

    def read(self, chunk):
        begin = time.monotonic_ns()
        try:
            found = self.source.shown(self.root, chunk)
        except Torn as torn:
            self.note("torn", chunk, str(torn).replace("\n", " "))
            raise
        except OSError as error:
            self.note("refused", chunk, error.errno)
            return not self.stop_at_error
        writer, counter = found or "--"
        self.note("seen", chunk, writer, counter, begin, time.monotonic_ns())
        return True

    def bytes_of(self, chunk):
        return value(chunk, self.writer, self.counter, self.source.chunk_bytes)

    def store(self, path, flags, data, pieces=1, sync=False):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
        try:
            step = len(data) // pieces
            for offset in range(0, len(data), step):
                os.pwrite(descriptor, data[offset:offset + step], offset)
            if sync:
                os.fsync(descriptor)
        except OSError:
            # The reason to note: the close of what is half written fails for another one.
            with contextlib.suppress(OSError):
                os.close(descriptor)
            raise
        os.close(descriptor)

    def truncate(self, path, chunk):
        self.store(path, os.O_TRUNC, self.bytes_of(chunk), pieces=self.pieces)

    def reopen(self, path, chunk):
        """As Samba: what was found is opened without its name."""
        try:
            found = os.open(path, os.O_PATH)
        except FileNotFoundError:
            return self.truncate(path, chunk)
        try:
            self.truncate(f"/proc/self/fd/{found}", chunk)
        finally:
            os.close(found)

    def in_place(self, path, chunk):
        self.store(path, 0, self.bytes_of(chunk))

    def fsync(self, path, chunk):
        self.store(path, os.O_TRUNC, self.bytes_of(chunk), sync=True)

    def rename(self, path, chunk):
        scratch = self.scratch(chunk)
        self.store(scratch, os.O_TRUNC, self.bytes_of(chunk), pieces=self.pieces)
        os.rename(scratch, path)

    def link(self, path, chunk):
        """As rename, but the file is linked where no chunk is."""
        scratch = self.scratch(chunk)
        self.store(scratch, os.O_TRUNC, self.bytes_of(chunk))
        try:
            os.link(scratch, path)
        except FileExistsError:
            os.rename(scratch, path)
        else:
            os.unlink(scratch)

    def unlink(self, path, chunk):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass

    def scratch(self, chunk):
        return os.path.join(self.root, self.source.scratch(chunk, f"of-{self.writer}"))


def main():
    order = json.loads(sys.argv[1])
    writer = Writer(order)
    print("ready", flush=True)
    writer.run(order["seconds"])


if __name__ == "__main__":
    main()
