"""Ordered streaming: the calling thread reads, workers compute, and results come out in input order.

Every command runs through ``run_ordered``, which knows nothing about the items. With one worker it is a plain loop.
With more it uses threads: the native code releases the GIL, so nothing has to be pickled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_ordered(
    items: Iterable[Item], work: Callable[[Item], Result], workers: int, stop: Callable[[], object] | None = None
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` in the order of ``items``, each as soon as it is ready; at most 2 * workers are in flight.

    An exception from ``items`` or ``work`` reaches the caller at its item's turn, and later items are dropped. Then
    ``stop`` is called, so that it can cut long work short.
    """
    if workers <= 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="gpualign")
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            while pending and (len(pending) >= 2 * workers or pending[0].done()):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BaseException:
        if stop is not None:
            stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
