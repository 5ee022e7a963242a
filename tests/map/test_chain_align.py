"""Long reads by chaining: against Smith-Waterman of parasail, on both strands, and at every kind of border."""

from __future__ import annotations

from dataclasses import replace

import parasail
import pytest

from gpualign.map.params import LONG_READS, Chaining
from tests.helpers.long_read_cases import (
    ONT_SCORES,
    SHORT_SCORES,
    Record,
    index_of,
    map_by_chaining,
)
from tests.helpers.sequences import random_genome, reverse_complement, with_errors
from tests.reference.alignment import affine_score, replay

pytestmark = pytest.mark.usefixtures("level")

GENOME = random_genome(1, 60_000)


def local_score(read: str, text: str, scores: tuple[int, int, int, int, int]) -> int:
    match, mismatch, gap_open, extend, _ = scores
    matrix = parasail.matrix_create("ACGT", match, -mismatch)
    return int(parasail.sw_striped_32(read, text, gap_open + extend, extend, matrix).score)


def replayed(read: str, record: Record, contig: str) -> list[str]:
    """Column types, once the record has been seen to fit the read and the contig."""
    sequence = reverse_complement(read) if record.flag & 16 else read
    _, _, columns = replay(sequence, contig, record.begin, record.cigar)
    aligned = [column for column in columns if column != "S"]
    assert aligned[0] in "=X"
    assert aligned[-1] in "=X"
    return columns


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.10, 0.15])
def test_score_is_smith_watermans(rate: float) -> None:
    """Within half a percent of the optimum at 15 % errors, and the optimum where the read has few."""
    for seed in range(6):
        at = 5000 * seed + 777
        read = with_errors(seed, GENOME[at : at + 4000], rate)
        [[record]] = map_by_chaining(index_of(GENOME), [read])
        best = local_score(read, GENOME[at - 500 : at + 4500], ONT_SCORES)
        assert affine_score(replayed(read, record, GENOME), ONT_SCORES) == record.score
        assert 0.995 * best <= record.score <= best
        if rate <= 0.01:
            assert record.score == best
        assert abs(record.begin - at) < 20
        assert abs(record.end - at - 4000) < 20
        assert record.mapq == 60


@pytest.mark.parametrize(("inserted", "deleted"), [(20, 0), (0, 20), (300, 0), (0, 300), (200, 900)])
def test_long_gaps_lie_inside_one_alignment(inserted: int, deleted: int) -> None:
    read = GENOME[1000:4000] + random_genome(9, inserted) + GENOME[4000 + deleted : 7000]
    [[record]] = map_by_chaining(index_of(GENOME), [read])
    assert (record.begin, record.end) == (1000, 7000)
    assert record.score == local_score(read, GENOME[500:7500], ONT_SCORES)


def test_gaps_lie_as_far_left_as_they_can() -> None:
    left, right = random_genome(2, 3000) + "T", "T" + random_genome(3, 3000)
    text = left + "CAG" * 12 + right
    index = index_of(text)
    for read, cigar in ((left + "CAG" * 10 + right, "3001M6D3031M"), (left + "CAG" * 13 + right, "3001M3I3037M")):
        for query in (read, reverse_complement(read)):
            [[record]] = map_by_chaining(index, [query])
            assert record.cigar == cigar


def test_both_strands_give_mirrored_records() -> None:
    """Also where two loci are equally good, and with supplementary and secondary alignments."""
    copy = with_errors(5, GENOME[10_000:13_000], 0.02)
    contigs = (GENOME[:20_000], random_genome(6, 3000) + copy + copy + GENOME[30_000:34_000])
    index = index_of(*contigs)
    reads = [with_errors(seed, GENOME[9000 + 400 * seed :][:5000], 0.12) for seed in range(8)]
    reads += [copy, copy[:1500], GENOME[500:4000] + reverse_complement(GENOME[31_000:33_000])]
    forward = map_by_chaining(index, reads, max_secondary=5)
    backward = map_by_chaining(index, [reverse_complement(read) for read in reads], max_secondary=5)
    assert [[r._replace(flag=r.flag ^ 16) for r in records] for records in backward] == forward
    assert all(forward)
    assert forward[8][0].mapq == 0
    assert any(len(records) > 1 and records[-1].flag & 0x100 for records in forward)


def test_parts_from_two_contigs_are_primary_and_supplementary() -> None:
    contigs = random_genome(11, 20_000), random_genome(12, 20_000)
    read = contigs[0][5000:9000] + reverse_complement(contigs[1][3000:5500])
    for query, strands in ((read, "+-"), (reverse_complement(read), "-+")):
        [[first, second]] = map_by_chaining(index_of(*contigs), [query])
        assert (first.flag & ~16, first.contig, first.begin, first.strand) == (0, 0, 5000, strands[0])
        assert (second.flag & ~16, second.contig, second.strand) == (0x800, 1, strands[1])
        assert (second.begin, second.end) == pytest.approx((3000, 5500), abs=5)
        assert first.end == pytest.approx(9000, abs=5)
        assert min(first.mapq, second.mapq) == 60
        replayed(query, first, contigs[0])
        replayed(query, second, contigs[1])


def test_an_inversion_is_three_parts() -> None:
    read = GENOME[20_000:24_000] + reverse_complement(GENOME[24_000:25_500]) + GENOME[25_500:29_000]
    [records] = map_by_chaining(index_of(GENOME), [with_errors(1, read, 0.05)])
    assert [record.flag for record in records] == [0, 0x800, 0x800 | 16]
    assert [(record.begin, record.end) for record in records] == [
        pytest.approx((20_000, 24_000), abs=15),
        pytest.approx((25_500, 29_000), abs=15),
        pytest.approx((24_000, 25_500), abs=15),
    ]


def test_a_read_over_a_stretch_of_n() -> None:
    masked = GENOME[:10_000] + "N" * 200 + GENOME[10_200:20_000]
    [[record]] = map_by_chaining(index_of(masked), [with_errors(3, GENOME[8000:12_000], 0.05)])
    assert (record.begin, record.end) == pytest.approx((8000, 12_000), abs=15)
    replayed(with_errors(3, GENOME[8000:12_000], 0.05), record, masked)


def test_a_read_over_the_end_of_a_contig_is_clipped() -> None:
    left, right = GENOME[:9000], GENOME[30_000:40_000]
    index = index_of(left, right)
    read = GENOME[6000:9000] + random_genome(8, 1000)
    for query in (read, reverse_complement(read)):
        [[record]] = map_by_chaining(index, [query])
        assert record.begin == 6000
        assert record.end == pytest.approx(9000, abs=0)
        assert record.query_end == 3000
    [[record]] = map_by_chaining(index, [random_genome(8, 1000) + right[:3000]])
    assert (record.contig, record.begin, record.end, record.query_begin) == (1, 0, 3000, 1000)


def test_reads_of_any_length() -> None:
    """No character, too few for a seed, one of 100 kbp, and one without any of A, C, G and T."""
    genome = random_genome(13, 130_000)
    long = with_errors(14, genome[10_000:110_000], 0.1)
    found = map_by_chaining(index_of(genome), ["", "A", genome[:14], long, "N" * 5000, "A" * 3000])
    assert [len(records) for records in found] == [0, 0, 0, 1, 0, 0]
    [record] = found[3]
    assert (record.begin, record.end) == pytest.approx((10_000, 110_000), abs=15)


def test_a_read_does_not_depend_on_the_others() -> None:
    reads = [with_errors(seed, GENOME[3000 * seed :][: 500 + 700 * seed], 0.1) for seed in range(12)]
    index = index_of(GENOME)
    together = map_by_chaining(index, reads)
    assert together == [map_by_chaining(index, [read])[0] for read in reads]


def test_repeats_keep_memory_and_time_bounded() -> None:
    """2,000 copies of one unit: a read of them is mapped, with mapping quality 0."""
    unit = random_genome(15, 171)
    genome = random_genome(16, 5000) + unit * 2000 + random_genome(17, 5000)
    inside, across = unit * 60, genome[3000:9000]
    [in_repeat, at_border] = map_by_chaining(index_of(genome), [inside, across])
    assert in_repeat[0].mapq == 0
    assert (at_border[0].begin, at_border[0].end) == (3000, 9000)


def test_short_reads_that_need_clips_gaps_or_parts() -> None:
    index = index_of(GENOME, k=15, w=5)
    clipped = random_genome(20, 50) + GENOME[5000:5100]
    deletion = GENOME[7000:7075] + GENOME[7095:7170]
    insertion = GENOME[7000:7065] + random_genome(21, 20) + GENOME[7065:7130]
    parts = GENOME[9000:9080] + reverse_complement(GENOME[40_000:40_070])
    found = map_by_chaining(index, [clipped, deletion, insertion, parts], Chaining(), SHORT_SCORES)
    [clip], [delete], [insert], [first, second] = found
    assert (clip.begin, clip.end, clip.query_end) == (pytest.approx(5000, abs=3), 5100, 150)
    assert (delete.begin, delete.end, delete.score) == (7000, 7170, 150 - 26)
    assert (insert.begin, insert.end, insert.score) == (7000, 7130, 130 - 26)
    assert (first.begin, first.end) == (9000, pytest.approx(9080, abs=3))
    assert (second.flag, second.begin, second.end) == (0x800 | 16, 40_000, pytest.approx(40_070, abs=3))


def test_parts_on_one_diagonal_around_a_foreign_one() -> None:
    read = GENOME[9000:9060] + reverse_complement(GENOME[40_000:40_050]) + GENOME[9110:9165]
    [records] = map_by_chaining(index_of(GENOME, k=15, w=5), [read], Chaining(), SHORT_SCORES)
    assert [(record.flag, record.begin, record.end) for record in records] == [
        (0, 9000, pytest.approx(9060, abs=3)),
        (0x800, pytest.approx(9110, abs=3), 9165),
        (0x800 | 16, pytest.approx(40_000, abs=3), pytest.approx(40_050, abs=3)),
    ]


def test_a_part_below_the_min_length_is_no_supplementary_record() -> None:
    read = GENOME[9000:9300] + reverse_complement(GENOME[40_000:40_060])
    index = index_of(GENOME, k=15, w=5)
    for minimum, records in ((50, 2), (100, 1)):
        [found] = map_by_chaining(index, [read], replace(Chaining(), min_split=minimum), SHORT_SCORES)
        assert len(found) == records
    assert LONG_READS.min_split == 30
