"""Affine alignment against a plain dynamic program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.map.params import MapScoring
from gpualign.map.rules import affine_scores
from gpualign.sequences.batch import join_bytes
from tests.helpers import native as native_tests
from tests.helpers.sam import cigar_text
from tests.helpers.sequences import make_reference, with_edits
from tests.reference.alignment import affine_score, affine_with_clips, replay

pytestmark = pytest.mark.usefixtures("level")

SCORES = (1, 4, 6, 1, 5)
#: bwa's, scaled by 20 and by 100 (-A), and without clipped ends (-L)
LARGE_SCORES = [(20, 80, 120, 20, 100), (100, 400, 600, 100, 500), (1, 4, 6, 1, 1000), (1, 4, 6, 1, 1_000_000)]


def affine(reference: str, queries: list[str], diagonals: list[int], band: int, scores=SCORES, **pins: int):
    bases, offsets = join_bytes([query.encode() for query in queries])
    score, begin, cigar, cigar_offsets = native_tests.align_affine(
        make_reference(reference).native,
        bases,
        offsets,
        np.array(diagonals, np.int64),
        band,
        affine_scores(MapScoring(*scores)).tobytes(),
        **pins,
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
    scores = data.draw(st.sampled_from([SCORES, (2, 3, 5, 2, 4), (1, 1, 0, 1, 0), (5, 4, 10, 1, 100), *LARGE_SCORES]))
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


@pytest.mark.parametrize("scores", [SCORES, *LARGE_SCORES])
def test_affine_alignment_of_reads_is_optimal(scores: tuple[int, ...]) -> None:
    rng = np.random.default_rng(13)
    reference = "".join(rng.choice(list("ACGT"), 400))
    queries = [with_edits(rng, reference[at : at + 100], int(rng.integers(0, 9))) for at in range(0, 300, 6)]
    diagonals = [at - 8 for at in range(0, 300, 6)]
    results = affine(reference, queries, diagonals, 17, scores)
    for query, diagonal, result in zip(queries, diagonals, results, strict=True):
        check_affine(reference, query, diagonal, 17, scores, result)


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


def crowded_text(rng: np.random.Generator, length: int) -> str:
    """With tandem repeats and runs, so that other diagonals fit nearly as well."""
    text = ""
    while len(text) < length:
        unit = "".join(rng.choice(list("ACGT"), int(rng.choice([1, 2, 3, 5, 7, 12, 30]))))
        text += with_edits(rng, unit * int(rng.integers(1, 60 // len(unit) + 2)), int(rng.integers(0, 3)))
        text += "".join(rng.choice(list("ACGT"), int(rng.integers(0, 60))))
    return text[:length]


@pytest.mark.parametrize("scores", [SCORES, (2, 3, 5, 2, 4), (1, 1, 0, 1, 0), (1, 9, 16, 1, 5), *LARGE_SCORES])
@pytest.mark.parametrize("crowded", [False, True])
def test_reads_that_need_no_dynamic_program(crowded: bool, scores: tuple[int, ...]) -> None:
    """Where it is said that nothing else is as good, the dynamic program finds only that, the plain one no better."""
    rng = np.random.default_rng(len(scores) + crowded)
    limit = 12
    wholes, checked = 0, 0
    for case in range(500):
        length, wrong = int(rng.integers(60, 200)), int(rng.integers(0, 5))
        text = (
            crowded_text(rng, length + 2 * limit) if crowded else "".join(rng.choice(list("ACGT"), length + 2 * limit))
        )
        query = list(text[limit : limit + length])
        # anywhere, or near each other or an end
        rows = rng.integers(0, length, wrong) if case % 2 else rng.integers(0, int(rng.integers(1, length)), wrong)
        for row in rows:
            query[row] = "ACGT"[("ACGT".index(query[row]) + int(rng.integers(1, 4))) % 4]
        read = "".join(query)
        substitutions = sum(a != b for a, b in zip(read, text[limit:], strict=False))
        as_bytes = [np.frombuffer(s.encode(), np.uint8) for s in (read, text)]
        costs = affine_scores(MapScoring(*scores)).tobytes()
        assert not native_tests.is_ungapped(*as_bytes, substitutions=substitutions + 1, scores=costs)
        if not native_tests.is_ungapped(*as_bytes, substitutions=substitutions, scores=costs):
            continue
        wholes += substitutions > 1
        score = (length - substitutions) * scores[0] - substitutions * scores[1]
        assert affine(text, [read], [0], 2 * limit + 1, scores) == [(score, limit, f"{length}M")]
        if substitutions > 1 and checked < 10:
            checked += 1
            assert affine_with_clips(read, text, scores, range(2 * limit + 1), 0) == score
    if not crowded and scores == SCORES:
        assert wholes > 100


def pinned_score(query: str, text: str, band: int, pin: int, scores) -> int:
    """Of the whole query from diagonal ``pin`` of the band back to it, gaps at two prices: every gap tried."""
    match, mismatch, opening, extend, _, long_opening, long_extend = scores

    def cost(n: int) -> int:
        return min(opening + n * extend, long_opening + n * long_extend)

    best = {(-1, b): -cost(b - pin) if b > pin else 0 for b in range(pin, band)}
    for i in range(len(query)):
        for b in range(band):
            ways = [best[i - 1, b] + (match if query[i] == text[i + b] else -mismatch)] if (i - 1, b) in best else []
            ways += [best[i - n, b + n] - cost(n) for n in range(1, band - b) if (i - n, b + n) in best]
            ways += [best[i, b - n] - cost(n) for n in range(1, b + 1) if (i, b - n) in best]
            if ways:
                best[i, b] = max(ways)
    return best[len(query) - 1, pin]


@pytest.mark.parametrize("scores", [(2, 4, 4, 2, 0, 24, 1), (1, 4, 6, 2, 0, 26, 1)])
def test_pinned_stretches_alone_and_together(scores) -> None:
    """Those with many like them share a vector, a few have one each: the optimum, and the same alignment, both ways."""
    rng = np.random.default_rng(5)
    band, pin = 48, 20
    text = "".join(rng.choice(list("ACGT"), 4000))
    queries, diagonals = [], []
    for i in range(130):
        at = 100 + 25 * i
        changed = with_edits(rng, text[at : at + 60], int(rng.integers(0, 12)))
        if i % 5 == 0:
            changed = changed[:20] + changed[20 + int(rng.integers(5, 18)) :]
        if i % 9 == 0:  # scores less than 0, at which 8 bits may saturate
            changed = "".join(rng.choice(list("ACGT"), 60))
        queries.append((changed + text[at + 60 : at + 90])[:60])
        diagonals.append(at - pin)
    pins = {"begin_pin": pin, "end_pin": pin}
    together = affine(text, queries, diagonals, band, scores, **pins)
    pairs = list(zip(queries, diagonals, strict=True))
    assert together == [affine(text, [query], [diagonal], band, scores, **pins)[0] for query, diagonal in pairs]
    for query, diagonal, (score, _, _) in list(zip(queries, diagonals, together, strict=True))[::9]:
        assert score == pinned_score(query, text[diagonal:], band, pin, scores)


@pytest.mark.parametrize("length", [126, 127, 128, 129])
def test_ends_of_the_lengths_around_the_greatest_score_of_8_bits(length: int) -> None:
    """Exact ones and ones with a mismatch in the middle, pinned at either side, in vectors that are full."""
    rng = np.random.default_rng(length)
    text = "".join(rng.choice(list("ACGT"), 3000))
    starts = [100 + 20 * i for i in range(130)]
    queries = [text[at : at + length] for at in starts]
    middle = length // 2
    for i in range(0, len(queries), 2):
        queries[i] = queries[i][:middle] + ("A" if queries[i][middle] != "A" else "C") + queries[i][middle + 1 :]
    expected = [(length - 5 * (i % 2 == 0), at, f"{length}M") for i, at in enumerate(starts)]
    for pins in ({"begin_pin": 30}, {"end_pin": 30}):
        assert affine(text, queries, [at - 30 for at in starts], 64, **pins) == expected
