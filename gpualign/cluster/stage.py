"""The stage of `cluster`: pairs to those that reach the identity."""

from __future__ import annotations

from functools import partial

from gpualign.cluster.cpu import ClusterProblem, Hits, NearPairs, near_on_cpu
from gpualign.engine.stage import Run, Stage
from gpualign.pairwise.device.kernel import PairwiseKernel


def cluster_stage(problem: ClusterProblem) -> Stage[NearPairs, Hits]:
    """The stage over pairs that the words leave. A device filters and aligns them as those of `pairwise`."""

    def on_device(item: NearPairs, run: Run) -> Hits:
        return problem.hits_of(run(lambda _: item.pairs))

    return Stage(partial(near_on_cpu, problem), lambda device: PairwiseKernel(device, problem.pairs), on_device)
