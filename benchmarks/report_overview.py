"""What stands first: how many times as fast as its peer each command is, and the kernels' rates."""

from __future__ import annotations

from report_results import Results
from report_text import dicts, table


def overview_ratios(results: Results) -> list[tuple[str, float]]:
    """How many times as fast as its peer in one run on the same cores.

    Mems by processor time, as MUMmer has one thread.
    """
    rows = []
    if found := results.first("map-speed") or results.first("map"):
        for name, tools in found.figures["map"].items():
            rows.append((f"map beside minimap2 ({name})", tools["gpualign"]["speed_to_minimap2"]["wall"]))
    if found := results.first("verification"):
        rows.append(
            (
                "verification loop beside edlib, its calls not counted",
                found.figures["near"]["ratio_to"]["edlib_without_calls"],
            )
        )
    if found := results.first("pairwise-cpu"):
        rows += [(f"pairwise beside parasail ({name})", row["times_parasail"]) for name, row in dicts(found.figures)]
    if found := results.first("lcs-cpu"):
        rows += [(f"lcs-filter beside RapidFuzz ({row['case']})", row["ratio"]) for row in found.figures["rows"]]
    if found := results.first("gapsmis"):
        gaps = [(name, row) for name, row in dicts(found.figures.get("cpu", {})) if "scores_times_plain" in row]
        rows += [(f"bounded gaps beside a plain loop ({name})", row["scores_times_plain"]) for name, row in gaps]
    if found := results.first("mems"):
        rows += [
            (f"mems beside MUMmer ({row['workload']})", row["mummer"]["cpu_s"] / row["cpu"]["cpu_s"])
            for row in found.figures["workloads"]
        ]
    return rows


def overview_lines(results: Results) -> str:
    """The least and the most of each command's ratios."""
    spans: dict[str, list[float]] = {}
    for name, ratio in overview_ratios(results):
        spans.setdefault(name.split(" (")[0], []).append(ratio)
    rows = []
    for name, ratios in spans.items():
        least, most = f"{min(ratios):.1f}", f"{max(ratios):.1f}"
        rows.append((name, least if least == most else f"{least} to {most}", len(ratios)))
    text = table(("on the CPU, in one run with its peer", "times as fast", "cases"), rows)
    return text + "\n" + _gpu_line(results) + _reads_line(results)


def _gpu_line(results: Results) -> str:
    """The kernels' rates on a GPU, in one sentence."""
    rates = []
    if found := results.first("verify-kernels"):
        full = [row["tcups"] for row in found.figures["rows"] if row["label"] == "full columns"]
        rates.append(f"edit distances {min(full):.0f} to {max(full):.0f}")
    if found := results.first("lcs-kernel"):
        rates.append(f"LCS lengths up to {max(row['tcups'] for row in found.figures['rows']):.0f}")
    if found := results.first("pairwise-gpu"):
        linear = found.figures["score only, linear, 1536"]["tcups"]
        rates.append(f"Needleman-Wunsch scores {linear:.1f}")
    if found := results.first("gapsmis"):
        rates.append(f"alignments with at most two gaps {found.figures['gpu']['K=2 scores']['kernel_tcups']:.1f}")
    if not rates or found is None:
        return ""
    device = found.machine["gpus"][0].split(",")[0]
    return f"Kernels on one {device}, in 10¹² cells a second: {', '.join(rates)}.\n"


def _reads_line(results: Results) -> str:
    """Reads a second of `map` on a GPU, as a whole command."""
    found = results.first("map-devices")
    if found is None:
        return ""
    single = [one for name, one in found.figures["map_devices"].items() if name.startswith("single")]
    largest = max(single, key=lambda one: one["reads"])
    return (
        f"\n`map` of {largest['reads']:,} reads of 150 bases, FASTQ to SAM, the whole command: "
        f"{largest['cuda']['reads_per_s'] / 1e6:.2f} M reads a second with that GPU; the bytes are the CPU's.\n"
    )
