"""``gpualign.distance`` and its kin: the edit distance of two texts, as plain numbers.

The names, the cutoffs and their results are RapidFuzz's (``rapidfuzz.distance.Levenshtein``). Many pairs at once take
:func:`gpualign.distances`.
"""

from __future__ import annotations

from typing import TypeVar

from gpualign import _native
from gpualign.errors import UsageError

Text = TypeVar("Text", str, bytes)


def distance(a: Text, b: Text, score_cutoff: int | None = None) -> int:
    """Edit distance of two texts: insertions, deletions and substitutions.

    >>> distance("kitten", "sitting")
    3
    >>> distance("kitten", "sitting", score_cutoff=1)
    2

    Args:
        a, b: str (by code points) or bytes.
        score_cutoff: a larger distance is ``score_cutoff + 1``, which is found sooner; None: no limit.

    Raises:
        UsageError: something else than texts, or a cutoff below 0.
    """
    if score_cutoff is not None and score_cutoff < 0:
        raise UsageError(f"score_cutoff must be at least 0, not {score_cutoff}")
    try:
        found = _native.text_distance(a, b, -1 if score_cutoff is None else score_cutoff)
    except TypeError:
        raise _no_texts(a, b) from None
    return found if found >= 0 or score_cutoff is None else score_cutoff + 1


def similarity(a: Text, b: Text, score_cutoff: int = 0) -> int:
    """Length of the longer text less the distance; 0 if that is below ``score_cutoff``.

    >>> similarity("kitten", "sitting")
    4

    Args, raises: as :func:`distance`.
    """
    try:
        return _native.text_similarity(a, b, score_cutoff)
    except TypeError:
        raise _no_texts(a, b) from None


def normalized_distance(a: Text, b: Text, score_cutoff: float = 1.0) -> float:
    """Distance as a share of the longer text's length, from 0 to 1; 1 if that is above ``score_cutoff``.

    >>> normalized_distance("ACGT", "AGGT")
    0.25

    Args, raises: as :func:`distance`.
    """
    try:
        return _native.text_share(a, b, score_cutoff, False)
    except TypeError:
        raise _no_texts(a, b) from None


def normalized_similarity(a: Text, b: Text, score_cutoff: float = 0.0) -> float:
    """1 less :func:`normalized_distance`; 0 if that is below ``score_cutoff``.

    >>> normalized_similarity("ACGT", "AGGT", score_cutoff=0.7)
    0.75

    Args, raises: as :func:`distance`.
    """
    try:
        return _native.text_share(a, b, score_cutoff, True)
    except TypeError:
        raise _no_texts(a, b) from None


def _no_texts(a: object, b: object) -> UsageError:
    return UsageError(f"distances of two texts take str or bytes, not {type(a).__name__} and {type(b).__name__}")
