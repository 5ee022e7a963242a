"""The worker's side: runs the items of a task on the worker's own devices."""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpualign.errors import DeviceError, GpualignError, OutOfMemoryError
from gpualign.params import RunOptions
from gpualign.run.cluster.shards import Shard, fingerprint, pack
from gpualign.run.cuda import CudaBackend
from gpualign.run.gpu.runner import DevicePool
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.select import open_backend
from gpualign.run.stage import Stage


@dataclass(frozen=True)
class Answer:
    """What a task returns.

    Attributes:
        results: the stage's results, a list: for all items, or for those before the error.
        error: an error that another attempt would repeat, or None.
        worker: the address of the worker.
        on_gpu: whether the worker uses GPUs.
        seconds: duration of the task; on the CPU, processor time of its thread, as other threads may delay it.
    """

    results: Shard
    error: GpualignError | None
    worker: str
    on_gpu: bool
    seconds: float


def run_items(stage: Shard, items: Shard, device: str, max_gpu_mem: int | None, *shared: Shard) -> Answer:
    """The task that Dask runs: compute some items with a stage, one after the other.

    Bad input and wrong usage fail on any worker, so such an error is part of the answer. Any other error is raised, and
    Dask tries the task again.

    Args:
        items: a shard of a list.
        device: the value of ``--device``; with "auto" each worker chooses.
        shared: the shards that the items refer to, in the order of ``items.shared``.
    """
    clocks = time.thread_time(), time.perf_counter()
    others = {number: shard.open() for number, shard in zip(items.shared, shared, strict=True)}
    address = _address()
    results: list[Any] = []
    on_gpu = False
    try:
        with _ENGINES.of(stage, device, max_gpu_mem) as engine:
            on_gpu = engine.on_gpu
            for item in items.load(others):
                results.append(engine.run(item))
    except (DeviceError, OutOfMemoryError) as error:  # another worker may succeed
        raise type(error)(f"worker {address}: {error}") from None
    except GpualignError as error:
        return Answer(pack(results), error, address, on_gpu, 0.0)
    seconds = time.perf_counter() - clocks[1] if on_gpu else time.thread_time() - clocks[0]
    return Answer(pack(results), None, address, on_gpu, seconds)


def keep(*shards: Shard) -> None:
    """A task that opens shards on this worker, so that Dask gives it tasks that need them."""
    for shard in shards:
        shard.open()


def sees(path: str, expected: str) -> bool:
    """Whether this worker sees the file that has this fingerprint on the client, under the same path."""
    return fingerprint(path) == expected


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:  # outside a task, in tests
        return f"process {os.getpid()}"


class _Engine:
    """A stage on this worker's backend.

    On the CPU, the thread of the task does the work; the worker was started with a number of them. On GPUs, tasks pass
    their items to the device threads and wait.
    """

    def __init__(self, stage: Stage[Any, Any], device: str, max_gpu_mem: int | None) -> None:
        reuse_memory()
        self._backend = open_backend(RunOptions(device=device, max_gpu_mem=max_gpu_mem, quiet=True), "worker")
        self.on_gpu = self._backend.on_gpu
        self._pool: DevicePool[Any, Any] | None = None
        if not isinstance(self._backend, CudaBackend):
            self.run: Callable[[Any], Any] = stage.on_cpu
            return
        try:
            self._backend.opened()
            self._pool = DevicePool(stage.make_kernel, self._backend.devices, stage.slots)
        except BaseException:
            self._backend.close()
            raise
        self.run = self._backend.work(stage, self._pool)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._backend.close()


class _Engines:
    """The engine of the current stage.

    Only one stage at a time has the devices: another one waits for the tasks in flight. An engine is closed with its
    stage, which Dask deletes when no client needs it any more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stage: weakref.ref[Shard] | None = None
        self._engine: _Engine | None = None
        self._users = 0
        self._ended: queue.SimpleQueue[_Engine] = queue.SimpleQueue()
        self._ending: threading.Thread | None = None

    @contextmanager
    def of(self, stage: Shard, device: str, max_gpu_mem: int | None) -> Iterator[_Engine]:
        with self._changed:
            while not self._has(stage) and self._users > 0:
                self._changed.wait()
            if not self._has(stage):
                self._close()
                self._engine = _Engine(stage.open(), device, max_gpu_mem)
                self._stage = weakref.ref(stage)
                if self._ending is None:
                    self._ending = threading.Thread(target=self._close_ended, name="gpualign-ended", daemon=True)
                    self._ending.start()
                # The garbage collector may run this in any thread, which may hold any lock (of an import, of an
                # executor). So it only puts the engine on a SimpleQueue, whose put is reentrant.
                weakref.finalize(stage, self._ended.put, self._engine).atexit = False
            engine = self._engine
            assert engine is not None
            self._users += 1
        try:
            yield engine
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    def _has(self, stage: Shard) -> bool:
        return self._stage is not None and self._stage() is stage

    def _close_ended(self) -> None:
        """Close each engine whose stage was deleted, unless the next stage has closed it."""
        while True:
            engine = self._ended.get()
            with self._changed:
                if self._engine is engine:
                    self._close()

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = self._stage = None


_ENGINES = _Engines()
