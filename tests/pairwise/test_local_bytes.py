"""Local scores in bytes and words of 16 bits that saturate, and what does not fit them, against parasail's scan
functions: its striped ones are wrong where opening a gap costs no more than extending it.
"""

from __future__ import annotations

import random

import parasail
import pytest

import gpualign
from tests.helpers.sequences import mutate

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYVBZX*"


@pytest.mark.parametrize(("gap_open", "gap_extend"), [(12, 1), (11, 2), (5, 5), (100, 100), (101, 1), (0, 0)])
def test_scores_around_the_largest_byte(gap_open: int, gap_extend: int) -> None:
    rng = random.Random(gap_open)
    queries = ["W" * length for length in (1, 22, 23, 24, 40)] + ["".join(rng.choices(AMINO_ACIDS, k=90))]
    targets = ["W" * length for length in range(1, 60)] + [
        mutate(rng, queries[-1], 0.02 * i, AMINO_ACIDS) for i in range(40)
    ]
    scoring = {"matrix": "BLOSUM62", "gap_open": gap_open, "gap_extend": gap_extend, "device": "cpu"}
    rows = gpualign.pairwise(queries, targets, mode="local", score_only=True, **scoring)  # type: ignore[arg-type]
    gaps = gap_open, gap_extend, parasail.blosum62
    expected = [parasail.sw_scan_32(query, target, *gaps).score for query in queries for target in targets]
    assert rows["score"].tolist() == expected
    assert any(250 <= score <= 255 for score in expected)
    assert any(255 < score < 300 for score in expected)


def test_few_and_many_targets_of_any_length() -> None:
    rng = random.Random(2)
    queries = ["".join(rng.choices("ACGTN", k=length)) for length in (1, 3, 64, 200)]
    targets = ["".join(rng.choices("ACGTN", k=rng.randrange(1, 150))) for _ in range(131)]
    matrix = parasail.matrix_create("ACGT", 5, -4)
    for i in range(5):
        matrix[i, 4] = matrix[4, i] = -4
    for count in (1, 7, 33, 131):
        rows = gpualign.pairwise(queries, targets[:count], mode="local", score_only=True, device="cpu")
        expected = [parasail.sw_scan_32(q, t, 10, 1, matrix).score for q in queries for t in targets[:count]]
        assert rows["score"].tolist() == expected


def test_scores_around_the_largest_word_of_16_bits() -> None:
    rng = random.Random(3)
    query = "".join(rng.choices("ACGT", k=260))
    targets = [query[:length] for length in range(205, 230)] + [mutate(rng, query, 0.01 * i) for i in range(20)]
    scoring = {"match": 300, "mismatch": 200, "gap_open": 700, "gap_extend": 90, "device": "cpu"}
    rows = gpualign.pairwise([query], targets, mode="local", score_only=True, **scoring)  # type: ignore[arg-type]
    matrix = parasail.matrix_create("ACGT", 300, -200)
    expected = [parasail.sw_scan_32(query, target, 700, 90, matrix).score for target in targets]
    assert rows["score"].tolist() == expected
    assert min(expected) < 65535 < max(expected)
