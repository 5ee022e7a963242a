"""Where extensions end, on a device: launches of ``cuda/extend.cu``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpualign.align.genomes.extensions import GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH, Extensions
from gpualign.run.abi import filled, struct
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import DeviceKernel

#: of cuda/extend.cu: threads a block, rows of scores (kExtendRows) and columns of a warp
_THREADS, _ROWS, _NARROW_COLUMNS, _WIDE_COLUMNS = 128, 6, 256, 512
#: longest reach for which narrow rows mostly suffice
_NARROW_REACH = 500
#: share of the device's memory that the reference may take; else the CPU extends
_RESIDENT_SHARE = 0.3


class ExtensionKernel(DeviceKernel[Extensions, NDArray[np.void]]):
    """A warp takes an extension. Those that need more columns than it has are left: their ``n`` is 0."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._functions = {name: device.function("extend", f"extend_{name}") for name in ("narrow", "wide")}

    def launch(self, slot: Slot, item: Extensions) -> None:
        found = slot.clear("extensions", struct("Extension").itemsize * len(item))
        if item.rows.nbytes <= self.device.budget * _RESIDENT_SHARE:
            rows = self.device.resident("extended rows", lambda: DeviceArrays(self.device, item.rows), item.rows)
            scores = np.array((MATCH, MISMATCH, GAP_OPEN, GAP_EXTEND, item.reach), np.int32)
            launch = filled(
                "ExtendLaunch",
                rows=rows.addresses[0],
                forward=int(slot.upload_once("extended forward", item.joined.codes(False), item.joined)),
                reverse=int(slot.upload_once("extended reverse", item.joined.codes(True), item.joined)),
                tasks=int(slot.upload("extension tasks", item.tasks)),
                found=int(found),
                ticket=int(slot.clear("extension ticket", 4)),
                scores=scores.view(struct("ExtendScores"))[0],
                count=len(item),
            )
            name, columns = ("narrow", _NARROW_COLUMNS) if item.reach <= _NARROW_REACH else ("wide", _WIDE_COLUMNS)
            warps = _THREADS // 32
            blocks = self.device.blocks_at_once(self._functions[name], _THREADS, 4 * _ROWS * columns * warps)
            slot.launch(self._functions[name], min(blocks, -(-len(item) // warps)), _THREADS, launch)
        slot.download("extensions", len(item), struct("Extension"))

    def result(self, slot: Slot, item: Extensions, launched: None) -> NDArray[np.void]:
        ends: NDArray[np.void] = slot.pinned("extensions", len(item), struct("Extension")).copy()
        return ends

    def split(self, item: Extensions) -> list[Extensions]:
        middle = len(item) // 2
        return [item.part(0, middle), item.part(middle, len(item))] if middle else [item]

    def join(self, results: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
        return np.concatenate(results)
