"""Distances and scores of random sequences on a device and on the CPU."""

from __future__ import annotations

import numpy as np

from gpualign.align.matrix import tuning
from gpualign.align.matrix.cpu import MODES, CpuDistances
from gpualign.align.matrix.device.run import distances_on, scores_on
from gpualign.align.matrix.params import DistanceParams
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.results import SparsePairs
from gpualign.align.matrix.scores import CpuScores, Scores, ScoreSelection
from gpualign.align.matrix.symbols import SymbolSet, symbols_of
from gpualign.align.score.params import PairwiseParams
from gpualign.align.score.tuning import FEW_MODULE, few_defines
from gpualign.errors import DeviceError
from gpualign.params import RunOptions
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device

_LENGTHS, _LIMITS = (60, 128, 150), (0.05, 0.3)
#: symbols of a pair that blocks share
_LONG = 12_000
#: kernels of :func:`self_test`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    *(("distances", tuning.defines(tuning.words_of(length), MODES["global"])) for length in _LENGTHS),
    ("distances", tuning.defines(tuning.words_of(_LENGTHS[-1]), MODES["indel"])),
    *(("distances_within", {"WIDE": str(wide)}) for wide in (0, 1)),
    ("distances_long", tuning.long_defines(2)),
    ("distances_scores", {}),
    (FEW_MODULE, few_defines(0, local=False)),
)


def self_test(device: Device) -> None:
    """Matrices, pairs within limits, and scores of sets of several lengths.

    Raises:
        DeviceError: the results differ.
    """
    rng = np.random.default_rng(1)
    for length in _LENGTHS:
        rows = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (96, length))]
        changed = np.where(rng.random(rows.shape) < 0.02, np.uint8(ord("A")), rows)
        _compare_distances(device, symbols_of(rows), symbols_of(changed))
    params = PairwiseParams(gap_open=10, gap_extend=10, score_only=True)
    problem = Scores.of(ScoreSelection(), params, symbols_of(rows), symbols_of(changed), RunOptions(quiet=True))
    got, expected = np.zeros((2, len(rows), len(changed)), np.int32)
    scores_on(problem, [device]).matrix(got)
    CpuScores(problem, 1).matrix(expected)
    _check(device, "scores", got, expected)
    text = rows.reshape(-1)[:_LONG]
    changed = np.where(rng.random(_LONG) < 0.05, np.uint8(ord("A")), text)[: _LONG - 7]
    _compare_distances(device, symbols_of([text.tobytes()]), symbols_of([changed.tobytes()]))


def _compare_distances(device: Device, queries: SymbolSet, targets: SymbolSet) -> None:
    for mode in ("global", "indel") if queries.longest == _LENGTHS[-1] else ("global",):
        problem = Distances.of(DistanceParams(mode=mode), queries, targets)
        found = np.zeros((2, len(queries), len(targets)), np.int32)
        distances_on(problem, [device]).matrix(found[0])
        CpuDistances(problem, 1).matrix(found[1])
        _check(device, f"{mode} distances", *found)
    for rate in _LIMITS:
        problem = Distances.of(DistanceParams(error_rate=rate, sparse=True), queries, targets)
        pairs = distances_on(problem, [device]).sparse(), CpuDistances(problem, 1).sparse()
        _check(device, "pairs within a limit", *map(_table, pairs))


def _table(pairs: SparsePairs) -> np.ndarray:
    return np.stack([pairs.query, pairs.target, pairs.value])


def _check(device: Device, what: str, got: np.ndarray, expected: np.ndarray) -> None:
    if not np.array_equal(got, expected):
        raise DeviceError(f"{device.name}: {what} differ from the CPU's")
