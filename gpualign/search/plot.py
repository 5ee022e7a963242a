"""``search --plot``: hits of each pattern by distance."""

from __future__ import annotations

import numpy as np

from gpualign.plots.drawing import new_figure, save_figure, shown_name
from gpualign.search.output import HitCounts

#: bars; those of the patterns with most hits
_MAX_PATTERNS = 60


def draw(counts: HitCounts, path: str, merged: bool) -> None:
    """A bar a pattern, stacked by distance, in the order of the patterns.

    Args:
        merged: overlapping hits are one locus.

    Raises:
        GpualignError: the file cannot be written.
    """
    import matplotlib

    most = np.argsort(-counts.hits.sum(axis=1), kind="stable")[:_MAX_PATTERNS]
    chosen = np.sort(most)
    figure = new_figure(6.5, 1.2 + 0.16 * len(chosen))
    axes = figure.add_subplot()
    left = np.zeros(len(chosen))
    colours = matplotlib.colormaps["viridis"]  # in order in black and white, too
    distances = counts.hits.shape[1]
    for distance in range(distances):
        width = counts.hits[chosen, distance]
        colour = colours(0.92 * distance / max(1, distances - 1))
        axes.barh(np.arange(len(chosen)), width, left=left, color=colour, label=str(distance))
        left += width
    axes.set_yticks(np.arange(len(chosen)), [shown_name(counts.names[i]) for i in chosen])
    axes.invert_yaxis()
    axes.set_xlabel("loci" if merged else "hits")
    all_shown = len(chosen) == len(counts.names)
    of = "" if all_shown else f", {len(chosen)} of {len(counts.names):,} with most hits"
    axes.set_title(f"{'Loci' if merged else 'Hits'} of each pattern by errors{of}")
    if distances <= 12:
        figure.legend(title="errors", frameon=False, loc="outside right upper")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save_figure(figure, path)
