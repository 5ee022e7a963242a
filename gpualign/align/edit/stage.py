"""The stage of `verify`: a batch of (query, window) pairs in, distances and positions out."""

from __future__ import annotations

from dataclasses import replace

from gpualign.align.edit.cpu import VerifyPairs, VerifyResult, verify_on_cpu
from gpualign.align.edit.device.kernel import VerifyKernel
from gpualign.align.edit.device.plan import plan
from gpualign.run.gpu.pinned_pool import pinned_copy
from gpualign.run.stage import Stage
from gpualign.streaming.pinned import Allocate
from gpualign.streaming.timeline import STEPS


@STEPS.at("parse")
def planned(pairs: VerifyPairs) -> VerifyPairs:
    """The batch with its device plan, so that the device's thread need not make it."""
    return replace(pairs, plan=plan(pairs))


def staged(pairs: VerifyPairs, allocate: Allocate) -> VerifyPairs:
    """The batch with its large arrays in pinned memory, so that the device's thread copies nothing."""
    if pairs.plan is None:
        return pairs
    made = pairs.plan
    tasks, queries, bases = (pinned_copy(array, allocate) for array in (made.tasks, made.query_arrays, pairs.bases))
    return replace(pairs, bases=bases, plan=replace(made, tasks=tasks, query_arrays=queries))


#: one batch computes, one copies to the device and one from it: with two slots kernels of equal batches end together
STAGE: Stage[VerifyPairs, VerifyResult] = Stage(verify_on_cpu, VerifyKernel, slots=3)
