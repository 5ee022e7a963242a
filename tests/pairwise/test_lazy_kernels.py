"""LazyRScan's scores, its kernels compiled for the host: those of parasail."""

from __future__ import annotations

import ctypes
import random
from functools import partial

import numpy as np
import parasail
import pytest

from gpualign.engine.gpu import compiler
from gpualign.engine.gpu import device as device_module
from gpualign.engine.gpu.device import Device, list_devices
from gpualign.engine.gpu.runner import run_on_devices
from gpualign.io.matrices import load_matrix
from gpualign.pairwise.cpu import PairProblem
from gpualign.pairwise.device.kernel import PairwiseKernel
from gpualign.pairwise.tuning import few_defines
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring, match_mismatch
from gpualign.sequences.pairs import PairBlock
from tests.helpers.emulated import EmulatedByName, emulated_library
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.pairwise_cases import parasail_matrix
from tests.helpers.sequences import mutate

ALPHABETS = {"few": "ACGT", "symbols": "ARNDCQEGHILKMFPSTWYV", "wide": "ACGT"}
PEERS = {"global": parasail.nw_scan_32, "semi-global": parasail.sg_scan_32, "local": parasail.sw_scan_32}
NAMES = {"global": "lazy", "semi-global": "borders", "local": "anywhere"}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[int, ctypes.CDLL]:
    """By OPENING: of linear gaps, of one that costs 9 to open, and of any."""
    return {
        opening: emulated_library(
            tmp_path_factory.mktemp("kernels"), "pairwise_lazy", {"OPENING": opening, "AFFINE": int(opening != 0)}
        )
        for opening in (0, 9, -1)
    }


def _encoded(texts: list[str], scoring: Scoring) -> EncodedSequences:
    return encode([SequenceBatch.from_records([(str(i), text) for i, text in enumerate(texts)])], scoring)


def _related(rng: random.Random, lengths: list[int], alphabet: str) -> list[str]:
    base = "".join(random.Random(1).choices(alphabet, k=max(lengths)))
    return [mutate(rng, base[:length], 0.4 * rng.random(), alphabet) or "A" for length in lengths]


@pytest.mark.parametrize("kind", ALPHABETS)
@pytest.mark.parametrize(("gap_open", "gap_extend"), [(6, 6), (10, 1), (12, 1), (200, 2)])
@pytest.mark.parametrize("mode", PEERS)
def test_scores_of_parasail(
    libraries: dict[int, ctypes.CDLL],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    mode: str,
    gap_open: int,
    gap_extend: int,
) -> None:
    """Lengths about those of strips, of rows that are loaded at once and of a warp."""
    rng = random.Random(5)
    scores = {"few": match_mismatch(5, -9), "symbols": load_matrix("BLOSUM62"), "wide": match_mismatch(2000, -3000)}
    scoring = scores[kind]
    queries = _related(rng, [1, 3, 4, 5, 31, 33, 70], ALPHABETS[kind])
    targets = _related(rng, [1, 2, 15, 16, 17, 31, 32, 33, 64, 100, *range(40, 75)], ALPHABETS[kind])
    affine = gap_open > gap_extend or mode == "local"
    name = f"few_{NAMES[mode]}" if kind == "few" else f"{NAMES[mode]}_{'affine' if affine else 'linear'}_{kind}"
    kernel = EmulatedByName(libraries[int(few_defines(gap_open - gap_extend, mode == "local")["OPENING"])], name)
    driver = FakeDriver(functions={name: kernel}, memory=1 << 28)
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    monkeypatch.setattr(compiler, "compile_module", lambda source, architecture, defines: b"")
    monkeypatch.setattr(compiler, "can_be_had", lambda source, defines: True)
    problem = PairProblem(
        (_encoded(queries, scoring),), _encoded(targets, scoring), scoring, gap_open, gap_extend, mode,
        (mode == "semi-global",) * 4, traced=False, identity=None, definition=1, table_bytes=1 << 26, kernel="lazy",
    )  # fmt: skip
    index = np.indices((len(queries), len(targets)))
    block = PairBlock(*(each.ravel().astype(np.int32) for each in index))
    with Device(list_devices()[0]) as device:
        (found,) = run_on_devices([block], partial(PairwiseKernel, problem=problem), [device])
    matrix = parasail_matrix(scoring)
    lowest = 0 if mode == "semi-global" else -(10**9)  # nothing aligned, which parasail leaves out
    expected = [max(PEERS[mode](a, b, gap_open, gap_extend, matrix).score, lowest) for a in queries for b in targets]
    assert found.score.tolist() == expected
    assert kernel.calls == 1
