"""LazyRScan's scores, its kernels compiled for the host: those of parasail."""

from __future__ import annotations

import ctypes
import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import parasail
import pytest

from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.align.score.device.tasks import arithmetic
from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.tuning import few_defines
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.runner import run_on_devices
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring, match_mismatch, scoring_of
from gpualign.sequences.pairs import PairBlock
from tests.helpers.emulated import EmulatedByName, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.pairwise_cases import parasail_matrix, score_of
from tests.helpers.sequences import mutate
from tests.reference.pairwise import end_gap_score

ALPHABETS = {"few": "ACGT", "symbols": "ARNDCQEGHILKMFPSTWYV", "wide": "ACGT"}
PEERS = {"global": parasail.nw_scan_32, "semi-global": parasail.sg_scan_32, "local": parasail.sw_scan_32}
#: of kernels; a global alignment with gaps of its own at the ends is of borders, too
NAMES = {"global": "lazy", "semi-global": "borders", "local": "anywhere", "borders": "borders"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], ctypes.CDLL]:
    """By OPENING: of linear gaps, of one that costs 9 to open, and of any."""
    return lambda opening: emulated_library(
        tmp_path_factory, "pairwise_lazy", {"OPENING": opening, "AFFINE": int(opening != 0)}
    )


def _encoded(texts: list[str], scoring: Scoring) -> EncodedSequences:
    return encode([SequenceBatch.from_records([(str(i), text) for i, text in enumerate(texts)])], scoring)


def _related(rng: random.Random, lengths: list[int], alphabet: str) -> list[str]:
    base = "".join(random.Random(1).choices(alphabet, k=max(lengths)))
    return [mutate(rng, base[:length], 0.4 * rng.random(), alphabet) or "A" for length in lengths]


@pytest.fixture
def scores_by(library: Callable[[int], ctypes.CDLL], monkeypatch: pytest.MonkeyPatch):
    """The scores of all queries with all targets by the kernel for this ``kind`` of symbols."""

    def scores(
        kind: str,
        queries: list[str],
        targets: list[str],
        scoring: Scoring,
        gaps: tuple[int, int],
        mode: str,
        **more: Any,
    ) -> list[int]:
        affine = gaps[0] > gaps[1] or mode == "local"
        name = f"few_{NAMES[mode]}" if kind == "few" else f"{NAMES[mode]}_{'affine' if affine else 'linear'}_{kind}"
        kernel = EmulatedByName(library(int(few_defines(gaps[0] - gaps[1], mode == "local")["OPENING"])), name)
        install_kernels(monkeypatch, {name: kernel}, 1 << 28)
        problem = PairProblem(
            (_encoded(queries, scoring),), _encoded(targets, scoring), scoring, *gaps,
            "global" if mode == "borders" else mode, (mode == "semi-global",) * 4, traced=False, identity=None,
            definition=1, table_bytes=1 << 26, kernel="lazy", **more,
        )  # fmt: skip
        index = np.indices((len(queries), len(targets)))
        block = PairBlock(*(each.ravel().astype(np.int32) for each in index))
        with Device(list_devices()[0]) as device:
            (found,) = run_on_devices([block], partial(PairwiseKernel, problem=problem), [device])
        assert kernel.calls == 1
        return list(found.score.tolist())

    return scores


def _expected(queries: list[str], targets: list[str], scoring: Scoring, gaps: tuple[int, int], mode: str) -> list[int]:
    """Of parasail, which does not see alignments of no symbols."""
    matrix, lowest = parasail_matrix(scoring), 0 if mode == "semi-global" else -(10**9)
    return [max(PEERS[mode](a, b, *gaps, matrix).score, lowest) for a in queries for b in targets]


@pytest.mark.parametrize("kind", ALPHABETS)
@pytest.mark.parametrize("gaps", [(6, 6), (10, 1), (12, 1), (200, 2)])
@pytest.mark.parametrize("mode", PEERS)
def test_scores_of_parasail(scores_by, kind: str, mode: str, gaps: tuple[int, int]) -> None:
    """Lengths about those of strips, of rows that are loaded at once and of a warp; more than one task of a query."""
    rng = random.Random(5)
    known = {"few": match_mismatch(5, -9), "symbols": load_matrix("BLOSUM62"), "wide": match_mismatch(2000, -3000)}
    queries = _related(rng, [1, 3, 4, 5, 31, 33, 70], ALPHABETS[kind])
    targets = _related(rng, [1, 2, 15, 16, 17, 31, 32, 33, 64, 100, *range(20, 80, 2)], ALPHABETS[kind])
    found = scores_by(kind, queries, targets, known[kind], gaps, mode)
    assert found == _expected(queries, targets, known[kind], gaps, mode)


@pytest.mark.parametrize("symbols", [8, 9])
@pytest.mark.parametrize("gaps", [(7, 7), (14, 3)])
def test_alphabets_about_the_largest_with_a_profile_of_words(scores_by, symbols: int, gaps: tuple[int, int]) -> None:
    alphabet = "ARNDCQEGH"[:symbols]
    values = np.random.default_rng(symbols).integers(-7, 8, (symbols, symbols)).astype(float)
    scoring = scoring_of("random", alphabet, values + values.T)
    rng = random.Random(2)
    queries, targets = _related(rng, [5, 40], alphabet), _related(rng, [1, 33, 60, 64], alphabet)
    found = scores_by("few" if symbols == 8 else "symbols", queries, targets, scoring, gaps, "global")
    assert found == _expected(queries, targets, scoring, gaps, "global")


@pytest.mark.parametrize(("match", "mismatch"), [(5, -4), (7, -128)])
@pytest.mark.parametrize("gaps", [(60, 60), (1500, 60), (69, 60)])
@pytest.mark.parametrize("mode", ["global", "semi-global"])
def test_the_longest_sequences_of_halves(
    scores_by, match: int, mismatch: int, gaps: tuple[int, int], mode: str
) -> None:
    """Values close to both ends of a half, with N; a symbol more would need whole words."""
    scoring, cheap = match_mismatch(match, mismatch), mode == "semi-global"
    longest = next(
        n for n in itertools.count(1) if arithmetic(scoring, *gaps, n + 1, n + 1, cheap_start=cheap).lanes == 1
    )
    rng = random.Random(3)
    same = "".join(rng.choices("ACGT", k=longest))
    other = "".join(rng.choices("ACGTN", k=longest))
    queries, targets = [same, other], [same, other, "G", same[: longest // 2], "N" * longest]
    assert scores_by("few", queries, targets, scoring, gaps, mode) == _expected(queries, targets, scoring, gaps, mode)


@pytest.mark.parametrize("ends", [((3, 1), (0, 0), (2, 2), (5, 1)), ((0, 0), (11, 2), (11, 2), (0, 0))])
def test_ends_of_their_own(scores_by, ends: tuple[tuple[int, int], ...]) -> None:
    scoring, rng = match_mismatch(5, -4), random.Random(4)
    queries, targets = _related(rng, [1, 7, 34], "ACGTN"), _related(rng, [1, 2, 31, 32, 33, 50], "ACGTN")
    found = scores_by("few", queries, targets, scoring, (11, 2), "borders", end_gaps=ends)
    expected = [end_gap_score(a, b, score_of(scoring), (11, 2), ends) for a in queries for b in targets]
    assert found == expected
