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

#: bytes read at a time, at least
_LEAST_READ = 1 << 16


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
        size = max(want - len(rest), _LEAST_READ)
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


class LongRecord:
    """A FASTA record too long to be held: read its parts to the end before the reader goes on.

    Attributes:
        path, line: where the record begins.
        rest: text behind the record, once its parts have been read.
        at_end: whether that is all there is.
    """

    def __init__(self, file: InputFile, data: bytes, line: int) -> None:
        self.path, self.line, self.rest, self.at_end = file.path, line, data, False
        self.lines_read = 0
        self._file = file

    def parts(self, part_bytes: int) -> Iterator[SequenceBatch]:
        """The record cut at line ends: batches of one record each, of which the first has the name."""
        prefix = b""
        while True:
            data = self.rest
            if prefix and data.startswith(b">"):
                return
            border = data.find(b"\n>")
            cut = border + 1 if border >= 0 else len(data) if self.at_end else data.rfind(b"\n") + 1
            text, self.rest = data[:cut], data[cut:]
            if text:
                line = self.line + self.lines_read - (1 if prefix else 0)
                self.lines_read += _native.count_newlines(text)
                yield parse(Chunk(prefix + text, "fasta", self.path, line))
                prefix = b">\n"
            if border >= 0 or self.at_end:
                return
            block = self._file.read(part_bytes)
            self.at_end = len(block) < part_bytes
            self.rest += block


def read_chunks_and_long_records(file: InputFile, chunk_bytes: int, head: bytes = b"") -> Iterator[Chunk | LongRecord]:
    """As :func:`read_chunks`, but a FASTA record that does not fit a chunk comes as a :class:`LongRecord`."""
    rest, line, at_end = head, 1, False
    kind: FastxFormat | None = None
    while not at_end or rest:
        if not at_end and len(rest) < chunk_bytes:
            size = max(chunk_bytes - len(rest), _LEAST_READ)
            block = file.read(size)
            at_end = len(block) < size
            rest = rest + block if rest else block
        if not rest:
            return
        kind = kind or sniff(rest, file.path)
        if kind != "fasta" and not (at_end and kind is None):
            yield from read_chunks(file, chunk_bytes, rest)
            return
        cut = len(rest) if at_end else _native.last_record_border(rest, False)
        if cut:
            chunk, rest = rest[:cut], rest[cut:]
            if chunk.strip():
                yield Chunk(chunk, "fasta", file.path, line)
            line += _native.count_newlines(chunk)
        else:
            record = LongRecord(file, rest, line)
            rest = b""
            yield record
            rest, at_end, line = record.rest, record.at_end, line + record.lines_read


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
