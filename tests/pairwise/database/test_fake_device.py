"""A search on a GPU without one: the host's part, with a driver whose device is this process's memory and kernels that
do what those of ``cuda/pairwise_lanes.cu`` promise. The bytes are the CPU's."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path
from typing import Any

import numpy as np
import parasail
import pytest

from gpualign.align.pair_inputs import PairFiles
from gpualign.align.pair_tasks import LAZY_TASK
from gpualign.align.score.device.tasks import ALIGNMENT_END, STRIP_TASK
from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.params import PairwiseParams
from gpualign.pairwise.database import run as search_run
from gpualign.pairwise.database.params import DatabaseParams
from gpualign.pairwise.database.run import run_search
from gpualign.pairwise.params import PairwiseOutput
from gpualign.params import RunOptions
from gpualign.run.gpu import compiler
from tests.helpers.fake_cuda import Allocation, install_kernels
from tests.helpers.files import write_fasta
from tests.helpers.sequences import mutate

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
#: scores from here on stand for those that half a word does not hold
BEYOND = 300
SYMBOLS = load_matrix("BLOSUM62").symbols


def _sequence(sequences: np.void, number: int) -> str:
    """Of a DeviceSequences struct."""
    offsets = (ctypes.c_int64 * (number + 2)).from_address(int(sequences["offsets"]))
    length = offsets[number + 1] - offsets[number]
    codes = (ctypes.c_uint8 * length).from_address(int(sequences["codes"]) + offsets[number])
    return "".join(SYMBOLS[code] for code in codes)


class Lanes:
    """Both kernels."""

    num_regs = 32

    def __init__(self) -> None:
        self.pairs = self.beyond = 0
        self.score = parasail.sw_striped_sat

    def set_attribute(self, *_: Any) -> None:
        pass

    def __call__(self, *arguments: Any, **_: Any) -> None:
        tasks, count, _, _, queries, targets, pair_target, _, _, _, stride, scores = arguments
        assert isinstance(scores, Allocation)
        numbers, written = pair_target.data.view("i4"), scores.data.view("i4")
        for query, first, pairs, _ in tasks.data[: LAZY_TASK.itemsize * int(count)].view(LAZY_TASK).tolist():
            for pair in range(first, first + pairs):
                texts = _sequence(queries, query), _sequence(targets, numbers[pair])
                score = self.score(*texts, 12, 1, parasail.blosum62).score
                beyond = score >= BEYOND and self.score == parasail.sw_striped_sat
                self.pairs += 1
                self.beyond += beyond
                written[query * int(stride) + pair] = -1 if beyond else score


class Strips:
    """The kernel of ``cuda/pairwise_strips.cu`` for the scores of the hits again."""

    num_regs = 32

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *arguments: Any, **_: Any) -> None:
        tasks, count, _, _, queries, targets, *_, ends = arguments
        self.calls += 1
        for task in tasks.data[: STRIP_TASK.itemsize * int(count)].view(STRIP_TASK):
            texts = _sequence(queries, int(task["query"])), _sequence(targets, int(task["target"]))
            score = parasail.sw_striped_sat(*texts, 12, 1, parasail.blosum62).score
            at = int(task["pair"]) * ALIGNMENT_END.itemsize
            ends.data[at : at + ALIGNMENT_END.itemsize].view(ALIGNMENT_END)["score"] = score
            ends.data[at : at + ALIGNMENT_END.itemsize].view(ALIGNMENT_END)["j"] = 1


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> Lanes:
    """Installed, with a device of their own."""
    made = Lanes()
    functions = {"lanes": made, "lanes_tiled": made, "strips_anywherescores_affine_symbols": Strips()}
    install_kernels(monkeypatch, functions, 1 << 26)
    monkeypatch.setattr(compiler, "can_be_had", lambda source, defines: True)
    return made


@pytest.mark.parametrize("empty", [0, 1, 40])
@pytest.mark.parametrize("batch_size", [1 << 20, 200])
@pytest.mark.parametrize(
    "search", [DatabaseParams(top=4), DatabaseParams(evalue=0.5), DatabaseParams(min_score=30.0, top=9)]
)
def test_the_cpus_bytes(
    tmp_path: Path, lanes: Lanes, monkeypatch: pytest.MonkeyPatch, search: DatabaseParams, batch_size: int, empty: int
) -> None:
    rng = random.Random(5)
    queries = ["".join(rng.choices(AMINO_ACIDS, k=k)) for k in (30, 140, 90)]
    targets = ["".join(rng.choices(AMINO_ACIDS, k=rng.randrange(1, 200))) for _ in range(150)]
    targets += [mutate(rng, rng.choice(queries), 0.1, AMINO_ACIDS) for _ in range(50)]
    targets += [""] * empty
    rng.shuffle(targets)
    a, b = (str(write_fasta(tmp_path / name, texts)) for name, texts in (("a.fa", queries), ("b.fa", targets)))
    params = PairwiseParams(mode="local", matrix="BLOSUM62", gap_open=12, gap_extend=1, score_only=True)
    monkeypatch.setattr(search_run, "_PART_BATCHES", 1 << 3)
    for device in ("cpu", "cuda:0"):
        options = RunOptions(quiet=True, device=device, batch_size=batch_size, output=str(tmp_path / device))
        run_search(PairFiles(a, b), params, search, PairwiseOutput(), options)
    assert (tmp_path / "cuda:0").read_bytes() == (tmp_path / "cpu").read_bytes()
    assert lanes.pairs >= 600  # and the hits again
    assert lanes.beyond > 5


def test_global_scores_with_empty_targets(tmp_path: Path, lanes: Lanes) -> None:
    """Which are of a gap as long as the query, by hand, and the best here."""
    lanes.score = parasail.nw_striped_sat
    rng = random.Random(6)
    queries = ["WWW", "WWWWW"]
    targets = ["", *("".join(rng.choices("GPS", k=rng.randrange(40, 60))) for _ in range(30)), ""]
    a, b = (str(write_fasta(tmp_path / name, texts)) for name, texts in (("a.fa", queries), ("b.fa", targets)))
    params = PairwiseParams(mode="global", matrix="BLOSUM62", gap_open=12, gap_extend=1, score_only=True)
    output = PairwiseOutput(header=False)
    for device in ("cpu", "cuda:0"):
        options = RunOptions(quiet=True, device=device, output=str(tmp_path / device))
        run_search(PairFiles(a, b), params, DatabaseParams(top=3), output, options)
    written = (tmp_path / "cuda:0").read_bytes()
    assert written == (tmp_path / "cpu").read_bytes()
    rows = [line.split("\t") for line in written.decode().splitlines()]
    assert [(row[0], row[1], row[2]) for row in rows if row[1] in ("s0", "s31")] == [
        ("s0", "s0", "-14"),
        ("s0", "s31", "-14"),
        ("s1", "s0", "-16"),
        ("s1", "s31", "-16"),
    ]
    assert lanes.pairs == 60
