"""What the commands compute, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Alignments:
    """One primary alignment per read, in the order of the reads.

    Attributes:
        flag: uint16 (n,), SAM flags.
        contig: int32 (n,), index into the reference's names, -1 for an unmapped read.
        position: int64 (n,), 0-based first aligned base in the contig.
        mapq: uint8 (n,).
        score: int32 (n,), affine score without clip penalties.
        distance: int32 (n,), Levenshtein distance of the whole read to the reference; -1 unmapped.
        second_distance: int32 (n,), that of the best other place; -1 where none is within the limit.
        cigar: uint32, length << 4 | operation as in BAM, all reads one behind the other.
        cigar_offsets: int64 (n + 1,).
    """

    flag: NDArray[np.uint16]
    contig: NDArray[np.int32]
    position: NDArray[np.int64]
    mapq: NDArray[np.uint8]
    score: NDArray[np.int32]
    distance: NDArray[np.int32]
    second_distance: NDArray[np.int32]
    cigar: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.flag)

    @property
    def mapped(self) -> int:
        return int(np.count_nonzero(self.contig >= 0))
