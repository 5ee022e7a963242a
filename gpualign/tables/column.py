"""A column of texts as one text and offsets, Arrow's layout, so that Arrow, pandas and Polars take it as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NEWLINE, _STAR = 10, ord("*")


@dataclass(frozen=True, eq=False)
class TextColumn:
    """``n`` texts.

    Attributes:
        utf8: uint8, the texts joined; with ``binary`` any bytes.
        offsets: int64 (n + 1,).
        valid: bool (n,), False where there is none; None: all are there.
        binary: they are bytes, not text.
    """

    utf8: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    valid: NDArray[np.bool_] | None = None
    binary: bool = False
    _lines: bytes | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, texts: Sequence[str | bytes | None], binary: bool = False) -> TextColumn:
        """Texts (n), of which some may be None."""
        parts = [text.encode() if isinstance(text, str) else text or b"" for text in texts]
        valid = np.array([text is not None for text in texts], bool)
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), offsets, None if valid.all() else valid, binary)

    @classmethod
    def of_bytes(cls, utf8: NDArray[np.uint8], offsets: NDArray[np.int64]) -> TextColumn:
        """Texts in UTF-8, or where one is none in Latin-1; ASCII is not copied."""
        column = cls(utf8, offsets, binary=True)
        if utf8.size == 0 or utf8.max() < 128:
            return cls(utf8, offsets)
        return cls.of([_as_text(part) for part in column.array])

    @classmethod
    def of_lines(cls, lines: bytes) -> TextColumn:
        """A text for each line; null for ``*``."""
        text = np.frombuffer(lines, np.uint8)
        ends = np.flatnonzero(text == _NEWLINE)
        offsets = np.zeros(len(ends) + 1, np.int64)
        offsets[1:] = ends - np.arange(len(ends))
        utf8 = text[text != _NEWLINE]
        there = np.diff(offsets) != 1
        there[~there] = utf8[offsets[:-1][~there]] != _STAR
        return cls(utf8, offsets, None if there.all() else there, _lines=lines)

    @classmethod
    def join(cls, parts: Sequence[TextColumn]) -> TextColumn:
        """One after the other; at least one."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        valid = None
        if any(part.valid is not None for part in parts):
            valid = np.concatenate([np.ones(len(part), bool) if part.valid is None else part.valid for part in parts])
        utf8 = np.concatenate([part.utf8[part.offsets[0] : part.offsets[-1]] for part in parts])
        return cls(utf8, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), valid, parts[0].binary)

    def take(self, chosen: NDArray[np.int64]) -> TextColumn:
        """The entries with these numbers, in that order."""
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        where = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return TextColumn(self.utf8[where], offsets, None if self.valid is None else self.valid[chosen], self.binary)

    def part(self, start: int, stop: int) -> TextColumn:
        """Neighbours; the bytes are shared."""
        valid = None if self.valid is None else self.valid[start:stop]
        return TextColumn(self.utf8, self.offsets[start : stop + 1], valid, self.binary)

    @cached_property
    def array(self) -> NDArray[Any]:
        """object (n,): str or bytes, None where there is none."""
        values = np.empty(len(self), object)
        if self._lines is not None:  # Python splits lists fastest
            values[:] = self._lines.decode().split("\n")[:-1]
            if self.valid is not None:
                values[~self.valid] = None
            return values
        start = int(self.offsets[0])
        whole = self.utf8[start : self.offsets[-1]].tobytes()
        cuts = [(begin, end) for begin, end in pairwise((self.offsets - start).tolist())]
        if self.binary or not whole.isascii():
            parts: list[Any] = [whole[begin:end] for begin, end in cuts]
            values[:] = parts if self.binary else [part.decode() for part in parts]
        else:
            text = whole.decode()
            values[:] = [text[begin:end] for begin, end in cuts]
        if self.valid is not None:
            values[~self.valid] = None
        return values


def _as_text(part: bytes) -> str:
    try:
        return part.decode()
    except UnicodeDecodeError:
        return part.decode("latin-1")


@dataclass(frozen=True, eq=False)
class SignColumn(TextColumn):
    """``n`` texts of one character each, such as strands."""

    @classmethod
    def of_characters(cls, utf8: NDArray[np.uint8]) -> SignColumn:
        """uint8 (n,): the characters."""
        return cls(utf8, np.arange(len(utf8) + 1))

    @classmethod
    def of_strands(cls, minus: NDArray[np.bool_]) -> SignColumn:
        """``-`` where ``minus`` (n,) holds, else ``+``."""
        return cls.of_characters(np.where(minus, ord("-"), ord("+")).astype(np.uint8))

    def take(self, chosen: NDArray[np.int64]) -> SignColumn:
        return SignColumn.of_characters(self._own[chosen])

    def part(self, start: int, stop: int) -> SignColumn:
        return SignColumn.of_characters(self._own[start:stop])

    @property
    def _own(self) -> NDArray[np.uint8]:
        return self.utf8[self.offsets[0] : self.offsets[-1]]

    @cached_property
    def array(self) -> NDArray[Any]:
        """U1 (n,)."""
        return self._own.astype(np.uint32).view("U1")


@dataclass(frozen=True, eq=False)
class NameColumn:
    """``n`` names by their numbers in a dictionary, which columns share.

    Attributes:
        dictionary: the names, of which some may be equal.
        codes: int32 (n,), a number in it; -1 where there is no name.
    """

    dictionary: TextColumn
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, dictionary: TextColumn, codes: NDArray[Any]) -> NameColumn:
        """The names with these numbers; others are left out of a dictionary that is longer than the column."""
        if len(codes) >= len(dictionary):
            return cls(dictionary, codes.astype(np.int32))
        used, numbers = np.unique(codes, return_inverse=True)
        none = int(np.count_nonzero(used < 0))  # at most one, and the first
        return cls(dictionary.take(used[none:].astype(np.int64)), (numbers.reshape(-1) - none).astype(np.int32))

    @classmethod
    def join(cls, parts: Sequence[NameColumn]) -> NameColumn:
        """One after the other; at least one."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if all(part.dictionary is parts[0].dictionary for part in parts):
            return cls(parts[0].dictionary, np.concatenate([part.codes for part in parts]))
        firsts = np.cumsum([0, *(len(part.dictionary) for part in parts)])
        codes = [np.where(part.codes < 0, -1, part.codes + first) for part, first in zip(parts, firsts, strict=False)]
        return cls(TextColumn.join([part.dictionary for part in parts]), np.concatenate(codes).astype(np.int32))

    def take(self, chosen: NDArray[np.int64]) -> NameColumn:
        """The entries with these numbers, in that order."""
        return NameColumn(self.dictionary, self.codes[chosen])

    def part(self, start: int, stop: int) -> NameColumn:
        """Neighbours; the names are shared."""
        return NameColumn(self.dictionary, self.codes[start:stop])

    @property
    def array(self) -> NDArray[Any]:
        """object (n,): str, None where there is none."""
        few = NameColumn.of(self.dictionary, self.codes)  # only names that occur become Python objects
        return np.append(few.dictionary.array, np.array([None], object))[few.codes]


def nullable(values: NDArray[Any], there: NDArray[np.bool_]) -> np.ma.MaskedArray[Any, Any]:
    """A column of numbers that are null where ``there`` (n,) does not hold; the memory is shared."""
    column: np.ma.MaskedArray[Any, Any] = np.ma.MaskedArray(values, mask=~there)  # type: ignore[no-untyped-call]
    return column
