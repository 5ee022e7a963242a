"""The pool of pinned memory: buffers by size, for any thread, reused once nobody has a view of them."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gpualign.run.gpu.pinned_pool import PinnedPool, is_pinned


class Driver:
    """Counts what is allocated, as a driver that can pin so many buffers."""

    def __init__(self, maximum: int = 100) -> None:
        self.sizes: list[int] = []
        self.maximum = maximum

    @property
    def locked(self) -> int:
        return sum(self.sizes)

    def lock(self, size: int) -> np.ndarray:
        if len(self.sizes) == self.maximum:
            raise MemoryError
        if size:
            self.sizes.append(size)
        return np.empty(size, np.uint8)


def whole_buffers(driver: Driver) -> PinnedPool:
    """Every buffer is pinned by itself."""
    return PinnedPool(driver, chunk=0)


def test_a_buffer_comes_back_when_its_last_view_goes() -> None:
    driver = Driver(maximum=1)
    memory = whole_buffers(driver)
    array = memory.allocate(1000)
    assert array is not None
    assert len(array) == 1000
    array[:] = 7
    view = array[10:20].view(np.uint16)
    del array
    gc.collect()
    assert memory.allocate(1000) is None
    assert (view == 0x0707).all()
    del view
    assert memory.allocate(1000) is not None
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
    memory = PinnedPool(driver, chunk=16)
    memory.make(free)
    gc.collect()
    assert len(memory.make(wanted)) >= wanted
    assert len(driver.sizes) == (2 if again else 3)


def test_no_more_is_pinned_than_is_allowed() -> None:
    """What must be had is had all the same."""
    driver = Driver()
    memory = PinnedPool(driver, chunk=0, limit=2048)
    held = [memory.allocate(1024), memory.allocate(1024)]
    assert all(array is not None for array in held)
    assert memory.allocate(1024) is None
    assert len(memory.make(1024)) == 1024
    held.clear()
    assert memory.allocate(1024) is not None
    assert len(driver.sizes) == 3


@pytest.mark.parametrize(("free", "most"), [(8 << 20, 1 << 20), (1 << 40, 4 << 30), (0, 0)])
def test_the_limit_leaves_memory_to_others(monkeypatch: pytest.MonkeyPatch, free: int, most: int) -> None:
    monkeypatch.setattr("gpualign.run.gpu.pinned_pool.available_memory", lambda: free)
    memory = PinnedPool(Driver(), chunk=0)
    memory._pinned.lock = lambda size: np.zeros(0, np.uint8)  # type: ignore[method-assign]  # so much is not there
    assert memory.allocate(most + (1 << 29)) is None
    assert (memory.allocate(most - most // 8) is not None) == (most > 0)


def test_there_are_few_sizes() -> None:
    driver = Driver(maximum=10_000)
    memory = whole_buffers(driver)
    for nbytes in range(1 << 20, 1 << 21, 1000):
        memory.make(nbytes)
    assert len(driver.sizes) == len(range(1 << 20, 1 << 21, 1000)) or len(set(driver.sizes)) <= 5
    assert len(set(driver.sizes)) <= 5


def test_small_buffers_are_parts_of_what_is_locked_at_the_start() -> None:
    driver = Driver()
    memory = PinnedPool(driver, chunk=1 << 16)
    assert driver.sizes == [1 << 16]
    buffers = [memory.make(1 << 12) for _ in range(16)]
    for number, buffer in enumerate(buffers):
        buffer[:] = number
    assert [set(buffer.tolist()) for buffer in buffers] == [{number} for number in range(16)]
    assert all(map(is_pinned, buffers))
    assert driver.sizes == [1 << 16]
    memory.make(1 << 12)
    assert driver.sizes == [1 << 16] * 2
    del buffers
    assert memory.allocate(1 << 12) is not None


def test_a_large_buffer_has_its_own_memory_and_leaves_the_chunk() -> None:
    driver = Driver()
    memory = PinnedPool(driver, chunk=1 << 16)
    small, large = memory.make(1 << 12), memory.make(1 << 17)
    assert (len(small), len(large)) == (1 << 12, 1 << 17)
    memory.make(1 << 12)
    assert driver.sizes == [1 << 16, 1 << 17]


def test_a_host_without_space_for_a_chunk_says_so_when_it_is_asked() -> None:
    memory = PinnedPool(Driver(maximum=0), chunk=1 << 16)
    with pytest.raises(MemoryError):
        memory.make(100)


def test_a_chunk_is_freed_when_the_last_of_its_parts_goes() -> None:
    memory = PinnedPool(Driver(), chunk=1 << 16)
    used, free = memory.make(100), memory.make(100)
    chunk = weakref.ref(memory._rest.base)
    del free
    memory.clear()
    gc.collect()
    assert chunk() is not None
    del used
    memory.clear()
    gc.collect()
    assert chunk() is None


def test_it_is_known_among_other_arrays() -> None:
    memory = whole_buffers(Driver())
    array = memory.make(64)[:64]
    assert all(map(is_pinned, (array, array[3:], array.view(np.uint32).reshape(4, 4))))
    other = np.zeros(64, np.uint8)
    assert not any(map(is_pinned, (other, other[3:], np.frombuffer(b"abc", np.uint8))))


def test_cleared_buffers_are_gone_and_used_ones_stay() -> None:
    driver = Driver(maximum=2)
    memory = whole_buffers(driver)
    used, free = memory.make(100), memory.make(100)
    used[:] = 3
    del free
    memory.clear()
    assert memory.allocate(100) is None  # nor can more be had
    with pytest.raises(MemoryError):
        memory.make(100)
    assert (used == 3).all()
    del used
    assert memory.allocate(100) is not None


def test_threads_never_get_one_buffer_at_a_time() -> None:
    memory = whole_buffers(Driver(maximum=3))
    buffers = [memory.make(4096) for _ in range(3)]
    del buffers
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(2000):
            array = memory.allocate(4096)
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
    assert [memory.allocate(4096) is not None for _ in range(3)] == [True] * 3  # each comes back at once
    held = [memory.allocate(4096) for _ in range(4)]
    assert [array is None for array in held] == [False, False, False, True]


def test_nobody_waits_while_others_lock_large_buffers() -> None:
    """Each of two threads finds the other one at it."""
    both = threading.Barrier(2, timeout=60)

    class Slow(Driver):
        def lock(self, size: int) -> np.ndarray:
            if size:
                both.wait()
            return super().lock(size)

    memory = PinnedPool(Slow(), chunk=0)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(memory.allocate, [5000, 5000]))
    assert [array is not None and len(array) for array in found] == [5000, 5000]


def test_large_buffers_are_pinned_ahead_for_the_devices_thread() -> None:
    driver, size = Driver(), 1 << 24
    memory = PinnedPool(driver, chunk=0)
    memory.ahead = 2
    held = [memory.allocate(size), memory.make(size)]
    memory._lockers.shutdown()  # waits for what it began
    assert len(driver.sizes) == 1 + 3
    held += [memory.make(size) for _ in range(2)]
    assert len(driver.sizes) == len(held)  # nobody waited for these


def test_no_more_is_pinned_ahead_than_allowed() -> None:
    driver, size = Driver(), 1 << 24
    memory = PinnedPool(driver, chunk=0, limit=size)
    memory.ahead = 2
    memory.make(size)
    memory._lockers.shutdown()
    assert driver.sizes == [size]
