"""LCS lengths of a few queries against a batch of subjects: items, results, and their computation on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.lcs.query import LcsQuery
from gpualign.lcs.tuning import LCS_TRACE_CELLS, LCS_TRACE_SYMBOLS
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.sequences.offsets import offsets_of
from gpualign.streaming.timeline import STEPS


@dataclass(frozen=True)
class ScoredBatch:
    """A batch with its lengths.

    Attributes:
        batch: the subjects.
        lengths: int32 (queries, n): LCS length of each query and subject.
        indices: int64 (n,), ascending: which of the item's subjects these are; None: all.
        of: subjects and residues of the item, where ``indices`` are given.
    """

    batch: SequenceBatch
    lengths: NDArray[np.int32]
    indices: NDArray[np.int64] | None = None
    of: tuple[int, int] = (0, 0)

    @property
    def subjects(self) -> int:
        return len(self.batch) if self.indices is None else self.of[0]

    @property
    def residues(self) -> int:
        return len(self.batch.bases) if self.indices is None else self.of[1]

    @classmethod
    def join(cls, parts: Sequence[ScoredBatch]) -> ScoredBatch:
        """The parts of a batch as the whole of it."""
        batch = join_batches([part.batch for part in parts])
        lengths = np.concatenate([part.lengths for part in parts], axis=1)
        if all(part.indices is None for part in parts):
            return cls(batch, lengths)
        subjects = [part.subjects for part in parts]
        starts = offsets_of(subjects)[:-1]
        indices = [
            start + (np.arange(count) if part.indices is None else part.indices)
            for part, start, count in zip(parts, starts, subjects, strict=True)
        ]
        return cls(batch, lengths, np.concatenate(indices), (sum(subjects), sum(part.residues for part in parts)))

    def only(self, indices: NDArray[np.int64]) -> ScoredBatch:
        """Without the other subjects, unless these are most of them."""
        if 2 * len(indices) > len(self.batch):
            return self
        return ScoredBatch(self.batch.take(indices), self.lengths[:, indices], indices, (self.subjects, self.residues))


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
