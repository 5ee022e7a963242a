"""The device side of ``search``: tables of patterns, launches of ``cuda/search.cu``, and the events that come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns import tuning
from gpualign.align.patterns.cpu import Patterns, TargetText, search_on_cpu
from gpualign.errors import DeviceError
from gpualign.run.abi import filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.runner import run_on_devices
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.reference import Reference

#: one word each, as the host reads them
_EVENT_BYTES = 8
#: of cuda/abi/search.hpp
_SEGMENT_WORDS = 7


@dataclass(frozen=True, eq=False)
class DeviceSearch:
    """What a device takes: a packed text, in which patterns are looked for.

    Attributes:
        patterns: the same for all batches.
        words: uint64, packed bases; ``bases`` of them.
    """

    patterns: Patterns
    words: NDArray[np.uint64]
    bases: int


class SearchKernel:
    """Runs :class:`DeviceSearch` on one device (see ``gpu.runner.Kernel``).

    A result is uint64 (n,), the events, or None where they are too many.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._functions = {name: device.function("search", f"search_{name}") for name in ("words", "narrow", "wide")}

    def submit(self, slot: Slot, item: DeviceSearch) -> None:
        self._launch(slot, item, self._capacity(item))

    def collect(self, slot: Slot, item: DeviceSearch) -> NDArray[np.uint64] | None:
        count = int(slot.pinned("count", 1, np.uint64)[0])
        if count > tuning.MAX_EVENTS:
            return None
        if count > self._capacity(item):  # now it is known how many there are
            self._launch(slot, item, count)
            slot.finish()
        if count > tuning.FIRST_EVENTS:
            slot.download("events", count, np.uint64)
            slot.finish()
        events: NDArray[np.uint64] = slot.pinned("events", count, np.uint64).copy()
        return events

    def _capacity(self, item: DeviceSearch) -> int:
        return max(tuning.MIN_EVENTS, int(tuning.EVENTS_PER_BASE * item.bases))

    def _launch(self, slot: Slot, item: DeviceSearch, capacity: int) -> None:
        """Enqueue the kernels, with space for so many events."""
        tables, table = self._tables(item.patterns)
        text = slot.upload("text", item.words)
        arrays: dict[str, Any] = {"table": table, "text": int(text), "bases": item.bases, "capacity": capacity}
        arrays |= {"events": int(slot.device_array("events", capacity * _EVENT_BYTES, zeroed=True))}
        arrays |= {"count": int(slot.clear("count", 8)), "columns": tuning.DENSE_COLUMNS}
        if item.patterns.native.bases:
            blocks = min(tuning.WORD_BLOCKS, -(-item.bases // tuning.WORD_TILE))
            launch = filled("SearchArrays", **arrays)
            slot.launch(self._functions["words"], max(1, blocks), tuning.WORD_THREADS, launch)
        chunks = -(-item.bases // tuning.DENSE_COLUMNS)
        for name in ("narrow", "wide"):
            address, count = tables[name]
            warps = -(-count // 32) * chunks
            launch = filled("SearchArrays", **arrays, dense=address, patterns=count)
            blocks = -(-warps // (tuning.DENSE_THREADS // 32))
            slot.launch(self._functions[name], blocks, tuning.DENSE_THREADS, launch)
        slot.download("count", 1, np.uint64)
        slot.download("events", min(capacity, tuning.FIRST_EVENTS), np.uint64)

    def _tables(self, patterns: Patterns) -> tuple[dict[str, tuple[int, int]], np.void]:
        """Addresses and numbers of the patterns without seeds, and the struct of the table of seeds."""
        arrays = patterns.native.tables
        resident = self.device.resident("search tables", lambda: DeviceArrays(self.device, *arrays), patterns)
        names = ("marked", "ranks", "firsts", "seeds", "segments", "narrow", "wide")
        at = dict(zip(names, resident.addresses, strict=True))
        dense = {
            name: (at[name], len(array) // _SEGMENT_WORDS) for name, array in zip(names[5:], arrays[5:], strict=True)
        }
        columns = {name: at[name] for name in names[:5]}
        return dense, filled("SearchTable", **columns, bases=patterns.native.bases, stride=patterns.native.stride)


SELF_TEST_MODULES: tuple[Variant, ...] = (("search", {}),)


def self_test(device: Device) -> None:
    """Patterns with and without seeds in random text, on the device and on the CPU.

    Raises:
        DeviceError: the hits differ.
    """
    rng = np.random.default_rng(1)
    text = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 16)]
    offsets = np.array([0, len(text)], np.int64)
    reference = Reference.packed(["random"], offsets, (text,))
    lengths = np.repeat([16, 20, 32, 40, 64, 150, 700], 6)
    at = rng.integers(0, len(text) - 700, len(lengths))
    symbols = np.concatenate([text[begin : begin + size] for begin, size in zip(at, lengths, strict=True)])
    symbols[rng.random(len(symbols)) < 0.02] = ord("A")
    limits = np.minimum(lengths // 4, np.tile([0, 1, 2, 3, 5, 12], len(lengths) // 6)).astype(np.int32)
    names = [str(i) for i in range(len(lengths))]
    patterns = Patterns(names, symbols, offsets_of(lengths), limits, limits, np.zeros(len(symbols), np.uint8), text=1e9)
    targets = TargetText(reference, offsets, offsets[:1], offsets[1:], np.zeros(1, np.uint8))
    item = DeviceSearch(patterns, reference.words, len(text))
    (events,) = run_on_devices([item], SearchKernel, [device])
    if events is None:
        raise DeviceError(f"{device.name}: search has more events than there can be")
    got, expected = search_on_cpu(patterns, targets, events), search_on_cpu(patterns, targets)
    for name in ("pattern", "minus", "start", "end", "distance", "operations"):
        if not np.array_equal(getattr(got, name), getattr(expected, name)):
            raise DeviceError(f"{device.name}: search's {name} differs from the CPU's")
