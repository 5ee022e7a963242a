"""Steps of threads, and what a device did when: from intervals given by hand."""

from __future__ import annotations

import threading
import time

import pytest

from gpualign.streaming.timeline import WAIT, DeviceTimeline, Timeline, common, cut, total, union


def test_intervals():
    assert union([(3, 4), (0, 1), (0.5, 2)]) == [(0, 2), (3, 4)]
    assert common([(0, 2), (3, 4)], [(1, 3.5)]) == [(1, 2), (3, 3.5)]
    assert cut([(0, 2), (3, 4)], 1) == ([(0, 1)], [(1, 2), (3, 4)])
    assert total([(0, 2), (3, 4)]) == 3


def test_many_short_intervals_are_not_summed_up_with_each_one(monkeypatch):
    folds = []
    fold = DeviceTimeline.fold
    monkeypatch.setattr(DeviceTimeline, "fold", lambda *given, **how: folds.append(given) or fold(*given, **how))
    timeline = DeviceTimeline()
    for i in range(20_000):
        timeline.add("kernel", i * 1e-5, i * 1e-5 + 5e-6)
    assert len(folds) < 10
    assert timeline.summary()["kernel_s"] == pytest.approx(0.1)


def test_steps_side_by_side_count_once():
    """Two batches are mapped at the same time, one of them while the other is written."""
    timeline = DeviceTimeline()
    timeline.add("kernel", 0.0, 4.0, "map")
    timeline.add("kernel", 1.0, 3.0, "map")
    timeline.add("kernel", 2.0, 6.0, "format")
    timeline.fold(until=3.5)
    timeline.add("kernel", 5.0, 5.5, "map")
    assert timeline.summary()["steps"] == pytest.approx({"map": 4.5, "format": 4.0})


def test_timeline_tells_hidden_copies():
    timeline = DeviceTimeline()
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
    timeline = DeviceTimeline(origin=100.0)
    timeline.add("copy", 0.0, 2.0)
    timeline.add("kernel", 1.5, 3.0)
    timeline.add("copy", 4.0, 6.0)
    timeline.host_work += [(99.0, 100.5), (104.5, 107.0)]  # 1 s of the first copy before the kernel is left, and
    timeline.host_work += [(105.0, 105.5)]  # half a second of the second
    summary = timeline.summary()
    assert timeline.exposed_copy_s == pytest.approx(1.5)
    assert summary["copies_hidden"] == pytest.approx(1 - 1.5 / 4)


def test_devices_hear_of_work_and_not_of_waits():
    timeline, device = Timeline(), DeviceTimeline()
    timeline.devices.append(device)
    start = time.perf_counter()
    with timeline.at("map"):
        with timeline.at(WAIT):
            waits = time.perf_counter()
            time.sleep(0.01)
            assert timeline.at_work() == []
        ((since, _),) = timeline.at_work()
    end = time.perf_counter()
    (first, second) = device.host_work
    assert start <= first[0] <= first[1] <= waits < waits + 0.01 <= second[0] == since <= second[1] <= end
    seconds = timeline.since()
    assert seconds[WAIT] >= 0.01
    assert sum(seconds.values()) == pytest.approx(second[1] - first[0])


def test_threads_have_steps_of_their_own():
    timeline = Timeline()

    def sleep() -> None:
        with timeline.at("inflate"):
            time.sleep(0.02)

    with timeline.at("parse"):
        thread = threading.Thread(target=sleep)
        thread.start()
        thread.join()
    assert set(timeline.of_thread()) == {"parse"}
    before = timeline.since()
    assert min(before["parse"], before["inflate"]) >= 0.02
    assert timeline.since(before) == {"parse": 0.0, "inflate": 0.0}


def test_ended_threads_leave_their_seconds_and_nothing_else() -> None:
    timeline, seconds = Timeline(), []

    def wait() -> None:
        before = timeline.of_thread().get("inflate", 0.0)
        with timeline.at("inflate"):
            time.sleep(0.001)
        seconds.append(timeline.of_thread()["inflate"] - before)

    for _ in range(50):
        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seconds) == 100
    assert min(seconds) >= 0.001
    assert timeline.since() == {"inflate": pytest.approx(sum(seconds))}
    assert len(timeline._threads) <= 5


def test_timeline_folds_long_runs():
    timeline = DeviceTimeline()
    for i in range(5000):
        timeline.add("kernel", float(i), i + 0.75)
        timeline.add("copy", i + 0.5, i + 1.0)
    assert timeline.count < 4000
    summary = timeline.summary()
    assert summary["kernel_s"] == pytest.approx(3750)
    assert summary["copy_s"] == pytest.approx(2500)
    assert summary["copy_hidden_s"] == pytest.approx(1250)


def test_many_intervals_of_a_short_time_are_summed_up_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    folds: list[object] = []
    fold = DeviceTimeline.fold
    monkeypatch.setattr(DeviceTimeline, "fold", lambda *given, **how: folds.append(given) or fold(*given, **how))
    timeline = DeviceTimeline()
    for i in range(20_000):
        timeline.add("kernel" if i % 2 else "copy", i * 1e-4, (i + 1) * 1e-4)
    assert 0 < len(folds) < 8
    assert timeline.summary()["kernel_s"] == pytest.approx(1.0)
