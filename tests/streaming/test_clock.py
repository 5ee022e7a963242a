"""Where native code tells what part of a step was another one, the two add up."""

from __future__ import annotations

import time

from gpualign.streaming.clock import StepTimes


def test_what_a_step_took_of_another_one_is_not_counted_twice() -> None:
    steps = StepTimes()
    start = time.perf_counter()
    with steps.at("parse"):
        time.sleep(0.03)
        steps.took("read", 0.02)
    wall = time.perf_counter() - start
    seconds = steps.since()
    assert seconds["read"] == 0.02
    assert 0.01 <= seconds["parse"] <= wall - 0.02
