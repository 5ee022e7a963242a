"""Settings of malloc, and of the kernel's pages, for a process that fills large buffers all the time."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

#: parameters of glibc's mallopt (malloc.h), and values: the largest block taken from a heap rather than mapped by
#: itself (glibc's maximum), and the free bytes kept at the top of a heap
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MAX_FROM_HEAP, _KEPT = 32 << 20, 256 << 20
#: operations of Linux's prctl (linux/prctl.h)
_SET_THP_DISABLE, _GET_THP_DISABLE = 41, 42


def return_memory() -> None:
    """Give what is free in the heaps back to the system; only glibc can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


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


@contextlib.contextmanager
def small_pages() -> Iterator[None]:
    """No huge pages meanwhile, in the whole process, for memory that is filled once and held. Only on Linux.

    A virtual machine's host takes back free memory, 2 MiB at a time (free page reporting), so that the first use of a
    huge page waits for the host. To sort 1.3 GB of records took 4.7 s of the kernel's time with huge pages and 1.4 s
    with small ones (2-core EPYC, Linux 6.18); the threads' own time was the same.
    """
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        yield
        return
    before = prctl(_GET_THP_DISABLE, 0, 0, 0, 0)
    if before != 0:  # they are off, or the kernel does not know
        yield
        return
    prctl(_SET_THP_DISABLE, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_THP_DISABLE, 0, 0, 0, 0)
