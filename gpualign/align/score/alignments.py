"""Alignments of a block of pairs, and the columns derived from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences import identity
from gpualign.sequences.columns import Columns


@dataclass(frozen=True)
class PairAlignments(Columns):
    """Aligned pairs of one block, in the block's order; pairs that a filter dropped are not there.

    Attributes:
        query, target: int32 (p,), which sequences.
        minus: bool (p,), the query's reverse complement was aligned.
        score: int32 (p,).
        spans: int32 (p, 4), query start and end, target start and end, half-open, on the strand that was aligned.
        counts: int32 (p, 4), matches, mismatches, gaps, gap symbols.
        cigar: uint32, BAM words of all pairs joined.
        cigar_offsets: int64 (p + 1,).
        lengths: int64 (p, 2), symbols of query and target.

    Without a traceback, spans, counts and the CIGARs are None.
    """

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    minus: NDArray[np.bool_]
    score: NDArray[np.int32]
    lengths: NDArray[np.int64]
    spans: NDArray[np.int32] | None = None
    counts: NDArray[np.int32] | None = None
    cigar: NDArray[np.uint32] | None = None
    cigar_offsets: NDArray[np.int64] | None = None


class Measures:
    """Numbers that follow from alignments; each is computed when it is asked for."""

    def __init__(self, alignments: PairAlignments, mode: str) -> None:
        assert alignments.spans is not None
        assert alignments.counts is not None
        self._all = alignments
        counts, spans = alignments.counts.astype(np.int64), alignments.spans.astype(np.int64)
        self.n, self.m = alignments.lengths[:, 0], alignments.lengths[:, 1]
        self.matches, self.mismatches, self.openings, self.gaps = counts.T
        self.columns = self.matches + self.mismatches + self.gaps
        self.query_start, self.query_end, self.target_start, self.target_end = spans.T
        outside = np.stack([self.query_start, self.n - self.query_end, self.target_start, self.m - self.target_end])
        self._free = outside if mode == "semi-global" else np.zeros_like(outside)

    def query_span(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64 (p,) starts and ends of the aligned part on the query's forward strand, half-open."""
        minus = self._all.minus
        start = np.where(minus, self.n - self.query_end, self.query_start)
        end = np.where(minus, self.n - self.query_start, self.query_end)
        return start, end

    def identity(self, definition: int) -> NDArray[np.float64]:
        """float64 (p,): identity by vsearch's definition, 0 to 1."""
        return identity.fraction(
            definition,
            self.matches,
            self.mismatches,
            self.openings + (self._free > 0).sum(0),
            self.columns + self._free.sum(0),
            self.columns - self._terminal_gaps() if definition == 2 else self.columns,
            self.n,
            self.m,
        )

    def _terminal_gaps(self) -> NDArray[np.int64]:
        """int64 (p,): gap symbols before the first and after the last aligned pair."""
        cigar, offsets = self._all.cigar, self._all.cigar_offsets
        assert cigar is not None
        assert offsets is not None
        lengths = (cigar >> 4).astype(np.int64)
        gap = (cigar & 15) != 0
        row = np.repeat(np.arange(len(self._all)), np.diff(offsets))
        position = np.arange(len(cigar)) - offsets[row]
        from_end = offsets[row + 1] - 1 - np.arange(len(cigar))
        # a gap in one sequence may lie next to one in the other, so up to two operations at an end are gaps
        first = gap & (position == 0)
        first[1:] |= gap[1:] & (position[1:] == 1) & first[:-1]
        last = gap & (from_end == 0)
        last[:-1] |= gap[:-1] & (from_end[:-1] == 1) & last[1:]
        return np.bincount(row[first | last], lengths[first | last], len(self._all)).astype(np.int64)
