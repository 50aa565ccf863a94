"""The program as people and init systems start it: background, helpers, signals, other users."""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

import pytest

from mount_data import VersionedVolume, VersionedZarr, refused
from mounting import DEAD, OWN_NAMESPACE, MountFailed, freeze, mounted_at, remove_tree, wait_until

NOBODY = pwd.getpwnam("nobody")
BOUND = 30


def daemons_of(point):
    """Process ids whose command line names this mount point."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(point) in words and b"unshard" in b" ".join(words[:1]):
                found.append(int(entry.name))
    return found


def end_everything_at(point):
    """Takes a mount away in whatever state it is, and the daemon behind it."""
    daemons = daemons_of(point)
    for command in (["fusermount3", "-u", "-z"], ["umount", "-l"]):
        if mounted_at(point):
            subprocess.run([*command, point], capture_output=True, timeout=BOUND)
    if not wait_until(lambda: not set(daemons_of(point)) & set(daemons), BOUND):
        for daemon in daemons:
            os.kill(daemon, signal.SIGKILL)


@pytest.fixture
def source(work):
    return VersionedVolume(work / "source")


@pytest.fixture
def point(work):
    """An empty directory to mount on; whatever is mounted there at the end is taken away."""
    path = work / "point"
    path.mkdir()
    yield path
    end_everything_at(path)


def assert_serves(point, source):
    for number in list(source.names)[:3]:
        assert (point / source.names[number]).read_bytes() == source.expected(number, 1)


def ended(point):
    """Whether the mount is gone and no daemon of it is left, soon."""
    return wait_until(lambda: not mounted_at(point) and not daemons_of(point), BOUND)


# ------------------------------------------------------------------------------------ in the background


def test_mount_returns_success_only_when_mounted(source, point, run_unshard):
    done = run_unshard("mount", source.path, point)
    assert (done.returncode, done.stderr) == (0, "")
    assert mounted_at(point) == "fuse.unshard"
    assert_serves(point, source)
    assert run_unshard("umount", point).returncode == 0
    assert ended(point)


@pytest.mark.parametrize("options, mode", [("list=present", "rw"), ("ro", "ro"), ("rw", "rw")])
def test_the_mount_table_names_the_source_and_the_mode(source, point, run_unshard, options, mode):
    assert run_unshard("mount", source.path, point, "-o", options).returncode == 0
    shown = subprocess.run(["findmnt", "-n", "-o", "SOURCE,FSTYPE,OPTIONS", point], text=True,
                           capture_output=True, timeout=BOUND).stdout.split()
    assert shown[0] == str(source.path) and shown[1] == "fuse.unshard"
    assert {mode, "nosuid", "nodev"} <= set(shown[2].split(","))


def test_the_daemon_is_detached_and_its_command_line_names_the_mount_point(
        source, point, run_unshard):
    assert run_unshard("mount", source.path, point).returncode == 0
    daemons = daemons_of(point)
    assert daemons == [json.loads((point / ".unshard/status.json").read_text())["pid"]]
    assert os.getsid(daemons[0]) != os.getsid(0)
    assert os.readlink(f"/proc/{daemons[0]}/cwd") == "/"
    targets = {os.readlink(f"/proc/{daemons[0]}/fd/{number}") for number in range(3)}
    assert targets == {"/dev/null"}


def test_relative_paths_are_those_of_the_caller(source, point, work, run_unshard):
    assert run_unshard("mount", "source", "point", cwd=work).returncode == 0
    assert_serves(point, source)
    status = json.loads((point / ".unshard/status.json").read_text())
    assert (status["source"], status["mount_point"]) == (str(source.path), str(point))
    assert run_unshard("umount", "point", cwd=work).returncode == 0
    assert ended(point)


def test_names_with_spaces_commas_and_other_letters_work(work, run_unshard):
    source = VersionedZarr(work / "my data, größer\\1")
    point = work / "mount, here ü\\2"
    point.mkdir()
    try:
        done = run_unshard("mount", source.path, point)
        assert done.returncode == 0, done.stderr
        assert_serves(point, source)
        assert json.loads((point / ".unshard/status.json").read_text())["mount_point"] == str(point)
        assert run_unshard("umount", point).returncode == 0
    finally:
        end_everything_at(point)


def test_sigterm_ends_the_daemon_and_takes_the_mount_away(source, point, run_unshard):
    assert run_unshard("mount", source.path, point).returncode == 0
    assert_serves(point, source)
    os.kill(daemons_of(point)[0], signal.SIGTERM)
    assert ended(point)


def test_fusermount_u_and_umount_end_the_daemon(source, point, run_unshard):
    for command in (["fusermount3", "-u"], ["umount"]):
        assert run_unshard("mount", source.path, point).returncode == 0
        subprocess.run([*command, point], check=True, timeout=BOUND)
        assert ended(point)


def test_umount_of_a_busy_mount_says_so_and_leaves_it_working(source, point, run_unshard):
    assert run_unshard("mount", source.path, point).returncode == 0
    with open(point / source.names[0], "rb"):
        done = run_unshard("umount", point)
        assert done.returncode == 1 and "busy" in done.stderr
        assert f"({os.getpid()}) uses it" in done.stderr
        assert_serves(point, source)
    assert run_unshard("umount", point).returncode == 0
    assert ended(point)


def test_of_several_mounts_of_one_directory_at_once_one_wins(unshard_binary, source, point):
    """The others say what is there, and leave no daemon behind that nobody can reach."""
    for _ in range(8):
        racing = [subprocess.Popen([unshard_binary, "mount", source.path, point], text=True,
                                   stderr=subprocess.PIPE) for _ in range(3)]
        ends = [(each.communicate(timeout=BOUND)[1], each.returncode) for each in racing]
        assert sorted(code for _, code in ends) == [0, 1, 1], ends
        for message, code in ends:
            assert code == 0 or f"{point}: {source.path} is mounted there already" in message
        assert_serves(point, source)
        assert wait_until(lambda: len(daemons_of(point)) == 1, BOUND)
        subprocess.run([unshard_binary, "umount", point], check=True, timeout=BOUND)
        assert ended(point)


def test_a_script_may_lock_the_directory_around_its_mount(unshard_binary, source, point):
    point.mkdir(exist_ok=True)
    done = subprocess.run(["flock", point, unshard_binary, "mount", source.path, point], timeout=BOUND,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_serves(point, source)
    subprocess.run([unshard_binary, "umount", point], check=True, timeout=BOUND)


def test_umount_of_what_is_not_mounted_says_so(point, run_unshard):
    done = run_unshard("umount", point)
    assert done.returncode == 1 and f"{point}: nothing is mounted there" in done.stderr
    done = run_unshard("umount", "/proc")
    assert done.returncode == 1 and "/proc: holds a mount of type proc" in done.stderr


def test_a_mount_point_is_found_through_links_and_with_a_slash(source, point, work, run_unshard):
    (work / "link").symlink_to("point")
    for name in ("link", "link/", "point/", "point/.", f"{point}//"):
        assert run_unshard("mount", source.path, name, cwd=work).returncode == 0
        assert_serves(point, source)
        done = run_unshard("umount", name, cwd=work)
        assert done.returncode == 0, done.stderr
        assert ended(point)


def test_mounting_twice_on_one_directory_is_refused(source, point, run_unshard):
    assert run_unshard("mount", source.path, point).returncode == 0
    done = run_unshard("mount", source.path, point)
    assert done.returncode == 1 and f"{source.path} is mounted there already" in done.stderr
    assert_serves(point, source)
    assert run_unshard("umount", point).returncode == 0
    assert ended(point)


@pytest.mark.parametrize("bound", ["", "source", "source below"])
def test_a_mount_point_inside_the_source_is_refused(source, work, run_unshard, bound):
    """Also where a bind mount leads there."""
    inside = source.path / "deep" / "inside"
    inside.mkdir(parents=True)
    point = inside
    if bound:
        if os.getuid() != 0:
            pytest.skip("needs root: binds a directory to another")
        (work / "bound").mkdir()
        point = work / "bound" / ("inside" if "below" in bound else "deep/inside")
        subprocess.run(["mount", "--bind", inside.parent if "below" in bound else source.path,
                        work / "bound"], check=True)
    try:
        done = run_unshard("mount", source.path, point)
        assert done.returncode == 1 and f"{point}: is inside the source" in done.stderr
        assert not mounted_at(point)
    finally:
        if bound:
            subprocess.run(["umount", work / "bound"], check=True)


def test_a_mount_over_its_own_source_serves_it(source, run_unshard):
    try:
        done = run_unshard("mount", source.path, source.path)
        assert done.returncode == 0, done.stderr
        assert_serves(source.path, source)
        assert os.statvfs(source.path).f_namemax == 255
        assert run_unshard("umount", source.path).returncode == 0
        assert ended(source.path)
    finally:
        end_everything_at(source.path)


def test_a_spool_inside_the_source_is_refused(source, point, run_unshard):
    done = run_unshard("mount", source.path, point, "-o", f"spool={source.path}/spool")
    assert done.returncode == 1 and "is inside the source" in done.stderr
    assert not mounted_at(point) and not (source.path / "spool").exists()


def test_rw_where_nothing_can_be_written_is_refused(nobody):
    done = nobody.run(nobody.program, "mount", nobody.source.path, nobody.point, "-o", "rw")
    assert done.returncode == 1 and "cannot be written to" in done.stderr
    assert not nobody.mounted()
    done = nobody.run(nobody.program, "mount", nobody.source.path, nobody.point, "-o", "immutable,rw")
    assert done.returncode == 2 and "immutable,rw" in done.stderr
    assert not nobody.mounted()


@pytest.mark.parametrize("arguments", [[], ["bogus"], ["mount", "a"], ["umount"], ["status", "--no"],
                                       ["mount", "a", "b", "-o", "bogus"]])
def test_wrong_arguments_end_with_2(run_unshard, arguments):
    assert run_unshard(*arguments).returncode == 2


@pytest.mark.long
def test_umount_does_not_wait_for_ever_for_a_mount_that_does_not_answer(source, point, run_unshard):
    assert run_unshard("mount", source.path, point).returncode == 0
    daemon, = daemons_of(point)
    freeze(daemon)
    try:
        done = run_unshard("umount", point)
        assert done.returncode == 1 and "does not answer" in done.stderr
        assert str(daemon) in done.stderr
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert_serves(point, source)
    assert run_unshard("umount", point).returncode == 0


# ---------------------------------------------------------------------------------------------- refusals


def broken_volume(work):
    source = VersionedVolume(work / "broken")
    info = json.loads((source.path / "info").read_text())
    info["scales"][0]["sharding"]["minishard_bits"] = "two"
    (source.path / "info").write_text(json.dumps(info))
    return source.path


def broken_zarr(work):
    source = VersionedZarr(work / "broken")
    document = json.loads((source.path / "zarr.json").read_text())
    document["codecs"][0]["configuration"]["chunk_shape"] = [0, 120]
    (source.path / "zarr.json").write_text(json.dumps(document))
    return source.path


def no_dataset(work):
    (work / "nothing").mkdir()
    (work / "nothing/readme.txt").write_text("no volume\n")
    return work / "nothing"


def cut_json(work):
    source = VersionedZarr(work / "broken")
    (source.path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "arr')
    return source.path


REFUSALS = {
    "missing source": (lambda work: work / "missing", ["missing"]),
    "file as source": (lambda work: pathlib.Path(__file__), ["test_command_line.py", "directory"]),
    "no dataset": (no_dataset, ["nothing", "info", "zarr.json", ".zarray", "attributes.json"]),
    "wrong type in info": (broken_volume, ["info", "scales[0]", "minishard_bits"]),
    "zero chunk in zarr.json": (broken_zarr, ["zarr.json", "codecs[0]", "chunk_shape"]),
    "cut zarr.json": (cut_json, ["broken/zarr.json"]),
}


@pytest.mark.parametrize("foreground", [[], ["-f"]])
@pytest.mark.parametrize("kind", list(REFUSALS))
def test_the_real_error_is_printed_where_nothing_can_be_mounted(
        work, point, run_unshard, kind, foreground):
    make, words = REFUSALS[kind]
    done = run_unshard("mount", *foreground, make(work), point, timeout=BOUND)
    assert done.returncode != 0
    assert all(word in done.stderr for word in words), done.stderr
    assert not mounted_at(point) and not daemons_of(point)
    assert done.stdout == ""


@pytest.mark.parametrize("foreground", [[], ["-f"]])
def test_a_missing_mount_point_or_a_file_in_its_place_is_named(
        source, work, run_unshard, foreground):
    (work / "file").write_text("")
    for path in (work / "no-such-directory", work / "file"):
        done = run_unshard("mount", *foreground, source.path, path)
        assert done.returncode != 0 and str(path) in done.stderr, done.stderr
        assert not daemons_of(path)


@pytest.mark.parametrize("options, words", [
    ("frobnicate", ["frobnicate"]), ("list=some", ["list", "some", "present"]),
    ("ttl=soon", ["ttl", "soon"]), ("uid=root,gid=0", ["uid", "root"]), ("umask=9", ["umask", "9"]),
    ("memory=lots", ["memory", "lots"]), ("immutable,wath=off", ["wath"]),
    ("watch=maybe", ["watch", "maybe"]), ("morton=odd", ["morton", "odd"]),
    ("view=tiff", ["view", "tiff", "native"]),
    ("memory=1", ["memory"]), ("ttl=-1", ["ttl"]), ("uid=4294967296", ["uid"])])
def test_unknown_options_and_bad_values_are_refused_by_name(
        source, point, run_unshard, options, words):
    done = run_unshard("mount", source.path, point, "-o", options)
    assert done.returncode != 0 and not mounted_at(point)
    assert all(word in done.stderr for word in words), done.stderr


def test_words_that_fstab_systemd_and_mount_add_are_accepted(source, point, run_unshard):
    words = ("defaults,_netdev,nofail,noauto,user,rw,x-systemd.automount,x-gvfs-show,comment=mine,"
             "relatime,nosuid,nodev,noexec")
    done = run_unshard("mount", source.path, point, "-o", words, "-o", "ro,list=grid")
    assert done.returncode == 0, done.stderr
    assert_serves(point, source)
    refused(errno.EROFS, open, point / "new", "w")


@pytest.mark.parametrize("arguments", [["mount"], ["mount", "only-one"], ["frob"], ["--frob"], [],
                                       ["mount", "a", "b", "c"], ["umount"], ["info"],
                                       ["flush"], ["status"], ["status", "--watch", "--json", "a"],
                                       ["spool"], ["spool", "publish"], ["spool", "export"],
                                       ["spool", "frob"], ["infoo", "x"], ["why"], ["help", "frob"],
                                       ["list", "x"], ["sample", "d"]])
def test_a_wrong_command_line_is_refused_with_2_and_one_line_with_a_hint(run_unshard, arguments):
    done = run_unshard(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    line, = done.stderr.splitlines()
    assert line.startswith("unshard") and "--help`" in line
    if arguments and arguments[0] in ("frob", "infoo", "sample"):
        assert re.search(rf"unshard: {arguments[0]}: no such command; "
                         r"(expected one of mount, |did you mean \w+\?; see)", line)


def test_mounting_over_the_source_itself_serves_it_or_is_refused(source, run_unshard):
    """Mounting over the source itself hides it from others, but the daemon still reads it."""
    done = run_unshard("mount", source.path, source.path)
    try:
        if done.returncode == 0:
            assert_serves(source.path, source)
        else:
            assert str(source.path) in done.stderr
    finally:
        end_everything_at(source.path)


# ---------------------------------------------------------------------------------- in the foreground


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_foreground_process_exits_with_0_after_a_signal(source, mount, number):
    mounted = mount(source.path)
    assert_serves(mounted.path, source)
    assert mounted.terminate(number) == 0
    assert not mounted_at(mounted.path)


def test_the_foreground_process_exits_with_0_after_an_unmount(source, mount):
    mounted = mount(source.path)
    subprocess.run(["fusermount3", "-u", mounted.path], check=True, timeout=BOUND)
    assert mounted.process.wait(BOUND) == 0


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE])
def test_a_signal_that_means_nothing_ends_nobody(source, mount, number):
    mounted = mount(source.path)
    mounted.process.send_signal(number)
    assert_serves(mounted.path, source)
    assert mounted.process.poll() is None


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_mount_with_closed_standard_files_shows_every_chunk(
        source, point, unshard_binary, closed):
    done = subprocess.run(["sh", "-c", f'exec "$0" mount "$1" "$2" {closed}', unshard_binary,
                           source.path, point], timeout=BOUND)
    assert done.returncode == 0
    assert_serves(point, source)
    subprocess.run(["sh", "-c", f'exec "$0" umount "$1" {closed}', unshard_binary, point],
                   check=True, timeout=BOUND)
    assert ended(point)


def test_sigterm_ends_also_a_mount_that_is_in_use(source, mount):
    mounted = mount(source.path)
    descriptor = os.open(mounted.path / source.names[0], os.O_RDONLY)
    try:
        assert os.read(descriptor, 1 << 20) == source.expected(0, 1)
        assert mounted.terminate() == 0
        assert not mounted_at(mounted.path)
    finally:
        close_what_is_dead(descriptor)


def test_v_logs_more_to_stderr_and_without_it_little_is_said(source, mount):
    quiet, verbose = mount(source.path), mount(source.path, arguments=["-v"])
    for each in (quiet, verbose):
        assert_serves(each.path, source)
        each.unmount()
    assert len(verbose.log()) > len(quiet.log())
    assert len(quiet.log().splitlines()) < 12


def test_threads_and_descriptors_of_an_idle_mount_are_few(source, mount):
    mounted = mount(source.path)
    for name in source.names.values():
        (mounted.path / name).read_bytes()
    place = pathlib.Path(f"/proc/{mounted.process.pid}")
    # On a busy machine a request finds all threads busy more often, up to 64 (kThreads).
    threads = len(list((place / "task").iterdir()))
    assert threads < 64 + 16
    # Each thread that serves requests has a pipe.
    assert len(list((place / "fd").iterdir())) < 30 + 2 * threads + len(source.shards)


# --------------------------------------------------------------------------------------- dead mounts


def close_what_is_dead(descriptor):
    with contextlib.suppress(OSError):  # ENOTCONN from the kernel's own flush
        os.close(descriptor)


@pytest.fixture
def dead(source, point, run_unshard):
    """A mount point whose daemon was killed."""
    assert run_unshard("mount", source.path, point).returncode == 0
    assert_serves(point, source)
    os.listdir(point)
    daemon, = daemons_of(point)
    os.kill(daemon, signal.SIGKILL)
    assert wait_until(lambda: not daemons_of(point), BOUND) and mounted_at(point)
    refused(DEAD, os.statvfs, point)
    return point


def test_mounting_over_the_dead_mount_of_a_killed_daemon_works(dead, source, run_unshard):
    done = run_unshard("mount", source.path, dead)
    assert done.returncode == 0, done.stderr
    assert_serves(dead, source)
    assert run_unshard("umount", dead).returncode == 0
    assert not mounted_at(dead)


def test_umount_takes_a_dead_mount_away_and_the_next_mount_is_clean(dead, source, run_unshard):
    done = run_unshard("umount", dead)
    assert done.returncode == 0, done.stderr
    assert not mounted_at(dead)
    assert run_unshard("mount", source.path, dead).returncode == 0
    assert_serves(dead, source)


def test_readers_of_a_killed_daemon_get_an_error_and_do_not_hang(source, point, run_unshard):
    assert run_unshard("mount", source.path, point).returncode == 0
    descriptor = os.open(point / source.names[0], os.O_RDONLY)
    try:
        os.kill(daemons_of(point)[0], signal.SIGKILL)
        assert wait_until(lambda: not daemons_of(point), BOUND)
        refused((*DEAD, errno.EIO), os.read, descriptor, 10)
    finally:
        close_what_is_dead(descriptor)


# -------------------------------------------------------------------------- mount(8), fstab and others

IN_NAMESPACE = """
set -eu
mount -t overlay overlay -o lowerdir={helpers}:/usr/sbin /usr/sbin
trap 'fusermount3 -u -z "{point}" 2>/dev/null || :' EXIT
{script}
grep -q ' {point} fuse.unshard r[ow],' /proc/self/mounts
cmp '{point}/{name}' '{wanted}'
cat '{point}/.unshard/config.json'
umount '{point}'
! grep -q ' {point} ' /proc/self/mounts
"""


@pytest.fixture
def by_mount_program(source, point, work, unshard_binary):
    """Runs a script in a mount namespace of its own in which mount.unshard stands in /sbin; the
    script mounts `point`. The options in force, as .unshard/config.json tells them."""
    if os.getuid() != 0:
        pytest.skip("needs root: a mount namespace in which mount.unshard is installed")
    (work / "sbin").mkdir()
    (work / "sbin/mount.unshard").symlink_to(unshard_binary)
    (work / "wanted").write_bytes(source.expected(0, 1))

    def run(script):
        whole = IN_NAMESPACE.format(helpers=work / "sbin", point=point, name=source.names[0],
                                    wanted=work / "wanted", script=script)
        done = subprocess.run([*OWN_NAMESPACE, "sh", "-c", whole],
                              capture_output=True, text=True, timeout=BOUND)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert ended(point) and not os.path.exists("/sbin/mount.unshard")
        return json.loads(done.stdout)

    return run


def test_mount_t_unshard_mounts_through_the_helper(by_mount_program, source, point):
    config = by_mount_program(f"mount -t unshard '{source.path}' '{point}' "
                              "-o list=grid,allow_other,umask=022")
    assert config["list"] == "grid" and config["allow_other"] is True


def test_mount_t_unshard_without_options_and_with_v_and_ro(by_mount_program, source, point):
    by_mount_program(f"mount -v -r -t unshard '{source.path}' '{point}'")


def test_an_fstab_line_mounts(by_mount_program, source, point, work):
    (work / "fstab").write_text(
        f"{source.path} {point} unshard ro,_netdev,nofail,x-systemd.automount,list=none,ttl=5 0 0\n")
    config = by_mount_program(f"mount -T '{work}/fstab' '{point}'")
    assert config["list"] == "none" and config["ttl_milliseconds"] == 5000


def test_mount_a_mounts_what_the_fstab_lists(by_mount_program, source, point, work):
    (work / "fstab").write_text(f"{source.path}\t{point}\tunshard\tdefaults,user,immutable\t0\t0\n")
    assert by_mount_program(f"mount -a -T '{work}/fstab'")["immutable"] is True


def test_the_helper_passes_an_error_on_to_mount(by_mount_program, source, point, work):
    """mount(8) fails with the program's own message, and a right call mounts afterwards."""
    by_mount_program(f"""
if mount -t unshard '{work}/no-such' '{point}' 2>'{work}/message'; then exit 7; fi
grep -q 'no-such' '{work}/message'
if mount -t unshard '{source.path}' '{point}' -o bogus 2>'{work}/message'; then exit 8; fi
grep -q bogus '{work}/message'
mount -t unshard '{source.path}' '{point}'
""")


# ------------------------------------------------------------------------------------------- the log

# A /dev of its own: the machine may have no /dev/log, and whatever listens there stays out of it.
WITH_SYSLOG = """
set -eu
for device in null fuse; do
  : > '{dev}'/$device
  mount --bind /dev/$device '{dev}'/$device
done
mount --rbind '{dev}' /dev
trap 'fusermount3 -u -z "{point}" 2>/dev/null || :' EXIT
{mount}
if cat '{point}/{name}' 2>/dev/null; then exit 7; fi
cat '{point}/.unshard/errors'
umount '{point}'
wait
"""
IN_FOREGROUND = """
'{program}' mount -f '{source}' '{point}' 2>'{messages}' &
until grep -q ' {point} fuse.unshard ' /proc/self/mounts; do sleep 0.05; kill -0 $!; done
"""
IN_BACKGROUND = "'{program}' mount '{source}' '{point}' 2>'{messages}'"


class Syslog:
    """Runs a mount whose first request fails, in a mount namespace in which this is syslogd."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        (folder / "dev").mkdir()
        self.socket.bind(str(folder / "dev/log"))

    def run(self, mount, source, name, point):
        """(lines that came to syslog, lines on standard error, lines of .unshard/errors)"""
        places = {"dev": self.folder / "dev", "point": point, "name": name, "source": source,
                  "program": self.program, "messages": self.folder / "messages"}
        script = WITH_SYSLOG.format(mount=mount.format(**places), **places)
        done = subprocess.run([*OWN_NAMESPACE, "sh", "-c", script],
                              capture_output=True, text=True, timeout=BOUND)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert ended(point)
        return self._received(), places["messages"].read_text().splitlines(), done.stdout.splitlines()

    def _received(self):
        lines = []
        with contextlib.suppress(BlockingIOError):
            while True:
                lines.append(self.socket.recv(1 << 16).decode())
        return lines


@pytest.fixture
def syslog(unshard_binary):
    if os.getuid() != 0:
        pytest.skip("needs root: a mount namespace with a /dev/log of its own")
    # Not below the build folder, the path of which may be too long for a socket.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unshard-", dir="/tmp"))
    daemon = Syslog(folder, unshard_binary)
    yield daemon
    daemon.socket.close()
    remove_tree(folder)


@pytest.fixture
def damaged(work):
    source = VersionedZarr(work / "source")
    os.truncate(source.shard_path(0), 10)
    return source


def failed_request(errors):
    """The only line of .unshard/errors without its time: what stands in the log as well."""
    failed, = errors
    found = re.fullmatch(r"\S+Z (lookup /c/0/0 EIO data loss: .*)", failed)
    assert found, failed
    return found[1]


def test_a_mount_in_the_background_logs_a_failed_request_to_syslog(syslog, damaged, point):
    received, messages, errors = syslog.run(IN_BACKGROUND, damaged.path, damaged.names[0], point)
    line, = [each for each in received if "lookup" in each]
    # Facility daemon, severity error, and the process.
    head = r"<27>\w{3} [ \d]\d \d\d:\d\d:\d\d unshard\[\d+\]: "
    assert re.fullmatch(head + re.escape(failed_request(errors)), line), line
    assert not messages, "who mounted is told of nothing that comes later"


def test_a_mount_in_the_foreground_logs_a_failed_request_to_stderr(syslog, damaged, point):
    received, messages, errors = syslog.run(IN_FOREGROUND, damaged.path, damaged.names[0], point)
    line, = [each for each in messages if "lookup" in each]
    assert line.endswith(failed_request(errors)), line
    assert not received, "somebody reads standard error"


# ----------------------------------------------------------------------------------------- other users


class Nobody:
    """Runs programs as the user nobody, in a mount namespace in which /dev/fuse is open to all, as
    udev makes it on any ordinary system."""

    def __init__(self, folder, binary):
        self.program, self.point = folder / "unshard", folder / "point"
        shutil.copy(binary, self.program)
        self.source = VersionedVolume(folder / "source")
        self.point.mkdir()
        self.state = folder / "state"
        self.state.mkdir()
        for own in (self.point, self.state):
            os.chown(own, NOBODY.pw_uid, NOBODY.pw_gid)
        device = folder / "fuse"
        os.mknod(device, 0o666 | stat.S_IFCHR, os.stat("/dev/fuse").st_rdev)
        device.chmod(0o666)
        self.holder = subprocess.Popen(
            [*OWN_NAMESPACE, "sh", "-c",
             'mount --bind "$0" /dev/fuse && echo ready && exec sleep 300', device],
            stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n"

    def inside(self, *command, **more):
        # The root as well: the tests may run below one that is not that of the machine.
        there = f"/proc/{self.holder.pid}"
        return subprocess.run(["nsenter", f"--mount={there}/ns/mnt", f"--root={there}/root", "--wd=/",
                               *map(str, command)], capture_output=True, text=True, timeout=BOUND,
                              **more)

    def run(self, *command, **more):
        return self.inside("setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}",
                           "--clear-groups", "env", f"XDG_STATE_HOME={self.state}", *command,
                           **more)

    def mounted(self):
        table = pathlib.Path(f"/proc/{self.holder.pid}/mounts").read_text(
            errors="surrogateescape")
        return f" {self.point} fuse.unshard " in table

    def ended(self):
        return wait_until(lambda: not self.mounted() and not daemons_of(self.point), BOUND)

    def close(self):
        self.inside("umount", "-l", self.point)
        self.holder.kill()
        self.holder.wait(BOUND)
        self.holder.stdout.close()
        end_everything_at(self.point)


@pytest.fixture
def nobody(unshard_binary):
    if os.getuid() != 0:
        pytest.skip("needs root: becomes the user nobody")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unshard-", dir="/tmp"))
    folder.chmod(0o755)
    someone = Nobody(folder, unshard_binary)
    yield someone
    someone.close()
    remove_tree(folder)


def test_an_unprivileged_user_mounts_reads_and_unmounts(nobody):
    source, point = nobody.source, nobody.point
    done = nobody.run(nobody.program, "mount", source.path, point)
    assert done.returncode == 0, done.stderr
    assert nobody.mounted()
    seen = nobody.run("sha256sum", point / source.names[0]).stdout.split()[0]
    assert seen == hashlib.sha256(source.expected(0, 1)).hexdigest()
    owner = nobody.run("stat", "-c", "%u %g %a", point / source.names[0]).stdout
    assert owner.split() == [str(NOBODY.pw_uid), str(NOBODY.pw_gid), "444"]
    for name in ("status.json", "metrics", "config.json", "errors"):
        assert nobody.run("cat", point / ".unshard" / name).returncode == 0
    status = json.loads(nobody.run("cat", point / ".unshard/status.json").stdout)
    assert [status["pid"]] == daemons_of(point)
    assert nobody.inside("ls", point).returncode != 0, "root is let in without allow_other"
    done = nobody.run(nobody.program, "umount", point)
    assert done.returncode == 0, done.stderr
    assert nobody.ended()


def test_an_unprivileged_daemon_ends_at_sigterm_and_unmounts_itself(nobody):
    assert nobody.run(nobody.program, "mount", nobody.source.path, nobody.point).returncode == 0
    assert nobody.run("kill", "-TERM", daemons_of(nobody.point)[0]).returncode == 0
    assert nobody.ended()


@pytest.mark.parametrize("options", ["rw", "umask=022"], ids=["as it is", "modes are checked"])
def test_an_unprivileged_user_writes_and_flushes(nobody, options):
    source, point = nobody.source, nobody.point
    for path in (source.path, *source.path.rglob("*")):
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    done = nobody.run(nobody.program, "mount", source.path, point, "-o",
                      f"{options},publish_after=600")
    assert done.returncode == 0, done.stderr
    written = nobody.state / "written"
    written.write_bytes(source.expected(0, 2))
    assert nobody.run("cp", written, point / source.names[0]).returncode == 0
    done = nobody.run(nobody.program, "flush", point)
    assert (done.returncode, done.stderr) == (0, "")
    assert source.expected(0, 2) in source.shard_path(source.shard_of(0)).read_bytes()
    done = nobody.run(nobody.program, "umount", point)
    assert done.returncode == 0, done.stderr
    assert nobody.ended()


def test_a_mount_point_that_belongs_to_another_user_is_refused(nobody):
    os.chown(nobody.point, 0, 0)
    done = nobody.run(nobody.program, "mount", nobody.source.path, nobody.point)
    assert done.returncode != 0 and str(nobody.point) in done.stderr
    assert not nobody.mounted() and not daemons_of(nobody.point)


def test_a_source_that_may_not_be_read_is_refused(nobody):
    nobody.source.path.chmod(0o700)
    done = nobody.run(nobody.program, "mount", nobody.source.path, nobody.point)
    assert done.returncode != 0 and str(nobody.source.path) in done.stderr
    assert "ermission" in done.stderr and not nobody.mounted()


def test_a_shard_that_may_not_be_read_fails_only_its_chunks(nobody):
    source, point = nobody.source, nobody.point
    source.shard_path(1).chmod(0o600)
    assert nobody.run(nobody.program, "mount", source.path, point).returncode == 0
    hidden = next(n for n in source.names if source.shard_of(n) == 1)
    done = nobody.run("cat", point / source.names[hidden])
    assert done.returncode != 0 and "ermission denied" in done.stderr
    assert nobody.run("cmp", point / source.names[0], point / source.names[0]).returncode == 0
    assert "1.shard" in nobody.run("cat", point / ".unshard/errors").stdout


def test_others_are_kept_out_without_allow_other_and_let_in_with_it(nobody):
    source, point = nobody.source, nobody.point
    os.chown(point, 0, 0)
    for options, directory, chunk in (("ro", False, False), ("allow_other", True, True),
                                      ("allow_other,umask=077", False, False)):
        done = nobody.inside(nobody.program, "mount", source.path, point, "-o", options)
        assert done.returncode == 0, done.stderr
        assert (nobody.run("ls", point).returncode == 0) is directory
        assert (nobody.run("cat", point / source.names[0]).returncode == 0) is chunk
        assert (nobody.run("cat", point / ".unshard/status.json").returncode == 0) is chunk
        assert nobody.inside(nobody.program, "umount", point).returncode == 0
        assert nobody.ended()


# -------------------------------------------------------------------------------- info, help, version


def test_info_refuses_what_mount_refuses(work, run_unshard):
    for make, words in REFUSALS.values():
        folder = work / str(len(list(work.iterdir())))
        folder.mkdir()
        done = run_unshard("info", make(folder))
        assert done.returncode != 0 and all(word in done.stderr for word in words), done.stderr


COMMANDS = ("mount", "umount", "flush", "status", "list", "why", "spool", "info", "help")


@pytest.mark.parametrize("command", [*COMMANDS, "spool list", "spool publish", "spool export"])
def test_each_command_has_a_help_with_examples_of_its_own(run_unshard, command):
    done = run_unshard("help", *command.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert f"unshard {command} " in done.stdout.split("Usage: ")[1].splitlines()[0]
    examples = done.stdout.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    assert examples and any(f"unshard {command}" in line for line in examples)
    assert run_unshard(*command.split(), "--help").stdout == done.stdout


def test_help_of_the_program_tells_the_exit_status(run_unshard):
    done = run_unshard("help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run_unshard("--help").stdout
    assert "Exit status: 0 done, 1 failed or not all" in done.stdout


def test_help_shows_examples_and_every_option(run_unshard):
    done = run_unshard("--help")
    assert done.returncode == 0 and done.stderr == ""
    for word in COMMANDS:
        assert re.search(rf"^\s*(unshard )?{word}\b", done.stdout, re.MULTILINE), word
    assert re.search(r"unshard mount \S+ \S+", done.stdout)
    done = run_unshard("mount", "--help")
    assert done.returncode == 0
    options = json.loads(run_unshard("help", "mount", "--json").stdout)["mount_options"]
    for word in [*(option["name"] + "=" * bool(option["values"]) for option in options), "-f", "-v"]:
        assert re.search(rf"^  {word}", done.stdout, re.MULTILINE), word


def test_mount_takes_less_than_a_second(source, point, run_unshard):
    """Where the machine does other things, one of several has to."""
    def is_fast():
        begin = time.monotonic()
        assert run_unshard("mount", source.path, point).returncode == 0
        taken = time.monotonic() - begin
        end_everything_at(point)
        return taken < 1

    assert wait_until(is_fast, BOUND)


def test_ten_mounts_one_after_the_other_leave_nothing_behind(source, point, run_unshard):
    for _ in range(10):
        assert run_unshard("mount", source.path, point).returncode == 0
        assert_serves(point, source)
        assert run_unshard("umount", point).returncode == 0
        assert not mounted_at(point)
    assert ended(point)


def test_a_mount_that_fails_in_the_foreground_tells_the_same_as_in_the_background(
        work, mount, run_unshard):
    path = broken_volume(work)
    with pytest.raises(MountFailed) as caught:
        mount(path)
    (work / "point").mkdir()
    done = run_unshard("mount", path, work / "point")
    assert caught.value.returncode == done.returncode != 0
    assert done.stderr.strip().splitlines()[-1].split(": ", 1)[-1] in caught.value.log
