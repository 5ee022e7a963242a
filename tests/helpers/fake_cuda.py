"""A stand-in for ``pycuda.driver``: numpy buffers for device memory, callables for kernels, no device.

It checks what a real driver punishes: memory freed twice or never, use after free, use outside the context.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Mapping

import numpy as np
import pytest

from gpualign import _native
from gpualign.run.gpu import compiler
from gpualign.run.gpu import device as device_module
from tests.helpers import fake_driver


class Error(Exception):
    pass


class CompileError(Error):
    pass


class ctx_flags:
    SCHED_BLOCKING_SYNC = 4


class Allocation:
    #: bytes that are not zero at first: of large memory little is used, and pages cost more than most tests
    FILLED = 1 << 19

    def __init__(self, driver, size):
        self.driver, self.data, self.freed = driver, np.empty(size, np.uint8), False
        self.data[: self.FILLED] = 0xA5
        self.context = driver.check_context()
        self.context.live += size
        driver.allocations[int(self)] = self

    def __int__(self):
        return self.data.ctypes.data

    def free(self):
        self.driver.check_sound()
        assert not self.freed, "freed twice"
        assert self.driver.check_context() is self.context
        self.freed = True
        del self.driver.allocations[int(self)]
        self.context.live -= len(self.data)


class Stream:
    """As ``_native.CudaStream``, but that all is done at once."""

    is_done = True

    def __init__(self, driver):
        self.driver, self.marks = driver, []

    def copy_to_device(self, to, array):
        self.driver.memcpy_htod_async(to, array, self)

    def copy_from_device(self, array, source):
        self.driver.memcpy_dtoh_async(array, source, self)

    def copy_on_device(self, to, source, nbytes):
        ctypes.memmove(self.driver.memory_at(to, nbytes), self.driver.memory_at(source, nbytes), nbytes)

    def fill(self, to, value, nbytes):
        ctypes.memset(self.driver.memory_at(to, nbytes), value, nbytes)

    def launch(self, function, grid, block, shared, arguments):
        function(*arguments, grid=grid, block=block, shared=shared, stream=self)

    def deflate(self, *arguments, **arrays):
        self._now(lambda stream: stream.deflate(*arguments, **arrays))

    def inflate(self, *arguments, **arrays):
        self._now(lambda stream: stream.inflate(*arguments, **arrays))

    def _now(self, write_down):
        stream = _native.CudaDriver(fake_driver.path()).stream(_native.Bell())
        write_down(stream)
        stream.wait(stream.now(), 0.0)
        stream.close()

    def wait_for(self, event):
        self.driver.check_context()

    def record(self, event):
        self.driver.check_context()

    def mark(self):
        self.marks.append(time.perf_counter())

    def now(self):
        return time.perf_counter()

    def flush(self, last=False):
        pass

    def wait(self, origin, spin_s):
        self.driver.check_sound()
        marks, self.marks = self.marks, []
        return [mark - origin for mark in marks]

    def close(self):
        pass


class PinnedMemory:
    """As ``_native.PinnedMemory``."""

    def __init__(self, driver):
        self.driver, self.locked = driver, 0

    def lock(self, size):
        memory = self.driver.pagelocked_empty(size, np.uint8)
        self.locked += size
        return memory

    def close(self):
        pass


class Context:
    def __init__(self, driver):
        self.driver, self.thread, self.live = driver, threading.get_ident(), 0
        driver.contexts.append(self)

    def push(self):
        self.driver.check_context()

    def pop(self):
        self.driver.check_context()

    def detach(self):
        assert self.live == 0 or self.driver.broken, f"{self.live} bytes of device memory were not freed"
        self.driver.contexts.remove(self)


class Module:
    """``code``: what the stand-in for the compiler gave; functions that depend on it have a method ``of``."""

    def __init__(self, functions, code):
        self.functions, self.code = functions, code

    def get_function(self, name):
        function = self.functions[name]
        return function.of(self.code) if hasattr(function, "of") else function


class device_attribute:
    MULTIPROCESSOR_COUNT = "multiprocessors"
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = "shared memory"


class function_attribute:
    MAX_DYNAMIC_SHARED_SIZE_BYTES = "dynamic shared memory"


class FakeDriver:
    """``devices`` of (name, capability); each has ``memory`` bytes."""

    Error, CompileError, ctx_flags = Error, CompileError, ctx_flags
    device_attribute, function_attribute = device_attribute, function_attribute
    #: the state of a context after a kernel wrote where it must not: no call of it works any more
    broken = False

    def __init__(self, devices=(("Fake A", (9, 0)),), memory=1 << 30, functions=None):
        self.devices, self.memory = devices, memory
        self.contexts, self.allocations = [], {}
        self.functions = functions or {}
        driver = self

        class Device:
            def __init__(self, index):
                self.index = index

            @staticmethod
            def count():
                return len(driver.devices)

            def name(self):
                return driver.devices[self.index][0]

            def compute_capability(self):
                return driver.devices[self.index][1]

            def total_memory(self):
                return driver.memory

            def get_attribute(self, attribute):
                return {"multiprocessors": 2, "shared memory": 100 << 10}[attribute]

            def make_context(self, flags):
                return Context(driver)

            def retain_primary_context(self):
                return Context(driver)

        self.Device = Device

    def stream(self, bell):
        self.check_context()
        return Stream(self)

    def event(self):
        self.check_context()
        return object()

    def load(self, code):
        self.check_context()
        return Module(self.functions, code)

    def pinned_memory(self):
        return PinnedMemory(self)

    def memory_at(self, address, size):
        """The address itself, where all of that is allocated."""
        assert any(
            begin <= address and address + size <= begin + len(held.data)
            for begin, held in self.allocations.copy().items()  # another device may allocate
        )
        return address

    def check_sound(self):
        if self.broken:
            raise Error("an illegal memory access was encountered")

    def check_context(self):
        mine = [context for context in self.contexts if context.thread == threading.get_ident()]
        assert mine, "no context in this thread"
        return mine[-1]

    def get_driver_version(self):
        return 13000

    def mem_get_info(self):
        return self.memory - self.check_context().live, self.memory

    def allocate(self, size):
        if self.check_context().live + size > self.memory:
            raise MemoryError
        return Allocation(self, size)

    def pagelocked_empty(self, size, dtype):
        return np.full(size, 0x5A, dtype)

    def memcpy_htod(self, pointer, array):
        self.memcpy_htod_async(pointer, array, None)

    def memcpy_htod_async(self, pointer, array, stream):
        ctypes.memmove(self.memory_at(int(pointer), array.nbytes), array.ctypes.data, array.nbytes)

    def memcpy_dtoh_async(self, array, pointer, stream):
        ctypes.memmove(array.ctypes.data, self.memory_at(int(pointer), array.nbytes), array.nbytes)

    def memcpy_dtoh(self, array, pointer):
        self.memcpy_dtoh_async(array, pointer, None)


ALLOCATIONS = ("allocate", "pagelocked_empty")
COPIES = ("memcpy_htod", "memcpy_htod_async", "memcpy_dtoh_async")


class FaultyDriver(FakeDriver):
    """Calls by the names in ``sites`` are numbered; those from ``first`` to ``last`` fail."""

    def __init__(self, sites: tuple[str, ...], first: int = 0, last: int = 0) -> None:
        super().__init__(devices=(("Fake A", (9, 0)),))
        self.sites, self.first, self.last, self.calls = sites, first, last, 0
        for name in sites:
            setattr(self, name, self._counted(name, getattr(self, name)))

    def _counted(self, name, call):
        def counted(*arguments, **options):
            self.calls += 1
            if self.first <= self.calls <= self.last:
                raise MemoryError(f"{name}: out of memory") if name in ALLOCATIONS else Error(f"{name} failed")
            return call(*arguments, **options)

        return counted


def install_kernels(monkeypatch: pytest.MonkeyPatch, functions: Mapping[str, object], memory: int) -> None:
    """The one GPU there is has these kernels, for which nothing is compiled."""
    driver = FakeDriver(functions=functions, memory=memory)
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    monkeypatch.setattr(compiler, "compile_module", lambda source, architecture, defines: b"")
