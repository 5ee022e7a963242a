"""Mapping qualities in whole numbers against docs/internals/algorithms.md's formula in floating point, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gpualign import _native
from tests.helpers import native as native_tests

BASES = 63_025_520
EDIT = 5


def in_floating_point(
    length: int, truncated: bool, distance: int, seed_hits: int, loss: int, count: int, paired: bool
) -> float:
    if loss >= 0 and (loss <= 1 if paired else 2 * loss <= EDIT):
        return 0
    edits = max(loss, 0) / EDIT
    if not truncated:
        wrong = 10.0 ** -min(6, 2 + seed_hits)
    else:
        wrong = 10 ** -min(6.0, 0.1 + 0.5 * seed_hits)
        if loss >= 0:
            wrong = max(wrong, 0.04 * 10 ** (0.8 * (1 - edits)))
    if loss > 0:
        rate = (distance + 1) / (length + 2)
        wrong += count * (3 * rate / (1 - rate)) ** edits
    quality = min(60.0, max(1.0, -10 * math.log10(wrong / (1 + wrong))))
    said = 2 * length - (distance * (3.5 + math.log2(length / distance)) if distance else 0)
    bits = 100 if paired else said - math.log2(2 * BASES + 1)
    return quality if bits >= 20 else min(quality, max(1.0, 10 * math.log10(2) * bits))


def cases(count: int) -> list[NDArray[np.int32]]:
    rng = np.random.default_rng(8)
    length = rng.integers(20, 500, count)
    distance = (length * rng.random(count) ** 3 * 0.2).astype(np.int32)
    alone = rng.random(count) < 0.2
    loss = np.where(alone, -1, rng.integers(0, 80, count))
    many = np.where(alone, 0, np.maximum(1, (10 ** (5.4 * rng.random(count) ** 3)).astype(np.int64)))
    columns = (length, rng.integers(0, 2, count), distance, rng.integers(0, 12, count), loss, many)
    return [column.astype(np.int32) for column in columns]


def qualities(columns: list[NDArray[np.int32]], paired: bool) -> NDArray[np.uint8]:
    length, truncated, *others = columns
    found: NDArray[np.uint8] = native_tests.mapping_qualities(
        EDIT, BASES, length, truncated.astype(np.uint8), *others, paired
    )
    return found


@pytest.mark.parametrize("paired", [False, True])
def test_as_the_formula_says(paired: bool) -> None:
    """Rounded down: a quality close to a whole number, as those of powers of ten are, may be one more or less."""
    columns = cases(50_000)
    found = qualities(columns, paired).astype(int)
    exact = np.array([in_floating_point(*row, paired) for row in zip(*(c.tolist() for c in columns), strict=True)])
    off = found - np.floor(exact).astype(int)
    assert len(np.unique(found)) == 61
    assert np.abs(off).max() <= 1
    assert np.count_nonzero(off) < 0.01 * len(off)
    near = np.abs(exact - np.round(exact))[off != 0]
    assert near.max(initial=0) < 1e-3


@pytest.mark.parametrize(
    ("row", "single"),
    [
        ((150, 0, 0, 4, -1, 0), 60),  # nothing against it
        ((150, 0, 0, 3, -1, 0), 50),  # one seed hit less than it takes
        ((150, 0, 0, 0, -1, 0), 20),
        ((150, 0, 0, 9, 2, 1), 0),  # less than half an edit
        ((150, 0, 0, 9, 5, 1), 17),  # one edit: 3 / 151 to 1
        ((150, 0, 0, 9, 5, 5), 10),  # five such: 15 / 151 to 1, 11 to 10 / 166 is 10.4
        ((150, 1, 0, 2, -1, 0), 11),  # hits left out: 10^-1.1
        ((15, 0, 0, 9, -1, 0), 9),  # 30 bits, of which 26.9 name the locus
        ((13, 0, 0, 9, -1, 0), 1),  # 26 bits
        ((100, 0, 90, 9, 5, 1), 1),  # more edits than chance has: any other locus would do
    ],
)
def test_by_hand(row: tuple[int, ...], single: int) -> None:
    assert qualities([np.array([value], np.int32) for value in row], paired=False).tolist() == [single]


def test_more_edits_than_bases() -> None:
    """A local alignment over a deletion."""
    rows = [np.array([value], np.int32) for value in (100, 0, 501, 9, 30, 1)]
    assert qualities(rows, paired=True).tolist() == [1]


def test_bits_that_name_a_locus() -> None:
    assert _native.bits_of_locus(BASES) / 65536 == pytest.approx(math.log2(2 * BASES + 1), abs=2e-5)
