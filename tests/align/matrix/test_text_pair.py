"""Distances of two texts: against the recurrence cell by cell, RapidFuzz's cutoffs and shares, and other inputs."""

from __future__ import annotations

import random

import pytest
from rapidfuzz.distance import Levenshtein

import gpualign


def naive(a: str, b: str) -> int:
    """Row by row (Wagner and Fischer 1974)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def edited(rng: random.Random, text: str, alphabet: str, edits: int) -> str:
    symbols = list(text)
    for _ in range(edits):
        at = rng.randrange(len(symbols) + 1)
        symbols[at : at + rng.randrange(2)] = rng.choices(alphabet, k=rng.randrange(2))
    return "".join(symbols)


@pytest.mark.parametrize("alphabet", ["AC", "ACGT", "abcé", "xyzß中😀", "ab\udc80"])
def test_distances_are_those_of_the_recurrence(alphabet: str) -> None:
    rng = random.Random(alphabet.encode("utf-8", "surrogatepass"))
    for length in (0, 1, 2, 31, 63, 64, 65, 127, 128, 129, 150):
        for edits in (0, 1, 3, 20):
            a = "".join(rng.choices(alphabet, k=length))
            b = edited(rng, a, alphabet, edits)
            expected = naive(a, b)
            assert gpualign.distance(a, b) == gpualign.distance(b, a) == expected
            for cutoff in {0, 1, max(0, expected - 1), expected, expected + 1, 30}:
                assert gpualign.distance(a, b, score_cutoff=cutoff) == min(expected, cutoff + 1)


@pytest.mark.parametrize("alphabet", ["ACGT", "αβγδ"])
def test_cutoffs_and_shares_are_rapidfuzz(alphabet: str) -> None:
    """Also of texts that take several words, bands of words, and all lanes."""
    rng = random.Random(2)
    for length in (0, 7, 60, 90, 300, 700, 1025, 3000):
        for edits in (1, length // 40, length // 8, length):
            a = "".join(rng.choices(alphabet, k=length))
            b = edited(rng, a, alphabet, edits)
            wanted = Levenshtein.distance(a, b)
            assert gpualign.distance(a, b) == wanted
            for cutoff in (wanted - 1, wanted, wanted + 1, wanted + 40):
                if cutoff >= 0:
                    assert gpualign.distance(a, b, cutoff) == Levenshtein.distance(a, b, score_cutoff=cutoff)
            for cutoff in (0, max(len(a), len(b)) - wanted, len(a) + 9):
                assert gpualign.similarity(a, b, cutoff) == Levenshtein.similarity(a, b, score_cutoff=cutoff)
            for share in (0.0, 0.1, 0.5, 0.9, 1.0):
                ours, theirs = gpualign.normalized_distance, Levenshtein.normalized_distance
                assert ours(a, b, share) == pytest.approx(theirs(a, b, score_cutoff=share))
                ours, theirs = gpualign.normalized_similarity, Levenshtein.normalized_similarity
                assert ours(a, b, share) == pytest.approx(theirs(a, b, score_cutoff=share))


def test_bytes_are_compared_by_their_values() -> None:
    assert gpualign.distance(b"\x00\xff\x80", b"\x00\x80") == 1
    assert gpualign.distance(b"", b"abc") == 3
    assert gpualign.normalized_similarity(b"", b"") == 1.0
    assert gpualign.normalized_distance("", "") == 0.0


def test_a_long_pair_is_that_of_many_pairs() -> None:
    """So long that the GIL is released, and all lanes compute it."""
    rng = random.Random(3)
    a = "".join(rng.choices("ACGT", k=9_000))
    b = edited(rng, a, "ACGT", 900)
    assert gpualign.distance(a, b) == gpualign.distances([a], [b], device="cpu").values[0, 0]


@pytest.mark.parametrize("function", ["distance", "similarity", "normalized_distance", "normalized_similarity"])
def test_other_things_than_texts_are_refused(function: str) -> None:
    with pytest.raises(gpualign.UsageError, match="take str or bytes, not str and list"):
        getattr(gpualign, function)("a", ["a"])
    with pytest.raises(gpualign.UsageError, match="not NoneType and str"):
        getattr(gpualign, function)(None, "a")


def test_a_cutoff_below_zero_is_refused() -> None:
    with pytest.raises(gpualign.UsageError, match="score_cutoff must be at least 0, not -1"):
        gpualign.distance("a", "b", score_cutoff=-1)
