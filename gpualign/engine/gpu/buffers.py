"""Slots: a stream with its own pinned host memory and device arrays. Two slots a device overlap their work.

What a batch wants of the device is written down, and enqueued by native code in one call without the GIL: given up for
every copy and launch, the GIL would have to be won back from the host's threads each time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpualign.engine.gpu.device import Device, DeviceMemoryExceeded
from gpualign.engine.gpu.host_memory import is_lent
from gpualign.streaming.clock import HOST

#: a buffer that must grow grows by this factor, so that slowly growing batches do not reallocate each time
GROWTH = 1.25
_ALIGNMENT = 256
#: bytes of what is copied once that are worth page-locked memory, which takes longer to get than they to copy
_MAX_STAGED = 16 << 20


class Slot:
    """Everything one batch needs on a device. All methods run in the device's thread, and none of them waits but
    :meth:`wait`. The device begins with what they ask for at :meth:`submitted` or :meth:`wait`; a slot's buffers belong
    to its batch until its result has been collected.

    Attributes:
        step: what kernels are for that are launched from now on, for the timeline.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.stream = device.cuda.stream(device.bell)
        device.streams.append(self.stream)
        self._pinned: dict[str, NDArray[np.uint8]] = {}
        self._arrays: dict[str, tuple[Any, int]] = {}
        self._owners: dict[str, object] = {}
        self._marks: list[tuple[str, str]] = []
        self.step = "kernel"
        self._origin = device.resident("timeline origin", self._now)

    # -- memory

    def pinned(self, key: str, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A page-locked array under ``key``; its content is whatever was there."""
        shape = (shape,) if isinstance(shape, int) else shape
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = self._pinned.get(key)
        if buffer is None or buffer.nbytes < nbytes:
            # one that is outgrown is kept for others, as the driver frees it only when the device is idle: so they must
            # be few
            self._mark("end")  # the device may be idle meanwhile
            size = nbytes if buffer is None else max(nbytes, 2 * buffer.nbytes)
            try:
                buffer = self._pinned[key] = self.device.host_memory.make(size)
            except MemoryError as error:
                raise DeviceMemoryExceeded(f"{nbytes} bytes of host memory cannot be page-locked") from error
        return buffer[:nbytes].view(dtype).reshape(shape)

    def part_with(self, key: str) -> NDArray[np.uint8] | None:
        """The page-locked array under ``key``, None where there is none. It is not the slot's any more: its content
        stays until nobody has a view of it, then it serves another batch.
        """
        return self._pinned.pop(key, None)

    def device_array(self, key: str, nbytes: int, zeroed: bool = False) -> Any:
        """Device memory under ``key`` of at least ``nbytes`` bytes; growing it loses its content.

        Args:
            zeroed: new memory is set to zero, as kernels or copies to the host read more of it than was written.

        Raises:
            DeviceMemoryExceeded: the budget or the device has no memory.
        """
        pointer, size = self._arrays.get(key, (None, 0))
        if pointer is None or size < nbytes:
            if pointer is not None:
                self.device.retire(pointer, size)
                del self._arrays[key]
            pointer, size = self._allocate(self.device.allocate, nbytes, 2 * size)
            self._arrays[key] = (pointer, size)
            if zeroed:
                self.stream.fill(int(pointer), 0, size)
        return pointer

    @property
    def held(self) -> int:
        """Bytes of device memory."""
        return sum(size for _, size in self._arrays.values())

    def retire(self, key: str) -> None:
        """Give back the device array ``key``, as soon as somebody needs the space."""
        if key in self._arrays:
            self.device.retire(*self._arrays.pop(key))

    def give_up(self, key: str) -> tuple[Any, int]:
        """The device array ``key`` and its bytes, which is not the slot's any more."""
        return self._arrays.pop(key)

    def adopt(self, key: str, array: tuple[Any, int]) -> None:
        """Take a device array that is nobody's, where there is none under ``key``."""
        self._arrays[key] = array

    def _allocate(self, allocate: Any, nbytes: int, wanted: int) -> tuple[Any, int]:
        self._mark("end")
        exact = max(_ALIGNMENT, -(-nbytes // _ALIGNMENT) * _ALIGNMENT)
        roomy = max(wanted, -(-int(exact * GROWTH) // _ALIGNMENT) * _ALIGNMENT)
        try:
            return allocate(roomy), roomy
        except DeviceMemoryExceeded:
            return allocate(exact), exact

    # -- work on the stream

    def upload(self, key: str, array: NDArray[Any], max_staged: float = math.inf) -> Any:
        """Copy ``array`` to the device array ``key``, where it is not in pinned memory by way of that.

        Args:
            max_staged: bytes from which on the driver copies it from where it is, for which the host waits.

        Returns:
            The device pointer.
        """
        staged = array
        if array.nbytes <= max_staged and not is_lent(array):
            staged = self.pinned(key, array.shape, array.dtype)
            np.copyto(staged, array)
        pointer = self.device_array(key, staged.nbytes)
        if staged.nbytes:
            self._copy_to_device(int(pointer), staged)
        return pointer

    def upload_parts(self, key: str, nbytes: int, parts: Sequence[tuple[NDArray[np.uint8], int]]) -> Any:
        """Copy arrays to where each begins in the device array ``key`` of so many bytes, those that are in page-locked
        memory from where they are.

        Returns:
            The device pointer.
        """
        ordinary = [part for part, _ in parts if not is_lent(part)]
        staged, end = self.pinned(key, sum(map(len, ordinary)), np.uint8), 0
        pointer = self.device_array(key, nbytes)
        for part, at in parts:
            if not is_lent(part):
                begin, end = end, end + len(part)
                np.copyto(staged[begin:end], part)
                part = staged[begin:end]
            self._copy_to_device(int(pointer) + at, part)
        return pointer

    def _copy_to_device(self, address: int, array: NDArray[Any]) -> None:
        self._mark("copy", "copy to device")
        self.stream.copy_to_device(address, array)
        self.device.timeline.bytes_to_device += array.nbytes

    def upload_once(self, key: str, array: NDArray[Any], owner: object) -> Any:
        """As :meth:`upload`, unless ``key`` still holds what came from ``owner``, whose array this is."""
        return self.once(key, owner, lambda: self.upload(key, array, _MAX_STAGED))

    def once(self, key: str, owner: object, make: Callable[[], object]) -> Any:
        """The device array ``key``, which ``make`` fills unless it still holds what came from ``owner``."""
        if self._owners.get(key) is not owner:
            self._owners.pop(key, None)
            make()
            self._owners[key] = owner
        return self.device_array(key, 0)

    def download(self, key: str, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Copy the head of the device array ``key`` back; the returned pinned array is valid after :meth:`wait`."""
        staged = self.pinned(key, shape, dtype)
        self.download_into(staged, key)
        return staged

    def download_into(self, array: NDArray[Any], key: str) -> None:
        """The same to page-locked memory that is not the slot's."""
        if array.nbytes:
            self._mark("copy", "copy from device")
            self.stream.copy_from_device(array, int(self._arrays[key][0]))
            self.device.timeline.bytes_from_device += array.nbytes

    def clear(self, key: str, nbytes: int, value: int = 0) -> Any:
        """The device array ``key`` with its first ``nbytes`` bytes set to ``value``; returns the device pointer."""
        pointer = self.device_array(key, nbytes)
        self._mark("kernel", self.step)
        self.stream.fill(int(pointer), value, nbytes)
        return pointer

    def copy_on_device(self, to: int, source: int, nbytes: int) -> None:
        self._mark("kernel", self.step)
        self.stream.copy_on_device(to, source, nbytes)

    def launch(
        self, function: Any, grid: int | tuple[int, ...], block: int | tuple[int, ...], *arguments: Any, shared: int = 0
    ) -> None:
        """Enqueue a kernel. ``arguments``: device pointers and numpy scalars; ``shared``: dynamic bytes a block."""
        grid = (grid, 1, 1) if isinstance(grid, int) else (*grid, 1, 1)[:3]
        block = (block, 1, 1) if isinstance(block, int) else (*block, 1, 1)[:3]
        if 0 in grid:
            return
        self._mark("kernel", self.step)
        self.stream.launch(function, grid, block, shared, arguments)

    def submitted(self) -> None:
        """Begin with a batch's work (the runner calls it after the kernel object's ``submit``)."""
        self._mark("end")
        self.stream.flush(last=True)

    @property
    def is_done(self) -> bool:
        """Whether all work of this slot has ended."""
        return bool(self.stream.is_done)

    def wait(self, looking_s: float = 0.0) -> None:
        """Wait for all work of this slot, then note its intervals in the device's timeline.

        Args:
            looking_s: so long the host looks for the end, before it sleeps and is woken, which takes longer.
        """
        start = time.perf_counter()
        with HOST.waiting():
            times = self.stream.wait(self._origin, looking_s)
        self.device.timeline.wait_s += time.perf_counter() - start
        for (kind, step), begin, end in zip(self._marks[:-1], times[:-1], times[1:], strict=True):
            if kind != "end":
                self.device.timeline.add(kind, begin, end, step)
        self._marks.clear()

    def _mark(self, kind: str, step: str = "") -> None:
        """Mark where the stream turns from one kind of work, or step, to another."""
        if not self._marks or self._marks[-1] != (kind, step):
            self.stream.mark()
            self._marks.append((kind, step))

    def _now(self) -> Any:
        self.device.timeline.origin = time.perf_counter()
        return self.stream.now()

    def finish(self) -> None:
        """Mark the end of its work so far, and wait for it: for what must be known before more is enqueued."""
        self._mark("end")
        self.wait()

    # -- the end

    def release(self) -> None:
        """Free the buffers; they grow again on demand."""
        self.wait()
        for pointer, size in self._arrays.values():
            self.device.free(pointer, size)
        self._arrays.clear()
        self._owners.clear()
        self._pinned.clear()

    def close(self) -> None:
        """Release and close the stream (in the device's thread, while the context lives)."""
        self.release()
        self.stream.close()


def slots_of(device: Device, count: int) -> list[Slot]:
    """The device's first ``count`` slots, made once and reused."""
    while len(device.slots) < count:
        device.slots.append(Slot(device))
    return device.slots[:count]
