"""Text of records: where it is taken from, and what is taken.

A source holds text of a file, from whose beginning it is taken record by record: a stream (:class:`Streamed`), a plain
file in which the text stays (:class:`Stored`), or pieces that threads inflate (:class:`InPieces`). What is taken is a
:class:`Text`.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.streaming.pinned import Allocate, no_pinned, pinned_or_pageable
from gpualign.streaming.timeline import STEPS
from gpualign.text.bgzf import Inflated
from gpualign.text.files import InputFile, StoredFile
from gpualign.text.streams import TextOfPieces, TextStream

#: largest plain file that is read as a stream; files of the kernel report a size of 0
_SMALL_FILE = 1 << 16
#: smallest read in bytes
MIN_READ = 1 << 16
#: bytes up to which the rest of a piece is copied, so that it does not keep the piece alive
_KEPT_WHOLE = 1 << 16
_COUNTED_AT_ONCE = 1 << 24
_NOTHING = np.zeros(0, np.uint8)


class Source(Protocol):
    """Text that is held in part, and taken from its beginning.

    Attributes:
        path: the file, for messages.
        at_end: the last :meth:`hold` reached the end.
    """

    path: str
    at_end: bool

    @property
    def line(self) -> int | None:
        """Number of the first line held; None: to be counted on demand."""

    def hold(self, size: int) -> int:
        """Hold about ``size`` bytes, fewer only at the end; returns their number."""

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        """A part of the held text."""

    def take(self, size: int) -> Text:
        """Remove and return the first ``size`` bytes held."""

    def streamed(self) -> Streamed:
        """The rest as a stream."""


class Streamed:
    """Text read from a stream; each byte is copied once.

    Args:
        head: bytes that have been read already.
        line: number of the first line; None: do not count lines.
        allocate: allocates memory to read into.
    """

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

    def streamed(self) -> Streamed:
        return self


class Stored:
    """Text that stays in a plain file until it is parsed; the reader inspects only borders."""

    line: int | None = None
    at_end = False

    def __init__(self, file: InputFile) -> None:
        self.path, self.offset, self._file, self._stored = file.path, 0, file, file.stored()

    def hold(self, size: int) -> int:
        left = self._file.size - self.offset
        self.at_end = left <= size
        return min(left, size)

    def text(self, begin: int, end: int) -> NDArray[np.uint8]:
        return self._stored.part(self.offset + begin, end - begin)

    def take(self, size: int) -> StoredText:
        self.offset = self._file.taken = self.offset + size
        return StoredText(self._stored, self.offset - size, size)

    def streamed(self) -> Streamed:
        return Streamed(self._file)


#: sources of FASTA records that are too long to be held
RecordSource = Streamed | Stored


def source_of(file: InputFile, head: bytes = b"", allocate: Allocate = no_pinned) -> RecordSource:
    """A plain file's text where it is, to be read by parsers on this machine; else a stream, also of a small file.

    Args:
        head, allocate: see :class:`Streamed`.
    """
    return Stored(file) if file.size > _SMALL_FILE else Streamed(file, head, allocate=allocate)


class InPieces:
    """Text of a BGZF file in the pieces that threads inflate; the parsing thread joins them."""

    at_end = False

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

    def streamed(self) -> Streamed:
        return Streamed(TextOfPieces(self.path, (piece.text for piece in itertools.chain(self._held, self._pieces))))


class Text(ABC):
    """Consecutive bytes of a file, decompressed.

    Attributes:
        stored: still in its file; :meth:`read_into` reads it into the caller's memory.
    """

    stored = False

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def pieces(self, path: str) -> tuple[NDArray[np.uint8], ...]:
        """The bytes in pieces.

        Args:
            path: the file's path, for messages.

        Raises:
            InputError: they cannot be read (any more).
        """

    @abstractmethod
    def part(self, begin: int, end: int) -> Text:
        """A part of the bytes."""

    def joined(self, path: str) -> NDArray[np.uint8]:
        """The bytes in one array; raises like :meth:`pieces`."""
        pieces = self.pieces(path)
        return pieces[0] if len(pieces) == 1 else np.concatenate((_NOTHING, *pieces))

    def count_fastq_lines(self, path: str, lines_before: NDArray[np.uint32]) -> tuple[int, bool]:
        """(lines, whether one is blank); fills in the newlines before each tile. Raises like :meth:`pieces`."""
        return _native.count_fastq_lines(self.pieces(path), lines_before)

    def read_into(self, memory: NDArray[np.uint8], begin: int) -> None:
        """Fill ``memory`` with stored bytes from offset ``begin`` on."""
        raise NotImplementedError

    def first_line(self, path: str) -> int:
        """Number of the first line in the file; reads the file up to there. 1 if the file is not open here."""
        return 1


@dataclass(frozen=True)
class HeldText(Text):
    """Text in memory, in pieces."""

    held: tuple[NDArray[np.uint8], ...]

    def __len__(self) -> int:
        return sum(map(len, self.held))

    def pieces(self, path: str) -> tuple[NDArray[np.uint8], ...]:
        return self.held

    def part(self, begin: int, end: int) -> HeldText:
        return HeldText(tuple(between(self.held, begin, end)))


@dataclass(frozen=True)
class StoredText(Text):
    """Text that is still in its file."""

    file: StoredFile
    offset: int
    size: int

    stored = True

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its bytes."""
        return HeldText, (self.pieces(self.file.path),)

    def pieces(self, path: str) -> tuple[NDArray[np.uint8], ...]:
        return (self.file.part(self.offset, self.size),)

    def count_fastq_lines(self, path: str, lines_before: NDArray[np.uint32]) -> tuple[int, bool]:
        """The text is not held: new memory for all of it takes longer than the counting."""
        with STEPS.at("read"):
            found = _native.count_stored_fastq_lines(self.file.descriptor, self.offset, self.size, lines_before)
        return super().count_fastq_lines(path, lines_before) if found is None else found  # raises the file's error

    def part(self, begin: int, end: int) -> StoredText:
        return replace(self, offset=self.offset + begin, size=end - begin)

    def read_into(self, memory: NDArray[np.uint8], begin: int) -> None:
        self.file.read_into(memory, self.offset + begin)

    def first_line(self, path: str) -> int:
        starts = range(0, self.offset, _COUNTED_AT_ONCE)
        parts = (self.file.part(at, min(_COUNTED_AT_ONCE, self.offset - at)) for at in starts)
        return 1 + sum(int(_native.count_newlines(part)) for part in parts)


@dataclass(frozen=True)
class ContinuedText(Text):
    """A further part of a FASTA record, with the record's first line before it."""

    header: NDArray[np.uint8]
    rest: HeldText | StoredText

    def __len__(self) -> int:
        return len(self.header) + len(self.rest)

    def pieces(self, path: str) -> tuple[NDArray[np.uint8], ...]:
        return (self.header, *self.rest.pieces(path))

    def part(self, begin: int, end: int) -> HeldText:
        return HeldText(self.pieces("")).part(begin, end)

    def joined(self, path: str) -> NDArray[np.uint8]:
        if not self.rest.stored:
            return super().joined(path)
        text = np.empty(len(self), np.uint8)
        text[: len(self.header)] = self.header
        self.rest.read_into(text[len(self.header) :], 0)
        return text

    def first_line(self, path: str) -> int:
        return self.rest.first_line(path) - 1


def between(pieces: tuple[NDArray[np.uint8], ...], begin: int, end: int) -> Iterator[NDArray[np.uint8]]:
    """The pieces of a text from byte ``begin`` to ``end``."""
    at = 0
    for piece in pieces:
        if begin < at + len(piece) and at < end:
            yield piece[max(0, begin - at) : end - at]
        at += len(piece)
