"""Ordered streaming: a reader in the calling thread, workers, and a consumer that sees results in input order.

``run_ordered`` is the one loop of every command. It knows nothing of what it moves. With one worker it is a plain
loop; with more, the native code releases the GIL, so threads are enough and nothing is pickled.
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
    """Yield ``work(item)`` in the order of ``items``, each as soon as it is there; at most 2 * workers are in flight.

    An exception from ``items`` or ``work`` reaches the caller in the order of the items; items after it are
    dropped. ``stop`` is called then, for work that takes long to be given up.
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
