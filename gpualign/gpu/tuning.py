"""Launch numbers in one place, by kernel, length class and compute capability. Swept by the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

#: what ``make kernels`` compiles beside every ``cuda/*.cu`` without macros: (module, macros)
VARIANTS: tuple[tuple[str, dict[str, str]], ...] = ()

#: threads a block of every bounded-gap kernel
GAPSMIS_THREADS = 128


@dataclass(frozen=True)
class Gapsmis:
    """Launch numbers of cuda/gapsmis.cu.

    Attributes:
        width_packed, width_scores, width_trace: columns that a lane keeps in registers (2K+1 values each); even, and
            for the traceback a multiple of 8.
        blocks: blocks that must fit on a multiprocessor, which bounds the registers.
        warp_cells: pairs of more cells than this get a warp each.
        thread_pairs: with fewer pairs than this every pair gets a warp, or threads would lie idle.
        workspace_share: of the device's budget, for one batch's edges, directions and checkpoints.
    """

    width_packed: int
    width_scores: int
    width_trace: int
    blocks: int = 2
    warp_cells: int = 1 << 20
    thread_pairs: int = 1 << 14
    workspace_share: float = 0.4


#: more gaps than this take more registers than there are, and minutes to compile: they are left to the CPU
GAPSMIS_MOST_GAPS = 8


def gapsmis(capability: tuple[int, int], max_gaps: int) -> Gapsmis:
    """The numbers for K gaps: a column takes 2K+1 registers, of which some 112 are to be had without spilling."""
    del capability  # one table so far
    if max_gaps <= 2:
        return Gapsmis(16, 16, 16)
    if max_gaps == 3:
        return Gapsmis(16, 16, 8)
    return Gapsmis(8, 8, 4) if max_gaps == 4 else Gapsmis(4, 4, 4)


@dataclass(frozen=True)
class MemsShape:
    """How `mems` spreads over a device.

    Attributes:
        tile: query text positions a warp takes at a time; larger tiles hash fewer positions twice (w - 1 on either
            side of each), smaller ones keep more warps on a multiprocessor.
        warps: warps a block.
        most_window: largest w; shared memory is reserved for it.
    """

    tile: int
    warps: int
    most_window: int

    @property
    def defines(self) -> dict[str, str]:
        return {"TILE": str(self.tile), "WARPS": str(self.warps), "MOST_WINDOW": str(self.most_window)}


def choose_mems_shape(capability: tuple[int, int], w: int) -> MemsShape:
    """The shape for an index of window ``w``."""
    return MemsShape(tile=256, warps=4, most_window=next(most for most in (16, 96, 256) if w <= most))
