"""An iterator that computes its next items while the caller uses the current one."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Prefetch(Generic[Item]):
    """Advances an iterator in a thread and yields its items in order.

    The thread starts at once and stays ``ahead`` items ahead of the caller. :meth:`close` waits for the item in flight.

    Args:
        items: advanced only in the thread, and closed at the end if it is a generator; its exceptions come in order.
        ahead: number of items computed in advance.
    """

    def __init__(self, items: Iterator[Item], ahead: int = 1) -> None:
        self._items = items
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gpualign-ahead")
        self._next = deque(self._advance() for _ in range(ahead))

    def _advance(self) -> Future[Item | None]:
        return self._thread.submit(next, self._items, None)

    def __iter__(self) -> Iterator[Item]:
        while True:
            item = self._next.popleft().result()
            if item is None:
                return
            self._next.append(self._advance())
            yield item

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        if isinstance(self._items, Generator):
            self._items.close()
