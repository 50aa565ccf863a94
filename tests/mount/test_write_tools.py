"""Everyday programs write chunk files: cp, mv, rsync, rclone, tar, sed, dd, install, touch, bash, GNU
parallel, rm, find.

The libraries are in test_write_libraries.py. Each test compares byte for byte through the mount,
flushes, and has peers read the shards of the source (write_data.py).
"""

import errno
import os
import shutil
import subprocess

import pytest

from mount_data import refused
from tiers import in_turn
from write_data import KINDS, PATIENT, WriteCase, case, flush, one_of_each, write_file


def run(*command, code=0, **more):
    """Runs a program; (its output, its complaints). Fails the test when it ends with another code."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=60, **more)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def bash(script, *arguments, code=0):
    """Runs a script with `$1`, `$2`, … by bash."""
    return run("bash", "--norc", "-c", script, "bash", *arguments, code=code)


def some(case):
    """A present chunk and an absent one."""
    return case.present()[0], case.absent()[0]


def plain_file(case, work, name, version=1):
    path = work / "plain"
    path.write_bytes(case.bytes_for(name, version))
    return path


# ---------------------------------------------------------------------------------------- cp and mv


def test_cp_writes_new_and_existing_chunks(case, work):
    for name in some(case):
        run("cp", plain_file(case, work, name), case.path(name))
        case.expect([name], 1)
    case.check()


@pytest.mark.parametrize("options", in_turn([["-a"], ["-p"], ["--remove-destination"], ["--reflink=auto"],
                                             ["--sparse=always"], ["-f"], ["--no-clobber"]]))
def test_cp_with_options(one_of_each, work, options):
    case = one_of_each
    for name in some(case):
        source = plain_file(case, work, name)
        os.utime(source, ns=(10**18, 10**18 + 7))
        assert run("cp", *options, source, case.path(name))[1] == ""
        if options == ["--no-clobber"] and name in case.expected:
            continue
        case.expect([name], 1)
        if options[0] in ("-a", "-p"):
            assert os.stat(case.path(name)).st_mtime_ns == 10**18 + 7
    case.check()


def test_cp_r_copies_a_whole_array_in(case, work):
    case.lay_out(work / "plain", case.names, 1)
    run("cp", "-r", f"{work}/plain/.", case.root)
    case.expect(case.names, 1)
    case.check()


def test_cp_a_from_one_mount_into_another_takes_times_along(one_of_each, work, mount):
    (work / "second").mkdir()
    target = WriteCase(one_of_each.kind, work / "second", mount, share=0)
    for name in one_of_each.expected:
        target.path(name).parent.mkdir(parents=True, exist_ok=True)
        assert run("cp", "-a", one_of_each.path(name), target.path(name))[1] == ""
        one, two = os.stat(one_of_each.path(name)), os.stat(target.path(name))
        assert one.st_mtime_ns == two.st_mtime_ns
    target.expected = dict(one_of_each.expected)
    target.check()


def test_mv_into_the_mount_and_from_name_to_name(case, work):
    for name in some(case):
        run("mv", plain_file(case, work, name), case.path(name))
        assert not (work / "plain").exists()
        case.expect([name], 1)
    temporary = case.path(f"{case.names[1]}.new")
    write_file(temporary, case.bytes_for(case.names[1], 2))
    run("mv", temporary, case.path(case.names[1]))
    case.expect([case.names[1]], 2)
    case.check()


def test_mv_n_does_not_replace_and_mv_b_copies_the_old_chunk_aside(one_of_each):
    case = one_of_each
    name = case.present()[0]
    temporary = case.path(f"{name}.new")
    write_file(temporary, case.bytes_for(name, 1))
    run("mv", "-n", temporary, case.path(name))
    assert case.path(name).read_bytes() == case.expected[name]
    run("mv", "-f", temporary, case.path(name))
    case.expect([name], 1)
    case.check(quiet=False)


def test_mv_out_of_the_mount_removes_the_chunk(case, work):
    name = case.present()[0]
    run("mv", case.path(name), work / "moved")
    assert (work / "moved").read_bytes() == case.expected.pop(name)
    case.check()


def test_ln_makes_a_chunk_of_a_temporary_file_but_never_replaces_one(one_of_each):
    case = one_of_each
    present, absent = some(case)
    temporary = case.path(f"{absent}.new")
    write_file(temporary, case.bytes_for(absent, 1))
    run("ln", temporary, case.path(absent))
    run("ln", temporary, case.path(present), code=1)
    run("ln", "-s", temporary, case.path(f"{absent}.link"), code=1)
    run("rm", temporary)
    case.expect([absent], 1)
    case.check(quiet=False)


# --------------------------------------------------------------------------------------------- rsync


def rsync(source, target, *options):
    """(output, the number of files that rsync transferred)"""
    text = run("rsync", "-rt", "--stats", *options, f"{source}/", target)[0]
    line = next(each for each in text.splitlines() if "regular files transferred" in each)
    return text, int(line.split(":")[1].replace(",", ""))


@pytest.mark.parametrize("options", [["--delay-updates"], ["--partial-dir=.partial", "--delay-updates"],
                                     ["--temp-dir=.temporary"], ["--partial", "--partial-dir=.p"]],
                         ids=" ".join)
@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_rsync_works_in_directories_of_its_own(work, mount, kind, options):
    case = WriteCase(kind, work, mount, share=0.5)
    plain = case.lay_out(work / "plain", case.names, 1)
    if options[0].startswith("--temp-dir"):
        options = [f"--temp-dir={case.path(case.names[0]).parent / '.temporary'}"]
        os.mkdir(options[0].partition("=")[2])
    text, transferred = rsync(plain, case.root, *options)
    assert transferred == len(case.names) and "Unable" not in text
    assert rsync(plain, case.root, *options)[1] == 0
    if options[0].startswith("--temp-dir"):
        os.rmdir(options[0].partition("=")[2])
    case.expect(case.names, 1)
    case.check()


@pytest.mark.parametrize("options", in_turn([[], ["--inplace"], ["--inplace", "--no-whole-file"],
                                             ["--whole-file"], ["-a"], ["--fsync"], ["--temp-dir=.."]]))
def test_rsync_transfers_once_and_a_second_run_transfers_nothing(one_of_each, work, options):
    case = one_of_each
    if options == ["--fsync"] and "--fsync" not in run("rsync", "--help")[0]:
        options = []
    if options == ["--temp-dir=.."]:
        options = [f"--temp-dir={case.top}"]
    plain = case.lay_out(work / "plain", case.names, 1)
    assert rsync(plain, case.root, *options)[1] == len(case.names)
    case.expect(case.names, 1)
    case.check_mount()
    assert rsync(plain, case.root, *options)[1] == 0
    case.check()
    assert rsync(plain, case.root, *options)[1] == 0
    for name in case.names[:2]:
        (plain / name).write_bytes(case.bytes_for(name, 2))
        os.utime(plain / name, ns=(10**18, 10**18))
    assert rsync(plain, case.root, *options)[1] == 2
    case.expect(case.names[:2], 2)
    assert rsync(plain, case.root, *options)[1] == 0
    assert rsync(plain, case.root, "--checksum", *options)[1] == 0
    case.check()


@pytest.mark.parametrize("kind", ["zarr-nested", "precomputed-raw"])
def test_rsync_delete_removes_what_the_other_side_has_not(work, mount, kind):
    case = WriteCase(kind, work, mount, share=1)
    folder = "scale" if case.precomputed else "c"
    plain = case.lay_out(work / "plain", case.names[:3], 0)
    rsync(plain / folder, case.root / folder, "--delete")
    case.expected = {name: case.bytes_for(name, 0) for name in case.names[:3]}
    case.check()


@pytest.mark.parametrize("option", in_turn(["--append", "--append-verify"]))
def test_rsync_append_writes_what_is_missing_and_leaves_what_is_as_long(one_of_each, work, option):
    """Of a chunk that is there nothing can be missing: rsync goes by lengths."""
    case = one_of_each
    absent = case.absent(len(case.names))
    plain = case.lay_out(work / "plain", case.names, 1)
    text, transferred = rsync(plain, case.root, option)
    assert transferred == len(absent), text
    case.expect(absent, 1)
    case.check()
    assert rsync(plain, case.root, option)[1] == 0
    begun = case.path(f"{absent[0]}.begun")
    write_file(begun, case.expected[absent[0]][:100])
    shutil.copy(plain / absent[0], plain / f"{absent[0]}.begun")
    assert rsync(plain, case.root, option)[1] == 1
    assert begun.read_bytes() == case.expected[absent[0]]
    case.check()


# -------------------------------------------------------------------------------------------- rclone


def rclone(command, source, target, *options):
    """Without a configuration file; what it did, a line for each file: also for a time it set."""
    said = run("rclone", "--config", "", command, "-v", *options, source, target)[1]
    return [line for line in said.splitlines() if ": Copied (" in line or "modification time" in line]


@pytest.mark.parametrize("options", in_turn([[], ["--transfers=16", "--checkers=16"], ["--checksum"],
                                             ["--metadata"], ["--local-no-preallocate"]]))
def test_rclone_copies_in_and_a_second_copy_transfers_nothing(one_of_each, work, options):
    case = one_of_each
    plain = case.lay_out(work / "plain", case.names, 1)
    assert len(rclone("copy", plain, case.root, *options)) == len(case.names)
    case.expect(case.names, 1)
    case.check_mount()
    assert rclone("copy", plain, case.root, *options) == []
    case.check()
    assert rclone("copy", plain, case.root, *options) == []
    for name in case.names[:2]:
        (plain / name).write_bytes(case.bytes_for(name, 2))
        os.utime(plain / name, ns=(10**18, 10**18))
    assert len(rclone("copy", plain, case.root, *options)) == 2
    case.expect(case.names[:2], 2)
    rclone("check", plain, case.root, "--one-way", "--download")
    case.check()


@pytest.mark.parametrize("kind", ["zarr-nested", "precomputed-raw"])
def test_rclone_sync_removes_what_the_other_side_has_not_and_moves_take_files_along(
        work, mount, kind):
    case = WriteCase(kind, work, mount, share=1)
    folder = "scale" if case.precomputed else "c"
    plain = case.lay_out(work / "plain", case.names[:3], 0)
    rclone("sync", plain / folder, case.root / folder)
    case.expected = {name: case.bytes_for(name, 0) for name in case.names[:3]}
    case.check()
    case.lay_out(work / "plain", case.names[3:6], 1)
    rclone("move", plain, case.root)
    assert not [names for _, _, names in os.walk(plain) if names]
    case.expect(case.names[3:6], 1)
    case.check()


# ------------------------------------------------------------------------------- tar, sed, dd, install


@pytest.mark.parametrize("options", in_turn([[], ["--overwrite"], ["--unlink-first"], ["-p"],
                                             ["--touch", "--no-same-owner"]]))
def test_tar_x_unpacks_chunks_with_their_times(one_of_each, work, options):
    case = one_of_each
    plain = case.lay_out(work / "plain", case.names[:9], 1)
    for name in case.names[:9]:
        os.utime(plain / name, (1_500_000_000, 1_500_000_000))
    run("tar", "-C", plain, "-cf", work / "all.tar", *case.names[:9])
    assert run("tar", "-C", case.root, "-xf", work / "all.tar", *options)[1] == ""
    case.expect(case.names[:9], 1)
    for name in case.names[:9]:
        old = os.stat(case.path(name)).st_mtime == 1_500_000_000
        assert old == ("--touch" not in options)
    case.check()
    assert run("tar", "-C", case.root, "-df", work / "all.tar", code=1 if "--touch" in options
               else 0)[0].count("Contents differ") == 0


def test_tar_x_over_metadata_takes_overwrite(one_of_each, work):
    """fs/docs/programs.md: tar removes what is there before it makes it, unless it is told not to."""
    case = one_of_each
    document = "info" if case.precomputed else "zarr.json"
    run("tar", "-C", case.root, "-cf", work / "all.tar", ".")
    before = (case.source.path / document).read_bytes()
    said = run("tar", "-C", case.root, "-xf", work / "all.tar", code=2)[1]
    assert said.splitlines()[0] == f"tar: ./{document}: Cannot open: File exists", said
    assert run("tar", "-C", case.root, "--overwrite", "-xf", work / "all.tar")[1] == ""
    case.check(quiet=False)
    assert (case.source.path / document).read_bytes() == before


def test_sed_i_replaces_a_chunk(case):
    name = case.present()[0]
    run("sed", "-i", "y/Ax/Bz/", case.path(name), env={**os.environ, "LC_ALL": "C"})
    case.expected[name] = case.expected[name].translate(bytes.maketrans(b"Ax", b"Bz"))
    case.check()


def test_dd_writes_blocks_in_place_appends_and_syncs(case, work):
    present, absent = some(case)
    data, patch = bytearray(case.expected[present]), b"p" * 512
    (work / "patch").write_bytes(patch)
    run("dd", f"if={work}/patch", f"of={case.path(present)}", "bs=512", "seek=2", "conv=notrunc",
        "status=none")
    data[1024:1536] = patch
    case.expected[present] = bytes(data)
    case.check_mount()
    source = plain_file(case, work, absent)
    for options in (["bs=1000", "conv=fsync"], ["bs=512", "conv=fdatasync,notrunc"],
                    ["bs=4096", "oflag=direct"], ["bs=1M", "oflag=sync"], ["bs=777"]):
        run("dd", f"if={source}", f"of={case.path(absent)}", "status=none", *options)
        case.expect([absent], 1)
        assert case.path(absent).read_bytes() == case.expected[absent], options
    os.unlink(case.path(absent))
    run("dd", f"if={source}", f"of={case.path(absent)}", "bs=700", "oflag=append", "conv=notrunc",
        "status=none")
    case.check()


def test_dd_is_told_when_a_chunk_would_get_a_wrong_length(case, work):
    name = case.present()[0]
    (work / "more").write_bytes(b"more")
    for options in (["oflag=append", "conv=notrunc"], ["bs=2"], ["conv=fsync"]):
        complaint = run("dd", f"if={work}/more", f"of={case.path(name)}", "status=none", *options,
                        code=1)[1]
        assert "Invalid argument" in complaint, options
    case.check(quiet=False)


def test_install_puts_a_chunk_with_a_mode(case, work):
    for name in some(case):
        run("install", "-m", "600", plain_file(case, work, name), case.path(name))
        case.expect([name], 1)
        run("install", "-p", "-m", "644", plain_file(case, work, name, 2), case.path(name))
        case.expect([name], 2)
    case.check()


def test_touch_sets_times_and_makes_no_empty_chunk(case):
    present, absent = some(case)
    run("touch", "-d", "2001-02-03 04:05:06.789 UTC", case.path(present))
    assert os.stat(case.path(present)).st_mtime_ns == 981_173_106_789_000_000
    run("touch", "-c", case.path(absent))
    run("touch", case.path(absent))
    case.check(quiet=False)
    assert os.stat(case.path(present)).st_mtime_ns == 981_173_106_789_000_000


def test_truncate_refuses_what_a_chunk_cannot_be(case):
    name = case.present()[0]
    size = len(case.expected[name])
    for length in ("-1", "+1"):
        complaint = run("truncate", "-s", length, case.path(name), code=1)[1]
        assert "Invalid argument" in complaint, length
    run("truncate", "-s", size, case.path(name))
    run("truncate", "-s", "0", case.path(name))  # opens it, as `: > chunk` does
    assert case.path(name).read_bytes() == case.expected[name]
    case.check(quiet=False)
    assert "still empty" in case.reasons()
    # From nothing, as after any truncation.
    run("truncate", "-s", size, case.path(name))
    case.expected[name] = bytes(size)
    assert case.path(name).read_bytes() == case.expected[name]


def test_tee_writes_two_chunks_at_once(one_of_each):
    case = one_of_each
    size = case.source.size(case.names[0])
    pair = [name for name in case.names if case.source.size(name) == size][:2]
    for name in pair:
        case.path(name).parent.mkdir(parents=True, exist_ok=True)
        case.expected[name] = b"t" * size
    subprocess.run(["tee", *map(case.path, pair)], input=b"t" * size, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    case.check()


def test_sync_of_a_file_and_of_the_mount(one_of_each):
    case = one_of_each
    case.put(case.names[0], 1)
    run("sync", case.path(case.names[0]))
    run("sync", case.path(case.names[0]).parent)
    run("sync", "-f", case.mount.path)
    case.check()


# ---------------------------------------------------------------------------------------------- bash


def test_bash_redirection_writes_a_chunk(case, work):
    for name in some(case):
        bash('cat "$1" > "$2"', plain_file(case, work, name), case.path(name))
        case.expect([name], 1)
        case.check_mount()
        bash('exec 3> "$2"; head -c 10 "$1" >&3; tail -c +11 "$1" >&3; exec 3>&-',
             plain_file(case, work, name, 2), case.path(name))
        case.expect([name], 2)
    case.check()


def test_bash_head_and_tail_in_one_redirection(case, work):
    for name in some(case):
        bash('(head -c 1000 "$1"; tail -c +1001 "$1") > "$2"', plain_file(case, work, name),
             case.path(name))
        case.expect([name], 1)
        case.check_mount()
        bash('{ head -c 500 "$1"; sleep 0.05; tail -c +501 "$1"; } > "$2"',
             plain_file(case, work, name, 2), case.path(name))
        case.expect([name], 2)
        case.check_mount()
        bash('for i in 1 2 3; do dd if="$1" bs=100 count=1 skip=$((i-1)) status=none; done > "$2.x"'
             ' && tail -c +301 "$1" >> "$2.x" && mv "$2.x" "$2"',
             plain_file(case, work, name, 3), case.path(name))
        case.expect([name], 3)
    case.check()


def test_bash_appends_a_new_chunk(case, work):
    name = case.absent()[0]
    bash('cat "$1" >> "$2"', plain_file(case, work, name), case.path(name))
    case.expect([name], 1)
    bash('printf x >> "$1"', case.path(name))
    assert "EINVAL" in case.reasons()
    os.unlink(case.path(name))
    bash('(head -c 99 "$1"; tail -c +100 "$1") >> "$2"', plain_file(case, work, name, 2),
         case.path(name))
    case.expect([name], 2)
    case.check(quiet=False)


def test_bash_truncation_by_colon_leaves_the_chunk(case):
    for name in some(case):
        bash(': > "$1"', case.path(name))
    case.check(quiet=False)
    assert case.reasons().count("still empty") == 2


def test_bash_is_told_of_a_chunk_that_is_too_short_where_the_writer_closes(case, work):
    """coreutils close their output and look at what that says; the chunk stays as it was."""
    name = case.present()[0]
    complaint = bash('head -c 1000 "$1" > "$2"', plain_file(case, work, name), case.path(name),
                     code=1)[1]
    assert "Invalid argument" in complaint
    case.check(quiet=False)


def test_bash_noclobber_does_not_replace(one_of_each, work):
    case = one_of_each
    present, absent = some(case)
    bash('set -C; cat "$1" > "$2"', plain_file(case, work, present), case.path(present), code=1)
    bash('set -C; cat "$1" > "$2"', plain_file(case, work, absent), case.path(absent))
    case.expect([absent], 1)
    case.check(quiet=False)


def test_xargs_copies_with_eight_processes(case, work):
    plain = case.lay_out(work / "plain", case.names, 1)
    for name in case.names:
        case.path(name).parent.mkdir(parents=True, exist_ok=True)
    (work / "names").write_text("\n".join(case.names))
    run("xargs", "-P", "8", "-a", work / "names", "-I", "{}", "cp", "{}", case.root / "{}",
        cwd=plain)
    case.expect(case.names, 1)
    case.check()


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_gnu_parallel_copies_with_eight_jobs_while_shards_are_published(work, mount, kind):
    case = WriteCase(kind, work, mount, "publish_after=0.05")
    plain = case.lay_out(work / "plain", case.names, 1)
    (work / "names").write_text("\n".join(case.names))
    run("parallel", "--will-cite", "--plain", "-j", "8", "-a", work / "names",
        f"mkdir -p {case.root}/{{//}} && cp {{}} {case.root}/{{}}", cwd=plain,
        env={**os.environ, "PARALLEL_HOME": str(work / "parallel"), "TMPDIR": str(work)})
    case.expect(case.names, 1)
    case.check()


# ---------------------------------------------------------------------------------- removing, making


def chunk_directories(case):
    """The directories that chunks stand in, below the one that is always there."""
    return sorted({case.path(name).parent for name in case.expected})


def test_rm_removes_chunks_and_says_when_there_is_none(case):
    present, absent = some(case)
    run("rm", case.path(present))
    del case.expected[present]
    run("rm", case.path(present), code=1)
    run("rm", "-f", case.path(absent))
    case.check()


def test_rm_r_removes_directories_of_chunks_while_it_reads_them(work, mount):
    case = WriteCase("zarr-nested", work, mount, share=1)
    run("rm", "-r", case.root / "c/0", case.root / "c/2")
    assert sorted(os.listdir(case.root / "c")) == ["1", "3"]
    case.expected = {name: data for name, data in case.expected.items()
                     if name.split("/")[1] in "13"}
    case.check()
    run("mkdir", "-p", case.root / "c/2")
    case.put("c/2/1", 1)
    case.check()


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_find_delete_removes_every_chunk(work, mount, kind):
    case = WriteCase(kind, work, mount, share=1)
    pattern = ["-path", "*/scale/*"] if case.precomputed else ["-path", "*/data/c*"]
    run("find", case.root, *pattern, "-type", "f", "-delete")
    case.expected = {}
    case.check()
    assert not any(case.source.shard_path(name).exists() for name in case.names)


def test_find_finds_what_was_written_after_a_moment(one_of_each, work):
    case = one_of_each
    write_file(work / "moment", b"")
    os.utime(work / "moment")
    name = case.absent()[0]
    case.put(name, 1)
    found = run("find", case.root, "-type", "f", "-newer", work / "moment")[0].split()
    assert found == [str(case.path(name))]
    case.check()


def test_mkdir_p_of_every_legal_directory(work, mount):
    case = WriteCase("zarr-nested", work, mount, share=0)
    assert case.expected == {}
    run("mkdir", "-p", *(case.root / f"c/{row}" for row in range(4)))
    run("mkdir", "-p", *(case.root / f"c/{row}" for row in range(4)))
    assert all((case.root / f"c/{row}").is_dir() for row in range(4))
    assert os.listdir(case.root / "c") == []
    run("mkdir", case.root / "c/4", code=1)
    run("rmdir", case.root / "c/3")
    for name in case.names[:6]:
        case.put(name, 1)
    run("rmdir", case.root / "c/0", code=1)
    case.check(quiet=False)


@pytest.mark.parametrize("kind", ["zarr-nested", "precomputed-raw"])
def test_who_removes_a_directory_of_chunks_makes_it_again(work, mount, kind):
    case = WriteCase(kind, work, mount, share=1)
    name = case.names[-1]
    directory = case.path(name).parent
    shutil.rmtree(directory)
    assert not directory.exists()
    run("test", "-d", directory)  # others find it, as ever
    refused(errno.ENOENT, write_file, case.path(name), b"")
    directory.mkdir()
    refused(errno.EEXIST, directory.mkdir)
    case.expected = {other: data for other, data in case.expected.items()
                     if case.path(other).parent != directory}
    case.put(name, 1)
    os.unlink(case.path(name))
    del case.expected[name]
    # Both remove the empty directory, and make it.
    case.lay_out(work / "plain", [name], 2)
    packed = work / "packed.tar"
    run("tar", "-C", work / "plain", "-cf", packed, ".")
    run("timeout", "20", "tar", "-C", case.root, "-x", "--keep-newer-files", "-f", packed)
    case.expect([name], 2)
    case.check(quiet=False)
    os.unlink(case.path(name))
    run("mv", "-T", work / "plain" / os.path.dirname(name), directory)
    case.check(quiet=False)


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_rm_r_of_a_whole_chunk_directory_ends_with_0(work, mount, kind):
    case = WriteCase(kind, work, mount, share=1)
    if kind == "zarr-flat":
        return  # its chunks stand in the directory of the array
    top = case.root / ("scale" if case.precomputed else "c")
    run("rmdir", top, code=1)
    for options in ("-r", "-rf"):
        write_file(case.path(f"{case.names[-1]}.partial"), b"left by somebody")
        run("rm", options, top)
        assert os.listdir(top) == []
    case.expected = {}
    case.check()
    case.put(case.names[-1], 1)
    case.check()


def test_copies_of_trees_into_an_emptied_array(work, mount):
    case = WriteCase("zarr-nested", work, mount, share=0)
    plain = case.lay_out(work / "plain", case.names, 1)
    run("tar", "cf", work / "plain.tar", "-C", plain, "c")
    for copy in (["cp", "-r", f"{plain}/c", case.root],
                 ["cp", "-rT", plain / "c", case.root / "c"],
                 ["rsync", "-r", f"{plain}/c", f"{case.root}/"],
                 ["tar", "xf", work / "plain.tar", "-C", case.root]):
        run(*copy)
        case.expect(case.names, 1)
        case.check_mount()
        run("rm", "-r", case.root / "c")
        assert os.listdir(case.root / "c") == []
    case.expected = {}
    case.check()


def test_shutil_copies_and_removes_trees(work, mount):
    case = WriteCase("zarr-nested", work, mount, share=0)
    plain = case.lay_out(work / "plain", case.names, 1)
    shutil.copytree(plain, case.root, dirs_exist_ok=True)
    case.expect(case.names, 1)
    case.check()
    shutil.rmtree(case.root / "c/1")
    case.expected = {name: data for name, data in case.expected.items()
                     if not name.startswith("c/1/")}
    case.check()


def test_files_beside_the_data_pass_through(case, work):
    (work / "text").write_text("from outside\n")
    top = case.mount.path
    run("cp", work / "text", top / "copied.txt")
    run("mkdir", "-p", top / "folder/below")
    run("mv", top / "copied.txt", top / "folder/below/moved.txt")
    bash('echo more >> "$1"', top / "folder/below/moved.txt")
    run("sed", "-i", "s/stands/stood/", top / "notes.txt")
    run("touch", "-d", "@1500000000", top / "notes.txt")
    run("ln", top / "notes.txt", top / "folder/linked.txt")
    assert (case.top / "folder/below/moved.txt").read_text() == "from outside\nmore\n"
    assert (case.top / "notes.txt").read_text() == "stood beside the data\n"
    assert (case.top / "folder/linked.txt").samefile(case.top / "notes.txt")
    assert os.stat(case.top / "notes.txt").st_mtime == 1_500_000_000
    assert run("diff", "-r", case.top / "folder", top / "folder")[0] == ""
    run("rm", "-r", top / "folder")
    assert not (case.top / "folder").exists()
    case.check()


def test_bindfs_above_a_mount_passes_writes_on(case, work):
    """O_TRUNC comes as truncate by path, then open: as file systems above others do it."""
    name, new = some(case)
    above = work / "above"
    above.mkdir()
    run("bindfs", case.root, above)
    try:
        for version, chunk in enumerate((name, new, name)):
            case.expected[chunk] = case.bytes_for(chunk, version + 1)
            run("cp", plain_file(case, work, chunk, version + 1), above / chunk)
            assert (above / chunk).read_bytes() == case.expected[chunk]
    finally:
        run("fusermount3", "-u", above)
    case.check(quiet=False)


def test_a_read_only_mount_refuses_all_of_this(work, mount):
    import errno

    case = WriteCase("zarr-nested", work, mount, "ro")
    name = case.names[0]
    for call, *arguments in [(write_file, case.path(name), b"x"), (os.unlink, case.path(name)),
                             (os.mkdir, case.root / "c/new"), (os.utime, case.path(name)),
                             (os.truncate, case.path(name), 0),
                             (write_file, case.mount.path / "notes.txt", b"x")]:
        refused(errno.EROFS, call, *arguments)
    case.check_mount()
    case.check_source()
    assert case.mount.status()["read_only"] is True


def test_a_writable_mount_says_where_its_spool_is_and_what_is_in_it(case):
    assert case.mount.status()["read_only"] is False
    status = case.write_status()
    assert os.path.isdir(status["spool"]) and status["dirty_chunks"] == 0
    size = 0
    for name in case.names[:3]:
        case.put(name, 1)
        size += case.source.size(name)
    status = case.write_status()
    assert (status["dirty_chunks"], status["dirty_bytes"]) == (3, size)
    assert status["dirty_shards"] == len({case.source.shard_of(n) for n in case.names[:3]})
    assert status["spool_files"] >= 3 and status["spool_bytes"] >= size
    flush(case.mount)
    status = case.write_status()
    assert (status["dirty_chunks"], status["spool_files"]) == (0, 0)
    assert status["publishes"] == len({case.source.shard_of(n) for n in case.names[:3]})
    case.check()


def test_flush_of_the_command_line_publishes_what_was_committed_before(case, run_unshard):
    case.put(case.names[0], 1)
    done = run_unshard("flush", case.mount.path)
    assert done.returncode == 0, done.stderr
    case.check_source()
    assert case.write_status()["dirty_chunks"] == 0


def test_shards_are_published_by_themselves_after_a_quiet_time(work, mount):
    from mounting import wait_until

    case = WriteCase("zarr-nested", work, mount, "publish_after=0.2")
    case.put(case.names[0], 1)
    assert wait_until(lambda: case.write_status()["dirty_chunks"] == 0, 20)
    case.check_source()
    assert PATIENT not in case.mount.control("config.json")
    case.check()
