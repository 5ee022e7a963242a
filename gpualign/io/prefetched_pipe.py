"""A pipe read ahead by a thread, for a reader of two pipes whose writer may fill one before the other."""

from __future__ import annotations

import io
import threading
from collections import deque
from typing import Any

_READ_BYTES = 1 << 16


class PrefetchedPipe(io.RawIOBase):
    """The bytes of ``pipe``, read from now on.

    Attributes:
        limit: about how many bytes are read ahead.
    """

    def __init__(self, pipe: Any, limit: int) -> None:
        self.limit = limit
        self._pipe, self._held = pipe, 0
        self._blocks: deque[bytes] = deque()
        self._ended: BaseException | bool = False
        self._changed = threading.Condition()
        # a daemon: the pipe's writer may never write again
        threading.Thread(target=self._read_on, daemon=True, name="gpualign-pipe").start()

    def _read_on(self) -> None:
        ended: BaseException | bool = True
        try:
            while block := self._pipe.read(_READ_BYTES):
                with self._changed:
                    self._blocks.append(block)
                    self._held += len(block)
                    self._changed.notify()
                    self._changed.wait_for(lambda: self._held < self.limit or self.closed)
        except (OSError, ValueError) as error:  # the pipe was closed
            ended = error
        with self._changed:
            self._ended = ended
            self._changed.notify()

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._pipe.fileno())

    def readinto(self, buffer: Any) -> int:
        with self._changed:
            while not self._changed.wait_for(lambda: self._blocks or self._ended, 1):
                pass  # signals are handled between two waits
            if not self._blocks:
                if isinstance(self._ended, BaseException):
                    raise self._ended
                return 0
            block = self._blocks.popleft()
            count = min(len(buffer), len(block))
            if count < len(block):
                self._blocks.appendleft(block[count:])
            self._held -= count
            self._changed.notify()
        buffer[:count] = block[:count]
        return count

    def allow(self, size: int) -> None:
        """Raise the limit to ``size``."""
        with self._changed:
            self.limit = max(self.limit, size)
            self._changed.notify()

    def close(self) -> None:
        if not self.closed:
            super().close()
            with self._changed:
                self._changed.notify()
            self._pipe.close()
