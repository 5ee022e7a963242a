"""The CPU along with devices that are slower, as fast, and much faster: their share of the items and of the time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gpualign.align.lcs.cpu import ScoredBatch, score_on_cpu
from gpualign.align.lcs.query import encode_query
from gpualign.errors import DeviceError
from gpualign.map.alignments import Alignments
from gpualign.run.cuda import CudaBackend
from gpualign.run.gpu import device as device_module
from gpualign.run.gpu.device import list_devices
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.stage import Stage
from gpualign.sequences.batch import SequenceBatch
from tests.helpers.fake_cuda import FakeDriver

ITEMS, SIZE = 40, 4096
#: an item on a device, seconds
DEVICE_S = 0.02
THREADS = 4


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    driver = FakeDriver(devices=(("Fake A", (9, 0)), ("Fake B", (8, 0))))
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    return driver


@pytest.fixture
def quick_cores(monkeypatch):
    """Devices that have an item's work ahead of them in the tests are slow enough for cores to try one."""
    monkeypatch.setattr("gpualign.run.tuning.CORE_S", DEVICE_S)


class SlowingDoubler(DeviceKernel):
    """Doubles an array, in a time that goes with its size."""

    def __init__(self, device):
        super().__init__(device)
        self.slow = 3 if device.info.index == 1 else 1

    def launch(self, slot, item):
        pass

    def result(self, slot, item, launched):
        time.sleep(self.slow * DEVICE_S * len(item) / SIZE)
        return item * 2

    def split(self, item):
        half = len(item) // 2
        return [item[:half], item[half:]] if half else [item]

    def join(self, results):
        return np.concatenate(results)


def on_core(slower):
    """The same on a core, where all of them together are so many times slower than a device."""

    def work(item):
        time.sleep(THREADS * slower * DEVICE_S * len(item) / SIZE)
        return item * 2

    return work


def items():
    return [np.arange(i, i + SIZE) for i in range(ITEMS)]


def run(stage, threads, devices=1):
    """Seconds, and the items of the CPU and of each device."""
    with CudaBackend(list_devices()[:devices], cpu_threads=threads, host_threads=THREADS) as backend:
        start = time.perf_counter()
        results = list(backend.run(iter(items()), stage))
        seconds = time.perf_counter() - start
        report = backend.report()
    for item, result in zip(items(), results, strict=True):
        np.testing.assert_array_equal(result, item * 2)
    assert report["cpu_batches"] + report["gpu_batches"] == ITEMS
    return seconds, report["cpu_batches"], [device["batches"] for device in report["devices"]]


def hosted(slower):
    return Stage(on_core(slower), SlowingDoubler, lambda item, run: run(lambda allocate: item))


@pytest.mark.parametrize("make_stage", [lambda slower: Stage(on_core(slower), SlowingDoubler), hosted])
def test_cores_as_fast_as_the_device_take_half(make_stage, quick_cores):
    alone, _, _ = run(make_stage(1), 0)
    seconds, by_cores, _ = run(make_stage(1), THREADS)
    assert ITEMS // 8 < by_cores <= 0.6 * ITEMS
    assert seconds < 0.95 * alone


def test_slower_cores_take_their_share(quick_cores):
    alone, _, _ = run(Stage(on_core(4), SlowingDoubler), 0)
    seconds, by_cores, _ = run(Stage(on_core(4), SlowingDoubler), THREADS)
    assert 1 <= by_cores <= ITEMS // 4
    assert seconds < 1.2 * alone


@pytest.mark.parametrize("make_stage", [lambda slower: Stage(on_core(slower), SlowingDoubler), hosted])
def test_cores_that_are_far_slower_hold_nothing_up(make_stage):
    alone, _, _ = run(make_stage(100), 0)
    seconds, by_cores, _ = run(make_stage(100), THREADS)
    assert by_cores == 0
    assert seconds < 1.3 * alone


def test_unequal_devices_and_cores(quick_cores):
    _, by_cores, (fast, slow) = run(Stage(on_core(1), SlowingDoubler), THREADS, devices=2)
    assert fast > 2 * slow
    assert by_cores > 0


def test_a_fault_on_cpu_threads_comes_in_order(quick_cores):
    def work(item):
        if item[0] > 20:
            raise ValueError("a core")
        return on_core(0.5)(item)

    seen = []
    with CudaBackend(list_devices()[:1], cpu_threads=THREADS) as backend, pytest.raises(ValueError, match="a core"):
        seen.extend(backend.run(iter(items()), Stage(work, SlowingDoubler)))
    assert 3 <= len(seen) < ITEMS


def test_no_device_can_begin():
    def broken(device):
        raise DeviceError("no kernel image")

    with CudaBackend(list_devices(), cpu_threads=THREADS) as backend, pytest.raises(DeviceError, match="kernel image"):
        list(backend.run(iter(items()), Stage(on_core(1), broken)))


def test_a_consumer_may_stop_early():
    with CudaBackend(list_devices(), cpu_threads=THREADS) as backend:
        results = backend.run(iter(items()), Stage(on_core(1), SlowingDoubler))
        next(results)
        start = time.perf_counter()
        results.close()
    assert time.perf_counter() - start < 5


def test_scored_batches_are_joined():
    subjects = [b"ACGT" * n for n in range(1, 30)]
    batch = SequenceBatch.from_records([(f"s{i}", text.decode()) for i, text in enumerate(subjects)])
    query = encode_query("query", b"ACGGTTAC" * 5, "dna")
    whole = score_on_cpu([query], batch)
    parts = [score_on_cpu([query], batch.part(*ends)) for ends in ((0, 10), (10, 11), (11, 29))]
    np.testing.assert_array_equal(ScoredBatch.join(parts).lengths, whole.lengths)
    assert ScoredBatch.join(parts).batch.sequence(28) == subjects[28]


def test_alignments_of_parts_are_joined():
    def part(reads, first):
        count = 2 * reads  # two records a read, of one operation each
        return Alignments(
            *(np.arange(first, first + count).astype(kind) for kind in "HiqBii"),
            cigar=np.full(count, 100 << 4, np.uint32),
            cigar_offsets=np.arange(count + 1),
            record_offsets=np.arange(0, count + 1, 2),
        )

    joined = Alignments.join([part(3, 0), part(1, 6), part(0, 8), part(2, 8)])
    assert len(joined) == 6
    assert joined.position.tolist() == list(range(12))
    assert joined.cigar_offsets.tolist() == list(range(13))
    assert joined.record_offsets.tolist() == list(range(0, 13, 2))
    assert joined.flag.dtype == np.uint16
