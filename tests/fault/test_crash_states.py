"""What a crash leaves of a dataset that is being published, read by those who never heard of us.

The store's own test crashes a publish at each of its operations on a simulated disk, and writes out
the distinct states in which the machine can come up again, with what each chunk may hold then (see
tests/store/local/crash_states_test.cc). Here libraries read all of them, where lock files and half of a
version may stand beside the shards, and TensorStore goes on writing them.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

SCENARIOS = {f"{form}{kind}" for form in ("zarr", "precomputed")
             for kind in ("", "_new", "_cloned", "_removed")} | {"precomputed_gzip"}
FILTER = "Scenarios/CrashStatesTest.*"


def open_with_tensorstore(state):
    import tensorstore as ts

    kvstore = {"driver": "file", "path": f"{state.dataset}/"}
    if state.is_zarr:
        return ts.open({"driver": "zarr3", "kvstore": kvstore}, context=ts.Context()).result()
    store = ts.open({"driver": "neuroglancer_precomputed", "kvstore": kvstore, "scale_index": 0},
                    context=ts.Context()).result()
    return store[..., 0]


def read_with_tensorstore(state):
    return open_with_tensorstore(state).read().result()


def read_with_zarr_python(state):
    import zarr

    return zarr.open_array(str(state.dataset), mode="r")[...]


def read_with_cloud_volume(state):
    from cloudvolume import CloudVolume

    volume = CloudVolume(f"file://{state.dataset}", mip=0, progress=False, parallel=1, cache=False,
                         fill_missing=True)
    return np.asarray(volume[...])[..., 0]


READERS = {True: [read_with_tensorstore, read_with_zarr_python],
           False: [read_with_tensorstore, read_with_cloud_volume]}


class Chunk:
    """Where a chunk stands, and what it holds in each version that its shard may have."""

    def __init__(self, described, is_zarr):
        self.box = tuple(slice(*bounds) for bounds in zip(described["begin"], described["end"]))
        shape = [each.stop - each.start for each in self.box]
        self.versions = [self._voxels(value, shape, is_zarr) for value in described["values"]]

    @staticmethod
    def _voxels(value, shape, is_zarr):
        if value is None:
            return np.zeros(shape, np.uint8)  # as all these libraries show a missing chunk
        voxels = np.frombuffer(bytes.fromhex(value), np.uint8)
        assert voxels.any(), "would look like a missing chunk"
        if not is_zarr:
            return voxels.reshape(shape, order="F")
        return voxels.reshape(4, 4, 4)[tuple(slice(size) for size in shape)]  # whole at the edge


class State:
    """One state that a crash can leave."""

    def __init__(self, folder):
        self.scenario = folder.parent.name
        self.name = f"{self.scenario}/{folder.name}"
        self.dataset = folder / "dataset"
        allowed = json.loads((folder / "allowed.json").read_text())
        self.is_zarr = allowed["document"] == "zarr.json"
        self.shards = {shard["key"]: [Chunk(each, self.is_zarr) for each in shard["chunks"]]
                       for shard in allowed["shards"]}
        self.left_over = [path for path in self.dataset.rglob("*") if path.is_file()
                          and str(path.relative_to(self.dataset)) not in
                          {allowed["document"], *self.shards}]

    @property
    def chunks(self):
        return [chunk for of_shard in self.shards.values() for chunk in of_shard]

    def findings(self, array):
        """What `array` must not show; and {shard: number of the version that it shows}."""
        findings, found = [], {}
        for key, chunks in self.shards.items():
            fitting = [{number for number, version in enumerate(chunk.versions)
                        if np.array_equal(array[chunk.box], version)} for chunk in chunks]
            findings += [f"{key}: {chunk.box} is none of its {len(chunk.versions)} values"
                         for chunk, versions in zip(chunks, fitting) if not versions]
            common = set.intersection(*fitting)
            if all(fitting) and not common:
                findings.append(f"{key}: some chunks are of one version, some of another")
            found[key] = min(common, default=None)
        return findings, found


@pytest.fixture(scope="module")
def states(unshard_binary, module_work):
    program = pathlib.Path(os.environ.get("UNSHARD_STORE_TESTS",
                                          unshard_binary.parent / "store_tests"))
    assert os.access(program, os.X_OK), f"{program} is not there: build it"
    folder = module_work / "states"
    done = subprocess.run([str(program), f"--gtest_filter={FILTER}", "--gtest_brief=1"],
                          env={**os.environ, "UNSHARD_CRASH_STATES": str(folder)},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    written = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    assert written == SCENARIOS, f"{program} wrote states of {sorted(written)}"
    return [State(each) for scenario in sorted(folder.iterdir())
            for each in sorted(scenario.iterdir(), key=lambda path: int(path.name))]


def look(state, reader):
    """What State.findings says of what `reader` shows, or that it cannot read it."""
    try:
        return state.findings(reader(state))
    except Exception as error:  # whatever a library raises over a damaged dataset
        return [f"{type(error).__name__}: {error}"], {}


def test_libraries_find_each_shard_in_one_of_its_versions(states, capsys):
    findings, read = [], collections.Counter()
    versions = collections.defaultdict(set)
    every = [(state, reader) for state in states for reader in READERS[state.is_zarr]]
    # Threads, because CloudVolume sleeps most of the time.
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        shown = pool.map(look, *zip(*every))
        for (state, reader), (of_state, found) in zip(every, shown):
            findings += [f"{state.name}, {reader.__name__}: {each}" for each in of_state]
            read[reader.__name__] += len(state.chunks)
            # Only where both are allowed: else nobody could tell them apart.
            versions[state.scenario] |= {found.get(key) for key, chunks in state.shards.items()
                                         if len(chunks[0].versions) == 2}
    with capsys.disabled():
        left_over = sum(bool(state.left_over) for state in states)
        print(f"\n{len(states)} states, {left_over} of them with files left over; chunks: "
              + ", ".join(f"{count} {name}" for name, count in sorted(read.items())))
    assert not findings, f"{len(findings)} findings:\n" + "\n".join(findings[:20])
    # Else the crashes were not where it matters.
    assert all(found == {0, 1} for found in versions.values()) and set(versions) == SCENARIOS
    assert {state.scenario for state in states if state.left_over} == SCENARIOS


def write_on(state):
    """TensorStore rewrites one chunk of each shard; what is not right after that."""
    try:
        expected = np.array(read_with_tensorstore(state))
        array = open_with_tensorstore(state)
        for number, chunks in enumerate(state.shards.values()):
            expected[chunks[0].box] = 201 + number
            array[chunks[0].box].write(expected[chunks[0].box]).result()
        return [f"{state.name}, {reader.__name__}: shows something else"
                for reader in READERS[state.is_zarr] if not np.array_equal(reader(state), expected)]
    except Exception as error:  # whatever it raises over what it has made itself
        return [f"{state.name}: {type(error).__name__}: {error}"]


def test_tensorstore_goes_on_writing(states, module_work):
    """It takes over a lock file that it finds as it is, and does not cut off what stands in it."""
    copies = []
    for state in states:
        if state.left_over:
            folder = module_work / "written" / state.name
            shutil.copytree(state.dataset.parent, folder)
            copies.append(State(folder))
    assert copies
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        findings = [each for found in pool.map(write_on, copies) for each in found]
    assert not findings, f"{len(findings)} findings:\n" + "\n".join(findings[:20])
