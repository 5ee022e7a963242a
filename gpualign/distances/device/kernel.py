"""The host side of cuda/distances.cu and cuda/distances_within.cu: a range of queries against all targets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.distances import tuning
from gpualign.distances.cpu import MODES
from gpualign.distances.foreign import DeviceArray
from gpualign.distances.problem import Distances
from gpualign.distances.symbols import SymbolSet
from gpualign.engine.gpu.buffers import Slot, slots_of
from gpualign.engine.gpu.device import Device

_CHUNK = 16  # symbols
_WARP = 32


@dataclass(frozen=True, eq=False)
class Task:
    """Queries ``order[first:last]`` of a problem.

    Attributes:
        problem: with symbols of 8 bits, no more than 255 of them.
        address: of a matrix (queries, targets) on the same GPU, which then gets the values; 0: they come back.
    """

    problem: Distances
    first: int
    last: int
    address: int = 0


@dataclass(frozen=True)
class Sets:
    """Addresses of a problem's arrays on a device, as the kernels take them."""

    queries: Any
    query_offsets: Any
    query_order: Any
    table: Any
    text: Any
    starts: Any
    target_order: Any
    target_offsets: Any
    limits: Any
    codes: int
    chunks: int

    @property
    def both(self) -> tuple[Any, ...]:
        sides = (self.queries, self.query_offsets, self.query_order, self.table)
        return *sides, self.text, self.starts, self.target_order, self.target_offsets, self.limits


class DistanceKernel:
    """Computes :class:`Task` on one device (see ``gpu.runner.Kernel``): rows of a matrix, the nearest of each query, or
    a list of pairs, as the problem's parameters say.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._sets: dict[int, tuple[Distances, Sets]] = {}

    # -- the sets

    def _prepare(self, slot: Slot, problem: Distances) -> Sets:
        known = self._sets.get(id(slot))
        if known is not None and known[0] is problem:
            return known[1]
        queries, targets = problem.queries, problem.targets
        table, codes = problem.code_table
        starts = _starts(targets.sorted_lengths)
        q = symbols_on(slot, "queries", queries)
        addresses = [
            slot.upload(key, array)
            for key, array in (
                ("query offsets", queries.offsets),
                ("query order", queries.order),
                ("table", table),
                ("starts", starts),
                ("target order", targets.order),
                ("target offsets", targets.offsets),
                ("limits", problem.limits),
            )
        ]
        q_offsets, q_order, table_at, starts_at, t_order, t_offsets, limits = addresses
        symbols = q if targets is queries else symbols_on(slot, "targets", targets)
        text = slot.device_array("text", 16 * max(1, int(starts[-1])))
        interleave = self.device.function("distances", "interleave", tuning.defines(4, MODES["global"]))
        count, absent = np.int32(len(targets)), np.uint32(codes - 1)
        slot.launch(
            interleave, len(starts) - 1, 128, symbols, t_offsets, t_order, table_at, starts_at, count, absent, text
        )
        limits = limits if problem.params.limited else np.uint64(0)
        sets = Sets(
            q,
            q_offsets,
            q_order,
            table_at,
            text,
            starts_at,
            t_order,
            t_offsets,
            limits,
            codes,
            -(-targets.longest // _CHUNK),
        )
        self._sets[id(slot)] = problem, sets
        return sets

    # -- what a task asks for

    def submit(self, slot: Slot, item: Task) -> None:
        problem = item.problem
        if item.first == item.last or not len(problem.targets):
            return
        sets = self._prepare(slot, problem)
        if problem.params.sparse:
            self._find(slot, item, sets, tuning.FOUND)
            return
        rows, columns = item.last - item.first, len(problem.targets)
        matrix = slot.device_array("matrix", 4 * rows * columns)
        self._fill(slot, item, sets, matrix)
        if problem.params.nearest is not None:
            self._nearest(slot, item, sets, matrix)
        elif item.address:
            self._copy_rows(slot, item, int(matrix))
        else:
            slot.download("matrix", (rows, columns), np.int32)

    def collect(self, slot: Slot, item: Task) -> tuple[NDArray[Any], ...]:
        """Rows of the matrix; targets and values of the nearest; or keys (query << 32 | target) and values of pairs."""
        problem, rows = item.problem, item.last - item.first
        if rows == 0 or not len(problem.targets):
            return _nothing(problem, rows)
        if problem.params.sparse:
            return self._found(slot, item)
        if problem.params.nearest is not None:
            shape = (rows, problem.params.nearest)
            return tuple(slot.pinned(key, shape, np.int32).copy() for key in ("nearest", "nearest values"))
        if item.address:
            return ()
        matrix = slot.pinned("matrix", (rows, len(problem.targets)), np.int32)
        slot.part_with("matrix")
        return (matrix,)

    def split(self, item: Task) -> list[Task]:
        middle = (item.first + item.last) // 2
        if middle == item.first:
            return [item]
        return [Task(item.problem, *span, item.address) for span in ((item.first, middle), (middle, item.last))]

    def join(self, results: list[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
        return tuple(np.concatenate(parts) for parts in zip(*results, strict=True))

    # -- launches

    def _fill(self, slot: Slot, item: Task, sets: Sets, matrix: Any) -> None:
        """The values of all pairs of a task, into a matrix on the device."""
        problem = item.problem
        mode, rows, targets = MODES[problem.params.mode], item.last - item.first, len(problem.targets)
        longest = int(problem.queries.sorted_lengths[item.last - 1])
        words = tuning.words_of(longest)
        function = self.device.function("distances", "distances", tuning.defines(words, mode))
        shared = -(-words // 4) * sets.codes * 16
        self._allow(function, shared)
        batches = -(-targets // tuning.THREADS)
        each = 4 * (tuning.THREADS // _WARP) * sets.chunks * _WARP if longest > 32 * words else 0
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
                *sets.both,
                boundary,
                np.uint64(at),
                np.int64(targets),
                np.int32(targets),
                np.int32(first),
                np.int32(sets.codes),
                np.int32(sets.chunks),
                shared=shared,
            )

    def _copy_rows(self, slot: Slot, item: Task, matrix: int) -> None:
        """Rows to where they belong in another array on the GPU, neighbours together."""
        numbers, row = item.problem.queries.order[item.first : item.last], 4 * len(item.problem.targets)
        edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        for first, last in pairwise(edges):
            to, size = item.address + row * int(numbers[first]), row * (last - first)
            self.device.driver.memcpy_dtod_async(to, matrix + row * first, size, slot.stream)

    def _nearest(self, slot: Slot, item: Task, sets: Sets, matrix: Any) -> None:
        params, rows = item.problem.params, item.last - item.first
        most = params.nearest or 0
        slot.launch(
            self.device.function("distances_within", "nearest", {"WIDE": "0"}),
            rows,
            tuning.BAND_THREADS,
            matrix,
            sets.query_order,
            slot.device_array("nearest", 4 * rows * most),
            slot.device_array("nearest values", 4 * rows * most),
            np.int64(len(item.problem.targets)),
            np.int32(item.first),
            np.int32(most),
            np.int32(item.problem.with_itself),
            np.int32(params.limited),
            np.int32(0),
        )
        for key in ("nearest", "nearest values"):
            slot.download(key, (rows, most), np.int32)

    def _find(self, slot: Slot, item: Task, sets: Sets, room: int) -> None:
        """The pairs within the limit: in a band where it is narrow, else out of a matrix."""
        problem, rows, columns = item.problem, item.last - item.first, len(item.problem.targets)
        results = (
            slot.device_array("found", 8 * room),
            slot.device_array("found values", 4 * room),
            slot.clear("found count", 8),
            np.uint64(room),
        )
        if (band := band_of(problem)) is not None:
            wide, shared = band
            function = self.device.function("distances_within", "distances_within", {"WIDE": str(int(wide))})
            self._allow(function, shared)
            spans = _spans(problem, item.first, item.last)
            widest = -(-int((spans[1] - spans[0]).max(initial=0)) // tuning.BAND_THREADS) + 1
            slot.launch(
                function,
                (rows, max(1, min(65535, max(widest // 16, tuning.BLOCKS // rows)))),
                tuning.BAND_THREADS,
                *sets.both,
                slot.upload("from", spans[0]),
                slot.upload("to", spans[1]),
                *results,
                np.int32(item.first),
                np.int32(sets.codes),
                np.int32(problem.queries.sorted_lengths[item.last - 1] + problem.limits[-1]),
                np.int32(problem.with_itself),
                shared=shared,
            )
        else:
            matrix = slot.device_array("matrix", 4 * rows * columns)
            self._fill(slot, item, sets, matrix)
            function = self.device.function("distances_within", "collect_values", {"WIDE": "0"})
            grid = (rows, max(1, min(-(-columns // 1024), 65535)))
            numbers = (np.int64(columns), np.int32(item.first), np.int32(problem.with_itself), np.int32(problem.half))
            slot.launch(function, grid, 1024, matrix, sets.query_order, *results, *numbers)
        slot.download("found count", 1, np.uint64)

    def _found(self, slot: Slot, item: Task) -> tuple[NDArray[Any], ...]:
        count = int(slot.pinned("found count", 1, np.uint64)[0])
        if count > tuning.FOUND:
            self._find(slot, item, self._sets[id(slot)][1], count)
            slot.wait()
        keys, values = slot.download("found", count, np.uint64), slot.download("found values", count, np.int32)
        slot.wait()
        return keys.copy(), values.copy()

    def _allow(self, function: Any, shared: int) -> None:
        if shared > 48 << 10:
            attribute = self.device.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            function.set_attribute(attribute, shared)


def symbols_on(slot: Slot, key: str, symbols: SymbolSet) -> Any:
    """The address of a copy of a set's symbols."""
    foreign = symbols.symbols
    if not isinstance(foreign, DeviceArray):
        return slot.upload(key, foreign)
    pointer = slot.device_array(key, len(foreign))
    slot.device.driver.memcpy_dtod_async(pointer, foreign.address, len(foreign), slot.stream)
    return pointer


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
    most, longest = int(problem.limits[-1]), problem.queries.longest
    wide = most > tuning.MOST_IN_BAND
    shared = (longest + most) * problem.code_table[1] * (8 if wide else 4)
    if most > tuning.MOST_IN_WIDE_BAND or shared > tuning.SHARED_BYTES or most >= longest:
        return None
    return wide, shared


def _spans(problem: Distances, first: int, last: int) -> NDArray[np.int32]:
    """int32 (2, queries): places of the targets that are within the limit by their lengths, half-open."""
    lengths, most = problem.queries.sorted_lengths[first:last], int(problem.limits[-1])
    sorted_targets = problem.targets.sorted_lengths
    begin = np.searchsorted(sorted_targets, lengths - most, side="left")
    end = np.searchsorted(sorted_targets, lengths + most, side="right")
    if problem.half:
        begin = np.maximum(begin, np.arange(first + 1, last + 1))
    return np.stack([begin, np.maximum(begin, end)]).astype(np.int32)


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """uint32 (warps + 1,): 16-byte chunks before each warp's targets; ``lengths`` ascend."""
    longest = lengths[_WARP - 1 :: _WARP]
    if len(lengths) % _WARP:
        longest = np.append(longest, lengths[-1])
    return np.concatenate([[0], np.cumsum(-(-longest // _CHUNK) * _WARP)]).astype(np.uint32)


def _nothing(problem: Distances, rows: int) -> tuple[NDArray[Any], ...]:
    if problem.params.sparse:
        return np.zeros(0, np.uint64), np.zeros(0, np.int32)
    if problem.params.nearest is not None:
        none = np.full((rows, problem.params.nearest), -1, np.int32)
        return none, none.copy()
    return (np.zeros((rows, len(problem.targets)), np.int32),)
