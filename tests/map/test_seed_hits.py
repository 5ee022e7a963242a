"""Seed hits that are not alone: no cluster that counts is lost, and none changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import native as native_tests

K, LENGTH = 15, 100


def lines(positions: np.ndarray, reverse: np.ndarray) -> list[int]:
    """Strand and diagonal of hits with the read's first k-mer, sorted; by hand."""
    diagonals = np.where(reverse, positions - (LENGTH - K), positions)
    return sorted((reverse.astype(np.int64) << 34) + diagonals + 2**27)


def clusters(lines: list[int], limit: int) -> list[tuple[int, ...]]:
    """From the left, those no further than the limit from the first one."""
    found: list[tuple[int, ...]] = []
    for line in lines:
        if found and line - found[-1][0] <= limit:
            found[-1] += (line,)
        else:
            found.append((line,))
    return found


@pytest.mark.parametrize("limit", [0, 1, 7, 8, 15, 40])
@pytest.mark.parametrize(("hits", "span"), [(20, 300), (200, 2000), (1000, 1_000_000), (4000, 50_000), (70_000, 10**6)])
def test_clusters_with_enough_hits_stay_as_they_are(hits: int, span: int, limit: int) -> None:
    rng = np.random.default_rng([hits, limit])
    crowds = rng.integers(0, span, 5)[rng.integers(0, 5, hits // 3)] + rng.integers(-limit, 2 * limit + 1, hits // 3)
    positions = np.concatenate([rng.integers(0, span, hits - len(crowds)), np.maximum(crowds, 0)])
    reverse = rng.random(hits) < 0.3
    entries = (positions.astype(np.uint64) << np.uint64(1)) | reverse.astype(np.uint64)
    fewest, kept = native_tests.hits_together(entries, length=LENGTH, k=K, limit=limit)
    every, some = clusters(lines(positions, reverse), limit), clusters((kept >> np.uint64(27)).tolist(), limit)
    assert kept.tolist() == sorted(kept.tolist())
    assert [c for c in some if len(c) >= fewest] == [c for c in every if len(c) >= fewest]
    assert set(some) <= set(every)
    if hits < 70_000:  # more than are counted
        assert 1 <= fewest <= max(map(len, every))


def test_hits_that_are_alone_are_left_out() -> None:
    positions = np.concatenate([np.full(40, 5_000), np.arange(0, 4_000_000, 10_000)])
    fewest, kept = native_tests.hits_together((positions << 1).astype(np.uint64), length=LENGTH, k=K, limit=15)
    assert 10 <= fewest <= 11  # one of the others may be counted with them
    assert (kept >> np.uint64(27)).tolist().count(5_000 + 2**27) == 40
    assert len(kept) < 60
