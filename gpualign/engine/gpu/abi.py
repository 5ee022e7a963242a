"""Structs shared with a device: declared once, in ``cuda/abi``, and mirrored here as NumPy types."""

from __future__ import annotations

import functools
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
    record: np.void = np.frombuffer(bytearray(layout.itemsize), layout)[0]  # ten times as fast as np.zeros
    for field, value in values.items():
        record[field] = value
    return record


def changed(record: np.void, **values: Any) -> np.void:
    """A copy of a struct with other values in some fields."""
    copy: np.void = np.frombuffer(bytearray(record.tobytes()), record.dtype)[0]
    for field, value in values.items():
        copy[field] = value
    return copy


@functools.cache
def _layouts() -> dict[str, tuple[int, list[tuple[str, int, str, int]]]]:
    return _native.abi_structs()
