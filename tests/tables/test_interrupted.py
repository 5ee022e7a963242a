"""Ctrl-C in a Python program ends a call of gpualign."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

CALLS = {
    "pairwise": 'gpualign.pairwise(texts, device="cpu", threads={threads}, progress=tell)',
    "stream": 'sum(1 for _ in gpualign.Mapper(texts[:50], device="cpu", threads={threads}).stream('
    "itertools.cycle(texts), progress=tell))",
    "verify": "gpualign.verify(texts, texts, [[i % 900, i % 700, 0, 400] for i in range(2000000)], max_errors=90, "
    'device="cpu", threads={threads}, progress=tell)',
}
PROGRAM = """
import itertools, random, gpualign
def tell(done, total): print(done, flush=True)
rng = random.Random(1)
texts = ["".join(rng.choices("ACGT", k=400)) for _ in range(3000)]
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_interrupt(name: str, threads: int) -> None:
    program = PROGRAM.format(call=CALLS[name].format(threads=threads))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert int(process.stdout.readline()) > 0  # at work
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    assert rest.endswith("interrupted\n")
    assert process.returncode == 0
