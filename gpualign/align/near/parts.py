"""Parts of the targets for the workers of a cluster, each of which indexes the parts that it looks in."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.near.cpu import NearProblem, Wanted
from gpualign.align.score.problem import PairProblem


def new_index(problem: NearProblem, word: int) -> _native.NearIndex:
    """Without any target. word: symbols of a word, 0: lengths and common subsequences alone say who is near."""
    pairs = problem.pairs
    return _native.NearIndex(
        codes=pairs.targets.codes,
        offsets=pairs.targets.offsets,
        identical=pairs.scoring.identical,
        codes_match=bool(pairs.scoring.bases),
        word=word,
        identity=pairs.identity or 0.0,
        definition=pairs.definition,
        coverage=problem.coverage,
        scores=np.array(_simple_scores(pairs), np.int32),
    )


def _simple_scores(pairs: PairProblem) -> list[int]:
    """Of a match and a mismatch, and of gaps inside and at the ends; empty where pairs have others."""
    scoring, ends = pairs.scoring, set(pairs.costs_at_ends)
    k = scoring.identical
    match, mismatch = (int(score) for score in scoring.scores[0, :2])
    expected = np.full((k, k), mismatch)
    np.fill_diagonal(expected, match)
    of_codes = scoring.scores[k:]
    simple = (scoring.scores[:k, :k] == expected).all() and (of_codes == (0 if scoring.bases else mismatch)).all()
    if not simple or len(ends) != 1:
        return []
    return [match, mismatch, pairs.gap_open, pairs.gap_extend, *ends.pop()]


class TargetPart:
    """Targets that follow each other.

    Attributes:
        first: number of the first.
        distinct: int32 (n,), their sequences.
    """

    sent_once: ClassVar = True

    def __init__(self, first: int, distinct: NDArray[np.int32]) -> None:
        self.first, self.distinct = first, distinct
        self._indexing = threading.Lock()
        self._index: _native.NearIndex | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return TargetPart, (self.first, self.distinct)

    def __len__(self) -> int:
        return len(self.distinct)

    def index(self, problem: NearProblem, word: int) -> _native.NearIndex:
        """Made once in each process."""
        with self._indexing:
            if self._index is None:
                index = new_index(problem, word)
                index.add(np.ascontiguousarray(self.distinct, np.int32))
                self._index = index
            return self._index


@dataclass(frozen=True, eq=False)
class NearPart:
    """Queries and a part of the targets.

    Attributes:
        queries: int32 (q,), sequences.
        first, last: int32 (q,), which of the part's targets each is compared with, half-open.
        wanted: which hits of a query count.
    """

    part: TargetPart
    queries: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    wanted: Wanted
