"""Launch numbers of `distances` and what its work costs a core."""

from __future__ import annotations

from gpualign.run.gpu.compiler import Variant
from gpualign.run.select import Kernels

#: threads of a block in cuda/distances.cu and of cuda/distances_within.cu
THREADS, BAND_THREADS = 128, 256
#: 32-row words that a thread can hold, in steps that waste at most a sixth
WORDS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 19, 24, 32)
#: most errors of a band of 32 diagonals, and of one of 64
MAX_IN_BAND, MAX_IN_WIDE_BAND = 31, 63
#: shared memory that a block may ask for
SHARED_BYTES = 200 << 10
#: longest sequences of a thread's pair
LONGEST = 1 << 15
#: pairs that are too few for threads of their own, if they are that long
FEW_PAIRS, WORTH_SHARING = 1 << 10, 512
#: longest sequences of a single pair that never goes to a device
HOSTS_PAIR = 1 << 14
#: of cuda/distances_long.cu: diagonals of a tile, errors of a phase, threads that share a tile; blocks for each
#: multiprocessor, and bytes for rows of the pairs of a launch
LONG_TILE, LONG_BLOCKS, REACHED_BYTES = (192, 32, 192), 4, 1 << 30
#: bytes of a matrix that a device computes and copies at once
CHUNK_BYTES = 8 << 20
#: pairs of a launch in a band, and space for those that it finds
BAND_PAIRS, FOUND = 1 << 30, 1 << 22
#: bytes between the strips of long queries
BOUNDARY_BYTES = 1 << 30
#: blocks that fill a large device several times
BLOCKS = 1 << 13


def words_of(length: int) -> int:
    """Words of a thread, by the length of queries; longer ones take several strips."""
    return next((words for words in WORDS if 32 * words >= length), WORDS[-1])


def defines(words: int, mode: int) -> dict[str, str]:
    """Macros of cuda/distances.cu."""
    return {"WORDS": str(words), "MODE": str(mode)}


def long_defines(bits: int) -> dict[str, str]:
    """Macros of cuda/distances_long.cu."""
    width, steps, threads = LONG_TILE
    return {"BITS": str(bits), "WIDTH": str(width), "STEPS": str(steps), "THREADS": str(threads)}


VARIANTS: tuple[Variant, ...] = (
    *(("distances", defines(words, mode)) for words in WORDS for mode in range(4)),
    *(("distances_within", {"WIDE": str(wide)}) for wide in (0, 1)),
    *(("distances_long", long_defines(bits)) for bits in (2, 8)),
)

#: a core's rate is of cells of edit distances (docs/benchmarks.md)
KERNELS = Kernels("distances", core_rate=2e11, compile_s=3.0, variants=VARIANTS)
