"""Device arrays of one batch that a later one uses, on whichever slot."""

from __future__ import annotations

from typing import Any

from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import Device

_Array = tuple[Any, int]


class KeptArrays:
    """Arrays that slots have given up, by number; all methods run in the device's thread. They serve later batches.

    Args:
        key: which array of a slot.
        most: that are kept at a time: the oldest one goes when there are more.
    """

    def __init__(self, device: Device, key: str, most: int) -> None:
        self._device, self._key, self._most = device, key, most
        self._kept: dict[int, _Array] = {}
        self._in_use: dict[int, list[_Array]] = {}
        self._spare: list[_Array] = []

    def keep(self, number: int, slot: Slot) -> None:
        """Take the array from a slot whose work is done; it may get another one instead."""
        self._kept[number] = slot.give_up(self._key)
        while len(self._kept) > self._most:
            self._spare.append(self._kept.pop(next(iter(self._kept))))
        if self._spare:
            slot.adopt(self._key, self._spare.pop())

    def use(self, number: int, slot: Slot) -> int | None:
        """Its address, for a batch on this slot; None where it is not there any more."""
        array = self._kept.pop(number, None)
        if array is None:
            return None
        self._in_use.setdefault(id(slot), []).append(array)
        return int(array[0])

    def used(self, slot: Slot) -> None:
        """The slot's work is done."""
        self._spare += self._in_use.pop(id(slot), [])

    def free(self) -> None:
        """Give all back; no kernel runs."""
        for pointer, size in (
            *self._kept.values(),
            *self._spare,
            *(each for of in self._in_use.values() for each in of),
        ):
            self._device.free(pointer, size)
        self._kept.clear()
        self._spare.clear()
        self._in_use.clear()
