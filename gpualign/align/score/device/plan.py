"""Assigns pairs to kernels by their lengths, their number, traceback or not, and memory. Pure NumPy.

Each kernel has a rate with the whole device busy and one with a single warp of it; the time of a list of pairs is the
longer of its cells at the first and its longest task at the second. LazyRScan and RScan give a warp 64 pairs (32 in
wide words) and need thousands of pairs to fill a device; DScan and TiledDScan give a warp one strip of one pair. Pairs
whose directions are more than the device holds, and a few long ones, are aligned part by part (``pairwise_long``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.tuning import PAIRWISE
from gpualign.sequences.offsets import offsets_of, positions_of

#: columns of a strip of TiledDScan and of DScan
TILED_COLUMNS, DSCAN_COLUMNS = 1024, 512
#: bytes of directions that DScan keeps for a row of a strip
DIRECTION_BYTES = 256
#: of the kernels by strips
_WARPS_OF_BLOCK = 2
#: with more pairs only a sample is examined: a device waits meanwhile, and a plan does not affect results
SAMPLE = 1 << 12

Symbols = TypeVar("Symbols", int, NDArray[np.int64])


@dataclass(frozen=True)
class Workload:
    """Some pairs as the planner sees them.

    Attributes:
        n, m: int64 (p,), symbols of query and target.
        cells: int64 (p,), cells of the band, which a thread-per-pair kernel computes.
        lanes: alignments a thread in such a kernel, 2 or 1.
        affine: gaps have an opening cost.
        weight: pairs for which each of these stands.
    """

    n: NDArray[np.int64]
    m: NDArray[np.int64]
    cells: NDArray[np.int64]
    lanes: int
    affine: bool
    weight: float = 1.0

    @classmethod
    def of_scores(cls, n: NDArray[np.int32], m: NDArray[np.int32], lanes: int, affine: bool) -> Workload:
        """Whole tables, of many pairs a sample and the longest query with the longest target."""
        step = -(-len(n) // SAMPLE)
        if step > 1:
            n, m = (np.append(every[::step], every.max()) for every in (n, m))
        rows, columns = n.astype(np.int64), m.astype(np.int64)
        return cls(rows, columns, rows * columns, lanes, affine, step)

    def _thread_seconds(self, rate: float, warp_rate: float) -> float:
        slow = (1.6 if self.affine else 1.0) * (1 if self.lanes == 2 else 2)
        longest = float(self.cells.max()) * 32 * self.lanes
        return slow * max(self.weight * float(self.cells.sum()) / rate, longest / warp_rate)

    def lane_seconds(self, rate: float, warp_rate: float) -> float:
        """For scores with a query spread over the lanes of a group."""
        cells = (self.n * self.m).astype(np.float64)
        return max(self.weight * float(cells.sum()) / rate, float(cells.max()) / warp_rate)

    def _strip_seconds(self, rate: float, warp_rate: float, columns: int) -> float:
        slow = 1.5 if self.affine else 1.0
        full = (self.n * self.m).astype(np.float64)
        strips = np.maximum(np.ceil(self.m / columns), 1)
        # a warp's strip costs the same however few of its columns are used, and its last lane starts 31 rows late
        padded = (self.n + 31) * strips * columns
        longest = float((full / np.minimum(strips, PAIRWISE.warps)).max())
        return slow * max(self.weight * float(padded.sum()) / rate, longest / warp_rate)

    def take(self, where: NDArray[np.bool_]) -> Workload:
        """The chosen pairs alone."""
        return replace(self, n=self.n[where], m=self.m[where], cells=self.cells[where])

    def parts_pay(self) -> bool:
        """Whether parts, one pair after the other with a warp's walk, take less time than DScan with a thread's."""
        rates, symbols = PAIRWISE, self.n + self.m
        by_strips = self._strip_seconds(rates.dscan_rate, rates.dscan_warp_rate, DSCAN_COLUMNS)
        by_strips += rates.dscan_symbol_s * float(symbols.max())
        by_parts = rates.round_s * len(self.n) + rates.part_symbol_s * float(symbols.sum())
        for long in np.flatnonzero(np.maximum(self.n, self.m) > rates.part_symbols):
            alone = self.take(np.arange(len(self.n)) == long)
            by_parts += alone._strip_seconds(rates.tiled_rate, rates.tiled_warp_rate, TILED_COLUMNS)
        return by_parts < by_strips


def scores_by_strips(work: Workload, forced: str, lanes: bool = False) -> bool:
    """TiledDScan rather than LazyRScan, or than groups of lanes where there are kernels for them."""
    if forced in ("lazy", "lanes", "tiled"):
        return forced == "tiled"
    rates = PAIRWISE
    by_threads = (
        work.lane_seconds(rates.lanes_rate, rates.lanes_warp_rate)
        if lanes
        else work._thread_seconds(rates.lazy_rate, rates.lazy_warp_rate)
    )
    return work._strip_seconds(rates.tiled_rate, rates.tiled_warp_rate, TILED_COLUMNS) < by_threads


def aligns_by_strips(work: Workload, forced: str) -> bool:
    """DScan rather than RScan."""
    if forced in ("rscan", "dscan"):
        return forced == "dscan"
    rates = PAIRWISE
    by_threads = work._thread_seconds(rates.rscan_rate, rates.rscan_warp_rate)
    return work._strip_seconds(rates.dscan_rate, rates.dscan_warp_rate, DSCAN_COLUMNS) < by_threads


def ways_to_align(work: Workload, forced: str, memory: int, from_corners: bool = True) -> NDArray[np.str_]:
    """The kernel of each pair: "threads" (RScan, corners only), "strips" (DScan), "parts" (TiledDScan) or "cores".

    Args:
        memory: bytes of directions that the device holds.
    """
    by_thread = (work.cells <= PAIRWISE.max_cells_per_thread) & from_corners
    strips = aligns_by_strips(work, forced) | ~by_thread
    strips &= direction_bytes(work.n, work.m) <= memory
    # a core computes no more than the band
    parts = work.cells / PAIRWISE.core_rate > work.n * work.m / PAIRWISE.tiled_rate
    if forced == "auto" and strips.any() and work.take(strips).parts_pay():
        parts, by_thread, strips = parts | strips, by_thread & ~strips, np.zeros_like(strips)
    if forced in ("lazy", "lanes", "rscan"):
        strips[:], parts[:] = False, False
    if forced == "tiled":
        parts[:], strips[:], by_thread[:] = True, False, False
    empty = (work.n == 0) | (work.m == 0)
    return np.select([empty, strips, by_thread, parts], ["cores", "strips", "threads", "parts"], "cores")


def direction_bytes(n: Symbols, m: Symbols) -> Symbols:
    """Bytes of the directions that DScan keeps."""
    return -(-m // DSCAN_COLUMNS) * (n + 31) * DIRECTION_BYTES


def affordable_symbols(symbols: int, memory: int) -> int:
    """Rows and columns, ``symbols`` or fewer, of a part of a long pair's table whose directions fit."""
    while symbols > TILED_COLUMNS and direction_bytes(symbols, symbols) > memory * PAIRWISE.part_share:
        symbols -= TILED_COLUMNS
    return symbols


def kept_bytes(n: int, m: int, spacing: int) -> tuple[int, int]:
    """Bytes of the rows and columns that are kept ``spacing`` symbols apart, eight a cell."""
    return 8 * (n // spacing) * (m + 1), 8 * (-(-m // TILED_COLUMNS) // (spacing // TILED_COLUMNS)) * n


def part_spacing(n: int, m: int, budget: int, minimum: int) -> int | None:
    """The smallest spacing, ``minimum`` or more, with which what is kept of a table takes ``budget`` bytes at most;
    None where that cuts it nowhere.
    """
    spacing = max(minimum, 16 * n * m // max(budget, 1) // 2 // TILED_COLUMNS * TILED_COLUMNS)
    while spacing < max(n, m):
        if sum(kept_bytes(n, m, spacing)) <= budget:
            return spacing
        spacing += TILED_COLUMNS
    return None


def ring_of(blocks: int, rows: int, strips: int, available: int) -> tuple[int, int]:
    """Blocks for ``strips`` strips, and borders of ``rows`` rows that they use in turn, in ``available`` bytes, if
    possible.
    """
    ring = max(4, min(blocks * _WARPS_OF_BLOCK + 4, available // (8 * rows), strips + 1))
    return max(1, min(blocks, ring // _WARPS_OF_BLOCK, -(-strips // _WARPS_OF_BLOCK))), ring


def strip_tasks(
    queries: NDArray[np.int32],
    targets: NDArray[np.int32],
    n: NDArray[np.int64],
    m: NDArray[np.int64],
    task: np.dtype[np.void],
    columns: int,
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """All strips of ``columns`` columns of all pairs in order (fields of ``task``), and int64 (p + 1,) where each
    pair's directions begin, in words.
    """
    strips = -(-m // columns)
    words = strips * (n + 31) * (DIRECTION_BYTES // 4)
    starts = offsets_of(words)
    pair = np.repeat(np.arange(len(n)), strips)
    strip = positions_of(0, strips)
    tasks = np.zeros(len(pair), task)
    tasks["query"], tasks["target"] = queries[pair], targets[pair]
    tasks["strip"], tasks["pair"] = strip, pair
    tasks["directions_at"] = starts[pair] + strip * (n[pair] + 31) * (DIRECTION_BYTES // 4)
    return tasks, starts
