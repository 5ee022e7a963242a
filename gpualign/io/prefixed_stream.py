"""A stream with bytes that were read ahead put back in front."""

from __future__ import annotations

import io
from typing import Any

from gpualign.streaming.timeline import STEPS

#: length of ``last``: end-of-file markers are shorter
_REMEMBERED = 64


class PrefixedStream(io.RawIOBase):
    """``head``, followed by the stream ``rest``.

    Attributes:
        last: the last bytes that were read.
    """

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest, self.last = head, rest, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            count = min(len(buffer), len(self._head))
            buffer[:count] = self._head[:count]
            self._head = self._head[count:]
        else:
            with STEPS.at("read"):  # also if the caller inflates
                count = int(self._rest.readinto(buffer))
        self.last = (self.last + bytes(buffer[max(0, count - _REMEMBERED) : count]))[-_REMEMBERED:]
        return count
