"""A byte order mark at the beginning of a text, as Windows programs write it: it is left out, of every input."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import gpualign
from gpualign.text.files import InputFile
from tests.helpers.commands import program
from tests.helpers.files import fasta, fastq, write_bgzf, write_fasta
from tests.helpers.sequences import random_genome

MARK = b"\xef\xbb\xbf"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}
TEXT = fastq([(f"r{i}", "ACGTACGTAC", "I" * 10) for i in range(5000)])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [*PACKERS, "bgzf"])
def test_compressed_or_not(tmp_path: Path, kind: str, threads: int) -> None:
    """Only at the beginning: three such bytes later on are kept."""
    for text in (TEXT, b"", b"A", MARK + b"A\n"):
        path = tmp_path / "x"
        if kind == "bgzf":
            write_bgzf(path, MARK + text, 7000)
        else:
            path.write_bytes(PACKERS[kind](MARK + text))
        with InputFile(str(path), threads) as file:
            assert file.read(1 << 20) == text
    assert len(gpualign.read_sequences(str(write(tmp_path / "reads", TEXT)))) == 5000


def write(path: Path, text: bytes) -> Path:
    path.write_bytes(MARK + text)
    return path


@pytest.mark.parametrize("text", [b"g1\tACGTACGTAC\n", b">g1\nACGTACGTAC\n", b"# of May\r\ng1\tACGTACGTAC\r\n"])
def test_patterns_and_targets(cli, tmp_path: Path, text: bytes) -> None:
    patterns, targets = write(tmp_path / "p", text), write(tmp_path / "t", fasta([("t", "TTACGTACGTACTT")]))
    status, out, errors = cli("search", patterns, targets, "-k", "0", "--strand", "plus", "--no-header")
    assert (status, out) == (0, b"g1\tt\t+\t3\t12\t10\t0\n"), errors


def test_reads_references_and_alignments(cli, tmp_path: Path) -> None:
    """The same as without the mark; also through a pipe."""
    genome = random_genome(3, 2000)
    plain = write_fasta(tmp_path / "plain.fa", [("c", genome)])
    reads = fastq([("r", genome[500:650], "I" * 150)])
    (tmp_path / "r.fq").write_bytes(reads)
    expected = cli("map", plain, tmp_path / "r.fq", "--paf")[1]
    marked = write(tmp_path / "marked.fa", plain.read_bytes())
    assert expected.count(b"\n") == 1
    assert cli("map", marked, write(tmp_path / "m.fq", reads), "--paf")[1] == expected
    piped = subprocess.run(program("map", marked, "-", "--paf"), input=MARK + reads, capture_output=True, check=True)
    assert piped.stdout == expected
    sam = cli("map", plain, tmp_path / "r.fq")[1]
    status, out, errors = cli("sort", write(tmp_path / "m.sam", sam))
    assert status == 0, errors
    assert out.splitlines()[-1] == sam.splitlines()[-1]


def test_pairs_and_matrices(cli, tmp_path: Path) -> None:
    queries, targets = write_fasta(tmp_path / "q.fa", q="ACGTAC"), write_fasta(tmp_path / "t.fa", t="ACGTTC")
    pairs = write(tmp_path / "pairs.tsv", b"q\tt\n")
    matrix = write(tmp_path / "m.txt", b"   A  C  G  T\nA  5 -4 -4 -4\nC -4  5 -4 -4\nG -4 -4  5 -4\nT -4 -4 -4  5\n")
    status, out, errors = cli("pairwise", queries, targets, "--pairs", pairs, "--matrix", matrix)
    assert status == 0, errors
    assert out.splitlines()[-1].startswith(b"q\tt\t")
