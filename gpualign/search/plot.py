"""``search --plot``: hits of each pattern by distance."""

from __future__ import annotations

import numpy as np

from gpualign.plots.drawing import new_figure, save_figure, shown_name
from gpualign.search.output import HitCounts

#: bars; those of the patterns with most hits
_MAX_PATTERNS = 60
#: colours that the colour-blind can tell apart (Okabe and Ito 2008); more distances are shades with a colour bar
_COLOURS = ("#000000", "#d55e00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#cc79a7", "#999999")


def draw(counts: HitCounts, path: str, merged: bool) -> None:
    """A bar a pattern, stacked by distance, in the order of the patterns.

    Args:
        merged: overlapping hits are one locus.

    Raises:
        GpualignError: the file cannot be written.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.ticker import MaxNLocator

    most = np.argsort(-counts.hits.sum(axis=1), kind="stable")[:_MAX_PATTERNS]
    chosen = np.sort(most)
    figure = new_figure(6.5, 1.2 + 0.16 * len(chosen))
    axes = figure.add_subplot()
    left = np.zeros(len(chosen))
    distances = counts.hits.shape[1]
    shades, norm = colormaps["viridis"], Normalize(0, distances - 1)
    few = distances <= len(_COLOURS)
    for distance in range(distances):
        width = counts.hits[chosen, distance]
        colour = _COLOURS[distance] if few else shades(distance / (distances - 1))
        line = {"edgecolor": "white", "linewidth": 0.4 if few else 0}
        axes.barh(np.arange(len(chosen)), width, left=left, color=colour, label=str(distance), **line)
        left += width
    axes.set_ylim(-0.6, len(chosen) - 0.4)
    axes.set_yticks(np.arange(len(chosen)), [shown_name(counts.names[i]) for i in chosen])
    axes.invert_yaxis()
    axes.set_xlabel("loci" if merged else "hits")
    all_shown = len(chosen) == len(counts.names)
    of = "" if all_shown else f", {len(chosen)} of {len(counts.names):,} with most hits"
    axes.set_title(f"{'Loci' if merged else 'Hits'} of each pattern by errors{of}")
    if few:
        figure.legend(title="errors", frameon=False, loc="outside right upper")
    else:
        figure.colorbar(
            ScalarMappable(norm, shades), ax=axes, label="errors", aspect=30, ticks=MaxNLocator(integer=True)
        )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save_figure(figure, path)
