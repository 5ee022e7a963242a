"""Tables and numbers as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def number(value: float | None, digits: int = 3) -> str:
    """``digits`` significant digits, whole numbers all of theirs; thousands with commas."""
    if value is None:
        return "–"
    whole = isinstance(value, int) or abs(value) >= 10 ** (digits - 1)
    return f"{value:,.0f}" if whole else f"{value:.{digits}g}"


def dicts(figures: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """The entries that are rows of their own."""
    return ((name, row) for name, row in figures.items() if isinstance(row, dict))


def copies_hidden(device: dict[str, Any]) -> str:
    """A sentence on how much of a device's copying cost time."""
    if "copies_hidden" not in device:
        return ""
    return (
        f" Of the seconds in which something was copied, {device['copies_hidden']:.0%} or more cost nothing: a kernel "
        "ran as well, or a thread of the host had work of its own."
    )
