"""Alignments of reads, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.offsets import join_offsets

#: the flag of reads that fail the sequencer's filters; other flags of the input describe its mapping
_KEPT_FLAGS = np.uint16(0x200)


@dataclass(frozen=True)
class Alignments:
    """The records of ``n`` reads in the order of the reads: of each the primary one, then others.

    Attributes:
        flag: uint16 (records,), SAM flags; above them 0x1000 for bisulfite reads with G as A.
        contig: int32 (records,), index into the reference's names, -1 for an unmapped read.
        position: int64 (records,), 0-based first aligned base in the contig.
        mapq: uint8 (records,).
        score: int32 (records,), affine score without clip penalties.
        distance: int32 (records,), edit distance of an end-to-end alignment; else -1.
        cigar: uint32, joined CIGARs: length << 4 | operation as in BAM.
        cigar_offsets: int64 (records + 1,).
        record_offsets: int64 (n + 1,), the records of each read.
    """

    flag: NDArray[np.uint16]
    contig: NDArray[np.int32]
    position: NDArray[np.int64]
    mapq: NDArray[np.uint8]
    score: NDArray[np.int32]
    distance: NDArray[np.int32]
    cigar: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]
    record_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.record_offsets) - 1

    @classmethod
    def none(cls) -> Alignments:
        """The alignments of no reads."""
        kinds = (np.uint16, np.int32, np.int64, np.uint8, np.int32, np.int32, np.uint32)
        return cls(*(np.zeros(0, kind) for kind in kinds), *np.zeros((2, 1), np.int64))  # type: ignore[arg-type]

    @classmethod
    def join(cls, parts: Sequence[Alignments]) -> Alignments:
        """Join one or more parts."""
        columns = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
            if not field.name.endswith("_offsets")
        }
        return cls(
            **columns,
            cigar_offsets=join_offsets([part.cigar_offsets for part in parts]),
            record_offsets=join_offsets([part.record_offsets for part in parts]),
        )

    @property
    def native(self) -> tuple[NDArray[Any], ...]:
        """The fields as native functions take them."""
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def primary(self) -> NDArray[np.int64]:
        """int64 (n,): the primary record of each read."""
        return self.record_offsets[:-1]

    def part(self, start: int, end: int) -> Alignments:
        """The records of reads ``start`` to ``end``; the columns are views."""
        first, last = int(self.record_offsets[start]), int(self.record_offsets[end])
        operations = slice(int(self.cigar_offsets[first]), int(self.cigar_offsets[last]))
        columns = {
            field.name: getattr(self, field.name)[first:last]
            for field in fields(self)
            if not (field.name == "cigar" or field.name.endswith("_offsets"))
        }
        return Alignments(
            **columns,
            cigar=self.cigar[operations],
            cigar_offsets=self.cigar_offsets[first : last + 1] - self.cigar_offsets[first],
            record_offsets=self.record_offsets[start : end + 1] - self.record_offsets[start],
        )

    def with_read_flags(self, flags: NDArray[np.uint16] | None) -> Alignments:
        """The alignments with the sequencer's flags of the input, uint16 (n,)."""
        if flags is None:
            return self
        return replace(self, flag=self.flag | np.repeat(flags & _KEPT_FLAGS, np.diff(self.record_offsets)))

    @property
    def mapped(self) -> int:
        """Mapped reads."""
        return int(np.count_nonzero(self.contig[self.primary] >= 0))
