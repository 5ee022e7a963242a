"""Reads as `map`'s kernel takes them: all that is copied to the device for a batch in one block, made by host threads.

The device's thread, which must keep the device busy, shares the interpreter with those that parse and print: it has
nothing to compute, and one copy to enqueue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.buffers import Slot
from gpualign.map import tuning
from gpualign.map.pairs import PairModel
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.lent import Lend, lent_or_new, nothing_lent
from gpualign.streaming.timeline import STEPS

#: where the bases begin in a block is a multiple of it, as that of memory from the driver
_ALIGNMENT = 256
#: counters of a batch, uint32: fields of MapBatch (cuda/abi/map.hpp), the last one MapCounters
_COUNTERS = {"slow_count": 1, "counters": _native.MAP_COUNTERS}
_FIRST = tuple(accumulate(_COUNTERS.values(), initial=0))[:-1]
_LENGTHS = (tuning.MAP_LONGEST, _native.LONGEST_WHOLE, 1 << 40)


@dataclass(frozen=True)
class MapBatch:
    """What the kernel takes of a batch of reads.

    Attributes:
        reads, bases: how many they are, and about how many bases they have.
        block: uint8: where each read's bases begin (int64), the first read of each template, which is a read by itself
            or a pair, and their end (uint32), a number drawn from each read's name (uint32), _COUNTERS (uint32, 0),
            bases, and as many qualities if there are any.
        templates: how many there are.
        longest: bases of the longest read that may be mapped by its seeds alone, of the longest one that is aligned
            whole unless all are, and of the longest one.
        batch: the reads, whose bases are a view of the block; None where kernels parse them.
        model: how its pairs should lie, where the kernel maps batches of several samples.
    """

    reads: int
    bases: int
    block: NDArray[np.uint8]
    templates: int
    longest: tuple[int, int, int]
    batch: SequenceBatch | None = None
    model: PairModel | None = None

    @classmethod
    @STEPS.at("copy")
    def of(
        cls, batch: SequenceBatch, paired: bool, lend: Lend = nothing_lent, model: PairModel | None = None
    ) -> MapBatch:
        """Copies bases and qualities.

        Args:
            paired: a batch's mates are templates.
            lend: of memory for the block.
        """
        layout = BlockLayout(len(batch))
        end = layout.bases + len(batch.bases)
        nbytes = end if batch.qualities is None else end + len(batch.qualities)
        block = lent_or_new(lend, nbytes)
        bases, qualities = block[layout.bases : end], None if batch.qualities is None else block[end:]
        offsets = block[: layout.templates].view(np.int64)
        templates = block[layout.templates : layout.tie_breaks].view(np.uint32)
        tie_breaks = block[layout.tie_breaks : layout.counters].view(np.uint32)
        block[layout.counters : layout.counters + 4 * sum(_COUNTERS.values())] = 0
        mates = batch.mates if paired else None
        count, (short, whole, longest) = _native.stage_reads(
            batch.bases,
            batch.qualities,
            batch.base_offsets,
            batch.names,
            batch.name_offsets,
            mates,
            _LENGTHS,
            bases,
            qualities,
            offsets,
            tie_breaks,
            templates,
        )
        reads = replace(batch, bases=bases)
        return cls(len(batch), len(bases), block, count, (short, whole, longest), reads, model)

    @property
    def mates(self) -> int:
        """Of a template, at most."""
        return 1 if self.templates == self.reads else 2

    def addresses(self, block: int) -> dict[str, int]:
        """Of the fields of MapBatch (cuda/abi/map.hpp) that lie in the block, where that is at this address."""
        layout = BlockLayout(self.reads)
        end = layout.bases + self.bases
        return {
            "bases": block + layout.bases,
            "qualities": 0 if self.batch is None or self.batch.qualities is None else block + end,
            "offsets": block,
            "tie_breaks": block + layout.tie_breaks,
            "templates": block + layout.templates,
            **{name: block + layout.counters + 4 * at for name, at in zip(_COUNTERS, _FIRST, strict=True)},
        }

    def on_device(self, slot: Slot) -> int:
        """Enqueue what puts the block there; its address."""
        return int(slot.upload("batch", self.block))

    def halves(self, paired: bool) -> list[MapBatch]:
        """Two parts of the batch, pairs whole; itself where there is one template."""
        if self.templates < 2 or self.batch is None:
            return [self]
        layout = BlockLayout(self.reads)
        middle = int(self.block[layout.templates : layout.tie_breaks].view(np.uint32)[self.templates // 2])
        parts = (self.batch.part(0, middle), self.batch.part(middle, self.reads))
        return [MapBatch.of(part, paired, model=self.model) for part in parts]


class BlockLayout:
    """Where things are in a block, bytes."""

    #: of all counters, uint32
    counters_size = sum(_COUNTERS.values())

    def __init__(self, reads: int) -> None:
        self.templates = 8 * (reads + 1)
        self.tie_breaks = self.templates + 4 * (reads + 1)
        self.counters = self.tie_breaks + 4 * reads
        self.bases = -(-(self.counters + 4 * sum(_COUNTERS.values())) // _ALIGNMENT) * _ALIGNMENT
