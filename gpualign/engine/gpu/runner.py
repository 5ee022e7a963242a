"""Items through several devices at once, results in input order.

Each device's own thread takes items from one queue, so a faster device takes more of them; with two slots a device,
the copies of one batch run with the kernels of the other while the host threads parse and write.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

from gpualign.engine.gpu.buffers import Slot, slots_of
from gpualign.engine.gpu.device import Device, DeviceMemoryExceeded
from gpualign.engine.gpu.work_queue import WorkQueue
from gpualign.errors import DeviceError, GpualignError, OutOfMemoryError
from gpualign.streaming.clock import HOST
from gpualign.streaming.ordered import run_ordered

Item = TypeVar("Item")
Result = TypeVar("Result")
_KernelItem = TypeVar("_KernelItem", contravariant=True)
_KernelResult = TypeVar("_KernelResult", covariant=True)

#: batches in flight on a device: one computes, one copies
SLOTS = 2
#: after which a device's thread looks at its batches although nothing has rung: after an error the driver calls nobody
_LOOK_S = 0.1
#: for which a short call looks for its end
_LOOKING_S = 5e-3


class Kernel(Protocol[_KernelItem, _KernelResult]):
    """A command's device side; made, used and dropped in one device's thread.

    It may also have ``split(item) -> list of items`` and ``join(results) -> result``: then an item that does not
    fit the device's memory is halved until it does.
    """

    def submit(self, slot: Slot, item: _KernelItem) -> None:
        """Enqueue copies and kernels on ``slot``; must not wait for them."""

    def collect(self, slot: Slot, item: _KernelItem) -> _KernelResult:
        """The result, after the slot's work is done; must not keep views of pinned memory that is still the slot's."""


class DevicePool(Generic[Item, Result]):
    """All devices, each of which takes items from one queue in its own thread, for callers in many threads.

    Args:
        make_kernel: called once for each device, in its thread.
        slots: batches in flight on a device.
    """

    def __init__(
        self, make_kernel: Callable[[Device], Kernel[Item, Result]], devices: Sequence[Device], slots: int = SLOTS
    ) -> None:
        self._queue: WorkQueue[Item, Result] = WorkQueue(devices)
        self._loops: list[Future[None]] = [
            device.call(_drive, device, make_kernel, self._queue, slots) for device in devices
        ]

    def run(self, item: Item) -> Result:
        """The item's result, when a device has computed it.

        Raises:
            GpualignError: all devices were closed before one took the item.
            whatever ended a device's loop (its kernel could not be made), or the kernel raised.
        """
        future = self._queue.put(item)
        with HOST.waiting():
            return future.result()

    def finish(self) -> None:
        """Wait for the end of all loops, and raise what one of them died of."""
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
    make_kernel: Callable[[Device], Kernel[Item, Result]],
    devices: Sequence[Device],
    slots: int = SLOTS,
) -> Iterator[Result]:
    """Yield each item's result in the order of ``items``; ``items`` is advanced in the calling thread.

    Args:
        make_kernel, slots: as for :class:`DevicePool`.

    Raises:
        OutOfMemoryError: an item fits no device even when halved as far as it goes.
        whatever ``items`` or a kernel raises, in the order of the items.
    """
    with contextlib.closing(DevicePool(make_kernel, devices, slots)) as pool:
        yield from run_ordered(items, pool.run, waiting_threads(devices, slots))
        pool.finish()


def waiting_threads(devices: Sequence[Device], slots: int) -> int:
    """Threads that wait for devices: one for each batch that these may have in flight, and each device's next one."""
    return (slots + 1) * len(devices)


@HOST.working()
def _drive(
    device: Device, make_kernel: Callable[[Device], Kernel[Item, Result]], queue: WorkQueue[Item, Result], slots: int
) -> None:
    """What a device's thread does in a run, until the queue ends or the device closes."""
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
            error = None  # others go on without it
            return
        raise
    finally:
        queue.leave(error)


def _take_items(device: Device, kernel: Any, queue: WorkQueue[Any, Any], slots: int) -> None:
    """Fill free slots, else collect a batch that is done, as some take longer than others; else sleep."""
    free = deque(slots_of(device, slots))
    busy: deque[tuple[Slot, Any, Future[Any]]] = deque()
    while True:
        task = queue.take() if free and not device.closing.is_set() else None
        if task is not None:
            item, future = task
            slot = free.popleft()
            try:
                kernel.submit(slot, item)
                slot.submitted()
                busy.append((slot, item, future))
                continue
            except DeviceMemoryExceeded:
                _collect_all(kernel, busy, free)  # their buffers may be what is in the way
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
            with HOST.waiting():
                device.bell.wait(_LOOK_S)
            device.timeline.wait_s += time.perf_counter() - start if busy else 0.0


def _collect(kernel: Any, busy: deque[Any], free: deque[Slot]) -> None:
    """Finish the oldest batch that is done, else the oldest; where memory is short, finish all others and run it
    again alone.
    """
    taken = next((task for task in busy if task[0].is_done), busy[0])
    busy.remove(taken)
    slot, item, future = taken
    device = slot.device
    try:
        slot.wait()
        result = kernel.collect(slot, item)
        device.timeline.items += 1
        future.set_result(result)
    except DeviceMemoryExceeded:
        _collect_all(kernel, busy, free)
        _settle(device, future, _run_in_parts, device, kernel, slot, item)
    except BaseException as error:
        _fail(device, future, error)
    free.append(slot)


def _collect_all(kernel: Any, busy: deque[Any], free: deque[Slot]) -> None:
    while busy:
        _collect(kernel, busy, free)


def run_alone(device: Device, make_kernel: Callable[[Device], Kernel[Item, Result]], item: Item) -> Result:
    """One item's result, by a kernel made for it, as soon as it is there: for short calls and self-tests.

    Raises:
        OutOfMemoryError: it does not fit the device.
    """

    def run() -> Result:
        future: Future[Result] = Future()
        kernel, (slot,) = make_kernel(device), slots_of(device, 1)
        try:
            future.set_result(_run(kernel, slot, item, _LOOKING_S))
        except DeviceMemoryExceeded:
            _settle(device, future, _run_in_parts, device, kernel, slot, item)
        except BaseException as error:
            _fail(device, future, error)
        return future.result()

    return device.call(run).result()


def _run(kernel: Kernel[Item, Result], slot: Slot, item: Item, looking_s: float = 0.0) -> Result:
    kernel.submit(slot, item)
    slot.submitted()
    slot.wait(looking_s)
    slot.device.timeline.items += 1
    return kernel.collect(slot, item)


def _run_in_parts(device: Device, kernel: Any, slot: Slot, item: Any) -> Any:
    """Run one item alone; where it does not fit, halve it as far as the kernel can."""
    device.release_buffers()
    try:
        return _run(kernel, slot, item)
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
    if isinstance(error, device.errors):
        error = GpualignError(f"{device.name} ({device.info.name}) failed: {error}")
    future.set_exception(error)
