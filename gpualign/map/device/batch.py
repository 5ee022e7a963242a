"""Reads as `map`'s kernel takes them: all that is copied to the device for a batch in one block, made by host threads.

The device's thread, which must keep the device busy, shares the interpreter with those that parse and print: it has
nothing to compute, and one copy to enqueue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.stage import Lend
from gpualign.map import tuning
from gpualign.sequences.batch import SequenceBatch

#: the letters' place in a block is a multiple of it, as that of memory from the driver
_ALIGNMENT = 256


def nothing_lent(nbytes: int) -> None:
    """Where there is no page-locked memory to lend."""


@dataclass(frozen=True)
class MapBatch:
    """A batch and its block.

    Attributes:
        batch: its letters are a view of the block.
        block: uint8: where each read's letters begin (int64), the first read of each unit, which is a read by itself or
            the two ends of a pair, and their end (uint32), the next unit to map (uint32, 0), letters.
        units: how many there are.
        longest: bases of the longest read that the device maps.
    """

    batch: SequenceBatch
    block: NDArray[np.uint8]
    units: int
    longest: int

    @classmethod
    def of(cls, batch: SequenceBatch, paired: bool, lend: Lend = nothing_lent) -> MapBatch:
        """Copies the letters.

        Args:
            paired: a batch's mates are units.
            lend: of memory for the block.
        """
        places = _Places(len(batch))
        nbytes = places.letters + len(batch.bases)
        block = lend(nbytes)
        if block is None:
            block = np.empty(nbytes, np.uint8)
        letters = block[places.letters :]
        offsets, units = block[: places.units].view(np.int64), block[places.units : places.next].view(np.uint32)
        block[places.next : places.next + 4] = 0
        mates = batch.mates if paired else None
        count, longest = _native.stage_reads(
            batch.bases, batch.base_offsets, mates, tuning.MAP_LONGEST, letters, offsets, units
        )
        return cls(replace(batch, bases=letters), block, count, longest)

    def addresses(self, block: int) -> dict[str, int]:
        """Of the fields of MapBatch (cuda/abi/map.hpp) that lie in the block, where that is at this address."""
        places = _Places(len(self.batch))
        return {
            "bases": block + places.letters,
            "offsets": block,
            "templates": block + places.units,
            "next_template": block + places.next,
        }

    def halves(self, paired: bool) -> list[MapBatch]:
        """Two parts of the batch, pairs whole; itself where there is one unit."""
        if self.units < 2:
            return [self]
        places = _Places(len(self.batch))
        middle = int(self.block[places.units : places.next].view(np.uint32)[self.units // 2])
        parts = (self.batch.part(0, middle), self.batch.part(middle, len(self.batch)))
        return [MapBatch.of(part, paired) for part in parts]


class _Places:
    """Where things are in a block, bytes."""

    def __init__(self, reads: int) -> None:
        self.units = 8 * (reads + 1)
        self.next = self.units + 4 * (reads + 1)
        self.letters = -(-(self.next + 4) // _ALIGNMENT) * _ALIGNMENT
