"""The priority semaphore."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpualign.engine.priority_semaphore import PrioritySemaphore


class TestPrioritySemaphore:
    def test_no_more_than_so_many_at_a_time(self) -> None:
        semaphore, lock = PrioritySemaphore(3), threading.Lock()
        having, most = 0, 0

        def work(number: int) -> int:
            nonlocal having, most
            with semaphore.taken(ahead=number % 2 == 0):
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
        semaphore, order = PrioritySemaphore(1), list[str]()

        def work(name: str) -> None:
            with semaphore.taken(ahead=name.startswith("on")):
                order.append(name)

        with ThreadPoolExecutor(4) as pool, semaphore.taken(ahead=False):
            for waiting, name in enumerate(("new 1", "new 2", "on 1", "on 2"), 1):
                pool.submit(work, name)
                while len(semaphore._ahead) + len(semaphore._others) < waiting:
                    time.sleep(0.001)
            assert order == []
        assert order == ["on 1", "on 2", "new 1", "new 2"]

    def test_a_turn_ends_with_an_error(self) -> None:
        semaphore = PrioritySemaphore(1)
        with pytest.raises(ValueError, match="odd"), semaphore.taken(ahead=False):
            raise ValueError("odd")
        with semaphore.taken(ahead=False):
            assert semaphore._free == 0
        assert semaphore._free == 1
