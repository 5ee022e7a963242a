"""The private parts of the packages isal and zlib-ng that gpualign uses, all in this module: functions of their C
libraries by address, for native code, as the packages' own functions take the GIL for every BGZF block, and isal's
inner reader of gzip, as the public one copies its text once more.

gpualign cannot build ISA-L, which needs an assembler that few machines have; libdeflate, which any compiler builds,
deflates at about half its speed. ``tests/text/test_isal_package.py`` and ``test_zlib_ng_package.py`` fail if a version
of a package lacks what is used here.
"""

from __future__ import annotations

import ctypes
import functools
import gzip
import io
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from isal import isal_zlib

from gpualign import _native
from gpualign.errors import GpualignError
from gpualign.text import tuning
from gpualign.text.streams import GZIP_MAGIC, Damaged, OtherBytes

_OF_ISAL = ("isal_deflate_init", "isal_deflate", "isal_inflate_init", "isal_inflate", "crc32_gzip_refl")
_OF_ZLIB_NG = ("zng_deflateInit2", "zng_deflateReset", "zng_deflateTune", "zng_deflate", "zng_deflateEnd")

#: longer than a header, but for its texts, or a trailer; it goes on after a header's first byte
_PADDING = GZIP_MAGIC[1:] + b"\xff" * 15
#: what isal says of bytes where a member should begin
_NO_HEADER = "Not a gzipped file"
_ISAL_ERROR = cast("type[Exception]", isal_zlib.IsalError)


@functools.cache
def isal() -> _native.IsalLibrary:
    """ISA-L's functions for native code, for whole groups of blocks.

    Raises:
        GpualignError: the package does not export them.
    """
    return _native.IsalLibrary(*_exported_functions(isal_zlib.__file__, _OF_ISAL, "isal", "ISA-L"))


@functools.cache
def zlib_ng() -> Any:
    """zlib-ng's functions for native code.

    Raises:
        GpualignError: the package does not export them.
    """
    from zlib_ng import zlib_ng  # few outputs need it

    return _native.ZlibNgLibrary(*_exported_functions(zlib_ng.__file__, _OF_ZLIB_NG, "zlib-ng", "zlib-ng"))


def open_gzip(stream: Any) -> Any:
    """The text of gzip members, through IGzipFile's inner reader: IGzipFile's own ``readinto`` copies and holds the GIL
    before Python 3.12. Reading raises EOFError if the stream is truncated, :class:`Damaged`, or isal's exceptions."""
    return io.BufferedReader(_GzipText(stream))


class _GzipText(io.RawIOBase):
    """The inner reader's text, and its errors in our words."""

    def __init__(self, stream: Any) -> None:
        self._padded = _Padded(stream)
        self._reader = isal_zlib._GzipReader(cast("BinaryIO", self._padded), tuning.GZIP_READ_SIZE)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return int(self._reader.readinto(buffer))
        except (gzip.BadGzipFile, OverflowError, _ISAL_ERROR) as error:
            if str(error).startswith(_NO_HEADER):
                raise OtherBytes("other bytes follow it") from error
            if self._padded.ended:
                raise EOFError("a member is cut short") from error
            wrong = "an invalid block" if isinstance(error, _ISAL_ERROR) else "a header or a checksum is wrong"
            raise Damaged(wrong) from error


class _Padded(io.RawIOBase):
    """A stream for the inner reader. It calls a few bytes after a member, too few for a header, a truncated file. Where
    it asks for more than there is and holds some, which by its buffer's size it does in headers and trailers alone, it
    gets bytes that belong into neither: its error says then which of the two it is.

    Attributes:
        ended: it has got them.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self.ended = stream, False

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        count = int(self._stream.readinto(view))
        if count or self.ended or len(view) in (0, tuning.GZIP_READ_SIZE):
            return count
        self.ended = True
        count = min(len(view), len(_PADDING))
        view[:count] = _PADDING[:count]
        return count


def _exported_functions(module: str, names: Sequence[str], package: str, library: str) -> list[int]:
    """Addresses of the C library's functions in the package's extension module, a file.

    Raises:
        GpualignError: it does not export them.
    """
    try:
        loaded = ctypes.CDLL(module)
        return [ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value or 0 for name in names]
    except (OSError, AttributeError) as error:
        raise GpualignError(
            f"this {package} package does not show {library} (pip install {package}): {error}"
        ) from error
