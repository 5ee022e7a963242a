"""The file that an index was built from, so that one that is kept next to it can be told from one of a former file.

Times alone do not tell: a link can be moved, and ``cp -p``, ``rsync -a`` and ``tar x`` bring older files. The system
sets the time of an inode's last change, so where that and all else are as they were, the content is, too. Otherwise a
file of the same size is read: a copy of both files has other times, and needs no other index.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from isal import isal_zlib

_READ_BYTES = 1 << 23


@dataclass(frozen=True)
class SourceFile:
    """A file as it was before it was read.

    Attributes:
        path: its name.
        stamp: size, and the times of the last change of content and inode in nanoseconds.
    """

    path: str
    stamp: tuple[int, int, int]

    @classmethod
    def of(cls, path: str) -> SourceFile | None:
        """None for standard input and pipes, which cannot be read again."""
        return cls(path, _stamp(path)) if os.path.isfile(path) else None

    def recorded(self) -> dict[str, Any] | None:
        """For an index; None if the file has changed since."""
        try:
            checksum = _checksum(self.path)
            unchanged = _stamp(self.path) == self.stamp
        except OSError:
            return None
        return {"stamp": self.stamp, "crc32": checksum} if unchanged else None


def is_source(recorded: Any, path: str) -> bool:
    """Whether the file ``path`` has the content that was recorded.

    Raises:
        OSError: it cannot be read.
    """
    if not isinstance(recorded, dict):
        return False
    then, now = recorded.get("stamp"), list(_stamp(path))
    if then == now:
        return True
    same_size = isinstance(then, list) and then[:1] == now[:1]
    return same_size and _checksum(path) == recorded.get("crc32")


def _stamp(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _checksum(path: str) -> int:
    checksum = 0
    with open(path, "rb", buffering=0) as file:
        while part := file.read(_READ_BYTES):
            checksum = isal_zlib.crc32(part, checksum)
    return checksum
