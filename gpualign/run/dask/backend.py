"""The cluster backend: runs stages on the workers of a Dask cluster and yields their results in order.

A task is a stage, some of its items in their order, and a list of their results. Workers pull tasks from Dask's queue,
so fast ones take more of them than slow ones.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
import uuid
import weakref
from collections import Counter, deque
from collections.abc import Collection, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import cache
from typing import Any

import distributed

from gpualign.errors import GpualignError, counted
from gpualign.params import RunOptions
from gpualign.report import warn
from gpualign.run.dask.connect import PATIENCE_S, check_versions, connected, reachable
from gpualign.run.dask.shards import Shard, fingerprint, pack
from gpualign.run.dask.worker import Answer, keep, run_items
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.stage import Backend, Item, Result, Stage

#: failures of a batch that end the run
ATTEMPTS = 3
#: tasks in flight per thread of the workers. With more than two, Dask keeps those that wait at the scheduler until a
#: worker asks for one
_PER_THREAD = 4
#: target duration of a task: a share of the time so far, within bounds in seconds. Dask needs milliseconds for each
#: task, so short ones waste time; long ones do so at the end, when all workers wait for the last one
_TASK_SHARE, _SHORTEST_S, _LONGEST_S = 0.03, 0.3, 2.0
#: maximum bytes and items in a task
_TASK_BYTES, _TASK_ITEMS = 16 << 20, 1024
#: seconds between checks for workers that have joined or left
_WATCH_S = 1.0


@dataclass(eq=False)
class _Task:
    """A task in flight. Its items are kept until their results arrive, as the cluster may lose them."""

    stage: Stage[Any, Any]
    items: list[Any]
    nbytes: int
    future: Any


class ClusterBackend(Backend):
    """Runs stages on a Dask cluster; :meth:`close`, or the end of its ``with`` block, disconnects.

    Raises:
        GpualignError: the cluster cannot be reached, at the start or later.
    """

    local = False

    def __init__(self, options: RunOptions, command: str) -> None:
        self._options, self._command = options, command
        self.batches: Counter[str] = Counter()
        self._gpu_batches = self._lost = 0
        self._name = f"gpualign-{command}-{uuid.uuid4().hex[:8]}"
        self._numbers = itertools.count()
        self._shared: dict[int, Any] = {}  # id of each shared object that lives -> the future of its shard
        self._keeping: dict[str, list[Any]] = {}  # worker -> futures of the tasks that open shards there
        self._direct, self._task_items, self._next_look = True, 1, 0.0
        self._start = time.monotonic()
        self._all_see = cache(self._asked)
        with contextlib.ExitStack() as opening:
            self.client = opening.enter_context(connected(options))
            self.address, dashboard = self.client.scheduler.address, self.client.dashboard_link
            self._watch()
            self._open = opening.pop_all()
        reuse_memory()
        if not options.quiet:
            workers, threads = counted(len(self._keeping), "worker"), counted(self._threads, "thread")
            line = f"cluster {self.address}, {workers}, {threads}" + (f"; dashboard {dashboard}" if dashboard else "")
            print(f"gpualign {command}: {line}", file=sys.stderr, flush=True)

    @property
    def name(self) -> str:
        return f"a cluster ({counted(len(self.batches), 'worker')})"

    def report(self) -> dict[str, Any]:
        return {
            "device": "cluster",
            "cluster": self.address,
            "workers": dict(self.batches),
            "cpu_batches": sum(self.batches.values()) - self._gpu_batches,
            "gpu_batches": self._gpu_batches,
            "batches_lost_and_run_again": self._lost,
        }

    def close(self) -> None:
        self._open.close()

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        source, tasks = iter(items), deque[_Task]()
        try:
            while some := list(itertools.islice(source, self._task_items)):
                self._watch()
                for task in self._tasks(stage, some):
                    tasks.append(task)
                    while len(tasks) >= _PER_THREAD * max(1, self._threads):
                        yield from self._results(tasks[0])
                        tasks.popleft()
            while tasks:
                yield from self._results(tasks[0])
                tasks.popleft()
        finally:
            if tasks and self.client.status == "running":
                with contextlib.suppress(Exception):  # the run's own error is what counts
                    self.client.cancel([task.future for task in tasks], force=True)

    def _tasks(self, stage: Stage[Any, Any], items: list[Any]) -> Iterator[_Task]:
        """Submit items as a task, or as several if they are more bytes than the items before."""
        shard = pack(items, number_of=self._number_of)
        if shard.nbytes <= _TASK_BYTES or len(items) == 1:
            yield _Task(stage, items, shard.nbytes, self._submitted(stage, shard))
            return
        self._task_items = half = len(items) // 2
        yield from self._tasks(stage, items[:half])
        yield from self._tasks(stage, items[half:])

    def _submitted(self, stage: Stage[Any, Any], items: Shard) -> Any:
        """The future of a task. Its name has the numbers of its shared objects: Dask lets workers pull tasks from a
        queue only while all tasks of a name together have few dependencies.
        """
        number = self._number_of(stage)
        return self.client.submit(
            run_items,
            self._shared[number],
            items,
            self._options.device,
            self._options.max_gpu_mem,
            *(self._shared[number] for number in items.shared),
            key=("-".join([self._name, *map(str, (number, *items.shared))]), next(self._numbers)),
            retries=ATTEMPTS - 1,
            pure=False,
        )

    def _results(self, task: _Task) -> Iterator[Any]:
        """Wait for a task and yield its results."""
        answer = self._answer(task)
        if answer.error is not None:
            # the same error again, here where the files are, so that it has the number of the line
            yield from map(task.stage.on_cpu, task.items)
            raise answer.error
        results = answer.results.load()
        self.batches[answer.worker] += len(results)
        self._gpu_batches += len(results) * answer.on_gpu
        seconds = min(max(_TASK_SHARE * (time.monotonic() - self._start), _SHORTEST_S), _LONGEST_S)
        share = max(answer.seconds / seconds, max(task.nbytes, answer.results.nbytes) / _TASK_BYTES)
        most = min(max(self._task_items, 2 * len(results)), _TASK_ITEMS)
        self._task_items = max(1, min(int(len(results) / (share + 1e-6)), most))
        yield from results

    def _answer(self, task: _Task) -> Answer:
        """Wait for a task, which is sent again if the cluster has lost it."""
        lost = 0
        while True:
            while not task.future.done():
                with contextlib.suppress(distributed.TimeoutError, CancelledError):
                    task.future.exception(timeout=_WATCH_S)
                self._watch()
            if task.future.status == "finished":
                with contextlib.suppress(Exception):  # the worker was lost meanwhile: Dask runs the task again
                    answer: Answer = self.client.gather(task.future, direct=self._direct)
                    return answer
                self._check()
                continue
            error = task.future.exception() if task.future.status == "error" else None
            if error is not None and not isinstance(error, distributed.KilledWorker):
                raise error
            self._check()
            lost += 1
            if error is not None or lost == ATTEMPTS:
                raise GpualignError(
                    f"a batch was lost with its worker {ATTEMPTS} times (out of memory? see the workers' logs)"
                ) from None
            self._lost += 1
            task.future = self._submitted(task.stage, pack(task.items, number_of=self._number_of))

    def _number_of(self, obj: Any) -> int:
        """The number of a shared object, which is sent when it first appears, and again if the cluster has lost it."""
        number = id(obj)
        if number not in self._shared:  # while the object lives, no other has its id
            weakref.finalize(obj, self._shared.pop, number, None).atexit = False
        if number not in self._shared or self._shared[number].status != "finished":
            self._shared[number] = self._send(obj)
            for worker in self._keeping:
                self._keep(worker, self._shared[number])
        return number

    def _send(self, obj: Any) -> Any:
        """Send an object to one worker, from which the others fetch it: Dask's broadcast to all hangs if a worker is
        lost in the middle of it.
        """
        shard = pack(obj, self._all_see)
        for _ in range(ATTEMPTS):
            self._check()
            # KeyError: the worker was lost and is no longer known
            with contextlib.suppress(OSError, distributed.TimeoutError, KeyError):
                self.client.wait_for_workers(1, timeout=PATIENCE_S)
                return self.client.scatter(shard, hash=False)
            time.sleep(_WATCH_S)
        self._check()
        raise GpualignError(f"the workers of {self.address} are lost (start some and run again)")

    def _asked(self, path: str) -> bool:
        """Whether every worker finds the client's saved index under its path."""
        expected = fingerprint(path)
        found = self.client.run(fingerprint, os.path.abspath(path), on_error="return")
        return expected is not None and all(answer == expected for answer in found.values())

    def _keep(self, worker: str, *shards: Any) -> None:
        """Let a worker fetch shards before it has items that need them: Dask prefers workers that have the shards."""
        key = (f"{self._name}-keep", next(self._numbers))
        new = self.client.submit(keep, *shards, workers=[worker], key=key, priority=1, pure=False)
        self._keeping[worker] = [*(future for future in self._keeping[worker] if not future.done()), new]

    def _watch(self) -> None:
        """Check, once a second, that the scheduler is there, and send new workers what the items need."""
        if time.monotonic() < self._next_look:
            return
        self._check()
        try:
            threads = dict(self.client.nthreads())
        except (OSError, distributed.TimeoutError, RuntimeError, AttributeError) as error:
            raise self._gone() from error
        self._threads = sum(threads.values())
        self._meet(set(threads) - set(self._keeping))
        self._keeping = {worker: self._keeping[worker] for worker in threads}
        if not threads and not self._options.quiet:
            warn(self._command, f"{self.address} has lost all workers: waiting for another")
        self._next_look = time.monotonic() + _WATCH_S

    def _meet(self, workers: Collection[str]) -> None:
        """Begin to use new workers."""
        if not workers:
            return
        check_versions(self.client, workers)
        self._direct = self._direct and all(map(reachable, workers))
        for worker in workers:
            self._keeping[worker] = []
            if self._shared:
                self._keep(worker, *list(self._shared.values()))

    def _check(self) -> None:
        """
        Raises:
            GpualignError: the scheduler is gone.
        """
        if self.client.status != "running":
            raise self._gone()

    def _gone(self) -> GpualignError:
        return GpualignError(f"the scheduler at {self.address} is gone (start it and its workers, and run again)")
