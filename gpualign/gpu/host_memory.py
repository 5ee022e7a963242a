"""Page-locked host memory of a device, lent to whoever fills or reads it.

Copies to and from a device want page-locked memory, and only a device's own thread can allocate it. Lent out, it is
filled and read by the host's threads, and the device's thread, which must keep the device busy, copies nothing. It goes
with the device: nobody may look into what was lent once the device is closed.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: sizes of buffers between two powers of two
_STEPS = 4
_SMALLEST = 256


class HostMemory:
    """Buffers that are used again once no view of them is left.

    Args:
        driver: PyCUDA's.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._free: dict[int, deque[NDArray[np.uint8]]] = {}

    def lend(self, nbytes: int) -> NDArray[np.uint8] | None:
        """uint8 (nbytes,) of whatever content, or None where no buffer of that size is free; in any thread."""
        try:
            home = self._free[_rounded(nbytes)]
            buffer = home.pop()
        except (KeyError, IndexError):
            return None
        return np.asarray(_Loan(buffer, home))[:nbytes]

    def make(self, nbytes: int) -> NDArray[np.uint8]:
        """The whole of a buffer of at least that many bytes, a new one where none is free; in the device's thread.

        New ones are rare: to allocate one, and to free one, waits for the kernels of all devices.

        Raises:
            the driver's MemoryError: the host has no room.
        """
        size = _rounded(nbytes)
        array = self.lend(size)
        if array is None:
            buffer = self._driver.pagelocked_empty(size, np.uint8, mem_flags=self._driver.host_alloc_flags.PORTABLE)
            array = np.asarray(_Loan(buffer, self._free.setdefault(size, deque())))
        return array

    def clear(self) -> None:
        """Free the buffers that are not lent; in the device's thread."""
        for home in self._free.values():
            home.clear()


class _Loan:
    """What the views of a buffer keep alive."""

    def __init__(self, buffer: NDArray[np.uint8], home: deque[NDArray[np.uint8]]) -> None:
        self._buffer, self._home = buffer, home
        self.__array_interface__ = buffer.__array_interface__

    def __del__(self) -> None:
        self._home.append(self._buffer)  # without a lock: this may run anywhere, even where one is held


def is_lent(array: NDArray[Any]) -> bool:
    """Whether an array lies in a buffer of a :class:`HostMemory`."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, _Loan)


def _rounded(nbytes: int) -> int:
    """Bytes of the smallest buffer for ``nbytes``: sizes differ by a quarter at most, and there are few of them."""
    step = max(_SMALLEST, (1 << max(0, nbytes - 1).bit_length()) // (2 * _STEPS))
    return max(step, -(-nbytes // step) * step)
