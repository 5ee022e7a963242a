"""Allocation of pinned host memory, for code that knows no device: data read into it need not be copied again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: number of bytes -> a uint8 array of that size in pinned memory, or None if none is available
Allocate = Callable[[int], "NDArray[np.uint8] | None"]


def no_pinned(nbytes: int) -> None:
    """The allocator of a run without a GPU."""


def pinned_or_pageable(allocate: Allocate, nbytes: int) -> NDArray[np.uint8]:
    """An uninitialized uint8 (nbytes,), pageable if no pinned memory is available."""
    memory = allocate(nbytes)
    return np.empty(nbytes, np.uint8) if memory is None else memory
