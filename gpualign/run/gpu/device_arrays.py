"""Arrays that stay on a device between batches."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.run import tuning
from gpualign.run.gpu.device import Device
from gpualign.sequences.reference import Reference
from gpualign.streaming.ordered import run_ordered

#: zero words before and after packed text: kernels read up to 32 bases beyond a window
PAD_WORDS = 4


@dataclass(frozen=True)
class Computed:
    """An array that is computed in its destination, a part at a time.

    Attributes:
        nbytes: size of the array.
        fill: (offset, uint8 (n,)): write the n bytes from that offset on; called from several threads.
    """

    nbytes: int
    fill: Callable[[int, NDArray[np.uint8]], None]

    def whole(self) -> NDArray[np.uint8]:
        memory = np.empty(self.nbytes, np.uint8)
        fill_parts(self, memory)
        return memory


class _Given:
    """An array in memory, with the interface of :class:`Computed`."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._bytes: NDArray[np.uint8] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.nbytes = array.nbytes

    def fill(self, start: int, buffer: NDArray[np.uint8]) -> None:
        np.copyto(buffer, self._bytes[start : start + len(buffer)])

    def whole(self) -> NDArray[np.uint8]:
        return self._bytes


def fill_parts(source: Computed | _Given, memory: NDArray[np.uint8]) -> None:
    """Write the array, its parts in several threads."""

    def fill(start: int) -> None:
        source.fill(start, memory[start : start + tuning.PART_BYTES])

    for _ in run_ordered(range(0, source.nbytes, tuning.PART_BYTES), fill, tuning.COPIERS):
        pass


class DeviceArrays:
    """Copies of arrays on a device, all of them or none.

    Args:
        padding: bytes of zeros before and after each.
        beyond: arrays that do not fit stay in pinned host memory, where kernels read them over the bus.

    Attributes:
        addresses: device address of each array.

    Raises:
        DeviceMemoryExceeded: there is no memory.
    """

    def __init__(
        self, device: Device, *arrays: NDArray[Any] | Computed, padding: int = 0, beyond: bool = False
    ) -> None:
        self._device, self._padding, self._beyond = device, padding, beyond
        self._held: list[tuple[Any, int]] = []
        self._mapped: list[NDArray[np.uint8]] = []
        start = time.perf_counter()
        try:
            self.addresses = [self._upload(array if isinstance(array, Computed) else _Given(array)) for array in arrays]
        except BaseException:
            self.free()
            raise
        device.timeline.load_s += time.perf_counter() - start

    def _upload(self, source: Computed | _Given) -> int:
        size = max(1, source.nbytes + 2 * self._padding)
        if self._beyond and self._device.allocated + size > tuning.RESIDENT_SHARE * self._device.budget:
            return self._map(source, size)
        pointer = self._device.allocate(size)
        self._held.append((pointer, size))
        address, zeros = int(pointer) + self._padding, np.zeros(self._padding, np.uint8)
        if self._padding:
            self._device.driver.memcpy_htod(int(pointer), zeros)
            self._device.driver.memcpy_htod(address + source.nbytes, zeros)
        if source.nbytes:
            self._copy(address, source)
            self._device.timeline.bytes_to_device += source.nbytes
        return address

    def _copy(self, address: int, source: Computed | _Given) -> None:
        driver, pool = self._device.driver, self._device.pinned_pool
        buffers = []  # for each part that run_ordered has in flight
        if source.nbytes >= tuning.STAGED_BYTES:
            with contextlib.suppress(MemoryError):
                buffers = [pool.make(tuning.PART_BYTES) for _ in range(2 * tuning.COPIERS)]
        if len(buffers) < 2 * tuning.COPIERS:
            driver.memcpy_htod(address, source.whole())
            return

        def fill(start: int) -> tuple[int, NDArray[np.uint8]]:
            stop = min(source.nbytes, start + tuning.PART_BYTES)
            buffer: NDArray[np.uint8] = buffers[start // tuning.PART_BYTES % len(buffers)][: stop - start]
            source.fill(start, buffer)
            return start, buffer

        for start, buffer in run_ordered(range(0, source.nbytes, tuning.PART_BYTES), fill, tuning.COPIERS):
            driver.memcpy_htod(address + start, buffer)

    def _map(self, source: Computed | _Given, size: int) -> int:
        memory, address = self._device.mapped_memory(size)
        content = memory[self._padding : self._padding + source.nbytes]
        memory[: self._padding] = memory[self._padding + source.nbytes :] = 0

        fill_parts(source, content)
        self._mapped.append(memory)
        return address + self._padding

    def free(self) -> None:
        for pointer, size in self._held:
            self._device.free(pointer, size)
        self._held.clear()
        self._mapped.clear()


class DeviceText(DeviceArrays):
    """A packed reference, padded at both ends.

    Attributes:
        text, mask: addresses of the first base's word and of its word of the ACGT mask.
    """

    def __init__(self, device: Device, reference: Reference, beyond: bool = False) -> None:
        native = reference.native

        def fill_mask(start: int, buffer: NDArray[np.uint8]) -> None:
            _native.fill_acgt_mask(native, start // 4, buffer.view(np.uint32))

        mask = Computed(4 * reference.mask_words, fill_mask)
        super().__init__(device, reference.words, mask, padding=4 * PAD_WORDS, beyond=beyond)
        self.text, self.mask = self.addresses


def padded(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The words with :data:`PAD_WORDS` zeros on either side."""
    padding = np.zeros(PAD_WORDS, np.uint32)
    return np.concatenate([padding, words, padding])
