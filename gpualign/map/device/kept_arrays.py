"""Device arrays that outlive a batch, for a later one on any slot."""

from __future__ import annotations

import itertools
from typing import Any

from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import Device

_Array = tuple[Any, int]


class KeptArrays:
    """Arrays detached from slots, by number. All methods run in the device's thread.

    Args:
        key: of the slots' array.
        max_kept: beyond this number the oldest array is dropped.
    """

    def __init__(self, device: Device, key: str, max_kept: int) -> None:
        self._device, self._key, self._max_kept = device, key, max_kept
        self._kept: dict[int, _Array] = {}
        self._in_use: dict[int, list[_Array]] = {}
        self._spare: list[_Array] = []

    def keep(self, number: int, slot: Slot) -> None:
        """Take the array of a slot whose work is done; the slot gets a spare one, if there is any."""
        self._kept[number] = slot.detach(self._key)
        while len(self._kept) > self._max_kept:
            self._spare.append(self._kept.pop(next(iter(self._kept))))
        if self._spare:
            slot.attach(self._key, self._spare.pop())

    def use(self, number: int, slot: Slot) -> int | None:
        """The array's address, for a batch on this slot; None if it was dropped."""
        array = self._kept.pop(number, None)
        if array is None:
            return None
        self._in_use.setdefault(id(slot), []).append(array)
        return int(array[0])

    def used(self, slot: Slot) -> None:
        """The slot's work is done: its arrays are spare."""
        self._spare += self._in_use.pop(id(slot), [])

    def free(self) -> None:
        """Free all arrays; no kernel may be running."""
        for pointer, size in itertools.chain(self._kept.values(), self._spare, *self._in_use.values()):
            self._device.free(pointer, size)
