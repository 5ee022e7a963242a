"""The records of `map`'s kernel, as they come back from the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map.device.fastq import StagedText
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch


@dataclass(frozen=True)
class DeviceRecords:
    """The device's records of a batch.

    Attributes:
        parts: for each part of the batch, records (uint8, MapRecord of cuda/abi/map.hpp: one per read, then overflow
            records) and number of reads.
        text: the text, if kernels parsed it.
    """

    parts: tuple[tuple[NDArray[np.uint8], int], ...]
    text: StagedText | None = None

    @cached_property
    def left(self) -> NDArray[np.uint8]:
        """uint8 (n,): 1 for reads that are left to the CPU."""
        return np.concatenate([_native.reads_on_host(*part) for part in self.parts])

    @cached_property
    def left_count(self) -> int:
        return int(np.count_nonzero(self.left.view(np.bool_)))

    def alignments(
        self,
        batch: SequenceBatch | None,
        mates: NDArray[np.uint8] | None,
        on_cpu: Callable[[SequenceBatch], Alignments],
    ) -> Alignments:
        """All records of the batch.

        Args:
            batch: all reads, if some are left to the CPU.
            mates: ``SequenceBatch.mates`` if pairs were mapped together.
            on_cpu: maps the reads that the device left.
        """
        from_cpu = on_cpu(_taken(batch, self.left)) if batch is not None and self.left_count else Alignments.none()
        return Alignments(*_native.finish_records(parts=list(self.parts), mates=mates, of_host=from_cpu.native))


def _taken(batch: SequenceBatch, chosen: NDArray[np.uint8]) -> SequenceBatch:
    """The chosen reads."""
    bases, qualities, offsets, names, name_offsets, mates = _native.take_reads(
        batch.bases, batch.qualities, batch.base_offsets, batch.names, batch.name_offsets, batch.mates, chosen
    )
    return SequenceBatch(names, name_offsets, bases, offsets, qualities, mates=mates)
