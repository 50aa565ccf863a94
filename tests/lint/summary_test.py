"""What tests/support/summary.py counts, and what it calls a failure."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import summary  # noqa: E402

GTEST = "[==========] 5 tests from 1 test suite ran. (1 ms total)\n[  PASSED  ] 4 tests.\n"
GTEST_FAILED = "a_test.cc:7: Failure\n[  PASSED  ] 3 tests.\n[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.B\n"
GTEST_SKIPPED = ("tests/store/a_test.cc:7: Skipped\nnothing is removed there\n\n[  PASSED  ] 3 tests.\n"
                 "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.B\n")
PYTEST = "....\n12 passed in 3.21s\n"
PYTEST_FAILED = "E   assert 1 == 2\nFAILED a.py::b\n2 failed, 3 passed, 1 error in 1.00s\n"


def pytest_skipped(reason):
    return f"SKIPPED [2] tests/mount/test_a.py:5: {reason}\n3 passed, 2 skipped in 0.10s\n"


class Summary(unittest.TestCase):
    def summarise(self, *cases):
        """What is printed last, and the exit code, for tests of (status, output)."""
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write("<testsuite>" + "".join(
                f'<testcase name="t{number}" time="1.5" status="{status}"><system-out>{escape(output)}</system-out>'
                "</testcase>" for number, (status, output) in enumerate(cases)) + "</testsuite>")
            file.flush()
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = summary.main(file.name)
        return said.getvalue().strip().splitlines()[-1], code, said.getvalue()

    def test_cases_are_counted(self):
        last, code, _ = self.summarise(("run", GTEST), ("run", PYTEST), ("run", "a lint has nothing to say"))
        self.assertEqual((last, code), ("17 of 17 tests passed, 0 failed, 0 skipped", 0))

    def test_failures_are_counted_and_shown(self):
        last, code, said = self.summarise(("fail", GTEST_FAILED), ("fail", PYTEST_FAILED), ("fail", "Killed"))
        self.assertEqual((last, code), ("6 of 12 tests passed, 6 failed, 0 skipped", 1))
        for line in ("t0: a_test.cc:7: Failure", "t1: E   assert 1 == 2", "t2: Killed"):
            self.assertIn(line, said)

    def test_a_program_that_ended_after_its_count_has_failed(self):
        self.assertEqual(self.summarise(("fail", GTEST))[:2], ("4 of 5 tests passed, 1 failed, 0 skipped", 1))

    def test_skips_for_listed_reasons_are_counted(self):
        last, code, said = self.summarise(("run", GTEST_SKIPPED), ("run", pytest_skipped("about read-only mounts")))
        self.assertEqual((last, code), ("6 of 6 tests passed, 0 failed, 3 skipped", 0))
        self.assertIn("1: nothing is removed there", said)

    def test_a_skip_for_any_other_reason_is_a_failure(self):
        last, code, said = self.summarise(("run", pytest_skipped("versitygw is missing")))
        self.assertEqual((last, code), ("3 of 4 tests passed, 1 failed, 2 skipped", 1))
        self.assertIn("2: versitygw is missing (not a listed reason)", said)

    def test_a_run_without_tests_has_failed(self):
        self.assertEqual(self.summarise(("notrun", pytest_skipped("has no shards").replace("3 passed, ", "")))[1], 1)


if __name__ == "__main__":
    unittest.main()
