"""An iterator whose next item is made while the last one is used."""

from __future__ import annotations

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
