"""The file that an index was built from, so that an index next to it is known to be of it, and not of a former file.

Times are no proof: a link can be moved, ``cp -p``, ``rsync -a`` and ``tar x`` bring older files, and a copy of both has
others. Size and checksum do; to read the file takes less time than to read its index. The bytes of an index depend on
the content alone.
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
        return {"bytes": self.stamp[0], "crc32": checksum} if unchanged else None


def is_source(recorded: Any, path: str) -> bool:
    """Whether the file ``path`` has the content that was recorded.

    Raises:
        OSError: it cannot be read.
    """
    if not isinstance(recorded, dict) or recorded.get("bytes") != os.stat(path).st_size:
        return False
    return _checksum(path) == recorded.get("crc32")


def _stamp(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _checksum(path: str) -> int:
    checksum = 0
    with open(path, "rb", buffering=0) as file:
        while part := file.read(_READ_BYTES):
            checksum = isal_zlib.crc32(part, checksum)
    return checksum
