"""The sections of docs/benchmarks.md, and those of the aligning commands: every number out of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from report_map import mapping
from report_results import Result, Results
from report_searches import common_subsequences, exact_matches, several
from report_text import dicts, number, table
from report_verify import gpu_peers, verification

# -- pairwise


def alignment(results: Results) -> str:
    parts = ["## pairwise\n"]
    if found := results.first("pairwise-gpu"):
        rows = [
            (
                name,
                number(row["pairs"]),
                number(row["pairs_per_s"], 3) if row["pairs_per_s"] else "–",
                number(row["tcups"]),
                row["kernel_s"],
                row["wall_s"],
                row["peak_vram_mb"],
            )
            for name, row in dicts(found.figures)
        ]
        parts.append("### After Truong et al. (2014), Table 4: pairs a second\n")
        parts.append(table(("work", "pairs", "pairs/s", "TCUPS", "kernel s", "command s", "GPU MiB"), rows))
        parts.append(
            f"With `--id` the cells are those of all pairs, most of which the filter proves hopeless. {found.source}\n"
        )
    if found := results.first("pairwise-genomes"):
        parts.append(_genomes(found))
    if found := results.first("pairwise-modes"):
        rows = [
            (
                name,
                number(row["pairs"]),
                row["tcups"],
                row["kernel_s"],
                row["cuda_wall_s"],
                row["cpu_wall_s"],
                "yes" if row["equal_bytes"] else "no",
            )
            for name, row in dicts(found.figures)
        ]
        columns = ("scores of other modes", "pairs", "TCUPS", "kernel s", "GPU command s", "all cores, s", "same bytes")
        parts.append(table(columns, rows))
        parts.append(f"{found.source}\n")
    if found := results.first("gpu-peers"):
        parts.append(gpu_peers(found, "Needleman-Wunsch scores, linear gaps"))
    if each := results.each("pairwise-regimes", "pairwise-long-regimes"):
        parts.append(_regimes(each))
    if results.first("pairwise-cpu") or results.first("pairwise-vsearch"):
        parts.append("### Beside parasail and vsearch\n")
    if found := results.first("pairwise-cpu"):
        rows = [
            (name, row["gcups"], max(row["parasail_gcups"].values()), row["times_parasail"])
            for name, row in dicts(found.figures)
        ]
        parts.append(table(("on the CPU", "GCUPS", "parasail's best, GCUPS", "ratio"), rows))
        parts.append(f"{found.figures['workers']} threads beside as many processes. {found.source}\n")
    if found := results.first("pairwise-core"):
        rows = [
            (
                f"{row['mode']}, {row['gaps']}",
                row["of"],
                number(row["letters"]),
                row["wall_s"],
                number(row["gcups"]),
                number(max(peers.values())) if (peers := row.get("parasail_gcups")) else "–",
            )
            for row in found.figures
        ]
        parts.append("One long pair on one core, as a whole command:\n")
        parts.append(table(("mode", "of", "letters each", "s", "GCUPS", "parasail's best, GCUPS"), rows))
        parts.append(f"{found.source}\n")
    for name in ("pairwise-vsearch", "pairwise-windows"):
        if not (found := results.first(name)):
            continue
        row = found.figures
        parts.append(
            f"Beside `vsearch --allpairs_global` ({row['file']}): {number(row['scores_equal'])} of "
            f"{number(row['pairs'])} scores are equal, {number(row['identities_equal'])} identities; the others have "
            f"several optimal alignments{_of_similar(row)}. {row['wall_s']:.1f} s and"
            f" {row['vsearch_wall_s']:.1f} s. {found.source}\n"
        )
    parts.append(
        "Not here: several nodes, and the paper's own GPUs."
        + ("" if results.first("devices-pairwise") else " Several GPUs of one machine: no result yet.")
        + "\n"
    )
    return "\n".join(parts)


def _genomes(found: Result) -> str:
    rows = [
        (
            name,
            " × ".join(number(letters) for letters in row["letters"]),
            row["tcups"],
            row["kernel_s"],
            row["wall_s"],
            row["peak_vram_mb"],
            number(row["score"]),
            number(row["runs"]) if "runs" in row else "–",
        )
        for name, row in dicts(found.figures)
    ]
    columns = ("one pair", "letters", "TCUPS", "kernel s", "command s", "GPU MiB", "score", "runs of the path")
    return f"{table(columns, rows)}\nThe paths' own scores are the same. {found.source}\n"


def _regimes(each: list[Result]) -> str:
    """Milliseconds of each kernel where it ran, and how far the planner's choice is from the best."""
    kernels = ("lazy", "tiled", "rscan", "dscan", "auto")
    rows = [
        (
            number(row["length"]),
            number(row["pairs"]),
            "alignments" if row["traceback"] else "scores",
            *(number(1000 * row[kernel]) if kernel in row else "–" for kernel in kernels),
            row["auto_over_best"],
        )
        for found in each
        for row in found.figures
    ]
    columns = ("letters", "pairs", "of", "LazyRScan, ms", "TiledDScan", "RScan", "DScan", "planner", "planner / best")
    worst = max(row["auto_over_best"] for found in each for row in found.figures)
    return (
        "### After Truong et al., Figs. 8 to 10: which kernel for which lengths and numbers of pairs\n\n"
        "![the four kernels](figures/pairwise-regimes.svg)\n\n"
        f"The planner's choice takes at most {worst} times as long as the fastest kernel. A kernel with a thread a "
        "pair that was 20 times as slow as the best was not run on as many longer sequences, and RScan never on tables "
        f"of more than 2^27 cells. {' '.join(found.source for found in each)}\n\n{table(columns, rows)}"
    )


def _of_similar(row: dict[str, Any]) -> str:
    if "pairs_from_90_percent" not in row:
        return ""
    equal, pairs = number(row["their_identities_equal"]), number(row["pairs_from_90_percent"])
    return f" (of pairs from 90 % on, {equal} of {pairs} identities are equal)"


# -- bounded gaps


def bounded_gaps(results: Results) -> str:
    found = results.first("gapsmis")
    if not found:
        return ""
    gpu, cpu = found.figures.get("gpu", {}), found.figures.get("cpu", {})
    parts = [
        "## pairwise --max-gaps\n\nTexts of 250 letters, patterns of 50 to 200.\n",
        "### After Carroll et al., Figs. 5 to 14 as one: rates by gaps, and where the traceback is done\n",
        "![bounded gaps](figures/gapsmis.svg)\n",
    ]
    rows = [
        (name, row["kernel_tcups"], row["kernel_ms"], row["call_ms"])
        for name, row in dicts(gpu)
        if "kernel_tcups" in row
    ]
    parts.append(f"{number(gpu['pairs'])} pairs; cells count once a layer (K + 1 of them):\n")
    parts.append(table(("work", "kernel TCUPS", "kernel ms", "call ms"), rows))
    rows = [
        (name.split()[-1], kind, *(values[key] for key in ("alignment only", "hybrid", "gpu")))
        for name, texts in dicts(gpu)
        if name.startswith("traceback table")
        for kind, values in texts.items()
    ]
    parts.append("### After Carroll et al., Table 1: traceback on the host and on the GPU\n")
    parts.append("Milliseconds; hybrid copies the directions to the host and walks there:\n")
    parts.append(table(("pattern", "texts", "alignment only", "hybrid traceback", "GPU traceback"), rows))
    parts.append("### Beside a plain loop\n")
    rows = [
        (name, row["plain_one_core_gcups"], row["scores_gcups"], row["traceback_gcups"], row["scores_times_plain"])
        for name, row in dicts(cpu)
    ]
    parts.append(
        table(
            (
                f"CPU, {cpu['cores']} cores",
                "plain loop, one core, GCUPS",
                "scores GCUPS",
                "with traceback",
                "scores × plain",
            ),
            rows,
        )
    )
    parts.append(
        found.source + "\n\nNot here: more than four gaps on a GPU, and other scoring than match and mismatch.\n"
    )
    return "\n".join(parts)


SECTIONS: tuple[Callable[[Results], str], ...] = (
    mapping,
    verification,
    alignment,
    bounded_gaps,
    common_subsequences,
    exact_matches,
    several,
)
