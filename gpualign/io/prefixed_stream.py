"""A stream whose first bytes have been read and are put back in front."""

from __future__ import annotations

import io
from typing import Any


class Rewound(io.RawIOBase):
    """``head``, then what ``rest`` has left."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            return int(self._rest.readinto(buffer))
        data = self._head[: len(buffer)]
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)
