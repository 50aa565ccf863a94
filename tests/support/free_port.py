"""Ports of 127.0.0.1 for programs that open the port that they are given."""

import pathlib
import random
import socket

LOCAL_PORTS = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST, LAST = 1024, 65535  # without those that take a privilege


def free_port():
    """A port that nothing listens on.

    It is none of those that the kernel gives to connections: between this answer and the moment at
    which a program opens the port, a connection of a test beside this one would get it now and then.
    """
    first, last = map(int, LOCAL_PORTS.read_text().split())
    ports = [*range(FIRST, first), *range(last + 1, LAST + 1)] or range(FIRST, LAST + 1)
    while True:
        port = random.choice(ports)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
