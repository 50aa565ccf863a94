"""What a killed mount had written where somebody has changed the source since.

Theirs stays and is shown, ours is kept in the spool's conflicts and told of, and whatever nobody else
has touched is published.
"""

import json
import os
import pathlib
import struct

import google_crc32c
import numpy as np
import pytest

from mounting import MountFailed, kill
from tiers import in_turn
from write_data import CRC32C, KINDS, LITTLE, PATIENT, WriteCase, ZarrSource, flush, write_file

NAMES = ("changed", "removed", "taken", "created")  # the roles of chunks that conflict


class Conflicts:
    """A WriteCase whose mount is killed while chunks wait, some of which somebody else then changes.

    chunk   {role: name}; beside NAMES "alike", which both have written alike, and "quiet" and "new",
            which only we have written
    ours    {role: the bytes that we had written}, of NAMES; of "removed" there are none
    """

    def __init__(self, kind, work, mount):
        self.spools, self.mount = work / "spools", mount
        self.options = f"{PATIENT},spool={self.spools}"
        self.case = WriteCase(kind, work, mount, self.options)
        present, absent = self.case.present(5), self.case.absent(2)
        roles = ("changed", "removed", "taken", "alike", "quiet", "created", "new")
        self.chunk = dict(zip(roles, present + absent, strict=True))
        self._write()
        kill(self.case.mount)
        self._change()

    def _write(self):
        for role, name in self.chunk.items():
            if role == "removed":
                os.unlink(self.case.path(name))
            else:
                self.case.put(name, 1)
        assert self.case.write_status()["dirty_chunks"] == len(self.chunk), "one is published already"
        self.ours = {role: self.case.expected.get(self.chunk[role], b"") for role in NAMES
                     if role != "removed"}

    def _change(self):
        """By TensorStore, in the shards: another value, none, the same, and one where none was."""
        versions = {"changed": 9, "removed": 9, "created": 9, "alike": 1}
        theirs = {self.chunk[role]: self.case.bytes_for(self.chunk[role], version)
                  for role, version in versions.items()}
        self.case.expected.update(theirs)
        del self.case.expected[self.chunk["taken"]]
        self.case.source.fill({**theirs, self.chunk["taken"]: None})

    def mount_again(self):
        self.case.mount = self.mount(self.case.top, self.options)
        self.case.root = self.case.mount.path / "data"
        return self.case.mount

    def paths(self):
        """{role: where it stands in the source}, of NAMES."""
        return {role: f"data/{self.chunk[role]}" for role in NAMES}


@pytest.fixture(params=in_turn(KINDS))
def conflicts(request, work, mount):
    return Conflicts(request.param, work, mount)


@pytest.fixture(params=["zarr-nested", "precomputed-gzip"])
def some_conflicts(request, work, mount):
    """For what does not depend on how keys are spelled or data are stored."""
    return Conflicts(request.param, work, mount)


def set_aside(mounted):
    """{path of the chunk: the bytes of the file that status.json names}."""
    return {f"{each['dataset']}/{each['chunk']}": pathlib.Path(each["path"]).read_bytes()
            for each in mounted.status()["write"]["set_aside"]}


# ----------------------------------------------------------------------- chunks that somebody changed


def test_what_somebody_else_has_changed_stays_and_its_neighbours_are_published(conflicts):
    case, mounted = conflicts.case, conflicts.mount_again()
    status = case.write_status()
    assert (status["conflicts"], status["dirty_chunks"]) == (len(NAMES), 2)
    case.check_mount()
    flush(mounted)
    case.check_source()
    case.check_mount()
    status = case.write_status()
    assert (status["conflicts"], status["dirty_chunks"]) == (len(NAMES), 0)
    # They are no longer in the way of who writes these chunks anew.
    case.put(conflicts.chunk["changed"], 3)
    case.put(conflicts.chunk["taken"], 3)
    flush(mounted)
    case.check_source()


def test_chunks_that_end_in_their_own_crc32c_are_distinguished(work, mount):
    class Checksummed(ZarrSource):
        CODECS = [LITTLE, CRC32C]

    def chunk(version):
        data = np.full(ZarrSource.CHUNK, version, ZarrSource.DTYPE).tobytes()
        return data + struct.pack("<I", google_crc32c.value(data))

    source = Checksummed(work / "source")
    ours, theirs = "c/0/0", "c/0/1"
    source.fill({ours: chunk(1), theirs: chunk(1)})
    mounted = mount(source.path, f"{PATIENT},spool={work / 'spools'}")
    for name in (ours, theirs):
        write_file(mounted.path / name, chunk(2))
    kill(mounted)
    source.fill({theirs: chunk(3)})
    mounted = mount(source.path, f"{PATIENT},spool={work / 'spools'}")
    assert (mounted.path / ours).read_bytes() == chunk(2)
    assert (mounted.path / theirs).read_bytes() == chunk(3)
    assert mounted.status()["write"]["conflicts"] == 1
    flush(mounted)
    assert source.stored() == {ours: chunk(2), theirs: chunk(3)}


def test_what_was_set_aside_is_told_of_and_its_bytes_are_where_it_says(some_conflicts, run_unshard):
    mounted = some_conflicts.mount_again()
    wanted = {path: some_conflicts.ours.get(role, b"")
              for role, path in some_conflicts.paths().items()}
    assert set_aside(mounted) == wanted
    assert mounted.log().count("another process has changed this chunk since") == len(wanted)
    assert f"unshard_conflicts_total {len(wanted)}\n" in mounted.control("metrics")
    kept = {each["path"] for each in mounted.status()["write"]["set_aside"]}
    mounted.unmount()
    # The next mount has met no conflict itself, and still tells of them.
    mounted = some_conflicts.mount_again()
    assert set_aside(mounted) == wanted
    assert mounted.status()["write"]["conflicts"] == 0
    shown = run_unshard("status", mounted.path).stdout
    assert all(path in shown for path in kept)
    assert sum(line.startswith("conflicts ") for line in shown.splitlines()) == 1
    some_conflicts.case.check_mount()


def test_spool_list_and_export_give_what_was_set_aside(some_conflicts, work, run_unshard):
    some_conflicts.mount_again().unmount()
    some_conflicts.case.check_source()
    listed = run_unshard("spool", "list", "-v", "--spool", some_conflicts.spools)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert f"0 chunks, 0 bytes, {len(NAMES)} conflicts" in listed.stdout
    lines = {line.split()[0]: line for line in listed.stdout.splitlines() if "conflict, " in line}
    assert set(lines) == set(some_conflicts.paths().values())
    assert "removed" in lines[some_conflicts.paths()["removed"]]
    to = work / "to"
    to.mkdir()
    done = run_unshard("spool", "export", "--spool", some_conflicts.spools, to)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"0 chunks (0 bytes), 0 removals, {len(NAMES)} conflicts\n"
    found = {str(path.relative_to(to / "CONFLICTS")).partition(",")[0]: path.read_bytes()
             for path in to.rglob("*,*")}
    paths = some_conflicts.paths()
    assert found == {paths[role]: data for role, data in some_conflicts.ours.items()}
    assert (to / "CONFLICTS/REMOVED").read_text() == paths["removed"] + "\n"
    assert not (to / "REMOVED").exists()


def test_publish_without_a_mount_sets_aside_as_well_and_says_so(some_conflicts, run_unshard):
    arguments = ["spool", "publish", "--spool", some_conflicts.spools, some_conflicts.case.top]
    done = run_unshard(*arguments)
    some_conflicts.case.check_source()
    assert done.returncode == 1 and f"{len(NAMES)} chunks quarantined" in done.stderr
    assert done.stdout == "3 chunks taken over and published\n"  # that which both wrote is one
    listed = run_unshard("spool", "list", "--spool", some_conflicts.spools).stdout
    assert f"0 chunks, 0 bytes, {len(NAMES)} conflicts" in listed
    done = run_unshard(*arguments)
    assert (done.returncode, done.stderr) == (0, "") and "nothing to publish" in done.stdout


# ---------------------------------------------------------------------------- datasets that are gone


class TwoArrays:
    """The dataset of a WriteCase and a second array beside it, both written to and then killed."""

    def __init__(self, work, mount):
        self.spools, self.mount = work / "spools", mount
        self.options = f"{PATIENT},spool={self.spools}"
        self.case = WriteCase("zarr-nested", work, mount, self.options, share=1)
        self.other = ZarrSource(self.case.top / "other")
        self.lost, self.kept = self.case.names[-1], self.case.names[0]
        self.data = self.case.bytes_for(self.lost, 1)
        for path in (self.case.path(self.lost), self.case.mount.path / "other" / self.kept):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, self.data)
        kill(self.case.mount)

    def mount_again(self):
        return self.mount(self.case.top, self.options)


def move_away(case, work):
    os.rename(case.top / "data", work / "aside")


def cut_the_array(case, work):
    """Its last row of chunks is outside then."""
    del work
    document = json.loads((case.source.path / "zarr.json").read_text())
    document["shape"][0] -= case.source.CHUNK[0]
    (case.source.path / "zarr.json").write_text(json.dumps(document))


@pytest.mark.parametrize("change", [move_away, cut_the_array], ids=lambda change: change.__name__)
def test_a_chunk_without_a_place_is_set_aside_and_the_others_are_published(
        change, work, mount, run_unshard):
    arrays = TwoArrays(work, mount)
    change(arrays.case, work)
    mounted = arrays.mount_again()
    assert "no place for this chunk any more" in mounted.log()
    assert set_aside(mounted) == {f"data/{arrays.lost}": arrays.data}
    assert mounted.status()["write"]["dirty_chunks"] == 1
    flush(mounted)
    assert arrays.other.stored() == {arrays.kept: arrays.data}
    mounted.unmount()
    to = work / "to"
    to.mkdir()
    assert run_unshard("spool", "export", "--spool", arrays.spools, to).returncode == 0
    exported = [path for path in to.rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in exported] == [arrays.data]


def test_a_source_without_any_dataset_keeps_its_spool_until_one_is_there_again(
        work, mount, run_unshard):
    options = f"{PATIENT},spool={work / 'spools'}"
    case = WriteCase("zarr-nested", work, mount, options)
    case.put(case.names[0], 1)
    kill(case.mount)
    move_away(case, work)
    with pytest.raises(MountFailed, match="no dataset found"):
        mount(case.top, options, point=work / "refused")
    done = run_unshard("spool", "publish", "--spool", work / "spools", case.top)
    assert done.returncode == 1 and "no dataset found" in done.stderr
    assert "1 chunk (6.1 kB) stay in" in done.stderr
    assert "1 chunk, 6.1 kB, 0 conflicts" in run_unshard(
        "spool", "list", "--spool", work / "spools").stdout
    os.rename(work / "aside", case.top / "data")
    case.mount = mount(case.top, options)
    case.root = case.mount.path / "data"
    case.check()


def test_a_dataset_that_is_too_deep_to_be_searched_for_gets_its_chunks(work, mount):
    options = f"{PATIENT},spool={work / 'spools'}"
    # The chunks of a scale are no more told by its own directory than by those above.
    case = WriteCase("precomputed-raw", work, mount, options)
    # More than are searched when mounting, and all of them before those that are one level deeper.
    for number in range(4200):
        (case.top / "plain" / str(number)).mkdir(parents=True)
    deep = case.top / "plain" / "0" / "1"
    deep.mkdir()
    os.rename(case.top / "data", deep / "data")
    ZarrSource(case.top / "found")
    case.mount.unmount()
    case.source.path = deep / "data"

    def mount_it():
        case.mount = mount(case.top, options)
        case.root = case.mount.path / "plain/0/1/data"

    mount_it()
    case.put(case.names[0], 1)
    kill(case.mount)
    mount_it()
    assert case.write_status()["dirty_chunks"] == 1, case.mount.log()
    case.check()


# ------------------------------------------------------------------------------------ strict mounts


class Strict:
    """A strict mount that has written two chunks which somebody else has then changed in the source."""

    def __init__(self, work, mount):
        self.spools = work / "spools"
        case = self.case = WriteCase("zarr-nested", work, mount,
                                     f"{PATIENT},strict,spool={self.spools}")
        self.names = case.present(2)
        for name in self.names:
            case.put(name, 1)
        case.source.fill({name: case.bytes_for(name, 9) for name in self.names})
        self.paths = [f"data/{name}" for name in self.names]

    def drop(self, run_unshard, *which):
        return run_unshard("spool", "drop", "--spool", self.spools, self.case.top, *which)


def named(done, paths):
    assert done.returncode == 1 and "goes on trying" not in done.stderr, done.stderr
    for path in paths:
        assert f"{path}: not published, but quarantined as " in done.stderr, done.stderr
    assert "unshard spool drop" in done.stderr


def test_flush_and_umount_name_what_a_strict_mount_has_quarantined(work, mount, run_unshard):
    strict = Strict(work, mount)
    mounted = strict.case.mount
    for _ in range(2):
        named(run_unshard("flush", mounted.path), strict.paths)
        assert strict.case.write_status()["dirty_chunks"] == 0
    named(run_unshard("umount", mounted.path), strict.paths)
    mounted.ended = True
    strange = strict.drop(run_unshard, "data/c/77/0", strict.paths[0])
    assert strange.returncode == 1 and "data/c/77/0: no such chunk is quarantined" in strange.stderr
    assert strange.stdout == "1 quarantined chunk dropped\n"
    listed = run_unshard("spool", "list", "--spool", strict.spools).stdout
    assert "0 chunks, 0 bytes, 1 conflict" in listed
    assert strict.drop(run_unshard).returncode == 2
    dropped = strict.drop(run_unshard, "--all")
    assert dropped.stdout == "1 quarantined chunk dropped\n1 empty spool removed\n"
    assert list(strict.spools.iterdir()) == []


def test_a_mount_forgets_quarantined_chunks_that_are_dropped(work, mount, run_unshard):
    strict = Strict(work, mount)
    mounted = strict.case.mount
    named(run_unshard("flush", mounted.path), strict.paths)
    assert strict.drop(run_unshard, *strict.paths).returncode == 0
    assert mounted.status()["write"]["set_aside"] == []
    done = run_unshard("umount", mounted.path)
    assert (done.returncode, done.stderr) == (0, "")
    mounted.ended = True
    assert list(strict.spools.iterdir()) == []
