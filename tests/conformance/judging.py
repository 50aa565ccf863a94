"""What the conformance tests judge by: lossless JSON, directory trees, names and file bytes."""

import errno
import json
import os
import pathlib

SEED = int(os.environ.get("UNSHARD_SEED", "20260"))


def lossless(text):
    """JSON with every order and number token kept: objects are lists of pairs, numbers are text."""
    return json.loads(text, object_pairs_hook=Pairs, parse_int=Token, parse_float=Token,
                      parse_constant=Token)


class Token(str):
    """A number as it was written."""

    def __repr__(self):
        return f"number {str(self)}"


class Pairs(list):
    """An object's members in their order; duplicates would be seen."""

    def __init__(self, pairs):
        super().__init__([tuple(pair) for pair in pairs])

    def get(self, name):
        return next((value for key, value in self if key == name), None)

    def without(self, *names):
        return Pairs((key, value) for key, value in self if key not in names)

    def replaced(self, name, value):
        return Pairs((key, value if key == name else old) for key, old in self)


def put_file(path, content):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


def tree(root):
    """{relative path: bytes, or None for a directory} of everything below `root`, links followed."""
    root = pathlib.Path(root)
    found = {}
    for directory, directories, files in os.walk(root, onerror=_raise, followlinks=True):
        for name in directories:
            found[str((pathlib.Path(directory) / name).relative_to(root))] = None
        for name in files:
            path = pathlib.Path(directory) / name
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


def _raise(error):
    raise error


def names(directory):
    """The names in a directory, each of which must be listed once."""
    listed, end = names_and_end(directory)
    assert end is None, f"{directory}: {os.strerror(end)}"
    return listed


def names_and_end(directory):
    """The names that a listing gives, and the errno with which it fails; None at its proper end."""
    listed, end = [], None
    with os.scandir(directory) as entries:
        try:
            for entry in entries:
                listed.append(entry.name)
        except OSError as error:
            end = error.errno
    assert len(listed) == len(set(listed)), f"{directory} lists a name twice"
    return set(listed), end


def names_below(directory):
    """Relative paths of all files below a directory."""
    return {path for path, content in tree(directory).items() if content is not None}


def difference(found, expected):
    """A short account of how two sets of names differ, for assertion messages."""
    found, expected = set(found), set(expected)
    return f"missing {sorted(expected - found)[:8]}, unexpected {sorted(found - expected)[:8]}"


def assert_same_names(found, expected, what):
    assert set(found) == set(expected), f"{what}: {difference(found, expected)}"


def assert_same_bytes(path, expected):
    """The file reads as `expected`, and its size said so before."""
    size = os.stat(path).st_size
    content = pathlib.Path(path).read_bytes()
    assert size == len(expected), f"{path}: st_size {size}, expected {len(expected)}"
    assert content == expected, f"{path}: {first_difference(content, expected)}"


def first_difference(found, expected):
    if len(found) != len(expected):
        return f"{len(found)} bytes, expected {len(expected)}"
    at = next(i for i, (a, b) in enumerate(zip(found, expected)) if a != b)
    return f"byte {at} is {found[at]:#04x}, expected {expected[at]:#04x}"


def assert_missing(path):
    try:
        os.stat(path)
    except OSError as error:
        assert error.errno == errno.ENOENT, f"{path}: {error}"
    else:
        raise AssertionError(f"{path} resolves")


def error_of_reading(path):
    """The errno of opening and reading a file to its end, or None where that works."""
    try:
        pathlib.Path(path).read_bytes()
    except OSError as error:
        return error.errno
    return None
