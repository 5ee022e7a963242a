"""Distinguishes FASTA from FASTQ, and recognizes other files given by mistake."""

from __future__ import annotations

import re
from typing import Literal

from gpualign.errors import InputError

FastxFormat = Literal["fasta", "fastq"]

#: files given by mistake: magic bytes, their offset, and what to do
_OTHER_FILES = (
    (b"BAM\1", 0, "BAM (samtools fasta or samtools fastq converts it)"),
    (b"CRAM", 0, "CRAM (samtools fasta or samtools fastq converts it)"),
    (b"PK\3\4", 0, "a zip archive (unpack it)"),
    (b"ustar", 257, "a tar archive (unpack it)"),
    (b"MMI\2", 0, "an index of minimap2 (give its FASTA file)"),
    (b"gpualign", 0, "a saved index (`map`, `mem` and `mems` read it as REF, from a file and not compressed)"),
    (b"gpaligdb", 0, "a database of `gpualign makedb` (the targets of `gpualign pairwise --top`)"),
    (b"\xff\xfe", 0, "UTF-16 text (save it as UTF-8 without a byte order mark)"),
)

SAM_WITHOUT_HEADER = "SAM without a header (samtools view -h writes one)"
#: a record's first fields: name, FLAG, RNAME, POS, MAPQ, CIGAR
_SAM_LINE = re.compile(rb"[!-?A-~]+\t\d+\t[!-~]+\t\d+\t\d+\t(\*|(\d+[MIDNSHP=X])+)\t([^\t\n]+\t){4}")


def is_sam_line(text: bytes) -> bool:
    """Whether a text begins with a record of SAM."""
    return _SAM_LINE.match(text) is not None


def sniff(head: bytes, path: str) -> FastxFormat | None:
    """The format of a decompressed text by its first byte; None when there is nothing but white space.

    Raises:
        InputError: the text is neither FASTA nor FASTQ.
    """
    text = head.lstrip()
    if not text:
        return None
    if text[:1] in (b">", b"@"):
        if b"\n" not in text and b"\r" in text.rstrip():
            raise InputError("its lines end in carriage returns, as on old Macs (tr '\\r' '\\n' converts it)", path)
        return "fasta" if text[:1] == b">" else "fastq"
    if is_sam_line(text):
        raise InputError(f"neither FASTA nor FASTQ, but {SAM_WITHOUT_HEADER}", path)
    line = head[: len(head) - len(text)].count(b"\n") + 1
    other = next((what for mark, at, what in _OTHER_FILES if head.startswith(mark, at)), None)
    if other:
        raise InputError(f"neither FASTA nor FASTQ, but {other}", path)
    start = repr(text[:20].split(b"\n")[0])[1:]
    raise InputError(f"neither FASTA nor FASTQ: begins with {start} (expected '>' or '@')", path, line)
