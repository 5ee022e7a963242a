"""A problem on all devices of a backend: tasks, and what becomes of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from gpualign.align.matrix.cpu import Report
from gpualign.align.matrix.device import long
from gpualign.align.matrix.device.kernel import DistanceKernel, occurring_symbols
from gpualign.align.matrix.device.scores import ScoreKernel
from gpualign.align.matrix.device.tiles import MatrixKernel, MatrixTask, Problem
from gpualign.align.matrix.foreign import DeviceArray
from gpualign.align.matrix.problem import AllPairs, Distances
from gpualign.align.matrix.results import NearestPairs, SparsePairs
from gpualign.align.matrix.scores import Scores
from gpualign.params import available_cores
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.runner import run_alone, run_on_devices

#: threads that copy results to where they stay, whose memory the system hands out meanwhile
_COPIERS = 8


class OnDevices(Generic[Problem]):
    """Computes a problem with symbols of 8 bits on open devices."""

    def __init__(
        self,
        problem: Problem,
        devices: Sequence[Device],
        kernel: Callable[[Device, Problem], MatrixKernel[Problem, Any]],
        rows: int,
        report: Report | None = None,
    ) -> None:
        self.problem, self.devices, self.report = problem, devices, report
        self._kernel, self._rows = kernel, rows

    def matrix(self, out: NDArray[np.int32]) -> None:
        """Into ``out``, int32 (queries, targets); -1 beyond the limit."""
        order = self.problem.queries.order
        if len(self._tasks(0)) == 1:
            for task, (rows,) in self._each():
                _put(out, order[task.first : task.last], rows)
            return
        copies: list[Future[None]] = []
        with ThreadPoolExecutor(min(_COPIERS, available_cores()), thread_name_prefix="gpualign-copy") as pool:
            for task, (rows,) in self._each():
                copies.append(pool.submit(_put, out, order[task.first : task.last], rows))
            for copy in copies:
                copy.result()

    def matrix_on_device(self, out: DeviceArray) -> None:
        """Write the matrix into an array on the GPU."""
        for _ in self._each(out.address):
            pass

    def nearest(self, maximum: int) -> NearestPairs:
        shape = len(self.problem.queries), maximum
        target, value = np.empty(shape, np.int32), np.empty(shape, np.int32)
        order = self.problem.queries.order
        for task, (targets, values) in self._each():
            rows = order[task.first : task.last]
            target[rows], value[rows] = targets, values
        return NearestPairs(target, value)

    def sparse(self) -> SparsePairs:
        parts = [result for _, result in self._each()]
        keys = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0, np.uint64)
        values = np.concatenate([part[1] for part in parts]) if parts else np.zeros(0, np.int32)
        order = np.argsort(keys)
        keys = keys[order]
        return SparsePairs(
            (keys >> np.uint64(32)).astype(np.int32), keys.astype(np.uint32).view(np.int32), values[order]
        )

    def _each(self, address: int = 0) -> Iterator[tuple[MatrixTask[Problem], Any]]:
        tasks = self._tasks(address)
        kernels: list[tuple[Device, MatrixKernel[Problem, Any]]] = []

        def made(device: Device) -> MatrixKernel[Problem, Any]:
            kernels.append((device, self._kernel(device, self.problem)))
            return kernels[-1][1]

        try:
            results: Iterable[Any] = (
                [run_alone(self.devices[0], made, tasks[0])]
                if len(tasks) == 1
                else run_on_devices(tasks, made, self.devices)
            )
            for task, result in zip(tasks, results, strict=True):
                if self.report is not None:
                    self.report(task.last, len(self.problem.queries))
                yield task, result
        finally:
            for device, kernel in kernels:
                if kernel.holds_memory:
                    device.call(kernel.free).result()

    def _tasks(self, address: int) -> list[MatrixTask[Problem]]:
        count = len(self.problem.queries)
        rows = max(1, min(self._rows, -(-count // len(self.devices))))
        return [MatrixTask(self.problem, first, min(count, first + rows), address) for first in range(0, count, rows)]


def distances_on(problem: Distances, devices: Sequence[Device], report: Report | None = None) -> OnDevices[Distances]:
    """Distances of symbols of 8 bits."""
    _look_at(problem, devices[0])
    kernel = long.LongPairKernel if long.suits(problem) else DistanceKernel
    return OnDevices(problem, devices, kernel, kernel.rows_at_once(problem), report)


def scores_on(problem: Scores, devices: Sequence[Device], report: Report | None = None) -> OnDevices[Scores]:
    """Scores of symbols of 8 bits.

    Raises:
        InputError: a symbol that the scoring does not know.
    """
    _look_at(problem, devices[0])
    problem.check()
    return OnDevices(problem, devices, ScoreKernel, ScoreKernel.rows_at_once(problem), report)


def _look_at(problem: AllPairs, device: Device) -> None:
    """Find which symbols there are on a device, where sequences lie there."""
    if problem.queries.on_device or problem.targets.on_device:
        device.call(occurring_symbols, device, problem.queries, problem.targets).result()


def _put(out: NDArray[np.int32], numbers: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    first = int(numbers[0])
    if np.array_equal(numbers, np.arange(first, first + len(numbers))):
        out[first : first + len(numbers)] = rows
    else:
        out[numbers] = rows
