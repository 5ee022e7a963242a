"""Records as SAM lines or BAM's bytes, written and deflated on a GPU: ``cuda/map_text.cu`` and ``cuda/bgzf.cu``."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.abi import filled, struct
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.compiler import Variant
from gpualign.engine.gpu.device import Device, DeviceMemoryExceeded
from gpualign.engine.gpu.device_arrays import DeviceArrays, DeviceText
from gpualign.engine.gpu.inflate import BlockGroup, InflateKernel
from gpualign.engine.gpu.nvcomp import Nvcomp, NvcompError, load_nvcomp
from gpualign.engine.gpu.runner import run_alone
from gpualign.engine.stage import Lend
from gpualign.errors import DeviceError, GpualignError
from gpualign.map import tuning
from gpualign.map.device.batch import nothing_lent
from gpualign.map.inputs import RecordOptions
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

#: where the arrays begin in a block is a multiple of it
_ALIGNMENT = 16
#: bytes of a record besides letters, qualities and names: a first guess; and the room for texts in times of the largest
_USUAL_FIELDS = 192
_GROWTH = 1.25
_LEAST_BYTES = 1 << 12
#: threads of the blocks of ``cuda/map_text.cu``, a warp a read, and of ``cuda/bgzf.cu``
_WARPS = 4
_THREADS = 256
#: bytes of a BGZF block around content that is stored as it is
_AROUND = 31


@dataclass(frozen=True)
class TextBatch:
    """A batch's reads and records on their way to a device.

    Attributes:
        wanted: uint8 (n,), 1 for the reads that are written; None: all of them.
        options: as :meth:`RecordOptions.native` gives them.
        block: uint8, all arrays.
        places: of each array its first byte in the block; what there is not is not named.
    """

    batch: SequenceBatch
    alignments: Alignments
    wanted: NDArray[np.uint8] | None
    options: Mapping[str, Any]
    block: NDArray[np.uint8]
    places: Mapping[str, int]

    @classmethod
    def of(
        cls,
        batch: SequenceBatch,
        alignments: Alignments,
        wanted: NDArray[np.uint8] | None,
        options: Mapping[str, Any],
        lend: Lend = nothing_lent,
    ) -> TextBatch:
        """Copies the arrays.

        Args:
            lend: of memory for the block.
        """
        arrays: dict[str, NDArray[Any] | None] = {name: getattr(batch, name) for name in _fields("ReadColumns")}
        arrays |= {name: getattr(alignments, name) for name in _fields("RecordColumns")}
        arrays |= {"wanted": wanted, "read_group": np.frombuffer(options["read_group"].encode(), np.uint8)}
        held = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}
        places, nbytes = {}, 0
        for name, array in held.items():
            places[name] = nbytes
            nbytes += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        block = lend(nbytes)
        if block is None:
            block = np.empty(nbytes, np.uint8)
        for name, array in held.items():
            np.copyto(block[places[name] : places[name] + array.nbytes], array.view(np.uint8))
        return cls(batch, alignments, wanted, options, block, places)

    def usual_bytes(self, bam: bool) -> int:
        """Of the text, about."""
        batch, records = self.batch, len(self.alignments.flag)
        letters = (
            (3 if bam else 4) * len(batch.bases) // 2
            + len(batch.names)
            + (0 if batch.comments is None else len(batch.comments))
        )
        return letters * records // max(1, len(batch)) + _USUAL_FIELDS * records

    def native(self, block: int, **others: Any) -> np.void:
        """``TextBatch`` of cuda/abi/text.hpp, whose block is at this address."""
        at = {name: block + place for name, place in self.places.items()}
        options = {name: self.options[name] for name in _fields("SamOptions") if name in self.options}
        options |= {"read_group": at["read_group"], "read_group_size": len(self.options["read_group"].encode())}
        del options["alt_contigs"]  # of batches that are not for a device
        return filled(
            "TextBatch",
            reads=filled("ReadColumns", **{name: at[name] for name in _fields("ReadColumns") if name in at}),
            records=filled("RecordColumns", **{name: at[name] for name in _fields("RecordColumns")}),
            options=filled("SamOptions", **options),
            wanted=at.get("wanted", 0),
            count=len(self.batch),
            **others,
        )

    def halves(self) -> list[TextBatch]:
        """Two parts of the batch, pairs whole; itself where there are none."""
        middle = len(self.batch) // 2
        if self.batch.mates is not None and self.batch.mates[middle] == 2:
            middle += 1
        if not 0 < middle < len(self.batch):
            return [self]
        parts = []
        for start, end in ((0, middle), (middle, len(self.batch))):
            wanted = None if self.wanted is None else self.wanted[start:end]
            parts.append(
                TextBatch.of(self.batch.part(start, end), self.alignments.part(start, end), wanted, self.options)
            )
        return parts


def _fields(name: str) -> tuple[str, ...]:
    return struct(name).names or ()


@dataclass(frozen=True)
class DeviceRecordsText:
    """What a device has written.

    Attributes:
        parts: uint8, one after the other; in page-locked memory, to be given back soon.
        deflated: they are BGZF blocks.
        records: how many.
    """

    parts: tuple[NDArray[np.uint8], ...]
    deflated: bool
    records: int

    def joined(self) -> NDArray[np.uint8]:
        """A copy of all in ordinary memory."""
        text = np.empty(sum(len(part) for part in self.parts), np.uint8)
        np.concatenate(self.parts, out=text)
        return text


class TextKernel:
    """Writes batches' records on one device (see ``gpu.runner.Kernel``).

    Args:
        bam: BAM's bytes, not SAM lines.
        deflate: as BGZF blocks, where nvCOMP can make them.
    """

    def __init__(self, device: Device, reference: Reference, bam: bool, deflate: bool) -> None:
        self.device, self.reference = device, reference
        self._bam, self._form = bam, tuning.text_defines(bam)
        self._nvcomp = load_nvcomp() if bam and deflate else None
        self._room = 1.0  # times the usual bytes
        self._capacity: dict[int, int] = {}  # of the batches in flight

    def submit(self, slot: Slot, item: TextBatch) -> None:
        reads = len(item.batch)
        if reads == 0:
            return
        target = resident_text_target(self.device, self.reference)
        slot.step = "format"
        block = int(slot.upload("text block", item.block))
        capacity = int(self._room * item.usual_bytes(self._bam)) + _LEAST_BYTES
        self._capacity[id(slot)] = capacity
        scanned = -(-reads // int(_native.TEXT_READS_SCANNED))
        totals = int(slot.clear("totals", 24))
        out = int(slot.device_array("text", capacity))
        batch = item.native(
            block,
            target=target,
            edits=int(slot.clear("edits", 4 * len(item.alignments.flag))),
            sizes=int(slot.device_array("sizes", 8 * (reads + 1))),
            block_sums=int(slot.device_array("block sums", 8 * scanned)),
            totals=totals,
            out=out,
            capacity=capacity,
        )
        warps = -(-reads // _WARPS)
        scan = int(_native.TEXT_READS_SCANNED)
        for name, blocks, threads in (
            ("measure_records", warps, 32 * _WARPS),
            ("scan_reads", scanned, scan),
            ("scan_blocks", 1, scan),
            ("write_records", warps, 32 * _WARPS),
        ):
            slot.launch(self.device.function("map_text", name, self._form), blocks, threads, batch)
        if self._nvcomp is not None:
            slot.step = "deflate"
            self._deflate(slot, self._nvcomp, out, totals, capacity)
        slot.download("totals", 3, np.uint64)

    def collect(self, slot: Slot, item: TextBatch) -> DeviceRecordsText:
        """
        Raises:
            DeviceMemoryExceeded: the text is longer than there was room for.
        """
        deflated = self._nvcomp is not None
        if len(item.batch) == 0:
            return DeviceRecordsText((), deflated, 0)
        size, records, blocks = slot.pinned("totals", 3, np.uint64).tolist()
        slot.part_with("text block")
        if size > self._capacity.pop(id(slot)):
            self._room = max(self._room, _GROWTH * size / item.usual_bytes(self._bam))  # of the batches to come
            raise DeviceMemoryExceeded("the records are longer than there was room for")
        key, nbytes = ("blocks", blocks) if deflated else ("text", size)
        slot.download(key, nbytes, np.uint8)
        slot.submitted()
        slot.wait()
        part = slot.part_with(key)
        assert part is not None
        return DeviceRecordsText((part[:nbytes],), deflated, records)

    def split(self, item: TextBatch) -> list[TextBatch]:
        """Halves of a batch, pairs whole."""
        return item.halves()

    def join(self, results: Sequence[DeviceRecordsText]) -> DeviceRecordsText:
        """The parts' results."""
        parts = tuple(part for result in results for part in result.parts)
        return DeviceRecordsText(parts, results[0].deflated, sum(result.records for result in results))

    def _deflate(self, slot: Slot, nvcomp: Nvcomp, text: int, totals: int, capacity: int) -> None:
        """Enqueue the blocks of a text whose bytes the device alone knows."""
        content, most = int(_native.BGZF_CONTENT), int(_native.BGZF_MOST_BLOCKS)
        blocks = -(-capacity // content)
        at_once = min(blocks, most)
        try:
            scratch_bytes, room_bytes = nvcomp.sizes(at_once, content)
        except NvcompError as error:
            raise GpualignError(str(error)) from error
        room_bytes = -(-room_bytes // _ALIGNMENT) * _ALIGNMENT
        scratch = int(slot.device_array("deflate scratch", scratch_bytes))

        def numbers(name: str, nbytes: int = 8) -> int:
            return int(slot.device_array(f"deflate {name}", nbytes * at_once))

        batch = filled(
            "BgzfBatch",
            content=text,
            totals=totals,
            capacity=capacity,
            given=numbers("given"),
            given_bytes=numbers("given bytes"),
            deflated=numbers("deflated"),
            deflated_bytes=numbers("deflated bytes"),
            status=numbers("status", 4),
            room=numbers("room", room_bytes),
            room_bytes=room_bytes,
            places=numbers("places"),
            out=int(slot.device_array("blocks", capacity + _AROUND * blocks)),
            out_bytes=totals + 16,
        )
        for first in range(0, blocks, at_once):
            count = min(at_once, blocks - first)
            batch["first"], batch["count"] = first, count
            self._run(slot, "set_tasks", -(-count // _THREADS), _THREADS, batch)
            try:
                nvcomp.deflate(
                    count,
                    content,
                    (int(batch["given"]), int(batch["given_bytes"])),
                    (scratch, scratch_bytes),
                    (int(batch["deflated"]), int(batch["deflated_bytes"])),
                    int(batch["status"]),
                    int(slot.stream.handle),
                )
            except NvcompError as error:
                raise GpualignError(f"{self.device.name}: {error}") from error
            self._run(slot, "place_blocks", 1, most, batch)
            self._run(slot, "write_blocks", count, _THREADS, batch)

    def _run(self, slot: Slot, name: str, blocks: int, threads: int, batch: np.void) -> None:
        slot.launch(self.device.function("bgzf", name), blocks, threads, batch.copy())


class MapAndTextKernel:
    """Maps batches, writes what was found, and inflates input (see ``gpu.runner.Kernel``)."""

    def __init__(self, mapper: Any, text: TextKernel, inflate: InflateKernel | None) -> None:
        self._mapper, self._text, self._inflate = mapper, text, inflate

    def _of(self, item: Any) -> Any:
        if isinstance(item, BlockGroup):
            return self._inflate
        return self._text if isinstance(item, (TextBatch, DeviceRecordsText)) else self._mapper

    def submit(self, slot: Slot, item: Any) -> None:
        slot.step = "map"
        self._of(item).submit(slot, item)

    def collect(self, slot: Slot, item: Any) -> Any:
        return self._of(item).collect(slot, item)

    def split(self, item: Any) -> list[Any]:
        """Halves of a batch."""
        parts: list[Any] = self._of(item).split(item)
        return parts

    def join(self, results: Sequence[Any]) -> Any:
        """The parts' results."""
        return self._of(results[0]).join(results)


def resident_text_target(device: Device, reference: Reference) -> np.void:
    """``TextTarget`` of cuda/abi/text.hpp with the arrays on the device, where they stay."""
    text = device.resident(f"text {id(reference)}", lambda: DeviceText(device, reference, beyond=True))
    arrays = device.resident(
        f"letters {id(reference)}",
        lambda: DeviceArrays(device, *_letter_arrays(reference), beyond=True, owner=reference),
    )
    return _target(reference, text.text, text.known, *arrays.addresses)


def _letter_arrays(reference: Reference) -> tuple[NDArray[Any], ...]:
    return (
        reference.contig_offsets,
        *(reference.run_starts, reference.run_ends, reference.run_letters),
        *reference.shown_name_bytes,
    )


def _target(reference: Reference, words: int, known: int, *arrays: int) -> np.void:
    contig_offsets, run_starts, run_ends, run_letters, names, name_offsets = arrays
    return filled(
        "TextTarget",
        words=words,
        acgt_mask=known,
        contig_offsets=contig_offsets,
        run_starts=run_starts,
        run_ends=run_ends,
        run_letters=run_letters,
        runs=len(reference.run_starts),
        names=filled("ContigColumns", names=names, offsets=name_offsets),
    )


def text_on_one_lane(reference: Reference, item: TextBatch, bam: bool) -> tuple[bytes, int]:
    """What the kernels write, and the number of records, by the same code on one lane of the CPU: a test."""
    known = np.append(reference.known_bits(), np.zeros(2, np.uint32))
    arrays = (reference.words, known, *_letter_arrays(reference))
    held = tuple(np.ascontiguousarray(array) for array in arrays)
    reads = len(item.batch)
    edits, sizes = np.zeros(len(item.alignments.flag), np.int32), np.zeros(reads + 1, np.uint64)
    totals, out = np.zeros(3, np.uint64), np.zeros(0, np.uint8)
    while True:
        batch = item.native(
            int(item.block.ctypes.data),
            target=_target(reference, *(int(array.ctypes.data) for array in held)),
            edits=int(edits.ctypes.data),
            sizes=int(sizes.ctypes.data),
            totals=int(totals.ctypes.data),
            out=int(out.ctypes.data),
            capacity=len(out),
        )
        _native.write_records_on_one_lane(batch.tobytes(), bam)
        if int(totals[0]) <= len(out):
            return out[: int(totals[0])].tobytes(), int(totals[1])
        out = np.zeros(int(totals[0]), np.uint8)


#: what :func:`self_test` runs, for ``devices --check`` to compile side by side
SELF_TEST_MODULES: tuple[Variant, ...] = (
    *(("map_text", tuning.text_defines(bam)) for bam in (False, True)),
    ("bgzf", {}),
)


def self_test(device: Device) -> None:
    """Write records of reads with errors on the device and on the CPU, as lines and as blocks of BAM.

    Raises:
        DeviceError: the text differs.
    """
    rng = np.random.default_rng(3)
    count, length = 2000, 150
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 16)]
    letters[20_000:20_300] = ord("N")
    packer = _native.ReferencePacker()
    packer.append(letters)
    reference = Reference(["random"], np.array([0, len(letters)], np.int64), *packer.finish())
    position = rng.integers(0, len(letters) - length, count)
    bases = np.concatenate([letters[at : at + length] for at in position])
    bases[rng.random(len(bases)) < 0.02] = ord("C")
    offsets = np.arange(count + 1, dtype=np.int64)
    names = np.frombuffer(b"read" * count, np.uint8)
    mates = np.tile(np.array([1, 2], np.uint8), count // 2)
    batch = SequenceBatch(names, 4 * offsets, bases, length * offsets, qualities=bases, mates=mates)
    columns = rng.integers(0, 60, (3, count))
    alignments = Alignments(
        flag=np.where(np.arange(count) % 8 == 0, 0x51, 0x41).astype(np.uint16),
        contig=np.zeros(count, np.int32),
        position=position,
        mapq=columns[0].astype(np.uint8),
        score=columns[1].astype(np.int32),
        distance=columns[2].astype(np.int32),
        cigar=np.full(count, length << 4, np.uint32),
        cigar_offsets=offsets,
        record_offsets=offsets,
    )
    item = TextBatch.of(batch, alignments, None, RecordOptions().native("group"))
    for bam in (False, True):
        found = run_alone(device, partial(TextKernel, reference=reference, bam=bam, deflate=True), item)
        text = found.joined().tobytes()
        if found.deflated:
            text = gzip.decompress(text)
        if (text, found.records) != text_on_one_lane(reference, item, bam):
            raise DeviceError(f"{device.name}: records as {'BAM' if bam else 'SAM'} differ from the CPU's")
