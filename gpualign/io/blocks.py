"""Streams of text."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class TextStream(Protocol):
    """A source of text, such as an InputFile."""

    path: str

    def readinto(self, view: memoryview, /) -> int:
        """Fill ``view``; returns the number of bytes, fewer only at the end."""


class Pieces(io.RawIOBase):
    """A stream over pieces of text; a piece is released when the next one is requested."""

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
        np.frombuffer(buffer, np.uint8)[:count] = self._piece[:count]  # releases the GIL
        self._piece = self._piece[count:]
        return count


def fill(stream: Any, view: memoryview) -> int:
    """Fill ``view`` by repeated reads, as a stream returns what it has; fewer bytes only at the end."""
    filled = 0
    while filled < len(view) and (count := stream.readinto(view[filled:])):
        filled += count
    return filled


class TextOfPieces:
    """Pieces of a file's text as a :class:`TextStream`."""

    def __init__(self, path: str, pieces: Iterable[NDArray[np.uint8]]) -> None:
        self.path, self._text = path, Pieces(pieces)

    def readinto(self, view: memoryview, /) -> int:
        return fill(self._text, view)


def is_blank(text: NDArray[np.uint8]) -> bool:
    """Whether text is empty or white space."""
    head = text[:64].tobytes()
    return not head.strip() and not text.tobytes().strip()
