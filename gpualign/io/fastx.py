"""Chunks of FASTA and FASTQ, parsed natively into a :class:`SequenceBatch`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.blocks import TextStream
from gpualign.io.fastx_format import FastxFormat
from gpualign.io.files import InputFile, StoredFile
from gpualign.io.packed_text import PackedText
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS

_COUNTED_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class StoredText:
    """Text that is still in its file."""

    file: StoredFile
    offset: int
    size: int

    def __len__(self) -> int:
        return self.size


ChunkData = NDArray[np.uint8] | bytes | tuple[NDArray[np.uint8], ...] | StoredText | PackedText


@dataclass(frozen=True)
class Chunk:
    """Whole records of one file, unparsed.

    Attributes:
        data: uint8 text (or bytes) that begins and ends at record borders, or its pieces, or where it is.
        kind: "fasta" or "fastq".
        path: the file, for messages.
        line: 1-based line number of the first line; None: to be counted where it is wanted, ``offset`` being known.
        comments: what follows the names is wanted.
        paired: neighbours of one name are mates, and none of them is in another chunk.
        all_dots: then, all names end in .1 or .2, which are mates' numbers.
        wrapped: it is FASTQ with sequences and qualities of several lines.
        offset: where the text begins in a file that can be read there again; None: it cannot.
        stored_at: that file's absolute path, where ``path`` may mean another (on another machine).
    """

    data: ChunkData
    kind: FastxFormat
    path: str
    line: int | None
    comments: bool = False
    paired: bool = False
    offset: int | None = None
    stored_at: str | None = None
    all_dots: bool = False
    wrapped: bool = False

    def text(self) -> NDArray[np.uint8] | bytes:
        """The text, read or joined now where it is not at hand.

        Raises:
            InputError: it cannot be read (any more).
        """
        if isinstance(self.data, StoredText):
            return self.data.file.part(self.data.offset, self.data.size)
        if isinstance(self.data, PackedText):
            return self.data.text(self.path)
        return np.concatenate(self.data) if isinstance(self.data, tuple) else self.data

    def first_line(self) -> int:
        """Number of the first line."""
        if self.line is not None:
            return self.line
        if isinstance(self.data, PackedText):
            with InputFile(self.path) as file:
                return lines_before(file, self.data.before)
        with InputFile(self.stored_at or self.path) as file:
            return 1 + newlines_in(file, 0, self.offset or 0)

    def error(self, what: str, lines: int) -> InputError:
        """What is wrong after so many lines of it."""
        if isinstance(self.data, PackedText) and not self.data.at_home:
            return UncountedLine(what, self.path, lines, self.data.before)
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


def lines_before(file: InputFile, size: int) -> int:
    """The number of the line after the first ``size`` bytes of a file's text, which are read."""
    line = 1
    while size and (text := file.read(min(size, _COUNTED_AT_ONCE))):
        line += _native.count_newlines(text)
        size -= len(text)
    return line


def newlines_in(file: InputFile, begin: int, end: int) -> int:
    """Newlines in a part of a plain file."""
    starts = range(begin, end, _COUNTED_AT_ONCE)
    return sum(_native.count_newlines(file.part(at, min(_COUNTED_AT_ONCE, end - at))) for at in starts)


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
                data = (header, text) if len(header) else text
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
def parse(chunk: Chunk, alphabet: Literal["nucleotide", "any"] = "nucleotide", comments: bool = False) -> SequenceBatch:
    """Parse a chunk. Sequences come out upper-case with U as T ("nucleotide") or as they are ("any").

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
