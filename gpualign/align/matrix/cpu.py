"""`distances` on the CPU: a group of queries in the lanes of a vector, against one target after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.results import NearestPairs, SparsePairs
from gpualign.streaming.ordered import run_ordered

#: the modes as the native code and the kernels number them
MODES = _native.verify_modes() | {"indel": _native.INDEL}
#: called with the queries that are done and all of them
Report = Callable[[int, int], object]


class CpuPairs:
    """Computes the values of all pairs with ``threads`` host threads.

    Args:
        native: values of blocks of queries (native/align/matrix/outputs.hpp).
        blocks: half-open ranges of queries in the order of their lengths.
    """

    def __init__(
        self, native: Any, queries: int, blocks: Iterable[tuple[int, int]], threads: int, report: Report | None
    ) -> None:
        self._native, self._queries, self._blocks = native, queries, list(blocks)
        self._threads, self._report = max(1, min(threads, len(self._blocks))), report

    def matrix(self, out: NDArray[np.int32]) -> None:
        """Into ``out``, C-contiguous int32 (queries, targets); -1 beyond the limit of distances."""
        for _ in self._each(self._native.dense, out=out):
            pass

    def nearest(self, maximum: int) -> NearestPairs:
        target, value = np.full((2, self._queries, maximum), -1, np.int32)
        for _ in self._each(self._native.nearest, out_targets=target, out_values=value):
            pass
        return NearestPairs(target, value)

    def sparse(self) -> SparsePairs:
        """By query, then target."""
        parts = list(self._each(self._native.within)) or [(np.zeros(0, np.int32),) * 3]
        return in_order(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _each(self, method: Callable[..., Any], **more: Any) -> Iterator[Any]:
        """Results of ``method`` for each block of queries."""

        def compute(block: tuple[int, int]) -> tuple[int, Any]:
            return block[1], method(*block, **more)

        for done, result in run_ordered(self._blocks, compute, self._threads, self._native.stop):
            if self._report is not None:
                self._report(done, self._queries)
            yield result


class CpuDistances(CpuPairs):
    """Computes a problem with ``threads`` host threads."""

    def __init__(self, problem: Distances, threads: int, report: Report | None = None) -> None:
        queries, targets = problem.queries, problem.targets
        kind = _native.ByteDistances if queries.symbols.dtype == np.uint8 else _native.WideDistances
        native = kind(
            *(queries.symbols, queries.offsets, queries.order, targets.symbols, targets.offsets, targets.order),
            mode=MODES[problem.params.mode],
            with_itself=problem.with_itself,
            limits=problem.limits,
        )
        super().__init__(native, len(queries), problem.blocks(threads), threads, report)


def in_order(query: NDArray[np.int32], target: NDArray[np.int32], value: NDArray[Any]) -> SparsePairs:
    """By query, then target."""
    order = np.lexsort((target, query))
    return SparsePairs(query[order], target[order], value[order])
