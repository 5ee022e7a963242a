"""Slots: a stream with its own pinned host memory and device arrays. Two slots per device overlap their work.

A batch's copies and launches are recorded, and native code enqueues them in one call that holds no GIL. Released for
each copy and launch, the GIL would have to be won back from the host's threads every time.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpualign.run import tuning
from gpualign.run.gpu.device import EVICTABLE, Device, DeviceMemoryExceeded
from gpualign.run.gpu.pinned_pool import is_pinned
from gpualign.streaming.timeline import STEPS, WAIT

#: bytes at multiples of which arrays begin, as the driver's allocations do
ALIGNMENT = 256


def aligned(nbytes: int, alignment: int = ALIGNMENT) -> int:
    """The next multiple of ``alignment`` bytes."""
    return -(-nbytes // alignment) * alignment


class _Arrays(dict[str, tuple[Any, int]]):
    """Device arrays and their sizes, by name.

    Attributes:
        held: bytes of all of them. Every batch asks for it many times, so it is not summed again.
    """

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device, self.held = device, 0

    def __setitem__(self, key: str, array: tuple[Any, int]) -> None:
        assert key not in self
        super().__setitem__(key, array)
        self._count(array[1])

    def take(self, key: str) -> tuple[Any, int]:
        """The array, which is no longer here."""
        array = self.pop(key)
        self._count(-array[1])
        return array

    def _count(self, size: int) -> None:
        self.held += size
        self._device.held += size

    def free(self) -> None:
        """Free all of them."""
        while self:
            self._device.free(*self.take(next(iter(self))))


class Scratch:
    """Device memory that slots use in turn, and that holds nothing between two turns (:meth:`Slot.using`).

    A turn's arrays are parts of one block, as the driver takes a part of a millisecond for each block, and longer if
    it has several devices. A turn that needs more memory gets more blocks, and the next one a block for all.

    Args:
        wanted: bytes of the first block.
    """

    def __init__(self, device: Device, wanted: int = 0) -> None:
        self._device, self._wanted = device, wanted
        self._blocks = _Arrays(device)
        self._arrays: dict[str, tuple[int, int]] = {}  # addresses and sizes in this turn
        self._next = self._end = 0  # addresses of what is left of the newest block
        self.event = device.cuda.event()

    @property
    def held(self) -> int:
        """Bytes of device memory."""
        return self._blocks.held

    def begin(self) -> None:
        """A turn begins."""
        self._arrays.clear()
        if len(self._blocks) > 1:
            self._wanted = self._blocks.held
            for key in list(self._blocks):
                self._device.retire(*self._blocks.take(key))
            self._next = self._end = 0
        for pointer, size in self._blocks.values():
            self._next, self._end = int(pointer), int(pointer) + size

    def array(self, key: str, nbytes: int, allocate: Callable[[int, int], tuple[Any, int]]) -> int:
        """The address of an array of at least ``nbytes`` bytes.

        Args:
            allocate: (bytes, bytes if possible) -> a block and its size.
        """
        address, size = self._arrays.get(key, (0, -1))
        if size >= nbytes:
            return address
        size = aligned(nbytes)
        if size > self._end - self._next:
            pointer, block = self._blocks[f"{len(self._blocks)}"] = allocate(size, self._wanted)
            self._wanted, self._next, self._end = 0, int(pointer), int(pointer) + block
        address, self._next = self._next, self._next + size
        self._arrays[key] = address, size
        return address

    def free(self) -> None:
        """Free the memory, for good."""
        self._blocks.free()


class Slot:
    """Everything one batch needs on a device. All methods run in the device's thread, and only :meth:`wait` and
    :meth:`finish` wait. Recorded work starts at :meth:`submitted` or :meth:`wait`. A slot's buffers belong to its
    batch until its result has been collected.

    Attributes:
        step: the timeline's step of the kernels launched from now on.
        launched: what the kernel object keeps of the batch between its launch and its result.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.stream = device.cuda.stream(device.bell)
        device.streams.append(self.stream)
        self._pinned: dict[str, NDArray[np.uint8]] = {}
        self._arrays = _Arrays(device)
        self._scratch: Scratch | None = None
        self._owners: dict[str, object] = {}
        self._marks: list[tuple[str, str]] = []
        self.step = "kernel"
        self.launched: Any = None
        self._origin = device.resident("timeline origin", self._now)

    # -- memory

    def pinned(self, key: str, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """The pinned array under ``key``, uninitialized."""
        shape = (shape,) if isinstance(shape, int) else shape
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = self._pinned.get(key)
        if buffer is None or buffer.nbytes < nbytes:
            # the pool keeps an outgrown buffer, as the driver frees it only when the device is idle: grow in few steps
            self._mark("end")  # the device may be idle during the allocation
            size = nbytes if buffer is None else max(nbytes, 2 * buffer.nbytes)
            try:
                buffer = self._pinned[key] = self.device.pinned_pool.make(size)
            except MemoryError as error:
                raise DeviceMemoryExceeded(f"{nbytes} bytes of host memory cannot be pinned") from error
        return buffer[:nbytes].view(dtype).reshape(shape)

    def detach_pinned(self, key: str) -> NDArray[np.uint8] | None:
        """Take the pinned array under ``key`` from the slot; None if there is none. Its last view returns it to the
        pool.
        """
        return self._pinned.pop(key, None)

    def device_array(self, key: str, nbytes: int, zeroed: bool = False) -> Any:
        """Device memory under ``key`` of at least ``nbytes`` bytes; growing it loses its content.

        Args:
            zeroed: clear new memory, as kernels or copies to the host read more of it than was written.

        Raises:
            DeviceMemoryExceeded: the budget or the device has no memory.
        """
        pointer, size = self._arrays.get(key, (None, 0))
        if pointer is not None and size >= nbytes:
            return pointer
        if pointer is not None:
            self.retire(key)
        pointer, size = self._arrays[key] = self._allocate(nbytes, 2 * size)
        if zeroed:
            self.stream.fill(int(pointer), 0, size)
        return pointer

    def scratch_array(self, key: str, nbytes: int) -> int:
        """The address of an array of the scratch memory that is being used (:meth:`using`), of at least ``nbytes``
        bytes.

        Raises:
            DeviceMemoryExceeded: the budget or the device has no memory.
        """
        assert self._scratch is not None
        return self._scratch.array(key, nbytes, self._allocate)

    @contextlib.contextmanager
    def using(self, scratch: Scratch) -> Iterator[None]:
        """What is launched inside may use ``scratch``: it waits for what other slots have launched so."""
        before, self._scratch = self._scratch, scratch
        self._mark("end")
        self.stream.wait_for(scratch.event)
        scratch.begin()
        try:
            yield
        finally:
            self.stream.record(scratch.event)
            self._scratch = before

    @property
    def held(self) -> int:
        """Bytes of device memory."""
        return self._arrays.held

    def retire(self, key: str) -> None:
        """Free the device array ``key`` as soon as its memory is needed."""
        if key in self._arrays:
            self.device.retire(*self._arrays.take(key))

    def detach(self, key: str) -> tuple[Any, int]:
        """Take the device array ``key`` and its size from the slot."""
        return self._arrays.take(key)

    def attach(self, key: str, array: tuple[Any, int]) -> None:
        """Make a detached device array this slot's array ``key``, which it must lack."""
        self._arrays[key] = array

    def _allocate(self, nbytes: int, wanted: int) -> tuple[Any, int]:
        """Memory of ``nbytes`` bytes, or as many as ``wanted`` if possible, and its size."""
        self._mark("end")
        exact = max(ALIGNMENT, aligned(nbytes))
        larger = max(wanted, aligned(int(exact * tuning.GROWTH)))
        try:
            return self.device.allocate(larger), larger
        except DeviceMemoryExceeded:
            return self.device.allocate(exact), exact

    # -- work on the stream

    def upload(self, key: str, array: NDArray[Any], max_staged: float = math.inf) -> Any:
        """Copy ``array`` to the device array ``key``, staged in pinned memory unless it is pinned itself.

        Args:
            max_staged: a larger array is not staged: the driver copies it from pageable memory, and the host waits.

        Returns:
            The device pointer.
        """
        staged = array
        if array.nbytes <= max_staged and not is_pinned(array):
            staged = self.pinned(key, array.shape, array.dtype)
            np.copyto(staged, array)
        pointer = self.device_array(key, staged.nbytes)
        if staged.nbytes:
            self._copy_to_device(int(pointer), staged)
        return pointer

    def upload_parts(self, key: str, nbytes: int, parts: Sequence[tuple[NDArray[np.uint8], int]]) -> Any:
        """Copy arrays to their offsets in the device array ``key`` of ``nbytes`` bytes; pageable ones are staged.

        Args:
            parts: arrays and their offsets.

        Returns:
            The device pointer.
        """
        ordinary = [part for part, _ in parts if not is_pinned(part)]
        staged, end = self.pinned(key, sum(map(len, ordinary)), np.uint8), 0
        pointer = self.device_array(key, nbytes)
        for part, at in parts:
            if not is_pinned(part):
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
        """Copy ``array`` like :meth:`upload`, unless ``key`` still holds the array of this ``owner``."""
        return self.once(key, owner, lambda: self.upload(key, array, tuning.MAX_STAGED))

    def once(self, key: str, owner: object, make: Callable[[], object]) -> Any:
        """The device array ``key``; ``make`` fills it unless it still holds the data of ``owner``."""
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
        """Copy the head of the device array ``key`` to pinned memory that is not the slot's."""
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
        """Launch a kernel. ``arguments``: device pointers and numpy scalars; ``shared``: dynamic bytes per block."""
        grid = (grid, 1, 1) if isinstance(grid, int) else (*grid, 1, 1)[:3]
        block = (block, 1, 1) if isinstance(block, int) else (*block, 1, 1)[:3]
        if 0 in grid:
            return
        self._mark("kernel", self.step)
        self.stream.launch(function, grid, block, shared, arguments)

    def submitted(self) -> None:
        """Enqueue the recorded work (the runner calls this after the kernel object's ``submit``)."""
        self._mark("end")
        self.stream.flush(last=True)

    @property
    def is_done(self) -> bool:
        """Whether all work of this slot has ended."""
        return bool(self.stream.is_done)

    def wait(self, spin_s: float = 0.0) -> None:
        """Wait for all work of this slot, then note its intervals in the device's timeline.

        Args:
            spin_s: how long the host spins before it sleeps; waking takes longer.
        """
        start = time.perf_counter()
        with STEPS.at(WAIT):
            times = self.stream.wait(self._origin, spin_s)
        self.device.timeline.wait_s += time.perf_counter() - start
        for (kind, step), begin, end in zip(self._marks[:-1], times[:-1], times[1:], strict=True):
            if kind != "end":
                self.device.timeline.add(kind, begin, end, step)
        self._marks.clear()

    def _mark(self, kind: str, step: str = "") -> None:
        """Record an event where the stream changes to another kind of work or step."""
        if not self._marks or self._marks[-1] != (kind, step):
            self.stream.mark()
            self._marks.append((kind, step))

    def _now(self) -> Any:
        self.device.timeline.origin = time.perf_counter()
        return self.stream.now()

    def finish(self) -> None:
        """Wait for the work recorded so far, as its results decide what is enqueued next."""
        self._mark("end")
        self.wait()

    # -- the end

    def release(self) -> None:
        """Free the buffers; they grow again on demand."""
        self.wait()
        self._arrays.free()
        self._owners.clear()
        self._pinned.clear()

    def close(self) -> None:
        """Release and close the stream (in the device's thread, while the context lives)."""
        self.release()
        self.stream.close()


def scratch_of(slot: Slot, names: Sequence[str], share: float) -> list[Scratch]:
    """Scratch memories of these names: the slot's own or, where memory is too little for all slots, shared ones.

    Args:
        share: of the memory that nothing resident takes, for all of them together.
    """
    device = slot.device
    first = [device.resident(f"{EVICTABLE} {name} 0", lambda: Scratch(device)) for name in names]
    count = int(share * device.batch_budget / max(sum(scratch.held for scratch in first), 1))
    number = device.slots.index(slot) % min(max(count, 1), len(device.slots))

    def like(other: Scratch) -> Callable[[], Scratch]:
        return lambda: Scratch(device, other.held)

    return [
        device.resident(f"{EVICTABLE} {name} {number}", like(other)) for name, other in zip(names, first, strict=True)
    ]


def slots_of(device: Device, count: int) -> list[Slot]:
    """The device's first ``count`` slots, made once and reused."""
    while len(device.slots) < count:
        device.slots.append(Slot(device))
    return device.slots[:count]
