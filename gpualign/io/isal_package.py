"""The private parts of the isal package that gpualign uses, all in this module.

ISA-L needs an assembler that few machines have, so gpualign cannot build it; libdeflate, which any compiler builds,
deflates at about half its speed. With the package's public functions each BGZF block would wait for the GIL, and the
thread that inflates gzip would copy its text once more. ``tests/io/test_isal_package.py`` fails if a version of the
package lacks what is used here.
"""

from __future__ import annotations

import functools
import io
from typing import Any

from isal import isal_zlib

from gpualign import _native
from gpualign.io import tuning
from gpualign.io.exported_functions import exported_functions

_FUNCTIONS = ("isal_deflate_init", "isal_deflate", "isal_inflate_init", "isal_inflate", "crc32_gzip_refl")


@functools.cache
def isal() -> _native.IsalLibrary:
    """ISA-L's functions for native code, for whole groups of blocks.

    Raises:
        GpualignError: the package does not export them.
    """
    return _native.IsalLibrary(*exported_functions(isal_zlib.__file__, _FUNCTIONS, "isal", "ISA-L"))


def open_gzip(stream: Any) -> Any:
    """The text of gzip members, through IGzipFile's inner reader: IGzipFile's own ``readinto`` copies and holds the GIL
    before Python 3.12."""
    return io.BufferedReader(isal_zlib._GzipReader(stream, tuning.GZIP_READ_SIZE))
