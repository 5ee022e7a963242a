"""Explains malformed lines of SAM."""

from __future__ import annotations

import re
from collections.abc import Collection

from gpualign.errors import counted

_COLUMNS = 11
_CIGAR = re.compile(r"\*|(\d+[MIDNSHP=X])+")
_ON_READ = re.compile(r"(\d+)[MIS=X]")
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]:[AifZHB]:.*")
#: limits of numeric columns
_NUMBERS = {1: ("FLAG", 2**16 - 1), 3: ("POS", 2**31 - 1), 4: ("MAPQ", 2**8 - 1), 7: ("PNEXT", 2**31 - 1)}


def what_is_wrong(line: str, ended: bool, contigs: Collection[str]) -> str | None:
    """What is wrong with a line; None if nothing is found.

    Args:
        ended: by a newline.
    """
    fields = line.split("\t")
    if not ended and (len(fields) < _COLUMNS or len(fields[10]) < len(fields[9])):
        return "the file is cut short within this record"
    if len(fields) < _COLUMNS:
        return f"a record of SAM has {_COLUMNS} columns, and this one {len(fields)}"
    for column, (name, largest) in _NUMBERS.items():
        if not fields[column].isdecimal() or int(fields[column]) > largest:
            return f"{name} is {fields[column]!r}, not a number from 0 to {largest:,}"
    for name, contig in (("RNAME", fields[2]), ("RNEXT", fields[6])):
        if contig not in ("*", "=") and contig not in contigs:
            return f"{name} is '{contig}', which no @SQ line of the header names"
    cigar, sequence, qualities = fields[5], fields[9], fields[10]
    if not _CIGAR.fullmatch(cigar):
        return f"CIGAR is {cigar!r}, which is none"
    on_read = sum(map(int, _ON_READ.findall(cigar)))
    if "*" not in (cigar, sequence) and on_read != len(sequence):
        return f"CIGAR is of {counted(on_read, 'base')}, SEQ of {len(sequence):,}"
    if qualities != "*" and len(qualities) != len(sequence):
        return f"SEQ has {counted(len(sequence), 'base')}, QUAL {counted(len(qualities), 'quality', 'qualities')}"
    bad = next((tag for tag in fields[_COLUMNS:] if not _TAG.fullmatch(tag)), None)
    return None if bad is None else f"{bad[:40]!r} is not a tag (XX:T:value)"
