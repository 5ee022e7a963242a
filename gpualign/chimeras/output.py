"""The table of `chimeras`: vsearch's --uchimeout."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.batch import SequenceBatch
from gpualign.text.table_output import Kind

#: by verdict
FLAGS = ("N", "N", "N", "?", "Y")
_TEXTS = ("query", "parent_a", "parent_b", "parent")
_NUMBERS = ("qm", "qa", "qb", "ab", "qt")
_VOTES = ("ly", "ln", "la", "ry", "rn", "ra")


def columns_of() -> dict[str, Kind]:
    """Names of the table's columns and what they hold."""
    columns: dict[str, Kind] = {"score": "number", **dict.fromkeys(_TEXTS, "text"), **dict.fromkeys(_NUMBERS, "number")}
    return columns | dict.fromkeys(_VOTES, "integer") | {"div": "number", "flag": "text"}


def rows_of(
    batch: SequenceBatch,
    query: NDArray[np.int64],
    verdict: NDArray[np.uint8],
    score: NDArray[np.float64],
    parents: NDArray[np.int32],
    columns: NDArray[np.int32],
    matches: NDArray[np.int32],
    votes: NDArray[np.int32],
) -> bytes:
    """A row for each query; the arguments after ``batch`` are the fields of :class:`Judged`."""
    lines = []
    percent = 100 * matches / np.maximum(columns, 1)[:, None]
    nearer = np.maximum(percent[:, 1], percent[:, 2])
    for i, q in enumerate(query.tolist()):
        fields = [f"{score[i]:.4f}", batch.name(q)]
        if parents[i, 0] < 0:
            fields += ["*"] * 8 + ["0"] * 6 + ["*"]
        else:
            a, b = (batch.name(int(parent)) for parent in parents[i])
            shown = [*percent[i], nearer[i]]
            fields += [a, b, a if matches[i, 1] >= matches[i, 2] else b, *(f"{value:.1f}" for value in shown)]
            fields += [*map(str, votes[i].tolist()), f"{percent[i, 0] - nearer[i]:.1f}"]
        lines.append("\t".join([*fields, FLAGS[verdict[i]]]))
    return "".join(line + "\n" for line in lines).encode("latin-1")
