"""What is used of the isal package and is not promised by it: all of that, and nowhere else.

ISA-L is written for an assembler that few machines have, so that gpualign cannot build it; libdeflate, which any
compiler builds, deflates at about half its speed. Through the package's public functions each BGZF block would wait for
the GIL, and gzip would be copied once more by the thread that inflates it. ``tests/io/test_isal_package.py`` fails
where a version of the package no longer has what is used here.
"""

from __future__ import annotations

import ctypes
import functools
import io
from typing import Any

from isal import isal_zlib

from gpualign import _native
from gpualign.errors import GpualignError

_FUNCTIONS = ("isal_deflate_init", "isal_deflate", "isal_inflate_init", "isal_inflate", "crc32_gzip_refl")
#: compressed bytes that ISA-L gets at a time, at most: after them it waits for the GIL, for milliseconds where other
#: threads compute
_READ_SIZE = 1 << 23


@functools.cache
def isal() -> Any:
    """ISA-L's functions for native code, for whole groups of blocks.

    Raises:
        GpualignError: the package does not show them.
    """
    try:
        library = ctypes.CDLL(isal_zlib.__file__)
        addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    except (OSError, AttributeError) as error:
        raise GpualignError(f"this isal package does not show ISA-L (pip install isal): {error}") from error
    return _native.IsalLibrary(*addresses)


def open_gzip(stream: Any) -> Any:
    """The text of a stream of gzip members, by what IGzipFile reads by: its own ``readinto`` copies before Python 3.12,
    and holds the GIL."""
    return io.BufferedReader(isal_zlib._GzipReader(stream, _READ_SIZE))
