"""Holds the open(2) of a file back until somebody lets it go: fanotify(7), which only root may use."""

import contextlib
import ctypes
import os
import select
import struct

FAN_CLASS_CONTENT, FAN_CLOEXEC = 0x4, 0x1
FAN_MARK_ADD, FAN_OPEN_PERM = 0x1, 0x10000
EVENT = struct.Struct("<IBBHQii")  # fanotify_event_metadata
AT_FDCWD = -100

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class HeldOpens:
    """Until let_go(), or the end of `with`, programs that open this file wait."""

    def __init__(self, path):
        self.group = checked(libc.fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, os.O_RDONLY))
        with contextlib.ExitStack() as undo:
            undo.callback(self.let_go)
            checked(libc.fanotify_mark(self.group, FAN_MARK_ADD, ctypes.c_uint64(FAN_OPEN_PERM), AT_FDCWD,
                                       os.fsencode(path)))
            undo.pop_all()

    def await_one(self, seconds):
        """Returns once a program waits."""
        if not select.select([self.group], [], [], seconds)[0]:
            raise AssertionError(f"nobody opened the file within {seconds} s")
        *_, descriptor, _ = EVENT.unpack_from(os.read(self.group, EVENT.size))
        os.close(descriptor)

    def let_go(self):
        """All go on, those that come later as well."""
        if self.group is not None:
            os.close(self.group)
        self.group = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.let_go()
