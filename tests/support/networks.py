"""Network namespaces for tests: each with one link to the namespace of the test, and nothing else."""

import os
import subprocess


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)


class Network:
    """A namespace of its own. Use with `with`.

    gateway   the address at which it reaches the test's namespace
    prefix    what runs a command in it; the mounts that it makes are seen everywhere
    """

    def __init__(self, number):
        self.name = f"unshard-{os.getpid()}-{number}"
        self.link = f"us{os.getpid() % 100000}x{number}"  # at most 15 characters
        self.gateway, self.address = f"10.231.{number}.1", f"10.231.{number}.2"
        self.prefix = ["nsenter", f"--net=/run/netns/{self.name}"]

    def __enter__(self):
        run("ip", "netns", "add", self.name)
        try:
            run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "up0", "netns", self.name)
            run("ip", "address", "add", f"{self.gateway}/30", "dev", self.link)
            run("ip", "link", "set", self.link, "up")
            for command in (["address", "add", f"{self.address}/30", "dev", "up0"],
                            ["link", "set", "up0", "up"], ["link", "set", "lo", "up"]):
                run(*self.prefix, "ip", *command)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)
        subprocess.run(["ip", "link", "delete", self.link], capture_output=True)

    def cut(self):
        """The cable is pulled: nothing arrives in either direction."""
        run("ip", "link", "set", self.link, "down")

    def join(self):
        run("ip", "link", "set", self.link, "up")
