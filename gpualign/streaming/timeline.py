"""The timeline of a run: steps of host threads, kernels and copies of devices, and which copies were not hidden."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Interval = tuple[float, float]
#: seconds by step
Seconds = dict[str, float]
#: names of the host's steps and of the devices' steps
StepNames = tuple[Sequence[str], Sequence[str]]
#: the default steps, in the order in which a batch goes through them
STEPS_OF_RUN: StepNames = (
    ("read", "inflate", "parse", "copy", "compute", "format", "deflate", "write"),
    ("copy to device", "kernel", "copy from device"),
)
#: the step in which a thread waits for a device
WAIT = "wait"
#: steps that only one thread performs at a time
_ALONE = ("write",)
#: the number of a device's intervals kept before they are folded into sums, and of host intervals kept for a device
_MAX_KEPT, _MAX_NOTED = 1024, 1 << 17


@dataclass(eq=False)
class DeviceTimeline:
    """Intervals of one device, folded into sums as they arrive.

    Attributes:
        bytes_to_device: bytes copied to the device.
        bytes_from_device: bytes copied from it.
        origin: the zero of the device's clock, on the host's clock (``time.perf_counter``).
        load_s: time to copy what stays on the device (an index, a query), before the first kernel.
        wait_s: time in which the device's thread only waited for the device.
        items: number of batches done.
        host_work: intervals, on the host's clock, in which a host thread was in steps; any thread may append.
        steps: time in which at least one kernel or copy ran, by step.
        kernel_s, copy_s: time in which at least one kernel ran; the same for copies.
        hidden_copy_s: the part of ``copy_s`` in which a kernel ran as well.
        exposed_copy_s: the part of ``copy_s`` in which no kernel ran and no host thread worked.
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
    _added: int = 0
    _fold_above: int = _MAX_KEPT

    def add(self, kind: str, start: float, end: float, step: str | None = None) -> None:
        """Add an interval of kind "kernel" or "copy", on the device's clock; ``step``: the step it belongs to."""
        interval = self.origin + start, self.origin + end
        self._kept.setdefault((kind, step or kind), []).append(interval)
        self._first = interval[0] if self._first is None else min(self._first, interval[0])
        self._last = max(self._last, interval[1])
        self._added += 1
        # only batches close in time overlap: keep the intervals of the last two seconds and fold the others
        if self._added + len(self.host_work) > self._fold_above:
            self.fold(until=self._last - 2.0)
            # folding takes time linear in the kept intervals: with many short batches, wait until they have doubled
            self._added, self._fold_above = 0, _MAX_KEPT + self.count

    @property
    def count(self) -> int:
        """The number of intervals not yet folded."""
        return sum(map(len, self._kept.values())) + len(self._worked) + len(self.host_work)

    def fold(self, until: float = float("inf")) -> None:
        """Fold all time before ``until`` into the sums; an interval that crosses it is split."""
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
class _ThreadSteps:
    """A thread's nested steps, the innermost last; the start of the current one, and of its work since it last waited,
    None while it does not work; its seconds by step.
    """

    at: list[str] = field(default_factory=list)
    since: float = 0.0
    works_since: float | None = None
    seconds: Seconds = field(default_factory=dict)


class _Lent:
    """The times of an ended thread, or new ones, lent to a thread as long as it keeps this: a process may start any
    number of threads.
    """

    def __init__(self, threads: list[_ThreadSteps], unused: list[_ThreadSteps]) -> None:
        self._unused = unused
        try:
            self.thread = unused.pop()
        except IndexError:
            self.thread = _ThreadSteps()
            threads.append(self.thread)

    def __del__(self) -> None:
        self._unused.append(self.thread)


class _Local(threading.local):
    def __init__(self, threads: list[_ThreadSteps], unused: list[_ThreadSteps]) -> None:
        self.lent = _Lent(threads, unused)


class Timeline:
    """Time of the process's threads by step. A nested step's time does not count for the outer step.

    There is no lock: each thread writes only its own times.

    Attributes:
        devices: timelines that record the host's work.
    """

    def __init__(self) -> None:
        self.devices: list[DeviceTimeline] = []
        self._threads: list[_ThreadSteps] = []
        self._local = _Local(self._threads, [])

    @contextlib.contextmanager
    def at(self, step: str) -> Iterator[None]:
        """Count the time of a ``with`` block as this step of the calling thread."""
        thread = self._local.lent.thread
        self._switch(thread, [*thread.at, step])
        try:
            yield
        finally:
            self._switch(thread, thread.at[:-1])

    def _switch(self, thread: _ThreadSteps, steps: list[str]) -> None:
        """From a thread's steps to others."""
        now = time.perf_counter()
        if thread.at:
            step = thread.at[-1]
            thread.seconds[step] = thread.seconds.get(step, 0.0) + now - thread.since
        thread.at, thread.since = steps, now
        works = bool(steps) and steps[-1] != WAIT
        if works and thread.works_since is None:
            thread.works_since = now
        elif not works and thread.works_since is not None:
            for device in self.devices:
                device.host_work.append((thread.works_since, now))
            thread.works_since = None

    def at_work(self) -> list[Interval]:
        """Intervals of work that has not ended, up to now."""
        now = time.perf_counter()
        since = [thread.works_since for thread in tuple(self._threads)]
        return [(start, now) for start in since if start is not None]

    def of_thread(self) -> Seconds:
        """The calling thread's seconds by step, after the seconds of ended threads: for differences."""
        return dict(self._local.lent.thread.seconds)

    def since(self, before: Seconds | None = None) -> Seconds:
        """Seconds of all threads by step, minus ``before``."""
        found: Seconds = {}
        for thread in tuple(self._threads):
            for step, seconds in tuple(thread.seconds.items()):
                found[step] = found.get(step, 0.0) + seconds
        return {step: seconds - (before or {}).get(step, 0.0) for step, seconds in found.items()}


#: the timeline of this process
STEPS = Timeline()


class Span:
    """The part of the timeline that begins now."""

    def __init__(self) -> None:
        self._before, self._start = STEPS.since(), time.perf_counter()

    @property
    def wall_s(self) -> float:
        return time.perf_counter() - self._start

    def report(
        self, names: StepNames, devices: Sequence[Mapping[str, Any]], threads: int
    ) -> dict[str, dict[str, dict[str, float]]]:
        """The report's fields ``host`` and ``devices``: for each step its seconds, summed over threads or devices, and
        the share of their time that this is.

        Args:
            devices: each device's fields of the report.
            threads: the number of host threads that can share a step.
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
    """Merge intervals into sorted disjoint ones."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def common(first: list[Interval], second: list[Interval]) -> list[Interval]:
    """The intersection of two lists of sorted disjoint intervals."""
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
    """Split sorted disjoint intervals into the parts before and after ``at``."""
    before = [(start, min(end, at)) for start, end in intervals if start < at]
    return before, [(max(start, at), end) for start, end in intervals if end > at]


def total(intervals: list[Interval]) -> float:
    """The sum of the lengths of disjoint intervals."""
    return sum(end - start for start, end in intervals)
