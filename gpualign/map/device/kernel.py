"""Reads to alignments on a GPU: ``cuda/map.cu``, in steps over the batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.abi import changed, filled
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import Device, DeviceMemoryExceeded
from gpualign.engine.gpu.device_arrays import DeviceArrays
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map import tuning
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.chains import ChainSteps, LongReadKernel, slot_array
from gpualign.map.device.records import DeviceRecords
from gpualign.map.device.target import resident_target
from gpualign.map.device.thorough import Capacity, Thorough, all_templates, power_of_two
from gpualign.map.pairs import ORIENTATIONS, PairModel
from gpualign.map.params import MapParams

#: the kernels in turn; lanes take templates in the second and reads in the fourth, warps what they leave in the others
KERNELS = ("find_loci", "choose_loci", "rescue_mates", "report_loci", "align_loci")
#: hits of a read beyond which it is mapped thoroughly
_MAX_HITS = 1 << 14
#: windows next to a mate's loci, of a short one on both sides of what is found there, too
_MATE_WINDOWS = 12
#: hits that there is space for, at least: windows for both mates
_MIN_HITS = 32
#: reads for each further record that holds a long CIGAR, and secondary alignments of a read that there is space for
_READS_A_LONG_CIGAR = 32
_USUAL_SECONDARY = 2
#: shared memory that the driver keeps of each block
_BLOCK_SHARED = 1024
#: of the device's budget for all warps' workspaces in one batch
_WORKSPACE_SHARE = 0.1
#: and for that of the reads that are mapped thoroughly
_THOROUGH_SHARE = 0.03


@dataclass(frozen=True)
class Workspace:
    """What a warp needs for the reads of a batch.

    Attributes:
        words: of 32 bases in the longest read.
        hits, loci: how many there can be, powers of two.
        trace: bytes of the alignment's traceback.
    """

    words: int
    hits: int
    loci: int
    trace: int

    @classmethod
    def of(cls, params: MapParams, longest: int) -> Workspace:
        """For reads of up to ``longest`` bases; those beyond :data:`tuning.MAP_LONGEST` are mapped thoroughly."""
        words = tuning.map_shape(longest).words
        length = min(longest, 32 * words)
        limit = int(edit_limits(params, length)[-1])
        return cls(
            words,
            power_of_two(max(_MIN_HITS, min(_MAX_HITS, _native.MAP_DEPTH * params.seeding.max_hits))),
            power_of_two(_native.MAP_DEPTH * params.seeding.max_candidates + _MATE_WINDOWS),
            (2 * length + 2 * limit + 1) * (limit + 1),
        )

    def further_records(self, params: MapParams, reads: int) -> int:
        """For as many reads, if they are as most, and in any case for the most that a pair can need."""
        secondary = params.reporting.secondary
        long_cigar = -(-2 * 2 * 32 * self.words // _native.MAP_RECORD_BYTES)  # two operations a base, of two bytes
        of_pair = 2 * (1 + min(secondary, self.loci)) * (1 + long_cigar)
        return of_pair + reads // _READS_A_LONG_CIGAR + reads * min(secondary, _USUAL_SECONDARY)

    @property
    def nbytes(self) -> int:
        """Bytes of one warp."""
        return _native.map_workspace_bytes(self.hits, self.loci, self.trace)


def edit_limits(params: MapParams, longest: int) -> NDArray[np.int32]:
    """int32 (longest + 1,): edits allowed by a read's length."""
    return params.limits(np.arange(longest + 1)).astype(np.int32)


def rules_of(index: MinimizerIndex, params: MapParams, pairs: PairModel, penalties: int, limits: int) -> np.void:
    """``MapRules`` of cuda/abi/map.hpp; the last two are addresses."""
    library = pairs.min, pairs.max, ORIENTATIONS.index(pairs.orientation), pairs.unpaired_penalty
    rules = _rules_of_all(index.params.k, index.params.w, index.reference.bases, params)
    return changed(rules, pairs=library, penalties=penalties, limits=limits)


@lru_cache(4)  # small batches take less time than to write these down
def _rules_of_all(k: int, w: int, bases: int, params: MapParams) -> np.void:
    """What does not depend on pairs and addresses."""
    return filled(
        "MapRules",
        k=k,
        w=w,
        max_hits=params.seeding.max_hits,
        max_candidates=params.seeding.max_candidates,
        scores=filled("AffineScores", **asdict(params.scoring)),
        local=not params.end_to_end,
        locus_bits=_native.bits_of_locus(bases),
        **params.reporting.native,
    )


def batch_of(item: MapBatch, block: int, sizes: Workspace, records_bytes: int, records: int, **others: Any) -> np.void:
    """``MapBatch`` of cuda/abi/map.hpp, whose block and records, so many bytes, are at these addresses."""
    size, reads = _native.MAP_RECORD_BYTES, item.reads
    return filled(
        "MapBatch",
        **item.addresses(block),
        template_count=item.templates,
        records=records,
        overflow_records=records + reads * size,
        overflow_count=records_bytes // size - reads,
        read_count=reads,
        workspace_hits=sizes.hits,
        workspace_loci=sizes.loci,
        workspace_trace=sizes.trace,
        **others,
    )


@dataclass(frozen=True)
class _Launch:
    """The kernels for batches of one longest length: bytes of shared memory of those in which warps work, and number of
    their blocks.
    """

    workspace: Workspace
    shape: tuning.MapShape
    shared: int
    blocks: int
    functions: tuple[Any, ...]

    def steps(self, item: MapBatch) -> Iterator[tuple[Any, int, int]]:
        """(kernel, blocks, bytes of shared memory) in turn."""
        for function, items in zip(self.functions, (0, item.templates, 0, item.reads, 0), strict=True):
            yield (function, -(-items // (32 * self.shape.warps)), 0) if items else (function, self.blocks, self.shared)


class MapKernel:
    """Maps batches of reads on one device (see ``gpu.runner.Kernel``).

    Args:
        pairs: how the pairs that a batch's mates name should lie, unless the batch says so itself; None: every read by
            itself.
        lent: results lie in the device's page-locked memory and are used before the device is closed; otherwise they
            are copied.
    """

    def __init__(
        self, device: Device, index: MinimizerIndex, params: MapParams, pairs: PairModel | None, lent: bool = False
    ) -> None:
        self.device, self.index, self.params, self.pairs, self._lent = device, index, params, pairs, lent
        self._model = pairs or PairModel()
        attribute, card = device.driver.device_attribute, device.driver.Device(device.info.index)
        self._shared_memory = int(card.get_attribute(attribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR))
        self._multiprocessors = int(card.get_attribute(attribute.MULTIPROCESSOR_COUNT))
        self._launches: dict[int, _Launch] = {}
        self._further = 1  # times the usual number of further records
        self._thorough = Thorough(index, params, 32)
        self._in_flight: dict[int, tuple[Capacity, int]] = {}  # of its slot, and bytes of its records
        self._steps = ChainSteps(device, params)

    def submit(self, slot: Slot, item: MapBatch) -> None:
        if item.templates == 0:
            return
        launch = self._launch(item.longest[0])
        workspace, shape = launch.workspace, launch.shape
        # the first time much is copied: not between this batch's events
        target, rules = resident_target(self.device, self.index), self._rules(slot, item)
        records_bytes, given = self._records_bytes(item), self._thorough.capacity(item, self.device.budget)
        self._in_flight[id(slot)] = given, records_bytes
        block = item.on_device(slot)
        counters = int(slot.clear("counters", 4 * given.counters))
        records = int(slot.device_array("records", records_bytes, zeroed=True))
        memory = int(slot.device_array("workspace", launch.blocks * shape.warps * workspace.nbytes))
        packed = batch_of(
            item,
            block,
            workspace,
            records_bytes,
            target=target,
            rules=rules,
            records=records,
            workspace=memory,
            next_overflow=counters + 4 * given.further,
            state=int(slot.device_array("reads", _native.map_state_bytes(workspace.words, item.reads))),
            slow_templates=int(slot.device_array("slow_templates", 4 * item.templates)),
        )
        slot.pinned("records", records_bytes, np.uint8)
        if self.params.seeding.full:
            packed["slow_count"] = int(slot.upload("all templates", all_templates(item)))
            packed["slow_templates"] = packed["slow_count"] + 4
        else:
            for function, blocks, shared in launch.steps(item):
                slot.launch(function, blocks, 32 * shape.warps, packed, shared=shared)
        self._map_thoroughly(slot, item, packed, block, counters, given)
        slot.download("counters", given.counters, np.uint32)
        slot.download("records", records_bytes, np.uint8)

    def _map_thoroughly(
        self, slot: Slot, item: MapBatch, batch: np.void, block: int, counters: int, given: Capacity
    ) -> None:
        """The templates that the first kernel leaves."""
        thorough, sizes = self._thorough, given.sizes
        at_once = self._multiprocessors * tuning.THOROUGH_BLOCKS * tuning.THOROUGH_WARPS
        warps = max(1, min(at_once, int(_THOROUGH_SHARE * self.device.budget) // sizes.group, 2 * given.templates))
        of_block = min(warps, tuning.THOROUGH_WARPS)
        blocks = warps // of_block
        workspace = int(slot.device_array("thorough workspace", blocks * of_block * sizes.group))
        if thorough.any_long(item):
            self._steps.run(slot, thorough.long_launch(item, batch, block, slot_array(slot), counters, given))
        defines = tuning.thorough_defines(self.params.scoring.has_long_gaps)
        for launch in thorough.launches(item, batch, block, slot_array(slot), counters, workspace, given):
            slot.clear("statuses", 4 * given.templates)
            for kernel, own in thorough.steps(launch):
                if kernel:
                    function = self.device.function("map_slow_path", kernel, defines)
                    slot.launch(function, blocks, 32 * of_block, own)
                else:
                    self._steps.align(slot, own, int(own["next"]), tuning.SHORT_PASSES, sizes.of_chain)

    def collect(self, slot: Slot, item: MapBatch) -> DeviceRecords:
        """
        Raises:
            DeviceMemoryExceeded: the reads have more records than there was space for.
        """
        if item.templates == 0:
            return DeviceRecords(((np.zeros(0, np.uint8), 0),))
        while True:
            given, nbytes = self._in_flight.pop(id(slot))
            counters = slot.pinned("counters", given.counters, np.uint32)
            if not self._thorough.lacking(counters, given):
                break
            self.submit(slot, item)
            slot.finish()
        slot.part_with("batch")  # where the block had to be staged here: a host thread may fill it with the next batch
        records, reads = slot.part_with("records"), item.reads
        assert records is not None
        if int(counters[given.further]) > nbytes // _native.MAP_RECORD_BYTES - reads:
            self._further *= 2  # of the batches to come
            raise DeviceMemoryExceeded("the reads have more records than there was space for")
        records = records[:nbytes]
        return DeviceRecords(((records if self._lent else records.copy(), reads),))

    def split(self, item: MapBatch) -> list[MapBatch]:
        """Halves of a batch, pairs whole."""
        return item.halves(self.pairs is not None or item.model is not None)

    def join(self, results: Sequence[Any]) -> DeviceRecords:
        """The parts' results."""
        return DeviceRecords(tuple(part for result in results for part in result.parts))

    def _records_bytes(self, item: MapBatch) -> int:
        further = self._further * self._launch(item.longest[0]).workspace.further_records(self.params, item.reads)
        return (item.reads + further) * _native.MAP_RECORD_BYTES

    def _launch(self, longest: int) -> _Launch:
        """For batches whose longest read has so many bases."""
        if longest not in self._launches:
            workspace, shape = Workspace.of(self.params, longest), tuning.map_shape(longest)
            shared = shape.warps * _native.map_shared_bytes(shape.words)
            functions = tuple(self.device.function("map", name, shape.defines) for name in KERNELS)
            for function in functions:
                function.set_attribute(self.device.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            blocks = self._blocks(shape, shared, workspace.nbytes)
            self._launches[longest] = _Launch(workspace, shape, shared, blocks, functions)
        return self._launches[longest]

    def _blocks(self, shape: tuning.MapShape, shared: int, workspace: int) -> int:
        """As many blocks as run at once, or as there is memory for."""
        at_once = self._multiprocessors * max(1, min(shape.blocks, self._shared_memory // (shared + _BLOCK_SHARED)))
        return max(1, min(at_once, int(_WORKSPACE_SHARE * self.device.budget) // (shape.warps * workspace)))

    def _rules(self, slot: Slot, item: MapBatch) -> np.void:
        longest = power_of_two(max(1024, item.longest[2]))
        tables = self.device.resident(
            f"map tables {longest}",
            lambda: DeviceArrays(self.device, self._model.penalties, edit_limits(self.params, longest)),
            *(self.params, self._model),
        )
        penalties, limits = tables.addresses
        if item.model not in (None, self._model):
            penalties = int(slot.upload("penalties", item.model.penalties))
        return rules_of(self.index, self.params, item.model or self._model, penalties, limits)


def make_kernel(
    device: Device, index: MinimizerIndex, params: MapParams, pairs: PairModel | None, lent: bool = False
) -> MapKernel | LongReadKernel:
    """For the reads that these parameters are for; the arguments are those of :class:`MapKernel`."""
    if params.long_reads:
        return LongReadKernel(device, index, params, lent)
    return MapKernel(device, index, params, pairs, lent)
