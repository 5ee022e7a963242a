"""Ctrl-C ends a call that would take minutes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

CALLS = {
    "a matrix": 'distances(texts(4000, 2000), device="cpu", threads={threads})',
    "a long pair": 'distances(texts(1, 3000000), texts(1, 3000001), device="cpu", threads={threads})',
    "scores": 'scores(texts(4000, 2000), texts(4000, 2000), device="cpu", threads={threads})',
}
PROGRAM = """
import numpy as np
from gpualign import distances, scores
def texts(n, length):
    made = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(length).integers(0, 4, (n, length), dtype=np.uint8)]
    print("made", flush=True)
    return made
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_interrupt(name: str, threads: int) -> None:
    call = CALLS[name].format(threads=threads)
    process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(call=call)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(call.count("texts(")):
        assert process.stdout.readline() == "made\n"
    time.sleep(1)  # at work
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert rest == "interrupted\n"
    assert process.returncode == 0
