"""BGZF blocks inflated and contents deflated on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign._native import Nvcomp
from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.deflate import Content, DeflateKernel
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.inflate import BlockGroup, InflateKernel


class CompressionKernel:
    """Inflates groups of blocks and deflates contents on one device (see ``gpu.runner.Kernel``)."""

    def __init__(self, device: Device, nvcomp: Nvcomp) -> None:
        self._kernels: dict[type, Any] = {
            BlockGroup: InflateKernel(device, nvcomp),
            Content: DeflateKernel(device, nvcomp),
        }

    def submit(self, slot: Slot, item: BlockGroup | Content) -> None:
        """
        Raises:
            NvcompError: nvCOMP failed.
        """
        self._kernels[type(item)].submit(slot, item)

    def collect(self, slot: Slot, item: BlockGroup | Content) -> NDArray[np.uint8] | None:
        made: NDArray[np.uint8] | None = self._kernels[type(item)].collect(slot, item)
        return made

    def split(self, item: BlockGroup | Content) -> list[BlockGroup | Content]:
        """Nothing is split: the CPU does what does not fit."""
        return [item]
