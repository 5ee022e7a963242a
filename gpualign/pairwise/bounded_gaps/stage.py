"""The stage of bounded gaps: a block of pairs to alignments."""

from __future__ import annotations

from gpualign.engine.stage import Stage
from gpualign.pairwise.bounded_gaps.cpu import GapAlignments, GapModel, PairBlock, align_on_cpu
from gpualign.pairwise.bounded_gaps.device import make_kernel


def stage_of(model: GapModel) -> Stage[PairBlock, GapAlignments]:
    """Bounded-gap alignment of a block on either backend."""

    return Stage(lambda block: align_on_cpu(block, model), lambda device: make_kernel(device, model))
