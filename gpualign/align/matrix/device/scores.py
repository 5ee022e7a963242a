"""Rows of a matrix of scores on a device, which enumerates the pairs (cuda/distances_scores.cu) for LazyRScan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpualign.align import pair_tasks
from gpualign.align.matrix.device.tiles import MatrixKernel, MatrixTask, symbols_on
from gpualign.align.matrix.scores import Scores
from gpualign.align.matrix.symbols import SymbolSet
from gpualign.align.score.device.launch import THREADS, PairwiseLauncher
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays

_WARPS_PER_BLOCK = THREADS // pair_tasks.WARP
#: lengths that differ by more than this share of their mean are sorted
_UNEVEN = 0.05
#: codes that kernels may look beyond the last one
_LOOKED_AHEAD = 64
#: rows of a launch's grid
_MAX_ROWS = 65535


@dataclass(frozen=True)
class _Sets:
    """A problem's arrays on a device: addresses, and what LazyRScan takes."""

    query_order: Any
    query_offsets: Any
    target_order: Any
    target_offsets: Any
    queries: np.void
    targets: np.void
    alone: tuple[Any, Any] | None


class ScoreKernel(MatrixKernel[Scores, _Sets]):
    """Scores of all pairs, in any mode."""

    holds_memory = True

    def __init__(self, device: Device, problem: Scores) -> None:
        super().__init__(device, problem)
        self.launcher = PairwiseLauncher(device, problem.aligned)
        # of this call alone: the device stays open after it
        self._table = DeviceArrays(device, problem.aligned.scoring.scores)
        self.launcher.scores = self._table.addresses[0]
        lengths = problem.targets.lengths
        self._sorted = float(lengths.std()) > _UNEVEN * max(1.0, float(lengths.mean()))

    @staticmethod
    def rows_at_once(problem: Scores) -> int:
        return min(_MAX_ROWS, MatrixKernel.rows_at_once(problem))

    def free(self) -> None:
        self._table.free()

    def fill(self, slot: Slot, item: MatrixTask[Scores]) -> Any:
        problem, sets, (rows, columns) = item.problem, self.sets_on(slot), item.shape
        longest = int(problem.queries.sorted_lengths[item.last - 1])
        words = self.launcher.arithmetic(longest, problem.targets.longest)
        name, shared, scheme = self.launcher.lazy_kernel(words)
        function, blocks = self.launcher.function(name, shared)
        width = pair_tasks.WARP * words.lanes
        each = -(-columns // width)
        work, pair_target = (
            slot.device_array("tasks", pair_tasks.LAZY_TASK.itemsize * rows * each),
            slot.device_array("pair targets", 4 * rows * columns),
        )
        grid = min(256, -(-columns // 256)), rows
        numbers = np.int32(rows), np.int32(columns), np.int32(item.first)
        enumerate_pairs = self.device.function("distances_scores", "enumerate_pairs")
        orders = sets.query_order, sets.target_order
        slot.launch(enumerate_pairs, grid, 256, *orders, work, pair_target, *numbers, np.int32(width))
        blocks = min(blocks, -(-rows * each // _WARPS_PER_BLOCK))
        placed = self._sorted or sets.alone is not None
        scores = slot.device_array("scores" if placed else "matrix", 4 * rows * columns)
        slot.launch(
            function,
            blocks,
            THREADS,
            work,
            np.int32(rows * each),
            slot.clear("ticket", 4),
            scheme,
            sets.queries,
            sets.targets,
            pair_target,
            slot.device_array("column", blocks * _WARPS_PER_BLOCK * 2 * max(1, longest) * pair_tasks.WARP * 4),
            np.int32(longest),
            scores,
            shared=shared,
        )
        if not placed:
            return scores
        matrix = slot.device_array("matrix", 4 * rows * columns)
        scatter = self.device.function("distances_scores", "scatter_scores")
        alone = sets.alone or (np.uint64(0), np.uint64(0))
        offsets = (sets.query_order, sets.query_offsets, sets.target_order, sets.target_offsets)
        slot.launch(scatter, grid, 256, scores, *offsets, *alone, matrix, *numbers)
        return matrix

    def prepare(self, slot: Slot) -> _Sets:
        problem = self.problem
        queries, targets = problem.queries, problem.targets
        codes = slot.upload("table", problem.aligned.scoring.codes)
        q_offsets, q_codes = self._coded(slot, "queries", queries, codes)
        t_offsets, t_codes = q_offsets, q_codes
        if targets is not queries:
            t_offsets, t_codes = self._coded(slot, "targets", targets, codes)
        order = targets.order if self._sorted else np.arange(len(targets), dtype=np.int32)
        alone = None
        if problem.any_empty:
            alone = (
                slot.upload("queries alone", problem.alone(queries.lengths, 0)),
                slot.upload("targets alone", problem.alone(targets.lengths, 2)),
            )
        return _Sets(
            slot.upload("query order", queries.order),
            q_offsets,
            slot.upload("target order", order),
            t_offsets,
            filled("DeviceSequences", codes=int(q_codes), offsets=int(q_offsets)),
            filled("DeviceSequences", codes=int(t_codes), offsets=int(t_offsets)),
            alone,
        )

    def _coded(self, slot: Slot, key: str, symbols: SymbolSet, table: Any) -> tuple[Any, Any]:
        """Addresses of a set's offsets and codes."""
        letters, offsets = symbols_on(slot, key, symbols), slot.upload(f"{key} offsets", symbols.offsets)
        count = len(symbols.symbols)
        codes = slot.clear(f"{key} codes", count + _LOOKED_AHEAD)
        recode = self.device.function("distances_scores", "recode")
        slot.launch(recode, min(1024, -(-count // 256)), 256, letters, table, codes, np.int64(count))
        return offsets, codes
