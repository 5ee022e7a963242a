"""``cluster --plot``: the clusters' sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.plots.drawing import new_figure, save_figure


def draw(sizes: NDArray[np.int64], path: str) -> None:
    """Size by rank, both on logarithmic axes.

    Raises:
        GpualignError: the file cannot be written.
    """
    figure = new_figure(5.0, 3.6)
    axes = figure.add_subplot()
    ordered = np.sort(sizes)[::-1]
    axes.step(np.arange(1, len(ordered) + 1), ordered, where="mid", color="0.2")
    if len(ordered):
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("rank of the cluster")
    axes.set_ylabel("size")
    axes.set_title(f"{len(sizes):,} clusters, {int((sizes == 1).sum()):,} of size 1")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save_figure(figure, path)
