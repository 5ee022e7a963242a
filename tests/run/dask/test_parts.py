"""The parts of a cluster run without a cluster: what travels, and what a worker does with it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import thread as executors
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpualign.align.lcs.cpu import ScoredBatch
from gpualign.align.lcs.query import QueryStrands, encode_query
from gpualign.errors import DeviceError, InputError, UsageError
from gpualign.lcs.params import LcsFilterParams
from gpualign.lcs.select import select
from gpualign.params import RunOptions
from gpualign.run.gpu import device as device_module
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.stage import Stage
from gpualign.seeds.index.file import load_index, save_index
from gpualign.seeds.index.minimizers import IndexParams, build_index
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.pairs import PairBlock
from gpualign.text.chunks import read_chunks
from gpualign.text.files import InputFile
from gpualign.text.references import read_reference
from gpualign.text.text import Stored
from tests.helpers.environment import SANITIZED
from tests.helpers.fake_cuda import FakeDriver

pytest.importorskip("distributed")

from gpualign.run.dask import worker as worker_module
from gpualign.run.dask.shards import fingerprint, pack
from gpualign.run.dask.worker import run_items


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("where", ["local", "local:0", "localhost:8786", ""])
def test_unknown_clusters_are_refused(where: str) -> None:
    with pytest.raises(UsageError, match="dask must be"):
        RunOptions(dask=where)


def test_shared_objects_travel_next_to_the_item() -> None:

    sequences = EncodedSequences(["a", "b"], np.arange(1000, dtype=np.uint8), np.array([0, 400, 1000]))
    item = pack(("item", sequences, sequences), number_of=lambda shared: 7)
    assert item.shared == (7,)
    assert item.nbytes < 1000 <= pack(sequences).nbytes
    own, first, second = item.load({7: pack(sequences).open()})
    assert own == "item"
    assert first is second
    assert first.sequence(1).tolist() == sequences.sequence(1).tolist()


@pytest.mark.skipif(not sys.platform.startswith("linux") or SANITIZED, reason="glibc's allocator")
def test_buffers_of_one_task_serve_the_next() -> None:
    """In a thread, as tasks run in one: pages that come anew are faults. Half a gigabyte has 130,000."""
    program = """
import resource, sys, threading
from gpualign.run.malloc_tuning import reuse_memory

def work():
    for rounds in (1, 20):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(rounds):  # no arrays: NumPy asks for huge pages
            buffers = [b"x" * (size << 20) for size in (9, 7, 8, 3)]
            del buffers
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

reuse_memory()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert int(done.stdout) < 1000


def test_text_in_a_file_travels_as_its_bytes(tmp_path: Path) -> None:
    """Its descriptor is the number of another file, or of none, in another process."""
    path = tmp_path / "reads.fq"
    path.write_bytes(b"@r\nACGT\n+\nIIII\n" * 10_000)
    with InputFile(str(path)) as file:
        chunks = list(read_chunks(Stored(file), 100_000))
        assert all(chunk.data.stored for chunk in chunks)
        shard = pack(chunks, number_of=lambda shared: 0)
    assert shard.nbytes > 150_000
    copies = shard.load()
    assert not any(chunk.data.stored for chunk in copies)
    assert b"".join(bytes(chunk.text()) for chunk in copies) == path.read_bytes()


def test_an_index_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gpi"
    (tmp_path / "x.fa").write_text(">x\n" + "ACGGTCA" * 20 + "\n")
    save_index(build_index(read_reference(str(tmp_path / "x.fa")), IndexParams(5, 3), 1), str(path))
    shard = pack(load_index(str(path)), lambda path: True)
    assert shard.load().reference.names == ["x"]
    os.utime(path, (1, 1))
    with pytest.raises(InputError, match="has changed"):
        shard.load()


def test_a_file_is_the_same_where_its_time_is(tmp_path: Path) -> None:
    """Copies that differ in their middle, and so nowhere that is looked at."""
    one, other = tmp_path / "one", tmp_path / "other"
    for path, middle in ((one, b"A"), (other, b"C")):
        path.write_bytes(bytes(1 << 21) + middle + bytes(1 << 21))
    os.utime(one, ns=(5, 5))
    os.utime(other, ns=(6, 6))
    assert fingerprint(str(one)) not in (fingerprint(str(other)), None)
    assert fingerprint(str(one)) == fingerprint(str(one))
    assert fingerprint(str(tmp_path / "none")) is None


@pytest.mark.parametrize("queries", [[], [3], [0] * 40 + [1] * 39, [5, 5, 5, 6], [4] * 100])
def test_pairs_travel_as_runs(queries: list[int]) -> None:
    targets = [i if query else i + 7 for i, query in enumerate(queries)]
    block = PairBlock(np.array(queries, np.int32), np.array(targets, np.int32))
    sent = pack(block)
    copy = sent.load()
    assert (copy.queries.tolist(), copy.targets.tolist()) == (queries, targets)
    assert (copy.queries.dtype, copy.targets.dtype) == (np.int32, np.int32)
    assert len(queries) < 50 or sum(buffer.nbytes for buffer in sent.arrays) <= 40


def test_only_subjects_that_count_come_back() -> None:
    records = [("a", "AC", "I#"), ("bb", "", ""), ("c", "GGT", "IJK"), ("d", "T", "!"), ("ee", "ACGT", "ABCD")]
    scored = ScoredBatch(SequenceBatch.from_records(records), np.array([[2, 0, 3, 1, 4]] * 2, np.int32))
    queries = [QueryStrands(name, 4, (encode_query(name, b"ACGT", "dna"),)) for name in "qr"]
    few = select(LcsFilterParams(top=2, whole_records=True), queries, scored)
    assert (few.hits.number.tolist(), few.hits.query.tolist()) == ([2, 4, 2, 4], [0, 0, 1, 1])
    assert (few.hits.lcs.tolist(), few.hits.lengths.tolist()) == ([3, 4, 3, 4], [3, 4, 3, 4])
    assert [few.hits.batch.name(i) for i in few.hits.subject.tolist()] == ["c", "ee", "c", "ee"]
    assert [few.hits.batch.sequence(i) for i in range(len(few.hits.batch))] == [b"GGT", b"ACGT"]
    assert (few.subjects, few.residues) == (5, 10)
    none = select(LcsFilterParams(min_length=5), queries, scored)
    assert (len(none.hits), len(none.hits.batch), none.subjects, none.residues) == (0, 0, 5, 10)


def test_errors_of_the_input_are_not_tried_again() -> None:
    def refuse(item: int) -> int:
        raise InputError("no good", "reads.fq", 7)

    stage: Stage[int, int] = Stage(refuse, lambda device: None)  # type: ignore[arg-type,return-value]
    answer = run_items(pack(stage), pack([1]), "cpu", None)
    assert isinstance(answer.error, InputError)
    assert str(answer.error) == "reads.fq:7: no good"


class _Doubler(DeviceKernel[int, int]):
    """A kernel without a device."""

    def launch(self, slot: Any, item: int) -> None:
        pass

    def result(self, slot: Any, item: int, launched: None) -> int:
        return 2 * item


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_workers_drive_their_devices(device: str, monkeypatch: pytest.MonkeyPatch) -> None:

    driver = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    stage: Stage[int, Any] = Stage(
        lambda item: ("all", item),
        _Doubler,  # type: ignore[arg-type]
        lambda item, run: (f"kept {item}", run(lambda allocate: item + 1)),
    )
    shard = pack(stage)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda item: run_items(shard, pack([item]), device, None), range(20)))
    expected = [("all", i) if device == "cpu" else (f"kept {i}", 2 * i + 2) for i in range(20)]
    assert [answer.results.load() for answer in answers] == [[result] for result in expected]
    assert {answer.on_gpu for answer in answers} == {device != "cpu"}


def test_stages_take_turns_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:

    driver = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    shards = [pack(Stage(lambda item: item, _Doubler)) for _ in range(2)]  # type: ignore[arg-type]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda item: run_items(shards[item % 2], pack([item]), "cuda", None), range(20)))
    assert [answer.results.load() for answer in answers] == [[2 * item] for item in range(20)]
    # what Dask deletes takes its devices' memory with it
    shards.clear()
    gc.collect()
    wait_until(lambda: driver.contexts == [])


def test_a_worker_without_the_wanted_device_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise DeviceError("PyCUDA is not installed")

    monkeypatch.setattr(device_module, "load_driver", missing)
    stage = pack(Stage(lambda item: item, _Doubler))  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match=r"worker process \d+: PyCUDA is not installed"):
        run_items(stage, pack([1]), "cuda", None)
    assert run_items(stage, pack([1]), "auto", None).results.load() == [1]


def test_a_stage_may_end_in_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector may find a dead stage in a thread that holds a lock which the opening of devices needs: here the
    executors' own, as when a task is being submitted."""
    monkeypatch.setattr(device_module, "load_driver", FakeDriver)
    devices = worker_module.Devices()
    ended = pack(Stage(lambda item: item, _Doubler))  # type: ignore[arg-type]
    with devices.given_to(ended, "cuda", None):
        pass
    collected = threading.Event()

    def collect_while_submitting() -> None:
        nonlocal ended
        with executors._global_shutdown_lock:  # type: ignore[attr-defined]
            del ended
            gc.collect()
        collected.set()

    with devices._changed:  # another thread opens devices
        threading.Thread(target=collect_while_submitting, daemon=True).start()
        assert collected.wait(timeout=20)
    wait_until(lambda: devices._stage() is None)
