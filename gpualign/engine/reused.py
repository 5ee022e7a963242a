"""Large buffers whose memory is used again: new pages cost a fault each, and are cleared, before they are written."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: sizes of buffers between two powers of two
_STEPS = 4
_SMALLEST = 256


class Loan:
    """What the views of a buffer keep alive."""

    def __init__(self, buffer: NDArray[np.uint8], home: deque[NDArray[np.uint8]]) -> None:
        self._buffer, self._home = buffer, home
        self.__array_interface__ = buffer.__array_interface__

    def __del__(self) -> None:
        self._home.append(self._buffer)  # without a lock: this may run anywhere, even where one is held


class ReusedMemory:
    """Buffers that are used again once no view of them is left; another process gets an empty one of it.

    Args:
        loan: of which type theirs are.
    """

    def __init__(self, loan: type[Loan] = Loan) -> None:
        self._loan = loan
        self._free: dict[int, deque[NDArray[np.uint8]]] = {}

    def make(self, nbytes: int) -> NDArray[np.uint8]:
        """The whole of a buffer of at least that many bytes, a new one where none of up to twice that is free.

        Raises:
            MemoryError, of whatever it is made by: there is no memory.
        """
        return self._made(rounded(nbytes))

    def _made(self, size: int) -> NDArray[np.uint8]:
        if (array := self._found(size)) is None:
            array = np.asarray(self._loan(self._new(size), self._home(size)))
        return array

    def _new(self, size: int) -> NDArray[np.uint8]:
        return np.empty(size, np.uint8)

    def _found(self, size: int, of_any_size: bool = False) -> NDArray[np.uint8] | None:
        """The whole of the smallest free buffer of at least that size and, unless of any, at most twice that."""
        for held in sorted(self._free):
            if size <= held and (of_any_size or held <= 2 * size):
                with contextlib.suppress(IndexError):
                    home = self._free[held]
                    return np.asarray(self._loan(home.pop(), home))
        return None

    def _home(self, size: int) -> deque[NDArray[np.uint8]]:
        return self._free.setdefault(size, deque())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def rounded(nbytes: int) -> int:
    """Bytes of the smallest buffer for ``nbytes``: sizes differ by a quarter at most, and there are few of them."""
    step = max(_SMALLEST, (1 << max(0, nbytes - 1).bit_length()) // (2 * _STEPS))
    return max(step, -(-nbytes // step) * step)
