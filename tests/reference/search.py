"""Approximate search by the textbook: a column of the matrix for each symbol (Sellers 1980)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

FAR = 10**6
SETS = dict(zip("ACGTRYSWKMBDHVN", (1, 2, 4, 8, 5, 10, 6, 9, 12, 3, 14, 13, 11, 7, 15), strict=True))
_COMPLEMENTS = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
#: pattern, target, strand, where the pattern's direction ends, distance
Hit = tuple[int, int, str, int, int]


def reverse_complement(text: str) -> str:
    return text.translate(_COMPLEMENTS)[::-1]


def matches(symbol: str, text: str, share: bool = False) -> bool:
    """A target's code is covered by the pattern's; or they share a base."""
    return bool(SETS[symbol] & SETS[text]) if share else not SETS[text] & ~SETS[symbol]


def profile(
    pattern: str,
    text: str,
    *,
    bulges: int | None = None,
    fixed: Sequence[int] | None = None,
    overhang: float | None = None,
    share: bool = False,
) -> list[int]:
    """Fewest errors of the pattern against a part of the text that ends after 0, 1, 2, ... symbols."""
    m, layers, must = len(pattern), 1 if bulges is None else bulges + 1, fixed or [0] * len(pattern)

    def below(b: int) -> int:
        return b if bulges is None else b - 1

    now = [[0] * (m + 1) for _ in range(layers)]
    for b in range(layers):
        for i in range(1, m + 1):
            gap = FAR if must[i - 1] or below(b) < 0 else now[below(b)][i - 1] + 1
            now[b][i] = gap if overhang is None else math.floor(overhang * i + 1e-9)
    found = [now[-1][m]]
    equal = {symbol: [matches(own, symbol, share) for own in pattern] for symbol in set(text)}
    for j, symbol in enumerate(text, start=1):
        after = [[0] * (m + 1) for _ in range(layers)]
        same = equal[symbol]
        for b in range(layers):
            before, column, lower = now[b], after[b], below(b)
            for i in range(1, m + 1):
                value = before[i - 1] + (0 if same[i - 1] else FAR if must[i - 1] else 1)
                if lower >= 0 and not (must[i - 1] and (i == m or must[i])):
                    value = min(value, now[lower][i] + 1)
                if lower >= 0 and not must[i - 1]:
                    value = min(value, after[lower][i - 1] + 1)
                column[i] = min(value, FAR)
        now = after
        best = now[-1][m]
        if overhang is not None and j == len(text):
            best = min([best, *(now[-1][i] + math.floor(overhang * (m - i) + 1e-9) for i in range(1, m))])
        found.append(best)
    return found


def ends(distances: Sequence[int], k: int, all_ends: bool = False) -> list[int]:
    """Where hits end: all within the limit, or those at which the distance rises after it has fallen."""
    if all_ends:
        return [end for end in range(1, len(distances)) if distances[end] <= k]
    found, falling = [], True
    for end, distance in enumerate(distances):
        falling = falling or distance < distances[end - 1]
        if end + 1 == len(distances) or distances[end + 1] > distance:
            if falling and distance <= k and end:
                found.append(end)
            falling = False
    return found


def search(
    patterns: Sequence[str],
    texts: Sequence[str],
    k: int,
    *,
    all_ends: bool = False,
    strands: str = "+-",
    **rules: object,
) -> set[Hit]:
    """All hits."""
    fixed: Sequence[Sequence[int]] = rules.pop("fixed", None) or [()] * len(patterns)  # type: ignore[assignment]
    hits = set()
    for p, pattern in enumerate(patterns):
        for t, text in enumerate(texts):
            for strand in strands:
                read = text if strand == "+" else reverse_complement(text)
                distances = profile(pattern, read, fixed=fixed[p] or None, **rules)  # type: ignore[arg-type]
                for end in ends(distances, min(k, len(pattern)), all_ends):
                    hits.add((p, t, strand, end if strand == "+" else len(text) - end, distances[end]))
    return hits


def replayed(cigar: str, pattern: str, text: str, share: bool = False) -> int:
    """The errors of an alignment of all of both.

    Raises:
        AssertionError: it is not one.
    """
    i = j = errors = 0
    for count, operation in re.findall(r"(\d+)([=XID])", cigar):
        for _ in range(int(count)):
            if operation in "=X":
                assert matches(pattern[i], text[j], share) == (operation == "=")
            errors += operation != "="
            i += operation in "=XI"
            j += operation in "=XD"
    assert (i, j) == (len(pattern), len(text))
    return errors
