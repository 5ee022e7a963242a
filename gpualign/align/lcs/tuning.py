"""Launch numbers of `lcs-filter` and what its work costs a core. Swept by the benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpualign.run.gpu.compiler import Variant
from gpualign.run.select import Kernels


@dataclass(frozen=True)
class LcsShape:
    """Shape of the LCS kernel: threads and words.

    Attributes:
        tile: 32-bit words of the query a thread keeps in registers, a multiple of 4.
        lanes: threads on one subject: 1, 2, 4, 8, 16 or 32.
        threads: of a block.
        blocks: that must fit a multiprocessor, which bounds the registers of a thread.
    """

    tile: int
    lanes: int
    threads: int
    blocks: int

    @property
    def words(self) -> int:
        """Words of the query in one pass over the subjects."""
        return self.tile * self.lanes

    @property
    def defines(self) -> dict[str, str]:
        """Macros of ``cuda/lcs.cu``."""
        return {
            "LCS_TILE": str(self.tile),
            "LCS_LANES": str(self.lanes),
            "LCS_THREADS": str(self.threads * self.blocks),
        }


#: speed of the LCS kernel by threads on a subject, against one: the shuffles and the later start cost the rest
_LCS_LANES_SPEED = {1: 1.0, 4: 0.93, 8: 0.86, 16: 0.75, 32: 0.62}
#: threads of a multiprocessor by the most words a thread keeps in registers (64, 80, 96 or 128 registers). Blocks are
#: of 128, 256, … threads, so that its four schedulers get equally many warps
_LCS_THREADS = ((4, 1024), (8, 1024), (16, 1024), (32, 768), (48, 640), (64, 512))
#: blocks on a multiprocessor, the best first
_LCS_BLOCKS = {1024: (4, 2, 1), 768: (3, 2, 1), 640: (5, 1), 512: (4, 2, 1)}
#: tiles of one thread a subject, and of several, where the compiler runs out of registers in some of the sizes between
_LCS_TILES = (4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64)
_LCS_SHARED_TILES = (4, 8, 16, 32, 64)
#: share of those threads from which on the integer units are busy
_LCS_FULL = 0.35


def choose_lcs_shape(query_length: int, rows: int, subjects: int, multiprocessors: int, shared_limit: int) -> LcsShape:
    """The shape for a query of ``query_length`` symbols against a batch.

    One thread a subject is fastest, with as many words as registers hold, once there are subjects enough to fill
    the device; with fewer, threads share a subject. Blocks are sized so that the profiles of all the blocks of a
    multiprocessor fit its shared memory. Estimates agree with the sweep of ``benchmarks/lcs.py`` on an H200.

    Args:
        rows: masks in the profile: the query's distinct symbols and one empty row.
        subjects: of the batch.
        shared_limit: bytes of shared memory a block may have.
    """
    words = max(1, -(-query_length // 32))
    best, best_speed = LcsShape(4, 8, 1024, 1), 0.0  # 32 KiB for 256 rows: fits every device
    for lanes, lanes_speed in _LCS_LANES_SPEED.items():
        for (maximum, threads), (less, _) in zip(_LCS_THREADS, ((0, 0), *_LCS_THREADS), strict=False):
            passes = -(-words // (maximum * lanes))
            minimum = -(-words // (passes * lanes))
            tile = next(tile for tile in (_LCS_TILES if lanes == 1 else _LCS_SHARED_TILES) if tile >= minimum)
            image = 4 * tile * max(8, lanes) * (rows if lanes > 1 or rows > 8 else 1)
            blocks = next((n for n in _LCS_BLOCKS[threads] if n * image <= shared_limit), 0)
            if not less < tile <= maximum or blocks == 0:
                continue
            filled = subjects * lanes / (_LCS_FULL * threads * multiprocessors)
            useful = words / (passes * lanes * tile)
            # cost of each symbol in addition to the words: fetching it, the carry in and out
            overhead = tile / (tile + 1.5)
            speed = lanes_speed * min(1.0, filled) * useful * overhead
            if speed > best_speed * 1.001:
                best, best_speed = LcsShape(tile, lanes, threads // blocks, blocks), speed
    return best


def _lcs_shapes() -> Iterator[LcsShape]:
    """All that :func:`choose_lcs_shape` may choose, but for how threads form blocks, which the launch says."""
    for lanes in _LCS_LANES_SPEED:
        for tile in _LCS_TILES if lanes == 1 else _LCS_SHARED_TILES:
            threads = next(threads for maximum, threads in _LCS_THREADS if tile <= maximum)
            yield LcsShape(tile, lanes, threads, 1)


VARIANTS: tuple[Variant, ...] = tuple(("lcs", shape.defines) for shape in _lcs_shapes())


#: cells of the largest matrix that ``cuda/lcs_trace.cu`` traces: in a third of a second, with 170 MB
LCS_TRACE_CELLS = 1 << 35
#: distinct symbols of a query whose masks fit the shared memory of every device
LCS_TRACE_SYMBOLS = 127

#: a core's rate is of cells, of lengths alone
KERNELS = Kernels("lcs", core_rate=2e11, compile_s=0.7, variants=VARIANTS)
