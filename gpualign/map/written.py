"""Bytes of a batch, for each of a run's files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.io.record_sorter import RecordBatch


@dataclass(frozen=True)
class Written:
    """What is written of a batch.

    Attributes:
        records: uint8; none where they are
        held: until all are known.
        count: how many records.
        deflated: they are whole blocks of BGZF.
        unmapped_reads, mapped_reads: as :class:`Found` has them.
    """

    records: NDArray[np.uint8]
    count: int
    deflated: bool = False
    held: RecordBatch | None = None
    unmapped_reads: bytes | NDArray[np.uint8] = b""
    mapped_reads: bytes | NDArray[np.uint8] = b""
