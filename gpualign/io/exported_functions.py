"""Functions of a C library that a Python package has within an extension module, for native code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from gpualign.errors import GpualignError


def exported_functions(module: str, names: Sequence[str], package: str, library: str) -> list[int]:
    """Their addresses in the extension module, a file.

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
