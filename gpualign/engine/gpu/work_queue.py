"""The queue of a run, from which devices take items."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from gpualign.errors import GpualignError

if TYPE_CHECKING:
    from gpualign.engine.gpu.device import Device

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkQueue(Generic[Item, Result]):
    """The one queue of a run, with its end.

    Args:
        devices: which take items from it; their bells ring when there is something new.

    Attributes:
        ended: nothing more will be put.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices, self._takers = devices, len(devices)
        self._tasks: deque[tuple[Item, Future[Result]]] = deque()
        self._changing = threading.Lock()  # of the takers, and of what is put when there are none
        self._error: BaseException | None = None
        self.ended = False

    def put(self, item: Item) -> Future[Result]:
        """Its result fails where no device is left to take it, or one has failed as a whole."""
        future: Future[Result] = Future()
        with self._changing:
            error = self._error
            if error is None:
                self._tasks.append((item, future))
        if error is not None:
            future.set_exception(error)
        self._ring()
        return future

    def take(self) -> tuple[Item, Future[Result]] | None:
        """The next task; None where there is none now."""
        while self._tasks:
            try:
                task = self._tasks.popleft()
            except IndexError:  # another device was faster
                return None
            if task[1].set_running_or_notify_cancel():
                return task
        return None

    def end(self) -> None:
        """Nothing more will be put."""
        self.ended = True
        self._ring()

    def leave(self, error: BaseException | None = None) -> None:
        """A device takes no more items; with an error, nor does any other, as the run has failed."""
        with self._changing:
            self._takers -= 1
            if error is not None:
                self._error = error
            elif not self._takers and self._error is None:
                self._error = GpualignError("the devices were closed before all work was done")
            if self._error is None:
                return
            abandoned, self._tasks = self._tasks, deque()
        for _, future in abandoned:
            if future.set_running_or_notify_cancel():
                future.set_exception(self._error)

    def _ring(self) -> None:
        for device in self._devices:
            device.bell.ring()
