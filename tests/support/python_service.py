"""A program of another Python, which is started once for many calls: its imports take longer than most calls.

The program ends with `serve({"name": function, …})`; PythonService(python, program).call("name", argument, …) runs that
function with the arguments, as JSON has them, and returns what it returns.
"""

import json
import subprocess
import sys
import traceback


class PythonService:
    def __init__(self, python, program):
        self._process = subprocess.Popen([str(python), "-W", "ignore", str(program)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)

    def call(self, name, *arguments):
        self._process.stdin.write(json.dumps([name, *arguments], default=str) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"{name}: the program has ended with {self._process.wait()}"
        result, failure = json.loads(answer)
        assert failure is None, failure
        return result

    def end(self):
        self._process.stdin.close()
        assert self._process.wait(60) == 0


def serve(functions):
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = [functions[name](*arguments), None]
        except Exception:
            answer = [None, traceback.format_exc()]
        print(json.dumps(answer), file=answers, flush=True)
