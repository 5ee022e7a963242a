"""``gpualign lcs-filter`` through its command line, against RapidFuzz and rankings worked out here."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from rapidfuzz.distance import LCSseq

from gpualign.cli import main
from gpualign.errors import UsageError
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams
from gpualign.text import table
from tests.helpers.commands import program
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.paths import AMPLICONS
from tests.helpers.sequences import random_text, reverse_complement
from tests.reference.lcs import is_subsequence, lcs_length


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["lcs-filter", "--device", "cpu", "-q", *map(str, arguments)])
    return int(exit_.value.code or 0)


@pytest.fixture
def dna_files(tmp_path: Path) -> tuple[Path, Path, str, list[tuple[str, str]]]:
    """A query of 130 bases and 60 subjects of mixed lengths, some of them twice so that there are ties."""
    rng = np.random.default_rng(5)
    query = random_text(rng, 130)
    texts = [random_text(rng, int(n)) for n in rng.integers(0, 300, 40)]
    texts += [*texts[5:15], query, query[:100] + random_text(rng, 40), reverse_complement(query), *texts[:7]]
    subjects = [(f"s{i}", text) for i, text in enumerate(texts)]
    query_path = write_fasta(tmp_path / "query.fa", [("q about the query", query)], width=60)
    return query_path, write_fasta(tmp_path / "subjects.fa", subjects, width=60), query, subjects


def ranking(query: str, subjects: list[tuple[str, str]]) -> list[tuple[str, int]]:
    scores = [(name, LCSseq.similarity(query, text)) for name, text in subjects]
    return sorted(scores, key=lambda row: -row[1])  # stable: ties stay in input order


def test_top_n(dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path) -> None:
    query_path, subjects_path, query, subjects = dna_files
    out = tmp_path / "out.tsv"
    for n in (1, 7, 20, 0):
        assert run("-Q", query_path, subjects_path, "-n", n, "-o", out) == 0
        rows = rows_of(out)
        assert list(rows[0]) == ["rank", "query", "subject", "lcs", "qlen", "slen", "qcov", "scov"]
        expected = ranking(query, subjects)[: n or None]
        assert [(row["subject"], int(row["lcs"])) for row in rows] == expected
        assert [int(row["rank"]) for row in rows] == list(range(1, len(expected) + 1))
        lengths = {name: len(text) for name, text in subjects}
        for row in rows:
            lcs, slen = int(row["lcs"]), lengths[row["subject"]]
            assert (row["query"], row["qlen"], row["slen"]) == ("q", "130", str(slen))
            assert row["qcov"] == f"{100 * lcs / 130:.2f}"
            assert row["scov"] == (f"{100 * lcs / slen:.2f}" if slen else "*")


def test_bytes_do_not_depend_on_how_it_runs(
    dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path
) -> None:
    query_path, subjects_path, _, _ = dna_files
    outputs = set()
    for options in (("-t", 1), ("-t", 3, "--batch-size", 1), ("--batch-size", 300)):
        out = tmp_path / "out.tsv"
        assert (
            run("-Q", query_path, subjects_path, "-n", 12, "--strand", "both", "--subsequence", "-o", out, *options)
            == 0
        )
        outputs.add(out.read_bytes())
    assert len(outputs) == 1


def test_many_batches(tmp_path: Path) -> None:
    """Ten batches (a batch is never less than 64 KiB of text), ties across their borders."""
    rng = np.random.default_rng(6)
    query = random_text(rng, 100)
    texts = [random_text(rng, int(n)) for n in rng.integers(500, 1500, 300)]
    subjects = [(f"s{i}", texts[i % 300]) for i in range(600)]
    query_path = write_fasta(tmp_path / "q.fa", [("q", query)])
    subjects_path = write_fasta(tmp_path / "s.fa", subjects, width=60)
    expected = ranking(query, subjects)
    for n in (5, 100, 0):
        outputs = set()
        for options in (("-t", 1, "--batch-size", 1), ("-t", 3, "--batch-size", "100K"), ("-t", 2)):
            out = tmp_path / "o.tsv"
            assert run("-Q", query_path, subjects_path, "-n", n, "-o", out, *options) == 0
            outputs.add(out.read_bytes())
            assert [(row["subject"], int(row["lcs"])) for row in rows_of(out)] == expected[: n or None]
        assert len(outputs) == 1


def test_ties_at_the_last_rank(tmp_path: Path) -> None:
    query = write_fasta(tmp_path / "q.fa", [("q", "ACGT")])
    texts = ["AC", "ACG", "GT", "ACG", "CG", "ACGT", "TTT", "CGT"]
    subjects = write_fasta(tmp_path / "s.fa", [(f"s{i}", text) for i, text in enumerate(texts)])
    out = tmp_path / "o.tsv"
    for batch in (1, 4, 1000):
        assert run("-Q", query, subjects, "-n", 3, "-o", out, "--batch-size", batch) == 0
        assert [row["subject"] for row in rows_of(out)] == ["s5", "s1", "s3"]
        assert run("-Q", query, subjects, "-n", 3, "-o", out, "--batch-size", batch, "--keep-ties") == 0
        assert [row["subject"] for row in rows_of(out)] == ["s5", "s1", "s3", "s7"]
        assert run("-Q", query, subjects, "-n", 3, "-o", out, "--batch-size", batch, "--input-order") == 0
        assert [(row["subject"], row["rank"]) for row in rows_of(out)] == [("s1", "2"), ("s3", "3"), ("s5", "1")]


def test_shuffled_input_gives_the_same_scores(
    dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path
) -> None:
    query_path, _, query, subjects = dna_files
    order = np.random.default_rng(1).permutation(len(subjects))
    shuffled = [subjects[i] for i in order]
    path = write_fasta(tmp_path / "shuffled.fa", shuffled)
    out = tmp_path / "o.tsv"
    assert run("-Q", query_path, path, "-n", 0, "--input-order", "-o", out) == 0
    expected = [(name, LCSseq.similarity(query, text)) for name, text in shuffled]
    assert [(row["subject"], int(row["lcs"])) for row in rows_of(out)] == expected
    assert {row["rank"] for row in rows_of(out)} == {"*"}
    assert run("-Q", query_path, path, "-n", 9, "-o", out) == 0
    assert [(row["subject"], int(row["lcs"])) for row in rows_of(out)] == ranking(query, shuffled)[:9]


def test_both_strands(dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path) -> None:
    query_path, subjects_path, query, subjects = dna_files
    out = tmp_path / "o.tsv"
    assert run("-Q", query_path, subjects_path, "-n", 0, "--strand", "both", "--subsequence", "-o", out) == 0
    texts = dict(subjects)
    for row in rows_of(out):
        plus = LCSseq.similarity(query, texts[row["subject"]])
        minus = LCSseq.similarity(reverse_complement(query), texts[row["subject"]])
        assert (int(row["lcs"]), row["strand"]) == (max(plus, minus), "-" if minus > plus else "+")
        part = row["subsequence"].replace("*", "").encode()
        assert len(part) == int(row["lcs"])
        assert is_subsequence(part, texts[row["subject"]].encode())
        assert is_subsequence(part, (reverse_complement(query) if row["strand"] == "-" else query).encode())


@pytest.mark.parametrize("of", ["query", "subject", "shorter", "longer"])
def test_cuts(dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path, of: str) -> None:
    query_path, subjects_path, query, subjects = dna_files
    out = tmp_path / "o.tsv"

    def passes(text: str) -> bool:
        length = {
            "query": len(query),
            "subject": len(text),
            "shorter": min(len(query), len(text)),
            "longer": max(len(query), len(text)),
        }[of]
        lcs = LCSseq.similarity(query, text)
        return lcs >= 60 and 100 * lcs >= 63 * length

    common = ("-Q", query_path, subjects_path, "-n", 0, "--input-order", "-o", out)
    cut = ("--min-length", 60, "--min-ratio", 0.63, "--ratio-of", of)
    assert run(*common, *cut) == 0
    kept = [row["subject"] for row in rows_of(out)]
    assert kept == [name for name, text in subjects if passes(text)]
    assert kept
    assert run(*common, *cut, "--invert") == 0
    assert [row["subject"] for row in rows_of(out)] == [name for name, text in subjects if not passes(text)]


def test_a_ratio_met_exactly_passes(tmp_path: Path) -> None:
    query = write_fasta(tmp_path / "q.fa", [("q", "ACGTACGTAC")])
    subjects = write_fasta(tmp_path / "s.fa", [("seven", "ACGTACG"), ("six", "ACGTAC")])
    out = tmp_path / "o.tsv"
    assert run("-Q", query, subjects, "--min-ratio", 0.7, "-o", out) == 0
    assert [row["subject"] for row in rows_of(out)] == ["seven"]


def test_fasta_records_are_unchanged(tmp_path: Path) -> None:
    query = write_fasta(tmp_path / "q.fa", [("q", "ACGTACGTAC")])
    subjects = write_fasta(
        tmp_path / "s.fa", [("a first one", "acguNACG"), ("b", "TTTT"), ("c", "ACGTACGTACGG")], width=5
    )
    out = tmp_path / "o.fa"
    assert run("-Q", query, subjects, "-n", 2, "--fasta", "-o", out) == 0
    assert out.read_text() == ">c lcs=10 rank=1\nACGTACGTACGG\n>a first one lcs=7 rank=2\nacguNACG\n"
    assert run("-Q", query, subjects, "-n", 0, "--input-order", "--fasta", "-o", out, "--batch-size", 1) == 0
    assert [line.split()[0] for line in out.read_text().splitlines()[::2]] == [">a", ">b", ">c"]


def test_several_queries(dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path) -> None:
    _, subjects_path, _, subjects = dna_files
    rng = np.random.default_rng(8)
    queries = [(f"q{i}", random_text(rng, n)) for i, n in enumerate((3, 64, 300))]
    path = write_fasta(tmp_path / "queries.fa", queries)
    out = tmp_path / "o.tsv"
    assert run("-Q", path, subjects_path, "--multi-query", "-n", 4, "-o", out, "--batch-size", 500) == 0
    rows = rows_of(out)
    expected = [(name, subject, lcs) for name, text in queries for subject, lcs in ranking(text, subjects)[:4]]
    assert [(row["query"], row["subject"], int(row["lcs"])) for row in rows] == expected
    assert run("-Q", path, subjects_path, "-o", out) == 3


def test_several_queries_streamed(tmp_path: Path) -> None:
    """Rows come by subject, then by query, wherever the batches end."""
    rng = np.random.default_rng(9)
    queries = [(f"q{i}", random_text(rng, 50)) for i in range(2)]
    subjects = [(f"s{i}", random_text(rng, 1000)) for i in range(200)]
    paths = write_fasta(tmp_path / "q.fa", queries), write_fasta(tmp_path / "s.fa", subjects, width=60)
    for batch in ("1", "10M"):
        out = tmp_path / "o.tsv"
        options = ("--multi-query", "-n", 0, "--input-order", "--batch-size", batch, "--subsequence")
        assert run("-Q", *paths, "-o", out, *options) == 0
        expected = [(q, s, LCSseq.similarity(a, b)) for s, b in subjects for q, a in queries]
        assert [(row["query"], row["subject"], int(row["lcs"])) for row in rows_of(out)] == expected


def test_lines_of_what_is_not_ranked(tmp_path: Path) -> None:
    """All columns, with an empty subject and an empty query, strands and a cut."""
    rng = np.random.default_rng(11)
    queries = [("q1", random_text(rng, 40)), ("nothing", ""), ("q2", random_text(rng, 7))]
    subjects = [(f"s{i}", random_text(rng, int(size))) for i, size in enumerate(rng.integers(0, 90, 150))]
    paths = write_fasta(tmp_path / "q.fa", queries), write_fasta(tmp_path / "s.fa", [*subjects, ("none", "")])
    expected = []
    for subject, text in [*subjects, ("none", "")]:
        for query, bases in queries:
            plus, minus = (LCSseq.similarity(strand, text) for strand in (bases, reverse_complement(bases)))
            best = max(plus, minus)
            shares = (f"{100 * best / len(whole):.2f}" if whole else "*" for whole in (bases, text))
            row = ("*", query, subject, best, len(bases), len(text), *shares, "-" if minus > plus else "+")
            if best >= 3:
                expected.append("\t".join(map(str, row)) + "\n")
    out = tmp_path / "o.tsv"
    options = ("--multi-query", "-n", 0, "--input-order", "--strand", "both", "--no-header", "--min-length", 3)
    for batch in ("1", "1K"):
        assert run("-Q", *paths, "-o", out, "--batch-size", batch, *options) == 0
        assert out.read_text() == "".join(expected)


def test_percentages_are_rounded_as_python_does() -> None:
    """Also those half way, of which some are numbers and some are not."""
    wholes, parts = (values.ravel() for values in np.meshgrid(np.arange(1701), np.arange(0, 1701, 7)))
    wholes, parts = np.append(wholes, [10**12, 3, 800, 0]), np.append(parts, [10**12 - 1, 10**10, 97, 0])
    expected = [f"{100 * part / whole:.2f}" if whole else "*" for part, whole in zip(parts, wholes, strict=True)]
    assert expected[-2] == "12.12"
    text = table.format_rows([table.percents(parts, wholes)], len(parts))
    assert text.decode().splitlines() == expected


def test_several_subject_files_and_gzip(
    dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path
) -> None:
    query_path, subjects_path, query, subjects = dna_files
    packed = tmp_path / "subjects.fa.gz"
    packed.write_bytes(gzip.compress(subjects_path.read_bytes()))
    out = tmp_path / "o.tsv"
    assert run("-Q", query_path, subjects_path, packed, "-n", 11, "-o", out) == 0
    assert [(row["subject"], int(row["lcs"])) for row in rows_of(out)] == ranking(query, subjects + subjects)[:11]


def test_protein(tmp_path: Path) -> None:
    query = write_fasta(tmp_path / "q.fa", [("q", "MKVLAWXW")])
    subjects = write_fasta(tmp_path / "s.fa", [("a", "mkvlaw"), ("b", "XXXX"), ("c", "MVW*W")])
    out = tmp_path / "o.tsv"
    assert run("-Q", query, subjects, "--alphabet", "protein", "-o", out) == 0
    assert [(row["subject"], row["lcs"]) for row in rows_of(out)] == [("a", "6"), ("c", "4"), ("b", "0")]


def test_lines(tmp_path: Path) -> None:
    query = tmp_path / "q.txt"
    query.write_bytes(b"error:\tdisk %d full\r\n")
    log = tmp_path / "log.txt"
    lines = [b"all is well", b"error:\tdisk 3 full", b"", b"ERROR: DISK", b"\xe9rror: dis\tk", b"error:\tdisk 7 full"]
    log.write_bytes(b"\r\n".join(lines))
    out = tmp_path / "o.tsv"
    expected = [lcs_length(b"error:\tdisk %d full", line) for line in lines]
    for batch in (1, 30, 1 << 20):
        command = ("-Q", query, "--lines", log, "-n", 0, "--input-order", "--subsequence", "--batch-size", batch)
        assert run(*command, "-o", out) == 0
        rows = rows_of(out)
        assert [row["subject"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
        assert [int(row["lcs"]) for row in rows] == expected
        assert [int(row["slen"]) for row in rows] == [len(line) for line in lines]
        assert rows[1]["subsequence"] == "error:\\tdisk  full"
    assert run("-Q", query, "--lines", log, log, "-n", 2, "-o", out) == 0
    assert [row["subject"] for row in rows_of(out)] == [f"{log}:2", f"{log}:6"]


def test_real_amplicons(tmp_path: Path) -> None:
    """18S rRNA amplicons: near-duplicates, so nearly everything ties or nearly does."""
    records = [record.split("\n", 1) for record in AMPLICONS.read_text().split(">")[1:]]
    subjects = [(head.split()[0], body.replace("\n", "")) for head, body in records]
    query = write_fasta(tmp_path / "q.fa", subjects[3:4])
    out = tmp_path / "o.tsv"
    assert run("-Q", query, AMPLICONS, "-n", 25, "--subsequence", "-o", out, "--batch-size", 5000) == 0

    def score(text: str) -> int:
        return LCSseq.similarity(subjects[3][1], text)

    assert all(set(text) <= set("ACGT") for _, text in subjects)
    expected = sorted(((name, score(text)) for name, text in subjects), key=lambda row: -row[1])[:25]
    rows = rows_of(out)
    assert [(row["subject"], int(row["lcs"])) for row in rows] == expected
    texts = dict(subjects)
    for row in rows:
        assert is_subsequence(row["subsequence"].encode(), texts[row["subject"]].encode())
        assert is_subsequence(row["subsequence"].encode(), subjects[3][1].encode())


def test_empty_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = write_fasta(tmp_path / "q.fa", [("q", "ACGT")])
    empty = tmp_path / "empty.fa"
    empty.write_bytes(b"")
    out = tmp_path / "o.tsv"
    assert run("-Q", query, empty, "-o", out) == 0
    assert out.read_text() == "rank\tquery\tsubject\tlcs\tqlen\tslen\tqcov\tscov\n"
    assert run("-Q", query, empty, "-o", out, "--no-header") == 0
    assert out.read_text() == ""
    assert run("-Q", empty, query, "-o", out) == 3
    assert f"{empty}: no query" in capsys.readouterr().err
    nothing = write_fasta(tmp_path / "n.fa", [("q", "")])
    assert run("-Q", nothing, query, "-o", out, "--min-ratio", "0.5") == 0
    assert out.read_text().splitlines()[1] == "1\tq\tq\t0\t0\t4\t*\t0.00"


def test_bad_input_names_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = write_fasta(tmp_path / "q.fa", [("q", "ACGT")])
    bad = tmp_path / "bad.fa"
    bad.write_text(">a\nACGT\n>b\nAC-T\n")
    for extra in ((), ("--fasta",)):
        assert run("-Q", query, bad, *extra) == 3
        assert f"{bad}:4: record 'b': '-' is not a nucleotide" in capsys.readouterr().err
    assert run("-Q", query, bad, "--alphabet", "bytes", "-o", tmp_path / "o.tsv") == 0
    assert run("-Q", query, tmp_path / "missing.fa") == 3
    assert run(query) == 2
    assert run("-Q", query, query, "--strand", "both", "--alphabet", "protein") == 2


def test_standard_input_and_output(dna_files: tuple[Path, Path, str, list[tuple[str, str]]]) -> None:
    query_path, subjects_path, query, subjects = dna_files
    done = subprocess.run(
        program("lcs-filter", "-Q", query_path, "-n", "1", "-"),
        input=subjects_path.read_bytes(),
        capture_output=True,
        check=True,
    )
    name, lcs = ranking(query, subjects)[0]
    assert done.stdout.decode().splitlines()[1].split("\t")[:4] == ["1", "q", name, str(lcs)]
    assert b"60 subjects" in done.stderr


def test_report(dna_files: tuple[Path, Path, str, list[tuple[str, str]]], tmp_path: Path) -> None:
    query_path, subjects_path, _, subjects = dna_files
    report = tmp_path / "r.json"
    assert run("-Q", query_path, subjects_path, "-o", tmp_path / "o.tsv", "--json", report, "--strand", "both") == 0
    fields = json.load(io.StringIO(report.read_text()))
    residues = sum(len(text) for _, text in subjects)
    assert (fields["subjects"], fields["residues"], fields["written"]) == (60, residues, 10)
    assert fields["cells"] == 2 * 130 * residues
    assert fields["command"] == "lcs-filter"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"top": -1}, "top must be 0"),
        ({"min_ratio": 97.0}, "a ratio, not a percentage"),
        ({"min_length": -1}, "min length"),
        ({"invert": True}, "needs a threshold"),
        ({"strand": "minus"}, "strand must be"),
        ({"alphabet": "rna"}, "alphabet must be"),
        ({"whole_records": True, "subsequence": True}, "cannot be used with"),
    ],
)
def test_parameters_name_the_rule(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LcsFilterParams(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("subjects", "message"), [((), "at least one file"), (("-", "-"), "only once")])
def test_files_name_the_rule(subjects: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LcsFilterFiles(subjects, "q.fa")


def test_first_help_line_says_subsequence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    text = capsys.readouterr().out
    assert "longest common subsequence (not substring)" in " ".join(text.split())
    assert "gpualign mems" in text
