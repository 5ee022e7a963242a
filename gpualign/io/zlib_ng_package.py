"""The private parts of the zlib-ng package that gpualign uses, all in this module: zlib-ng's functions, as those of the
package take the GIL for every BGZF block. ``tests/io/test_zlib_ng_package.py`` fails if a version lacks them."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from gpualign import _native
from gpualign.errors import GpualignError

_FUNCTIONS = ("zng_deflateInit2", "zng_deflateReset", "zng_deflateTune", "zng_deflate", "zng_deflateEnd")


@functools.cache
def zlib_ng() -> Any:
    """zlib-ng's functions for native code.

    Raises:
        GpualignError: the package does not export them.
    """
    from zlib_ng import zlib_ng  # few outputs need it

    try:
        library = ctypes.CDLL(zlib_ng.__file__)
        addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _FUNCTIONS]
    except (OSError, AttributeError) as error:
        raise GpualignError(f"this zlib-ng package does not show zlib-ng (pip install zlib-ng): {error}") from error
    return _native.ZlibNgLibrary(*addresses)
