"""Reads to alignments on a GPU: launches the kernels of ``cuda/map.cu``, then the slow path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map import tuning
from gpualign.map.device.batch import KernelReads, MappedBatch, ReadsKernel, take_result
from gpualign.map.device.chains import ChainSteps, LongReadKernel
from gpualign.map.device.slow_path import Capacity, SlowPath, all_templates, power_of_two
from gpualign.map.device.target import resident_introns, resident_target
from gpualign.map.device.text import MapAndTextKernel, TextKernel
from gpualign.map.meth import params_as
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.rules import map_rules
from gpualign.run.abi import changed, filled
from gpualign.run.gpu.buffers import Slot, scratch_of
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import AGAIN, Again
from gpualign.seeds.index.minimizers import MinimizerIndex

#: kernels in launch order; each lane takes a template in the second and a read in the fourth, a warp in the others
KERNELS = ("find_loci", "choose_loci", "rescue_mates", "report_loci", "align_loci")
#: hits of a read beyond which it takes the slow path
_MAX_HITS = 1 << 14
#: windows next to a mate's loci; for a short mate also on both sides of what is found there
_MATE_WINDOWS = 12
#: minimum capacity for hits: windows for both mates
_MIN_HITS = 32
#: bytes of shared memory per block that the driver reserves
_BLOCK_SHARED = 1024


@dataclass(frozen=True)
class Workspace:
    """A warp's workspace.

    Attributes:
        words: words of 32 bases in the longest read.
        hits, loci: capacities, powers of two.
        band: bytes of a banded alignment.
    """

    words: int
    hits: int
    loci: int
    band: int

    @classmethod
    def of(cls, params: MapParams, longest: int) -> Workspace:
        """For reads of up to ``longest`` bases; those beyond :data:`tuning.MAP_LONGEST` take the slow path."""
        words = tuning.map_shape(longest).words
        length = min(longest, 32 * words)
        limit = int(edit_limits(params, length)[-1])
        return cls(
            words,
            power_of_two(max(_MIN_HITS, min(_MAX_HITS, _native.MAP_DEPTH * params.seeding.max_hits))),
            power_of_two(_native.MAP_DEPTH * params.seeding.max_candidates + _MATE_WINDOWS),
            _native.band_bytes(length, 2 * limit + 1),
        )

    def overflow_records(self, params: MapParams, reads: int) -> int:
        """Overflow records for typical reads, and at least what a single pair can need."""
        secondary = params.reporting.secondary
        # of a CIGAR: its number of operations, and two operations per base, four bytes each
        long_cigar = -(-4 * (1 + 2 * 32 * self.words) // _native.MAP_RECORD_BYTES)
        pair_records = 2 * (1 + min(secondary, self.loci)) * (1 + long_cigar)
        return pair_records + reads // tuning.READS_PER_LONG_CIGAR + reads * min(secondary, tuning.USUAL_SECONDARY)

    @property
    def nbytes(self) -> int:
        """Bytes per warp."""
        return _native.map_workspace_bytes(self.hits, self.loci, self.band)


def edit_limits(params: MapParams, longest: int) -> NDArray[np.int32]:
    """int32 (longest + 1,): edits allowed for each length of a read."""
    return params.limits(np.arange(longest + 1)).astype(np.int32)


def batch_of(
    item: KernelReads, block: int, sizes: Workspace, records_bytes: int, records: int, **others: Any
) -> np.void:
    """``MapBatch`` of cuda/abi/map.hpp; ``block`` and ``records`` are addresses."""
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
        workspace_band=sizes.band,
        **others,
    )


@dataclass(frozen=True)
class _Launch:
    """The kernels for batches with one maximum length. Those that work by warp have ``blocks`` blocks with ``shared``
    bytes of shared memory each.
    """

    workspace: Workspace
    shape: tuning.MapShape
    shared: int
    blocks: int
    functions: tuple[Any, ...]

    def steps(self, item: KernelReads) -> Iterator[tuple[Any, int, int]]:
        """Yield (kernel, blocks, bytes of shared memory) in launch order."""
        for function, items in zip(self.functions, (0, item.templates, 0, item.reads, 0), strict=True):
            yield (function, -(-items // (32 * self.shape.warps)), 0) if items else (function, self.blocks, self.shared)


class MapKernel(ReadsKernel):
    """Maps batches of reads on one device.

    Args:
        pairs: model of the pairs, unless the batch has its own; None: map every read by itself.
        pinned_results: results stay in pinned memory, for callers that use them before the device is closed; False:
            they are copied.
    """

    def __init__(
        self,
        device: Device,
        index: MinimizerIndex,
        params: MapParams,
        pairs: PairModel | None,
        pinned_results: bool = False,
    ) -> None:
        super().__init__(device)
        self.index, self.params, self.pairs = index, params, pairs
        self._pinned_results = pinned_results
        self._model = pairs or PairModel()
        self._shared_memory = device.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR")
        self._multiprocessors = device.attribute("MULTIPROCESSOR_COUNT")
        self._launches: dict[int, _Launch] = {}
        self._overflow_scale = 1.0  # multiple of the usual number of overflow records
        # capacities of batches of which most templates take the slow path, and of others
        known = resident_introns(device, params)
        self._slow_paths = {slow: SlowPath(index, params, 32, known) for slow in (False, True)}
        self._steps = ChainSteps(device, params)
        self._usual_rules: dict[tuple[int, str], np.void] = {}  # for the model of all, by longest read and kind

    def launch(self, slot: Slot, item: KernelReads) -> tuple[Capacity, int] | None:
        """Returns the capacity and the bytes of records."""
        if item.templates == 0:
            return None
        slot.step = "map"
        # the first call copies the index: keep it out of this batch's events, and out of the memory for batches
        target, rules = resident_target(self.device, self.index), self._rules(slot, item)
        launch = self._launch(item.longest[0])
        workspace, shape = launch.workspace, launch.shape
        slow_path = self._slow_paths[item.which == "others"]
        records_bytes, capacity = self._records_bytes(item), slow_path.capacity(item, self.device.batch_budget)
        block = item.on_device(slot)
        counters = int(slot.clear("counters", 4 * capacity.counters))
        records = int(slot.device_array("records", records_bytes, zeroed=True))
        packed = batch_of(
            item,
            block,
            workspace,
            records_bytes,
            target=target,
            rules=rules,
            records=records,
            next_overflow=counters + 4 * capacity.overflow,
            state=int(slot.device_array("reads", _native.map_state_bytes(workspace.words, item.reads))),
            slow_templates=int(slot.device_array("slow_templates", 4 * item.templates)),
            conversions=0 if item.conversions is None else int(slot.upload("conversions", item.conversions)),
        )
        fast, slow = scratch_of(slot, ["fast path", "slow path"], tuning.SCRATCH_SHARE)
        if self.params.seeding.full:
            packed["slow_count"] = int(slot.upload("all templates", all_templates(item)))
            packed["slow_templates"] = packed["slow_count"] + 4
        else:
            with slot.using(fast):
                nbytes = launch.blocks * shape.warps * workspace.nbytes
                packed["workspace"] = slot.scratch_array("workspace", nbytes)
                for function, blocks, shared in launch.steps(item):
                    slot.launch(function, blocks, 32 * shape.warps, packed, shared=shared)
        with slot.using(slow):
            self._run_slow_path(slot, item, packed, counters, capacity)
        slot.download("counters", capacity.counters, np.uint32)
        slot.download("records", records_bytes, np.uint8)
        return capacity, records_bytes

    def _run_slow_path(self, slot: Slot, item: KernelReads, batch: np.void, counters: int, capacity: Capacity) -> None:
        """Map the templates that the fast path leaves."""
        slow_path, sizes, spliced = self._slow_paths[item.which == "others"], capacity.sizes, self.params.splicing
        align = (
            {"passes": tuning.SPLICED_PASSES} if spliced else {"passes": tuning.SHORT_PASSES, "largest": sizes.of_chain}
        )
        at_once = self._multiprocessors * tuning.SLOW_PATH_BLOCKS * tuning.SLOW_PATH_WARPS
        warps = max(
            1,
            min(at_once, int(tuning.SLOW_PATH_SHARE * self.device.batch_budget) // sizes.group, 2 * capacity.templates),
        )
        block_warps = min(warps, tuning.SLOW_PATH_WARPS)
        blocks = warps // block_warps
        array = slot.scratch_array
        workspace = array("slow path workspace", blocks * block_warps * sizes.group)
        if slow_path.any_long(item):
            self._steps.run(slot, slow_path.long_launch(item, batch, array, counters, capacity))
        defines = tuning.slow_path_defines(self.params.scoring.has_long_gaps)
        statuses = int(slot.device_array("statuses", 4 * capacity.templates))
        for launch in slow_path.launches(item, batch, array, counters, workspace, statuses, capacity):
            slot.clear("statuses", 4 * capacity.templates)
            for kernel, own in slow_path.steps(launch):
                if kernel:
                    function = self.device.function("map_slow_path", kernel, defines)
                    slot.launch(function, blocks, 32 * block_warps, own)
                else:
                    self._steps.plan(slot, own)
                    self._steps.align(slot, own, int(own["next"]), **align)

    def result(self, slot: Slot, item: KernelReads, launched: tuple[Capacity, int] | None) -> MappedBatch | Again:
        if launched is None:
            return item.mapped(np.zeros(0, np.uint8), 0)
        slow_path, reads, (capacity, nbytes) = self._slow_paths[item.which == "others"], item.reads, launched
        counters = slot.pinned("counters", capacity.counters, np.uint32)
        lacking = slow_path.lacking(item, counters, capacity)
        overflow = int(slow_path.beyond(counters, capacity) * int(counters[capacity.overflow]))
        if overflow > nbytes // _native.MAP_RECORD_BYTES - reads:
            wanted = tuning.SLOW_PATH_MARGIN * overflow / self._overflow_records(item)
            self._overflow_scale, lacking = max(self._overflow_scale, wanted), True
        if lacking:
            return AGAIN
        slot.detach_pinned("batch")  # the staging buffer, if there was one
        return item.mapped(take_result(slot, "records", nbytes, self._pinned_results), reads)

    def _overflow_records(self, item: KernelReads) -> int:
        return self._launch(item.longest[0]).workspace.overflow_records(self.params, item.reads)

    def _records_bytes(self, item: KernelReads) -> int:
        return (item.reads + int(self._overflow_scale * self._overflow_records(item))) * _native.MAP_RECORD_BYTES

    def _launch(self, longest: int) -> _Launch:
        """The launch for batches whose longest read has ``longest`` bases."""
        if longest not in self._launches:
            workspace, shape = Workspace.of(self.params, longest), tuning.map_shape(longest)
            defines = shape.defines(self.params.meth is not None)
            shared = shape.warps * _native.map_shared_bytes(shape.words)
            functions = tuple(self.device.function("map", name, defines) for name in KERNELS)
            for function in functions:
                function.set_attribute(self.device.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            # as many blocks as are resident at once and fit the budget for workspaces
            at_once = self._multiprocessors * max(1, min(shape.blocks, self._shared_memory // (shared + _BLOCK_SHARED)))
            budget = int(tuning.WORKSPACE_SHARE * self.device.batch_budget)
            blocks = max(1, min(at_once, budget // (shape.warps * workspace.nbytes)))
            self._launches[longest] = _Launch(workspace, shape, shared, blocks, functions)
        return self._launches[longest]

    def _rules(self, slot: Slot, item: KernelReads) -> np.void:
        longest = power_of_two(max(1024, item.longest[2]))

        def rules_of(model: PairModel, penalties: int, limits: int) -> np.void:
            k, w, bases = self.index.params.k, self.index.params.w, self.index.reference.bases
            rules = map_rules(k, w, bases, params_as(self.params, item.which), model)
            return changed(rules, penalties=penalties, limits=limits)

        if (longest, item.which) not in self._usual_rules:
            tables = self.device.resident(
                f"map tables {longest}",
                lambda: DeviceArrays(self.device, self._model.penalties, edit_limits(self.params, longest)),
                *(self.params, self._model),
            )
            self._usual_rules[longest, item.which] = rules_of(self._model, *tables.addresses)
        rules = self._usual_rules[longest, item.which]
        if item.model in (None, self._model):
            return rules
        return rules_of(item.model, int(slot.upload("penalties", item.model.penalties)), int(rules["limits"]))


def map_kernel(
    device: Device, index: MinimizerIndex, params: MapParams, pairs: PairModel | None, pinned_results: bool = False
) -> MapKernel | LongReadKernel:
    """The kernel for long or short reads; takes the arguments of :class:`MapKernel`."""
    if params.long_reads:
        return LongReadKernel(device, index, params, pinned_results)
    return MapKernel(device, index, params, pairs, pinned_results)


def map_and_text_kernel(
    device: Device, index: MinimizerIndex, params: MapParams, pairs: PairModel | None
) -> MapAndTextKernel:
    """The kernel that maps reads and formats their records, with results in pinned memory."""
    mapper = map_kernel(device, index, params, pairs, pinned_results=True)
    return MapAndTextKernel(mapper, TextKernel(device, index.reference))
