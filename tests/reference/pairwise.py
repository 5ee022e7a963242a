"""Plain dynamic programs and a replay, written for being obviously right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

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


def end_gap_score(
    a: str, b: str, score: Callable[[str, str], int], inside: tuple[int, int], ends: Sequence[tuple[int, int]]
) -> int:
    """Optimal global score where gaps outside the first and last pair of symbols have penalties of their own: (first
    symbol, each further one), ``ends`` those of query start, query end, target start, target end. The recurrences of
    vsearch, which uses other penalties in the first and last row and column.
    """
    n, m = len(a), len(b)
    if n == 0 or m == 0:
        start, end = ends[2:] if n == 0 else ends[:2]
        return max(-open_ - (n + m - 1) * extend for open_, extend in (start, end)) if n + m else 0
    states = {(0, 0): (0, NEVER, NEVER)}  # best, ends in a gap of the query, ends in a gap of the target
    for i in range(n + 1):
        for j in range(m + 1):
            if i == j == 0:
                continue
            in_query = in_target = through = NEVER
            if j > 0:
                open_, extend = ends[2] if i == 0 else ends[3] if i == n else inside
                best, longer, _ = states[i, j - 1]
                in_query = max(best - open_, longer - extend)
            if i > 0:
                open_, extend = ends[0] if j == 0 else ends[1] if j == m else inside
                best, _, longer = states[i - 1, j]
                in_target = max(best - open_, longer - extend)
            if i > 0 and j > 0:
                through = states[i - 1, j - 1][0] + score(a[i - 1], b[j - 1])
            states[i, j] = (max(through, in_query, in_target), in_query, in_target)
    return states[n, m][0]


def replay(
    a: str,
    b: str,
    cigar: str,
    score: Callable[[str, str], int],
    gap_open: int,
    gap_extend: int,
    end_gaps: Sequence[tuple[int, int]] | None = None,
) -> tuple[int, int, int]:
    """(score, query symbols, target symbols) of a CIGAR over ``a`` and ``b`` from their first symbols; gaps at their
    ends cost ``end_gaps`` (query start, query end, target start, target end).
    """
    i = j = total = 0
    inside = (gap_open, gap_extend)
    query_start, query_end, target_start, target_end = end_gaps or [inside] * 4
    cost = lambda gap: gap[0] + (len(a) + len(b) - 1) * gap[1]  # noqa: E731
    of_query = {0: query_start, len(b): query_end} if b else {0: min(query_start, query_end, key=cost)}
    of_target = {0: target_start, len(a): target_end} if a else {0: min(target_start, target_end, key=cost)}
    for length_text, operation in re.findall(r"(\d+)([MID])", cigar):
        length = int(length_text)
        if not length:
            continue
        if operation == "M":
            total += sum(score(x, y) for x, y in zip(a[i : i + length], b[j : j + length], strict=True))
            i, j = i + length, j + length
        else:
            penalties = of_query.get(j, inside) if operation == "I" else of_target.get(i, inside)
            total -= penalties[0] + (length - 1) * penalties[1]
            i, j = (i + length, j) if operation == "I" else (i, j + length)
    return total, i, j
