"""Arrays with one entry an item, as a dataclass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.offsets import join_offsets, offsets_of, positions_of

Self = TypeVar("Self", bound="Columns")


class Columns:
    """Base of a dataclass of arrays with one entry an item, or None. If the last field is ``NAME_offsets``, the one
    before it is flat: the parts of all items.
    """

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def columns(self) -> tuple[Any, ...]:
        """All fields, in the order in which native functions take them."""
        return tuple(getattr(self, name) for name in self._names())

    def take(self: Self, chosen: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Self:
        """The items with these numbers, or where it is True."""
        columns = list(self.columns)
        flat = [columns.pop(), columns.pop()][::-1] if self._has_offsets() else []
        columns = [None if column is None else column[chosen] for column in columns]
        if flat and flat[0] is not None:
            values, offsets = flat
            lengths = np.diff(offsets)[chosen]
            flat = [values[positions_of(offsets[:-1][chosen], lengths)], offsets_of(lengths)]
        return type(self)(*columns, *flat)

    @classmethod
    def join(cls: type[Self], parts: Iterable[Self]) -> Self:
        """All of at least one, one after the other."""
        joins: list[Any] = [np.concatenate] * len(cls._names())
        if cls._has_offsets():
            joins[-1] = join_offsets
        each = zip(joins, *(part.columns for part in parts), strict=True)
        return cls(*(None if any(array is None for array in arrays) else join(arrays) for join, *arrays in each))

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    @classmethod
    def _has_offsets(cls) -> bool:
        return cls._names()[-1].endswith("_offsets")
