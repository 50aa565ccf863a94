"""Network namespaces whose only link leads to the namespace of the test."""

import subprocess


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)


class Network:
    """A namespace of its own. Use with `with`.

    gateway   the address at which it reaches the test's namespace
    prefix    what runs a command in it; the mounts that it makes are seen everywhere
    """

    def __enter__(self):
        # The namespace's number gives its addresses. `ip netns add` fails where the number is taken,
        # so tests that run at once, and one after a killed test, get different numbers.
        for number in range(256):
            made = subprocess.run(["ip", "netns", "add", f"unshard-{number}"], capture_output=True)
            if made.returncode == 0:
                break
        else:
            raise AssertionError(f"no network is free: {made.stderr}")
        self.name, self.link = f"unshard-{number}", f"unshard{number}"
        self.gateway, self.address = f"10.231.{number}.1", f"10.231.{number}.2"
        self.prefix = ["nsenter", f"--net=/run/netns/{self.name}"]
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
        """From now on nothing arrives in either direction, as with a pulled cable."""
        run("ip", "link", "set", self.link, "down")

    def join(self):
        run("ip", "link", "set", self.link, "up")
