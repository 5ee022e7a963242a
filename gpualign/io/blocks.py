"""A stream of text in blocks that are cut where their reader sees a border, read in place: each byte is copied once."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign.streaming.lent import Lend, lent_or_new, nothing_lent

#: bytes read at a time, at least
MIN_READ = 1 << 16


class TextStream(Protocol):
    """What text is read from, such as an InputFile."""

    path: str

    def readinto(self, view: memoryview, /) -> int:
        """Fill ``view``; returns how many bytes, fewer only at the end."""


class Pieces(io.RawIOBase):
    """A text that comes in pieces, as a stream; a piece is done with when the next one is asked for."""

    def __init__(self, pieces: Iterable[NDArray[np.uint8]]) -> None:
        self._pieces, self._piece = iter(pieces), np.empty(0, np.uint8)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece = piece
        count = min(len(buffer), len(self._piece))
        np.frombuffer(buffer, np.uint8)[:count] = self._piece[:count]  # without the interpreter's lock
        self._piece = self._piece[count:]
        return count


def fill(stream: Any, view: memoryview) -> int:
    """Read into ``view``; how many bytes, fewer than it has only at the end: a stream gives what it has so far."""
    filled = 0
    while filled < len(view) and (count := stream.readinto(view[filled:])):
        filled += count
    return filled


class TextOfPieces:
    """The text of a file, which comes in pieces, as a :class:`TextStream`."""

    def __init__(self, path: str, pieces: Iterable[NDArray[np.uint8]]) -> None:
        self.path, self._text = path, Pieces(pieces)

    def readinto(self, view: memoryview, /) -> int:
        return fill(self._text, view)


class Blocks:
    """The text of a stream.

    Args:
        head: bytes that have been read already.
        lend: memory to read to, where there is some.

    Attributes:
        rest: uint8, what has been read and not yet been taken.
        at_end: nothing is after it.
    """

    def __init__(self, file: TextStream, head: bytes = b"", lend: Lend = nothing_lent) -> None:
        self._file, self._lend = file, lend
        self.rest: NDArray[np.uint8] = np.frombuffer(head, np.uint8)
        self.at_end = False

    def read(self, size: int) -> NDArray[np.uint8]:
        """Read on until ``rest`` has about ``size`` bytes, or more of it than before; returns it."""
        more = max(size - len(self.rest), MIN_READ)
        block = lent_or_new(self._lend, len(self.rest) + more)
        block[: len(self.rest)] = self.rest
        count = self._file.readinto(block[len(self.rest) :].data)
        self.at_end = count < more
        self.rest = block[: len(self.rest) + count]
        return self.rest

    def take(self, cut: int) -> NDArray[np.uint8]:
        """The first ``cut`` bytes of the rest; the others, usually few, are copied to where they keep no more alive."""
        taken, self.rest = self.rest[:cut], self.rest[cut:].copy()
        return taken


def after_last_line(text: NDArray[np.uint8]) -> int:
    """Bytes of the whole lines of a text."""
    for begin in (max(0, len(text) - MIN_READ), 0):
        cut = text[begin:].tobytes().rfind(b"\n") + 1
        if cut:
            return begin + cut
    return 0


def is_blank(text: NDArray[np.uint8]) -> bool:
    """Nothing but white space (or nothing)."""
    head = text[:64].tobytes()
    return not head.strip() and not text.tobytes().strip()
