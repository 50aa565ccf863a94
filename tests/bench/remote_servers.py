"""Servers that datasets are read from, and the way to them.

A server serves the folder of all datasets, says how each contestant is told where something is, and
counts the requests that it has answered. To add one: a class like Nginx, and its line in SERVERS.
"""

import pathlib
import re
import socket
import subprocess
import sys
import time

from mounting import wait_until

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "servers"
START_SECONDS = 20
SETTLE_SECONDS = 0.05  # the last line of a log comes after the last byte of its answer


class Program:
    """A program that says in its first line where it listens, and is ended by its process id."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(part) for part in command], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.line = self.process.stdout.readline().strip()
        self.address = self.line.split("//")[-1]  # HOST:PORT
        if not wait_until(self._listens, START_SECONDS):
            self.stop()
            raise RuntimeError(f"{command[0]} does not serve: {self.line or 'it has ended'}")

    def _listens(self):
        host, _, port = self.address.partition(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except (OSError, ValueError):
            return False
        return True

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Nginx:
    """tests/servers/nginx: plain HTTP with ranges."""

    name = "nginx"

    def __init__(self, root, work):
        self.root = root
        self.program = Program(sys.executable, SCRIPTS / "nginx", root, work)
        self.address = self.program.address
        self.log = work / "requests"
        self.taken = 0

    def stop(self):
        self.program.stop()

    # Of the directory `path` below the served folder, for those who reach the server at `address`:
    def url(self, address, path):
        return f"http://{address}/plain/{path}"

    def rclone(self, address, path):
        """Arguments that name it, with listings, which HTTP knows only as pages of links."""
        return [":http:", "--http-url", f"http://{address}/listed/{path}/"]

    def take_requests(self):
        """Requests answered since the last call: how many, and how many bytes of objects in all."""
        time.sleep(SETTLE_SECONDS)
        with open(self.log, "rb") as log:
            log.seek(self.taken)
            text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        self.taken += len(text)
        lines = text.decode().splitlines()
        return {"count": len(lines), "bytes": sum(map(self._size, lines))}

    def _size(self, line):
        asked = re.match(r'GET (\S+) "(?:bytes=(\d*)-(\d*)|-)" .* 20[06]$', line)
        if not asked:
            return 0
        target, first, last = asked.groups()
        path = self.root / target.split("/", 2)[2]
        size = path.stat().st_size if path.is_file() else 0
        if first:
            return min(int(last) + 1 if last else size, size) - int(first)
        return min(int(last), size) if last else size


SERVERS = {each.name: each for each in (Nginx,)}
