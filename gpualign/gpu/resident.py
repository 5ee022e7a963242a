"""Arrays that stay on a device between batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.index.reference import Reference

if TYPE_CHECKING:
    from gpualign.gpu.device import Device

#: zero words before and behind packed text: the kernels read up to 32 letters beyond a window
PAD_WORDS = 4
#: of the device's budget for arrays that may stay on the host; batches need the rest
_RESIDENT_SHARE = 0.7


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
        try:
            self.addresses = [self._upload(array) for array in arrays]
        except BaseException:
            self.free()
            raise

    def _upload(self, array: NDArray[Any]) -> int:
        size = max(1, array.nbytes)
        if self._beyond and self._device.allocated + size > _RESIDENT_SHARE * self._device.budget:
            return self._map(array)
        pointer = self._device.allocate(size)
        self._held.append((pointer, size))
        if array.nbytes:
            self._device.driver.memcpy_htod(pointer, np.ascontiguousarray(array))
            self._device.timeline.bytes_to_device += array.nbytes
        return int(pointer)

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
