"""FASTA and FASTQ: chunks of whole records from a stream, parsed natively into a :class:`SequenceBatch`.

Reading and parsing are apart so that the reader (one thread, in order) only looks for the last record border of a
block, and the workers parse. FASTQ has four lines a record; FASTA sequences may run over any number of lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.files import InputFile
from gpualign.sequences import SequenceBatch

FastxFormat = Literal["fasta", "fastq"]


@dataclass(frozen=True)
class Chunk:
    """Whole records of one file, unparsed.

    Attributes:
        data: text that begins and ends at record borders.
        kind: "fasta" or "fastq".
        path: the file, for messages.
        line: 1-based line number of the first line.
    """

    data: bytes
    kind: FastxFormat
    path: str
    line: int


def sniff(head: bytes, path: str) -> FastxFormat | None:
    """The format of a decompressed text by its first byte; None when there is nothing but white space.

    Raises:
        InputError: the text is neither FASTA nor FASTQ.
    """
    text = head.lstrip()
    if not text:
        return None
    if text[:1] == b">":
        return "fasta"
    if text[:1] == b"@":
        return "fastq"
    line = head[: len(head) - len(text)].count(b"\n") + 1
    start = text[:20].split(b"\n")[0].decode("ascii", "backslashreplace")
    raise InputError(f"neither FASTA nor FASTQ: begins with {start!r} (expected '>' or '@')", path, line)


def read_chunks(file: InputFile, chunk_bytes: int, head: bytes = b"") -> Iterator[Chunk]:
    """Cut a stream into chunks of whole records of about ``chunk_bytes`` (more when one record is larger).

    Args:
        file: the stream, positioned behind ``head``.
        head: bytes already read for sniffing.

    Raises:
        InputError: damaged compression, an unknown format, or a record cut short at the end.
    """
    rest = head
    line = 1
    kind: FastxFormat | None = None
    at_end = False
    want = chunk_bytes
    while not at_end:
        size = max(want - len(rest), 1 << 16)
        block = file.read(size)
        at_end = len(block) < size
        data = rest + block if rest else block
        if kind is None:
            kind = sniff(data, file.path)
            if kind is None:
                rest = data
                continue
        cut = len(data) if at_end else _native.last_record_border(data, kind == "fastq")
        if cut == 0:
            # one record is larger than what was read: grow geometrically to stay linear in its length
            rest, want = data, max(chunk_bytes, 2 * len(data))
            continue
        chunk = data if cut == len(data) else data[:cut]
        rest, want = data[cut:], chunk_bytes
        if chunk and not chunk.isspace():  # looks at the first bytes only, where strip() would copy
            yield Chunk(chunk, kind, file.path, line)
        line += _native.count_newlines(chunk)


def parse(chunk: Chunk, alphabet: Literal["nucleotide", "any"] = "nucleotide", comments: bool = False) -> SequenceBatch:
    """Parse a chunk. Sequences come out upper-case with U as T ("nucleotide") or as they are ("any").

    Raises:
        InputError: the first malformed record, with file and line.
    """
    try:
        fields = _native.parse_fastx(chunk.data, chunk.kind == "fastq", alphabet == "nucleotide", comments)
    except ValueError as error:
        offset, what = error.args[0].split("\t", 1)
        raise InputError(what, chunk.path, chunk.line + int(offset)) from None
    return replace(SequenceBatch(*fields), line=chunk.line)


def read_batches(
    path: str, chunk_bytes: int = 1 << 24, alphabet: Literal["nucleotide", "any"] = "nucleotide", comments: bool = False
) -> Iterator[SequenceBatch]:
    """Parsed batches of one FASTA or FASTQ file ("-" is standard input)."""
    with InputFile(path) as file:
        for chunk in read_chunks(file, chunk_bytes):
            yield parse(chunk, alphabet, comments)
