"""FASTQ text as reads on a GPU: ``cuda/map_fastq.cu`` finds its records, checks them, and packs what kernels take."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.abi import filled
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import KEPT
from gpualign.engine.gpu.host_memory import is_lent
from gpualign.io.reads import Reads
from gpualign.map.device.batch import BlockLayout
from gpualign.map.device.kept_arrays import KeptArrays
from gpualign.streaming.lent import Lend, lent_or_new, nothing_lent

#: of ``cuda/map_fastq.cu``, in turn
KERNELS = ("find_fastq_lines", "measure_fastq_reads", "place_fastq_reads", "place_fastq_blocks", "copy_fastq_reads")
_ALIGNMENT = 256
#: the device array of :class:`ReadsLayout`; how many are kept for the batches' records, and the columns that those have
READS = "reads in text"
_KEPT = 8
_COLUMNS = ("names", "bases", "qualities", "mates", "name_offsets", "base_offsets")
_ANY_LENGTH = (1 << 32) - 1
#: warps of the blocks of those that are not scans
_WARPS = 8


class ReadsLayout:
    """What the kernels make of a text, in one device array.

    Attributes:
        fastq: where the arrays begin, bytes, by their fields of ``FastqBatch``.
        block: where those begin that :class:`MapBatch` has.
        facts_bytes: of the facts and the reads' ends, which the host wants.
    """

    def __init__(self, reads: int, text_bytes: int) -> None:
        of_map, self.block = BlockLayout(reads), _ALIGNMENT
        most_names = min(text_bytes, _native.FASTQ_LONGEST_NAME * reads)
        most_bases = text_bytes // 2  # each has a quality
        at = {"facts": 0, "base_offsets": self.block, "templates": self.block + of_map.templates}
        at |= {"tie_breaks": self.block + of_map.tie_breaks, "zeros": self.block + of_map.counters}
        at["bases"] = self.block + of_map.bases
        end = at["bases"] + most_bases
        rest = {"qualities": most_bases, "names": most_names, "name_offsets": 8 * (reads + 1), "mates": reads}
        for name, nbytes in rest.items():
            at[name] = _aligned(end)
            end = at[name] + nbytes
        self.fastq, self.nbytes = at, end
        self.facts_bytes = self.block + 8 * (reads + 1)


@dataclass(frozen=True)
class StagedText:
    """Text on its way to a device: of each file, the newlines before each tile (uint32), and the tiles.

    Attributes:
        reads: of which it is.
        block: uint8: all of it but what is in page-locked memory already.
        parts: of the block, and the others, and where each begins on the device.
        files: of each, where its two arrays begin there, bytes of its tiles, and newlines before the first record.
        number: which no other one has.
        base_offsets: int64 (n + 1,): where the bases of the reads begin, once kernels have found them.
    """

    reads: Reads
    block: NDArray[np.uint8]
    parts: tuple[tuple[NDArray[np.uint8], int], ...]
    files: tuple[tuple[int, int, int, int], ...]
    number: int = field(default_factory=itertools.count().__next__)
    base_offsets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(cls, reads: Reads, lend: Lend = nothing_lent) -> StagedText:
        """Reads the text, or copies it.

        Args:
            lend: of memory for the block; what is in such memory already is not copied.

        Raises:
            InputError: it cannot be read (any more).
        """
        files, copied, inflated, end = [], [], [], 0
        for text in reads.texts:
            tiles, size = text.tiles, text.nbytes
            begin = end + _aligned(4 * len(tiles))
            files.append((end, begin, size, 4 * text.records.start))
            copied.append((end, 4 * len(tiles), _copy_of(text.lines_before[tiles.start : tiles.stop].view(np.uint8))))
            if text.chunk.data.stored:
                copied.append((begin, size, text.read_into))
            else:
                at = begin
                for piece in text.pieces():
                    if is_lent(piece):
                        inflated.append((piece, at))
                    else:
                        copied.append((at, len(piece), _copy_of(piece)))
                    at += len(piece)
            end = begin + _aligned(size)
        block, parts = _block_of(copied, lend)
        return cls(reads, block, (*parts, *inflated), tuple(files))

    @property
    def records(self) -> int:
        """Of each file."""
        return len(self.reads.texts[0])

    @property
    def count(self) -> int:
        """Reads of all files."""
        return len(self.files) * self.records

    @property
    def mates(self) -> NDArray[np.uint8] | None:
        """As :class:`SequenceBatch` has it."""
        return np.tile(np.array([1, 2], np.uint8), self.records) if self.reads.paired else None

    @property
    def text_bytes(self) -> int:
        return sum(size for _, _, size, _ in self.files)

    @property
    def tiles(self) -> int:
        return sum(-(-size // _native.FASTQ_TILE) for _, _, size, _ in self.files)

    @property
    def nbytes(self) -> int:
        """On the device."""
        return max(at + len(part) for part, at in self.parts)

    def native(self, block: int, reads: int, array: Callable[[str, int], int], **others: Any) -> np.void:
        """``FastqBatch`` of cuda/abi/fastq.hpp.

        Args:
            block: address of the parts' memory.
            reads: address of :attr:`layout`'s arrays.
            array: (name, bytes) -> address of memory of so many bytes.
        """
        count, scan = self.count, _native.FASTQ_READS_SCANNED
        texts = {
            name: filled(
                "FastqText",
                text=block + begin,
                lines_before=block + lines,
                starts=array(f"fastq {name} lines", 4 * (4 * self.records + 1)),
                bytes=size,
                first_line=first_line,
            )
            for name, (lines, begin, size, first_line) in zip(("first", "second"), self.files, strict=False)
        }
        return filled(
            "FastqBatch",
            **texts,
            **{name: reads + at for name, at in self.layout.fastq.items()},
            sizes=array("fastq sizes", 8 * count),
            places=array("fastq places", 8 * count),
            block_sums=array("fastq sums", 8 * -(-count // scan)),
            zero_count=BlockLayout.counters_size,
            reads=count,
            mates_each=len(self.files),
            check_names=self.reads.check_names,
            all_dots=self.reads.all_dots,
            **others,
        )

    def run(self, slot: Slot, template_reads: int = 1, longest: int = _ANY_LENGTH) -> int:
        """Enqueue the kernels; returns the address of :attr:`layout`'s arrays.

        Args:
            template_reads: 2 where mates are mapped together.
            longest: bases that a read may have; where one has more all are empty.
        """
        step, slot.step = slot.step, "parse"
        reads = int(slot.device_array(READS, self.layout.nbytes, zeroed=True))

        def array(name: str, nbytes: int) -> int:
            return int(slot.device_array(name, nbytes))

        block = int(slot.upload_parts("fastq", self.nbytes, self.parts))
        batch = self.native(block, reads, array, template_reads=template_reads, longest=longest)
        for name, (blocks, threads) in zip(KERNELS, self.launches, strict=True):
            slot.launch(slot.device.function("map_fastq", name), blocks, threads, batch)
        slot.step = step
        return reads

    def columns(self, slot: Slot) -> np.void:
        """``ReadColumns`` of cuda/abi/text.hpp: as they were left there, or made by kernels that are enqueued now."""
        kept = kept_reads(slot).use(self.number, slot)
        reads = self.run(slot) if kept is None else kept
        return filled("ReadColumns", **{name: reads + self.layout.fastq[name] for name in _COLUMNS})

    @cached_property
    def layout(self) -> ReadsLayout:
        return ReadsLayout(self.count, self.text_bytes)

    @property
    def launches(self) -> tuple[tuple[int, int], ...]:
        """Blocks of each of :data:`KERNELS`, and their threads."""
        count, scan = self.count, _native.FASTQ_READS_SCANNED
        of_all = (32 * self.tiles, self.records, count, 1, 32 * count)
        of_blocks = (32 * _WARPS, 32 * _WARPS, scan, scan, 32 * _WARPS)
        return tuple((-(-threads // size), size) for threads, size in zip(of_all, of_blocks, strict=True))


#: writes bytes to memory
_Fill = Callable[[NDArray[np.uint8]], None]


def _copy_of(array: NDArray[np.uint8]) -> _Fill:
    return lambda memory: np.copyto(memory, array)


def _block_of(
    copied: Sequence[tuple[int, int, _Fill]], lend: Lend
) -> tuple[NDArray[np.uint8], list[tuple[NDArray[np.uint8], int]]]:
    """A block, and its parts, which are few: what lies close together on the device is one.

    Args:
        copied: where each begins on the device, its bytes, and what writes them.
    """
    begins: list[tuple[int, int]] = []  # of parts, in the block and on the device
    places, nbytes, end = [], 0, 0
    for at, size, _ in copied:
        if not begins or at - end >= _ALIGNMENT:
            begins.append((_aligned(nbytes), at))
        begin, first = begins[-1]
        places.append((len(begins) - 1, begin + at - first, size))
        nbytes, end = begin + at - first + size, at + size
    block = lent_or_new(lend, nbytes)
    for (_, place, size), (*_, fill) in zip(places, copied, strict=True):
        fill(block[place : place + size])
    ends = {part: place + size for part, place, size in places}  # the last one of each
    return block, [(block[begin : ends[part]], at) for part, (begin, at) in enumerate(begins)]


def kept_reads(slot: Slot) -> KeptArrays:
    """Reads of batches that were mapped, for their records."""
    return slot.device.resident(f"{KEPT} {READS}", lambda: KeptArrays(slot.device, READS, _KEPT))


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
