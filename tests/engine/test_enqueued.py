"""Copies and clears by the driver's own library: what it is asked for, and what it answers."""

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from gpualign.engine.gpu.enqueued import Enqueued, enqueued


class Stream(NamedTuple):
    handle: int


class Function:
    """One of the library, which copies or clears memory of this process at once."""

    argtypes: tuple[Any, ...] = ()

    def __init__(self, work: Any) -> None:
        self.work, self.streams, self.answer = work, [], 0  # type: ignore[var-annotated]

    def __call__(self, to: int, what: int, size: int, stream: int) -> int:
        self.streams.append(stream)
        if not self.answer:
            self.work(to, what, size)
        return self.answer


class Library:
    def __init__(self) -> None:
        self.cuMemcpyHtoDAsync_v2, self.cuMemcpyDtoHAsync_v2 = Function(ctypes.memmove), Function(ctypes.memmove)
        self.cuMemsetD8Async = Function(ctypes.memset)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library()
    monkeypatch.setattr(ctypes, "PyDLL", lambda name: {"libcuda.so.1": library}[name])
    return library


@pytest.fixture
def pycuda() -> Any:
    module = ModuleType("pycuda.driver")
    module.Error = type("Error", (Exception,), {})  # type: ignore[attr-defined]
    return module


def test_copies_and_clears(library: Library, pycuda: Any) -> None:
    device, stream = np.full(40, 9, np.uint8), Stream(77)
    address, calls = int(device.ctypes.data), enqueued(pycuda)
    calls.memcpy_htod_async(address + 8, np.arange(3, dtype=np.uint32), stream)
    calls.memset_d8_async(address + 20, 5, 4, stream)
    assert device.tolist() == [9] * 8 + [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0] + [5] * 4 + [9] * 16
    back = np.zeros((2, 2), np.uint8)
    calls.memcpy_dtoh_async(back, address + 16, stream)
    assert back.tolist() == [[2, 0], [0, 0]]
    functions = library.cuMemcpyHtoDAsync_v2, library.cuMemcpyDtoHAsync_v2, library.cuMemsetD8Async
    assert [function.streams for function in functions] == [[77]] * 3


def test_errors_are_pycudas(library: Library, pycuda: Any) -> None:
    library.cuMemsetD8Async.answer = 700
    with pytest.raises(pycuda.Error, match="error 700"):
        Enqueued(pycuda).memset_d8_async(1 << 40, 0, 8, Stream(0))


def test_what_stands_in_for_pycuda_is_asked_itself() -> None:
    driver = object()
    assert enqueued(driver) is driver
