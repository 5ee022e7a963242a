"""Chains of hand-made anchors, and of hypothesis' ones against the recurrence without bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.map.params import LONG_READS, Chaining, MapScoring
from gpualign.map.rules import chain_rules
from tests.helpers import native as native_tests
from tests.helpers.sequences import make_reference

pytestmark = pytest.mark.usefixtures("level")

K = 15
ANY = replace(LONG_READS, min_chain_score=K, min_anchors=1)
TWO_CONTIGS = ("A" * 20_000, "C" * 20_000)
ChainList = list[tuple[int, int, bool, list[tuple[int, int]]]]


def chains(anchors: list[tuple[bool, int, int]], chaining: Chaining = ANY) -> ChainList:
    """Of anchors (reverse, query position, reference position): (score, contig, reverse, [(query, reference)])."""
    reverse, query, reference = zip(*anchors, strict=True)
    result: ChainList = native_tests.chain_anchors(
        make_reference(*TWO_CONTIGS).native,
        np.array(reverse, np.uint8),
        np.array(reference, np.uint32),
        np.array(query, np.int32),
        chain_rules(K, 1, MapScoring(), chaining, 0).tobytes(),
    )
    return result


def line(query: int, reference: int, count: int, step: int = 20, reverse: bool = False) -> list[tuple[bool, int, int]]:
    return [(reverse, query + i * step, reference + i * step) for i in range(count)]


def points(anchors: list[tuple[bool, int, int]]) -> list[tuple[int, int]]:
    return [(query, reference) for _, query, reference in anchors]


def test_a_diagonal_is_one_chain() -> None:
    anchors = line(100, 5000, 6)
    assert chains(anchors) == [(6 * K, 0, False, points(anchors))]


def test_overlapping_anchors_count_their_bases_once() -> None:
    [(score, *_)] = chains(line(0, 0, 10, step=4))
    assert score == K + 9 * 4


def test_an_anchor_off_the_diagonal_is_a_chain_of_its_own() -> None:
    anchors = line(0, 1000, 8)
    found = chains([*anchors, (False, 90, 9000)])
    assert found == [(8 * K, 0, False, points(anchors)), (K, 0, False, [(90, 9000)])]


def test_a_gap_costs_its_length_and_half_its_logarithm() -> None:
    [(score, *_)] = chains([*line(0, 1000, 5), *line(100, 1100 + 255, 5)])
    assert score == math.floor(10 * K - (255 * K / 125 + 0.5 * math.log2(256)))


def test_what_is_behind_a_gap_that_costs_more_is_a_chain_of_its_own() -> None:
    """The gap costs 245 bases; what is behind it adds 150 to the 300 in front of it."""
    left, right = line(0, 1000, 20), line(400, 3400, 10)
    assert chains([*left, *right]) == [(20 * K, 0, False, points(left)), (10 * K, 0, False, points(right))]


def test_no_chain_crosses_a_border() -> None:
    """Contigs, strands, gaps of the read and of the reference that are too long, lengths that differ too much."""
    left = line(0, 19_800, 5)
    for right in (
        line(200, 20_000, 5),
        line(100, 19_900, 4, reverse=True),
        line(200 + ANY.max_gap, 10_000, 4),
        line(100, 10_000, 4),
        line(100, 19_800 - 20, 4),
    ):
        assert len(chains([*left, *right])) == 2
    assert [(contig, len(members)) for _, contig, _, members in chains([*left, *line(200, 20_000, 4)])] == [
        (0, 5),
        (1, 4),
    ]


def test_equally_good_chains_are_all_found() -> None:
    """In an order of their own; all have the best score."""
    forward, later, reverse = line(0, 9000, 4), line(0, 15_000, 4), line(0, 2000, 4, reverse=True)
    found = chains([*reverse, *later, *forward])
    assert sorted((strand, members[0][1]) for _, _, strand, members in found) == [
        (False, 9000),
        (False, 15_000),
        (True, 2000),
    ]
    assert len({score for score, *_ in found}) == 1


@pytest.mark.parametrize("between", [63, 64, 65, 200])
def test_a_chain_crosses_many_anchors_of_others(between: int) -> None:
    """Of a deletion of 2,000 bases within which that many anchors lie that no other anchor precedes."""
    left, right = line(0, 1000, 40), line(800, 3800, 40)
    others = [(False, 12_000 - 30 * i, 1900 + 9 * i) for i in range(between)]
    chaining = replace(ANY, min_anchors=2)
    cost = 2000 * K / 125 + 0.5 * math.log2(2001)
    assert chains([*left, *others, *right], chaining) == [(math.floor(80 * K - cost), 0, False, points(left + right))]


def test_weak_chains_are_left_out() -> None:
    chaining = replace(ANY, min_chain_score=50, min_anchors=4)
    assert chains(line(0, 1000, 3), chaining) == []
    assert chains(line(0, 1000, 5, step=5), chaining) == []
    assert len(chains(line(0, 1000, 4), chaining)) == 1


def best_chain_score(anchors: list[tuple[int, int]]) -> float:
    """The recurrence of minimap2's paper, every predecessor tried."""
    anchors = sorted(anchors, key=lambda a: (a[1], a[0]))
    scores: list[float] = []
    for i, (query, reference) in enumerate(anchors):
        score = float(K)
        for before, (q, r) in zip(scores, anchors[:i], strict=False):
            dq, dr = query - q, reference - r
            if 0 < min(dq, dr) <= ANY.max_gap and abs(dr - dq) <= ANY.max_difference:
                difference = abs(dr - dq)
                cost = difference * K / 125 + 0.5 * math.log2(difference + 1)
                score = max(score, before + min(dq, dr, K) - cost)
        scores.append(score)
    return max(scores)


@settings(max_examples=200, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=24))
def test_the_best_chain_is_the_best_of_all(anchors: set[tuple[int, int]]) -> None:
    """With fewer anchors than the look-back no bound holds. Integer logarithms are a little below the true ones."""
    found = chains([(False, query, reference) for query, reference in anchors])
    expected = best_chain_score(list(anchors))
    assert -1 <= found[0][0] - expected <= 0.05 * len(anchors)
    seen = [point for *_, members in found for point in members]
    assert len(seen) == len(set(seen))
    for *_, members in found:
        assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(members))


def joined(*points: tuple[int, int]) -> list[tuple[int, int]]:
    queries, references = (np.array(column) for column in zip(*points, strict=True))
    result: list[tuple[int, int]] = native_tests.join_long_gaps(
        queries.astype(np.int32), references.astype(np.int64), chain_rules(K, 10, MapScoring(), LONG_READS, 0).tobytes()
    )
    return result


def test_long_gaps_near_each_other_are_one_stretch() -> None:
    """Gaps of 500 and 400 bases: what lies between them goes if it is shorter than both together, the rest stays."""
    begin, end = [(0, 0), (100, 100)], [(1300, 400), (1400, 500)]
    assert joined(*begin, (700, 200), (750, 250), *end) == [*begin, *end]
    far = [(700, 200), (1700, 1200), (2200, 1300), (2300, 1400)]  # 1,000 bases between them
    assert joined(*begin, *far) == [*begin, *far]
    opposite = [(700, 200), (750, 250), (850, 750), (950, 850)]
    assert joined(*begin, *opposite) == [*begin, *opposite[2:]]
    three = [(700, 200), (750, 250), (1250, 350), (1300, 400), (1900, 500), (2000, 600)]
    assert joined(*begin, *three) == [*begin, *three[4:]]


def test_short_gaps_and_plain_chains_keep_their_points() -> None:
    for points in ([(0, 0)], [(0, 0), (100, 100), (220, 200), (340, 300)], [(0, 0), (1000, 100), (1100, 200)]):
        assert joined(*points) == points
