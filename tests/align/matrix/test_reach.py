"""Long pairs by the rows that diagonals reach, in a device's tiles in scalar code: expectations by RapidFuzz."""

from __future__ import annotations

import random

import numpy as np
import pytest
from rapidfuzz.distance import Indel, Levenshtein

from tests.helpers import native as native_tests
from tests.helpers.sequences import mutate

pytestmark = pytest.mark.usefixtures("level")

NO_LIMIT = 1 << 29


def distance(bits: int, query: np.ndarray, target: np.ndarray, limit: int, substitutions: bool = True) -> int:
    function = getattr(native_tests, f"reach_distance_{bits}")
    wide, narrow = (
        function(query, target, limit=limit, substitutions=substitutions, narrow=narrow) for narrow in (False, True)
    )
    assert wide == narrow
    found: int = wide
    return found


def codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8) - ord("A")


@pytest.mark.parametrize(("bits", "alphabet"), [(2, "ABCD"), (8, "ABCDEFGHIJKLMNOPQRST")])
@pytest.mark.parametrize("length", [0, 1, 17, 300, 2500])
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.4, None])
def test_distances_are_rapidfuzz_s(bits: int, alphabet: str, length: int, rate: float | None) -> None:
    rng = random.Random(length)
    query = "".join(rng.choices(alphabet, k=length))
    unrelated = "".join(rng.choices(alphabet, k=length // 2 + 3))
    for target in (unrelated, "") if rate is None else (mutate(rng, query, rate, alphabet),):
        for texts in ((query, target), (target, query)):
            for scorer, substitutions in ((Levenshtein, True), (Indel, False)):
                expected = scorer.distance(*texts)
                both = codes(texts[0]), codes(texts[1])
                assert distance(bits, *both, NO_LIMIT, substitutions) == expected
                assert distance(bits, *both, expected, substitutions) == expected
                if expected:
                    assert distance(bits, *both, expected - 1, substitutions) == -1


def test_runs_end_with_a_sequence() -> None:
    """What lies beyond is packed as the first symbol is."""
    for extra in range(40):
        text = "A" * 33
        assert distance(2, codes(text), codes(text + "A" * extra), NO_LIMIT) == extra


def test_a_long_insertion_shifts_the_diagonal() -> None:
    rng = random.Random(3)
    query = "".join(rng.choices("ABCD", k=4000))
    target = query[:1500] + "".join(rng.choices("ABCD", k=900)) + query[1500:]
    assert distance(2, codes(query), codes(target), NO_LIMIT) == 900
