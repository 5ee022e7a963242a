"""Bit scores and E-values of local alignments (Karlin and Altschul 1990), with the correction for the ends of short
sequences that BLAST uses (Park, Sheetlin, Ma, Madden and Spouge 2012, New finite-size correction for local alignment
score distributions).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import UsageError
from gpualign.pairwise.database.constants import GAPPED, UNGAPPED
from gpualign.sequences.matrices import Scoring

#: no hit of any limit needs more
_HIGHEST_LEAST = 1 << 14
_ROOT_2PI = math.sqrt(2 * math.pi)
_normal = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), otypes=[np.float64])


@dataclass(frozen=True)
class ScoreStatistics:
    """Constants of one matrix with its gap costs.

    Attributes:
        scale, k: lambda and K.
        a, alpha, sigma: how fast the lengths that an alignment takes from both sequences grow with its score: their
            mean, their variance and their covariance.
        b, beta, tau: the same at score 0.
    """

    scale: float
    k: float
    a: float
    b: float
    alpha: float
    beta: float
    sigma: float
    tau: float

    @classmethod
    def of(cls, scoring: Scoring, gap_open: int, gap_extend: int) -> ScoreStatistics:
        """For penalties of the first and of each further residue of a gap.

        Raises:
            UsageError: no constants are published for these.
        """
        known = GAPPED.get(scoring.name)
        if known is None:
            raise UsageError(
                f"E-values and bit scores are known for {', '.join(GAPPED)}, not for {scoring.name} "
                "(--min-score does not need them)"
            )
        existence = gap_open - gap_extend
        if (existence, gap_extend) not in known:
            costs = ", ".join(f"{first + further}/{further}" for first, further in sorted(known))
            raise UsageError(
                f"no E-values and bit scores of {scoring.name} are published for --gapopen {gap_open} "
                f"--gapext {gap_extend} (known: {costs})"
            )
        scale, k, a, alpha, sigma = known[existence, gap_extend]
        a_ungapped, alpha_ungapped = UNGAPPED[scoring.name]
        grown = 2.0 * gap_open
        return cls(
            scale,
            k,
            a,
            grown * (a_ungapped - a),
            alpha,
            grown * (alpha_ungapped - alpha),
            sigma,
            grown * (alpha_ungapped - sigma),
        )

    def bits(self, scores: NDArray[np.integer]) -> NDArray[np.float64]:
        """float64 (p,): bit scores of raw ones."""
        return np.asarray((self.scale * scores - math.log(self.k)) / math.log(2), np.float64)

    def evalues(
        self, scores: NDArray[np.integer], query: NDArray[np.integer], target: NDArray[np.integer], database: int
    ) -> NDArray[np.float64]:
        """float64 (p,): how many alignments of such a score are expected by chance.

        Args:
            scores: (p,), raw.
            query, target: (p,), residues of each.
            database: residues of all targets.
        """
        y = scores.astype(np.float64)
        spread = np.sqrt(np.maximum(2 * self.alpha / self.scale, self.alpha * y + self.beta))
        rest = [length - (self.a * y + self.b) for length in (query, target)]
        share = [_normal(left / spread) for left in rest]
        capacity = [
            left * inside + spread / _ROOT_2PI * np.exp(-0.5 * (left / spread) ** 2)
            for left, inside in zip(rest, share, strict=True)
        ]
        together = np.maximum(2 * self.sigma / self.scale, self.sigma * y + self.tau)
        area = capacity[0] * capacity[1] + together * share[0] * share[1]
        pairs = area * self.k * np.exp(-self.scale * y)
        return np.asarray(pairs * database / np.maximum(target, 1), np.float64)

    def least_scores(
        self, evalue: float, query: NDArray[np.integer], target: NDArray[np.integer], database: int
    ) -> NDArray[np.int64]:
        """int64 (q, t): the lowest score with an E-value of at most ``evalue``, which only falls with the score.

        Args:
            query, target: (q,) and (t,), residues.
        """
        shape = len(query), len(target)
        n, m = np.broadcast_to(query[:, None], shape).ravel(), np.broadcast_to(target, shape).ravel()
        low, high = np.zeros(shape, np.int64).ravel(), np.full(shape, _HIGHEST_LEAST).ravel()
        while (high - low).max(initial=0) > 1:
            middle = (low + high) // 2
            reached = self.evalues(middle, n, m, database) <= evalue
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high.reshape(shape)
