"""The work of ``verify`` as a backend sees it: a batch of (query, window) pairs in, distances and places out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.reference import Reference

#: --mode, as the native code and the kernels number it (cuda/abi/verify.hpp)
MODES: dict[str, int] = _native.VERIFY_MODES


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
    plan: Any = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.query)

    def slice(self, first: int, last: int) -> VerifyPairs:
        """Pairs [first, last), with the same queries."""
        columns = {name: getattr(self, name)[first:last] for name in ("query", "begin", "end", "strand")}
        return replace(self, plan=None, **columns)


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
            reference=pairs.reference.native,
            bases=pairs.bases,
            offsets=pairs.offsets,
            query=pairs.query,
            begin=pairs.begin,
            end=pairs.end,
            strand=pairs.strand,
            limit=pairs.limits,
            mode=pairs.mode,
        )
    )
