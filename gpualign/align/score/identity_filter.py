"""Pairs whose optimal global alignments cannot reach an identity that gaps at the ends or the length of a gap do not
lower (definitions 2 and 3), found from scores.

Of an alignment let S be the score, and D what it has more than the identity demands: of definition 2
M - id (M + X + G) with G gap symbols inside, of definition 3 (1 - id) l - X - O with the longer length l and O gaps. An
optimal alignment that reaches the identity has D >= 0, so its S + w D is no less than a score that the pair is known
to have, for any weight w. Without the gaps at the ends it is a local alignment in which a match scores w (1 - id) more
and so on, and with a symbol of each gap at the ends taken for free (the transform of cuda/algo/align/score/nw.hpp). The
best local alignment with such scores scores at least as much; where it does not, the pair misses the identity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.cpu import Candidates, align_strand
from gpualign.align.score.problem import PairProblem
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock

#: w; any is right. Of seven tried for definition 2 on amplicons, 4 left the fewest pairs
_WEIGHT = {2: 4.0, 3: 6.0}
#: whole numbers of the local alignment for one of the score
_SCALE = 8
#: an identity may be rounded up
_SLACK = 1e-6
#: pairs of a query that are aligned together in less time than each with its path
_SHARED = 4
#: diagonals on either side of those between the corners in which a good alignment is looked for
_NARROW = 8


def scores_nearby(problem: PairProblem, block: PairBlock) -> NDArray[np.int32]:
    """int32 (p,): of the best alignment along the diagonals of the corners; the optimal one scores no less."""
    n, m = problem.sizes(block)
    low, high = np.minimum(0, m - n) - _NARROW, np.maximum(0, m - n) + _NARROW
    band = (np.maximum(low, -n).astype(np.int32), np.minimum(high, m).astype(np.int32))
    return align_strand(replace(problem, traced=False, identity=None), Candidates(block, *band), 0).score


class IdentityFilter:
    """Finds the pairs that may reach the identity of a problem, whose definition is 2 or 3."""

    def __init__(self, problem: PairProblem) -> None:
        assert problem.identity is not None
        weight, identity = _WEIGHT[problem.definition], problem.identity - _SLACK
        inner = problem.definition == 2
        self._end = min(min(gap) for gap in problem.costs_at_ends)
        self._allowed = 0.0 if inner else weight * (1 - identity)
        of_gap, of_symbol = (0.0, weight * identity) if inner else (weight, 0.0)
        opening = int(_SCALE * (problem.gap_open - self._end + of_gap + of_symbol))
        weights = (weight * (1 - identity), weight * identity) if inner else (0.0, weight)
        self._local = replace(
            problem,
            scoring=self._weighed(problem.scoring, *weights),
            gap_open=opening,
            gap_extend=min(opening, int(_SCALE * (problem.gap_extend - self._end + of_symbol))),
            end_gaps=(),
            mode="local",
            traced=False,
            identity=None,
        )

    def near(self, candidates: Candidates, scores: NDArray[np.int32]) -> NDArray[np.int64]:
        """Indices of the candidates that may reach the identity, ascending; all of a query that has few.

        Args:
            candidates: with the bands that optimal alignments keep to.
            scores: int32 (p,), what the pairs' optimal alignments score at least.
        """
        of_query = np.bincount(candidates.block.queries)[candidates.block.queries]
        tested = np.flatnonzero(of_query >= _SHARED)
        some = candidates.take(tested)
        n, m = self._local.lengths(some.block).T
        least = scores[tested] + self._end * (n + m) - self._allowed * np.maximum(n, m)
        near = of_query < _SHARED
        near[tested] = align_strand(self._local, some, 0).score >= _SCALE * least
        return np.flatnonzero(near)

    def _weighed(self, scoring: Scoring, match: float, mismatch: float) -> Scoring:
        """The scores of local alignments, rounded up."""
        codes = np.arange(len(scoring))
        matching = (codes[:, None] == codes) & (codes < scoring.identical)
        if scoring.bases:  # codes may match
            matching |= np.maximum(codes[:, None], codes) >= scoring.identical
        scores = scoring.scores + 2 * self._end + np.where(matching, match, -mismatch)
        return replace(scoring, scores=np.ceil(_SCALE * scores).astype(scoring.scores.dtype))
