"""Structs that go to kernels and to native code: declared once, in ``cuda/abi``, and mirrored here as NumPy types."""

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
    return _written(bytearray(layout.itemsize), layout, values)


def changed(record: np.void, **values: Any) -> np.void:
    """A copy of a struct with other values in some fields."""
    return _written(bytearray(record.tobytes()), record.dtype, values)


def _written(memory: bytearray, layout: np.dtype[np.void], values: dict[str, Any]) -> np.void:
    """The struct in ``memory`` with these values."""
    record: np.void = np.frombuffer(memory, layout)[0]
    for field in _writer(layout).write(memory, values):
        record[field] = values[field]
    return record


@functools.cache
def _writer(layout: np.dtype[np.void]) -> _native.StructWriter:
    """Native code that writes the fields of a struct, all but arrays of numbers."""
    fields: list[Any] = []
    for name, (kind, at, *_) in (layout.fields or {}).items():
        base, shape = kind.subdtype or (kind, ())
        code = "array" if shape and base.kind != "V" else base.kind
        # not from the cache, which another build of the native code may have filled
        nested = _writer.__wrapped__(base) if base.kind == "V" and not shape else None
        fields.append((name, at, kind.itemsize, code, nested))
    return _native.StructWriter(fields)


@functools.cache
def _layouts() -> dict[str, tuple[int, list[tuple[str, int, str, int]]]]:
    return _native.abi_structs()
