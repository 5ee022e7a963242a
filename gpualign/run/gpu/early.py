"""Starts the driver and creates contexts while Python is still importing: neither needs the GIL.

Errors are raised later, when the devices are opened.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence

from gpualign.errors import GpualignError
from gpualign.run import tuning

#: NVIDIA's driver
LIBRARY = "libcuda.so.1"


def begin(arguments: Sequence[str]) -> None:
    """Start opening the devices of a command line, as far as they are known without parsing it."""
    indices = _wanted(arguments)
    if indices is None or not os.path.exists("/dev/nvidiactl") or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return
    with contextlib.suppress(GpualignError, ImportError):  # raised again when the command starts
        from gpualign import _native

        _native.open_ahead(LIBRARY, indices)


def _wanted(arguments: Sequence[str]) -> list[int] | None:
    """Indices of devices, empty for all of them; None if no GPU is asked for or would save time."""
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    if "--dask" in words or "--cluster" in words:
        return None
    device = words[words.index("--device") + 1 :][:1] if "--device" in words else ["auto"]
    if device == ["auto"]:
        paths = [path for word in words for path in word.split(",")]
        sizes = [os.path.getsize(path) for path in paths if os.path.isfile(path)]
        return [] if sum(sizes) >= tuning.EARLY_BYTES or "--samples" in words else None
    match = re.fullmatch(r"cuda(?::(\d+(?:,(?:cuda:)?\d+)*))?", "".join(device))
    if match is None:
        return None
    return [int(number) for number in re.findall(r"\d+", match[1] or "")]
