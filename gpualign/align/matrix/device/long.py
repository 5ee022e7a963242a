"""The host side of cuda/distances_long.cu: few pairs, or long ones, without a limit or within one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualign import _native
from gpualign.align.matrix import tuning
from gpualign.align.matrix.device.tiles import MatrixKernel, MatrixTask, symbols_on
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.symbols import SymbolSet
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device

#: words that a sequence has to spare (cuda/algo/align/matrix/reach.hpp)
_SPARE_WORDS = _native.REACH_SPARE_WORDS
#: phases whose rows are kept
_KEPT = _native.REACH_KEPT
#: threads that pack symbols, and blocks for each sequence
_PACKERS, _PACKING_BLOCKS = 256, 64


class LongPairKernel(MatrixKernel[Distances, tuple[Any, ...]]):
    """Distances of all pairs, a pair shared out over blocks; modes "global" and "indel"."""

    def __init__(self, device: Device, problem: Distances) -> None:
        super().__init__(device, problem)
        self._bits = 2 if problem.code_table[1] <= 5 else 8  # one of the codes stands for no symbol
        self._blocks = tuning.LONG_BLOCKS * device.processors

    def fill(self, slot: Slot, item: MatrixTask[Distances]) -> Any:
        problem, sets, (rows, columns) = item.problem, self.sets_on(slot), item.shape
        matrix = slot.clear("matrix", 4 * rows * columns, 0xFF)
        both = int(problem.queries.sorted_lengths[item.last - 1]), problem.targets.longest
        width, steps, threads = tuning.LONG_TILE
        kept = width - 2 * steps
        diagonals, tiles = sum(both) + 1, sum(-(-length // kept) + 1 for length in both) + 1
        pairs, at_once = rows * columns, max(1, tuning.REACHED_BYTES // (8 * _KEPT * diagonals))
        for first in range(0, pairs, at_once):
            count = min(at_once, pairs - first)
            each = max(1, min(tiles, self._blocks // count))
            slot.launch(
                self._function("long_pairs"),
                count * each,
                threads,
                *sets,
                slot.device_array("reached", 8 * _KEPT * diagonals * count),
                slot.clear("progress", 8 * tiles * count),
                slot.clear("tickets", 4 * count),
                matrix,
                np.int64(_words_of(problem.queries, self._bits)),
                np.int64(_words_of(problem.targets, self._bits)),
                np.int64(diagonals),
                np.int64(first),
                np.int32(tiles),
                np.int32(item.first),
                np.int32(columns),
                np.int32(each),
                np.int32(problem.params.mode == "global"),
            )
        return matrix

    def _function(self, name: str) -> Any:
        return self.device.function("distances_long", name, tuning.long_defines(self._bits))

    def prepare(self, slot: Slot) -> tuple[Any, ...]:
        problem = self.problem
        table = slot.upload("table", problem.code_table[0])
        queries, q_offsets = self._packed(slot, "queries", problem.queries, table)
        targets, t_offsets = queries, q_offsets
        if problem.targets is not problem.queries:
            targets, t_offsets = self._packed(slot, "targets", problem.targets, table)
        limits = slot.upload("limits", problem.limits) if problem.params.limited else np.uint64(0)
        return queries, q_offsets, slot.upload("query order", problem.queries.order), targets, t_offsets, limits

    def _packed(self, slot: Slot, key: str, symbols: SymbolSet, table: Any) -> tuple[Any, Any]:
        """Addresses of a set's words and of its offsets."""
        letters, offsets = symbols_on(slot, key, symbols), slot.upload(f"{key} offsets", symbols.offsets)
        per_word, back = 32 // self._bits, _words_of(symbols, self._bits)
        words = slot.device_array(f"{key} words", 8 * back)
        blocks = max(1, min(_PACKING_BLOCKS, symbols.longest // (per_word * _PACKERS)))
        slot.launch(
            self._function("pack"), (len(symbols), blocks), _PACKERS, letters, offsets, table, words, np.int64(back)
        )
        return words, offsets


def _words_of(symbols: SymbolSet, bits: int) -> int:
    """Words of a set; as many again are of its reversed sequences."""
    return len(symbols.symbols) * bits // 32 + _SPARE_WORDS * (len(symbols) + 1)


def suits(problem: Distances) -> bool:
    """Whether a device had better share out pairs over its blocks than threads: they are long, or few."""
    longest = max(problem.queries.longest, problem.targets.longest)
    few = len(problem.queries) * len(problem.targets) <= tuning.FEW_PAIRS and longest >= tuning.WORTH_SHARING
    return problem.params.symmetric and (few or longest > tuning.LONGEST)
