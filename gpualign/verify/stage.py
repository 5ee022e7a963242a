"""The stage of `verify`: a batch of (query, window) pairs in, distances and positions out."""

from __future__ import annotations

from dataclasses import replace

from gpualign.engine.stage import Stage
from gpualign.verify.cpu import VerifyPairs, VerifyResult, verify_on_cpu
from gpualign.verify.device.kernel import VerifyKernel
from gpualign.verify.device.plan import plan


def planned(pairs: VerifyPairs) -> VerifyPairs:
    """The same batch with its device plan, so that the device's thread need not make it."""
    return replace(pairs, plan=plan(pairs))


#: one batch computes, one copies to the device and one from it: with two slots kernels of equal batches end together
STAGE: Stage[VerifyPairs, VerifyResult] = Stage(cpu=verify_on_cpu, make_kernel=VerifyKernel, slots=3)
