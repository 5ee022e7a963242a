"""Finds the sequences that are near to others: words, then alignments on whatever device there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.cluster import tuning
from gpualign.cluster.cpu import ClusterProblem, Hits, NearPairs, Wanted
from gpualign.cluster.stage import cluster_stage
from gpualign.cluster.words import word_length
from gpualign.engine.stage import Backend
from gpualign.sequences.pairs import PairBlock


class Targets:
    """Distinct sequences that others may be near to, numbered as they are added."""

    def __init__(self, index: _native.ClusterIndex) -> None:
        self._index = index
        self._parts: list[NDArray[np.int32]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, distinct: NDArray[np.int32]) -> None:
        self._parts.append(distinct)
        self._count += len(distinct)

    @property
    def index(self) -> _native.ClusterIndex:
        """Of all targets. Those that nobody looks for, as the last ones of a run, are never indexed."""
        if len(self._index) < self._count:
            self._index.add(np.ascontiguousarray(self.distinct[len(self._index) :], np.int32))
        return self._index

    @property
    def distinct(self) -> NDArray[np.int32]:
        """int32 (n,): the sequence of each target."""
        self._parts = [np.concatenate([np.zeros(0, np.int32), *self._parts])]
        return self._parts[0]

    @property
    def bytes(self) -> int:
        return int(self._index.bytes)


class Neighbors:
    """Hits of distinct sequences.

    Args:
        distinct: how many there are; with both strands their reverse complements follow.
        remote: pairs go to other machines, with their sequences.

    Attributes:
        equals_itself: bool (distinct,), the identity with itself is 1, and no other alignment scores as much.
        candidates: pairs that the words left so far.
    """

    def __init__(
        self, problem: ClusterProblem, backend: Backend, distinct: int, both: bool, threads: int, remote: bool
    ) -> None:
        self._problem, self._backend, self._distinct = problem, backend, distinct
        self._both, self._threads, self._remote = both, threads, remote
        self._word = word_length(problem)
        self._twins = _twins(problem, distinct, both) if _only_equal(problem) else None
        if self._twins is not None:
            self._word = 0
        self._stage = None if remote else cluster_stage(problem)
        self.equals_itself = _equal_to_themselves(problem, distinct)
        self.candidates = 0

    def targets(self) -> Targets:
        """An empty set."""
        pairs = self._problem.pairs
        return Targets(
            _native.ClusterIndex(
                codes=pairs.targets.codes,
                offsets=pairs.targets.offsets,
                identical=pairs.scoring.identical,
                codes_match=bool(pairs.scoring.bases),
                word=self._word,
                identity=pairs.identity or 0.0,
                definition=pairs.definition,
                coverage=self._problem.coverage,
            )
        )

    def of(
        self,
        targets: Targets,
        queries: NDArray[np.int32],
        first: NDArray[np.int32],
        last: NDArray[np.int32],
        wanted: Wanted,
    ) -> Hits:
        """Hits of each query with the targets ``first`` ... ``last`` - 1."""
        blocks = self.blocks(targets, queries, first, last)
        return Hits.join(list(self.hits(NearPairs(block, wanted) for block in blocks)))

    def blocks(
        self, targets: Targets, queries: NDArray[np.int32], first: NDArray[np.int32], last: NDArray[np.int32]
    ) -> Iterator[PairBlock]:
        """Pairs that may reach the identity, those of a query together."""
        if self._twins is not None:
            yield self._equal(self._twins, targets.distinct, queries, first, last)
            return
        if self._both:
            queries, first, last = np.repeat(queries, 2), np.repeat(first, 2), np.repeat(last, 2)
            queries[1::2] += self._distinct
        queries, first, last = (np.ascontiguousarray(array, np.int32) for array in (queries, first, last))
        distinct = targets.distinct
        size = tuning.GPU_BLOCK_PAIRS if self._backend.on_gpu else tuning.BLOCK_PAIRS
        work = np.cumsum(np.maximum(last - first, 0), dtype=np.int64)
        part = work // (tuning.LOOKED_AT if self._word else tuning.LOOKED_AT_WITHOUT_WORDS)
        borders = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(queries)]
        for start, stop in pairwise(borders):
            some = slice(start, stop)
            rows, found = targets.index.candidates(queries[some], first[some], last[some], self._threads)
            self.candidates += len(rows)
            yield from _cut(queries[some][rows], distinct[found], size)

    def _equal(
        self,
        twins: NDArray[np.int32],
        targets: NDArray[np.int32],
        queries: NDArray[np.int32],
        first: NDArray[np.int32],
        last: NDArray[np.int32],
    ) -> PairBlock:
        """Reverse complements of the queries that are targets."""
        at = np.full(self._distinct + 1, -1, np.int32)
        at[targets] = np.arange(len(targets), dtype=np.int32)
        found = at[twins[queries]]
        chosen = np.flatnonzero((found >= first) & (found < last))
        self.candidates += len(chosen)
        return PairBlock(queries[chosen] + np.int32(self._distinct), twins[queries[chosen]])

    def hits(self, items: Iterator[NearPairs]) -> Iterator[Hits]:
        """Those of each item, in order."""
        if not self._remote:
            assert self._stage is not None
            yield from self._backend.run(items, self._stage)
            return
        for item in items:
            problem, pairs, numbers = self._problem.of(item.pairs)
            for hits in self._backend.run([NearPairs(pairs, item.wanted)], cluster_stage(problem)):
                yield hits.renumbered(numbers)


def _cut(queries: NDArray[np.int32], targets: NDArray[np.int32], size: int) -> Iterator[PairBlock]:
    """Blocks of about ``size`` pairs that end with a query's last pair."""
    start = 0
    while start < len(queries):
        stop = min(start + size, len(queries))
        if stop < len(queries):
            same = np.flatnonzero(queries[stop:] != queries[stop - 1])
            stop = stop + int(same[0]) if len(same) else len(queries)
        yield PairBlock(queries[start:stop], targets[start:stop])
        start = stop


def _only_equal(problem: ClusterProblem) -> bool:
    """Whether all columns must match, and symbols match only themselves: only equal sequences are near to each other."""
    pairs = problem.pairs
    return pairs.identity == 1 and pairs.definition in (1, 3, 4) and not pairs.scoring.bases


def _twins(problem: ClusterProblem, distinct: int, both: bool) -> NDArray[np.int32]:
    """int32 (distinct,): which sequence each one's reverse complement is; ``distinct`` where there is none."""
    twins = np.full(distinct, distinct, np.int32)
    if both:
        sequences = problem.pairs.targets
        equal = _native.first_equal(sequences.codes, sequences.offsets)[distinct:]
        twins[equal < distinct] = equal[equal < distinct]
    return twins


def _equal_to_themselves(problem: ClusterProblem, distinct: int) -> NDArray[np.bool_]:
    """Where all symbols match themselves, and better than others: s(a, b) < (s(a, a) + s(b, b)) / 2 for all pairs. A code
    that matches itself need not do so better, where no gap is free: an alignment of a sequence with itself has gaps, or
    each symbol stands with itself.
    """
    scoring, sequences = problem.pairs.scoring, problem.pairs.targets
    scores = scoring.scores[: scoring.identical, : scoring.identical].astype(np.int64)
    diagonal = np.diagonal(scores)
    better = 2 * scores < diagonal[:, None] + diagonal[None, :]
    np.fill_diagonal(better, diagonal > 0)
    if not better.all():
        return np.zeros(distinct, bool)
    unlike_itself = np.arange(len(scoring)) >= scoring.identical
    all_scores = scoring.scores.astype(np.int64)
    worth = np.diagonal(all_scores)
    if scoring.bases and (2 * all_scores <= worth[:, None] + worth[None, :]).all() and worth.min() >= 0:
        gaps = [*problem.pairs.costs_at_ends, (problem.pairs.gap_open, problem.pairs.gap_extend)]
        unlike_itself &= min(map(min, gaps)) <= 0
    ambiguous = unlike_itself.astype(np.int64)
    offsets = sequences.offsets[: distinct + 1]
    known: NDArray[np.bool_] = _native.sums_of_symbols(sequences.codes, offsets, ambiguous) == 0
    return known & (sequences.lengths[:distinct] > 0)
