"""Pairs whose ends do not stand side by side, in one file: an error, never single reads."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

import gpualign
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
PAIRED, UNMAPPED, REVERSE, FIRST, SECOND, FAILED, DUPLICATE = 0x1, 0x4, 0x10, 0x40, 0x80, 0x200, 0x400
#: name, flags, sequence
Row = tuple[str, int, str]
PAIRS = 60


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(91, 30_000)


@pytest.fixture
def reference(tmp_path: Path, genome: str) -> Path:
    return write_fasta(tmp_path / "r.fa", g=genome)


@pytest.fixture(scope="module")
def rows(genome: str) -> list[Row]:
    """Unaligned records of pairs, the ends in turn."""
    rng = random.Random(1)
    made: list[Row] = []
    for i in range(PAIRS):
        at = rng.randrange(29_000)
        made.append((f"p{i}", 77, genome[at : at + 100]))
        made.append((f"p{i}", 141, reverse_complement(genome[at + 200 : at + 300])))
    return made


def write(path: Path, rows: list[Row], reference: Path | None = None) -> Path:
    mode = {".sam": "w", ".bam": "wb", ".cram": "wc"}[path.suffix]
    header = {"HD": {"VN": "1.6"}}
    with pysam.AlignmentFile(str(path), mode, header=header, reference_filename=reference and str(reference)) as out:
        for name, flag, bases in rows:
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag, record.query_sequence = name, flag, bases
            record.query_qualities = pysam.qualitystring_to_array("I" * len(bases))
            out.write(record)
    return path


def refused(cli: Cli, folder: Path, *arguments: object) -> str:
    """The message of a run that must fail and leave no file."""
    code, out, error = cli("map", "-o", folder / "out.sam", *arguments)
    assert (code, out) == (3, b"")
    assert not (folder / "out.sam").exists()
    return error


@pytest.mark.parametrize("form", ["sam", "bam", "cram"])
def test_sorted_by_coordinate(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row], form: str) -> None:
    unaligned, by_position = write(tmp_path / "u.bam", rows), tmp_path / f"c.{form}"
    assert cli("map", "--sort", "-o", by_position, reference, unaligned)[0] == 0
    error = refused(cli, tmp_path, reference, by_position)
    assert "mates are not adjacent: 'p" in error
    assert "sort by name or run samtools collate" in error
    assert "c." + form in error
    assert refused(cli, tmp_path, "-p", "--batch-size", "500", reference, by_position) == error
    with pytest.raises(gpualign.InputError, match="mates are not adjacent"):
        gpualign.Mapper(reference).map(by_position)


def test_collated_again_they_are_the_pairs_they_were(
    cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]
) -> None:
    by_position, grouped = tmp_path / "c.bam", tmp_path / "n.bam"
    assert cli("map", "--sort", "-o", by_position, reference, write(tmp_path / "u.bam", rows))[0] == 0
    pysam.samtools.sort("-n", "-o", str(grouped), str(by_position))
    expected = records(cli("map", reference, tmp_path / "u.bam")[1])
    found = records(cli("map", reference, grouped)[1])
    assert sorted(row[:9] for row in found) == sorted(row[:9] for row in expected)
    assert len(gpualign.Mapper(reference).map(grouped)) == 2 * PAIRS
    assert {row & PAIRED for row in gpualign.Mapper(reference).map(grouped)["flag"].tolist()} == {PAIRED}


@pytest.mark.parametrize("gone", [0, 1, PAIRS, 2 * PAIRS - 1])
@pytest.mark.parametrize("batch", ["4M", "150"])
def test_a_lone_end(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row], gone: int, batch: str) -> None:
    bam = write(tmp_path / "u.bam", rows[:gone] + rows[gone + 1 :])
    assert f"mates are not adjacent: '{rows[gone][0]}'" in refused(cli, tmp_path, "--batch-size", batch, reference, bam)


def test_one_lone_record(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]) -> None:
    assert "mates are not adjacent: 'p0'" in refused(cli, tmp_path, reference, write(tmp_path / "u.sam", rows[:1]))


def test_one_end_twice(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]) -> None:
    bam = write(tmp_path / "u.bam", [rows[0], rows[0], *rows[1:]])
    assert "mates are not adjacent: 'p0'" in refused(cli, tmp_path, reference, bam)


def test_pairs_after_single_reads(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row], genome: str) -> None:
    bam = write(tmp_path / "u.bam", [("s", UNMAPPED, genome[:100]), *rows])
    assert "'p0' is one of a pair, and the first read is not (give -p)" in refused(cli, tmp_path, reference, bam)
    found = records(cli("map", "-p", reference, bam)[1])
    assert [int(row[1]) & PAIRED for row in found] == [0] + [PAIRED] * (2 * PAIRS)
    with pytest.raises(gpualign.InputError, match="'p0' is one of a pair"):
        gpualign.Mapper(reference).map(bam)


def test_the_second_end_may_come_first(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]) -> None:
    turned = [row for i in range(0, len(rows), 2) for row in (rows[i + 1], rows[i])]
    expected = records(cli("map", reference, write(tmp_path / "u.bam", rows))[1])
    assert records(cli("map", reference, write(tmp_path / "t.bam", turned))[1]) == expected


def test_other_records_of_a_read_do_not_stand_between(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]):
    name, flag, bases = rows[0]
    more = [rows[0], (name, flag | 0x800, bases), (name, flag | 0x100, bases), *rows[1:]]
    expected = records(cli("map", reference, write(tmp_path / "u.bam", rows))[1])
    assert records(cli("map", reference, write(tmp_path / "m.bam", more))[1]) == expected


def test_two_files_are_paired_record_by_record(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]) -> None:
    expected = records(cli("map", reference, write(tmp_path / "u.bam", rows))[1])
    ends = write(tmp_path / "1.bam", rows[::2]), write(tmp_path / "2.bam", rows[1::2])
    assert records(cli("map", reference, *ends)[1]) == expected


def test_long_reads_have_no_pairs(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]) -> None:
    code, _, error = cli("map", "-x", "ont", reference, write(tmp_path / "u.bam", rows))
    assert code == 2
    assert "long reads have no pairs" in error


@pytest.mark.parametrize("names", ["p{}/{}", "p{}"])
def test_a_file_that_is_not_interleaved(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row], names: str) -> None:
    """First ends, then second ends; in the second case their names do not tell."""
    ends = [(names.format(i // 2, i % 2 + 1), bases, "I" * len(bases)) for i, (_, _, bases) in enumerate(rows)]
    error = refused(cli, tmp_path, "-p", reference, write_fastq(tmp_path / "r.fq", *ends[::2], *ends[1::2]))
    assert ("mates are not adjacent: 'p0/2'" if "/" in names else "it is not interleaved: of the first 120") in error
    assert "leave out -p" in refused(cli, tmp_path, "-p", reference, write_fastq(tmp_path / "1.fq", *ends[::2]))
    # one pair makes it one, and a single read is no evidence
    assert cli("map", "-p", reference, write_fastq(tmp_path / "s.fq", *ends[:2], *ends[2::2]))[0] == 0
    assert cli("map", "-p", reference, write_fastq(tmp_path / "o.fq", ends[0]))[0] == 0


def test_no_pair_among_the_first_ten_thousand_reads(cli: Cli, tmp_path: Path, reference: Path, genome: str) -> None:
    def reads(count: int) -> Path:
        single = [(f"s{i}", genome[i : i + 30], "I" * 30) for i in range(count)]
        pair = [("p/1", genome[:50], "I" * 50), ("p/2", reverse_complement(genome[200:250]), "I" * 50)]
        return write_fastq(tmp_path / "r.fq", *single, *pair)

    for batch in ("4M", "20K"):
        options = ("-p", "-I", "300,30", "--batch-size", batch, "-o", tmp_path / "o.sam", reference)
        assert cli("map", *options, reads(9_998))[0] == 0
        code, _, error = cli("map", *options, reads(10_001))
        assert code == 3
        assert "of the first 10,000 reads no two neighbours have one name" in error


def test_what_the_sequencer_says_is_kept(cli: Cli, tmp_path: Path, reference: Path, rows: list[Row]) -> None:
    """0x200 of every record; that a record is a duplicate is for the next program to say."""
    marked = [
        (name, flag | (FAILED if i // 2 % 3 == 0 else 0) | (DUPLICATE if i // 2 % 2 else 0), bases)
        for i, (name, flag, bases) in enumerate(rows)
    ]
    expected = [FAILED if i // 2 % 3 == 0 else 0 for i in range(len(rows))]
    plain = records(cli("map", reference, write(tmp_path / "u.bam", rows))[1])
    for arguments in (
        (write(tmp_path / "m.bam", marked),),
        (write(tmp_path / "m.sam", marked),),
        (write(tmp_path / "1.bam", marked[::2]), write(tmp_path / "2.bam", marked[1::2])),
        ("--batch-size", "700", tmp_path / "m.bam"),
    ):
        found = records(cli("map", reference, *arguments)[1])
        assert [int(row[1]) - int(other[1]) for row, other in zip(found, plain, strict=True)] == expected
    flags = gpualign.Mapper(reference, insert_size="300,30").map(tmp_path / "m.bam")["flag"]
    assert [int(flag) & (FAILED | DUPLICATE) for flag in flags] == expected
    single = [(f"{name}.{i}", flag & (FAILED | UNMAPPED), bases) for i, (name, flag, bases) in enumerate(marked)]
    found = records(cli("map", reference, write(tmp_path / "s.bam", single))[1])
    assert [int(row[1]) & FAILED for row in found] == expected
