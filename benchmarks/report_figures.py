"""The figures of docs/benchmarks.md, each drawn of the results alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from drawing import Lines, Picture, Points, in_a_row
from report_tables import Results, Row, cpu_ratio, entries, value


def ratios(results: Results) -> dict[str, dict[str, float]]:
    """How many times as fast as its peer in one run on the same machine. Map by CPU time, which other work disturbs
    least; mems too, as MUMmer has one thread."""
    loop, gaps = results["verification"]["near"]["ratio_to"], entries(results["gapsmis"]["cpu"], 1)
    aligned = entries(results["pairwise-cpu"], 1)
    return {
        **{
            f"map vs {peer}": {
                case: tools[peer]["gpualign_times_as_fast"]["cpu"]
                for case, tools in mapped_sets(results).items()
                if peer in tools
            }
            for peer in ("minimap2", "minibwa")
        },
        "verification loop vs edlib without its calls": {"": loop["edlib_without_calls"]},
        "pairwise vs parasail": {name: row["times_parasail"] for (name,), row in aligned},
        "lcs-filter vs RapidFuzz": {symbols(row["case"]): row["ratio"] for row in results["lcs-cpu"]["rows"]},
        "bounded gaps vs a plain loop": {name: row["scores_times_plain"] for (name,), row in gaps},
        "mems vs MUMmer": {row["workload"]: cpu_ratio(row) for row in results["mems"]["workloads"]},
    }


def symbols(case: str) -> str:
    """The name of a case as the pages say it."""
    return case.replace("letters", "symbols")


def mapped_sets(results: Results) -> dict[str, dict[str, Row]]:
    """Set -> tool -> row, of all benchmarks that time mappers."""
    realistic = {f"realistic {case}": tools for case, tools in results["map-pairs"]["cases"].items()}
    return {**results["map"]["map"], **results["long-reads"]["map"], **realistic}


def overview(results: Results) -> Picture:
    """One bar a case: how many times as fast as its peer."""
    rows = [
        (f"{peer} ({case})" if case else peer, [(ratio, color)])
        for color, (peer, cases) in enumerate(ratios(results).items())
        for case, ratio in cases.items()
    ]
    picture = Picture(760, 17 * len(rows) + 60)
    picture.bars(rows, "times as fast as the peer: same machine, same run", (360, 12, 350), 1)
    return picture


def mapping(results: Results) -> Picture:
    """Reads a second of processor time, by set and tool, which other work on the machine disturbs least."""
    tools = ["gpualign", "minimap2", "minibwa", "bwa", "bowtie2"]
    rows = [
        (case, [(row["reads_per_cpu_s"], tools.index(tool)) for tool, row in taken.items()])
        for case, taken in mapped_sets(results).items()
    ]
    picture = Picture(700, sum(12 * len(row) + 5 for _, row in rows) + 80)
    picture.legend(tools, 200, 14)
    picture.bars(rows, "reads per second of processor time", (200, 28, 440), 10)
    return picture


def points(rows: Iterable[Row], x: str, y: str, factor: float = 1) -> Points:
    return [(row[x], factor * row[y]) for row in rows]


def verification(results: Results) -> Picture:
    """Cells a second by the threads that share a pair and by query length; pairs a second with edlib's."""
    kernels, core = results["verify-kernels"], results["verify"]["core"]
    by_query = {f"{n:,} bases": [row for row in kernels["ablation"] if row["query"] == n] for n in (100, 250, 1000)}
    full, limited = ([row for row in kernels["rows"] if row["label"] == one] for one in ("full columns", "limit 0.2"))
    by_length = {
        "whole matrices": points(full, "query", "tcups"),
        "limit 20 %": points(limited, "query", "tcups"),
        "band, limit 5 %": points((row for row in kernels["band"] if row["true_share"] == 0.05), "query", "tcups"),
    }
    rates = {
        "GPU kernel, no limit": points((row for row in full if row["query"] <= 1000), "query", "gpairs_per_s", 1e9),
        "one CPU thread": points(core, "query", "gpualign_pairs_per_s"),
        "edlib, one thread": points(core, "query", "edlib_pairs_per_s"),
    }
    by_threads = [
        Lines("GPU", "threads a pair", unit, drawn, True, x_ticks=(1, 2, 4, 8, 16, 32))
        for unit, key, factor in (("TCUPS", "tcups", 1), ("% of the possible warps", "occupancy", 100))
        for drawn in [{name: points(rows, "lanes", key, factor) for name, rows in by_query.items()}]
    ]
    return in_a_row(
        *by_threads,
        Lines("GPU, cells of whole matrices", "query, bases", "TCUPS", by_length, True),
        Lines("pairs", "query, bases", "pairs a second", rates, True, True),
    )


def regimes(results: Results) -> Picture:
    """Cells a second of each kernel over the number of pairs, a column for each length, with and without traceback."""
    kernels = {"lazy": "LazyRScan", "tiled": "TiledDScan", "rscan": "RScan", "dscan": "DScan", "auto": "planner~"}
    rows = [row for name in ("pairwise-regimes", "pairwise-long-regimes") for row in results[name]]
    lengths = sorted({row["length"] for row in rows})
    picture = Picture(120 * len(lengths) + 60, 400)
    for line, kind in enumerate(("scores", "alignments")):
        for column, length in enumerate(lengths):
            chosen = [row for row in rows if row["length"] == length and row["traceback"] == bool(line)]
            series = {
                name: [(row["pairs"], row["pairs"] * length**2 / row[key] / 1e12) for row in chosen if key in row]
                for key, name in kernels.items()
            }
            texts = f"{length:,}, {kind}", "pairs" if line else "", "" if column else "TCUPS"
            one = Lines(*texts, series, True, True, (1, 1e3, 1e6), (0.5, 3e6), (3e-5, 20), False)
            picture.panel(one, 60 + 120 * column, 24 + 170 * line, 100, 130)
    picture.legend([name.rstrip("~") for name in kernels.values()], 60, 390)
    return picture


def bounded_gaps(results: Results) -> Picture:
    """Rates by the number of gaps on the GPU and the CPU, and where the traceback is done."""
    gpu, cpu = results["gapsmis"]["gpu"], results["gapsmis"]["cpu"]
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
    return in_a_row(
        Lines("GPU", "gaps allowed", "TCUPS", on_gpu, x_ticks=gaps),
        Lines(f"CPU, {cpu['cores']} cores", "gaps allowed", "GCUPS", on_cpu, x_ticks=known),
        Lines("traceback", "pattern length", "ms, all texts", where, y_log=True, x_ticks=lengths),
    )


def common_subsequences(results: Results) -> Picture:
    """Rates of the GPU's kernel, and of the CPU with RapidFuzz's."""
    kernel = [row for row in results["lcs-kernel"]["rows"] if row["formulation"] == "crochemore"]
    on_gpu = [(symbols(row["case"]), [(row["tcups"], 0)]) for row in kernel]
    on_cpu = [
        (symbols(row["case"].removesuffix(", 2 threads")), [(row["crochemore_gcups"], 0), (row["rapidfuzz_gcups"], 1)])
        for row in results["lcs-cpu"]["rows"]
    ]
    picture = Picture(820, 17 * len(kernel) + 70)
    picture.bars(on_gpu, "TCUPS on the GPU", (215, 28, 150), 1)
    picture.bars(on_cpu, "GCUPS on the CPU, 2 threads", (575, 28, 190), 10)
    picture.legend(("gpualign", "RapidFuzz"), 575, 14)
    return picture


def exact_matches(results: Results) -> Picture:
    """Processor time with MUMmer's, and seconds of whole commands at full size on CPU and GPU."""

    def rows(result: str, *times: tuple[str, int]) -> list[tuple[str, list[tuple[float, int]]]]:
        return [
            (row["workload"], [(value(row, path), color) for path, color in times])
            for row in results[result]["workloads"]
        ]

    cases = rows("mems", ("mummer/cpu_s", 1), ("cpu/cpu_s", 0))
    full = rows("mems-devices", ("cpu/wall_s", 0), ("cuda/wall_s", 1), ("cuda/kernel_s", 2))
    picture = Picture(860, max(29 * len(cases), 41 * len(full)) + 80)
    picture.legend(("gpualign", "MUMmer"), 180, 14)
    picture.bars(cases, "s of processor time", (180, 28, 210), 0.1)
    picture.legend(("CPU, 16 threads", "GPU, command", "GPU, kernels"), 540, 14)
    picture.bars(full, "s, all reads", (540, 28, 260), 0.005)
    return picture


FIGURES: dict[str, Callable[[Results], Picture]] = {
    "overview": overview,
    "map": mapping,
    "verify": verification,
    "pairwise": regimes,
    "bounded-gaps": bounded_gaps,
    "lcs": common_subsequences,
    "mems": exact_matches,
}
