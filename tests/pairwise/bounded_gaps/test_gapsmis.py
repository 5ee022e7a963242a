"""Bounded-gap alignment against full enumeration and the paper's recurrence, on every backend."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.align.gaps import cpu
from gpualign.align.gaps.cpu import NO_SCORE, Ends, GapAlignments, GapModel, GapProblem
from gpualign.align.score.matrices import load_matrix
from gpualign.run.gpu.buffers import slots_of
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import match_mismatch
from gpualign.sequences.pairs import PairBlock
from gpualign.text.chunks import read_batches
from tests.helpers.paths import GENOMES
from tests.reference.gapsmis import enumerate_all, recurrence, recurrence_of_many, score_of_columns

pytestmark = pytest.mark.usefixtures("level")

ENDS = {Ends.TEXT_END: "text-end", Ends.BOTH: "both", Ends.NONE: "none"}
#: match, mismatch, open, extend; the last three have extend > open, where cutting a gap in two would pay
SCORINGS = [(5, -4, 10, 1), (2, -3, 5, 2), (1, -1, 1, 1), (3, -5, 1, 0), (1, -3, 0, 0), (1, -2, 1, 3), (2, -9, 0, 1)]


@dataclass(frozen=True)
class Pairs:
    """Pairs of sequences, whatever they are aligned by."""

    patterns: EncodedSequences
    texts: EncodedSequences
    block: PairBlock

    def problem(self, model: GapModel) -> GapProblem:
        return GapProblem(self.patterns, self.texts, model)


@dataclass(frozen=True)
class Case:
    """Pairs (pattern, text) under one scoring."""

    pairs: list[tuple[str, str]]
    scores: tuple[int, int, int, int]
    gaps: int
    ends: Ends

    def score(self, a: str, b: str) -> int:
        return self.scores[0] if a == b and a in "ACGT" else self.scores[1]

    def model(self, traceback: bool = True) -> GapModel:
        match, mismatch, open_, extend = self.scores
        table = match_mismatch(match, mismatch).scores.astype(np.int16).reshape(-1)
        return GapModel(table, 5, self.gaps, open_, extend, self.ends, traceback)

    def block(self) -> Pairs:
        return block_of(self.pairs)


def encoded(sequences: list[str], alphabet: str = "ACGTN") -> EncodedSequences:
    offsets = np.cumsum([0, *(len(sequence) for sequence in sequences)]).astype(np.int64)
    codes = np.array([alphabet.index(symbol) for sequence in sequences for symbol in sequence], np.uint8)
    return EncodedSequences([str(i) for i in range(len(sequences))], codes, offsets)


def block_of(pairs: list[tuple[str, str]], alphabet: str = "ACGTN") -> Pairs:
    ids = np.arange(len(pairs), dtype=np.int32)
    sides = (encoded([pair[side] for pair in pairs], alphabet) for side in (0, 1))
    return Pairs(*sides, PairBlock(ids, ids))


def align_on_cpu(pairs: Pairs, model: GapModel) -> GapAlignments:
    return cpu.align_on_cpu(pairs.problem(model), pairs.block)


def on_gpu(pairs: Pairs, model: GapModel, packed: bool = True, **numbers: int) -> GapAlignments:
    from gpualign.align.gaps.device import GapsmisKernel, make_kernel
    from gpualign.run.gpu.device import Device, list_devices

    with Device(list_devices()[0]) as device:

        def run() -> GapAlignments:
            kernel = make_kernel(device, pairs.problem(model))
            if isinstance(kernel, GapsmisKernel):
                kernel.numbers = replace(kernel.numbers, **numbers)
                kernel.packed = packed
            slot = slots_of(device, 1)[0]
            kernel.submit(slot, pairs.block)
            slot.wait()
            return kernel.collect(slot, pairs.block)

        return device.call(run).result()


def by_threads(pairs: Pairs, model: GapModel) -> GapAlignments:
    return on_gpu(pairs, model, thread_pairs=0)


def by_wide_threads(pairs: Pairs, model: GapModel) -> GapAlignments:
    return on_gpu(pairs, model, packed=False, thread_pairs=0)


def by_warps(pairs: Pairs, model: GapModel) -> GapAlignments:
    return on_gpu(pairs, model, thread_pairs=1 << 30)


BACKENDS = [
    pytest.param(align_on_cpu, id="cpu"),
    pytest.param(by_threads, id="gpu-threads", marks=pytest.mark.gpu),
    pytest.param(by_wide_threads, id="gpu-wide-threads", marks=pytest.mark.gpu),
    pytest.param(by_warps, id="gpu-warps", marks=pytest.mark.gpu),
]


def columns_of(pattern: str, start: int, end: int, gaps: np.ndarray) -> str:
    """An alignment as columns, rebuilt from its gaps; checks that they fit together."""
    columns, i, j = "", 0, start
    for before_pattern, before_text, length in gaps.tolist():
        assert length != 0
        assert before_pattern - i == before_text - j >= 0
        columns += "M" * (before_pattern - i) + ("I" * length if length > 0 else "D" * -length)
        i, j = before_pattern + max(length, 0), before_text + max(-length, 0)
    assert len(pattern) - i == end - j >= 0
    return columns + "M" * (end - j)


def check(case: Case, answer: GapAlignments, oracle, scores: GapAlignments | None = None) -> None:
    for k, (pattern, text) in enumerate(case.pairs):
        expected = oracle(pattern, text, case.gaps, case.score, case.scores[2], case.scores[3], ENDS[case.ends])
        if expected is None:
            assert (answer.score[k], answer.gaps[k], answer.end[k]) == (NO_SCORE, -1, -1), (case, k)
            continue
        assert (answer.score[k], answer.gaps[k], answer.end[k]) == expected, (case, k)
        count, start, end = int(answer.gaps[k]), int(answer.start[k]), int(answer.end[k])
        assert answer.gap_list is not None
        assert start == 0 or case.ends == Ends.BOTH
        columns = columns_of(pattern, start, end, answer.gap_list[k, :count])
        replayed = score_of_columns(columns, pattern, text[start:end], case.score, case.scores[2], case.scores[3])
        assert replayed == (expected[0], count), (case, k)
    if scores is not None:
        for field in ("score", "gaps", "end"):
            assert np.array_equal(getattr(scores, field), getattr(answer, field)), field


def random_case(rng: random.Random, longest: int, pairs: int, alphabet: str = "ACG") -> Case:
    def sequence(maximum: int) -> str:
        return "".join(rng.choice(alphabet) for _ in range(rng.randrange(maximum + 1)))

    return Case(
        [(sequence(longest), sequence(longest + 1)) for _ in range(pairs)],
        rng.choice(SCORINGS),
        rng.randrange(5),
        rng.choice(list(Ends)),
    )


def related(rng: random.Random, m: int, n: int) -> tuple[str, str]:
    """A text and a pattern that is its mutated prefix with a few gaps."""
    text = "".join(rng.choice("ACGT") for _ in range(n))
    pattern = list(text[: m + 10])
    for _ in range(rng.randrange(4)):
        at, length = rng.randrange(max(1, len(pattern))), rng.randrange(1, 12)
        if rng.random() < 0.5:
            del pattern[at : at + length]
        else:
            pattern[at:at] = rng.choices("ACGT", k=length)
    return "".join(rng.choice("ACGTN") if rng.random() < 0.04 else symbol for symbol in pattern[:m]), text


def test_the_two_references_agree():
    rng = random.Random(5)
    for _ in range(60):
        case = random_case(rng, 4, 1)
        (pattern, text), ends = case.pairs[0], ENDS[case.ends]
        arguments = (pattern, text, case.gaps, case.score, *case.scores[2:], ends)
        assert enumerate_all(*arguments) == recurrence(*arguments), case


@pytest.mark.parametrize("align", BACKENDS)
def test_tiny_pairs_against_every_alignment(align):
    rng = random.Random(11)
    for _ in range(30):
        case = random_case(rng, 5, 12, rng.choice(["AC", "ACG"]))
        check(case, align(case.block(), case.model()), enumerate_all, align(case.block(), case.model(False)))


@pytest.mark.parametrize("gaps", range(5))
@pytest.mark.parametrize("align", BACKENDS)
def test_related_pairs_against_the_recurrence(align, gaps):
    """Pairs of unequal lengths in one batch, word borders and strip borders included."""
    rng = random.Random(gaps)
    lengths = [(31, 33), (32, 32), (33, 31), (16, 17), (17, 15), (64, 70), (1, 1), (0, 9), (9, 0), (48, 66)]
    for scores in rng.sample(SCORINGS, 3):
        pairs = [related(rng, *each) for each in lengths]
        case = Case(pairs, scores, gaps, rng.choice(list(Ends)))
        check(case, align(case.block(), case.model()), recurrence, align(case.block(), case.model(False)))


@settings(max_examples=60, deadline=None)
@given(
    pattern=st.text("ACGN", max_size=9),
    text=st.text("ACGN", max_size=9),
    scores=st.sampled_from(SCORINGS),
    gaps=st.integers(0, 6),
    ends=st.sampled_from(list(Ends)),
)
def test_any_pair(pattern, text, scores, gaps, ends):
    case = Case([(pattern, text)], scores, gaps, ends)
    check(case, align_on_cpu(case.block(), case.model()), recurrence)


@pytest.mark.parametrize("align", BACKENDS)
def test_known_answers(align):
    """By hand: a text with three symbols more in the middle; the same from the pattern's side; no gap allowed."""
    half = "ACGTTGCA"
    pairs = [
        (half + half, half + "GGG" + half),
        (half + "GGG" + half, half + half),
        ("ACGT", "ACG"),
        ("", ""),
        ("", "A"),
    ]
    case = Case(pairs, (5, -4, 10, 1), 1, Ends.TEXT_END)
    answer = align(case.block(), case.model())
    assert answer.score.tolist() == [16 * 5 - 12, 16 * 5 - 12, 15 - 10, 0, 0]
    assert answer.gaps.tolist() == [1, 1, 1, 0, 0]
    assert answer.end.tolist() == [19, 16, 3, 0, 0]
    assert answer.gap_list is not None
    assert answer.gap_list[:3, 0].tolist() == [[8, 8, -3], [8, 8, 3], [3, 3, 1]]
    without = align(case.block(), replace(case.model(), max_gaps=0))
    assert without.score[2] == NO_SCORE


@pytest.mark.parametrize("align", BACKENDS)
def test_more_gaps_never_score_less(align):
    rng = random.Random(3)
    block = block_of([related(rng, 60, 70) for _ in range(30)])
    case = Case([], (2, -3, 5, 2), 0, Ends.TEXT_END)
    scores = [align(block, replace(case.model(False), max_gaps=k)).score for k in range(6)]
    for fewer, more in itertools.pairwise(scores):
        assert (more >= fewer).all()


@pytest.mark.parametrize("align", BACKENDS)
def test_many_gaps_are_affine_alignment(align):
    parasail = pytest.importorskip("parasail")
    rng = random.Random(8)
    matrix = parasail.matrix_create("ACGT", 2, -3)
    pairs = [tuple(s.replace("N", "A") for s in related(rng, 50, 60)) for _ in range(40)]
    case = Case(pairs, (2, -3, 5, 2), 30, Ends.TEXT_END)
    free_end = align(case.block(), case.model(False)).score
    whole = align(case.block(), replace(case.model(False), ends=Ends.NONE)).score
    for k, (pattern, text) in enumerate(pairs):
        assert free_end[k] == parasail.sg_de_scan_32(pattern, text, 5, 2, matrix).score
        assert whole[k] == parasail.nw_scan_32(pattern, text, 5, 2, matrix).score


def windows(rng: np.random.Generator, pairs: int, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of patterns (pairs, m) and texts (pairs, n): half random, half from real genomes; mutated, with gaps."""
    batch = next(read_batches(str(GENOMES)))
    genome = match_mismatch(1, 0).codes[batch.bases]
    texts = rng.integers(0, 4, (pairs, n)).astype(np.uint8)
    for k, at in enumerate(rng.integers(0, len(genome) - n, pairs // 2)):
        texts[k] = genome[at : at + n]
    patterns = np.empty((pairs, m), np.uint8)
    for k in range(pairs):
        source = np.concatenate([texts[k], rng.integers(0, 4, m).astype(np.uint8)])
        for _ in range(rng.integers(0, 4)):
            at, length = rng.integers(0, m), rng.integers(1, 6)
            extra = rng.integers(0, 4, length).astype(np.uint8)
            cut = rng.random() < 0.5
            source = np.delete(source, slice(at, at + length)) if cut else np.insert(source, at, extra)
        patterns[k] = source[:m]
        changed = rng.random(m) < 0.05
        patterns[k, changed] = rng.integers(0, 4, int(changed.sum()))
    return patterns, texts


@pytest.mark.parametrize("ends", list(Ends))
@pytest.mark.parametrize("align", BACKENDS)
def test_thousands_of_pairs_against_the_recurrence(align, ends):
    """2,000 random and real pairs for K = 0 to 4, with and without traceback."""
    pairs, m, n = 2000, 24, 29
    patterns, texts = windows(np.random.default_rng(int(ends)), pairs, m, n)
    match, mismatch, open_, extend = SCORINGS[int(ends)]
    equal = (patterns[:, :, None] == texts[:, None, :]) & (patterns < 4)[:, :, None]
    expected = recurrence_of_many(np.where(equal, match, mismatch).astype(float), 4, open_, extend, ENDS[ends])
    ids = np.arange(pairs, dtype=np.int32)
    sides = [
        EncodedSequences([], codes.reshape(-1), np.arange(pairs + 1, dtype=np.int64) * codes.shape[1])
        for codes in (patterns, texts)
    ]
    block = Pairs(*sides, PairBlock(ids, ids))
    for gaps in range(5):
        for traceback in (False, True):
            answer = align(block, Case([], SCORINGS[int(ends)], gaps, ends).model(traceback))
            possible = np.isfinite(expected[gaps, :, 0])
            assert np.array_equal(answer.score != NO_SCORE, possible)
            for column, field in enumerate(("score", "gaps", "end")):
                assert np.array_equal(getattr(answer, field)[possible], expected[gaps, possible, column]), field


@pytest.mark.parametrize("align", BACKENDS)
@pytest.mark.parametrize("name", ["BLOSUM62", "NUC.4.4"])
def test_matrices_against_the_recurrence(align, name):
    scoring = load_matrix(name)
    rng = random.Random(2)
    table = np.ascontiguousarray(scoring.scores.astype(np.int16).reshape(-1))
    texts = ["".join(rng.choice(scoring.symbols) for _ in range(30)) for _ in range(3)]
    patterns = [text[4:20] + text[23:] for text in texts] + ["".join(rng.choices(scoring.symbols, k=20))]
    sides = (encoded(sequences, scoring.symbols) for sequences in (patterns, texts))
    everything = Pairs(
        *sides, PairBlock(np.repeat(np.arange(4, dtype=np.int32), 3), np.tile(np.arange(3, dtype=np.int32), 4))
    )
    answer = align(everything, GapModel(table, len(scoring), 2, 11, 1, Ends.BOTH))

    def score(a: str, b: str) -> int:
        return int(scoring.scores[scoring.symbols.index(a), scoring.symbols.index(b)])

    for k in range(12):
        expected = recurrence(patterns[k // 3], texts[k % 3], 2, score, 11, 1, "both")
        assert (answer.score[k], answer.gaps[k], answer.end[k]) == expected


@pytest.mark.parametrize("align", BACKENDS)
def test_scores_beyond_sixteen_bits(align):
    """Equal sequences whose score lies at and beyond the border of 16 bits."""
    rng = random.Random(1)
    for match in (160, 163, 164, 170, 10_000):
        text = "".join(rng.choice("ACGT") for _ in range(200))
        case = Case([(text, text)] * 3, (match, -match, 3 * match, match // 2), 2, Ends.TEXT_END)
        assert align(case.block(), case.model()).score.tolist() == [200 * match] * 3


@pytest.mark.gpu
@pytest.mark.parametrize("traceback", [False, True])
def test_backends_agree(traceback):
    rng = random.Random(21)
    for gaps, scores, ends in [(0, 0, 1), (1, 0, 0), (2, 0, 0), (2, 5, 1), (3, 1, 2), (4, 2, 0), (8, 0, 1), (5, 6, 2)]:
        pairs = [related(rng, rng.randrange(0, 260), rng.randrange(0, 300)) for _ in range(300)]
        case = Case(pairs, SCORINGS[scores], gaps, Ends(ends))
        expected = align_on_cpu(case.block(), case.model(traceback))
        for align in (by_threads, by_wide_threads, by_warps):
            answer = align(case.block(), case.model(traceback))
            for field in ("score", "gaps", "start", "end"):
                assert np.array_equal(getattr(answer, field), getattr(expected, field)), (gaps, scores, ends, field)
            if traceback:
                assert np.array_equal(answer.gap_list, expected.gap_list)


@pytest.mark.gpu
def test_bands_and_checkpoints_on_the_gpu(monkeypatch):
    """So little memory that directions are kept for a band of rows at a time."""
    from gpualign.align.gaps import device as device_side

    rng = random.Random(4)
    case = Case([related(rng, 1500, 1600) for _ in range(3)], (5, -4, 10, 1), 2, Ends.TEXT_END)
    expected = align_on_cpu(case.block(), case.model())
    whole = device_side.workspace
    bands = []

    def little(plan, model, warps, budget):
        bands.append(whole(plan, model, warps, 120 << 20 if plan.lanes == 1 else 4 << 20))
        return bands[-1]

    monkeypatch.setattr(device_side, "workspace", little)
    for align in (by_threads, by_warps):
        answer = align(case.block(), case.model())
        for field in ("score", "gaps", "start", "end", "gap_list"):
            assert np.array_equal(getattr(answer, field), getattr(expected, field)), field
    assert all(space.band < 1500 for space in bands)


def test_long_pair_in_bands():
    """Above the memory for whole directions the CPU computes bands again from checkpoints."""
    rng = random.Random(6)
    pattern, text = related(rng, 1400, 1500)
    case = Case([(pattern, text)] * 17, (5, -4, 10, 1), 3, Ends.TEXT_END)
    answer = align_on_cpu(case.block(), case.model())
    assert answer.gap_list is not None
    count, end = int(answer.gaps[16]), int(answer.end[16])
    columns = columns_of(pattern, 0, end, answer.gap_list[16, :count])
    assert score_of_columns(columns, pattern, text[:end], case.score, 10, 1) == (answer.score[16], count)
    assert np.array_equal(answer.gap_list[0], answer.gap_list[16])


def test_pair_beyond_the_memory_of_vectors():
    """One pair at a time, in bands: a text of 8,300 symbols with 60 cut out here and 40 put in there."""
    rng = random.Random(7)
    text = "".join(rng.choice("ACGT") for _ in range(8300))
    insert = "".join(rng.choice("ACGT") for _ in range(40))
    pattern = text[:2000] + text[2060:5000] + insert + text[5000:8200]
    case = Case([(pattern, text)], (5, -4, 10, 1), 2, Ends.TEXT_END)
    answer = align_on_cpu(case.block(), case.model())
    assert answer.score[0] == 5 * (8200 - 60) - (10 + 59) - (10 + 39)
    assert answer.end[0] == 8200
    assert answer.gap_list is not None
    columns = columns_of(pattern, 0, 8200, answer.gap_list[0])
    assert score_of_columns(columns, pattern, text[:8200], case.score, 10, 1) == (answer.score[0], 2)
