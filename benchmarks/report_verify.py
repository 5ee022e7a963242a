"""The section of docs/benchmarks.md on verify."""

from __future__ import annotations

from report_results import Result, Results
from report_text import copies_hidden, number, table


def verification(results: Results) -> str:
    """The section of verify."""
    kernels = results.first("verify-kernels")
    parts = ["## verify\n"]
    if kernels:
        parts.append(_verify_kernels(kernels))
    if found := results.first("verify-counters"):
        parts.append(_verify_counters(found))
    if found := results.first("verify-streams"):
        parts.append(_verify_streams(found))
    if found := results.first("verify"):
        rows = [
            (
                f"{row['query']} × {row['window']}, limit {row['limit']}",
                *(number(row[key]) for key in ("gpualign_pairs_per_s", "edlib_pairs_per_s")),
                row["ratio"],
            )
            for row in found.figures["core"]
        ]
        parts.append("### After Chacón et al., Fig. 8: beside the CPU\n\n![beside the CPU](figures/verify-peers.svg)\n")
        parts.append("One core beside edlib, 20 candidates a query (starts included in ours):\n")
        parts.append(table(("query × window", "gpualign, pairs/s", "edlib, pairs/s", "ratio"), rows))
        whole = ", ".join(f"{row['wall_s']:.1f} s with `--device {row['device']}`" for row in found.figures["command"])
        cells = found.figures["command"][0]["report"]
        parts.append(
            f"The whole command, {number(cells['candidates'])} candidates, TSV in and out: {whole}. Text takes the "
            "time, not the kernels: a GPU pays where queries are long or the pairs are made in memory."
            f"{copies_hidden(cells['devices'][0])}\n"
        )
        parts.append(found.source + "\n")
    if found := results.first("gpu-peers"):
        parts.append(gpu_peers(found, "edit distances"))
    if found := results.first("verification"):
        rows = [
            (
                kind,
                number(row["pairs_per_s"]["gpualign"]),
                *(
                    row["ratio_to"][key]
                    for key in ("edlib", "edlib_without_calls", "edlib_locations", "edlib_locations_without_calls")
                ),
            )
            for kind, row in (("near", found.figures["near"]), ("random", found.figures["random"]))
        ]
        parts.append("### One thread beside edlib\n")
        parts.append(
            "The loop on one thread, 100 × 140 within 20 errors, as ratios to edlib (its cost of a call taken off):\n"
        )
        parts.append(table(("windows", "pairs/s", "distance", "(no calls)", "with starts", "(no calls)"), rows))
        parts.append(found.source + "\n")
    parts.append("Not here: GPUs other than the one named.\n")
    return "\n".join(parts)


def _verify_counters(found: Result) -> str:
    rows = [
        (row["query"], row["lanes"], row["words"], row["instructions_per_cell"], f"{row['achieved_occupancy']:.0%}")
        for row in found.figures
    ]
    return (
        "Instructions of a thread a cell, and warps at work as a share of the most, by Nsight Compute:\n\n"
        + table(("query", "lanes a pair", "words a lane", "instructions a cell", "achieved occupancy"), rows)
        + "\n"
        + found.source
        + "\n"
    )


def _verify_streams(found: Result) -> str:
    rows = [
        (row["query"], number(row["pairs"]), row["kernel_s"], row["copy_s"], f"{row['copies_hidden']:.1%}")
        for row in found.figures
    ]
    return (
        "Batches one after the other, and the seconds of copying that cost no time, because a kernel ran or the host "
        "had work of its own:\n\n"
        + table(("query", "pairs", "kernel s", "copy s", "copies hidden"), rows)
        + "\n"
        + found.source
        + "\n"
    )


def gpu_peers(found: Result, work: str) -> str:
    """A GPU beside StringZillas, in one kind of ``work``."""
    rows = [
        (
            row["length"],
            number(row["pairs"]),
            *(row[f"{name}_tcups"] for name in ("gpualign", "stringzillas", "gpualign_kernel")),
            "yes" if row["equal"] else "no",
        )
        for row in found.figures["rows"]
        if row["work"] == work
    ]
    header = ("length", "pairs", "gpualign, TCUPS", "StringZillas, TCUPS", "gpualign's kernels alone, TCUPS", "equal")
    return (
        f"### Beside StringZillas {found.machine.get('stringzillas-cuda', '')} on the same GPU: {work}\n\n"
        "n × n numbers from sequences in memory to memory, one call, so that nothing overlaps; gpualign is given every "
        "pair by itself, and short ones cost more to hand over than to compute. The kernels are the mean of all calls, "
        f"the first and slowest included.\n\n{table(header, rows)}\n{found.source}\n"
    )


def _verify_kernels(found: Result) -> str:
    figures = found.figures
    full = [row for row in figures["rows"] if row["label"] == "full columns"]
    limited = {row["query"]: row for row in figures["rows"] if row["label"] != "full columns"}
    rows = [
        (
            f"{row['query']} × {row['window']}",
            row["tcups"],
            number(row["gpairs_per_s"]),
            f"{row['lanes']} × {row['words']}",
            number(limited[row["query"]]["gpairs_per_s"]),
        )
        for row in full
    ]
    bands = [
        (
            f"{row['query']} × {row['window']}",
            row["limit"],
            f"{row['true_share']:.0%}",
            number(row["gpairs_per_s"]),
            row["full_over_band"],
        )
        for row in figures["band"]
    ]
    return "\n".join(
        (
            "### After Chacón et al. (2014), Fig. 4: threads that share a pair\n",
            "![threads a pair](figures/verify-threads.svg)\n",
            "Right: the share of a multiprocessor's warps that the kernel's registers leave room for.\n",
            "### After Chacón et al., Fig. 7: by query length\n",
            "![by query length](figures/verify-lengths.svg)\n",
            "Whole matrices (no limit), and the same pairs within 20 % of errors:\n",
            table(("query × window", "TCUPS", "10⁹ pairs/s", "threads × words", "10⁹ pairs/s, limit 20 %"), rows),
            "The band's kernel, limit 5 %, beside whole matrices of the same pairs:\n",
            table(("query × window", "limit", "true candidates", "10⁹ pairs/s", "× whole matrices"), bands),
            f"Of {number(figures['sample']['pairs'])} sampled pairs {figures['sample']['different']} differ from "
            f"edlib. {found.source}\n",
        )
    )
