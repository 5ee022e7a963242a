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
        parts: records (uint8, the bytes of MapRecord in cuda/abi/map.hpp) and number of reads of each part of the batch
            that was mapped at once: a record a read, then further ones.
        text: that kernels parsed; None: the host did.
    """

    parts: tuple[tuple[NDArray[np.uint8], int], ...]
    text: StagedText | None = None

    @cached_property
    def left(self) -> NDArray[np.uint8]:
        """uint8 (n,): 1 for the reads that are left to the CPU."""
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
            batch: where reads are left to the CPU, all of them.
            mates: as :class:`SequenceBatch` has it, of pairs that were mapped together.
            on_cpu: batch -> alignments of the reads that the device left.
        """
        of_host = on_cpu(_taken(batch, self.left)) if batch is not None and self.left_count else Alignments.none()
        return Alignments(*_native.finish_records(parts=list(self.parts), mates=mates, of_host=of_host.native))


def _taken(batch: SequenceBatch, chosen: NDArray[np.uint8]) -> SequenceBatch:
    """The chosen reads."""
    bases, qualities, offsets, names, name_offsets, mates = _native.take_reads(
        batch.bases, batch.qualities, batch.base_offsets, batch.names, batch.name_offsets, batch.mates, chosen
    )
    return SequenceBatch(names, name_offsets, bases, offsets, qualities, mates=mates)
