"""``mems --dotplot``: the matches between a reference and its queries, of bounded size."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import counted
from gpualign.plots.dots import COLOURS, MAX_BORDERS, Side, add_legend, draw_segments
from gpualign.plots.drawing import new_figure, save_figure
from gpualign.seeds.matches.cpu import Dots
from gpualign.seeds.matches.queries import QueryText
from gpualign.sequences.reference import Reference

#: matches that are drawn
MAX_DOTS = 20_000


class DotPlot:
    """The longest matches, whatever the number of all; equal lengths by query position, then reference position.

    Args:
        reference: the columns; rows are the queries, end to end in the order in which they come.
        min_length: of the matches, for the title.
    """

    def __init__(self, reference: Reference, min_length: int) -> None:
        self._min_length = min_length
        self._columns = Side(reference.names, reference.lengths.tolist(), reference.bases)
        self._rows = Side([], [], 0)
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
                draw_segments(axes, left, left + length, *ends, colour, name)
        self._columns.mark(axes.axvline, axes.xaxis, axes.set_xlim, "reference")
        self._rows.mark(axes.axhline, axes.yaxis, axes.set_ylim, "query")
        shown = f"the {len(queries):,} longest of " if len(queries) < self.total else ""
        axes.set_title(
            f"{shown}{counted(self.total, 'match', 'matches')} of {counted(self._min_length, 'base')} or more"
        )
        add_legend(figure)
        save_figure(figure, path)
