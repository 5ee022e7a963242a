"""Divides the pairs of a block into warps' tasks for the kernels of ``cuda/pairwise.cu``: pure NumPy, no device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.align.pair_tasks import WARP
from gpualign.align.score.device.plan import SAMPLE
from gpualign.run.abi import struct
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.offsets import cut_by_size, offsets_of

TRACE_TASK, STRIP_TASK = struct("TraceTask"), struct("StripTask")
TRACE_RESULT, ALIGNMENT_END = struct("TraceResult"), struct("AlignmentEnd")

#: columns of a strip of RScan, rows between the rows it keeps
TRACE_COLUMNS, TRACE_ROWS = 16, 16
#: 64 scores of a byte, or as many symbols of a gap, and the openings of a few gaps are less than half a word holds
_MAX_OPENING, _MAX_EXTENSION = 4000, 127
#: sequences differ by more than this share of their mean length: pairs are sorted by length first
_UNEVEN = 0.05


@dataclass(frozen=True)
class Arithmetic:
    """The words a kernel computes in.

    Attributes:
        lanes: alignments a thread, 2 as int16x2 or 1 in 32 bits.
        bias: value of the corner.
        shift: cost of extending a gap, which the transform hides.
        opening: cost of opening one on top.
        small_scores: every transformed score fits a signed byte.
    """

    lanes: int
    bias: int
    shift: int
    opening: int
    small_scores: bool


def arithmetic(
    scoring: Scoring,
    gap_open: int,
    gap_extend: int,
    n: int,
    m: int,
    local: bool = False,
    cheap_start: bool = False,
    wide: bool = False,
) -> Arithmetic:
    """int16x2 if the values of every table up to n x m provably fit, else 32 bits (the bounds of
    gpualign/native/align/score/scheme.hpp).

    Args:
        local: no transform, and values are floored at zero.
        cheap_start: a gap at a start costs less than elsewhere.
        wide: 32 bits, whatever would fit.

    Raises:
        OverflowError: not even 32 bits are enough.
    """
    shift = 0 if local else gap_extend
    opening = gap_open - shift
    low = min(0, scoring.lowest + 2 * shift) - 5 * opening - 2 * gap_extend - 8
    high = (min(n, m) + 1) * max(0, scoring.highest + 2 * shift) + 8 + (shift * (n + m) if cheap_start else 0)
    small = scoring.lowest + 2 * shift >= -128 and scoring.highest + 2 * shift <= 127
    fits = low >= -32768 and high <= 32767 if local else high - low <= 65535
    if fits and small and not wide:
        return Arithmetic(2, 0 if local else -32768 - low, shift, opening, small)
    if high >= 1 << 31 or low < -(1 << 31):
        raise OverflowError(f"scores of {n} x {m} symbols exceed 32 bits")
    return Arithmetic(1, 0, shift, opening, small)


def halves_hold(words: Arithmetic, gap_extend: int) -> bool:
    """Whether cells of 16 columns and 32 rows differ by less than half a word holds (half_strip.cuh)."""
    return words.small_scores and words.opening <= _MAX_OPENING and gap_extend <= _MAX_EXTENSION


def score_order(queries: NDArray[np.int32], target_lengths: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """Order in which pairs of one query stand together, alike in length; None where they do already."""
    some = target_lengths[:: -(-len(target_lengths) // SAMPLE)]
    if some.std() <= _UNEVEN * max(some.mean(), 1.0) and (queries[1:] >= queries[:-1]).all():
        return None
    return np.lexsort((target_lengths, queries))


@dataclass(frozen=True)
class TraceBatch:
    """Tasks whose borders are in device memory together.

    Attributes:
        tasks: TRACE_TASK (t,), ``first`` counted within the batch.
        start, stop: which of the sorted pairs.
        column_words, kept_words: of each of the border arrays.
    """

    tasks: NDArray[np.void]
    start: int
    stop: int
    column_words: int
    kept_words: int


def trace_batches(
    n: NDArray[np.int64],
    m: NDArray[np.int64],
    band_low: NDArray[np.int32],
    band_high: NDArray[np.int32],
    per_task: int,
    max_words: int,
) -> list[TraceBatch]:
    """Cut sorted pairs into tasks, and tasks into batches of at most ``max_words`` words of borders (or one task).

    Args:
        n, m: int64 (p,), lengths of query and target.
        band_low, band_high: int32 (p,), diagonals that the alignments can touch.
    """
    first = np.arange(0, len(n), per_task)
    tasks = np.zeros(len(first), TRACE_TASK)
    tasks["first"] = first
    tasks["count"] = np.diff(first, append=len(n))
    tasks["band_low"] = np.minimum.reduceat(band_low, first)
    tasks["band_high"] = np.maximum.reduceat(band_high, first)
    rows, columns = np.maximum.reduceat(n, first), np.maximum.reduceat(m, first)
    width = tasks["band_high"].astype(np.int64) - tasks["band_low"] + TRACE_COLUMNS + TRACE_ROWS
    height = np.minimum(rows, width) + TRACE_ROWS - 1
    tasks["height"] = height // TRACE_ROWS * TRACE_ROWS
    tasks["strips"] = -(-columns // TRACE_COLUMNS)
    strips = tasks["strips"].astype(np.int64)
    column_words = strips * tasks["height"] * WARP
    kept_words = strips * (tasks["height"] // TRACE_ROWS) * TRACE_COLUMNS * WARP
    batches = []
    for start, stop in cut_by_size(column_words + kept_words, max_words):
        batch = tasks[start:stop].copy()
        batch["column_at"] = offsets_of(column_words[start:stop])[:-1]
        batch["kept_at"] = offsets_of(kept_words[start:stop])[:-1]
        pairs = int(batch["first"][0])
        batch["first"] -= pairs
        end = pairs + int(batch["first"][-1] + batch["count"][-1])
        batches.append(
            TraceBatch(batch, pairs, end, int(column_words[start:stop].sum()), int(kept_words[start:stop].sum()))
        )
    return batches
