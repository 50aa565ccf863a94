"""What is around a chunk that programs write: directories, attributes, processes, metadata. The second half of
test_write_patterns.py, which says how to read the names."""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

from mount_data import refused
from mounting import wait_until
from tiers import in_turn
from write_data import (KINDS, PATIENT, PrecomputedSource, WriteCase, case, flush, one_of_each,
                        write_file)

FICLONE = 0x40049409
FALLOC_FL_KEEP_SIZE = 1
libc = ctypes.CDLL(None, use_errno=True)


# --------------------------------------------------------------------------------------- directories


def test_pattern_23_directories_of_chunks_are_made_removed_and_there_already(case):
    refused(errno.EEXIST, os.mkdir, case.path(case.names[0]).parent)
    refused(errno.EEXIST, os.mkdir, case.root)
    refused((errno.ENOTEMPTY, errno.EBUSY), os.rmdir, case.path(case.names[0]).parent)
    if case.kind == "zarr-nested":
        made = case.root / "c/3"
        chunks = [name for name in case.expected if name.startswith("c/3/")]
        for name in chunks:
            os.unlink(case.path(name))
            del case.expected[name]
        # It exists, as every directory of the grid, and is listed while something is in it.
        assert made.is_dir() and os.listdir(made) == []
        assert "3" not in os.listdir(case.root / "c")
        os.makedirs(made, exist_ok=True)
        refused(errno.EEXIST, made.mkdir)
        write_file(made / "0.partial", b"scratch")
        assert "3" in os.listdir(case.root / "c")
        refused(errno.ENOTEMPTY, made.rmdir)
        os.unlink(made / "0.partial")
        for _ in range(2):
            made.rmdir()
            assert "3" not in os.listdir(case.root / "c")
            refused(errno.ENOENT, made.rmdir)
            made.mkdir()
        refused(errno.EINVAL, os.mkdir, case.root / "c/4")
        refused(errno.EINVAL, os.mkdir, made / "0")
        case.put("c/3/0", 1)
        assert "3" in os.listdir(case.root / "c")
    case.put(case.names[-1], 1)
    case.check(quiet=False)


def test_directories_of_deep_keys_are_there_before_and_after_others_are_published(work, mount):
    import zarr

    source = work / "source"
    zarr.create_array(str(source), shape=(8, 8, 8), shards=(4, 4, 4), chunks=(1, 1, 4),
                      dtype="uint8", fill_value=0, compressors=None)
    root = mount(source, PATIENT).path / "c"
    assert os.listdir(root) == []
    os.makedirs(root / "4/5", exist_ok=True)
    assert os.listdir(root) == []
    write_file(root / "4/5/0", b"abcd")
    assert os.listdir(root) == ["4"] and os.listdir(root / "4") == ["5"]
    flush(root.parent)
    assert (source / "c/1/1/0").is_file()
    assert os.listdir(root) == ["4"] and os.listdir(root / "4") == ["5"]
    for empty in ["5", "4/6", "7/6"]:
        assert os.listdir(root / empty) == []
        os.rmdir(root / empty)
    for full in ["4", "4/5", "."]:
        refused(errno.EINVAL if full == "." else errno.ENOTEMPTY, os.rmdir, f"{root}/{full}")
    (source / "c/1/1/1").write_bytes((source / "c/1/1/0").read_bytes())  # another program's
    assert (root / "4/5/1").read_bytes() == b"abcd"


def test_pattern_09_what_is_opened_after_a_chunk_was_emptied_has_no_size(work, mount):
    case = WriteCase("zarr-nested", work, mount, f"{PATIENT},view=all")
    case.root = case.mount.path / "native/data"
    name = case.present()[0]
    case.put(name, 1)
    write_file(case.path(name), b"")
    assert wait_until(lambda: "still empty" in case.reasons(), 10)
    with open(case.path(name), "r+b") as next_one:
        assert os.fstat(next_one.fileno()).st_size == 0
        next_one.seek(0, os.SEEK_END)
        next_one.write(case.bytes_for(name, 2))
    case.expected[name] = case.bytes_for(name, 2)
    case.check(quiet=False)


def test_a_file_of_the_source_beside_chunk_directories_is_one_for_every_call(work, mount):
    def prepare(source, options):
        for name in ("README", "old", "taken"):
            (source / "data/c" / name).write_text(f"{name} of the source")
        (source / "data/c/notes").mkdir()
        return mount(source, options)

    case = WriteCase("zarr-nested", work, prepare, PATIENT)
    chunks, source = case.root / "c", case.source.path / "c"
    assert {"README", "old", "notes"} < set(os.listdir(chunks))
    refused(errno.EEXIST, os.open, chunks / "README", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    refused(errno.EEXIST, os.mkdir, chunks / "README")
    write_file(chunks / "README", b"changed")
    assert (source / "README").read_bytes() == b"changed"
    os.rename(chunks / "README", chunks / "README.txt")
    assert (source / "README.txt").read_bytes() == b"changed" and not (source / "README").exists()
    os.rename(chunks / "README.txt", case.root / "README.txt")
    assert (case.source.path / "README.txt").read_bytes() == b"changed"
    os.unlink(chunks / "old")
    refused(errno.ENOENT, os.unlink, chunks / "old")
    write_file(chunks / "notes/1", b"passes through")
    assert (source / "notes/1").read_bytes() == b"passes through"
    refused(errno.ENOTEMPTY, os.rmdir, chunks)
    # What is new is scratch, until it becomes a chunk.
    write_file(chunks / "new", b"scratch")
    assert (chunks / "new").read_bytes() == b"scratch" and not (source / "new").exists()
    refused(errno.EPERM, os.rename, chunks / "taken", case.root / "c/0/taken")
    os.unlink(chunks / "new")
    case.check(quiet=False)


def test_mknod_makes_scratch_files_and_files_of_the_source_but_no_chunk(case):
    there, absent = case.present()[0], case.absent()[0]
    refused(errno.EEXIST, os.mknod, case.path(there))
    refused(errno.EPERM, os.mknod, case.path(absent))
    assert "create it with open and O_CREAT" in case.reasons()
    refused(errno.ENOENT, os.stat, case.path(absent))
    scratch, beside = case.path(absent).with_name("work~"), case.mount.path / "beside.txt"
    for made in (scratch, beside):
        os.mknod(made)
        assert made.stat().st_size == 0
        made.write_bytes(b"filled")
        assert made.read_bytes() == b"filled"
    os.unlink(scratch)
    case.put(absent, 1)
    case.check(quiet=False)


def test_more_files_than_the_mount_has_descriptors_are_refused_at_open(work, mount):
    """The limit of open files: what is open is written, closed and published."""
    case = WriteCase("zarr-nested", work,
                     lambda *where: mount(*where, prefix=["prlimit", "--nofile=128:128"]), PATIENT)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    names = case.names[:8]
    chunks = [os.open(case.path(name), flags) for name in names]
    scratch = []
    with pytest.raises(OSError) as failure:
        for number in range(128):
            scratch.append(os.open(case.root / f"c/work{number}~", flags))
    assert failure.value.errno == errno.EMFILE
    assert len(scratch) >= 16 and "ulimit -n" in case.reasons()
    for descriptor in scratch:
        os.write(descriptor, b"scratch")
    for name, descriptor in zip(names, chunks):
        case.expected[name] = case.bytes_for(name, 1)
        os.write(descriptor, case.expected[name])
        os.close(descriptor)
    for number, descriptor in enumerate(scratch):
        os.close(descriptor)
        os.unlink(case.root / f"c/work{number}~")
    for name in case.names:  # there is room again
        case.put(name, 2)
    case.check(quiet=False)


def test_who_has_failed_to_join_a_writer_reads_what_was_committed_since(work, mount):
    case = WriteCase("zarr-nested", work,
                     lambda *where: mount(*where, prefix=["prlimit", "--nofile=48:48"]), PATIENT)
    name = case.absent()[0]
    held = os.open(case.path(name), os.O_RDWR | os.O_CREAT)
    os.write(held, case.bytes_for(name, 1))
    os.fsync(held)
    paths = [case.path(name).with_name(f"work{number}~") for number in range(48)]
    scratch = []
    with pytest.raises(OSError):
        for path in paths:
            scratch.append(os.open(path, os.O_WRONLY | os.O_CREAT))
    refused(errno.EMFILE, os.open, case.path(name), os.O_WRONLY)
    os.write(scratch[0], case.bytes_for(name, 2))
    for descriptor in scratch:
        os.close(descriptor)
    os.rename(paths[0], case.path(name))
    assert case.path(name).read_bytes() == case.bytes_for(name, 2)
    for path in paths[1:len(scratch)]:
        os.unlink(path)
    os.close(held)
    case.expect([name], 2)
    case.check(quiet=False)


def test_a_directory_that_is_removed_while_somebody_stands_in_it_takes_new_files_at_once(case):
    name = case.names[0]
    folder = case.path(name).parent
    beside = case.mount.path / "beside"
    for directory in [beside] if case.kind == "zarr-flat" else [folder, beside]:
        directory.mkdir(exist_ok=True)
        for _ in range(2):
            held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            shutil.rmtree(directory)
            directory.mkdir(exist_ok=True)
            write_file(directory / "work~", b"while it is held")
            os.close(held)
            write_file(directory / "again~", b"and after that")
            assert {"work~", "again~"} <= set(os.listdir(directory))
            os.unlink(directory / "work~")
            os.unlink(directory / "again~")
        directory.rmdir()
    if case.kind != "zarr-flat":
        case.expected = {other: data for other, data in case.expected.items()
                         if case.path(other).parent != folder}
    case.put(name, 1)
    case.check(quiet=False)


def scratch_folder(case):
    return (case.path(case.names[0]).parent if case.kind != "zarr-flat" else case.root) / "work~"


def test_scratch_directories_are_made_filled_renamed_and_removed(case):
    made = scratch_folder(case)
    kept = made.with_name("kept~")
    os.makedirs(made / "deep/er")
    refused(errno.EEXIST, os.mkdir, made)
    write_file(made / "file", b"scratch")
    write_file(made / "deep/er/file", b"deeper")
    assert stat.S_ISDIR(os.stat(made).st_mode) and "work~" in os.listdir(made.parent)
    assert sorted(os.listdir(made)) == ["deep", "file"]
    refused((errno.EISDIR, errno.EPERM), os.unlink, made / "deep")
    refused(errno.ENOTDIR, os.rmdir, made / "file")
    refused(errno.ENOTEMPTY, os.rmdir, made)
    os.rename(made, kept)
    refused(errno.ENOENT, os.stat, made)
    assert (kept / "deep/er/file").read_bytes() == b"deeper"
    write_file(kept / "deep/er/another", b"deeper still")
    refused(errno.EINVAL, os.rename, kept, kept / "deep/below")
    os.mkdir(made)
    refused(errno.ENOTEMPTY, os.rename, made, kept)
    os.rename(kept / "deep", made)
    assert sorted(os.listdir(made / "er")) == ["another", "file"]
    held = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    shutil.rmtree(made)
    refused(errno.ENOENT, os.open, "late", os.O_WRONLY | os.O_CREAT, dir_fd=held)
    os.close(held)
    # A file in it becomes a chunk by its name.
    name = case.names[0]
    write_file(kept / "chunk", case.bytes_for(name, 3))
    os.rename(kept / "chunk", case.path(name))
    case.expect([name], 3)
    refused(errno.EXDEV, os.rename, kept, case.mount.path / "beside")
    shutil.rmtree(kept)
    case.check(quiet=False)
    assert not list(case.top.rglob("*~"))


def test_what_is_left_in_scratch_directories_ends_with_the_mount(case):
    made = scratch_folder(case)
    os.mkdir(made)
    write_file(made / "file", b"scratch")
    case.mount.unmount()
    assert not list(case.top.rglob("*~"))


def test_a_refused_close_is_logged_once_under_the_name_of_the_file(case):
    refused(errno.EINVAL, write_file, case.path(case.names[0]), b"no chunk")
    case.check(quiet=False)
    case.mount.unmount()  # by then every file is released
    lines = [line for line in case.mount.log().splitlines() if " EINVAL " in line]
    assert len(lines) == 1 and f" close /data/{case.names[0]} EINVAL " in lines[0]


def test_a_name_of_256_bytes_is_too_long_everywhere(case):
    folders = [case.mount.path, case.root, case.path(case.names[0]).parent]
    for folder in folders:
        longest = folder / ("x" * 255)
        write_file(longest, b"as long as it can be")
        for call, *arguments in [(os.stat,), (os.mkdir,), (os.unlink,),
                                 (os.open, os.O_WRONLY | os.O_CREAT)]:
            refused(errno.ENAMETOOLONG, call, folder / ("x" * 256), *arguments)
        refused(errno.ENAMETOOLONG, os.rename, longest, folder / ("y" * 256))
        os.unlink(longest)
    case.check(quiet=False)


def test_pattern_23_names_outside_the_grid_are_refused_at_create(case):
    wrong = (["scale/0-32_0-32_0-8", "scale/28-60_0-32_16-24"] if case.precomputed
             else [case.source.key((0, 4)), case.source.key((0, "01"))])
    for name in wrong:
        refused(errno.ENOENT, os.stat, case.path(name))
        refused(errno.EINVAL, os.open, case.path(name), os.O_WRONLY | os.O_CREAT)
    case.check(quiet=False)
    assert "grid" in case.reasons()


def test_pattern_24_a_file_is_no_directory_whether_chunk_or_scratch(case):
    case.put(case.names[0], 1)
    scratch = f"{case.names[0]}.partial"
    write_file(case.path(scratch), b"scratch")
    for name in (case.names[0], scratch):
        refused(errno.ENOTDIR, os.open, case.path(name),
                os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        refused(errno.ENOTDIR, os.open, case.path(name) / "x", os.O_WRONLY | os.O_CREAT)
    case.check()


def test_pattern_25_a_directory_is_no_chunk(case):
    directory = case.path(case.names[0]).parent
    refused(errno.EISDIR, os.open, directory, os.O_WRONLY)
    refused((errno.EISDIR, errno.EPERM), os.unlink, directory)
    write_file(case.path(f"{case.names[0]}.partial"), case.expected[case.names[0]])
    refused((errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY), os.rename,
            case.path(f"{case.names[0]}.partial"),
            directory)
    refused(errno.ENOTDIR, os.rmdir, case.path(case.names[0]))
    case.check(quiet=False)


def test_a_create_that_was_refused_at_close_can_be_repeated_with_o_excl_at_once(case):
    for turn in range(50):
        name = case.absent()[0]
        with pytest.raises(OSError) as refusal, open(case.path(name), "xb") as file:
            file.write(b"no chunk")
        assert refusal.value.errno == errno.EINVAL, turn
    with open(case.path(name), "xb") as file:
        file.write(case.bytes_for(name, 1))
    case.expected[name] = case.bytes_for(name, 1)
    case.check(quiet=False)


@pytest.mark.parametrize("options", ["", "umask=022"])
def test_pattern_12_pages_of_what_was_dropped_are_not_those_of_the_next_version(work, mount, options):
    """The kernel keeps the inode of the file that was removed, with its pages."""
    for kind in KINDS:
        case = WriteCase(kind, work / kind, mount, ",".join(filter(None, [PATIENT, options])))
        name = case.absent()[0]
        path = case.path(name)
        with open(path, "x+b", buffering=0) as file:
            file.write(case.bytes_for(name, 1))
            assert os.pread(file.fileno(), 8, 0) == case.bytes_for(name, 1)[:8]
            os.unlink(path)
        case.expected[name] = case.bytes_for(name, 2)
        write_file(path.with_name("whole.partial"), case.expected[name])
        os.rename(path.with_name("whole.partial"), path)
        case.check()


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_pattern_26_unlink_while_iterating_removes_everything(work, mount, kind):
    case = WriteCase(kind, work, mount, share=1)
    top = case.root / ("scale" if case.precomputed else "c" if kind == "zarr-nested" else "")
    if kind == "zarr-flat":
        for entry in os.scandir(top):
            if entry.name.startswith("c."):
                os.unlink(entry.path)
    else:
        for directory, _, _ in os.walk(top):
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_file():
                        os.unlink(entry.path)
    case.expected = {}
    case.check()
    assert not any(case.source.shard_path(name).exists() for name in case.names)


# --------------------------------------------------------------------- attributes, space, open flags


def test_pattern_28_and_29_extended_attributes_do_not_disturb_copies(case, work):
    name = case.absent()[0]
    case.put(name, 1)
    for attribute in ("security.selinux", "system.posix_acl_access", "user.other"):
        refused((errno.ENODATA, errno.EOPNOTSUPP), os.getxattr, case.path(name), attribute)
    os.setxattr(case.path(name), "user.unshard.shard", b"copied back by cp -a")
    refused(errno.EOPNOTSUPP, os.setxattr, case.path(name), "user.mine", b"1")
    done = subprocess.run(["cp", "-a", case.path(name), case.path(f"{name}.copy")],
                          capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert case.path(f"{name}.copy").read_bytes() == case.expected[name]
    flush(case.mount)
    shard = os.getxattr(case.path(name), "user.unshard.shard").decode()
    assert case.top / shard == case.source.shard_path(name)
    case.check(quiet=False)


def test_pattern_30_statfs_tells_of_room(one_of_each):
    told = os.statvfs(one_of_each.root)
    assert told.f_bavail > 1000 and told.f_namemax == 255
    assert not told.f_flag & os.ST_RDONLY
    assert one_of_each.expected
    one_of_each.check()


def test_pattern_32_o_direct_writes_of_any_alignment(case):
    name, other = case.absent(2)
    for each, flags in ((name, os.O_DIRECT), (other, 0)):
        data = case.bytes_for(each, 1)
        descriptor = os.open(case.path(each), os.O_RDWR | os.O_CREAT | flags)
        if not flags:
            fcntl.fcntl(descriptor, fcntl.F_SETFL,
                        fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_DIRECT)
        padded = -(-len(data) // 4096) * 4096
        with mmap.mmap(-1, padded) as buffer:
            buffer[:len(data)] = data
            assert os.pwritev(descriptor, [buffer], 0) == padded
        os.ftruncate(descriptor, len(data))
        assert os.pwrite(descriptor, data[5:1005], 5) == 1000
        os.close(descriptor)
        case.expected[each] = data
    case.check()


def fallocate(descriptor, mode, offset, length):
    if libc.fallocate(descriptor, mode, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def test_pattern_33_copies_in_the_kernel_and_hints(case, work):
    name = case.absent()[0]
    data = case.bytes_for(name, 1)
    (work / "plain").write_bytes(data)
    plain = os.open(work / "plain", os.O_RDONLY)
    target = os.open(case.path(name), os.O_RDWR | os.O_CREAT)
    refused((errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY), fcntl.ioctl, target,
            FICLONE, plain)
    try:
        fallocate(target, FALLOC_FL_KEEP_SIZE, 0, len(data))
    except OSError as problem:
        assert problem.errno == errno.EOPNOTSUPP, problem
    assert os.fstat(target).st_size == 0
    os.posix_fadvise(target, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    assert os.sendfile(target, plain, 0, 1000) == 1000
    read_end, write_end = os.pipe()
    os.write(write_end, data[1000:2000])
    assert os.splice(read_end, target, 1000, offset_dst=1000) == 1000
    source = os.open(case.path(case.present()[0]), os.O_RDONLY)
    for opened in (plain, source):
        try:
            os.copy_file_range(opened, target, len(data) - 2000, 2000, 2000)
        except OSError as problem:
            assert problem.errno in (errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL), problem
    os.pwrite(target, data[2000:], 2000)
    for descriptor in (plain, target, source, read_end, write_end):
        os.close(descriptor)
    case.expected[name] = data
    case.check()


@pytest.mark.parametrize("flag", ["O_NONBLOCK", "O_NOFOLLOW", "O_NOATIME", "O_CLOEXEC", "O_NOCTTY",
                                  "O_SYNC", "O_DSYNC", "O_APPEND"])
def test_pattern_34_flags_that_mean_nothing_here_are_ignored(one_of_each, flag):
    case = one_of_each
    for name in (case.present()[0], case.absent()[0]):
        case.expected[name] = case.bytes_for(name, 1)
        write_file(case.path(name), case.expected[name],
                   os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, flag))
    case.check()


def test_pattern_34_an_unnamed_temporary_file_is_not_supported_so_that_callers_fall_back(case):
    refused(errno.EOPNOTSUPP, os.open, case.path(case.names[0]).parent, os.O_TMPFILE | os.O_RDWR)
    refused((errno.EPERM, errno.ENOSYS), os.symlink, "x", case.path("link"))
    refused((errno.EPERM, errno.EINVAL), os.mkfifo, case.path(f"{case.names[0]}.fifo"))
    case.check(quiet=False)


# ------------------------------------------------------------------------------------------ removing


def test_pattern_35_who_has_a_removed_chunk_open_keeps_its_bytes(case):
    stored, written = case.present(2)
    case.put(written, 1)
    opened = {name: os.open(case.path(name), os.O_RDONLY) for name in (stored, written)}
    for name in opened:
        os.unlink(case.path(name))
        refused(errno.ENOENT, os.stat, case.path(name))
        refused(errno.ENOENT, os.unlink, case.path(name))
    for _ in range(2):
        for name, descriptor in opened.items():
            assert os.pread(descriptor, 1 << 20, 0) == case.expected[name], name
        flush(case.mount)
    for name, descriptor in opened.items():
        os.close(descriptor)
        del case.expected[name]
    case.check()


def test_pattern_36_removing_the_last_chunk_removes_the_shard(case):
    shard = case.source.shard_path(case.names[0])
    inside = [name for name in case.expected if case.source.shard_path(name) == shard]
    assert shard.is_file() and len(inside) > 1
    for name in inside:
        os.unlink(case.path(name))
        del case.expected[name]
        case.check()
        assert shard.exists() == (name != inside[-1])
    case.put(inside[0], 5)
    case.check()
    assert shard.is_file()


def test_pattern_37_deletes_go_with_the_writes_of_their_shard(case):
    shard = case.source.shard_of(case.names[0])
    one, two, *_ = [name for name in case.expected if case.source.shard_of(name) == shard]
    case.put(one, 1)
    os.unlink(case.path(two))
    del case.expected[two]
    case.check()
    assert case.write_status()["publishes"] == 1


# ------------------------------------------------------------------------------------------ metadata


def document_of(case):
    return "info" if case.precomputed else "zarr.json"


def edited(case, **more):
    """What a program that knows only the mount writes back: some members changed, all spelled anew."""
    document = json.loads((case.root / document_of(case)).read_text())
    document.update(more)
    return json.dumps(document, indent=7, sort_keys=True).encode()


def layout_changed(case):
    document = json.loads((case.root / document_of(case)).read_text())
    if case.precomputed:
        document["scales"][0]["chunk_sizes"] = [[16, 16, 8]]
    else:
        document["data_type"] = "float64"
    return json.dumps(document).encode()


def original(case):
    return json.loads((case.source.path / document_of(case)).read_text())


def test_pattern_39_metadata_are_byte_stable_while_chunks_are_written(case):
    path = case.root / document_of(case)
    before = path.read_bytes()
    assert b"shard" not in before
    case.put(case.names[0], 1)
    assert path.read_bytes() == before
    case.check()
    assert path.read_bytes() == before and "shard" in json.dumps(original(case))


WAYS = {
    "in place": lambda path, data: write_file(path, data),
    "without truncating": lambda path, data: write_over(path, data),
    "temporary beside": lambda path, data: replace(path, path.with_name(path.stem + ".0f.partial"),
                                                   data),
}


def write_over(path, data):
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()


def replace(path, temporary, data):
    write_file(temporary, data)
    os.replace(temporary, path)


@pytest.mark.parametrize("way", WAYS)
def test_pattern_40_other_members_are_merged_into_the_sharded_original(case, way):
    before = original(case)
    member = "extra" if case.precomputed else "attributes"
    WAYS[way](case.root / document_of(case), edited(case, **{member: {"note": [1, None, "new"]}}))
    wanted = {**before, member: {"note": [1, None, "new"]}}
    assert original(case) == wanted
    shown = json.loads((case.root / document_of(case)).read_text())
    assert shown[member] == {"note": [1, None, "new"]} and "shard" not in json.dumps(shown)
    case.put(case.names[0], 1)
    case.check()
    assert original(case) == wanted
    assert sorted(os.listdir(case.source.path)) == sorted(
        [document_of(case), *{os.path.relpath(case.source.shard_path(name), case.source.path)
                              .split(os.sep)[0] for name in case.expected}])


@pytest.mark.parametrize("way", WAYS)
def test_pattern_40_a_change_of_the_layout_is_refused(case, way):
    before = (case.source.path / document_of(case)).read_bytes()
    shown = (case.root / document_of(case)).read_bytes()
    for data in (layout_changed(case), b"{ no json"):
        refused((errno.EPERM, errno.EINVAL), WAYS[way], case.root / document_of(case), data)
        assert (case.root / document_of(case)).read_bytes() == shown
    assert (case.source.path / document_of(case)).read_bytes() == before
    assert document_of(case) in case.reasons() and "EPERM" in case.reasons()
    case.check(quiet=False)


def test_pattern_40_metadata_stay_where_they_are(case):
    path = case.root / document_of(case)
    refused(errno.EPERM, os.unlink, path)
    refused(errno.EPERM, os.rename, path, path.with_name("elsewhere"))
    case.put(case.names[0], 1)
    case.check(quiet=False)


def test_pattern_41_one_format_answers_in_a_directory(case):
    own = document_of(case)
    case.put(case.names[0], 1)
    for name in {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json",
                 "info"} - {own}:
        refused(errno.ENOENT, os.stat, case.root / name)
    assert own in os.listdir(case.root)
    case.check()


class EarlyKey(PrecomputedSource):
    """By name its scale stands before `info`, as the scales of most volumes do."""
    KEY = "8_8_8"


@pytest.fixture(params=in_turn([*KINDS, "precomputed-early"]))
def whole(request, work, mount, monkeypatch):
    """All chunks are there, and a file beside them whose name is the first."""
    monkeypatch.setitem(KINDS, "precomputed-early", EarlyKey)
    case = WriteCase(request.param, work, mount, share=1)
    (case.source.path / "0.txt").write_text("stands beside the chunks")
    return case


SMALL = {"shape": (9, 9), "chunks": (4, 4), "dtype": "uint8"}


def open_with_zarr(root):
    import zarr

    zarr.open(str(root), mode="w", **SMALL)


def create_with_zarr(root):
    import zarr

    zarr.create_array(str(root), overwrite=True, **SMALL)


def create_with_tensorstore(root):
    import tensorstore as ts

    driver = "neuroglancer_precomputed" if (root / "info").exists() else "zarr3"
    ts.open({"driver": driver, "kvstore": f"file://{root}/"}, context=ts.Context(), create=True,
            delete_existing=True, dtype=ts.uint8, shape=(9, 9, 9, 1)).result()


REMOVING = {"rmtree": shutil.rmtree,
            "rm": lambda root: subprocess.run(["rm", "-r", root], check=True)}
CREATING = {"mode=w": open_with_zarr, "overwrite": create_with_zarr,
            "tensorstore": create_with_tensorstore}


@pytest.mark.parametrize("way", REMOVING)
def test_pattern_42_a_whole_dataset_is_removed_as_on_a_disk(whole, way):
    REMOVING[way](whole.root)
    assert not whole.root.exists() and not whole.source.path.exists()
    assert whole.reasons() == ""
    flush(whole.mount)
    assert sorted(os.listdir(whole.top)) == ["notes.txt"]


@pytest.mark.parametrize("way", CREATING)
def test_pattern_42_who_begins_anew_gets_what_is_not_sharded(whole, way):
    CREATING[way](whole.root)
    stored = {path.name for path in whole.source.path.rglob("*")}
    assert "zarr.json" in stored or "info" in stored
    assert not any(name.endswith(".shard") for name in stored)
    flush(whole.mount)
    assert whole.write_status()["conflicts"] == 0


def test_pattern_42_metadata_go_last(work, mount):
    import zarr

    group = zarr.create_group(work / "source" / "group")
    for name, shards in (("a", None), ("z", (8, 8))):
        group.create_array(name, shape=(16, 16), chunks=(4, 4), shards=shards, dtype="u1")[...] = 7
    (work / "source/group/z/0.txt").write_text("stands beside the chunks")
    root = mount(work / "source", PATIENT).path / "group"
    assert sorted(os.listdir(root)) == ["a", "z", "zarr.json"]
    assert os.listdir(root / "z")[-1] == "zarr.json"
    refused(errno.EPERM, os.unlink, root / "z/zarr.json")
    refused(errno.EBUSY, os.rename, root / "z", root / "y")
    refused(errno.EBUSY, os.rename, root, root.with_name("other"))
    assert (zarr.open_array(root / "z", mode="r")[...] == 7).all()
    zarr.create_group(root, overwrite=True)
    assert os.listdir(root) == ["zarr.json"]


@pytest.mark.long
def test_pattern_42_rm_goes_by_inode_numbers_in_a_large_directory(work, mount):
    import zarr

    array = zarr.create_array(work / "source/flat", shape=(120, 100), chunks=(1, 1), dtype="u1",
                              shards=(120, 100), chunk_key_encoding={"name": "v2", "separator": "."})
    array[...] = 7
    root = mount(work / "source", PATIENT).path / "flat"
    assert len(os.listdir(root)) == 12001
    subprocess.run(["rm", "-r", root], check=True)
    assert os.listdir(work / "source") == []


@pytest.mark.parametrize("way", ["cp", "rsync", "write"])
def test_nothing_sharded_is_created(case, way):
    """Not even in part: what stood there is there again, and nothing new is shown."""
    sharded = case.source.path
    new = case.mount.path / "new"
    if way == "cp":
        assert subprocess.run(["cp", "-r", sharded, new], stderr=subprocess.PIPE).returncode != 0
    elif way == "rsync":
        assert subprocess.run(["rsync", "-a", f"{sharded}/", f"{new}/"],
                              stderr=subprocess.PIPE).returncode != 0
    else:
        new.mkdir()
        refused(errno.EPERM, write_file, new / document_of(case),
                (sharded / document_of(case)).read_bytes())
    assert not (new / document_of(case)).exists()
    assert not (case.top / "new" / document_of(case)).exists()
    assert "sharded arrays cannot be created through the mount" in case.reasons()
    # In place of one that is not sharded: that stays.
    plain = json.loads((case.root / document_of(case)).read_text())
    (case.top / "plain").mkdir()
    (case.top / "plain" / document_of(case)).write_text(json.dumps(plain))
    path = case.mount.path / "plain" / document_of(case)
    assert json.loads(path.read_text()) == plain
    refused(errno.EPERM, write_file, path, (sharded / document_of(case)).read_bytes())
    temporary = path.with_name("temporary")
    write_file(temporary, (sharded / document_of(case)).read_bytes())
    refused(errno.EPERM, os.rename, temporary, path)
    assert json.loads(path.read_text()) == plain
    case.check(quiet=False)


def files_in(folder):
    return {path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("way", [["cp", "-rT"], ["rsync", "-r"]], ids=["cp", "rsync"])
def test_a_sharded_tree_that_is_copied_in_lacks_its_metadata_and_nothing_else(case, way):
    sharded = case.source.path
    copied = case.top / "new"
    new = case.mount.path / "new"
    for ending in ("made whole", "removed"):
        done = subprocess.run([*way, f"{sharded}/", f"{new}/"], stderr=subprocess.PIPE, text=True)
        assert done.returncode != 0 and document_of(case) in done.stderr
        expected = files_in(sharded)
        del expected[pathlib.Path(document_of(case))]
        assert expected and files_in(copied) == expected
        assert files_in(new) == expected  # whole shards, which nobody takes for chunks
        if ending == "made whole":
            shutil.copy(sharded / document_of(case), copied)
            name = case.present(1)[0]
            assert wait_until(lambda: (new / name).exists()
                              and (new / name).read_bytes() == case.expected[name], 10)
            assert "sharding" not in (new / document_of(case)).read_text()
        subprocess.run(["rm", "-r", new], check=True)
        assert not copied.exists()


def test_pattern_43_names_with_colons_beside_meshes_pass_through(work, mount):
    (work / "source").mkdir()
    (work / "source/info").write_text(json.dumps({
        "@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 16,
        "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "lod_scale_multiplier": 1,
        "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity",
                     "preshift_bits": 0, "minishard_bits": 0, "shard_bits": 0}}))
    mounted = mount(work / "source", PATIENT)
    for name in ("7:0", "7:0:0-64_0-64_0-64", "0-64_0-64_0-64.spatial", "0-64_0-64_0-64.frags",
                 "provenance"):
        write_file(mounted.path / name, name.encode())
        assert (mounted.path / name).read_bytes() == name.encode()
        assert (work / "source" / name).read_bytes() == name.encode()
    os.rename(mounted.path / "7:0", mounted.path / "8:0")
    assert sorted(os.listdir(mounted.path)) == sorted(os.listdir(work / "source"))
    assert "8:0" in os.listdir(work / "source")


# ------------------------------------------------------------------------ many, interrupted, killed

WRITER = """
import os, sys
root, rounds = sys.argv[1], int(sys.argv[2])
for line in sys.stdin.read().splitlines():
    name, size, byte = line.split()
    for turn in range(rounds):
        file = os.open(os.path.join(root, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(file, bytes([int(byte)]) * int(size))
        os.close(file)
"""


@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_pattern_46_many_processes_write_one_shard_and_nothing_is_lost(work, mount, kind):
    case = WriteCase(kind, work, mount, "publish_after=0.05", share=0.3)
    for name in case.names:
        case.path(name).parent.mkdir(parents=True, exist_ok=True)
    writers = []
    for number, name in enumerate(case.names):
        size, byte = case.source.size(name), 1 + number
        writers.append(subprocess.Popen([sys.executable, "-c", WRITER, str(case.root), "5"],
                                        stdin=subprocess.PIPE, text=True))
        writers[-1].stdin.write(f"{name} {size} {byte}\n")
        case.expected[name] = bytes([byte]) * size
    for writer in writers:
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0] * len(writers)
    case.check()


INTERRUPTED = """
import os, signal, sys
root = sys.argv[1]
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for line in sys.stdin.read().splitlines():
    name, size, rounds = line.split()
    for turn in range(1, int(rounds) + 1):
        file = os.open(os.path.join(root, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(file, bytes([turn]) * int(size))
        os.fsync(file)
        os.close(file)
signal.setitimer(signal.ITIMER_REAL, 0)
"""


def test_pattern_48_interrupting_signals_lose_nothing_that_was_accepted(case):
    names = case.names[:3]
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(case.root)],
                          stdin=subprocess.PIPE, text=True) as writer:
        writer.communicate("".join(f"{name} {case.source.size(name)} 40\n" for name in names),
                           timeout=60)
    assert writer.returncode == 0
    for name in names:
        case.expected[name] = bytes([40]) * case.source.size(name)
    case.check()


DYING = """
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.write(file, b"d" * int(sys.argv[2]))
print("written", flush=True)
time.sleep(60)
"""


def test_pattern_49_what_a_killed_process_left_half_written_is_not_committed(case):
    broken = [case.present()[0], case.absent()[0]]
    for name, missing in ((broken[0], 1), (broken[1], 7), (case.names[1], 0)):
        size = case.source.size(name)
        with subprocess.Popen([sys.executable, "-c", DYING, case.path(name), str(size - missing)],
                              stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout.readline() == "written\n"
            writer.send_signal(signal.SIGKILL)
        if not missing:  # nobody can tell from the outside that more was to come
            case.expected[name] = b"d" * size
    deadline = time.monotonic() + 10
    while any(name not in case.reasons() for name in broken) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert all(f"/data/{name} EINVAL" in case.reasons() for name in broken)
    case.check(quiet=False)


@pytest.mark.parametrize("how", ["unmount", "SIGTERM"])
@pytest.mark.parametrize("kind", in_turn(KINDS))
def test_pattern_50_unmounting_publishes_what_was_committed(work, mount, kind, how):
    case = WriteCase(kind, work, mount)
    for name in case.names[:7]:
        case.put(name, 1)
    # A shard that is complete is published at once; the others wait.
    assert 0 < case.write_status()["dirty_chunks"] <= 7
    spool = case.write_status()["spool"]
    if how == "unmount":
        case.mount.unmount()
    else:
        assert case.mount.terminate() == 0, case.mount.log()
    case.check_source()
    left = [name for _, _, names in os.walk(spool) for name in names]
    assert not [name for name in left if "lock" not in name], left
