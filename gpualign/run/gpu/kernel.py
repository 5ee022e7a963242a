"""The device side of a primitive: what every kernel object has in common."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device

Item = TypeVar("Item")
Result = TypeVar("Result")


class Again(Enum):
    """Says that a launch had too little space, and that the next one has more."""

    AGAIN = 0


AGAIN = Again.AGAIN


class DeviceKernel(Generic[Item, Result]):
    """Computes items on one device; created, used and released in the device's thread.

    Batches of several slots are in flight at once. How much space a batch takes is often known only when its kernels
    have counted: a launch guesses, and :meth:`result` asks for another launch where that was too little.
    """

    def __init__(self, device: Device) -> None:
        self.device = device

    def launch(self, slot: Slot, item: Item) -> Any:
        """Enqueue copies and kernels on ``slot`` without waiting for them; returns what :meth:`result` wants to know of
        this launch.
        """
        raise NotImplementedError

    def result(self, slot: Slot, item: Item, launched: Any) -> Result | Again:
        """The result, once the slot's work is done, without views of the slot's pinned memory; or :data:`AGAIN`.

        Raises:
            DeviceMemoryExceeded: the item does not fit the device; the runner halves it.
        """
        raise NotImplementedError

    def split(self, item: Item) -> list[Any]:
        """Halves of an item that does not fit the device's memory; the item itself if it has none."""
        return [item]

    def join(self, results: Sequence[Result]) -> Result:
        """The result of an item, from its halves' results."""
        raise NotImplementedError

    def kernel_for(self, item: Any) -> DeviceKernel[Any, Any]:
        """The kernel that takes such an item: another one where several share a device."""
        return self

    # -- what the runner calls

    def submit(self, slot: Slot, item: Item) -> None:
        """Launch an item."""
        slot.launched = self.launch(slot, item)

    def collect(self, slot: Slot, item: Item) -> Result:
        """The result of the item that was submitted on ``slot`` and is done, launched as often as that takes."""
        while (result := self.result(slot, item, slot.launched)) is AGAIN:
            self.submit(slot, item)
            slot.finish()
        return result


class HalvingKernel(DeviceKernel[Item, Result]):
    """A kernel whose items have a length and ``part``, and whose results have ``join``."""

    def split(self, item: Any) -> list[Any]:
        middle = len(item) // 2
        return [item.part(0, middle), item.part(middle, len(item))] if middle else [item]

    def join(self, results: Sequence[Any]) -> Any:
        return type(results[0]).join(results)


class FoundList:
    """A list that kernels append to, in no order; only the device knows how long it gets.

    Args:
        key: of the slot's arrays.
        columns: types of an entry's parts, each in an array of its own; (type, n): n numbers.
    """

    def __init__(self, key: str, *columns: DTypeLike) -> None:
        self._key, self._columns = key, [np.dtype(column) for column in columns]

    def space(self, slot: Slot, capacity: int) -> list[Any]:
        """Device pointers for an empty list of up to ``capacity`` entries: of each column, then of the count (uint64),
        which goes on beyond the capacity.
        """
        arrays = [
            slot.device_array(f"{self._key} {i}", capacity * column.itemsize, zeroed=True)
            for i, column in enumerate(self._columns)
        ]
        return [*arrays, slot.clear(f"{self._key} count", 8)]

    def download(self, slot: Slot, ahead: int = 0) -> None:
        """Enqueue the copy of the count, after the kernels, and of the first ``ahead`` entries, which saves a wait."""
        slot.download(f"{self._key} count", 1, np.uint64)
        self._copy(slot, ahead)

    def count(self, slot: Slot) -> int:
        """Entries found."""
        return int(slot.pinned(f"{self._key} count", 1, np.uint64)[0])

    def entries(self, slot: Slot, ahead: int = 0) -> list[NDArray[Any]]:
        """The columns in pinned memory of the slot. Waits for the device where more than ``ahead`` were found."""
        count = self.count(slot)
        if count > ahead:
            self._copy(slot, count)
            slot.finish()
        return [
            slot.pinned(f"{self._key} {i}", (count, *column.shape), column.base)
            for i, column in enumerate(self._columns)
        ]

    def _copy(self, slot: Slot, count: int) -> None:
        if count:
            for i, column in enumerate(self._columns):
                slot.download(f"{self._key} {i}", (count, *column.shape), column.base)
