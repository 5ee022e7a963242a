"""`scores` on every device: expectations by parasail and RapidFuzz."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import parasail
import pytest
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

from gpualign import scores
from gpualign.align.matrix import backends
from gpualign.errors import InputError, UsageError
from gpualign.run.cuda import CudaBackend
from tests.helpers.distance_cases import CODE_POINTS, DNA, related_sets

pytestmark = pytest.mark.usefixtures("level")

PROTEIN = "ARNDCQEGHILKMFPSTWYV"
ALIGNERS = {"global": parasail.nw, "semi-global": parasail.sg, "local": parasail.sw}
NUCLEOTIDES = parasail.matrix_create(DNA, 5, -4)


def aligned(queries: list[str], targets: list[str], mode: str, open_: int, extend: int, matrix: Any) -> Any:
    return np.array([[ALIGNERS[mode](q, t, open_, extend, matrix).score for t in targets] for q in queries])


@pytest.mark.parametrize("mode", ["global", "semi-global", "local"])
@pytest.mark.parametrize(("open_", "extend"), [(10, 10), (10, 1)])
@pytest.mark.parametrize("span", [(1, 60), (90, 110), (200, 400)])
def test_scores_are_parasail_s(device: str, mode: Any, open_: int, extend: int, span: tuple[int, int]) -> None:
    queries, targets = related_sets(1, DNA, *span, count=10)
    targets = [target or "A" for target in targets]
    found = scores(queries, targets, mode=mode, gap_open=open_, gap_extend=extend, device=device, threads=2)
    assert np.array_equal(found, aligned(queries, targets, mode, open_, extend, NUCLEOTIDES))


@pytest.mark.parametrize("mode", ["global", "local"])
def test_proteins_by_matrix(device: str, mode: Any) -> None:
    queries, _ = related_sets(2, PROTEIN, 40, 120, count=12)
    found = scores(queries, matrix="BLOSUM62", mode=mode, gap_open=11, gap_extend=1, device=device)
    assert np.array_equal(found, aligned(queries, queries, mode, 11, 1, parasail.blosum62))


def test_gaps_are_linear_unless_told_otherwise(device: str) -> None:
    assert np.asarray(scores(["ACGT"], ["AT"], gap_open=3, device=device)).tolist() == [[4]]


@pytest.mark.parametrize("alphabet", [DNA, CODE_POINTS])
def test_lengths_of_common_subsequences_are_rapidfuzz_s(device: str, alphabet: str) -> None:
    queries, targets = related_sets(3, alphabet, 0, 150)
    expected = np.asarray(cdist(queries, targets, scorer=LCSseq.similarity, dtype=np.int32))
    assert np.array_equal(scores(queries, targets, mode="lcs", device=device), expected)


def test_the_best_of_each_and_those_that_reach_a_score(device: str) -> None:
    queries, targets = related_sets(4, DNA, 90, 110)
    matrix = aligned(queries, targets, "global", 10, 10, NUCLEOTIDES)
    order = np.lexsort((np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape), -matrix), axis=1)[:, :3]
    best: Any = scores(queries, targets, nearest=3, device=device)
    assert np.array_equal(best.target, order)
    assert np.array_equal(best.value, np.take_along_axis(matrix, order, 1))
    pairs: Any = scores(queries, targets, sparse=True, min_score=200, device=device)
    query, target = np.nonzero(matrix >= 200)
    assert len(query) > 5
    assert np.array_equal(np.stack([pairs.query, pairs.target]), np.stack([query, target]))
    assert np.array_equal(pairs.value, matrix[query, target])


def test_a_set_with_itself_pairs_each_once(device: str) -> None:
    pairs: Any = scores(["ACGT", "ACGA", "TTTT"], sparse=True, min_score=0, device=device)
    assert list(zip(pairs.query.tolist(), pairs.target.tolist(), pairs.value.tolist(), strict=True)) == [(0, 1, 11)]
    best: Any = scores(["ACGT", "ACGA", "TTTT"], nearest=1, device=device)
    assert best.target.tolist() == [[1], [0], [0]]


def test_a_device_that_is_asked_for_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    class Way:
        def matrix(self, out: Any) -> None:
            out[:] = 7

    def on_devices(problem: Any, devices: Any, report: Any) -> Any:
        asked.append((len(problem.queries), len(problem.targets)))
        return Way()

    backend = CudaBackend.__new__(CudaBackend)
    backend.devices = [object()]  # type: ignore[list-item]
    monkeypatch.setattr(backends, "backend_for", lambda options, work: backend)
    monkeypatch.setattr(backends, "scores_on", on_devices)
    assert np.asarray(scores(["ACGT"], ["A", "CC"], device="cuda:0")).tolist() == [[7, 7]]
    assert asked == [(1, 2)]


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(InputError, match=r"sequence 1: match/mismatch does not score '!'"):
        scores(["ACGT", "AC!T"], device="cpu")
    with pytest.raises(InputError, match="sequence 0: BLOSUM62 does not score 'é'"):
        scores(["é"], matrix="BLOSUM62", device="cpu")
    with pytest.raises(UsageError, match="sparse needs a min score"):
        scores(["A"], sparse=True)
    with pytest.raises(UsageError, match="mode must be one of"):
        scores(["A"], mode="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["global", "semi-global", "local"])
@pytest.mark.parametrize(("open_", "extend"), [(10, 10), (10, 1)])
def test_empty_sequences_cost_a_gap_or_nothing(device: str, mode: Any, open_: int, extend: int) -> None:
    found = scores(["", "ACG"], ["AC", "", "ACG"], mode=mode, gap_open=open_, gap_extend=extend, device=device)
    of_three = -(open_ + 2 * extend) if mode == "global" else 0
    of_two = -(open_ + extend) if mode == "global" else 0
    two_of_three = 10 - (open_ if mode == "global" else 0)
    assert np.asarray(found).tolist() == [[of_two, 0, of_three], [two_of_three, of_three, 15]]


@pytest.mark.parametrize("spread", [0, 200])
def test_more_targets_than_lanes_and_queries_of_several_widths(device: str, spread: int) -> None:
    rng = random.Random(spread)
    queries = ["".join(rng.choices(DNA, k=150 + rng.randint(0, 10 * spread))) for _ in range(7)]
    targets = ["".join(rng.choices(DNA, k=150 + rng.randint(0, spread))) for _ in range(140)]
    found = scores(queries, targets, gap_open=10, gap_extend=2, device=device, threads=2)
    assert np.array_equal(found, aligned(queries, targets, "global", 10, 2, NUCLEOTIDES))
