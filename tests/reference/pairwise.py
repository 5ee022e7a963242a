"""Plain dynamic programs and a replay, written for being obviously right."""

from __future__ import annotations

import re
from collections.abc import Callable

NEVER = -(10**9)


def global_score(a: str, b: str, score: Callable[[str, str], int], gap_open: int, gap_extend: int) -> int:
    """Optimal global score with affine gaps; adjacent gaps in different sequences are allowed."""
    return end_free_score(a, b, score, gap_open, gap_extend, (False, False, False, False))


def end_free_score(
    a: str,
    b: str,
    score: Callable[[str, str], int],
    gap_open: int,
    gap_extend: int,
    free: tuple[bool, bool, bool, bool],
) -> int:
    """Optimal score where the ends (query start, query end, target start, target end) in ``free`` cost nothing."""
    n, m = len(a), len(b)
    gap = lambda length: gap_open + (length - 1) * gap_extend if length else 0  # noqa: E731
    best = [[NEVER] * (m + 1) for _ in range(n + 1)]
    in_query = [[NEVER] * (m + 1) for _ in range(n + 1)]
    in_target = [[NEVER] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 and j == 0:
                best[i][j] = 0
                continue
            if j == 0:
                best[i][j] = 0 if free[0] else -gap(i)
                continue
            if i == 0:
                best[i][j] = 0 if free[2] else -gap(j)
                continue
            in_query[i][j] = max(in_query[i][j - 1] - gap_extend, best[i][j - 1] - gap_open)
            in_target[i][j] = max(in_target[i - 1][j] - gap_extend, best[i - 1][j] - gap_open)
            through = best[i - 1][j - 1] + score(a[i - 1], b[j - 1])
            best[i][j] = max(through, in_query[i][j], in_target[i][j])
    ends = [best[n][m]]
    if free[3]:
        ends += best[n]
    if free[1]:
        ends += [row[m] for row in best]
    if n == 0 and m and (free[2] or free[3]):
        ends.append(0)
    if m == 0 and n and (free[0] or free[1]):
        ends.append(0)
    return max(ends)


def replay(
    a: str, b: str, cigar: str, score: Callable[[str, str], int], gap_open: int, gap_extend: int
) -> tuple[int, int, int]:
    """(score, query letters, target letters) of a CIGAR over ``a`` and ``b`` from their first letters."""
    i = j = total = 0
    for length_text, operation in re.findall(r"(\d+)([MID])", cigar):
        length = int(length_text)
        if operation == "M":
            total += sum(score(x, y) for x, y in zip(a[i : i + length], b[j : j + length], strict=True))
            i, j = i + length, j + length
        else:
            total -= gap_open + (length - 1) * gap_extend
            i, j = (i + length, j) if operation == "I" else (i, j + length)
    return total, i, j
