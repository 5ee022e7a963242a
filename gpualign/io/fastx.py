"""FASTA and FASTQ: chunks of whole records from a stream, parsed natively into a :class:`SequenceBatch`.

Reading and parsing are apart so that the reader (one thread, in order) only looks for the last record border of a
block, and the workers parse. Of a plain file the reader looks at the borders alone, and the workers read what lies
between them; of a bgzf file the workers join what other threads have inflated. FASTA sequences may run over any number
of lines. FASTQ has four lines a record; where the first records have more, one reader looks at every line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, shown_input
from gpualign.io.blocks import Blocks, TextStream, is_blank
from gpualign.io.fastx_format import FastxFormat, sniff
from gpualign.io.files import InputFile
from gpualign.io.text import HeldText, StoredText, Text, lines_before, newlines
from gpualign.notices import notice
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.clock import STEPS
from gpualign.streaming.lent import Lend, nothing_lent

#: bytes of the end of a chunk in which its last border is looked for first
_WINDOW = 1 << 16
#: how many times more next
_WIDER = 8
SequenceAlphabet = Literal["nucleotide", "any"]


@dataclass(frozen=True)
class Chunk:
    """Whole records of one file, unparsed.

    Attributes:
        data: text that begins and ends at record borders.
        kind: "fasta" or "fastq".
        path: the file, for messages.
        line: 1-based line number of the first line; None: to be counted where it is wanted, ``offset`` being known.
        comments: what follows the names is wanted.
        alphabet: "nucleotide": sequences come out upper-case with U as T; "any": as they are.
        paired: neighbours of one name are mates, and none of them is in another chunk.
        wrapped: it is FASTQ with sequences and qualities of several lines.
        offset: where the text begins in a file that can be read there again; None: it cannot.
        stored_at: that file's absolute path, where ``path`` may mean another (on another machine).
    """

    data: Text
    kind: FastxFormat
    path: str
    line: int | None
    comments: bool = False
    alphabet: SequenceAlphabet = "nucleotide"
    paired: bool = False
    offset: int | None = None
    stored_at: str | None = None
    wrapped: bool = False

    def text(self) -> NDArray[np.uint8]:
        """The text, read or joined now where it is not at hand.

        Raises:
            InputError: it cannot be read (any more).
        """
        return self.data.joined(self.path)

    @property
    def text_bytes(self) -> int:
        """Bytes of the text."""
        return len(self.data)

    def columns(self) -> SequenceBatch:
        """The records, parsed.

        Raises:
            InputError: the first malformed one, with file and line.
        """
        return parse(self, self.alphabet, self.comments)

    def first_line(self) -> int:
        """Number of the first line."""
        if self.line is not None:
            return self.line
        return self.data.first_line(self.stored_at or self.path, self.offset or 0)

    def error(self, what: str, lines: int) -> InputError:
        """What is wrong after so many lines of it."""
        if self.data.uncounted is not None:
            return UncountedLine(what, self.path, lines, self.data.uncounted)
        return InputError(what, self.path, self.first_line() + lines)


class UncountedLine(InputError):
    """As its base, said on a machine that does not have the file.

    Args:
        lines: before it, of a text
        before: that begins after so many bytes of the file's.
    """

    def __init__(self, what: str, path: str, lines: int, before: int) -> None:
        super().__init__(what, path)
        self.lines, self.before = lines, before

    def __reduce__(self) -> tuple[Any, ...]:
        return UncountedLine, (self.what, self.path, self.lines, self.before)

    def counted(self) -> InputError:
        """With the number of the line, where the file is."""
        assert self.path is not None
        with InputFile(self.path) as file:
            return InputError(self.what, self.path, lines_before(file, self.before) + self.lines)


@overload
def read_chunks(
    file: TextStream, chunk_bytes: int, head: bytes = b"", *, line: int = 1, lend: Lend = nothing_lent
) -> Iterator[Chunk]: ...


@overload
def read_chunks(
    file: TextStream, chunk_bytes: int, head: bytes = b"", *, long_records: Literal[True]
) -> Iterator[Chunk | LongRecord]: ...


def read_chunks(
    file: TextStream,
    chunk_bytes: int,
    head: bytes = b"",
    *,
    long_records: bool = False,
    line: int = 1,
    lend: Lend = nothing_lent,
) -> Iterator[Chunk] | Iterator[Chunk | LongRecord]:
    """Cut a stream into chunks of whole records of about ``chunk_bytes`` (more when one record is larger).

    Args:
        file: the stream, positioned after ``head``.
        head: bytes already read for sniffing.
        long_records: a FASTA record that does not fit a chunk comes as a :class:`LongRecord` instead.
        line: number of the first line.
        lend: memory to read to, where there is some.

    Raises:
        InputError: damaged compression, an unknown format, or a record cut short at the end.
    """
    blocks = Blocks(file, head, lend)
    offset = 0 if isinstance(file, InputFile) and file.plain else None
    kind: FastxFormat | None = None
    wrapped = False
    want = chunk_bytes
    while not blocks.at_end or len(blocks.rest):
        rest = blocks.rest if blocks.at_end else blocks.read(want)
        if kind is None:
            kind = sniff(rest.tobytes(), file.path)
            wrapped = kind == "fastq" and is_wrapped(rest)
            if wrapped:
                notice(
                    f"{shown_input(file.path)}: FASTQ with wrapped lines is read more slowly than with four a record"
                )
        if kind is None or not len(rest):
            if blocks.at_end:
                return
            continue
        cut = len(rest) if blocks.at_end else _border(rest, kind, wrapped)
        if cut == 0 and long_records and kind == "fasta":
            record = LongRecord(file, rest.tobytes(), line)
            yield record
            blocks.rest, blocks.at_end = np.frombuffer(record.rest, np.uint8), record.at_end
            line, offset = line + record.lines_read, None
            continue
        if cut == 0:
            # one record is larger than what was read: grow geometrically to stay linear in its length
            want = max(chunk_bytes, 2 * len(rest))
            continue
        want, chunk = chunk_bytes, blocks.take(cut)
        if not is_blank(chunk):
            yield Chunk(HeldText((chunk,)), kind, file.path, line, offset=offset, wrapped=wrapped)
        if offset is not None:
            offset += len(chunk)
        line += _native.count_newlines(chunk)


def is_wrapped(head: NDArray[np.uint8]) -> bool:
    """Whether a text of FASTQ begins with records of more than four lines."""
    return bool(_native.is_wrapped_fastq(head[:_WINDOW]))


def _border(text: NDArray[np.uint8], kind: FastxFormat, wrapped: bool) -> int:
    """Bytes of the records that are known to be whole."""
    return int(_native.wrapped_fastq_border(text) if wrapped else _native.last_record_border(text, kind == "fastq"))


@overload
def stored_chunks(file: InputFile, chunk_bytes: int) -> Iterator[Chunk]: ...


@overload
def stored_chunks(
    file: InputFile, chunk_bytes: int, *, long_records: Literal[True]
) -> Iterator[Chunk | LongRecord]: ...


def stored_chunks(
    file: InputFile, chunk_bytes: int, *, long_records: bool = False
) -> Iterator[Chunk] | Iterator[Chunk | LongRecord]:
    """The same of a plain file, without its text.

    Raises:
        InputError: neither FASTA nor FASTQ, or the file cannot be read.
    """
    head = file.part(0, min(_WINDOW, file.size))
    kind = sniff(head.tobytes(), file.path)
    if kind is None or (kind == "fastq" and is_wrapped(head)):  # white space as far as one looks, or cut by one reader
        yield from read_chunks(file, chunk_bytes, long_records=True) if long_records else read_chunks(file, chunk_bytes)
        return
    stored = file.stored()
    begin, want = 0, chunk_bytes
    line, counted = 1, 0  # of what is before that byte
    while begin < file.size:
        end = min(begin + want, file.size)
        if end < file.size:
            border = _last_border(file, begin, end, kind)
            if border == begin and long_records and kind == "fasta":
                line += newlines(file, counted, begin)
                stream = _Remainder(file, begin)
                record = LongRecord(stream, b"", line)
                yield record
                line, begin = line + record.lines_read, stream.offset - len(record.rest)
                counted = begin
                continue
            if border == begin:  # one record is larger: grow geometrically to stay linear in its length
                want *= 2
                continue
            end = border
        want = chunk_bytes
        yield Chunk(StoredText(stored, begin, end - begin), kind, file.path, None, offset=begin)
        begin = end


def _last_border(file: InputFile, begin: int, end: int, kind: FastxFormat) -> int:
    """Of the last record that begins between ``begin`` and ``end``; ``begin`` where there is none."""
    window = _WINDOW
    while True:
        start = max(begin, end - window)
        if cut := _native.last_record_border(file.part(start, end - start), kind == "fastq"):
            return start + int(cut)
        if start == begin:
            return begin
        window *= _WIDER


class _Remainder:
    """What a plain file has from ``offset`` on, as a stream."""

    def __init__(self, file: InputFile, offset: int) -> None:
        self.path, self.offset = file.path, offset
        self._file = file

    def readinto(self, view: memoryview, /) -> int:
        text = self._file.part(self.offset, min(len(view), self._file.size - self.offset))
        np.frombuffer(view, np.uint8)[: len(text)] = text
        self.offset += len(text)
        return len(text)


class LongRecord:
    """A FASTA record too long to be held: read its parts to the end before the reader goes on. They are read in place,
    as each copy would hold the interpreter while others parse.

    Attributes:
        path, line: where the record begins.
        rest: text after the record, once its parts have been read.
        at_end: whether that is all there is.
        lines_read: of the record so far.
    """

    def __init__(self, file: TextStream, data: bytes, line: int) -> None:
        self.path, self.line, self.at_end = file.path, line, False
        self.rest: bytes | bytearray = data
        self.lines_read = 0
        self._file = file

    def parts(self, part_bytes: int) -> Iterator[SequenceBatch]:
        """The record's sequence in parts: batches of one record each, all under its name."""
        return map(parse, self.chunks(part_bytes))

    def chunks(self, part_bytes: int) -> Iterator[Chunk]:
        """The same, each still to be parsed."""
        header = np.zeros(0, np.uint8)
        while not (len(header) and self.rest.startswith(b">")):
            held, border = self.rest, _next_header(self.rest)
            cut = border if border > 0 else len(held) if self.at_end else self._last_cut()
            text, self.rest = np.frombuffer(held, np.uint8)[:cut], held[cut:]
            if cut:
                data = HeldText((header, text) if len(header) else (text,))
                yield Chunk(data, "fasta", self.path, self.line + self.lines_read - bool(len(header)))
                self.lines_read += _native.count_newlines(text)
                if not len(header):
                    header = text[: held.find(b"\n", 0, cut) + 1].copy()
            if border > 0 or self.at_end:
                return
            self._read(part_bytes)

    def _read(self, size: int) -> None:
        """Put so many bytes behind the rest."""
        block = bytearray(len(self.rest) + size)
        block[: len(self.rest)] = self.rest
        with memoryview(block)[len(self.rest) :] as view:
            count = self._file.readinto(view)
        del block[len(self.rest) + count :]
        self.rest, self.at_end = block, count < size

    def _last_cut(self) -> int:
        """After the last line; or within a line of sequence that fills the part, where what follows does not look like
        a line of another kind.
        """
        after_line = self.rest.rfind(b"\n") + 1
        if after_line or self.rest.startswith((b">", b";")):
            return after_line
        return max(0, len(self.rest.rstrip(b">;\r")) - 1)


def _next_header(text: bytes | bytearray) -> int:
    """Where a line after the first begins with '>'; 0: nowhere. A single byte is found faster than two."""
    at = text.find(b">", 1)
    while at > 0 and text[at - 1] != ord("\n"):
        at = text.find(b">", at + 1)
    return max(at, 0)


@STEPS.at("parse")
def parse(chunk: Chunk, alphabet: SequenceAlphabet = "nucleotide", comments: bool = False) -> SequenceBatch:
    """Parse a chunk, whatever it says of its alphabet and comments.

    Raises:
        InputError: the first malformed record, with file and line.
    """
    try:
        form = (chunk.kind == "fastq", alphabet == "nucleotide", comments, chunk.wrapped)
        fields = _native.parse_fastx(chunk.text(), *form)
    except ValueError as error:
        offset, what = error.args[0].split("\t", 1)
        raise chunk.error(what, int(offset)) from None
    return SequenceBatch(*fields)


def read_batches(
    path: str,
    chunk_bytes: int = 1 << 24,
    alphabet: SequenceAlphabet = "nucleotide",
    comments: bool = False,
    opened: Any = None,
) -> Iterator[SequenceBatch]:
    """Parsed batches of one FASTA or FASTQ file ("-" is standard input). ``opened``: as for :class:`InputFile`."""
    with InputFile(path, opened=opened) as file:
        for chunk in read_chunks(file, chunk_bytes):
            yield parse(chunk, alphabet, comments)
