"""Launch numbers in one place, by kernel, length class and compute capability. Swept by the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

#: what ``make kernels`` compiles beside the modules without macros: (module, macros)
VARIANTS: tuple[tuple[str, dict[str, str]], ...] = ()

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
GAPSMIS_MOST_GAPS = 8


#: by K: what fits in the 255 registers a thread may have with two blocks on a multiprocessor
_GAPSMIS = {
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


def gapsmis(capability: tuple[int, int], max_gaps: int) -> Gapsmis:
    """The numbers for K gaps."""
    del capability  # one table so far
    return _GAPSMIS[max_gaps]


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


VARIANTS += tuple(
    ("bounded_gaps", gapsmis_defines(max_gaps, False, traceback, _GAPSMIS[max_gaps]))
    for max_gaps in range(5)
    for traceback in (False, True)
)


@dataclass(frozen=True)
class MemsShape:
    """How `mems` spreads over a device.

    Attributes:
        tile: query starts a warp takes at a time; larger tiles hash fewer positions twice (w - 1 behind each), smaller
            ones keep more warps on a multiprocessor.
        warps: warps a block.
        most_window: largest w; registers are reserved for it.
    """

    tile: int
    warps: int
    most_window: int

    @property
    def defines(self) -> dict[str, str]:
        return {"TILE": str(self.tile), "WARPS": str(self.warps), "MOST_WINDOW": str(self.most_window)}


#: registers are reserved for windows of so many k-mers
_MEMS_WINDOWS = (8, 20, 48, 96, 256)


def choose_mems_shape(capability: tuple[int, int], w: int) -> MemsShape:
    """The shape for an index of window ``w`` (one table so far, swept on compute capability 9.0)."""
    del capability
    # a dense index gives enough seeds a position to fill a warp from a small tile; a wide window is hashed twice
    tile = 32 if w <= 4 else 128 if w <= 48 else 256
    return MemsShape(tile=tile, warps=4, most_window=next(most for most in _MEMS_WINDOWS if w <= most))


VARIANTS += tuple(("mems", choose_mems_shape((9, 0), w).defines) for w in (4, *_MEMS_WINDOWS))


@dataclass(frozen=True)
class LcsShape:
    """How the threads of the LCS kernel share the work.

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

    def defines(self, formulation: str) -> dict[str, str]:
        """Macros of ``cuda/lcs.cu``."""
        return {
            "LCS_TILE": str(self.tile),
            "LCS_LANES": str(self.lanes),
            "LCS_THREADS": str(self.threads),
            "LCS_BLOCKS": str(self.blocks),
            "LCS_FORMULATION": {"crochemore": "Crochemore", "allison-dix": "AllisonDix"}[formulation],
        }


#: speed of the LCS kernel by threads on a subject, against one: the shuffles and the later start cost the rest
_LCS_LANES_SPEED = {1: 1.0, 2: 0.96, 4: 0.93, 8: 0.86, 16: 0.75, 32: 0.62}
#: threads of a multiprocessor by the most words a thread keeps in registers (64, 80, 96 or 128 registers). Blocks are
#: of 128, 256, … threads, so that its four schedulers get equally many warps
_LCS_THREADS = ((4, 1024), (8, 1024), (16, 1024), (32, 768), (48, 640), (64, 512))
#: blocks on a multiprocessor, the best first
_LCS_BLOCKS = {1024: (4, 2, 1), 768: (3, 2, 1), 640: (5, 1), 512: (4, 2, 1)}
_LCS_TILES = tuple(range(4, 65, 4))
#: with several threads on a subject the compiler runs out of registers in some of the sizes between
_LCS_SHARED_TILES = (4, 8, 12, 16, 32, 48, 64)
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
    best, best_speed = LcsShape(4, 8, 256, 1), 0.0  # 32 KiB for 256 rows: fits every device
    for lanes, lanes_speed in _LCS_LANES_SPEED.items():
        for (most, threads), (less, _) in zip(_LCS_THREADS, ((0, 0), *_LCS_THREADS), strict=False):
            passes = -(-words // (most * lanes))
            least = -(-words // (passes * lanes))
            tile = next(tile for tile in (_LCS_TILES if lanes == 1 else _LCS_SHARED_TILES) if tile >= least)
            image = 4 * tile * max(8, lanes) * (rows if lanes > 1 or rows > 8 else 1)
            blocks = next((n for n in _LCS_BLOCKS[threads] if n * image <= shared_limit), 0)
            if not less < tile <= most or blocks == 0:
                continue
            filled = subjects * lanes / (_LCS_FULL * threads * multiprocessors)
            useful = words / (passes * lanes * tile)
            # what each symbol costs beside the words: fetching it, the carry in and out
            overhead = tile / (tile + 1.5)
            speed = lanes_speed * min(1.0, filled) * useful * overhead
            if speed > best_speed * 1.001:
                best, best_speed = LcsShape(tile, lanes, threads // blocks, blocks), speed
    return best


#: shapes of the usual cases: queries of 128, 256, 512, 1024, 1536 and 2048 (or more) symbols, and few long subjects
_LCS_PREBUILT = [choose_lcs_shape(32 * tile, 5, 1 << 20, 132, 227 << 10) for tile in (4, 8, 16, 32, 48, 64)]
_LCS_PREBUILT += [choose_lcs_shape(4096, 5, subjects, 132, 227 << 10) for subjects in (1, 8000, 16_000)]
VARIANTS += tuple(("lcs", shape.defines("crochemore")) for shape in dict.fromkeys(_LCS_PREBUILT))


#: cells of the largest matrix that ``cuda/lcs_trace.cu`` traces: in a third of a second, with 170 MB
LCS_TRACE_CELLS = 1 << 35
#: distinct symbols of a query whose masks fit the shared memory of every device
LCS_TRACE_SYMBOLS = 127


@dataclass(frozen=True)
class VerifyShape:
    """How many threads share a pair in ``cuda/verify.cu`` and how many 32-row words each of them holds.

    Attributes:
        lanes: threads a pair, 1 to 32.
        words: words a thread; each takes three registers and 16 bytes of shared memory.
        blocks: blocks that must fit on a multiprocessor, which bounds the registers.
    """

    lanes: int
    words: int
    blocks: int = 1

    @property
    def rows(self) -> int:
        """Pattern rows of one strip."""
        return 32 * self.lanes * self.words

    def defines(self, verify_pass: str, runs: bool = False) -> dict[str, str]:
        """Macros of one of :data:`VERIFY_PASSES`; ``runs``: windows touch letters that are no bases."""
        numbers = {"LANES": self.lanes, "WORDS": self.words, "BLOCKS": self.blocks, "RUNS": int(runs)}
        numbers |= {"INFIX": int(verify_pass == "infix"), "BACKWARD": int(verify_pass == "starts")}
        return {name: str(number) for name, number in numbers.items()}


#: distances in infix mode, where those hits start, and distances in the other modes
VERIFY_PASSES = ("infix", "starts", "anchored")
#: One thread a pair up to 1024 rows: nothing crosses lanes, and 32 words still leave three warps a scheduler. Words in
#: steps that waste at most a sixth of the rows. Then few lanes with many words each, until 32 lanes hold a pair.
VERIFY_SHAPES = (
    *(VerifyShape(1, words) for words in (1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 19, 24, 32)),
    *(VerifyShape(4, words) for words in (13, 16, 20, 24, 32)),
    *(VerifyShape(32, words) for words in (5, 6, 8, 10, 13, 16, 20, 25, 32)),
)
#: instructions a column for each word, and beside that for one lane a pair and for several
VERIFY_WORD_COST, VERIFY_COLUMN_COST, VERIFY_LANES_COST = 6.5, 10.0, 18.0
#: cells of one launch: a tenth of a second on a large device, under a second on a small one
VERIFY_LAUNCH_CELLS = 2e12
#: blocks of a launch with several lanes a pair; each group then takes pair after pair
VERIFY_MOST_BLOCKS = 4096


def verify_shape(length: int) -> VerifyShape:
    """The shape with the least work for queries of ``length`` bases; it never shows in the results."""

    def cost(shape: VerifyShape) -> float:
        strips = -(-length // shape.rows)
        if shape.lanes == 1 and strips > 1:
            return float("inf")
        columns = 1.2 * length + 16 * (shape.lanes - 1)
        beside = VERIFY_COLUMN_COST if shape.lanes == 1 else VERIFY_LANES_COST
        return strips * shape.lanes * columns * (VERIFY_WORD_COST * shape.words + beside)

    return min(VERIFY_SHAPES, key=cost)


#: words of a band's window, and the columns for which it stands still (cuda/verify_band.cu)
VERIFY_BANDS, VERIFY_BAND_COLUMNS = (1, 2, 4), 16
#: a band is worth its profile where its window has at most this share of the pattern's words
VERIFY_BAND_SHARE = 0.55

VARIANTS += tuple(("verify_band", {"WORDS": str(words)}) for words in VERIFY_BANDS)
VARIANTS += tuple(
    ("verify", shape.defines(verify_pass, runs))
    for shape in VERIFY_SHAPES
    for verify_pass in VERIFY_PASSES
    for runs in (False, True)
)


@dataclass(frozen=True)
class PairwiseShape:
    """How `pairwise` spreads over a device, and how fast each kernel is, for the planner.

    Attributes:
        shared_bytes: shared memory of a multiprocessor that blocks may share.
        border_share: part of the device's budget for what a batch of tracebacks keeps.
        ring_share: part of the budget for the borders under way in TiledDScan; with fewer, fewer warps run.
        part_letters: rows and columns of the parts of a long pair's table that are computed again for its alignment:
            half a GB of directions, from 64 warps.
        part_share, kept_share: of the memory that is left, at most, for a part's directions and for the borders that
            are kept (in a part that is split again half as much); borders under way may have the rest.
        most_cells_per_thread: largest table (inside its band) of a thread's alignment.
        warps: warps of DScan that a device holds.
        *_rate: cells a second with the whole device busy, linear gaps, 16-bit halves where the kernel has them.
        *_warp_rate: cells a second of one warp.
        dscan_letter_s, part_letter_s: seconds of a letter, of query or target, on the way back through DScan's
            directions, and through parts with their directions.
        core_rate: cells a second of one of the host's cores, with a long pair's alignment.
    """

    shared_bytes: int = 200 << 10
    border_share: float = 0.6
    ring_share: float = 0.8
    part_letters: int = 1 << 15
    part_share: float = 0.1
    kept_share: float = 0.2
    most_cells_per_thread: int = 1 << 27
    warps: int = 2000
    lazy_rate: float = 9.4e12
    lazy_warp_rate: float = 14e9
    tiled_rate: float = 2.6e12
    tiled_warp_rate: float = 4e9
    rscan_rate: float = 2.0e12
    rscan_warp_rate: float = 4.5e9
    dscan_rate: float = 0.95e12
    dscan_warp_rate: float = 2e9
    dscan_letter_s: float = 0.35e-6
    part_letter_s: float = 0.38e-6
    core_rate: float = 0.3e9


#: one shape serves 7.0 to 9.0; the rates are an H200's, and only their ratios matter
PAIRWISE = PairwiseShape()
#: the modules that have the kernels of one gap model each
PAIRWISE_MODULES = ("pairwise", "pairwise_ends", "pairwise_long")


def pairwise_defines(affine: bool) -> dict[str, str]:
    """Macros of :data:`PAIRWISE_MODULES`."""
    return {"AFFINE": str(int(affine))}


VARIANTS += tuple((source, pairwise_defines(affine)) for source in PAIRWISE_MODULES for affine in (False, True))


@dataclass(frozen=True)
class MapShape:
    """How `map` spreads over a device.

    Attributes:
        words: the longest read has 32 * words bases.
        warps: warps a block.
        blocks: blocks that must fit on a multiprocessor, which bounds the registers.
    """

    words: int
    warps: int
    blocks: int

    @property
    def defines(self) -> dict[str, str]:
        return {"WORDS": str(self.words), "WARPS": str(self.warps), "BLOCKS": str(self.blocks)}


_MAP = (MapShape(5, 4, 8), MapShape(8, 4, 8), MapShape(12, 4, 5), MapShape(16, 4, 4))
#: bases of the longest read that the device maps
MAP_LONGEST = 32 * _MAP[-1].words


def map_shape(longest: int) -> MapShape:
    """For reads of up to ``longest`` bases."""
    return next((shape for shape in _MAP if 32 * shape.words >= longest), _MAP[-1])


VARIANTS += tuple(("map", shape.defines) for shape in _MAP)


#: Seconds from asking for a GPU to its first result with machine code at hand: the driver's start, a context, buffers
#: and the reference. And what the compiler takes for the usual kernels of each module, those of a batch side by side.
GPU_START_S = 0.6
COMPILE_S = {"map": 3.0, "verify": 1.5, "pairwise": 2.5, "bounded_gaps": 2.5, "lcs": 0.7, "mems": 1.5}
#: What one core does a second without reading and printing, from docs/benchmarks.md (AVX-512; half of it with AVX2):
#: bases of reads mapped; cells of edit distances, of Needleman-Wunsch scores with affine gaps, of bounded gaps, of LCS
#: lengths; bases searched for matches of at least MEMS_LONG
CORE_RATES = {"map": 5.7e6, "verify": 1e11, "pairwise": 2.5e9, "bounded_gaps": 5e9, "lcs": 2e11, "mems": 3e7}
MEMS_LONG = 16
