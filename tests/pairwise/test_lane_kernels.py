"""Scores by ``cuda/pairwise_lanes.cu``, compiled for the host with all warps of a block: those of the CPU."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from gpualign.align.score.cpu import align_on_cpu
from gpualign.align.score.device import query_lanes
from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.tuning import LaneShape
from gpualign.run.gpu import compiler
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.runner import run_on_devices
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.pairs import PairBlock
from tests.helpers.emulated import EmulatedByName, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.sequences import mutate

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
SHAPE = LaneShape(8, 8)
ENDS = ("local", "global", "semi-global")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    """By mode."""
    defines = {"LANES": SHAPE.lanes, "ROWS": SHAPE.rows, "OPEN": 12, "EXTEND": 1}
    return lambda mode: emulated_library(tmp_path_factory, "pairwise_lanes", defines | {"ENDS": ENDS.index(mode)})


@pytest.fixture
def use(library: Callable[[str], ctypes.CDLL], monkeypatch: pytest.MonkeyPatch):
    def install(mode: str) -> dict[str, EmulatedByName]:
        kernels = {name: EmulatedByName(library(mode), name) for name in ("lanes", "lanes_tiled")}
        install_kernels(monkeypatch, kernels, 1 << 28)
        monkeypatch.setattr(compiler, "can_be_had", lambda source, defines: True)
        monkeypatch.setattr(query_lanes, "shape_of", lambda rows: SHAPE)
        return kernels

    return install


def _encoded(texts: list[str]) -> EncodedSequences:
    records = [(str(i), text) for i, text in enumerate(texts)]
    return encode([SequenceBatch.from_records(records)], load_matrix("BLOSUM62"))


def _proteins(seed: int, lengths: list[int]) -> list[str]:
    """Beginnings of one protein, changed."""
    rng = random.Random(seed)
    base = "".join(random.Random(1).choices(AMINO_ACIDS, k=max(lengths)))
    return [mutate(rng, base[:length], 0.4 * rng.random(), AMINO_ACIDS) or "A" for length in lengths]


@pytest.mark.parametrize(
    ("mode", "free"),
    [("local", "0000"), ("global", "0000"), *(("semi-global", f) for f in ("1111", "1001", "0100", "0011", "0001"))],
)
def test_scores_of_the_cpu(use, mode: str, free: str) -> None:
    kernels = use(mode)
    queries, targets = _proteins(2, [1, 20, 63, 65, 150]), _proteins(3, [1, 2, 9, 33, 60, 61, 150, 151, 240])
    targets.append(queries[1] + "G" * 140)  # a query's end long before the target's
    ends = tuple(bit == "1" for bit in free)
    problem = PairProblem(
        (_encoded(queries),), _encoded(targets), load_matrix("BLOSUM62"), 12, 1, mode, ends, traced=False,
        identity=None, definition=1, table_bytes=1 << 26, kernel="lanes",
    )  # fmt: skip
    index = np.indices((len(queries), len(targets)))
    block = PairBlock(*(each.ravel().astype(np.int32) for each in index))
    with Device(list_devices()[0]) as device:
        (found,) = run_on_devices([block], partial(PairwiseKernel, problem=problem), [device])
    assert found.score.tolist() == align_on_cpu(problem, block).score.tolist()
    assert kernels["lanes"].calls + kernels["lanes_tiled"].calls > 0
