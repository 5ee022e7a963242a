"""Who found how many matches of a piece: the units of work of ``cuda/mems.cu``, numbered. Pure NumPy, no device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: the kernels' own layout (TilePart)
TILE_PART = np.dtype([("tile", np.uint32), ("part", np.uint32)])
#: parts that a launch of mems_count may leave over; a tile that finds no room is done by its own warp
MOST_PARTS = 8192
#: what a launch leaves behind its counts: matches written down, parts, their counts
LEFT_OVER = np.dtype(
    [
        ("found", np.uint64),
        ("part_count", np.uint32),
        ("unused", np.uint32),
        ("parts", TILE_PART, MOST_PARTS),
        ("counts", np.uint32, MOST_PARTS),
    ]
)


@dataclass(frozen=True)
class Units:
    """The matches of each unit: of the tiles, as far as a tile's own warp went, and behind them of parts of tiles.

    Attributes:
        tiles: how many.
        tile_offsets: int64 (tiles + 1,), the number of each tile's first match.
        offsets: int64 (units,), the number of each unit's first match.
        counts: uint32 (units,), matches of each.
    """

    tiles: int
    tile_offsets: NDArray[np.int64]
    offsets: NDArray[np.int64]
    counts: NDArray[np.uint32]


def number_units(tile_counts: NDArray[np.uint32], left_over: NDArray[np.void]) -> Units:
    """Number the matches: tile by tile, in a tile its warp's first, then part by part.

    Args:
        tile_counts: uint32 (tiles,).
        left_over: LEFT_OVER (1,).
    """
    tiles = len(tile_counts)
    parts, part_counts = left_over["parts"][0], left_over["counts"][0]
    used = np.flatnonzero(parts["part"])
    used = used[np.lexsort((parts["part"][used], parts["tile"][used]))]
    tile = parts["tile"][used]
    totals = tile_counts.astype(np.int64)
    np.add.at(totals, tile, part_counts[used])
    tile_offsets = np.zeros(tiles + 1, np.int64)
    np.cumsum(totals, out=tile_offsets[1:])
    units = tiles + int(used.max(initial=-1)) + 1
    offsets, counts = np.zeros(units, np.int64), np.zeros(units, np.uint32)
    offsets[:tiles], counts[:tiles] = tile_offsets[:-1], tile_counts
    before = np.cumsum(part_counts[used], dtype=np.int64) - part_counts[used]
    first = np.searchsorted(tile, tile)  # of the same tile
    offsets[tiles + used] = tile_offsets[tile] + tile_counts[tile] + before - before[first]
    counts[tiles + used] = part_counts[used]
    return Units(tiles, tile_offsets, offsets, counts)
