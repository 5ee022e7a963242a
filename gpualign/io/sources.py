"""Sources of text to cut into chunks: a stream, a plain file in which the text stays, or pieces that threads inflate
(also :class:`gpualign.io.packed.Packed`: blocks that are inflated elsewhere)."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.io.bgzf import Inflated
from gpualign.io.files import InputFile
from gpualign.io.streams import TextOfPieces, TextStream
from gpualign.io.text import HeldText, StoredText, Text
from gpualign.streaming.pinned import Allocate, no_pinned, pinned_or_pageable

#: smallest read in bytes
MIN_READ = 1 << 16
#: bytes up to which the rest of a piece is copied, so that it does not keep the piece alive
_KEPT_WHOLE = 1 << 16


class Source(Protocol):
    """Text that is held in part, and taken from its beginning.

    Attributes:
        path: the file, for messages.
        at_end: the last :meth:`hold` reached the end.
        paired: split no pair.
        broken: no more can be held; :meth:`streamed` has the rest.
    """

    path: str
    at_end: bool
    paired: bool
    broken: bool

    @property
    def line(self) -> int | None:
        """Number of the first line held; None: to be counted on demand."""

    def hold(self, size: int) -> int:
        """Hold about ``size`` bytes, fewer only at the end; returns their number."""

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        """A part of the held text."""

    def take(self, size: int) -> Text:
        """Remove and return the first ``size`` bytes held."""

    def streamed(self, stack: ExitStack) -> Streamed:
        """The rest as a stream, open as long as ``stack``."""


class Streamed:
    """Text read from a stream; each byte is copied once.

    Args:
        head: bytes that have been read already.
        line: number of the first line; None: do not count lines.
        allocate: allocates memory to read into.
    """

    paired = broken = False

    def __init__(
        self, file: TextStream, head: bytes = b"", line: int | None = 1, allocate: Allocate = no_pinned
    ) -> None:
        self.path, self.line, self._file, self._allocate = file.path, line, file, allocate
        self.at_end = False
        self._held: NDArray[np.uint8] = np.frombuffer(head, np.uint8)

    def hold(self, size: int) -> int:
        if not self.at_end and len(self._held) < size:
            more = max(size - len(self._held), MIN_READ)
            block = pinned_or_pageable(self._allocate, len(self._held) + more)
            block[: len(self._held)] = self._held
            count = self._file.readinto(block[len(self._held) :].data)
            self.at_end = count < more
            self._held = block[: len(self._held) + count]
        return len(self._held)

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        return self._held[begin:end]

    def take(self, size: int) -> HeldText:
        taken, rest = self._held[:size], self._held[size:]
        self._held = rest.copy() if len(rest) <= size else rest  # a small rest must not keep the block alive
        self.line = None if self.line is None else self.line + int(_native.count_newlines(taken))
        return HeldText((taken,))

    def streamed(self, stack: ExitStack) -> Streamed:
        return self

    def record_cuts(self, size: int) -> tuple[int, int, int]:
        """Where the first ``size`` bytes held can be cut: see ``_native.record_cuts``."""
        cuts: tuple[int, int, int] = _native.record_cuts(self._held[:size])
        return cuts


class Stored:
    """Text that stays in a plain file until it is parsed; the reader inspects only borders."""

    line: int | None = None
    paired = broken = at_end = False

    def __init__(self, file: InputFile) -> None:
        self.path, self.offset, self._file, self._stored = file.path, 0, file, file.stored()

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

    def record_cuts(self, size: int) -> tuple[int, int, int]:
        return self._stored.record_cuts(self.offset, size)


#: sources of FASTA records that are too long to be held
RecordSource = Streamed | Stored


class InPieces:
    """Text of a BGZF file in the pieces that threads inflate; the parsing thread joins them."""

    paired = broken = at_end = False

    def __init__(self, file: InputFile) -> None:
        self.path, self.line, self._pieces = file.path, 1, file.pieces()
        self._held: list[Inflated] = []

    def hold(self, size: int) -> int:
        held, ended = sum(len(piece.text) for piece in self._held), False
        while held < size and not ended:
            if (piece := next(self._pieces, None)) is not None:
                self._held.append(piece)
                held += len(piece.text)
            else:
                ended = True
        self.at_end = ended
        return min(held, size)

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        return HeldText(tuple(piece.text for piece in self._held)).part(begin, end).joined(self.path)

    def take(self, size: int) -> HeldText:
        taken = []
        while size:
            text, lines, _ = self._held.pop(0)
            if len(text) > size:
                text, rest, all_lines = text[:size], text[size:], lines
                lines = int(_native.count_newlines(text))
                self._held.insert(0, Inflated(rest if len(rest) > _KEPT_WHOLE else rest.copy(), all_lines - lines))
            taken.append(text)
            self.line, size = self.line + lines, size - len(text)
        return HeldText(tuple(taken))

    def streamed(self, stack: ExitStack) -> Streamed:
        return Streamed(TextOfPieces(self.path, (piece.text for piece in itertools.chain(self._held, self._pieces))))
