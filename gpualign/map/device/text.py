"""SAM lines or BAM records, formatted and deflated on a GPU: ``cuda/map_text.cu`` and ``cuda/bgzf.cu``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign._native import NvcompError
from gpualign.map import tuning
from gpualign.map.alignments import Found, Written
from gpualign.map.device.batch import KernelReads, ReadsKernel
from gpualign.map.device.fastq import ParsedReads, parsed_reads
from gpualign.map.device.fastq_batch import TextMapBatch, TextMapKernel
from gpualign.map.device.target import resident_text
from gpualign.run.abi import filled, struct
from gpualign.run.gpu.buffers import Slot, aligned
from gpualign.run.gpu.deflate import Deflater
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import AGAIN, Again, DeviceKernel
from gpualign.run.gpu.nvcomp import load_nvcomp
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from gpualign.streaming.pinned import Allocate, no_pinned
from gpualign.streaming.timeline import STEPS

#: alignment of the arrays in a block
_ALIGNMENT = 16
#: first guess of a record's bytes besides bases, qualities and names
_USUAL_FIELDS = 192
_MIN_BYTES = 1 << 12


@dataclass(frozen=True)
class TextBatch:
    """A batch's alignments, to be formatted on a device.

    Attributes:
        bam: format BAM records, not SAM lines.
        deflate: compress them to BGZF blocks, if nvCOMP is there.
        block: uint8, all arrays; in pinned memory also space for about the size of the output.
        offsets: {array: offset in the block}, without arrays that are missing.
        nbytes: bytes of the arrays.
        usual_bytes: estimated bytes of the output.
    """

    found: Found
    bam: bool
    deflate: bool
    block: NDArray[np.uint8]
    offsets: Mapping[str, int]
    nbytes: int
    usual_bytes: int

    @classmethod
    @STEPS.at("copy")
    def of(cls, found: Found, bam: bool, deflate: bool, allocate: Allocate = no_pinned) -> TextBatch:
        """Copies the arrays.

        Args:
            allocate: allocates the block.
        """
        options, batch = found.options, found.batch
        arrays: dict[str, NDArray[Any] | None] = {}
        if batch is not None:
            arrays = {name: getattr(batch, name) for name in _fields("ReadColumns")}
        arrays |= {name: getattr(found.alignments, name) for name in _fields("RecordColumns")}
        arrays |= {"wanted": found.wanted, "read_group": np.frombuffer(options["read_group"].encode(), np.uint8)}
        present = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}
        offsets, nbytes = {}, 0
        for name, array in present.items():
            offsets[name] = nbytes
            nbytes += aligned(array.nbytes, _ALIGNMENT)
        usual = usual_bytes(found, bam)
        block = allocate(nbytes + usual)
        if block is None:
            block = np.empty(nbytes, np.uint8)
        _native.copy_arrays(block, [(offsets[name], array) for name, array in present.items()])
        return cls(found, bam, deflate, block, offsets, nbytes, usual)

    @property
    def device(self) -> Device | None:
        """The device that has the reads, unless the host has them."""
        return None if self.parsed is None else self.parsed.device

    @property
    def parsed(self) -> ParsedReads | None:
        """The reads, if a device has them."""
        return self.found.reads if isinstance(self.found.reads, ParsedReads) else None

    @property
    def space(self) -> NDArray[np.uint8]:
        """Space for the output, in pinned memory; may be empty."""
        return self.block[self.nbytes :]

    def native(self, block: int, **others: Any) -> np.void:
        """``TextBatch`` of cuda/abi/text.hpp for a block at address ``block``."""
        at = {name: block + offset for name, offset in self.offsets.items()}
        group = {"read_group": at["read_group"], "read_group_size": len(self.found.options["read_group"].encode())}
        reads = filled("ReadColumns", **{name: at[name] for name in _fields("ReadColumns") if name in at})
        return filled(
            "TextBatch",
            records=filled("RecordColumns", **{name: at[name] for name in _fields("RecordColumns")}),
            options=self.found.sam_options(**group),
            wanted=at.get("wanted", 0),
            count=len(self.found),
            **({"reads": reads} | others),
        )

    def halves(self) -> list[TextBatch]:
        """The batch in two halves that split no pair; the batch itself if that is impossible."""
        found, middle = self.found, len(self.found) // 2
        if found.mates is not None and found.mates[middle] == 2:
            middle += 1
        if not 0 < middle < len(found):
            return [self]
        halves = (found.part(0, middle), found.part(middle, len(found)))
        return [TextBatch.of(half, self.bam, self.deflate) for half in halves]


def usual_bytes(found: Found, bam: bool) -> int:
    """Estimated bytes of a batch's formatted records."""
    records, bases, reads = len(found.alignments.flag), int(found.base_offsets[-1]), found.reads
    if isinstance(reads, SequenceBatch):
        names = len(reads.names) + (0 if reads.comments is None else len(reads.comments))
    else:
        names = max(0, reads.text_bytes - 2 * bases)
    read_bytes = (3 if bam else 4) * bases // 2 + names
    return read_bytes * records // max(1, len(found)) + _USUAL_FIELDS * records


def _fields(name: str) -> tuple[str, ...]:
    return struct(name).names or ()


class TextKernel(DeviceKernel[TextBatch, Written]):
    """Formats batches' records on one device."""

    def __init__(self, device: Device, reference: Reference) -> None:
        super().__init__(device)
        self.reference = reference
        nvcomp = load_nvcomp()
        self._deflater = None if nvcomp is None else Deflater(device, nvcomp)
        self._scale = 1.0  # capacity as a multiple of usual_bytes
        self._shares = {"text": 1.0, "blocks": 0.3}  # output of the latest batch as a share of usual_bytes

    def launch(self, slot: Slot, item: TextBatch) -> tuple[int, str, int] | None:
        """
        Returns:
            capacity, key of the output array, and bytes copied ahead.

        Raises:
            NvcompError: the batch cannot be deflated; later ones are not compressed here.
        """
        reads, parsed = len(item.found), item.parsed
        if reads == 0:
            return None
        target = resident_text_target(self.device, self.reference)
        slot.step = "format"
        block = int(slot.upload("text block", item.block[: item.nbytes]))
        capacity = int(self._scale * item.usual_bytes) + _MIN_BYTES
        deflater = self._deflater if item.bam and item.deflate else None
        scan = _native.TEXT_READS_SCANNED
        scanned = -(-reads // scan)
        totals = int(slot.clear("totals", 24))
        out = int(slot.device_array("text", capacity, zeroed=True))
        columns = {} if parsed is None else {"reads": parsed.text.columns(slot)}
        batch = item.native(
            block,
            target=target,
            edits=int(slot.clear("edits", 4 * len(item.found.alignments.flag))),
            sizes=int(slot.device_array("sizes", 8 * (reads + 1))),
            block_sums=int(slot.device_array("block sums", 8 * scanned)),
            totals=totals,
            out=out,
            capacity=capacity,
            **columns,
        )
        defines, warps = tuning.text_defines(item.bam), -(-reads // tuning.TEXT_WARPS)
        for name, blocks, threads in (
            ("measure_records", warps, 32 * tuning.TEXT_WARPS),
            ("scan_reads", scanned, scan),
            ("scan_blocks", 1, scan),
            ("write_records", warps, 32 * tuning.TEXT_WARPS),
        ):
            slot.launch(self.device.function("map_text", name, defines), blocks, threads, batch)
        if deflater is not None:
            try:
                deflater.submit(slot, out, totals, capacity)
            except NvcompError:
                self._deflater = None  # for later batches
                raise
        # mostly all of it, which saves the wait for a second copy
        key = "text" if deflater is None else "blocks"
        ahead = min(capacity, int(tuning.TEXT_COPIED_AHEAD * self._shares[key] * item.usual_bytes))
        ahead = min(ahead, len(item.space)) or ahead
        slot.download_into(item.space[:ahead] if len(item.space) else slot.pinned(key, ahead, np.uint8), key)
        slot.download("totals", 3, np.uint64)
        return capacity, key, ahead

    def result(self, slot: Slot, item: TextBatch, launched: tuple[int, str, int] | None) -> Written | Again:
        """The records, in pinned memory, which the caller should release soon."""
        if launched is None:
            return Written(np.zeros(0, np.uint8), 0)
        if item.parsed is not None:
            parsed_reads(slot).release(slot)
        capacity, key, ahead = launched
        size, records, blocks = slot.pinned("totals", 3, np.uint64).tolist()
        slot.detach_pinned("text block")  # the staging buffer, if there was one
        if size > capacity:
            self._scale = max(self._scale, tuning.TEXT_GROWTH * size / item.usual_bytes)  # for later batches
            return AGAIN
        nbytes = blocks if key == "blocks" else size
        self._shares[key] = nbytes / max(1, item.usual_bytes)
        memory = item.space
        if len(memory) < nbytes:
            memory = slot.pinned(key, nbytes, np.uint8)
            slot.detach_pinned(key)
        if nbytes > ahead:
            slot.download_into(memory[:nbytes], key)
            slot.finish()
        return Written(memory[:nbytes], records, key == "blocks")

    def split(self, item: TextBatch) -> list[TextBatch]:
        return item.halves()

    def join(self, results: Sequence[Written]) -> Written:
        """Join the halves' results."""
        if len({result.deflated for result in results}) > 1:
            raise NvcompError("nvCOMP deflated one half of a batch")
        records = np.concatenate([result.records for result in results])
        return Written(records, sum(result.count for result in results), results[0].deflated)


class MapAndTextKernel(DeviceKernel[Any, Any]):
    """Maps batches and formats their records."""

    def __init__(self, mapper: ReadsKernel, text: TextKernel) -> None:
        super().__init__(mapper.device)
        self._mapper, self._text, self._text_mapper = mapper, text, TextMapKernel(mapper)

    def kernel_for(self, item: KernelReads | TextBatch) -> DeviceKernel[Any, Any]:
        if isinstance(item, TextBatch):
            return self._text
        return self._text_mapper if isinstance(item, TextMapBatch) else self._mapper


def resident_text_target(device: Device, reference: Reference) -> np.void:
    """``TextTarget`` of cuda/abi/text.hpp with its arrays resident on the device."""
    text = resident_text(device, reference)
    arrays = text_arrays(reference)
    held = device.resident("bases", lambda: DeviceArrays(device, *arrays, beyond=True), reference)
    return text_target(reference, text.text, text.mask, *held.addresses)


#: arrays of ``TextTarget`` besides the text
_TARGET_ARRAYS = ("contig_offsets", "run_starts", "run_ends", "run_bases")


def text_arrays(reference: Reference) -> tuple[NDArray[Any], ...]:
    return (*(getattr(reference, name) for name in _TARGET_ARRAYS), *reference.shown_name_bytes)


def text_target(reference: Reference, words: int, mask: int, *arrays: int) -> np.void:
    own, runs = dict(zip(_TARGET_ARRAYS, arrays, strict=False)), len(reference.run_starts)
    names = filled("ContigColumns", names=arrays[-2], offsets=arrays[-1])
    return filled("TextTarget", **own, words=words, acgt_mask=mask, runs=runs, names=names)
