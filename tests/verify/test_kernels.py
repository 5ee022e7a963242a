"""Distances, ends and starts of pairs on every backend, against edlib and by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.align.edit import tuning
from gpualign.align.edit.cpu import VerifyPairs
from gpualign.align.edit.device.kernel import STAGE, planned, staged
from gpualign.run.cpu import CpuBackend
from tests.helpers.implementations import IMPLEMENTATIONS, on_gpu, open_backend
from tests.helpers.sequences import make_reference
from tests.helpers.verify_cases import (
    LENGTHS,
    LONG_LENGTHS,
    Case,
    as_pairs,
    edlib_answer,
    mutate,
    random_cases,
    random_text,
)

MODES = ("infix", "prefix", "global")


@pytest.fixture(scope="module", params=[*IMPLEMENTATIONS, *on_gpu("windows")])
def backend(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "windows":  # as if the reference were larger than the device
            from gpualign.align.edit.device import kernel

            patch.setattr(kernel, "_RESIDENT_SHARE", 0)
        with open_backend("cuda" if request.param == "windows" else request.param) as opened:
            yield opened


def answers(backend, pairs: VerifyPairs) -> list[tuple[int, int, int]]:
    (result,) = backend.run([pairs], STAGE)
    return list(zip(result.distance.tolist(), result.start.tolist(), result.end.tolist(), strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_random_pairs_agree_with_edlib(backend, mode, seed):
    cases = random_cases(random.Random(seed), 600, LENGTHS)
    for case, answer in zip(cases, answers(backend, as_pairs(cases, mode)), strict=True):
        assert answer == edlib_answer(case, mode), case


@pytest.mark.parametrize("mode", MODES)
def test_long_pairs_agree_with_edlib(backend, mode):
    cases = random_cases(random.Random(9), 80, LONG_LENGTHS)
    for case, answer in zip(cases, answers(backend, as_pairs(cases, mode)), strict=True):
        assert answer == edlib_answer(case, mode), (len(case.query), len(case.text), case.limit, case.reverse)


def test_very_long_pairs_in_strips_and_within_bands(backend):
    rng = random.Random(4)
    cases = []
    for length, rate in ((5000, 0.02), (12000, 0.05), (34000, 0.01)):
        text = random_text(rng, length + 300)
        query = "".join(base for base in text[150 : 150 + length] if rng.random() > rate)
        distance = length - len(query)
        for limit in (distance - 1, distance, distance + 40, len(query)):
            cases.append(Case(query, text, limit % 2 == 0, limit))
    for mode in ("infix", "global"):
        for case, answer in zip(cases, answers(backend, as_pairs(cases, mode)), strict=True):
            assert answer == edlib_answer(case, mode), (len(case.query), case.limit)


@pytest.mark.parametrize("seed", range(2))
def test_small_limits_in_narrow_windows(backend, seed):
    """Windows little longer than their query: what the band kernels take, to their last row."""
    rng = random.Random(seed)
    cases = []
    for i in range(600):
        length = rng.choice((10, 17, 33, 64, 65, 100, 150, 250, 300, 500))
        words = rng.choice((1, 2, 4))
        limit = rng.randint(0, min(length - 1, 16 * words - 8))
        text = random_text(rng, length + rng.randint(0, 32 * words - 16 - 2 * limit))
        at = rng.randrange(len(text) - length + 1)
        query = mutate(rng, text[at : at + length], rng.choice((0, 0.02, 0.05, 0.1)))
        query = (query + random_text(rng, length))[:length] if rng.random() < 0.85 else random_text(rng, length)
        if i % 11 == 0:
            query = query[:3] + "N" + query[4:]
        cases.append(Case(query, text, rng.random() < 0.5, limit))
    for case, answer in zip(cases, answers(backend, as_pairs(cases, "infix")), strict=True):
        assert answer == edlib_answer(case, "infix"), case


def test_the_limit_is_inclusive(backend):
    rng = random.Random(2)
    text = random_text(rng, 200)
    query = text[50:150]
    query = query[:30] + ("A" if query[30] != "A" else "C") + query[31:60] + query[61:]
    cases = [Case(query, text, False, limit) for limit in (0, 1, 2, 3)]
    assert answers(backend, as_pairs(cases, "infix")) == [(-1, 0, 0), (-1, 0, 0), (2, 50, 150), (2, 50, 150)]


@pytest.mark.parametrize(
    ("query", "text", "mode", "expected"),
    [
        ("ACGT", "TTACGTTTACGT", "infix", (0, 2, 6)),  # the first of two
        ("ACGT", "", "infix", (4, 0, 0)),
        ("ACGT", "", "global", (4, 0, 0)),
        ("", "ACGT", "infix", (0, 0, 0)),
        ("", "ACGT", "prefix", (0, 0, 0)),
        ("", "ACGT", "global", (4, 0, 4)),
        ("", "", "global", (0, 0, 0)),
        ("AAAA", "CCCCCCCC", "infix", (4, 0, 0)),
        ("N", "N", "global", (1, 0, 1)),  # N matches nothing, not even itself
        ("ANA", "AAA", "infix", (1, 0, 2)),
        ("AAA", "ANA", "global", (1, 0, 3)),
        ("AC", "GAACG", "infix", (0, 2, 4)),
        ("CAAC", "CAC", "infix", (1, 0, 3)),
    ],
)
def test_by_hand(backend, query, text, mode, expected):
    for reverse in (False, True):
        assert answers(backend, as_pairs([Case(query, text, reverse, 10)], mode)) == [expected]


def test_many_candidates_of_few_queries(backend):
    """Windows of one reference in any order, queries repeated, mixed lengths: as each pair alone."""
    rng = random.Random(7)
    text = random_text(rng, 3000) + "N" * 40 + random_text(rng, 1000)
    queries = [text[at : at + rng.choice((20, 100, 150, 700))] for at in (0, 500, 2900, 2990, 3040, 3100)]
    cases = []
    for _ in range(200):
        begin = rng.randrange(len(text))
        end = min(len(text), begin + rng.choice((0, 1, 50, 160, 800)))
        cases.append((rng.randrange(len(queries)), begin, end, rng.randrange(2)))
    base = as_pairs([Case("A", text, False, 0)], "infix")
    from gpualign.sequences.batch import join_bytes

    bases, offsets = join_bytes([query.encode() for query in queries])
    columns = [np.array(column) for column in zip(*cases, strict=True)]
    pairs = VerifyPairs(
        base.reference,
        bases,
        offsets,
        np.array([len(query) // 2 for query in queries], np.int32),
        columns[0].astype(np.int32),
        columns[1].astype(np.uint32),
        columns[2].astype(np.uint32),
        columns[3].astype(np.uint8),
        0,
    )
    from tests.helpers.verify_cases import reverse_complement

    for (query, begin, end, strand), answer in zip(cases, answers(backend, pairs), strict=True):
        pattern = reverse_complement(queries[query]) if strand else queries[query]
        case = Case(pattern, text[begin:end], False, len(pattern) // 2)
        if end > begin:
            assert answer == edlib_answer(case, "infix")
        else:
            assert answer[0] == -1


@pytest.mark.usefixtures("level")
@settings(max_examples=150, deadline=None)
@given(
    query=st.text("ACGTN", min_size=1, max_size=90),
    text=st.text("ACGTN", min_size=1, max_size=120),
    mode=st.sampled_from(MODES),
    limit=st.integers(0, 100),
)
def test_any_pair_on_the_cpu(query, text, mode, limit):
    case = Case(query, text, False, limit)
    with CpuBackend(1) as cpu:
        assert answers(cpu, as_pairs([case], mode)) == [edlib_answer(case, mode)]


def test_bad_arrays_are_refused():
    pairs = as_pairs([Case("ACGT", "ACGT", False, 1)], "infix")
    object.__setattr__(pairs, "end", pairs.end + 1)
    with CpuBackend(1) as cpu, pytest.raises(ValueError, match="outside"):
        answers(cpu, pairs)


# -- the device's plan


def test_every_length_has_a_shape_that_holds_it():
    for length in [*range(1, 1200, 7), 2000, 5000, 10_000, 33_000, 100_000]:
        shape = tuning.verify_shape(length)
        assert shape.lanes > 1 or shape.rows >= length
        assert -length % shape.rows < length + 64
    assert tuning.verify_shape(100) == tuning.VerifyShape(1, 4)
    assert tuning.verify_shape(150) == tuning.VerifyShape(1, 5)
    assert tuning.verify_shape(10_000).lanes > 1


def test_a_plan_covers_every_pair_once():
    from gpualign.align.edit.device.plan import plan

    cases = [*random_cases(random.Random(1), 300, LENGTHS + LONG_LENGTHS), Case("", "ACGT", False, 1)]
    pairs = as_pairs(cases, "infix")
    made = plan(pairs)
    assert sorted(made.order.tolist()) == list(range(300))
    assert sum(group.count for group in made.groups) == 300
    at = 0
    for group in made.groups:
        assert group.first == at
        at += group.count
        for pair in made.order[group.first : group.first + group.count]:
            case = cases[pair]
            assert group.runs == ("N" in case.text)
            assert group.shape == tuning.verify_shape(len(case.query))
            assert group.longest >= len(case.text)
        assert group.shared_bytes <= 96 << 10
        if group.band:
            members = [cases[pair] for pair in made.order[group.first : group.first + group.count]]
            assert max(len(c.text) - len(c.query) + 2 * c.limit + 16 for c in members) <= 32 * group.band
            assert not group.runs
    assert any(group.band for group in made.groups)
    # what goes to the device as one array
    assert all(at % 256 == 0 for at in made.at.values())

    def stored(name, kind, count=made.queries):
        return np.frombuffer(made.query_arrays, kind, count, made.at[name])

    assert made.queries == len(pairs.limits)
    assert np.array_equal(stored("limits", np.int32), pairs.limits)
    assert np.array_equal(stored("offsets", np.int64, made.queries + 1), pairs.offsets)
    assert np.array_equal(stored("lengths", np.int32), np.diff(pairs.offsets))
    # planes of different queries do not overlap
    words = 6 * stored("tile_words", np.int32).astype(np.int64) * stored("tiles", np.int32)
    assert (np.diff(stored("plane_offsets", np.uint32).astype(np.int64)) == words[:-1]).all()
    assert sum(words) == made.plane_words
    # a query has at most one band, and its profiles come after those of the queries before it
    bands = [name for name in made.at if name.startswith("band ")]
    has_band = sum(stored(name, np.uint8) for name in bands)
    assert set(has_band.tolist()) == {0, 1}
    starts = stored("band_offsets", np.uint32).astype(np.int64)
    assert ((np.diff(starts, append=made.band_words) > 0) == has_band).all()


def test_what_a_device_reads_of_a_batch_is_copied_to_pinned_memory():
    pairs = planned(as_pairs(random_cases(random.Random(2), 50, LENGTHS), "infix"))
    pool = np.zeros(1 << 20, np.uint8)
    taken = []

    def allocate(size):
        at = -(-sum(taken) // 64) * 64
        taken.append(at + size - sum(taken))
        return pool[at : at + size]

    copy = staged(pairs, allocate)
    both = ((copy.bases, pairs.bases), (copy.plan.tasks, pairs.plan.tasks))
    for copied, array in (*both, (copy.plan.query_arrays, pairs.plan.query_arrays)):
        assert np.shares_memory(copied, pool)
        assert np.array_equal(copied, array)
    assert copy.plan.queries == 50


@pytest.mark.parametrize(("mode", "passes"), [("infix", {"infix", "starts"}), ("prefix", {"anchored"})])
def test_a_plan_names_the_modules_that_its_launches_take(mode, passes):
    """One for the planes, and for each group of pairs a pass or two; the narrow band takes the place of the first."""
    from gpualign.align.edit.device.kernel import modules
    from gpualign.align.edit.device.plan import plan

    rng = random.Random(5)
    texts = [random_text(rng, length) for length in (100, 150, 150)]
    cases = [Case(text, "AC" + text + "GT", False, limit) for text, limit in zip(texts, (100, 150, 3), strict=True)]
    made = plan(as_pairs(cases, mode))
    wide = [tuning.verify_shape(length).defines(each) for length in (100, 150) for each in passes]
    expected = [("verify_planes", {}), *(("verify", macros) for macros in wide)]
    if mode == "infix":  # three errors in 150 bases: the window has one word
        expected.append(("verify_band", {"WORDS": "1"}))
    found = modules(made, MODES.index(mode))
    assert sorted({repr(each) for each in found}) == sorted(map(repr, expected))


def test_windows_of_a_reference_too_large_for_the_device():
    from gpualign.align.edit.device.kernel import window_text

    rng = random.Random(3)
    text = random_text(rng, 700) + "N" * 50 + random_text(rng, 300)
    reference = make_reference(text)
    begin = [0, 31, 32, 33, 640, 690, len(text) - 65, len(text) - 1, 5, 5]
    columns = [1, 64, 65, 31, 200, 100, 65, 1, 900, 900]
    tasks = np.array([begin, columns, range(10), range(10)], np.uint32).T.copy()
    words, known, moved = window_text(reference, reference.acgt_mask(), tasks)
    assert len(words) == 2 * len(known) < 300
    assert (moved[:, 1:] == tasks[:, 1:]).all()
    for start, at, length in zip(begin, moved[:, 0].tolist(), columns, strict=True):
        changed = "".join(
            "ACGT"[words[i // 16] >> (2 * (i % 16)) & 3] if known[i // 32] >> (i % 32) & 1 else "N"
            for i in range(at, at + length)
        )
        assert changed == text[start : start + length]


def test_launches_are_bounded(monkeypatch):
    from gpualign.align.edit.device.plan import plan

    monkeypatch.setattr(tuning, "VERIFY_LAUNCH_CELLS", 5e4)
    cases = [Case("ACGT" * 25, "ACGT" * 30, False, 3)] * 50
    groups = plan(as_pairs(cases, "infix")).groups
    assert [group.count for group in groups] == [4] * 12 + [2]
