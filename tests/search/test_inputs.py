"""Inputs of `search` and their ends: SAM, BAM and CRAM, pipes, empty ones, Windows lines, and signals."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pysam
import pytest

from tests.helpers.commands import program
from tests.helpers.files import fasta, fastq, write_bgzf, write_fasta, write_fastq

RNG = random.Random(7)
#: with a barcode at the beginning, one at the end of the other strand, none
CODES = {"one": "ACGTTGCAGGTC", "two": "TTGGCCAATTGG"}
READS = [
    ("r0", "GG" + CODES["one"] + "A" * 20),
    ("r1", "C" * 20 + "CCAATTGGCCAA" + "G"),
    ("r2", "".join(RNG.choices("AC", k=40))),
]
ROWS = [["one", "r0", "+", "3", "14", "12", "0"], ["two", "r1", "-", "21", "32", "12", "0"]]
WORDS = ("-k", "1", "--best-per-target", "--no-header")
TIMEOUT = 60


def rows(out: bytes) -> list[list[str]]:
    return [line.split("\t") for line in out.decode().splitlines()]


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "codes.fa", **CODES)


@pytest.fixture
def reads(tmp_path: Path) -> Path:
    return write_fastq(tmp_path / "reads.fq", *((name, bases, "I" * len(bases)) for name, bases in READS))


@pytest.mark.parametrize(("suffix", "mode"), [("sam", "w"), ("bam", "wb"), ("cram", "wc")])
def test_unaligned_files(cli, tmp_path: Path, codes: Path, suffix: str, mode: str) -> None:
    path = tmp_path / f"reads.{suffix}"
    with pysam.AlignmentFile(str(path), mode, header={"HD": {"VN": "1.6"}}) as out:
        for name, bases in READS:
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.query_sequence, record.flag = name, bases, 4
            record.query_qualities = pysam.qualitystring_to_array("I" * len(bases))
            out.write(record)
    status, out, errors = cli("search", codes, path, *WORDS, "--split", tmp_path / "split")
    assert status == 0, errors
    assert rows(out) == ROWS
    split = tmp_path / "split" / "two.fastq"
    assert split.read_bytes() == fastq([("r1", READS[1][1], "I" * 33)])


def test_aligned_cram_with_its_reference(cli, tmp_path: Path, codes: Path) -> None:
    """A read that is stored as its differences from the reference, as the sequencer gave it."""
    reference = write_fasta(tmp_path / "ref.fa", [("c", "T" * 30 + READS[1][1] + "T" * 30)])
    sam, path = tmp_path / "reads.sam", tmp_path / "reads.cram"
    record = f"r1\t0\tc\t31\t60\t33M\t*\t0\t0\t{READS[1][1]}\t{'I' * 33}\n"
    sam.write_text(f"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:93\n{record}")
    pysam.view("-C", "-T", str(reference), "-o", str(path), str(sam), catch_stdout=False)
    status, out, errors = cli("search", codes, path, *WORDS, "--reference", reference)
    assert status == 0, errors
    assert rows(out) == [ROWS[1]]


def test_pipes(tmp_path: Path, codes: Path, reads: Path) -> None:
    """Targets, or patterns, from standard input or a named pipe."""

    def output(*words: object, stdin: bytes = b"") -> list[list[str]]:
        done = subprocess.run(program("search", *words, *WORDS), input=stdin, capture_output=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        return rows(done.stdout)

    packed = Path(write_bgzf(tmp_path / "reads.gz", reads.read_bytes(), 50)).read_bytes()
    assert output(codes, "-", stdin=reads.read_bytes()) == ROWS
    assert output(codes, "-", stdin=packed) == ROWS
    assert output("-", reads, stdin=codes.read_bytes()) == ROWS
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=[reads.read_bytes()], daemon=True)
    writer.start()
    assert output(codes, tmp_path / "fifo") == ROWS


def test_a_genome_from_a_pipe_as_from_a_file(tmp_path: Path) -> None:
    bases = "".join(RNG.choices("ACGT", k=150_000))
    text = fasta([("chr", bases), ("plasmid", bases[:5000])], 60)
    (tmp_path / "g.fa").write_bytes(text.replace(b"\n", b"\r\n"))
    words = ("search", "-P", f"{bases[100:130]},{bases[149_000:149_030]}", "-k", "2", "--batch-size", "3K", "-p")
    piped = subprocess.run(program(*words, "-"), input=text, capture_output=True, timeout=TIMEOUT).stdout
    stored = subprocess.run(program(*words, tmp_path / "g.fa"), capture_output=True, timeout=TIMEOUT).stdout
    assert piped == stored
    found = [(row[1], row[3]) for row in rows(piped)[1:] if row[6] == "0"]
    assert found == [("chr", "101"), ("chr", "149001"), ("plasmid", "101")]


def test_a_signal_leaves_no_file(tmp_path: Path, codes: Path, reads: Path) -> None:
    """Neither the table nor those of the barcodes, which have been written to."""
    (folder := tmp_path / "out").mkdir()
    files = ("-o", folder / "hits.tsv", "--split", folder / "split", "--counts", folder / "counts.tsv")
    words = program("search", codes, "-", *WORDS, *files, "--batch-size", "1K", "--device", "cpu", "-t", 2, "--quiet")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(reads.read_bytes() * 2000)
        process.stdin.flush()
        end = time.monotonic() + TIMEOUT
        while not list(folder.rglob("*")) or not (folder / "split").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, errors) == (143, b"gpualign search: error: terminated\n")
    assert list(folder.iterdir()) == []


def test_windows_lines_of_patterns(cli, tmp_path: Path, reads: Path) -> None:
    patterns = tmp_path / "codes.txt"
    patterns.write_bytes(b"# barcodes\r\none\tACGTTGCAGGTC\r\n\r\ntwo\tttggccaattgg\r\n")
    assert rows(cli("search", patterns, reads, *WORDS)[1]) == ROWS


@pytest.mark.parametrize("text", ["", "\n\n", "# none\n"])
def test_no_pattern(cli, tmp_path: Path, reads: Path, text: str) -> None:
    patterns = tmp_path / "codes.txt"
    patterns.write_text(text)
    status, out, errors = cli("search", patterns, reads, "-k", "1")
    assert (status, out) == (3, b"")
    assert "codes.txt: no pattern" in errors


def test_a_pattern_longer_than_the_targets(cli, reads: Path) -> None:
    """Each symbol that is missing is an error."""
    long = READS[0][1] + "GTGTG"
    assert rows(cli("search", "-P", long, reads, "-k", "4", "--no-header")[1]) == []
    assert rows(cli("search", "-P", long, reads, "-k", "5", "--no-header")[1])[0][1:] == [
        "r0",
        "+",
        "1",
        "34",
        "39",
        "5",
    ]
