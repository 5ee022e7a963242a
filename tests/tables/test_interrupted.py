"""Ctrl-C in a Python program ends a call of gpualign."""

from __future__ import annotations

import pytest

from tests.helpers.interrupted import check_interrupt

CALLS = {
    "pairwise": 'gpualign.pairwise(texts, device="cpu", threads={threads}, progress=tell)',
    "stream": 'sum(1 for _ in gpualign.Mapper(texts[:50], device="cpu", threads={threads}).stream('
    "itertools.cycle(texts), progress=tell))",
    "verify": "gpualign.verify(texts, texts, [[i % 900, i % 700, 0, 400] for i in range(2000000)], max_errors=90, "
    'device="cpu", threads={threads}, progress=tell)',
}
FIRST = """
import itertools, random, gpualign
def tell(done, total): print(done, flush=True)
rng = random.Random(1)
texts = ["".join(rng.choices("ACGT", k=400)) for _ in range(3000)]
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_interrupt(name: str, threads: int) -> None:
    check_interrupt(FIRST, CALLS[name].format(threads=threads))
