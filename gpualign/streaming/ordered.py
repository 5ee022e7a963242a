"""Ordered streaming: the calling thread reads, workers compute, and results come out in input order.

Every command runs through ``run_ordered``, which knows nothing about the items. With one worker it is a plain loop.
With more it uses threads: the native code releases the GIL, so nothing has to be pickled.
"""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from gpualign.streaming.queue_thread import QueueThread

Item = TypeVar("Item")
Result = TypeVar("Result")
#: holds one result or error, once it is there
_Outcome: TypeAlias = SimpleQueue[tuple[Any, BaseException | None]]


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
    tasks: SimpleQueue[tuple[Item, _Outcome] | None] = SimpleQueue()
    threads: list[QueueThread] = []
    pending: deque[_Outcome] = deque()
    ended = False

    def serve() -> None:
        while (task := tasks.get()) is not None and not ended:
            item, outcome = task
            del task
            try:
                outcome.put((work(item), None))
            except BaseException as error:
                outcome.put((None, error))
            del item, outcome  # an idle thread holds nothing

    try:
        for item in items:
            if len(threads) < workers:
                thread = QueueThread(serve, tasks, f"gpualign_{len(threads)}")
                thread.start()
                threads.append(thread)
            pending.append(SimpleQueue())
            tasks.put((item, pending[-1]))
            while pending and (len(pending) >= 2 * workers or not pending[0].empty()):
                yield _result(pending.popleft())
        while pending:
            yield _result(pending.popleft())
    except BaseException:
        if stop is not None:
            stop()
        raise
    finally:
        ended = True
        for _ in threads:
            tasks.put(None)
        if not _THREAD.collecting:
            for thread in threads:
                thread.join()


def _result(outcome: _Outcome) -> Any:
    """Wait for a result, or raise its error."""
    result, error = outcome.get()
    if error is None:
        return result
    try:
        raise error
    finally:
        del error  # it refers to this frame
