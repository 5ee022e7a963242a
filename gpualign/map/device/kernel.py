"""Reads to alignments on a GPU: ``cuda/map.cu``, a warp for each read or pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpualign import _native
from gpualign.engine.gpu.abi import filled, struct
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.compiler import Variant
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.device_arrays import DeviceArrays, DeviceText
from gpualign.engine.gpu.runner import run_alone
from gpualign.errors import DeviceError
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map import tuning
from gpualign.map.device.batch import MapBatch
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch

#: secondary alignments of a read that its records hold
MAX_SECONDARY = 16
#: hits of a read beyond which the CPU maps it: a candidate's number has 14 bits
_MAX_HITS = 1 << 14
#: windows next to a mate's loci
_MATE_WINDOWS = 8
#: shared memory that the driver keeps of each block
_BLOCK_SHARED = 1024
#: of the device's budget for all warps' workspaces in one batch
_WORKSPACE_SHARE = 0.1


def runs_on_gpu(params: MapParams) -> bool:
    """Whether the device can map with these parameters; the reads that it cannot map are left to the CPU one by one."""
    return not (params.long_reads or params.seeding.full or params.reporting.secondary > MAX_SECONDARY)


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
        """For reads of up to ``longest`` bases; those beyond :data:`tuning.MAP_LONGEST` are left to the CPU."""
        words = tuning.map_shape(longest).words
        length = min(longest, 32 * words)
        limit = int(_limits(params, length)[-1])
        return cls(
            words,
            _power_of_two(min(_MAX_HITS, int(_native.MAP_DEPTH) * params.seeding.max_hits)),
            _power_of_two(int(_native.MAP_DEPTH) * params.seeding.max_candidates + _MATE_WINDOWS),
            (2 * length + 2 * limit + 1) * (limit + 1),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of one warp."""
        return int(_native.map_workspace_bytes(self.hits, self.loci, self.trace))


def _power_of_two(n: int) -> int:
    return 1 << max(0, n - 1).bit_length()


def _limits(params: MapParams, longest: int) -> NDArray[np.int32]:
    """int32 (longest + 1,): edits allowed by a read's length."""
    return params.limits(np.arange(longest + 1)).astype(np.int32)


@lru_cache(maxsize=16)
def penalties_of(model: PairModel) -> NDArray[np.int32]:
    """int32 (max + 1,): what each insert size costs."""
    penalties: NDArray[np.int32] = _native.pair_penalties(model.mean, model.sd, model.max)
    return penalties


def rules_of(index: MinimizerIndex, params: MapParams, pairs: PairModel, penalties: int, limits: int) -> np.void:
    """``MapRules`` of cuda/abi/map.hpp; the last two are addresses."""
    library = pairs.native
    return filled(
        "MapRules",
        k=index.params.k,
        w=index.params.w,
        max_hits=params.seeding.max_hits,
        max_candidates=params.seeding.max_candidates,
        scores=filled("AffineScores", **asdict(params.scoring)),
        local=not params.end_to_end,
        pairs=filled("PairLibrary", **{name: library[name] for name in struct("PairLibrary").names or ()}),
        penalties=penalties,
        limits=limits,
        **params.reporting.native,
    )


def target_of(index: MinimizerIndex, offsets: int, entries: int, text: int, mask: int, contig_offsets: int) -> np.void:
    """``MapTarget`` of cuda/abi/map.hpp, whose arrays are at these addresses."""
    split = filled("HashSplit", k=index.params.k, bucket_bits=index.bucket_bits)
    return filled(
        "MapTarget",
        index=filled("IndexView", offsets=offsets, entries=entries, split=split),
        text=text,
        acgt_mask=mask,
        contig_offsets=contig_offsets,
        contigs=len(index.reference.contig_offsets) - 1,
    )


def batch_of(item: MapBatch, block: int, sizes: Workspace, **others: Any) -> np.void:
    """``MapBatch`` of cuda/abi/map.hpp, whose block is at this address."""
    return filled(
        "MapBatch",
        **item.addresses(block),
        template_count=item.templates,
        workspace_hits=sizes.hits,
        workspace_loci=sizes.loci,
        workspace_trace=sizes.trace,
        **others,
    )


@dataclass(frozen=True)
class DeviceRecords:
    """The device's records of a batch.

    Attributes:
        records: uint8, the bytes of ``per_read`` records for each read (MapRecord in cuda/algo/map/types.hpp).
        bases: of the reference.
    """

    records: NDArray[np.uint8]
    per_read: int
    bases: int

    @cached_property
    def left(self) -> NDArray[np.uint8]:
        """uint8 (n,): 1 for the reads that are left to the CPU."""
        left: NDArray[np.uint8] = _native.reads_on_host(self.records, self.per_read)
        return left

    @cached_property
    def left_count(self) -> int:
        return int(np.count_nonzero(self.left.view(np.bool_)))

    def alignments(self, batch: SequenceBatch, params: MapParams, paired: bool, on_cpu: Any) -> Alignments:
        """All records of the batch.

        Args:
            on_cpu: batch -> alignments of the reads that the device left.
        """
        of_host = on_cpu(_taken(batch, self.left)) if self.left_count else _nothing()
        return Alignments(
            *_native.finish_records(
                records=self.records,
                per_read=self.per_read,
                read_offsets=batch.base_offsets,
                scores=params.scoring.native,
                bases=self.bases,
                mates=batch.mates if paired else None,
                of_host=of_host.native,
            )
        )


def _taken(batch: SequenceBatch, chosen: NDArray[np.uint8]) -> SequenceBatch:
    """The chosen reads, without names and qualities."""
    bases, offsets, mates = _native.take_reads(batch.bases, batch.base_offsets, batch.mates, chosen)
    return SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets, mates=mates)


def _nothing() -> Alignments:
    def none(dtype: DTypeLike) -> NDArray[Any]:
        return np.zeros(0, dtype)

    return Alignments(
        flag=none(np.uint16),
        contig=none(np.int32),
        position=none(np.int64),
        mapq=none(np.uint8),
        score=none(np.int32),
        distance=none(np.int32),
        cigar=none(np.uint32),
        cigar_offsets=np.zeros(1, np.int64),
        record_offsets=np.zeros(1, np.int64),
    )


@dataclass(frozen=True)
class _Launch:
    """The kernel for batches of one longest length: bytes of shared memory and number of its blocks."""

    workspace: Workspace
    shape: tuning.MapShape
    shared: int
    blocks: int
    function: Any


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

    def submit(self, slot: Slot, item: MapBatch) -> None:
        if item.templates == 0:
            return
        launch = self._launch(item.longest)
        workspace, shape = launch.workspace, launch.shape
        target, rules = (
            self._target(),
            self._rules(slot, item),
        )  # the first time much is copied: not between this batch's events
        record_bytes = self._record_bytes(item)
        block = int(slot.upload("batch", item.block))
        records = int(slot.device_array("records", record_bytes))
        memory = int(slot.device_array("workspace", launch.blocks * shape.warps * workspace.nbytes))
        packed = batch_of(item, block, workspace, target=target, rules=rules, records=records, workspace=memory)
        slot.pinned("records", record_bytes, np.uint8)
        slot.launch(launch.function, launch.blocks, 32 * shape.warps, packed, shared=launch.shared)
        slot.download("records", record_bytes, np.uint8)

    def collect(self, slot: Slot, item: MapBatch) -> DeviceRecords:
        per_read = 1 + self.params.reporting.secondary
        if item.templates == 0:
            return DeviceRecords(np.zeros(0, np.uint8), per_read, self.index.reference.bases)
        slot.part_with("batch")  # where the block had to be staged here: a host thread may fill it with the next batch
        records = slot.part_with("records")
        assert records is not None
        records = records[: self._record_bytes(item)]
        return DeviceRecords(records if self._lent else records.copy(), per_read, self.index.reference.bases)

    def split(self, item: MapBatch) -> list[MapBatch]:
        """Halves of a batch, pairs whole."""
        return item.halves(self.pairs is not None or item.model is not None)

    def join(self, results: Sequence[Any]) -> DeviceRecords | Alignments:
        """The parts' results, all of this kernel or all of the CPU's."""
        if isinstance(results[0], Alignments):
            return Alignments.join(results)
        first: DeviceRecords = results[0]
        return replace(first, records=np.concatenate([result.records for result in results]))

    def _record_bytes(self, item: MapBatch) -> int:
        return len(item.batch) * (1 + self.params.reporting.secondary) * int(_native.MAP_RECORD_BYTES)

    def _launch(self, longest: int) -> _Launch:
        """For batches whose longest read has so many bases."""
        if longest not in self._launches:
            workspace, shape = Workspace.of(self.params, longest), tuning.map_shape(longest)
            shared = shape.warps * int(_native.map_shared_bytes(shape.words))
            function = self.device.function("map", "map_reads", shape.defines)
            function.set_attribute(self.device.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            self._launches[longest] = _Launch(
                workspace, shape, shared, self._blocks(shape, shared, workspace.nbytes), function
            )
        return self._launches[longest]

    def _blocks(self, shape: tuning.MapShape, shared: int, workspace: int) -> int:
        """As many blocks as run at once, or as there is memory for."""
        at_once = self._multiprocessors * max(1, min(shape.blocks, self._shared_memory // (shared + _BLOCK_SHARED)))
        return max(1, min(at_once, int(_WORKSPACE_SHARE * self.device.budget) // (shape.warps * workspace)))

    def _target(self) -> np.void:
        index, reference = self.index, self.index.reference
        text = self.device.resident(f"text {id(reference)}", lambda: DeviceText(self.device, reference, beyond=True))
        arrays = self.device.resident(
            f"map index {id(index)}",
            lambda: DeviceArrays(self.device, reference.contig_offsets, index.offsets, index.entries, beyond=True),
        )
        contig_offsets, offsets, entries = arrays.addresses
        return target_of(index, offsets, entries, text.text, text.known, contig_offsets)

    def _rules(self, slot: Slot, item: MapBatch) -> np.void:
        tables = self.device.resident(
            f"map tables {id(self)}",
            lambda: DeviceArrays(self.device, penalties_of(self._model), _limits(self.params, tuning.MAP_LONGEST)),
        )
        penalties, limits = tables.addresses
        if item.model is not None:
            penalties = int(slot.upload("penalties", penalties_of(item.model)))
        return rules_of(self.index, self.params, item.model or self._model, penalties, limits)


def map_on_one_lane(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None = None
) -> DeviceRecords:
    """What the kernel computes, by the same code on one lane of the CPU: the test of the algorithm without a GPU."""
    reference, model = index.reference, pairs or PairModel()
    item = MapBatch.of(batch, pairs is not None)
    workspace = Workspace.of(params, item.longest)
    known = np.append(reference.known_bits(), np.zeros(2, np.uint32))
    records = np.zeros(len(batch) * (1 + params.reporting.secondary) * int(_native.MAP_RECORD_BYTES), np.uint8)
    penalties, limits = penalties_of(model), _limits(params, tuning.MAP_LONGEST)
    memory = np.zeros(workspace.nbytes // 8 + 1, np.uint64)
    at = _addresses(item.block, records, memory)
    target = target_of(
        index, *_addresses(index.offsets, index.entries, reference.words, known, reference.contig_offsets)
    )
    rules = rules_of(index, params, model, *_addresses(penalties, limits))
    packed = batch_of(item, at[0], workspace, target=target, rules=rules, records=at[1], workspace=at[2])
    _native.map_on_one_lane(packed.tobytes(), workspace.words)
    return DeviceRecords(records, 1 + params.reporting.secondary, index.reference.bases)


def _addresses(*arrays: NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(array.ctypes.data) for array in arrays)


_TESTED_LENGTH = 150
#: what :func:`self_test` runs, for ``devices --check`` to compile side by side
SELF_TEST_MODULES: tuple[Variant, ...] = (("map", tuning.map_shape(_TESTED_LENGTH).defines),)


def self_test(device: Device) -> None:
    """Map reads of a small random reference, with repeats, on the device and on the CPU.

    Raises:
        DeviceError: the records differ.
    """
    from gpualign.index.minimizers import IndexParams, build_index
    from gpualign.map.params import MapParams
    from gpualign.sequences.reference import Reference

    rng = np.random.default_rng(2)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 16)]
    letters[20_000:30_000] = np.tile(letters[:500], 20)
    packer = _native.ReferencePacker()
    packer.append(letters)
    reference = Reference(["random"], np.array([0, len(letters)], np.int64), *packer.finish())
    index, params = build_index(reference, IndexParams(15, 8)), MapParams.of_preset(secondary=2)
    starts = rng.integers(0, len(letters) - _TESTED_LENGTH, 1000)
    bases = np.concatenate([letters[at : at + _TESTED_LENGTH] for at in starts])
    bases[rng.random(len(bases)) < 0.02] = ord("C")
    offsets = np.arange(0, len(bases) + 1, _TESTED_LENGTH, dtype=np.int64)
    batch = SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets)

    item = MapBatch.of(batch, paired=False)
    found = run_alone(device, lambda device: MapKernel(device, index, params, None), item)
    if not np.array_equal(found.records, map_on_one_lane(index, batch, params).records):
        raise DeviceError(f"{device.name}: map's records differ from the CPU's")
