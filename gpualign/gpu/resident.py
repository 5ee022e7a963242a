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


class ResidentArrays:
    """Copies of arrays on a device, all of them or none.

    Attributes:
        addresses: of each.

    Raises:
        DeviceMemoryExceeded: there is no room.
    """

    def __init__(self, device: Device, *arrays: NDArray[Any]) -> None:
        self._device = device
        self._held: list[tuple[Any, int]] = []
        try:
            self.addresses = [self._upload(array) for array in arrays]
        except BaseException:
            self.free()
            raise

    def _upload(self, array: NDArray[Any]) -> int:
        size = max(1, array.nbytes)
        pointer = self._device.allocate(size)
        self._held.append((pointer, size))
        if array.nbytes:
            self._device.driver.memcpy_htod(pointer, np.ascontiguousarray(array))
            self._device.timeline.bytes_to_device += array.nbytes
        return int(pointer)

    def free(self) -> None:
        for pointer, size in self._held:
            self._device.free(pointer, size)
        self._held.clear()


class ResidentText(ResidentArrays):
    """A packed reference, padded at both ends.

    Attributes:
        text, known: addresses of the first base's word and of its known bit's.
    """

    def __init__(self, device: Device, reference: Reference) -> None:
        self.reference = reference  # keeps the key (its identity) alive
        known = _native.reference_known_bits(reference.native)
        super().__init__(device, padded(reference.words.view(np.uint32)), padded(known))
        self.text, self.known = (address + 4 * PAD_WORDS for address in self.addresses)


def padded(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The words with :data:`PAD_WORDS` zeros on either side."""
    padding = np.zeros(PAD_WORDS, np.uint32)
    return np.concatenate([padding, words, padding])
