"""`gpualign map` on reads and references in every format and compression, from files and standard input."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
import zstandard

from gpualign.text.chunks import read_batches
from tests.helpers.commands import program
from tests.helpers.files import read_fasta, write_fastq
from tests.helpers.paths import GENOMES
from tests.helpers.sam import records, tags, to_bam, unaligned_bam, without_program

Cli = Callable[..., tuple[int, bytes, str]]


def plain(sam: bytes) -> list[list[str]]:
    return [row[:6] + row[9:10] for row in records(sam)]


def variants(text: bytes) -> dict[str, bytes]:
    lines = text.splitlines()
    half = len(text.splitlines(keepends=True)) // 8 * 4
    first, second = (
        b"".join(part) for part in (text.splitlines(keepends=True)[:half], text.splitlines(keepends=True)[half:])
    )
    return {
        "gzip": gzip.compress(text),
        "several gzip members": gzip.compress(first) + gzip.compress(second),
        "bzip2": bz2.compress(text),
        "xz": lzma.compress(text),
        "zstd": zstandard.compress(text),
        "CRLF": b"\r\n".join(lines) + b"\r\n",
        "no final newline": text.rstrip(b"\n"),
        "lower case": b"\n".join(line.lower() if i % 4 == 1 else line for i, line in enumerate(lines)) + b"\n",
        "RNA": b"\n".join(line.replace(b"T", b"U") if i % 4 == 1 else line for i, line in enumerate(lines)) + b"\n",
    }


@pytest.mark.parametrize("name", list(variants(b"@a\nA\n+\nI\n")))
def test_fastq_in_every_dress(cli: Cli, tmp_path: Path, fifty: Path, name: str) -> None:
    _, expected, _ = cli("map", GENOMES, fifty)
    dressed = tmp_path / "reads"
    dressed.write_bytes(variants(fifty.read_bytes())[name])
    code, sam, _ = cli("map", GENOMES, dressed)
    assert code == 0
    assert plain(sam) == plain(expected)


def test_bgzf_and_multi_line_fasta_reference(cli: Cli, tmp_path: Path, fifty: Path) -> None:
    _, expected, _ = cli("map", GENOMES, fifty)
    wrapped = tmp_path / "wrapped.fa"
    with open(wrapped, "w") as out:
        for name, text in read_fasta(GENOMES).items():
            out.write(
                f">{name} description\n" + "".join(f"{text[i : i + 37].lower()}\n" for i in range(0, len(text), 37))
            )
    pysam.tabix_compress(str(wrapped), str(tmp_path / "wrapped.fa.gz"))
    for reference in (wrapped, tmp_path / "wrapped.fa.gz"):
        assert plain(cli("map", reference, fifty)[1]) == plain(expected)


def test_fasta_reads_have_no_qualities(cli: Cli, tmp_path: Path, fifty: Path) -> None:
    """They are mapped as those of quality 0, which is what tools write where there is none."""
    batch, fasta, fastq = next(read_batches(str(fifty))), tmp_path / "reads.fa", tmp_path / "reads.fq"
    texts = [(batch.name(i), batch.sequence(i).decode()) for i in range(len(batch))]
    fasta.write_text("".join(f">{name}\n{text}\n" for name, text in texts))
    write_fastq(fastq, *[(name, text, "!" * len(text)) for name, text in texts])
    _, expected, _ = cli("map", GENOMES, fastq)
    _, sam, _ = cli("map", GENOMES, fasta)
    assert plain(sam) == plain(expected)
    assert len(records(sam)) >= 50
    assert {row[10] for row in records(sam)} == {"*"}


@pytest.mark.parametrize(("suffix", "mode"), [("bam", "wb"), ("sam", "w"), ("cram", "wc")])
def test_unaligned_alignment_files(cli: Cli, tmp_path: Path, fifty: Path, suffix: str, mode: str) -> None:
    """Reads of BAM, SAM and CRAM; their tags, read groups and programs are carried over."""
    _, expected, _ = cli("map", GENOMES, fifty)
    source = unaligned_bam(tmp_path / f"reads.{suffix}", fifty, mode)
    code, sam, _ = cli("map", GENOMES, source)
    assert code == 0
    assert plain(sam) == plain(expected)
    assert all((tags(row)["RG"], tags(row)["RX"]) == ("lane1", "ACGT-TTTT") for row in records(sam))
    header = [line for line in sam.decode().splitlines() if line[0] == "@"]
    assert "@RG\tID:lane1\tSM:bee" in header
    assert header[-1].startswith("@PG\tID:gpualign\t")
    assert header[-1].endswith("\tPP:basecaller")


def test_aligned_bam_is_turned_back_to_reads(cli: Cli, tmp_path: Path, fifty: Path) -> None:
    cli("map", GENOMES, fifty, "-o", tmp_path / "a.sam")
    expected = (tmp_path / "a.sam").read_bytes()
    to_bam(tmp_path / "a.sam", tmp_path / "a.bam")
    _, sam, _ = cli("map", GENOMES, tmp_path / "a.bam")
    assert records(sam) == records(expected)


@pytest.mark.parametrize("dress", [lambda text: text, gzip.compress])
def test_standard_input(tmp_path: Path, fifty: Path, cli: Cli, dress: Callable[[bytes], bytes]) -> None:
    _, expected, _ = cli("map", GENOMES, fifty)
    done = subprocess.run(
        program("map", GENOMES, "-"),
        input=dress(fifty.read_bytes()),
        capture_output=True,
    )
    assert done.returncode == 0
    assert without_program(done.stdout) == without_program(expected)


def test_bam_on_standard_input(tmp_path: Path, fifty: Path, cli: Cli) -> None:
    source = unaligned_bam(tmp_path / "reads.bam", fifty)
    _, expected, _ = cli("map", GENOMES, source)
    done = subprocess.run(program("map", GENOMES, "-"), input=source.read_bytes(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert without_program(done.stdout) == without_program(expected)


def test_output_is_read_by_htslib(cli: Cli, tmp_path: Path, some_reads: Path) -> None:
    cli("map", GENOMES, some_reads, "-o", tmp_path / "a.sam", "-R", "@RG\tID:x\tSM:y")
    with pysam.AlignmentFile(str(tmp_path / "a.sam")) as file:
        assert file.header["RG"] == [{"ID": "x", "SM": "y"}]
        rows = list(file)
    assert sum(not row.is_supplementary for row in rows) == 3000
    assert all(row.get_tag("RG") == "x" for row in rows)
    assert all(row.get_reference_sequence() for row in rows if not row.is_unmapped)
