"""The parts of a cluster run without a cluster: what travels, and what a worker does with it."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import thread as executors
from typing import Any

import numpy as np
import pytest

from gpualign.backends.base import HostedStage, Stage
from gpualign.encoded import EncodedSequences
from gpualign.errors import DeviceError, GpualignError, InputError, UsageError
from gpualign.gapsmis import PairBlock
from gpualign.gpu import device as device_module
from gpualign.params import RunOptions
from tests.fake_cuda import FakeDriver

pytest.importorskip("distributed")

from gpualign.cluster import worker as worker_module
from gpualign.cluster.parcels import Parcel, pack, pack_item
from gpualign.cluster.worker import run_items


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("where", ["local", "local:0", "localhost:8786", ""])
def test_unknown_clusters_are_refused(where: str) -> None:
    with pytest.raises(UsageError, match="cluster must be"):
        RunOptions(cluster=where)


def test_shared_objects_travel_beside_the_item() -> None:

    sequences = EncodedSequences(["a", "b"], np.arange(1000, dtype=np.uint8), np.array([0, 400, 1000]))
    ids = np.array([1], np.int32)
    item = pack_item(PairBlock(sequences, sequences, ids, ids), lambda shared: 7)
    assert item.shared == (7,)
    assert item.nbytes < 1000 <= pack(sequences).nbytes
    block = item.load({7: pack(sequences).open()})
    assert block.patterns is block.texts
    assert block.patterns.sequence(1).tolist() == sequences.sequence(1).tolist()


def test_other_versions_are_refused() -> None:
    parcel = Parcel(pack([1]).data, [], version="0.0.0")
    with pytest.raises(GpualignError, match=r"has gpualign .*, this is 0\.0\.0"):
        parcel.open()


def test_errors_of_the_input_are_not_tried_again() -> None:
    def refuse(item: int) -> int:
        raise InputError("no good", "reads.fq", 7)

    stage: Stage[int, int] = Stage(refuse, lambda device: None)  # type: ignore[arg-type,return-value]
    answer = run_items(pack(stage), pack([1]), "cpu", None)
    assert isinstance(answer.error, InputError)
    assert str(answer.error) == "reads.fq:7: no good"


class _Doubler:
    """A kernel without a device."""

    def __init__(self, device: Any) -> None:
        pass

    def submit(self, slot: Any, item: int) -> None:
        pass

    def collect(self, slot: Any, item: int) -> int:
        return 2 * item


@pytest.mark.parametrize("device", ["cuda", "cuda,cpu", "cpu"])
def test_workers_drive_their_devices(device: str, monkeypatch: pytest.MonkeyPatch) -> None:

    driver = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    stage: HostedStage[int, Any] = HostedStage(
        cpu=lambda item: ("all", item),
        make_kernel=_Doubler,  # type: ignore[arg-type]
        before=lambda item: (f"kept {item}", item + 1),
        cpu_kernel=lambda item: 2 * item,
        after=lambda kept, result: (kept, result),
    )
    parcel = pack(stage)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda item: run_items(parcel, pack([item]), device, None), range(20)))
    expected = [("all", i) if device == "cpu" else (f"kept {i}", 2 * i + 2) for i in range(20)]
    assert [answer.results for answer in answers] == [[result] for result in expected]
    assert {answer.on_gpu for answer in answers} == {device != "cpu"}


def test_stages_take_turns_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:

    driver = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    parcels = [pack(Stage(lambda item: item, _Doubler)) for _ in range(2)]  # type: ignore[arg-type]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda item: run_items(parcels[item % 2], pack([item]), "cuda", None), range(20)))
    assert [answer.results for answer in answers] == [[2 * item] for item in range(20)]
    # what Dask deletes takes its engine and its device memory with it
    parcels.clear()
    gc.collect()
    wait_until(lambda: driver.contexts == [])


def test_a_worker_without_the_wanted_device_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise DeviceError("PyCUDA is not installed")

    monkeypatch.setattr(device_module, "load_driver", missing)
    stage = pack(Stage(lambda item: item, _Doubler))  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match=r"worker process \d+: PyCUDA is not installed"):
        run_items(stage, pack([1]), "cuda", None)
    assert run_items(stage, pack([1]), "auto", None).results == [1]


def test_a_stage_may_end_in_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector may find a dead stage in a thread that holds a lock which the start of an engine needs: here the
    executors' own, as when a task is being submitted."""
    monkeypatch.setattr(device_module, "load_driver", FakeDriver)
    engines = worker_module._Engines()
    ended = pack(Stage(lambda item: item, _Doubler))  # type: ignore[arg-type]
    with engines.of(ended, "cuda", None):
        pass
    collected = threading.Event()

    def collect_while_submitting() -> None:
        nonlocal ended
        with executors._global_shutdown_lock:  # type: ignore[attr-defined]
            del ended
            gc.collect()
        collected.set()

    with engines._changed:  # another thread starts an engine
        threading.Thread(target=collect_while_submitting, daemon=True).start()
        assert collected.wait(timeout=20)
    wait_until(lambda: engines._engine is None)
