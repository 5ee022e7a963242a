"""What ``distances`` and ``scores`` give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PairMatrix:
    """All pairs; ``np.asarray(result)`` and ``result[i, j]`` give the numbers.

    Attributes:
        values: (queries, targets), what ``out`` was, or int32 (scores of a matrix with decimals: float64): distances in
            errors, -1 beyond the limit, or scores.
    """

    values: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values: NDArray[Any] = np.asarray(self.values, dtype)
        return values.copy() if copy else values

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.values.shape[0]), int(self.values.shape[1])


@dataclass(frozen=True, eq=False)
class NearestPairs:
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


@dataclass(frozen=True, eq=False)
class SparsePairs:
    """The pairs within the limit, ordered by query, then target.

    Attributes:
        query, target: int32 (pairs,), numbers of sequences. Of one set with itself a pair has its smaller number first
            where its distance is the same both ways.
        value: int32 (pairs,), distances in errors or scores (float64 where a matrix has decimals).
    """

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    value: NDArray[Any]

    def __len__(self) -> int:
        return len(self.query)

    def to_scipy(self, shape: tuple[int, int]) -> Any:
        """A ``scipy.sparse.coo_array``; note that it does not tell a distance of 0 from none."""
        from scipy.sparse import coo_array  # type: ignore[import-untyped]

        return coo_array((self.value, (self.query, self.target)), shape=shape)


Result = PairMatrix | NearestPairs | SparsePairs
