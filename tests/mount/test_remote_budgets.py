"""What reading from a server costs: requests, exactly, and how many of them wait for another.

The proxy delays each answer, so that requests that are sent together overlap, and those that wait for
one another do not.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from mounting import daemon_of, wait_until
from test_disk_cache import Nginx

SERVERS = pathlib.Path(__file__).resolve().parents[1] / "servers"
SECONDS = 20
DELAY = 0.8
EDGE = 16  # of chunks
GRID = (8, 8, 4)  # of chunks: 8 shards of 32 chunks in 4 minishards
SPEC = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 3, "hash": "identity",
        "minishard_bits": 2, "shard_bits": 3, "minishard_index_encoding": "gzip",
        "data_encoding": "raw"}


def voxels():
    import numpy as np

    shape = tuple(n * EDGE for n in GRID)
    return np.random.default_rng(7).integers(1, 255, shape, "u1")


def write_with_tensorstore(path):
    """The index of each minishard stands behind its chunks."""
    import tensorstore as ts

    data = voxels()
    store = ts.open({
        "driver": "neuroglancer_precomputed",
        "kvstore": {"driver": "file", "path": f"{path}/"},
        "multiscale_metadata": {"type": "image", "data_type": "uint8", "num_channels": 1},
        "scale_metadata": {"key": "scale", "size": data.shape, "chunk_size": [EDGE] * 3,
                           "resolution": [8, 8, 8], "encoding": "raw", "sharding": SPEC},
    }, create=True, open=True).result()
    store[..., 0].write(data).result()


def write_with_cloudvolume(path):
    """The indexes of all minishards stand at the end."""
    import numpy as np
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification
    from cloudvolume.lib import Bbox

    write_with_tensorstore(path)  # the info, and what is in it
    data = voxels()
    spec = ShardingSpecification.from_dict(SPEC)
    chunks = {}
    for cell in np.ndindex(*GRID):
        begin = [c * EDGE for c in cell]
        part = data[tuple(slice(b, b + EDGE) for b in begin)]
        chunks[morton(cell)] = part.tobytes("F")
    for name in (path / "scale").iterdir():
        name.unlink()
    for name, shard in spec.synthesize_shards(chunks).items():
        (path / "scale" / name).write_bytes(shard)


def morton(cell):
    bits = [(n - 1).bit_length() for n in GRID]
    code = place = 0
    for bit in range(max(bits)):
        for axis in range(3):
            if bit < bits[axis]:
                code |= (cell[axis] >> bit & 1) << place
                place += 1
    return code


def chunk_name(cell):
    return "scale/" + "_".join(f"{c * EDGE}-{(c + 1) * EDGE}" for c in cell)


def chunk_bytes(cell):
    return voxels()[tuple(slice(c * EDGE, (c + 1) * EDGE) for c in cell)].tobytes("F")


# One chunk of each of four shards (bits 5 to 7 of the ids), and others of the last one: of the same
# minishard (bits 3 and 4) and of another.
SHARDS = [(0, 0, 0), (4, 0, 0), (0, 4, 0), (4, 4, 0)]
SAME_MINISHARD, OTHER_MINISHARD = (5, 4, 0), (6, 4, 0)


class Trips:
    """nginx, and the proxy before it, which notes when each request came and was answered."""

    def __init__(self, root, work):
        self.nginx = Nginx(root, work / "nginx")
        assert wait_until(self.nginx.answers, SECONDS)
        self.process = subprocess.Popen(
            [sys.executable, SERVERS / "fault_proxy", self.nginx.url, work / "proxy"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = self.process.stdout.readline().strip() + "/plain"
        self.log, self.seen = work / "proxy" / "times", 0
        (work / "proxy" / "delay").write_text(str(DELAY))

    def taken(self):
        """[(begun, ended, method, path)] since the last call."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        new, self.seen = lines[self.seen:], len(lines)
        return [(float(begun), float(ended), method, path)
                for begun, ended, method, path in map(str.split, new)]

    def stop(self):
        self.nginx.stop()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def trips(requests):
    """The most requests of which each waited for the one before."""
    count, until = 0, 0.0
    for begun, ended, *_ in sorted(requests, key=lambda request: request[1]):
        if begun >= until:
            count, until = count + 1, ended
    return count


@pytest.fixture(scope="module")
def served(module_work):
    root = module_work / "served"
    root.mkdir()
    write_with_tensorstore(root / "tensorstore")
    write_with_cloudvolume(root / "cloudvolume")
    return root


@pytest.fixture(scope="module")
def server(served, module_work):
    server = Trips(served, module_work)
    yield server
    server.stop()


@pytest.mark.parametrize("writer", ["tensorstore", "cloudvolume"])
def test_the_sources_are_what_their_readers_see(writer, served):
    import tensorstore as ts

    read = ts.open({"driver": "neuroglancer_precomputed",
                    "kvstore": {"driver": "file", "path": f"{served / writer}/"}}).result()
    assert (read[..., 0].read().result() == voxels()).all()


def read(mounted, cell):
    assert (mounted.path / chunk_name(cell)).read_bytes() == chunk_bytes(cell), cell


@pytest.fixture
def costs(server, mount):
    """costs(writer, *options) -> a function: what reading the chunk of a cell costs."""
    def open_mount(writer, *options):
        mounted = mount(f"{server.url}/{writer}", ["ttl=600", "morton=standard", *options])
        assert (mounted.path / "scale").is_dir()
        server.taken()

        def cost(cell):
            read(mounted, cell)
            requests = server.taken()
            assert {method for _, _, method, _ in requests} <= {"GET"}
            return len(requests), trips(requests)
        return cost
    return open_mount


def test_where_indexes_stand_behind_their_chunks_a_cold_chunk_costs_two_trips(costs):
    cost = costs("tensorstore")
    assert cost(SHARDS[0]) == (3, 3), "nothing is known of the writer yet"
    for cell in SHARDS[1:]:
        assert cost(cell) == (2, 2), cell
    assert cost(SAME_MINISHARD) == (0, 0), "it came with the index"
    assert cost(OTHER_MINISHARD) == (1, 1), "the shard index is known"


def test_where_indexes_stand_at_the_end_a_cold_chunk_costs_two_trips(costs):
    cost = costs("cloudvolume")
    assert cost(SHARDS[0]) == (3, 3), "nothing is known of the writer yet"
    for cell in SHARDS[1:]:
        assert cost(cell) == (3, 2), cell
    assert cost(SAME_MINISHARD) == (1, 1)
    assert cost(OTHER_MINISHARD) == (1, 1), "all indexes came together"


def test_what_a_cache_on_the_disk_knows_of_ends_needs_no_request(costs, work, mount, served):
    for path in (served / "cloudvolume" / "scale").iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    options = [f"cache={work / 'cache'}"]
    cost = costs("cloudvolume", *options)
    for cell in SHARDS:
        cost(cell)
    assert wait_until(lambda: len([p for p in (work / "cache").rglob("*") if p.is_file()]) >= 12,
                      SECONDS)
    cost = costs("cloudvolume", *options)
    assert cost(SAME_MINISHARD) == (1, 1)
    assert cost(OTHER_MINISHARD) == (1, 1)


def test_a_missing_shard_answers_for_all_its_chunks(costs, served, server, mount):
    import shutil

    shutil.copytree(served / "tensorstore", served / "sparse")
    for shard in (served / "sparse" / "scale").iterdir():
        if not shard.name.startswith("0"):
            shard.unlink()
    mounted = mount(f"{server.url}/sparse", ["ttl=600", "morton=standard"])
    read(mounted, SHARDS[0])
    server.taken()
    for number in range(4):
        for cell in ((4 + number, 0, 0), (4, number, 0)):
            assert not (mounted.path / chunk_name(cell)).exists()
        # As one object, and in the obsolete form.
        assert len(server.taken()) == (2 if number == 0 else 0), number


def write_zarr(path):
    import zarr

    group = zarr.create_group(path, zarr_format=3)
    for name in ("one", "two"):
        array = group.create_array(name, shape=(64, 64), dtype="u1", chunks=(16, 16),
                                   shards=(32, 32), compressors=None, filters=None, fill_value=0)
        array[...] = voxels()[:64, :64, 0] + 0
    zarr.consolidate_metadata(path)


def test_a_cold_chunk_of_a_zarr_shard_costs_two_trips(server, served, mount):
    write_zarr(served / "zarr")
    mounted = mount(f"{server.url}/zarr", "ttl=600")
    # Usable: what is in it is known without another request.
    mounting = server.taken()
    assert trips(mounting) <= 2, mounting
    assert sorted(os.listdir(mounted.path)) == ["one", "two", "zarr.json"]
    assert (mounted.path / "one").is_dir()
    server.taken()
    for folder in ("0", "1", "2", "3"):
        assert (mounted.path / "one" / "c" / folder).is_dir()
    server.taken()
    for (row, column), expected in (((0, 0), 2), ((0, 1), 1), ((3, 3), 2), ((2, 2), 1)):
        path = mounted.path / "one" / "c" / str(row) / str(column)
        part = voxels()[row * 16:row * 16 + 16, column * 16:column * 16 + 16, 0]
        assert path.read_bytes() == part.tobytes()
        requests = server.taken()
        assert (len(requests), trips(requests)) == (expected, expected), (row, column, requests)


# The rule of chunk ids is looked for in some shards where the grid has an extent of a power of two, but
# not before a chunk is read of which the rules differ.
@pytest.mark.parametrize("options", ["morton=standard", ""])
@pytest.mark.parametrize("writer", ["tensorstore", "cloudvolume"])
def test_a_mount_of_a_volume_is_usable_after_few_trips(writer, options, server, mount):
    server.taken()
    mounted = mount(f"{server.url}/{writer}", options)
    assert sorted(os.listdir(mounted.path)) == ["info", "scale"]
    assert json.loads((mounted.path / "info").read_text())["scales"][0]["key"] == "scale"
    requests = server.taken()
    assert 1 <= trips(requests) <= 2, requests
    assert not [each for each in requests if ".shard" in each[3]], requests


def test_memory_stays_within_the_cap_while_all_is_read(server, mount):
    mounted = mount(f"{server.nginx.url}/plain/tensorstore", "memory=64M")
    subprocess.run(["cp", "-r", mounted.path / "scale", mounted.path.parent / "copy"], check=True)
    readers = [subprocess.Popen(["sh", "-c", f"find {mounted.path}/scale -type f | shuf | xargs cat"],
                                stdout=subprocess.DEVNULL) for _ in range(8)]
    assert all(reader.wait() == 0 for reader in readers)
    status = pathlib.Path(f"/proc/{daemon_of(mounted)}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    # The program itself, its libraries and threads, and the cap.
    assert peak <= (64 + 48) << 20, peak
