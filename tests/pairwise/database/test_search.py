"""``gpualign pairwise --top`` against BLAST's statistics, parasail and a plain ranking."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import parasail
import pytest

from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.score_tile import TileScores
from gpualign.errors import UsageError
from gpualign.pairwise.database.constants import GAPPED
from gpualign.pairwise.database.hits import DatabaseHits
from gpualign.pairwise.database.output import bits_text, evalue_text
from gpualign.pairwise.database.params import DatabaseParams
from gpualign.pairwise.database.statistics import ScoreStatistics
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import match_mismatch
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.paths import ROOT

Cli = Callable[..., tuple[int, bytes, str]]
DATA = ROOT / "examples" / "data"
QUERIES, PROTEINS = str(DATA / "protein_queries.fa"), str(DATA / "proteins.fa")
LOCAL = ["--mode", "local", "--matrix", "BLOSUM62", "--gapopen", "12", "--gapext", "1", "--device", "cpu"]


def _records(path: str) -> list[tuple[str, str]]:
    blocks = Path(path).read_text().split(">")[1:]
    return [(block.split()[0], "".join(block.split("\n")[1:])) for block in blocks]


def _ranking(queries: list[tuple[str, str]], targets: list[tuple[str, str]], top: int) -> list[tuple[str, str, int]]:
    """Every query's best targets by parasail, equal ones in input order."""
    ranked = []
    for name, query in queries:
        scored = [
            (parasail.sw_striped_sat(query, text, 12, 1, parasail.blosum62).score, -i)
            for i, (_, text) in enumerate(targets)
        ]
        best = sorted(scored, reverse=True)[:top]
        ranked += [(name, targets[-i][0], score) for score, i in best if score > 0]
    return ranked


def test_evalues_and_bits_of_blastp(cli: Cli, tmp_path: Path) -> None:
    """blastp 2.12.0, -comp_based_stats 0 -seg no -word_size 2 -threshold 5 -max_hsps 1 -evalue 10, same files."""
    expected = [line.split("\t") for line in (ROOT / "tests/pairwise/database/blastp.tsv").read_text().splitlines()]
    columns = ["--userfields", "qseqid+sseqid+evalue+bitscore+score", "--no-header"]
    code, out, error = cli("pairwise", *LOCAL, "--evalue", "10", *columns, QUERIES, PROTEINS)
    assert code == 0, error
    found = {tuple(line.split("\t")[:2]): line.split("\t")[2:] for line in out.decode().splitlines()}
    assert len(expected) == 196
    for query, target, *numbers in expected:
        assert found[query, target] == numbers


def test_hits_are_parasails_best_and_replay(cli: Cli) -> None:
    code, out, _ = cli("pairwise", *LOCAL, "--top", "7", QUERIES, PROTEINS)
    assert code == 0
    rows = rows_of(out)
    queries, targets = _records(QUERIES), _records(PROTEINS)
    assert [(r["query"], r["target"], int(r["score"])) for r in rows] == _ranking(queries, targets, 7)
    texts, matrix = dict(queries) | dict(targets), load_matrix("BLOSUM62")
    for row in rows:
        query, target = texts[row["query"]], texts[row["target"]]
        i, j, score = int(row["qstart"]) - 1, int(row["tstart"]) - 1, 0
        length = ""
        for symbol in row["cigar"]:
            if symbol.isdigit():
                length += symbol
                continue
            run, length = int(length), ""
            if symbol == "M":
                a, b = (matrix.codes[list(text.encode())] for text in (query[i : i + run], target[j : j + run]))
                score += int(matrix.scores[a, b].sum())
            else:
                score -= 12 + (run - 1)
            i, j = i + run * (symbol != "D"), j + run * (symbol != "I")
        assert (i, j, score) == (int(row["qend"]), int(row["tend"]), int(row["score"]))


@pytest.mark.parametrize(
    "options", [["--top", "4"], ["--evalue", "0.001"], ["--min-score", "60"], ["--min-bits", "40"]]
)
def test_parts_compression_and_database_file_do_not_change_the_output(
    cli: Cli, tmp_path: Path, options: list[str]
) -> None:
    packed, database = tmp_path / "p.fa.gz", tmp_path / "p.gpdb"
    packed.write_bytes(gzip.compress(Path(PROTEINS).read_bytes()))
    assert cli("makedb", PROTEINS, "-o", str(database))[0] == 0
    code, expected, _ = cli("pairwise", *LOCAL, *options, QUERIES, PROTEINS)
    assert code == 0
    assert expected.count(b"\n") > 5
    for path, batch in ((PROTEINS, "50"), (str(packed), "4M"), (str(database), "100"), (str(database), "4M")):
        assert cli("pairwise", *LOCAL, *options, "--batch-size", batch, QUERIES, path)[1] == expected


def test_equal_scores_come_in_input_order(cli: Cli, tmp_path: Path) -> None:
    write_fasta(tmp_path / "q.fa", [("q", "MKVLAWGHEE")])
    write_fasta(tmp_path / "db.fa", [(f"t{i}", "MKVLAWGHEE") for i in range(9)] + [("best", "MKVLAWGHEEW" * 2)])
    for batch in ("1", "4M"):
        arguments = [*LOCAL, "--top", "3", "--score-only", "--batch-size", batch]
        out = cli("pairwise", *arguments, str(tmp_path / "q.fa"), str(tmp_path / "db.fa"))[1]
        assert [row["target"] for row in rows_of(out)] == ["t0", "t1", "t2"]


@pytest.mark.parametrize("mode", ["global", "semi-global", "local"])
def test_nucleotides_and_other_modes_have_scores_without_evalues(cli: Cli, tmp_path: Path, mode: str) -> None:
    rng = random.Random(5)
    base = "".join(rng.choices("ACGT", k=60))
    write_fasta(tmp_path / "q.fa", [("q", base)])
    write_fasta(
        tmp_path / "db.fa", [("far", "".join(rng.choices("ACGT", k=60))), ("near", base[:50] + "A" * 9), ("same", base)]
    )
    out = cli(
        "pairwise", "--mode", mode, "--top", "2", "--device", "cpu", str(tmp_path / "q.fa"), str(tmp_path / "db.fa")
    )[1]
    rows = rows_of(out)
    assert [row["target"] for row in rows] == ["same", "near"]
    assert "evalue" not in rows[0]
    assert rows[0]["score"] == "300"


def test_numbers_are_written_as_blast_writes_them() -> None:
    assert [evalue_text(x) for x in (0.0, 1e-181, 3.14159e-120, 8.9e-4, 0.0012, 0.44, 1.37, 12.6)] == [
        *("0.0", "0.0", "3.14e-120", "8.90e-04", "0.001", "0.44", "1.4", "13"),
    ]  # fmt: skip
    assert [bits_text(x) for x in (18.08, 99.85, 123.9, 123456.0)] == ["18.1", "99.8", "123", "1.235e+05"]


def test_bits_by_hand() -> None:
    """(0.267 * 100 - ln 0.041) / ln 2"""
    bits = ScoreStatistics.of(load_matrix("BLOSUM62"), 12, 1).bits(np.array([100]))
    assert bits[0] == pytest.approx(43.1280, abs=1e-3)


def test_unpublished_constants_are_refused() -> None:
    with pytest.raises(UsageError, match="12/1"):
        ScoreStatistics.of(load_matrix("BLOSUM62"), 30, 1)
    with pytest.raises(UsageError, match="not for match/mismatch"):
        ScoreStatistics.of(match_mismatch(5, -4), 10, 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--evalue 1 --gapopen 30", "12/1"),
        ("--evalue 1 --mode global", "--mode local"),
        ("--top 0", "at least 1"),
        ("--top 3 --id 0.5", "--id"),
        ("--top 3 --matrix-out square", "--matrix-out"),
        ("--top 3 --one-to-one", "--one-to-one"),
        ("--evalue -1", "above 0"),
        ("--userfields evalue", "--top"),
        ("--max-gaps 2 --top 3", "--max-gaps"),
    ],
)
def test_usage_errors(cli: Cli, options: str, sentence: str) -> None:
    code, _, error = cli("pairwise", *LOCAL, *options.split(), QUERIES, PROTEINS)
    assert code == 2
    assert sentence in error


def test_a_search_wants_a_database(cli: Cli) -> None:
    code, _, error = cli("pairwise", *LOCAL, "--top", "3", QUERIES)
    assert code == 2
    assert "second file" in error


def test_the_least_score_of_an_evalue() -> None:
    statistics = ScoreStatistics.of(load_matrix("BLOSUM62"), 12, 1)
    query, target = np.array([30, 400, 5000]), np.array([1, 9, 70, 350, 3000])
    for limit in (1e-30, 1e-3, 10.0):
        least = statistics.least_scores(limit, query, target, 10**8)
        sizes = np.broadcast_to(query[:, None], least.shape).ravel(), np.broadcast_to(target, least.shape).ravel()
        assert (statistics.evalues(least.ravel(), *sizes, 10**8) <= limit).all()
        more = least.ravel() > 1
        assert (statistics.evalues(least.ravel() - 1, *sizes, 10**8) > limit)[more].all()


def test_evalues_fall_with_the_score() -> None:
    """Which finding a least score by halves takes for granted."""
    scores = np.arange(1, 600)
    for name, known in GAPPED.items():
        for existence, extension in known:
            statistics = ScoreStatistics.of(load_matrix(name), existence + extension, extension)
            for query, target in ((1, 1), (30, 3), (300, 40), (300, 350), (5000, 35_000)):
                sizes = np.full(len(scores), query), np.full(len(scores), target)
                assert (np.diff(statistics.evalues(scores, *sizes, 10**8)) <= 0).all()


@pytest.mark.parametrize("limit", [1e-40, 1e-3, 10.0, 1e5])
def test_no_hit_within_the_evalue_is_dropped_on_the_way(limit: float) -> None:
    """Lengths between those for which least scores are worked out, parts of the database that follow each other."""
    rng = np.random.default_rng(8)
    statistics = ScoreStatistics.of(load_matrix("BLOSUM62"), 12, 1)
    query_lengths, lengths = np.array([40, 350, 2000]), rng.integers(1, 9000, 4000)
    scores = rng.integers(1, 400, (3, 4000)).astype(np.int32)
    hits = DatabaseHits(DatabaseParams(evalue=limit), statistics, query_lengths, 1)
    batch = SequenceBatch.from_records([("t", "A")] * 2000)
    codes = EncodedSequences([], np.zeros(2000, np.uint8), np.arange(2001))
    residues = 0
    for first in (0, 2000):
        part = lengths[first : first + 2000]
        residues += int(part.sum())
        hits.expect(residues)
        hits.offer(0, first, TileScores(scores[:, first : first + 2000], np.arange(2000)), part)
        hits.settle(batch, codes, first, residues)
    found, _ = hits.finish(residues)
    evalues = statistics.evalues(scores.ravel(), np.repeat(query_lengths, 4000), np.tile(lengths, 3), residues)
    assert len(found) == int((evalues <= limit).sum()) > 100


@pytest.mark.parametrize(
    ("text", "line", "symbol"),
    [
        (">a\nMKV\n>b x\nMK\nM-V\n", 5, "-"),
        (">a\nMKV\n>b\nMK1V1\n>c\nM1\n", 4, "1"),
        ("@a\nMKV\n+\nI1I\n@b\nM?V\n+\nIII\n", 6, "?"),
    ],
)
def test_a_symbol_that_is_no_residue(cli: Cli, tmp_path: Path, text: str, line: int, symbol: str) -> None:
    """A database of it would be refused by every search; the message names the line, of a search as well."""
    path, query, database = tmp_path / "x.fa", tmp_path / "q.fa", tmp_path / "x.gpdb"
    path.write_text(text)
    query.write_text(">q\nMKV\n")
    code, _, error = cli("makedb", path, "-o", database)
    assert (code, error) == (
        3,
        f"gpualign makedb: error: {path}:{line}: record 'b': symbol {symbol!r} is no residue or base\n",
    )
    assert not database.exists()
    for command in (["--top", "1", query, path], [path], [query, path]):
        code, _, error = cli("pairwise", "--matrix", "BLOSUM62", *command)
        assert code == 3
        assert f"error: {path}:{line}: record 'b': symbol {symbol!r} is not in BLOSUM62" in error


def test_a_symbol_in_a_pipe_has_no_line(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.fa").write_text(">b\nM-V\n")
    with (tmp_path / "x.fa").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, _, error = cli("makedb", "-", "-o", tmp_path / "x.gpdb")
    assert (code, error) == (
        3,
        "gpualign makedb: error: standard input: record 'b': symbol '-' is no residue or base\n",
    )


def test_a_database_of_no_sequences(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.fa").write_text("")
    code, _, error = cli("makedb", tmp_path / "none.fa", "-o", tmp_path / "x.gpdb")
    assert code == 0
    assert "gpualign makedb: warning: there are no sequences: the database is empty\n" in error
    code, out, error = cli("pairwise", "--top", "1", "--matrix", "BLOSUM62", PROTEINS, tmp_path / "x.gpdb")
    assert (code, out.count(b"\n")) == (0, 1), error
