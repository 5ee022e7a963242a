"""Rows of a matrix of scores on a device, which enumerates the pairs (cuda/distances_scores.cu) for LazyRScan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.distances import tuning
from gpualign.distances.scores import Rows
from gpualign.engine.gpu.abi import filled
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.device_arrays import DeviceArrays
from gpualign.engine.gpu.runner import run_on_devices
from gpualign.pairwise.cpu import PairProblem
from gpualign.pairwise.device import tasks
from gpualign.pairwise.device.launch import THREADS, PairwiseLauncher
from gpualign.sequences.encoded import EncodedSequences

_WARPS_PER_BLOCK = THREADS // tasks.WARP
#: lengths that differ by more than this share of their mean are sorted
_UNEVEN = 0.05
#: letters that kernels may look beyond the last one
_LOOKED_AHEAD = 64


class _Launcher(PairwiseLauncher):
    """The same, with sequences that go when the run ends."""

    def _sequences(self, sequences: EncodedSequences) -> np.void:
        held: dict[int, DeviceArrays] = self.__dict__.setdefault("held", {})
        if id(sequences) not in held:
            codes = np.concatenate([sequences.codes, np.zeros(_LOOKED_AHEAD, sequences.codes.dtype)])
            held[id(sequences)] = DeviceArrays(self.device, codes, sequences.offsets, owner=sequences)
        codes_at, offsets_at = held[id(sequences)].addresses
        return filled("DeviceSequences", codes=codes_at, offsets=offsets_at)

    def free(self) -> None:
        for arrays in self.__dict__.get("held", {}).values():
            arrays.free()


class ScoreKernel:
    """Computes rows [first, last) of a problem's scores on one device (see ``gpu.runner.Kernel``)."""

    def __init__(self, device: Device, problem: PairProblem) -> None:
        self.device, self.problem = device, problem
        self.launcher = _Launcher(device, problem)
        lengths = problem.target_lengths
        self._order = np.arange(len(lengths), dtype=np.int32)
        self._sorted = float(lengths.std()) > _UNEVEN * max(1.0, float(lengths.mean()))
        if self._sorted:
            self._order = np.argsort(lengths, kind="stable").astype(np.int32)

    def submit(self, slot: Slot, item: tuple[int, int]) -> None:
        problem, (first, last) = self.problem, item
        rows, columns = last - first, len(problem.targets)
        longest = int(problem.query_lengths[first:last].max())
        words = self.launcher.arithmetic(longest, int(problem.target_lengths.max()))
        name, shared = self.launcher._lazy_kernel(words)
        function, blocks = self.launcher.function(name, shared)
        width = tasks.WARP * words.lanes
        each = -(-columns // width)
        order = slot.upload("target order", self._order)
        work, pair_target = (
            slot.device_array("tasks", 12 * rows * each),
            slot.device_array("targets", 4 * rows * columns),
        )
        grid = min(256, -(-columns // 256)), rows
        numbers = (np.int32(rows), np.int32(columns), np.int32(first))
        enumerate_pairs = self.device.function("distances_scores", "enumerate_pairs")
        slot.launch(enumerate_pairs, grid, 256, order, work, pair_target, *numbers, np.int32(width))
        blocks = min(blocks, -(-rows * each // _WARPS_PER_BLOCK))
        scores = slot.device_array("scores", 4 * rows * columns)
        slot.launch(
            function,
            blocks,
            THREADS,
            work,
            np.int32(rows * each),
            slot.clear("ticket", 4),
            self.launcher.scheme(words),
            self.launcher.strands[0],
            self.launcher.targets,
            pair_target,
            slot.device_array("column", blocks * _WARPS_PER_BLOCK * 2 * longest * tasks.WARP * 4),
            np.int32(longest),
            scores,
            shared=shared,
        )
        if self._sorted:
            matrix = slot.device_array("matrix", 4 * rows * columns)
            place = self.device.function("distances_scores", "place_scores")
            slot.launch(place, grid, 256, scores, order, matrix, *numbers[:2])
        slot.download("matrix" if self._sorted else "scores", (rows, columns), np.int32)

    def collect(self, slot: Slot, item: tuple[int, int]) -> NDArray[np.int32]:
        key, shape = "matrix" if self._sorted else "scores", (item[1] - item[0], len(self.problem.targets))
        values: NDArray[np.int32] = slot.pinned(key, shape, np.int32)
        slot.part_with(key)
        return values

    def split(self, item: tuple[int, int]) -> list[tuple[int, int]]:
        middle = (item[0] + item[1]) // 2
        return [item] if middle == item[0] else [(item[0], middle), (middle, item[1])]

    def join(self, results: list[NDArray[np.int32]]) -> NDArray[np.int32]:
        return np.concatenate(results)


def score_rows_on_devices(problem: PairProblem, devices: Sequence[Device]) -> Iterator[Rows]:
    """Blocks of rows in order; each array is page-locked memory of a device, to be copied from at once."""
    count, columns = len(problem.query_lengths), len(problem.target_lengths)
    rows = max(1, min(tuning.CHUNK_BYTES // (4 * columns), -(-count // len(devices)), 65535))
    items = [(first, min(count, first + rows)) for first in range(0, count, rows)]
    kernels: list[tuple[Device, ScoreKernel]] = []

    def made(device: Device) -> Any:
        kernels.append((device, ScoreKernel(device, problem)))
        return kernels[-1][1]

    try:
        for item, values in zip(items, run_on_devices(items, made, devices), strict=True):
            yield item[0], values
    finally:
        for device, kernel in kernels:
            device.call(kernel.launcher.free).result()
