"""When the host's threads had nothing to do but wait: then, and only then, what a device copies costs time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

#: told of each interval (start, end) on the clock of ``time.perf_counter``
Listener = Callable[[float, float], None]


class HostClock:
    """Counts the threads at work and tells its listeners of the times when there was none.

    Args:
        working: threads at work from the start.
    """

    def __init__(self, working: int = 0) -> None:
        self._lock = threading.Lock()
        self._working = working
        self._steps: deque[tuple[float, int]] = deque()
        self._idle_since = time.perf_counter()
        self._listeners: tuple[Listener, ...] = ()

    def listen(self, listener: Listener) -> None:
        """Tell ``listener`` too; it is called from any thread and must be quick."""
        self._listeners += (listener,)

    def leave(self, listener: Listener) -> None:
        """No longer tell ``listener``."""
        self._listeners = tuple(other for other in self._listeners if other != listener)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """The calling thread, idle before and after, works."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """The calling thread, at work before and after, waits for another one or for a device."""
        self._count(-1)
        try:
            yield
        finally:
            self._count(1)

    def _count(self, step: int) -> None:
        # lock-free: the holder of a lock may have to wait for the GIL, and all others for the holder
        self._steps.append((time.perf_counter(), step))
        self.catch_up(wait=False)

    def catch_up(self, wait: bool = True) -> None:
        """Tell the listeners of what has happened; if another thread is at it, ``wait`` or leave it to that."""
        while self._steps and self._lock.acquire(blocking=wait):
            try:
                while self._steps:
                    now, step = self._steps.popleft()
                    self._working += step
                    if self._working == 0:
                        self._idle_since = now
                    elif self._working == 1 and step == 1:
                        for listener in self._listeners:
                            listener(self._idle_since, now)
            finally:
                self._lock.release()


class StepTimes:
    """Seconds of the process's threads by what they did; within another step a step takes its time from that."""

    def __init__(self) -> None:
        self._threads: list[dict[str, float]] = []
        self._thread = threading.local()

    @contextlib.contextmanager
    def at(self, step: str) -> Iterator[None]:
        """The calling thread is at this step."""
        inside, of_thread = self._of_thread()
        start = time.perf_counter()
        inside.append(0.0)
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            own = seconds - inside.pop()
            if inside:
                inside[-1] += seconds
            of_thread[step] = of_thread.get(step, 0.0) + own

    def took(self, step: str, seconds: float) -> None:
        """So much of what the calling thread is at was this step."""
        inside, of_thread = self._of_thread()
        if inside:
            inside[-1] += seconds
        of_thread[step] = of_thread.get(step, 0.0) + seconds

    def _of_thread(self) -> tuple[list[float], dict[str, float]]:
        """The steps within which the calling thread is, and its seconds: no thread waits for another one."""
        try:
            return self._thread.own  # type: ignore[no-any-return]
        except AttributeError:
            own: tuple[list[float], dict[str, float]] = [], {}
            self._thread.own = own
            self._threads.append(own[1])
            return own

    def since(self, before: Mapping[str, float] | None = None) -> dict[str, float]:
        """{step: seconds}, less what there was before."""
        total: dict[str, float] = {}
        for of_thread in tuple(self._threads):
            for step, seconds in tuple(of_thread.items()):
                total[step] = total.get(step, 0.0) + seconds
        return {step: seconds - (before or {}).get(step, 0.0) for step, seconds in total.items()}


#: of this process
STEPS = StepTimes()
#: the main thread of this process
HOST = HostClock(working=1)
