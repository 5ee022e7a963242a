"""The worker's side: runs the items of a task on the worker's own devices."""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

from gpualign.errors import DeviceError, GpualignError, OutOfMemoryError
from gpualign.params import RunOptions
from gpualign.run.cuda import CudaBackend
from gpualign.run.dask.shards import Shard, pack
from gpualign.run.gpu.runner import DevicePool
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.select import open_backend


@dataclass(frozen=True)
class Answer:
    """What a task returns.

    Attributes:
        results: a list of the items' results; empty if there was an error.
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
    address = _address()
    try:
        objects = {number: shard.open() for number, shard in zip(items.shared, shared, strict=True)}
        with DEVICES.given_to(stage, device, max_gpu_mem) as (run, on_gpu):
            results = pack([run(item) for item in items.load(objects)])
    except (DeviceError, OutOfMemoryError) as error:  # another worker may succeed
        raise type(error)(f"worker {address}: {error}") from None
    except GpualignError as error:
        return Answer(pack([]), error, address, False, 0.0)
    seconds = time.perf_counter() - clocks[1] if on_gpu else time.thread_time() - clocks[0]
    return Answer(results, None, address, on_gpu, seconds)


def keep(*shards: Shard) -> None:
    """A task that opens shards on this worker, so that Dask gives it tasks that need them."""
    for shard in shards:
        shard.open()


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:  # outside a task, in tests
        return f"process {os.getpid()}"


class Devices:
    """This process's devices, which one stage at a time has; another one waits for the tasks in flight.

    On the CPU, the thread of a task computes; the worker was started with a number of them. On GPUs, tasks pass their
    items to the device threads and wait. Devices are freed with their stage, which Dask deletes when no client needs it
    any more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stage: Callable[[], Shard | None] = lambda: None
        self._tasks, self._on_gpu = 0, False
        self._open = ExitStack()
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ending: threading.Thread | None = None

    @contextmanager
    def given_to(self, stage: Shard, device: str, max_gpu_mem: int | None) -> Iterator[tuple[Callable[..., Any], bool]]:
        """A function from an item to its result, and whether GPUs compute it."""
        with self._changed:
            self._changed.wait_for(lambda: self._stage() is stage or not self._tasks)
            if self._stage() is not stage:
                self._close()
                with ExitStack() as opening:
                    self._run = self._opened(
                        stage, RunOptions(device=device, max_gpu_mem=max_gpu_mem, quiet=True), opening
                    )
                    self._open = opening.pop_all()
                self._stage = weakref.ref(stage)
                if self._ending is None:
                    self._ending = threading.Thread(target=self._close_ended, name="gpualign-ended", daemon=True)
                    self._ending.start()
                # The garbage collector may run this in any thread, which may hold any lock (of an import, of an
                # executor). So it only puts the reference on a SimpleQueue, whose put is reentrant.
                weakref.finalize(stage, self._ended.put, self._stage).atexit = False
            run, on_gpu = self._run, self._on_gpu
            self._tasks += 1
        try:
            yield run, on_gpu
        finally:
            with self._changed:
                self._tasks -= 1
                self._changed.notify_all()

    def _opened(self, shard: Shard, options: RunOptions, opening: ExitStack) -> Callable[[Any], Any]:
        reuse_memory()
        stage, backend = shard.open(), opening.enter_context(open_backend(options, "worker"))
        self._on_gpu = backend.on_gpu
        if not isinstance(backend, CudaBackend):
            run: Callable[[Any], Any] = stage.on_cpu
            return run
        backend.opened()
        pool: DevicePool[Any, Any] = DevicePool(stage.make_kernel, backend.devices, stage.slots)
        return backend.work(stage, opening.enter_context(closing(pool)))

    def _close_ended(self) -> None:
        """Free the devices whenever their stage was deleted, unless the next stage has done so."""
        while True:
            stage = self._ended.get()
            with self._changed:
                if self._stage is stage:
                    self._close()

    def _close(self) -> None:
        self._stage = lambda: None
        self._open.close()


DEVICES = Devices()
