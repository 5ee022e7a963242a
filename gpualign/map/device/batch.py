"""Reads as `map`'s kernels take them and give them back: host threads put a batch's input into one block.

The device's thread, which must keep the device busy, competes with other threads for the GIL. So it computes nothing,
and enqueues one copy per batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map import tuning
from gpualign.map.alignments import Alignments, DeviceReads
from gpualign.map.meth import Conversions, Which
from gpualign.map.pairs import PairModel
from gpualign.run.gpu.buffers import Slot, aligned
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.pinned import Allocate, no_pinned, pinned_or_pageable
from gpualign.streaming.timeline import STEPS

#: limits of the reads of :attr:`MapBatch.longest`
_LENGTHS = (tuning.MAP_LONGEST, _native.LONGEST_END_TO_END, 1 << 40)


@dataclass(frozen=True, kw_only=True)
class KernelReads(ABC):
    """A batch of reads as the kernels that map take it.

    Attributes:
        reads, bases: number of reads, and about how many bases they have.
        templates: number of templates, single reads or pairs.
        longest: bases of the longest read that fits the fast path, of the longest one that is aligned end to end
            unless ``end_to_end`` asks for all of them, and of the longest one.
        model: pair model of the batch, if the kernel maps batches of several samples.
        conversions: uint8 (n,), how each bisulfite read was converted.
        which: of these reads; "end to end": clip none; "others": most templates take the slow path.
    """

    reads: int
    bases: int
    templates: int
    longest: tuple[int, int, int]
    model: PairModel | None = None
    conversions: Conversions = None
    which: Which = "all"

    @property
    def mates(self) -> int:
        """Reads per template, at most."""
        return 1 if self.templates == self.reads else 2

    @abstractmethod
    def on_device(self, slot: Slot) -> int:
        """Enqueue what puts the reads' block on the device; returns its device address."""

    @abstractmethod
    def qualities(self, block: int) -> int:
        """Address of the qualities if the block is at ``block``; 0: there are none."""

    @abstractmethod
    def halves(self) -> Sequence[KernelReads]:
        """The batch in two halves that split no pair; the batch itself if it is one template."""

    def addresses(self, block: int) -> dict[str, int]:
        """Addresses of the fields of MapBatch (cuda/abi/map.hpp) in the block, if that is at ``block``."""
        layout = BlockLayout(self.reads)
        return {
            "bases": block + layout.bases,
            "qualities": self.qualities(block),
            "offsets": block,
            "tie_breaks": block + layout.tie_breaks,
            "templates": block + layout.templates,
            "slow_count": block + layout.counters,
            "counters": block + layout.counters + 4,
        }

    def mapped(self, *output: Any, chained: bool = False) -> MappedBatch:
        """What a kernel made of the batch."""
        return MappedBatch(self.reads, (output,), self.conversions, chained)


@dataclass(frozen=True, kw_only=True)
class MapBatch(KernelReads):
    """Reads that the host has parsed, and a copy of them for a kernel.

    Attributes:
        block: uint8: offsets of the reads' bases (int64), the first read of each template and the end (uint32), a
            tie-break hash of each read's name (uint32), counters (uint32, 0), bases, and qualities if there are any.
        batch: the reads, whose bases are a view of the block.
    """

    block: NDArray[np.uint8]
    batch: SequenceBatch

    @classmethod
    @STEPS.at("copy")
    def of(
        cls,
        batch: SequenceBatch,
        paired: bool,
        allocate: Allocate = no_pinned,
        model: PairModel | None = None,
        conversions: Conversions = None,
        which: Which = "all",
    ) -> MapBatch:
        """Copies bases and qualities.

        Args:
            paired: mates form one template.
            allocate: allocates the block.
        """
        layout = BlockLayout(len(batch))
        end = layout.bases + len(batch.bases)
        nbytes = end if batch.qualities is None else end + len(batch.qualities)
        block = pinned_or_pageable(allocate, nbytes)
        bases, qualities = block[layout.bases : end], None if batch.qualities is None else block[end:]
        offsets = block[: layout.templates].view(np.int64)
        templates = block[layout.templates : layout.tie_breaks].view(np.uint32)
        tie_breaks = block[layout.tie_breaks : layout.counters].view(np.uint32)
        block[layout.counters : layout.counters + 4 * BlockLayout.counters_size] = 0
        count, (fast, end_to_end, longest) = _native.stage_reads(
            batch.native, paired, _LENGTHS, bases, qualities, offsets, tie_breaks, templates
        )
        return cls(
            reads=len(batch),
            bases=len(bases),
            templates=count,
            longest=(fast, end_to_end, longest),
            model=model,
            conversions=conversions,
            which=which,
            block=block,
            batch=replace(batch, bases=bases),
        )

    def on_device(self, slot: Slot) -> int:
        return int(slot.upload("batch", self.block))

    def qualities(self, block: int) -> int:
        return 0 if self.batch.qualities is None else block + BlockLayout(self.reads).bases + self.bases

    def halves(self) -> list[MapBatch]:
        if self.templates < 2:
            return [self]
        layout = BlockLayout(self.reads)
        middle = int(self.block[layout.templates : layout.tie_breaks].view(np.uint32)[self.templates // 2])
        halves = []
        for start, end in ((0, middle), (middle, self.reads)):
            conversions = None if self.conversions is None else self.conversions[start:end]
            batch = self.batch.part(start, end)
            halves.append(MapBatch.of(batch, self.mates == 2, no_pinned, self.model, conversions, self.which))
        return halves


@dataclass(frozen=True)
class MappedBatch:
    """What kernels made of a batch of reads.

    Attributes:
        reads: number of reads.
        outputs: what a device wrote, of each half where the batch was split: records (uint8, MapRecord of
            cuda/abi/map.hpp: one per read, then overflow records) and number of reads; of chained reads ChainRead,
            ChainOutput and CIGARs (uint8).
        conversions: uint8 (n,), how each bisulfite read was converted.
        chained: the reads were mapped by chaining; none is left to the host.
        parsed: the reads, if the device parsed their text.
    """

    reads: int
    outputs: tuple[tuple[Any, ...], ...]
    conversions: Conversions = None
    chained: bool = False
    parsed: DeviceReads | None = None

    @staticmethod
    def join(halves: Sequence[MappedBatch]) -> MappedBatch:
        """The whole of a batch whose halves were mapped."""
        of_halves = [half.conversions for half in halves if half.conversions is not None]
        conversions = np.concatenate(of_halves) if of_halves else None
        outputs = tuple(output for half in halves for output in half.outputs)
        return MappedBatch(sum(half.reads for half in halves), outputs, conversions, halves[0].chained)

    @cached_property
    def on_host(self) -> NDArray[np.bool_]:
        """bool (n,): reads that the device left to the host's CPU."""
        if self.chained:
            return np.zeros(self.reads, bool)
        flags = [_native.reads_on_host(*output) for output in self.outputs]
        return (flags[0] if len(flags) == 1 else np.concatenate(flags)).view(bool)

    @cached_property
    def on_host_count(self) -> int:
        return int(np.count_nonzero(self.on_host))

    def alignments(
        self,
        batch: SequenceBatch | None,
        mates: NDArray[np.uint8] | None,
        on_cpu: Callable[[SequenceBatch], Alignments],
    ) -> Alignments:
        """The alignments of all reads.

        Args:
            batch: all reads, if some are left to the host.
            mates: ``SequenceBatch.mates`` if pairs were mapped together.
            on_cpu: maps those reads.
        """
        if self.chained:
            native = (_native.chain_alignments(read, out, cigar.view(np.uint32)) for read, out, cigar in self.outputs)
            found = [Alignments(*arrays) for arrays in native]
            return Alignments.join(found) if len(found) > 1 else found[0]
        from_cpu = Alignments.none()
        if batch is not None and self.on_host_count:
            from_cpu = on_cpu(batch.take(np.flatnonzero(self.on_host)))
        arrays = _native.finish_records(
            outputs=list(self.outputs), mates=mates, conversions=self.conversions, of_host=from_cpu.native
        )
        return Alignments(*arrays)


class ReadsKernel(DeviceKernel[Any, Any]):
    """Maps :class:`KernelReads` to :class:`MappedBatch`; splits no pair."""

    def split(self, item: KernelReads) -> list[KernelReads]:
        return list(item.halves())

    def join(self, results: Sequence[MappedBatch]) -> MappedBatch:
        return MappedBatch.join(results)


class BlockLayout:
    """Byte offsets in a block."""

    #: number of uint32 counters: MapBatch::slow_count, then MapCounters (cuda/abi/map.hpp)
    counters_size = 1 + _native.MAP_COUNTERS

    def __init__(self, reads: int) -> None:
        self.templates = 8 * (reads + 1)
        self.tie_breaks = self.templates + 4 * (reads + 1)
        self.counters = self.tie_breaks + 4 * reads
        self.bases = aligned(self.counters + 4 * self.counters_size)


def take_result(slot: Slot, name: str, nbytes: int, pinned: bool) -> NDArray[np.uint8]:
    """A result, taken from the slot; it is copied unless it may stay in pinned memory."""
    array = slot.detach_pinned(name)
    assert array is not None
    return array[:nbytes] if pinned else array[:nbytes].copy()
