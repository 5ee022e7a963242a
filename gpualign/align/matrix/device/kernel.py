"""The host side of cuda/distances.cu and cuda/distances_within.cu: a range of queries against all targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.matrix import tuning
from gpualign.align.matrix.cpu import MODES
from gpualign.align.matrix.device.tiles import MatrixKernel, MatrixTask, symbols_on
from gpualign.align.matrix.foreign import DeviceArray
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.symbols import SymbolSet
from gpualign.run.gpu.buffers import Slot, slots_of
from gpualign.run.gpu.device import Device

_CHUNK = 16  # symbols
_WARP = 32


class DistanceKernel(MatrixKernel[Distances, tuple[Any, ...]]):
    """Distances of all pairs, of no more than 255 different symbols."""

    @staticmethod
    def rows_at_once(problem: Distances) -> int:
        if problem.params.sparse and band_of(problem) is not None:
            return tuning.BAND_PAIRS // max(1, len(problem.targets))
        return MatrixKernel.rows_at_once(problem)

    # -- the sets

    def prepare(self, slot: Slot) -> tuple[Any, ...]:
        problem = self.problem
        queries, targets = problem.queries, problem.targets
        table, codes = problem.code_table
        starts = _starts(targets.sorted_lengths)
        q = symbols_on(slot, "queries", queries)
        of_queries = slot.upload("query offsets", queries.offsets), slot.upload("query order", queries.order)
        t_order, t_offsets = slot.upload("target order", targets.order), slot.upload("target offsets", targets.offsets)
        table_at, starts_at = slot.upload("table", table), slot.upload("starts", starts)
        limits = slot.upload("limits", problem.limits) if problem.params.limited else np.uint64(0)
        symbols = q if targets is queries else symbols_on(slot, "targets", targets)
        text = slot.device_array("text", 16 * max(1, int(starts[-1])))
        interleave = self.device.function("distances", "interleave", tuning.defines(4, MODES["global"]))
        count, absent = np.int32(len(targets)), np.uint32(codes - 1)
        slot.launch(
            interleave, len(starts) - 1, 128, symbols, t_offsets, t_order, table_at, starts_at, count, absent, text
        )
        return q, *of_queries, table_at, text, starts_at, t_order, t_offsets, limits

    # -- launches

    def fill(self, slot: Slot, item: MatrixTask[Distances]) -> Any:
        problem, sets = item.problem, self.sets_on(slot)
        mode, (rows, targets) = MODES[problem.params.mode], item.shape
        matrix = slot.device_array("matrix", 4 * rows * targets)
        longest = int(problem.queries.sorted_lengths[item.last - 1])
        words = tuning.words_of(longest)
        codes, chunks = problem.code_table[1], -(-problem.targets.longest // _CHUNK)
        shared = -(-words // 4) * codes * 16
        function = self.device.function("distances", "distances", tuning.defines(words, mode), shared)
        batches = -(-targets // tuning.THREADS)
        each = 4 * (tuning.THREADS // _WARP) * chunks * _WARP if longest > 32 * words else 0
        rows_at_once = rows if not each else max(1, min(rows, tuning.BOUNDARY_BYTES // each))
        splits = max(1, min(batches, tuning.BLOCKS // rows_at_once, 65535))
        if each:
            splits = max(1, min(splits, tuning.BOUNDARY_BYTES // (each * rows_at_once)))
        boundary = slot.device_array("boundary", each * splits * rows_at_once)
        for first in range(item.first, item.last, rows_at_once):
            count = min(rows_at_once, item.last - first)
            at = int(matrix) + 4 * targets * (first - item.first)
            slot.launch(
                function,
                (count, splits),
                tuning.THREADS,
                *sets,
                boundary,
                np.uint64(at),
                np.int64(targets),
                np.int32(targets),
                np.int32(first),
                np.int32(codes),
                np.int32(chunks),
                shared=shared,
            )
        return matrix

    def find(self, slot: Slot, item: MatrixTask[Distances], space: tuple[Any, ...]) -> None:
        """The pairs within the limit: in a band where it is narrow, else out of a matrix."""
        problem, sets = item.problem, self.sets_on(slot)
        band = band_of(problem)
        if band is None:
            super().find(slot, item, space)
            return
        rows, (wide, shared) = item.shape[0], band
        defines = {"WIDE": str(int(wide))}
        function = self.device.function("distances_within", "distances_within", defines, shared)
        spans = _spans(problem, item.first, item.last)
        widest = -(-int((spans[1] - spans[0]).max(initial=0)) // tuning.BAND_THREADS) + 1
        slot.launch(
            function,
            (rows, max(1, min(65535, max(widest // 16, tuning.BLOCKS // rows)))),
            tuning.BAND_THREADS,
            *sets,
            slot.upload("from", spans[0]),
            slot.upload("to", spans[1]),
            *space,
            np.int32(item.first),
            np.int32(problem.code_table[1]),
            np.int32(problem.queries.sorted_lengths[item.last - 1] + problem.limits[-1]),
            np.int32(problem.with_itself),
            shared=shared,
        )


def occurring_symbols(device: Device, *sets: SymbolSet) -> None:
    """Find which symbols there are in sets that lie on the GPU; in the device's thread."""
    slot = slots_of(device, 1)[0]
    for symbols in sets:
        if isinstance(symbols.symbols, DeviceArray) and "occurs" not in symbols.__dict__:
            at, used = symbols_on(slot, "queries", symbols), slot.clear("symbols", 1024)
            mark = device.function("distances", "mark_symbols", tuning.defines(4, MODES["global"]))
            slot.launch(mark, 256, 256, at, np.int64(len(symbols.symbols)), used)
            occurs = slot.download("symbols", 256, np.uint32)
            slot.wait()
            symbols.__dict__["occurs"] = occurs > 0


def band_of(problem: Distances) -> tuple[bool, int] | None:
    """Whether a problem's bands are wide, and their shared memory in bytes; None where they suit no kernel."""
    if problem.params.mode != "global" or not problem.params.limited:
        return None
    maximum, longest = int(problem.limits[-1]), problem.queries.longest
    wide = maximum > tuning.MAX_IN_BAND
    shared = (longest + maximum) * problem.code_table[1] * (8 if wide else 4)
    if maximum > tuning.MAX_IN_WIDE_BAND or shared > tuning.SHARED_BYTES or maximum >= longest:
        return None
    return wide, shared


def _spans(problem: Distances, first: int, last: int) -> NDArray[np.int32]:
    """int32 (2, queries): indices of the targets that their lengths allow within the limit, half-open."""
    lengths, maximum = problem.queries.sorted_lengths[first:last], int(problem.limits[-1])
    sorted_targets = problem.targets.sorted_lengths
    begin = np.searchsorted(sorted_targets, lengths - maximum, side="left")
    end = np.searchsorted(sorted_targets, lengths + maximum, side="right")
    if problem.half:
        begin = np.maximum(begin, np.arange(first + 1, last + 1))
    return np.stack([begin, np.maximum(begin, end)]).astype(np.int32)


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """uint32 (warps + 1,): 16-byte chunks before each warp's targets; ``lengths`` ascend."""
    longest = lengths[_WARP - 1 :: _WARP]
    if len(lengths) % _WARP:
        longest = np.append(longest, lengths[-1])
    return np.concatenate([[0], np.cumsum(-(-longest // _CHUNK) * _WARP)]).astype(np.uint32)
