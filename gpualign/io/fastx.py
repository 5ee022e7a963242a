"""Chunks of FASTA and FASTQ, parsed natively into a :class:`SequenceBatch`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.fastx_format import FastxFormat
from gpualign.io.files import InputFile
from gpualign.io.streams import TextStream
from gpualign.io.text import HeldText, Text, lines_before
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS

SequenceAlphabet = Literal["nucleotide", "any"]


@dataclass(frozen=True)
class Chunk:
    """Whole records of one file, unparsed.

    Attributes:
        data: text that begins and ends at record borders.
        kind: "fasta" or "fastq".
        path: the file, for messages.
        line: 1-based number of the first line; None: count it on demand.
        comments: keep what follows the names.
        alphabet: "nucleotide": sequences come out upper-case with U as T; "any": as they are.
        paired: neighbours of one name are mates, and no pair is split between chunks.
        wrapped: it is FASTQ with sequences and qualities of several lines.
    """

    data: Text
    kind: FastxFormat
    path: str
    line: int | None
    comments: bool = False
    alphabet: SequenceAlphabet = "nucleotide"
    paired: bool = False
    wrapped: bool = False

    def text(self) -> NDArray[np.uint8]:
        """The text in one array, read or joined if need be.

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
        return self.data.first_line(self.path)

    def error(self, what: str, lines: int) -> InputError:
        """An error in the line after ``lines`` lines of the chunk."""
        if self.data.uncounted is not None:
            return UncountedLine(what, self.path, lines, self.data.uncounted)
        return InputError(what, self.path, self.first_line() + lines)


class UncountedLine(InputError):
    """An error of a machine that lacks the file and so cannot count the line.

    Args:
        lines: lines before it in the text.
        before: bytes of the file's text before that text.
    """

    def __init__(self, what: str, path: str, lines: int, before: int) -> None:
        super().__init__(what, path)
        self.lines, self.before = lines, before

    def __reduce__(self) -> tuple[Any, ...]:
        return UncountedLine, (self.what, self.path, self.lines, self.before)

    def counted(self) -> InputError:
        """The error with its line number, on a machine that has the file."""
        assert self.path is not None
        with InputFile(self.path) as file:
            return InputError(self.what, self.path, lines_before(file, self.before) + self.lines)


class LongRecord:
    """A FASTA record too long to be held: read all its parts before the reader continues. Parts are read in place, as
    each copy of bytes would hold the GIL.

    Attributes:
        path, line: where the record begins.
        rest: text after the record, once its parts have been read.
        at_end: there is no more text after ``rest``.
        lines_read: lines of the record that have been read.
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
        """The parts as unparsed chunks of one record each, all with its header."""
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
        """Append ``size`` bytes to the rest."""
        block = bytearray(len(self.rest) + size)
        block[: len(self.rest)] = self.rest
        with memoryview(block)[len(self.rest) :] as view:
            count = self._file.readinto(view)
        del block[len(self.rest) + count :]
        self.rest, self.at_end = block, count < size

    def _last_cut(self) -> int:
        """Where to cut: after the last line, or within a line of sequence that fills the part, so that the next part
        does not begin like a header or comment.
        """
        after_line = self.rest.rfind(b"\n") + 1
        if after_line or self.rest.startswith((b">", b";")):
            return after_line
        return max(0, len(self.rest.rstrip(b">;\r")) - 1)


def _next_header(text: bytes | bytearray) -> int:
    """Offset of the next line that begins with '>', 0 if there is none. Searching one byte is faster than two."""
    at = text.find(b">", 1)
    while at > 0 and text[at - 1] != ord("\n"):
        at = text.find(b">", at + 1)
    return max(at, 0)


@STEPS.at("parse")
def parse(chunk: Chunk, alphabet: SequenceAlphabet = "nucleotide", comments: bool = False) -> SequenceBatch:
    """Parse a chunk; its own ``alphabet`` and ``comments`` are ignored.

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
