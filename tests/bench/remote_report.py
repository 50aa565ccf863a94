"""The tables of reading from servers: speed relative to curl, requests, memory, targets."""

import statistics

RANDOM_TARGET = 0.9  # of the speed of curl with as many requests at a time
COPY_TARGETS = {"curl": 0.8, "rclone": 5, "s3fs": 5, "tensorstore": 1}  # of the speed of each


def speed(samples, name, base):
    """How many times as fast as another a contestant is, round by round."""
    ratios = sorted(samples[base][number]["seconds"] / sample["seconds"]
                    for number, sample in samples[name].items() if number in samples[base])
    return {"median": statistics.median(ratios), "low": ratios[0], "high": ratios[-1],
            "rounds": len(ratios)}


def per_chunk(each, key, unit):
    """Median over samples of the requests, or bytes asked for, relative to what the chunks have."""
    return statistics.median(sample["requests"][key] / unit(sample) for sample in each.values())


def mounting(samples):
    """What a mount has cost before the first read, which its speed does not show, and its memory."""
    return {"requests": statistics.median(each["mounting_requests"]["count"] for each in samples),
            "seconds": statistics.median(each["mount_seconds"] for each in samples),
            "peak_kb": max(each["memory"]["VmHWM"] for each in samples)}


def row(dataset, workload, samples, with_targets):
    grid, edge = dataset.make.grid, dataset.make.edge
    chunks_of = lambda sample: sample.get("chunks", grid[0] * grid[1] * grid[2])  # noqa: E731
    curl = statistics.median(
        chunks_of(sample) / sample["seconds"] for sample in samples["curl"].values())
    result = {"dataset": dataset.name, "workload": workload.title, "name": workload.name,
              "curl_chunks_per_second": curl, "curl_mib_per_second": curl * edge ** 3 / 2 ** 20,
              "speed": {name: speed(samples, name, "curl") for name in samples if name != "curl"},
              "requests": {name: per_chunk(each, "count", chunks_of)
                           for name, each in samples.items()},
              "asked": {name: per_chunk(each, "bytes", lambda s: chunks_of(s) * edge ** 3)
                        for name, each in samples.items()},
              "mounts": {name: mounting(each.values()) for name, each in samples.items()
                         if all(sample.get("memory") for sample in each.values())}}
    if with_targets:
        goals = {"curl": RANDOM_TARGET} if workload.readers else COPY_TARGETS
        result["targets"] = [
            {"of": own, "to": name, "ratio": ratio, "reached": speed(samples, own, name)["median"]}
            for own in ("unshard", "unshard copy") if own in samples
            for name, ratio in goals.items() if name in samples]
    return result


def show_header(dataset, server, way, names):
    make = dataset.make
    chunks = make.grid[0] * make.grid[1] * make.grid[2]
    heads = "".join(f"  {name:>{width(name)}}" for name in names[1:])
    return (f"\n{make.format}, {chunks} chunks of {make.edge ** 3 // 1024} KiB in "
            f"{dataset.shard_count} shards, {server}, {way}; times the speed of curl, "
            f"higher is better\n{'':<12}{'curl':>20}{heads}  targets of unshard")


def show_row(one, names):
    curl = f"{one['curl_chunks_per_second']:.0f}/s {one['curl_mib_per_second']:.0f} MiB/s"
    cells = [f"{one['name']:<12}{curl:>20}"]
    for name in names[1:]:
        value = one["speed"].get(name)
        text = show(value["median"]) if value else "-"
        if name == "unshard" and value:
            text += f" ({show(value['low'])}-{show(value['high'])})"
        cells.append(f"{text:>{width(name)}}")
    for goal in one.get("targets", []):
        verdict = "met" if goal["reached"] >= goal["ratio"] else "MISSED"
        own = "" if goal["of"] == "unshard" else f"{goal['of']} "
        cells.append(f"{own}>= {goal['ratio']:g} × {goal['to']}: {show(goal['reached'])} {verdict}")
    return "  ".join(cells) + "\n" + show_costs(one)


def show_costs(one):
    asked = {name: f" ({show(size)} × bytes)" if size else "" for name, size in one["asked"].items()}
    counts = ", ".join(f"{name} {show(count)}{asked[name]}"
                       for name, count in one["requests"].items())
    mounts = ", ".join(f"{name} {each['requests']:.0f} requests in {each['seconds']:.2f} s, then peak "
                       f"RSS {each['peak_kb'] / 1024:.0f} MiB" for name, each in one["mounts"].items())
    return f"{'':<14}requests a chunk: {counts}" + (f"\n{'':<14}mounting: {mounts}" if mounts else "")


def show(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def width(name):
    return 18 if name == "unshard" else max(11, len(name))
