"""The private parts of the zlib-ng package that gpualign uses, all in this module: zlib-ng's functions, as those of the
package take the GIL for every BGZF block. ``tests/io/test_zlib_ng_package.py`` fails if a version lacks them."""

from __future__ import annotations

import functools
from typing import Any

from gpualign import _native
from gpualign.io.exported_functions import exported_functions

_FUNCTIONS = ("zng_deflateInit2", "zng_deflateReset", "zng_deflateTune", "zng_deflate", "zng_deflateEnd")


@functools.cache
def zlib_ng() -> Any:
    """zlib-ng's functions for native code.

    Raises:
        GpualignError: the package does not export them.
    """
    from zlib_ng import zlib_ng  # few outputs need it

    return _native.ZlibNgLibrary(*exported_functions(zlib_ng.__file__, _FUNCTIONS, "zlib-ng", "zlib-ng"))
