"""Which pairs of two sets of sequences are aligned, as stretches of a numbered list that is never written out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


class PairSource(ABC):
    """Pairs 0..len-1 in the order of the output."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def ids(self, first: int, last: int) -> tuple[Ids, Ids]:
        """int32 (last - first,) first and second members of the pairs ``first`` to ``last - 1``."""

    def stretches(self, most: int) -> Iterator[tuple[Ids, Ids]]:
        """All pairs, at most ``most`` at a time."""
        for first in range(0, len(self), most):
            yield self.ids(first, min(first + most, len(self)))


class Product(PairSource):
    """Every one of the first set with every one of the second, the first set's order outside."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns

    def __len__(self) -> int:
        return self.rows * self.columns

    def ids(self, first: int, last: int) -> tuple[Ids, Ids]:
        row, column = np.divmod(np.arange(first, last, dtype=np.int64), self.columns)
        return row.astype(np.int32), column.astype(np.int32)


class Triangle(PairSource):
    """All i < j of one set (with ``diagonal`` all i <= j), by i."""

    def __init__(self, count: int, diagonal: bool) -> None:
        self.skipped = 0 if diagonal else 1
        lengths = np.arange(count, 0, -1, dtype=np.int64) - self.skipped
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def ids(self, first: int, last: int) -> tuple[Ids, Ids]:
        pair = np.arange(first, last, dtype=np.int64)
        row = np.searchsorted(self.starts, pair, side="right") - 1
        column = pair - self.starts[row] + row + self.skipped
        return row.astype(np.int32), column.astype(np.int32)


class Listed(PairSource):
    """Pairs that are listed one by one."""

    def __init__(self, first: Ids, second: Ids) -> None:
        self.first, self.second = first, second

    def __len__(self) -> int:
        return len(self.first)

    def ids(self, first: int, last: int) -> tuple[Ids, Ids]:
        return self.first[first:last], self.second[first:last]
