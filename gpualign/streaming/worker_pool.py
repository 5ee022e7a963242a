"""Threads that share tasks and answer by queues, which no signal can leave locked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from gpualign.streaming.queue_thread import QueueThread

Result = TypeVar("Result")


class Task(Generic[Result]):
    """A call in another thread. Its result is taken once."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._outcome: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    @property
    def ready(self) -> bool:
        """Whether the result, or the error, is there."""
        return not self._outcome.empty()

    def run(self) -> None:
        call, self._call = self._call, _called  # what it refers to ends with it
        try:
            self._outcome.put((call(), None))
        except BaseException as error:
            self._outcome.put((None, error))

    def drop(self) -> None:
        """End whoever waits for the result of a task that will not run."""
        self._outcome.put((None, RuntimeError("a task was dropped")))

    def result(self) -> Result:
        """Wait for the result, or raise its error."""
        result, error = self._outcome.get()
        if error is None:
            return result  # type: ignore[no-any-return]
        try:
            raise error
        finally:
            del error  # it refers to this frame


class WorkerPool:
    """At most ``threads`` threads, each of which starts when there is a task for it. Tasks begin in their order, and
    one that has begun ends. Close it.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._most, self._name = threads, name
        self._tasks: SimpleQueue[Task[Any] | None] = SimpleQueue()
        self._threads: list[QueueThread] = []

    def submit(self, call: Callable[[], Result]) -> Task[Result]:
        """Hand over a call."""
        if len(self._threads) < self._most:
            thread = QueueThread(_serving(self._tasks), self._tasks, f"{self._name}_{len(self._threads)}")
            thread.start()
            self._threads.append(thread)
        task = Task(call)
        self._tasks.put(task)
        return task

    def close(self, wait: bool = True) -> None:
        """Drop the tasks that have not begun and end the threads; ``wait``: until they have ended."""
        with contextlib.suppress(Empty):
            while (task := self._tasks.get_nowait()) is not None:
                task.drop()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serving(tasks: SimpleQueue[Task[Any] | None]) -> Callable[[], None]:
    """What a thread does; it does not keep the pool alive."""

    def serve() -> None:
        while (task := tasks.get()) is not None:
            task.run()
            del task  # an idle thread holds nothing

    return serve


def _called() -> Any:
    raise AssertionError("a task runs once")
