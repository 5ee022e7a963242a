"""A pool of large buffers. Reuse saves the page faults and the clearing of new pages."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: size classes between two powers of two
_STEPS = 4
_SMALLEST = 256


class PoolBuffer:
    """Owner of a buffer: its last view returns the buffer to its free list."""

    def __init__(self, buffer: NDArray[np.uint8], free_list: deque[NDArray[np.uint8]]) -> None:
        self._buffer, self._free_list = buffer, free_list
        self.__array_interface__ = buffer.__array_interface__

    def __del__(self) -> None:
        self._free_list.append(self._buffer)  # without a lock: a finalizer may run while its thread holds one


class BufferPool:
    """Buffers that are reused once no view of them is left. It pickles as an empty pool.

    Args:
        owner: type of the buffers' owners.
    """

    def __init__(self, owner: type[PoolBuffer] = PoolBuffer) -> None:
        self._owner = owner
        self._free: dict[int, deque[NDArray[np.uint8]]] = {}

    def make(self, nbytes: int) -> NDArray[np.uint8]:
        """A whole buffer of at least ``nbytes`` bytes: a free one of up to twice the size, else a new one.

        Raises:
            MemoryError: there is no memory.
        """
        return self._made(rounded(nbytes))

    def _made(self, size: int) -> NDArray[np.uint8]:
        array = self._found(size)
        return self._created(size) if array is None else array

    def _created(self, size: int) -> NDArray[np.uint8]:
        return np.asarray(self._owner(self._new(size), self._free_list(size)))

    def _new(self, size: int) -> NDArray[np.uint8]:
        return np.empty(size, np.uint8)

    def _found(self, size: int, of_any_size: bool = False) -> NDArray[np.uint8] | None:
        """The smallest free buffer of at least ``size`` bytes and, unless ``of_any_size``, at most twice that."""
        for held in sorted(self._free):
            if size <= held and (of_any_size or held <= 2 * size):
                with contextlib.suppress(IndexError):
                    free_list = self._free[held]
                    return np.asarray(self._owner(free_list.pop(), free_list))
        return None

    def _free_list(self, size: int) -> deque[NDArray[np.uint8]]:
        return self._free.setdefault(size, deque())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def rounded(nbytes: int) -> int:
    """The size class of ``nbytes``: at most a quarter larger, so that there are few classes."""
    step = max(_SMALLEST, (1 << max(0, nbytes - 1).bit_length()) // (2 * _STEPS))
    return max(step, -(-nbytes // step) * step)
