"""Dot plots: segments along two sequences of records, with the records' borders and names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.plots.drawing import shown_name

#: records between which borders are drawn, at most
MAX_BORDERS = 500
#: records are named that take at least this share of a side
MIN_NAMED = 0.03
#: colours of the strands, which colour-blind readers can tell apart
COLOURS = {"forward": "#0072b2", "reverse": "#d55e00"}


def draw_segments(
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


def add_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colour, label=name) for name, colour in COLOURS.items()]
    figure.legend(handles=lines, loc="outside lower right", ncols=len(lines), frameon=False)


class Side:
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
