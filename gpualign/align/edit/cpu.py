"""The work of ``verify`` as a backend sees it: a batch of (query, window) pairs in, distances and positions out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.columns import Columns
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import STEPS

#: queries of more bases than a tile of the native code; their first limit, at least and as a share of the length
_LONG, _FIRST_LIMIT, _FIRST_SHARE = 512, 64, 32
#: --mode, as the native code and the kernels number it (cuda/abi/verify.hpp)
MODES = _native.verify_modes()


@dataclass(frozen=True)
class VerifyPairs:
    """``n`` pairs of a query and a window of the reference.

    Attributes:
        reference: packed text; ``resident`` says whether later batches have the same.
        bases: uint8 (total,), bases of the queries that occur in the batch, joined.
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

    def part(self, first: int, last: int) -> VerifyPairs:
        """Pairs [first, last), with the same queries."""
        return self.take(slice(first, last))

    def take(self, where: Any) -> VerifyPairs:
        """The pairs at ``where`` (an index or a slice), with the same queries."""
        columns = {name: getattr(self, name)[where] for name in ("query", "begin", "end", "strand")}
        return replace(self, plan=None, **columns)


@dataclass(frozen=True)
class VerifyResult(Columns):
    """Result of ``n`` pairs.

    Attributes:
        distance: int32 (n,), errors; -1 beyond the query's limit.
        start, end: int32 (n,), half-open interval within the window: the first best end, and for it the first start.
    """

    distance: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]


@STEPS.at("compute")
def verify_on_cpu(pairs: VerifyPairs) -> VerifyResult:
    """The CPU form: one pair per vector lane. Long queries without a limit have a narrow one at first, which is doubled
    until it holds the answer (Ukkonen 1985), as it leaves out most of the matrix.
    """
    lengths = np.diff(pairs.offsets)
    unlimited = (lengths > _LONG) & (pairs.limits >= lengths)
    if not unlimited.any():
        return _verify(pairs)
    limit = np.maximum(_FIRST_LIMIT, lengths // _FIRST_SHARE)
    result = _verify(replace(pairs, limits=np.where(unlimited, limit, pairs.limits).astype(np.int32)))
    left = np.flatnonzero((result.distance < 0) & unlimited[pairs.query])
    while len(left):
        limit = 2 * limit
        limits = np.where(limit < lengths, limit, pairs.limits).astype(np.int32)
        again = _verify(replace(pairs.take(left), limits=limits))
        for name in ("distance", "start", "end"):
            getattr(result, name)[left] = getattr(again, name)
        left = left[(again.distance < 0) & (limits < pairs.limits)[pairs.query[left]]]
    return result


def _verify(pairs: VerifyPairs) -> VerifyResult:
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
