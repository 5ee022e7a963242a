"""The best N of a stream of scored batches, ties in input order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Payload = TypeVar("Payload")


class TopN(Generic[Payload]):
    """Keeps the ``limit`` highest scores; of equal scores the earlier one ranks higher.

    Batches come in input order, so a score equal to the last kept one never displaces anything.

    Args:
        limit: how many to keep; 0: all.
        keep_ties: keep everything that equals the score at rank ``limit`` as well.
    """

    def __init__(self, limit: int, keep_ties: bool = False) -> None:
        self.limit, self.keep_ties = limit, keep_ties
        self._kept: list[tuple[int, int, Payload]] = []  # (-score, index, payload), sorted

    def add(
        self, scores: NDArray[np.int32], wanted: NDArray[np.bool_], first_index: int, payload: Callable[[int], Payload]
    ) -> None:
        """Offer a batch.

        Args:
            scores: int32 (n,).
            wanted: bool (n,): False drops an item whatever its score.
            first_index: input index of the batch's first item.
            payload: called with the position in the batch of each item that may stay.
        """
        chosen = np.flatnonzero(wanted)
        if self.limit:
            if len(self._kept) >= self.limit:
                floor = -self._kept[self.limit - 1][0]
                chosen = chosen[scores[chosen] >= floor if self.keep_ties else scores[chosen] > floor]
            chosen = self.best(scores, chosen)
        if not len(chosen):
            return
        self._kept += [(-int(scores[i]), first_index + int(i), payload(int(i))) for i in chosen]
        if self.limit:
            self._trim()

    def best(self, scores: NDArray[np.int32], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of ``chosen``, ascending positions in ``scores``, that could be kept if there were no others."""
        if not self.limit or len(chosen) <= self.limit:
            return chosen
        floor = int(np.partition(scores[chosen], len(chosen) - self.limit)[len(chosen) - self.limit])
        chosen = chosen[scores[chosen] >= floor]
        if self.keep_ties:
            return chosen
        return np.sort(chosen[np.argsort(-scores[chosen], kind="stable")[: self.limit]])

    def _trim(self) -> None:
        self._kept.sort(key=lambda entry: entry[:2])
        end = self.limit
        while self.keep_ties and end < len(self._kept) and self._kept[end][0] == self._kept[self.limit - 1][0]:
            end += 1
        del self._kept[end:]

    def ranked(self) -> list[Payload]:
        """The kept items, best first."""
        self._kept.sort(key=lambda entry: entry[:2])
        return [payload for _, _, payload in self._kept]
