"""Ctrl-C in a Python program ends a call of gpualign."""

from __future__ import annotations

import pytest

from tests.helpers.interrupted import check_interrupt

CALLS = {
    "pairwise": 'gpualign.pairwise(texts, device="cpu", threads={threads}, progress=tell)',
    "stream": 'sum(1 for _ in gpualign.Mapper(texts[:50], device="cpu", threads={threads}).stream('
    "itertools.cycle(texts), progress=tell))",
    "verify": "gpualign.verify(texts, texts, candidates, max_errors=90, "
    'device="cpu", threads={threads}, progress=tell)',
}
FIRST = """
import itertools, random, gpualign, numpy as np
def tell(done, total): print(done, flush=True)
rng = random.Random(1)
texts = ["".join(rng.choices("ACGT", k=400)) for _ in range(3000)]
at = np.arange(2_000_000)
candidates = np.stack([at % 900, at % 700, 0 * at, 0 * at + 400], axis=1)
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_interrupt(name: str, threads: int) -> None:
    check_interrupt(FIRST, CALLS[name].format(threads=threads))
