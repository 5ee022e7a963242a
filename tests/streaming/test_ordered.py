"""The ordered loop: results in input order, and what closing or freeing it waits for."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gpualign.streaming.ordered import run_ordered


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_input_order(workers: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return 2 * number

    assert list(run_ordered(range(40), work, workers)) == list(range(0, 80, 2))


def test_closing_waits_for_items_in_flight() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def work(number: int) -> None:
        if number == 0:  # until the next item has begun
            assert begun.wait(30)
        else:
            begun.set()
            assert go_on.wait(30)
            done.append(number)

    results = run_ordered(iter([0, 1]), work, 2)
    assert next(results) is None
    threading.Timer(0.1, go_on.set).start()
    results.close()
    assert done == [1]


class Cycle:
    """Keeps a generator until the garbage collector frees both."""

    def __init__(self, results: Iterator[Any]) -> None:
        self.results, self.me = results, self


def test_the_garbage_collector_waits_for_nothing() -> None:
    """As the thread in which it runs may hold a lock that a worker needs."""
    lock, begun, done = threading.Lock(), threading.Event(), threading.Event()

    def work(number: int) -> None:
        if number == 0:  # until the next item has begun
            assert begun.wait(30)
        else:
            begun.set()
            with lock:
                done.set()

    def collect() -> None:
        with lock:
            cycle = Cycle(run_ordered(iter([0, 1]), work, 2))
            next(cycle.results)
            del cycle
            gc.collect()
            assert not done.is_set()
        freed.set()

    freed = threading.Event()
    threading.Thread(target=collect, daemon=True).start()
    assert freed.wait(30)
    assert done.wait(30)
