"""LCS lengths of a few queries against a batch of subjects: items, results, and their computation on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.lcs.query import LcsQuery
from gpualign.align.lcs.tuning import LCS_TRACE_CELLS, LCS_TRACE_SYMBOLS
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.streaming.timeline import STEPS


@dataclass(frozen=True)
class ScoredBatch:
    """A batch with its lengths.

    Attributes:
        batch: the subjects.
        lengths: int32 (queries, n): LCS length of each query and subject.
    """

    batch: SequenceBatch
    lengths: NDArray[np.int32]

    @classmethod
    def join(cls, parts: Sequence[ScoredBatch]) -> ScoredBatch:
        """The parts of a batch as the whole of it."""
        return cls(join_batches([part.batch for part in parts]), np.concatenate([part.lengths for part in parts], 1))


@dataclass(frozen=True)
class Winners:
    """Subjects whose subsequences are wanted.

    Attributes:
        query: on the strand that won.
        subjects: their symbols.
        lengths: of the subsequences, as they were scored.
    """

    query: LcsQuery
    subjects: list[bytes]
    lengths: list[int]

    @property
    def fit_devices(self) -> bool:
        """Whether the kernel of :func:`trace_stage` takes them, on any device."""
        longest = max(map(len, self.subjects), default=0)
        return self.query.symbols <= LCS_TRACE_SYMBOLS and len(self.query) * longest <= LCS_TRACE_CELLS


@STEPS.at("compute")
def score_on_cpu(queries: Sequence[LcsQuery], batch: SequenceBatch) -> ScoredBatch:
    """All queries against a batch with vector words on the calling thread."""
    rows = [
        _native.lcs_lengths(query.codes, query.symbols, batch.bases, batch.base_offsets, query.table)
        for query in queries
    ]
    return ScoredBatch(batch, np.stack(rows))
