"""Arrays that stay on a device: what is there is what was given, by whatever way it went."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gpualign.run.gpu import device as device_module
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.device_arrays import Computed, DeviceArrays, DeviceText
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.sequences import make_reference


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    driver = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    return driver


def held(device: Device, *arrays: np.ndarray) -> list[bytes]:
    """What lies on the device of arrays that were put there."""

    def put() -> list[bytes]:
        kept = DeviceArrays(device, *arrays)
        contents = [pointer.data.tobytes() for pointer, _ in kept._held]
        kept.free()
        return contents

    return device.call(put).result()


@pytest.mark.parametrize("size", [1, 99, 100, 101, 1599, 1600, 10_007])
def test_a_large_array_goes_in_parts(fake, monkeypatch, size):
    monkeypatch.setattr("gpualign.run.tuning.STAGED_BYTES", 100)
    monkeypatch.setattr("gpualign.run.tuning.PART_BYTES", 64)
    array = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    with Device(list_devices()[0]) as device:
        assert held(device, array) == [array.tobytes()]
        assert device.timeline.bytes_to_device == size
        assert device.timeline.load_s > 0


def test_parts_of_wider_elements(fake, monkeypatch):
    monkeypatch.setattr("gpualign.run.tuning.STAGED_BYTES", 100)
    monkeypatch.setattr("gpualign.run.tuning.PART_BYTES", 64)
    array = np.arange(1001, dtype=np.uint64)
    with Device(list_devices()[0]) as device:
        assert held(device, array, array[:3]) == [array.tobytes(), array[:3].tobytes()]


def test_without_pinned_memory_it_goes_whole(fake, monkeypatch):
    monkeypatch.setattr("gpualign.run.tuning.STAGED_BYTES", 100)
    asked = []

    def refuse(size, dtype, mem_flags=0):
        asked.append(size)
        raise MemoryError("cuMemHostAlloc failed: out of memory")

    monkeypatch.setattr(fake, "pagelocked_empty", refuse)
    array = np.arange(1000, dtype=np.uint32)
    with Device(list_devices()[0]) as device:
        assert held(device, array) == [array.tobytes()]
    assert asked


@pytest.mark.parametrize("staged_bytes", [100, 1 << 28])
@pytest.mark.parametrize("capacity", [1 << 20, 1000])
def test_computed_and_padded_arrays(fake, monkeypatch, staged_bytes, capacity):
    """On the device, or beyond it in the host's memory."""
    monkeypatch.setattr("gpualign.run.tuning.STAGED_BYTES", staged_bytes)
    monkeypatch.setattr("gpualign.run.tuning.PART_BYTES", 64)
    given = np.random.default_rng(1).integers(0, 256, 1601, np.uint8)
    computed = Computed(len(given), lambda start, buffer: np.copyto(buffer, given[start : start + len(buffer)]))

    def put() -> list[bytes]:
        kept = DeviceArrays(device, given, computed, padding=16, beyond=True)
        assert len(kept._held) == (2 if capacity > 1000 else 0)
        contents = [ctypes.string_at(address - 16, len(given) + 32) for address in kept.addresses]
        kept.free()
        return contents

    with Device(list_devices()[0], max_memory=capacity) as device:
        assert device.call(put).result() == 2 * [bytes(16) + given.tobytes() + bytes(16)]


@pytest.mark.parametrize("part_bytes", [4, 12, 1 << 20])
def test_a_reference_with_unknown_bases(fake, monkeypatch, part_bytes):
    monkeypatch.setattr("gpualign.run.tuning.STAGED_BYTES", 1)
    monkeypatch.setattr("gpualign.run.tuning.PART_BYTES", part_bytes)
    text = "ACGTNNACR" + "ACGT" * 20 + "N" * 200 + "AC" * 16 + "N" * 33 + "T" + "NA" * 40 + "N"
    reference = make_reference(text)

    def put() -> tuple[bytes, bytes]:
        kept = DeviceText(device, reference)
        contents = ctypes.string_at(kept.text, len(text) // 4), ctypes.string_at(kept.mask, len(text) // 8 + 1)
        kept.free()
        return contents

    with Device(list_devices()[0]) as device:
        words, known = device.call(put).result()
    assert words == reference.words.tobytes()[: len(words)]
    bits = np.unpackbits(np.frombuffer(known, np.uint8), bitorder="little")[: len(text)]
    assert bits.tolist() == [base in "ACGT" for base in text]
