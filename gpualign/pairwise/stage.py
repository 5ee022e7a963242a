"""The stage of `pairwise`: a block of pairs to alignments, filtered by identity."""

from __future__ import annotations

from gpualign.engine.stage import Stage
from gpualign.pairwise.alignments import Alignments
from gpualign.pairwise.cpu import PairProblem, align_on_cpu
from gpualign.pairwise.device.kernel import PairwiseKernel
from gpualign.sequences.pairs import PairBlock


def pairwise_stage(problem: PairProblem) -> Stage[PairBlock, Alignments]:
    """The stage over blocks of pairs."""

    return Stage(lambda block: align_on_cpu(problem, block), lambda device: PairwiseKernel(device, problem))
