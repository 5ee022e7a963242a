"""Arrays that stay on a device between batches."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.index.reference import Reference
from gpualign.stream.runner import run_ordered

if TYPE_CHECKING:
    from gpualign.gpu.device import Device

#: zero words before and behind packed text: the kernels read up to 32 letters beyond a window
PAD_WORDS = 4
#: of the device's budget for arrays that may stay on the host; batches need the rest
_RESIDENT_SHARE = 0.7
#: bytes of an array that goes by way of page-locked memory, its parts, and the threads that fill them: by itself the
#: driver copies ordinary memory, such as a mapped file's, at a fraction of the bus's speed
_STAGED_BYTES = 1 << 28
_PART_BYTES = 1 << 24
_COPIERS = 8


class ResidentArrays:
    """Copies of arrays on a device, all of them or none.

    Args:
        beyond: arrays for which there is no room stay in page-locked host memory, where kernels read them over the bus.
        owner: whose arrays they are; kept alive, so that its identity can name them among a device's residents.

    Attributes:
        addresses: of each.

    Raises:
        DeviceMemoryExceeded: there is no room.
    """

    def __init__(self, device: Device, *arrays: NDArray[Any], beyond: bool = False, owner: object = None) -> None:
        self._device, self._beyond, self._owner = device, beyond, owner
        self._held: list[tuple[Any, int]] = []
        self._mapped: list[NDArray[np.uint8]] = []
        start = time.perf_counter()
        try:
            self.addresses = [self._upload(array) for array in arrays]
        except BaseException:
            self.free()
            raise
        device.timeline.load_s += time.perf_counter() - start

    def _upload(self, array: NDArray[Any]) -> int:
        size = max(1, array.nbytes)
        if self._beyond and self._device.allocated + size > _RESIDENT_SHARE * self._device.budget:
            return self._map(array)
        pointer = self._device.allocate(size)
        self._held.append((pointer, size))
        if array.nbytes:
            self._copy(pointer, np.ascontiguousarray(array).view(np.uint8))
            self._device.timeline.bytes_to_device += array.nbytes
        return int(pointer)

    def _copy(self, pointer: Any, memory: NDArray[np.uint8]) -> None:
        driver, lender = self._device.driver, self._device.host_memory
        buffers = []  # as many as run_ordered has under way
        if memory.nbytes >= _STAGED_BYTES:
            with contextlib.suppress(driver.MemoryError):
                buffers = [lender.make(_PART_BYTES) for _ in range(2 * _COPIERS)]
        if len(buffers) < 2 * _COPIERS:
            driver.memcpy_htod(pointer, memory)
            return

        def fill(start: int) -> tuple[int, NDArray[np.uint8]]:
            part = memory[start : start + _PART_BYTES]
            buffer: NDArray[np.uint8] = buffers[start // _PART_BYTES % len(buffers)][: len(part)]
            np.copyto(buffer, part)
            return start, buffer

        for start, buffer in run_ordered(range(0, len(memory), _PART_BYTES), fill, _COPIERS):
            driver.memcpy_htod(int(pointer) + start, buffer)

    def _map(self, array: NDArray[Any]) -> int:
        memory, address = self._device.mapped_memory(max(1, array.nbytes))
        memory[: array.nbytes] = np.ascontiguousarray(array).view(np.uint8)
        self._mapped.append(memory)
        return address

    def free(self) -> None:
        for pointer, size in self._held:
            self._device.free(pointer, size)
        self._held.clear()
        self._mapped.clear()


class ResidentText(ResidentArrays):
    """A packed reference, padded at both ends.

    Attributes:
        text, known: addresses of the first base's word and of its known bit's.
    """

    def __init__(self, device: Device, reference: Reference, beyond: bool = False) -> None:
        known = _native.reference_known_bits(reference.native)
        words = padded(reference.words.view(np.uint32))
        super().__init__(device, words, padded(known), beyond=beyond, owner=reference)
        self.text, self.known = (address + 4 * PAD_WORDS for address in self.addresses)


def padded(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The words with :data:`PAD_WORDS` zeros on either side."""
    padding = np.zeros(PAD_WORDS, np.uint32)
    return np.concatenate([padding, words, padding])
