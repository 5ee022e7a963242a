"""Long reads to alignments on a GPU, by chaining: the kernels of ``cuda/map_chains.cu``, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.abi import changed, filled, struct
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import Device, DeviceMemoryExceeded
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map import tuning
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.target import resident_target
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments

#: items of each arena that a batch begins with: by its bases, and by its reads. Where one does not suffice it grows.
_ARENA_ITEMS: Mapping[str, tuple[float, float]] = {
    "hashes": (1.5, 768),
    "seeds": (0.3, 8),
    "anchors": (3.0, 64),
    "candidates": (0.1, 8),
    "chains": (0.01, 8),
    "points": (0.1, 32),
    "tasks": (0.1, 32),
    "runs": (0.02, 8),
    "cigars": (1.0, 64),
    "alignments": (0.01, 8),
    "ranked": (0.02, 16),
    "outputs": (0.005, 4),
    "output_cigars": (0.3, 32),
}
#: the arenas of a batch and, for each, which counter says how much of it is used
_ARENAS = (*(name for name in _ARENA_ITEMS if name != "tasks"), "tasks", "tasks")
#: counters of what warps take in turn: each pass over each round's tasks
ALIGN_TURNS = 2 * len(tuning.ALIGN_PASSES)
ARENA_COUNTERS = len(_ARENAS)
#: of a batch: those of the arenas, the next read to chain, passes, and how many chains are done before all: none
COUNTERS = ARENA_COUNTERS + 1 + ALIGN_TURNS + 1
Array = Callable[[str, int], int]
#: of the device's budget for the dynamic programs of one pass
_WORKSPACE_SHARE = 0.05


def chain_rules(index: MinimizerIndex, params: MapParams) -> np.void:
    """``ChainRules`` of cuda/abi/chains.hpp."""
    names = struct("ChainRules").names or ()
    chaining = {name: value for name, value in params.chaining.native(params.seeding.max_hits).items() if name in names}
    return filled(
        "ChainRules",
        k=index.params.k,
        w=index.params.w,
        scores=filled("AffineScores", **asdict(params.scoring)),
        **chaining,
    )


class ArenaItems(dict[str, int]):
    """{arena: items that a batch has space for}.

    Attributes:
        factors: how many times as many as at the beginning.
    """

    factors: Mapping[str, float]


class ArenaSizes:
    """How many items the arenas of a batch have; grows with what batches turn out to need.

    Args:
        beginning: by the bases of a batch, and by its reads.
        growth: of an arena, times what was asked for before all stopped.
    """

    def __init__(self, beginning: Mapping[str, tuple[float, float]] | None = None, growth: float = 1.5) -> None:
        self._growth = growth
        self._beginning = _ARENA_ITEMS if beginning is None else beginning
        self._factor = dict.fromkeys(self._beginning, 1.0)

    def items(self, bases: int, reads: int) -> ArenaItems:
        items = ArenaItems(
            (name, min(2**32 - 2, int(self._factor[name] * (per_base * bases + per_read * reads)) + 1024))
            for name, (per_base, per_read) in self._beginning.items()
        )
        items.factors = dict(self._factor)
        return items

    def lacking(self, used: Mapping[str, int], capacity: ArenaItems) -> list[str]:
        """Names of arenas that were too small; the next batch has space for more than was wanted."""
        lacking = [name for name in _ARENA_ITEMS if used[name] > capacity[name]]
        for name in lacking:  # of many batches in flight each says so
            wanted = capacity.factors[name] * self._growth * used[name] / capacity[name]
            self._factor[name] = max(self._factor[name], wanted)
        return lacking


def used_items(counters: NDArray[np.uint32]) -> dict[str, int]:
    """{arena: items that a batch asked for}, of its rounds of tasks the larger number."""
    used = dict.fromkeys(_ARENA_ITEMS, 0)
    for name, count in zip(_ARENAS, counters.tolist(), strict=False):
        used[name] = max(used[name], count)
    return used


def chain_batch_of(
    item: MapBatch,
    block: int,
    rules: np.void,
    max_secondary: int,
    capacity: Mapping[str, int],
    array: Array,
    counters: int,
    min_length: int = 0,
) -> np.void:
    """``ChainBatch`` of cuda/abi/chains.hpp for a batch whose block is at this address.

    Args:
        array: (name, bytes) -> address of an array of the batch.
        counters: address of uint32 (ARENA_COUNTERS,), all 0.
        min_length: of a read that is mapped by these rules.
    """
    reads, words = item.reads, item.bases // 32 + 2 * item.reads + 2
    of_item = _native.chain_item_bytes()

    def arena(name: str, number: int, key: str) -> tuple[int, int, int]:
        """``Arena``, as NumPy takes a struct: items, used, capacity."""
        return array(key, capacity[name] * of_item[name]), counters + 4 * number, capacity[name]

    arenas = {name: arena(name, number, name) for number, name in enumerate(_ARENAS[:-2])}
    rounds = [arena("tasks", len(_ARENAS) - 2 + number, f"tasks {number}") for number in range(2)]
    addresses = item.addresses(block)
    return filled(
        "ChainBatch",
        rules=rules,
        bases=addresses["bases"],
        offsets=addresses["offsets"],
        tie_breaks=addresses["tie_breaks"],
        reads=reads,
        max_secondary=max_secondary,
        min_length=min_length,
        words=array("words", 8 * words),
        not_acgt=array("not_acgt", 4 * words),
        state=array("state", reads * struct("ChainRead").itemsize),
        tasks=np.array(rounds, struct("Arena")),
        **arenas,
    )


@dataclass(frozen=True)
class DeviceAlignments:
    """What a device found of a batch; nothing of it is left to the CPU.

    Attributes:
        parts: uint8, as the device wrote them, of each part of the batch mapped at once: ChainRead of its reads,
            their ChainOutput, and CIGARs.
    """

    parts: tuple[tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]], ...]
    left_count: ClassVar[int] = 0
    text: ClassVar[None] = None

    def alignments(self, *_: object) -> Alignments:
        """As :meth:`DeviceRecords.alignments`."""
        parts = [
            Alignments(*_native.chain_alignments(state, outputs, cigars.view(np.uint32)))
            for state, outputs, cigars in self.parts
        ]
        return Alignments.join(parts) if len(parts) > 1 else parts[0]


class ChainSteps:
    """The kernels of ``cuda/map_chains.cu`` on one device."""

    def __init__(self, device: Device, params: MapParams) -> None:
        self._device, self._variant = device, tuning.chain_defines(params.scoring.has_long_gaps)
        card = device.driver.Device(device.info.index)
        self._multiprocessors = int(card.get_attribute(device.driver.device_attribute.MULTIPROCESSOR_COUNT))
        self._blocks = tuning.CHAIN_BLOCKS * self._multiprocessors

    def run(self, slot: Slot, launch: np.void) -> None:
        """All steps for the reads of a ``ChainLaunch``."""
        reads = int(launch["batch"]["reads"])
        self._run(slot, "chain_reads", launch, min(self._blocks, -(-reads // tuning.CHAIN_WARPS)))
        self.align(slot, launch, int(launch["next"]) + 4, tuning.ALIGN_PASSES)
        self._run(slot, "report_reads", launch, self._blocks)

    def align(
        self, slot: Slot, launch: np.void, turn: int, passes: Sequence[tuning.AlignPass], largest: int = 1 << 62
    ) -> None:
        """From planned chains to their alignments.

        Args:
            turn: address of the first of ``ALIGN_TURNS`` counters, all 0.
            passes: over the dynamic programs of each round.
            largest: bytes that a warp needs at most for a dynamic program.
        """
        passes = [step for step in passes if step.minimum < largest]
        turn = self._align(slot, launch, 0, turn, passes)
        self._run(slot, "cut_chains", launch, self._blocks)
        self._align(slot, launch, 1, turn, passes)
        self._run(slot, "finish_chains", launch, self._blocks)

    def _align(self, slot: Slot, launch: np.void, number: int, turn: int, passes: Sequence[tuning.AlignPass]) -> int:
        """The dynamic programs of a round by how much memory they take; returns the next counter of turns."""
        budget = int(_WORKSPACE_SHARE * self._device.budget)
        for step in passes:
            count = max(1, min(round(step.at_once * self._multiprocessors), budget // step.memory))
            of_block = min(count, tuning.CHAIN_WARPS) if step.warps == 1 else 1
            blocks = count // of_block
            workspace = int(slot.device_array(f"workspace {step.memory}", blocks * of_block * step.memory))
            with_memory = changed(
                launch,
                workspace=workspace,
                workspace_bytes=step.memory,
                min_bytes=step.minimum,
                max_bytes=step.maximum,
                next=turn,
                round=number,
            )
            self._run(slot, step.kernel, with_memory, blocks, of_block * step.warps)
            turn += 4
        return turn

    def _run(self, slot: Slot, kernel: str, launch: np.void, blocks: int, warps: int = tuning.CHAIN_WARPS) -> None:
        function = self._device.function("map_chains", kernel, self._variant)
        slot.launch(function, blocks, 32 * warps, launch)


def slot_array(slot: Slot) -> Array:
    """(name, bytes) -> address of an array of the slot's batch."""
    return lambda name, nbytes: int(slot.device_array(name, nbytes, zeroed=name in _RESULTS))


def chain_launch(target: np.void, batch: np.void, counters: int) -> np.void:
    """``ChainLaunch`` of cuda/abi/chains.hpp with its batch's own counters, uint32 (COUNTERS,), at this address."""
    turns, done = counters + 4 * ARENA_COUNTERS, counters + 4 * (COUNTERS - 1)
    return filled("ChainLaunch", target=target, batch=batch, next=turns, done_chains=done)


#: arenas whose items come back
_RESULTS = ("outputs", "output_cigars")
#: how much of them is copied before it is known how many there are, in times of what the latest batch had
_AHEAD = 1.1


@dataclass(frozen=True)
class _InFlight:
    """Of a batch: the items of its arenas, and bytes of results that are copied in any case."""

    capacity: ArenaItems
    ahead: Mapping[str, int]


class LongReadKernel:
    """Maps batches of long reads on one device (see ``gpu.runner.Kernel``).

    Args:
        lent: as for :class:`gpualign.map.device.kernel.MapKernel`.
    """

    def __init__(self, device: Device, index: MinimizerIndex, params: MapParams, lent: bool = False) -> None:
        self.device, self.index, self.params, self._lent = device, index, params, lent
        self._rules, self._arena_sizes = chain_rules(index, params), ArenaSizes()
        self._in_flight: dict[int, _InFlight] = {}
        self._shares = dict.fromkeys(_RESULTS, 0.0)  # of their arenas, in the latest batch
        self._of_item = _native.chain_item_bytes()
        self._steps = ChainSteps(device, params)
        self._target = resident_target(device, index)  # while the first batch is read

    def submit(self, slot: Slot, item: MapBatch) -> None:
        if not item.reads:
            return
        capacity = self._arena_sizes.items(item.bases, item.reads)
        block = int(slot.upload("batch", item.block))
        counters = int(slot.clear("counters", 4 * COUNTERS))
        secondary = self.params.reporting.secondary
        batch = chain_batch_of(item, block, self._rules, secondary, capacity, slot_array(slot), counters)
        self._steps.run(slot, chain_launch(self._target, batch, counters))
        ahead = {name: self._bytes(name, min(1.0, _AHEAD * self._shares[name]) * capacity[name]) for name in _RESULTS}
        self._in_flight[id(slot)] = _InFlight(capacity, ahead)
        slot.download("counters", COUNTERS, np.uint32)
        slot.download("state", item.reads * struct("ChainRead").itemsize, np.uint8)
        for name, nbytes in ahead.items():  # about all: then the device's thread need not wait for a second copy
            slot.download(name, nbytes, np.uint8)

    def collect(self, slot: Slot, item: MapBatch) -> DeviceAlignments:
        """
        Raises:
            DeviceMemoryExceeded: the batch needs more space than it had.
        """
        reads = item.reads
        if not reads:
            empty = np.zeros(0, np.uint8)
            return DeviceAlignments(((empty, empty, empty),))
        in_flight = self._in_flight.pop(id(slot))
        used = used_items(slot.pinned("counters", COUNTERS, np.uint32))
        if lacking := self._arena_sizes.lacking(used, in_flight.capacity):
            raise DeviceMemoryExceeded(f"chains need more space for {', '.join(lacking)}")
        sizes = {"state": reads * struct("ChainRead").itemsize}
        for name in _RESULTS:
            sizes[name] = self._bytes(name, used[name])
            self._shares[name] = used[name] / in_flight.capacity[name]
        if late := [name for name in _RESULTS if sizes[name] > in_flight.ahead[name]]:
            for name in late:
                slot.download(name, sizes[name], np.uint8)
            slot.finish()
        slot.part_with("batch")  # a host thread may fill it with the next batch
        return DeviceAlignments((tuple(self._taken(slot, name, nbytes) for name, nbytes in sizes.items()),))  # type: ignore[arg-type]

    def _bytes(self, name: str, items: float) -> int:
        return int(items) * int(self._of_item[name])

    def _taken(self, slot: Slot, name: str, nbytes: int) -> NDArray[np.uint8]:
        """What came back, no longer the slot's."""
        array = slot.part_with(name)
        assert array is not None
        return array[:nbytes] if self._lent else array[:nbytes].copy()

    def split(self, item: MapBatch) -> list[MapBatch]:
        """Halves of a batch."""
        return item.halves(False)

    def join(self, results: Sequence[Any]) -> DeviceAlignments:
        """The parts' results."""
        return DeviceAlignments(tuple(part for result in results for part in result.parts))
