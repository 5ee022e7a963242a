"""FASTQ text to reads on a GPU: ``cuda/map_fastq.cu`` finds, checks and packs the records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map import tuning
from gpualign.map.device.batch import BlockLayout
from gpualign.reads.reads import Reads
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import ALIGNMENT, Slot, aligned
from gpualign.run.gpu.device import EVICTABLE, Device
from gpualign.run.gpu.pinned_pool import is_pinned
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.pinned import Allocate, no_pinned, pinned_or_pageable

#: kernels of ``cuda/map_fastq.cu``, in launch order
KERNELS = ("find_fastq_lines", "measure_fastq_reads", "place_fastq_reads", "place_fastq_blocks", "copy_fastq_reads")
#: key of the device array of :class:`ReadsLayout`, and its columns
READS = "reads in text"
_COLUMNS = ("names", "bases", "qualities", "mates", "name_offsets", "base_offsets")
_ANY_LENGTH = (1 << 32) - 1


class ReadsLayout:
    """Layout of the parsed reads in one device array.

    Attributes:
        fastq: {field of ``FastqBatch``: byte offset of its array}.
        block: offset of the block of :class:`MapBatch`.
        facts_bytes: bytes at the beginning that the host needs: the facts and the reads' offsets.
        sequence_bytes: the same with bases and qualities.
    """

    def __init__(self, reads: int, text_bytes: int) -> None:
        of_map, self.block = BlockLayout(reads), ALIGNMENT
        max_names = min(text_bytes, _native.FASTQ_LONGEST_NAME * reads)
        max_bases = text_bytes // 2  # each has a quality
        at = {"facts": 0, "base_offsets": self.block, "templates": self.block + of_map.templates}
        at |= {"tie_breaks": self.block + of_map.tie_breaks, "zeros": self.block + of_map.counters}
        at["bases"] = self.block + of_map.bases
        end = at["bases"] + max_bases
        rest = {"qualities": max_bases, "names": max_names, "name_offsets": 8 * (reads + 1), "mates": reads}
        for name, nbytes in rest.items():
            at[name] = aligned(end)
            end = at[name] + nbytes
        self.fastq, self.nbytes = at, end
        self.facts_bytes, self.sequence_bytes = self.block + 8 * (reads + 1), at["names"]


@dataclass(frozen=True)
class StagedText:
    """Text ready to be copied to a device: for each file, the newlines before each tile (uint32), and the tiles.

    Attributes:
        reads: the reads in the text.
        block: uint8: a copy of the text that is not in pinned memory already.
        copies: arrays to copy to the device, slices of the block and others, with their offsets there.
        files: for each file, offsets of its two arrays, bytes of its tiles, and newlines before the first record.
        number: identifies the text.
    """

    reads: Reads
    block: NDArray[np.uint8]
    copies: tuple[tuple[NDArray[np.uint8], int], ...]
    files: tuple[tuple[int, int, int, int], ...]
    number: int = field(default_factory=itertools.count().__next__)

    @classmethod
    def of(cls, reads: Reads, allocate: Allocate = no_pinned) -> StagedText:
        """Reads the text, or copies it.

        Args:
            allocate: allocates the block; text in pinned memory is not copied.

        Raises:
            InputError: the text cannot be read (any more).
        """
        files, copied, inflated, end = [], [], [], 0
        for text in reads.texts:
            tiles, size = text.tiles, text.nbytes
            begin = end + aligned(4 * len(tiles))
            files.append((end, begin, size, 4 * text.records.start))
            copied.append((end, 4 * len(tiles), _copy_of(text.lines_before[tiles.start : tiles.stop].view(np.uint8))))
            if text.chunk.data.stored:
                copied.append((begin, size, text.read_into))
            else:
                at = begin
                for piece in text.pieces():
                    if is_pinned(piece):
                        inflated.append((piece, at))
                    else:
                        copied.append((at, len(piece), _copy_of(piece)))
                    at += len(piece)
            end = begin + aligned(size)
        block, slices = _block_of(copied, allocate)
        return cls(reads, block, (*slices, *inflated), tuple(files))

    @property
    def records(self) -> int:
        """Records of each file."""
        return len(self.reads.texts[0])

    @property
    def count(self) -> int:
        """Reads of all files."""
        return len(self.files) * self.records

    @cached_property
    def mates(self) -> NDArray[np.uint8] | None:
        """``SequenceBatch.mates`` of the reads: 1, 2, 1, 2 ..."""
        return np.full(self.records, 0x0201, "<u2").view(np.uint8) if self.reads.paired else None

    @property
    def text_bytes(self) -> int:
        return sum(size for _, _, size, _ in self.files)

    @property
    def tiles(self) -> int:
        return sum(-(-size // _native.FASTQ_TILE) for _, _, size, _ in self.files)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return max(at + len(array) for array, at in self.copies)

    def native(self, block: int, reads: int, array: Callable[[str, int], int], **others: Any) -> np.void:
        """``FastqBatch`` of cuda/abi/fastq.hpp.

        Args:
            block: address of the copies.
            reads: address of :attr:`layout`'s arrays.
            array: (name, bytes) -> address of device memory.
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
            template_reads: 2 if mates are mapped together.
            longest: limit of a read's bases; if one is longer, all reads are empty.
        """
        step, slot.step = slot.step, "parse"
        reads = int(slot.device_array(READS, self.layout.nbytes, zeroed=True))

        def array(name: str, nbytes: int) -> int:
            return int(slot.device_array(name, nbytes))

        block = int(slot.upload_parts("fastq", self.nbytes, self.copies))
        batch = self.native(block, reads, array, template_reads=template_reads, longest=longest)
        for name, (blocks, threads) in zip(KERNELS, self.launches, strict=True):
            slot.launch(slot.device.function("map_fastq", name), blocks, threads, batch)
        slot.step = step
        return reads

    def columns(self, slot: Slot) -> np.void:
        """``ReadColumns`` of cuda/abi/text.hpp: kept from mapping, or parsed again."""
        parsed = parsed_reads(slot).use(self.number, slot)
        reads = self.run(slot) if parsed is None else parsed
        return filled("ReadColumns", **{name: reads + self.layout.fastq[name] for name in _COLUMNS})

    @cached_property
    def layout(self) -> ReadsLayout:
        return ReadsLayout(self.count, self.text_bytes)

    @property
    def launches(self) -> tuple[tuple[int, int], ...]:
        """(blocks, threads per block) of each of :data:`KERNELS`."""
        count, scan = self.count, _native.FASTQ_READS_SCANNED
        of_all = (32 * self.tiles, self.records, count, 1, 32 * count)
        of_blocks = (32 * tuning.FASTQ_WARPS, 32 * tuning.FASTQ_WARPS, scan, scan, 32 * tuning.FASTQ_WARPS)
        return tuple((-(-threads // size), size) for threads, size in zip(of_all, of_blocks, strict=True))


@dataclass(frozen=True)
class ParsedReads:
    """The reads of a text that a device has parsed and may have kept (``DeviceReads`` of map/alignments.py).

    Attributes:
        base_offsets: int64 (n + 1,), offsets of the reads' bases.
        bases, qualities: uint8, of the reads, if the host was to get them.
    """

    text: StagedText
    device: Device
    base_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8] | None = None
    qualities: NDArray[np.uint8] | None = None

    @property
    def mates(self) -> NDArray[np.uint8] | None:
        return self.text.mates

    @property
    def text_bytes(self) -> int:
        return self.text.text_bytes

    def columns(self) -> SequenceBatch:
        return self.text.reads.columns()

    def sequences(self) -> SequenceBatch:
        if self.bases is None:
            return self.columns()
        names, no_names = np.zeros(0, np.uint8), np.zeros(len(self.base_offsets), np.int64)
        return SequenceBatch(names, no_names, self.bases, self.base_offsets, self.qualities, mates=self.mates)


#: writes bytes to memory
_Fill = Callable[[NDArray[np.uint8]], None]


def _copy_of(array: NDArray[np.uint8]) -> _Fill:
    return lambda memory: np.copyto(memory, array)


def _block_of(
    copied: Sequence[tuple[int, int, _Fill]], allocate: Allocate
) -> tuple[NDArray[np.uint8], list[tuple[NDArray[np.uint8], int]]]:
    """A block and its slices. Arrays that are close together on the device form one, so that there are few copies.

    Args:
        copied: (offset on the device, bytes, function that writes them) of each array.
    """
    begins: list[tuple[int, int]] = []  # offsets of slices in the block and on the device
    offsets, nbytes, end = [], 0, 0
    for at, size, _ in copied:
        if not begins or at - end >= ALIGNMENT:
            begins.append((aligned(nbytes), at))
        begin, first = begins[-1]
        offsets.append((len(begins) - 1, begin + at - first, size))
        nbytes, end = begin + at - first + size, at + size
    block = pinned_or_pageable(allocate, nbytes)
    for (_, offset, size), (*_, fill) in zip(offsets, copied, strict=True):
        fill(block[offset : offset + size])
    ends = {number: offset + size for number, offset, size in offsets}  # the end of each slice's last array
    return block, [(block[begin : ends[number]], at) for number, (begin, at) in enumerate(begins)]


class DetachedArrays:
    """Arrays detached from slots, by number. All methods run in the device's thread.

    Args:
        key: of the slots' array.
        limit: beyond this number the oldest array is dropped.
    """

    def __init__(self, device: Device, key: str, limit: int) -> None:
        self._device, self._key, self._limit = device, key, limit
        self._idle: dict[int, tuple[Any, int]] = {}
        self._in_use: dict[int, list[tuple[Any, int]]] = {}
        self._spare: list[tuple[Any, int]] = []

    def detach(self, number: int, slot: Slot) -> None:
        """Take the array of a slot whose work is done; the slot gets a spare one, if there is any."""
        self._idle[number] = slot.detach(self._key)
        while len(self._idle) > self._limit:
            self._spare.append(self._idle.pop(next(iter(self._idle))))
        if self._spare:
            slot.attach(self._key, self._spare.pop())

    def use(self, number: int, slot: Slot) -> int | None:
        """The array's address, for a batch on this slot; None if it was dropped."""
        array = self._idle.pop(number, None)
        if array is None:
            return None
        self._in_use.setdefault(id(slot), []).append(array)
        return int(array[0])

    def release(self, slot: Slot) -> None:
        """The slot's work is done: its arrays are spare."""
        self._spare += self._in_use.pop(id(slot), [])

    def free(self) -> None:
        """Free all arrays; no kernel may be running."""
        for pointer, size in itertools.chain(self._idle.values(), self._spare, *self._in_use.values()):
            self._device.free(pointer, size)


def parsed_reads(slot: Slot) -> DetachedArrays:
    """Parsed reads of mapped batches, kept until their records are written."""
    return slot.device.resident(
        f"{EVICTABLE} {READS}", lambda: DetachedArrays(slot.device, READS, tuning.PARSED_BATCHES)
    )
