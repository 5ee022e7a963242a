"""Where the text of a file comes from before it is cut into chunks: a stream, a plain file in which it stays, or pieces
that threads inflate (:class:`gpualign.io.packed_chunks.Packed`: blocks that are inflated elsewhere)."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.io.bgzf import Inflated
from gpualign.io.blocks import TextOfPieces, TextStream
from gpualign.io.fastx import LongRecord
from gpualign.io.files import InputFile
from gpualign.io.text import HeldText, StoredText, Text, newlines
from gpualign.streaming.lent import Lend, lent_or_new, nothing_lent

#: bytes read at a time, at least
MIN_READ = 1 << 16
#: of a piece's rest: less is copied to where it keeps no more alive
_KEPT_WHOLE = 1 << 16


class Source(Protocol):
    """Text of which some is held, and is to be taken from its beginning.

    Attributes:
        path: the file, for messages.
        at_end: nothing is after what :meth:`hold` held last.
        paired: mates are not cut apart.
        broken: nothing more can be held: what is left must be had from :meth:`streamed`.
    """

    path: str
    at_end: bool
    paired: bool
    broken: bool

    @property
    def line(self) -> int | None:
        """Number of the first line that is held; None: to be counted where it is wanted."""

    def hold(self, size: int) -> int:
        """Hold about so many bytes, fewer only at the end; returns how many."""

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        """Some of what is held."""

    def take(self, size: int) -> Text:
        """The first bytes of what is held, which is no longer held."""

    def streamed(self, stack: ExitStack) -> Streamed:
        """All that is left, open as long as ``stack``."""


class Streamed:
    """Text that is read in place, from a stream: each byte is copied once.

    Args:
        head: bytes that have been read already.
        line: number of the first line; None: lines do not count.
        lend: memory to read to, where there is some.
    """

    paired = broken = False

    def __init__(self, file: TextStream, head: bytes = b"", line: int | None = 1, lend: Lend = nothing_lent) -> None:
        self.path, self.line, self._file, self._lend = file.path, line, file, lend
        self.at_end = False
        self._held: NDArray[np.uint8] = np.frombuffer(head, np.uint8)

    def hold(self, size: int) -> int:
        if not self.at_end and len(self._held) < size:
            more = max(size - len(self._held), MIN_READ)
            block = lent_or_new(self._lend, len(self._held) + more)
            block[: len(self._held)] = self._held
            count = self._file.readinto(block[len(self._held) :].data)
            self.at_end = count < more
            self._held = block[: len(self._held) + count]
        return len(self._held)

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        return self._held[begin:end]

    def take(self, size: int) -> HeldText:
        taken, rest = self._held[:size], self._held[size:]
        self._held = rest.copy() if len(rest) <= size else rest  # little of it, to where it keeps no more alive
        self.line = None if self.line is None else self.line + int(_native.count_newlines(taken))
        return HeldText((taken,))

    def streamed(self, stack: ExitStack) -> Streamed:
        return self

    def long_record(self) -> LongRecord:
        """The record with which what is held begins; go on :meth:`after` it."""
        return LongRecord(self._file, self._held.tobytes(), self.line or 1)

    def after(self, record: LongRecord) -> None:
        self._held, self.at_end = np.frombuffer(record.rest, np.uint8), record.at_end
        self.line = record.line + record.lines_read


class Stored:
    """Text that stays in a plain file until it is parsed: the reader looks at borders alone."""

    line: int | None = None
    paired = broken = at_end = False

    def __init__(self, file: InputFile) -> None:
        self.path, self.offset, self._file, self._stored = file.path, 0, file, file.stored()
        self._line, self._counted = 1, 0  # of what is before that byte

    def hold(self, size: int) -> int:
        left = self._file.size - self.offset
        self.at_end = left <= size
        return min(left, size)

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        return self._file.part(self.offset + begin, end - begin)

    def take(self, size: int) -> StoredText:
        self.offset += size
        return StoredText(self._stored, self.offset - size, size)

    def streamed(self, stack: ExitStack) -> Streamed:
        return Streamed(self._file)

    def readinto(self, view: memoryview, /) -> int:
        text = self.text(0, self.hold(len(view)))
        np.frombuffer(view, np.uint8)[: len(text)] = text
        self.offset += len(text)
        return len(text)

    def long_record(self) -> LongRecord:
        """As :meth:`Streamed.long_record`."""
        self._line += newlines(self._file, self._counted, self.offset)
        return LongRecord(self, b"", self._line)

    def after(self, record: LongRecord) -> None:
        self.offset -= len(record.rest)
        self._line, self._counted = self._line + record.lines_read, self.offset


class InPieces:
    """Text of a bgzf file in the pieces that threads inflate; whoever parses it joins them."""

    paired = broken = at_end = False

    def __init__(self, file: InputFile) -> None:
        self.path, self.line, self._pieces = file.path, 1, file.pieces()
        self._held: list[Inflated] = []

    def hold(self, size: int) -> int:
        held, ended = sum(len(text) for text, _ in self._held), False
        while held < size and not ended:
            if (piece := next(self._pieces, None)) is not None:
                self._held.append(piece)
                held += len(piece.text)
            else:
                ended = True
        self.at_end = ended
        return min(held, size)

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        return HeldText(tuple(text for text, _ in self._held)).part(begin, end).joined(self.path)

    def take(self, size: int) -> HeldText:
        taken = []
        while size:
            text, lines = self._held.pop(0)
            if len(text) > size:
                text, rest, of_all = text[:size], text[size:], lines
                lines = int(_native.count_newlines(text))
                self._held.insert(0, Inflated(rest if len(rest) > _KEPT_WHOLE else rest.copy(), of_all - lines))
            taken.append(text)
            self.line, size = self.line + lines, size - len(text)
        return HeldText(tuple(taken))

    def streamed(self, stack: ExitStack) -> Streamed:
        return Streamed(TextOfPieces(self.path, (text for text, _ in itertools.chain(self._held, self._pieces))))
