"""The length of words by which near sequences are found."""

from __future__ import annotations

import math

from gpualign.align.near.cpu import NearProblem

#: words of fewer symbols are in every list, longer words find no better
_SHORTEST, _LONGEST = {True: 6, False: 3}, {True: 24, False: 10}
#: where none follow from the identity, as from that of the nearest centroid they may
_OTHERWISE = {True: 8, False: 3}


def word_length(problem: NearProblem) -> int:
    """Symbols of a word; 0 where an identity proves no number of common words.

    With e edits a symbol at most, a sequence of n symbols has n / w words of which n e may change. Words of half of
    1 / e leave half of them; words of 1 / e or more leave none, and where they leave few, many sequences have these by
    chance: longest common subsequences say more.
    """
    pairs = problem.pairs
    definition, identity = pairs.definition, pairs.identity or 0.0
    if definition == 3 or identity <= 0:
        return 0
    nucleotide = pairs.scoring.identical <= 4
    if definition == 2 and problem.coverage == 0:
        return _OTHERWISE[nucleotide]
    edits = 2 * (1 - identity) if definition == 0 else (1 - identity) / identity
    longest = min(_LONGEST[nucleotide], int(62 / math.log2(max(2, pairs.scoring.identical))))
    if edits * (longest * 2) <= 1:
        return longest
    word = max(_SHORTEST[nucleotide], round(1 / (2 * edits)))
    return word if word * edits < 0.85 else _OTHERWISE[nucleotide]
