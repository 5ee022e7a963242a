"""The semaphore with a queue."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpualign.run.fifo_semaphore import FifoSemaphore


class TestFifoSemaphore:
    def test_no_more_than_so_many_at_a_time(self) -> None:
        semaphore, lock = FifoSemaphore(3), threading.Lock()
        having, most = 0, 0

        def work(number: int) -> int:
            nonlocal having, most
            with semaphore.taken():
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

    def test_who_waits_longest_comes_first(self) -> None:
        semaphore, order = FifoSemaphore(1), list[int]()

        def work(number: int) -> None:
            with semaphore.taken():
                order.append(number)

        with ThreadPoolExecutor(4) as pool, semaphore.taken():
            for number in range(4):
                pool.submit(work, number)
                while len(semaphore._waiting) <= number:
                    time.sleep(0.001)
            assert order == []
        assert order == [0, 1, 2, 3]

    def test_a_turn_ends_with_an_error(self) -> None:
        semaphore = FifoSemaphore(1)
        with pytest.raises(ValueError, match="odd"), semaphore.taken():
            raise ValueError("odd")
        with semaphore.taken():
            assert semaphore._free == 0
        assert semaphore._free == 1
