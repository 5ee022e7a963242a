"""The figures of docs/benchmarks.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from report_results import Results, entries
from report_svg import Lines, Picture, bars, legend, panel


def draw_all(results: Results, ratios: list[tuple[str, float]], folder: Path) -> None:
    """Write every figure."""
    overview(ratios).save(folder / "overview.svg")
    for name, figure in _FIGURES.items():
        figure(results).save(folder / f"{name}.svg")


def overview(ratios: list[tuple[str, float]]) -> Picture:
    """One bar a case: how many times as fast as its peer."""
    kinds = list(dict.fromkeys(name.split()[0] for name, _ in ratios))
    picture = Picture(760, 17 * len(ratios) + 60)
    rows = [(name, [(ratio, kinds.index(name.split()[0]))]) for name, ratio in ratios]
    bars(picture, rows, "times as fast as the peer: same machine, same run", (360, 12, 350), 1)
    return picture


def mapping(results: Results) -> Picture:
    """Reads a second of processor time, by set and tool, which other work on the machine disturbs least."""
    tools = ["gpualign", "minimap2", "bwa", "bowtie2", "gpualign -e 0.12"]
    sets: dict[str, dict[str, float]] = {}
    for name in ("map-speed", "map", "long-reads"):
        for (case, tool), row in entries(results[name].figures["map"], 2):
            sets.setdefault(case, {}).setdefault(tool, row["reads_per_cpu_s"])
    rows = [(case, [(rate, tools.index(tool)) for tool, rate in taken.items()]) for case, taken in sets.items()]
    picture = Picture(700, sum(12 * len(row) + 5 for _, row in rows) + 80)
    legend(picture, tools, 120, 14)
    bars(picture, rows, "reads per second of processor time", (120, 28, 500), 10)
    return picture


def verification(results: Results) -> Picture:
    """Cells a second by the threads that share a pair and by query length; pairs a second with edlib's."""
    kernels, core = results["verify-kernels"].figures, results["verify"].figures["core"]
    shared = [row for row in kernels["ablation"] if "blocks" not in row and row["query"] in (100, 250, 1000)]
    lengths = sorted({row["query"] for row in shared})

    def by_threads(key: str, factor: float) -> dict[str, Any]:
        points = {
            length: [(row["lanes"], factor * row[key]) for row in shared if row["query"] == length]
            for length in lengths
        }
        return {f"{length:,} bases": line for length, line in points.items()}

    full = [row for row in kernels["rows"] if row["label"] == "full columns"]
    by_length = {
        "whole matrices": [(row["query"], row["tcups"]) for row in full],
        "limit 20 %": [(row["query"], row["tcups"]) for row in kernels["rows"] if row["label"] == "limit 0.2"],
        "band, limit 5 %": [(row["query"], row["tcups"]) for row in kernels["band"] if row["true_share"] == 0.05],
    }
    rates = {
        "GPU kernel, no limit": [(row["query"], 1e9 * row["gpairs_per_s"]) for row in full if row["query"] <= 1000],
        "one CPU thread": [(row["query"], row["gpualign_pairs_per_s"]) for row in core],
        "edlib, one thread": [(row["query"], row["edlib_pairs_per_s"]) for row in core],
    }
    threads = (1, 2, 4, 8, 16, 32)
    return _row(
        Lines("GPU", "threads a pair", "TCUPS", by_threads("tcups", 1), True, x_ticks=threads),
        Lines("GPU", "threads a pair", "% of the possible warps", by_threads("occupancy", 100), True, x_ticks=threads),
        Lines("GPU, cells of whole matrices", "query, bases", "TCUPS", by_length, True),
        Lines("pairs", "query, bases", "pairs a second", rates, True, True),
    )


def regimes(results: Results) -> Picture:
    """Cells a second of each kernel over the number of pairs, a column for each length, with and without traceback."""
    kernels = {"lazy": "LazyRScan", "tiled": "TiledDScan", "rscan": "RScan", "dscan": "DScan", "auto": "planner~"}
    rows = [row for name in ("pairwise-regimes", "pairwise-long-regimes") for row in results[name].figures]
    lengths = sorted({row["length"] for row in rows})
    picture = Picture(120 * len(lengths) + 60, 400)
    for line, traceback in enumerate((False, True)):
        for column, length in enumerate(lengths):
            chosen = [row for row in rows if row["length"] == length and row["traceback"] == traceback]
            series = {
                name: [(row["pairs"], row["pairs"] * length**2 / row[key] / 1e12) for row in chosen if key in row]
                for key, name in kernels.items()
            }
            one = Lines(
                f"{length:,}, {'alignments' if traceback else 'scores'}",
                "pairs" if traceback else "",
                "" if column else "TCUPS",
                series,
                *(True, True, (1, 1e3, 1e6), (0.5, 3e6), (3e-5, 20), False),
            )
            panel(picture, one, 60 + 120 * column, 24 + 170 * line, 100, 130)
    legend(picture, [name.rstrip("~") for name in kernels.values()], 60, 390)
    return picture


def bounded_gaps(results: Results) -> Picture:
    """Rates by the number of gaps on the GPU and the CPU, and where the traceback is done."""
    gpu, cpu = (results["gapsmis"].figures[key] for key in ("gpu", "cpu"))
    gaps = sorted(int(match[1]) for name in gpu if (match := re.fullmatch(r"K=(\d+) scores", name)))
    known = sorted(int(name[2:]) for name in cpu if name.startswith("K="))
    on_gpu = {
        f"{kind}, {key}{dash}": [(k, gpu[f"K={k} {kind}"][f"{key}_tcups"]) for k in gaps]
        for kind in ("scores", "traceback")
        for key, dash in (("kernel", ""), ("call", "~"))
    }
    keys = {"scores": "scores_gcups", "traceback": "traceback_gcups", "plain loop, one core~": "plain_one_core_gcups"}
    on_cpu = {name: [(k, cpu[f"K={k}"][key]) for k in known] for name, key in keys.items()}
    lengths = [int(name.split()[-1]) for name in gpu if name.startswith("traceback table")]
    where = {
        name: [(n, gpu[f"traceback table, patterns of {n}"]["all texts"][key]) for n in lengths]
        for name, key in (("no traceback", "alignment only"), ("on the GPU", "gpu"), ("on the host", "hybrid"))
    }
    return _row(
        Lines("GPU", "gaps allowed", "TCUPS", on_gpu, x_ticks=gaps),
        Lines(f"CPU, {cpu['cores']} cores", "gaps allowed", "GCUPS", on_cpu, x_ticks=known),
        Lines("traceback", "pattern length", "ms, all texts", where, y_log=True, x_ticks=lengths),
    )


def common_subsequences(results: Results) -> Picture:
    """Rates of the GPU's kernel, and of the CPU with RapidFuzz's."""
    kernel = [row for row in results["lcs-kernel"].figures["rows"] if row["formulation"] == "crochemore"]
    cpu = results["lcs-cpu"].figures["rows"]
    picture = Picture(820, 12 * len(kernel) + 5 * len(kernel) + 70)
    bars(
        picture,
        [(row["case"].replace("letters", "symbols"), [(row["tcups"], 0)]) for row in kernel],
        "TCUPS on the GPU",
        (215, 28, 150),
        1,
    )
    pairs = [
        (
            row["case"].removesuffix(", 2 threads").replace("letters", "symbols"),
            [(row["crochemore_gcups"], 0), (row["rapidfuzz_gcups"], 1)],
        )
        for row in cpu
    ]
    bars(picture, pairs, "GCUPS on the CPU, 2 threads", (575, 28, 190), 10)
    legend(picture, ("gpualign", "RapidFuzz"), 575, 14)
    return picture


def exact_matches(results: Results) -> Picture:
    """Processor time with MUMmer's, and seconds of whole commands at full size on CPU and GPU."""
    cases = [
        (row["workload"], [(row["mummer"]["cpu_s"], 1), (row["cpu"]["cpu_s"], 0)])
        for row in results["mems"].figures["workloads"]
    ]
    full = [
        (row["workload"], [(row["cpu"]["wall_s"], 0), (row["cuda"]["wall_s"], 1), (row["cuda"]["kernel_s"], 2)])
        for row in results["mems-devices"].figures["workloads"]
    ]
    picture = Picture(860, max(29 * len(cases), 41 * len(full)) + 80)
    legend(picture, ("gpualign", "MUMmer"), 180, 14)
    bars(picture, cases, "s of processor time", (180, 28, 210), 0.1)
    legend(picture, ("CPU, 16 threads", "GPU, command", "GPU, kernels"), 540, 14)
    bars(picture, full, "s, all reads", (540, 28, 260), 0.005)
    return picture


def _row(*panels: Lines) -> Picture:
    """Panels next to each other, their legends below."""
    maximum = max(len(one.series) for one in panels)
    picture = Picture(240 * len(panels) + 10, 250 + 13 * maximum)
    for column, one in enumerate(panels):
        panel(picture, one, 52 + 240 * column, 22, 170, 170)
    return picture


_FIGURES: dict[str, Callable[[Results], Picture]] = {
    "map": mapping,
    "verify": verification,
    "pairwise": regimes,
    "bounded-gaps": bounded_gaps,
    "lcs": common_subsequences,
    "mems": exact_matches,
}
