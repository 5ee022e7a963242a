"""The queue of a run, from which devices take items."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from typing import Generic, TypeVar

from gpualign.streaming.clock import HOST

Item = TypeVar("Item")
Result = TypeVar("Result")

#: how often an idle device thread looks whether the run has ended, seconds
_POLL_S = 0.05


class WorkQueue(Generic[Item, Result]):
    """The one queue of a run, with its end.

    Attributes:
        ended: nothing more will be put.
    """

    def __init__(self) -> None:
        # no SimpleQueue: its get waits for ever where the time is up between two of its tries (CPython 3.11 and 3.12)
        self._queue: queue.Queue[tuple[Item, Future[Result]] | None] = queue.Queue()
        self.ended = threading.Event()

    def end(self) -> None:
        """Nothing more will be put; whoever waits for a task wakes up."""
        self.ended.set()
        self._queue.put(None)

    def put(self, item: Item) -> Future[Result]:
        future: Future[Result] = Future()
        self._queue.put((item, future))
        return future

    def _wait(self) -> tuple[Item, Future[Result]] | None:
        with HOST.waiting():
            return self._queue.get(timeout=_POLL_S)

    def get(self, wait: bool, closing: threading.Event | None = None) -> tuple[Item, Future[Result]] | None:
        """The next task; None when there is none now (``wait`` false) or will be none (``wait`` true)."""
        while True:
            try:
                task = self._wait() if wait else self._queue.get_nowait()
            except queue.Empty:
                if not wait or self.ended.is_set() or (closing is not None and closing.is_set()):
                    return None
                continue
            if task is None:
                self._queue.put(None)  # for the next one who waits
                return None
            if task[1].set_running_or_notify_cancel():
                return task
