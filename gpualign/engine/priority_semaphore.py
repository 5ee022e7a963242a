"""A semaphore that prefers threads whose item is already in progress to threads that would begin a new one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class PrioritySemaphore:
    """A semaphore with two queues, one of which goes first.

    Args:
        most: the number of threads that can hold it at a time.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._changing = threading.Lock()
        self._ahead: deque[threading.Lock] = deque()
        self._others: deque[threading.Lock] = deque()

    @property
    def all_taken(self) -> bool:
        """Whether a thread that acquires it now has to wait."""
        return self._free == 0

    @contextmanager
    def taken(self, ahead: bool) -> Iterator[None]:
        """Acquire the semaphore, and release it at the end.

        Args:
            ahead: wait in the queue that goes first.
        """
        with self._changing:
            gate = None if self._free else threading.Lock()
            if gate is None:
                self._free -= 1
            else:
                gate.acquire()
                (self._ahead if ahead else self._others).append(gate)
        if gate is not None:
            gate.acquire()  # until the thread that releases the semaphore opens it
        try:
            yield
        finally:
            with self._changing:
                if waiting := self._ahead or self._others:
                    waiting.popleft().release()
                else:
                    self._free += 1
