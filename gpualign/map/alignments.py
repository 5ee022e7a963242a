"""Reads and their alignments as arrays, until they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign.records.record_sorter import RecordBatch
from gpualign.run.abi import filled
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.columns import Arrays

#: the flag of reads that fail the sequencer's filters; other flags of the input describe its mapping
_QC_FAIL = np.uint16(0x200)


@dataclass(frozen=True)
class Alignments(Arrays):
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
        return replace(self, flag=self.flag | np.repeat(flags & _QC_FAIL, np.diff(self.record_offsets)))

    @property
    def mapped(self) -> int:
        """Mapped reads."""
        return int(np.count_nonzero(self.contig[self.primary] >= 0))


_SECONDARY = np.uint16(0x100)


class DeviceReads(Protocol):
    """Reads that a device parsed and may still hold.

    Attributes:
        base_offsets, mates: see :class:`SequenceBatch`.
        text_bytes: bytes of their text.
    """

    @property
    def base_offsets(self) -> NDArray[np.int64]: ...
    @property
    def mates(self) -> NDArray[np.uint8] | None: ...
    @property
    def text_bytes(self) -> int: ...
    def columns(self) -> SequenceBatch:
        """The reads, parsed on the host."""

    def sequences(self) -> SequenceBatch:
        """The reads, maybe without names."""


@dataclass(frozen=True)
class Found:
    """Reads and their alignments.

    Attributes:
        reads: in memory, or on the device that parsed them.
        alignments: the records.
        on_gpu: number of reads that a GPU mapped.
        wanted: uint8 (n,), 1 for reads whose records are written; None: all.
        options: of the records, for native functions.
        invalid_tags: number of fields of comments that are not valid tags.
        unmapped_reads, mapped_reads: FASTQ of these reads, if it is written.
    """

    reads: SequenceBatch | DeviceReads
    alignments: Alignments
    on_gpu: int = 0
    wanted: NDArray[np.uint8] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    invalid_tags: int = 0
    unmapped_reads: bytes | NDArray[np.uint8] = b""
    mapped_reads: bytes | NDArray[np.uint8] = b""

    def __len__(self) -> int:
        return len(self.base_offsets) - 1

    @property
    def base_offsets(self) -> NDArray[np.int64]:
        return self.reads.base_offsets

    @property
    def mates(self) -> NDArray[np.uint8] | None:
        return self.reads.mates

    @property
    def batch(self) -> SequenceBatch | None:
        """The reads, if the host has them."""
        return self.reads if isinstance(self.reads, SequenceBatch) else None

    def columns(self) -> SequenceBatch:
        """The reads, parsed on the host if only a device has them."""
        return self.reads if isinstance(self.reads, SequenceBatch) else self.reads.columns()

    def sequences(self) -> SequenceBatch:
        """The reads, maybe without names and comments."""
        return self.reads if isinstance(self.reads, SequenceBatch) else self.reads.sequences()

    @property
    def native_options(self) -> tuple[bytes, str, bytes]:
        """The options for native functions: a ``SamOptions``, the read group, and the ALT contigs."""
        return self.sam_options().tobytes(), self.options["read_group"], self.options["alt_contigs"]

    def sam_options(self, **addresses: int) -> np.void:
        """``SamOptions`` of cuda/abi/text.hpp, without the options that are texts unless their addresses are given."""
        values = {name: value for name, value in self.options.items() if name not in ("read_group", "alt_contigs")}
        return filled("SamOptions", **values, **addresses)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (n,): bases of each read."""
        return np.diff(self.base_offsets)

    @property
    def wanted_records(self) -> int:
        """Number of records to write: of the wanted reads, without secondary ones if these go to XA."""
        flag, secondary = self.alignments.flag, self.options["secondary_records"]
        if self.wanted is None and secondary:
            return len(flag)
        written = np.ones(len(flag), bool) if secondary else flag & _SECONDARY == 0
        if self.wanted is not None:
            written &= np.repeat(self.wanted.astype(bool), np.diff(self.alignments.record_offsets))
        return int(np.count_nonzero(written))

    @property
    def mapped_templates(self) -> NDArray[np.uint8]:
        """uint8 (n,): 1 for reads that are mapped or whose mate is, so that pairs stay together."""
        mapped = (self.alignments.contig[self.alignments.primary] >= 0).astype(np.uint8)
        if self.mates is not None:
            first = np.flatnonzero(self.mates == 1)
            mapped[first] |= mapped[first + 1]
            mapped[first + 1] = mapped[first]
        return mapped

    def part(self, start: int, end: int) -> Found:
        """Reads ``start`` to ``end``, and their records."""
        part = Found(self.columns().part(start, end), self.alignments.part(start, end))
        return replace(part, wanted=None if self.wanted is None else self.wanted[start:end], options=self.options)


@dataclass(frozen=True)
class Written:
    """The output of a batch, for each of a run's files.

    Attributes:
        records: uint8, formatted records; empty if they are held.
        held: sorted records to hold until all are known.
        count: number of records.
        deflated: ``records`` are whole BGZF blocks.
        unmapped_reads, mapped_reads: see :class:`Found`.
    """

    records: NDArray[np.uint8]
    count: int
    deflated: bool = False
    held: RecordBatch | None = None
    unmapped_reads: bytes | NDArray[np.uint8] = b""
    mapped_reads: bytes | NDArray[np.uint8] = b""
