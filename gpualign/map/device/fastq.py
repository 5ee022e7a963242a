"""FASTQ text as reads on a GPU: ``cuda/map_fastq.cu`` finds its records, checks them, and packs what kernels take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.abi import filled, struct
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.stage import Lend
from gpualign.io.mates import UnparsedReads
from gpualign.map import tuning
from gpualign.map.device.batch import BlockLayout, MapBatch, nothing_lent
from gpualign.map.device.records import DeviceRecords
from gpualign.sequences.batch import SequenceBatch

#: of ``cuda/map_fastq.cu``, in turn
KERNELS = ("find_fastq_lines", "measure_fastq_reads", "place_fastq_reads", "place_fastq_blocks", "copy_fastq_reads")
_ALIGNMENT = 256
#: warps of the blocks of those that are not scans
_WARPS = 8


@dataclass(frozen=True)
class StagedText:
    """Text on its way to a device.

    Attributes:
        reads: of which it is.
        block: uint8: of each file, the newlines before each tile (uint32), and the tiles.
        files: of each, where these begin in the block, bytes of its tiles, and newlines before the first record.
    """

    reads: UnparsedReads
    block: NDArray[np.uint8]
    files: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def of(cls, reads: UnparsedReads, lend: Lend = nothing_lent) -> StagedText:
        """Reads the text, or copies it.

        Args:
            lend: of memory for the block.

        Raises:
            InputError: it cannot be read (any more).
        """
        parts = [
            (text, text.tiles(start, reads.count), 4 * start)
            for text, start in zip(reads.texts, reads.starts, strict=True)
        ]
        files, nbytes = [], 0
        for text, tiles, first_line in parts:
            begin = nbytes + _aligned(4 * len(tiles))
            files.append((nbytes, begin, text.bytes_of(tiles), first_line))
            nbytes = begin + _aligned(text.bytes_of(tiles))
        block = lend(nbytes)
        if block is None:
            block = np.empty(nbytes, np.uint8)
        for (text, tiles, _), (lines, begin, size, _) in zip(parts, files, strict=True):
            block[lines : lines + 4 * len(tiles)].view(np.uint32)[:] = text.lines_before[tiles.start : tiles.stop]
            text.copy_into(block[begin : begin + size], tiles)
        return cls(reads, block, tuple(files))

    @property
    def text_bytes(self) -> int:
        return sum(size for _, _, size, _ in self.files)

    @property
    def tiles(self) -> int:
        return sum(-(-size // int(_native.FASTQ_TILE)) for _, _, size, _ in self.files)

    @property
    def most_bases(self) -> int:
        """Of all reads, at most: each has a quality."""
        return self.text_bytes // 2

    @property
    def most_name_bytes(self) -> int:
        return min(self.text_bytes, int(_native.FASTQ_LONGEST_NAME) * len(self.reads))

    def native(self, block: int, array: Any, **others: Any) -> np.void:
        """``FastqBatch`` of cuda/abi/fastq.hpp.

        Args:
            block: address of the block.
            array: (name, bytes) -> address of memory of so many bytes.
        """
        count, scan = len(self.reads), int(_native.FASTQ_READS_SCANNED)
        texts = {
            name: filled(
                "FastqText",
                text=block + begin,
                lines_before=block + lines,
                starts=array(f"{name} lines", 4 * (4 * self.reads.count + 1)),
                bytes=size,
                first_line=first_line,
            )
            for name, (lines, begin, size, first_line) in zip(("first", "second"), self.files, strict=False)
        }
        return filled(
            "FastqBatch",
            **texts,
            sizes=array("read sizes", 8 * count),
            places=array("read places", 8 * count),
            block_sums=array("read sums", 8 * -(-count // scan)),
            reads=count,
            mates_each=len(self.files),
            check_names=self.reads.check_names,
            **others,
        )

    def run(self, slot: Slot, **others: Any) -> None:
        """Enqueue the kernels; ``others``: the fields of ``FastqBatch`` that say what goes where."""
        slot.step = "parse"

        def array(name: str, nbytes: int) -> int:
            return int(slot.device_array(f"fastq {name}", nbytes))

        facts = int(slot.clear("fastq facts", struct("FastqFacts").itemsize))
        batch = self.native(int(slot.upload("fastq", self.block)), array, facts=facts, **others)
        for name, (blocks, threads) in zip(KERNELS, self.launches, strict=True):
            slot.launch(slot.device.function("map_fastq", name), blocks, threads, batch)

    @property
    def launches(self) -> tuple[tuple[int, int], ...]:
        """Blocks of each of :data:`KERNELS`, and their threads."""
        count, scan = len(self.reads), int(_native.FASTQ_READS_SCANNED)
        of_all = (32 * self.tiles, self.reads.count, count, 1, 32 * count)
        of_blocks = (32 * _WARPS, 32 * _WARPS, scan, scan, 32 * _WARPS)
        return tuple((-(-threads // size), size) for threads, size in zip(of_all, of_blocks, strict=True))


@dataclass(frozen=True)
class ReadsInText(SequenceBatch):
    """Reads of which the host knows how many bases they have; their other arrays are numbers of bytes without content.

    Attributes:
        staged: what they are.
    """

    staged: StagedText | None = None

    @classmethod
    def of(cls, staged: StagedText, base_offsets: NDArray[np.int64]) -> ReadsInText:
        bases = int(base_offsets[-1])
        names = max(0, staged.text_bytes - 2 * bases)
        mates = np.tile(np.array([1, 2], np.uint8), staged.reads.count) if staged.reads.paired else None
        return cls(
            _no_content(names),
            np.broadcast_to(np.int64(0), (len(base_offsets),)),
            _no_content(bases),
            base_offsets,
            _no_content(bases),
            mates=mates,
            staged=staged,
        )

    def parsed(self) -> SequenceBatch:
        """With all that is in the text."""
        assert self.staged is not None
        return self.staged.reads.parsed()

    def on_device(self, slot: Slot) -> np.void:
        """``ReadColumns`` of cuda/abi/text.hpp, which kernels fill before those that are enqueued next."""
        assert self.staged is not None
        staged, count = self.staged, len(self)
        sizes = {
            "names": staged.most_name_bytes,
            "bases": staged.most_bases,
            "qualities": staged.most_bases,
            "name_offsets": 8 * (count + 1),
            "base_offsets": 8 * (count + 1),
        }
        if staged.reads.paired:
            sizes["mates"] = count
        columns = {name: int(slot.device_array(f"text {name}", nbytes)) for name, nbytes in sizes.items()}
        staged.run(slot, longest=np.iinfo(np.uint32).max, **columns)
        return filled("ReadColumns", **columns)


def with_content(batch: SequenceBatch) -> SequenceBatch:
    """The same reads, read by the host where it does not have them."""
    return batch.parsed() if isinstance(batch, ReadsInText) else batch


@dataclass(frozen=True)
class TextMapBatch(MapBatch):
    """A batch whose block is made on the device.

    Attributes:
        staged: of which text.
    """

    staged: StagedText | None = None

    @classmethod
    def of_text(cls, reads: UnparsedReads, together: bool, lend: Lend = nothing_lent) -> TextMapBatch:
        """
        Args:
            together: mates are templates.
            lend: of memory for the text.
        """
        staged, count = StagedText.of(reads, lend), len(reads)
        nothing = np.zeros(count + 1, np.int64)
        batch = SequenceBatch(_no_content(0), nothing, _no_content(staged.most_bases), nothing)
        templates = reads.count if together else count
        return cls(batch, _no_content(0), templates, (1, 1, 1), staged=staged)

    def on_device(self, slot: Slot) -> int:
        assert self.staged is not None
        staged, layout = self.staged, BlockLayout(len(self.batch))
        block = int(slot.device_array("batch", layout.bases + staged.most_bases))
        slot.clear("batch", layout.bases)
        staged.run(
            slot,
            bases=block + layout.bases,
            base_offsets=block,
            draws=block + layout.draws,
            templates=block + layout.templates,
            template_reads=len(self.batch) // self.templates,
            longest=self.longest[-1],
        )
        slot.download("fastq facts", 4, np.uint32)
        slot.download_into(slot.pinned("read ends", len(self.batch) + 1, np.int64), "batch")
        return block

    @property
    def reads(self) -> UnparsedReads:
        assert self.staged is not None
        return self.staged.reads

    def halves(self, paired: bool) -> list[MapBatch]:
        return MapBatch.of(self.reads.parsed(), paired).halves(paired)


@dataclass(frozen=True)
class FoundInText:
    """What a device found, and the reads that it found in text."""

    records: DeviceRecords
    batch: ReadsInText


class TextMapKernel:
    """Maps batches of text with the kernel that maps reads (see ``gpu.runner.Kernel``).

    The longest read is known when the kernels have run: until then it is that of the batches before.
    """

    def __init__(self, mapper: Any) -> None:
        self._mapper = mapper
        self._longest = _longest_of(1)
        self._in_flight: dict[int, TextMapBatch] = {}

    def submit(self, slot: Slot, item: TextMapBatch) -> None:
        item = self._in_flight[id(slot)] = replace(item, longest=(self._longest,) * 3)
        self._mapper.submit(slot, item)

    def collect(self, slot: Slot, item: TextMapBatch) -> FoundInText | None:
        """None of text that the host must read."""
        while True:
            submitted = self._in_flight.pop(id(slot))
            odd, longest, odd_symbols, _ = slot.pinned("fastq facts", 4, np.uint32).tolist()
            if odd or odd_symbols or longest > tuning.MAP_LONGEST:
                return None
            if longest <= submitted.longest[-1]:
                break
            self._longest = max(self._longest, _longest_of(longest))
            self.submit(slot, item)
            slot.submitted()
            slot.wait()
        ends = slot.part_with("read ends")
        assert ends is not None
        assert item.staged is not None
        offsets = ends[: 8 * (len(item.batch) + 1)].view(np.int64)
        return FoundInText(self._mapper.collect(slot, submitted), ReadsInText.of(item.staged, offsets))

    def split(self, item: TextMapBatch) -> list[MapBatch]:
        """Halves of a batch, which the host reads."""
        parts: list[MapBatch] = self._mapper.split(item)
        return parts


def _longest_of(bases: int) -> int:
    """Of a shape of the kernels that is long enough."""
    return 32 * tuning.map_shape(bases).words


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def _no_content(nbytes: int) -> NDArray[np.uint8]:
    """uint8 (nbytes,) that take no memory."""
    return np.broadcast_to(np.uint8(0), (nbytes,))
