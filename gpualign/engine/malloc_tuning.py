"""How a process that makes and drops large buffers all the time gets its memory."""

from __future__ import annotations

import contextlib
import ctypes

#: parameters of glibc's mallopt (malloc.h), and their values: the largest block that is cut from a heap rather than
#: mapped by itself (the most that glibc takes), and what a heap keeps at its end, bytes; how many heaps there are
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MAX_FROM_HEAP, _KEPT = 32 << 20, 256 << 20


def reuse_memory(one_heap: bool = False) -> None:
    """Use the memory of one task's buffers for the next one's.

    By default, large ones go back to the system, and the next task's are new pages, each of which costs a fault and
    is cleared: two to three per cent of the time of a cluster's worker, eight of that of threads that print matches.
    Where there is no glibc nothing is changed.

    Args:
        one_heap: of all threads, before they begin: their own ones are of 64 MiB, and go back when they are empty. For
            threads that ask for much at a time, and seldom.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _MAX_FROM_HEAP)
        mallopt(_TRIM_THRESHOLD, _KEPT)
        if one_heap:
            mallopt(_ARENA_MAX, 1)
