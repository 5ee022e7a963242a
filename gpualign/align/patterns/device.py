"""The device side of ``search``: tables of patterns, launches of ``cuda/search.cu``, and the events that come back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns import tuning
from gpualign.align.patterns.cpu import Patterns, SearchHits, TargetText, search_on_cpu
from gpualign.errors import DeviceError
from gpualign.run.abi import changed, filled
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.kernel import AGAIN, Again, DeviceKernel, FoundList
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.reference import Reference

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


class PatternKernel(DeviceKernel[DeviceSearch, NDArray[np.uint64] | None]):
    """Finds where patterns may lie: uint64 (n,), the events, or None where they are too many."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._functions = {name: device.function("search", f"search_{name}") for name in ("words", "narrow", "wide")}
        self._events = FoundList("events", np.uint64)
        self._per_base = tuning.EVENTS_PER_BASE  # more where a batch had more

    def launch(self, slot: Slot, item: DeviceSearch) -> int:
        capacity = min(max(tuning.MIN_EVENTS, int(self._per_base * item.bases)), tuning.MAX_EVENTS)
        tables, table = self._tables(item.patterns)
        text = slot.upload("text", item.words)
        events, count = map(int, self._events.space(slot, capacity))
        arrays = {"text": int(text), "bases": item.bases, "events": events, "capacity": capacity, "count": count}
        batch = filled("SearchArrays", table=table, columns=tuning.DENSE_COLUMNS, **arrays)
        if item.patterns.native.bases:
            blocks = min(tuning.WORD_BLOCKS, -(-item.bases // tuning.WORD_TILE))
            slot.launch(self._functions["words"], max(1, blocks), tuning.WORD_THREADS, batch)
        chunks = -(-item.bases // tuning.DENSE_COLUMNS)
        for name in ("narrow", "wide"):
            address, number = tables[name]
            blocks = -(-(-(-number // 32) * chunks) // (tuning.DENSE_THREADS // 32))
            own = changed(batch, dense=address, patterns=number)
            slot.launch(self._functions[name], blocks, tuning.DENSE_THREADS, own)
        self._events.download(slot, min(capacity, tuning.FIRST_EVENTS))
        return capacity

    def result(self, slot: Slot, item: DeviceSearch, launched: int) -> NDArray[np.uint64] | Again | None:
        count = self._events.count(slot)
        if count > tuning.MAX_EVENTS:
            return None
        if count > launched:
            self._per_base = max(self._per_base, (count + 1) / item.bases)
            return AGAIN
        events: NDArray[np.uint64] = self._events.entries(slot, tuning.FIRST_EVENTS)[0].copy()
        return events

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


def self_tests() -> Iterator[SelfTest]:
    """Patterns with and without seeds in random text."""
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

    def on_device(device: Device) -> SearchHits:
        events = run_alone(device, PatternKernel, DeviceSearch(patterns, reference.words, len(text)))
        if events is None:
            raise DeviceError(f"{device.name}: search has more events than there can be")
        return search_on_cpu(patterns, targets, events)

    yield SelfTest("hits", on_device, lambda: search_on_cpu(patterns, targets))
