"""Identity of an alignment by vsearch's definitions, and what an identity proves before anything is aligned.

Throughout, n and m are the lengths of query and target, an alignment has M matches, X mismatches and G symbols in
gaps, so n + m = 2M + 2X + G and it has C = M + X + G columns. Symbols that a semi-global alignment leaves out at its
free ends count as gap symbols here (definitions 0, 1, 3 and 4 look at whole sequences).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.matrices import Scoring

#: no bound
UNBOUNDED = np.iinfo(np.int32).max
#: an identity of 0.97 must let 97 of 100 pass although 0.97 * 100 in binary may be a little more than 97
_SLACK = 1e-9


def edits_within(rate: float, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Most edits of sequences of these lengths, as a share of the length: ``-e`` of every command, rounded down."""
    return np.asarray(np.floor(rate * lengths + _SLACK), np.int64)


def fraction(
    definition: int,
    matches: NDArray[np.int64],
    mismatches: NDArray[np.int64],
    openings: NDArray[np.int64],
    columns: NDArray[np.int64],
    inner_columns: NDArray[np.int64],
    n: NDArray[np.int64],
    m: NDArray[np.int64],
) -> NDArray[np.float64]:
    """float64 (p,): identity between 0 and 1; 0 where nothing is there to compare.

    Args:
        definition: 0 matches / shorter sequence; 1 and 4 matches / ``columns``; 2 matches / ``inner_columns``;
            3 is 1 - (mismatches + openings) / longer sequence, not below 0.
        columns: all columns, terminal gaps included.
        inner_columns: columns without terminal gaps.
    """
    if definition == 3:
        longer = np.maximum(n, m)
        value = 1 - (mismatches + openings) / np.maximum(longer, 1)
        return np.where(longer > 0, np.maximum(value, 0.0), 0.0)
    below = {0: np.minimum(n, m), 1: columns, 2: inner_columns, 4: columns}[definition]
    return np.asarray(np.where(below > 0, matches / np.maximum(below, 1), 0.0), np.float64)


def reaches(fractions: NDArray[np.float64], identity: float) -> NDArray[np.bool_]:
    """Which of the fractions are at least ``identity``."""
    return fractions >= identity - _SLACK


def highest_identity(
    definition: int, edits: NDArray[np.int32], n: NDArray[np.int32], m: NDArray[np.int32]
) -> NDArray[np.float64]:
    """float64 (p,): the identity that pairs of this edit distance can have at most, 1 where it proves nothing.

    Columns that are no match are edits, so there are at least as many; of M matches 2 M + edits <= n + m.
    """
    shorter = np.minimum(n, m)
    matches = np.minimum(shorter, (n.astype(np.int64) + m - edits) / 2)
    if definition == 0:
        return np.asarray(matches / np.maximum(shorter, 1), np.float64)
    if definition in (1, 4):
        return np.asarray(matches / np.maximum(matches + edits, 1), np.float64)
    return np.ones(len(n))


@dataclass(frozen=True)
class IdentityBound:
    """Bounds that ``identity`` implies for a pair. Each method is a necessary condition: a pair that fails it cannot
    reach the identity in any alignment, so it may be dropped without alignment.

    Attributes:
        identity: the threshold, 0 to 1.
        definition: vsearch's --iddef.
        local: the alignment is local (then its columns need not cover the sequences).
    """

    identity: float
    definition: int
    local: bool = False

    def max_edits(self, n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64 (p,): the largest edit distance that the identity allows; ``UNBOUNDED`` where it proves nothing.

        Definitions 1, 4: M >= id C, and the C - M columns that are no match are at most M (1 - id) / id of them, with
        M <= min(n, m). Each is one edit, so the edit distance is no larger.
        Definition 0: M >= id min(n, m) symbols stay; deleting and inserting all others is n + m - 2M edits.
        Definitions 2 and 3 forgive gaps of any length and prove nothing.
        """
        shorter = np.minimum(n, m).astype(np.float64)
        if self.definition == 0:
            kept = np.ceil(self.identity * shorter - 1e-6)
            return np.asarray(n + m - 2 * kept, np.int64)
        if self.definition in (1, 4) and self.identity > 0 and not self.local:
            edits = np.floor(shorter * (1 - self.identity) / self.identity + 1e-6)
            return np.minimum(edits, UNBOUNDED).astype(np.int64)
        return np.full(len(shorter), UNBOUNDED, np.int64)

    def score_lines(self, scoring: Scoring, gap_open: int) -> tuple[float, float, float, float] | None:
        """(p, q, r, s): an optimal alignment that reaches the identity scores at least the lower of p l + q t and
        r l + s t, with l the longer length and t both together (the bound L of Truong et al. 2014, with mismatches,
        affine gaps and matrices); None where the identity proves nothing.

        Let a be the lowest score of a match, b the lowest score of any two symbols and g the most that a gap symbol can
        cost (the opening). An alignment scores at least S = aM + bX - gG; the optimum is no lower, and free ends only
        raise it. Definitions 1 and 4: with C columns G = 2C - t, X = C - M - G = t - C - M, and M >= id C.
        As a >= b, S is smallest at M = id C, where it is linear in C; C runs from l, where the shorter sequence
        has no gap, to t / (1 + id), where X = 0. So S is no lower than the lower of its two ends.
        Definition 0: M >= id s with s = t - l; S is linear in X from 0 to s - M; again its two ends decide.
        With id = 1, a = match and equal lengths this is the paper's L = m id match + 2 m gap (1 - id), without slack.
        """
        a, b, g, kept = scoring.lowest_match, scoring.lowest, gap_open, self.identity
        if self.definition in (1, 4) and not self.local:
            column = a * kept - b * (1 + kept) - 2 * g
            return column, b + g, 0.0, b + g + column / (1 + kept)
        if self.definition == 0 and not self.local and a + 2 * g >= 0:
            gapped, mismatched = (a + 2 * g) * kept, a * kept + b * (1 - kept) + 2 * g
            return -gapped, gapped - g, -mismatched, mismatched - g
        return None

    def min_score(
        self, n: NDArray[np.int64], m: NDArray[np.int64], scoring: Scoring, gap_open: int
    ) -> NDArray[np.int64]:
        """int64 (p,): what :meth:`score_lines` says of these lengths; the smallest int32 where that is nothing."""
        lines, total, longer = self.score_lines(scoring, gap_open), n + m, np.maximum(n, m)
        if lines is None:
            return np.full(len(total), np.iinfo(np.int32).min, np.int64)
        minimum = np.minimum(lines[0] * longer + lines[1] * total, lines[2] * longer + lines[3] * total)
        return np.floor(minimum - 1e-6).astype(np.int64)


def band_of(
    score: NDArray[np.int64],
    n: NDArray[np.int64],
    m: NDArray[np.int64],
    scoring: Scoring,
    gap_open: int,
    gap_extend: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Diagonals j - i that an optimal global alignment of at least ``score`` can touch: int32 (p,) lowest and highest.

    With h the highest score of two symbols, an alignment with G > 0 gap symbols scores at most
    h (n + m - G) / 2 - open - (G - 1) extend, so a score of S leaves G <= (h (n + m) / 2 - open + extend - S) /
    (h / 2 + extend). Of G symbols (G + m - n) / 2 are in the query's gaps and (G + n - m) / 2 in the target's: no path
    leaves the main diagonal further to either side. All optimal alignments lie inside, ties included.
    """
    step = scoring.highest / 2 + gap_extend
    if step <= 0:
        return (-n).astype(np.int32), m.astype(np.int32)
    symbols = np.floor((scoring.highest * (n + m) / 2 - gap_open + gap_extend - score) / step + 1e-6)
    symbols = np.clip(symbols, np.abs(n - m), n + m).astype(np.int64)
    low = -((symbols + n - m) // 2)
    high = (symbols + m - n) // 2
    return np.maximum(low, -n).astype(np.int32), np.minimum(high, m).astype(np.int32)


def score_from_edits(
    edits: NDArray[np.int64],
    n: NDArray[np.int64],
    m: NDArray[np.int64],
    scoring: Scoring,
    gap_open: int,
    codes: NDArray[np.int64] | int = 0,
) -> NDArray[np.int64]:
    """int64 (p,): a score that the optimal global alignment of a pair with this edit distance certainly reaches.

    The alignment with the fewest edits has at least max(n, m) - edits matches, and an edit costs at most the worst
    mismatch or an opening. At most ``codes`` matches are of ambiguity codes.
    """
    match, worst = scoring.lowest_equal, min(scoring.lowest, -gap_open, 0)
    kept = np.maximum(np.maximum(n, m) - edits, 0) if match >= 0 else np.minimum(n, m)
    of_codes = min(scoring.lowest_match - match, 0) * codes
    return np.asarray(match * kept + of_codes + worst * edits, np.int64)
