"""The cluster backend: runs stages on the workers of a Dask cluster and yields their results in order."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import distributed
import numpy as np

from gpualign.errors import GpualignError, counted
from gpualign.params import RunOptions
from gpualign.report import warn
from gpualign.run.cluster.connect import PATIENCE_S, connected, reachable
from gpualign.run.cluster.shards import Shard, fingerprint, pack
from gpualign.run.cluster.worker import Answer, keep, run_items, sees
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.stage import Backend, Item, Result, Stage
from gpualign.text.fastx import UncountedLine

#: the run ends when a batch has failed so many times
ATTEMPTS = 3
#: tasks in flight per thread of the workers. With more than two, Dask keeps those that wait at the
#: scheduler until a worker asks for one, so that fast workers take more of them than slow ones.
_PER_THREAD = 4
#: target duration of a task: a share of the time so far, within bounds in seconds. Dask needs milliseconds for each
#: task, so short ones waste time; long ones do so at the end, when all workers wait for the last one
_TASK_SHARE, _TASK_S = 0.03, (0.3, 2.0)
#: maximum bytes and items in a task
_TASK_BYTES, _TASK_ITEMS = 16 << 20, 1024
#: maximum number of tasks whose results are fetched together
_FETCHED = 8
#: seconds between checks for workers that have joined or left
_WATCH_S = 1.0
#: number of shared objects that workers keep although no item in flight needs them
_SHARED_KEPT = 4


class ClusterBackend(Backend):
    """Runs stages on a Dask cluster; :meth:`close`, or the end of its ``with`` block, disconnects.

    Raises:
        GpualignError: the cluster cannot be reached, at the start or later.
    """

    on_gpu = False  # batches have the size for a CPU; each worker chooses its device

    def __init__(self, options: RunOptions, command: str) -> None:
        self.options, self.command = options, command
        self.batches: Counter[str] = Counter()
        self.gpu_batches = self.lost = 0
        self._seen: dict[str, bool] = {}
        self._last: _Run | None = None
        self._open = contextlib.ExitStack()
        self._connection = self._open.enter_context(connected(options))
        self.client = self._connection.client
        reuse_memory()
        self.address = self._connection.address
        threads = self.threads()
        if not options.quiet:
            line = (
                f"cluster {self.address}, {counted(len(threads), 'worker')}, {counted(sum(threads.values()), 'thread')}"
            )
            dashboard = f"; dashboard {self._connection.dashboard}" if self._connection.dashboard else ""
            print(f"gpualign {command}: {line}{dashboard}", file=sys.stderr, flush=True)

    @property
    def name(self) -> str:
        return f"a cluster ({counted(len(self.batches), 'worker')})"

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        run = self._last if self._last is not None and self._last.stage is stage else _Run(self, stage)
        self._last = None  # while it is in use
        try:
            yield from run.results(items)
        finally:
            run.end()
        self._last = run  # workers keep what the stage needs, for a command that runs it again

    def report(self) -> dict[str, Any]:
        return {
            "device": "cluster",
            "cluster": self.address,
            "workers": dict(self.batches),
            "cpu_batches": sum(self.batches.values()) - self.gpu_batches,
            "gpu_batches": self.gpu_batches,
            "batches_lost_and_run_again": self.lost,
        }

    def sees(self, path: str) -> bool:
        """Whether every worker finds the client's saved index under its path; asked once."""
        if path not in self._seen:
            expected = fingerprint(path)
            found = {}
            if expected is not None:
                found = self.client.run(sees, os.path.abspath(path), expected, on_error="return")
            self._seen[path] = expected is not None and all(answer is True for answer in found.values())
        return self._seen[path]

    def close(self) -> None:
        self._last = None
        self._open.close()

    def threads(self) -> dict[str, int]:
        """The current workers and the number of threads of each.

        Raises:
            GpualignError: the scheduler is gone.
        """
        self.check()
        try:
            return dict(self.client.nthreads())
        except (OSError, distributed.TimeoutError, RuntimeError, AttributeError) as error:
            raise self._gone() from error

    def check(self) -> None:
        """
        Raises:
            GpualignError: the scheduler is gone.
        """
        if self.client.status != "running":
            raise self._gone()

    def _gone(self) -> GpualignError:
        return GpualignError(f"the scheduler at {self.address} is gone (start it and its workers, and run again)")


@dataclass(eq=False)
class _Task:
    """Items in flight, kept until their results arrive: they are sent again if the cluster loses them."""

    items: Shard
    count: int
    text: int
    future: Any
    lost: int = 0


class _Run:
    """The run of one stage over its items."""

    def __init__(self, backend: ClusterBackend, stage: Stage[Any, Any]) -> None:
        self._backend, self._client = backend, backend.client
        self._name = f"gpualign-{backend.command}-{uuid.uuid4().hex[:8]}"
        self._numbers = itertools.count()
        self.stage = stage
        self._stage = _Sent(backend, pack(stage, backend.sees))
        self._shared: dict[int, _Sent] = {}
        self._shared_objects: dict[int, tuple[int, Any]] = {}
        self._pending: deque[_Task] = deque()
        self._keeping: dict[str, list[Any]] = {}  # by worker
        self._direct = True
        self._max_pending = self._task_items = 1
        self._task_text = _TASK_BYTES
        self._start = time.monotonic()
        self._next_look = 0.0

    def results(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield each item's result, in order."""
        source = iter(items)
        while some := self._next_items(source):
            self._watch()
            self._pending.append(self._new_task(some))
            self._forget_old()
            while len(self._pending) >= self._max_pending:
                yield from self._fetch()
        while self._pending:
            yield from self._fetch()

    def end(self) -> None:
        """Cancel the tasks that are still running and release all others."""
        futures = [task.future for task in self._pending]
        self._pending.clear()
        if futures and self._client.status == "running":
            with contextlib.suppress(Exception):  # the run's own error is what counts
                self._client.cancel(futures, force=True)

    def _next_items(self, source: Iterator[Any]) -> list[Any]:
        """The items of the next task, limited in number and in bytes of text."""
        items: list[Any] = []
        text = 0
        for item in itertools.islice(source, self._task_items):
            items.append(item)
            text += _text_of(item)
            if text >= self._task_text:
                break
        return items

    def _new_task(self, items: list[Any]) -> _Task:
        shard = pack(items, number_of=self._number_of)
        task = _Task(shard, len(items), sum(map(_text_of, items)), None)
        self._submit(task)
        self._carry(task.items.nbytes, task.count)
        return task

    def _carry(self, nbytes: int, items: int) -> None:
        """Limit the items of the next task, given the bytes of some items or of their results."""
        self._task_items = max(1, min(self._task_items, int(_TASK_BYTES * items / (nbytes + 1))))

    def _submit(self, task: _Task) -> None:
        """Submit a task. Its name tells its shared objects: Dask lets workers pull tasks from a queue only while all
        tasks of a name together have few dependencies.
        """
        options = self._backend.options
        name = "-".join([self._name, *map(str, task.items.shared)])
        task.future = self._client.submit(
            run_items,
            self._stage.future,
            task.items,
            options.device,
            options.max_gpu_mem,
            *(self._shared[number].future for number in task.items.shared),
            key=(name, next(self._numbers)),
            retries=ATTEMPTS - 1,
            pure=False,
        )

    def _number_of(self, obj: Any) -> int:
        """The number of a shared object, which is sent when it first appears in an item."""
        if id(obj) in self._shared_objects:
            return self._shared_objects[id(obj)][0]
        number = next(self._numbers)
        self._shared_objects[id(obj)] = (number, obj)  # while it is kept, no other object has its id
        self._shared[number] = _Sent(self._backend, pack(obj, self._backend.sees))
        for worker in self._keeping:
            self._keep(worker, self._shared[number])
        return number

    def _forget_old(self) -> None:
        """Release old shared objects that no item in flight needs, but for those that are to be kept."""
        needed = {number for task in self._pending for number in task.items.shared}
        for key, (number, obj) in list(self._shared_objects.items())[:-_SHARED_KEPT]:
            if number not in needed and not getattr(obj, "kept", False):
                del self._shared_objects[key], self._shared[number]

    def _fetch(self) -> Iterator[Any]:
        """Wait for the oldest task; yield its results and those of the tasks after it that have finished, too."""
        self._wait_for(self._pending[0])
        done = list(itertools.takewhile(lambda task: task.future.status == "finished", self._pending))[:_FETCHED]
        if not done:
            self._look_into(self._pending[0])
            return
        try:
            answers = self._client.gather([task.future for task in done], direct=self._direct)
        except Exception:  # a worker was lost after its task had finished
            self._backend.check()
            return
        for answer in answers:
            results = answer.results.load()
            self._learn(self._pending.popleft(), answer, len(results))
            yield from results
            if answer.error is not None:
                raise _with_line(answer.error)

    def _learn(self, task: _Task, answer: Answer, results: int) -> None:
        """Count the batches of each worker, and adapt the size of tasks to the target duration."""
        self._backend.batches[answer.worker] += results
        self._backend.gpu_batches += results * answer.on_gpu
        seconds = float(np.clip(_TASK_SHARE * (time.monotonic() - self._start), *_TASK_S))
        share = seconds / (answer.seconds + 1e-6)
        maximum = min(max(self._task_items, 2 * task.count), _TASK_ITEMS)
        self._task_items = max(1, min(int(share * task.count), maximum))
        if task.text:  # a limit for text, too, as items may grow in the course of a run
            self._task_text = max(1, min(int(share * task.text), _TASK_BYTES))
        self._carry(max(task.items.nbytes, answer.results.nbytes), task.count)

    def _wait_for(self, task: _Task) -> None:
        while not task.future.done():
            with contextlib.suppress(distributed.TimeoutError, CancelledError):
                task.future.exception(timeout=_WATCH_S)
            self._watch()

    def _look_into(self, task: _Task) -> None:
        """Handle a task that ended without a result: send it again if it was lost, or raise its error."""
        if task.future.status != "error":
            self._backend.check()
            self._send_again(task)
            return
        error = task.future.exception()
        if isinstance(error, distributed.KilledWorker):
            raise GpualignError(
                f"a batch was lost with its worker {ATTEMPTS} times (out of memory? the workers' logs tell more)"
            ) from None
        raise _with_line(error)

    def _send_again(self, task: _Task) -> None:
        task.lost += 1
        self._backend.lost += 1
        if task.lost >= ATTEMPTS:
            raise GpualignError(f"a batch was lost {ATTEMPTS} times (do the workers stay alive?)")
        for sent in (self._stage, *self._shared.values()):
            sent.send_again_if_lost()
        self._submit(task)

    def _watch(self) -> None:
        """Check, once a second, that the scheduler is there, and send new workers what the items need."""
        if time.monotonic() < self._next_look:
            return
        threads = self._backend.threads()
        self._max_pending = _PER_THREAD * max(1, sum(threads.values()))
        new = set(threads) - set(self._keeping)
        self._direct = self._direct and all(reachable(worker) for worker in new)
        if not threads and not self._backend.options.quiet:
            warn(self._backend.command, f"{self._backend.address} has lost all workers: waiting for another")
        self._keeping = {worker: self._keeping.get(worker, []) for worker in threads}
        for worker in new:
            self._keep(worker, self._stage, *self._shared.values())
        self._next_look = time.monotonic() + _WATCH_S

    def _keep(self, worker: str, *shards: _Sent) -> None:
        """Let a worker fetch shards before it has items that need them: Dask prefers workers that have the shards."""
        in_flight = [future for future in self._keeping[worker] if not future.done()]
        new = self._client.submit(
            keep,
            *(sent.future for sent in shards),
            workers=[worker],
            key=(f"{self._name}-keep", next(self._numbers)),
            priority=1,
            pure=False,
        )
        self._keeping[worker] = [*in_flight, new]


def _with_line(error: BaseException) -> BaseException:
    """A worker's error with its line number, which only the client can count."""
    return error.counted() if isinstance(error, UncountedLine) else error


def _text_of(item: Any) -> int:
    """Bytes of an item's text; 0 if it is no text."""
    return getattr(item, "text_bytes", 0)


class _Sent:
    """A shard that was sent to one worker; the others fetch it from there."""

    def __init__(self, backend: ClusterBackend, shard: Shard) -> None:
        self._backend, self._shard = backend, shard
        self.future = self._send()

    def send_again_if_lost(self) -> None:
        if self.future.status != "finished":
            self.future = self._send()

    def _send(self) -> Any:
        """Send it to one worker: Dask's broadcast to all hangs if a worker is lost in the middle of it."""
        client = self._backend.client
        for _ in range(ATTEMPTS):
            self._backend.check()
            # KeyError: the worker was lost and is no longer known
            with contextlib.suppress(OSError, distributed.TimeoutError, KeyError):
                client.wait_for_workers(1, timeout=PATIENCE_S)
                return client.scatter(self._shard, hash=False)
            time.sleep(_WATCH_S)
        self._backend.check()
        raise GpualignError(f"the workers of {self._backend.address} are lost (start some and run again)")
