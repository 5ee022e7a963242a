"""Page-locked host memory of a device, lent to whoever fills or reads it.

Copies to and from a device want page-locked memory. Lent out, it is filled and read by the host's threads, and the
device's thread, which must keep the device busy, copies nothing. It goes with the device: nobody may look into what was
lent once the device is closed.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.gpu.page_locked import PageLocker
from gpualign.streaming.clock import STEPS

#: sizes of buffers between two powers of two
_STEPS = 4
_SMALLEST = 256
#: bytes that are page-locked at once, of which small buffers are parts
CHUNK = 32 << 20
#: bytes that are page-locked to be lent, at most
_MAX_LENT = 2 << 30
#: bytes of a buffer that takes long to page-lock
_LARGE = 16 << 20


class HostMemory:
    """Buffers that are used again once no view of them is left.

    A first chunk is there before any kernel runs, and short commands need no other.

    Args:
        driver: PyCUDA's.
        chunk: bytes page-locked at once.
        most: bytes from which on no more are page-locked to be lent.

    Attributes:
        ahead: large buffers of a size that are page-locked next to one that is wanted, for what streams many batches.
    """

    def __init__(self, driver: Any, chunk: int = CHUNK, most: int = _MAX_LENT) -> None:
        self._driver, self._chunk, self._most = driver, chunk, most
        self._locker = PageLocker(driver)
        self._free: dict[int, deque[NDArray[np.uint8]]] = {}
        self._rest = np.zeros(0, np.uint8)
        self._cutting = threading.Lock()  # of the chunk, and of a new one
        self.ahead = 0
        self._lockers = ThreadPoolExecutor(2, thread_name_prefix="gpualign-lock")
        with contextlib.suppress(driver.MemoryError):  # whoever needs it will be told
            self._rest = self._locker.lock(chunk)

    def lend(self, nbytes: int) -> NDArray[np.uint8] | None:
        """uint8 (nbytes,) of whatever content; None where the host has no more of it, or lent enough."""
        size = _rounded(nbytes)
        try:
            full = self._locker.locked + size > self._most
            array = self._found(size, of_any_size=True) if full else self._made(size)
        except self._driver.MemoryError:
            return None
        return None if array is None else array[:nbytes]

    def make(self, nbytes: int) -> NDArray[np.uint8]:
        """The whole of a buffer of at least that many bytes, a new one where none of up to twice that is free.

        Raises:
            the driver's MemoryError: the host has no memory.
        """
        return self._made(_rounded(nbytes))

    def _made(self, size: int) -> NDArray[np.uint8]:
        if (array := self._found(size)) is not None:
            return array
        part = self._part(size)
        self._foresee(size)
        return np.asarray(_Loan(part, self._home(size)))

    def _foresee(self, size: int) -> None:
        """Page-lock more large buffers of a size that is wanted, while work goes on: who asks for the next one, mostly
        the device's thread, need not wait for it.
        """
        for _ in range(self.ahead if size >= _LARGE else 0):
            with contextlib.suppress(RuntimeError):  # closed
                self._lockers.submit(self._lock_ahead, size)

    def _lock_ahead(self, size: int) -> None:
        if self._locker.locked + size <= self._most:
            with contextlib.suppress(self._driver.MemoryError):
                self._home(size).append(self._locker.lock(size))

    def _found(self, size: int, of_any_size: bool = False) -> NDArray[np.uint8] | None:
        """The whole of the smallest free buffer of at least that size and, unless of any, at most twice that."""
        for held in sorted(self._free):
            if size <= held and (of_any_size or held <= 2 * size):
                with contextlib.suppress(IndexError):
                    home = self._free[held]
                    return np.asarray(_Loan(home.pop(), home))
        return None

    def _home(self, size: int) -> deque[NDArray[np.uint8]]:
        return self._free.setdefault(size, deque())

    def _part(self, size: int) -> NDArray[np.uint8]:
        """A part of the chunk, or of a new one; what is large has its own, and nobody waits for that."""
        if 2 * size > self._chunk:
            return self._locker.lock(size)
        with self._cutting:
            if size > len(self._rest):
                self._rest = self._locker.lock(self._chunk)
            part, self._rest = self._rest[:size], self._rest[size:]
            return part

    def clear(self) -> None:
        """Free the buffers that are not lent, and chunks of which no part is."""
        for home in list(self._free.values()):
            home.clear()
        with self._cutting:
            self._rest = np.zeros(0, np.uint8)

    def close(self) -> None:
        """The same, before the device's context goes."""
        self._lockers.shutdown(cancel_futures=True)
        self.clear()
        self._locker.close()


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
