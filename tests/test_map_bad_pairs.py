"""Bad pairs and bad BAM files: one sentence that names the file, the right exit code, and no output left behind."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.sam_rules import broken_rules
from tests.test_map import random_genome, records, tags, write_fasta
from tests.test_map_pairs import pair

Cli = Callable[..., tuple[int, bytes, str]]
DEADLINE = 60


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(21, 60_000)


@pytest.fixture(scope="module")
def fastq(genome: str) -> tuple[bytes, bytes]:
    """60 pairs as the text of two files."""
    pairs = [pair(genome, 700 * i, 300, f"p{i}") for i in range(60)]
    return tuple(  # type: ignore[return-value]
        "".join(f"@{name}\n{bases}\n+\n{quality}\n" for name, bases, quality in (both[end] for both in pairs)).encode()
        for end in (0, 1)
    )


@pytest.fixture
def reference(tmp_path: Path, genome: str) -> Path:
    return write_fasta(tmp_path / "ref.fa", g=genome)


def first_lines(text: bytes, count: int) -> bytes:
    return b"".join(text.splitlines(keepends=True)[:count])


#: what is done to the second file; the sentence that must be said, which may name {path}
BAD_SECOND_FILES: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "missing": (lambda text: None, "{path}: No such file"),
    "empty": (lambda text: b"", "60 reads here, 0 in {path}"),
    "shorter": (lambda text: first_lines(text, 4 * 59), "60 reads here, 59 in {path}"),
    "longer": (lambda text: text + b"@more/2\nACGT\n+\nIIII\n", "60 reads here, 61 in {path}"),
    "shifted by one": (lambda text: b"@new/2\nACGT\n+\nIIII\n" + first_lines(text, 4 * 59), "'p0/1' and 'new/2'"),
    "text": (lambda text: b"hello\n", "{path}:1: neither FASTA nor FASTQ"),
    "cut in a record": (
        lambda text: text[:-20],
        "{path}:237: FASTQ record cut short (the last whole record is 'p58/2')",
    ),
    "too few qualities": (
        lambda text: text.replace(b"5\n@p1/", b"\n@p1/"),
        "{path}:4: record 'p0/2': 100 bases but 99",
    ),
    "truncated gzip": (lambda text: gzip.compress(text)[:-30], "{path}: compressed file ended early"),
    "wrong checksum": (
        lambda text: gzip.compress(text)[:-8] + b"\0\0\0\0" + gzip.compress(text)[-4:],
        "{path}: compressed data is damaged",
    ),
    "a gap in a read": (
        lambda text: text.replace(b"\n+", b"-\n+", 1),
        "{path}:2: record 'p0/2': '-' is not a nucleotide",
    ),
}


@pytest.mark.parametrize("output", ["out.sam", "out.bam"])
@pytest.mark.parametrize("name", list(BAD_SECOND_FILES))
def test_bad_second_file(
    cli: Cli, tmp_path: Path, reference: Path, fastq: tuple[bytes, bytes], name: str, output: str
) -> None:
    make, sentence = BAD_SECOND_FILES[name]
    first, second = tmp_path / "1.fq", tmp_path / "2.fq"
    first.write_bytes(fastq[0])
    content = make(fastq[1])
    if content is not None:
        second.write_bytes(content)
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, error = cli("map", reference, first, second, "-o", tmp_path / output, "--batch-size", "4K")
    assert (code, out) == (3, b"")
    assert sentence.format(path=second) in error
    assert error.count("error:") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def accepted(fastq: tuple[bytes, bytes]) -> dict[str, tuple[bytes, bytes]]:
    one, two = fastq
    twice = one + one.replace(b"I", b"5"), two + two
    return {
        "CR LF": (one.replace(b"\n", b"\r\n"), two),
        "no final newline": (one.rstrip(b"\n"), two.rstrip(b"\n")),
        "one compressed": (one, gzip.compress(two)),
        "names twice": twice,
        "lower case": (one, two.replace(b"A", b"a").replace(b"C", b"c")),
    }


@pytest.mark.parametrize("name", list(accepted((b"", b""))))
def test_pairs_that_are_accepted(
    cli: Cli, tmp_path: Path, reference: Path, fastq: tuple[bytes, bytes], name: str
) -> None:
    files = []
    for end, content in enumerate(accepted(fastq)[name]):
        files.append(tmp_path / f"{end}.fq")
        files[-1].write_bytes(content)
    code, sam, _ = cli("map", "-I", "300,30", reference, *files)
    assert code == 0
    rows = records(sam)
    assert len(rows) == (240 if name == "names twice" else 120)
    assert {int(row[1]) for row in rows} == {99, 147}


def test_both_files_empty(cli: Cli, tmp_path: Path, reference: Path) -> None:
    for end in (1, 2):
        (tmp_path / f"{end}.fq").write_bytes(b"")
    code, sam, error = cli("map", reference, tmp_path / "1.fq", tmp_path / "2.fq")
    assert code == 0
    assert sam.startswith(b"@HD\tVN:1.6")
    assert records(sam) == []
    assert "no reads in" in error


def test_ends_without_letters(cli: Cli, tmp_path: Path, reference: Path, genome: str) -> None:
    one, two = tmp_path / "1.fq", tmp_path / "2.fq"
    one.write_text(f"@a\n{genome[:100]}\n+\n{'I' * 100}\n@b\n\n+\n\n")
    two.write_text("@a\n\n+\n\n@b\n\n+\n\n")
    code, sam, _ = cli("map", "-I", "300", reference, one, two)
    assert code == 0
    assert [(row[0], row[1], row[9], row[10]) for row in records(sam)[1:]] == [
        ("a", "133", "*", "*"),
        ("b", "77", "*", "*"),
        ("b", "141", "*", "*"),
    ]
    assert broken_rules(sam.decode(), {"g": genome}) == []


# --- BAM


def unaligned(path: Path, fastq: tuple[bytes, bytes], copies: int = 1) -> Path:
    """Both ends of each pair as neighbours in an unaligned BAM file."""
    header = {"HD": {"VN": "1.6", "GO": "query"}, "RG": [{"ID": "lane", "SM": "s"}]}
    ends = [text.decode().splitlines() for text in fastq]
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for i in range(0, copies * len(ends[0]), 4):
            for end, lines in enumerate(ends):
                record = pysam.AlignedSegment(out.header)
                at = i % len(lines)
                record.query_name, record.flag = f"{i}", 77 if end == 0 else 141
                record.query_sequence = lines[at + 1]
                record.query_qualities = pysam.qualitystring_to_array(lines[at + 3])
                record.set_tag("RG", "lane")
                out.write(record)
    return path


def last_block(data: bytes) -> int:
    """Where the last block with content begins; the empty one that marks the end is 28 bytes."""
    at = start = 0
    while at < len(data) - 28:
        start, at = at, at + int.from_bytes(data[at + 16 : at + 18], "little") + 1
    return start


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in a block": (lambda data: data[: len(data) // 2], "truncated"),
    "cut between blocks": (lambda data: data[: last_block(data)], "truncated"),
    "no end mark": (lambda data: data[:-28], "truncated"),
    "letters changed": (lambda data: data[:40_000] + b"\xff" * 60 + data[40_060:], "damaged"),
    "header alone cut": (lambda data: data[:60], "ended early"),
}


@pytest.mark.parametrize("name", list(DAMAGE))
def test_damaged_bam(cli: Cli, tmp_path: Path, reference: Path, fastq: tuple[bytes, bytes], name: str) -> None:
    damage, word = DAMAGE[name]
    bam = unaligned(tmp_path / "reads.bam", fastq, copies=60)
    bam.write_bytes(damage(bam.read_bytes()))
    code, _, error = cli("map", reference, bam, "-o", tmp_path / "out.bam", "--sort")
    assert code == 3
    assert error.startswith(f"gpualign map: error: {bam}: ")
    assert word in error or "cannot be read" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reads.bam", "ref.fa"]


@pytest.mark.parametrize("name", ["cut in a block", "letters changed"])
def test_damaged_bam_on_standard_input(tmp_path: Path, reference: Path, fastq: tuple[bytes, bytes], name: str) -> None:
    bam = unaligned(tmp_path / "reads.bam", fastq, copies=60)
    command = [sys.executable, "-m", "gpualign", "map", str(reference), "-"]
    content = DAMAGE[name][0](bam.read_bytes())
    done = subprocess.run(command, input=content, capture_output=True, timeout=DEADLINE)
    assert done.returncode == 3
    assert done.stderr.startswith(b"gpualign map: error: standard input: ")


def test_pairs_of_bam_are_those_of_fastq(cli: Cli, tmp_path: Path, reference: Path, fastq: tuple[bytes, bytes]) -> None:
    for end in (0, 1):
        (tmp_path / f"{end}.fq").write_bytes(fastq[end])
    _, expected, _ = cli("map", reference, tmp_path / "0.fq", tmp_path / "1.fq")
    code, sam, _ = cli("map", reference, unaligned(tmp_path / "reads.bam", fastq))
    assert code == 0
    assert [row[1:11] for row in records(sam)] == [row[1:11] for row in records(expected)]
    assert {tags(row)["RG"] for row in records(sam)} == {"lane"}
    assert b"\n@RG\tID:lane\tSM:s\n" in sam


def test_an_end_that_lost_its_mate_is_a_single_read(
    cli: Cli, tmp_path: Path, reference: Path, fastq: tuple[bytes, bytes]
) -> None:
    bam, part = unaligned(tmp_path / "reads.bam", fastq), tmp_path / "part.bam"
    with (
        pysam.AlignmentFile(str(bam), check_sq=False) as source,
        pysam.AlignmentFile(str(part), "wb", template=source) as out,
    ):
        for i, record in enumerate(source.fetch(until_eof=True)):
            if i not in (3, 6):
                out.write(record)
    code, sam, _ = cli("map", "-I", "300,30", reference, part)
    assert code == 0
    flags = [int(row[1]) for row in records(sam)]
    assert len(flags) == 118
    assert [flag & 1 for flag in flags[:8]] == [1, 1, 0, 1, 1, 0, 1, 1]


def test_aligned_bam_is_turned_back_and_mapped_again(
    cli: Cli, tmp_path: Path, reference: Path, fastq: tuple[bytes, bytes]
) -> None:
    """Sorted output by name again gives the same records; @PG lines are chained; no tag stands twice."""
    for end in (0, 1):
        (tmp_path / f"{end}.fq").write_bytes(fastq[end])
    out = tmp_path / "out.bam"
    assert cli("map", reference, tmp_path / "0.fq", tmp_path / "1.fq", "-o", out)[0] == 0
    code, sam, _ = cli("map", reference, out)
    assert code == 0
    assert records(sam) == [line.split("\t") for line in pysam.samtools.view(str(out)).splitlines()]
    programs = [line for line in sam.decode().splitlines() if line.startswith("@PG")]
    assert [line.split("\t")[1] for line in programs] == ["ID:gpualign", "ID:gpualign.1"]
    assert programs[1].endswith("\tPP:gpualign")


def test_sam_with_a_broken_line(cli: Cli, tmp_path: Path, reference: Path) -> None:
    sam = tmp_path / "reads.sam"
    sam.write_text("@HD\tVN:1.6\na\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\nb\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIII\n")
    code, _, error = cli("map", reference, sam, "-o", tmp_path / "out.sam")
    assert code == 3
    assert error.startswith(f"gpualign map: error: {sam}: ")
    assert "after 1 reads" in error
