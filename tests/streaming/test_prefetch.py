"""An iterator whose next item is made while the last one is used."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import closing

import pytest

from gpualign.streaming.prefetch import Prefetch


def test_items_come_in_order_and_one_is_made_ahead() -> None:
    made: list[int] = []
    begun = threading.Semaphore(0)

    def items() -> Generator[int, None, None]:
        for number in range(5):
            made.append(number)
            begun.release()
            yield number

    with closing(Prefetch(items())) as ahead:
        assert begun.acquire(timeout=30)  # before anybody asks
        for count, number in enumerate(ahead):
            assert number == count
            if count < 4:
                assert begun.acquire(timeout=30)
            assert made == list(range(min(count + 2, 5)))


def test_an_error_come_in_order() -> None:
    def items() -> Generator[int, None, None]:
        yield 1
        raise ValueError("here")

    found: list[int] = []
    with closing(Prefetch(items())) as ahead, pytest.raises(ValueError, match="here"):
        found.extend(ahead)
    assert found == [1]


def test_what_is_not_wanted_is_not_made() -> None:
    made: list[int] = []
    closed = []

    def items() -> Generator[int, None, None]:
        try:
            for number in range(100):
                made.append(number)
                yield number
        finally:
            closed.append(True)

    with closing(Prefetch(items())) as ahead:
        for _ in ahead:
            break
    assert len(made) <= 2
    assert closed == [True]


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_so_many_items_are_made_before_they_are_asked_for(ahead: int) -> None:
    made: list[int] = []
    enough = threading.Event()

    def items() -> Generator[int, None, None]:
        for number in range(9):
            made.append(number)
            if len(made) == ahead + 1:
                enough.set()
            yield number

    with closing(Prefetch(items(), ahead)) as prefetch:
        taken = iter(prefetch)
        assert next(taken) == 0
        assert enough.wait(10)  # one more for the one that was taken
        assert [0, *taken] == list(range(9))
    assert made == list(range(9))


def test_freed_without_waiting_for_the_item_in_flight() -> None:
    """As objects may be freed by a thread that holds a lock which the item needs."""
    lock, begun, closed = threading.Lock(), threading.Event(), threading.Event()

    def items() -> Generator[int, None, None]:
        try:
            begun.set()
            with lock:
                yield 1
        finally:
            closed.set()

    with lock:
        ahead = Prefetch(items())
        assert begun.wait(30)
        del ahead
        assert not closed.is_set()
    assert closed.wait(30)


def test_the_end_of_the_program_waits_for_threads_but_not_for_ever() -> None:
    program = """
import time
from gpualign.streaming.prefetch import Prefetch

def items():
    try:
        yield 1
        time.sleep(0.5)
        yield 2
    finally:
        print("closed", flush=True)

kept = Prefetch(items(), 2)
next(kept)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("closed\n", "")
