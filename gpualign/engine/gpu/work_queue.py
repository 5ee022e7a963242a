"""The queue of a run, from which devices take items, and how fast each of them is."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from gpualign.streaming.clock import HOST

Item = TypeVar("Item")
Result = TypeVar("Result")

#: how often an idle device thread looks whether the run has ended, seconds
_POLL_S = 0.05
#: items that tell how fast a device is; the first ones are slow, as buffers are made for them
_PACE_MIN, _PACE_MAX = 3, 8


class Pace:
    """How long a device takes for an item."""

    def __init__(self) -> None:
        self._since = 0.0
        self._in_flight = 0
        self._latest: deque[float] = deque(maxlen=_PACE_MAX)

    def begin(self) -> None:
        """The device has one more item."""
        if self._in_flight == 0:
            self._since = time.perf_counter()
        self._in_flight += 1

    def end(self) -> None:
        """It has one less."""
        now = time.perf_counter()
        self._latest.append(now - self._since)
        self._since = now
        self._in_flight -= 1

    @property
    def seconds(self) -> float | None:
        """The shortest time of late; None: not known yet."""
        return min(self._latest) if len(self._latest) >= _PACE_MIN else None


class WorkQueue(Generic[Item, Result]):
    """The one queue of a run, with its end.

    Attributes:
        ended: nothing more will be put.
        closed: and what is still there need not be done.
        kernel: of a device, which knows how to cut an item and to join results; None: no device has begun.
    """

    def __init__(self) -> None:
        # no SimpleQueue: its get waits for ever where the time is up between two of its tries (CPython 3.11 and 3.12)
        self._queue: queue.Queue[tuple[Item, Future[Result]] | None] = queue.Queue()
        self._paces: tuple[Pace, ...] = ()
        self.ended, self.closed = threading.Event(), threading.Event()
        self.kernel: Any = None

    def joined_by(self, kernel: Any) -> Pace:
        """A device begins with this kernel; returns where it is to note its items."""
        pace = Pace()
        self.kernel = kernel
        self._paces += (pace,)
        return pace

    def end(self) -> None:
        """Nothing more will be put; whoever waits for a task wakes up."""
        self.ended.set()
        self._queue.put(None)

    def close(self) -> None:
        """End, and leave undone what nobody has begun."""
        self.closed.set()
        self.end()

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

    def waiting(self) -> int:
        """How many items nobody has begun."""
        return self._queue.qsize() - self.ended.is_set()

    def first(self) -> Item | None:
        """The next item, which stays in the queue; None where there is none."""
        with self._queue.mutex:
            task = self._queue.queue[0] if self._queue.queue else None
        return None if task is None else task[0]

    def _device_seconds(self) -> list[float]:
        """Seconds that an item takes each device; empty: not known yet of all."""
        seconds = [pace.seconds for pace in self._paces]
        known = [max(one, 1e-9) for one in seconds if one is not None]
        return known if len(known) == len(seconds) else []

    def device_seconds(self) -> float | None:
        """Seconds that an item takes the devices together; None: not known yet."""
        seconds = self._device_seconds()
        return 1 / sum(1 / one for one in seconds) if seconds else None

    def items_meanwhile(self, items: int) -> float:
        """Items that the devices do together while the slowest does so many; 0: not known yet."""
        seconds = self._device_seconds()
        return sum(items * max(seconds) / one for one in seconds)
