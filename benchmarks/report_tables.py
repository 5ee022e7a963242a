"""A table of a result in docs/benchmark-tables.md, by its columns; and the columns that are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from report_results import cell, entries, table, value

Row = dict[str, Any]


class Table(NamedTuple):
    """One table of one result.

    Attributes:
        result: name of the benchmark.
        names: heads of the columns of nested names, ``|`` between them; one without a head is not shown.
        columns: ``head = path in a row``, ``|`` between them; a head alone is its own path. ``@name`` is computed, see
            `COMPUTED`; a format may follow after a colon: significant digits, ``ms`` for seconds, ``%`` for a share.
        at: path of the figures in the result.
        note: what a reader needs to know.
        rows: figures -> the rows, where they are not plainly there.
    """

    result: str
    names: str
    columns: str
    at: str = ""
    note: str = ""
    rows: Callable[[Any], Iterable[tuple[list[str], Row]]] | None = None

    def text(self, figures: Any) -> str:
        heads = [head.strip() for head in self.names.split("|")] if self.names else []
        shown = [index for index, head in enumerate(heads) if head]
        columns = [(head.strip(), path.strip() or head.strip()) for head, _, path in _split(self.columns)]
        rows = self.rows(figures) if self.rows else entries(value(figures, self.at), len(heads))
        lines = [
            [*(names[index] for index in shown), *(_shown(row, path) for _, path in columns)]
            for names, row in rows
            if "model" not in names and "profile" not in names
        ]
        lines = [line for line in lines if any(one != "–" for one in line[len(shown) :])]
        return table([*(heads[index] for index in shown), *(head for head, _ in columns)], lines)


def _split(columns: str) -> list[tuple[str, str, str]]:
    return [column.partition(" = ") for column in columns.split("|")]


def _shown(row: Row, path: str) -> str:
    path, _, form = path.partition(":")
    content = COMPUTED[path[1:]](row) if path.startswith("@") else value(row, path)
    if content is None:
        return cell(content)
    if form == "ms":
        return cell(1000 * content)
    return f"{content:.1%}" if form == "%" else cell(content, int(form or 4))


# -- what is computed


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


COMPUTED: dict[str, Callable[[Row], Any]] = {
    "lead": _lead,
    "broken": lambda row: ", ".join(map(str, broken_promises(row))) or "none",
    "reads": lambda row: row["reads"] or None,
    "cpu ratio": lambda row: row["mummer"]["cpu_s"] / row["cpu"]["cpu_s"],
    "parasail": lambda row: max(row["parasail_gcups"].values()) if row.get("parasail_gcups") else None,
    "kind": lambda row: "alignments" if row["traceback"] else "scores",
    "symbols": lambda row: " × ".join(f"{symbols:,}" for symbols in row["letters"]),
    "checks": lambda row: len(row) - 1,
    "complaints": lambda row: ", ".join(key for key in row if row[key] != "ok" and key != "records") or "none",
}


def curves(figures: Any) -> Iterable[tuple[list[str], Row]]:
    """How many reads are wrong among as many as a peer keeps, at the level where gpualign compares worst (ROC)."""
    for (name, peer), row in entries(figures["sets"], 2):
        if peer in ("model", "gpualign"):
            continue
        own = figures["sets"][name]["gpualign"]
        kept, theirs = (np.array(row[key][1:]) for key in ("kept_at_mapq", "wrong_at_mapq"))
        ours = np.interp(kept, own["kept_at_mapq"][::-1], own["wrong_at_mapq"][::-1])
        error = 1.96 * np.sqrt(np.maximum(1, ours + theirs))  # of the difference of two counts
        worst = int(np.argmax((ours - theirs) / error))
        yield (
            [name, peer],
            {
                "more": f"{int((ours > theirs).sum())} of {len(kept)}",
                "reads": int(kept[worst]),
                "wrong": round(float(ours[worst]), 1),
                "peer's": int(theirs[worst]),
                "difference": f"{ours[worst] - theirs[worst]:+.1f} ± {error[worst]:.1f}",
            },
        )


def promises(figures: Any) -> Iterable[tuple[list[str], Row]]:
    return ((names, row) for names, row in entries(figures["sets"], 2) if names[1] == "gpualign")


def references(figures: Any) -> Iterable[tuple[list[str], Row]]:
    """A row for each run: one genome is mapped with little memory on the device as well."""
    for (name,), one in entries(figures["references"], 1):
        for run in one["runs"]:
            yield [f"{name}, {one['bases'] / 1e6:,.0f} Mbp"], {**one, **run, **run["devices"][0]}


def cluster(figures: Any) -> Iterable[tuple[list[str], Row]]:
    """With the ratio of processor time without what a cluster costs to start."""
    commands = figures["commands"]
    start = {name: row["cpu_s"] - commands["start"]["no cluster"]["cpu_s"] for name, row in commands["start"].items()}
    for (command, name), row in entries(commands, 2):
        without = (row["cpu_s"] - start[name]) / commands[command]["no cluster"]["cpu_s"]
        yield [command, name], {**row, "without": without}


def layouts(figures: Any) -> Iterable[tuple[list[str], Row]]:
    for row in figures:
        times = {key: cell.get("kernel_ms", cell.get("wall_ms")) for key, cell in row.items() if key != "layout"}
        yield [row["layout"]], times
