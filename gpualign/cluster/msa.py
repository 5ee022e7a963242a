"""Alignments of clusters, each member as it is aligned with the centroid, and their consensus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_SYMBOLS = np.frombuffer(b"ACGTN-", np.uint8)


def aligned_rows(centroid: bytes, members: Iterable[tuple[bytes, Sequence[int]]]) -> tuple[list[bytes], int, int]:
    """Rows of the centroid and of each member, and the columns before and after the centroid's first and last symbol.

    Args:
        members: sequences on the centroid's strand, with the operations (BAM words) of their alignments with it, of
            which I consumes the member.
    """
    n = len(centroid)
    found: list[tuple[bytearray, dict[int, bytes]]] = [(bytearray(centroid), {})]
    widest: dict[int, int] = {}
    for text, operations in members:
        row, inserted, query, target = bytearray(b"-" * n), dict[int, bytes](), 0, 0
        for operation in operations:
            length, kind = operation >> 4, operation & 15
            if kind == 1:
                inserted[target] = text[query : query + length]
                widest[target] = max(widest.get(target, 0), length)
            elif kind == 0:
                row[target : target + length] = text[query : query + length]
            query += length if kind != 2 else 0
            target += length if kind != 1 else 0
        found.append((row, inserted))
    places = sorted(widest)
    rows = []
    for row, inserted in found:
        pieces, start = [], 0
        for place in places:
            pieces += [bytes(row[start:place]), inserted.get(place, b"").ljust(widest[place], b"-")]
            start = place
        rows.append(b"".join([*pieces, bytes(row[start:])]))
    return rows, widest.get(0, 0), widest.get(n, 0)


def consensus(rows: list[bytes], weights: NDArray[np.int64], before: int, after: int) -> bytes:
    """The most frequent base of each column, - where gaps are more, + outside the centroid; vsearch's rule.

    Args:
        weights: int64 (rows,).
        before, after: columns outside the centroid.
    """
    columns = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    counts = np.stack([(weights[:, None] * (columns == symbol)).sum(axis=0) for symbol in _SYMBOLS])
    counts[4] = weights.sum() - counts[:4].sum(axis=0) - counts[5]  # any ambiguity code
    best = counts[:4].argmax(axis=0)
    most = np.take_along_axis(counts, best[None], axis=0)[0]
    best = np.where((most == 0) & (counts[4] > 0), 4, best)
    most = np.where(best == 4, counts[4], most)
    symbols = np.where(most >= counts[5], _SYMBOLS[best], ord("-")).astype(np.uint8)
    symbols[:before] = symbols[len(symbols) - after :] = ord("+")
    return symbols.tobytes()
