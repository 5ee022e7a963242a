"""The native code that drives a device, with a library in the driver's place."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpualign import _native
from tests.helpers.fake_driver import SCALE_KERNEL, Fake


@pytest.fixture
def fake() -> Iterator[Fake]:
    fake = Fake()
    yield fake
    fake.use_context(0)


@pytest.fixture
def bell() -> Any:
    return _native.Bell()


@pytest.fixture
def driver(fake: Fake) -> Any:
    return _native.CudaDriver(fake.path)


@pytest.fixture
def stream(driver: Any, bell: Any) -> Iterator[Any]:
    stream = driver.stream(bell)
    yield stream
    stream.close()


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def scale(driver: Any) -> Any:
    return driver.load(SCALE_KERNEL).get_function("scale")


def test_copies_and_fills_in_order(stream: Any) -> None:
    device, back = np.full(40, 9, np.uint8), np.zeros((2, 2), np.uint8)
    stream.copy_to_device(address(device) + 8, np.arange(3, dtype=np.uint32))
    stream.fill(address(device) + 20, 5, 4)
    stream.copy_on_device(address(device), address(device) + 20, 2)
    stream.copy_from_device(back, address(device) + 16)
    assert device.tolist() == [9] * 40  # only written down
    stream.wait(stream.now(), 0.0)
    assert device.tolist() == [5, 5] + [9] * 6 + [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0] + [5] * 4 + [9] * 16
    assert back.tolist() == [[2, 0], [0, 0]]


def test_arrays_stay_until_they_are_copied(stream: Any) -> None:
    device, given = np.zeros(1000, np.uint8), np.full(1000, 3, np.uint8)
    stream.copy_to_device(address(device), given)
    del given
    gc.collect()
    other = [np.full(1000, 4, np.uint8) for _ in range(100)]
    stream.flush()
    stream.wait(stream.now(), 0.0)
    assert (device == 3).all()
    assert len(other) == 100


def test_a_kernel_has_its_arguments_as_in_memory(driver: Any, stream: Any) -> None:
    """A struct of 12 bytes, then numbers of one and two bytes, then addresses at the next multiple of eight."""
    numbers = np.zeros(1, [("count", np.uint32), ("unused", np.uint32, 2)])[0]
    numbers["count"] = 3
    source, result = np.array([1, 2, 3, 4], np.uint32), np.zeros(4, np.uint32)
    function = scale(driver)
    function.set_attribute(8, 512)
    assert function.num_regs == 40
    arguments = (numbers, np.uint8(5), np.uint16(300), address(result), address(source))
    stream.launch(function, (2, 3, 1), (64, 1, 1), 512, arguments)
    numbers["count"] = 4  # too late
    stream.wait(stream.now(), 0.0)
    assert result.tolist() == [305, 605, 905, 0]


@pytest.mark.parametrize("grid", [(1, 1, 1), (0, 3, 1)])
def test_a_launch_that_fails_is_said_when_it_is_enqueued(driver: Any, stream: Any, grid: tuple[int, int, int]) -> None:
    stream.launch(scale(driver), grid, (64, 1, 1), 0, (np.uint32(1),))
    with pytest.raises(_native.CudaError, match=r"launching a kernel failed: error 1"):
        stream.flush()
    stream.flush()  # it is not tried again


def test_device_memory_is_an_address_until_it_is_freed(fake: Fake, driver: Any, stream: Any) -> None:
    memory, back = driver.allocate(8), np.zeros(8, np.uint8)
    assert fake.held("allocated") == 1
    stream.fill(int(memory), 3, 8)
    stream.copy_from_device(back, int(memory))
    stream.wait(stream.now(), 0.0)
    assert back.tolist() == [3] * 8
    memory.free()
    assert fake.held("allocated") == 0
    with pytest.raises(MemoryError):
        driver.allocate(1 << 41)


def test_errors_have_the_drivers_text(fake: Fake, driver: Any, stream: Any) -> None:
    fake.set(failing_copies=1)
    stream.copy_to_device(0, np.zeros(1, np.uint8))
    with pytest.raises(_native.CudaError, match="copying to the device failed: an illegal memory access"):
        stream.wait(stream.now(), 0.0)
    with pytest.raises(_native.CudaError, match="loading machine code failed"):
        driver.load(b"ptxas")
    with pytest.raises(_native.CudaError, match="absent failed"):
        driver.load(SCALE_KERNEL).get_function("absent")
    with pytest.raises(_native.CudaError, match="libabsent"):
        _native.CudaDriver("libabsent.so")


def test_marks_are_told_in_seconds(stream: Any) -> None:
    """The fake driver's clock goes on by one with each event."""
    origin = stream.now()
    stream.mark()
    stream.fill(0, 0, 0)
    stream.mark()
    first = stream.wait(origin, 0.0)
    stream.mark()
    second = stream.wait(origin, 0.0)
    assert (first, second) == ([1.0, 2.0], [3.0])


def test_a_stream_waits_for_what_another_one_recorded(driver: Any, bell: Any, stream: Any) -> None:
    """What is enqueued after the record is not waited for, and an event that nobody recorded holds nobody up."""
    other, event = driver.stream(bell), driver.event()
    shared, back = np.zeros(2, np.uint8), np.zeros((2, 2), np.uint8)
    other.wait_for(event)
    other.fill(address(shared), 3, 2)
    other.record(event)
    other.fill(address(shared), 9, 2)
    other.flush()
    assert shared.tolist() == [0, 0]  # the fake driver works when it is waited for
    stream.wait_for(event)
    stream.copy_from_device(back[0], address(shared))
    stream.fill(address(shared), 4, 1)
    stream.record(event)
    stream.wait(stream.now(), 0.0)
    assert back[0].tolist() == [3, 3]
    assert shared.tolist() == [4, 3]
    other.wait_for(event)
    other.copy_from_device(back[1], address(shared))
    other.wait(other.now(), 0.0)
    assert back[1].tolist() == [9, 9]
    other.close()


def test_a_batch_that_fails_leaves_the_stream_to_the_next_one(fake: Fake, stream: Any) -> None:
    """All of its marks have a time, those after the failure, too; its other work is dropped."""
    origin, device = stream.now(), np.zeros(4, np.uint8)
    stream.mark()
    stream.copy_to_device(address(device), np.ones(4, np.uint8))
    stream.fill(address(device), 7, 4)
    stream.mark()
    fake.set(failing_copies=1)
    with pytest.raises(_native.CudaError, match="copying to the device failed"):
        stream.flush(last=True)
    fake.set(failing_copies=0)
    stream.copy_to_device(address(device), np.full(2, 5, np.uint8))
    stream.mark()
    assert stream.wait(origin, 0.0) == [1.0, 2.0, 3.0]
    assert device.tolist() == [5, 5, 0, 0]


def test_the_end_of_a_batch_rings_the_bell(fake: Fake, bell: Any, stream: Any) -> None:
    assert stream.is_done
    stream.fill(0, 0, 0)
    stream.flush(last=True)
    assert not stream.is_done
    ends = threading.Thread(target=lambda: stream.wait(stream.now(), 0.0))
    ends.start()
    started = time.perf_counter()
    bell.wait(60)
    assert time.perf_counter() - started < 60
    ends.join(timeout=60)
    assert stream.is_done
    assert "synchronize 0" in fake.calls


def test_a_bell_that_rang_before_does_not_let_wait(bell: Any) -> None:
    bell.ring()
    started = time.perf_counter()
    bell.wait(60)
    bell.wait(0.01)  # and it has rung once
    assert time.perf_counter() - started < 60


def test_arrays_are_copied_to_their_offsets() -> None:
    memory = np.zeros(12, np.uint8)
    numbers = np.array([[1, 2], [3, 4]], np.uint8)
    _native.copy_arrays(memory, [(2, numbers), (0, np.zeros(0, np.int64)), (8, np.array([258], np.uint32))])
    assert memory.tolist() == [0, 0, 1, 2, 3, 4, 0, 0, 2, 1, 0, 0]
    with pytest.raises(IndexError):
        _native.copy_arrays(memory, [(9, numbers)])
    assert memory.tolist() == [0, 0, 1, 2, 3, 4, 0, 0, 2, 1, 0, 0]


# -- pinned memory


@pytest.fixture
def pinned(fake: Fake, driver: Any) -> Any:
    fake.use_context(0xC0)
    return driver.pinned_memory()


def test_other_threads_pin_memory_within_the_devices_context(fake: Fake, pinned: Any) -> None:
    contexts = []

    def work() -> None:
        array = pinned.lock(1000)
        array[:] = 3
        assert (array.dtype, array.sum(), pinned.locked) == (np.uint8, 3000, 1000)
        del array
        contexts.append(fake.context)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=60)
    assert fake.calls == ["host alloc in 192", "host free in 192"]
    assert (contexts, pinned.locked, fake.held("allocated")) == ([None], 0, 0)


LARGE = 5 << 20


def test_large_memory_is_in_the_systems_pages(fake: Fake, pinned: Any) -> None:
    """Where it has large ones, or else the driver's own."""
    array = pinned.lock(LARGE)
    array[:] = 7
    assert array.nbytes == pinned.locked == LARGE
    assert fake.held("registered") + fake.held("allocated") == 1
    assert not fake.held("registered") or address(array) % (2 << 20) == 0
    view = array[100:200]
    del array
    gc.collect()
    assert pinned.locked == LARGE
    assert (view == 7).all()
    del view
    gc.collect()
    assert (pinned.locked, fake.held("registered"), fake.held("allocated")) == (0, 0, 0)


def test_the_driver_finds_pages_where_it_does_not_take_the_systems(fake: Fake, pinned: Any) -> None:
    fake.set(no_pages=1)
    array = pinned.lock(LARGE)
    assert (fake.held("registered"), fake.held("allocated")) == (0, 1)
    del array
    gc.collect()
    assert fake.held("allocated") == 0


def test_what_is_held_when_the_device_closes(fake: Fake, pinned: Any) -> None:
    """Small pieces go with the context, and the system's pages stay until their users are gone."""
    small, large = pinned.lock(1000), pinned.lock(LARGE)
    pinned.close()
    pinned.close()
    assert fake.held("registered") == 0
    large[:] = 1
    calls = fake.calls
    del small, large
    gc.collect()
    assert fake.calls == calls
    with pytest.raises(MemoryError):
        pinned.lock(10)


def test_a_host_without_memory(fake: Fake, pinned: Any) -> None:
    fake.set(no_host_memory=1, no_pages=1)
    for size in (1000, LARGE):
        with pytest.raises(MemoryError):
            pinned.lock(size)
    assert pinned.locked == 0
    assert pinned.lock(0).shape == (0,)


# -- contexts before they are wanted


def opened(count: int = 3) -> list[bool]:
    _native.wait_for_driver()
    return [_native.opened_ahead(index) for index in range(count)]


def test_contexts_of_all_devices_are_retained_one_after_the_other(fake: Fake) -> None:
    _native.open_ahead(fake.path, [])
    assert opened() == [True, True, False]
    assert fake.calls == ["init 0", "flags 4", "retain 0", "flags 104", "retain 1"]


def test_one_device_alone_is_opened(fake: Fake) -> None:
    _native.open_ahead(fake.path, [1])
    assert opened() == [False, True, False]
    assert fake.calls == ["init 0", "flags 104", "retain 1"]


@pytest.mark.parametrize("answers", [{"retain": 2}, {"init": 100}, {"devices": 0}])
def test_what_fails_is_left_to_who_opens_the_device(fake: Fake, answers: dict[str, int]) -> None:
    fake.set(**answers)
    _native.open_ahead(fake.path, [])
    assert opened() == [False] * 3


def test_a_machine_without_a_driver() -> None:
    _native.open_ahead("libabsent.so", [0])
    assert opened() == [False] * 3
