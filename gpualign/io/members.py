"""Streams of concatenated compressed members: bzip2, xz, and Zstandard with Python's module (3.14) or the zstandard
package."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from typing import Any

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
#: magic of skippable frames, such as pzstd's, after a byte from 0x50 to 0x5f
_SKIPPED_MAGIC = b"\x2a\x4d\x18"
#: compressed bytes to decompress at a time; few, as one may expand to 32,768
_FED = 1 << 12


def is_zstd(head: bytes) -> bool:
    """Whether a file with this beginning is compressed by zstd."""
    return head.startswith(_ZSTD_MAGIC) or (head[1:4] == _SKIPPED_MAGIC and head[0] >> 4 == 5)


def zstd_decompressor() -> tuple[Callable[[], Any], type[Exception]]:
    """A factory of decompressors, and the exception they raise on damage.

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
    """The text of any number of members; zero bytes may follow a member, as in files from tapes. Reading raises
    EOFError if the stream is truncated, and the decompressor's exception if it is damaged or other bytes follow a
    member.

    Args:
        stream: the compressed bytes.
        new: factory of decompressors.
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
