"""A semaphore that threads acquire in the order in which they ask for it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class FifoSemaphore:
    """A semaphore with a queue.

    Args:
        most: the number of threads that can hold it at a time.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._changing = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    @property
    def all_taken(self) -> bool:
        """Whether a thread that acquires it now has to wait."""
        return self._free == 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Acquire the semaphore, and release it at the end."""
        with self._changing:
            gate = None if self._free else threading.Lock()
            if gate is None:
                self._free -= 1
            else:
                gate.acquire()
                self._waiting.append(gate)
        if gate is not None:
            gate.acquire()  # until the thread that releases the semaphore opens it
        try:
            yield
        finally:
            with self._changing:
                if self._waiting:
                    self._waiting.popleft().release()
                else:
                    self._free += 1
