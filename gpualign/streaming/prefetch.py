"""An iterator that computes its next items in a thread while the caller uses the current one."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Generator, Iterator
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


class Prefetch(Generic[Item]):
    """Advances an iterator in a thread and yields its items in order.

    The thread starts at once and stays ``ahead`` items ahead of the caller. It ends with the items, or as soon as this
    object is closed or freed. Only :meth:`close` waits for the item in flight: objects may be freed in any thread,
    while that thread holds a lock that the item needs.

    Args:
        items: advanced only in the thread, which closes it at the end if it is a generator; its exceptions come in
            order.
        ahead: number of items computed in advance.
    """

    def __init__(self, items: Iterator[Item], ahead: int = 1) -> None:
        self._thread = _Thread(items)
        for _ in range(ahead):
            self._thread.wanted.put(True)
        self._ended = False
        self._thread.start()

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        if self._ended:
            raise StopIteration
        item: Item
        item, error = self._thread.computed.get()
        if error is not None:
            self._ended = True
            raise error
        self._thread.wanted.put(True)
        return item

    def close(self) -> None:
        """End the thread and wait for it."""
        self._ended = True
        self._thread.wanted.put(False)
        self._thread.join()

    def __enter__(self) -> Prefetch[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._thread.wanted.put(False)


class _Thread(threading.Thread):
    """Computes an item for each True in ``wanted``, up to the first False. A daemon, as Python waits for other threads
    before it frees the objects that would end them.
    """

    def __init__(self, items: Iterator[Any]) -> None:
        super().__init__(name="gpualign-ahead", daemon=True)
        self._items = items
        self.wanted: SimpleQueue[bool] = SimpleQueue()  # may be used wherever an object is freed, unlike queue.Queue
        self.computed: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run(self) -> None:
        items = self._items
        del self._items
        try:
            while self.wanted.get():
                self.computed.put((next(items), None))
        except BaseException as error:  # also the end of the items
            self.computed.put((None, error))
        finally:
            if isinstance(items, Generator):
                items.close()


@atexit.register
def _end_threads() -> None:
    """A daemon that is in native code when the interpreter ends may abort the process."""
    for thread in threading.enumerate():
        if isinstance(thread, _Thread):
            thread.wanted.put(False)
            thread.join()
