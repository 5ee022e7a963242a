"""Streams of compressed members, one after the other: bzip2, xz, and Zstandard by Python's own module (3.14) or by the
package zstandard."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from typing import Any

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
#: of frames that a reader skips, such as pzstd's first ones, after a byte from 0x50 to 0x5f
_SKIPPED_MAGIC = b"\x2a\x4d\x18"
#: compressed bytes fed at once: little, as each may become 32,768
_FED = 1 << 12


def is_zstd(head: bytes) -> bool:
    """Whether a file that begins so is compressed by zstd."""
    return head.startswith(_ZSTD_MAGIC) or (head[1:4] == _SKIPPED_MAGIC and head[0] >> 4 == 5)


def zstd_decompressor() -> tuple[Callable[[], Any], type[Exception]]:
    """What makes a decompressor of a frame, and what that raises on damage.

    Raises:
        ImportError: neither module is there.
    """
    try:
        module = importlib.import_module("compression.zstd")
        return module.ZstdDecompressor, module.ZstdError
    except ImportError:
        module = importlib.import_module("zstandard")
        return module.ZstdDecompressor().decompressobj, module.ZstdError


class MemberReader(io.RawIOBase):
    """The text of a stream of any number of members, between and after which zeros may stand, as in files from tapes.
    Reading raises EOFError where it is cut short, and what a decompressor raises where it is damaged: what follows a
    member and is none, too.

    Args:
        stream: the compressed bytes.
        new: makes a decompressor of a member.
    """

    def __init__(self, stream: Any, new: Callable[[], Any]) -> None:
        self._stream, self._new = stream, new
        self._member: Any = None
        self._fed, self._text = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            fed, self._fed = self._fed or self._stream.read(_FED), b""
            if not fed:
                if self._member is not None:
                    raise EOFError("a member is cut short")
                return 0
            if self._member is None:
                fed = fed.lstrip(b"\0")
                self._member = self._new() if fed else None
            if self._member is not None:
                self._decompress(fed)
        count = min(len(buffer), len(self._text))
        buffer[:count] = self._text[:count]
        self._text = self._text[count:]
        return count

    def _decompress(self, fed: bytes) -> None:
        self._text = memoryview(self._member.decompress(fed))
        if self._member.eof:
            self._fed, self._member = self._member.unused_data, None
