"""Bounded-gap alignment without the code under test: full enumeration, and the paper's recurrence with its scans.

Scores are given as a function of two symbols. ``ends`` is "text-end" (semi-global), "both" (the text's start is free
too) or "none" (global).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

Score = Callable[[str, str], int]
#: score, fewest gaps that reach it, leftmost text end; None where there is no alignment
Answer = tuple[int, int, int] | None


def columns_of_alignments(m: int, n: int) -> Iterator[str]:
    """All alignments of m pattern symbols with n text symbols as strings over M (pair), I (pattern), D (text)."""
    if m == 0 or n == 0:
        yield "I" * m + "D" * n
        return
    for last, rows, columns in (("M", 1, 1), ("I", 1, 0), ("D", 0, 1)):
        for head in columns_of_alignments(m - rows, n - columns):
            yield head + last


def score_of_columns(columns: str, pattern: str, text: str, score: Score, open_: int, extend: int) -> tuple[int, int]:
    """Score and number of gaps of an alignment of all of pattern with all of text."""
    total, gaps, i, j = 0, 0, 0, 0
    for kind, run in itertools.groupby(columns):
        length = len(list(run))
        if kind == "M":
            total += sum(score(pattern[i + k], text[j + k]) for k in range(length))
            i, j = i + length, j + length
            continue
        gaps += 1
        total -= open_ + extend * (length - 1)
        i, j = (i + length, j) if kind == "I" else (i, j + length)
    assert (i, j) == (len(pattern), len(text))
    return total, gaps


def enumerate_all(pattern: str, text: str, max_gaps: int, score: Score, open_: int, extend: int, ends: str) -> Answer:
    """The best answer over every alignment, one by one; for tiny strings."""
    stops = [len(text)] if ends == "none" else range(len(text) + 1)
    best: tuple[int, int, int] | None = None
    for stop in stops:
        for start in range(stop + 1) if ends == "both" else [0]:
            for columns in columns_of_alignments(len(pattern), stop - start):
                value, gaps = score_of_columns(columns, pattern, text[start:stop], score, open_, extend)
                if gaps <= max_gaps:
                    key = (-value, gaps, stop)
                    best = key if best is None else min(best, key)
    return None if best is None else (-best[0], best[1], best[2])


def recurrence(pattern: str, text: str, max_gaps: int, score: Score, open_: int, extend: int, ends: str) -> Answer:
    """The layers with exactly q gaps, each gap's length tried in turn (cubic time).

    P, D, I are the best scores whose last column pairs symbols (or is none), skips text, or inserts pattern: a gap
    never follows a gap of its own kind.
    """
    m, n = len(pattern), len(text)
    shape = (max_gaps + 1, m + 1, n + 1)
    paired, deleted, inserted = (np.full(shape, -np.inf) for _ in range(3))
    paired[0, 0, 0] = 0
    if ends == "both":
        paired[0, 0, :] = 0
    texts = np.array([[score(a, b) for b in text] for a in pattern], float).reshape(m, n)
    costs = open_ + extend * np.arange(max(m, n) + 1, dtype=float)  # costs[l - 1] is that of length l
    for q in range(max_gaps + 1):
        for i in range(m + 1):
            for j in range(n + 1):
                if i and j:
                    ways = (paired, deleted, inserted)
                    paired[q, i, j] = max(way[q, i - 1, j - 1] for way in ways) + texts[i - 1, j - 1]
                if q and j:  # from column j - l, for l = j .. 1
                    before = np.maximum(paired[q - 1, i, :j], inserted[q - 1, i, :j])
                    deleted[q, i, j] = (before - costs[:j][::-1]).max()
                if q and i:
                    above = np.maximum(paired[q - 1, :i, j], deleted[q - 1, :i, j])
                    inserted[q, i, j] = (above - costs[:i][::-1]).max()
    total = np.maximum(np.maximum(paired, deleted), inserted)[:, m, :]
    stops = [n] if ends == "none" else range(n + 1)
    keys = [(-total[q, j], q, j) for q in range(max_gaps + 1) for j in stops if total[q, j] > -np.inf]
    if not keys:
        return None
    value, gaps, stop = min(keys)
    return int(-value), gaps, stop


def recurrence_of_many(texts: np.ndarray, max_gaps: int, open_: int, extend: int, ends: str) -> np.ndarray:
    """:func:`recurrence` of many pairs of equal lengths at once.

    Args:
        symbols: (pairs, m, n), score of pattern symbol i against text symbol j.

    Returns:
        (max_gaps + 1, pairs, 3): score, fewest gaps and leftmost text end of each pair for K = 0 .. max_gaps; the
        score is -inf where there is no alignment.
    """
    pairs, m, n = texts.shape
    shape = (max_gaps + 1, m + 1, n + 1, pairs)
    paired, deleted, inserted = (np.full(shape, -np.inf) for _ in range(3))
    paired[0, 0, : n + 1 if ends == "both" else 1] = 0
    costs = (open_ + extend * np.arange(max(m, n) + 1, dtype=float))[:, None]
    for q in range(max_gaps + 1):
        for i in range(m + 1):
            for j in range(n + 1):
                if i and j:
                    before = np.maximum(paired[q, i - 1, j - 1], deleted[q, i - 1, j - 1])
                    paired[q, i, j] = np.maximum(before, inserted[q, i - 1, j - 1]) + texts[:, i - 1, j - 1]
                if q and j:
                    before = np.maximum(paired[q - 1, i, :j], inserted[q - 1, i, :j])
                    deleted[q, i, j] = (before - costs[:j][::-1]).max(axis=0)
                if q and i:
                    before = np.maximum(paired[q - 1, :i, j], deleted[q - 1, :i, j])
                    inserted[q, i, j] = (before - costs[:i][::-1]).max(axis=0)
    total = np.maximum(np.maximum(paired, deleted), inserted)[:, m].transpose(2, 0, 1)  # (pairs, layers, columns)
    if ends == "none":
        total[:, :, :n] = -np.inf
    answers = np.empty((max_gaps + 1, pairs, 3))
    for k in range(max_gaps + 1):
        layers = total[:, : k + 1]
        best = layers.max(axis=(1, 2))
        reach = (layers == best[:, None, None]).reshape(pairs, -1).argmax(axis=1)  # fewest gaps, then leftmost
        answers[k] = np.stack([best, reach // (n + 1), reach % (n + 1)], axis=1)
    return answers
