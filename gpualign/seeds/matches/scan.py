"""Exclusive prefix sums of counts, on a GPU (``mems_sum`` and ``mems_number``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualign.run.abi import struct
from gpualign.run.gpu.buffers import Slot

#: whose ``total`` a scan fills in
LEFT_OVER_HEAD = struct("LeftOverHead")
#: a block's threads, and the counts that it takes
_THREADS, _VALUES = 256, 2048


class Scan:
    """Args: the two kernels."""

    def __init__(self, sum_: Any, number: Any) -> None:
        self._sum, self._number = sum_, number

    def launch(self, slot: Slot, key: str, counts: Any, count: int, last: int, left_over: Any) -> Any:
        """Enqueue it.

        Args:
            key: of the device array for the sums.
            counts: uint32 (count,) on the device.
            last: what comes before it is the total.
            left_over: ``LeftOverHead`` on the device, for the total.

        Returns:
            The device pointer of the sums, uint64 (count,).
        """
        blocks = -(-count // _VALUES)
        of_blocks = slot.device_array(f"{key} of blocks", 8 * blocks)
        offsets = slot.device_array(key, 8 * count)
        slot.launch(self._sum, blocks, _THREADS, counts, np.uint32(count), of_blocks)
        slot.launch(
            self._number, blocks, _THREADS, counts, np.uint32(count), of_blocks, np.uint32(last), offsets, left_over
        )
        return offsets
