"""The stage of `cluster`: pairs to those that reach the identity."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.cluster import tuning
from gpualign.cluster.cpu import ClusterProblem, Hits, NearPairs, near_on_cpu
from gpualign.cluster.parts import NearPart
from gpualign.run.stage import Run, Stage
from gpualign.sequences.pairs import PairBlock


def cluster_stage(problem: ClusterProblem, word: int) -> Stage[NearPairs | NearPart, tuple[Hits, int]]:
    """The stage over pairs that the words leave, or on a worker over queries and a part of the targets. A device
    filters and aligns pairs as those of `pairwise`. The results are hits, and how many pairs the words left of a part.
    """

    def hits(item: NearPairs | NearPart, size: int, of: Callable[[NearPairs], Hits]) -> tuple[Hits, int]:
        if isinstance(item, NearPairs):
            return of(item), 0
        index = item.part.index(problem, word)
        rows, found, *_ = index.candidates(item.queries, item.first, item.last, np.zeros(len(item.queries)), 1)
        blocks = cut(item.queries[rows], item.part.distinct[found], size)
        return Hits.join([Hits.none(), *(of(NearPairs(block, item.wanted)) for block in blocks)]), len(rows)

    def on_cpu(item: NearPairs | NearPart) -> tuple[Hits, int]:
        return hits(item, tuning.BLOCK_PAIRS, lambda pairs: near_on_cpu(problem, pairs))

    def on_device(item: NearPairs | NearPart, run: Run) -> tuple[Hits, int]:
        return hits(item, tuning.GPU_BLOCK_PAIRS, lambda pairs: problem.hits_of(run(lambda _: pairs.pairs)))

    return Stage(on_cpu, lambda device: PairwiseKernel(device, problem.pairs), on_device)


def cut(queries: NDArray[np.int32], targets: NDArray[np.int32], size: int) -> Iterator[PairBlock]:
    """Blocks of about ``size`` pairs that end with a query's last pair."""
    for piece in cut_slices(queries, size):
        yield PairBlock(queries[piece], targets[piece])


def cut_slices(queries: NDArray[np.int32], size: int) -> Iterator[slice]:
    """Slices of about ``size`` pairs that end with a query's last pair."""
    start = 0
    while start < len(queries):
        stop = min(start + size, len(queries))
        if stop < len(queries):
            same = np.flatnonzero(queries[stop:] != queries[stop - 1])
            stop = stop + int(same[0]) if len(same) else len(queries)
        yield slice(start, stop)
        start = stop
