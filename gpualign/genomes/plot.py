"""``align --dotplot``: where the alignments of two genomes lie, with the query's records in the reference's order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import counted
from gpualign.genomes.blocks import Comparison
from gpualign.plots.dots import COLOURS, Side, add_legend, draw_segments
from gpualign.plots.drawing import new_figure, save_figure
from gpualign.sequences.offsets import offsets_of

#: alignments that are drawn, the longest
_MAX_DRAWN = 20_000


def draw(comparison: Comparison, path: str) -> None:
    """Draw into a .png or .svg file."""
    reference, query, blocks = comparison.reference, comparison.query, comparison.blocks
    order = _query_order(comparison)
    begins = offsets_of(reference.lengths)
    query_begins = np.empty(len(order), np.int64)
    query_begins[order] = offsets_of(query.lengths[order])[:-1]
    chosen = np.argsort(blocks.reference_start - blocks.reference_end, kind="stable")[:_MAX_DRAWN]
    shown = blocks.take(chosen)
    figure = new_figure(7.0, 7.0)
    axes = figure.subplots()
    left = begins[shown.reference] + shown.reference_start
    right = begins[shown.reference] + shown.reference_end
    low, high = query_begins[shown.query] + shown.query_start, query_begins[shown.query] + shown.query_end
    for reverse, (name, colour) in enumerate(COLOURS.items()):
        here = shown.reverse == bool(reverse)
        ends = (high[here], low[here]) if reverse else (low[here], high[here])
        if here.any():
            draw_segments(axes, left[here], right[here], *ends, colour, name)
    sides = (
        Side(_as_text(reference.names), reference.lengths.tolist(), int(reference.lengths.sum())),
        Side(_as_text([query.names[i] for i in order]), query.lengths[order].tolist(), int(query.lengths.sum())),
    )
    sides[0].mark(axes.axvline, axes.xaxis, axes.set_xlim, "reference")
    sides[1].mark(axes.axhline, axes.yaxis, axes.set_ylim, "query")
    part = f"the {len(shown):,} longest of " if len(shown) < len(blocks) else ""
    axes.set_title(f"{part}{counted(len(blocks), 'alignment')}")
    add_legend(figure)
    save_figure(figure, path)


def _query_order(comparison: Comparison) -> NDArray[np.int64]:
    """Numbers of the query's records by the middle of each one's longest alignment; those without one at the end."""
    blocks, query = comparison.blocks, comparison.query
    middle = np.full(len(query.names), np.inf)
    by_length = np.argsort(blocks.query_end - blocks.query_start, kind="stable")  # the longest one stays
    positions = (
        offsets_of(comparison.reference.lengths)[blocks.reference] + (blocks.reference_start + blocks.reference_end) / 2
    )
    middle[blocks.query[by_length]] = positions[by_length]
    return np.argsort(middle, kind="stable")


def _as_text(names: Sequence[str]) -> list[str]:
    """Names for a picture; a file's bytes may be UTF-8."""
    return [name.encode("latin-1").decode("utf-8", "replace") for name in names]
