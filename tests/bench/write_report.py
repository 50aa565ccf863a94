"""The tables of writing: rows of figures, targets, and what has to be said about them."""

import statistics

COPY_TARGET = 1.5  # to cp -r and sync -f
DURABLE_TARGET = 2.0  # to write and fsync of a file
PUBLISHED_TARGETS = {"replace, published": 1.2, "replace, on xfs": 2.0}
WRITTEN_TARGET = 2.2  # to the bytes of the chunks
AMPLIFICATION_TARGET = 1.1
RATE_TARGET = 10.0  # to TensorStore
MEMORY_TARGET_KB = 512 * 1024


def spread(values):
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def ratios(samples, key, name, base):
    """Of a contestant to another, round by round."""
    return spread([mine[key] / other[key] for mine, other in zip(samples[name], samples[base])])


def row(measure, unit, values, goal=None):
    """`goal`: (limit, whether it is the most, the figure that is to keep to it)."""
    result = {"measure": measure, "unit": unit, "values": values}
    if goal:
        limit, most, reached = goal
        result["target"] = {"limit": limit, "most": most, "reached": reached,
                            "met": reached <= limit if most else reached >= limit}
    return result


def having(samples, key):
    return [name for name, each in samples.items() if all(key in sample for sample in each)]


def time_rows(samples, limit, base="plain"):
    """Seconds of plain, and everybody's ratio to it."""
    values = {name: ratios(samples, "seconds", name, base) for name in samples if name != base}
    values[base] = spread([sample["seconds"] * 1000 for sample in samples[base]])
    goal = (limit, True, values["unshard"]["median"]) if "unshard" in values else None
    return [row("time", "ratio", values, goal)]


def memory_rows(samples):
    values = {name: {"median": max(sample["memory"]["VmHWM"] for sample in samples[name]) / 1024}
              for name in having(samples, "memory")}
    goal = ((MEMORY_TARGET_KB / 1024, True, values["unshard"]["median"])
            if "unshard" in values else None)
    return [row("peak RSS", "MiB", values, goal)]


def copy_rows(samples, volume):
    """Time, bytes and requests of copying in."""
    written = {name: spread([sample["written"] / volume.bytes for sample in samples[name]])
               for name in having(samples, "written")}
    published = {name: spread([sample["published"] / volume.bytes for sample in samples[name]])
                 for name in having(samples, "published")}
    requests = {name: spread([sum(sample["requests"].values()) / volume.chunks
                              for sample in samples[name]])
                for name in having(samples, "requests")}
    rows = time_rows(samples, COPY_TARGET)
    for measure, values, limit in (("written", written, WRITTEN_TARGET),
                                   ("published", published, AMPLIFICATION_TARGET)):
        goal = (limit, True, values["unshard"]["median"]) if "unshard" in values else None
        rows.append(row(measure, "× data", values, goal))
    return rows + [row("requests", "/chunk", requests), *memory_rows(samples)]


def replace_rows(samples, title):
    limit = PUBLISHED_TARGETS.get(title, DURABLE_TARGET)
    return time_rows(samples, limit) + memory_rows(samples)


def race_rows(samples):
    """Acknowledged writes per second, and what was lost of them."""
    rates = {name: spread([sample["rate"] for sample in each]) for name, each in samples.items()}
    rows = [row("writes", "/s", rates)]
    if "tensorstore" in samples:
        relative = {name: ratios(samples, "rate", name, "tensorstore") for name in samples}
        goal = ((RATE_TARGET, False, relative["unshard"]["median"])
                if "unshard" in samples else None)
        rows.append(row("writes", "× tensorstore", relative, goal))
    lost = {name: {"median": 100 * sum(sample["lost"] for sample in samples[name]) /
                   max(1, sum(sample["checked"] for sample in samples[name]))}
            for name in having(samples, "lost")}
    refused = {name: {"median": sum(sample["refused"] for sample in each)}
               for name, each in samples.items()}
    flush = {name: spread([sample["flush_seconds"] for sample in samples[name]])
             for name in having(samples, "flush_seconds")}
    goal = (0, True, lost["unshard"]["median"]) if "unshard" in lost else None
    return [*rows, row("lost", "%", lost, goal), row("refused", "writes", refused),
            row("flush after", "s", flush), *memory_rows(samples)]


def show_number(value):
    return f"{value:.0f}" if abs(value) >= 100 or value == 0 else f"{value:.3g}"


def show_header(volume, title, samples):
    names = list(samples)
    heads = "  ".join(f"{name:>{width(name)}}" for name in names)
    return (f"\nwriting {volume.form}: {title}; {volume.shards} × "
            f"{volume.bytes // volume.shards / 2 ** 20:.4g} MiB shards, chunks of 64 KiB\n"
            f"{'':<18}{heads}  target of unshard")


def show_row(one, names):
    label = f"{one['measure']} {'' if one['unit'] == 'ratio' else one['unit']}"
    cells = [f"{label:<16}"]
    for name in names:
        value = one["values"].get(name)
        text = "-" if value is None else show_number(value["median"])
        if one["unit"] == "ratio" and name == "plain":
            text = f"{value['median']:.1f} ms"
        elif value and name == "unshard" and "low" in value:
            text += f" ({show_number(value['low'])}-{show_number(value['high'])})"
        cells.append(f"{text:>{width(name)}}")
    goal = one.get("target")
    if goal:
        sign = "<=" if goal["most"] else ">="
        cells.append(f"{sign} {goal['limit']:g} {'met' if goal['met'] else 'MISSED'}")
    return "  ".join(cells).rstrip()


def width(name):
    return 20 if name == "unshard" else max(11, len(name))


def remarks(samples):
    """What a reader has to know about single figures."""
    for name, each in samples.items():
        counts = {sample["estimated_from"] for sample in each if "estimated_from" in sample}
        for count in sorted(counts):
            yield (f"{name}: estimated from {count} chunks written one by one into a shard that is "
                   f"half full, as it is on average")
    for name in having(samples, "requests"):
        counts = samples[name][-1]["requests"]
        if "copying" in samples[name][-1]:
            share = statistics.median(sample["copying"] / sample["seconds"] for sample in samples[name])
            yield f"{name}: {100 * share:.0f} % of the time is cp, the rest flush; requests: " + \
                ", ".join(f"{operation} {count}" for operation, count in counts.items())
