"""Results of ``distances`` and ``scores``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.tables.column import nullable
from gpualign.tables.row import Row
from gpualign.tables.table import Table
from gpualign.tables.tabular import Tabular

#: rows and columns of a matrix that a notebook shows
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class PairMatrix(Tabular):
    """All pairs; ``np.asarray(result)`` and ``result[i, j]`` give the numbers.

    Attributes:
        values: (queries, targets), what ``out`` was, or of ``dtype``, else int32 (scores of a matrix with decimals:
            float64): distances in errors, -1 beyond the limit, or scores.
        limited: there is a limit, beyond which tables have nulls.
    """

    values: Any
    limited: bool = False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values: NDArray[Any] = np.asarray(self.values, dtype)
        return values.copy() if copy else values

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def table(self) -> Table[Row]:
        """A row for each query, a column for each target, which has its number for a name."""
        values = np.asarray(self)
        if self.limited:
            return Table({str(target): nullable(row, row >= 0) for target, row in enumerate(values.T)})
        return Table({str(target): values[:, target] for target in range(values.shape[1])})

    def _repr_html_(self) -> str:
        corner = PairMatrix(np.asarray(self)[:_SHOWN, :_SHOWN], self.limited)
        return f"{corner.table._repr_html_()}<p>{self.shape[0]:,} × {self.shape[1]:,}</p>"


@dataclass(frozen=True, eq=False)
class NearestPairs(Tabular):
    """The best targets of each query, the best first, of equal ones the smaller number.

    Attributes:
        target: int32 (queries, k), numbers of targets; -1 where there are fewer.
        value: int32 (queries, k), distances in errors or scores (float64 where a matrix has decimals); -1 where there
            are fewer.
    """

    target: NDArray[np.int32]
    value: NDArray[Any]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def table(self) -> Table[Row]:
        """A row for each pair: ``query``, ``rank`` (1 is the best), ``target``, ``value``."""
        query, rank = np.nonzero(self.target >= 0)
        columns = {"query": query.astype(np.int32), "rank": (rank + 1).astype(np.int32)}
        return Table({**columns, "target": self.target[query, rank], "value": self.value[query, rank]})


@dataclass(frozen=True, eq=False)
class SparsePairs(Tabular):
    """The pairs within the limit, ordered by query, then target.

    Attributes:
        query, target: int32 (pairs,), numbers of sequences. Of one set with itself a pair has its smaller number first
            if its distance is symmetric.
        value: int32 (pairs,), distances in errors or scores (float64 where a matrix has decimals).
    """

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    value: NDArray[Any]

    def __len__(self) -> int:
        return len(self.query)

    @property
    def table(self) -> Table[Row]:
        """The three columns."""
        return Table({"query": self.query, "target": self.target, "value": self.value})

    def to_scipy(self, shape: tuple[int, int]) -> Any:
        """A ``scipy.sparse.coo_array``; note that it does not distinguish a distance of 0 from none."""
        from scipy.sparse import coo_array  # type: ignore[import-untyped]

        return coo_array((self.value, (self.query, self.target)), shape=shape)


Result = PairMatrix | NearestPairs | SparsePairs
