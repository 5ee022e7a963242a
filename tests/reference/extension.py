"""Where an extension ends, cell by cell."""

from __future__ import annotations

LOWEST = -(10**9)


def extension(
    rows: str, columns: str, reach: int, *, optimal: bool = False, to_border: bool = False
) -> tuple[int, int, int, int, int, int, int]:
    """The alignment's rows and columns, the lowest and highest diagonal (column - row) and the number of rows and
    columns that were looked at, and whether the last cell was reached; with nucmer's scores. ``to_border`` only for at
    most as many rows as columns.
    """
    n, m = len(rows), len(columns)
    score, down, right = {(0, 0): 0}, {}, {}
    best, end, border, border_score = LOWEST, (0, 0), None, LOWEST
    seen = [(0, 0)]
    window = range(min(1, m) + 1)
    d = 1
    while d <= n + m and d - sum(end) <= reach and len(window):
        for j in window:
            i = d - j
            down[i, j] = max(down.get((i - 1, j), LOWEST) - 7, score.get((i - 1, j), LOWEST) - 10)
            right[i, j] = max(right.get((i, j - 1), LOWEST) - 7, score.get((i, j - 1), LOWEST) - 10)
            pair = LOWEST
            if i and j:
                pair = score.get((i - 1, j - 1), LOWEST) + (3 if rows[i - 1] == columns[j - 1] else -7)
            score[i, j] = max(pair, down[i, j], right[i, j])
            seen.append((i, j))
            if score[i, j] >= best:
                best, end = score[i, j], (i, j)
            if i == n and score[i, j] >= border_score:
                border, border_score = (i, j), score[i, j]
        near = [j for j in window if best - score[d - j, j] <= 3 * reach]
        window = range(max(near[0], d + 1 - n), min(near[-1] + 1, d + 1, m) + 1) if near else range(0)
        d += 1
    if d > n + m:
        if to_border or not optimal:
            end = (n, m)
    elif to_border and border:
        end = border
    diagonals = [j - i for i, j in seen]
    far = max(i for i, _ in seen), max(j for _, j in seen)
    return (*end, min(diagonals), max(diagonals), *far, int(d > n + m and end == (n, m)))
