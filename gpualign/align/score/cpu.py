"""Alignment of a block of pairs, filtered by identity, on the CPU."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.edit.filter import distances_within
from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.problem import PairProblem
from gpualign.sequences.identity import band_of, score_from_edits
from gpualign.sequences.pairs import PairBlock
from gpualign.streaming.timeline import STEPS

_EVERYWHERE = np.zeros(0, np.int32)  # a band that is none


def align_on_cpu(problem: PairProblem, block: PairBlock) -> PairAlignments:
    """A block on the calling thread."""
    strands = [
        problem.keep(align_strand(problem, filter_on_cpu(problem, block, strand), strand))
        for strand in range(len(problem.queries))
    ]
    return strands[0] if len(strands) == 1 else better_strand(*strands)


def better_strand(plus: PairAlignments, minus: PairAlignments) -> PairAlignments:
    """The better-scoring strand of each pair, plus for ties; both inputs have pairs in block order."""
    both = PairAlignments.join([plus, minus])
    pair_key = both.query.astype(np.int64) << 32 | both.target
    # a pair that is listed twice appears twice on each strand: number the repeats
    order = np.lexsort((np.arange(len(pair_key)), pair_key, both.minus))
    repeat = np.zeros(len(pair_key), np.int64)
    same = (np.diff(pair_key[order]) == 0) & (np.diff(both.minus[order].astype(np.int8)) == 0)
    for i in np.flatnonzero(same) + 1:
        repeat[order[i]] = repeat[order[i - 1]] + 1
    best = np.lexsort((both.minus, -both.score.astype(np.int64), repeat, pair_key))
    first = np.ones(len(best), bool)
    first[1:] = (np.diff(pair_key[best]) != 0) | (np.diff(repeat[best]) != 0)
    return both.take(best[first])


@dataclass(frozen=True)
class Candidates:
    """The pairs of a block on one strand that passed the filters, and the limits of their alignments.

    Attributes:
        block: the pairs that are left.
        band_low, band_high: int32 (p,), diagonals (target - query) of an optimal path, inclusive; None: any.
    """

    block: PairBlock
    band_low: NDArray[np.int32] | None = None
    band_high: NDArray[np.int32] | None = None

    def take(self, where: NDArray[np.int64] | slice) -> Candidates:
        bands = (None if band is None else band[where] for band in (self.band_low, self.band_high))
        return Candidates(self.block.take(where), *bands)


_SLACK = 1e-6


def most_edits(
    problem: PairProblem, n: NDArray[np.int32], m: NDArray[np.int32], least: NDArray[np.float64] | None = None
) -> NDArray[np.int32]:
    """int32 (p,): edits that the identity allows: as in `pairwise`, and with C columns of which id C match, n + m
    symbols are 2 id C in matches and at least (1 - id) C others: C (1 - id) <= (n + m) (1 - id) / (1 + id).

    Args:
        least: float64 (p,), the identities, not below the problem's.
    """
    assert problem.edit_limits is not None
    assert problem.identity is not None
    limits = problem.edit_limits.of(n, m)
    identity: float | NDArray[np.float64] = problem.identity if least is None else least
    total, shorter = n.astype(np.int64) + m, np.minimum(n, m)
    if problem.definition not in (1, 4):
        matches = np.ceil(identity * shorter - _SLACK)
        return np.asarray(np.minimum(limits, (total - 2 * matches).astype(np.int32)), np.int32)
    both = np.minimum(total / (1 + identity), shorter / identity) * (1 - identity) + _SLACK
    return np.asarray(np.minimum(limits, both.astype(np.int32)), np.int32)


def candidates_within(
    problem: PairProblem, block: PairBlock, near: NDArray[np.integer], distances: NDArray[np.int32]
) -> Candidates:
    """The pairs ``near`` (indices, ascending), with the band that their edit distances prove."""
    left = block.take(near.astype(np.int64))
    if problem.mode != "global":
        return Candidates(left)
    n, m = problem.lengths(left).T
    codes: NDArray[np.int64] | int = 0
    if problem.scoring.bases:
        of_queries, of_targets = problem.ambiguous
        codes = of_queries[left.queries] + of_targets[left.targets]
    minimum = score_from_edits(distances.astype(np.int64), n, m, problem.scoring, problem.gap_open, codes)
    return _within_band(problem, left, minimum)


def _within_band(problem: PairProblem, block: PairBlock, scores: NDArray[np.int64]) -> Candidates:
    """Pairs with the band that global alignments of at least these scores (p,) have."""
    n, m = problem.lengths(block).T
    gaps = problem.gap_open, problem.gap_extend
    if any(problem.cheap_ends):  # no symbol of a gap costs less
        gaps = (min(extend for _, extend in problem.costs_at_ends),) * 2
    return Candidates(block, *band_of(scores, n, m, problem.scoring, *gaps))


def score_lines(problem: PairProblem) -> tuple[float, float, float, float] | None:
    """The score bound that follows from the identity (``IdentityBound.score_lines``), or None."""
    if not problem.traced or problem.mode != "global" or problem.bound is None:
        return None
    return problem.bound.score_lines(problem.scoring, problem.gap_open)


def candidates_by_score(problem: PairProblem, block: PairBlock, scores: NDArray[np.int32]) -> Candidates:
    """The pairs whose scores (p,) reach the bound L."""
    assert problem.bound is not None
    n, m = problem.lengths(block).T
    near = np.flatnonzero(scores >= problem.bound.min_score(n, m, problem.scoring, problem.gap_open))
    return candidates_scored(problem, block, near, scores[near])


def candidates_scored(
    problem: PairProblem, block: PairBlock, near: NDArray[np.integer], scores: NDArray[np.int32]
) -> Candidates:
    """The pairs ``near`` (indices, ascending), with the band that their scores prove."""
    left = block.take(near.astype(np.int64))
    return _within_band(problem, left, scores.astype(np.int64))


@STEPS.at("compute")
def filter_on_cpu(problem: PairProblem, block: PairBlock, strand: int) -> Candidates:
    """Drop the pairs that are proved to miss the identity."""
    limits = None if problem.edit_limits is None else problem.edit_limits.counted(*problem.sizes(block))
    if limits is None:
        if score_lines(problem) is None:
            return Candidates(block)
        scored = align_strand(replace(problem, traced=False, identity=None), Candidates(block), strand)
        return candidates_by_score(problem, block, scored.score)
    distances = distances_within(problem.queries[strand], problem.targets, block, limits, problem.scoring)
    near = np.flatnonzero(distances >= 0)
    return candidates_within(problem, block, near, distances[near])


@STEPS.at("compute")
def align_strand(problem: PairProblem, candidates: Candidates, strand: int) -> PairAlignments:
    """All candidates on one strand, not yet filtered by their identity."""
    queries, targets, scoring = problem.queries[strand], problem.targets, problem.scoring
    block = candidates.block
    band_low = _EVERYWHERE if candidates.band_low is None else candidates.band_low
    band_high = _EVERYWHERE if candidates.band_high is None else candidates.band_high
    score, spans, counts, cigar, offsets = _native.align_pairs(
        queries.codes,
        queries.offsets,
        targets.codes,
        targets.offsets,
        block.queries,
        block.targets,
        band_low=band_low,
        band_high=band_high,
        scores=scoring.scores.ravel(),
        symbols=len(scoring),
        identical=scoring.identical,
        bases=scoring.bases,
        match_mismatch=scoring.name == "match/mismatch",
        open=problem.gap_open,
        extend=problem.gap_extend,
        local=problem.mode == "local",
        free_ends=sum(free << bit for bit, free in enumerate(problem.free_ends)),
        end_gaps=np.array(problem.costs_at_ends, np.int32).ravel(),
        traced=problem.traced,
        table_bytes=problem.table_bytes,
        pair_threads=problem.pair_threads,
    )
    lengths = problem.lengths(block)
    minus = np.full(len(block), bool(strand))
    if not problem.traced:
        return PairAlignments(block.queries, block.targets, minus, score, lengths)
    return PairAlignments(
        block.queries,
        block.targets,
        minus,
        score,
        lengths,
        spans.reshape(-1, 4),
        counts.reshape(-1, 4),
        cigar,
        offsets,
    )
