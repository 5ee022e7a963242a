"""Tab-separated output from arrays, formatted natively."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.offsets import offsets_of

Column = tuple[Any, ...]


class Names:
    """A list of names as one text, so that a column of names is an array of indices."""

    def __init__(self, names: list[str]) -> None:
        self._text, self._offsets = join_bytes([name.encode("latin-1") for name in names])

    def column(self, index: NDArray[Any], prefix: str = "") -> Column:
        """A column of the names at the indices ``index`` (p,)."""
        return texts(self._text, self._offsets, index, prefix)


def texts(text: NDArray[np.uint8], offsets: NDArray[np.int64], index: NDArray[Any], prefix: str = "") -> Column:
    """A column of the texts at the indices ``index`` (p,) of joined texts."""
    return ("text", prefix, text, offsets, np.ascontiguousarray(index, np.int64))


def texts_or_star(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Column:
    """A column of joined texts (p,), with ``*`` for empty ones."""
    empty = np.diff(offsets) == 0
    if empty.any():
        text, offsets = np.insert(text, offsets[:-1][empty], ord("*")), offsets_of(np.diff(offsets) + empty)
    return texts(text, offsets, np.arange(len(empty)))


def integers(values: NDArray[Any], prefix: str = "") -> Column:
    """A column of integers (p,)."""
    return ("integer", prefix, np.ascontiguousarray(values, np.int64))


def constant(text: str, rows: int) -> Column:
    """A column with one text in every row."""
    return Names([text]).column(np.zeros(rows, np.int64))


def fixed(values: NDArray[Any], decimals: int, prefix: str = "") -> Column:
    """A column of numbers (p,) with a fixed number of decimals, half rounded up."""
    return ("fixed", prefix, np.ascontiguousarray(values, np.float64), decimals)


def percents(parts: NDArray[Any], wholes: NDArray[Any]) -> Column:
    """A column of ``parts`` in percent of ``wholes`` (p,), two decimals as Python rounds; ``*`` if the whole is 0."""
    return ("percent", "", *(np.ascontiguousarray(values, np.int64) for values in (parts, wholes)))


def signs(minus: NDArray[np.bool_]) -> Column:
    """A column of ``-`` where ``minus`` (p,) is true, else ``+``."""
    return Names(["+", "-"]).column(minus)


def cigars(operations: NDArray[np.uint32], offsets: NDArray[np.int64], prefix: str = "") -> Column:
    """A column of CIGARs from joined BAM words and their offsets (p + 1,); ``*`` for empty ones."""
    return ("cigar", prefix, operations, offsets)


def format_rows(columns: list[Column], rows: int) -> bytes:
    """The lines of a table."""
    return _native.format_table(columns, rows)
