"""Sets of sequences for tests of distances, and what RapidFuzz and edlib say of them."""

from __future__ import annotations

import random
from typing import Any

import edlib
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel, Levenshtein
from rapidfuzz.process import cdist

from tests.helpers.sequences import mutate

DNA, WORDS, CODE_POINTS = "ACGT", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "αβγδεабвгд漢字😀"
EDLIB_MODES = {"infix": "HW", "prefix": "SHW", "global": "NW"}


def related_sets(seed: int, alphabet: str, low: int, high: int, count: int = 24) -> tuple[list[str], list[str]]:
    """Random sequences of these lengths, and others of which most are like one of them."""
    rng = random.Random(seed)

    def fresh() -> str:
        return "".join(rng.choices(alphabet, k=rng.randint(low, high)))

    queries = [fresh() for _ in range(count)]
    targets = [
        mutate(rng, rng.choice(queries), rng.choice((0.02, 0.05, 0.2)), alphabet) if rng.random() < 0.7 else fresh()
        for _ in range(count + 5)
    ]
    return queries, targets


def expected(queries: list[str], targets: list[str], mode: str = "global") -> NDArray[Any]:
    """int32 (queries, targets), by RapidFuzz, or by edlib where parts of a target count."""
    if mode in ("global", "indel"):
        scorer = Levenshtein.distance if mode == "global" else Indel.distance
        return np.asarray(cdist(queries, targets, scorer=scorer, dtype=np.int32))
    number = {symbol: chr(65 + i) for i, symbol in enumerate(sorted(set("".join(queries + targets))))}

    def one(query: str, target: str) -> int:
        if not query or not target:
            return len(query)
        texts = ("".join(number[symbol] for symbol in text) for text in (query, target))
        return int(edlib.align(*texts, mode=EDLIB_MODES[mode], task="distance")["editDistance"])

    return np.array([[one(query, target) for target in targets] for query in queries], np.int32)


def nearest_of(matrix: NDArray[Any], maximum: int) -> NDArray[Any]:
    """(queries, most): the targets of the smallest values, of equal ones the first."""
    columns = np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape)
    return np.lexsort((columns, matrix), axis=1)[:, :maximum]
