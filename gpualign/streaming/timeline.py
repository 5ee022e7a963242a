"""Who did what when: steps of the host's threads, kernels and copies of devices, and which copies cost time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Interval = tuple[float, float]
#: of each step
Seconds = dict[str, float]
#: names of steps, of the host and of devices
StepNames = tuple[Sequence[str], Sequence[str]]
#: in the order in which an input meets them
STEPS_OF_RUN: StepNames = (
    ("read", "inflate", "parse", "copy", "compute", "format", "deflate", "write"),
    ("copy to device", "kernel", "copy from device"),
)
#: at this step a thread waits for a device
WAIT = "wait"
#: of steps that one thread does at a time
_ALONE = ("write",)
#: intervals that may be kept without summing up; of the host's work, those that wait for a device to look at them
_MAX_KEPT, _MAX_NOTED = 1024, 1 << 17


@dataclass(eq=False)
class DeviceTimeline:
    """Intervals of one device, folded into sums as they arrive.

    Attributes:
        bytes_to_device: bytes copied to the device.
        bytes_from_device: bytes copied from it.
        origin: when the device's clock was 0, on the host's (``time.perf_counter``).
        load_s: time in which what stays on the device was copied there, before the first kernel needs it.
        wait_s: time in which the device's thread had nothing to do but wait for the device.
        items: batches done.
        host_work: intervals, on the host's clock, in which one of its threads was at a step; from any thread.
        steps: time in which at least one kernel or copy ran, by what it was for.
        kernel_s, copy_s: time in which at least one kernel, or copy, ran.
        hidden_copy_s: the part of ``copy_s`` in which a kernel ran as well.
        exposed_copy_s: the part in which no kernel ran and the host had no work.
    """

    bytes_to_device: int = 0
    bytes_from_device: int = 0
    origin: float = 0.0
    load_s: float = 0.0
    wait_s: float = 0.0
    items: int = 0
    host_work: deque[Interval] = field(default_factory=lambda: deque(maxlen=_MAX_NOTED))
    steps: Seconds = field(default_factory=dict)
    kernel_s: float = 0.0
    copy_s: float = 0.0
    hidden_copy_s: float = 0.0
    exposed_copy_s: float = 0.0
    _first: float | None = None
    _last: float = 0.0
    _kept: dict[tuple[str, str], list[Interval]] = field(default_factory=dict)
    _worked: list[Interval] = field(default_factory=list)
    _fold_above: int = _MAX_KEPT

    def add(self, kind: str, start: float, end: float, step: str | None = None) -> None:
        """Note an interval of kind "kernel" or "copy", on the device's clock; ``step``: what it was for."""
        interval = self.origin + start, self.origin + end
        self._kept.setdefault((kind, step or kind), []).append(interval)
        self._first = interval[0] if self._first is None else min(self._first, interval[0])
        self._last = max(self._last, interval[1])
        # a batch meets only its neighbours in time: keep the last two seconds' intervals, sum up the rest
        if self.count > self._fold_above:
            self.fold(until=self._last - 2.0)
            # many short batches: to sum up takes as long as there are intervals, so not with each of them
            self._fold_above = _MAX_KEPT + 2 * self.count

    @property
    def count(self) -> int:
        """Intervals that are not summed up."""
        return sum(map(len, self._kept.values())) + len(self._worked) + len(self.host_work)

    def fold(self, until: float = float("inf")) -> None:
        """Sum up what happened before ``until``; intervals across it are cut there."""
        self._worked += [self.host_work.popleft() for _ in range(len(self.host_work))] + STEPS.at_work()
        worked, self._worked = cut(union(self._worked), until)
        found: dict[str, list[Interval]] = {"kernel": [], "copy": []}
        for (kind, step), intervals in self._kept.items():
            done, self._kept[kind, step] = cut(union(intervals), until)
            self.steps[step] = self.steps.get(step, 0.0) + total(done)
            found[kind] += done
        kernels, copies = union(found["kernel"]), union(found["copy"])
        self.kernel_s += total(kernels)
        self.copy_s += total(copies)
        self.hidden_copy_s += total(common(copies, kernels))
        self.exposed_copy_s += total(copies) - total(common(copies, union(kernels + worked)))

    def summary(self) -> dict[str, Any]:
        """The JSON report's fields for this device."""
        self.fold()
        return {
            "batches": self.items,
            "bytes_to_device": self.bytes_to_device,
            "bytes_from_device": self.bytes_from_device,
            "load_s": round(self.load_s, 6),
            "kernel_s": round(self.kernel_s, 6),
            "copy_s": round(self.copy_s, 6),
            "copy_hidden_s": round(self.hidden_copy_s, 6),
            "wait_s": round(self.wait_s, 6),
            "copies_hidden": round(1 - self.exposed_copy_s / self.copy_s if self.copy_s > 0 else 1.0, 4),
            "wall_s": round(0.0 if self._first is None else self._last - self._first, 6),
            "steps": {step: round(seconds, 6) for step, seconds in self.steps.items()},
        }


@dataclass
class _Thread:
    """The steps at which a thread is, the innermost last; since when; its seconds by step."""

    at: list[str] = field(default_factory=list)
    since: float = 0.0
    seconds: Seconds = field(default_factory=dict)


class _Local(threading.local):
    def __init__(self, threads: list[_Thread]) -> None:
        self.thread = _Thread()
        threads.append(self.thread)


class Timeline:
    """What the process's threads do; within another step a step takes its time from that. No thread waits for another.

    Attributes:
        devices: are told when a thread was at a step.
    """

    def __init__(self) -> None:
        self.devices: list[DeviceTimeline] = []
        self._threads: list[_Thread] = []
        self._local = _Local(self._threads)

    @contextlib.contextmanager
    def at(self, step: str) -> Iterator[None]:
        """The calling thread is at this step."""
        thread = self._local.thread
        self._turn(thread)
        thread.at.append(step)
        try:
            yield
        finally:
            self._turn(thread)
            thread.at.pop()

    def _turn(self, thread: _Thread) -> None:
        now = time.perf_counter()
        if thread.at:
            step = thread.at[-1]
            thread.seconds[step] = thread.seconds.get(step, 0.0) + now - thread.since
            if step != WAIT:
                for device in self.devices:
                    device.host_work.append((thread.since, now))
        thread.since = now

    def took(self, step: str, seconds: float) -> None:
        """So much of what the calling thread is at was this step."""
        thread = self._local.thread
        thread.seconds[step] = thread.seconds.get(step, 0.0) + seconds
        if thread.at:
            thread.seconds[thread.at[-1]] = thread.seconds.get(thread.at[-1], 0.0) - seconds

    def at_work(self) -> list[Interval]:
        """The time of steps that have not ended."""
        now = time.perf_counter()
        return [(thread.since, now) for thread in tuple(self._threads) if thread.at[-1:] not in ([], [WAIT])]

    def of_thread(self) -> Seconds:
        """Of the calling thread."""
        return dict(self._local.thread.seconds)

    def since(self, before: Seconds | None = None) -> Seconds:
        """Of all threads, less what there was before."""
        found: Seconds = {}
        for thread in tuple(self._threads):
            for step, seconds in tuple(thread.seconds.items()):
                found[step] = found.get(step, 0.0) + seconds
        return {step: seconds - (before or {}).get(step, 0.0) for step, seconds in found.items()}


#: of this process
STEPS = Timeline()


class Span:
    """What happens from now on."""

    def __init__(self) -> None:
        self._before, self._start = STEPS.since(), time.perf_counter()

    @property
    def wall_s(self) -> float:
        return time.perf_counter() - self._start

    def report(
        self, names: StepNames, devices: Sequence[Mapping[str, Any]], threads: int
    ) -> dict[str, dict[str, dict[str, float]]]:
        """``host`` and ``devices``: of each step the seconds of all threads or devices, and how busy that kept them.

        Args:
            devices: their fields of the report.
            threads: that steps of the host may have, but for those that one thread does.
        """
        wall = self.wall_s

        def shares(names: Sequence[str], seconds: Mapping[str, float], lanes: int) -> dict[str, dict[str, float]]:
            return {
                step: {
                    "seconds": round(seconds.get(step, 0.0), 6),
                    "busy": round(seconds.get(step, 0.0) / max(1e-9, wall * (1 if step in _ALONE else lanes)), 6),
                }
                for step in names
            }

        of_devices = {step: sum(device["steps"].get(step, 0.0) for device in devices) for step in names[1]}
        host = shares(names[0], STEPS.since(self._before), threads)
        return {"host": host, "devices": shares(names[1], of_devices, len(devices)) if devices else {}}


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
