"""Launch numbers of bounded gaps and what their work costs a core. Swept by the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.run.gpu.compiler import Variant
from gpualign.run.select import Kernels

#: threads a block of every bounded-gap kernel
GAPSMIS_THREADS = 128


@dataclass(frozen=True)
class Gapsmis:
    """Launch numbers of cuda/bounded_gaps.cu.

    Attributes:
        width_packed, width_scores, width_warp, width_trace: columns that a lane keeps in registers, 2K+1 values each:
            two pairs a thread, one pair a thread, a pair a warp, with traceback. For the last, width * 4K bits (rounded
            up to 4, 8, 16 or 32 a column) must fill whole words.
        blocks: blocks that must fit on a multiprocessor, which bounds the registers.
        warp_cells: pairs of more cells than this get a warp each.
        thread_pairs: with fewer pairs than this every pair gets a warp, or threads would lie idle.
        workspace_share: of the device's budget, for one batch's edges, directions and checkpoints.
    """

    width_packed: int
    width_scores: int
    width_warp: int
    width_trace: int
    blocks: int = 2
    warp_cells: int = 1 << 20
    thread_pairs: int = 1 << 14
    workspace_share: float = 0.4


#: more gaps than this take more registers than there are, and minutes to compile: they are left to the CPU
GAPSMIS_MAX_GAPS = 8


#: by K: what fits in the 255 registers a thread may have with two blocks on a multiprocessor
GAPSMIS = {
    0: Gapsmis(32, 32, 32, 32),
    1: Gapsmis(28, 28, 20, 16),
    2: Gapsmis(24, 24, 16, 16),
    3: Gapsmis(16, 16, 12, 8),
    4: Gapsmis(12, 12, 12, 8),
    5: Gapsmis(10, 8, 8, 4),
    6: Gapsmis(8, 8, 6, 4),
    7: Gapsmis(8, 6, 6, 4),
    8: Gapsmis(6, 4, 4, 4),
}


def gapsmis_defines(max_gaps: int, strict: bool, traceback: bool, launch: Gapsmis) -> dict[str, str]:
    """Macros of cuda/bounded_gaps.cu."""
    numbers = {
        "GAPS": max_gaps,
        "STRICT": int(strict),
        "TRACE": int(traceback),
        "WIDTH_PACKED": launch.width_packed,
        "WIDTH_SCORES": launch.width_scores,
        "WIDTH_WARP": launch.width_warp,
        "WIDTH_TRACE": launch.width_trace,
        "THREADS": GAPSMIS_THREADS,
        "BLOCKS": launch.blocks,
    }
    return {name: str(number) for name, number in numbers.items()}


VARIANTS: tuple[Variant, ...] = tuple(
    ("bounded_gaps", gapsmis_defines(max_gaps, False, traceback, GAPSMIS[max_gaps]))
    for max_gaps in range(5)
    for traceback in (False, True)
)

#: a core's rate is of cells
KERNELS = Kernels("bounded_gaps", core_rate=5e9, compile_s=2.5, variants=VARIANTS)
