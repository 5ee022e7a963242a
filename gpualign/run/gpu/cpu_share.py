"""CPU threads next to devices (``--device cuda,cpu``), which take whole items.

Devices are up to a hundred times as fast as a core, and results are written in order. So a core takes an item only if
the devices, with all the items they have already, would not finish it sooner.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gpualign.run import tuning


class CpuShare:
    """Decides which items cores take.

    Args:
        cores: how many may take items.

    Attributes:
        items: number of items that cores have done.
    """

    def __init__(self, cores: int) -> None:
        self._cores, self._free = cores, 1  # one, until an item has been timed
        self._lock = threading.Lock()
        self._core_s = tuning.CORE_S
        self._with_devices = self._skipped = self.items = 0
        self._ends: deque[float] = deque(maxlen=tuning.TIMED_ITEMS)

    def run(self, item: Any, on_cpu: Callable[[Any], Any], on_device: Callable[[Any], Any]) -> Any:
        """The item's result, from a core or a device, whichever should finish it sooner."""
        with self._lock:
            here = self._free > 0 and (self._with_devices + 1) * self._device_s > self._core_s
            if here:
                self._free -= 1
            else:
                self._with_devices += 1
        start = time.perf_counter()
        try:
            return on_cpu(item) if here else on_device(item)
        finally:
            with self._lock:
                now = time.perf_counter()
                if here:
                    self._free += 1 if self.items else self._cores
                    self.items, self._core_s = self.items + 1, now - start
                else:
                    self._with_devices, self._skipped = self._with_devices - 1, self._skipped + 1
                    if self._skipped > tuning.SKIPPED_ITEMS:
                        self._ends.append(now)

    @property
    def _device_s(self) -> float:
        """Seconds per item of all devices together; 0: not measured yet."""
        return (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1) if len(self._ends) > 1 else 0.0
