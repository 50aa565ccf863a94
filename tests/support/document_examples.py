"""The examples of documents: blocks that are fenced as ```console, run in order in one shell.

A line that begins with "$ " is a command, "> " carries it on, the lines below it are what it prints (standard
error included). In those, "…" stands for any text within a line, and a line of nothing but "…" for any number of
lines.
"""

import contextlib
import os
import re
import subprocess
import threading

from mounting import mounted_at

END = "--- end of the output ---"


def examples(text):
    """[(line number, command, [lines that it prints])]"""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append((number, line[2:], []))
        elif inside and line.startswith("> ") and not found[-1][2]:
            found[-1] = (found[-1][0], found[-1][1] + "\n" + line[2:], [])
        elif inside:
            found[-1][2].append(line)
    return found


def matches(expected, printed):
    pattern = ""
    for line in expected:
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


class Shell:
    """One bash for all commands, so that they can leave descriptors and variables to each other."""

    def __init__(self, directory, tools):
        folder = directory / "bin"
        folder.mkdir()
        for name, path in tools.items():
            (folder / name).symlink_to(path)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TZ": "UTC",
                       "HOME": str(directory)}
        self.process = subprocess.Popen(
            ["bash", "--norc"], cwd=directory, env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, command, seconds):
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n%s\\n' '{END}'\n")
        self.process.stdin.flush()
        lines = []
        guard = threading.Timer(seconds, self.process.kill)
        guard.start()
        for line in self.process.stdout:
            if line == END + "\n":
                break
            lines.append(line.removesuffix("\n"))
        else:
            raise AssertionError(f"the shell ended, or took too long, at: {command}")
        guard.cancel()
        # The end begins a line of its own: an empty one where the output ended with a newline.
        return lines[:-1] if lines and lines[-1] == "" else lines

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def mounts_below(directory):
    return [path for path in directory.iterdir() if path.is_dir() and mounted_at(path)]


@contextlib.contextmanager
def shell_in(directory, tools):
    """A Shell that finds these {name: path}; it leaves nothing mounted."""
    shell = Shell(directory, tools)
    try:
        yield shell
    finally:
        shell.close()
        for left in mounts_below(directory):
            subprocess.run(["fusermount3", "-u", "-z", str(left)], check=True)


def differences(document, shell, seconds):
    """What the examples of `document` print where it is not what the document says; each command may take so long."""
    faults = []
    for number, command, expected in examples(document.read_text()):
        printed = shell.run(command, seconds)
        if not matches(expected, printed):
            faults.append("\n".join([f"{document.name}:{number}: $ {command}", *printed]))
    return faults
