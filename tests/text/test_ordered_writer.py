"""Parts in order, whoever makes them and whoever writes them; and what an error on either side does."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from gpualign.streaming.worker_pool import WorkerPool
from gpualign.text.ordered_writer import part_writer


@pytest.mark.parametrize("in_thread", [True, False])
def test_order(in_thread: bool) -> None:
    out: list[bytes] = []

    def make(i: int) -> bytes:
        time.sleep(0.002 * (i % 3))
        return b"%d " % i

    with WorkerPool(4, "makers") as pool, part_writer(lambda part: out.append(bytes(part)), 3, in_thread) as writer:
        for i in range(60):
            writer.write(pool.submit(partial(make, i)) if i % 2 else b"%d " % i)
    assert b"".join(out).split() == [b"%d" % i for i in range(60)]


@pytest.mark.parametrize("in_thread", [True, False])
@pytest.mark.parametrize("side", ["maker", "writer", "last"])
def test_errors_reach_whoever_hands_on(in_thread: bool, side: str) -> None:
    written: list[bytes] = []

    def make(i: int) -> bytes:
        if side == "maker" and i == 5:
            raise ZeroDivisionError
        return b"%d" % i

    def write(part: object) -> None:
        if (side == "writer" and len(written) == 5) or (side == "last" and len(written) == 39):
            raise BrokenPipeError
        written.append(bytes(part))  # type: ignore[call-overload]

    expected = ZeroDivisionError if side == "maker" else BrokenPipeError

    def run() -> None:
        with WorkerPool(2, "makers") as pool, part_writer(write, 2, in_thread) as writer:
            for i in range(40):
                writer.write(pool.submit(partial(make, i)))

    with pytest.raises(expected):
        run()
    assert written == [b"%d" % i for i in range(39 if side == "last" else 5)]
    assert not any(thread.name.startswith("gpualign-writer") for thread in threading.enumerate())


def test_a_run_that_breaks_off_writes_no_more() -> None:
    written: list[bytes] = []
    begun, go_on = threading.Event(), threading.Event()

    def write(part: object) -> None:
        begun.set()
        go_on.wait(10)
        written.append(bytes(part))  # type: ignore[call-overload]

    def run() -> None:
        with part_writer(write, 3, True) as writer:
            for i in range(3):
                writer.write(b"%d" % i)
            assert begun.wait(10)
            threading.Timer(0.1, go_on.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert written == [b"0"]
