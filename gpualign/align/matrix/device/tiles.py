"""Shared by the kernels of `distances` and `scores`: rows of a matrix on the device, and queries about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
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

Problem = TypeVar("Problem", bound=AllPairs)


#: addresses of a problem's arrays on a device
OnDevice = TypeVar("OnDevice", bound=Any)


@dataclass(frozen=True, eq=False)
class Task(Generic[Problem]):
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


class MatrixKernel(ABC, Generic[Problem, OnDevice]):
    """Computes :class:`Task` on one device (see ``gpu.runner.Kernel``): rows of a matrix, the nearest of each query, or
    a list of pairs, as the problem's parameters say.
    """

    holds_memory = False  # besides its slots

    def __init__(self, device: Device, problem: Problem) -> None:
        self.device, self.problem = device, problem
        self._sets: dict[int, OnDevice] = {}

    def free(self) -> None:
        """Give back what the kernel holds besides its slots; in the device's thread."""

    @abstractmethod
    def prepare(self, slot: Slot) -> OnDevice:
        """Enqueue copies of the sets to the device; their addresses, as the kernels take them."""

    @abstractmethod
    def fill(self, slot: Slot, item: Task[Problem]) -> Any:
        """Enqueue the values of all pairs of a task into the slot's array "matrix"; returns its address."""

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

    def submit(self, slot: Slot, item: Task[Problem]) -> None:
        rows, columns = item.shape
        if rows == 0 or columns == 0:
            return
        if item.problem.params.sparse:
            self.find(slot, item, tuning.FOUND)
            return
        matrix = self.fill(slot, item)
        if item.problem.params.nearest is not None:
            self._nearest(slot, item, matrix)
        elif item.address:
            self._copy_rows(slot, item, int(matrix))
        else:
            slot.download("matrix", item.shape, np.int32)

    def collect(self, slot: Slot, item: Task[Problem]) -> tuple[NDArray[Any], ...]:
        """Rows of the matrix; targets and values of the nearest; or keys (query << 32 | target) and values of pairs."""
        params, (rows, columns) = item.problem.params, item.shape
        if rows == 0 or columns == 0:
            return _nothing(item)
        if params.sparse:
            return self._found(slot, item)
        if params.nearest is not None:
            shape = (rows, params.nearest)
            return tuple(slot.pinned(key, shape, np.int32).copy() for key in ("nearest", "nearest values"))
        if item.address:
            return ()
        matrix = slot.pinned("matrix", item.shape, np.int32)
        slot.detach_pinned("matrix")
        return (matrix,)

    def split(self, item: Task[Problem]) -> list[Task[Problem]]:
        middle = (item.first + item.last) // 2
        if middle == item.first:
            return [item]
        return [Task(item.problem, *span, item.address) for span in ((item.first, middle), (middle, item.last))]

    def join(self, results: list[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
        return tuple(np.concatenate(parts) for parts in zip(*results, strict=True))

    # -- launches

    def _copy_rows(self, slot: Slot, item: Task[Problem], matrix: int) -> None:
        """Copy rows to their positions in another array on the GPU, adjacent rows together."""
        numbers, row = item.problem.queries.order[item.first : item.last], 4 * len(item.problem.targets)
        edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        for first, last in pairwise(edges):
            to, size = item.address + row * int(numbers[first]), row * (last - first)
            slot.copy_on_device(to, matrix + row * first, size)

    def _nearest(self, slot: Slot, item: Task[Problem], matrix: Any) -> None:
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

    def find(self, slot: Slot, item: Task[Problem], capacity: int) -> None:
        """The pairs whose values are at least the problem's least, out of a matrix."""
        problem, (rows, columns) = item.problem, item.shape
        matrix = self.fill(slot, item)
        slot.launch(
            self.device.function("distances_within", "collect_values", {"WIDE": "0"}),
            (rows, max(1, min(-(-columns // 1024), 65535))),
            1024,
            matrix,
            slot.device_array("query order", 0),  # as prepare() put it there
            *places_for_found(slot, capacity),
            np.int64(columns),
            np.int32(item.first),
            np.int32(problem.with_itself),
            np.int32(problem.half),
            np.int32(problem.minimum),
        )
        slot.download("found count", 1, np.uint64)

    def _found(self, slot: Slot, item: Task[Problem]) -> tuple[NDArray[Any], ...]:
        count = int(slot.pinned("found count", 1, np.uint64)[0])
        if count > tuning.FOUND:
            self.find(slot, item, count)
            slot.wait()
        keys, values = slot.download("found", count, np.uint64), slot.download("found values", count, np.int32)
        slot.wait()
        return keys.copy(), values.copy()


def places_for_found(slot: Slot, capacity: int) -> tuple[Any, ...]:
    """Addresses of keys, values and their count, and how many there may be."""
    return (
        slot.device_array("found", 8 * capacity),
        slot.device_array("found values", 4 * capacity),
        slot.clear("found count", 8),
        np.uint64(capacity),
    )


def symbols_on(slot: Slot, key: str, symbols: SymbolSet) -> Any:
    """The address of a copy of a set's symbols."""
    foreign = symbols.symbols
    if not isinstance(foreign, DeviceArray):
        return slot.upload(key, foreign)
    pointer = slot.device_array(key, len(foreign))
    slot.copy_on_device(int(pointer), foreign.address, len(foreign))
    return pointer


def _nothing(item: Task[Any]) -> tuple[NDArray[Any], ...]:
    params, rows = item.problem.params, item.shape[0]
    if params.sparse:
        return np.zeros(0, np.uint64), np.zeros(0, np.int32)
    if params.nearest is not None:
        none = np.full((rows, params.nearest), -1, np.int32)
        return none, none.copy()
    return (np.zeros(item.shape, np.int32),)
