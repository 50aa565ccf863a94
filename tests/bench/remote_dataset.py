"""What a client that knows everything beforehand asks for: the ranges of chunks, and whole shards."""

import numpy

from dataset import page_size


def path_of(dataset, part):
    """Of `part`, "sharded" or "plain", below the folder of all datasets."""
    return f"{dataset.name}/{part}"


def write_lists(dataset, work):
    """Sets `dataset.ranges` and `dataset.shards`, files with a line for each range and each shard, in
    the order of `dataset.list`: name, path below the dataset, offset, size (0: all)."""
    lines = [line.split("\t") for line in dataset.list.read_text().splitlines()]
    pages = {}
    ranges, shards = [], {}
    for name, shard, minishard, number in lines:
        if (shard, minishard) not in pages:
            pages[shard, minishard] = read_page(dataset.make, shard, int(minishard))
        offset, size = pages[shard, minishard][int(number)]
        path = shard.removeprefix(f"{dataset.sharded}/")
        ranges.append(f"{name}\t{path}\t{offset}\t{size}\n")
        shards[path] = f"{path}\t{path}\t0\t0\n"
    dataset.ranges = work / f"{dataset.name}-ranges.tsv"
    dataset.shards = work / f"{dataset.name}-shards.tsv"
    dataset.ranges.write_text("".join(ranges))
    dataset.shards.write_text("".join(shards.values()))
    dataset.shard_count = len(shards)


def read_page(make, shard, minishard):
    """{chunk: (offset, size)}, of a whole Zarr shard or of a minishard whose index is raw."""
    data = numpy.memmap(shard, numpy.uint8, "r")
    count = page_size(make)
    if make.format == "zarr":
        pairs = data[-16 * count - 4:-4].view("<u8").reshape(count, 2)
        return {number: tuple(map(int, pair)) for number, pair in enumerate(pairs)}
    begin, end = data[16 * minishard:16 * minishard + 16].view("<u8") + numpy.uint64(16 * count)
    ids, gaps, sizes = data[begin:end].view("<u8").reshape(3, -1)
    ends = numpy.cumsum(gaps + sizes) + numpy.uint64(16 * count)
    return {int(number): (int(stop - size), int(size))
            for number, stop, size in zip(numpy.cumsum(ids), ends, sizes)}
