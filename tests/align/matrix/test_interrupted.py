"""Ctrl-C ends a call that would take minutes."""

from __future__ import annotations

import pytest

from tests.helpers.environment import SANITIZED
from tests.helpers.interrupted import check_interrupt

CALLS = {
    "a matrix": 'distances(texts(4000, 2000), device="cpu", threads={threads})',
    "a long pair": 'distances(texts(1, 3000000), texts(1, 3000001), device="cpu", threads={threads})',
    "scores": 'scores(texts(4000, 2000), texts(4000, 2000), device="cpu", threads={threads})',
}
FIRST = """
import numpy as np
from gpualign import distances, scores
def texts(n, length):
    made = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(length).integers(0, 4, (n, length), dtype=np.uint8)]
    print("made", flush=True)
    return made
"""


@pytest.mark.parametrize(("name", "threads"), [*((name, 2) for name in CALLS), ("a matrix", 1)])
def test_interrupt(name: str, threads: int) -> None:
    call = CALLS[name].format(threads=threads)
    check_interrupt(FIRST, call, lines=call.count("texts("), wait_s=1, timeout_s=200 if SANITIZED else 20)
