"""The queue from which devices take items."""

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
    """The one queue of a run.

    Args:
        devices: the takers, woken by their bells when there is a new item.

    Attributes:
        ended: no more items will be put.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices, self._takers = devices, len(devices)
        self._tasks: deque[tuple[Item, Future[Result]]] = deque()
        self._changing = threading.Lock()  # guards the number of takers and the error
        self._error: BaseException | None = None
        self.ended = False

    def put(self, item: Item) -> Future[Result]:
        """The future of the item's result; it fails if no device is left, or a device's loop has failed."""
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
        """The next task; None if there is none now."""
        while self._tasks:
            try:
                task = self._tasks.popleft()
            except IndexError:  # another device was faster
                return None
            if task[1].set_running_or_notify_cancel():
                return task
        return None

    def end(self) -> None:
        """No more items will be put."""
        self.ended = True
        self._ring()

    def leave(self, error: BaseException | None = None) -> None:
        """A device takes no more items. With an error the run has failed, and no device takes any."""
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
