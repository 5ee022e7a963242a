"""Local and semi-global alignments by ``cuda/pairwise_strips.cu`` and ``cuda/pairwise_long.cu``, compiled for the host
with all lanes of a warp: scores of parasail, paths replayed, and the CPU's alignments."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial

import numpy as np
import parasail
import pytest

from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.cpu import align_on_cpu
from gpualign.align.score.device.kernel import PairwiseKernel
from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.problem import PairProblem
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.runner import run_on_devices
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring, match_mismatch
from gpualign.sequences.pairs import PairBlock
from tests.helpers.emulated import EmulatedByName, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.pairwise_cases import score_of
from tests.helpers.sam import cigar_text
from tests.helpers.sequences import mutate
from tests.reference.pairwise import replay

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
PART_SYMBOLS = 1024


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], ctypes.CDLL]:
    """Of affine gaps or of linear ones."""
    return lambda affine: emulated_library(tmp_path_factory, "pairwise_strips", {"AFFINE": int(affine)})


class GatherRuns:
    """What the kernel of that name in ``cuda/pairwise.cu`` promises."""

    num_regs = 32

    def __call__(self, runs, runs_at, joined_at, count, joined, **_) -> None:
        starts, ends = runs_at.data.view("i8"), joined_at.data.view("i8")
        for pair in range(int(count)):
            length = int(ends[pair + 1] - ends[pair])
            path = runs.data.view("u4")[starts[pair] : starts[pair] + length]
            joined.data.view("u4")[ends[pair] : ends[pair + 1]] = path[::-1]


class Unused:
    num_regs = 32


class Kernels(dict):
    """All kernels of a gap model; ``used`` are those that ran."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(gather_runs=GatherRuns())
        self.library = library

    def __missing__(self, name: str) -> object:
        known = name.startswith(("strips_", "part_"))
        self[name] = EmulatedByName(self.library, name) if known else Unused()
        return self[name]

    def used(self) -> set[str]:
        return {name for name, kernel in self.items() if getattr(kernel, "calls", 0)}


@pytest.fixture
def use(library: Callable[[bool], ctypes.CDLL], monkeypatch: pytest.MonkeyPatch):
    def install(affine: bool) -> Kernels:
        kernels = Kernels(library(affine))
        install_kernels(monkeypatch, kernels, 1 << 28)
        return kernels

    return install


def _encoded(scoring: Scoring, texts: list[str]) -> EncodedSequences:
    return encode([SequenceBatch.from_records([(str(i), text) for i, text in enumerate(texts)])], scoring)


def _problem(scoring: Scoring, queries: list[str], targets: list[str], gap: tuple[int, int], mode: str, **changes):
    free = (mode == "semi-global",) * 4
    problem = PairProblem(
        (_encoded(scoring, queries),), _encoded(scoring, targets), scoring, *gap, mode, free, traced=True,
        identity=None, definition=1, table_bytes=1 << 26,
    )  # fmt: skip
    return replace(problem, **changes)


def _aligned(problem: PairProblem) -> PairAlignments:
    """Of all pairs on the device; the same as the CPU's."""
    counts = len(problem.queries[0]), len(problem.targets)
    query, target = (index.ravel().astype(np.int32) for index in np.indices(counts))
    block = PairBlock(query, target)
    with Device(list_devices()[0]) as device:
        make = partial(PairwiseKernel, problem=problem, part_symbols=PART_SYMBOLS)
        (got,) = run_on_devices([block], make, [device])
    expected = align_on_cpu(problem, block)
    for field in fields(PairAlignments)[: None if problem.traced else 5]:
        assert np.array_equal(getattr(got, field.name), getattr(expected, field.name)), field.name
    return got


def _texts(seed: int, symbols: str, lengths: list[int], rate: float = 0.25) -> list[str]:
    """Pieces of one text, changed, in others."""
    rng = random.Random(seed)
    base = "".join(rng.choices(symbols, k=max(lengths)))
    found = []
    for length in lengths:
        start = rng.randrange(max(lengths) - length + 1)
        noise = "".join(rng.choices(symbols, k=rng.randrange(40)))
        found.append(noise + mutate(rng, base[start : start + length], rate * rng.random(), symbols))
    return found


GAPS = {"affine": (10, 1), "linear": (6, 6)}


def _replayed(problem: PairProblem, found: PairAlignments, queries: list[str], targets: list[str]) -> None:
    """Paths give the scores; that of local alignments is parasail's."""
    score = score_of(problem.scoring)
    assert found.spans is not None
    assert found.cigar is not None
    assert found.cigar_offsets is not None
    for pair, (query_start, query_end, target_start, target_end) in enumerate(found.spans.tolist()):
        a, b = queries[found.query[pair]], targets[found.target[pair]]
        path = cigar_text(found.cigar[found.cigar_offsets[pair] : found.cigar_offsets[pair + 1]].tolist())
        parts = a[query_start:query_end], b[target_start:target_end]
        sum_, *symbols = replay(*parts, path, score, problem.gap_open, problem.gap_extend)
        assert (sum_, symbols) == (found.score[pair], [len(part) for part in parts])


def _matrix(scoring: Scoring) -> parasail.Matrix:
    if scoring.name != "match/mismatch":
        return parasail.blosum62
    return parasail.matrix_create("ACGT", int(scoring.scores[0, 0]), int(scoring.scores[0, 1]))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["local", "semi-global"])
@pytest.mark.parametrize("kernel", ["auto", "tiled"])
@pytest.mark.parametrize("kind", ["DNA", "protein"])
@pytest.mark.parametrize("gaps", GAPS)
def test_alignments_of_short_pairs(use, kind: str, mode: str, gaps: str, kernel: str) -> None:
    scoring, symbols = (match_mismatch(5, -4), "ACGT") if kind == "DNA" else (load_matrix("BLOSUM62"), AMINO_ACIDS)
    kernels = use(gaps == "affine" or mode == "local")
    queries, targets = _texts(3, symbols, [1, 40, 200]), [*_texts(4, symbols, [2, 70, 600]), symbols[0] * 40]
    targets.append(queries[2] + symbols[1] * 600 + queries[2])  # two alignments, of which the first is preferred
    problem = _problem(scoring, queries, targets, GAPS[gaps], mode, kernel=kernel)
    found = _aligned(problem)
    _replayed(problem, found, queries, targets)
    align = parasail.sw_scan_32 if mode == "local" else parasail.sg_scan_32
    matrix = _matrix(scoring)
    expected = [
        align(queries[q], targets[t], *GAPS[gaps], matrix).score for q, t in zip(found.query, found.target, strict=True)
    ]
    assert found.score.tolist() == expected
    scores = replace(problem, traced=False, kernel="tiled")
    assert _aligned(scores).score.tolist() == expected
    assert any("scores" in name for name in kernels.used())
    assert any(name.startswith("part_" if kernel == "tiled" else "strips_") for name in kernels.used())


@pytest.mark.parametrize("ends", [((2, 1),) * 4, ((10, 1), (0, 0), (3, 0), (10, 1))])
@pytest.mark.parametrize("kernel", ["auto", "tiled"])
def test_gaps_at_ends_that_cost_less(use, ends: tuple[tuple[int, int], ...], kernel: str) -> None:
    use(True)
    queries, targets = _texts(5, "ACGT", [30, 90]), _texts(6, "ACGT", [25, 140])
    found = _aligned(_problem(match_mismatch(5, -4), queries, targets, (10, 1), "global", end_gaps=ends, kernel=kernel))
    assert found.spans is not None
    assert [tuple(span) for span in found.spans] == [(0, len(q), 0, len(t)) for q in queries for t in targets]


def test_sequences_with_nothing_in_common(use) -> None:
    use(True)
    found = _aligned(_problem(match_mismatch(5, -4), ["AAAA", ""], ["CCCCC", "GGG", ""], (10, 1), "local"))
    assert not found.score.any()
    found = _aligned(_problem(match_mismatch(5, -4), ["AAAA", ""], ["CCCCC", ""], (10, 1), "local", kernel="tiled"))
    assert not found.score.any()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["local", "semi-global", "global"])
@pytest.mark.parametrize("scores", [(5, -4), (60, -50)])
def test_a_pair_in_parts(use, mode: str, scores: tuple[int, int]) -> None:
    """The higher scores add up to more than a word of 16 bits holds."""
    kernels = use(True)
    rng = random.Random(7)
    middle = "".join(rng.choices("ACGT", k=2300))
    noise = ["".join(rng.choices("ACGT", k=k)) for k in (300, 200, 150, 400)]
    query, target = noise[0] + middle + noise[1], noise[2] + mutate(rng, middle, 0.1, "ACGT") + noise[3]
    gaps = 2 * scores[0], 1
    problem = _problem(match_mismatch(*scores), [query], [target], gaps, mode, kernel="tiled")
    found = _aligned(problem)
    _replayed(problem, found, [query], [target])
    whole = {"local": "part_local_affine", "semi-global": "part_ends_affine", "global": "part_borders_affine"}[mode]
    assert kernels[f"{whole}_nucleotides"].calls == 1
    assert kernels["part_walk"].calls <= 2  # the parts up the diagonal at a time
    align = {"local": parasail.sw_scan_32, "semi-global": parasail.sg_scan_32, "global": parasail.nw_scan_32}[mode]
    assert found.score[0] == align(query, target, *gaps, _matrix(problem.scoring)).score
    with_n = query[:400] + "N" * 40 + query[440:900] + "N" + query[901:]
    _aligned(_problem(match_mismatch(*scores), [with_n], [target.replace("ACG", "ANG")], gaps, mode, kernel="tiled"))
