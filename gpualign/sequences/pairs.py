"""Which pairs to align, in output order, cut into blocks of bounded work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.offsets import cut_by_size, positions_of

#: pairs of a block at most, and cells of its tables at most (unless one pair has more)
MAX_PAIRS = 1 << 16
MAX_CELLS = 1 << 33


@dataclass(frozen=True)
class PairBlock:
    """Some pairs: int32 (p,) indices into the queries and into the targets."""

    queries: NDArray[np.int32]
    targets: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, keep: NDArray[np.bool_] | NDArray[np.int64] | slice) -> PairBlock:
        return PairBlock(self.queries[keep], self.targets[keep])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as runs of one query with targets that follow each other, where that is shorter."""
        if len(self) == 0:
            return PairBlock, (self.queries, self.targets)
        starts = np.flatnonzero((np.diff(self.queries) != 0) | (np.diff(self.targets) != 1)) + 1
        starts = np.concatenate([[0], starts])
        if 4 * len(starts) > len(self):
            return PairBlock, (self.queries, self.targets)
        lengths = np.diff(starts, append=len(self))
        return _of_runs, (self.queries[starts], self.targets[starts], lengths)


def _of_runs(queries: NDArray[np.int32], targets: NDArray[np.int32], lengths: NDArray[np.int64]) -> PairBlock:
    """Runs of ``lengths`` pairs that begin with these."""
    return PairBlock(np.repeat(queries, lengths), positions_of(targets, lengths).astype(np.int32))


@dataclass(frozen=True)
class PairSource:
    """All pairs of a run.

    Attributes:
        query_lengths, target_lengths: int64, symbols of each sequence.
        first_target: int64 (queries,): each query's first target; it and all after it are paired.
        listed: the pairs of a list instead, or None.
    """

    query_lengths: NDArray[np.int64]
    target_lengths: NDArray[np.int64]
    first_target: NDArray[np.int64]
    listed: PairBlock | None = None

    @classmethod
    def triangle(cls, lengths: NDArray[np.int64], include_self: bool) -> PairSource:
        """Every i < j of one set (i <= j with ``include_self``)."""
        return cls(lengths, lengths, np.arange(len(lengths)) + (0 if include_self else 1))

    @classmethod
    def rectangle(cls, queries: NDArray[np.int64], targets: NDArray[np.int64]) -> PairSource:
        """Every query against every target."""
        return cls(queries, targets, np.zeros(len(queries), np.int64))

    @property
    def total(self) -> int:
        if self.listed is not None:
            return len(self.listed)
        return int((len(self.target_lengths) - self.first_target).sum())

    def blocks(self, max_pairs: int = MAX_PAIRS, max_cells: int = MAX_CELLS) -> Iterator[PairBlock]:
        """The pairs in order; where a block ends changes no output."""
        pending: list[PairBlock] = []
        capacity = max_pairs
        for run in self._runs():
            while len(run):
                part, run = run.take(slice(0, capacity)), run.take(slice(capacity, None))
                pending.append(part)
                capacity -= len(part)
                if capacity == 0:
                    yield from self._cut(_join(pending), max_cells)
                    pending, capacity = [], max_pairs
        if pending:
            yield from self._cut(_join(pending), max_cells)

    def _runs(self) -> Iterator[PairBlock]:
        if self.listed is not None:
            yield self.listed
            return
        count = len(self.target_lengths)
        everything = np.arange(count, dtype=np.int32)
        for query, first in enumerate(self.first_target.tolist()):
            yield PairBlock(np.full(max(count - first, 0), query, np.int32), everything[first:])

    def _cut(self, block: PairBlock, max_cells: int) -> Iterator[PairBlock]:
        largest = (int(self.query_lengths.max()) + 1) * (int(self.target_lengths.max()) + 1)
        if largest * len(block) <= max_cells:
            yield block
            return
        cells = (self.query_lengths[block.queries] + 1) * (self.target_lengths[block.targets] + 1)
        for start, stop in cut_by_size(cells, max_cells):
            yield block.take(slice(start, stop))


def _join(blocks: list[PairBlock]) -> PairBlock:
    if len(blocks) == 1:
        return blocks[0]
    return PairBlock(np.concatenate([b.queries for b in blocks]), np.concatenate([b.targets for b in blocks]))
