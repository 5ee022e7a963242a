"""The sections of lcs-filter, mems and of several devices."""

from __future__ import annotations

from typing import Any

from report_results import Result, Results
from report_text import copies_hidden, number, table

# -- lcs-filter


def common_subsequences(results: Results) -> str:
    parts = ["## lcs-filter\n"]
    if found := results.first("lcs-kernel"):
        parts.append("### After Ozsoy et al. (2013), Figs. 8 to 10: by alphabet and by length\n")
        parts.append("![lcs-filter](figures/lcs.svg)\n")
        rows = [
            (row["case"], row["formulation"], row["shape"], row["kernel_ms"], row["tcups"])
            for row in found.figures["rows"]
        ]
        parts.append(
            table(("work", "update", "words × threads, block", "kernel ms", "TCUPS"), rows) + "\n" + found.source + "\n"
        )
    if found := results.first("lcs-command"):
        rows = [
            (row["case"], row["wall_s"], number(row["report"]["devices"][0]["kernel_s"]))
            for row in found.figures["rows"]
        ]
        hidden = copies_hidden(found.figures["rows"][0]["report"]["devices"][0]).strip()
        parts.append(f"{table(('whole command', 's', 'kernel s'), rows)}\n{hidden} {found.source}\n")
    if results.first("lcs-cpu") or results.first("lcs-paths"):
        parts.append("### Beside RapidFuzz, and the subsequences themselves\n")
    if found := results.first("lcs-cpu"):
        rows = [
            (row["case"], row["crochemore_gcups"], row["allison-dix_gcups"], row["rapidfuzz_gcups"], row["ratio"])
            for row in found.figures["rows"]
        ]
        parts.append(
            table(("on the CPU", "Crochemore, GCUPS", "Allison-Dix, GCUPS", "RapidFuzz, GCUPS", "ratio"), rows)
            + "\n"
            + found.source
            + "\n"
        )
    if found := results.first("lcs-paths"):
        for row in found.figures["rows"]:
            if "threads" in row:
                parts.append(f"{row['case']}: {1000 * row['s']:.1f} ms on {row['threads']} threads.")
            else:
                parts.append(
                    f"On the GPU {1000 * row['kernel_s']:.2f} ms in the kernel, "
                    f"{1000 * row['kernel_s'] / row['scoring_kernel_ms']:.2%} of the "
                    f"{row['scoring_kernel_ms']:.1f} ms in which it scores the 720,000 subjects; with the host's part "
                    f"{1000 * row['s']:.2f} ms, {row['share_of_scoring']:.2%} (in a process's first call "
                    f"{1000 * row['first_s']:.1f} ms)."
                )
        parts.append(found.source + "\n")
    parts.append("Not here: several GPUs, and the number of subjects as an axis.\n")
    return "\n".join(parts)


# -- mems


def exact_matches(results: Results) -> str:
    parts = [
        "## mems\n\n### After Trapnell and Schatz (2009), Table 2\n",
        "ssuis, lmono, hsill and cbrigg are its workloads.\n",
        "![mems](figures/mems.svg)\n",
        *(_beside_mummer(found) for found in results.all("mems")),
        *(_on_devices(found) for found in results.all("mems-devices")),
        *_unique(results),
    ]
    if found := results.first("mems-layouts"):
        parts.append(_layouts(found, results.first("mems-profile")))
    parts.append("Not here: MUMmer at the paper's full numbers of reads.\n")
    return "\n".join(parts)


def _unique(results: Results) -> list[str]:
    tables = [
        *(_beside_mummer(found) for found in results.all("mems-unique")),
        *(_on_devices(found) for found in results.all("mems-unique-devices")),
    ]
    return ["### Unique matches at small lengths\n", *tables] if tables else []


def _beside_mummer(found: Result) -> str:
    names = ("workload", "reads", "MUMmer s", "gpualign s", "ratio", "ratio of CPU time", "MUMmer MiB", "gpualign MiB")
    rows = [
        (
            row["workload"],
            number(row["reads"]) if row["reads"] else "–",
            number(row["mummer"]["wall_s"]),
            number(row["cpu"]["wall_s"]),
            row["speed_up"],
            number(row["mummer"]["cpu_s"] / row["cpu"]["cpu_s"]),
            number(row["mummer"]["peak_mib"]),
            number(row["cpu"]["peak_mib"]),
            "yes" if row.get("equal_sets") else "no" if "equal_sets" in row else "–",
        )
        for row in found.figures["workloads"]
    ]
    return (
        f"Beside MUMmer {found.figures['mummer']}, {found.figures['threads']} threads, whole commands:\n\n"
        f"{table((*names, 'same matches'), rows)}\n"
        f"Of gpualign's memory {found.figures['interpreter_mib']} MiB are the interpreter with click and NumPy. "
        f"{found.source}\n"
    )


def _on_devices(found: Result) -> str:
    cores = f"CPU, {found.figures['threads']} threads, s"
    rows = [
        (
            row["workload"],
            number(row["reads"]) if row["reads"] else "–",
            number(row["cpu"]["wall_s"]),
            number(row["cuda"]["wall_s"]),
            number(row["cpu"].get("search_s")),
            number(row["cuda"].get("kernel_s")),
        )
        for row in found.figures["workloads"]
    ]
    header = ("at full size", "reads", cores, "GPU command s", "CPU, the search alone s", "GPU kernel s")
    return f"{table(header, rows)}\n{found.source}\n"


def _layouts(found: Result, profile: Result | None) -> str:
    names = [key for key in found.figures[0] if key != "layout"]

    def milliseconds(cell: dict[str, Any]) -> float:
        return cell["kernel_ms"] if "kernel_ms" in cell else cell["wall_ms"]

    rows = [(row["layout"], *(f"{milliseconds(row[name]):.2f}" for name in names)) for row in found.figures]
    text = (
        "### Placements of the data\n\n"
        "MUMmerGPU studied placements of the tree, the queries and the reference in the memories of its day; these are "
        "the choices of today, one changed at a time, in milliseconds of all kernels ([mems.md](mems.md) draws the "
        "conclusions):\n\n"
        f"{table(('layout', *names), rows)}\n{found.source}\n"
    )
    if profile:
        row = profile.figures
        text += (
            f"\nThe profiler on {row['workload']}, of an earlier count: "
            f"{row['dram_throughput_percent']:.1f} % of the memory's bandwidth, "
            f"{row['l2_hit_percent']:.0f} % hits in the second-level cache, "
            f"{row['compute_throughput_percent']:.0f} % of the arithmetic limit, "
            f"{row['active_threads_per_warp']:.0f} of 32 lanes active on average. {profile.source}\n"
        )
    return text


# -- more than one device


def several(results: Results) -> str:
    devices = results.each("devices-pairwise", "devices-lcs-filter", "devices-verify")
    cluster = results.first("cluster")
    parts = [
        _side_by_side(devices) if devices else "`devices`: no result yet.\n",
        _on_clusters(cluster) if cluster else "`cluster`: no result yet.\n",
    ]
    return "## Several devices and machines\n\n" + "\n".join(parts)


def _side_by_side(each: list[Result]) -> str:
    rows = [
        (
            found.figures["command"],
            case,
            row["wall_s"],
            row["speed_to_one"],
            row["kernel_s"],
            row["kernel_speed_to_one"],
            row["reports"][-1]["cpu_batches"],
            "yes" if row["same_bytes"] else "no",
        )
        for found in each
        for case, row in found.figures["cases"].items()
    ]
    header = (
        "command",
        "on",
        "s",
        "speed to one GPU",
        "s of kernels, busiest GPU",
        "speed of kernels to one GPU",
        "batches by the cores",
        "same bytes",
    )
    return f"{table(header, rows)}\n{' '.join(found.source for found in each)}\n"


def _on_clusters(found: Result) -> str:
    """What a cluster costs, and without what it costs to start."""
    commands, rows = found.figures["commands"], []
    start = {case: row["cpu_s"] - commands["start"]["no cluster"]["cpu_s"] for case, row in commands["start"].items()}
    for command, cases in commands.items():
        for case, row in cases.items():
            beyond = (row["cpu_s"] - start[case]) / cases["no cluster"]["cpu_s"]
            same = "yes" if row["same_bytes"] else "no"
            speed, cost = row["speed_to_no_cluster"], row["cpu_to_no_cluster"]
            rows.append((command, case, row["wall_s"], row["cpu_s"], speed, cost, number(beyond), same))
    header = (
        "command",
        "on",
        "s",
        "s of CPU",
        "speed to no cluster",
        "CPU time to it",
        "without the start",
        "same bytes",
    )
    text = "`start` has nothing to do; what it costs is taken off in the last ratio."
    return f"{table(header, rows)}\n{text} {found.source}\n"
