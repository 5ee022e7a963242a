"""Columns as tables of other libraries, each of which is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import UsageError
from gpualign.tables.column import NameColumn, TextColumn

Column = NDArray[Any] | TextColumn | NameColumn


def library(name: str, who: str) -> Any:
    """An optional library.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise UsageError(f"{who} needs {name} (pip install 'gpualign[tables]')") from None


def to_arrow(columns: Mapping[str, Column]) -> Any:
    """A pyarrow table; the memory is shared."""
    arrow = library("pyarrow", "to_arrow()")
    return arrow.table({name: _arrow_array(arrow, column) for name, column in columns.items()})


def to_pandas(columns: Mapping[str, Column]) -> Any:
    """A pandas frame; the memory of numbers is shared, and of texts too where pyarrow is there."""
    pandas = library("pandas", "to_pandas()")
    return pandas.DataFrame({name: _pandas_array(pandas, column) for name, column in columns.items()}, copy=False)


def to_polars(columns: Mapping[str, Column]) -> Any:
    """A Polars frame; the memory of numbers is shared."""
    polars = library("polars", "to_polars()")
    library("pyarrow", "to_polars()")
    return polars.from_arrow(to_arrow(columns))


def _arrow_array(arrow: Any, column: Column) -> Any:
    if isinstance(column, NameColumn):
        names, codes = _arrow_array(arrow, column.dictionary).dictionary_encode(), column.codes
        if len(names.dictionary) < len(names):  # equal ones are one
            codes = np.where(codes < 0, -1, names.indices.to_numpy()[codes]).astype(np.int32)
        return arrow.DictionaryArray.from_arrays(arrow.array(codes, mask=codes < 0), names.dictionary)
    if isinstance(column, np.ma.MaskedArray):
        numbers = arrow.array(np.ascontiguousarray(column.data))
        valid = _bits(arrow, ~np.ma.getmaskarray(column))  # type: ignore[no-untyped-call]
        return arrow.Array.from_buffers(numbers.type, len(column), [valid, numbers.buffers()[1]])
    if not isinstance(column, TextColumn):
        return arrow.array(np.ascontiguousarray(column))
    valid = None if column.valid is None else _bits(arrow, column.valid)
    buffers = [valid, arrow.py_buffer(column.offsets), arrow.py_buffer(column.utf8)]
    kind = arrow.large_binary() if column.binary else arrow.large_string()
    return arrow.Array.from_buffers(kind, len(column), buffers)


def _bits(arrow: Any, valid: NDArray[np.bool_]) -> Any:
    """Arrow's validity."""
    return arrow.py_buffer(np.packbits(valid, bitorder="little"))


def _pandas_array(pandas: Any, column: Column) -> Any:
    if isinstance(column, NameColumn):
        numbers, names = pandas.factorize(column.dictionary.array)
        return pandas.Categorical.from_codes(np.append(numbers, -1)[column.codes], names)
    if isinstance(column, np.ma.MaskedArray):
        kind = pandas.arrays.FloatingArray if column.dtype.kind == "f" else pandas.arrays.IntegerArray
        return kind(column.data, np.ma.getmaskarray(column))  # type: ignore[no-untyped-call]
    if not isinstance(column, TextColumn):
        return column
    if column.binary:
        return column.array
    try:
        arrow = importlib.import_module("pyarrow")
    except ModuleNotFoundError:
        return pandas.array(column.array, dtype="string")
    return pandas.array(arrow.chunked_array([_arrow_array(arrow, column)]), dtype="string[pyarrow]")
