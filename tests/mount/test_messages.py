"""One style of messages for people: "unshard: subject: why; what to do", and the exit status."""

import errno
import json
import os
import re
import signal
import subprocess

import pytest

from mount_data import VersionedVolume, refused
from mounting import mounted_at
from write_data import PATIENT, WriteCase, damaged, write_file

BOUND = 30
# A path, an option or a command; then the reason; then, behind ";", ":" or a comma, a way out.
STYLE = re.compile(r"unshard: (?P<subject>/[^:]*|options? [^:]+|[a-z. ]+): (?P<reason>.{8,})")
# In the log of a mount in the foreground a time and a level stand for "unshard".
LOGGED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S* (debug|info|warning|error): "
                    r"(?P<subject>/[^:]*|[a-z]+ /[^:]*): .{8,}")


@pytest.fixture
def case(work, mount):
    return WriteCase("precomputed-raw", work, mount, f"{PATIENT},spool={work / 'spools'}")


@pytest.fixture
def source(work):
    return VersionedVolume(work / "source")


def judge(done, status, subject, reason, way_out):
    """The first line is about `subject`, and the lines tell the reason and the way out."""
    assert (done.returncode, done.stdout) == (status, ""), f"{done.stdout}{done.stderr}"
    lines = done.stderr.splitlines()
    assert lines and all(STYLE.match(line) for line in lines), done.stderr
    assert STYLE.match(lines[0])["subject"] == str(subject), done.stderr
    assert re.search(reason, done.stderr), done.stderr
    assert any(re.search(rf"[;:,] .*{way_out}", line) for line in lines), done.stderr


# What is refused before anything is mounted: the arguments, and (status, subject, reason, way out), in
# which SOURCE, POINT and WORK are paths. Spools are closed folders unless it is about them.
REFUSED = {
    "no command": ("", 2, None, "expected a command", "see `unshard --help`"),
    "unknown command": ("infoo x", 2, "infoo", "no such command; did you mean info?", "see `unshard --help`"),
    "unlike any command": ("frobnicate", 2, "frobnicate", "no such command; expected one of mount, umount",
                           "see `unshard --help`"),
    "unknown command of spools": ("spool rm x", 2, "spool", "rm: no such command", "see `unshard spool --help`"),
    "unknown option of a command": ("copy a b --exlude x", 2, "copy", "--exlude: no such option",
                                    "did you mean --exclude"),
    "too many arguments": ("umount a b", 2, "umount", "b: one argument too many", "unshard umount --help"),
    "help of an unknown command": ("help frob", 2, "frob", "no such command", "see `unshard --help`"),
    "missing argument": ("mount SOURCE", 2, "mount", "MOUNT_POINT is required", "unshard mount --help"),
    "missing subcommand": ("spool", 2, "spool", "expected a command", "see `unshard spool --help`"),
    "unknown option": ("mount SOURCE POINT -o bogus", 2, "option bogus", "unknown", "unshard help mount"),
    "bad value": ("mount SOURCE POINT -o ttl=soon", 2, "option ttl=soon", "expected", "a number of sec"),
    "contradiction": ("mount SOURCE POINT -o immutable,rw", 2, "options immutable,rw",
                      "immutable implies ro", "leave out one"),
    "missing source": ("mount WORK/gone POINT", 1, "WORK/gone", "No such file", "name the directory"),
    "missing source of info": ("info WORK/gone", 1, "WORK/gone", "No such file", "name the directory"),
    "file as source": ("mount SOURCE/info POINT", 1, "SOURCE/info", "Not a directory",
                       "name the directory"),
    "no dataset": ("info WORK/empty", 1, "WORK/empty", "no dataset found", "name the directory"),
    "missing mount point": ("mount SOURCE WORK/gone", 1, "WORK/gone", "No such file",
                            "make this directory"),
    "file as mount point": ("mount SOURCE SOURCE/info -o ro", 1, "SOURCE/info", "source",
                            "mount it on a directory outside"),
    "another file as mount point": ("mount SOURCE WORK/file -o ro", 1, "WORK/file", "is not a directory",
                                    "mount on an existing directory"),
    "mount point in the source": ("mount SOURCE SOURCE/below", 1, "SOURCE/below",
                                  "is inside the source", "mount it on a directory outside"),
    "spool in the source": ("mount SOURCE POINT -o spool=SOURCE/spool", 1, "option spool=SOURCE/spool",
                            "is inside the source", "name a directory outside"),
    "spool in the mount": ("mount SOURCE POINT -o spool=POINT/spool", 1, "option spool=POINT/spool",
                           "is inside the mount point", "name a directory outside"),
    "open spool folder": ("mount SOURCE POINT -o spool=WORK/open", 1, "WORK/open", "has mode 0755",
                          "`chmod 0700 WORK/open`, name another with -o spool=DIR"),
    "spool folder below a file": ("mount SOURCE POINT -o spool=WORK/file/spool", 1, "WORK/file/spool",
                                  "Not a directory", "name another with -o spool=DIR"),
    "umount of no mount": ("umount POINT", 1, "POINT", "nothing is mounted there", "unshard list"),
    "umount of another mount": ("umount /proc", 1, "/proc", "type proc", r"umount\(8\) ends it"),
    "flush of no mount": ("flush POINT", 1, "POINT", "no mount of unshard", "unshard list"),
    "status of no mount": ("status POINT", 1, "POINT", "no mount of unshard", "unshard list"),
    "why of no mount": ("why POINT", 1, "POINT", "no mount of unshard", "unshard list"),
    "missing spool folder": ("spool list --spool WORK/gone", 1, "WORK/gone", "No such file",
                             "name a folder that was given to mount"),
    "export of an unknown source": ("spool export WORK/saved SOURCE --spool WORK/closed", 1,
                                    "WORK/closed", "no spool of the source", "usage: unshard spool"),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_a_refusal_names_what_it_is_about_the_reason_and_the_way_out(
        source, work, run_unshard, kind):
    arguments, status, subject, reason, way_out = REFUSED[kind]
    for name, mode in (("empty", 0o755), ("open", 0o755), ("closed", 0o700), ("point", 0o755)):
        (work / name).mkdir()
        (work / name).chmod(mode)
    (work / "file").write_text("")
    (source.path / "below").mkdir()

    def filled(text):
        return (text.replace("SOURCE", str(source.path)).replace("WORK", str(work))
                .replace("POINT", str(work / "point")) if text and "MOUNT_POINT" not in text else text)

    done = run_unshard(*filled(arguments).split())
    if subject is None:
        assert (done.returncode, done.stdout) == (status, "")
        assert done.stderr == f"unshard: {reason}; {way_out}\n"
    else:
        judge(done, status, filled(subject), filled(reason), filled(way_out))
    assert not mounted_at(work / "point")


def test_a_failed_flush_and_umount_tell_what_stays_and_where(case, run_unshard):
    case.put(case.names[0], 1)
    spool = case.write_status()["spool"]
    with damaged(case.source.shard_path(case.names[0])):
        for command, way_out in (("flush", "the mount goes on trying"), ("umount", "the next mount")):
            done = run_unshard(command, case.mount.path)
            judge(done, 1, case.mount.path, "not everything could be published: .*EIO", way_out)
            assert f"unshard: {spool}: 1 chunk (" in done.stderr


def test_a_busy_mount_and_a_second_mount_are_refused_in_words(source, work, mount, run_unshard):
    mounted = mount(source.path)
    judge(run_unshard("mount", source.path, mounted.path), 1, mounted.path, "is mounted there already",
          "end it first")
    with open(mounted.path / source.names[0], "rb"):
        judge(run_unshard("umount", mounted.path), 1, mounted.path, rf"busy.*\({os.getpid()}\) uses it",
              "end the process or leave the directory")
    judge(run_unshard("why", mounted.path), 1, mounted.path, "no failed request is recorded",
          "unshard status")


def test_the_log_of_a_mount_names_first_what_each_line_is_about(case, work, mount):
    case.put(case.names[0], 1)
    refused(errno.EINVAL, write_file, case.path(case.names[1]), b"no chunk")
    case.mount.terminate(signal.SIGKILL)
    subprocess.run(["umount", "-l", case.mount.path], check=True, timeout=BOUND)
    point = case.mount.path
    for options in (f"{PATIENT},spool={work / 'spools'}", "ro"):
        mounted = mount(case.top, options, point=point, arguments=["-v"])
        assert (mounted.path / "data/info").exists() and mounted.status()
        mounted.unmount()
        lines = mounted.log().splitlines()
        assert lines and all(LOGGED.match(line) for line in lines), mounted.log()
    lines = case.mount.log().splitlines()
    assert any(" close /" in line for line in lines)
    assert all(LOGGED.match(line) for line in lines), lines


def test_who_mounts_in_the_background_reads_the_style_of_all_commands(work, run_unshard):
    source = VersionedVolume(work / "broken")
    info = json.loads((source.path / "info").read_text())
    info["scales"][0]["sharding"]["minishard_bits"] = "two"
    (source.path / "info").write_text(json.dumps(info))
    (work / "point").mkdir()
    done = run_unshard("mount", source.path, work / "point")
    judge(done, 1, source.path / "info", r"minishard_bits: expected", "found")


def test_too_low_a_limit_of_open_files_is_named_when_it_is_mounted(source, mount, work):
    for number, warns in ((48, True), (64, False)):
        mounted = mount(source.path, f"spool={work / 'other'}", prefix=["prlimit", f"--nofile={number}"])
        warnings = [line for line in mounted.log().splitlines() if " warning: " in line]
        assert [f"{number} files open (ulimit -n)" in line for line in warnings] == [True] * warns, warnings
        assert all(LOGGED.match(line) for line in warnings)
        mounted.unmount()


@pytest.mark.parametrize("command", [("info", "SOURCE"), ("info", "--json", "SOURCE"), ("schema", "SOURCE"),
                                     ("list",), ("spool", "list"), ("--version",), ("help", "copy")])
def test_an_answer_that_cannot_be_written_is_a_failure(command, source, unshard_binary):
    """As a schema that is cut off by a full disk."""
    arguments = [str(source.path) if word == "SOURCE" else word for word in command]
    with open("/dev/full", "w") as full:
        done = subprocess.run([unshard_binary, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and STYLE.match(done.stderr)["subject"] == "standard output"
