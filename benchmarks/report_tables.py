"""The results of all benchmarks, and tables of them: a row's figures as cells, and what is computed of a row."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results"
#: a benchmark and what harness.slug makes of a machine: "2-core-xeon", "h200"
_NAME = re.compile(r"(?P<name>.+?)-(?P<machine>\d+-core-[a-z0-9_]+|[a-z]+[0-9][a-z0-9-]*)\.json")
Row = dict[str, Any]
Rows = Callable[[Any], Iterator[tuple[list[str], Row]]]


# -- results


class Results(dict[str, Any]):
    """The figures of every benchmark, on the first machine by name."""

    def __init__(self, folder: Path = RESULTS) -> None:
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
        if len(lines) > 2:
            made.append("\n".join([*lines, "", f"{' '.join(note.split())} {source}".strip()]))
    return "\n\n".join(made)


def grid(rows: list[list[str]]) -> str:
    """A table that a result holds as the page shows it, its heads first."""
    heads, *below = rows
    return "\n".join(_line(row) for row in (heads, ["---"] * len(heads), *below))


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


def copmem_ratio(row: Row) -> float:
    return float(row["copmem2"]["cpu_s"] / row["cpu"]["cpu_s"])


def two_gpus(rows: Row) -> list[float]:
    """How many times as fast two are as one, once begun, in each case."""
    cases = {name: name.replace("cuda:0,1", "cuda:0") for name in rows if name.startswith("cuda:0,1")}
    return [
        round(rate / one, 2)
        for two, own in cases.items()
        if (rate := rows[two].get("once_begun")) and (one := rows[own].get("once_begun"))
    ]


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


def cluster(figures: Any) -> Iterator[tuple[list[str], Row]]:
    """With the ratio of processor time without what a cluster costs to start."""
    commands = figures["commands"]
    start = {name: row["cpu_s"] - commands["start"]["no cluster"]["cpu_s"] for name, row in commands["start"].items()}
    for (command, name), row in entries(commands, 2):
        without = (row["cpu_s"] - start[name]) / commands[command]["no cluster"]["cpu_s"]
        yield [command, name], {**row, "without": without}
