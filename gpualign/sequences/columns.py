"""Arrays with one entry an item, as a dataclass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.offsets import join_offsets, offsets_of, positions_of

Self = TypeVar("Self", bound="Arrays")


class Arrays:
    """Base of a dataclass of arrays, or None, with the items of a batch one after the other. An array ``NAME_offsets``
    says where each begins in a flat one.
    """

    @property
    def native(self) -> tuple[Any, ...]:
        """All fields, in the order in which native functions take them."""
        return tuple(getattr(self, name) for name in self._names())

    @classmethod
    def join(cls: type[Self], parts: Iterable[Self]) -> Self:
        """All of at least one, one after the other."""
        parts, joined = list(parts), list[Any]()
        for name in cls._names():
            arrays = [getattr(part, name) for part in parts]
            join: Any = join_offsets if name.endswith("_offsets") else np.concatenate
            joined.append(None if any(array is None for array in arrays) else join(arrays))
        return cls(*joined)

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]


class Columns(Arrays):
    """Arrays with one entry an item. The field before ``NAME_offsets`` is flat: it holds the parts of all items."""

    def __len__(self) -> int:
        return len(self.native[0])

    def take(self: Self, chosen: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Self:
        """The items with these numbers, where it is True, or of a slice without steps, as views."""
        taken: list[Any] = []
        names = self._names()
        for name, following in zip(names, [*names[1:], ""], strict=True):
            column = getattr(self, name)
            if column is None or following.endswith("_offsets"):
                taken.append(column)  # a flat one is taken with its offsets
            elif name.endswith("_offsets") and isinstance(chosen, slice) and chosen.step in (None, 1):
                begin, end, _ = chosen.indices(len(column) - 1)
                taken[-1] = taken[-1][column[begin] : column[max(begin, end)]]
                taken.append(column[begin : max(begin, end) + 1] - column[begin])
            elif name.endswith("_offsets"):
                lengths = np.diff(column)[chosen]
                taken[-1] = taken[-1][positions_of(column[:-1][chosen], lengths)]
                taken.append(offsets_of(lengths))
            else:
                taken.append(column[chosen])
        return type(self)(*taken)
