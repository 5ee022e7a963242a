"""`distances` on every device: expectations by RapidFuzz and edlib."""

from __future__ import annotations

import random
from typing import Any

import edlib
import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from gpualign import distances
from tests.helpers.distance_cases import CODE_POINTS, DNA, WORDS, expected, nearest_of, related_sets
from tests.helpers.sequences import mutate

pytestmark = pytest.mark.usefixtures("level")

LENGTHS = ((0, 5), (1, 70), (60, 200), (300, 700), (900, 1300))


@pytest.fixture(params=LENGTHS, ids=lambda span: f"{span[0]}-{span[1]}")
def lengths(request: pytest.FixtureRequest) -> tuple[int, int]:
    low, high = request.param
    return low, high


@pytest.mark.parametrize("alphabet", [DNA, WORDS, CODE_POINTS])
@pytest.mark.parametrize("mode", ["global", "indel"])
def test_matrices_are_rapidfuzz_s(device: str, alphabet: str, mode: Any, lengths: tuple[int, int]) -> None:
    queries, targets = related_sets(1, alphabet, *lengths)
    found = distances(queries, targets, mode=mode, device=device, threads=2)
    assert np.array_equal(found, expected(queries, targets, mode))
    alone = distances(queries, mode=mode, device=device, threads=2)
    assert np.array_equal(alone, expected(queries, queries, mode))


@pytest.mark.parametrize("alphabet", [DNA, CODE_POINTS])
@pytest.mark.parametrize("mode", ["prefix", "infix"])
def test_parts_of_targets_are_edlib_s(device: str, alphabet: str, mode: Any, lengths: tuple[int, int]) -> None:
    queries, targets = related_sets(2, alphabet, *lengths, count=9)
    found = distances(queries, targets, mode=mode, device=device)
    assert np.array_equal(found, expected(queries, targets, mode))


@pytest.mark.parametrize("limit", [0, 3, 7, 20, 31, 32, 60, 63, 64, 100, 127, 128, 200])
def test_limits_leave_out_what_is_beyond(device: str, limit: int, lengths: tuple[int, int]) -> None:
    queries, targets = related_sets(limit, DNA, *lengths)
    exact = expected(queries, targets)
    within = exact <= limit
    found = distances(queries, targets, max_errors=limit, device=device)
    assert np.array_equal(found, np.where(within, exact, -1))
    pairs: Any = distances(queries, targets, max_errors=limit, sparse=True, device=device, threads=2)
    query, target = np.nonzero(within)
    assert np.array_equal(pairs.query, query)
    assert np.array_equal(pairs.target, target)
    assert np.array_equal(pairs.value, exact[within])


@pytest.mark.parametrize("mode", ["global", "indel", "infix"])
def test_a_share_of_errors_is_of_the_longer_sequence_or_of_the_query(device: str, mode: Any) -> None:
    queries = [text for texts in related_sets(5, DNA, 20, 90) for text in texts]
    exact = expected(queries, queries, mode)
    lengths = np.array([len(query) for query in queries])
    whole = np.maximum(lengths[:, None], lengths[None])
    limits = np.floor(0.3 * (lengths[:, None] if mode == "infix" else whole) + 1e-9)
    found: Any = distances(queries, mode=mode, error_rate=0.3, sparse=True, device=device)
    near = exact <= limits
    np.fill_diagonal(near, False)
    query, target = np.nonzero(near if mode == "infix" else np.triu(near))
    assert len(query) > 0
    assert np.array_equal(np.stack([found.query, found.target]), np.stack([query, target]))
    assert np.array_equal(found.value, exact[query, target])


@pytest.mark.parametrize("mode", ["global", "indel", "infix"])
def test_the_nearest_come_first_and_of_equal_ones_the_first(device: str, mode: Any, lengths: tuple[int, int]) -> None:
    queries, targets = related_sets(6, DNA, *lengths)
    exact = expected(queries, targets, mode)
    best = nearest_of(exact, 4)
    found: Any = distances(queries, targets, mode=mode, nearest=4, device=device, threads=2)
    assert np.array_equal(found.target, best)
    assert np.array_equal(found.value, np.take_along_axis(exact, best, 1))


def test_nearest_of_a_set_leaves_out_each_itself_and_says_where_there_are_fewer(device: str) -> None:
    found: Any = distances(["AAAA", "AAAT", "TTTT"], nearest=3, device=device)
    assert found.target.tolist() == [[1, 2, -1], [0, 2, -1], [1, 0, -1]]
    assert found.value.tolist() == [[1, 4, -1], [1, 3, -1], [3, 4, -1]]
    near: Any = distances(["AAAA", "AAAT", "TTTT"], nearest=2, max_errors=3, device=device)
    assert near.target.tolist() == [[1, -1], [0, 2], [1, -1]]


def test_nothing_is_a_set_too(device: str) -> None:
    assert distances([], ["A"], device=device).values.shape == (0, 1)
    assert distances(["A"], [], device=device).values.shape == (1, 0)
    assert len(distances([], max_errors=1, sparse=True, device=device)) == 0
    assert distances(["A", ""], [], nearest=1, device=device).target.tolist() == [[-1], [-1]]
    assert distances(["", "AC"], ["", "A"], device=device).values.tolist() == [[0, 1], [2, 1]]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_show(threads: int) -> None:
    queries, targets = related_sets(8, DNA, 30, 300, count=150)
    first, other = (distances(queries, targets, threads=n, device="cpu") for n in (2, threads))
    assert np.array_equal(first, other)


@pytest.mark.parametrize("alphabet", ["ab", DNA, WORDS, CODE_POINTS])
@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("length", [600, 4100, 9000])
def test_one_long_pair(alphabet: str, rate: float, length: int) -> None:
    rng = random.Random(length)
    query = "".join(rng.choices(alphabet, k=length))
    target = mutate(rng, query, rate, alphabet) if rate < 1 else "".join(rng.choices(alphabet, k=length - 77))
    moved = target[: length // 2] + target[length // 2 + 300 :] + query[:150]
    for text in (target, moved):
        distance = Levenshtein.distance(query, text)
        assert distances([query], [text], device="cpu").values.tolist() == [[distance]]
        for limit in (distance, max(0, distance - 1), 2 * distance, distance // 2):
            found: Any = distances([query], [text], max_errors=limit, device="cpu")
            assert found.values.tolist() == [[distance if distance <= limit else -1]]


@pytest.mark.parametrize("mode", ["global", "indel"])
@pytest.mark.parametrize(("length", "alphabet"), [(600, DNA), (9000, DNA), (5000, WORDS)])
def test_few_long_pairs(device: str, mode: Any, length: int, alphabet: str) -> None:
    """Which a device's blocks share."""
    queries, targets = related_sets(length, alphabet, length // 2, length, count=5)
    queries, targets = [*queries, ""], [*targets, "", alphabet[0]]
    matrix = expected(queries, targets, mode)
    assert np.array_equal(distances(queries, targets, mode=mode, device=device), matrix)
    limit = int(np.median(matrix))
    within = distances(queries, targets, mode=mode, max_errors=limit, device=device)
    assert np.array_equal(within, np.where(matrix <= limit, matrix, -1))
    best: Any = distances(queries, targets, mode=mode, nearest=2, device=device)
    assert np.array_equal(best.target, nearest_of(matrix, 2))
    pairs: Any = distances(queries, targets, mode=mode, max_errors=limit, sparse=True, device=device)
    assert np.array_equal(np.stack([pairs.query, pairs.target]), np.nonzero(matrix <= limit))


def test_a_pair_longer_than_a_thread_s(device: str) -> None:
    rng = random.Random(8)
    text = "".join(rng.choices(DNA, k=60_000))
    changed = mutate(rng, text, 0.03, DNA)
    expected_distance = edlib.align(text, changed, task="distance")["editDistance"]
    assert np.asarray(distances([text], [changed], device=device)).tolist() == [[expected_distance]]


@pytest.mark.parametrize("alphabet", [DNA, CODE_POINTS])
@pytest.mark.parametrize("rate", [0.0, 0.001, 0.01, 0.02])
def test_long_pairs_with_few_errors(alphabet: str, rate: float) -> None:
    rng = random.Random(int(1e4 * rate))
    text = "".join(rng.choices(alphabet, k=12_000))
    changed = mutate(rng, text, rate, alphabet)
    for pair in ((text, changed), (changed + alphabet[0] * 20, text), (text, text[40:] + text[:40])):
        wanted = Levenshtein.distance(*pair)
        ours = [distances([pair[0]], [pair[1]], max_errors=maximum, device="cpu")[0, 0] for maximum in (None, wanted)]
        assert ours == [wanted, wanted]
        if wanted:
            assert distances([pair[0]], [pair[1]], max_errors=wanted - 1, device="cpu")[0, 0] == -1
