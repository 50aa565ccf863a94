"""Samba: smbd of the Debian package serves a mount, smbclient reads and writes below it.

smbd opens each file twice: with O_PATH by its name, then through /proc/self/fd for what the client asked.
"""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from free_port import free_port
from mounting import wait_until
from write_data import PATIENT, WriteCase, one_of_each  # noqa: F401

BOUND = 60

CONFIGURATION = """
[global]
server role = standalone server
interfaces = lo
bind interfaces only = yes
disable netbios = yes
smb ports = {port}
private dir = {state}/private
pid directory = {state}/pid
lock directory = {state}/lock
state directory = {state}/state
cache directory = {state}/cache
ncalrpc dir = {state}/ncalrpc
usershare path =
log file = {state}/log/%m
map to guest = Bad User
guest account = {user}
load printers = no
disable spoolss = yes
unix extensions = no

[data]
path = {path}
guest only = yes
read only = no
"""


@pytest.fixture(scope="module", autouse=True)
def needs_root():
    if os.getuid() != 0:
        pytest.skip("needs root: smbd becomes the user of each request")


def processes_of_group(group):
    """The process ids in a process group that are still running."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, at = stat.read_text().rpartition(")")[2].split()[:3]
            if int(at) == group and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


class Share:
    """smbd that serves a directory as //127.0.0.1/data on a port of its own, as long as `with` lasts.

    All that smbd keeps goes into `state`, a directory with a short path: it binds sockets there.
    """

    def __init__(self, path, state, user="root"):
        self.path, self.state, self.user = path, state, user

    def __enter__(self):
        for name in ("private", "pid", "lock", "state", "cache", "ncalrpc", "log"):
            (self.state / name).mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        configuration = self.state / "smb.conf"
        configuration.write_text(CONFIGURATION.format(
            port=self.port, state=self.state, path=self.path, user=self.user))
        with open(self.state / "output", "wb") as output:
            # It makes itself the leader of a session, and takes its children along when it ends.
            self.process = subprocess.Popen(
                [shutil.which("smbd", path=f"{os.environ['PATH']}:/usr/sbin"), "--foreground",
                 "--debug-stdout", f"--configfile={configuration}"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            assert wait_until(self._answers, BOUND), self.log()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        self._end()

    def _answers(self):
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def _end(self):
        self.process.terminate()
        try:
            self.process.wait(BOUND)
            assert wait_until(lambda: not processes_of_group(self.process.pid), BOUND), self.log()
        finally:
            for left in processes_of_group(self.process.pid):
                os.kill(left, 9)

    def log(self):
        return (self.state / "output").read_text(errors="replace")

    def client(self, *commands, code=0):
        """Runs commands in one connection by smbclient; what it says."""
        done = subprocess.run(
            ["smbclient", "//127.0.0.1/data", f"--port={self.port}", "--no-pass",
             f"--configfile={self.state}/smb.conf", "--command=" + "; ".join(commands)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=BOUND)
        assert done.returncode == code, f"{commands}:\n{done.stdout}\n{self.log()}"
        return done.stdout


@pytest.fixture
def state(module_work):
    return pathlib.Path(tempfile.mkdtemp(dir=module_work))


@pytest.fixture
def share(one_of_each, state):
    with Share(one_of_each.root, state) as running:
        yield running


def plain_file(case, work, name, version):
    path = work / "plain"
    path.write_bytes(case.bytes_for(name, version))
    return path


def names_in(listing):
    """The names of files in what `ls` of smbclient says, those of directories left out."""
    found = re.findall(r"^  (\S+) +([A-Z]*) +\d+  \w{3} \w{3} ", listing, re.MULTILINE)
    return {name for name, attributes in found if "D" not in attributes}


def test_smbclient_puts_replaces_gets_lists_and_deletes(one_of_each, share, work):
    case = one_of_each
    present, absent = case.present()[0], case.absent()[0]
    for version, name in enumerate((present, absent, present, absent), 1):
        share.client(f"put {plain_file(case, work, name, version)} {name}")
        case.expect([name], version)
        share.client(f"get {name} {work}/got")
        assert (work / "got").read_bytes() == case.expected[name]
    gone = case.present(2)[1]
    share.client(f"del {gone}")
    del case.expected[gone]
    folder = os.path.dirname(present)
    assert names_in(share.client(f"cd {folder}", "ls")) == {
        os.path.basename(name) for name in case.expected if os.path.dirname(name) == folder}
    case.check()


def test_smbclient_copies_a_tree_of_chunks(one_of_each, share, work):
    case = one_of_each
    plain = case.lay_out(work / "plain", case.names, 1)
    share.client("recurse ON", "prompt OFF", f"lcd {plain}", "mput *")
    case.expect(case.names, 1)
    case.check_mount()
    (work / "back").mkdir()
    share.client("recurse ON", "prompt OFF", f"lcd {work}/back", "mget *")
    for name in case.names:
        assert (work / "back" / name).read_bytes() == case.expected[name]
    case.check()


def test_smbclient_renames_a_whole_file_onto_a_chunk(one_of_each, share, work):
    case = one_of_each
    present, absent = case.present()[0], case.absent()[0]
    for name in (present, absent):
        share.client(f"put {plain_file(case, work, name, 1)} {name}.partial",
                     f"rename {name}.partial {name} -f")
        case.expect([name], 1)
    case.check()


def test_smbclient_is_told_of_a_chunk_that_cannot_be_right(work, mount, state):
    case = WriteCase("zarr-nested", work, mount)
    (work / "short").write_bytes(b"x" * 10)
    with Share(case.root, state) as share:
        for name in (case.present()[0], case.absent()[0]):
            share.client(f"put {work}/short {name}", code=1)
    assert "EINVAL" in case.reasons()
    case.check(quiet=False)


def test_another_user_writes_where_modes_let_him(work, mount, state):
    if not all(path.stat().st_mode & 0o001 for path in [work, *work.parents]):
        pytest.skip("the work directory stands where other users cannot come to")
    for options, code in (("allow_other", 1), ("allow_other,umask=000", 0)):
        case = WriteCase("zarr-nested", work / options, mount, f"{PATIENT},{options}")
        present, absent = case.present()[0], case.absent()[0]
        with Share(case.root, state, user="nobody") as share:
            for name in (present, absent):
                said = share.client(f"put {plain_file(case, work, name, 1)} {name}", code=code)
                assert ("NT_STATUS_ACCESS_DENIED" in said) == (code != 0)
                if code == 0:
                    case.expect([name], 1)
            share.client(f"get {present} {work}/got")
        assert (work / "got").read_bytes() == case.expected[present]
        case.check()
