"""The sections of docs/benchmarks.md, and those of the aligning commands: every number out of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from report_accuracy import accuracy
from report_results import Result, Results
from report_searches import common_subsequences, exact_matches, several
from report_text import dicts, number, table

# -- map


def mapping(results: Results) -> str:
    parts = ["## map\n\n![reads a second](figures/map.svg)\n"]
    for found in results.with_key("map"):
        parts.append(
            f"### {found.file.removesuffix('.json')}\n\n{found.source} Threads: {found.figures.get('threads', '–')}.\n"
        )
        parts += [_mapping_table(name, tools) for name, tools in found.figures["map"].items()]
        if index := found.figures.get("index"):
            parts.append(_index_table(index))
        if brute := found.figures.get("bundled_reads"):
            parts.append(
                "Real reads against every substring of their genomes by edlib: of "
                f"{number(brute['within_limit'])} within the limit {number(brute['percent'], 5)} % are reported with "
                "the best distance.\n"
            )
    parts += [_pairs(found) for found in results.with_key("pairs_to_sam")]
    parts += [_on_devices(found) for found in results.with_key("map_devices")]
    parts += accuracy(results)
    parts += [_agreement(found) for found in results.with_key("real_reads")]
    parts += [_variants(found) for found in results.with_key("variants")]
    return "\n".join(parts)


def _on_devices(found: Result) -> str:
    """Whole commands with a GPU beside the cores and minimap2."""
    rows = []
    for name, one in found.figures["map_devices"].items():
        for tool in [key for key, row in one.items() if isinstance(row, dict)]:
            row = one[tool]
            kernel = number(row["kernel_reads_per_s"]) if "kernel_reads_per_s" in row else "–"
            same = {True: "yes", False: "NO"}.get(row.get("same_bytes"), "–")
            rows.append((name, tool, number(row["reads_per_s"]), kernel, same))
    header = ("chr20, 150 bases", "on", "reads/s", "kernels alone, reads/s", "the CPU's bytes")
    first = next(iter(found.figures["map_devices"].values()))
    text = (
        f"Whole commands, FASTQ to SAM, 16 threads each; the cores and minimap2 map the first {number(first['share'])} "
        f"reads. Indexes were made before; minimap2's was {found.figures['minimap2_index']}. The kernels' rate is "
        f"that of the command's batches. {found.source}"
    )
    return f"### On a GPU\n\n{table(header, rows)}\n{text}\n"


def _pairs(found: Result) -> str:
    """Speed to SAM and to sorted BAM."""
    tables = []
    for form, label in (("sam", "pairs to SAM"), ("sorted_bam", "pairs to sorted BAM")):
        rows = [
            (tool, number(row["pairs_per_s"]), *row["speed_to_minimap2"].values(), row["peak_mib"], row["file_mib"])
            for tool, row in found.figures.get(f"pairs_to_{form}", {}).items()
        ]
        tables.append(table((label, "pairs/s", "× minimap2", "× minimap2, CPU time", "peak MiB", "file MiB"), rows))
    return "\n".join(tables) + f"\n{found.source}\n"


def _agreement(found: Result) -> str:
    rows = [
        (
            name,
            *(number(row[key]) for key in ("reads", "both_mapped", "both_sure", "agree", "ours_alone", "theirs_alone")),
        )
        for name, row in found.figures["real_reads"].items()
    ]
    header = ("beside bwa mem", "reads", "both map", "both sure", "of these agree", "we alone map", "bwa alone maps")
    sure = f"Sure is a MAPQ of at least {found.figures['sure']}, agreement within {found.figures['tolerance']} bases."
    return f"{table(header, rows)}\n{sure} {found.source}\n"


def _variants(found: Result) -> str:
    """One row a mapper and kind of variant; the counts are those of variants.py."""
    cases = [
        (tool, kind, row)
        for tool, kinds in found.figures["variants"].items()
        for kind, row in kinds.items()
        if isinstance(row, dict)
    ]
    names = [key for key, value in cases[0][2].items() if isinstance(value, int | float)] if cases else []
    rows = [(tool, kind, *(number(row.get(name)) for name in names)) for tool, kind, row in cases]
    return f"{table(('variants called behind', 'kind', *names), rows)}\n{found.source}\n"


def _mapping_table(name: str, tools: dict[str, Any]) -> str:
    rows = []
    for tool, row in tools.items():
        speed = row.get("speed_to_minimap2", {}).get("wall")
        wrong = row.get("wrong_at_mapq", {}).get(">=20")
        rows.append(
            (
                tool,
                number(row.get("reads_per_s"), 3),
                number(speed),
                number(row.get("reads_per_cpu_s"), 3),
                number(row.get("peak_mib")),
                number(row.get("mapped_percent"), 6),
                number(row.get("correct_percent"), 6),
                "–" if wrong is None else wrong,
            )
        )
    header = (
        name,
        "reads/s",
        "× minimap2",
        "reads/s of CPU",
        "peak MiB",
        "mapped %",
        "correct %",
        "wrong at MAPQ ≥ 20",
    )
    return table(header, rows)


def _index_table(index: dict[str, Any]) -> str:
    rows = []
    for genome, tools in index.items():
        for tool, row in tools.items():
            rows.append(
                (
                    genome,
                    tool,
                    number(row["wall_s"]),
                    number(row["cpu_s"]),
                    number(row["peak_mib"]),
                    number(row["size_mib"]),
                )
            )
    return table(("index of", "tool", "s", "s of CPU", "peak MiB", "size MiB"), rows)


# -- verify


def verification(results: Results) -> str:
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
            f"{_hidden(cells['devices'][0])}\n"
        )
        parts.append(found.source + "\n")
    if found := results.first("gpu-peers"):
        parts.append(_gpu_peers(found, "edit distances"))
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


def _hidden(device: dict[str, Any]) -> str:
    if "copies_hidden" not in device:
        return ""
    return (
        f" Of the seconds in which something was copied, {device['copies_hidden']:.1%} cost nothing: a kernel ran "
        "as well, or a thread of the host had work of its own."
    )


def _gpu_peers(found: Result, work: str) -> str:
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
    if found := results.first("gpu-peers"):
        parts.append(_gpu_peers(found, "Needleman-Wunsch scores, linear gaps"))
    if found := results.first("pairwise-regimes"):
        worst = max(row["auto_over_best"] for row in found.figures)
        parts.append("### After Truong et al., Figs. 8 to 10: which kernel for which lengths and numbers of pairs\n")
        parts.append("![the four kernels](figures/pairwise-regimes.svg)\n")
        parts.append(
            f"The planner's choice takes at most {worst} times as long as the fastest kernel. {found.source}\n"
        )
    if results.first("pairwise-cpu") or results.first("pairwise-vsearch"):
        parts.append("### Beside parasail and vsearch\n")
    if found := results.first("pairwise-cpu"):
        rows = [
            (name, row["gcups"], max(row["parasail_gcups"].values()), row["times_parasail"])
            for name, row in dicts(found.figures)
        ]
        parts.append(table(("on the CPU", "GCUPS", "parasail's best, GCUPS", "ratio"), rows))
        parts.append(f"{found.figures['workers']} threads beside as many processes. {found.source}\n")
    if found := results.first("pairwise-vsearch"):
        row = found.figures
        parts.append(
            f"Beside `vsearch --allpairs_global` ({row['file']}): {number(row['scores_equal'])} of "
            f"{number(row['pairs'])} scores are equal, {number(row['identities_equal'])} identities; the others have "
            f"several optimal alignments. {row['wall_s']:.1f} s and"
            f" {row['vsearch_wall_s']:.1f} s. {found.source}\n"
        )
    parts.append(
        "Not here: several nodes, and the paper's own GPUs."
        + ("" if results.first("devices") else " Several GPUs of one machine: no result yet.")
        + "\n"
    )
    return "\n".join(parts)


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
