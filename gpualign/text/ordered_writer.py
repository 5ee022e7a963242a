"""Writes parts in order while some are still being computed; in a thread of its own where that is safe, so that output
does not delay the caller."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from gpualign.streaming.worker_pool import Task, WorkerPool

#: bytes to write, or a task that makes them
Part = bytes | memoryview | Task[bytes | memoryview]


class PartWriter:
    """Use :func:`part_writer`.

    Args:
        write: writes bytes.
        maximum: limit of the parts that are still being computed, or wait for the thread.
        thread: calls ``write``; None: the calling thread does.
    """

    def __init__(self, write: Callable[[bytes | memoryview], object], maximum: int, thread: WorkerPool | None) -> None:
        self._write, self._max, self._thread = write, maximum, thread
        self._parts: deque[Part | Task[None]] = deque()
        self._failed = False

    def write(self, part: Part) -> None:
        """Write ``part``, which must not change any more; blocks while the queue is full.

        Raises:
            what writing or computing this part or an earlier one raised.
        """
        self._parts.append(part if self._thread is None else self._thread.submit(partial(self._written, part)))
        while self._parts and (len(self._parts) > self._max or _is_ready(self._parts[0])):
            self._end_first()

    def finish(self) -> None:
        """Wait until all is written; raises like :meth:`write`."""
        while self._parts:
            self._end_first()

    def _end_first(self) -> None:
        part = self._parts.popleft()
        made = part.result() if isinstance(part, Task) else part
        if self._thread is None:
            self._write(made)  # type: ignore[arg-type]

    def _written(self, part: Part) -> None:
        """For the thread: nothing is written after an error."""
        if self._failed:
            return
        try:
            self._write(part.result() if isinstance(part, Task) else part)
        except BaseException:
            self._failed = True
            raise


def _is_ready(part: Part | Task[None]) -> bool:
    return not isinstance(part, Task) or part.ready


@contextlib.contextmanager
def part_writer(write: Callable[[bytes | memoryview], object], maximum: int, in_thread: bool) -> Iterator[PartWriter]:
    """A writer; all its parts are written at the end of the context, unless that ends with an exception.

    Args:
        maximum: limit of the queued parts.
        in_thread: write in a thread. Not for pipes: a thread that writes to a pipe without a reader cannot be stopped.
    """
    thread = WorkerPool(1, "gpualign-writer") if in_thread else None
    try:
        writer = PartWriter(write, maximum, thread)
        yield writer
        writer.finish()
    finally:
        if thread is not None:
            thread.close()
