"""Suffix array of the reference, for matches that are unique in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.reference import Reference

#: bases by which suffixes are grouped, at most
_LONGEST_PREFIX = 13


@dataclass(frozen=True)
class SuffixArray:
    """The suffixes of a reference with at least k bases, sorted to a bounded depth.

    cuda/algo/seeds/matches/unique_mem.hpp searches them.

    Attributes:
        reference: what was sorted.
        k: bases by which the suffixes are grouped.
        offsets: uint32 (4**k + 1,), where each group begins.
        positions: uint32 (n,), where the suffixes begin.
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


def build_suffix_array(reference: Reference, k: int, threads: int = 1) -> SuffixArray:
    """Build the suffix array of a reference. The result does not depend on ``threads``."""
    return SuffixArray(reference, k, *_native.build_suffix_array(reference.native, k, threads))
