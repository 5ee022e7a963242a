"""Buffers that a reader gets from its consumer, so that text is read straight into pinned memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: takes a number of bytes; returns a uint8 array of that size in pinned memory, or None if none is free
Lend = Callable[[int], "NDArray[np.uint8] | None"]


def nothing_lent(nbytes: int) -> None:
    """A :data:`Lend` that has no memory to give."""


def lent_or_new(lend: Lend, nbytes: int) -> NDArray[np.uint8]:
    """An uninitialized uint8 array of ``nbytes``, in ordinary memory if ``lend`` has none."""
    memory = lend(nbytes)
    return np.empty(nbytes, np.uint8) if memory is None else memory
