"""Ctrl-C at any moment: the ordered loop and the prefetched iterator end, and so does the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Raises KeyboardInterrupt in the main thread where its 1st, 2nd, ... Python function begins or C function returns, in
# Python's own modules too: there the handler of a signal may run. Not within Thread.start, which takes microseconds and
# does not bear it. The last round is not interrupted.
PROGRAM = """
import sys, threading
from contextlib import closing
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.prefetch import Prefetch

def work(number):
    return 2 * number

def use_loop():
    with closing(run_ordered(iter(range(4)), work, 2)) as results:
        return list(results)

def use_prefetch():
    with closing(Prefetch(iter(range(0, 8, 2)))) as results:
        return list(results)

def starts_thread(frame):
    while frame is not None and frame.f_code is not threading.Thread.start.__code__:
        frame = frame.f_back
    return frame is not None

def interrupted_at(moment):
    seen = 0
    def profile(frame, event, argument):
        nonlocal seen
        seen += event in ("call", "c_return") and not starts_thread(frame)
        if seen == moment:
            sys.setprofile(None)
            raise KeyboardInterrupt
    sys.setprofile(profile)
    try:
        results = {use}()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    assert results == [0, 2, 4, 6]
    return seen >= moment  # in a finalizer, where Python drops it

moment = 1
while interrupted_at(moment):
    moment += 1
print(moment)
"""


@pytest.mark.parametrize("use", ["use_loop", "use_prefetch"])
def test_no_interrupt_blocks_a_thread(use: str) -> None:
    words = [sys.executable, "-c", PROGRAM.format(use=use)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 20  # of about 90 and 50 moments
