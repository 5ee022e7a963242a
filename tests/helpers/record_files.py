"""Files of records for tests of `sort` and `markdup`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pysam

CONTIG_LINES = ("@SQ\tSN:c0\tLN:300", "@SQ\tSN:c1\tLN:100000", "@SQ\tSN:c2\tLN:40")


def write_sam(path: Path, lines: Iterable[str], header: Sequence[str] = CONTIG_LINES) -> Path:
    """Lines with or without their ends."""
    path.write_text("".join(line.rstrip("\n") + "\n" for line in (*header, *lines)))
    return path


def records_of(path: Path | str) -> list[str]:
    """The records of any file as samtools prints them."""
    return pysam.samtools.view(str(path)).splitlines()  # type: ignore[no-any-return]


def header_of(path: Path | str) -> list[str]:
    return pysam.samtools.view("-H", "--no-PG", str(path)).splitlines()  # type: ignore[no-any-return]


def without_tags(line: str, *names: str) -> str:
    fields = line.split("\t")
    return "\t".join([*fields[:11], *(field for field in fields[11:] if field[:2] not in names)])
