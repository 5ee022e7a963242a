"""Launch numbers of `map` and what its work costs a core. Swept by the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpualign.engine.gpu.compiler import Variant
from gpualign.engine.work import Kernels, Work
from gpualign.io.sizes import longest_read, symbols_in_files

#: batches in flight on a device: some compute while others end with a few slow reads, and one copies
SLOTS = 4


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


#: of the kernels that map templates thoroughly: warps a block, and blocks a multiprocessor
SLOW_PATH_WARPS = 4
SLOW_PATH_BLOCKS = 4


def slow_path_defines(long_gaps: bool) -> dict[str, str]:
    """With one price for gaps or two."""
    return {"LONG_GAPS": str(int(long_gaps)), "WARPS": str(SLOW_PATH_WARPS), "BLOCKS": str(SLOW_PATH_BLOCKS)}


#: of the kernels that chain reads: warps a block, and blocks a multiprocessor
CHAIN_WARPS = 4
CHAIN_BLOCKS = 8


@dataclass(frozen=True)
class AlignPass:
    """A pass over the dynamic programs of a batch that none before it has done.

    Attributes:
        kernel: of map_chains.cu.
        minimum, maximum: it takes those of more and of up to so many bytes, as a warp needs them.
        memory: bytes of workspace of each that run at the same time: of a warp, or of a block.
        warps: of a block that works on one together; 1: each warp works on its own.
        at_once: how many run at the same time on each multiprocessor.
    """

    kernel: str
    minimum: int
    maximum: int
    memory: int
    warps: int
    at_once: float


#: lanes of a block that align a stretch together, and of one for the largest
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
#: of short reads, most of which are ends of chains in repeats
SHORT_PASSES = (
    AlignPass("align_in_parts", 0, _SMALL, 4 * (16 << 10), 1, 24.0),
    AlignPass("align_segments", 0, _MIDDLE, _MIDDLE, 1, 16.0),
    *ALIGN_PASSES[4:],
)


def chain_defines(long_gaps: bool) -> dict[str, str]:
    """Of the kernels that map by chaining, with one price for gaps or two."""
    lanes = {"WIDE_LANES": str(WIDE_LANES), "WIDEST_LANES": str(WIDEST_LANES)}
    return {"LONG_GAPS": str(int(long_gaps)), **lanes}


def text_defines(bam: bool) -> dict[str, str]:
    """Of the kernels that write records, as SAM lines or BAM's bytes."""
    return {"FORM": "BamForm" if bam else "SamForm"}


VARIANTS: tuple[Variant, ...] = (
    *(("map", shape.defines) for shape in _MAP),
    *(("map_chains", chain_defines(long_gaps)) for long_gaps in (False, True)),
    *(("map_slow_path", slow_path_defines(long_gaps)) for long_gaps in (False, True)),
    *(("map_text", text_defines(bam)) for bam in (False, True)),
    ("map_fastq", {}),
    ("bgzf", {}),
)

#: a core's rate is of bases of reads
KERNELS = Kernels("map", core_rate=5.7e6, compile_s=3.0, variants=VARIANTS)


def work_of(reads: Sequence[str], mates: Sequence[str], chained: bool, records: str = "paf") -> Work:
    """The work on files of reads, which are mapped by chaining or not and written as "sam", "bam" or "paf"."""
    work, longest = Work.of(KERNELS, symbols_in_files(*reads, *mates)), longest_read(reads[0])
    writing: tuple[Variant, ...] = (
        () if records == "paf" else (("map_text", text_defines(records == "bam")), ("bgzf", {}))
    )
    if chained:
        return replace(work, modules=(("map_chains", chain_defines(True)), *(writing if records == "bam" else ())))
    if not longest:
        return replace(work, modules=())
    parsing: tuple[Variant, ...] = () if records == "paf" else (("map_fastq", {}),)
    slow_path = (("map_slow_path", slow_path_defines(False)), ("map_chains", chain_defines(False)))
    modules = (("map", map_shape(longest).defines), *slow_path, *writing, *parsing)
    return replace(work, modules=modules)
