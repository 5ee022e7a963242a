"""Items of unequal length one after the other in a flat array: where each begins, and where the last one ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray


def offsets_of(lengths: ArrayLike) -> NDArray[np.int64]:
    """int64 (n + 1,) offsets of n items of these lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def join_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Offsets into each of at least one flat array, made offsets into all of them joined."""
    return offsets_of(np.concatenate([np.diff(part) for part in parts]))


def joined(parts: Iterable[tuple[NDArray[np.uint8], NDArray[np.int64]]]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """At least one flat array with its offsets as one."""
    texts, offsets = zip(*parts, strict=True)
    return np.concatenate(texts), join_offsets(offsets)


def positions_of(starts: NDArray[np.integer] | int, lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """int64: from each start on as many numbers as its length says, one after the other."""
    offsets = offsets_of(lengths)
    return np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])


def cut_by_size(sizes: NDArray[np.integer], limit: int) -> list[tuple[int, int]]:
    """(start, stop) of runs of items that cover all; each has at most about ``limit`` together, or is one item."""
    part = (np.cumsum(sizes) - 1) // max(limit, 1)
    return list(pairwise([0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(sizes)]))
