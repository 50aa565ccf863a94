#!/usr/bin/env python3
"""What a run of tests says at its end: summary.py JUNIT, where JUNIT is what ctest --output-junit wrote.

The slowest tests, what tests have measured, what has failed and at what line, what was skipped and why, and, as the
last line, how many tests have passed. Cases are counted: a program of GoogleTest and a file of pytest hold many.
Ends with 1 if a test has failed, or was skipped for a reason that is not in REASONS.
"""

import os
import re
import sys
import xml.etree.ElementTree

ROOT = os.geteuid() == 0

# (why a test may be skipped, whether that holds here)
REASONS = [
    # The kernel, or the user who runs the tests, lacks something that no package brings.
    (r"needs root", not ROOT),
    (r"root gives up its right to read everything", not ROOT),
    (r"FUSE over io_uring needs Linux 6\.14", True),
    (r"this kernel has no autofs", True),
    (r"needs user namespaces", True),
    (r"other users cannot come to", True),
    (r"the queue is too long to overflow", True),
    # A build without some libraries; tests/run builds with all, and fails where one is missing.
    (r"not in this build: \w+", True),
    # A table has a row that the test does not apply to.
    (r"about read-only mounts", True),
    (r"has no shards", True),
    (r"nothing is removed there", True),
    (r"the emulator removes no bucket", True),
    (r"a full xfs makes no file", True),
    # store.radosgw runs these, in a run of its own.
    (r"see store\.radosgw", True),
]

GTEST = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) +\] +(\d+) tests?[.,]", re.MULTILINE)
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|warnings?|deselected)(?:, )?)+)"
                    r" in [\d.]+s", re.MULTILINE)
FAILURE = re.compile(r"^(?:E   |FAILED |ERROR |\[  FAILED  \] |[^ \n]+:\d+: )(?!.*Skipped$).*", re.MULTILINE)
SKIPPED = (re.compile(r"^SKIPPED \[(\d+)\] \S+: (.*)", re.MULTILINE),  # pytest
           re.compile(r"^()\S+:\d+: Skipped\n(.*)", re.MULTILINE))  # GoogleTest


class Run:
    def __init__(self, junit):
        self.passed, self.failed, self.skipped = 0, 0, {}
        self.seconds, self.measured, self.failures = {}, [], []
        for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
            output = case.findtext("system-out") or ""
            self.seconds[case.get("name")] = float(case.get("time"))
            self.measured += re.findall(r"^    measured: (.*)", output, re.MULTILINE)
            self._count(case, output)

    def _count(self, case, output):
        failed = case.get("status") == "fail"
        counted = [(word.lower(), int(number)) for word, number in GTEST.findall(output)]
        for line in PYTEST.findall(output):
            counted += [(word.rstrip("s"), int(number)) for number, word in re.findall(r"(\d+) (\w+)", line)]
        counts = {}
        for word, number in counted:
            counts[word] = counts.get(word, 0) + number
        skipped = 0
        for pattern in SKIPPED:
            for number, reason in pattern.findall(output):
                self.skipped[reason] = self.skipped.get(reason, 0) + int(number or 1)
                skipped += int(number or 1)
        if not counts and not skipped:
            counts = {"failed" if failed else "passed": 1}
        self.passed += counts.get("passed", 0)
        lost = counts.get("failed", 0) + counts.get("error", 0)
        # Killed, timed out, or not started: no count of its own says so.
        self.failed += max(lost, 1) if failed else lost
        if failed:
            lines = FAILURE.findall(output) or output.strip().splitlines()[-3:]
            self.failures += [f"{case.get('name')}: {line}" for line in lines[:20]]

    def unexpected(self):
        """The reasons to skip that do not count."""
        return [reason for reason in self.skipped
                if not any(holds and re.search(pattern, reason) for pattern, holds in REASONS)]


def section(title, lines):
    if lines:
        print(f"\n{title}:", *lines, sep="\n  ")


def main(junit):
    run = Run(junit)
    unexpected = run.unexpected()
    slowest = sorted(run.seconds.items(), key=lambda each: -each[1])[:10]
    section("The slowest tests", [f"{seconds:.1f} s {name}" for name, seconds in slowest])
    section("Measured by the tests", run.measured)
    section("Skipped", [f"{number}: {reason}" + (" (not a listed reason)" if reason in unexpected else "")
                        for reason, number in run.skipped.items()])
    section("What failed", run.failures[:60])
    failed = run.failed + len(unexpected)
    print(f"\n{run.passed} of {run.passed + failed} tests passed, {failed} failed, "
          f"{sum(run.skipped.values())} skipped")
    return 1 if failed or not run.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
