"""What a device did when, and what the host did: how much of the copying cost time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

Interval = tuple[float, float]
#: intervals that may be kept without summing up
_MAX_KEPT = 1024


@dataclass
class Timeline:
    """Intervals of one device in seconds since its first event, folded into sums as they arrive.

    Attributes:
        bytes_to_device: bytes copied to the device.
        bytes_from_device: bytes copied from it.
        kernel_s: time in which at least one kernel ran.
        copy_s: time in which at least one copy ran.
        hidden_copy_s: the part of ``copy_s`` in which a kernel ran as well.
        exposed_copy_s: the part in which no kernel ran and all of the host's threads waited.
        origin: when the first event was, on the host's clock (``time.perf_counter``).
        load_s: time in which what stays on the device was copied there, before the first kernel needs it.
        wait_s: time in which the device's thread had nothing to do but wait for the device.
        items: batches done.
        steps: time in which at least one kernel or copy ran, by what it was for.
    """

    bytes_to_device: int = 0
    bytes_from_device: int = 0
    kernel_s: float = 0.0
    copy_s: float = 0.0
    hidden_copy_s: float = 0.0
    exposed_copy_s: float = 0.0
    origin: float = 0.0
    load_s: float = 0.0
    wait_s: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    first: float | None = None
    last: float = 0.0
    items: int = 0
    _fold_above: int = _MAX_KEPT
    _kernels: list[Interval] = field(default_factory=list)
    _copies: list[Interval] = field(default_factory=list)
    _of_steps: dict[str, list[Interval]] = field(default_factory=dict)
    _waits: list[Interval] = field(default_factory=list)
    _noted_waits: deque[Interval] = field(default_factory=deque)

    def add(self, kind: str, start: float, end: float, step: str | None = None) -> None:
        """Note an interval of kind "kernel" or "copy"; ``step``: what it was for."""
        self._of_steps.setdefault(step or kind, []).append((start, end))
        (self._kernels if kind == "kernel" else self._copies).append((start, end))
        self.first = start if self.first is None else min(self.first, start)
        self.last = max(self.last, end)
        # a batch meets only its neighbours in time: keep the last two seconds' intervals, sum up the rest
        if len(self._kernels) + len(self._copies) > self._fold_above:
            self.fold(until=self.last - 2.0)
            # many short batches: to sum up takes as long as there are intervals, so not with each of them
            self._fold_above = _MAX_KEPT + 2 * (len(self._kernels) + len(self._copies))

    def host_waited(self, start: float, end: float) -> None:
        """Note an interval, on the host's clock, in which all of its threads waited. From any thread."""
        self._noted_waits.append((start, end))

    def fold(self, until: float = float("inf")) -> None:
        """Sum up what happened before ``until``; intervals across it are cut there."""
        while self._noted_waits:
            start, end = self._noted_waits.popleft()
            self._waits.append((start - self.origin, end - self.origin))
        kernels, self._kernels = cut(union(self._kernels), until)
        copies, self._copies = cut(union(self._copies), until)
        waits, self._waits = cut(union(self._waits), until)
        waiting_copies = common(copies, waits)
        for step, intervals in self._of_steps.items():
            done, self._of_steps[step] = cut(union(intervals), until)
            self.steps[step] = self.steps.get(step, 0.0) + total(done)
        self.kernel_s += total(kernels)
        self.copy_s += total(copies)
        self.hidden_copy_s += total(common(copies, kernels))
        self.exposed_copy_s += total(waiting_copies) - total(common(waiting_copies, kernels))

    @property
    def copies_hidden(self) -> float:
        """Share of the copying that cost no time: a kernel ran as well, or the host had work of its own to do."""
        return 1 - self.exposed_copy_s / self.copy_s if self.copy_s > 0 else 1.0

    def summary(self) -> dict[str, Any]:
        """The JSON report's fields for this device."""
        self.fold()
        busy = self.last - self.first if self.first is not None else 0.0
        return {
            "batches": self.items,
            "bytes_to_device": self.bytes_to_device,
            "bytes_from_device": self.bytes_from_device,
            "load_s": round(self.load_s, 6),
            "kernel_s": round(self.kernel_s, 6),
            "copy_s": round(self.copy_s, 6),
            "copy_hidden_s": round(self.hidden_copy_s, 6),
            "wait_s": round(self.wait_s, 6),
            "copies_hidden": round(self.copies_hidden, 4),
            "wall_s": round(busy, 6),
            "steps": {step: round(seconds, 6) for step, seconds in self.steps.items()},
        }


def union(intervals: list[Interval]) -> list[Interval]:
    """Sorted disjoint intervals that cover the same time."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def common(first: list[Interval], second: list[Interval]) -> list[Interval]:
    """What two lists of sorted disjoint intervals have in common."""
    found: list[Interval] = []
    i = j = 0
    while i < len(first) and j < len(second):
        start, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if start < end:
            found.append((start, end))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return found


def cut(intervals: list[Interval], at: float) -> tuple[list[Interval], list[Interval]]:
    """Sorted disjoint intervals before and from ``at`` on."""
    before = [(start, min(end, at)) for start, end in intervals if start < at]
    return before, [(max(start, at), end) for start, end in intervals if end > at]


def total(intervals: list[Interval]) -> float:
    """Seconds of disjoint intervals."""
    return sum(end - start for start, end in intervals)
