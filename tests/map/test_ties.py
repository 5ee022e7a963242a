"""Equally good alignments: reads spread over them, each to the same one in every run, thread, batch and device."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpualign.map.alignments import Alignments
from gpualign.map.cpu import map_batch
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.sequences.batch import SequenceBatch, join_bytes
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records, without_program
from tests.helpers.scalar_kernels import map_scalar
from tests.helpers.sequences import make_reference, random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
UNIT, SPACE = 3000, 2000


def copies(count: int) -> str:
    """Exact copies of a unit in otherwise random bases."""
    unit = random_genome(7, UNIT)
    return "".join(random_genome(100 + i, SPACE) + unit for i in range(count))


def index_of(genome: str) -> MinimizerIndex:
    return build_index(make_reference(genome), IndexParams(15, 5))


def named(reads: list[bytes], names: list[str], mates: list[int] | None = None) -> SequenceBatch:
    texts, name_offsets = join_bytes([name.encode() for name in names])
    bases, offsets = join_bytes(reads)
    return SequenceBatch(
        texts, name_offsets, bases, offsets, mates=None if mates is None else np.array(mates, np.uint8)
    )


def reads_of_unit(genome: str, count: int, length: int) -> SequenceBatch:
    rng, reads = random.Random(3), []
    for _ in range(count):
        at = SPACE + rng.randrange(0, UNIT - length)
        read = genome[at : at + length]
        reads.append((read if rng.random() < 0.5 else reverse_complement(read)).encode())
    return named(reads, [f"run:{i}" for i in range(count)])


def counts_of(found: Alignments, of_copies: int) -> NDArray[np.int64]:
    """Primary records in each copy."""
    primary = (found.flag & 0x900) == 0
    counts: NDArray[np.int64] = np.bincount(found.position[primary] // (UNIT + SPACE), minlength=of_copies)
    return counts


def assert_even(counts: NDArray[np.int64]) -> None:
    """Within five standard deviations of a binomial distribution, each."""
    n, share = int(counts.sum()), 1 / len(counts)
    assert np.abs(counts - n * share).max() <= 5 * (n * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("length", [40, 100, 400])
def test_two_copies_get_the_same_coverage(length: int) -> None:
    genome = copies(2)
    found = map_batch(index_of(genome), reads_of_unit(genome, 4000, length), MapParams.of_preset())
    assert np.all(found.mapq == 0)
    assert_even(counts_of(found, 2))


def test_long_reads_spread() -> None:
    genome = copies(2)
    found = map_batch(index_of(genome), reads_of_unit(genome, 400, 2000), MapParams.of_preset("ont"))
    assert_even(counts_of(found, 2))


@pytest.mark.parametrize("limits", [{"max_hits": 40}, {"max_candidates": 3}])
def test_copies_that_are_not_all_looked_at(limits: dict[str, int]) -> None:
    """Hits or candidates beyond the limits are left out at random."""
    genome = copies(30)
    reads = reads_of_unit(genome, 3000, 100)
    counts = counts_of(map_batch(index_of(genome), reads, MapParams.of_preset(**limits)), 30)
    assert counts.min() >= 40  # of 100
    assert counts.max() <= 220


def test_pairs_spread_together() -> None:
    genome, rng = copies(2), random.Random(4)
    ends: list[bytes] = []
    for _ in range(2000):
        at = SPACE + rng.randrange(0, UNIT - 300)
        ends += [genome[at : at + 80].encode(), reverse_complement(genome[at + 220 : at + 300]).encode()]
    batch = named(ends, [f"run:{i // 2}" for i in range(len(ends))], [1, 2] * 2000)
    found = map_batch(index_of(genome), batch, MapParams.of_preset(), PairModel(300, 30, 100, 500))
    copy = found.position // (UNIT + SPACE)
    assert np.array_equal(copy[::2], copy[1::2])
    assert_even(np.bincount(copy[::2], minlength=2))


def test_the_name_alone_decides() -> None:
    genome = copies(2)
    read = genome[SPACE + 500 : SPACE + 600].encode()
    index, params = index_of(genome), MapParams.of_preset()
    names = [f"run:{i}" for i in range(200)]
    found = map_batch(index, named([read] * 200, names), params)
    assert len(set(found.position.tolist())) == 2
    again = map_batch(index, named([b"ACGTTGCATT", read] * 100, names), params)
    assert again.position[1::2].tolist() == found.position[1::2].tolist()
    without = named([read] * 200, [""] * 200)
    assert len(set(map_batch(index, without, params).position.tolist())) == 1


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("limits", [{}, {"max_hits": 20, "max_candidates": 3}])
def test_one_lane_of_the_device_chooses_the_same(paired: bool, limits: dict[str, int]) -> None:
    genome = copies(12)
    batch, index = reads_of_unit(genome, 600, 70), index_of(genome)
    model = PairModel(300, 100, 1, 2000) if paired else None
    if paired:
        batch = replace(batch, mates=np.tile(np.array([1, 2], np.uint8), 300))
    params = MapParams.of_preset(**limits)
    expected = map_batch(index, batch, params, model)
    found = map_scalar(index, batch, params, model).alignments(
        batch, batch.mates, lambda left: map_batch(index, left, params, model)
    )
    assert found.position.tolist() == expected.position.tolist()
    assert found.mapq.tolist() == expected.mapq.tolist()


@pytest.mark.parametrize("paired", [False, True])
def test_one_lane_of_the_device_samples_the_same_hits(paired: bool) -> None:
    """Reads with errors within a tandem repeat: all their seeds exceed the limit on hits, but for k-mers by chance."""
    rng, array = random.Random(5), "GGAAT" * 2000
    genome = random_genome(8, 100_000) + array + random_genome(9, 100_000)
    index, model = build_index(make_reference(genome), IndexParams(11, 1)), PairModel(300, 100, 1, 2000)
    reads = []
    for number in range(300):
        at = rng.randrange(300, len(array) - 450)
        read = "".join(rng.choice("ACGT") if rng.random() < 0.02 else base for base in array[at : at + 150])
        reads.append((reverse_complement(read) if number % 2 else read).encode())
    mates = [1 + number % 2 for number in range(300)] if paired else None
    batch, params = named(reads, [f"run:{i}" for i in range(300)], mates), MapParams.of_preset(max_hits=100)
    pairs = model if paired else None
    expected = map_batch(index, batch, params, pairs)
    found = map_scalar(index, batch, params, pairs).alignments(
        batch, batch.mates, lambda left: map_batch(index, left, params, pairs)
    )
    assert all(map(np.array_equal, found.native, expected.native))
    assert expected.mapped == 300


@pytest.mark.parametrize(("left", "contig"), [(49, 1), (50, 0), (51, 0)])
def test_of_two_contigs_side_by_side_the_first(left: int, contig: int) -> None:
    """Of reads across their border, each half of which is a candidate: the one with more k-mers, else the left one."""
    ends = random_genome(8, 400), random_genome(9, 400)
    index = build_index(make_reference(*ends), IndexParams(15, 1))
    read = ends[0][400 - left :] + ends[1][: 100 - left]
    batch = named([read.encode(), reverse_complement(read).encode()] * 20, [f"run:{i // 2}" for i in range(40)])
    params = MapParams.of_preset(max_candidates=1, error_rate=0.51, end_to_end=True)
    found = map_batch(index, batch, params)
    assert set(found.contig.tolist()) == {contig}
    on_device = map_scalar(index, batch, params).alignments(batch, None, lambda left: map_batch(index, left, params))
    assert on_device.contig.tolist() == found.contig.tolist()


def test_output_does_not_depend_on_threads_or_batches(cli: Cli, tmp_path: Path) -> None:
    genome, rng = copies(3), random.Random(8)
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    starts = [SPACE + rng.randrange(0, UNIT - 90) for _ in range(300)]
    reads = write_fastq(tmp_path / "r.fq", *((f"r{i}", genome[at : at + 90], "I" * 90) for i, at in enumerate(starts)))
    outputs = {
        without_program(cli("map", "-t", threads, "--batch-size", batch, reference, reads)[1])
        for threads, batch in ((1, "4M"), (2, "3K"), (3, "700"))
    }
    assert len(outputs) == 1
    rows = records(cli("map", reference, reads)[1])
    assert len({int(row[3]) // (UNIT + SPACE) for row in rows}) == 3
