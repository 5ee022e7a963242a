"""The reference's positions in order of what follows them, for matches that are unique in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.reference import Reference

#: bases by which positions are grouped, at most
_LONGEST_PREFIX = 13


@dataclass(frozen=True)
class SortedPositions:
    """Every position of a reference that has k bases after it, sorted (cuda/algo/mems/unique_mem.hpp).

    Attributes:
        reference: what was sorted.
        k: bases by which the positions are grouped.
        offsets: uint32 (4**k + 1,), where each group begins.
        positions: uint32 (n,).
    """

    sent_once: ClassVar[bool] = True  # to a cluster's workers, apart from the items that hold it
    reference: Reference
    k: int
    offsets: NDArray[np.uint32]
    positions: NDArray[np.uint32]

    @property
    def nbytes(self) -> int:
        """With the packed reference."""
        return self.reference.words.nbytes + self.offsets.nbytes + self.positions.nbytes


def choose_prefix(min_length: int, bases: int) -> int:
    """k for matches of at least ``min_length`` bases; the table of groups takes no more than the positions do."""
    return max(1, min(min_length, _LONGEST_PREFIX, (bases.bit_length() - 1) // 2))


def sort_positions(reference: Reference, k: int, threads: int = 1) -> SortedPositions:
    """Sort a reference's positions. The result does not depend on ``threads``."""
    return SortedPositions(reference, k, *_native.sort_positions(reference.native, k, threads))
