"""Reads whose edits spoil all their seeds: found by the seeds of their neighbours, with a base changed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpualign.map.cpu import map_batch
from gpualign.map.index import seeds_for_short_reads
from gpualign.map.params import MapParams
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from tests.helpers.map_cases import assert_same
from tests.helpers.scalar_kernels import map_scalar
from tests.helpers.sequences import batch_of, make_reference, random_genome, reverse_complement

GENOME = random_genome(31, 300_000)


@pytest.fixture(scope="module")
def index() -> MinimizerIndex:
    return build_index(make_reference(GENOME), IndexParams(19, 8))


def with_changes(text: str, changes: dict[int, str]) -> str:
    return "".join(changes.get(i, base) for i, base in enumerate(text))


def reads_with(
    length: int, count: int, mismatches: int, unknown: int = 0, seed: int = 1
) -> tuple[list[bytes], list[int]]:
    rng = random.Random(seed)
    reads, loci = [], []
    for _ in range(count):
        at = rng.randrange(len(GENOME) - length)
        text = GENOME[at : at + length]
        changed = rng.sample(range(length), mismatches + unknown)
        bases = {i: rng.choice("ACGT".replace(text[i], "")) for i in changed[:mismatches]}
        bases |= dict.fromkeys(changed[mismatches:], "N")
        read = with_changes(text, bases)
        reads.append((read if rng.random() < 0.5 else reverse_complement(read)).encode())
        loci.append(at)
    return reads, loci


@pytest.mark.parametrize("length", [26, 30, 36, 40])
def test_one_mismatch_anywhere(index: MinimizerIndex, length: int) -> None:
    """With it undone a window of k-mers is left, which has a seed."""
    start = 12_345
    text = GENOME[start : start + length]
    reads = [with_changes(text, {i: base}).encode() for i in range(length) for base in "ACGT".replace(text[i], "")]
    found = map_batch(index, batch_of(reads), MapParams())
    assert found.position.tolist() == [start] * len(reads)
    assert found.distance.tolist() == [1] * len(reads)


def test_the_best_of_many_copies_that_are_worse() -> None:
    """Of each family one copy differs from the read in one base, 300 in two, and all have a seed or two of the read."""
    rng, text, reads, loci = random.Random(5), "", [], []
    for _ in range(8):
        unit = "".join(rng.choices("ACGT", k=30))
        best = rng.randrange(301)
        for copy in range(301):
            places = [4] if copy == best else [rng.choice((0, 1, 2, 3)), rng.choice((26, 27, 28, 29))]
            text += "".join(rng.choices("ACGT", k=40))
            if copy == best:
                loci.append(len(text))
            text += with_changes(unit, {i: rng.choice("ACGT".replace(unit[i], "")) for i in places})
        reads.append(unit.encode())
    index = build_index(make_reference(text), IndexParams(19, 8))
    batch, params = batch_of(reads), MapParams()
    found = map_batch(index, batch, params)
    assert found.position.tolist() == loci
    assert found.distance.tolist() == [1] * len(reads)
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


@pytest.mark.parametrize(("length", "mismatches", "share"), [(50, 2, 0.99), (60, 3, 0.97), (75, 3, 0.98)])
def test_more_mismatches(index: MinimizerIndex, length: int, mismatches: int, share: float) -> None:
    reads, loci = reads_with(length, 400, mismatches)
    found = map_batch(index, batch_of(reads), MapParams())
    assert np.mean(found.position == np.array(loci)) >= share


@pytest.mark.parametrize(("unknown", "share"), [(4, 0.95), (8, 0.85)])
def test_unknown_bases_are_no_edits(index: MinimizerIndex, unknown: int, share: float) -> None:
    """Of a read of 100 bases whose limit is 8 edits: two mismatches and as many N."""
    reads, loci = reads_with(100, 300, 2, unknown)
    found = map_batch(index, batch_of(reads), MapParams(end_to_end=True))
    assert np.mean(found.position == np.array(loci)) >= share
    mapped = found.flag & 4 == 0
    assert (found.distance[mapped] == 2 + unknown).mean() >= 0.95  # an end with N may be clipped


def test_reads_are_not_clipped_at_runs_of_n() -> None:
    """An unknown base costs less than a mismatch: a copy of the bases after the run, elsewhere, is not better."""
    rng = random.Random(9)
    text, reads, loci = GENOME, [], []
    for start in range(10_000, 290_000, 7_000):
        whole = GENOME[start : start + 100]
        changed = rng.sample(range(40), 2)
        bases = {i: rng.choice("ACGT".replace(whole[i], "")) for i in changed} | dict.fromkeys(range(40, 50), "N")
        reads.append(with_changes(whole, bases).encode())
        loci.append(start)
        text += "".join(rng.choices("ACGT", k=60)) + whole[44:]
    index = build_index(make_reference(text), IndexParams(19, 8))
    batch, params = batch_of(reads), MapParams()
    found = map_batch(index, batch, params)
    assert found.position.tolist() == loci
    assert found.distance.tolist() == [12] * len(reads)
    assert found.cigar.tolist() == [100 << 4] * len(reads)
    assert found.score.tolist() == [88 - 12 * 4] * len(reads)  # as of mismatches
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


def test_ends_of_n_and_mismatches_are_clipped(index: MinimizerIndex) -> None:
    """Of the first 30 bases 20 are unknown and 4 wrong, which costs more than 6 right ones and the clip are worth."""
    rng, reads, loci = random.Random(10), [], []
    for start in range(10_000, 290_000, 9_000):
        whole = GENOME[start : start + 100]
        bases = {i: rng.choice("ACGT".replace(whole[i], "")) for i in (5, 11, 17, 29)}
        bases |= {i: "N" for i in range(30) if i % 3 != 2}
        reads.append(with_changes(whole, bases).encode())
        loci.append(start + 30)
    batch, params = batch_of(reads), MapParams()
    found = map_batch(index, batch, params)
    assert found.position.tolist() == loci
    assert found.cigar.tolist() == [30 << 4 | 4, 70 << 4] * len(reads)
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


def test_a_read_of_n_alone_is_not_mapped(index: MinimizerIndex) -> None:
    reads = [b"N" * 40, b"N" * 100, GENOME[500:525].encode() + b"N" * 75]
    assert map_batch(index, batch_of(reads), MapParams(end_to_end=True)).flag.tolist() == [4, 4, 4]


def test_foreign_reads_are_not_mapped(index: MinimizerIndex) -> None:
    reads = [random_genome(1000 + i, length).encode() for i in range(200) for length in (30, 50, 75)]
    assert np.count_nonzero(map_batch(index, batch_of(reads), MapParams()).flag & 4 == 0) <= 6


@pytest.mark.parametrize("end_to_end", [False, True])
def test_one_lane_of_the_device_finds_the_same(index: MinimizerIndex, end_to_end: bool) -> None:
    reads = [
        read
        for kind in (
            (30, 60, 1),
            (50, 60, 2),
            (100, 60, 2, 8),
            (100, 20, 1, 30),
            (150, 40, 3),
            (22, 20, 0),
            (36, 40, 0),
        )
        for read in reads_with(*kind)[0]
    ]
    batch, params = batch_of(reads), MapParams(end_to_end=end_to_end)
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("edit", ["substitution", "N"])
def test_one_edit_in_a_tandem_repeat(edit: str, full: bool) -> None:
    """A period further all is the same, which is still within so large a limit."""
    unit = random_genome(36, 20)
    index = build_index(
        make_reference(random_genome(37, 2000) + unit * 40 + random_genome(38, 2000)), IndexParams(13, 3)
    )
    reads = []
    for at, length in ((0, 34), (3, 60), (7, 100)):
        read = (unit * 7)[at : at + length]
        reads.append(with_changes(read, {10: "N" if edit == "N" else "ACGT"["CGTA".index(read[10])]}).encode())
        reads.append(reverse_complement(reads[-1].decode()).encode())
    batch, params = batch_of(reads), MapParams.of_preset(full=full, error_rate=0.7)
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


@pytest.mark.parametrize(
    ("length", "k", "w"), [(17, 15, 2), (16, 15, 2), (20, 19, 2), (24, 19, 2), (27, 19, 5), (30, 19, 8), (150, 19, 8)]
)
def test_seeds_are_dense_enough_for_short_reads(length: int, k: int, w: int) -> None:
    """Nine of ten reads have a window of k-mers; those of a small reference are dense in any case."""
    lengths = np.array([length] * 19 + [14])
    assert seeds_for_short_reads(lengths)(1 << 26) == IndexParams(k, w)
    assert seeds_for_short_reads(lengths)(1 << 19) == IndexParams(11, 1)
    assert seeds_for_short_reads(lengths[:0])(1 << 26) == IndexParams(19, 8)


@pytest.mark.parametrize("length", [20, 22, 25])
@pytest.mark.parametrize("mismatches", [0, 1])
def test_reads_of_20_bases(length: int, mismatches: int) -> None:
    params = seeds_for_short_reads(np.array([length]))(1 << 26)
    reads, loci = reads_with(length, 500, mismatches, seed=length)
    found = map_batch(build_index(make_reference(GENOME), params), batch_of(reads), MapParams())
    assert np.mean(found.position == np.array(loci)) >= 0.998


def test_an_exact_copy_of_a_few_bases_has_a_rival_with_one_edit() -> None:
    """One error in a read of 20 bases may make it another locus' copy."""
    repeat = random_genome(32, 20)
    genome = (
        random_genome(33, 5000)
        + repeat
        + random_genome(34, 5000)
        + with_changes(repeat, {9: "ACGT"["CGTA".index(repeat[9])]})
    )
    index = build_index(make_reference(genome + random_genome(35, 5000)), IndexParams(19, 2))
    found = map_batch(index, batch_of([repeat.encode(), genome[100:120].encode()]), MapParams())
    assert found.position.tolist() == [5000, 100]
    assert 0 < found.mapq[0] <= 15 < 20 <= found.mapq[1] <= 30


@pytest.mark.parametrize(("length", "rate"), [(50, 0.08), (60, 0.06)])
def test_reads_of_a_large_family_are_not_sure(length: int, rate: float) -> None:
    """Not all of 5,000 copies, of which that share of bases differs, are looked at; two errors hide the right one."""
    rng, unit = random.Random(5), random_genome(41, 300)
    copies = [
        "".join(rng.choice("ACGT") if rng.random() < rate * 4 / 3 else base for base in unit) for _ in range(5000)
    ]
    genome = "".join(copy + random_genome(1000 + number, 100) for number, copy in enumerate(copies))
    loci = [rng.randrange(len(copies)) * 400 + rng.randrange(300 - length) for _ in range(2000)]
    reads = []
    for locus in loci:
        text = genome[locus : locus + length]
        at = rng.sample(range(length), 2)
        reads.append(with_changes(text, {i: rng.choice("ACGT".replace(text[i], "")) for i in at}).encode())
    found = map_batch(build_index(make_reference(genome), IndexParams(19, 8)), batch_of(reads), MapParams())
    sure = found.mapq >= 20
    assert sure.sum() > 400
    assert np.count_nonzero(np.abs(found.position - np.array(loci))[sure] > 10) <= 1


def test_a_clipped_alignment_competes_with_those_of_the_whole_read(index: MinimizerIndex) -> None:
    """34 of 42 bases score 34, all of them with two mismatches 32."""
    text = random_genome(51, 42)
    read = with_changes(text, {at: "ACGT"["CGTA".index(text[at])] for at in (6, 24)})
    other = read[:34] + "".join("ACGT"["CGTA".index(base)] for base in read[34:])
    genome = random_genome(52, 5000) + text + random_genome(53, 5000) + other + random_genome(54, 5000)
    found = map_batch(build_index(make_reference(genome), index.params), batch_of([read.encode()]), MapParams())
    assert (found.position[0], found.score[0], found.mapq[0]) == (10042, 34, 0)


def test_a_short_read_is_not_surer_than_what_it_may_hide(index: MinimizerIndex) -> None:
    """One error in the middle of 42 bases leaves no whole window on either side, so another copy would not be seen."""
    reads = [GENOME[at : at + length].encode() for at, length in ((700, 42), (900, 150))]
    found = map_batch(index, batch_of(reads), MapParams())
    assert (found.position.tolist(), found.mapq.tolist()) == ([700, 900], [40, 60])


def test_a_gap_is_better_than_substitutions_next_to_n() -> None:
    """Two bases of a repeat of two are missing: as many edits as the two of the shifted repeat, but they lose less."""
    rng = random.Random(11)
    left, right = ("".join(rng.choices("ACGT", k=400)) for _ in range(2))
    tract = "AC" * 6 + "AT" + "AC" * 8
    genome = left + tract + "T" + right
    start = len(left) + 1
    whole = genome[start : start + 102]
    read = whole[:13] + whole[15:]
    index = build_index(make_reference(genome), IndexParams(15, 3))
    batch = batch_of([read.encode(), with_changes(read, {80: "N"}).encode()])
    found = map_batch(index, batch, MapParams())
    assert found.cigar_offsets.tolist() == [0, 3, 6]
    assert found.cigar[:3].tolist() == found.cigar[3:].tolist()
    assert_same(map_scalar(index, batch, MapParams()), index, batch, MapParams(), None)
