"""Text of records: in memory, in its file, or in BGZF blocks (:class:`PackedText`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.io.files import InputFile, StoredFile

_COUNTED_AT_ONCE = 1 << 24
_NOTHING = np.zeros(0, np.uint8)


class Text(ABC):
    """Consecutive bytes of a file, decompressed.

    Attributes:
        stored: still in its file; :meth:`read_into` reads it into the caller's memory.
        uncounted: bytes of the file before it, if this machine lacks the file and cannot count lines.
    """

    stored = False
    uncounted: int | None = None

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

    def inflated(self, path: str) -> Text:
        """The text with its inflated content cached."""
        return self

    def read_into(self, memory: NDArray[np.uint8], begin: int) -> None:
        """Fill ``memory`` with stored bytes from offset ``begin`` on."""
        raise NotImplementedError

    def count_fastq_lines(self, path: str, lines_before: NDArray[np.uint32]) -> tuple[int, bool]:
        """Number of lines, and whether one is blank; fills in the lines before each tile of :class:`FastqText`."""
        lines, blank = _native.count_fastq_lines(self.pieces(path), lines_before)
        return lines, blank

    def first_line(self, path: str) -> int:
        """Number of the first line in the file; reads the file up to there."""
        raise NotImplementedError


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

    def pieces(self, path: str) -> tuple[NDArray[np.uint8], ...]:
        return (self.file.part(self.offset, self.size),)

    def part(self, begin: int, end: int) -> StoredText:
        return replace(self, offset=self.offset + begin, size=end - begin)

    def read_into(self, memory: NDArray[np.uint8], begin: int) -> None:
        self.file.read_into(memory, self.offset + begin)

    def first_line(self, path: str) -> int:
        return 1 + newlines(self.file, 0, self.offset)

    def count_fastq_lines(self, path: str, lines_before: NDArray[np.uint32]) -> tuple[int, bool]:
        return self.file.count_fastq_lines(self.offset, self.size, lines_before)


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


def newlines(file: InputFile | StoredFile, begin: int, end: int) -> int:
    """Number of newlines in a part of a plain file."""
    starts = range(begin, end, _COUNTED_AT_ONCE)
    return sum(int(_native.count_newlines(file.part(at, min(_COUNTED_AT_ONCE, end - at)))) for at in starts)


def lines_before(file: InputFile, size: int) -> int:
    """Number of the line after the first ``size`` bytes of a file's text; reads them."""
    line = 1
    while size and (text := file.read(min(size, _COUNTED_AT_ONCE))):
        line += int(_native.count_newlines(text))
        size -= len(text)
    return line
