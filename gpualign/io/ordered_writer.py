"""Writes parts in order while some are still being computed; in a thread of its own where that is safe, so that output
does not delay the caller."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future

#: bytes to write, or a future of them
Part = bytes | memoryview | Future[bytes | memoryview]


class DirectWriter:
    """Writes in the calling thread. Use :func:`part_writer`.

    Args:
        write: writes bytes.
        maximum: limit of the parts still being computed.
    """

    def __init__(self, write: Callable[[bytes | memoryview], object], maximum: int) -> None:
        self._write, self._max = write, maximum
        self._parts: deque[Part] = deque()

    def write(self, part: Part) -> None:
        """Write ``part``, which must not change any more; blocks while the queue is full.

        Raises:
            what writing or computing this part or an earlier one raised.
        """
        self._parts.append(part)
        while self._parts and (len(self._parts) > self._max or _is_ready(self._parts[0])):
            self._write(_made(self._parts.popleft()))

    def finish(self) -> None:
        while self._parts:
            self._write(_made(self._parts.popleft()))


class BackgroundWriter:
    """Writes in a thread of its own. Use :func:`part_writer`.

    Args:
        write: called in the thread.
        maximum: limit of the queued parts.
    """

    def __init__(self, write: Callable[[bytes | memoryview], object], maximum: int) -> None:
        self._write = write
        self._parts: queue.Queue[Part | None] = queue.Queue(maximum)
        self._error: BaseException | None = None
        self._given_up = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="gpualign-writer")
        self._thread.start()

    def write(self, part: Part) -> None:
        """See :meth:`DirectWriter.write`."""
        self._parts.put(part)
        self._check()

    def finish(self) -> None:
        """Wait until all is written; raises like :meth:`write`."""
        self._parts.put(None)
        self._thread.join()
        self._check()

    def abort(self) -> None:
        """Stop writing; queued parts are dropped."""
        self._given_up = True
        with contextlib.suppress(queue.Full):
            self._parts.put_nowait(None)
        self._thread.join()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (part := self._parts.get()) is not None and not self._given_up:
            if self._error is not None:
                continue  # keep emptying the queue, so that no caller blocks
            try:
                self._write(_made(part))
            except BaseException as error:
                self._error = error


def _is_ready(part: Part) -> bool:
    return not isinstance(part, Future) or part.done()


def _made(part: Part) -> bytes | memoryview:
    return part.result() if isinstance(part, Future) else part


PartWriter = DirectWriter | BackgroundWriter


@contextlib.contextmanager
def part_writer(write: Callable[[bytes | memoryview], object], maximum: int, in_thread: bool) -> Iterator[PartWriter]:
    """A writer; all its parts are written at the end of the context, unless that ends with an exception.

    Args:
        maximum: limit of the queued parts.
        in_thread: write in a thread. Not for pipes: a thread that writes to a pipe without a reader cannot be stopped.
    """
    if not in_thread:
        direct = DirectWriter(write, maximum)
        yield direct
        direct.finish()
        return
    writer = BackgroundWriter(write, maximum)
    try:
        yield writer
        writer.finish()
    except BaseException:
        writer.abort()
        raise
