"""Distances and scores of random sequences on a device and on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.matrix import tuning
from gpualign.align.matrix.cpu import MODES, CpuDistances
from gpualign.align.matrix.device.run import distances_on, scores_on
from gpualign.align.matrix.params import DistanceParams
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.scores import CpuScores, Scores, ScoreSelection
from gpualign.align.matrix.symbols import SymbolSet, symbols_of
from gpualign.align.score.params import PairwiseParams
from gpualign.align.score.tuning import FEW_MODULE, few_defines
from gpualign.params import RunOptions
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.self_test import SelfTest

_LENGTHS, _LIMITS = (60, 128, 150), (0.05, 0.3)
#: symbols of a pair that blocks share
_LONG = 12_000
#: kernels of :func:`self_tests`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    *(("distances", tuning.defines(tuning.words_of(length), MODES["global"])) for length in _LENGTHS),
    ("distances", tuning.defines(tuning.words_of(_LENGTHS[-1]), MODES["indel"])),
    *(("distances_within", {"WIDE": str(wide)}) for wide in (0, 1)),
    ("distances_long", tuning.long_defines(2)),
    ("distances_scores", {}),
    (FEW_MODULE, few_defines(0, local=False)),
)


def self_tests() -> Iterator[SelfTest]:
    """Matrices, pairs within limits, and scores of sets of several lengths."""
    rng = np.random.default_rng(1)
    for length in _LENGTHS:
        rows = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (96, length))]
        changed = np.where(rng.random(rows.shape) < 0.02, np.uint8(ord("A")), rows)
        yield from _of_distances(symbols_of(rows), symbols_of(changed))
    params = PairwiseParams(gap_open=10, gap_extend=10, score_only=True)
    problem = Scores.of(ScoreSelection(), params, symbols_of(rows), symbols_of(changed), RunOptions(quiet=True))
    yield _of_matrix("scores", problem, scores_on, CpuScores)
    text = rows.reshape(-1)[:_LONG]
    changed = np.where(rng.random(_LONG) < 0.05, np.uint8(ord("A")), text)[: _LONG - 7]
    yield from _of_distances(symbols_of([text.tobytes()]), symbols_of([changed.tobytes()]))


def _of_distances(queries: SymbolSet, targets: SymbolSet) -> Iterator[SelfTest]:
    for mode in ("global", "indel") if queries.longest == _LENGTHS[-1] else ("global",):
        problem = Distances.of(DistanceParams(mode=mode), queries, targets)
        yield _of_matrix(f"{mode} distances", problem, distances_on, CpuDistances)
    for rate in _LIMITS:
        problem = Distances.of(DistanceParams(error_rate=rate, sparse=True), queries, targets)
        yield _of_pairs(problem)


def _of_pairs(problem: Distances) -> SelfTest:
    return SelfTest(
        "pairs within a limit",
        lambda device: distances_on(problem, [device]).sparse(),
        lambda: CpuDistances(problem, 1).sparse(),
    )


def _of_matrix(name: str, problem: Any, on_devices: Callable[..., Any], on_cpu: Callable[..., Any]) -> SelfTest:
    def matrix(computes: Any) -> NDArray[np.int32]:
        values = np.zeros((len(problem.queries), len(problem.targets)), np.int32)
        computes.matrix(values)
        return values

    return SelfTest(name, lambda device: matrix(on_devices(problem, [device])), lambda: matrix(on_cpu(problem, 1)))
