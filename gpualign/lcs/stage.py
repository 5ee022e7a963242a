"""The LCS filter's stage: LCS lengths of a few queries against a batch of subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.stage import Stage
from gpualign.lcs.query import LcsQuery, common_subsequences
from gpualign.sequences.batch import SequenceBatch, join_batches

if TYPE_CHECKING:
    from gpualign.engine.gpu.device import Device


@dataclass(frozen=True)
class ScoredBatch:
    """A batch with its lengths.

    Attributes:
        batch: the subjects.
        lengths: int32 (queries, n): LCS length of each query and subject.
        places: int64 (n,), ascending: which ones of the item's subjects these are; None: all.
        of: subjects and residues of the item, where ``places`` are given.
    """

    batch: SequenceBatch
    lengths: NDArray[np.int32]
    places: NDArray[np.int64] | None = None
    of: tuple[int, int] = (0, 0)

    @property
    def subjects(self) -> int:
        return len(self.batch) if self.places is None else self.of[0]

    @property
    def residues(self) -> int:
        return len(self.batch.bases) if self.places is None else self.of[1]

    @classmethod
    def join(cls, parts: Sequence[ScoredBatch]) -> ScoredBatch:
        """The parts of a batch as the whole of it."""
        batch = join_batches([part.batch for part in parts])
        lengths = np.concatenate([part.lengths for part in parts], axis=1)
        if all(part.places is None for part in parts):
            return cls(batch, lengths)
        subjects = [part.subjects for part in parts]
        starts = np.cumsum([0, *subjects[:-1]])
        places = [
            start + (np.arange(count) if part.places is None else part.places)
            for part, start, count in zip(parts, starts, subjects, strict=True)
        ]
        return cls(batch, lengths, np.concatenate(places), (sum(subjects), sum(part.residues for part in parts)))

    def only(self, places: NDArray[np.int64]) -> ScoredBatch:
        """Without the other subjects, unless these are most of them."""
        if 2 * len(places) > len(self.batch):
            return self
        return ScoredBatch(self.batch.take(places), self.lengths[:, places], places, (self.subjects, self.residues))


@dataclass(frozen=True)
class Winners:
    """Subjects whose subsequences are wanted.

    Attributes:
        query: on the strand that won.
        subjects: their letters.
        lengths: of the subsequences, as they were scored.
    """

    query: LcsQuery
    subjects: list[bytes]
    lengths: list[int]

    @property
    def fit_devices(self) -> bool:
        """Whether the kernel of :func:`trace_stage` takes them, on any device."""
        from gpualign.engine.gpu.tuning import LCS_TRACE_CELLS, LCS_TRACE_SYMBOLS

        longest = max(map(len, self.subjects), default=0)
        return self.query.symbols <= LCS_TRACE_SYMBOLS and len(self.query) * longest <= LCS_TRACE_CELLS


def trace_stage() -> Stage[Winners, list[bytes]]:
    """The stage from :class:`Winners` to their longest common subsequences."""

    def make_kernel(device: Device) -> Any:
        from gpualign.lcs.device.trace import LcsTraceKernel

        return LcsTraceKernel(device)

    def trace(winners: Winners) -> list[bytes]:
        return common_subsequences(winners.query, winners.subjects, winners.lengths)

    return Stage(trace, make_kernel)


def score_on_cpu(queries: Sequence[LcsQuery], formulation: str, batch: SequenceBatch) -> ScoredBatch:
    """All queries against a batch with vector words on the calling thread."""
    rows = [
        _native.lcs_lengths(query.codes, query.symbols, batch.bases, batch.base_offsets, query.table, formulation)
        for query in queries
    ]
    return ScoredBatch(batch, np.stack(rows))


def lcs_stage(
    queries: Sequence[LcsQuery],
    formulation: str,
    read: Callable[[Any], SequenceBatch],
    wanted: Callable[[ScoredBatch], NDArray[np.int64]] | None = None,
) -> Stage[Any, ScoredBatch]:
    """The stage over items that ``read`` turns into batches.

    Args:
        wanted: which subjects the result must hold, of those that the CPU scores; None: all.
    """

    def make_kernel(device: Device) -> Any:
        from gpualign.lcs.device.lengths import LcsKernel

        return LcsKernel(device, queries, formulation, read)

    def score(item: Any) -> ScoredBatch:
        scored = score_on_cpu(queries, formulation, read(item))
        return scored if wanted is None else scored.only(wanted(scored))

    return Stage(score, make_kernel)
