"""The references that have most random words of queries: what a backend is given, and what it returns.

The rules stand in ``cuda/algo/seeds/words/draws.hpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.streaming.timeline import STEPS

#: random subsets of a query's words
DRAWS = int(_native.WORD_DRAWS)


@dataclass(frozen=True, eq=False)
class References:
    """Sequences whose words are known.

    Attributes:
        bases, offsets: of the sequences, as :class:`SequenceBatch` has them.
        similar: int32 (n,), numbers of sequences, similar ones next to each other, on which the speed depends.
        order: int32 (n,), of each sequence its number in the order of preference: of equal ones the first counts.
        threads: that make the index.
    """

    bases: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    similar: NDArray[np.int32]
    order: NDArray[np.int32]
    threads: int = 1

    @cached_property
    def index(self) -> _native.WordIndex:
        """Made once in each process."""
        return _native.WordIndex(self.bases, self.offsets, self.similar, self.order, self.threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return References, (self.bases, self.offsets, self.similar, self.order, self.threads)


@dataclass(frozen=True, eq=False)
class QueryWords:
    """Queries.

    Attributes:
        words: uint16, the different words of each.
        firsts: uint32 (q + 1,), where the words of each begin.
        seeds: uint64 (q,), of random numbers.
    """

    words: NDArray[np.uint16]
    firsts: NDArray[np.uint32]
    seeds: NDArray[np.uint64]

    @classmethod
    def of(cls, bases: NDArray[np.uint8], offsets: NDArray[np.int64]) -> QueryWords:
        """Of sequences, as :class:`SequenceBatch` has them."""
        return cls(*_native.words_of(bases, offsets))

    def __len__(self) -> int:
        return len(self.seeds)

    def part(self, first: int, last: int) -> QueryWords:
        at = self.firsts[first : last + 1]
        return QueryWords(self.words[at[0] : at[-1]], at - at[0], self.seeds[first:last])


@dataclass(frozen=True, eq=False)
class DrawnBest:
    """The best references.

    Attributes:
        best: int32 (q, DRAWS), of each draw the reference, as a number in the order of preference, or -1.
        minus: uint8 (q,), 1 if it is the query's other strand that is near.
    """

    best: NDArray[np.int32]
    minus: NDArray[np.uint8]

    @classmethod
    def join(cls, parts: Sequence[DrawnBest]) -> DrawnBest:
        return cls(np.concatenate([part.best for part in parts]), np.concatenate([part.minus for part in parts]))


@STEPS.at("compute")
def draw_on_cpu(references: References, queries: QueryWords, both: bool) -> DrawnBest:
    """Draw in the calling thread; the GIL is released.

    Args:
        both: try the other strand of each query as well.
    """
    best, minus = references.index.draws(queries.words, queries.firsts, queries.seeds, both)
    return DrawnBest(best.reshape(-1, DRAWS), minus)
