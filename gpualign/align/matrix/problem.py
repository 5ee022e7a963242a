"""A set of queries against a set of targets: the problem, and the blocks of queries that it is computed in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign.align.matrix.params import DistanceParams, Selection
from gpualign.align.matrix.symbols import SymbolSet
from gpualign.errors import UsageError

#: cells of a block on a core: tenths of a second
_BLOCK_CELLS = 4e10
#: queries of a block are a multiple of this, which no vector's lanes exceed
_ROUND = 32
#: symbols that devices tell apart, and one more that never occurs
_MAX_CODES = 256


class AllPairs(Protocol):
    """Numbers of all pairs of two sets, and which of them are given.

    Attributes:
        queries, targets: of one type of symbol.
        with_itself: the targets are the queries.
    """

    @property
    def params(self) -> Selection: ...
    @property
    def queries(self) -> SymbolSet: ...
    @property
    def targets(self) -> SymbolSet: ...
    @property
    def with_itself(self) -> bool: ...
    @property
    def half(self) -> bool:
        """Whether one order of each pair is enough."""

    @property
    def minimum(self) -> int:
        """Number of values that count."""

    @property
    def largest(self) -> bool:
        """Whether large values are better."""


@dataclass(frozen=True, eq=False)
class Distances:
    """A problem to compute.

    Attributes:
        params: of the distance, and which pairs are given.
        queries, targets: of one type of symbol.
        limits: see :meth:`DistanceParams.limits`.
        with_itself: the targets are the queries.
    """

    params: DistanceParams
    queries: SymbolSet
    targets: SymbolSet
    limits: NDArray[np.int32]
    with_itself: bool

    @classmethod
    def of(cls, params: DistanceParams, queries: SymbolSet, targets: SymbolSet | None) -> Distances:
        others = queries if targets is None else targets
        nucleotides = params.alphabet == "nucleotide"
        if nucleotides and (queries.on_device or others.on_device):
            raise UsageError("nucleotides are distinguished on the host: arrays on a GPU are compared as they are")
        if nucleotides:
            queries, others = queries.as_nucleotides(0), others.as_nucleotides(1)
        if not (queries.on_device or others.on_device) and queries.symbols.dtype != others.symbols.dtype:
            queries, others = (
                side if side.symbols.dtype == np.uint32 else side.widened() for side in (queries, others)
            )
        return cls(params, queries, others, params.limits(max(queries.longest, others.longest)), targets is None)

    minimum, largest = 0, False  # those beyond the limit are -1

    @property
    def half(self) -> bool:
        """Whether one order of each pair is enough."""
        return self.with_itself and self.params.symmetric and self.params.nearest is None

    @property
    def pairs(self) -> int:
        return len(self.queries) * len(self.targets)

    @property
    def cells(self) -> float:
        """DP cells of all pairs."""
        both = float(len(self.queries.symbols)) * float(len(self.targets.symbols))
        return both / 2 if self.half else both

    @cached_property
    def code_table(self) -> tuple[NDArray[np.uint8], int]:
        """uint8 (256,), small numbers of the symbols that occur, and how many there are with one that never does."""
        occurs = self.queries.occurs | self.targets.occurs
        codes = int(occurs.sum())
        return np.where(occurs, np.cumsum(occurs) - 1, codes).astype(np.uint8), codes + 1

    def narrowed(self) -> Distances | None:
        """The problem with 8-bit symbols, for devices; None if there are too many symbols."""
        if self.queries.on_device or self.targets.on_device:
            return self
        if self.queries.symbols.dtype == np.uint8:
            return self if self.code_table[1] <= _MAX_CODES else None
        one = self.queries is self.targets
        sides = [self.queries.symbols] if one else [self.queries.symbols, self.targets.symbols]
        known, numbers = np.unique(np.concatenate(sides), return_inverse=True)
        if len(known) >= _MAX_CODES:
            return None
        numbers = numbers.astype(np.uint8)
        queries = SymbolSet(numbers[: len(self.queries.symbols)], self.queries.offsets)
        targets = queries if one else SymbolSet(numbers[len(queries.symbols) :], self.targets.offsets)
        return replace(self, queries=queries, targets=targets)

    def blocks(self, workers: int) -> Iterator[tuple[int, int]]:
        """Half-open ranges of queries in the order of their lengths."""
        return blocks_of(self, workers, _BLOCK_CELLS)


def blocks_of(problem: AllPairs, workers: int, block_cells: float) -> Iterator[tuple[int, int]]:
    """Half-open ranges of queries in the order of their lengths, of about the same work, enough for all workers."""
    queries = problem.queries
    count, text = len(queries), float(max(1, len(problem.targets.symbols)))
    if count == 1:  # a call for one pair takes microseconds
        yield 0, 1
        return
    lengths = np.maximum(queries.sorted_lengths, 1).cumsum()
    blocks = max(4.0 * workers if workers > 1 else 1.0, float(lengths[-1]) * text / block_cells if count else 1.0)
    maximum = float(lengths[-1]) / blocks if count else 0.0
    first = 0
    while first < count:
        reached = float(lengths[first - 1]) if first else 0.0
        last = int(np.searchsorted(lengths, reached + maximum)) + 1
        last = min(count, first + -(-(last - first) // _ROUND) * _ROUND)
        yield first, last
        first = last
