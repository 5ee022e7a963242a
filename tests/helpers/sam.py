"""SAM and BAM: records read, files made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pysam

from gpualign.text.chunks import read_batches


def records(sam: bytes) -> list[list[str]]:
    """The fields of each."""
    return [line.split("\t") for line in sam.decode().splitlines() if not line.startswith("@")]


def tags(record: list[str]) -> dict[str, str]:
    return {field[:2]: field[5:] for field in record[11:]}


def without_program(sam: bytes) -> bytes:
    """Without @PG, which names the command line."""
    return b"".join(line for line in sam.splitlines(keepends=True) if not line.startswith(b"@PG"))


def cigar_text(words: Iterable[int]) -> str:
    """Of operations as BAM has them."""
    return "".join(f"{word >> 4}{'MIDNS'[word & 15]}" for word in words)


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
