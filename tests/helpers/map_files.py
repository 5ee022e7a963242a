"""Files for the tests of `map`: inputs written, records read."""

from __future__ import annotations

import random
from pathlib import Path

import pysam

from gpualign.io.fastx import read_batches
from tests.conftest import EXAMPLES

GENOMES = EXAMPLES / "genomes.fa"
READS = EXAMPLES / "SRR059298_25k.fastq.gz"


def read_fasta(path: Path) -> dict[str, str]:
    return {batch.name(i): batch.sequence(i).decode() for batch in read_batches(str(path)) for i in range(len(batch))}


def records(sam: bytes) -> list[list[str]]:
    return [line.split("\t") for line in sam.decode().splitlines() if not line.startswith("@")]


def tags(record: list[str]) -> dict[str, str]:
    return {field[:2]: field[5:] for field in record[11:]}


def without_program(sam: bytes) -> bytes:
    return b"".join(line for line in sam.splitlines(keepends=True) if not line.startswith(b"@PG"))


def random_genome(seed: int, length: int) -> str:
    return "".join(random.Random(seed).choices("ACGT", k=length))


def write_fasta(path: Path, **sequences: str) -> Path:
    path.write_text("".join(f">{name}\n{text}\n" for name, text in sequences.items()))
    return path


def write_fastq(path: Path, *reads: tuple[str, str, str]) -> Path:
    path.write_text("".join(f"@{name}\n{bases}\n+\n{quality}\n" for name, bases, quality in reads))
    return path


def to_bam(sam: Path, bam: Path) -> None:
    with pysam.AlignmentFile(str(sam)) as source, pysam.AlignmentFile(str(bam), "wb", template=source) as out:
        for record in source:
            out.write(record)


def unaligned_bam(path: Path, fastq: Path, mode: str = "wb") -> Path:
    header = {"HD": {"VN": "1.6"}, "RG": [{"ID": "lane1", "SM": "bee"}], "PG": [{"ID": "basecaller", "PN": "x"}]}
    batch = next(read_batches(str(fastq)))
    with pysam.AlignmentFile(str(path), mode, header=header) as out:
        for i in range(len(batch)):
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag = batch.name(i), 4
            record.query_sequence = batch.sequence(i).decode()
            record.query_qualities = pysam.qualitystring_to_array(batch.quality(i).decode())
            record.set_tag("RG", "lane1")
            record.set_tag("RX", "ACGT-TTTT")
            out.write(record)
    return path
