"""What a device did when, and when the host waited for it, from intervals given by hand."""

from __future__ import annotations

import time

import pytest

from gpualign.engine.gpu.timeline import Timeline, common, cut, total, union
from gpualign.streaming.clock import HostClock


def test_intervals():
    assert union([(3, 4), (0, 1), (0.5, 2)]) == [(0, 2), (3, 4)]
    assert common([(0, 2), (3, 4)], [(1, 3.5)]) == [(1, 2), (3, 3.5)]
    assert cut([(0, 2), (3, 4)], 1) == ([(0, 1)], [(1, 2), (3, 4)])
    assert total([(0, 2), (3, 4)]) == 3


def test_many_short_intervals_are_not_summed_up_with_each_one(monkeypatch):
    folds = []
    fold = Timeline.fold
    monkeypatch.setattr(Timeline, "fold", lambda self, until=float("inf"): (folds.append(until), fold(self, until)))
    timeline = Timeline()
    for i in range(20_000):
        timeline.add("kernel", i * 1e-5, i * 1e-5 + 5e-6)
    assert len(folds) < 10
    assert timeline.summary()["kernel_s"] == pytest.approx(0.1)


def test_steps_side_by_side_count_once():
    """Two batches are mapped at the same time, one of them while the other is written."""
    timeline = Timeline()
    timeline.add("kernel", 0.0, 4.0, "map")
    timeline.add("kernel", 1.0, 3.0, "map")
    timeline.add("kernel", 2.0, 6.0, "format")
    timeline.fold(until=3.5)
    timeline.add("kernel", 5.0, 5.5, "map")
    assert timeline.summary()["steps"] == pytest.approx({"map": 4.5, "format": 4.0})


def test_timeline_tells_hidden_copies():
    timeline = Timeline()
    timeline.add("copy", 0.0, 1.0)  # nothing that could hide it
    timeline.add("kernel", 1.0, 3.0)
    timeline.add("copy", 1.0, 2.0)  # hidden
    timeline.add("kernel", 2.5, 4.0)
    summary = timeline.summary()
    assert summary["kernel_s"] == pytest.approx(3.0)
    assert summary["copy_s"] == pytest.approx(2.0)
    assert summary["copy_hidden_s"] == pytest.approx(1.0)
    assert summary["wall_s"] == pytest.approx(4.0)


def test_a_copy_costs_time_when_all_else_waits_for_it():
    timeline = Timeline(origin=100.0)
    timeline.add("copy", 0.0, 2.0)
    timeline.add("kernel", 1.5, 3.0)
    timeline.add("copy", 4.0, 6.0)
    timeline.host_waited(100.5, 104.5)  # 1 s of the first copy before the kernel, half a second of the second
    summary = timeline.summary()
    assert timeline.exposed_copy_s == pytest.approx(1.5)
    assert summary["copies_hidden"] == pytest.approx(1 - 1.5 / 4)


def test_the_host_waits_when_all_its_threads_wait():
    found = []
    clock = HostClock()
    clock.listen(lambda start, end: found.append((start, end)))
    with clock.working(), clock.working():  # as two threads
        found.clear()  # of before there were any
        with clock.waiting():
            assert found == []  # the other one works
        with clock.waiting(), clock.waiting():
            start = time.perf_counter()
            end = time.perf_counter()
    ((since, until),) = found
    assert since <= start <= end <= until


def test_timeline_folds_long_runs():
    timeline = Timeline()
    for i in range(5000):
        timeline.add("kernel", float(i), i + 0.75)
        timeline.add("copy", i + 0.5, i + 1.0)
    assert len(timeline._kernels) < 2000
    summary = timeline.summary()
    assert summary["kernel_s"] == pytest.approx(3750)
    assert summary["copy_s"] == pytest.approx(2500)
    assert summary["copy_hidden_s"] == pytest.approx(1250)


def test_many_intervals_of_a_short_time_are_summed_up_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    folds: list[float] = []
    fold = Timeline.fold
    monkeypatch.setattr(Timeline, "fold", lambda self, until=float("inf"): folds.append(until) or fold(self, until))
    timeline = Timeline()
    for i in range(20_000):
        timeline.add("kernel" if i % 2 else "copy", i * 1e-4, (i + 1) * 1e-4)
    assert 0 < len(folds) < 8
    assert timeline.summary()["kernel_s"] == pytest.approx(1.0)
