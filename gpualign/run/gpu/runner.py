"""Runs items on several devices, with results in input order.

Each device's thread takes items from one queue, so that a faster device takes more of them. With two slots per device,
the copies of one batch overlap the kernels of the other while host threads parse and write.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from gpualign.errors import DeviceError, GpualignError, OutOfMemoryError
from gpualign.run import tuning
from gpualign.run.gpu.buffers import Slot, slots_of
from gpualign.run.gpu.device import Device, DeviceMemoryExceeded
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS, WAIT

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkQueue(Generic[Item, Result]):
    """The queue of a run, and one for each device: for items with data that it holds (their ``device``).

    Args:
        devices: the takers, woken by their bells when there is a new item.

    Attributes:
        ended: no more items will be put.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self._tasks: deque[tuple[Item, Future[Result]]] = deque()
        self._own: dict[Device, deque[tuple[Item, Future[Result]]]] = {device: deque() for device in devices}
        self._changing = threading.Lock()  # guards the takers, which have queues of their own, and the error
        self._error: BaseException | None = None
        self.ended = False

    def put(self, item: Item) -> Future[Result]:
        """The future of the item's result; it fails if no device is left, or a device's loop has failed."""
        future: Future[Result] = Future()
        holder: Any = getattr(item, "device", None)
        with self._changing:
            error = self._error
            own = self._own.get(holder)
            if error is None:
                (self._tasks if own is None else own).append((item, future))
        if error is not None:
            future.set_exception(error)
        if own is None:
            self._ring()
        else:
            holder.bell.ring()
        return future

    def take(self, device: Device) -> tuple[Item, Future[Result]] | None:
        """The device's next task; None if there is none now."""
        return _first(self._own[device]) or _first(self._tasks)

    def end(self) -> None:
        """No more items will be put."""
        self.ended = True
        self._ring()

    def leave(self, device: Device, error: BaseException | None = None) -> None:
        """A device takes no more items. With an error the run has failed, and no device takes any."""
        with self._changing:
            left = self._own.pop(device)
            self._tasks.extend(left)
            if error is not None:
                self._error = error
            elif not self._own and self._error is None:
                self._error = GpualignError("the devices were closed before all work was done")
            if self._error is None:
                if left:
                    self._ring()
                return
            for tasks in (self._tasks, *self._own.values()):
                while (task := _first(tasks)) is not None:
                    task[1].set_exception(self._error)

    def _ring(self) -> None:
        for device in self._devices:
            device.bell.ring()


def _first(tasks: deque[tuple[Item, Future[Result]]]) -> tuple[Item, Future[Result]] | None:
    """Take the first task that was not cancelled; None if there is none."""
    while tasks:
        try:
            task = tasks.popleft()
        except IndexError:  # another device was faster
            return None
        if task[1].set_running_or_notify_cancel():
            return task
    return None


class DevicePool(Generic[Item, Result]):
    """Devices that take items from one queue, for callers in any thread.

    Args:
        make_kernel: called once for each device, in its thread.
        slots: batches in flight on a device.
    """

    def __init__(
        self,
        make_kernel: Callable[[Device], DeviceKernel[Item, Result]],
        devices: Sequence[Device],
        slots: int = tuning.SLOTS,
    ) -> None:
        self._queue: WorkQueue[Item, Result] = WorkQueue(devices)
        self._loops: list[Future[None]] = [
            device.call(_drive, device, make_kernel, self._queue, slots) for device in devices
        ]

    def run(self, item: Item) -> Result:
        """Wait for the item's result.

        Raises:
            GpualignError: all devices were closed before one took the item.
            what ended a device's loop (its kernel could not be created), or the kernel raised.
        """
        future = self._queue.put(item)
        with STEPS.at(WAIT):
            return future.result()

    def finish(self) -> None:
        """Wait for the end of all loops, and raise the error of one that failed."""
        self._queue.end()
        for loop in self._loops:
            loop.result()

    def close(self) -> None:
        """Wait for the items in flight, and end the loops; the devices stay open."""
        self._queue.end()
        for loop in self._loops:
            loop.exception()


def run_on_devices(
    items: Iterable[Item],
    make_kernel: Callable[[Device], DeviceKernel[Item, Result]],
    devices: Sequence[Device],
    slots: int = tuning.SLOTS,
) -> Iterator[Result]:
    """Yield each item's result in the order of ``items``; ``items`` is advanced in the calling thread.

    Args:
        make_kernel, slots: as for :class:`DevicePool`.

    Raises:
        OutOfMemoryError: an item does not fit, even halved as often as possible.
        whatever ``items`` raises, at once, or a kernel, at its item's turn.
    """
    with contextlib.closing(DevicePool(make_kernel, devices, slots)) as pool:
        yield from run_ordered(items, pool.run, waiting_threads(devices, slots))
        pool.finish()


def waiting_threads(devices: Sequence[Device], slots: int) -> int:
    """Threads that wait for devices: one for each batch in flight, and one for each device's next batch."""
    return (slots + 1) * len(devices)


def _drive(
    device: Device,
    make_kernel: Callable[[Device], DeviceKernel[Item, Result]],
    queue: WorkQueue[Item, Result],
    slots: int,
) -> None:
    """The loop of a device's thread, until the queue ends or the device closes."""
    error: BaseException | None = None
    try:
        device.opened()
        _take_items(device, make_kernel(device), queue, slots)
    except DeviceMemoryExceeded as exceeded:
        error = _out_of_memory(device, exceeded)
        raise error from exceeded
    except BaseException as other:
        error = other
        if isinstance(other, DeviceError) and device.optional and not device.is_open:
            error = None  # the other devices continue
            return
        raise
    finally:
        queue.leave(device, error)


def _take_items(device: Device, kernel: Any, queue: WorkQueue[Any, Any], slots: int) -> None:
    """Fill free slots; if none is free, collect a batch that is done; else sleep."""
    free = deque(slots_of(device, slots))
    busy: deque[tuple[Slot, Any, Future[Any]]] = deque()
    while True:
        task = queue.take(device) if free and not device.closing.is_set() else None
        if task is not None:
            item, future = task
            slot = free.popleft()
            try:
                _submit(kernel, slot, item)
                busy.append((slot, item, future))
                continue
            except DeviceMemoryExceeded:
                _collect_all(kernel, busy, free)  # frees their buffers
                _settle(device, future, _run_in_parts, device, kernel, slot, item)
            except BaseException as error:
                _fail(device, future, error)
            free.append(slot)
        elif any(slot.is_done for slot, *_ in busy):
            _collect(kernel, busy, free)
        elif not busy and (queue.ended or device.closing.is_set()):
            return
        else:
            start = time.perf_counter()
            with STEPS.at(WAIT):
                device.bell.wait(tuning.POLL_S)
            device.timeline.wait_s += time.perf_counter() - start if busy else 0.0


def _collect(kernel: Any, busy: deque[Any], free: deque[Slot]) -> None:
    """Finish the oldest batch that is done, else the oldest one. If memory runs out, finish all others and run it
    again alone.
    """
    taken = next((task for task in busy if task[0].is_done), busy[0])
    busy.remove(taken)
    slot, item, future = taken
    device = slot.device
    try:
        slot.wait()
        future.set_result(_collected(kernel, slot, item))
    except DeviceMemoryExceeded:
        _collect_all(kernel, busy, free)
        _settle(device, future, _run_in_parts, device, kernel, slot, item)
    except BaseException as error:
        _fail(device, future, error)
    free.append(slot)


def _collect_all(kernel: Any, busy: deque[Any], free: deque[Slot]) -> None:
    while busy:
        _collect(kernel, busy, free)


def run_alone(device: Device, make_kernel: Callable[[Device], DeviceKernel[Item, Result]], item: Item) -> Result:
    """Run one item with a kernel made for it, with low latency: for short calls and self-tests.

    Raises:
        OutOfMemoryError: it does not fit the device.
    """

    def run() -> Result:
        future: Future[Result] = Future()
        kernel, (slot,) = make_kernel(device), slots_of(device, 1)
        try:
            future.set_result(_run(kernel, slot, item, tuning.SPIN_S))
        except DeviceMemoryExceeded:
            _settle(device, future, _run_in_parts, device, kernel, slot, item)
        except BaseException as error:
            _fail(device, future, error)
        return future.result()

    return device.call(run).result()


def _run(kernel: DeviceKernel[Item, Result], slot: Slot, item: Item, spin_s: float = 0.0) -> Result:
    _submit(kernel, slot, item)
    slot.wait(spin_s)
    return _collected(kernel, slot, item)


@STEPS.at("enqueue")
def _submit(kernel: DeviceKernel[Item, Any], slot: Slot, item: Item) -> None:
    kernel.kernel_for(item).submit(slot, item)
    slot.submitted()


@STEPS.at("collect")
def _collected(kernel: DeviceKernel[Item, Result], slot: Slot, item: Item) -> Result:
    slot.device.timeline.items += 1
    made: Result = kernel.kernel_for(item).collect(slot, item)
    return made


def _run_in_parts(device: Device, kernel: Any, slot: Slot, item: Any) -> Any:
    """Run one item alone; if it does not fit, halve it as often as the kernel can."""
    device.release_buffers()
    try:
        return _run(kernel, slot, item)
    except DeviceMemoryExceeded as error:
        slot.wait()
        parts = kernel.kernel_for(item).split(item)
        if len(parts) < 2:
            raise _out_of_memory(device, error) from error
    return kernel.kernel_for(item).join([_run_in_parts(device, kernel, slot, part) for part in parts])


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
    if isinstance(error, device.errors):
        error = GpualignError(f"{device.name} ({device.info.name}) failed: {error}")
    future.set_exception(error)
