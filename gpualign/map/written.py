"""The output of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.io.record_sorter import RecordBatch


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
