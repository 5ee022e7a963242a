"""Shared by the kernels of `distances` and `scores`: rows of a matrix on the device, and queries about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign.align.matrix import tuning
from gpualign.align.matrix.foreign import DeviceArray
from gpualign.align.matrix.problem import AllPairs
from gpualign.align.matrix.symbols import SymbolSet
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import AGAIN, Again, DeviceKernel, FoundList

#: keys (query << 32 | target) and values of pairs
FOUND = FoundList("found", np.uint64, np.int32)

Problem = TypeVar("Problem", bound=AllPairs)

#: addresses of a problem's arrays on a device
OnDevice = TypeVar("OnDevice", bound=Any)


@dataclass(frozen=True, eq=False)
class MatrixTask(Generic[Problem]):
    """Queries ``order[first:last]`` of a problem.

    Attributes:
        problem: with symbols of 8 bits.
        address: of a matrix (queries, targets) on the same GPU, which then gets the values; 0: they come back.
    """

    problem: Problem
    first: int
    last: int
    address: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.last - self.first, len(self.problem.targets)


class MatrixKernel(DeviceKernel[MatrixTask[Problem], tuple[NDArray[Any], ...]], Generic[Problem, OnDevice]):
    """Computes :class:`MatrixTask`: rows of a matrix, the nearest of each query, or a list of pairs, as the problem's
    parameters say.
    """

    holds_memory = False  # besides its slots

    def __init__(self, device: Device, problem: Problem) -> None:
        super().__init__(device)
        self.problem = problem
        self._sets: dict[int, OnDevice] = {}
        self._capacity = tuning.FOUND

    def free(self) -> None:
        """Give back what the kernel holds besides its slots; in the device's thread."""

    def prepare(self, slot: Slot) -> OnDevice:
        """Enqueue copies of the sets to the device; their addresses, as the kernels take them."""
        raise NotImplementedError

    def fill(self, slot: Slot, item: MatrixTask[Problem]) -> Any:
        """Enqueue the values of all pairs of a task into the slot's array "matrix"; returns its address."""
        raise NotImplementedError

    @staticmethod
    def rows_at_once(problem: Problem) -> int:
        """Queries of a task."""
        return tuning.CHUNK_BYTES // (4 * max(1, len(problem.targets)))

    def sets_on(self, slot: Slot) -> OnDevice:
        """The sets on the device, prepared when a slot first asks."""
        if id(slot) not in self._sets:
            self._sets[id(slot)] = self.prepare(slot)
        return self._sets[id(slot)]

    # -- what a task asks for

    def launch(self, slot: Slot, item: MatrixTask[Problem]) -> int:
        """Returns the capacity for found pairs."""
        rows, columns = item.shape
        if rows == 0 or columns == 0:
            return 0
        if item.problem.params.sparse:
            self.find(slot, item, (*FOUND.space(slot, self._capacity), np.uint64(self._capacity)))
            FOUND.download(slot)
            return self._capacity
        matrix = self.fill(slot, item)
        if item.problem.params.nearest is not None:
            self._nearest(slot, item, matrix)
        elif item.address:
            self._copy_rows(slot, item, int(matrix))
        else:
            slot.download("matrix", item.shape, np.int32)
        return 0

    def result(self, slot: Slot, item: MatrixTask[Problem], launched: int) -> tuple[NDArray[Any], ...] | Again:
        """Rows of the matrix; targets and values of the nearest; or keys (query << 32 | target) and values of pairs."""
        params, (rows, columns) = item.problem.params, item.shape
        if rows == 0 or columns == 0:
            return _nothing(item)
        if params.sparse:
            if (count := FOUND.count(slot)) > launched:
                self._capacity = max(self._capacity, count)
                return AGAIN
            return tuple(column.copy() for column in FOUND.entries(slot))
        if params.nearest is not None:
            shape = (rows, params.nearest)
            return tuple(slot.pinned(key, shape, np.int32).copy() for key in ("nearest", "nearest values"))
        if item.address:
            return ()
        matrix = slot.pinned("matrix", item.shape, np.int32)
        slot.detach_pinned("matrix")
        return (matrix,)

    def split(self, item: MatrixTask[Problem]) -> list[MatrixTask[Problem]]:
        middle = (item.first + item.last) // 2
        if middle == item.first:
            return [item]
        return [MatrixTask(item.problem, *span, item.address) for span in ((item.first, middle), (middle, item.last))]

    def join(self, results: Sequence[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
        return tuple(np.concatenate(parts) for parts in zip(*results, strict=True))

    # -- launches

    def _copy_rows(self, slot: Slot, item: MatrixTask[Problem], matrix: int) -> None:
        """Copy rows to their positions in another array on the GPU, adjacent rows together."""
        numbers, row = item.problem.queries.order[item.first : item.last], 4 * len(item.problem.targets)
        edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        for first, last in pairwise(edges):
            to, size = item.address + row * int(numbers[first]), row * (last - first)
            slot.copy_on_device(to, matrix + row * first, size)

    def _nearest(self, slot: Slot, item: MatrixTask[Problem], matrix: Any) -> None:
        problem, (rows, columns) = item.problem, item.shape
        maximum = problem.params.nearest or 0
        slot.launch(
            self.device.function("distances_within", "nearest", {"WIDE": "0"}),
            rows,
            tuning.BAND_THREADS,
            matrix,
            slot.device_array("query order", 0),  # as prepare() put it there
            slot.device_array("nearest", 4 * rows * maximum),
            slot.device_array("nearest values", 4 * rows * maximum),
            np.int64(columns),
            np.int32(item.first),
            np.int32(maximum),
            np.int32(problem.with_itself),
            np.int32(problem.minimum),
            np.int32(problem.largest),
        )
        for key in ("nearest", "nearest values"):
            slot.download(key, (rows, maximum), np.int32)

    def find(self, slot: Slot, item: MatrixTask[Problem], space: tuple[Any, ...]) -> None:
        """Enqueue the search for pairs whose values are at least the problem's least, out of a matrix.

        Args:
            space: what :data:`FOUND` has for them, and for how many.
        """
        problem, (rows, columns) = item.problem, item.shape
        matrix = self.fill(slot, item)
        slot.launch(
            self.device.function("distances_within", "collect_values", {"WIDE": "0"}),
            (rows, max(1, min(-(-columns // 1024), 65535))),
            1024,
            matrix,
            slot.device_array("query order", 0),  # as prepare() put it there
            *space,
            np.int64(columns),
            np.int32(item.first),
            np.int32(problem.with_itself),
            np.int32(problem.half),
            np.int32(problem.minimum),
        )


def symbols_on(slot: Slot, key: str, symbols: SymbolSet) -> Any:
    """The address of a copy of a set's symbols."""
    foreign = symbols.symbols
    if not isinstance(foreign, DeviceArray):
        return slot.upload(key, foreign)
    pointer = slot.device_array(key, len(foreign))
    slot.copy_on_device(int(pointer), foreign.address, len(foreign))
    return pointer


def _nothing(item: MatrixTask[Any]) -> tuple[NDArray[Any], ...]:
    params, rows = item.problem.params, item.shape[0]
    if params.sparse:
        return np.zeros(0, np.uint64), np.zeros(0, np.int32)
    if params.nearest is not None:
        none = np.full((rows, params.nearest), -1, np.int32)
        return none, none.copy()
    return (np.zeros(item.shape, np.int32),)
