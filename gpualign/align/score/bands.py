"""Alignments in the narrow band that a few edits need, and the proof that no other scores as much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.cpu import Candidates, align_strand, candidates_within, filter_on_cpu, score_lines
from gpualign.align.score.problem import PairProblem
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock

#: diagonals on either side of those that the edits need
_MARGIN = 6


def values_of(scoring: Scoring) -> NDArray[np.int64] | None:
    """int64 (symbols,): upper bounds v of a symbol's score, so that s(a, b) <= (v(a) + v(b)) / 2; None for a matrix in
    which two symbols score more than the mean of either with itself.
    """
    values = np.maximum(np.diagonal(scoring.scores), 0).astype(np.int64)
    mean = values[:, None] + values[None, :]
    return values if (2 * scoring.scores.astype(np.int64) <= mean).all() else None


class BandedAligner:
    """Aligns pairs whose edit distance is known.

    Args:
        values: of the symbols (:func:`values_of`).
    """

    def __init__(self, problem: PairProblem, values: NDArray[np.int64]) -> None:
        self._problem = problem
        sequences, scoring = problem.targets, problem.scoring
        poor = (values < scoring.lowest_equal).astype(np.int64)
        self._worth = _native.sums_of_symbols(sequences.codes, sequences.offsets, values)
        self._poor = _native.sums_of_symbols(sequences.codes, sequences.offsets, poor)

    def align(self, block: PairBlock, distances: NDArray[np.int32]) -> PairAlignments:
        """The optimal alignments, of equal ones the same as without a band."""
        problem = self._problem
        n, m = problem.lengths(block).T
        low = np.maximum(-((distances + n - m) // 2) - _MARGIN, -n).astype(np.int32)
        high = np.minimum((distances + m - n) // 2 + _MARGIN, m).astype(np.int32)
        aligned = align_strand(problem, Candidates(block, low, high), 0)
        proved_low, proved_high = self._proved(block, aligned.score.astype(np.int64))
        beyond = (proved_low < low) | (proved_high > high)
        again = np.flatnonzero(beyond)
        if not len(again):
            return aligned
        rest = np.flatnonzero(~beyond)
        wider = Candidates(block.take(again), proved_low[again], proved_high[again])
        both = PairAlignments.join([aligned.take(rest), align_strand(problem, wider, 0)])
        return both.take(np.argsort(np.concatenate([rest, again])))

    def align_scored(self, block: PairBlock, scores: NDArray[np.int32]) -> PairAlignments:
        """Align pairs with lower bounds of their scores."""
        return align_strand(self._problem, self.scored(block, scores), 0)

    def scored(self, block: PairBlock, scores: NDArray[np.int32]) -> Candidates:
        """Pairs with the bands that lower bounds of their scores prove."""
        return Candidates(block, *self._proved(block, scores.astype(np.int64)))

    def _proved(self, block: PairBlock, scores: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Diagonals that an alignment of at least these scores can touch.

        With W the worth of all symbols of both, an alignment with G symbols in gaps scores at most W / 2 less what
        these are worth, which is at least g / 2 each but for the poor ones, less the gaps' cost.
        """
        problem = self._problem
        n, m = problem.lengths(block).T
        least = problem.scoring.lowest_equal
        extend = min(*(extend for _, extend in problem.costs_at_ends), problem.gap_extend)
        worth = self._worth[block.queries] + self._worth[block.targets]
        poor = self._poor[block.queries] + self._poor[block.targets]
        step = least / 2 + extend
        symbols = np.floor((worth / 2 + poor * least / 2 - scores) / step + 1e-6)
        symbols = np.clip(symbols, np.abs(n - m), n + m).astype(np.int64)
        low, high = -((symbols + n - m) // 2), (symbols + m - n) // 2
        return np.maximum(low, -n).astype(np.int32), np.minimum(high, m).astype(np.int32)


def aligner_of(problem: PairProblem) -> BandedAligner | None:
    """None where scores prove no band."""
    values = values_of(problem.scoring)
    extend = min(*(extend for _, extend in problem.costs_at_ends), problem.gap_extend)
    if values is None or problem.scoring.lowest_equal / 2 + extend <= 0:
        return None
    return BandedAligner(problem, values)


def aligned_within(
    problem: PairProblem, aligner: BandedAligner | None, block: PairBlock, distances: NDArray[np.int32]
) -> PairAlignments:
    """Pairs with these edit distances."""
    if aligner is not None:
        return aligner.align(block, distances)
    return align_strand(problem, candidates_within(problem, block, np.arange(len(block)), distances), 0)


def aligned_by_score(problem: PairProblem, aligner: BandedAligner | None, block: PairBlock) -> PairAlignments:
    """Pairs whose scores reach what the identity demands, where it demands one."""
    if score_lines(problem) is None or problem.bound is None or aligner is None or not len(block):
        return align_strand(problem, filter_on_cpu(problem, block, 0), 0)
    scores = align_strand(replace(problem, traced=False, identity=None), Candidates(block), 0).score
    n, m = problem.lengths(block).T
    near = np.flatnonzero(scores >= problem.bound.min_score(n, m, problem.scoring, problem.gap_open))
    return aligner.align_scored(block.take(near), scores[near])
