"""Affine alignment against a plain dynamic program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.sequences.batch import join_bytes
from tests.helpers import native as native_tests
from tests.helpers.sam import cigar_text
from tests.helpers.sequences import make_reference, with_edits
from tests.reference.alignment import affine_score, affine_with_clips, replay

pytestmark = pytest.mark.usefixtures("level")

SCORES = (1, 4, 6, 1, 5)


def affine(reference: str, queries: list[str], diagonals: list[int], band: int, scores=SCORES):
    bases, offsets = join_bytes([query.encode() for query in queries])
    score, begin, cigar, cigar_offsets = native_tests.align_affine(
        make_reference(reference).native, bases, offsets, np.array(diagonals, np.int64), band, scores
    )
    texts = [
        cigar_text(cigar[a:b].tolist())
        for a, b in zip(cigar_offsets[:-1].tolist(), cigar_offsets[1:].tolist(), strict=True)
    ]
    return list(zip(score.tolist(), begin.tolist(), texts, strict=True))


def check_affine(reference: str, query: str, diagonal: int, band: int, scores, result) -> None:
    """The score is the optimum of the plain dynamic program and the alignment has it."""
    score, begin, cigar = result
    clips = sum(n > 0 for n in clip_lengths(cigar))
    expected = affine_with_clips(query, reference, scores, range(band), diagonal)
    assert score - clips * scores[4] == expected
    _, _, columns = replay(query, reference, begin, cigar)
    assert affine_score(columns, scores) == score
    row = clip_lengths(cigar)[0]
    shift = 0
    for column in [c for c in columns if c != "S"]:
        if column == "I":
            shift -= 1
        elif column == "D":
            shift += 1
        assert 0 <= begin - diagonal - row + shift < band


def clip_lengths(cigar: str) -> tuple[int, int]:
    import re

    head, tail = re.match(r"(\d+)S", cigar), re.search(r"(\d+)S$", cigar)
    return int(head[1]) if head else 0, int(tail[1]) if tail else 0


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_affine_alignment_is_optimal(data: st.DataObject) -> None:
    reference = data.draw(st.text("ACGTN", min_size=40, max_size=60))
    band = data.draw(st.integers(1, 9))
    scores = data.draw(st.sampled_from([SCORES, (2, 3, 5, 2, 4), (1, 1, 0, 1, 0), (5, 4, 10, 1, 100)]))
    queries, diagonals = [], []
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, 30))
        seed = data.draw(st.integers(0, 2**32 - 1))
        query = with_edits(np.random.default_rng(seed), reference[at : at + data.draw(st.integers(8, 30))], 3)
        queries.append(query)
        diagonals.append(at - data.draw(st.integers(0, band)))
    for query, diagonal, result in zip(
        queries, diagonals, affine(reference, queries, diagonals, band, scores), strict=True
    ):
        if result[2].replace("S", "").isdigit():
            continue  # nothing aligned at all: every alignment costs more than clipping both ends
        check_affine(reference, query, diagonal, band, scores, result)


def test_affine_alignment_of_reads_is_optimal() -> None:
    rng = np.random.default_rng(13)
    reference = "".join(rng.choice(list("ACGT"), 400))
    queries = [with_edits(rng, reference[at : at + 100], int(rng.integers(0, 9))) for at in range(0, 300, 6)]
    diagonals = [at - 8 for at in range(0, 300, 6)]
    for query, diagonal, result in zip(queries, diagonals, affine(reference, queries, diagonals, 17), strict=True):
        check_affine(reference, query, diagonal, 17, SCORES, result)


def test_gaps_are_placed_leftmost() -> None:
    reference = "GATTACACAAAAAAACCGGTTAGCATCGGATTA"
    short, long = reference.replace("AAAAAAA", "AAAAA"), reference.replace("AAAAAAA", "AAAAAAAAA")
    assert [cigar for _, _, cigar in affine(reference, [short, long], [-3, -3], 7)] == ["8M2D23M", "8M2I25M"]


def test_ends_are_clipped_only_where_that_pays() -> None:
    reference = "GATTACAGGCATCGATCGGCTAGCTTACGATCGAT"
    one_wrong = "C" + reference[1:]  # one mismatch costs 5 against the match, clipping it 5 + 1
    three_wrong = "CTA" + reference[3:]  # three mismatches lose 12 + 3, clipping loses 5 + 3
    assert [cigar for _, _, cigar in affine(reference, [one_wrong, three_wrong], [-2, -2], 5)] == ["35M", "3S32M"]


def test_alignment_stays_inside_the_contig() -> None:
    reference = "GATTACAGGCATCGATCGGC"
    over_both_ends = "TTTTT" + reference + "CCCCC"
    ((score, begin, cigar),) = affine(reference, [over_both_ends], [-9], 9)
    assert (score, begin, cigar) == (20, 0, "5S20M5S")
