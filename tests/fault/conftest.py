"""Fixtures of the fault tests: every mount has a spool folder in the test's work directory."""

import pytest

from mounting import mounted_at


@pytest.fixture
def spools(work):
    """The folder in which the mounts of a test have their spools."""
    return work / "spools"


@pytest.fixture
def mount_again(mount, spools):
    """mount_again(source, "a,b=c", **more) -> Mount, at the same mount point each time.

    The one before must be gone. Adopts what that left in its spool.
    """
    made = []

    def make(source, options="", **more):
        assert not made or mounted_at(made[-1].path) is None
        every = [f"spool={spools}", *([options] if options else [])]
        more.setdefault("point", spools.parent / "mnt")
        made.append(mount(source.path, ",".join(every), **more))
        return made[-1]

    return make
