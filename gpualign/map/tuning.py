"""Tuning of `map`: batches, launch shapes, initial capacities, and the speed of a core.

Unless a comment names a machine, the history does not record where a number was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpualign.map.params import MapParams
from gpualign.run.gpu.compiler import Variant
from gpualign.run.select import Kernels, Work

#: batches in flight on a device: some compute while others finish a few slow reads, and one is copied
SLOTS = 4
#: factor of the batch size on GPUs: each batch ends with a few slow reads, for which the device waits
DEVICE_BATCH = 4
#: devices to which the index leaves at least this memory have larger batches and more of them in flight (H200): 11.2
#: M reads/s in steady state, and 8.9 with the usual ones. Their pinned memory costs a fifth of a second, so text of
#: fewer bases has the usual ones; BAM records, which the device deflates, do not
LARGE_DEVICE, LARGE_DEVICE_BATCH, LARGE_DEVICE_SLOTS, LARGE_INPUT = 48 << 30, 8, 6, 2.5e9
#: devices on which the index leaves less than this have smaller batches: the usual ones take three gigabytes, and on an
#: H200 with 4 GiB smaller ones took 1.4 times as long
SMALL_DEVICE, SMALL_DEVICE_BATCH = 3 << 30, 2
#: factor of the batch size for long reads, and minimum number of batches of a small input: a device waits for the
#: first, and is idle while the last is written
LONG_READ_BATCH, LONG_READ_PARTS = 8, 16
#: bases per batch of the Python API for a GPU, and for CPU threads, which share small inputs
API_BATCH, API_CPU_BATCH = 1 << 22, 1 << 19
#: large pinned buffers of each size to pin ahead, as several batches in flight soon need them
PINNED_AHEAD = 2

#: samples of up to so many batches are mapped in one thread
SMALL_SAMPLE_BATCHES = 2
#: a sample of more than this share of a thread's work is mapped by all threads, as the others would wait for it
LARGE_SAMPLE_SHARE = 0.25

#: share of a device's memory for batches that their scratch memory takes; they share it where that is too little
SCRATCH_SHARE = 0.7
#: shares of a device's memory for batches: workspaces of the fast path and of the slow path, DP matrices of one pass of
#: chaining, and states of slow templates
WORKSPACE_SHARE, SLOW_PATH_SHARE, DP_SHARE, SLOW_STATES_SHARE = 0.1, 0.03, 0.05, 0.05
#: initial capacity for overflow records: reads per record of a long CIGAR, and secondary alignments per read
READS_PER_LONG_CIGAR, USUAL_SECONDARY = 32, 2
#: initial capacity for slow templates: share of the batch, and minimum; growth of an arena that was too small, which is
#: large so that few rounds are needed; and space beyond what a part of the templates suggests for all of them
SLOW_SHARE, MIN_SLOW_TEMPLATES, SLOW_PATH_GROWTH, SLOW_PATH_MARGIN = 1 / 32, 64, 3, 1.5
#: growth of the space for records that was too small
TEXT_GROWTH = 1.25
#: results that are copied before their size is known, as a multiple of the prediction from the latest batch
CHAINS_COPIED_AHEAD, TEXT_COPIED_AHEAD = 1.1, 1.02
#: batches whose parsed reads a device keeps until their records are written
PARSED_BATCHES = 8
#: warps per block of the kernels of map_text.cu, and of those of map_fastq.cu that are not scans
TEXT_WARPS, FASTQ_WARPS = 4, 8


def batches_of(memory: int, bases: float | None, binary: bool) -> tuple[int, int]:
    """Factor of the batch size for short reads, and batches in flight, on a device to which the index leaves ``memory``
    bytes.

    Args:
        bases: of all reads; None: unknown.
        binary: for BAM records.
    """
    if memory >= LARGE_DEVICE and (binary or bases is None or bases >= LARGE_INPUT):
        return LARGE_DEVICE_BATCH, LARGE_DEVICE_SLOTS
    return (DEVICE_BATCH if memory >= SMALL_DEVICE else SMALL_DEVICE_BATCH), SLOTS


@dataclass(frozen=True)
class MapShape:
    """Launch shape of `map`.

    Attributes:
        words: the longest read has 32 * words bases.
        warps: warps per block.
        blocks: blocks that must fit on a multiprocessor, which limits the registers.
    """

    words: int
    warps: int
    blocks: int

    def defines(self, bisulfite: bool = False) -> dict[str, str]:
        """Macros of the kernels; ``bisulfite``: for bisulfite reads."""
        shape = {"WORDS": str(self.words), "WARPS": str(self.warps), "BLOCKS": str(self.blocks)}
        return shape | {"CONVERSIONS": str(int(bisulfite))}


_MAP = (MapShape(5, 4, 8), MapShape(8, 4, 8), MapShape(12, 4, 5), MapShape(16, 4, 4))
#: bases of the longest read that takes the fast path
MAP_LONGEST = 32 * _MAP[-1].words


def map_shape(longest: int) -> MapShape:
    """The shape for reads of up to ``longest`` bases."""
    return next((shape for shape in _MAP if 32 * shape.words >= longest), _MAP[-1])


#: warps per block and blocks per multiprocessor of the slow path
SLOW_PATH_WARPS = 4
SLOW_PATH_BLOCKS = 4


def slow_path_defines(long_gaps: bool) -> dict[str, str]:
    """Macros of the slow path; ``long_gaps``: there is a second gap penalty."""
    return {"LONG_GAPS": str(int(long_gaps)), "WARPS": str(SLOW_PATH_WARPS), "BLOCKS": str(SLOW_PATH_BLOCKS)}


#: warps per block and blocks per multiprocessor of the chaining kernels
CHAIN_WARPS = 4
CHAIN_BLOCKS = 8


@dataclass(frozen=True)
class AlignPass:
    """A pass over the DP matrices of a batch that earlier passes have left.

    Attributes:
        kernel: kernel of map_chains.cu.
        minimum, maximum: it takes matrices of more than ``minimum`` and up to ``maximum`` bytes.
        memory: bytes of workspace of a warp or block.
        warps: warps of a block that share a matrix; 1: each warp has its own.
        at_once: matrices in progress per multiprocessor.
    """

    kernel: str
    minimum: int
    maximum: int
    memory: int
    warps: int
    at_once: float


#: lanes of a block that shares a segment, and for the largest segments
WIDE_LANES, WIDEST_LANES = 128, 512
_SMALL, _MIDDLE, _LARGE, _LARGEST = 1 << 15, 1 << 18, 1 << 22, 80 << 20
ALIGN_PASSES = (
    AlignPass("align_in_16", 0, _SMALL, _SMALL, 1, 28.0),
    AlignPass("align_in_32", 0, _SMALL, _SMALL, 1, 28.0),
    AlignPass("align_segments", 0, _SMALL, _SMALL, 1, 28.0),
    AlignPass("align_segments", _SMALL, _MIDDLE, _MIDDLE, 1, 16.0),
    AlignPass("align_wide", _MIDDLE, _LARGE // 2, _LARGE, WIDE_LANES // 32, 4.0),
    AlignPass("align_widest", _MIDDLE, 2 * _LARGEST, _LARGEST, WIDEST_LANES // 32, 0.5),
)
#: passes of short reads, whose matrices are mostly ends of chains in repeats
SHORT_PASSES = (
    AlignPass("align_in_parts", 0, _SMALL, 4 * (28 << 10), 1, 24.0),
    AlignPass("align_segments", 0, _MIDDLE, _MIDDLE, 1, 16.0),
    *ALIGN_PASSES[4:],
)


#: passes of spliced reads. Where there may be small exons within an intron the matrix covers all of it, and has few
#: rows, so that a warp takes it; the largest one has 33 rows, in the time and memory of 64.
_INTRON, _LONG_INTRON, _LONGEST_INTRON = 1 << 20, 1 << 22, 20 << 20
SPLICED_PASSES = (
    *ALIGN_PASSES[:4],
    AlignPass("align_segments", _MIDDLE, _INTRON, _INTRON, 1, 16.0),
    AlignPass("align_segments", _INTRON, _LONG_INTRON, _LONG_INTRON, 1, 12.0),
    AlignPass("align_segments", _LONG_INTRON, _LONGEST_INTRON, _LONGEST_INTRON, 1, 4.0),
)

#: passes over narrow bands, after which the strand of a transcript is chosen
NARROW_PASSES = 2

#: how gaps cost (cuda/algo/map/affine.hpp)
GAPS = ("affine", "two_costs", "introns")


def gaps_of(params: MapParams) -> str:
    """One of :data:`GAPS`."""
    return "introns" if params.splicing else "two_costs" if params.scoring.has_long_gaps else "affine"


def chain_defines(gaps: str) -> dict[str, str]:
    """Macros of the chaining kernels; ``gaps``: one of :data:`GAPS`."""
    return {"GAPS": gaps, "WIDE_LANES": str(WIDE_LANES), "WIDEST_LANES": str(WIDEST_LANES)}


def text_defines(bam: bool) -> dict[str, str]:
    """Macros of the kernels that format records."""
    return {"FORM": "BamForm" if bam else "SamForm"}


VARIANTS: tuple[Variant, ...] = (
    *(("map", shape.defines(bisulfite)) for shape in _MAP for bisulfite in (False, True)),
    *(("map_chains", chain_defines(gaps)) for gaps in GAPS),
    *(("map_slow_path", slow_path_defines(long_gaps)) for long_gaps in (False, True)),
    *(("map_text", text_defines(bam)) for bam in (False, True)),
    ("map_fastq", {}),
    ("bgzf", {}),
)

#: core_rate is in bases of reads per second
KERNELS = Kernels("map", core_rate=5.7e6, compile_s=3.0, variants=VARIANTS)


def work_of(bases: float | None, longest: int, params: MapParams, records: str = "paf") -> Work:
    """The work of mapping reads to records in the form "sam", "bam" or "paf".

    Args:
        bases: estimate for all reads; None: unknown.
        longest: bases of the longest of the first reads; 0: unknown.
    """
    work = Work.of(KERNELS, bases)
    writing: tuple[Variant, ...] = (
        () if records == "paf" else (("map_text", text_defines(records == "bam")), ("bgzf", {}))
    )
    if params.long_reads:
        return replace(
            work, modules=(("map_chains", chain_defines(gaps_of(params))), *(writing if records == "bam" else ()))
        )
    if not longest:
        return replace(work, modules=())
    parsing: tuple[Variant, ...] = () if records == "paf" else (("map_fastq", {}),)
    slow_path = (("map_slow_path", slow_path_defines(False)), ("map_chains", chain_defines(gaps_of(params))))
    modules = (("map", map_shape(longest).defines(params.meth is not None)), *slow_path, *writing, *parsing)
    return replace(work, modules=modules)
