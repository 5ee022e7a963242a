"""The host side of ``cuda/pairwise_lanes.cu``: which scores it can compute, the shape of a query's tiles, the tasks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpualign.align.pair_tasks import LAZY_TASK, WARP
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.tuning import LANE_SHAPES, LANES_MODULE, LaneShape, lanes_defines
from gpualign.run.gpu import compiler
from gpualign.sequences.offsets import cut_by_size, offsets_of

LANE_THREADS = 256
#: integers up to here have the same bits as subnormal half-precision numbers (half_limit in the kernel)
_HALF_LIMIT = 2047
#: score of two symbols that are never aligned; far below the scores that the kernel accepts
NEVER = -1000
_MAX_SCORE = 400
#: cells of a task, at least, so that building a profile does not count; and tasks a block, of each launch, so that its
#: blocks end together
_TASK_CELLS, _TASKS_PER_BLOCK = 1 << 21, 16
#: columns of a task's targets together at most, where the rows between tiles are kept
_TASK_COLUMNS = 1 << 16
#: instructions of a column itself, as many as of this number of rows
_COLUMN_ROWS = 3
#: instructions with rows kept between tiles, against those without
_TILED = 1.15


@dataclass(frozen=True)
class LaneLaunch:
    """The tasks of the queries of one shape.

    Attributes:
        tasks: LAZY_TASK (t,).
        columns: that a block keeps between tiles, 0 where every query is one tile.
    """

    shape: LaneShape
    tasks: NDArray[np.void]
    columns: int


def ends_of(problem: PairProblem) -> int:
    """ENDS of the kernel."""
    return 0 if problem.mode == "local" else 1 if problem.from_corners else 2


def defines_of(problem: PairProblem, shape: LaneShape) -> dict[str, str]:
    """Macros of the kernel for a problem's gaps and ends."""
    return lanes_defines(shape, problem.gap_open, problem.gap_extend, ends_of(problem))


def margin(problem: PairProblem) -> int:
    """Initial value of a lane's first row, so that no later value is below 0."""
    opening = problem.gap_open - problem.gap_extend
    return 4 * opening + 8 + max(0, problem.scoring.highest + 2 * problem.gap_extend)


def suits(problem: PairProblem) -> bool:
    """Whether all values stay in half a word, but for a local score beyond it, which is found."""
    scoring = problem.scoring
    if max(scoring.highest, -scoring.lowest, problem.gap_open) > _MAX_SCORE or len(scoring) > 64:
        return False
    if problem.mode == "local":
        return True
    opening = problem.gap_open - problem.gap_extend
    step = max(0, scoring.highest + 2 * problem.gap_extend)
    # over all rows of a lane, and over the columns until it has a new base
    largest = max((shape.rows + shape.lanes + 4) * step for shape in LANE_SHAPES)
    return opening > 0 and margin(problem) + largest + 4 * opening <= _HALF_LIMIT


def can_be_had(problem: PairProblem) -> bool:
    """Whether all kernels for the problem are prebuilt or can be compiled."""
    return all(compiler.can_be_had(LANES_MODULE, defines_of(problem, shape)) for shape in LANE_SHAPES)


def shape_of(rows: int) -> LaneShape:
    """The shape in which a query of ``rows`` rows takes the least time."""

    def cost(shape: LaneShape) -> float:
        tiles = -(-rows // (shape.lanes * shape.rows))
        kept = _TILED if tiles > 1 else 1.0
        return kept * tiles * shape.lanes * (shape.rows + _COLUMN_ROWS) * (1 + shape.lanes / 400)

    return min(LANE_SHAPES, key=cost)


@dataclass(frozen=True)
class _Run:
    """Pairs ``start`` to ``stop`` of a sorted list, which are of one query."""

    query: int
    rows: int
    start: int
    stop: int


def launches(
    queries: NDArray[np.int32], n: NDArray[np.int32], m: NDArray[np.int32], processors: int
) -> list[LaneLaunch]:
    """Tasks of pairs that are sorted by query, then by the target's length.

    Args:
        queries, n, m: int32 (p,), which query, and symbols of both.
    """
    starts = np.concatenate([[0], np.flatnonzero(queries[1:] != queries[:-1]) + 1])
    stops = np.append(starts[1:], len(queries)).tolist()
    runs = [_Run(int(queries[i]), int(n[i]), i, stop) for i, stop in zip(starts.tolist(), stops, strict=True)]
    return _launches(runs, m, processors)


def tile_launches(n: NDArray[np.int32], m: NDArray[np.int32], processors: int) -> list[LaneLaunch]:
    """Tasks of every query, of n symbols (q,), against all targets, sorted by their m symbols (t,); their pairs are
    numbers of targets.
    """
    return _launches([_Run(query, rows, 0, len(m)) for query, rows in enumerate(n.tolist())], m, processors)


def _launches(runs: list[_Run], m: NDArray[np.int32], processors: int) -> list[LaneLaunch]:
    total = offsets_of(m)
    by_shape: dict[LaneShape, list[_Run]] = {}
    for run in runs:
        by_shape.setdefault(shape_of(run.rows), []).append(run)
    return [_launch(shape, some, m, total, 2 * processors) for shape, some in by_shape.items()]


def _launch(
    shape: LaneShape, runs: list[_Run], m: NDArray[np.int32], total: NDArray[np.int64], blocks: int
) -> LaneLaunch:
    """``total``: offsets of m."""
    cells = sum(run.rows * int(total[run.stop] - total[run.start]) for run in runs)
    wanted = max(cells / (blocks * _TASKS_PER_BLOCK), _TASK_CELLS)
    found: list[tuple[int, int, int, int]] = []
    columns = 0
    for run in runs:
        tiled = run.rows > shape.lanes * shape.rows
        limit = int(wanted / run.rows)
        for first, last in _cut(m[run.start : run.stop], shape, min(limit, _TASK_COLUMNS) if tiled else limit):
            longest = int(m[run.start + last - 1])
            found.append((run.query, run.start + first, last - first, run.rows * longest))
            if tiled:
                groups = -(-(last - first) // (2 * WARP // shape.lanes)) * (WARP // shape.lanes)
                columns = max(columns, groups * longest)
    # those with the longest pairs begin first, as a warp takes long for one
    found.sort(key=lambda task: -task[3])
    return LaneLaunch(shape, np.array([(*task[:3], 0) for task in found], LAZY_TASK), columns)


def _cut(m: NDArray[np.int32], shape: LaneShape, limit: int) -> list[tuple[int, int]]:
    """(start, stop) of tasks of about ``limit`` columns each, in whole rounds of a block's warps, which wait for each
    other, where that is not too much for the device to share out.
    """
    round_ = LANE_THREADS // WARP * 2 * (WARP // shape.lanes)
    if limit < round_ * int(m[len(m) // 2]):
        return cut_by_size(m + 1, limit)
    rounds = np.add.reduceat(m + 1, np.arange(0, len(m), round_))
    return [(first * round_, min(last * round_, len(m))) for first, last in cut_by_size(rounds, limit)]


def by_query_and_length(queries: NDArray[np.int32], m: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64 (p,): order of pairs by query, and of a query's pairs by the target's length."""
    if len(m) == 0 or m.max() >= 1 << 16 or (queries[1:] < queries[:-1]).any():
        return np.lexsort((m, queries))
    short = m.astype(np.uint16)  # NumPy sorts this type by radix
    starts = np.concatenate([[0], np.flatnonzero(queries[1:] != queries[:-1]) + 1, [len(queries)]]).tolist()
    parts = [start + np.argsort(short[start:stop], kind="stable") for start, stop in pairwise(starts)]
    return np.concatenate(parts)


def shared_bytes(shape: LaneShape, symbols: int) -> int:
    """Bytes of shared memory for a block's profile."""
    return (symbols + 1) * shape.lanes * shape.rows * 2
