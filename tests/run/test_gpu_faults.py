"""Calls of the CUDA driver fail: results are right or the run ends with the error that says why, and all that
was taken of the device is given back (the fake driver checks that when a context ends)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpualign.errors import GpualignError
from gpualign.run.cuda import CudaBackend
from gpualign.run.gpu import device as device_module
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.runner import run_on_devices
from gpualign.run.stage import Stage
from tests.helpers.fake_cuda import ALLOCATIONS, COPIES, Context, Error, FakeDriver, FaultyDriver
from tests.helpers.stand_ins import Doubler, batches


def run(monkeypatch: pytest.MonkeyPatch, driver: FaultyDriver) -> str:
    """What a run of five batches comes to: "right", or the kind of its error."""
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    items = batches(5)
    try:
        with CudaBackend(list_devices()) as backend:
            results = list(backend.run(iter(items), Stage(on_cpu=lambda item: item * 2, make_kernel=Doubler)))
    except GpualignError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        assert driver.contexts == []
    assert len(results) == len(items)
    for item, result in zip(items, results, strict=True):
        np.testing.assert_array_equal(result, item * 2)
    return "right"


def calls(monkeypatch: pytest.MonkeyPatch, sites: tuple[str, ...]) -> Iterator[int]:
    driver = FaultyDriver(sites)
    assert run(monkeypatch, driver) == "right"
    assert driver.calls > 3
    yield from range(1, driver.calls + 1)


def test_one_allocation_that_fails_is_made_good(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in calls(monkeypatch, ALLOCATIONS):
        assert run(monkeypatch, FaultyDriver(ALLOCATIONS, number, number)) == "right", number


def test_memory_that_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in calls(monkeypatch, ALLOCATIONS):
        outcome = run(monkeypatch, FaultyDriver(ALLOCATIONS, number, 10**9))
        assert outcome == "right" or outcome.startswith("OutOfMemoryError: cuda:0 (Fake A) has too little memory"), (
            number
        )


def test_copies_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in calls(monkeypatch, COPIES):
        outcome = run(monkeypatch, FaultyDriver(COPIES, number, number))
        assert outcome.startswith("GpualignError: cuda:0 (Fake A) failed: memcpy_"), number


def test_a_context_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Context, driver: FakeDriver) -> None:
        raise Error("device is busy")

    monkeypatch.setattr(Context, "__init__", refuse)
    outcome = run(monkeypatch, FaultyDriver(ALLOCATIONS))
    assert outcome.startswith("DeviceError: ")
    assert "device is busy" in outcome


def test_a_kernel_that_writes_where_it_must_not(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FaultyDriver(())

    class Wild(Doubler):
        def result(self, slot, item, launched):
            driver.broken = True
            slot.wait()

    monkeypatch.setattr(device_module, "load_driver", lambda: driver)

    def search() -> None:
        with CudaBackend(list_devices()) as backend:
            list(backend.run(iter(batches(5)), Stage(on_cpu=lambda item: item * 2, make_kernel=Wild)))

    with pytest.raises(GpualignError, match=r"cuda:0 \(Fake A\) failed: an illegal memory access"):
        search()
    assert driver.contexts == []


@pytest.mark.parametrize("batches_at_once", [1.4, 0.8])
def test_memory_that_collecting_lacks(monkeypatch: pytest.MonkeyPatch, batches_at_once: float) -> None:
    """Other batches in flight are finished first, then one that is too large by itself is halved."""
    monkeypatch.setattr(device_module, "load_driver", lambda: FakeDriver(devices=(("Fake A", (9, 0)),)))
    alone: list[int] = []

    class Hungry(Doubler):
        def launch(self, slot, item):
            slot.upload("in", item)

        def result(self, slot, item, launched):
            slot.device_array("more", 8 * item.nbytes)
            super().launch(slot, item)
            slot.wait()
            alone.append(len(item))
            return super().result(slot, item, launched)

    items = batches(9, size=10_000)
    memory = int(batches_at_once * 10 * items[0].nbytes)
    with Device(list_devices()[0], max_memory=memory) as device:
        results = list(run_on_devices(items, Hungry, [device], slots=3))
    for item, result in zip(items, results, strict=True):
        np.testing.assert_array_equal(result, item * 2)
    assert (min(alone) < 10_000) == (batches_at_once < 1)
