"""Which subjects pass, and the best of each query over all batches, ties in input order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign.align.lcs.cpu import ScoredBatch
from gpualign.align.lcs.query import QueryStrands
from gpualign.errors import check_count
from gpualign.lcs.output import NO_HITS, LcsHits
from gpualign.lcs.params import LcsFilterParams
from gpualign.streaming.timeline import STEPS


@dataclass(frozen=True)
class Selected:
    """What is kept of a batch.

    Attributes:
        hits: numbered within the batch.
        subjects, residues: of the batch.
    """

    hits: LcsHits
    subjects: int
    residues: int


@STEPS.at("compute")
def select(params: LcsFilterParams, queries: Sequence[QueryStrands], scored: ScoredBatch) -> Selected:
    """What can become a hit, whatever other batches have: by query, or by subject where nothing is ranked."""
    batch, lengths = scored.batch, scored.batch.lengths
    check_count("subjects", len(batch), scored.lengths.shape[1])
    found, row = [], 0
    for number, query in enumerate(queries):
        scores, minus = better_strand(scored.lengths[row : row + len(query.strands)])
        row += len(query.strands)
        subject = np.flatnonzero(_wanted(params, query.length, scores, lengths))
        if not params.streams:
            subject = subject[best(scores[subject], params.top, params.keep_ties)]
        of = np.full(len(subject), number)
        found.append(LcsHits(batch, subject, subject, lengths[subject], of, scores[subject], minus[subject]))
    hits = LcsHits.join(found, batch)
    if params.streams:
        hits = hits.take(np.argsort(hits.subject, kind="stable"))
    return Selected(hits.alone(params.whole_records or params.subsequence), len(batch), len(batch.bases))


def better_strand(lengths: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """(strands, n) lengths to the better strand's (n,) and whether that is minus; equal ones are plus."""
    if len(lengths) == 1:
        return lengths[0], np.zeros(lengths.shape[1], bool)
    return np.maximum(lengths[0], lengths[1]), lengths[1] > lengths[0]


def _wanted(
    params: LcsFilterParams, query_length: int, scores: NDArray[np.int32], lengths: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """bool (n,): which subjects are on the side of the cut that is asked for."""
    of = {
        "query": np.full(len(lengths), query_length),
        "subject": lengths,
        "shorter": np.minimum(lengths, query_length),
        "longer": np.maximum(lengths, query_length),
    }[params.ratio_of]
    # 0.7 of 10 must let 7 pass, although 0.7 * 10 in binary may be a little more than 7
    passes: NDArray[np.bool_] = (scores >= params.min_length) & (scores >= params.min_ratio * of - 1e-9)
    return ~passes if params.invert else passes


def best(scores: NDArray[np.int32], limit: int, keep_ties: bool) -> NDArray[np.int64]:
    """Where the ``limit`` highest scores stand (0: all), ascending; of equal ones the first, or all that are."""
    if not limit or len(scores) <= limit:
        return np.arange(len(scores))
    chosen = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return chosen if keep_ties else np.sort(chosen[np.argsort(-scores[chosen], kind="stable")[:limit]])


class Collector:
    """The best hits of one query so far."""

    def __init__(self, params: LcsFilterParams) -> None:
        self._params, self._whole = params, params.whole_records or params.subsequence
        self._kept: list[LcsHits] = []  # that may still be among the best, in order of input
        self._most = 2 * params.top  # of them, until others are dropped
        self._floor = -1  # a score that is too low by now

    def keep(self, hits: LcsHits) -> None:
        """Take the next batch's."""
        hits = hits.take(np.flatnonzero(hits.lcs > self._floor))
        if len(hits):
            self._kept.append(hits.alone(self._whole))
        if self._params.top and sum(map(len, self._kept)) > self._most:
            kept = self._best()
            self._kept, self._most = [kept.alone(self._whole)], 2 * len(kept)
            self._floor = int(kept.lcs.min()) - self._params.keep_ties

    def _best(self) -> LcsHits:
        hits = LcsHits.join(self._kept) if self._kept else NO_HITS
        return hits.take(best(hits.lcs, self._params.top, self._params.keep_ties))

    def ranked(self) -> LcsHits:
        """The best in the order of output."""
        hits = self._best()
        order = np.argsort(-hits.lcs, kind="stable")
        rank = np.empty(len(hits), np.int64)
        rank[order] = np.arange(1, len(hits) + 1)
        hits = replace(hits, rank=rank)
        return hits if self._params.input_order else hits.take(order)
