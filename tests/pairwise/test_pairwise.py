"""``gpualign pairwise`` through its command line and its CPU stage."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import parasail
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.params import PairwiseParams
from gpualign.cli import main
from gpualign.pairwise.params import PairwiseOutput
from gpualign.sequences.matrices import match_mismatch
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.pairwise_cases import align, check_alignments, parasail_matrix, run, score_of
from tests.helpers.sequences import mutate
from tests.reference.pairwise import end_free_score

pytestmark = pytest.mark.usefixtures("level")


@pytest.mark.parametrize("seed", range(12))
def test_scores_of_parasail_and_every_cigar_replays(seed: int) -> None:
    rng = random.Random(seed)
    scoring = [match_mismatch(5, -4), match_mismatch(1, -3), load_matrix("BLOSUM62"), load_matrix("NUC.4.4")][seed % 4]
    symbols = "ACGT" if scoring.nucleotide else "ARNDCQEGHILKMFPSTWYV"
    gap_open, gap_extend = [(10, 1), (3, 3), (11, 0)][seed % 3]
    length = rng.choice([31, 32, 33, 65, 129, 300])
    base = "".join(rng.choice(symbols) for _ in range(length))
    queries = [mutate(rng, base, 0.3, symbols) for _ in range(3)] + ["".join(rng.choices(symbols, k=length // 2))]
    targets = [mutate(rng, base, 0.2, symbols) for _ in range(40)]
    matrix = parasail_matrix(scoring)

    def with_parasail(name):
        return lambda a, b: getattr(parasail, name)(a, b, gap_open, gap_extend, matrix).score

    # parasail insists on aligning something; with all ends free, nothing is an alignment of score 0
    semi_global = with_parasail("sg_scan_32")
    for table in (1 << 26, 1 << 13):
        common = (scoring, queries, targets, gap_open, gap_extend)
        check_alignments(*common, False, 0, table, with_parasail("nw_scan_32"))
        check_alignments(*common, True, 0, table, with_parasail("sw_scan_32"))
        check_alignments(*common, False, 15, table, lambda a, b: max(0, semi_global(a, b)))


def test_scores_of_biopython() -> None:
    from Bio import Align
    from Bio.Align import substitution_matrices

    rng = random.Random(3)
    symbols = "ARNDCQEGHILKMFPSTWYV"
    queries = ["".join(rng.choices(symbols, k=rng.randint(1, 60))) for _ in range(5)]
    targets = [mutate(rng, query, 0.4, symbols) or "A" for query in queries]
    scoring = load_matrix("BLOSUM62")
    for mode, local in (("global", False), ("local", True)):
        aligner = Align.PairwiseAligner(mode=mode, open_gap_score=-11, extend_gap_score=-2)
        aligner.substitution_matrix = substitution_matrices.load("BLOSUM62")
        scores = align(scoring, queries, targets, 11, 2, local)[0].reshape(5, 5)
        for i, a in enumerate(queries):
            for j, b in enumerate(targets):
                assert scores[i, j] == aligner.score(a, b)


@settings(max_examples=60, deadline=None)
@given(
    queries=st.lists(st.text("ACG", max_size=12), min_size=1, max_size=5),
    targets=st.lists(st.text("ACGN", max_size=12), min_size=1, max_size=5),
    scores=st.tuples(st.integers(0, 5), st.integers(-5, 0)),
    penalties=st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda p: (max(p), min(p))),
    free=st.integers(0, 15),
    table=st.sampled_from([1 << 24, 4096]),
)
def test_any_free_ends_agree_with_the_plain_program(queries, targets, scores, penalties, free, table) -> None:
    scoring = match_mismatch(*scores)
    ends = tuple(bool(free & 1 << bit) for bit in range(4))
    check_alignments(
        scoring, queries, targets, *penalties, False, free, table,
        lambda a, b: end_free_score(a, b, score_of(scoring), *penalties, ends),
    )  # fmt: skip


@pytest.mark.parametrize(("match", "mismatch", "gap_open", "gap_extend"), [(5, -4, 10, 10), (900, -900, 3000, 700)])
@pytest.mark.parametrize("length", [1, 20, 1300, 2622])
def test_words_widen_before_scores_overflow(match, mismatch, gap_open, gap_extend, length) -> None:
    rng = random.Random(length)
    query = "".join(rng.choices("ACGT", k=length))
    targets = [query, query[: length // 2 + 1], "T" * length, mutate(rng, query, 0.1) or "A"]
    scoring = match_mismatch(match, mismatch)
    matrix = parasail_matrix(scoring)
    scores = align(scoring, [query], targets, gap_open, gap_extend, traced=False)[0]
    expected = [parasail.nw_scan_64(query, b, gap_open, gap_extend, matrix).score for b in targets]
    assert scores.tolist() == expected


def test_tracebacks_in_very_little_memory() -> None:
    # blocks of columns within blocks, down to a strip
    rng = random.Random(8)
    query = "".join(rng.choices("ACGT", k=700))
    targets = [mutate(rng, query, 0.2) for _ in range(3)]
    scoring = match_mismatch(5, -4)
    whole = align(scoring, [query], targets, 10, 1)
    for table in (100, 1000, 10_000):
        little = align(scoring, [query], targets, 10, 1, table=table)
        assert all(np.array_equal(a, b) for a, b in zip(whole, little, strict=True))


def test_default_columns_by_hand(tmp_path: Path) -> None:
    fasta = write_fasta(tmp_path / "a.fa", ["ACGTACGTAC", "ACGTCGTAC", "acguacgtaN"])
    run([str(fasta), "-o", str(tmp_path / "out.tsv")])
    rows = rows_of(tmp_path / "out.tsv")
    assert [(row["query"], row["target"]) for row in rows] == [("s0", "s1"), ("s0", "s2"), ("s1", "s2")]
    # nine matches and one gap symbol: 45 - 10
    first = rows[0]
    assert first["cigar"] in ("4M1I5M", "5M1I4M")
    expected = "s0 s1 90.00 35 10 9 0 1 1 10 1 10 9 1 9 +".split()  # noqa: SIM905
    assert list(first.values())[:-1] == expected
    # an ambiguity code never matches, U is T, and case does not matter
    assert (rows[1]["score"], rows[1]["matches"], rows[1]["mismatches"]) == ("41", "9", "1")


def test_identity_definitions_by_hand(tmp_path: Path) -> None:
    # ACGTACGTAC---
    # ACGTTCGTACGGG: 9 matches, 1 mismatch, a terminal gap of 3
    a = write_fasta(tmp_path / "a.fa", ["ACGTACGTAC"])
    b = write_fasta(tmp_path / "b.fa", ["ACGTTCGTACGGG"])
    out = tmp_path / "out.tsv"
    run([str(a), str(b), "--userfields", "id0+id1+id2+id3+id4+caln", "-o", str(out)])
    assert rows_of(out)[0] == {
        "id0": "90.00",
        "id1": "69.23",
        "id2": "90.00",
        "id3": "84.62",
        "id4": "69.23",
        "caln": "10M3I",
    }


@pytest.mark.parametrize("layout", ["--paf", "--blast6"])
def test_reverse_complement_coordinates(tmp_path: Path, layout: str) -> None:
    a = write_fasta(tmp_path / "a.fa", ["ACCGGATTTT"])
    b = write_fasta(tmp_path / "b.fa", ["CCAAAATCCGGTCC"])
    out = tmp_path / "out"
    run([str(a), str(b), "--strand", "both", "--mode", "semi-global", layout, "-o", str(out)])
    fields = out.read_text().rstrip("\n").split("\t")
    if layout == "--paf":
        assert fields == "s0 10 0 10 - s0 14 2 12 10 10 255 NM:i:0 AS:i:50 cg:Z:10M".split()  # noqa: SIM905
    else:
        assert fields == "s0 s0 71.429 10 0 0 1 10 12 3 -1 0".split()  # noqa: SIM905


def test_pairs_one_to_one_and_matrix(tmp_path: Path) -> None:
    a = write_fasta(tmp_path / "a.fa", ["ACGT", "ACGA", "TTTT"], "a")
    b = write_fasta(tmp_path / "b.fa", ["ACGT", "ACGA", "TTTT"], "b")
    (tmp_path / "pairs").write_text("# chosen\na2 b0\n\na0\tb1\n")
    out = tmp_path / "out"
    run([str(a), str(b), "--pairs", str(tmp_path / "pairs"), "--score-only", "-o", str(out)])
    assert [(row["query"], row["target"]) for row in rows_of(out)] == [("a2", "b0"), ("a0", "b1")]
    run([str(a), str(b), "--one-to-one", "--userfields", "query+target+id", "-o", str(out)])
    assert out.read_text().splitlines()[1:] == ["a0\tb0\t100.00", "a1\tb1\t100.00", "a2\tb2\t100.00"]
    run([str(a), "--matrix-out", "square", "-o", str(out)])
    assert out.read_text().splitlines()[:2] == ["3", "a0\t0.000000\t0.250000\t0.750000"]
    run([str(a), "--matrix-out", "lower", "--matrix-value", "score", "-o", str(out)])
    assert out.read_text().splitlines() == ["3", "a0", "a1\t11", "a2\t-7\t-16"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--score-only --paf", "--score-only finds no alignment: leave out --paf"),
        ("--score-only --blast6", "--score-only finds no alignment: leave out --blast6"),
        ("--score-only --matrix-out square", "--score-only finds no distance: give --matrix-value score"),
        ("--score-only --userfields query+caln", "--score-only finds no 'caln'"),
        ("--score-only --userfields query+id", "--score-only finds no 'id'"),
        ("--score-only --id 0.9", "--score-only finds no identity"),
        ("--self {fasta}", "--self belongs to one file"),
        ("--self --pairs pairs.tsv", "--self belongs to one file"),
        ("--matrix BLOSUM62 --match 4", "--matrix has all scores: leave out --match"),
        ("--matrix BLOSUM62 --mismatch -4", "--matrix has all scores: leave out --mismatch"),
        ("--id 97", "did you mean 0.97?"),
        ("--id 1.5", "id must be between 0 and 1, not 1.5\n"),
    ],
)
def test_options_that_contradict_each_other(tmp_path: Path, capsys, options: str, reason: str) -> None:
    fasta = write_fasta(tmp_path / "a.fa", ["ACGT", "ACGA"])
    with pytest.raises(SystemExit) as done:
        main(["pairwise", str(fasta), "--device", "cpu", *options.format(fasta=fasta).split()])
    captured = capsys.readouterr()
    assert (done.value.code, captured.out) == (2, "")
    assert reason in captured.err


def test_scores_with_columns_of_their_own(tmp_path: Path) -> None:
    fasta, out = write_fasta(tmp_path / "a.fa", ["ACGT", "ACGA"]), tmp_path / "out"
    run([str(fasta), "--score-only", "--userfields", "query+target+raw+ql+tstrand", "-o", str(out)])
    assert out.read_text().splitlines()[1:] == ["s0\ts1\t11\t4\t+"]


def test_output_does_not_depend_on_threads_or_order(tmp_path: Path) -> None:
    rng = random.Random(5)
    base = "".join(rng.choices("ACGT", k=150))
    sequences = [mutate(rng, base, 0.25) for _ in range(60)]
    a = write_fasta(tmp_path / "a.fa", sequences)
    run([str(a), "-t", "1", "-o", str(tmp_path / "one")])
    run([str(a), "-t", "3", "--max-memory", "1M", "-o", str(tmp_path / "three")])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "three").read_bytes()
    # a pair's line is the same whatever else is in the file
    few = write_fasta(tmp_path / "few.fa", sequences[:7])
    run([str(few), "-o", str(tmp_path / "few")])
    lines = (tmp_path / "one").read_text().splitlines()
    assert set((tmp_path / "few").read_text().splitlines()) <= set(lines)


def test_few_sequences(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for sequences in ([], ["ACGT"]):
        run([str(write_fasta(tmp_path / "a.fa", sequences)), "-o", str(out)])
        assert len(out.read_text().splitlines()) == 1
    (tmp_path / "a.fa").write_text(">a\n>b\nACG\n>c\n\n")
    run([str(tmp_path / "a.fa"), "-o", str(out)])
    assert [(row["score"], row["cigar"]) for row in rows_of(out)] == [("-12", "3D"), ("0", "*"), ("-12", "3I")]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--id", "97"], 2),
        (["--gapopen", "1", "--gapext", "2"], 2),
        (["--userfields", "query+nothing"], 2),
        (["--matrix", "NOPE"], 2),
        (["--free-ends", "query-start"], 2),
        (["--matrix", "BLOSUM62", "--strand", "both"], 2),
        (["--paf", "--blast6"], 2),
        (["--mode", "sideways"], 2),
    ],
)
def test_bad_options_are_named(tmp_path: Path, arguments: list[str], code: int, capsys) -> None:
    run([str(write_fasta(tmp_path / "a.fa", ["ACGT", "ACGA"])), *arguments], code)
    assert capsys.readouterr().err.startswith("gpualign pairwise: error: ")


def test_symbols_and_names_that_do_not_fit(tmp_path: Path, capsys) -> None:
    (tmp_path / "a.fa").write_text(">p\nMKV1\n")
    run([str(tmp_path / "a.fa"), "--matrix", "BLOSUM62"], 3)
    assert "record 'p': symbol '1' is not in BLOSUM62" in capsys.readouterr().err
    write_fasta(tmp_path / "a.fa", ["ACGT"])
    (tmp_path / "pairs").write_text("s0 s1\n")
    run([str(tmp_path / "a.fa"), "--pairs", str(tmp_path / "pairs")], 3)
    assert "pairs:1: no sequence is named 's1'" in capsys.readouterr().err


def test_matrix_file_and_decimals(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text(
        "# mine\n   A  C  G  T\nA  2 -1 -1 -1\nC -1 2.5 -1 -1\nG -1 -1 2 -1\nT -1 -1 -1 2\n"
    )
    a = write_fasta(tmp_path / "a.fa", ["ACG", "ACG"])
    out = tmp_path / "out"
    run([str(a), "--matrix", str(tmp_path / "m.txt"), "--userfields", "raw+caln", "-o", str(out)])
    assert out.read_text() == "raw\tcaln\n6.5\t3M\n"


def test_plain_input_from_a_pipe(tmp_path: Path, monkeypatch) -> None:
    class Piped:
        buffer = io.BufferedReader(io.BytesIO(b">a\nACGT\n>b\nACGT\n"))  # type: ignore[arg-type]

    monkeypatch.setattr("sys.stdin", Piped)
    run(["-", "--userfields", "raw", "-o", str(tmp_path / "out")])
    assert (tmp_path / "out").read_text() == "raw\n20\n"


def test_a_matrix_of_scores_needs_no_traceback() -> None:
    params = PairwiseParams(mode="local")
    assert PairwiseOutput(layout="matrix", matrix_value="score").needed(params).score_only
    for value in ("distance", "identity"):
        assert not PairwiseOutput(layout="matrix", matrix_value=value).needed(params).score_only
    assert not PairwiseOutput(layout="matrix", matrix_value="score", plot="a.png").needed(params).score_only
