"""Page-locked host memory of a device, lent to whoever fills or reads it.

Copies to and from a device want page-locked memory, and only a device's own thread can allocate it. Lent out, it is
filled and read by the host's threads, and the device's thread, which must keep the device busy, copies nothing. It goes
with the device: nobody may look into what was lent once the device is closed.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.streaming.clock import STEPS

#: sizes of buffers between two powers of two
_STEPS = 4
_SMALLEST = 256
#: bytes that are page-locked at once, of which small buffers are parts
CHUNK = 32 << 20


class HostMemory:
    """Buffers that are used again once no view of them is left.

    To page-lock memory waits for the kernels of all devices, and PyCUDA keeps the interpreter's lock meanwhile. So a
    first chunk is there before any kernel runs, and most commands need no other.

    Args:
        driver: PyCUDA's.
        chunk: bytes page-locked at once.
    """

    def __init__(self, driver: Any, chunk: int = CHUNK) -> None:
        self._driver, self._chunk = driver, chunk
        self._free: dict[int, deque[NDArray[np.uint8]]] = {}
        self._missed: set[int] = set()
        self._rest = np.zeros(0, np.uint8)
        with contextlib.suppress(driver.MemoryError):  # whoever needs it will be told
            self._rest = self._lock(chunk)

    def lend(self, nbytes: int) -> NDArray[np.uint8] | None:
        """uint8 (nbytes,) of whatever content, or None where no buffer of that size is free; in any thread."""
        size = _rounded(nbytes)
        if (array := self._taken(size)) is None:
            self._missed.add(size)
            return None
        return array[:nbytes]

    def _taken(self, size: int) -> NDArray[np.uint8] | None:
        """The whole of a free buffer of exactly that size."""
        try:
            home = self._free[size]
            buffer = home.pop()
        except (KeyError, IndexError):
            return None
        return np.asarray(_Loan(buffer, home))

    def make(self, nbytes: int) -> NDArray[np.uint8]:
        """The whole of a buffer of at least that many bytes, a new one where none of up to twice that is free; in the
        device's thread.

        Raises:
            the driver's MemoryError: the host has no memory.
        """
        size = larger = _rounded(nbytes)
        if size in self._missed:  # one more: what is free by now will be taken here, and who found none should find one
            self._missed.discard(size)
            with contextlib.suppress(self._driver.MemoryError):
                self._home(size).append(self._part(size))
        for _ in range(_STEPS + 1):
            if (array := self._taken(larger)) is not None:
                return array
            larger = _rounded(larger + 1)
        return np.asarray(_Loan(self._part(size), self._home(size)))

    def _home(self, size: int) -> deque[NDArray[np.uint8]]:
        return self._free.setdefault(size, deque())

    def _part(self, size: int) -> NDArray[np.uint8]:
        """A part of the chunk, or of a new one; what is large has its own."""
        if size > len(self._rest):
            if 2 * size > self._chunk:
                return self._lock(size)
            self._rest = self._lock(self._chunk)
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def _lock(self, size: int) -> NDArray[np.uint8]:
        flags = self._driver.host_alloc_flags.PORTABLE
        memory: NDArray[np.uint8] = self._driver.pagelocked_empty(size, np.uint8, mem_flags=flags)
        return memory

    def clear(self) -> None:
        """Free the buffers that are not lent, and chunks of which no part is; in the device's thread."""
        for home in self._free.values():
            home.clear()
        self._rest = np.zeros(0, np.uint8)


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


@STEPS.at("copy")
def in_lent_memory(array: NDArray[Any], lend: Callable[[int], NDArray[np.uint8] | None]) -> NDArray[Any]:
    """A copy in memory that is lent; the array itself where there is none."""
    memory = lend(array.nbytes)
    if memory is None:
        return array
    copy: NDArray[Any] = memory.view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


def _rounded(nbytes: int) -> int:
    """Bytes of the smallest buffer for ``nbytes``: sizes differ by a quarter at most, and there are few of them."""
    step = max(_SMALLEST, (1 << max(0, nbytes - 1).bit_length()) // (2 * _STEPS))
    return max(step, -(-nbytes // step) * step)
