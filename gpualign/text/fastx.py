"""Chunks of FASTA and FASTQ, parsed natively into a :class:`SequenceBatch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS
from gpualign.text.fastx_format import FastxFormat
from gpualign.text.text import ContinuedText, HeldText, RecordSource, StoredText, Text

SequenceAlphabet = Literal["nucleotide", "any"]
_NOTHING = np.zeros(0, np.uint8)
#: bytes at the end of a part that are inspected where it is cut within a line
_TAIL = 1 << 12


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
        wrapped: it is FASTQ with sequences and qualities of several lines.
    """

    data: Text
    kind: FastxFormat
    path: str
    line: int | None
    comments: bool = False
    alphabet: SequenceAlphabet = "nucleotide"
    wrapped: bool = False

    def text(self) -> NDArray[np.uint8]:
        """The text in one array, read or joined if need be.

        Raises:
            InputError: it cannot be read (any more).
        """
        return self.data.joined(self.path)

    def columns(self) -> SequenceBatch:
        """The records, parsed.

        Raises:
            InputError: the first malformed one, with file and line.
        """
        return parse(self, self.alphabet, self.comments)

    def packed(self, pack: Callable[..., Any], *how: Any) -> Any:
        """The records by a native packer, without flat arrays in between; None where something is wrong with them.

        Args:
            pack: (text, whether FASTQ, *how) -> columns or None.
        """
        return None if self.wrapped else pack(self.text(), self.kind == "fastq", *how)

    def first_line(self) -> int:
        """Number of the first line."""
        if self.line is not None:
            return self.line
        return self.data.first_line(self.path)

    def error(self, what: str, lines: int) -> InputError:
        """An error in the line after ``lines`` lines of the chunk."""
        return InputError(what, self.path, self.first_line() + lines)


class LongRecord:
    """A FASTA record too long to be held: take all its parts before the reader continues.

    Args:
        source: its text begins with the record.
    """

    def __init__(self, source: RecordSource) -> None:
        self.path, self._source = source.path, source

    def chunks(self, part_bytes: int) -> Iterator[Chunk]:
        """The record in unparsed parts: a record each, all with its first line."""
        source, header, want = self._source, _NOTHING, part_bytes
        while size := source.hold(want):
            if len(header) and source.text(0, 1)[0] == ord(">"):
                return
            after_first, next_record, after_last = _native.record_cuts(source.text(0, size))
            cut = next_record or (size if source.at_end else after_last or self._within_line(size))
            if not cut:
                want = 2 * max(want, size)
                continue
            if not len(header):
                first_line = source.text(0, min(cut, after_first or cut)).copy()
            line, text = source.line, source.take(cut)
            assert isinstance(text, HeldText | StoredText)
            if len(header):
                yield Chunk(ContinuedText(header, text), "fasta", self.path, line and line - 1)
            else:
                header = first_line
                yield Chunk(text, "fasta", self.path, line)
            want = part_bytes

    def _within_line(self, size: int) -> int:
        """Where to cut within a line of sequence that fills the part, so that the next part does not begin like a
        header or comment; 0: it is no such line.
        """
        if self._source.text(0, 1).tobytes() in (b">", b";"):
            return 0
        begin = max(0, size - _TAIL)
        tail = self._source.text(begin, size).tobytes().rstrip(b">;\r")
        return begin + len(tail) - 1 if tail else 0


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
