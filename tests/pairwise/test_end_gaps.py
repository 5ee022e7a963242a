"""What ends cost: gaps there that are cheaper than inside (``pairwise --gapopen 20I/2E``), and free ends of no use."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import parasail
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign
from gpualign.align.score.gap_penalties import GapPenalty, parse_penalty
from gpualign.align.score.matrices import load_matrix
from gpualign.errors import UsageError
from gpualign.sequences.matrices import match_mismatch
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.pairwise_cases import align, check_alignments, parasail_matrix, run, score_of
from tests.helpers.paths import AMPLICONS
from tests.helpers.sam import cigar_text
from tests.helpers.sequences import mutate
from tests.reference.pairwise import end_gap_score, replay

pytestmark = pytest.mark.usefixtures("level")

VSEARCH = "--match 2 --mismatch -4 --gapopen 20I/2E --gapext 2I/1E --iddef 2".split()  # noqa: SIM905


def gaps_up_to(gap_open: int, gap_extend: int) -> st.SearchStrategy[tuple[int, int]]:
    extensions = st.integers(0, gap_extend)
    return extensions.flatmap(lambda extend: st.tuples(st.integers(extend, gap_open), st.just(extend)))


@st.composite
def penalties(draw) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    extend = draw(st.integers(0, 4))
    gap_open = draw(st.integers(extend, 9))
    return (gap_open, extend), [draw(gaps_up_to(gap_open, extend)) for _ in range(4)]


@settings(max_examples=150, deadline=None)
@given(
    queries=st.lists(st.text("ACG", max_size=12), min_size=1, max_size=5),
    targets=st.lists(st.text("ACGN", max_size=12), min_size=1, max_size=5),
    scores=st.tuples(st.integers(0, 5), st.integers(-5, 0)),
    gaps=penalties(),
    free=st.sampled_from([0, 0, 0, 1, 2, 4, 8, 6, 13]),
    table=st.sampled_from([1 << 24, 4096]),
)
def test_scores_of_the_plain_program_and_every_cigar_replays(queries, targets, scores, gaps, free, table) -> None:
    scoring = match_mismatch(*scores)
    inside, ends = gaps
    ends = [(0, 0) if free >> end & 1 else gap for end, gap in enumerate(ends)]  # what is free costs nothing
    check_alignments(
        scoring, queries, targets, *inside, False, free, table,
        lambda a, b: end_gap_score(a, b, score_of(scoring), inside, ends), ends,
    )  # fmt: skip


@pytest.mark.parametrize("scheme", ["match/mismatch", "BLOSUM62", "wide"])
@pytest.mark.parametrize("inside", [(12, 3), (7, 7)])
def test_words_of_every_width(scheme: str, inside: tuple[int, int]) -> None:
    rng = random.Random(5)
    scoring = {"match/mismatch": match_mismatch(2, -4), "wide": match_mismatch(9000, -9000)}.get(scheme)
    scoring = scoring or load_matrix("BLOSUM62")
    symbols = "ACGT" if scoring.nucleotide else "ARNDCQEGHILKMFPSTWYV"
    base = "".join(rng.choices(symbols, k=70))
    queries = [base[20:], base[:50] + "A" * 20]
    targets = [base[:40], "".join(rng.choices(symbols, k=20)) + base, *(mutate(rng, base, 0.3, symbols) for _ in "123")]
    ends = [(3, 1), (5, 2), (0, 0), (inside[0], 3)]
    for table in (1 << 26, 1 << 13):
        check_alignments(
            scoring, queries, targets, *inside, False, 0, table,
            lambda a, b: end_gap_score(a, b, score_of(scoring), inside, ends), ends,
        )  # fmt: skip


@pytest.mark.parametrize("inside", [(20, 2), (6, 6)])
def test_long_pairs(inside: tuple[int, int]) -> None:
    """A pair that fills a vector's lanes by itself: the plain program's score, and the path that a pair a lane gets."""
    rng = random.Random(6)
    text = "".join(rng.choices("ACGT", k=800))
    query, target = text[200:600] + "".join(rng.choices("ACGT", k=60)), "G" * 30 + mutate(rng, text, 0.05)
    scoring, as_matrix = match_mismatch(2, -4), match_mismatch(2, -4)
    object.__setattr__(as_matrix, "name", "a matrix")
    for ends in ([(2, 1)] * 4, [inside, (0, 0), (3, 2), inside]):
        expected = end_gap_score(query, target, score_of(scoring), inside, ends)
        by_wave = align(scoring, [query], [target], *inside, end_gaps=ends)
        by_lane = align(as_matrix, [query], [target], *inside, end_gaps=ends)
        for got, other in zip(by_wave, by_lane, strict=True):
            assert np.array_equal(got, other)
        path = cigar_text(by_wave[3].tolist())
        assert by_wave[0][0] == expected
        assert replay(query, target, path, score_of(scoring), *inside, ends) == (expected, len(query), len(target))
        assert align(scoring, [query], [target], *inside, traced=False, end_gaps=ends)[0][0] == expected


def test_ends_by_hand(tmp_path: Path) -> None:
    """A gap of two symbols at an end costs 2 + 1, inside 20 + 2."""
    fasta, out = write_fasta(tmp_path / "a.fa", ["ACGTACGTAC", "GTACGTAC", "ACGTACGT"]), tmp_path / "out"
    run([str(fasta), *VSEARCH, "-o", str(out)])
    rows = [(row["score"], row["identity"], row["qstart"], row["qend"], row["cigar"]) for row in rows_of(out)]
    # the last pair as well by 2D6M2I, but of equal gaps at the end that in the query is taken
    assert rows == [
        ("13", "100.00", "1", "10", "2I8M"),
        ("13", "100.00", "1", "10", "8M2I"),
        ("6", "100.00", "1", "8", "2I6M2D"),
    ]
    run([str(fasta), "--match", "2", "--mismatch", "-4", "--gapopen", "20I/2QE", "--gapext", "2I/1QE", "-o", str(out)])
    assert [row["score"] for row in rows_of(out)][:2] == ["-6", "-6"]  # here it is the target that lacks symbols
    run([str(fasta), "--match", "2", "--mismatch", "-4", "--gapopen", "20I/2TL", "--gapext", "2I/1TL", "-o", str(out)])
    assert [row["score"] for row in rows_of(out)][:2] == ["13", "-6"]


def test_of_equal_alignments_the_shortest_gap_at_the_end_and_that_in_the_query(tmp_path: Path) -> None:
    fasta, out = write_fasta(tmp_path / "a.fa", ["A", "AA", "CA", "AC"]), tmp_path / "out"
    run([str(fasta), "--gapopen", "0E", "--gapext", "0", "-o", str(out)])
    cigars = {row["query"] + row["target"]: row["cigar"] for row in rows_of(out)}
    assert cigars["s0s1"] == "1D1M"  # not 1M1D
    assert cigars["s2s3"] == "1I1M1D"  # not 1D1M1I


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", GapPenalty(10, (10,) * 4)),
        ("20I/2E", GapPenalty(20, (2,) * 4)),
        ("2E", GapPenalty(None, (2,) * 4)),
        ("20I", GapPenalty(20)),
        ("20/2E", GapPenalty(20, (2,) * 4)),
        ("20/3L/4R", GapPenalty(20, (3, 4, 3, 4))),
        ("1QL/2IQT/3QR/4TL/6TR", GapPenalty(2, (4, 6, 1, 3))),
        ("5LR/6IR", GapPenalty(6, (5, 6, 5, 6))),
        ("7EQ", GapPenalty(None, (None, None, 7, 7))),
    ],
)
def test_penalties_as_vsearch_writes_them(text: str, expected: GapPenalty) -> None:
    assert parse_penalty(text) == expected


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--gapopen 20X", "'20X' is not a gap penalty (expected a number like 10, or vsearch's 20I/2E)"),
        ("--gapopen 20I/*E", "is not a gap penalty"),
        ("--gapopen 20I/2E/", "is not a gap penalty"),
        ("--gapopen 1.5", "is not a gap penalty"),
        ("--gapopen 20I/2EL", "'2EL': E is both ends"),
        ("--gapopen 5IQ", "'5IQ': gaps inside cost the same in both sequences"),
        ("--gapopen 5Q", "'5Q': gaps inside cost the same in both sequences"),
        ("--gapopen 11TL", "a gap at query-start must not cost more than inside"),
        ("--gapext 2QR", "a gap at target-end must not cost more than inside"),
        ("--gapopen 0E", "gapopen (0) at query-start must be at least gapext (1)"),
        ("--gap 4I/5E", "a gap at query-start must not cost more than inside"),
        ("--gapopen 20I/2E --mode local", "local alignments have no gaps at their ends"),
        ("--gapopen 20I/2E --max-gaps 1", "--max-gaps has one penalty for all gaps"),
        ("--gap 5 --gapopen 2E", "--gap sets both"),
    ],
)
def test_penalties_that_cannot_be(tmp_path: Path, capsys, options: str, reason: str) -> None:
    run([str(write_fasta(tmp_path / "a.fa", ["ACGT", "ACGA"])), *options.split()], 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert reason in captured.err


def test_python_has_the_same(tmp_path: Path) -> None:
    sequences = ["ACGTACGTAC", "GTACGTAC", "ACGTACGT"]
    common = {"match": 2, "mismatch": -4, "gap_open": 20, "gap_extend": 2}
    rows = gpualign.pairwise(sequences, **common, end_gap_open=2, end_gap_extend=1)
    assert rows["score"].tolist() == [13, 13, 6]
    assert rows["cigar"].tolist() == ["2I8M", "8M2I", "2I6M2D"]
    rows = gpualign.pairwise(sequences, **common, end_gap_open=(2, 20, 20, 20), end_gap_extend=(1, 2, 2, 2))
    assert rows["score"].tolist()[:2] == [13, -6]
    for wrong in ({"end_gap_open": 21}, {"end_gap_open": (2, 2)}, {"end_gap_open": 1}):
        with pytest.raises(UsageError):
            gpualign.pairwise(sequences, **common, **wrong)


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
@pytest.mark.parametrize(
    ("gaps", "identity"),
    [
        ("", "0.97"),
        ("--gapopen 12I/3QL/5QR/2TL/9TR --gapext 3I/1QL/2QR/1TL/3TR", "0.9"),
        ("--gapopen 15I/4L/6R --gapext 3I/1L/2R", "0.97"),
    ],
)
def test_pairs_of_vsearch(tmp_path: Path, gaps: str, identity: str) -> None:
    fields = "query+target+raw+ids+mism+caln"
    options = [*gaps.split(), "--userfields", fields, "--id", identity, "--iddef", "2"]
    out = tmp_path / "vsearch"
    command = ["vsearch", "--allpairs_global", str(AMPLICONS), "--userout", str(out), "--quiet", "--threads", "1"]
    subprocess.run([*command, *options], check=True, capture_output=True, timeout=100)
    run([str(AMPLICONS), *VSEARCH, *options, "--no-header", "-o", str(tmp_path / "ours")])

    def rows(path: Path) -> list[list[str]]:
        lines = (line.split("\t") for line in path.read_text().splitlines())
        return sorted([*row[:5], re.sub(r"(?<!\d)1(?=[MID])", "", row[5])] for row in lines)

    assert len(rows(out)) > 50
    assert rows(tmp_path / "ours") == rows(out)


@pytest.mark.parametrize("mode", ["semi-global", "local"])
def test_nothing_aligned_is_an_alignment_of_score_0(tmp_path: Path, mode: str) -> None:
    """The best where any two symbols would score less; parasail's semi-global functions insist on a pair or a gap."""
    fasta, out = write_fasta(tmp_path / "a.fa", ["AAAA", "TTTTT", "GGA"]), tmp_path / "out"
    assert parasail.sg_scan_32("AAAA", "TTTTT", 10, 1, parasail_matrix(match_mismatch(5, -4))).score == -4
    run([str(fasta), "--mode", mode, "-o", str(out)])
    fields = ("score", "alnlen", "qstart", "qend", "tstart", "tend", "cigar")
    rows = [[row[field] for field in fields] for row in rows_of(out)]
    assert rows == [[*"000000*"], ["5", "1", "1", "1", "3", "3", "1M"], [*"000000*"]]


def test_scores_below_0_where_an_end_is_not_free(tmp_path: Path) -> None:
    fasta, out = write_fasta(tmp_path / "a.fa", ["AAAA", "GGA"]), tmp_path / "out"
    matrix = parasail_matrix(match_mismatch(5, -4))
    for ends, function in (("target", parasail.sg_dx_scan_32), ("query", parasail.sg_qx_scan_32)):
        run([str(fasta), "--mode", "semi-global", "--free-ends", f"{ends}-start,{ends}-end", "-o", str(out)])
        score = function("AAAA", "GGA", 10, 1, matrix).score
        assert score < 0
        assert [int(row["score"]) for row in rows_of(out)] == [score]
        assert rows_of(out)[0]["cigar"] == ("3I1M" if ends == "target" else "3M")
