#!/usr/bin/env python3
"""Turn all results into docs/benchmarks.md, docs/benchmark-tables.md, their figures and the README's block of figures.

    python benchmarks/report.py            # write
    python benchmarks/report.py --check    # exit 1 where a text or a figure is not what the results say

Nothing is measured here and no measured number is written down here or in templates/, which hold the text of the pages:
each comes out of a committed result file. Equal results give equal bytes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from drawing import Lines, Picture, Points, in_a_row
from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).resolve().parent
DOCS = FOLDER.parent / "docs"
README = FOLDER.parent / "README.md"
_BLOCK = re.compile(r"(<!-- figures:begin -->\n).*?(<!-- figures:end -->)", re.DOTALL)
#: a benchmark and what harness.slug makes of a machine: "2-core-xeon", "h200"
_NAME = re.compile(r"(?P<name>.+?)-(?P<machine>\d+-core-[a-z0-9_]+|[a-z]+[0-9][a-z0-9-]*)\.json")
Row = dict[str, Any]
Rows = Callable[[Any], Iterator[tuple[list[str], Row]]]


# -- results


class Results(dict[str, Any]):
    """The figures of every benchmark, on the first machine by name."""

    def __init__(self, folder: Path = FOLDER / "results") -> None:
        super().__init__()
        #: by the name of the benchmark: (figures, where and when as a line under a table) on each machine
        self.sources: dict[str, list[tuple[Any, str]]] = {}
        for path in sorted(folder.glob("*.json")):
            found = _NAME.fullmatch(path.name)
            if found is None:
                raise ValueError(f"{path.name} is not named after a benchmark and a machine")
            data = json.loads(path.read_text())
            facts = data.pop("machine")
            figures = data.get("results", data)
            on_cpu = "-core-" in found["machine"] or not facts.get("gpus")
            device = facts.get("processor", facts.get("cpu")) if on_cpu else facts["gpus"][0].split(",")[0]
            link = f"[{path.name}](../benchmarks/results/{path.name})"
            source = f"{link}: {device}, {facts['cores']} cores, gpualign {facts['gpualign']}, {facts['date']}."
            self.sources.setdefault(found["name"], []).append((figures, source))
            self.setdefault(found["name"], figures)


def value(row: Any, path: str) -> Any:
    """What stands at ``path``, keys with slashes between them; None where nothing does."""
    for key in path.split("/") if path else ():
        row = row[int(key)] if isinstance(row, list) else row.get(key)
        if row is None:
            return None
    return row


def entries(figures: Any, depth: int) -> Iterator[tuple[list[str], Row]]:
    """The rows below ``depth`` levels of names, each with its names; what is no row is left out."""
    if depth == 0:
        yield from (([], row) for row in ([figures] if isinstance(figures, dict) else figures))
        return
    for name, below in figures.items():
        if isinstance(below, dict):
            yield from (([name, *names], row) for names, row in entries(below, depth - 1))


# -- tables


def cell(content: Any, digits: int = 4) -> str:
    """``digits`` significant digits, whole numbers all of theirs; thousands with commas."""
    if content is None or isinstance(content, str):
        return content or "–"
    if isinstance(content, bool):
        return "yes" if content else "no"
    whole = isinstance(content, int) or abs(content) >= 10 ** (digits - 1)
    return f"{content:,.0f}" if whole else f"{content:.{digits}g}"


def span(values: Iterable[float], form: str = ".1f") -> str:
    ordered = sorted(values)
    low, high = f"{ordered[0]:{form}}", f"{ordered[-1]:{form}}"
    return low if low == high else f"{low} to {high}"


def table(
    results: Results, result: str, names: str, columns: str, at: str = "", note: str = "", rows: Rows | None = None
) -> str:
    """A benchmark's table for each machine, with its note and where it comes from.

    Args:
        names: heads of the columns of nested names, ``|`` between them; one without a head is not shown.
        columns: ``head = path in a row``, ``|`` between them; a head alone is its own path. ``@name`` is computed, see
            `COMPUTED`; a format may follow after a colon: significant digits, ``ms`` for seconds, ``%`` for a share.
        at: path of the figures in the result.
        rows: what makes rows of the figures where they are not plainly there.
    """
    heads = [head.strip() for head in names.split("|")] if names else []
    parts = (" ".join(column.split()).partition(" = ") for column in columns.split("|"))
    shown, paths = zip(*((head, path or head) for head, _, path in parts), strict=True)
    made = []
    for figures, source in results.sources.get(result, []):
        top = [*filter(None, heads), *shown]
        lines = [_line(top), _line("---" for _ in top)]
        for found, row in rows(figures) if rows else entries(value(figures, at), len(heads)):
            cells = [_shown(row, path) for path in paths]
            if not {"model", "profile"} & set(found) and set(cells) != {"–"}:
                lines.append(_line([*(name for name, head in zip(found, heads, strict=True) if head), *cells]))
        made.append("\n".join([*lines, "", f"{' '.join(note.split())} {source}".strip()]))
    return "\n\n".join(made)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(one.replace("|", "\\|") for one in cells) + " |"


def _shown(row: Row, path: str) -> str:
    path, _, form = path.partition(":")
    content = COMPUTED[path[1:]](row) if path.startswith("@") else value(row, path)
    if content is None:
        return cell(content)
    if form == "ms":
        return cell(1000 * content)
    return f"{content:.1%}" if form == "%" else cell(content, int(form or 4))


def _lead(row: Row) -> str:
    """How far a peer trails gpualign, in percent of the reads; two shares of the same reads (McNemar 1947)."""
    if "correct_here_alone" not in row:
        return "–"
    ours, theirs, reads = row["correct_by_gpualign_alone"], row["correct_here_alone"], row["reads"]
    error = math.sqrt(ours + theirs - (ours - theirs) ** 2 / reads)
    return f"{100 * (ours - theirs) / reads:+.3f} ± {196 * error / reads:.3f}"


def broken_promises(row: Row) -> list[int]:
    """The MAPQ levels at which more than twice as many reads are wrong as the level promises."""
    kept, wrong = row["kept_at_mapq"], row["wrong_at_mapq"]
    return [level for level in range(1, 61) if wrong[level] > 2 * 10 ** (-level / 10) * kept[level]]


def _wrong_of_kept(level: int, row: Row) -> str:
    wrong, kept, allowed = (row[f"{key}_{level}"] for key in ("wrong", "kept", "allowed"))
    return f"{wrong:,.0f}/{kept:,.0f} ({allowed:,.1f})"


def cpu_ratio(row: Row) -> float:
    return float(row["mummer"]["cpu_s"] / row["cpu"]["cpu_s"])


COMPUTED: dict[str, Callable[[Row], Any]] = {
    "lead": _lead,
    **{f"wrong {level}": partial(_wrong_of_kept, level) for level in (10, 20, 30)},
    "broken": lambda row: ", ".join(map(str, broken_promises(row))) or "none",
    "reads": lambda row: row["reads"] or None,
    "cpu ratio": cpu_ratio,
    "parasail": lambda row: max(row["parasail_gcups"].values()) if row.get("parasail_gcups") else None,
    "kind": lambda row: "alignments" if row["traceback"] else "scores",
    "symbols": lambda row: " × ".join(f"{symbols:,}" for symbols in row["letters"]),
    "checks": lambda row: len(row) - 1,
    "complaints": lambda row: ", ".join(key for key in row if row[key] != "ok" and key != "records") or "none",
}


def curves(figures: Any) -> Iterator[tuple[list[str], Row]]:
    """How many reads are wrong among as many as a peer keeps, at the level where gpualign compares worst (ROC)."""
    for (name, peer), row in entries(figures["sets"], 2):
        if peer in ("model", "gpualign"):
            continue
        own = figures["sets"][name]["gpualign"]
        kept, theirs = (np.array(row[key][1:]) for key in ("kept_at_mapq", "wrong_at_mapq"))
        ours = np.interp(kept, own["kept_at_mapq"][::-1], own["wrong_at_mapq"][::-1])
        error = 1.96 * np.sqrt(np.maximum(1, ours + theirs))  # of the difference of two counts
        worst = int(np.argmax((ours - theirs) / error))
        difference = f"{ours[worst] - theirs[worst]:+.1f} ± {error[worst]:.1f}"
        more, wrong = f"{int((ours > theirs).sum())} of {len(kept)}", round(float(ours[worst]), 1)
        counts = {"reads": int(kept[worst]), "wrong": wrong, "peer's": int(theirs[worst])}
        yield [name, peer], {"more": more, **counts, "difference": difference}


def promises(figures: Any) -> Iterator[tuple[list[str], Row]]:
    yield from ((names, row) for names, row in entries(figures["sets"], 2) if names[1] == "gpualign")


def references(figures: Any) -> Iterator[tuple[list[str], Row]]:
    """A row for each run: one genome is mapped with little memory on the device as well."""
    for (name,), one in entries(figures["references"], 1):
        for run in one["runs"]:
            yield [f"{name}, {one['bases'] / 1e6:,.0f} Mbp"], {**one, **run, **run["devices"][0]}


def cluster(figures: Any) -> Iterator[tuple[list[str], Row]]:
    """With the ratio of processor time without what a cluster costs to start."""
    commands = figures["commands"]
    start = {name: row["cpu_s"] - commands["start"]["no cluster"]["cpu_s"] for name, row in commands["start"].items()}
    for (command, name), row in entries(commands, 2):
        without = (row["cpu_s"] - start[name]) / commands[command]["no cluster"]["cpu_s"]
        yield [command, name], {**row, "without": without}


def layouts(figures: Any) -> Iterator[tuple[list[str], Row]]:
    for row in figures:
        times = {key: one.get("kernel_ms", one.get("wall_ms")) for key, one in row.items() if key != "layout"}
        yield [row["layout"]], times


# -- the figures


def ratios(results: Results) -> dict[str, dict[str, float]]:
    """How many times as fast as its peer in one run on the same machine. Mems by CPU time, as MUMmer has one thread."""
    loop, gaps = results["verification"]["near"]["ratio_to"], entries(results["gapsmis"]["cpu"], 1)
    mapped, aligned = results["map-speed"]["map"].items(), entries(results["pairwise-cpu"], 1)
    return {
        "map vs minimap2": {name: tools["gpualign"]["speed_to_minimap2"]["wall"] for name, tools in mapped},
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
    sets: dict[str, dict[str, Row]] = {}
    for name in ("map-speed", "map", "long-reads"):
        for (case, tool), row in entries(results[name]["map"], 2):
            sets.setdefault(case, {}).setdefault(tool, row)
    return sets


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
    tools = ["gpualign", "minimap2", "bwa", "bowtie2", "gpualign -e 0.12"]
    rows = [
        (case, [(row["reads_per_cpu_s"], tools.index(tool)) for tool, row in taken.items()])
        for case, taken in mapped_sets(results).items()
    ]
    picture = Picture(700, sum(12 * len(row) + 5 for _, row in rows) + 80)
    picture.legend(tools, 120, 14)
    picture.bars(rows, "reads per second of processor time", (120, 28, 500), 10)
    return picture


def points(rows: Iterable[Row], x: str, y: str, factor: float = 1) -> Points:
    return [(row[x], factor * row[y]) for row in rows]


def verification(results: Results) -> Picture:
    """Cells a second by the threads that share a pair and by query length; pairs a second with edlib's."""
    kernels, core = results["verify-kernels"], results["verify"]["core"]
    shared = [row for row in kernels["ablation"] if "blocks" not in row]
    by_query = {f"{n:,} bases": [row for row in shared if row["query"] == n] for n in (100, 250, 1000)}
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


# -- the pages


def leads(sets: dict[str, dict[str, Row]], peer: str) -> list[float]:
    """By how many percent of the reads gpualign has more of them right than a peer, in each set."""
    rows = [tools[peer] for tools in sets.values() if peer in tools]
    return [100 * (row["correct_by_gpualign_alone"] - row["correct_here_alone"]) / row["reads"] for row in rows]


def traceback_shares(gpu: dict[str, Any]) -> list[float]:
    """What tracing back on the GPU costs, of what it costs on the host."""
    rows = [row["all texts"] for (name,), row in entries(gpu, 1) if name.startswith("traceback table")]
    return [(row["gpu"] - row["alignment only"]) / (row["hybrid"] - row["alignment only"]) for row in rows]


def contents(results: Results) -> dict[Path, str]:
    """Every file that the report writes, with what is in it."""
    loader, spaces = FileSystemLoader(FOLDER / "templates"), ("trim_blocks", "lstrip_blocks", "keep_trailing_newline")
    environment = Environment(loader=loader, undefined=StrictUndefined, **dict.fromkeys(spaces, True))
    filters = (cell, span, symbols, broken_promises, cpu_ratio)
    functions = (entries, leads, mapped_sets, ratios, traceback_shares, cluster, curves, layouts, promises, references)
    environment.filters |= {one.__name__: one for one in filters}
    environment.globals |= {one.__name__: one for one in functions}
    environment.globals |= {"results": results, "table": partial(table, results)}

    def page(name: str) -> str:
        return re.sub(r"\n{3,}", "\n\n", environment.get_template(name).render()).rstrip() + "\n"

    block = page("readme.md")
    return {
        **{DOCS / "figures" / f"{name}.svg": str(figure(results)) for name, figure in FIGURES.items()},
        **{DOCS / name: page(name) for name in ("benchmarks.md", "benchmark-tables.md")},
        README: _BLOCK.sub(lambda found: f"{found[1]}{block}{found[2]}", README.read_text()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    files = contents(Results())
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if check and stale:
        sys.exit(f"not what benchmarks/results says: {', '.join(path.name for path in stale)} (run make report)")
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path])


if __name__ == "__main__":
    main()
