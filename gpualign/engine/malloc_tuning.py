"""malloc settings for a process that allocates and frees large buffers all the time."""

from __future__ import annotations

import contextlib
import ctypes

#: parameters of glibc's mallopt (malloc.h), and values: the largest block taken from a heap rather than mapped by
#: itself (glibc's maximum), and the free bytes kept at the top of a heap
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MAX_FROM_HEAP, _KEPT = 32 << 20, 256 << 20


def reuse_memory(one_heap: bool = False) -> None:
    """Keep freed buffers in the heap for the next task; without glibc, do nothing.

    By default glibc unmaps large buffers, and the next task faults in new pages, which the kernel clears. That takes 2
    to 3 % of a cluster worker's time, and 8 % of the threads that print matches (machine not recorded).

    Args:
        one_heap: all threads share one heap, if called before they start. Per-thread heaps are 64 MiB each and are
            unmapped when empty. For threads that allocate seldom and much at a time.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _MAX_FROM_HEAP)
        mallopt(_TRIM_THRESHOLD, _KEPT)
        if one_heap:
            mallopt(_ARENA_MAX, 1)
