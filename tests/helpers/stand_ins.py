"""Backends and kernels that stand in for those of a device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.stage import Stage
from gpualign.seeds.matches.cpu import Matches, Piece, Search
from gpualign.text.bgzf import CPU_CODEC


class Doubler(DeviceKernel):
    """Doubles an int32 array on the "device"; counts the threads it ran in."""

    threads: set[int]

    def launch(self, slot, item):
        pointer = slot.upload("in", item)
        out = slot.device_array("out", item.nbytes)

        def kernel(source, target, count, grid, block, shared, stream):
            values = source.data[: 4 * count].view(np.int32) * 2
            target.data[: 4 * count] = values.view(np.uint8)

        slot.launch(kernel, 1, 32, pointer, out, np.int64(len(item)))
        slot.download("out", item.shape, np.int32)

    def result(self, slot, item, launched):
        return slot.pinned("out", item.shape, np.int32).copy()

    def split(self, item):
        return [item] if len(item) < 2 else [item[: len(item) // 2], item[len(item) // 2 :]]

    def join(self, results):
        return np.concatenate(results)


def batches(count, size=100):
    return [np.arange(i, i + size + i % 7, dtype=np.int32) for i in range(count)]


class DeviceStandIn:
    """A backend that takes the devices' way through the workflow, with the CPU's search."""

    name, local, on_gpu, codec, is_open = "stand-in", True, True, CPU_CODEC, True

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.devices, self.pinned_pool = (self,), self

    def allocate(self, nbytes: int) -> NDArray[np.uint8] | None:
        return np.empty(nbytes, np.uint8) if nbytes % 16 else None

    def run(self, items: Iterable[Piece], stage: Stage[Piece, Matches]) -> Iterator[Matches]:
        search: Search = stage.on_cpu.__self__.search  # type: ignore[attr-defined]
        for item in items:
            yield search.find(item, 0, self.limit)

    def report(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass

    def __enter__(self) -> DeviceStandIn:
        return self

    def __exit__(self, *_: object) -> None:
        pass
