"""A rectangle of pairs whose scores are wanted: some queries that follow each other, each with the same targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.pairs import PairBlock


@dataclass(frozen=True)
class ScoreTile:
    """Queries ``first`` to ``last`` with ``first_target`` to ``last_target``, half-open."""

    targets: EncodedSequences
    first: int
    last: int
    first_target: int
    last_target: int

    def __len__(self) -> int:
        queries, targets = self.shape
        return queries * targets

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of queries and targets."""
        return self.last - self.first, self.last_target - self.first_target

    @property
    def block(self) -> PairBlock:
        """The pairs, query by query."""
        queries, targets = self.shape
        numbers = np.arange(self.first_target, self.last_target, dtype=np.int32)
        return PairBlock(
            np.repeat(np.arange(self.first, self.last, dtype=np.int32), targets), np.tile(numbers, queries)
        )


@dataclass(frozen=True)
class TileScores:
    """Attributes:
    scores: int32 (queries, t).
    targets: int64 (t,), which target each column is of.
    """

    scores: NDArray[np.int32]
    targets: NDArray[np.int64]
