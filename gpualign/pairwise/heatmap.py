"""``pairwise --plot``: the identities of all pairs as a heat map of bounded size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.alignments import Measures, PairAlignments
from gpualign.plots.drawing import new_figure, save_figure, shown_name

#: cells along a side; more sequences share a cell, which shows their mean
MAX_CELLS = 800
#: names are written next to the map up to this many sequences
MAX_NAMES = 50


class Heatmap:
    """Mean identities in a grid of at most ``MAX_CELLS`` squared, whatever the number of sequences.

    Args:
        queries, targets: names; rows and columns.
        one_set: queries and targets are the same: the map is symmetric, and a sequence is identical to itself.
        mode, definition: of the alignments' identity.
    """

    def __init__(self, queries: list[str], targets: list[str], one_set: bool, mode: str, definition: int) -> None:
        self.queries, self.targets, self.one_set = queries, targets, one_set
        self.mode, self.definition = mode, definition
        self._shape = (min(len(queries), MAX_CELLS), min(len(targets), MAX_CELLS))
        cells = self._shape[0] * self._shape[1]
        self._sums, self._counts = np.zeros(cells), np.zeros(cells, np.int64)
        if one_set:
            every = np.arange(len(queries), dtype=np.int64)
            self._add(every, every, np.ones(len(queries)))

    def add(self, alignments: PairAlignments) -> None:
        """Take a block of pairs; pairs that never come stay blank."""
        if not len(alignments):
            return
        identity = Measures(alignments, self.mode).identity(self.definition)
        query, target = alignments.query.astype(np.int64), alignments.target.astype(np.int64)
        other = query != target if self.one_set else np.ones(len(query), bool)
        self._add(query[other], target[other], identity[other])
        if self.one_set:
            self._add(target[other], query[other], identity[other])

    def _add(self, query: NDArray[np.int64], target: NDArray[np.int64], identity: NDArray[np.float64]) -> None:
        rows, columns = self._shape
        cell = query * rows // len(self.queries) * columns + target * columns // len(self.targets)
        np.add.at(self._sums, cell, identity)
        np.add.at(self._counts, cell, 1)

    def values(self) -> NDArray[np.float64]:
        """float64 (rows, columns): mean identity of a cell's pairs in percent; NaN where there is none."""
        with np.errstate(invalid="ignore"):
            return (100 * self._sums / np.where(self._counts, self._counts, np.nan)).reshape(self._shape)

    def save(self, path: str) -> None:
        """Draw the map into a .png or .svg file."""
        named = max(len(self.queries), len(self.targets)) <= MAX_NAMES
        side = max(3.5, min(10.0, 2.0 + 0.16 * max(self._shape))) if named else 6.5
        figure = new_figure(side + 1.0, side)
        axes = figure.subplots()
        values = self.values()
        lowest = float(np.nanmin(values)) if np.isfinite(values).any() else 0.0
        extent = (0.5, len(self.targets) + 0.5, len(self.queries) + 0.5, 0.5)
        if values.size:
            image = axes.imshow(
                values, cmap="viridis", vmin=lowest, vmax=100.0, extent=extent, interpolation="nearest", aspect="auto"
            )
            figure.colorbar(image, ax=axes, label="identity, %")
        axes.set_facecolor("#dddddd")  # pairs that were not aligned, or not kept
        if named:
            axes.set_xticks(range(1, len(self.targets) + 1), labels=list(map(shown_name, self.targets)), rotation=90)
            axes.set_yticks(range(1, len(self.queries) + 1), labels=list(map(shown_name, self.queries)))
        else:
            axes.set_xlabel("target, number in the file")
            axes.set_ylabel("query, number in the file")
        save_figure(figure, path)
