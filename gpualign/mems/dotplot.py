"""``mems --dotplot``: the matches between a reference and its queries, of bounded size."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import counted
from gpualign.plots.drawing import new_figure, save_figure, shown_name
from gpualign.seeds.matches.cpu import Dots
from gpualign.seeds.matches.queries import QueryText
from gpualign.sequences.reference import Reference

#: matches that are drawn
MAX_DOTS = 20_000
#: borders are drawn between up to so many records
MAX_BORDERS = 500
#: records are named that take at least this share of a side
MIN_NAMED = 0.03
#: colours of the strands, which colour-blind readers can tell apart
COLOURS = {"forward": "#0072b2", "reverse": "#d55e00"}


class DotPlot:
    """The longest matches, whatever the number of all; equal lengths by query position, then reference position.

    Args:
        reference: the columns; rows are the queries, end to end in the order in which they come.
        min_length: of the matches, for the title.
    """

    def __init__(self, reference: Reference, min_length: int) -> None:
        self._min_length = min_length
        self._columns = _Side(reference.names, reference.lengths.tolist(), reference.bases)
        self._rows = _Side([], [], 0)
        self._kept = [np.empty(0, np.int64) for _ in range(4)]
        self.total = self._shortest = 0

    def add(self, dots: Dots, bases_before: int) -> None:
        """Take matches of a batch; ``bases_before`` it among the queries."""
        self.total += len(dots.lengths)
        long = dots.lengths >= self._shortest
        new: tuple[NDArray[Any], ...] = (dots.queries + bases_before, dots.references, dots.lengths, dots.reverse)
        columns = zip(self._kept, new, strict=True)
        self._kept = [np.concatenate([old, part[long].astype(np.int64)]) for old, part in columns]
        if len(self._kept[0]) > 4 * MAX_DOTS:
            self._kept = list(self.longest())
            self._shortest = int(self._kept[2][-1])

    def add_records(self, source: QueryText) -> None:
        """Take the records of a batch, in order."""
        names: list[str] = []
        if self._rows.count + source.records <= MAX_BORDERS:
            text, ends = source.names.tobytes().decode("latin-1"), source.name_offsets.tolist()
            names = [text[begin:end] for begin, end in itertools.pairwise(ends)]
        self._rows.add(names, source.text.lengths().tolist() if names else [], source.records, source.bases)

    def longest(self) -> tuple[NDArray[np.int64], ...]:
        """int64 columns of at most MAX_DOTS matches: query and reference position, length, 1 where reverse."""
        queries, references, lengths, reverse = self._kept
        order = np.lexsort((reverse, references, queries, -lengths))[:MAX_DOTS]
        return queries[order], references[order], lengths[order], reverse[order]

    def save(self, path: str) -> None:
        """Draw into a .png or .svg file."""
        figure = new_figure(7.0, 7.0)
        axes = figure.subplots()
        queries, references, lengths, reverse = self.longest()
        for strand, (name, colour) in enumerate(COLOURS.items()):
            those = reverse == strand
            left, length = references[those], lengths[those]
            low, high = queries[those], queries[those] + length
            ends = (high, low) if strand else (low, high)
            if those.any():
                _draw_segments(axes, left, left + length, *ends, colour, name)
        self._columns.mark(axes.axvline, axes.xaxis, axes.set_xlim, "reference")
        self._rows.mark(axes.axhline, axes.yaxis, axes.set_ylim, "query")
        shown = f"the {len(queries):,} longest of " if len(queries) < self.total else ""
        axes.set_title(
            f"{shown}{counted(self.total, 'match', 'matches')} of {counted(self._min_length, 'base')} or more"
        )
        _add_legend(figure)
        save_figure(figure, path)


def _draw_segments(
    axes: Any,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    colour: str,
    name: str,
) -> None:
    """All segments as one path, which is small in SVG; a short one still shows as the dot of its round ends."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ends = np.stack([left, first, right, last], axis=1).reshape(-1, 2).astype(float)
    path = Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(left)))
    path.should_simplify = False
    axes.add_patch(PathPatch(path, fill=False, edgecolor=colour, lw=1.2, capstyle="round", gid=name))


def _add_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colour, label=name) for name, colour in COLOURS.items()]
    figure.legend(handles=lines, loc="outside lower right", ncols=len(lines), frameon=False)


class _Side:
    """The records along one axis; beyond MAX_BORDERS only how many bases they have."""

    def __init__(self, names: list[str], lengths: list[int], bases: int) -> None:
        self.names, self.lengths, self.count, self.bases = names, lengths, len(names), bases

    def add(self, names: list[str], lengths: list[int], count: int, bases: int) -> None:
        self.count += count
        self.bases += bases
        if self.count > MAX_BORDERS:
            self.names, self.lengths = [], []
        else:
            self.names += names
            self.lengths += lengths

    def mark(self, draw_border: Any, axis: Any, set_limits: Any, what: str) -> None:
        from matplotlib.ticker import EngFormatter

        set_limits(0, max(self.bases, 1))
        if self.count == 1 or not 0 < self.count <= MAX_BORDERS:
            axis.set_major_formatter(EngFormatter("b"))
            axis.set_label_text(shown_name(self.names[0]) if self.count == 1 else f"{what}, {self.count:,} records")
            return
        ends = np.cumsum(self.lengths)
        for border in ends[:-1].tolist():
            draw_border(border, color="#bbbbbb", lw=0.5, zorder=0)
        named = [i for i, length in enumerate(self.lengths) if length >= MIN_NAMED * self.bases]
        middles = [float(ends[i] - self.lengths[i] / 2) for i in named]
        axis.set_ticks(middles, labels=[shown_name(self.names[i]) for i in named])
        axis.set_tick_params(length=0, labelrotation=90 if what == "reference" and len(named) > 5 else 0)
        axis.set_label_text(what)
