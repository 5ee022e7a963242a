"""The private parts of the packages isal and zlib-ng that gpualign uses, all in this module: functions of their C
libraries by address, for native code, as the packages' own functions take the GIL for every BGZF block, and isal's
inner reader of gzip, as the public one copies its text once more.

gpualign cannot build ISA-L, which needs an assembler that few machines have; libdeflate, which any compiler builds,
deflates at about half its speed. ``tests/io/test_isal_package.py`` and ``test_zlib_ng_package.py`` fail if a version of
a package lacks what is used here.
"""

from __future__ import annotations

import ctypes
import functools
import io
from collections.abc import Sequence
from typing import Any

from isal import isal_zlib

from gpualign import _native
from gpualign.errors import GpualignError
from gpualign.io import tuning

_OF_ISAL = ("isal_deflate_init", "isal_deflate", "isal_inflate_init", "isal_inflate", "crc32_gzip_refl")
_OF_ZLIB_NG = ("zng_deflateInit2", "zng_deflateReset", "zng_deflateTune", "zng_deflate", "zng_deflateEnd")


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
    before Python 3.12."""
    return io.BufferedReader(isal_zlib._GzipReader(stream, tuning.GZIP_READ_SIZE))


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
