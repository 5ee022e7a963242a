"""What `map` does with wrong input and with output that cannot be written: one sentence, the right exit code."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.commands import program
from tests.helpers.paths import GENOMES, READS
from tests.helpers.sam import to_bam

Cli = Callable[..., tuple[int, bytes, str]]

GOOD = b"@r1\nACGT\n+\nIIII\n"
LONG = b"".join(b"@r%d\n%s\n+\n%s\n" % (i, b"ACGTTGCA" * 10, b"I" * 80) for i in range(500))


def damaged_gzip() -> bytes:
    data = bytearray(gzip.compress(LONG))
    data[-6] ^= 1  # the CRC
    return bytes(data)


# content of READS, what the sentence must contain
BAD_READS = {
    "text": (b"hello\nworld\n", "neither FASTA nor FASTQ: begins with 'hello'"),
    "html": (b"<html>\n", "neither FASTA nor FASTQ"),
    "other bytes": (b"\x00\xffR\n", r"begins with '\x00\xffR' (expected '>' or '@')"),
    "zip archive": (b"PK\x03\x04" + bytes(40), "neither FASTA nor FASTQ, but a zip archive (unpack it)"),
    "tar archive": (
        gzip.compress(b"r.fq".ljust(257, b"\0") + b"ustar\0" + bytes(249)),
        "but a tar archive (unpack it)",
    ),
    "UTF-16": (GOOD.decode().encode("utf-16"), "but UTF-16 text"),
    "minimap2's index": (b"MMI\x02" + bytes(20), "but an index of minimap2 (give its FASTA file)"),
    "cut in the sequence": (GOOD + b"@r2\nAC", ":5: FASTQ record cut short (the last whole record is 'r1')"),
    "cut after the plus": (GOOD + b"@r2\nACGT\n+\n", ":5: FASTQ record cut short (the last whole record is 'r1')"),
    "cut in the qualities": (GOOD + b"@r2\nACGT\n+\nII", ":5: FASTQ record cut short"),
    "cut after the name": (GOOD + b"@r2\n", ":5: FASTQ record cut short"),
    "too few qualities": (b"@r1\nACGT\n+\nIII\n" + GOOD, ":4: record 'r1': 4 bases but 3 qualities"),
    "too many qualities": (b"@r1\nACGT\n+\nIIIII\n" + GOOD, ":4: record 'r1': 4 bases but 5 qualities"),
    "no plus": (b"@r1\nACGT\nIIII\n" + GOOD, ":3: record 'r1': expected '+', found 'IIII'"),
    "no qualities, as SAM says it": (GOOD + b"@r2\nACGT\n+\n*\n", ":8: record 'r2': 4 bases but 1 quality"),
    "the same without a line end": (GOOD + b"@r2\nACGT\n+\n*", ":8: record 'r2': 4 bases but 1 quality"),
    "the same in the middle": (b"@r1\nACGT\n+\n*\n" + GOOD, ":4: record 'r1': 4 bases but 1 quality"),
    "too few qualities at the end": (GOOD + b"@r2\nACGT\n+\nIII\n", ":8: record 'r2': 4 bases but 3 qualities"),
    "no name": (GOOD + b"@\nACGT\n+\nIIII\n", ":5: a record has no name (put one after the '@')"),
    "a comment for a name": (b">r\nACGT\n> x\nACGT\n", ":3: a record has no name (put one after the '>')"),
    "old Mac FASTA": (b">r x\rACGT\r>s\rACGT\r", "its lines end in carriage returns"),
    "old Mac FASTQ": (b"@r x\rACGT\r+\rIIII\r", "its lines end in carriage returns"),
    "old Mac FASTA with one line end": (b">r x\rACGT\r\n", ":1: a carriage return within a line"),
    "old Mac FASTA after another": (b">q\nACGT\n>r x\rACGT\r>s\rACGT\r", ":3: a carriage return within a line"),
    "gap symbol": (GOOD + b"@r2\nAC-T\n+\nIIII\n", ":6: record 'r2': '-' is not a nucleotide"),
    "asterisk": (b">r\nAC*T\n", ":2: record 'r': '*' is not a nucleotide"),
    "digit": (b">r\nAC\nA1\n", ":3: record 'r': '1' is not a nucleotide"),
    "protein": (b">p\nMKLV\n", "'L' is not a nucleotide"),
    "control character in the qualities": (b"@r1\nACGT\n+\nII\x01I\n", ":4: record 'r1': a quality is not a printable"),
    "truncated gzip": (gzip.compress(LONG, mtime=0)[:-20], "compressed file ended early"),
    "gzip cut in its first block": (gzip.compress(os.urandom(300_000), mtime=0)[:5000], "ended early"),
    "wrong CRC": (damaged_gzip(), "compressed data is damaged"),
    "garbage in gzip": (b"\x1f\x8b" + b"garbage" * 20, "compressed data is damaged"),
}


@pytest.mark.parametrize("name", list(BAD_READS))
def test_bad_reads(cli: Cli, tmp_path: Path, name: str) -> None:
    content, sentence = BAD_READS[name]
    reads = tmp_path / "reads"
    reads.write_bytes(content)
    out = tmp_path / "out.sam"
    code, _, error = cli("map", GENOMES, reads, "-o", out)
    assert code == 3
    assert error.startswith(f"gpualign map: error: {reads}:")
    assert sentence in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reads"]


UNMAPPED = b"r1\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"


@pytest.mark.parametrize("line", [b"@CO\t\x83\n", b"@HD\tVN:1.6\n"])
def test_lines_of_sam_headers_that_are_not_used(cli: Cli, tmp_path: Path, line: bytes) -> None:
    """htslib takes bytes that are not UTF-8, and @HD twice."""
    (tmp_path / "reads.sam").write_bytes(b"@HD\tVN:1.6\n" + line + UNMAPPED)
    code, out, _ = cli("map", GENOMES, tmp_path / "reads.sam")
    assert code == 0
    assert [text[:3] for text in out.split(b"\n") if text and not text.startswith(b"@")] == [b"r1\t"]


@pytest.mark.parametrize(
    "header",
    [
        b"@HD\tVN:1.\0\n6\n",
        b"@HD\tVN:1.6\n@RG\tSM:no ID\n",
    ],
)
def test_bad_sam_headers(cli: Cli, tmp_path: Path, header: bytes) -> None:
    reads = tmp_path / "reads.sam"
    reads.write_bytes(header + UNMAPPED)
    code, _, error = cli("map", GENOMES, reads)
    assert code == 3
    assert error.startswith(f"gpualign map: error: {reads}:")


def test_programs_that_name_each_other_as_predecessor(cli: Cli, tmp_path: Path) -> None:
    reads = tmp_path / "reads.sam"
    reads.write_bytes(b"@PG\tID:a\tPP:b\n@PG\tID:b\tPP:a\n" + UNMAPPED)
    code, output, _ = cli("map", GENOMES, reads)
    assert code == 0
    assert re.search(rb"\n@PG\tID:gpualign\t.*\tPP:b\n", output)


@pytest.mark.parametrize("name", ["text", "cut in the qualities", "truncated gzip", "wrong CRC"])
def test_bad_reads_on_standard_input(name: str) -> None:
    content, sentence = BAD_READS[name]
    done = subprocess.run(program("map", GENOMES, "-"), input=content, capture_output=True)
    assert done.returncode == 3
    assert done.stderr.decode().startswith("gpualign map: error: standard input:")
    assert sentence in done.stderr.decode()


def test_line_numbers_count_through_chunks(cli: Cli, tmp_path: Path) -> None:
    reads = tmp_path / "reads"
    reads.write_bytes(LONG + b"@bad\nAC!T\n+\nIIII\n")
    code, _, error = cli("map", GENOMES, reads, "--batch-size", "1K", "-t", 2)
    assert code == 3
    assert f"{reads}:2002: record 'bad': '!' is not a nucleotide" in error


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the reference is empty"),
        (b"text\n", "neither FASTA nor FASTQ"),
        (b">a\nACGT\n>a\nACGT\n", "two records are named 'a' (lines 1 and 3; rename one)"),
        (b">a\n>b\nACGT\n", "record 'a' has no sequence"),
        (GOOD, "a FASTQ file where the reference should be"),
        (b"BAM\x01" + bytes(20), "neither FASTA nor FASTQ, but BAM (samtools fasta or samtools fastq converts it)"),
        (gzip.compress(b">a\n" + b"ACGT" * 1000, mtime=0)[:-9], "compressed file ended early"),
        (b"gpualign\x01\x00\x00\x00", "index"),
        (
            gzip.compress(b"gpualign\x03\x00\x00\x00", mtime=0),
            "neither FASTA nor FASTQ, but a saved index (`map`, `mem`",
        ),
    ],
)
def test_bad_references(cli: Cli, tmp_path: Path, content: bytes, sentence: str) -> None:
    reference = tmp_path / "reference"
    reference.write_bytes(content)
    code, _, error = cli("map", reference, READS)
    assert code == 3
    assert error.startswith(f"gpualign map: error: {reference}")
    assert sentence in error


@pytest.mark.parametrize("command", ["map", "mem", "mems"])
def test_an_index_in_a_pipe(tmp_path: Path, command: str) -> None:
    (tmp_path / "ref.fa").write_bytes(b">a\n" + b"ACGTTGCA" * 20 + b"\n")
    subprocess.run(program("index", tmp_path / "ref.fa", "-d", tmp_path / "ref.gpi"), check=True, capture_output=True)
    index = (tmp_path / "ref.gpi").read_bytes()
    done = subprocess.run(program(command, "/dev/stdin", READS), input=index, capture_output=True)
    assert done.returncode == 3
    assert b"neither FASTA nor FASTQ, but a saved index" in done.stderr


def test_missing_files(cli: Cli, tmp_path: Path) -> None:
    for arguments in ((tmp_path / "no.fa", READS), (GENOMES, tmp_path / "no.fq")):
        code, _, error = cli("map", *arguments)
        assert code == 3
        assert "/no.f" in error
        assert "No such file or directory" in error


def test_folder_as_input(cli: Cli, tmp_path: Path) -> None:
    assert cli("map", GENOMES, tmp_path)[0] == 3


def test_truncated_bam(cli: Cli, tmp_path: Path) -> None:
    cli("map", GENOMES, READS, "-o", tmp_path / "a.sam")
    to_bam(tmp_path / "a.sam", tmp_path / "a.bam")
    whole = (tmp_path / "a.bam").read_bytes()
    for size in (len(whole) // 2, len(whole) - 28):  # in the middle, and without the end-of-file block
        (tmp_path / "cut.bam").write_bytes(whole[:size])
        code, _, error = cli("map", GENOMES, tmp_path / "cut.bam", "-o", tmp_path / "out.sam")
        assert code == 3, size
        assert "truncated" in error
        assert not (tmp_path / "out.sam").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-R", "ID:x"], "read group must start with '@RG'"),
        (["-R", r"@RG\tSM:x"], "read group has no ID"),
        (["-R", r"@RG\tID:x\tjunk"], "is not TAG:VALUE"),
        (["-R", r"@RG\tID:a\tSM:x\tID:b"], "read group has ID twice"),
        (["--rg-id", "a", "--rg", "SM:x", "--rg", "SM:y"], "read group has SM twice"),
        (["--fr", "--rf"], "--fr and --rf are mutually exclusive"),
        (["--ff", "--rf"], "--rf and --ff are mutually exclusive"),
        (["-a", "-N", "3"], "-a reports all alignments, -N some"),
        (["-N", "1000000000000"], "-N) must be from 0 to 2,147,483,647, not 1,000,000,000,000"),
        (["--strata", "1000000000000"], "strata must be from 0 to 2,147,483,647"),
        (["--max-hits", "1000000000000"], "max hits must be from 1 to 2,147,483,647"),
        (["--max-candidates", "0"], "max candidates must be from 1 to 2,147,483,647"),
        (["-t", "1000000000000"], "threads must be from 1 to 16,384"),
        (["--batch-size", "10000T"], "batch size must be from 1 to 1,099,511,627,776"),
        (["-e", "5"], "error rate must be at least 0 and below 1"),
        (["-k", "12"], "k must be odd"),
        (["-k", "33"], "between 1 and 31"),
        (["-w", "0"], "w must be between 1 and 256"),
        (["-t", "0"], "-t"),
        (["--batch-size", "many"], "is not a size"),
        (["--device", "tpu"], "device must be"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_command_lines(cli: Cli, arguments: list[str], sentence: str) -> None:
    code, out, error = cli("map", *arguments, GENOMES, READS)
    assert (code, out) == (2, b"")
    assert error.startswith("gpualign map: error: ")
    assert sentence in error
    assert error.count("\n") == 1


def test_missing_arguments(cli: Cli) -> None:
    assert cli("map", GENOMES)[0] == 2
    assert cli("map", "-", "-")[0] == 2
    assert cli("nonsense")[0] == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_no_file(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """The reads come from a pipe that stays open, so the run is in its middle when the signal arrives."""
    process = subprocess.Popen(
        program("map", GENOMES, "-", "-o", tmp_path / "out.sam"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(LONG * 40)
    process.stdin.flush()
    deadline = time.monotonic() + 20
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()), "the temporary file never appeared"
    process.send_signal(number)
    assert process.wait(timeout=20) == code
    assert b"Traceback" not in process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_cuda_that_is_not_there_is_exit_code_4(cli: Cli) -> None:
    code, out, error = cli("map", "--device", "cuda:99", GENOMES, READS)
    assert (code, out) == (4, b"")
    assert error.startswith("gpualign map: error: ")
