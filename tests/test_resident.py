"""Arrays that stay on a device: what is there is what was given, by whatever way it went."""

from __future__ import annotations

import numpy as np
import pytest

from gpualign.gpu import device as device_module
from gpualign.gpu import resident
from gpualign.gpu.device import Device, list_devices
from gpualign.gpu.resident import ResidentArrays
from tests.fake_cuda import FakeDriver, MemoryError


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    driver = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    return driver


def held(device: Device, *arrays: np.ndarray) -> list[bytes]:
    """What lies on the device of arrays that were put there."""

    def put() -> list[bytes]:
        kept = ResidentArrays(device, *arrays)
        contents = [pointer.data.tobytes() for pointer, _ in kept._held]
        kept.free()
        return contents

    return device.call(put).result()


@pytest.mark.parametrize("size", [1, 99, 100, 101, 1599, 1600, 10_007])
def test_a_large_array_goes_in_parts(fake, monkeypatch, size):
    monkeypatch.setattr(resident, "_STAGED_BYTES", 100)
    monkeypatch.setattr(resident, "_PART_BYTES", 64)
    array = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    with Device(list_devices()[0]) as device:
        assert held(device, array) == [array.tobytes()]
        assert device.timeline.bytes_to_device == size
        assert device.timeline.load_s > 0


def test_parts_of_wider_elements(fake, monkeypatch):
    monkeypatch.setattr(resident, "_STAGED_BYTES", 100)
    monkeypatch.setattr(resident, "_PART_BYTES", 64)
    array = np.arange(1001, dtype=np.uint64)
    with Device(list_devices()[0]) as device:
        assert held(device, array, array[:3]) == [array.tobytes(), array[:3].tobytes()]


def test_without_page_locked_memory_it_goes_whole(fake, monkeypatch):
    monkeypatch.setattr(resident, "_STAGED_BYTES", 100)
    asked = []

    def refuse(size, dtype, mem_flags=0):
        asked.append(size)
        raise MemoryError("cuMemHostAlloc failed: out of memory")

    monkeypatch.setattr(fake, "pagelocked_empty", refuse)
    array = np.arange(1000, dtype=np.uint32)
    with Device(list_devices()[0]) as device:
        assert held(device, array) == [array.tobytes()]
    assert asked
