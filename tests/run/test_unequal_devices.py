"""Devices of unequal speed share a queue; results of parts are joined."""

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


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    driver = FakeDriver(devices=(("Fake A", (9, 0)), ("Fake B", (8, 0))))
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    return driver


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


def double(item):
    return item * 2


STAGE = Stage(double, SlowingDoubler)


def items():
    return [np.arange(i, i + SIZE) for i in range(ITEMS)]


def test_the_faster_device_takes_more_items():
    with CudaBackend(list_devices()) as backend:
        results = list(backend.run(iter(items()), STAGE))
        fast, slow = (device["batches"] for device in backend.report()["devices"])
    for item, result in zip(items(), results, strict=True):
        np.testing.assert_array_equal(result, item * 2)
    assert fast + slow == ITEMS
    assert fast > 2 * slow > 0


def test_no_device_can_begin():
    def broken(device):
        raise DeviceError("no kernel image")

    with CudaBackend(list_devices()) as backend, pytest.raises(DeviceError, match="kernel image"):
        list(backend.run(iter(items()), Stage(double, broken)))


def test_a_consumer_may_stop_early():
    with CudaBackend(list_devices()) as backend:
        results = backend.run(iter(items()), STAGE)
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
