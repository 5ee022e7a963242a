"""The work of ``verify`` as a backend sees it: a batch of (query, window) pairs in, distances and places out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.stage import Stage
from gpualign.sequences.reference import Reference

if TYPE_CHECKING:
    from gpualign.engine.gpu.device import Device
    from gpualign.verify.device.kernel import VerifyKernel
    from gpualign.verify.device.plan import Plan

#: --mode, as the native code and the kernels number it
MODES = {"infix": 0, "prefix": 1, "global": 2}


@dataclass(frozen=True)
class VerifyPairs:
    """``n`` pairs of a query and a window of the reference.

    Attributes:
        reference: packed text; ``resident`` says whether later batches have the same.
        bases: uint8 (total,), letters of the queries that occur in the batch, joined.
        offsets: int64 (queries + 1,).
        limits: int32 (queries,), most errors of interest.
        query: int32 (n,), index among the batch's queries.
        begin, end: uint32 (n,), half-open windows in packed positions.
        strand: uint8 (n,), 0 forward, 1 reverse.
        mode: a value of :data:`MODES`.
        plan: the device's plan for the batch, where a host thread has made it ahead (:func:`planned`).
    """

    reference: Reference
    bases: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    limits: NDArray[np.int32]
    query: NDArray[np.int32]
    begin: NDArray[np.uint32]
    end: NDArray[np.uint32]
    strand: NDArray[np.uint8]
    mode: int
    resident: bool = True
    plan: Plan | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.query)

    def slice(self, first: int, last: int) -> VerifyPairs:
        """Pairs [first, last), with the same queries."""
        part = slice(first, last)
        return VerifyPairs(
            self.reference,
            self.bases,
            self.offsets,
            self.limits,
            self.query[part],
            self.begin[part],
            self.end[part],
            self.strand[part],
            self.mode,
            self.resident,
        )


@dataclass(frozen=True)
class VerifyResult:
    """What became of ``n`` pairs.

    Attributes:
        distance: int32 (n,), errors; -1 beyond the query's limit.
        start, end: int32 (n,), half-open place within the window: the first best end, and for it the first start.
    """

    distance: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]


def verify_on_cpu(pairs: VerifyPairs) -> VerifyResult:
    """The CPU form: one pair per vector lane."""
    return VerifyResult(
        *_native.verify_pairs(
            pairs.reference.native,
            pairs.bases,
            pairs.offsets,
            pairs.query,
            pairs.begin,
            pairs.end,
            pairs.strand,
            pairs.limits,
            pairs.mode,
        )
    )


def planned(pairs: VerifyPairs) -> VerifyPairs:
    """The same batch with its device plan, so that the device's thread need not make it."""
    from gpualign.verify.device.plan import plan

    return replace(pairs, plan=plan(pairs))


def _make_kernel(device: Device) -> VerifyKernel:
    from gpualign.verify.device.kernel import VerifyKernel

    return VerifyKernel(device)


#: for ``Backend.run``
#: one batch computes, one copies to the device and one from it: with two slots kernels of equal batches end together
STAGE: Stage[VerifyPairs, VerifyResult] = Stage(cpu=verify_on_cpu, make_kernel=_make_kernel, slots=3)
