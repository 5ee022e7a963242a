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
    ambiguous: int | None = None,
) -> list[int]:
    """Fewest errors of the pattern against a part of the text that ends after 0, 1, 2, ... symbols.

    Layer b of the matrix has at most b bulges, and layer a at most a ambiguous bases of the text.
    """
    m, must = len(pattern), fixed or [0] * len(pattern)
    layers = [(a, b) for a in range((ambiguous or 0) + 1) for b in range(1 if bulges is None else bulges + 1)]
    far = [FAR] * (m + 1)

    def below(layer: tuple[int, int]) -> tuple[int, int]:
        return layer if bulges is None else (layer[0], layer[1] - 1)

    now: dict[tuple[int, int], list[int]] = {}
    for layer in layers:
        now[layer] = [0] * (m + 1)
        for i in range(1, m + 1):
            gap = FAR if must[i - 1] else now.get(below(layer), far)[i - 1] + 1
            now[layer][i] = gap if overhang is None else math.floor(overhang * i + 1e-9)
    found = [now[layers[-1]][m]]
    equal = {symbol: [matches(own, symbol, share) for own in pattern] for symbol in set(text)}
    for j, symbol in enumerate(text, start=1):
        after: dict[tuple[int, int], list[int]] = {}
        same, spent = equal[symbol], ambiguous is not None and symbol not in "ACGT"
        for layer in layers:
            from_ = (layer[0] - spent, layer[1])
            before, gaps = now.get(from_, far), now.get(below(from_), far)
            column = after[layer] = [0] * (m + 1)
            lower = after.get(below(layer), far)
            for i in range(1, m + 1):
                value = before[i - 1] + (0 if same[i - 1] else FAR if must[i - 1] else 1)
                if not (must[i - 1] and (i == m or must[i])):
                    value = min(value, gaps[i] + 1)
                if not must[i - 1]:
                    value = min(value, lower[i - 1] + 1)
                column[i] = min(value, FAR)
        now = after
        best = now[layers[-1]][m]
        if overhang is not None and j == len(text):
            best = min([best, *(now[layers[-1]][i] + math.floor(overhang * (m - i) + 1e-9) for i in range(1, m))])
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
