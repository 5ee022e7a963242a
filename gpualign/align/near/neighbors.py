"""Finds the sequences that are near to others: words, then alignments on whatever device there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.near import tuning
from gpualign.align.near.cpu import Hits, NearPairs, NearProblem, Wanted, near_on_cpu
from gpualign.align.near.parts import NearPart, TargetPart, new_index
from gpualign.align.near.words import word_length
from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.run.stage import Backend, Run, Stage
from gpualign.sequences.offsets import cut_by_size
from gpualign.sequences.pairs import PairBlock


class Queries(NamedTuple):
    """Distinct sequences, or their reverse complements, and which targets each is compared with.

    Attributes:
        sequences: int32 (q,).
        first, last: int32 (q,), targets ``first`` ... ``last`` - 1.
    """

    sequences: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]

    def take(self, chosen: NDArray[np.int64] | slice) -> Queries:
        return Queries(*(array[chosen] for array in self))


class NearTargets:
    """Distinct sequences that others may be near to, numbered as they are added.

    Args:
        lengths: int64, of all sequences.
    """

    def __init__(self, index: _native.NearIndex, lengths: NDArray[np.int64]) -> None:
        self._index, self._lengths = index, lengths
        self._added: list[NDArray[np.int32]] = []
        self._parts: list[TargetPart] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, distinct: NDArray[np.int32]) -> None:
        self._added.append(distinct)
        self._count += len(distinct)

    @property
    def index(self) -> _native.NearIndex:
        """The index of all targets; those added last are indexed when somebody asks for it."""
        if len(self._index) < self._count:
            self._index.add(np.ascontiguousarray(self.distinct[len(self._index) :], np.int32))
        return self._index

    @property
    def distinct(self) -> NDArray[np.int32]:
        """int32 (n,): the sequence of each target."""
        self._added = [np.concatenate([np.zeros(0, np.int32), *self._added])]
        return self._added[0]

    def parts(self) -> list[TargetPart]:
        """All targets in parts for workers: few, of a limited size, and each target in few of them as they grow."""
        first = sum(map(len, self._parts))
        while self._parts and first < self._count:
            last = self._parts[-1]
            symbols = int(self._lengths[self.distinct[last.first :]].sum())
            if len(last) > 3 * (self._count - first) or symbols > tuning.PART_SYMBOLS:
                break
            first = self._parts.pop().first
        if first < self._count:
            new = self.distinct[first:]
            for start, stop in cut_by_size(self._lengths[new], tuning.PART_SYMBOLS):
                self._parts.append(TargetPart(first + start, new[start:stop]))
        return self._parts

    @property
    def bytes(self) -> int:
        return int(self._index.size_bytes)


class Neighbors:
    """Hits of distinct sequences.

    Args:
        distinct: how many there are; with both strands their reverse complements follow.
        one_set: the targets are some of the distinct sequences, which all differ; else they follow.

    Attributes:
        equals_itself: bool (distinct,), the identity with itself is 1, and no other alignment scores as much.
        candidates: pairs that the words left so far.
    """

    def __init__(
        self, problem: NearProblem, backend: Backend, distinct: int, both: bool, threads: int, one_set: bool = True
    ) -> None:
        self._problem, self._backend, self._distinct = problem, backend, distinct
        self._both, self._threads = both, threads
        self._word = word_length(problem)
        self._twins = _twins(problem, distinct, both) if one_set and _only_equal(problem) else None
        if self._twins is not None:
            self._word = 0
        self._stage = near_stage(problem, self._word)
        self.equals_itself = _equal_to_themselves(problem, distinct)
        self.candidates = 0

    def targets(self) -> NearTargets:
        """An empty set."""
        return NearTargets(new_index(self._problem, self._word), self._problem.pairs.targets.lengths)

    def of(self, targets: NearTargets, queries: Queries, wanted: Wanted, reached: NDArray[np.float64]) -> Hits:
        """Hits of each query; some may be there twice.

        Args:
            reached: float64 (q,), an identity that each query is known to have with some other sequence, or less than
                0. Hits of lower identity may be left out.
        """
        if not self._backend.local and self._twins is None:
            items = self._of_parts(targets, self._strands(queries), wanted)
            results = list(self._backend.run(items, self._stage))
            self.candidates += sum(pairs for _, pairs in results)
            return Hits.join([Hits.none(), *(hits for hits, _ in results)])
        if wanted == "first":
            reached = np.full(len(queries.sequences), -1.0)  # an earlier target counts, however far it is
        likely = Hits.none()
        if wanted == "best" and self._word and self._twins is None:
            likely = Hits.join([likely, *self.hits(self._likely(targets, self._strands(queries)))])
            best = np.full(self._distinct, -1.0)
            np.maximum.at(best, likely.query % self._distinct, likely.identity)
            reached = np.maximum(reached, best[queries.sequences])
        near = self._near_pairs(targets, queries, wanted, reached)
        return Hits.join([likely, *self.hits(near)])

    @property
    def specific(self) -> bool:
        """Whether words leave so few pairs that :meth:`of_targets` is for them."""
        pairs = self._problem.pairs
        words = pairs.scoring.identical**self._word
        return self._backend.local and pairs.definition != 2 and words >= tuning.SPECIFIC_WORDS

    def query_index(self, index: _native.NearIndex | None, queries: int) -> _native.NearIndex:
        """Of the first sequences, which all are queries.

        Args:
            index: of the same queries, made for other targets.
        """
        sequences = self._problem.pairs.targets
        if index is None:
            index = new_index(self._problem, self._word)
            index.add(np.arange(queries, dtype=np.int32))
        else:
            index.extend(sequences.codes, sequences.offsets)
        return index

    def of_targets(
        self, index: _native.NearIndex, targets: NDArray[np.int32], wanted: Wanted, reached: NDArray[np.float64]
    ) -> Hits:
        """Hits of all queries, as :meth:`of`, by words of the targets that are looked up in an index of the queries. Of
        many targets that takes less time than an index of them, which only these queries use.

        Args:
            index: :meth:`query_index`.
        """
        queries, wanted_pairs = len(index), self._block_pairs * (1 if self._backend.on_gpu else 4 * self._threads)
        least = np.maximum(reached, self._problem.pairs.identity or 0.0)
        parts, start = [Hits.none()], 0
        size = max(1, tuning.LOOKED_AT * self._threads // max(1, queries))
        while start < len(targets):
            some = targets[start : start + size]
            first, last = np.zeros(len(some), np.int32), np.full(len(some), queries, np.int32)
            rows, found, highest = index.candidates(some, first, last, np.zeros(len(some)), self._threads)
            order = np.argsort(found, kind="stable")
            block, highest = PairBlock(found, some[rows]).take(order), highest[order]
            self.candidates += len(block)
            enough = least[block.queries % self._distinct]
            pieces = cut_slices(block.queries, self._block_pairs)
            hits = self.hits(NearPairs(block.take(at), wanted, enough[at], highest[at]) for at in pieces)
            parts.append(Hits.join([Hits.none(), *hits]))
            if wanted == "best":
                np.maximum.at(least, parts[-1].query % self._distinct, parts[-1].identity)
            start += size
            size = max(1, min(4 * size, size * wanted_pairs // max(1, len(block))))
        return Hits.join(parts)

    def _likely(self, targets: NearTargets, queries: Queries) -> Iterator[NearPairs]:
        """Each query with the target that has most of its words."""
        found = targets.index.most_words(*queries, self._threads)
        some = np.flatnonzero(found >= 0)
        for block in cut(queries.sequences[some], targets.distinct[found[some]], self._block_pairs):
            yield NearPairs(block, "all")

    def _of_parts(self, targets: NearTargets, queries: Queries, wanted: Wanted) -> Iterator[NearPart]:
        for part in targets.parts():
            start, stop = (np.clip(end - part.first, 0, len(part)).astype(np.int32) for end in queries[1:])
            rows = np.flatnonzero(start < stop)
            for at in range(0, len(rows), tuning.QUERIES_SENT):
                some = rows[at : at + tuning.QUERIES_SENT]
                yield NearPart(part, queries.sequences[some], start[some], stop[some], wanted)

    def _strands(self, queries: Queries) -> Queries:
        """Each query, and next to it its reverse complement if both strands are compared."""
        if self._both:
            queries = Queries(*(np.repeat(array, 2) for array in queries))
            queries.sequences[1::2] += self._distinct
        return Queries(*(np.ascontiguousarray(array, np.int32) for array in queries))

    def blocks(self, targets: NearTargets, queries: Queries) -> Iterator[PairBlock]:
        """Pairs that may reach the identity; the pairs of one query follow each other."""
        reached = np.full(len(queries.sequences), -1.0)
        yield from (item.pairs for item in self._near_pairs(targets, queries, "all", reached))

    def _near_pairs(
        self, targets: NearTargets, queries: Queries, wanted: Wanted, reached: NDArray[np.float64]
    ) -> Iterator[NearPairs]:
        """Pairs that may reach the identity, and ``reached`` of the query (q,) where that is more."""
        if self._twins is not None:
            yield NearPairs(self._equal(self._twins, targets.distinct, queries), wanted)
            return
        least = np.maximum(reached, self._problem.pairs.identity or 0.0)
        least = np.repeat(least, 2) if self._both else least
        queries, distinct = self._strands(queries), targets.distinct
        work = np.cumsum(np.maximum(queries.last - queries.first, 0), dtype=np.int64)
        part = work // (tuning.LOOKED_AT * self._threads)
        borders = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(least)]
        for start, stop in pairwise(borders):
            some, enough = queries.take(slice(start, stop)), least[start:stop]
            rows, found, highest = targets.index.candidates(*some, enough, self._threads)
            self.candidates += len(rows)
            for piece in cut_slices(some.sequences[rows], self._block_pairs):
                block = PairBlock(some.sequences[rows[piece]], distinct[found[piece]])
                yield NearPairs(block, wanted, enough[rows[piece]], highest[piece])

    @property
    def _block_pairs(self) -> int:
        return tuning.GPU_BLOCK_PAIRS if self._backend.on_gpu else tuning.BLOCK_PAIRS

    def _equal(self, twins: NDArray[np.int32], targets: NDArray[np.int32], queries: Queries) -> PairBlock:
        """Reverse complements of the queries that are targets."""
        at = np.full(self._distinct + 1, -1, np.int32)
        at[targets] = np.arange(len(targets), dtype=np.int32)
        found = at[twins[queries.sequences]]
        chosen = queries.sequences[(found >= queries.first) & (found < queries.last)]
        self.candidates += len(chosen)
        return PairBlock(chosen + np.int32(self._distinct), twins[chosen])

    def hits(self, items: Iterator[NearPairs]) -> Iterator[Hits]:
        """The hits of each item, or of pieces of it for other machines, in order."""
        if not self._backend.local:
            items = (
                NearPairs(block, item.wanted)
                for item in items
                for block in cut(item.pairs.queries, item.pairs.targets, tuning.PAIRS_SENT)
            )
        for hits, _ in self._backend.run(items, self._stage):
            yield hits


def _only_equal(problem: NearProblem) -> bool:
    """Whether all columns must match, and symbols only themselves, so that only equal sequences are near."""
    pairs = problem.pairs
    return pairs.identity == 1 and pairs.definition in (1, 3, 4) and not pairs.scoring.bases


def _twins(problem: NearProblem, distinct: int, both: bool) -> NDArray[np.int32]:
    """int32 (distinct,): which sequence each one's reverse complement is; ``distinct`` where there is none."""
    twins = np.full(distinct, distinct, np.int32)
    if both:
        sequences = problem.pairs.targets
        equal = _native.first_equal(sequences.codes, sequences.offsets)[distinct:]
        twins[equal < distinct] = equal[equal < distinct]
    return twins


def _equal_to_themselves(problem: NearProblem, distinct: int) -> NDArray[np.bool_]:
    """Where all symbols match themselves, and better than others: s(a, b) < (s(a, a) + s(b, b)) / 2 for all pairs. An
    ambiguity code that matches itself need not do so better where every gap costs something: without gaps each symbol
    of a sequence is aligned to itself.
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


def near_stage(problem: NearProblem, word: int) -> Stage[NearPairs | NearPart, tuple[Hits, int]]:
    """The stage over pairs that the words leave, or on a worker over queries and a part of the targets. A device
    filters and aligns them as pairs of `pairwise`. The results are hits, and how many pairs the words left of a part.
    """

    def hits(item: NearPairs | NearPart, size: int, of: Callable[[NearPairs], Hits]) -> tuple[Hits, int]:
        if isinstance(item, NearPairs):
            return of(item), 0
        index = item.part.index(problem, word)
        rows, found, *_ = index.candidates(item.queries, item.first, item.last, np.zeros(len(item.queries)), 1)
        blocks = cut(item.queries[rows], item.part.distinct[found], size)
        return Hits.join([Hits.none(), *(of(NearPairs(block, item.wanted)) for block in blocks)]), len(rows)

    def on_cpu(item: NearPairs | NearPart) -> tuple[Hits, int]:
        return hits(item, tuning.BLOCK_PAIRS, lambda pairs: near_on_cpu(problem, pairs))

    def on_device(item: NearPairs | NearPart, run: Run) -> tuple[Hits, int]:
        return hits(item, tuning.GPU_BLOCK_PAIRS, lambda pairs: problem.hits_of(run(lambda _: pairs.pairs)))

    return Stage(on_cpu, lambda device: PairwiseKernel(device, problem.pairs), on_device)


def cut(queries: NDArray[np.int32], targets: NDArray[np.int32], size: int) -> Iterator[PairBlock]:
    """Blocks of about ``size`` pairs that end with a query's last pair."""
    for piece in cut_slices(queries, size):
        yield PairBlock(queries[piece], targets[piece])


def cut_slices(queries: NDArray[np.int32], size: int) -> Iterator[slice]:
    """Slices of about ``size`` pairs that end with a query's last pair."""
    start = 0
    while start < len(queries):
        stop = min(start + size, len(queries))
        if stop < len(queries):
            same = np.flatnonzero(queries[stop:] != queries[stop - 1])
            stop = stop + int(same[0]) if len(same) else len(queries)
        yield slice(start, stop)
        start = stop
