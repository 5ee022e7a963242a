"""Longest common subsequences by the textbook's dynamic program."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def lcs_length(query: Sequence[int], subject: Sequence[int], equal: Callable[[int, int], bool] = int.__eq__) -> int:
    """Length of the longest common subsequence, one cell at a time."""
    row = [0] * (len(subject) + 1)
    for a in query:
        diagonal = 0
        for j, b in enumerate(subject, start=1):
            above = row[j]
            row[j] = diagonal + 1 if equal(a, b) else max(row[j], row[j - 1])
            diagonal = above
    return row[-1]


def is_subsequence(part: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether ``part`` can be had by leaving symbols of ``whole`` out."""
    rest = iter(whole)
    return all(symbol in rest for symbol in part)
