"""Page-locked host memory from any thread. PyCUDA gives it to a context's own thread alone, and keeps the interpreter's
lock while the driver finds the pages, a third of a second for a gigabyte: all other threads would wait. Large pages
are found in half the time, and given back in a fifth."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import threading
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: of the driver's interface (cuda.h): all contexts may copy from and to it
_PORTABLE = 1
#: whether the system has large pages, and bytes of one and of a usual one
_SETTING = "/sys/kernel/mm/transparent_hugepage/enabled"
_LARGE_PAGE, _PAGE = 2 << 20, 1 << 12


@functools.cache
def large_pages() -> bool:
    """Whether the system gives large pages to who asks for them."""
    try:
        with open(_SETTING) as setting:
            return "[never]" not in setting.read()
    except OSError:
        return False


class PageLocker:
    """Made in a device's thread, used from any until :meth:`close`.

    Args:
        driver: PyCUDA's; what stands in for it in tests is asked itself.
    """

    def __init__(self, driver: Any) -> None:
        self._driver, self._closed = driver, False
        self._in_progress, self._changing = 0, threading.Condition()
        self._cuda = ctypes.CDLL("libcuda.so.1") if isinstance(driver, ModuleType) else None
        self._context = self._current()
        self._pages: dict[int, tuple[int, bool]] = {}  # by address: bytes, and whether they are the system's

    @property
    def locked(self) -> int:
        """Bytes that are page-locked now."""
        return sum(size for size, _ in self._pages.copy().values())  # which other threads change

    def lock(self, size: int) -> NDArray[np.uint8]:
        """uint8 (size,) of whatever content. It goes with its last view, at the latest with the device.

        Raises:
            the driver's MemoryError: the host has no memory.
        """
        if size == 0:
            return np.zeros(0, np.uint8)
        with self._changing:
            if self._closed:
                raise self._driver.MemoryError("the device is closed")
            self._in_progress += 1
        try:
            return self._lock(size)
        finally:
            with self._changing:
                self._in_progress -= 1
                self._changing.notify_all()

    def _lock(self, size: int) -> NDArray[np.uint8]:
        if self._cuda is None:
            memory: NDArray[np.uint8] = self._driver.pagelocked_empty(size, np.uint8)
            self._pages[int(memory.ctypes.data)] = size, False
            return memory
        if size >= _LARGE_PAGE and large_pages() and (pages := self._large(size)) is not None:
            return pages
        address = ctypes.c_void_p()
        if self._within("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), _PORTABLE) or not address.value:
            raise self._driver.MemoryError(f"{size} bytes cannot be page-locked")
        self._pages[address.value] = size, False
        return np.asarray(_Pages(self, address.value, size))

    def _large(self, size: int) -> NDArray[np.uint8] | None:
        """Large pages; None where the driver does not take them."""
        try:
            memory = mmap.mmap(-1, size + _LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            return None
        memory.madvise(mmap.MADV_DONTFORK)  # a copy on write would leave a device with the old pages
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(memory, np.uint8)
        begin = -whole.ctypes.data % _LARGE_PAGE
        array = whole[begin : begin + size]
        array[::_PAGE] = 0  # found here: who else calls the driver would wait for it
        address = int(array.ctypes.data)
        if self._within("cuMemHostRegister_v2", ctypes.c_void_p(address), ctypes.c_size_t(size), _PORTABLE):
            return None
        self._pages[address] = size, True
        return np.asarray(_Pages(self, address, size, array))

    def free(self, address: int) -> None:
        """Give back pages that :meth:`lock` gave."""
        if self._closed:
            return
        _, registered = self._pages.pop(address)
        self._within("cuMemHostUnregister" if registered else "cuMemFreeHost", ctypes.c_void_p(address))

    def close(self) -> None:
        """Before the context goes, with which all of it does: after what other threads lock now, and no more."""
        with self._changing:
            self._closed = True
            self._changing.wait_for(lambda: not self._in_progress)
        for address, (_, registered) in self._pages.copy().items():
            if registered:
                self._within("cuMemHostUnregister", ctypes.c_void_p(address))

    def _within(self, call: str, *arguments: Any) -> int:
        """Call the driver with the device's context current in this thread, and then what was before."""
        cuda, before = self._cuda, self._current()
        error = int(cuda.cuCtxSetCurrent(self._context) or getattr(cuda, call)(*arguments))  # type: ignore[union-attr]
        cuda.cuCtxSetCurrent(before)  # type: ignore[union-attr]
        return error

    def _current(self) -> ctypes.c_void_p:
        context = ctypes.c_void_p()
        if self._cuda is not None:
            self._cuda.cuCtxGetCurrent(ctypes.byref(context))
        return context


class _Pages:
    """What the views of page-locked memory keep alive."""

    def __init__(self, locker: PageLocker, address: int, size: int, memory: NDArray[np.uint8] | None = None) -> None:
        self._locker, self._address, self._memory = locker, address, memory
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        self._locker.free(self._address)
