"""An iterator whose next items are made while the last one is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Prefetch(Generic[Item]):
    """Items in order, the first of which are made from now on in a thread of its own, and each of the others as soon as
    one before it is taken. Close it, which waits for the item in flight.

    Args:
        items: are advanced in the thread, and closed if they can be; what they raise comes in order.
        ahead: items that are made before they are asked for.
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
