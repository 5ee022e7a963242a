"""Result tables of the Python functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import UsageError
from gpualign.tables import convert, html
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.drawing import Drawing
from gpualign.tables.row import Row, maker, row_type

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

R_co = TypeVar("R_co", bound=Row, covariant=True)
#: numbers, which are a masked array where some can be null, or texts
Column = NDArray[Any] | TextColumn | NameColumn
#: rows that become Python objects at a time
_ROWS = 1 << 14


@dataclass(frozen=True)
class Look:
    """Attributes of rows besides the columns of the table.

    Attributes:
        row: their class.
        shared: what all of them have in common, hashable.
        draw: row -> its alignment; None: there is none to draw.
    """

    row: type[Row] = Row
    shared: Any = None
    draw: Callable[[Any], Drawing | None] | None = None


_PLAIN = Look()


class Table(Generic[R_co]):
    """Columns of equal length, as a result of gpualign.

    >>> import gpualign
    >>> hits = gpualign.verify(["GATTACA", "TTTT"], ["CCGATTTACACC", "AAAA"], max_errors=1, cigar=True)
    >>> hits["distance"].tolist(), float(hits["distance"].mean())
    ([1, None], 1.0)
    >>> hits[0].cigar, hits[hits["distance"] >= 0][["query", "distance"]].tolist()
    ('4=1D3=', [(0, 1)])
    >>> print(hits.alignment(0))
    query 0    1 GATT-ACA 7
                 ||||-|||
    target 0   3 GATTTACA 10

    ``table["name"]`` is a column (a NumPy array, not copied), ``table[["a", "b"]]`` a table of some columns,
    ``table[5]`` a row, ``table[2:9]`` and ``table[mask]`` tables of some rows. Iteration gives rows, whose fields are
    attributes. What does not exist is null: None in rows, masked in columns of numbers, which are masked arrays where
    that can be. ``np.asarray(table)`` is a structured array, in which such numbers are NaN. A table does not change.

    Attributes:
        names: of the columns.
    """

    def __init__(self, columns: Mapping[str, Column], look: Look = _PLAIN) -> None:
        self._columns, self._look = dict(columns), look
        self.names = tuple(self._columns)
        self._length = len(next(iter(self._columns.values()))) if self._columns else 0

    @staticmethod
    def concat(parts: Sequence[Table[R_co]]) -> Table[R_co]:
        """Join tables with the same columns, at least one of them."""
        first = parts[0]
        if len(parts) == 1:
            return first
        return Table({name: _joined([part._columns[name] for part in parts]) for name in first.names}, first._look)

    def __len__(self) -> int:
        return self._length

    @property
    def shape(self) -> tuple[int]:
        return (self._length,)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of ``np.asarray(table)``."""
        return np.dtype([(name, _plain_dtype(self._columns[name])) for name in self.names])

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> R_co: ...
    @overload
    def __getitem__(self, key: slice | list[str] | list[int] | NDArray[Any]) -> Table[R_co]: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            column = self._column(key)
            return column.array if isinstance(column, TextColumn | NameColumn) else column
        if isinstance(key, int | np.integer):
            if not -len(self) <= key < len(self):
                raise IndexError(f"there is no row {key} (there are {len(self)})")
            start = int(key) % len(self)
            return next(iter(self._part(start, start + 1)))
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            return self._part(start, max(start, stop)) if step == 1 else self._take(np.arange(start, stop, step))
        if isinstance(key, list | tuple) and key and all(isinstance(name, str) for name in key):
            look = Look(draw=None)
            return Table({name: self._column(name) for name in key}, look)
        chosen = np.asarray(np.ma.filled(key, False) if isinstance(key, np.ma.MaskedArray) else key)
        if chosen.dtype == bool:
            if chosen.shape != self.shape:
                raise IndexError(f"a mask of shape {chosen.shape} for {len(self)} rows")
            return self._take(np.flatnonzero(chosen))
        return self._take(np.arange(len(self))[chosen.astype(np.int64)])

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            raise KeyError(f"there is no column {name!r} (there are {', '.join(self.names)})")
        return self._columns[name]

    def _part(self, start: int, stop: int) -> Table[R_co]:
        def cut(column: Column) -> Column:
            return column.part(start, stop) if isinstance(column, TextColumn | NameColumn) else column[start:stop]

        return self._each(cut)

    def _take(self, chosen: NDArray[np.int64]) -> Table[R_co]:
        return self._each(lambda column: column.take(chosen))

    def _each(self, change: Callable[[Column], Column]) -> Table[R_co]:
        return Table({name: change(column) for name, column in self._columns.items()}, self._look)

    def __iter__(self) -> Iterator[R_co]:
        make: Any = maker(row_type(self._look.row, self.names, self._look.shared))
        return map(make, self._tuples())

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        columns = [self[name] for name in self.names]
        for start in range(0, len(self), _ROWS):
            yield from zip(*(column[start : start + _ROWS].tolist() for column in columns), strict=True)

    def tolist(self) -> list[tuple[Any, ...]]:
        """A tuple for each row."""
        return list(self._tuples())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("columns are copied to become a structured array")
        rows = np.empty(len(self), self.dtype)
        for name in self.names:
            column: Any = self._columns[name]
            masked = isinstance(column, np.ma.MaskedArray)
            rows[name] = column.astype(float).filled(np.nan) if masked else self[name]
        return rows if dtype is None else rows.astype(dtype)

    def alignment(self, row: int) -> Drawing:
        """A row's alignment as three lines: ``print`` it, or let a notebook show it.

        Raises:
            UsageError: the row has no alignment, or its sequences are no longer there.
        """
        drawn = None if self._look.draw is None else self._look.draw(self[row])
        if drawn is None:
            raise UsageError(
                f"row {row} has no alignment to draw (is there a column cigar, and were sequences given as such?)"
            )
        return drawn

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table`` that shares the memory of the columns.

        Raises:
            UsageError: pyarrow is not installed.
        """
        table: pyarrow.Table = convert.to_arrow(self._columns)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame`` that shares the memory of the numbers, and of texts if pyarrow is installed.

        Raises:
            UsageError: pandas is not installed.
        """
        frame: pandas.DataFrame = convert.to_pandas(self._columns)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A ``polars.DataFrame`` that shares the memory of the numbers.

        Raises:
            UsageError: Polars or pyarrow is not installed.
        """
        frame: polars.DataFrame = convert.to_polars(self._columns)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        table: Any = self.to_arrow()
        return table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        shown = [self.names, *(tuple(map(html.shown, row)) for row in self[: html.ROWS]._tuples())]
        widths = [min(40, max(map(len, column))) for column in zip(*shown, strict=True)]
        lines = [
            "  ".join(html.short(cell, 40).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in shown
        ]
        more = len(self) - html.ROWS
        return "\n".join([*lines, *([f"... {more:,} more rows"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        return html.page(self.names, list(self[: html.ROWS]), len(self), self._look.draw)


def _joined(parts: list[Any]) -> Column:
    if isinstance(parts[0], TextColumn | NameColumn):
        return type(parts[0]).join(parts)
    masked = isinstance(parts[0], np.ma.MaskedArray)
    return np.ma.concatenate(parts) if masked else np.concatenate(parts)  # type: ignore[no-untyped-call]


def _plain_dtype(column: Column) -> np.dtype[Any]:
    """The type of a column in a structured array, where nulls among integers are NaN."""
    if isinstance(column, TextColumn | NameColumn):
        return np.dtype("U1" if isinstance(column, SignColumn) else object)
    return np.dtype(float) if isinstance(column, np.ma.MaskedArray) else column.dtype
