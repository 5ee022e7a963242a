"""A device's pool of pinned host memory.

Asynchronous copies to and from a device need pinned memory. Host threads fill and read the pool's buffers themselves,
so that the device's thread, which must keep the device busy, copies nothing. The memory is freed with the device: no
buffer may be used once the device is closed.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.params import available_memory
from gpualign.run import tuning
from gpualign.run.buffer_pool import BufferPool, PoolBuffer, rounded
from gpualign.streaming.pinned import Allocate
from gpualign.streaming.timeline import STEPS


class PinnedBuffer(PoolBuffer):
    """Owner of a pinned buffer."""


class PinnedPool(BufferPool):
    """Pinned buffers that are reused once no view of them is left.

    The first chunk is pinned before any kernel runs; short commands need no more.

    Args:
        pinned: ``_native.PinnedMemory``.
        chunk: bytes pinned at a time.
        limit: bytes beyond which :meth:`allocate` pins no more; None: a share of the free memory.

    Attributes:
        ahead: number of further large buffers of a size to pin for :meth:`make`, for commands that stream many batches.
    """

    def __init__(self, pinned: Any, chunk: int = tuning.PINNED_CHUNK, limit: int | None = None) -> None:
        super().__init__(PinnedBuffer)
        self._pinned, self._chunk = pinned, chunk
        self._limit = (
            min(tuning.MAX_PINNED, int(tuning.MAX_PINNED_SHARE * available_memory())) if limit is None else limit
        )
        self._rest = np.zeros(0, np.uint8)
        self._cutting = threading.Lock()  # guards the chunk
        self.ahead = 0
        self._lockers = ThreadPoolExecutor(2, thread_name_prefix="gpualign-lock")
        with contextlib.suppress(MemoryError):  # raised again at the first use
            self._rest = self._pinned.lock(chunk)

    def allocate(self, nbytes: int) -> NDArray[np.uint8] | None:
        """An uninitialized uint8 (nbytes,); None if the pool is at its limit or the host has no memory."""
        size = rounded(nbytes)
        try:
            full = self._pinned.locked + size > self._limit
            array = self._found(size, of_any_size=True) if full else self._made(size)
        except MemoryError:
            return None
        return None if array is None else array[:nbytes]

    def make(self, nbytes: int) -> NDArray[np.uint8]:
        """A whole buffer of at least ``nbytes`` bytes, for the device's thread. With a new large one, further ones are
        pinned in the background, so that the next request need not wait. Not so for :meth:`allocate`: of what many host
        threads would have pinned with their first buffers, most would not be used, while devices wait for the driver.

        Raises:
            MemoryError: there is no memory.
        """
        size = rounded(nbytes)
        if (array := self._found(size)) is not None:
            return array
        array = self._created(size)
        for _ in range(self.ahead if size >= tuning.LARGE_PINNED else 0):
            with contextlib.suppress(RuntimeError):  # closed
                self._lockers.submit(self._pin_ahead, size)
        return array

    def _pin_ahead(self, size: int) -> None:
        if self._pinned.locked + size <= self._limit:
            with contextlib.suppress(MemoryError):
                self._free_list(size).append(self._pinned.lock(size))

    def _new(self, size: int) -> NDArray[np.uint8]:
        """A part of the chunk or of a new one. Large buffers are pinned outside the lock, one by one.

        Raises:
            MemoryError: the host has no memory.
        """
        if 2 * size > self._chunk:
            locked: NDArray[np.uint8] = self._pinned.lock(size)
            return locked
        with self._cutting:
            if size > len(self._rest):
                self._rest = self._pinned.lock(self._chunk)
            part, self._rest = self._rest[:size], self._rest[size:]
            return part

    def clear(self) -> None:
        """Free the buffers that are not in use, and chunks of which no part is."""
        for free_list in list(self._free.values()):
            free_list.clear()
        with self._cutting:
            self._rest = np.zeros(0, np.uint8)

    def close(self) -> None:
        """Free all memory, before the device's context is destroyed."""
        self._lockers.shutdown(cancel_futures=True)
        self.clear()
        self._pinned.close()


def is_pinned(array: NDArray[Any]) -> bool:
    """Whether an array is a view of a :class:`PinnedPool` buffer."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, PinnedBuffer)


@STEPS.at("copy")
def pinned_copy(array: NDArray[Any], allocate: Allocate) -> NDArray[Any]:
    """A copy in pinned memory; the array itself if none is available."""
    memory = allocate(array.nbytes)
    if memory is None:
        return array
    copy: NDArray[Any] = memory.view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy
