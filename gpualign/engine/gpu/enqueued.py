"""Copies and clears that are enqueued in a moment, for which the interpreter is kept.

PyCUDA gives it up for each of them, and while twenty threads read and write, to get it back takes many times as long as
the call. With two GPUs a quarter of the time of their threads went there. Where the driver makes a call wait, all wait.
"""

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

_ADDRESS, _SIZE = ctypes.c_void_p, ctypes.c_size_t


class Enqueued:
    """PyCUDA's functions by these names, of the driver's own library; host memory must be page-locked.

    Raises:
        the driver's Error: a call failed, or one before it.
    """

    def __init__(self, driver: Any) -> None:
        self._error, cuda = driver.Error, ctypes.PyDLL("libcuda.so.1")
        self._to_device, self._to_host, self._clear = (
            cuda.cuMemcpyHtoDAsync_v2,
            cuda.cuMemcpyDtoHAsync_v2,
            cuda.cuMemsetD8Async,
        )
        self._to_device.argtypes = self._to_host.argtypes = (_ADDRESS, _ADDRESS, _SIZE, _ADDRESS)
        self._clear.argtypes = (_ADDRESS, ctypes.c_ubyte, _SIZE, _ADDRESS)

    def memcpy_htod_async(self, pointer: Any, array: NDArray[Any], stream: Any) -> None:
        self._check(self._to_device(int(pointer), _address(array), array.nbytes, stream.handle))

    def memcpy_dtoh_async(self, array: NDArray[Any], pointer: Any, stream: Any) -> None:
        self._check(self._to_host(_address(array), int(pointer), array.nbytes, stream.handle))

    def memset_d8_async(self, pointer: Any, value: int, size: int, stream: Any) -> None:
        self._check(self._clear(int(pointer), value, size, stream.handle))

    def _check(self, error: int) -> None:
        if error:
            raise self._error(f"the driver enqueues nothing: error {error}")


def enqueued(driver: Any) -> Any:
    """:class:`Enqueued` of PyCUDA's driver; what stands in for that in tests, itself."""
    return Enqueued(driver) if isinstance(driver, ModuleType) else driver


def _address(array: NDArray[Any]) -> int:
    assert array.flags.c_contiguous
    return int(array.__array_interface__["data"][0])
