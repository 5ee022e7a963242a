"""What an identity proves beforehand: no pair that reaches it is ever dropped, and no band cuts an optimal path."""

from __future__ import annotations

import random
from pathlib import Path

import edlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign import _native
from gpualign.align import pair_tasks
from gpualign.align.score.device import tasks
from gpualign.align.score.matrices import load_matrix
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.identity import IdentityBound, band_of, score_from_edits
from gpualign.sequences.matrices import match_mismatch, with_matching_codes
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.pairwise_cases import align, run
from tests.helpers.sequences import IUPAC, mutate

pytestmark = pytest.mark.usefixtures("level")


def one(values: int) -> np.ndarray:
    return np.array([values], np.int64)


def distances(queries: list[str], targets: list[str], limits: list[int]) -> list[int]:
    scoring = match_mismatch(5, -4)
    a = encode([SequenceBatch.from_records([(str(i), s) for i, s in enumerate(queries)])], scoring)
    b = encode([SequenceBatch.from_records([(str(i), s) for i, s in enumerate(targets)])], scoring)
    each = np.arange(len(queries), dtype=np.int32)
    found = _native.edit_distances(
        a.codes, a.offsets, b.codes, b.offsets, each, each, np.array(limits, np.int32), scoring.identical
    )
    return list(found)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.text("ACG", max_size=90), st.text("ACG", max_size=90), st.integers(0, 254)),
        min_size=1,
        max_size=12,
    )
)
def test_distances_within_a_limit_are_edlibs(rows) -> None:
    found = distances([a for a, _, _ in rows], [b for _, b, _ in rows], [limit for _, _, limit in rows])
    for (a, b, limit), distance in zip(rows, found, strict=True):
        true = edlib.align(a, b)["editDistance"] if a and b else len(a) + len(b)
        assert distance == (true if true <= limit else -1)


def test_codes_match_where_they_have_a_base_in_common() -> None:
    """Distances of edlib with pairs of codes that it is told to take for equal."""
    equal = [(a, b) for a in IUPAC for b in IUPAC if a != b and set(IUPAC[a]) & set(IUPAC[b])]
    rng, scoring = random.Random(4), with_matching_codes(match_mismatch(2, -4))
    base = "".join(rng.choices("ACGT", k=200))
    texts = [
        "".join(rng.choice(list(IUPAC)) if rng.random() < 0.2 else c for c in mutate(rng, base, 0.2)) for _ in range(40)
    ]
    a, b = (encode([SequenceBatch.from_records([(s, s) for s in some])], scoring) for some in (texts[:20], texts[20:]))
    each = np.arange(20, dtype=np.int32)
    found = _native.edit_distances(
        a.codes, a.offsets, b.codes, b.offsets, each, each, np.full(20, 300, np.int32), *scoring.matching
    )
    true = [
        edlib.align(x, y, additionalEqualities=equal)["editDistance"]
        for x, y in zip(texts[:20], texts[20:], strict=True)
    ]
    assert found.tolist() == true
    exact = [edlib.align(x, y)["editDistance"] for x, y in zip(texts[:20], texts[20:], strict=True)]
    assert sum(true) < 0.9 * sum(exact)


@pytest.mark.parametrize("limit_step", [-1, 0, 1])
@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 129, 400, 700, 1300])
def test_distances_at_the_limit(length: int, limit_step: int) -> None:
    rng = random.Random(length)
    base = "".join(rng.choices("ACGT", k=length))
    targets = [mutate(rng, base, rate) or "A" for rate in (0, 0.01, 0.1, 0.3, 0.5, 0.7, 1.0)] + [
        "".join(rng.choices("AC", k=50))
    ]
    true = [edlib.align(base, target)["editDistance"] for target in targets]
    limits = [min(max(distance + limit_step, 0), 1022) for distance in true]
    expected = [distance if distance <= limit else -1 for distance, limit in zip(true, limits, strict=True)]
    assert distances([base] * len(targets), targets, limits) == expected


@settings(max_examples=200, deadline=None)
@given(
    a=st.text("ACGN", min_size=1, max_size=40),
    edits=st.integers(0, 2**32),
    rate=st.sampled_from([0.05, 0.2, 0.6]),
    identity=st.sampled_from([0.3, 0.5, 0.8, 0.9, 0.97, 1.0]),
    definition=st.sampled_from([0, 1, 4]),
    scores=st.sampled_from([(5, -4), (1, -1), (2, -9), (3, 1), (0, -5)]),
    penalties=st.sampled_from([(10, 1), (4, 4), (0, 0), (20, 0), (1, 1)]),
)
def test_nothing_that_reaches_the_identity_is_dropped(a, edits, rate, identity, definition, scores, penalties) -> None:
    b = mutate(random.Random(edits), a, rate) or "A"
    scoring = match_mismatch(*scores)
    score, _, counts, _, _ = align(scoring, [a], [b], *penalties)
    matches, mismatches, _, gaps = counts.tolist()
    below = min(len(a), len(b)) if definition == 0 else matches + mismatches + gaps
    bound = IdentityBound(identity, definition)
    n, m = one(len(a)), one(len(b))
    if matches / below >= identity - 1e-9:
        distance = edlib.align(a.replace("N", "Y"), b.replace("N", "Z"))["editDistance"]
        assert distance <= bound.max_edits(n, m)[0]
        assert score[0] >= bound.min_score(n, m, scoring, penalties[0])[0]


def test_paper_bound_is_the_special_case() -> None:
    # equal lengths, linear gaps, mismatches as dear as two gap symbols: L = m id match + 2 m gap (1 - id)
    scoring = match_mismatch(5, -20)
    bound = IdentityBound(0.9, 1)
    minimum = bound.min_score(one(1000), one(1000), scoring, 10)[0]
    assert minimum == pytest.approx(1000 * 0.9 * 5 - 2 * 1000 * 10 * 0.1, abs=2)


@settings(max_examples=150, deadline=None)
@given(
    a=st.text("ACG", min_size=1, max_size=30),
    seed=st.integers(0, 2**32),
    rate=st.sampled_from([0.1, 0.4, 1.0]),
    scores=st.sampled_from([(5, -4), (1, -1), (2, -9), (5, 0)]),
    penalties=st.sampled_from([(10, 1), (4, 4), (1, 0), (20, 2), (1, 1)]),
)
def test_bands_hold_every_optimal_path(a, seed, rate, scores, penalties) -> None:
    b = mutate(random.Random(seed), a, rate) or "C"
    scoring = match_mismatch(*scores)
    score, _, counts, cigar, _ = align(scoring, [a], [b], *penalties)
    n, m = one(len(a)), one(len(b))
    distance = one(edlib.align(a, b)["editDistance"])
    minimum = score_from_edits(distance, n, m, scoring, penalties[0])
    assert minimum[0] <= score[0]
    encoded = [encode([SequenceBatch.from_records([("x", s)])], scoring) for s in (a, b)]
    zero = np.zeros(1, np.int32)
    for known in (minimum, score.astype(np.int64)):
        low, high = band_of(known, n, m, scoring, *penalties)
        banded = _native.align_pairs(
            encoded[0].codes, encoded[0].offsets, encoded[1].codes, encoded[1].offsets, zero, zero,
            band_low=low, band_high=high, scores=scoring.scores.ravel(), symbols=len(scoring),
            identical=scoring.identical, match_mismatch=True, open=penalties[0], extend=penalties[1], local=False,
            free_ends=0, end_gaps=np.array(penalties * 4, np.int32), traced=True, table_bytes=1 << 24,
        )  # fmt: skip
        assert banded[0][0] == score[0]
        assert banded[2].tolist() == counts.tolist()
        assert banded[3].tolist() == cigar.tolist()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--gap", "6"],
        ["--matrix", "NUC.4.4"],
        ["--iddef", "0"],
        ["--iddef", "3"],
        ["--gapopen", "2E", "--gapext", "1I/0E"],
        ["--gap", "6I/1L/0R", "--iddef", "0"],
    ],
)
def test_filtered_output_is_the_filtered_whole(tmp_path: Path, options: list[str]) -> None:
    rng = random.Random(4)
    sequences = [mutate(rng, "".join(rng.choices("ACGT", k=120)), 0.1) for _ in range(4)]
    sequences += [mutate(rng, sequences[i % 4], 0.3 * rng.random()) for i in range(40)]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    run([fasta, *options, "-o", str(tmp_path / "all")])
    for identity in (0.97, 0.9, 0.75):
        run([fasta, *options, "--id", str(identity), "-o", str(tmp_path / "some")])
        kept = [row for row in rows_of(tmp_path / "all") if float(row["identity"]) >= 100 * identity]
        assert rows_of(tmp_path / "some") == kept


def test_long_sequences_are_filtered_by_score(tmp_path: Path) -> None:
    # beyond the edit filter's limit the score's bound takes over
    rng = random.Random(6)
    base = "".join(rng.choices("ACGT", k=900))
    sequences = [mutate(rng, base, rate) for rate in (0.05, 0.2, 0.4, 0.6, 0.9)] + ["".join(rng.choices("ACGT", k=880))]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    run([fasta, "-o", str(tmp_path / "all")])
    for identity in (0.5, 0.65, 0.75):
        run([fasta, "--id", str(identity), "-o", str(tmp_path / "some")])
        kept = [row for row in rows_of(tmp_path / "all") if float(row["identity"]) >= 100 * identity]
        assert rows_of(tmp_path / "some") == kept


def test_tasks_hold_every_pair_once() -> None:
    rng = np.random.default_rng(1)
    queries = np.sort(rng.integers(0, 9, 500)).astype(np.int32)
    work = pair_tasks.lazy_tasks(queries, 32)
    covered = np.concatenate([np.arange(t["first"], t["first"] + t["count"]) for t in work])
    assert covered.tolist() == list(range(500))
    for task in work:
        assert set(queries[task["first"] : task["first"] + task["count"]]) == {task["query"]}
    n, m = rng.integers(1, 90, 300), rng.integers(1, 90, 300)
    batches = tasks.trace_batches(n, m, (-n).astype(np.int32), m.astype(np.int32), 64, 1 << 16)
    assert [batch.start for batch in batches[1:]] == [batch.stop for batch in batches[:-1]]
    assert (batches[0].start, batches[-1].stop) == (0, 300)
    assert all(int(batch.tasks["count"].sum()) == batch.stop - batch.start for batch in batches)


def test_words_of_the_kernels() -> None:
    scoring = match_mismatch(5, -4)
    assert tasks.arithmetic(scoring, 10, 1, 1500, 1500).lanes == 2
    assert tasks.arithmetic(scoring, 10, 10, 4000, 4000).lanes == 1
    assert tasks.arithmetic(match_mismatch(500, -400), 10, 1, 10, 10).lanes == 1
    with pytest.raises(OverflowError):
        tasks.arithmetic(scoring, 10, 10, 10**9, 10**9)
    assert tasks.arithmetic(load_matrix("BLOSUM62"), 11, 1, 500, 500).lanes == 2
    assert tasks.arithmetic(scoring, 10, 10, 2500, 2500).lanes == 2
    assert tasks.arithmetic(scoring, 10, 10, 2500, 2500, cheap_start=True).lanes == 1
    assert tasks.arithmetic(scoring, 10, 1, 6500, 6500, local=True).lanes == 2
    assert tasks.arithmetic(scoring, 10, 1, 6560, 6560, local=True).lanes == 1
