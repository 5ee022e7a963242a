"""The device side of a search: scores of queries with parts of a database, which go by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gpualign.align.score.cpu import Candidates
from gpualign.align.score.device.kernel import PairwiseKernel, strand_on_cores
from gpualign.align.score.device.launch import PairwiseLauncher
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.score_tile import ScoreTile, TileScores
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.tuning import SLOTS
from gpualign.sequences.pairs import PairBlock


class DatabaseKernel(DeviceKernel[ScoreTile, TileScores]):
    """One device's part of a search: by the kernels with a query over the lanes of groups, where they suit the scoring,
    the device and the sequences; else as any block of pairs.
    """

    def __init__(self, device: Device, problem: PairProblem) -> None:
        super().__init__(device)
        self.problem = problem
        self._others: OrderedDict[int, PairwiseKernel] = OrderedDict()  # by the identity of their targets

    def launch(self, slot: Slot, item: ScoreTile) -> Any:
        """Enqueue a tile's scores; returns its targets by length, or what the kernel for blocks does."""
        if not self._suits(item):
            return self._kernel_of(item).launch(slot, item.block)
        lengths = item.targets.lengths[item.first_target : item.last_target]
        order = np.argsort(lengths.astype(np.uint16 if lengths.max() < 1 << 16 else np.int64), kind="stable")
        order += item.first_target
        self._launcher.submit_tile(slot, item, order[np.count_nonzero(lengths == 0) :])
        return order

    def result(self, slot: Slot, item: ScoreTile, launched: Any) -> TileScores:
        """The scores; where a query's rows were spread over lanes, the targets are sorted by length."""
        order = launched
        if not isinstance(order, np.ndarray):
            found = self._kernel_of(item).result(slot, item.block, launched)
            return TileScores(found.score.reshape(item.shape), np.arange(item.first_target, item.last_target))
        empty = int(np.count_nonzero(item.targets.lengths[order] == 0))
        scores = np.zeros(item.shape, np.int32)
        scores[:, empty:] = slot.pinned("scores 0", (len(scores), len(order) - empty), np.int32)
        left = np.broadcast_to(np.arange(len(order)) < empty, scores.shape)
        if self.problem.mode == "local":
            left = scores < 0  # beyond half a word; nothing scores 0
        rows, columns = np.nonzero(left)
        if len(rows):
            block = PairBlock((rows + item.first).astype(np.int32), order[columns].astype(np.int32))
            problem = replace(self.problem, targets=item.targets)
            scores[rows, columns] = strand_on_cores(problem, Candidates(block), 0).score
        return TileScores(scores, order)

    def split(self, item: ScoreTile) -> list[ScoreTile]:
        """Halves, for a device with little memory."""
        queries, targets = item.shape
        if targets > 1:
            middle = item.first_target + targets // 2
            return [replace(item, last_target=middle), replace(item, first_target=middle)]
        if queries > 1:
            middle = item.first + queries // 2
            return [replace(item, last=middle), replace(item, first=middle)]
        return [item]

    def join(self, results: Sequence[TileScores]) -> TileScores:
        """Join the results of both halves of a tile."""
        scores, targets = [each.scores for each in results], [each.targets for each in results]
        if np.array_equal(targets[0], targets[1]):
            return TileScores(np.concatenate(scores), targets[0])
        return TileScores(np.concatenate(scores, axis=1), np.concatenate(targets))

    @cached_property
    def _launcher(self) -> PairwiseLauncher:
        return PairwiseLauncher(self.device, self.problem)

    def _suits(self, item: ScoreTile) -> bool:
        if not self._launcher.lanes_suit:
            return False
        rows = self.problem.query_lengths[item.first : item.last]
        offsets = item.targets.offsets[item.first_target : item.last_target + 1]
        return bool(rows.min() > 0 and (np.diff(offsets) > 0).any())

    def _kernel_of(self, item: ScoreTile) -> PairwiseKernel:
        """The copy of a part of the database; copies of former parts are dropped."""
        kernel = self._others.get(id(item.targets))
        if kernel is None:
            while len(self._others) > SLOTS:
                _, old = self._others.popitem(last=False)
                self.device.forget("sequences", old.problem.targets)
            kernel = PairwiseKernel(self.device, replace(self.problem, targets=item.targets))
            self._others[id(item.targets)] = kernel
        return kernel
