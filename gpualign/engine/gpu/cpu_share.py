"""CPU threads next to devices (``--device cuda,cpu``): they take items from the same threads, each a whole one.

Devices are up to a hundred times as fast as a core. Results are written in order, so a core takes only an item that the
devices would not have done sooner, after all that they have already.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

#: seconds that an item takes a core, as long as none has done one
_CORE_S = 2.0
#: latest items of the devices, whose times tell how fast these are; the first are slow, as buffers are made for them
_LATEST, _SKIPPED = 8, 3


class CpuShare:
    """Which items cores take.

    Args:
        cores: how many may take items.

    Attributes:
        items: done so far by cores.
    """

    def __init__(self, cores: int) -> None:
        self._cores, self._free = cores, 1  # until it is known how long it takes
        self._lock = threading.Lock()
        self._core_s = _CORE_S
        self._with_devices = self._skipped = self.items = 0
        self._ends: deque[float] = deque(maxlen=_LATEST)

    def run(self, item: Any, on_cpu: Callable[[Any], Any], on_device: Callable[[Any], Any]) -> Any:
        """The item's result, from whichever has it sooner."""
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
                    if self._skipped > _SKIPPED:
                        self._ends.append(now)

    @property
    def _device_s(self) -> float:
        """Seconds that an item takes all devices together; 0: not known yet."""
        return (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1) if len(self._ends) > 1 else 0.0
