"""Launch numbers of `mems` and what its work costs a core. Swept by the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from gpualign.run.gpu.compiler import Variant
from gpualign.run.select import Kernels, Work


@dataclass(frozen=True)
class MemsShape:
    """Shapes of `mems` on a device.

    Attributes:
        tile: query starts a warp takes at a time; larger tiles hash fewer positions twice (w - 1 after each), smaller
            ones keep more warps on a multiprocessor.
        warps: warps a block.
        max_window: largest w; registers are reserved for it.
    """

    tile: int
    warps: int
    max_window: int

    @property
    def defines(self) -> dict[str, str]:
        return {"TILE": str(self.tile), "WARPS": str(self.warps), "MAX_WINDOW": str(self.max_window)}


#: k-mers of a window for which registers are reserved
_MEMS_WINDOWS = (8, 20, 48, 96, 256)


def choose_mems_shape(w: int) -> MemsShape:
    """The shape for an index of window ``w`` (one table so far, swept on compute capability 9.0)."""
    # a dense index gives enough seeds a position to fill a warp from a small tile; a wide window is hashed twice
    tile = 32 if w <= 4 else 128 if w <= 48 else 256
    return MemsShape(tile=tile, warps=4, max_window=next(maximum for maximum in _MEMS_WINDOWS if w <= maximum))


VARIANTS: tuple[Variant, ...] = (
    *(("mems", choose_mems_shape(w).defines) for w in (4, *_MEMS_WINDOWS)),
    ("mems_text", {}),
)

#: a core's rate is of bases searched for matches of at least :data:`MEMS_LONG`
KERNELS = Kernels("mems", core_rate=3e7, compile_s=1.5, variants=VARIANTS)
MEMS_LONG = 16


def work_of(bases: float | None, min_length: int) -> Work:
    """The work on queries of ``bases`` bases; shorter matches are far more, by chance alone."""
    return Work.of(KERNELS, bases, KERNELS.core_rate / (1 if min_length >= MEMS_LONG else 20))
