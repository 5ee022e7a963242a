"""Items through several devices at once, results in input order.

Each device's own thread takes items from one queue, so a faster device takes more of them; with two slots a device,
the copies of one batch run beside the kernels of the other while the host threads parse and write.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import Any, Generic, Protocol, TypeVar

from gpualign.errors import GpualignError, OutOfMemoryError
from gpualign.gpu.buffers import DeviceMemoryExceeded, Slot
from gpualign.gpu.device import Device
from gpualign.stream.clock import HOST

Item = TypeVar("Item")
Result = TypeVar("Result")
_KernelItem = TypeVar("_KernelItem", contravariant=True)
_KernelResult = TypeVar("_KernelResult", covariant=True)

#: batches under way on a device: one computes, one copies
SLOTS = 2
#: how often an idle device thread looks whether the run has ended, seconds
_POLL_S = 0.05


class Kernel(Protocol[_KernelItem, _KernelResult]):
    """A command's device side; made, used and dropped in one device's thread.

    It may also have ``split(item) -> list of items`` and ``join(results) -> result``: then an item that does not
    fit the device's memory is halved until it does.
    """

    def submit(self, slot: Slot, item: _KernelItem) -> None:
        """Enqueue copies and kernels on ``slot``; must not wait for them."""

    def collect(self, slot: Slot, item: _KernelItem) -> _KernelResult:
        """The result, after the slot's work is done; must not keep views of the slot's pinned memory."""


class _Tasks(Generic[Item, Result]):
    """The one queue of a run, with its end."""

    def __init__(self) -> None:
        # no SimpleQueue: its get waits for ever where the time is up between two of its tries (CPython 3.11 and 3.12)
        self.queue: queue.Queue[tuple[Item, Future[Result]] | None] = queue.Queue()
        self.ended = threading.Event()

    def end(self) -> None:
        """Nothing more will be put; whoever waits for a task wakes up."""
        self.ended.set()
        self.queue.put(None)

    def put(self, item: Item) -> Future[Result]:
        future: Future[Result] = Future()
        self.queue.put((item, future))
        return future

    def _wait(self) -> tuple[Item, Future[Result]] | None:
        with HOST.waiting():
            return self.queue.get(timeout=_POLL_S)

    def get(self, wait: bool, closing: threading.Event | None = None) -> tuple[Item, Future[Result]] | None:
        """The next task; None when there is none now (``wait`` false) or will be none (``wait`` true)."""
        while True:
            try:
                task = self._wait() if wait else self.queue.get_nowait()
            except queue.Empty:
                if not wait or self.ended.is_set() or (closing is not None and closing.is_set()):
                    return None
                continue
            if task is None:
                self.queue.put(None)  # for the next one who waits
                return None
            if task[1].set_running_or_notify_cancel():
                return task


def run_on_devices(
    items: Iterable[Item],
    make_kernel: Callable[[Device], Kernel[Item, Result]],
    devices: Sequence[Device],
    slots: int = SLOTS,
    cpu_work: Callable[[Item], Result] | None = None,
    cpu_workers: int = 1,
) -> Iterator[Result]:
    """Yield each item's result in the order of ``items``; ``items`` is advanced in the calling thread.

    Args:
        make_kernel: called once per device in its thread.
        slots: batches under way per device.
        cpu_work: also take items on the CPU (the same result), with ``cpu_workers`` threads.

    Raises:
        OutOfMemoryError: an item fits no device even when halved as far as it goes.
        whatever ``items`` or a kernel raises, at its place in the order.
    """
    tasks: _Tasks[Item, Result] = _Tasks()
    loops: list[Future[None]] = [device.call(_drive, device, make_kernel, tasks, slots) for device in devices]
    pool = ThreadPoolExecutor(cpu_workers, thread_name_prefix="gpualign-cpu") if cpu_work is not None else None
    if pool is not None and cpu_work is not None:
        loops += [pool.submit(_work_on_cpu, cpu_work, tasks) for _ in range(cpu_workers)]
    pending: deque[Future[Result]] = deque()
    most = len(devices) * (slots + 1) + (2 * cpu_workers if pool is not None else 0)
    try:
        for item in items:
            pending.append(tasks.put(item))
            while pending and (len(pending) >= most or pending[0].done()):
                yield _next_result(pending, loops)
        tasks.end()
        while pending:
            yield _next_result(pending, loops)
        for loop in loops:
            loop.result()
    finally:
        for future in pending:
            future.cancel()
        tasks.end()
        for loop in loops:
            loop.exception()
        if pool is not None:
            pool.shutdown()


class DevicePool(Generic[Item, Result]):
    """The same loops for callers that come one item at a time from many threads, in no order.

    Args:
        make_kernel, devices, slots: as for :func:`run_on_devices`.
        cpu_work: also take items on the CPU, with ``cpu_workers`` threads.
    """

    def __init__(
        self,
        make_kernel: Callable[[Device], Kernel[Item, Result]],
        devices: Sequence[Device],
        cpu_work: Callable[[Item], Result] | None = None,
        cpu_workers: int = 1,
        slots: int = SLOTS,
    ) -> None:
        self._tasks: _Tasks[Item, Result] = _Tasks()
        self._loops: list[Future[None]] = [
            device.call(_drive, device, make_kernel, self._tasks, slots) for device in devices
        ]
        self._threads: ThreadPoolExecutor | None = None
        if cpu_work is not None:
            self._threads = ThreadPoolExecutor(cpu_workers, thread_name_prefix="gpualign-cpu")
            self._loops += [self._threads.submit(_work_on_cpu, cpu_work, self._tasks) for _ in range(cpu_workers)]

    def run(self, item: Item) -> Result:
        """The item's result, whenever a device or thread has computed it."""
        return _next_result(deque([self._tasks.put(item)]), self._loops)

    def close(self) -> None:
        """Wait for the items under way and end the loops; the devices stay open."""
        self._tasks.end()
        for loop in self._loops:
            loop.exception()
        if self._threads is not None:
            self._threads.shutdown()


def _next_result(pending: deque[Future[Result]], loops: list[Future[None]]) -> Result:
    """The oldest result; a loop that died (its kernel could not be made) is reported instead of waited for.

    Raises:
        GpualignError: the loops have ended (their devices were closed) and will not take the item.
    """
    future = pending[0]
    while not future.done():
        with HOST.waiting(), contextlib.suppress(TimeoutError):
            future.exception(timeout=1.0)
        for loop in loops:
            if loop.done() and loop.exception() is not None:
                loop.result()
        if all(loop.done() for loop in loops) and not future.done():
            raise GpualignError("the devices were closed before all work was done")
    pending.popleft()
    return future.result()


@HOST.working()
def _work_on_cpu(work: Callable[[Item], Result], tasks: _Tasks[Item, Result]) -> None:
    while (task := tasks.get(wait=True)) is not None:
        item, future = task
        try:
            future.set_result(work(item))
        except BaseException as error:
            future.set_exception(error)


@HOST.working()
def _drive(
    device: Device, make_kernel: Callable[[Device], Kernel[Item, Result]], tasks: _Tasks[Item, Result], slots: int
) -> None:
    """The loop of one device's thread: fill free slots, else collect the oldest batch."""
    try:
        kernel = make_kernel(device)
    except DeviceMemoryExceeded as error:
        raise _out_of_memory(device, error) from error
    free = deque(device.slots(slots))
    busy: deque[tuple[Slot, Item, Future[Result]]] = deque()
    while True:
        task = tasks.get(wait=not busy, closing=device.closing) if free else None
        if task is not None:
            item, future = task
            slot = free.popleft()
            try:
                kernel.submit(slot, item)
                slot.submitted()
                busy.append((slot, item, future))
                continue
            except DeviceMemoryExceeded:
                while busy:  # their buffers may be what is in the way
                    free.append(_collect(kernel, *busy.popleft()))
                _settle(device, future, _run_in_parts, device, kernel, slot, item)
            except BaseException as error:
                _fail(device, future, error)
            free.append(slot)
        elif busy:
            free.append(_collect(kernel, *busy.popleft()))
        elif tasks.ended.is_set() or device.closing.is_set():
            return


def _collect(kernel: Kernel[Item, Result], slot: Slot, item: Item, future: Future[Result]) -> Slot:
    def finish() -> Result:
        slot.wait()
        slot.device.timeline.items += 1
        return kernel.collect(slot, item)

    _settle(slot.device, future, finish)
    return slot


def _run_in_parts(device: Device, kernel: Any, slot: Slot, item: Any) -> Any:
    """Run one item alone; where it does not fit, halve it as far as the kernel can."""
    device.release_buffers()
    try:
        kernel.submit(slot, item)
        slot.submitted()
        slot.wait()
        device.timeline.items += 1
        return kernel.collect(slot, item)
    except DeviceMemoryExceeded as error:
        slot.wait()
        parts = kernel.split(item) if hasattr(kernel, "split") else [item]
        if len(parts) < 2:
            raise _out_of_memory(device, error) from error
    return kernel.join([_run_in_parts(device, kernel, slot, part) for part in parts])


def _out_of_memory(device: Device, error: DeviceMemoryExceeded) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"{device.name} ({device.info.name}) has too little memory: {error} "
        "(use a smaller --batch-size, a larger --max-gpu-mem or --device cpu)"
    )


def _settle(device: Device, future: Future[Result], function: Callable[..., Result], *arguments: Any) -> None:
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        _fail(device, future, error)


def _fail(device: Device, future: Future[Any], error: BaseException) -> None:
    traceback.clear_frames(error.__traceback__)  # device objects must not outlive their context in a traceback
    if isinstance(error, device.driver.Error):
        error = GpualignError(f"{device.name} ({device.info.name}) failed: {error}")
    future.set_exception(error)
