"""An alignment as three lines: the query, what matches, the target."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPERATION = re.compile(r"(\d+)([MIDNSHP=X])")
#: columns of a block, and blocks that are drawn of a long alignment
_WIDTH, _BLOCKS = 80, 40
_COLOURS = {".": "#d55e00", "-": "#0072b2", "~": "#999999"}


def operations(cigar: str) -> list[tuple[int, str]]:
    """Lengths and operations of a CIGAR."""
    return [(int(length), operation) for length, operation in _OPERATION.findall(cigar)]


def _coloured(run: re.Match[str]) -> str:
    return f'<b style="color:{_COLOURS[run[0][0]]}">{run[0]}</b>'


@dataclass(frozen=True)
class Drawing:
    """An alignment, to be printed or shown in a notebook.

    Attributes:
        query, target: their symbols from where the CIGAR begins, clipped ones of the query with it; the query as it was
            aligned, so its reverse complement on the minus strand.
        cigar: M, =, X, I (consumes the query), D or N, S, H.
        query_name, target_name: what to call them.
        query_start, target_start: 0-based position of the first symbol on the forward strand.
        minus: the query's reverse complement is drawn; its positions decrease. ``query_start`` is then the end of it.
    """

    query: bytes
    target: bytes
    cigar: str
    query_name: str = "query"
    target_name: str = "target"
    query_start: int = 0
    target_start: int = 0
    minus: bool = False

    def lines(self) -> tuple[str, str, str]:
        """The three lines, whole: ``|`` equal, ``.`` different, ``-`` a gap, ``~`` skipped; no clipped symbols."""
        query, target = self.query.decode("latin-1"), self.target.decode("latin-1")
        rows: tuple[list[str], list[str], list[str]] = ([], [], [])
        i = j = 0
        for length, kind in operations(self.cigar):
            if kind in "M=X":
                first, second = query[i : i + length], target[j : j + length]
                marks = "".join("|" if a.upper() == b.upper() else "." for a, b in zip(first, second, strict=False))
                parts = (first, marks, second)
            elif kind == "I":
                parts = (query[i : i + length], "-" * length, "-" * length)
            elif kind in "DN":
                parts = ("-" * length, ("-" if kind == "D" else "~") * length, target[j : j + length])
            else:
                parts = ("", "", "")
            for row, part in zip(rows, parts, strict=True):
                row.append(part)
            i += length if kind in "M=XIS" else 0
            j += length if kind in "M=XDN" else 0
        return "".join(rows[0]), "".join(rows[1]), "".join(rows[2])

    def _blocks(self, width: int) -> Iterator[tuple[str, str, str, tuple[int, int, int, int]]]:
        """Pieces of the lines, with the 1-based first and last positions of query and target."""
        lines = self.lines()
        clip = re.match(r"(?:\d+H)?(\d+)S", self.cigar)
        step = -1 if self.minus else 1
        query, target = self.query_start + step * int(clip[1] if clip else 0), self.target_start
        for start in range(0, len(lines[1]), width):
            first, marks, second = (line[start : start + width] for line in lines)
            bases, others = len(first) - first.count("-"), len(second) - second.count("-")
            positions = (query + 1, query + bases) if step > 0 else (query, query - bases + 1)
            yield first, marks, second, (*positions, target + 1, target + others)
            query, target = query + step * bases, target + others

    def _drawn(self, width: int) -> Iterator[tuple[str, str, str]]:
        names = [self.query_name, self.target_name]
        name_width = max(map(len, names))
        last = self.query_start + (0 if self.minus else len(self.query)), self.target_start + len(self.target)
        digits = len(str(max(last)))
        for count, (first, marks, second, positions) in enumerate(self._blocks(width)):
            if count == _BLOCKS:
                yield "...", "", ""
                return
            yield (
                f"{names[0]:<{name_width}}  {positions[0]:>{digits}} {first} {positions[1]}",
                f"{'':<{name_width}}  {'':>{digits}} {marks}",
                f"{names[1]:<{name_width}}  {positions[2]:>{digits}} {second} {positions[3]}",
            )

    def text(self, width: int = _WIDTH) -> str:
        """Blocks of ``width`` columns with 1-based positions at both ends."""
        blocks = ["\n".join(part for part in block if part) for block in self._drawn(width)]
        return "\n\n".join(blocks)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        blocks = []
        for first, marks, second in self._drawn(_WIDTH):
            lines = (html.escape(first), re.sub(r"\.+|-+|~+", _coloured, marks), html.escape(second))
            blocks.append("\n".join(filter(None, lines)))
        text = "\n\n".join(blocks)
        return f'<pre style="line-height:1.15">{text}</pre>'
