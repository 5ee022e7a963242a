"""A thread that works off a queue."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class QueueThread(threading.Thread):
    """Runs ``serve``, which takes from ``queue`` and returns once it finds something false there.

    A daemon, as Python waits for other threads before it frees the objects that would end them.

    The queue, and what others wait for, is a SimpleQueue: it may be used wherever an object is freed, and Ctrl-C leaves
    it intact. In a Future or a Condition, an exception of a signal handler can leave a lock locked for good.
    """

    def __init__(self, serve: Callable[[], None], queue: SimpleQueue[Any], name: str) -> None:
        super().__init__(target=serve, name=name, daemon=True)
        self.queue = queue


@atexit.register
def _end_threads() -> None:
    """A daemon that is in native code when the interpreter ends may abort the process."""
    threads = [thread for thread in threading.enumerate() if isinstance(thread, QueueThread) and thread.is_alive()]
    for thread in threads:
        thread.queue.put(None)
    for thread in threads:
        thread.join()
