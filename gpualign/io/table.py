"""Tab-separated output from arrays, formatted natively."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.batch import join_bytes

Column = tuple[Any, ...]


class Names:
    """A list of names as one text, so that a column of names is an array of indices."""

    def __init__(self, names: list[str]) -> None:
        self._text, self._offsets = join_bytes([name.encode("latin-1") for name in names])

    def column(self, index: NDArray[Any], prefix: str = "") -> Column:
        """The names that ``index`` (p,) points at."""
        return texts(self._text, self._offsets, index, prefix)


def texts(text: NDArray[np.uint8], offsets: NDArray[np.int64], index: NDArray[Any], prefix: str = "") -> Column:
    """Those that ``index`` (p,) points at, of several, joined."""
    return ("text", prefix, text, offsets, np.ascontiguousarray(index, np.int64))


def integers(values: NDArray[Any], prefix: str = "") -> Column:
    """Whole numbers (p,)."""
    return ("integer", prefix, np.ascontiguousarray(values, np.int64))


def constant(text: str, rows: int) -> Column:
    """The same text in every row."""
    return Names([text]).column(np.zeros(rows, np.int64))


def fixed(values: NDArray[Any], decimals: int, prefix: str = "") -> Column:
    """Numbers (p,) with a fixed count of decimals, half rounded up."""
    return ("fixed", prefix, np.ascontiguousarray(values, np.float64), decimals)


def percents(parts: NDArray[Any], wholes: NDArray[Any], prefix: str = "") -> Column:
    """``parts`` of ``wholes`` (p,) with two decimals, as Python rounds them; ``*`` of nothing."""
    return ("percent", prefix, *(np.ascontiguousarray(values, np.int64) for values in (parts, wholes)))


def signs(minus: NDArray[np.bool_], prefix: str = "") -> Column:
    """``-`` where ``minus`` (p,) holds, else ``+``."""
    return ("character", prefix, np.where(minus, ord("-"), ord("+")).astype(np.uint8))


def cigars(operations: NDArray[np.uint32], offsets: NDArray[np.int64], prefix: str = "") -> Column:
    """CIGARs: BAM words, joined, and their offsets (p + 1,); ``*`` where there is none."""
    return ("cigar", prefix, operations, offsets)


def format_rows(columns: list[Column], rows: int) -> bytes:
    """The lines of a table."""
    return _native.format_table(columns, rows)
