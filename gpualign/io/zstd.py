"""Zstandard as a stream: by Python's own module (3.14), or by the package zstandard."""

from __future__ import annotations

import importlib
import io
from typing import Any

_MAGIC = b"\x28\xb5\x2f\xfd"
#: of frames that a reader skips, such as pzstd's first ones, after a byte from 0x50 to 0x5f
_SKIPPED_MAGIC = b"\x2a\x4d\x18"
#: compressed bytes fed at once: little, as each may become 32,768
_FED = 1 << 12


def is_zstd(head: bytes) -> bool:
    """Whether a file that begins so is compressed by zstd."""
    return head.startswith(_MAGIC) or (head[1:4] == _SKIPPED_MAGIC and head[0] >> 4 == 5)


class ZstdReader(io.RawIOBase):
    """The text of a zstd stream of any number of frames. Reading raises EOFError where it is cut short, and
    :attr:`damage` where it is damaged.

    Args:
        stream: the compressed bytes.

    Attributes:
        damage: the type of exception.

    Raises:
        ImportError: neither module is there.
    """

    def __init__(self, stream: Any) -> None:
        try:
            module = importlib.import_module("compression.zstd")
            self._new = module.ZstdDecompressor
        except ImportError:
            module = importlib.import_module("zstandard")
            self._new = module.ZstdDecompressor().decompressobj
        self.damage: type[Exception] = module.ZstdError
        self._stream: Any = stream
        self._frame: Any = None
        self._fed, self._text = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            fed = self._fed or self._stream.read(_FED)
            if not fed:
                if self._frame is not None:
                    raise EOFError("a frame is cut short")
                return 0
            self._frame = self._frame or self._new()
            self._text, self._fed = memoryview(self._frame.decompress(fed)), b""
            if self._frame.eof:
                self._fed, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._text))
        buffer[:count] = self._text[:count]
        self._text = self._text[count:]
        return count
