"""What a device did when: copy and kernel intervals, and how much of the copying hid behind the kernels."""

from __future__ import annotations

from dataclasses import dataclass, field

Interval = tuple[float, float]


@dataclass
class Timeline:
    """Intervals of one device in seconds since its first event, folded into sums as they arrive.

    Attributes:
        bytes_to_device: bytes copied to the device.
        bytes_from_device: bytes copied from it.
        kernel_s: time in which at least one kernel ran.
        copy_s: time in which at least one copy ran.
        hidden_copy_s: the part of ``copy_s`` in which a kernel ran as well.
        wait_s: time in which the device's thread had nothing to do but wait for the device.
        items: batches done.
    """

    bytes_to_device: int = 0
    bytes_from_device: int = 0
    kernel_s: float = 0.0
    copy_s: float = 0.0
    hidden_copy_s: float = 0.0
    wait_s: float = 0.0
    first: float | None = None
    last: float = 0.0
    items: int = 0
    _kernels: list[Interval] = field(default_factory=list)
    _copies: list[Interval] = field(default_factory=list)

    def add(self, kind: str, start: float, end: float) -> None:
        """Note an interval of kind "kernel" or "copy"."""
        (self._kernels if kind == "kernel" else self._copies).append((start, end))
        self.first = start if self.first is None else min(self.first, start)
        self.last = max(self.last, end)
        # a batch meets only its neighbours in time: keep the last two seconds' intervals, sum up the rest
        if len(self._kernels) + len(self._copies) > 1024:
            self.fold(until=self.last - 2.0)

    def fold(self, until: float = float("inf")) -> None:
        """Sum up what happened before ``until``; intervals across it are cut there."""
        kernels, copies = union(self._kernels), union(self._copies)
        old_kernels = [(start, min(end, until)) for start, end in kernels if start < until]
        old_copies = [(start, min(end, until)) for start, end in copies if start < until]
        self.kernel_s += sum(end - start for start, end in old_kernels)
        self.copy_s += sum(end - start for start, end in old_copies)
        self.hidden_copy_s += overlap(old_kernels, old_copies)
        self._kernels = [(max(start, until), end) for start, end in kernels if end > until]
        self._copies = [(max(start, until), end) for start, end in copies if end > until]

    @property
    def copies_hidden(self) -> float:
        """Share of the copying that cost no time, at least: a kernel ran as well, or the host had other work to do."""
        exposed = min(self.copy_s - self.hidden_copy_s, self.wait_s)
        return 1 - exposed / self.copy_s if self.copy_s > 0 else 1.0

    def summary(self) -> dict[str, float | int]:
        """The JSON report's fields for this device."""
        self.fold()
        busy = self.last - self.first if self.first is not None else 0.0
        return {
            "batches": self.items,
            "bytes_to_device": self.bytes_to_device,
            "bytes_from_device": self.bytes_from_device,
            "kernel_s": round(self.kernel_s, 6),
            "copy_s": round(self.copy_s, 6),
            "copy_hidden_s": round(self.hidden_copy_s, 6),
            "wait_s": round(self.wait_s, 6),
            "copies_hidden": round(self.copies_hidden, 4),
            "wall_s": round(busy, 6),
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


def overlap(first: list[Interval], second: list[Interval]) -> float:
    """Seconds that two lists of sorted disjoint intervals have in common."""
    total, i, j = 0.0, 0, 0
    while i < len(first) and j < len(second):
        start, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        total += max(0.0, end - start)
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return total
