"""Ordered streaming: the calling thread reads, workers compute, and results come out in input order.

Every command runs through ``run_ordered``, which knows nothing about the items. With one worker it is a plain loop.
With more it uses threads: the native code releases the GIL, so nothing has to be pickled.
"""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, TypeVar

from gpualign.streaming.worker_pool import Task, WorkerPool

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Thread(threading.local):
    """``collecting``: the garbage collector is at work in this thread."""

    collecting = False


_THREAD = _Thread()


def _note_collection(phase: str, _: Any) -> None:
    _THREAD.collecting = phase == "start"


gc.callbacks.append(_note_collection)


def run_ordered(
    items: Iterable[Item], work: Callable[[Item], Result], workers: int, stop: Callable[[], object] | None = None
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` in the order of ``items``, each as soon as it is ready; at most 2 * workers are in flight.

    An exception from ``work`` reaches the caller at its item's turn, one from ``items`` at once; results that have not
    been yielded are dropped. Then ``stop`` is called, so that it can cut long work short.

    Closing the generator waits for the items in flight. The garbage collector, which may free it in any thread, waits
    for nothing: that thread may be a worker, or hold a lock that one needs to begin, to compute or to end.
    """
    if workers <= 1:
        yield from map(work, items)
        return
    pool, pending = WorkerPool(workers, "gpualign"), deque[Task[Result]]()
    try:
        for item in items:
            pending.append(pool.submit(partial(work, item)))
            del item  # the task holds it
            while pending and (len(pending) >= 2 * workers or pending[0].ready):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BaseException:
        if stop is not None:
            stop()
        raise
    finally:
        pool.close(wait=not _THREAD.collecting)
