"""Files that are removed while they are open have no name, and say so."""

import errno
import fcntl
import os
import traceback

import pytest

from write_data import PATIENT, WriteCase


@pytest.fixture(params=["zarr-nested", "precomputed-raw"])
def case(request, work, mount):
    return WriteCase(request.param, work, mount, PATIENT)


def take(path):
    """A lock file as many libraries use one: who gets the lock of a file without a name tries again."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            # Within this call the name has led to a file that was removed, and then to another one.
            if error.errno != errno.ESTALE:
                raise
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink != 0:
            return descriptor
        os.close(descriptor)


@pytest.mark.parametrize("beside", ["chunks", "metadata"])
def test_a_lock_file_is_held_by_one_program_though_each_removes_it(case, beside):
    path = case.path(case.names[0]).parent if beside == "chunks" else case.root
    path /= "writer.lock"
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                for _ in range(100):
                    lock = take(path)
                    inside = os.open(case.root / "inside", os.O_CREAT | os.O_EXCL)
                    os.close(inside)
                    os.unlink(case.root / "inside")
                    os.unlink(path)
                    os.close(lock)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert not path.exists()


def test_what_is_open_has_no_name_once_it_is_removed_or_replaced(case):
    folder = case.path(case.names[0]).parent
    for name in ("scratch", "other"):
        (folder / name).write_bytes(b"x")
    os.link(folder / "scratch", folder / "second")
    with open(folder / "scratch", "r+b") as scratch, open(folder / "other", "rb") as other:
        os.unlink(folder / "second")
        assert os.fstat(scratch.fileno()).st_nlink == 1
        os.rename(folder / "scratch", folder / "other")
        assert os.fstat(scratch.fileno()).st_nlink == 1
        assert os.fstat(other.fileno()).st_nlink == 0
        os.unlink(folder / "other")
        assert os.fstat(scratch.fileno()).st_nlink == 0
        scratch.write(b"still a file")
    with pytest.raises(FileNotFoundError):
        os.stat(folder / "other")


def test_a_file_of_the_source_is_open_as_long_as_it_is_open_anywhere(case):
    path = case.root / "notes"
    path.write_bytes(b"first")
    with open(path, "r+b", buffering=0) as file:
        path.read_bytes()  # another program opens it, and closes it
        os.unlink(path)
        path.write_bytes(b"second")
        assert (os.fstat(file.fileno()).st_nlink, os.fstat(file.fileno()).st_size) == (0, 5)
        os.utime(file.fileno(), (1, 2))
        assert os.fstat(file.fileno()).st_mtime == 2
        again = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDWR)
        os.pwrite(again, b"FIRST", 0)
        os.close(again)
        assert file.read() == b"FIRST"
        os.close(os.open(f"/proc/self/fd/{file.fileno()}", os.O_WRONLY | os.O_TRUNC))
        assert os.fstat(file.fileno()).st_size == 0
    assert path.read_bytes() == b"second"
    assert (case.source.path / "notes").read_bytes() == b"second"
