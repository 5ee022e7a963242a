"""Launches of ``cuda/edit_filter.cu``: which pairs of sequences on a device are within their limits of edits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.align import pair_tasks
from gpualign.align.edit.filter import EditLimits
from gpualign.align.edit.tuning import FILTER_MODULE
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import SHARED_BYTES, Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import FoundList
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock, PairRuns

_THREADS = 64
_MARGIN = 256  # rows around a query, as in the kernel
#: pairs and their distances, by strand
_FOUND = tuple(FoundList(f"found {strand}", (np.int32, 2)) for strand in range(2))


class EditFilter:
    """The filter on one device, whose memory has the sequences."""

    def __init__(self, device: Device, limits: EditLimits, scoring: Scoring) -> None:
        self._device, self.limits = device, limits
        self._matching = filled("Matching", identical=scoring.identical, bases=scoring.bases)
        self._symbols = scoring.identical

    def fits(self, longest: int) -> bool:
        """Whether shared memory holds queries of up to ``longest`` symbols."""
        return self._shared_bytes(longest) <= SHARED_BYTES

    def _words(self, longest: int) -> int:
        """Words of the mask of each symbol."""
        return (longest + 2 * _MARGIN) // 64 + 6

    def _shared_bytes(self, longest: int) -> int:
        return self._symbols * self._words(longest) * 8 * (_THREADS // pair_tasks.WARP)

    def submit(
        self, slot: Slot, block: PairBlock, strand: int, sequences: tuple[np.void, np.void], widest: int, longest: int
    ) -> None:
        """Enqueue a block.

        Args:
            sequences: DeviceSequences of the queries on this strand, and of the targets.
            widest: of the pairs' limits.
            longest: symbols of the longest query.
        """
        name = "edit_filter_64" if widest < 64 else "edit_filter_128" if widest < 128 else "edit_filter_256"
        shared = self._shared_bytes(longest)
        function = self._device.function(FILTER_MODULE, name, shared=shared)
        suffix = f" {strand}"
        if isinstance(block, PairRuns):
            work, targets = pair_tasks.run_tasks(block, pair_tasks.WARP), np.uint64(0)
        else:
            work = pair_tasks.lazy_tasks(block.queries, pair_tasks.WARP)
            targets = slot.upload("targets" + suffix, block.targets)
        by_length = self._device.resident("edits", self._copy_limits, self.limits).addresses[0]
        slot.launch(
            function,
            min(self._device.blocks_at_once(function, _THREADS, shared), -(-len(work) // 2)),
            _THREADS,
            slot.upload("tasks" + suffix, work.view(np.uint8)),
            np.int32(len(work)),
            slot.clear("ticket" + suffix, 4),
            *sequences,
            targets,
            filled("EditLimits", by_length=by_length, with_difference=self.limits.with_difference),
            self._matching,
            np.int32(self._words(longest)),
            *_FOUND[strand].space(slot, len(block)),
            shared=shared,
        )
        _FOUND[strand].download(slot)

    def _copy_limits(self) -> DeviceArrays:
        return DeviceArrays(self._device, self.limits.by_length)

    def found(self, slot: Slot, strand: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """int32 (k,) each: the pairs within their limits, ascending, and their distances."""
        (found,) = _FOUND[strand].entries(slot)
        pairs, distances = found[np.argsort(found[:, 0])].T
        return pairs, distances
