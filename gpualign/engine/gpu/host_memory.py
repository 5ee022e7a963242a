"""Page-locked host memory of a device, lent to whoever fills or reads it.

Copies to and from a device want page-locked memory. Lent out, it is filled and read by the host's threads, and the
device's thread, which must keep the device busy, copies nothing. It goes with the device: nobody may look into what was
lent once the device is closed.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.reused import Loan, ReusedMemory, rounded
from gpualign.params import available_memory
from gpualign.streaming.clock import STEPS
from gpualign.streaming.lent import Lend

#: bytes that are page-locked at once, of which small buffers are parts
CHUNK = 32 << 20
#: bytes that are page-locked to be lent, at most, and the share of the memory that is free
_MAX_LENT, _MAX_LENT_SHARE = 4 << 30, 1 / 8
#: bytes of a buffer that takes long to page-lock
_LARGE = 16 << 20


class PageLockedLoan(Loan):
    """One of a :class:`HostMemory`."""


class HostMemory(ReusedMemory):
    """Page-locked buffers that are used again once no view of them is left.

    A first chunk is there before any kernel runs, and short commands need no other.

    Args:
        pinned: ``_native.PinnedMemory``.
        chunk: bytes page-locked at once.
        most: bytes from which on no more are page-locked to be lent; None: what the machine can spare.

    Attributes:
        ahead: large buffers of a size that are page-locked next to one that is wanted, for what streams many batches.
    """

    def __init__(self, pinned: Any, chunk: int = CHUNK, most: int | None = None) -> None:
        super().__init__(PageLockedLoan)
        self._pinned, self._chunk = pinned, chunk
        self._most = min(_MAX_LENT, int(_MAX_LENT_SHARE * available_memory())) if most is None else most
        self._rest = np.zeros(0, np.uint8)
        self._cutting = threading.Lock()  # of the chunk, and of a new one
        self.ahead = 0
        self._lockers = ThreadPoolExecutor(2, thread_name_prefix="gpualign-lock")
        with contextlib.suppress(MemoryError):  # whoever needs it will be told
            self._rest = self._pinned.lock(chunk)

    def lend(self, nbytes: int) -> NDArray[np.uint8] | None:
        """uint8 (nbytes,) of whatever content; None where the host has no more of it, or lent enough."""
        size = rounded(nbytes)
        try:
            full = self._pinned.locked + size > self._most
            array = self._found(size, of_any_size=True) if full else self._made(size)
        except MemoryError:
            return None
        return None if array is None else array[:nbytes]

    def _new(self, size: int) -> NDArray[np.uint8]:
        """
        Raises:
            MemoryError: the host has no memory.
        """
        part = self._part(size)
        self._foresee(size)
        return part

    def _foresee(self, size: int) -> None:
        """Page-lock more large buffers of a size that is wanted, while work goes on: who asks for the next one, mostly
        the device's thread, need not wait for it.
        """
        for _ in range(self.ahead if size >= _LARGE else 0):
            with contextlib.suppress(RuntimeError):  # closed
                self._lockers.submit(self._lock_ahead, size)

    def _lock_ahead(self, size: int) -> None:
        if self._pinned.locked + size <= self._most:
            with contextlib.suppress(MemoryError):
                self._home(size).append(self._pinned.lock(size))

    def _part(self, size: int) -> NDArray[np.uint8]:
        """A part of the chunk, or of a new one; what is large has its own, and nobody waits for that."""
        if 2 * size > self._chunk:
            locked: NDArray[np.uint8] = self._pinned.lock(size)
            return locked
        with self._cutting:
            if size > len(self._rest):
                self._rest = self._pinned.lock(self._chunk)
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
        self._pinned.close()


def is_lent(array: NDArray[Any]) -> bool:
    """Whether an array lies in a buffer of a :class:`HostMemory`."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, PageLockedLoan)


@STEPS.at("copy")
def in_lent_memory(array: NDArray[Any], lend: Lend) -> NDArray[Any]:
    """A copy in memory that is lent; the array itself where there is none."""
    memory = lend(array.nbytes)
    if memory is None:
        return array
    copy: NDArray[Any] = memory.view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy
