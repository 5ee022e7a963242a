"""FASTA, FASTQ and tables, written and read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gpualign.text.bgzf import BGZF_END
from gpualign.text.chunks import read_batches
from gpualign.text.deflate_packages import zlib_ng

Record = tuple[str, str, str]  # name, sequence, qualities


def fasta(records: Iterable[tuple[str, ...]], width: int = 0) -> bytes:
    """In lines of ``width`` bases (0: one line a sequence)."""
    lines = []
    for name, sequence, *_ in records:
        parts = [sequence[i : i + width] for i in range(0, len(sequence), width)] if width else [sequence]
        lines += [f">{name}", *parts]
    return "".join(f"{line}\n" for line in lines).encode()


def fastq(records: Iterable[Record]) -> bytes:
    return "".join(f"@{name}\n{sequence}\n+\n{quality}\n" for name, sequence, quality in records).encode()


def write_fasta(
    path: Path, records: Iterable[str | tuple[str, str]] = (), prefix: str = "s", width: int = 0, **named: str
) -> Path:
    """Sequences by name, or alone: those are called by their number after ``prefix``."""
    listed = [(f"{prefix}{i}", record) if isinstance(record, str) else record for i, record in enumerate(records)]
    path.write_bytes(fasta([*listed, *named.items()], width))
    return path


def write_fastq(path: Path, *reads: Record) -> Path:
    path.write_bytes(fastq(reads))
    return path


def write_bgzf(path: Path, text: bytes, block: int, rest: bytes = b"") -> str:
    """In blocks of so many bytes; ``rest``: what follows them instead of the empty block."""
    parts = (np.frombuffer(text[at : at + block], np.uint8) for at in range(0, len(text), block))
    blocks = b"".join(bytes(zlib_ng().compress(part, 1)) for part in parts)
    path.write_bytes(blocks + (rest or BGZF_END))
    return str(path)


def read_fasta(path: Path) -> dict[str, str]:
    return {batch.name(i): batch.sequence(i).decode() for batch in read_batches(str(path)) for i in range(len(batch))}


def rows_of(table: Path | bytes) -> list[dict[str, str]]:
    """The rows of a table with a header, by column."""
    text = table.read_bytes() if isinstance(table, Path) else table
    header, *lines = text.decode("latin-1").splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
