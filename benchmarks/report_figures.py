"""The figures of docs/benchmarks.md. The same results give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from report_results import Results

matplotlib.use("svg")
from matplotlib import pyplot  # after the choice of a backend

_STYLE = {
    "svg.hashsalt": "gpualign",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": matplotlib.cycler(color=["#1b6ca8", "#d1495b", "#3d8c5c", "#edae49", "#7a5c99", "#5b6770"]),
}
_CPU_COLORS = {
    "map": "#1b6ca8",
    "verification": "#3d8c5c",
    "pairwise": "#d1495b",
    "lcs-filter": "#edae49",
    "bounded": "#7a5c99",
    "mems": "#5b6770",
}


@contextmanager
def _figure(
    path: Path,
    columns: int = 1,
    size: tuple[float, float] = (6.4, 3.8),
    rows: int = 1,
    widths: tuple[float, ...] | None = None,
) -> Iterator[Any]:
    """Axes to draw on, (rows, columns) of them, saved with a white background when done."""
    with matplotlib.rc_context(_STYLE):
        figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, width_ratios=widths)
        yield axes
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None}, facecolor="white")
        pyplot.close(figure)


def _legend_above(panel: Any, columns: int) -> None:
    panel.legend(frameon=False, fontsize=7, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def draw_all(results: Results, ratios: list[tuple[str, float]], folder: Path) -> None:
    """Write every figure that the results have points for."""
    overview(ratios, folder / "overview.svg")
    mapping(results, folder / "map.svg")
    if found := results.first("verify-kernels"):
        verify_threads(found.figures, folder / "verify-threads.svg")
        verify_lengths(found.figures, folder / "verify-lengths.svg")
        if peers := results.first("verify"):
            verify_peers(found.figures, peers.figures, folder / "verify-peers.svg")
    if each := results.each("pairwise-regimes", "pairwise-long-regimes"):
        regimes([row for found in each for row in found.figures], folder / "pairwise-regimes.svg")
    if found := results.first("gapsmis"):
        bounded_gaps(found.figures, folder / "gapsmis.svg")
    if (kernel := results.first("lcs-kernel")) and (cpu := results.first("lcs-cpu")):
        common_subsequences(kernel.figures["rows"], cpu.figures["rows"], folder / "lcs.svg")
    if results.first("mems"):
        exact_matches(results, folder / "mems.svg")


def overview(ratios: list[tuple[str, float]], path: Path) -> None:
    """One bar a case: how many times as fast as its peer."""
    with _figure(path, size=(7.6, 0.21 * len(ratios) + 0.8)) as axes:
        panel = axes[0][0]
        names = [name for name, _ in ratios][::-1]
        values = [value for _, value in ratios][::-1]
        panel.barh(names, values, color=[_CPU_COLORS[name.split()[0]] for name in names], height=0.7)
        panel.axvline(1, color="black", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xlim(0.7, max(values) * 1.6)
        panel.set_xticks([1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"])
        panel.minorticks_off()
        for place, value in enumerate(values):
            panel.text(value * 1.04, place, f"{value:.1f}", va="center", fontsize=7)
        panel.set_xlabel("times as fast as the peer, same cores, same run")
        panel.tick_params(axis="y", labelsize=7, length=0)
        panel.margins(y=0.01)


def mapping(results: Results, path: Path) -> None:
    """Reads a second of processor time, by set and tool: what the busy machine's clock disturbs least."""
    sets: dict[str, dict[str, float]] = {}
    for found in results.with_key("map"):
        for name, tools in found.figures["map"].items():
            taken = sets.setdefault(name, {})
            for tool, row in tools.items():
                if "reads_per_cpu_s" in row:
                    taken.setdefault(tool, row["reads_per_cpu_s"])
    tools = list(dict.fromkeys(tool for taken in sets.values() for tool in taken))
    with _figure(path, size=(6.8, 0.34 * sum(map(len, sets.values())) + 1.0)) as axes:
        panel, ticks, place = axes[0][0], [], 0.0
        for name, taken in sets.items():
            for tool, value in taken.items():
                panel.barh(place, value / 1000, color=f"C{tools.index(tool) % 6}", height=0.8)
                panel.text(value / 1000, place, f" {value / 1000:.3g}", va="center", fontsize=7)
                ticks.append((place, f"{tool}, {name}"))
                place += 1
            place += 0.6
        panel.set_yticks([at for at, _ in ticks], labels=[text for _, text in ticks], fontsize=7)
        panel.invert_yaxis()
        panel.margins(y=0.02)
        panel.set_xscale("log")  # long reads and short ones
        panel.set_xlabel("thousand reads a second of processor time")


def verify_threads(figures: dict[str, Any], path: Path) -> None:
    """Cells a second by threads that share a pair, and how many warps their registers leave room for."""
    lines = [row for row in figures["ablation"] if "blocks" not in row and row["query"] <= 1000]
    with _figure(path, 2, (9.0, 3.8)) as axes:
        rates, warps = axes[0]
        for length in sorted({row["query"] for row in lines}):
            mine = [row for row in lines if row["query"] == length]
            lanes = [row["lanes"] for row in mine]
            rates.plot(lanes, [row["tcups"] for row in mine], "o-", label=f"{length:,} bases")
            warps.plot(lanes, [100 * row["occupancy"] for row in mine], "o-")
        for panel in axes[0]:
            panel.set_xscale("log", base=2)
            panel.set_xticks([1, 2, 4, 8, 16, 32], labels=["1", "2", "4", "8", "16", "32"])
            panel.set_xlabel("threads a pair (1: each its own, 32: a warp together)")
            panel.set_ylim(0)
        rates.set_ylabel("TCUPS")
        warps.set_ylabel("% of the warps a multiprocessor can hold")
        rates.legend(frameon=False, fontsize=8)


def verify_lengths(figures: dict[str, Any], path: Path) -> None:
    """Cells a second by query length: whole matrices, within 20 % of errors, and the band."""
    with _figure(path) as axes:
        panel = axes[0][0]
        for label, name in (("full columns", "whole matrices"), ("limit 0.2", "limit 20 %, cells of the whole")):
            rows = [row for row in figures["rows"] if row["label"] == label]
            panel.plot([row["query"] for row in rows], [row["tcups"] for row in rows], "o-", label=name)
        rows = [row for row in figures["band"] if row["true_share"] == 0.05]
        panel.plot(
            [row["query"] for row in rows],
            [row["tcups"] for row in rows],
            "s--",
            label="band, limit 5 %, cells of the whole",
        )
        panel.set_xscale("log")
        lengths = sorted({row["query"] for row in figures["rows"]})
        panel.set_xticks(lengths, labels=[f"{length:,}" for length in lengths], rotation=30)
        panel.minorticks_off()
        panel.set_xlabel("query length, bases")
        panel.set_ylabel("TCUPS")
        panel.set_ylim(0)
        panel.legend(frameon=False, fontsize=8)


def verify_peers(kernels: dict[str, Any], peers: dict[str, Any], path: Path) -> None:
    """Pairs a second by query length: the GPU, one core, edlib on one core."""
    with _figure(path) as axes:
        panel = axes[0][0]
        full = [row for row in kernels["rows"] if row["label"] == "full columns" and row["query"] <= 1000]
        panel.plot(
            [row["query"] for row in full],
            [row["gpairs_per_s"] * 1e9 for row in full],
            "o-",
            label="GPU kernel, no limit",
        )
        for key, name in (("gpualign_pairs_per_s", "one core"), ("edlib_pairs_per_s", "edlib, one core")):
            panel.plot([row["query"] for row in peers["core"]], [row[key] for row in peers["core"]], "s-", label=name)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks([100, 150, 250, 400, 600, 1000], labels=["100", "150", "250", "400", "600", "1,000"])
        panel.minorticks_off()
        panel.set_xlabel("query length, bases")
        panel.set_ylabel("pairs a second")
        panel.legend(frameon=False, fontsize=8)


def regimes(rows: list[dict[str, Any]], path: Path) -> None:
    """Cells a second of each kernel over the number of pairs, a panel for each length, with and without traceback."""
    lengths = sorted({row["length"] for row in rows})
    names = {"lazy": "LazyRScan", "tiled": "TiledDScan", "rscan": "RScan", "dscan": "DScan", "auto": "planner"}
    with _figure(path, len(lengths), (2.2 * len(lengths), 4.6), rows=2) as axes:
        for line, traceback in enumerate((False, True)):
            for column, length in enumerate(lengths):
                panel = axes[line][column]
                chosen = [row for row in rows if row["length"] == length and row["traceback"] == traceback]
                for color, (kernel, name) in enumerate(names.items()):
                    points = [
                        (row["pairs"], row["pairs"] * length**2 / row[kernel] / 1e12) for row in chosen if kernel in row
                    ]
                    if points:
                        style = (
                            {"color": "black", "linestyle": ":"}
                            if kernel == "auto"
                            else {"color": f"C{color}", "marker": "o"}
                        )
                        panel.plot(*zip(*points, strict=True), label=name, markersize=4, **style)
                panel.set_xscale("log")
                panel.set_yscale("log")
                panel.set_xlim(0.5, 3e6)
                panel.set_ylim(3e-5, 20)
                panel.set_title(f"{length:,} letters, {'alignments' if traceback else 'scores'}", fontsize=8)
                if line:
                    panel.set_xlabel("pairs")
            axes[line][0].set_ylabel("TCUPS")
            axes[line][0].legend(frameon=False, fontsize=7)


def bounded_gaps(figures: dict[str, Any], path: Path) -> None:
    """Rates by the number of gaps on the GPU and the CPU, and where the traceback is done."""
    gpu, cpu = figures["gpu"], figures["cpu"]
    with _figure(path, 3, (9.6, 3.4)) as axes:
        rates, cores, tables = axes[0]
        gaps = sorted(int(match[1]) for name in gpu if (match := re.fullmatch(r"K=(\d+) scores", name)))
        for kind in ("scores", "traceback"):
            for key, style in (("kernel_tcups", "o-"), ("call_tcups", "s--")):
                values = [gpu[f"K={k} {kind}"][key] for k in gaps]
                rates.plot(gaps, values, style, label=f"{kind}, {key.split('_')[0]}", markersize=4)
        rates.set_ylabel("TCUPS")
        rates.set_title("GPU", fontsize=9)
        known = sorted(int(name[2:]) for name in cpu if name.startswith("K="))
        for key, name in (
            ("scores_gcups", "scores"),
            ("traceback_gcups", "traceback"),
            ("plain_one_core_gcups", "plain loop, one core"),
        ):
            cores.plot(known, [cpu[f"K={k}"][key] for k in known], "o-", label=name, markersize=4)
        cores.set_ylabel("GCUPS")
        cores.set_title(f"CPU, {cpu['cores']} cores", fontsize=9)
        for panel in (rates, cores):
            panel.set_xlabel("gaps allowed, K")
            panel.set_xticks(gaps)
            panel.set_ylim(0)
        lengths = [int(name.split()[-1]) for name in gpu if name.startswith("traceback table")]
        for key in ("alignment only", "gpu", "hybrid"):
            values = [gpu[f"traceback table, patterns of {n}"]["all texts"][key] for n in lengths]
            tables.plot(
                lengths,
                values,
                "o-",
                label={"gpu": "traceback on the GPU", "hybrid": "traceback on the host"}.get(key, key),
                markersize=4,
            )
        tables.set_yscale("log")
        tables.set_xticks(lengths)
        tables.set_xlabel("pattern length")
        tables.set_ylabel("ms, all texts")
        for panel in axes[0]:
            panel.legend(frameon=False, fontsize=7)


def common_subsequences(kernel: list[dict[str, Any]], cpu: list[dict[str, Any]], path: Path) -> None:
    """Rates by alphabet and by the subjects' lengths on the GPU, and beside RapidFuzz on the CPU."""
    with _figure(path, 3, (10.5, 3.6), widths=(2, 1.6, 1.6)) as axes:
        letters, lengths, cores = axes[0]
        rows = [(match[1], row["tcups"]) for row in kernel if (match := re.match(r"(\d+) letters", row["case"]))]
        letters.bar(*zip(*rows, strict=True), color="C0")
        letters.set_xlabel("letters of the alphabet")
        letters.set_ylabel("TCUPS")
        others = [
            row for row in kernel if not re.match(r"\d+ letters", row["case"]) and row["formulation"] == "crochemore"
        ]
        names = [row["case"].removeprefix("paper: ").replace(", ", ",\n", 1) for row in others]
        lengths.barh(names, [row["tcups"] for row in others], color="C0")
        lengths.set_xlabel("TCUPS")
        kinds = (
            ("crochemore_gcups", "Crochemore"),
            ("allison-dix_gcups", "Allison-Dix"),
            ("rapidfuzz_gcups", "RapidFuzz"),
        )
        for offset, (key, name) in enumerate(kinds):
            places = [place + 0.27 * (offset - 1) for place in range(len(cpu))]
            cores.barh(places, [row[key] for row in cpu], 0.27, label=name)
        names = [row["case"].removesuffix(", 2 threads").replace(", ", ",\n") for row in cpu]
        cores.set_yticks(range(len(cpu)), labels=names)
        cores.set_xlabel("GCUPS on the CPU")
        for panel in (lengths, cores):
            panel.invert_yaxis()
            panel.tick_params(axis="y", labelsize=7)
        _legend_above(cores, 3)


def exact_matches(results: Results, path: Path) -> None:
    """Seconds of whole commands beside MUMmer, and at full size on the cores and on a GPU."""
    with _figure(path, 2, (9.6, 3.8)) as axes:
        beside, full = axes[0]
        found = results.first("mems")
        assert found is not None
        _pairs_of_bars(
            beside, found.figures["workloads"], (("MUMmer", "mummer", "cpu_s"), ("gpualign", "cpu", "cpu_s"))
        )
        beside.set_xlabel("s of processor time, parts of the reads")
        if devices := results.first("mems-devices"):
            bars = (
                ("cores", "cpu", "wall_s"),
                ("GPU, command", "cuda", "wall_s"),
                ("GPU, kernels", "cuda", "kernel_s"),
            )
            _pairs_of_bars(full, devices.figures["workloads"], bars)
            full.set_xlabel("s, all reads")


def _pairs_of_bars(panel: Any, rows: list[dict[str, Any]], bars: tuple[tuple[str, str, str], ...]) -> None:
    height = 0.8 / len(bars)
    for offset, (label, contender, key) in enumerate(bars):
        places = [place + height * (offset - (len(bars) - 1) / 2) for place in range(len(rows))]
        panel.barh(places, [row[contender][key] for row in rows], height, label=label)
    panel.set_yticks(range(len(rows)), labels=[row["workload"] for row in rows], fontsize=7)
    panel.invert_yaxis()
    panel.set_xscale("log")
    _legend_above(panel, len(bars))
