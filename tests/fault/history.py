"""What writers did to chunks, and which values may therefore be seen.

Each writer appends lines to a journal of its own, outside of what is tested:

    begin CHUNK COUNTER TIME WAY       before the first system call of a write
    done  CHUNK COUNTER TIME           after the last one succeeded: the write is acknowledged
    fail  CHUNK COUNTER TIME ERRNO     one of them failed
    seen  CHUNK WRITER COUNTER BEGIN END   what one read showed ("- -": no chunk)
    torn  CHUNK WHAT                       a read showed what nobody wrote
    refused CHUNK ERRNO                    a read failed

Times are nanoseconds of CLOCK_MONOTONIC, the same for all processes of this machine.
"""

import bisect
import collections
import dataclasses
import itertools
import pathlib

FOREVER = 2**63


@dataclasses.dataclass
class Write:
    chunk: int
    value: tuple  # (writer, counter), or None: a removal
    begin: int
    way: str = ""
    end: int = FOREVER  # when it was acknowledged, or failed
    acknowledged: bool = False
    error: int = 0


@dataclasses.dataclass
class Seen:
    chunk: int
    value: tuple
    begin: int
    end: int


class Timeline:
    """The writes of one chunk, sorted, so that each of many thousand reads is judged at once."""

    def __init__(self, writes, initial=None):
        self.initial = initial
        known = sorted((write.end, write.begin) for write in writes if write.acknowledged)
        self.ends = [end for end, _ in known]
        self.last_begins = [-1, *itertools.accumulate((begin for _, begin in known), max)]
        self.writes = sorted(writes, key=lambda write: write.begin)
        self.begins = [write.begin for write in self.writes]
        self.last_ends = list(itertools.accumulate((write.end for write in self.writes), max))

    def admissible(self, begin, end):
        """As History.admissible."""
        known = bisect.bisect_right(self.ends, begin)
        last_begin = self.last_begins[known]
        values = set() if known else {self.initial}
        for at in range(bisect.bisect_left(self.begins, end) - 1, -1, -1):
            if self.last_ends[at] < last_begin:
                break  # this write is out of date, and so are all that began before it
            if self.writes[at].end >= last_begin:
                values.add(self.writes[at].value)
        return values


class History:
    """The writes and reads of all journals of a folder."""

    def __init__(self, initial=None):
        self.initial = dict(initial or {})  # {chunk: value} before the first write
        self.writes = collections.defaultdict(list)
        self.reads = []
        self.torn = []  # what readers say of bytes that nobody wrote
        self.refused = collections.Counter()  # {errno: number of reads that failed with it}

    def load(self, folder):
        for path in sorted(pathlib.Path(folder).glob("*.journal")):
            self._load_one(int(path.stem), path.read_text())
        return self

    def _load_one(self, writer, text):
        pending = {}
        for line in text.splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # the writer was killed while it wrote this line
            word, chunk, *rest = line.split()
            chunk = int(chunk)
            if word == "seen":
                value = None if rest[0] == "-" else (int(rest[0]), int(rest[1]))
                self.reads.append(Seen(chunk, value, int(rest[2]), int(rest[3])))
            elif word == "refused":
                self.refused[int(rest[0])] += 1
            elif word == "torn":
                self.torn.append(line.strip())
            elif word == "begin":
                counter, time, way = int(rest[0]), int(rest[1]), rest[2]
                value = None if way == "unlink" else (writer, counter)
                pending[counter] = write = Write(chunk, value, time, way)
                self.writes[chunk].append(write)
            else:
                write = pending.pop(int(rest[0]))
                write.end = int(rest[1])
                write.acknowledged = word == "done"
                write.error = int(rest[2]) if word == "fail" else 0

    @property
    def acknowledged(self):
        return sum(write.acknowledged for of_chunk in self.writes.values() for write in of_chunk)

    def errors(self):
        """{errno: number of writes that failed with it}"""
        return collections.Counter(write.error for of_chunk in self.writes.values()
                                   for write in of_chunk if write.error)

    def failures(self, expected=()):
        """The writes that failed with another errno, for people."""
        return [f"{write.value} by {write.way}: errno {write.error}"
                for writes in self.writes.values() for write in writes
                if write.error and write.error not in expected]

    def admissible(self, chunk, begin=FOREVER, end=FOREVER):
        """The values that a look between `begin` and `end` may find.

        A value is out of date from the moment on at which a write that began after its own write
        had ended is acknowledged. A write that failed may have had its effect.
        """
        return self._timeline(chunk).admissible(begin, end)

    def _timeline(self, chunk):
        return Timeline(self.writes[chunk], self.initial.get(chunk))

    def lost(self, values):
        """Findings where {chunk: value} at the end is not what the writers were promised."""
        return [f"chunk {chunk} holds {found}, may hold {sorted(allowed, key=str)}, "
                f"written {self.last_writes(chunk)}"
                for chunk, found in values.items()
                if found not in (allowed := self.admissible(chunk))]

    def last_writes(self, chunk, number=4):
        """For people."""
        return ", ".join(f"{write.value} by {write.way} {write.begin}"
                         f"{'' if write.acknowledged else ' (not acknowledged)'}"
                         for write in sorted(self.writes[chunk], key=lambda w: w.begin)[-number:])

    def stale_reads(self):
        """Findings where a reader saw what was out of date, or not written at all."""
        timelines = {chunk: self._timeline(chunk) for chunk in {seen.chunk for seen in self.reads}}
        return [f"chunk {seen.chunk} showed {seen.value}, might have shown {sorted(allowed, key=str)}"
                for seen in self.reads
                if seen.value not in (allowed := timelines[seen.chunk].admissible(seen.begin,
                                                                                  seen.end))]
