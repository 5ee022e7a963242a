"""Turns of threads."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpualign.streaming.turns import Turns


class TestTurns:
    def test_no_more_than_so_many_at_a_time(self) -> None:
        turns, lock = Turns(3), threading.Lock()
        having, most = 0, 0

        def work(number: int) -> int:
            nonlocal having, most
            with turns.taken(ahead=number % 2 == 0):
                with lock:
                    having += 1
                    most = max(most, having)
                time.sleep(0.001)
                with lock:
                    having -= 1
            return number

        with ThreadPoolExecutor(12) as pool:
            assert sorted(pool.map(work, range(60))) == list(range(60))
        assert having == 0
        assert 1 <= most <= 3

    def test_who_goes_on_comes_before_who_begins(self) -> None:
        turns, order = Turns(1), list[str]()

        def work(name: str) -> None:
            with turns.taken(ahead=name.startswith("on")):
                order.append(name)

        with ThreadPoolExecutor(4) as pool, turns.taken(ahead=False):
            for waiting, name in enumerate(("new 1", "new 2", "on 1", "on 2"), 1):
                pool.submit(work, name)
                while len(turns._ahead) + len(turns._others) < waiting:
                    time.sleep(0.001)
            assert order == []
        assert order == ["on 1", "on 2", "new 1", "new 2"]

    def test_a_turn_ends_with_an_error(self) -> None:
        turns = Turns(1)
        with pytest.raises(ValueError, match="odd"), turns.taken(ahead=False):
            raise ValueError("odd")
        with turns.taken(ahead=False):
            assert turns._free == 0
        assert turns._free == 1
