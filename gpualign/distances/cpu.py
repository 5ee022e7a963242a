"""How the CPU computes distances: a group of queries in the lanes of a vector, against one target after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.distances.problem import Distances
from gpualign.distances.results import NearestPairs, SparsePairs
from gpualign.streaming.ordered import run_ordered

#: the modes as the native code and the kernels number them
MODES: dict[str, int] = _native.DISTANCE_MODES
#: called with the queries that are done and all of them
Report = Callable[[int, int], object]


class CpuDistances:
    """Computes a problem with ``threads`` host threads."""

    def __init__(self, problem: Distances, threads: int, report: Report | None = None) -> None:
        self.problem, self.threads, self.report = problem, threads, report

    def matrix(self, out: NDArray[np.int32]) -> None:
        """Into ``out``, C-contiguous int32 (queries, targets); -1 beyond the limit."""
        for _ in self._each(_native.dense_distances, out=out):
            pass

    def nearest(self, maximum: int) -> NearestPairs:
        target, value = np.full((2, len(self.problem.queries), maximum), -1, np.int32)
        for _ in self._each(_native.nearest_distances, out_targets=target, out_values=value):
            pass
        return NearestPairs(target, value)

    def sparse(self) -> SparsePairs:
        parts = list(self._each(_native.distances_within))
        empty = (np.zeros(0, np.int32),) * 3
        query, target, value = (np.concatenate(column) for column in zip(*(parts or [empty]), strict=True))
        return in_order(query, target, value)

    def _each(self, native: Callable[..., Any], **more: Any) -> Iterator[Any]:
        """``native`` for each block of queries."""
        problem = self.problem
        queries, targets = problem.queries, problem.targets
        sides = (queries.symbols, queries.offsets, queries.order, targets.symbols, targets.offsets, targets.order)
        mode = MODES[problem.params.mode]
        more |= {"mode": mode, "with_itself": problem.with_itself, "limits": problem.limits}

        def compute(block: tuple[int, int]) -> tuple[int, Any]:
            return block[1], native(*sides, *block, **more)

        blocks = list(problem.blocks(self.threads))
        for done, result in run_ordered(blocks, compute, min(self.threads, len(blocks))):
            if self.report is not None:
                self.report(done, len(queries))
            yield result


def in_order(query: NDArray[np.int32], target: NDArray[np.int32], value: NDArray[Any]) -> SparsePairs:
    """By query, then target."""
    order = np.lexsort((target, query))
    return SparsePairs(query[order], target[order], value[order])
