"""Base qualities choose among loci that are nearly as good as the best one, on the CPU and the device alike."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gpualign.map.alignments import Alignments
from gpualign.map.cpu import map_batch
from gpualign.map.params import MapParams
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.sequences.batch import SequenceBatch, join_bytes
from tests.helpers.map_cases import PAIRS, assert_same, repetitive_reference
from tests.helpers.scalar_kernels import map_scalar
from tests.helpers.sequences import make_reference, random_genome, reverse_complement

UNIT, AT, READ = 400, 120, 100
SECOND = 3000 + UNIT  # where the other copy begins
OTHER = str.maketrans("ACGT", "CATG")


def with_base(text: str, at: int) -> str:
    """Another base there."""
    return text[:at] + text[at].translate(OTHER) + text[at + 1 :]


def two_copies(differ: list[int]) -> tuple[str, str, MinimizerIndex]:
    """A unit, one that differs from it at these bases of the read from AT on, and a genome of both."""
    first = random_genome(5, UNIT)
    second = first
    for at in differ:
        second = with_base(second, AT + at)
    genome = random_genome(6, 1500) + first + random_genome(7, SECOND - 1500 - UNIT) + second + random_genome(8, 1500)
    return first, second, build_index(make_reference(genome), IndexParams(15, 5))


def batch(reads: list[tuple[str, str | None]], mates: list[int] | None = None) -> SequenceBatch:
    bases, offsets = join_bytes([text.encode() for text, _ in reads])
    names, name_offsets = join_bytes([b"r%d" % i for i in range(len(reads))])
    qualities = None if reads[0][1] is None else join_bytes([str(quality).encode() for _, quality in reads])[0]
    of_pairs = None if mates is None else np.array(mates, np.uint8)
    return SequenceBatch(names, name_offsets, bases, offsets, qualities, mates=of_pairs)


def both_ways(text: str, quality: str | None) -> list[tuple[str, str | None]]:
    return [(text, quality), (reverse_complement(text), quality and quality[::-1])]


def quality(low: dict[int, int], usual: int = 37) -> str:
    return "".join(chr(33 + low.get(i, usual)) for i in range(READ))


def mapped(index: MinimizerIndex, reads: list[tuple[str, str | None]]) -> Alignments:
    """By the CPU, and the same by the device's code."""
    params = MapParams()
    assert_same(map_scalar(index, batch(reads), params), index, batch(reads), params, None)
    return map_batch(index, batch(reads), params)


def is_second(found: Alignments) -> list[bool]:
    return (found.position > SECOND - 1000).tolist()


def loss(phred: int) -> int:
    return 5 + min(max(phred, 2), 30)


def posterior(chosen: int, other: int) -> int:
    weight = 10 ** (-(other - chosen) / 10)
    return math.floor(10 * math.log10((1 + weight) / weight))


@pytest.mark.parametrize("ends", [(40, 60), (0, 99), (1, 98)])
def test_of_equally_good_loci_that_whose_mismatch_is_at_a_doubtful_base(ends: tuple[int, int]) -> None:
    left, right = ends
    first, _, index = two_copies([left, right])
    read = with_base(first, AT + right)[AT : AT + READ]  # as the second copy at the right, as the first at the left
    for doubtful, second in ((right, False), (left, True)):
        found = mapped(index, both_ways(read, quality({doubtful: 3})) * 10)
        assert is_second(found) == [second] * 20
        assert set(found.mapq.tolist()) == {0}


@pytest.mark.parametrize("phred", [2, 10, 15, 37])
def test_an_edit_less_is_not_as_good_where_the_bases_are_doubtful(phred: int) -> None:
    """As the second copy at two bases, as the first at one: two low qualities against a high one."""
    first, _, index = two_copies([30, 50, 70])
    read = with_base(with_base(first, AT + 30), AT + 70)[AT : AT + READ]
    found = mapped(index, both_ways(read, quality({30: phred, 70: phred})))
    moved = 2 * loss(phred) < loss(37)
    assert is_second(found) == [not moved] * 2
    plain = mapped(index, both_ways(read, None))
    assert is_second(plain) == [True] * 2
    best, other = sorted((2 * loss(phred), loss(37)))
    assert set(found.mapq.tolist()) == {min(int(plain.mapq[0]), posterior(best, other))}


def test_two_edits_more_are_not_tried() -> None:
    first, _, index = two_copies([20, 30, 50, 70])
    read = with_base(with_base(with_base(first, AT + 20), AT + 30), AT + 70)[AT : AT + READ]
    assert is_second(mapped(index, both_ways(read, quality({20: 2, 30: 2, 70: 2})))) == [True] * 2


@pytest.mark.parametrize("text", [None, "!" * READ, "I" * READ])
def test_equal_or_no_qualities_leave_the_choice_to_chance(text: str | None) -> None:
    first, _, index = two_copies([40, 60])
    read = with_base(first, AT + 60)[AT : AT + READ]
    found = mapped(index, [(read, text)] * 64)
    assert 16 < sum(is_second(found)) < 48
    assert np.array_equal(found.position, mapped(index, [(read, None)] * 64).position)


def test_mates_choose_together() -> None:
    """One mate lies in both copies, the other near each of them."""
    first, second, _ = two_copies([])
    flank = random_genome(9, 600)
    differing = with_base(second, AT + 60)
    genome = random_genome(6, 900) + first + flank + random_genome(7, 3000) + differing + flank + random_genome(8, 900)
    index = build_index(make_reference(genome), IndexParams(15, 5))
    read, mate = first[AT : AT + READ], reverse_complement((first + flank)[AT + 200 : AT + 300])
    params, places = MapParams(), []
    for text, phred in ((read, 37), (with_base(read, 60), 37), (with_base(with_base(read, 60), 20), 2)):
        reads: list[tuple[str, str | None]] = [(text, quality({60: phred})), (mate, quality({}))]
        pair = batch(reads, [1, 2])
        found = map_batch(index, pair, params, PAIRS["fr"])
        assert_same(map_scalar(index, pair, params, PAIRS["fr"]), index, pair, params, PAIRS["fr"])
        assert (found.flag & 2).tolist() == [2, 2]
        places.append((is_second(found), found.mapq.tolist()))
    assert [place for place, _ in places] == [[False, False], [True, True], [True, True]]
    assert all(of_mate == 7 for of_mate in places[2][1])  # a mismatch more at a base of quality 2: 7 against 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("paired", [False, True])
def test_the_device_chooses_as_the_cpu(seed: int, paired: bool) -> None:
    """Reads of two copies of a repeat each, with qualities that differ between bases."""
    reference, contigs = repetitive_reference(seed)
    index = build_index(reference, IndexParams(15, 5))
    rng = np.random.default_rng(seed)
    reads: list[tuple[str, str | None]] = []
    text = bytes(contigs[0]).decode()
    for _ in range(600):
        copies = (5000 + 2500 * rng.integers(0, 10, 2) + rng.integers(0, 1200)).tolist()
        length = int(rng.integers(30, 81))

        def chimera(begin: int, end: int, copies: list[int] = copies) -> str:
            middle = (begin + end) // 2
            return text[copies[0] + begin : copies[0] + middle] + text[copies[1] + middle : copies[1] + end]

        for piece in (chimera(0, length), reverse_complement(chimera(300 - length, 300))):
            for at in rng.integers(0, length, int(rng.integers(0, 3))).tolist():
                piece = with_base(piece, at)
            reads.append((piece, "".join(chr(33 + q) for q in rng.integers(2, 41, length).tolist())))
    of_all = batch(reads, [1, 2] * 600)
    pairs, params = PAIRS["fr"] if paired else None, MapParams()
    assert_same(map_scalar(index, of_all, params, pairs), index, of_all, params, pairs)
    found, plain = (
        map_batch(index, of_all, params, pairs),
        map_batch(index, replace(of_all, qualities=None), params, pairs),
    )
    assert (found.position != plain.position).sum() > (2 if paired else 20)
    assert (found.mapq <= plain.mapq).all()


@pytest.mark.parametrize("text", [None, "I" * READ])
def test_a_substitution_is_likelier_than_a_gap(text: str | None) -> None:
    """The same read from one copy by a substitution, from the other by a base less."""
    first = random_genome(5, UNIT)
    second = first[: AT + 50] + first[AT + 50].translate(OTHER) + first[AT + 50 :]
    read = with_base(first, AT + 50)[AT : AT + READ]
    genome = random_genome(6, 1500) + first + random_genome(7, SECOND - 1500 - UNIT) + second + random_genome(8, 1500)
    index = build_index(make_reference(genome), IndexParams(15, 5))
    found = mapped(index, [(read, text)] * 32)
    best = [int(n) for n in found.distance]
    assert set(best) == {1}
    assert is_second(found) == [False] * 32
