"""A problem on all devices of a backend: tasks, and what becomes of their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.distances import tuning
from gpualign.distances.cpu import Report
from gpualign.distances.device.kernel import DistanceKernel, Task, band_of, occurring_symbols
from gpualign.distances.foreign import DeviceArray
from gpualign.distances.problem import Distances
from gpualign.distances.results import NearestPairs, SparsePairs
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.runner import run_on_devices
from gpualign.params import available_cores

#: threads that copy results to where they stay, whose memory the system hands out meanwhile
_COPIERS = 8


class DeviceDistances:
    """Computes a problem with symbols of 8 bits on open devices."""

    def __init__(self, problem: Distances, devices: Sequence[Device], report: Report | None = None) -> None:
        self.problem, self.devices, self.report = problem, devices, report
        devices[0].call(occurring_symbols, devices[0], problem.queries, problem.targets).result()

    def matrix(self, out: NDArray[np.int32]) -> None:
        """Into ``out``, int32 (queries, targets); -1 beyond the limit."""
        order = self.problem.queries.order
        copies: list[Future[None]] = []
        with ThreadPoolExecutor(min(_COPIERS, available_cores()), thread_name_prefix="gpualign-copy") as pool:
            for task, (rows,) in self._each():
                copies.append(pool.submit(_put, out, order[task.first : task.last], rows))
            for copy in copies:
                copy.result()

    def matrix_on_device(self, out: DeviceArray) -> None:
        """The same into an array on the GPU."""
        for _ in self._each(out.address):
            pass

    def nearest(self, most: int) -> NearestPairs:
        shape = len(self.problem.queries), most
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

    def _each(self, address: int = 0) -> Iterator[tuple[Task, Any]]:
        tasks = self._tasks(address)
        for task, result in zip(tasks, run_on_devices(tasks, DistanceKernel, self.devices), strict=True):
            if self.report is not None:
                self.report(task.last, len(self.problem.queries))
            yield task, result

    def _tasks(self, address: int) -> list[Task]:
        problem = self.problem
        count, columns = len(problem.queries), max(1, len(problem.targets))
        if problem.params.sparse and band_of(problem) is not None:
            rows = tuning.BAND_PAIRS // columns
        else:
            rows = tuning.CHUNK_BYTES // (4 * columns)
        rows = max(1, min(rows, -(-count // len(self.devices))))
        return [Task(problem, first, min(count, first + rows), address) for first in range(0, count, rows)]


def _put(out: NDArray[np.int32], numbers: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    first = int(numbers[0])
    if np.array_equal(numbers, np.arange(first, first + len(numbers))):
        out[first : first + len(numbers)] = rows
    else:
        out[numbers] = rows
