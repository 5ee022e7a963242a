"""Launch numbers of `pairwise` and what its work costs a core. Swept by the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.align.edit.tuning import FILTER_MODULE
from gpualign.run.gpu.compiler import Variant
from gpualign.run.select import Kernels, Work
from gpualign.sequences.encoded import EncodedSequences


@dataclass(frozen=True)
class PairwiseShape:
    """Shapes of `pairwise` on a device, and the rate of each kernel for the planner.

    Attributes:
        border_share: part of the device's budget for what a batch of tracebacks keeps.
        ring_share: part of the budget for the borders in flight in TiledDScan; with fewer, fewer warps run.
        part_symbols: rows and columns of the parts of a long pair's table that are computed again for its alignment:
            33 MB of directions, from 16 warps.
        round_parts: of them that are computed at a time.
        part_share, kept_share: of the memory that is left, at most, for a part's directions and for the borders that
            are kept (in a part that is split again half as much); borders in flight may have the rest.
        max_cells_per_thread: largest table (inside its band) of a thread's alignment.
        warps: warps of DScan that a device holds.
        *_rate: cells a second with the whole device busy, linear gaps, 16-bit halves where the kernel has them.
        *_warp_rate: cells a second of one warp.
        dscan_symbol_s, part_symbol_s: seconds of a symbol, of query or target, on the traceback through DScan's
            directions, and through parts with their directions.
        round_s: seconds of a round of parts.
        core_rate: cells a second of one of the host's cores, with a long pair's alignment.
    """

    border_share: float = 0.6
    ring_share: float = 0.8
    part_symbols: int = 1 << 13
    round_parts: int = 64
    part_share: float = 0.1
    kept_share: float = 0.2
    max_cells_per_thread: int = 1 << 27
    warps: int = 2000
    lazy_rate: float = 9.4e12
    lazy_warp_rate: float = 14e9
    lanes_rate: float = 5.8e12
    lanes_warp_rate: float = 5e9
    tiled_rate: float = 2.6e12
    tiled_warp_rate: float = 4e9
    rscan_rate: float = 2.0e12
    rscan_warp_rate: float = 4.5e9
    dscan_rate: float = 0.95e12
    dscan_warp_rate: float = 1.4e9
    dscan_symbol_s: float = 0.04e-6
    part_symbol_s: float = 0.045e-6
    round_s: float = 4.5e-3
    core_rate: float = 0.3e9


#: one shape serves 7.0 to 9.0; the rates are an H200's, and only their ratios matter
PAIRWISE = PairwiseShape()
#: the modules that have the kernels of one gap model each
PAIRWISE_MODULES = ("pairwise", "pairwise_ends", "pairwise_long", "pairwise_strips")


def pairwise_defines(affine: bool) -> dict[str, str]:
    """Macros of :data:`PAIRWISE_MODULES`."""
    return {"AFFINE": str(int(affine))}


FEW_MODULE = "pairwise_few"
#: what opening a gap costs on top of extending it, where a kernel has it in its instructions: linear gaps, and 10/1
_KNOWN_OPENINGS = (0, 9)


def few_defines(opening: int, local: bool) -> dict[str, str]:
    """Macros of :data:`FEW_MODULE`; ``opening``: cost of opening a gap, on top of extending it."""
    return {"OPENING": str(opening if opening in _KNOWN_OPENINGS and not local else -1)}


FEW_VARIANTS: tuple[Variant, ...] = tuple(
    (FEW_MODULE, few_defines(opening, local=False)) for opening in (*_KNOWN_OPENINGS, -1)
)


@dataclass(frozen=True)
class LaneShape:
    """Shape of ``cuda/pairwise_lanes.cu``: lanes of a group, rows of a lane in registers."""

    lanes: int
    rows: int


LANES_MODULE = "pairwise_lanes"
#: as many rows as registers allow, and fewer lanes or rows for shorter queries
LANE_SHAPES = tuple(
    LaneShape(lanes, rows) for lanes, rows in ((8, 16), (8, 24), (8, 32), (16, 24), (16, 32), (32, 24), (32, 32))
)
#: penalties of a gap's first and further symbols for which wheels have kernels: BLAST's 11/1 and 10/1
_PREBUILT_GAPS = ((12, 1), (11, 1))


def lanes_defines(shape: LaneShape, gap_open: int, gap_extend: int, ends: int) -> dict[str, str]:
    """Macros of :data:`LANES_MODULE`; ``ends``: 0 anywhere, 1 in the corners, 2 on the borders."""
    values = {"LANES": shape.lanes, "ROWS": shape.rows, "OPEN": gap_open, "EXTEND": gap_extend, "ENDS": ends}
    return {name: str(value) for name, value in values.items()}


VARIANTS: tuple[Variant, ...] = (
    (FILTER_MODULE, {}),
    *((source, pairwise_defines(affine)) for source in PAIRWISE_MODULES for affine in (False, True)),
    *FEW_VARIANTS,
    *((LANES_MODULE, lanes_defines(shape, *gaps, 0)) for gaps in _PREBUILT_GAPS for shape in LANE_SHAPES),
)

#: a core's rate is of cells of Needleman-Wunsch scores with affine gaps
KERNELS = Kernels("pairwise", core_rate=2.5e9, compile_s=2.5, variants=VARIANTS)


def work_of(cells: float | None, affine: bool, traced: bool) -> Work:
    """``traced``: alignments, not just scores."""
    return Work.of(KERNELS, cells, KERNELS.core_rate * (1 if affine else 3) / (2 if traced else 1))


def mean_cells(queries: EncodedSequences, targets: EncodedSequences) -> float:
    """Cells of a pair of sequences of mean length."""
    return len(queries.codes) / max(1, len(queries)) * len(targets.codes) / max(1, len(targets))
