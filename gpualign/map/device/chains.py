"""Long reads to alignments on a GPU, by chaining: launches the kernels of ``cuda/map_chains.cu``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map import tuning
from gpualign.map.device.batch import KernelReads, MappedBatch, ReadsKernel, take_result
from gpualign.map.device.target import resident_introns, resident_target
from gpualign.map.params import MapParams
from gpualign.map.rules import chain_rules
from gpualign.run.abi import changed, filled, struct
from gpualign.run.gpu.buffers import Slot, scratch_of
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import AGAIN, Again
from gpualign.seeds.index.minimizers import MinimizerIndex

#: initial items of each arena, per base and per read of a batch: for long reads, and for short reads if one in fifty
#: takes the slow path. Arenas that turn out too small grow.
_ARENA_ITEMS: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "hashes": ((1.5, 768), (0.15, 30)),
    "seeds": ((0.3, 8), (0.0, 2)),
    "anchors": ((3.0, 64), (0.0, 200)),
    "candidates": ((0.1, 8), (0.0, 20)),
    "chains": ((0.01, 8), (0.0, 1)),
    "points": ((0.1, 32), (0.0, 2)),
    "tasks": ((0.1, 32), (0.0, 3)),
    "runs": ((0.02, 8), (0.0, 1)),
    "cigars": ((1.0, 64), (0.0, 30)),
    "alignments": ((0.01, 8), (0.0, 1)),
    "ranked": ((0.02, 16), (0.0, 2)),
    "outputs": ((0.005, 4), (0.0, 0)),
    "output_cigars": ((0.3, 32), (0.0, 0)),
}
#: an arena that was too small grows to this multiple of what long reads requested
_GROWTH = 1.5
#: the arena of each counter of used items
_ARENAS = (*(name for name in _ARENA_ITEMS if name != "tasks"), "tasks", "tasks")
#: work counters, from which warps take the next item: one per pass of each round
ALIGN_COUNTERS = 2 * max(len(tuning.ALIGN_PASSES), len(tuning.SPLICED_PASSES))
ARENA_COUNTERS = len(_ARENAS)
#: chains and tasks done by earlier rounds
DONE_COUNTERS = 3
#: counters of a batch: arenas, the next read to chain, passes, and what is done
COUNTERS = ARENA_COUNTERS + 1 + ALIGN_COUNTERS + DONE_COUNTERS
Array = Callable[[str, int], int]


class ArenaItems(dict[str, int]):
    """{arena: capacity in items} of a batch.

    Attributes:
        factors: growth of each arena over its initial size.
    """

    factors: Mapping[str, float]


class ArenaSizes:
    """Capacities of arenas, which grow to what batches turn out to need.

    Args:
        slow_path: of short reads on the slow path; False: of long reads.
    """

    def __init__(self, slow_path: bool = False) -> None:
        self._slow_path = slow_path
        self._factor = dict.fromkeys(_ARENA_ITEMS, 1.0)

    def items(self, bases: int, reads: int) -> ArenaItems:
        items = ArenaItems()
        for name, initial in _ARENA_ITEMS.items():
            per_base, per_read = initial[self._slow_path]
            items[name] = min(2**32 - 2, int(self._factor[name] * (per_base * bases + per_read * reads)) + 1024)
        items.factors = dict(self._factor)
        return items

    def lacking(self, used: Mapping[str, int], capacity: ArenaItems) -> list[str]:
        """Names of arenas that were too small; they are larger for the next batch."""
        lacking = [name for name in _ARENA_ITEMS if used[name] > capacity[name]]
        growth = tuning.SLOW_PATH_GROWTH if self._slow_path else _GROWTH
        self.expect({name: growth * used[name] for name in lacking}, capacity)
        return lacking

    def expect(self, items: Mapping[str, float], capacity: ArenaItems) -> None:
        """Later batches have at least so many items, where this one had ``capacity``."""
        for name, wanted in items.items():  # several batches in flight may report the same arena
            self._factor[name] = max(self._factor[name], capacity.factors[name] * wanted / capacity[name])


def used_items(counters: NDArray[np.uint32]) -> dict[str, int]:
    """{arena: items that a batch requested}; for tasks the larger number of both rounds."""
    used = dict.fromkeys(_ARENA_ITEMS, 0)
    for name, count in zip(_ARENAS, counters.tolist(), strict=False):
        used[name] = max(used[name], count)
    return used


def chain_batch_of(
    item: KernelReads,
    addresses: Mapping[str, int] | np.void,
    rules: np.void,
    max_secondary: int,
    capacity: Mapping[str, int],
    array: Array,
    counters: int,
    min_length: int = 0,
    known: np.void | None = None,
) -> np.void:
    """``ChainBatch`` of cuda/abi/chains.hpp.

    Args:
        addresses: a ``MapBatch`` of cuda/abi/map.hpp, or those of its fields that point to input.
        array: (name, bytes) -> address of an array of the batch.
        counters: address of uint32 (ARENA_COUNTERS,), all 0.
        min_length: shorter reads are not mapped by these rules.
        known: a ``KnownIntrons``.
    """
    reads, words = item.reads, item.bases // 32 + 2 * item.reads + 2
    item_bytes = _native.chain_item_bytes()

    def arena(name: str, number: int, key: str) -> tuple[int, int, int]:
        """``Arena``, as NumPy takes a struct: items, used, capacity."""
        return array(key, capacity[name] * item_bytes[name]), counters + 4 * number, capacity[name]

    arenas = {name: arena(name, number, name) for number, name in enumerate(_ARENAS[:-2])}
    rounds = [arena("tasks", len(_ARENAS) - 2 + number, f"tasks {number}") for number in range(2)]
    return filled(
        "ChainBatch",
        **{name: addresses[name] for name in ("bases", "offsets", "tie_breaks", "conversions")},
        rules=rules,
        reads=reads,
        max_secondary=max_secondary,
        min_length=min_length,
        words=array("words", 8 * words),
        not_acgt=array("not_acgt", 4 * words),
        state=array("state", reads * struct("ChainRead").itemsize),
        tasks=np.array(rounds, struct("Arena")),
        known=filled("KnownIntrons") if known is None else known,
        **arenas,
    )


class ChainSteps:
    """The kernels of ``cuda/map_chains.cu`` on one device, launched where a slot is using scratch memory."""

    def __init__(self, device: Device, params: MapParams) -> None:
        self._device, self._variant = device, tuning.chain_defines(tuning.gaps_of(params))
        self._spliced = params.splicing is not None
        self._multiprocessors = device.attribute("MULTIPROCESSOR_COUNT")
        self._blocks = tuning.CHAIN_BLOCKS * self._multiprocessors

    def run(self, slot: Slot, launch: np.void) -> None:
        """Launch all steps for the reads of a ``ChainLaunch``."""
        reads = int(launch["batch"]["reads"])
        self._run(slot, "chain_reads", launch, min(self._blocks, -(-reads // tuning.CHAIN_WARPS)))
        passes = tuning.SPLICED_PASSES if self._spliced else tuning.ALIGN_PASSES
        self.align(slot, launch, int(launch["next"]) + 4, passes)
        self._run(slot, "report_reads", launch, self._blocks)

    def plan(self, slot: Slot, launch: np.void) -> None:
        """Launch the planning of chosen chains of short reads."""
        self._run(slot, "plan_chains", launch, self._blocks)
        self._run(slot, "plan_ends", launch, self._blocks)

    def align(
        self, slot: Slot, launch: np.void, counter: int, passes: Sequence[tuning.AlignPass], largest: int = 1 << 62
    ) -> None:
        """Launch the alignment of planned chains.

        Args:
            counter: address of the first of ``ALIGN_COUNTERS`` counters, all 0.
            passes: passes over the DP matrices of each round.
            largest: upper limit of the bytes of a DP matrix.
        """
        passes = [step for step in passes if step.minimum < largest]
        workspace = max(self._at_once(step) * step.memory for step in passes)  # of one pass after the other
        launch = changed(launch, workspace=slot.scratch_array("DP workspace", workspace))
        narrow = tuning.NARROW_PASSES if self._spliced else 0
        counter = self._align(slot, launch, 0, counter, passes[:narrow])
        if self._spliced:
            self._run(slot, "choose_transcripts", launch, self._blocks)
        counter = self._align(slot, launch, 0, counter, passes[narrow:])
        self._run(slot, "cut_chains", launch, self._blocks)
        self._align(slot, launch, 1, counter, passes)
        self._run(slot, "finish_chains", launch, self._blocks)

    def _at_once(self, step: tuning.AlignPass) -> int:
        """Matrices of a pass in progress, of which each has its part of the workspace."""
        budget = int(tuning.DP_SHARE * self._device.batch_budget)
        return max(1, min(round(step.at_once * self._multiprocessors), budget // step.memory))

    def _align(self, slot: Slot, launch: np.void, number: int, counter: int, passes: Sequence[tuning.AlignPass]) -> int:
        """Launch the passes of a round by size of the DP matrices; returns the address of the next counter."""
        for step in passes:
            count = self._at_once(step)
            warps = min(count, tuning.CHAIN_WARPS) if step.warps == 1 else 1
            blocks = count // warps
            with_memory = changed(
                launch,
                workspace_bytes=step.memory,
                min_bytes=step.minimum,
                max_bytes=step.maximum,
                next=counter,
                round=number,
            )
            self._run(slot, step.kernel, with_memory, blocks, warps * step.warps)
            counter += 4
        return counter

    def _run(self, slot: Slot, kernel: str, launch: np.void, blocks: int, warps: int = tuning.CHAIN_WARPS) -> None:
        function = self._device.function("map_chains", kernel, self._variant)
        slot.launch(function, blocks, 32 * warps, launch)


def slot_array(slot: Slot) -> Array:
    """(name, bytes) -> address of an array of the slot's batch."""
    return lambda name, nbytes: int(slot.device_array(name, nbytes, zeroed=name in _RESULTS))


def chain_launch(target: np.void, batch: np.void, counters: int) -> np.void:
    """``ChainLaunch`` of cuda/abi/chains.hpp; ``counters`` is the address of uint32 (COUNTERS,)."""
    next_items, done = counters + 4 * ARENA_COUNTERS, counters + 4 * (COUNTERS - DONE_COUNTERS)
    return filled("ChainLaunch", target=target, batch=batch, next=next_items, done=done)


#: arenas that are copied back
_RESULTS = ("outputs", "output_cigars")


class LongReadKernel(ReadsKernel):
    """Maps batches of long reads on one device.

    Args:
        pinned_results: see :class:`gpualign.map.device.kernel.MapKernel`.
    """

    def __init__(self, device: Device, index: MinimizerIndex, params: MapParams, pinned_results: bool = False) -> None:
        super().__init__(device)
        self.index, self.params, self._pinned_results = index, params, pinned_results
        k, w, max_hits = index.params.k, index.params.w, params.seeding.max_hits
        self._rules, self._arena_sizes = (
            chain_rules(k, w, params.scoring, params.chaining, max_hits, params.splicing),
            ArenaSizes(),
        )
        self._shares = dict.fromkeys(_RESULTS, 0.0)  # used share of each arena in the latest batch
        self._item_bytes = _native.chain_item_bytes()
        self._steps = ChainSteps(device, params)
        self._target = resident_target(device, index)  # uploaded while the first batch is read
        self._known = resident_introns(device, params)

    def launch(self, slot: Slot, item: KernelReads) -> tuple[ArenaItems, Mapping[str, int]] | None:
        """Returns capacities of arenas, and bytes of results that are copied ahead."""
        if not item.reads:
            return None
        slot.step = "map"
        capacity = self._arena_sizes.items(item.bases, item.reads)
        block = item.on_device(slot)
        counters = int(slot.clear("counters", 4 * COUNTERS))
        addresses, secondary = {**item.addresses(block), "conversions": 0}, self.params.reporting.secondary
        batch = chain_batch_of(
            item, addresses, self._rules, secondary, capacity, slot_array(slot), counters, known=self._known
        )
        (scratch,) = scratch_of(slot, ["chaining"], tuning.SCRATCH_SHARE)
        with slot.using(scratch):
            self._steps.run(slot, chain_launch(self._target, batch, counters))
        ahead = {
            name: self._bytes(name, min(1.0, tuning.CHAINS_COPIED_AHEAD * self._shares[name]) * capacity[name])
            for name in _RESULTS
        }
        slot.download("counters", COUNTERS, np.uint32)
        slot.download("state", item.reads * struct("ChainRead").itemsize, np.uint8)
        for name, nbytes in ahead.items():  # mostly all of it, which saves the wait for a second copy
            slot.download(name, nbytes, np.uint8)
        return capacity, ahead

    def result(
        self, slot: Slot, item: KernelReads, launched: tuple[ArenaItems, Mapping[str, int]] | None
    ) -> MappedBatch | Again:
        if launched is None:
            return item.mapped(*np.zeros((3, 0), np.uint8), chained=True)
        reads, (capacity, ahead) = item.reads, launched
        used = used_items(slot.pinned("counters", COUNTERS, np.uint32))
        if self._arena_sizes.lacking(used, capacity):
            return AGAIN
        sizes = {"state": reads * struct("ChainRead").itemsize}
        for name in _RESULTS:
            sizes[name] = self._bytes(name, used[name])
            self._shares[name] = used[name] / capacity[name]
        if truncated := [name for name in _RESULTS if sizes[name] > ahead[name]]:
            for name in truncated:
                slot.download(name, sizes[name], np.uint8)
            slot.finish()
        slot.detach_pinned("batch")  # a host thread may fill it with the next batch
        results = (take_result(slot, name, nbytes, self._pinned_results) for name, nbytes in sizes.items())
        return item.mapped(*results, chained=True)

    def _bytes(self, name: str, items: float) -> int:
        return int(items) * int(self._item_bytes[name])
