"""Page-locked memory that is lent: by size, to any thread, and back when nobody has a view of it."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gpualign.engine.gpu import page_locked
from gpualign.engine.gpu.host_memory import HostMemory, is_lent


class Driver:
    """Counts what is allocated, as a driver that has page-locked memory for so many buffers."""

    MemoryError = MemoryError

    def __init__(self, maximum: int = 100) -> None:
        self.sizes: list[int] = []
        self.maximum = maximum

    def pagelocked_empty(self, size: int, dtype: type) -> np.ndarray:
        if len(self.sizes) == self.maximum:
            raise MemoryError
        if size:
            self.sizes.append(size)
        return np.empty(size, dtype)


def whole_buffers(driver: Driver) -> HostMemory:
    """Every buffer is page-locked by itself."""
    return HostMemory(driver, chunk=0)


def test_a_buffer_comes_back_when_its_last_view_goes() -> None:
    driver = Driver(maximum=1)
    memory = whole_buffers(driver)
    array = memory.lend(1000)
    assert array is not None
    assert len(array) == 1000
    array[:] = 7
    view = array[10:20].view(np.uint16)
    del array
    gc.collect()
    assert memory.lend(1000) is None
    assert (view == 0x0707).all()
    del view
    assert memory.lend(1000) is not None
    assert len(driver.sizes) == 1


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 257, 1000, 1025, 4_000_001, 5_000_000, (1 << 22), (1 << 22) + 1])
def test_buffers_are_large_enough_and_not_much_larger(nbytes: int) -> None:
    driver = Driver()
    memory = whole_buffers(driver)
    assert len(memory.make(nbytes)) == driver.sizes[0]
    assert nbytes <= driver.sizes[0] <= max(256, 1.25 * nbytes) + 256


def test_a_slots_array_grows_in_steps() -> None:
    """What is a little larger than the last one fits in its buffer, so nothing is allocated or freed."""
    driver = Driver()
    memory = whole_buffers(driver)
    sizes = [len(memory.make(nbytes)) for nbytes in range(1 << 20, 1 << 21, 1000)]
    assert len(set(sizes)) <= 5


@pytest.mark.parametrize(("free", "wanted", "again"), [(2000, 1000, True), (1792, 1000, True), (2049, 1000, False)])
def test_a_free_buffer_up_to_twice_as_large_is_taken(free: int, wanted: int, again: bool) -> None:
    driver = Driver()
    memory = HostMemory(driver, chunk=16)
    memory.make(free)
    gc.collect()
    assert len(memory.make(wanted)) >= wanted
    assert len(driver.sizes) == (2 if again else 3)


def test_no_more_is_locked_to_be_lent_than_is_allowed() -> None:
    """What must be had is had all the same."""
    driver = Driver()
    memory = HostMemory(driver, chunk=0, most=2048)
    held = [memory.lend(1024), memory.lend(1024)]
    assert all(array is not None for array in held)
    assert memory.lend(1024) is None
    assert len(memory.make(1024)) == 1024
    held.clear()
    assert memory.lend(1024) is not None
    assert len(driver.sizes) == 3


@pytest.mark.parametrize(("free", "most"), [(8 << 20, 1 << 20), (1 << 40, 4 << 30), (0, 0)])
def test_what_is_lent_leaves_memory_to_others(monkeypatch: pytest.MonkeyPatch, free: int, most: int) -> None:
    monkeypatch.setattr("gpualign.engine.gpu.host_memory.available_memory", lambda: free)
    memory = HostMemory(Driver(), chunk=0)
    memory._locker.lock = lambda size: np.zeros(0, np.uint8)  # type: ignore[method-assign]  # so much is not there
    assert memory.lend(most + (1 << 29)) is None
    assert (memory.lend(most - most // 8) is not None) == (most > 0)


def test_there_are_few_sizes() -> None:
    driver = Driver(maximum=10_000)
    memory = whole_buffers(driver)
    for nbytes in range(1 << 20, 1 << 21, 1000):
        memory.make(nbytes)
    assert len(driver.sizes) == len(range(1 << 20, 1 << 21, 1000)) or len(set(driver.sizes)) <= 5
    assert len(set(driver.sizes)) <= 5


def test_small_buffers_are_parts_of_what_is_locked_at_the_start() -> None:
    driver = Driver()
    memory = HostMemory(driver, chunk=1 << 16)
    assert driver.sizes == [1 << 16]
    buffers = [memory.make(1 << 12) for _ in range(16)]
    for number, buffer in enumerate(buffers):
        buffer[:] = number
    assert [set(buffer.tolist()) for buffer in buffers] == [{number} for number in range(16)]
    assert all(map(is_lent, buffers))
    assert driver.sizes == [1 << 16]
    memory.make(1 << 12)
    assert driver.sizes == [1 << 16] * 2
    del buffers
    assert memory.lend(1 << 12) is not None


def test_a_large_buffer_has_its_own_memory_and_leaves_the_chunk() -> None:
    driver = Driver()
    memory = HostMemory(driver, chunk=1 << 16)
    small, large = memory.make(1 << 12), memory.make(1 << 17)
    assert (len(small), len(large)) == (1 << 12, 1 << 17)
    memory.make(1 << 12)
    assert driver.sizes == [1 << 16, 1 << 17]


def test_a_host_without_space_for_a_chunk_says_so_when_it_is_asked() -> None:
    memory = HostMemory(Driver(maximum=0), chunk=1 << 16)
    with pytest.raises(MemoryError):
        memory.make(100)


def test_a_chunk_is_freed_when_the_last_of_its_parts_goes() -> None:
    memory = HostMemory(Driver(), chunk=1 << 16)
    lent, free = memory.make(100), memory.make(100)
    chunk = weakref.ref(memory._rest.base)
    del free
    memory.clear()
    gc.collect()
    assert chunk() is not None
    del lent
    memory.clear()
    gc.collect()
    assert chunk() is None


def test_it_is_known_among_other_arrays() -> None:
    memory = whole_buffers(Driver())
    array = memory.make(64)[:64]
    assert all(map(is_lent, (array, array[3:], array.view(np.uint32).reshape(4, 4))))
    other = np.zeros(64, np.uint8)
    assert not any(map(is_lent, (other, other[3:], np.frombuffer(b"abc", np.uint8))))


def test_cleared_buffers_are_gone_and_lent_ones_stay() -> None:
    driver = Driver(maximum=2)
    memory = whole_buffers(driver)
    lent, free = memory.make(100), memory.make(100)
    lent[:] = 3
    del free
    memory.clear()
    assert memory.lend(100) is None  # nor can more be had
    with pytest.raises(MemoryError):
        memory.make(100)
    assert (lent == 3).all()
    del lent
    assert memory.lend(100) is not None


def test_threads_never_get_one_buffer_at_a_time() -> None:
    memory = whole_buffers(Driver(maximum=3))
    buffers = [memory.make(4096) for _ in range(3)]
    del buffers
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(2000):
            array = memory.lend(4096)
            if array is not None:
                array[:] = number
                if (array != number).any():
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert wrong == []
    assert [memory.lend(4096) is not None for _ in range(3)] == [True] * 3  # each comes back at once
    held = [memory.lend(4096) for _ in range(4)]
    assert [array is None for array in held] == [False, False, False, True]


def test_nobody_waits_while_others_lock_large_buffers() -> None:
    """Each of two threads finds the other one at it."""
    both = threading.Barrier(2, timeout=60)

    class Slow(Driver):
        def pagelocked_empty(self, size: int, dtype: type) -> np.ndarray:
            if size:
                both.wait()
            return super().pagelocked_empty(size, dtype)

    memory = HostMemory(Slow(), chunk=0)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(memory.lend, [5000, 5000]))
    assert [array is not None and len(array) for array in found] == [5000, 5000]


class Library:
    """libcuda's functions for memory: a context a thread, and what is locked in which of them."""

    def __init__(self, fails: bool = False) -> None:
        self.current: dict[int, int | None] = {}
        self.kept: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.within: list[int | None] = []
        self.registered: dict[int, int] = {}
        self.fails, self.takes_no_pages = fails, False

    def cuCtxGetCurrent(self, context: Any) -> int:
        context._obj.value = self.current.get(threading.get_ident())
        return 0

    def cuCtxSetCurrent(self, context: Any) -> int:
        self.current[threading.get_ident()] = context.value
        return 0

    def cuMemHostAlloc(self, address: Any, size: Any, flags: int) -> int:
        assert flags == 1
        self.within.append(self.current[threading.get_ident()])
        if self.fails:
            return 2
        memory = ctypes.create_string_buffer(size.value)
        address._obj.value = ctypes.addressof(memory)
        self.kept[address._obj.value] = memory
        return 0

    def cuMemHostRegister_v2(self, address: Any, size: Any, flags: int) -> int:
        assert flags == 1
        assert address.value % (2 << 20) == 0
        self.within.append(self.current[threading.get_ident()])
        if self.fails or self.takes_no_pages:
            return 801
        self.registered[address.value] = size.value
        return 0

    def cuMemHostUnregister(self, address: Any) -> int:
        self.within.append(self.current[threading.get_ident()])
        ctypes.memset(address.value, 0, self.registered.pop(address.value))  # the pages are still there
        return 0

    def cuMemFreeHost(self, address: Any) -> int:
        self.within.append(self.current[threading.get_ident()])
        del self.kept[address.value]
        return 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    library.current[threading.get_ident()] = 0xC0
    return library


def pycuda() -> Any:
    """As a module of PyCUDA's name."""
    module = ModuleType("pycuda.driver")
    module.MemoryError = MemoryError  # type: ignore[attr-defined]
    return module


def test_other_threads_lock_pages_within_the_devices_context(library: Library) -> None:
    memory = HostMemory(pycuda(), chunk=0)

    def work() -> None:
        array = memory.lend(1000)
        assert array is not None
        array[:] = 3
        assert is_lent(array)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=60)
    assert library.within == [0xC0]
    assert [context for ident, context in library.current.items() if ident != threading.get_ident()] == [None]
    (kept,) = library.kept.values()
    assert kept.raw[:1000] == b"\3" * 1000
    memory.clear()
    gc.collect()
    assert library.kept == {}
    assert memory._locker.locked == 0
    assert library.within == [0xC0, 0xC0]


LARGE = 5 << 20


def test_large_pages_are_the_systems(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_locked, "large_pages", lambda: True)
    memory = HostMemory(pycuda(), chunk=0)
    array = memory.lend(LARGE)
    assert array is not None
    array[:] = 7
    assert (len(library.registered), library.kept) == (1, {})
    assert memory._locker.locked >= LARGE
    del array
    memory.clear()
    gc.collect()
    assert library.registered == {}
    assert memory._locker.locked == 0
    assert library.within == [0xC0, 0xC0]


def test_large_pages_that_are_lent_are_unregistered_before_the_context_goes(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_locked, "large_pages", lambda: True)
    memory = HostMemory(pycuda(), chunk=LARGE)
    lent = memory.lend(1000)
    assert lent is not None
    memory.close()
    assert library.registered == {}
    lent[:] = 1  # the pages themselves are there as long as they are lent
    del lent
    memory.clear()
    gc.collect()
    assert library.within == [0xC0, 0xC0]


@pytest.mark.parametrize("large", [False, True])
def test_the_driver_finds_pages_where_it_does_not_take_the_systems(
    library: Library, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(page_locked, "large_pages", lambda: large)
    library.takes_no_pages = True
    memory = HostMemory(pycuda(), chunk=0)
    array = memory.lend(LARGE)
    assert (library.registered, len(library.kept)) == ({}, 1)
    del array
    memory.clear()
    gc.collect()
    assert library.kept == {}
    assert memory._locker.locked == 0


def test_pages_that_are_lent_go_with_the_context(library: Library) -> None:
    memory = HostMemory(pycuda(), chunk=0)
    lent = memory.lend(1000)
    memory.close()
    del lent
    memory.clear()
    gc.collect()
    assert len(library.kept) == 1


def test_a_host_without_pages_lends_none(library: Library) -> None:
    library.fails = True
    memory = HostMemory(pycuda(), chunk=100)
    assert memory.lend(1000) is None
    with pytest.raises(MemoryError, match="1024 bytes"):
        memory.make(1000)


def test_large_buffers_are_page_locked_ahead() -> None:
    driver, size = Driver(), 1 << 24
    memory = HostMemory(driver, chunk=0)
    memory.ahead = 2
    held = [memory.lend(size)]
    memory._lockers.shutdown()  # waits for what it began
    assert len(driver.sizes) == 3
    held += [memory.lend(size) for _ in driver.sizes[1:]]
    assert len(driver.sizes) == len(held)  # nobody waited for these


def test_no_more_is_page_locked_ahead_than_may_be_lent() -> None:
    driver, size = Driver(), 1 << 24
    memory = HostMemory(driver, chunk=0, most=size)
    memory.ahead = 2
    assert memory.lend(size) is not None
    memory._lockers.shutdown()
    assert driver.sizes == [size]
