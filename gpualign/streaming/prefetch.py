"""An iterator that computes its next items in a thread while the caller uses the current one."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from gpualign.streaming.queue_thread import QueueThread

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
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._computed: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        compute = partial(_compute, items, self._wanted, self._computed)
        self._thread = QueueThread(compute, self._wanted, "gpualign-ahead")
        for _ in range(ahead):
            self._wanted.put(True)
        self._ended = False
        self._thread.start()

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        if self._ended:
            raise StopIteration
        item: Item
        item, error = self._computed.get()
        if error is not None:
            self._ended = True
            raise error
        self._wanted.put(True)
        return item

    def close(self) -> None:
        """End the thread and wait for it."""
        self._ended = True
        self._wanted.put(False)
        self._thread.join()

    def __enter__(self) -> Prefetch[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._wanted.put(False)


def _compute(items: Iterator[Any], wanted: SimpleQueue[bool], computed: SimpleQueue[Any]) -> None:
    """Put an item into ``computed`` for each True in ``wanted``, up to the first False, or the error that ends them."""
    try:
        while wanted.get():
            computed.put((next(items), None))
    except BaseException as error:  # also the end of the items
        computed.put((None, error))
    finally:
        if isinstance(items, Generator):
            items.close()
