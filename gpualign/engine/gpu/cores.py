"""CPU threads along with the devices: they take an item of the queue where that makes the run shorter.

Devices differ by up to a hundred times from all cores together. A pull model alone would let slow cores hold an item,
and with it all results after it, long after the devices have done the others. So the CPU works on one item at a time,
in parts, and begin one only where the devices have more to do meanwhile.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from gpualign.engine.gpu.work_queue import WorkQueue
from gpualign.streaming.clock import HOST

Item = TypeVar("Item")
Result = TypeVar("Result")

#: parts of an item for each core, so that they end together
_PARTS = 4
#: items the devices may be ahead: results are held in memory until the CPU's item is done. A CPU that is slower
#: would not add much
_MAX_AHEAD = 8
#: how much longer than expected an item may take the CPU
_MARGIN = 1.25
#: seconds between looks at the queue
_LOOK_S = 0.005
#: halvings of an item for a trial, at least and at most; what it should take, seconds; and how long what is known
#: of the CPU holds, seconds at least and in times of what a trial took
_TRIAL_HALVINGS, _TRIAL_S, _HOLDS_S, _HOLDS_TIMES = (6, 10), 0.02, 1.0, 50


class Cores(Generic[Item, Result]):
    """All cores as one device.

    Args:
        work: item -> result, equal to a device's; releases the GIL in native code.
        threads: cores.

    Attributes:
        items: done so far.
    """

    def __init__(self, work: Callable[[Item], Result], threads: int) -> None:
        self._work, self._threads = HOST.working()(work), threads
        self._seconds: float | None = None  # that an item takes
        self._known_until = 0.0
        self.items = 0

    def ahead(self, queue: WorkQueue[Item, Result]) -> int:
        """Items the devices do while the CPU does one; 0 where they would be too many, or it is not known."""
        many = self._items_meanwhile(queue)
        return math.ceil(many) if many <= _MAX_AHEAD else 0

    def drive(self, queue: WorkQueue[Item, Result]) -> None:
        """Take items until the run ends."""
        with ThreadPoolExecutor(self._threads, thread_name_prefix="gpualign-cpu") as pool:
            while not queue.closed.is_set():
                if queue.ended.is_set() and queue.waiting() <= 0:
                    return
                task = queue.get(wait=False) if self._worth_it(queue) else None
                if task is None:
                    queue.closed.wait(_LOOK_S)
                    continue
                self._do(*task, queue.kernel, pool)

    def _worth_it(self, queue: WorkQueue[Item, Result]) -> bool:
        """Whether the devices would not have done all that waits before the CPU has done the first of it."""
        if queue.device_seconds() is None:
            return False
        if queue.waiting() >= max(1, self._items_meanwhile(queue)):
            return True
        if time.perf_counter() > self._known_until and (item := queue.first()) is not None:
            self._try(item, queue.kernel)  # other processes may have slowed down the last one
        return False

    def _items_meanwhile(self, queue: WorkQueue[Item, Result]) -> float:
        device_seconds = queue.device_seconds()
        if device_seconds is None or self._seconds is None:
            return math.inf
        return _MARGIN * self._seconds / device_seconds

    def _try(self, item: Item, kernel: Any) -> None:
        """Measure how long the CPU would take on a small part whose result is not used: the devices do all of it."""
        begun = time.perf_counter()
        self._seconds, halves = math.inf, [item]
        while len(halves) <= _TRIAL_HALVINGS[1] and len(parts := _split(kernel, halves[-1])) > 1:
            halves.append(parts[0])
        for depth in range(len(halves) - 1, 0, -1) if len(halves) > _TRIAL_HALVINGS[0] else ():
            start = time.perf_counter()
            with contextlib.suppress(Exception):  # whatever it is, the devices meet it in order
                self._work(halves[depth])
                self._seconds = (time.perf_counter() - start) * 2**depth / self._threads
            if time.perf_counter() - start > _TRIAL_S:
                break
        now = time.perf_counter()
        self._known_until = now + max(_HOLDS_S, _HOLDS_TIMES * (now - begun))

    def _do(self, item: Item, future: Future[Result], kernel: Any, pool: ThreadPoolExecutor) -> None:
        start = time.perf_counter()
        try:
            future.set_result(self._in_parts(item, kernel, pool, _PARTS * self._threads)())
        except BaseException as error:
            future.set_exception(error)
        self._seconds = time.perf_counter() - start
        self._known_until = time.perf_counter() + _HOLDS_S
        self.items += 1

    def _in_parts(self, item: Any, kernel: Any, pool: ThreadPoolExecutor, parts: int) -> Callable[[], Any]:
        """Begin an item, halved into so many parts; returns what waits for its result."""
        halves = _split(kernel, item) if parts > 1 else [item]
        if len(halves) < 2:
            return pool.submit(self._work, item).result
        waits = [self._in_parts(half, kernel, pool, parts // len(halves)) for half in halves]
        return lambda: kernel.join([wait() for wait in waits])


def _split(kernel: Any, item: Any) -> list[Any]:
    return list(kernel.split(item)) if hasattr(kernel, "split") else [item]
