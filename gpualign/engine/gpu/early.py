"""The driver and its contexts, begun while the interpreter is still importing: neither needs it, and both take as long.

Nothing here imports more than Python's own modules. What fails is left to who opens the devices, and said there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
from collections.abc import Sequence

#: of the driver's interface (cuda.h): a host's thread that waits for the device sleeps
_SCHEDULE_BLOCKING_SYNC = 4
#: bytes of input from which on a GPU will be wanted where nobody says so
_MUCH = 32 << 20
_begun: dict[int, Opening] = {}


class Opening:
    """A device's primary context in the making, in a thread of its own.

    Args:
        after: what is made before, as the driver makes one at a time, and the first is wanted soon.
    """

    def __init__(self, driver: ctypes.CDLL, index: int, after: Opening | None = None) -> None:
        self._driver, self._index, self._after, self._retained = driver, index, after, False
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"gpualign-open{index}")
        self._thread.start()

    def _run(self) -> None:
        if self._after is not None:
            self._after.ready()
        device, context = ctypes.c_int(), ctypes.c_void_p()
        driver = self._driver
        with contextlib.suppress(AttributeError):  # an old driver
            self._retained = (
                driver.cuDeviceGet(ctypes.byref(device), self._index) == 0
                and driver.cuDevicePrimaryCtxSetFlags_v2(device, _SCHEDULE_BLOCKING_SYNC) == 0
                and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
            )

    def ready(self) -> bool:
        """Whether the context is there; waits for it."""
        self._thread.join()
        return self._retained


def begin(arguments: Sequence[str]) -> None:
    """Begin to open the devices that a command line asks for, as far as that can be seen without reading it in full."""
    indices = _wanted(arguments)
    if indices is None or not os.path.exists("/dev/nvidiactl") or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return

    def run() -> None:
        with contextlib.suppress(OSError, AttributeError):
            driver = ctypes.CDLL("libcuda.so.1")
            count = ctypes.c_int()
            if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
                before = None
                for index in indices or range(count.value):
                    before = _begun[index] = Opening(driver, index, before)

    global _beginning
    _beginning = threading.Thread(target=run, daemon=True, name="gpualign-open")
    _beginning.start()


_beginning: threading.Thread | None = None


def wait_for_driver() -> None:
    """Until the driver is up: who calls it earlier waits with the interpreter's lock."""
    if _beginning is not None:
        _beginning.join()


def context_is_there(index: int) -> bool:
    """Whether a device's primary context was made beforehand, as ``Device`` wants it; waits for it."""
    wait_for_driver()
    return index in _begun and _begun[index].ready()


def _wanted(arguments: Sequence[str]) -> list[int] | None:
    """Numbers of devices, none of them for all, or None where no GPU is asked for or worth it."""
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else [word])]
    if "--cluster" in words:
        return None
    device = words[words.index("--device") + 1 :][:1] if "--device" in words else ["auto"]
    if device == ["auto"]:
        paths = [path for word in words for path in word.split(",")]
        sizes = [os.path.getsize(path) for path in paths if os.path.isfile(path)]
        return [] if sum(sizes) >= _MUCH or "--samples" in words else None
    match = re.fullmatch(r"cuda(?::(\d+(?:,(?:cuda:)?\d+)*))?(?:,cpu)?", "".join(device))
    if match is None:
        return None
    return [int(number) for number in re.findall(r"\d+", match[1] or "")]
