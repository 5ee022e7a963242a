"""`verify` without a limit: bands double until they hold the answer."""

from __future__ import annotations

import random
from typing import Literal

import edlib
import pytest

import gpualign
from tests.helpers.sequences import mutate, random_text

EDLIB_MODES = {"infix": "HW", "prefix": "SHW", "global": "NW"}


@pytest.mark.parametrize("mode", ["infix", "prefix", "global"])
@pytest.mark.parametrize("length", [400, 600, 2500])
def test_long_queries_without_a_limit_are_edlib_s(
    mode: Literal["infix", "prefix", "global"], length: int, device: str
) -> None:
    rng = random.Random(length)
    queries = [random_text(rng, length) for _ in range(6)]
    rates = (0, 0.01, 0.05, 0.2, 0.5, 2)
    targets = [random_text(rng, 30) + mutate(rng, *pair) for pair in zip(queries, rates, strict=True)]
    hits = gpualign.verify(queries, targets, max_errors=-1, mode=mode, device=device)
    expected = [
        edlib.align(query, target, mode=EDLIB_MODES[mode], task="locations")
        for query, target in zip(queries, targets, strict=True)
    ]
    assert hits["distance"].tolist() == [found["editDistance"] for found in expected]
    assert hits["end"].tolist() == [found["locations"][0][1] + 1 for found in expected]
