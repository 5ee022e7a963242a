"""Memory that whoever fills it has from somebody else, so that it need not be copied there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: bytes -> a uint8 array of that many in page-locked memory, or None where there is none at present
Lend = Callable[[int], "NDArray[np.uint8] | None"]


def nothing_lent(nbytes: int) -> None:
    """Where there is no such memory."""


def lent_or_new(lend: Lend, nbytes: int) -> NDArray[np.uint8]:
    """uint8 (nbytes,) of whatever content: ordinary memory where none is lent."""
    memory = lend(nbytes)
    return np.empty(nbytes, np.uint8) if memory is None else memory
