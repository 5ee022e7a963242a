"""Writing parts in order, some of which are still being made; in a thread of its own where that is safe, so that the
output does not hold up whoever reads and hands on."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Protocol

#: what is written: bytes, or bytes to be
Part = bytes | memoryview | Future[bytes | memoryview]


class PartWriter(Protocol):
    """What takes parts in order."""

    def write(self, part: Part, /) -> None:
        """Hand on ``part``, which must not change any more; waits while too many are waiting.

        Raises:
            whatever writing or making it, or an earlier one, raised.
        """


class DirectWriter:
    """Writes in the thread that hands on. Use :func:`part_writer`.

    Args:
        write: takes the bytes.
        maximum: parts that may be in the making.
    """

    def __init__(self, write: Callable[[bytes | memoryview], object], maximum: int) -> None:
        self._write, self._max = write, maximum
        self._parts: deque[Part] = deque()

    def write(self, part: Part) -> None:
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
        maximum: parts that may wait.
    """

    def __init__(self, write: Callable[[bytes | memoryview], object], maximum: int) -> None:
        self._write = write
        self._parts: queue.Queue[Part | None] = queue.Queue(maximum)
        self._error: BaseException | None = None
        self._given_up = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="gpualign-writer")
        self._thread.start()

    def write(self, part: Part) -> None:
        self._parts.put(part)
        self._check()

    def finish(self) -> None:
        """Wait until all is written; raises as :meth:`write`."""
        self._parts.put(None)
        self._thread.join()
        self._check()

    def abort(self) -> None:
        """Write no more; the parts that wait are dropped."""
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
                continue  # nobody shall wait for space
            try:
                self._write(_made(part))
            except BaseException as error:
                self._error = error


def _is_ready(part: Part) -> bool:
    return not isinstance(part, Future) or part.done()


def _made(part: Part) -> bytes | memoryview:
    return part.result() if isinstance(part, Future) else part


@contextlib.contextmanager
def part_writer(
    write: Callable[[bytes | memoryview], object], maximum: int, in_thread: bool
) -> Iterator[BackgroundWriter | DirectWriter]:
    """All that is handed on is written when the block ends, unless it ends with an exception.

    Args:
        maximum: parts that may wait.
        in_thread: write in a thread of its own. Not for pipes: where nobody reads, the thread could not be stopped.
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
