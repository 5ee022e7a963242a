"""The stages of `lcs-filter`: batches of subjects to lengths, and the best subjects to their subsequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpualign.align.lcs.cpu import ScoredBatch, Winners, score_on_cpu
from gpualign.align.lcs.device.lengths import LcsKernel
from gpualign.align.lcs.device.trace import LcsTraceKernel
from gpualign.align.lcs.query import LcsQuery, common_subsequences
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.pinned_pool import pinned_copy
from gpualign.run.stage import Run, Stage
from gpualign.sequences.batch import SequenceBatch

#: batches in flight on a device
_SLOTS = 3


def trace_stage() -> Stage[Winners, list[bytes]]:
    """The stage from :class:`Winners` to their longest common subsequences."""

    def trace(winners: Winners) -> list[bytes]:
        return common_subsequences(winners.query, winners.subjects, winners.lengths)

    return Stage(trace, LcsTraceKernel)


def lcs_stage(
    queries: Sequence[LcsQuery],
    read: Callable[[Any], SequenceBatch],
    select: Callable[[ScoredBatch], Any] = lambda scored: scored,
) -> Stage[Any, Any]:
    """The stage over items that ``read`` parses into batches.

    Args:
        select: makes the result of what was scored.
    """

    def make_kernel(device: Device) -> Any:
        return LcsKernel(device, queries)

    def on_cpu(item: Any) -> Any:
        return select(score_on_cpu(queries, read(item)))

    def on_device(item: Any, run: Run) -> Any:
        batch = read(item)
        return select(run(lambda allocate: replace(batch, bases=pinned_copy(batch.bases, allocate))))

    return Stage(on_cpu, make_kernel, on_device, slots=_SLOTS)
