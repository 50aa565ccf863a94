"""Ratios, targets and the table."""

import statistics

# Ratios to plain files unless said otherwise; small: chunks of 32 KiB, large: 256 KiB.
LISTING_TARGET = 0.8
WARM_TARGET = 1.2
COLD_TARGETS = {"random 1 thread": (1.3, 1.4), "random 4 threads": (1.7, 1.8), "cp -r": (1.4, 1.3)}
COLD_GZIP_TARGET = (1.3, 1.2)  # relative to the bare program
WRITABLE_TARGET = 0.6  # of a mount that could be written to, relative to passthrough
MEMORY_TARGET_KB = 16 * 1024


def targets(make, workload):
    """[(who, ratio, relative to whom)] that should be reached."""
    goal = target(make, workload)
    result = [("unshard", *goal)] if goal else []
    if not workload.cold and workload.command is None:
        result.append(("writable", WRITABLE_TARGET, "passthrough"))
    return result


def target(make, workload):
    """(ratio, relative to whom) that a read-only mount should reach, or None where none is set."""
    large = make.edge ** 3 > 32 * 1024
    if workload.name in ("find", "ls -f", "ls -l"):
        return LISTING_TARGET, "plain"
    if not workload.cold:
        return (WARM_TARGET, "plain") if workload.command is None else None
    if make.format == "precomputed" and make.encoding == "gzip":  # the only chunks that we inflate
        return (COLD_GZIP_TARGET[large], "bare") if workload.command is None else None
    return COLD_TARGETS[workload.name][large], "plain"


def measures(workload):
    """[(heading, key of the sample)] of the rows of a workload."""
    if workload.command is not None:
        return [("", "seconds")]
    return [("p50", "p50_us"), ("p99", "p99_us"), ("all", "seconds")]


def compare(samples, key, name, base):
    """Median, lowest and highest of the ratios of a contestant to another, round by round."""
    ratios = sorted(mine[key] / other[key] for mine, other in zip(samples[name], samples[base]))
    return {"median": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}


def rows(dataset, workload, samples, with_targets):
    """One dict per row of the table."""
    result = []
    for heading, key in measures(workload):
        row = {"dataset": dataset.name, "workload": workload.title, "measure": heading or "time",
               "plain": statistics.median(sample[key] for sample in samples["plain"]),
               "unit": "us" if key.endswith("_us") else "s",
               "ratios": {name: compare(samples, key, name, "plain")
                          for name in samples if name != "plain"}}
        row["targets"] = [judge(samples, key, *goal) for goal in targets(dataset.make, workload)
                          if with_targets and key != "p99_us" and goal[0] in samples
                          and goal[2] in samples]
        result.append(row)
    return result


def judge(samples, key, who, ratio, base):
    reached = compare(samples, key, who, base)
    return {"of": who, "ratio": ratio, "to": base, "reached": reached,
            "met": reached["median"] <= ratio}


def show_value(row):
    value = row["plain"]
    return f"{value:.0f} µs" if row["unit"] == "us" else f"{value * 1000:.1f} ms"


def show_row(row, names):
    cells = [f"{row['workload']:<21}", f"{row['measure']:<4}", f"{show_value(row):>10}"]
    for name in names:
        ratio = row["ratios"].get(name)
        text = "-" if ratio is None else f"{ratio['median']:.2f}"
        if ratio and name == "unshard":
            text += f" ({ratio['low']:.2f}-{ratio['high']:.2f})"
        cells.append(f"{text:>{width(name)}}")
    for goal in row["targets"]:
        who = "" if goal["of"] == "unshard" else f"{goal['of']} "
        against = "" if goal["to"] == "plain" else f" of {goal['to']}: {goal['reached']['median']:.2f}"
        cells.append(f"{who}<= {goal['ratio']}{against} {'met' if goal['met'] else 'MISSED'}")
    return "  ".join(cells).rstrip()


def width(name):
    return 18 if name == "unshard" else max(11, len(name))


def show_header(dataset, names):
    make = dataset.make
    chunks = make.grid[0] * make.grid[1] * make.grid[2]
    cells = [f"{'workload':<21}", f"{'':<4}", f"{'plain':>10}",
             *(f"{name:>{width(name)}}" for name in names), "targets, of unshard unless named"]
    return (f"\n{make.format}, {make.encoding}, {chunks} chunks of {make.edge ** 3 // 1024} KiB; "
            f"ratios to plain files, lower is better\n" + "  ".join(cells))


def memory(samples, name="unshard"):
    """Highest resident memory of a daemon over samples, in kB."""
    values = [sample["memory"]["VmHWM"] for sample in samples.get(name, []) if sample.get("memory")]
    return max(values, default=None)
