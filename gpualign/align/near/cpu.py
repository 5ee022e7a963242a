"""Pairs that may reach the identity, what their alignments say, and how the CPU finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpualign.align.edit.filter import distances_within
from gpualign.align.score.alignments import Measures, PairAlignments
from gpualign.align.score.bands import BandedAligner, aligned_by_score, aligned_within, aligner_of
from gpualign.align.score.cpu import Candidates, align_strand, most_edits
from gpualign.align.score.identity_filter import IdentityFilter, scores_nearby
from gpualign.align.score.problem import PairProblem
from gpualign.sequences.columns import Columns
from gpualign.sequences.identity import highest_identity, reaches
from gpualign.sequences.pairs import PairBlock
from gpualign.streaming.timeline import STEPS

#: which hits of a query count: all, that of the highest identity, or of the first target
Wanted = Literal["all", "best", "first"]
_SLACK = 1e-6
#: the widest limit that the edit filter of the CPU takes
MAX_EDITS = 1022
#: of ``Hits.exact``
ALL_MATCH, INNER_MATCH = 1, 2


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Pairs; the pairs of one query follow each other, their targets in order.

    Attributes:
        pairs: of distinct sequences.
        wanted: which hits of each query count; others may be left out.
        least: float64 (p,), identities that count, at least that of the problem; None: that of the problem.
        highest: float32 (p,), the highest identity that each can have as far as is known; None: 1.
    """

    pairs: PairBlock
    wanted: Wanted
    least: NDArray[np.float64] | None = None
    highest: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class Hits(Columns):
    """Pairs that reach the identity, in order.

    Attributes:
        query, target: int32 (n,), distinct sequences.
        identity: float64 (n,), 0 to 1.
        exact: uint8 (n,), ``ALL_MATCH`` if all columns are matches, ``INNER_MATCH`` if those between gaps at the ends
            are.
        operations, operation_offsets: CIGARs as BAM words.
    """

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    identity: NDArray[np.float64]
    exact: NDArray[np.uint8]
    operations: NDArray[np.uint32]
    operation_offsets: NDArray[np.int64]

    @classmethod
    def none(cls) -> Hits:
        """No hits."""
        kinds = ("i4", "i4", "f8", "u1", "u4")
        return cls(*(*(np.zeros(0, kind) for kind in kinds), np.zeros(1, np.int64)))


@dataclass(frozen=True, eq=False)
class NearProblem:
    """Parameters that all pairs have in common.

    Attributes:
        pairs: how they are aligned; queries and targets are the distinct sequences, and with both strands then their
            reverse complements.
        coverage: aligned pairs of symbols as a share of the longer sequence, at least.
        query_coverage, target_coverage: as a share of the query and of the target, at least.
    """

    pairs: PairProblem
    coverage: float
    query_coverage: float = 0.0
    target_coverage: float = 0.0

    @cached_property
    def aligner(self) -> BandedAligner | None:
        """Aligns pairs whose edit distance is known."""
        return aligner_of(self.pairs)

    @cached_property
    def identity_filter(self) -> IdentityFilter:
        """Of definitions 2 and 3."""
        return IdentityFilter(self.pairs)

    def hits_of(self, alignments: PairAlignments) -> Hits:
        """Those that reach identity and coverage."""
        measures = Measures(alignments, "global")
        identity = measures.identity(self.pairs.definition)
        aligned = measures.matches + measures.mismatches
        longer = np.maximum(measures.n, measures.m)
        assert self.pairs.identity is not None
        kept = np.flatnonzero(
            reaches(identity, self.pairs.identity)
            & (aligned >= self.coverage * longer - _SLACK)
            & (aligned >= self.query_coverage * measures.n - _SLACK)
            & (aligned >= self.target_coverage * measures.m - _SLACK)
        )
        inner = measures.identity(2)
        exact = np.where(measures.matches == measures.columns, ALL_MATCH | INNER_MATCH, (inner == 1) * INNER_MATCH)
        some = alignments.take(kept)
        assert some.cigar is not None
        assert some.cigar_offsets is not None
        return Hits(
            some.query, some.target, identity[kept], exact[kept].astype(np.uint8), some.cigar, some.cigar_offsets
        )


@STEPS.at("compute")
def near_on_cpu(problem: NearProblem, item: NearPairs) -> Hits:
    """The hits among some pairs: the edit filter, then alignments, those first that can have the highest identity."""
    pairs, block = problem.pairs, item.pairs
    if pairs.edit_limits is None or not len(block):
        return problem.hits_of(aligned_by_score(pairs, problem.aligner, block))
    if pairs.definition in (2, 3):  # edits at the ends limit nothing
        return _aligned_in_rounds(problem, item)
    n, m = pairs.sizes(block)
    limits = most_edits(pairs, n, m, item.least)
    counted = np.minimum(limits, MAX_EDITS)
    distances = distances_within(pairs.targets, pairs.targets, block, counted, pairs.scoring)
    near = np.flatnonzero(distances >= 0)

    def aligned(chosen: NDArray[np.int64]) -> Hits:
        return problem.hits_of(aligned_within(pairs, problem.aligner, block.take(chosen), distances[chosen]))

    # more edits than the filter counts: their scores are a filter
    many = np.flatnonzero((distances < 0) & (limits > MAX_EDITS))
    by_score = problem.hits_of(aligned_by_score(pairs, problem.aligner, block.take(many)))
    if item.wanted == "all" or not len(near):
        return Hits.join([by_score, aligned(near)])
    bound = highest_identity(pairs.definition, distances[near], n[near], m[near])
    if item.wanted == "first":
        bound = -near.astype(np.float64)
    return Hits.join([by_score, _in_rounds(block.queries, near, bound, item.wanted, aligned)])


def _aligned_in_rounds(problem: NearProblem, item: NearPairs) -> Hits:
    """Align pairs without an edit filter, those first that can have the highest identity."""
    pairs, aligner = problem.pairs, problem.aligner
    every = np.arange(len(item.pairs))
    near, candidates = every, Candidates(item.pairs)
    if aligner is not None:
        candidates = aligner.scored(item.pairs, scores := scores_nearby(pairs, item.pairs))
        near = problem.identity_filter.near(candidates, scores)

    def aligned(chosen: NDArray[np.int64]) -> Hits:
        return problem.hits_of(align_strand(pairs, candidates.take(chosen), 0))

    if item.wanted == "all":
        return aligned(near)
    bound = -every.astype(np.float64)
    if item.wanted == "best":
        bound = np.ones(len(every)) if item.highest is None else item.highest.astype(np.float64)
    return _in_rounds(item.pairs.queries, near, bound[near], item.wanted, aligned)


def _in_rounds(
    queries: NDArray[np.int32],
    near: NDArray[np.int64],
    bound: NDArray[np.float64],
    wanted: Wanted,
    aligned: Callable[[NDArray[np.int64]], Hits],
) -> Hits:
    """Align the pairs ``near`` of each query from the highest ``bound`` on, as long as one can still count."""
    done = [Hits.none()]
    best = np.full(int(queries.max()) + 1, -np.inf)
    while len(near):
        query = queries[near]
        top = np.full(len(best), -np.inf)
        np.maximum.at(top, query, bound)
        now = bound == top[query]
        hits = aligned(near[now])
        done.append(hits)
        np.maximum.at(best, hits.query, hits.identity)
        left = ~now & ((bound >= best[query]) if wanted == "best" else np.isneginf(best[query]))
        near, bound = near[left], bound[left]
    return Hits.join(done)
