"""Which pairs of encoded sequences are within their limits of edits: the limits, and the filter on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock, PairRuns

#: the most edits that the filter counts
MAX_EDITS = 254


@dataclass(frozen=True, eq=False)
class EditLimits:
    """The most edits that an identity allows a pair (EditLimits of ``cuda/algo/align/edit/edit_band.hpp``).

    Attributes:
        by_length: int32 (n,), of two sequences of equal length, by that length; of unequal ones the shorter counts.
        with_difference: the difference of the lengths is added.
    """

    by_length: NDArray[np.int32]
    with_difference: bool

    def of(self, n: NDArray[np.int32], m: NDArray[np.int32]) -> NDArray[np.int32]:
        """int32 (p,): the limits of pairs of n and m symbols."""
        limits: NDArray[np.int32] = _native.edit_limits(self.by_length, self.with_difference, n, m)
        return limits

    def counted(self, n: NDArray[np.int32], m: NDArray[np.int32]) -> NDArray[np.int32] | None:
        """int32 (p,): the limits of pairs of n and m symbols, or None where one is beyond :data:`MAX_EDITS`."""
        if len(n) == 0 or self.by_length[min(n.min(), m.min())] > MAX_EDITS:
            return None
        limits = self.of(n, m)
        return None if int(limits.max()) > MAX_EDITS else limits

    def widest(
        self, block: PairBlock, query_lengths: NDArray[np.int32], target_lengths: NDArray[np.int32]
    ) -> int | None:
        """The highest of a block's limits, or a little more; None beyond :data:`MAX_EDITS`. Runs of pairs are looked at
        as a whole, which saves writing out their pairs.
        """
        if isinstance(block, PairRuns) and len(block):
            n, m = query_lengths[block.query], target_lengths
            widest = int(self.by_length[min(n.max(), m.max())])
            if self.with_difference:
                widest += max(0, int(n.max() - m.min()), int(m.max() - n.min()))
            if widest <= MAX_EDITS:
                return widest
        limits = self.counted(query_lengths[block.queries], target_lengths[block.targets])
        return None if limits is None else int(limits.max())


def distances_within(
    queries: EncodedSequences,
    targets: EncodedSequences,
    block: PairBlock,
    limits: NDArray[np.int32],
    scoring: Scoring,
) -> NDArray[np.int32]:
    """int32 (p,): the edit distance of each pair that is within its limit, else -1."""
    sequences = (queries.codes, queries.offsets, targets.codes, targets.offsets)
    distances: NDArray[np.int32] = _native.edit_distances(
        *sequences, block.queries, block.targets, limits, *scoring.matching
    )
    return distances
