"""Structs shared with a device: declared once, in ``cuda/abi``, and mirrored here as NumPy types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from struct import Struct
from struct import error as StructError
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gpualign import _native


@functools.cache
def struct(name: str) -> np.dtype[np.void]:
    """The NumPy type of a struct of ``cuda/abi``; pointers are addresses, uint64."""
    size, fields = _layouts()[name]
    names, offsets, formats = [], [], []
    for field, offset, kind, count in fields:
        of: DTypeLike = struct(kind) if kind in _layouts() else kind
        names.append(field)
        offsets.append(offset)
        formats.append((of, (count,)) if count else of)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def filled(name: str, **values: Any) -> np.void:
    """One struct, which a kernel takes by value; fields not given are zero.

    Raises:
        ValueError: there is no field of that name.
    """
    layout = struct(name)
    return _written(bytearray(layout.itemsize), layout, values)


def changed(record: np.void, **values: Any) -> np.void:
    """A copy of a struct with other values in some fields."""
    return _written(bytearray(record.tobytes()), record.dtype, values)


def _written(memory: bytearray, layout: np.dtype[np.void], values: dict[str, Any]) -> np.void:
    """The struct in ``memory`` with these values. Numbers are packed directly, several times as fast as by NumPy."""
    record: np.void = np.frombuffer(memory, layout)[0]
    numbers = _numbers(layout)
    for field, value in values.items():
        try:
            pack, at = numbers[field]
            pack(memory, at, value)
        except (KeyError, StructError):  # a struct or an array; what only NumPy takes for a number, such as a pointer
            record[field] = value
    return record


@functools.cache
def _numbers(layout: np.dtype[np.void]) -> dict[str, tuple[Callable[..., None], int]]:
    """{field: (function that packs it into memory, offset)} of the numeric fields."""
    fields = {name: field[:2] for name, field in (layout.fields or {}).items()}
    return {name: (Struct(kind.char).pack_into, at) for name, (kind, at) in fields.items() if kind.kind in "iuf"}


@functools.cache
def _layouts() -> dict[str, tuple[int, list[tuple[str, int, str, int]]]]:
    return _native.abi_structs()
