"""The LCS filter's stage: LCS lengths of a few queries against a batch of subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.backends.base import Stage
from gpualign.lcs_query import LcsQuery
from gpualign.sequences import SequenceBatch

if TYPE_CHECKING:
    from gpualign.gpu.device import Device


@dataclass(frozen=True)
class ScoredBatch:
    """A batch with its lengths.

    Attributes:
        batch: the subjects.
        lengths: int32 (queries, n): LCS length of each query and subject.
    """

    batch: SequenceBatch
    lengths: NDArray[np.int32]


def score_on_cpu(queries: Sequence[LcsQuery], formulation: str, batch: SequenceBatch) -> ScoredBatch:
    """All queries against a batch with vector words on the calling thread."""
    rows = [
        _native.lcs_lengths(query.codes, query.symbols, batch.bases, batch.base_offsets, query.table, formulation)
        for query in queries
    ]
    return ScoredBatch(batch, np.stack(rows))


def lcs_stage(
    queries: Sequence[LcsQuery], formulation: str, read: Callable[[Any], SequenceBatch]
) -> Stage[Any, ScoredBatch]:
    """The stage over items that ``read`` turns into batches."""

    def make_kernel(device: Device) -> Any:
        from gpualign.gpu.kernels.lcs import LcsKernel

        return LcsKernel(device, queries, formulation, read)

    return Stage(lambda item: score_on_cpu(queries, formulation, read(item)), make_kernel)
