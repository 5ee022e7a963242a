"""Tables in notebooks."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from gpualign.tables.drawing import Drawing, operations
from gpualign.tables.row import Row

ROWS, _DRAWN = 10, 3
#: operations of a CIGAR that are shown, and characters of any other text
_OPERATIONS, _CHARACTERS = 16, 60
_COLOURS = {"X": "#d55e00", "I": "#0072b2", "D": "#0072b2", "N": "#999999", "S": "#999999", "H": "#999999"}


def short(text: str, maximum: int) -> str:
    """A text of at most ``maximum`` characters."""
    return text if len(text) <= maximum else text[: maximum - 1] + "…"


def shown(value: object) -> str:
    """A value as text."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def page(names: Sequence[str], first: Sequence[Row], count: int, draw: Callable[[Any], Drawing | None] | None) -> str:
    """The first of ``count`` rows as a table, and their alignments."""
    rows = first[:ROWS]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(_cell(name, value) for name, value in zip(names, row, strict=True))}</tr>" for row in rows
    )
    more = f"<p>{count:,} rows, of which the first {len(rows)} are shown</p>" if count > len(rows) else ""
    drawings = filter(None, map(draw, rows)) if draw is not None else ()
    alignments = "".join(drawing._repr_html_() for drawing in islice(drawings, _DRAWN))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div>{table}{more}{alignments}</div>"


def _cell(name: str, value: object) -> str:
    if name == "cigar" and isinstance(value, str) and value != "*":
        return f'<td style="text-align:left;white-space:nowrap"><code>{cigar(value)}</code></td>'
    if isinstance(value, float):
        return f"<td>{shown(value)}</td>"
    if isinstance(value, int):
        return f"<td>{value:,}</td>"
    text = value.decode("latin-1") if isinstance(value, bytes) else "" if value is None else str(value)
    return f'<td style="text-align:left">{html.escape(short(text, _CHARACTERS))}</td>'


def cigar(text: str) -> str:
    """A CIGAR with space between operations, all but matches in colour, the middle of a long one left out."""
    parts = [
        f'{length}<b style="color:{_COLOURS[kind]}">{kind}</b>' if kind in _COLOURS else f"{length}{kind}"
        for length, kind in operations(text)
    ]
    if len(parts) > _OPERATIONS:
        half = _OPERATIONS // 2
        parts = [*parts[:half], f"… {len(parts) - 2 * half:,} more …", *parts[-half:]]
    return " ".join(parts)
