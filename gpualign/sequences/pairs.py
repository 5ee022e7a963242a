"""Selects the pairs to align, in output order, cut into blocks of bounded work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.offsets import cut_by_size, offsets_of, positions_of

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

    def part(self, start: int, stop: int) -> PairBlock:
        return self.take(slice(start, stop))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as runs of one query with targets that follow each other, where that is shorter."""
        if len(self) == 0:
            return PairBlock, (self.queries, self.targets)
        starts = np.flatnonzero((np.diff(self.queries) != 0) | (np.diff(self.targets) != 1)) + 1
        starts = np.concatenate([[0], starts])
        if 4 * len(starts) > len(self):
            return PairBlock, (self.queries, self.targets)
        return PairRuns, (self.queries[starts], self.targets[starts], np.diff(starts, append=len(self)))


class PairRuns(PairBlock):
    """The pairs as runs of one query with consecutive targets; single pairs are expanded on demand.

    Args:
        query, first: int32 (r,), a run's query and its first target.
        lengths: int64 (r,), pairs of each run, none of them 0.
    """

    def __init__(self, query: NDArray[np.int32], first: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        vars(self).update(query=query, first=first, lengths=lengths)

    query: NDArray[np.int32]
    first: NDArray[np.int32]
    lengths: NDArray[np.int64]

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return offsets_of(self.lengths)

    @property
    def queries(self) -> NDArray[np.int32]:
        return self._pairs[0]

    @property
    def targets(self) -> NDArray[np.int32]:
        return self._pairs[1]

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return np.repeat(self.query, self.lengths), positions_of(self.first, self.lengths).astype(np.int32)

    def __len__(self) -> int:
        return int(self._offsets[-1])

    def take(self, keep: NDArray[np.bool_] | NDArray[np.int64] | slice) -> PairBlock:
        if isinstance(keep, slice):
            start, stop, step = keep.indices(len(self))
            return self._part(start, stop) if step == 1 else super().take(keep)
        if keep.dtype == np.bool_:
            keep = np.flatnonzero(keep)
        run = np.searchsorted(self._offsets, keep, "right") - 1
        return PairBlock(self.query[run], (self.first[run] + keep - self._offsets[run]).astype(np.int32))

    def _part(self, start: int, stop: int) -> PairRuns:
        offsets = self._offsets
        i, j = int(np.searchsorted(offsets, start, "right")) - 1, int(np.searchsorted(offsets, stop, "left"))
        begins, ends = np.maximum(offsets[i:j], start), np.minimum(offsets[i + 1 : j + 1], stop)
        skipped = (begins - offsets[i:j]).astype(np.int32)
        return PairRuns(self.query[i:j], self.first[i:j] + skipped, np.maximum(ends - begins, 0))

    def __reduce__(self) -> tuple[Any, ...]:
        return PairRuns, (self.query, self.first, self.lengths)


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
        pairs = self._runs() if self.listed is None else self.listed
        for start in range(0, len(pairs), max_pairs):
            yield from self._cut(pairs.take(slice(start, start + max_pairs)), max_cells)

    def _runs(self) -> PairRuns:
        lengths = len(self.target_lengths) - self.first_target
        query = np.flatnonzero(lengths > 0)
        return PairRuns(query.astype(np.int32), self.first_target[query].astype(np.int32), lengths[query])

    def _cut(self, block: PairBlock, max_cells: int) -> Iterator[PairBlock]:
        largest = (int(self.query_lengths.max()) + 1) * (int(self.target_lengths.max()) + 1)
        if largest * len(block) <= max_cells:
            yield block
            return
        cells = (self.query_lengths[block.queries] + 1) * (self.target_lengths[block.targets] + 1)
        for start, stop in cut_by_size(cells, max_cells):
            yield block.take(slice(start, stop))
