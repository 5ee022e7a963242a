"""`gpualign search`: inputs of all kinds, forms of output, files for each pattern, reports and messages."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from tests.helpers.bad_bytes import bam as bam_of
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sequences import reverse_complement

RNG = random.Random(1)
GENOME = ["".join(RNG.choices("ACGT", k=size)) for size in (4000, 900)]
GUIDE = GENOME[0][1200:1220]
OTHER = reverse_complement(GENOME[1][300:324])


@pytest.fixture
def genome(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "genome.fa", GENOME)


def rows(out: bytes) -> list[list[str]]:
    return [line.split("\t") for line in out.decode().splitlines()]


def test_a_table(cli, genome: Path) -> None:
    status, out, errors = cli("search", "-P", f"{GUIDE},{OTHER.lower()}", genome, "-k", "1", "-p")
    assert status == 0
    assert rows(out) == [
        ["pattern", "target", "strand", "tstart", "tend", "plen", "distance", "cigar", "matched"],
        [GUIDE, "s0", "+", "1201", "1220", "20", "0", "20=", GUIDE],
        [OTHER.lower(), "s1", "-", "301", "324", "24", "0", "24=", OTHER],
    ]
    assert "2 patterns, 2 targets, 2 hits, on cpu" in errors


def test_patterns_of_all_kinds(cli, genome: Path, tmp_path: Path) -> None:
    kinds = {
        "fasta": f">guide more\n{GUIDE[:9]}\n{GUIDE[9:]}\n",
        "fastq": f"@guide\n{GUIDE}\n+\n{'I' * 20}\n",
        "table": f"# name, pattern\nguide\t{GUIDE}\n\n",
        "lines": f"{GUIDE}\r\n",
    }
    for kind, text in kinds.items():
        path = tmp_path / f"{kind}.gz"
        path.write_bytes(gzip.compress(text.encode()))
        status, out, errors = cli("search", path, genome, "-k", "0", "--no-header")
        assert status == 0, errors
        name = GUIDE if kind == "lines" else "guide"
        assert rows(out) == [[name, "s0", "+", "1201", "1220", "20", "0"]]


def test_an_index_and_alignments_have_the_same_hits(cli, genome: Path, tmp_path: Path) -> None:
    index, bam = tmp_path / "genome.gpi", tmp_path / "reads.bam"
    assert cli("index", genome, "-d", index)[0] == 0
    bam.write_bytes(bam_of([(f"s{i}", text, "I" * len(text)) for i, text in enumerate(GENOME)]))
    patterns = ("-P", f"{GUIDE[:12]},{OTHER}", "-k", "3", "-p")
    tables = [cli("search", *patterns, targets, "--batch-size", "300")[1] for targets in (genome, index, bam)]
    assert tables[0] == tables[1] == tables[2]
    assert tables[0].count(b"\n") > 5


def test_bed_and_paf(cli, genome: Path) -> None:
    changed = OTHER[:6] + OTHER[7:]
    found = ("search", "-P", changed, genome, "-k", "2", "--batch-size", "100")
    assert rows(cli(*found, "--bed")[1]) == [["s1", "300", "324", changed, "1", "-"]]
    (row,) = rows(cli(*found, "--paf")[1])
    assert row[:12] == [changed, "23", "0", "23", "-", "s1", "900", "300", "324", "23", "24", "255"]
    assert row[12] == "NM:i:1"
    assert row[13].startswith("cg:Z:")
    assert row[13].endswith("=")


def test_a_file_for_each_pattern(cli, tmp_path: Path) -> None:
    barcodes = write_fasta(tmp_path / "codes.fa", one="ACGTACGTACGT", two="TTGGCCAATTGG")
    records = [(f"r{i} comment", bases, "I" * len(bases)) for i, bases in enumerate(_reads())]
    reads = write_fastq(tmp_path / "reads.fq", *records)
    arguments = ("search", barcodes, reads, "-k", "2", "--best-per-target", "--split", tmp_path / "split")
    status, out, errors = cli(*arguments, "--batch-size", "50", "--no-header")
    assert status == 0, errors
    assert [(row[1], row[0]) for row in rows(out)] == [("r0", "one"), ("r1", "two"), ("r3", "two")]
    written = {path.name: path.read_text() for path in (tmp_path / "split").iterdir()}
    texts = ["@{}\n{}\n+\n{}\n".format(*record) for record in records]
    assert written == {"one.fastq": texts[0], "two.fastq": texts[1] + texts[3], "unassigned.fastq": texts[2]}


def _reads() -> list[str]:
    return ["GGACGTACGTACGT" + "C" * 20, "TTGGCCAATTGG" + "A" * 20, "C" * 30, "G" * 20 + "CCAATTGGCCAA"]


def test_the_report_and_the_picture(cli, genome: Path, tmp_path: Path) -> None:
    report, picture = tmp_path / "report.json", tmp_path / "hits.svg"
    status, _, errors = cli("search", "-P", GUIDE, genome, "-k", "3", "--json", report, "--plot", picture)
    assert status == 0, errors
    fields = json.loads(report.read_text())
    assert (fields["patterns"], fields["targets"], fields["symbols"]) == (1, 2, 4900)
    assert fields["hits_by_distance"] == {GUIDE: [1, 0, 0, fields["hits"] - 1]}
    assert GUIDE in picture.read_text()


def test_counts_of_each_pattern(cli, tmp_path: Path) -> None:
    """Of all patterns, in their order; in the report those of one name together."""
    text = "CC" + GUIDE + "TTTT" + GUIDE[:10] + GUIDE[11:] + "CC"
    targets = write_fasta(tmp_path / "t.fa", [text, "ACGT" * 9])
    patterns = write_fasta(tmp_path / "p.fa", [("b", GUIDE), ("none", "G" * 20), ("b", GUIDE[:12])])
    counts, report = tmp_path / "counts.tsv", tmp_path / "report.json"
    words = ("search", patterns, targets, "-k", "1", "--strand", "plus", "--counts", counts, "--json", report)
    status, _, errors = cli(*words)
    assert status == 0, errors
    assert rows(counts.read_bytes()) == [
        ["pattern", "hits", "d0", "d1"],
        ["b", "2", "1", "1"],
        ["none", "0", "0", "0"],
        ["b", "2", "1", "1"],
    ]
    assert json.loads(report.read_text())["hits_by_distance"] == {"b": [2, 2]}


def test_counts_are_of_loci(cli, genome: Path, tmp_path: Path) -> None:
    """With --counts a table has the sites that are counted, without it every hit."""
    words = ("search", "-P", GUIDE, genome, "-k", "3", "--strand", "plus", "--hits", "all", "--no-header")
    every = rows(cli(*words)[1])
    assert len([row for row in every if 1180 < int(row[3]) < 1221]) > 1
    counts = tmp_path / "counts.tsv"
    merged = rows(cli(*words, "--counts", counts)[1])
    assert merged == rows(cli(*words, "--merge")[1])
    assert [row[3:7] for row in merged if 1180 < int(row[3]) < 1221] == [["1201", "1220", "20", "0"]]
    assert rows(counts.read_bytes())[1][:3] == [GUIDE, str(len(merged)), "1"]
    assert rows(cli(*words, "--no-merge", "--counts", counts)[1]) == every
    assert rows(counts.read_bytes())[1][1] == str(len(every))


def test_no_header_where_a_file_is_missing(cli, genome: Path) -> None:
    status, out, errors = cli("search", "-P", "ACGT", genome, "missing.fa", "-k", "1")
    assert (status, out) == (3, b"")
    assert "missing.fa: No such file or directory" in errors


@pytest.mark.parametrize("size", ["200", "1M"])
def test_a_target_in_parts_counts_once(cli, tmp_path: Path, size: str) -> None:
    report, text = tmp_path / "report.json", "".join(RNG.choices("ACGT", k=100_000))
    targets = write_fasta(tmp_path / "t.fa", [text, "ACGT"])
    words = ("search", "-P", f"{text[100:130]},{text[90_000:90_030]}", targets, "-k", "0", "--json", report)
    assert cli(*words, "--batch-size", size)[0] == 0
    fields = json.loads(report.read_text())
    assert (fields["hits"], fields["targets"], fields["targets_with_hits"]) == (2, 2, 1)


def test_empty_targets(cli, tmp_path: Path) -> None:
    empty = write_fasta(tmp_path / "empty.fa", ["", "A"])
    status, out, _ = cli("search", "-P", "ACGT", empty, "-k", "1")
    assert (status, out.count(b"\n")) == (0, 1)
    (tmp_path / "none.fa").write_text("")
    status, out, errors = cli("search", "-P", "ACGT", tmp_path / "none.fa", "-k", "1")
    assert (status, out.count(b"\n")) == (0, 1)
    assert "there are no targets" in errors


def test_lines_that_are_no_patterns(cli, genome: Path, tmp_path: Path) -> None:
    """The message says what a line has."""
    for line in ("guide ACGTACGT", "ACGT,guide", "name\tsequence"):
        (tmp_path / "p.txt").write_text(f"ACGT\n{line}\n")
        status, out, errors = cli("search", tmp_path / "p.txt", genome, "-k", "1")
        assert (status, out) == (3, b"")
        assert "p.txt:2: " in errors
        assert "a line is a pattern, or a name, a tab and a pattern" in errors
    assert cli("search", "-P", f"{GUIDE}, {OTHER}", genome, "-k", "0")[1].count(b"\n") == 3


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        (["-k", "1", "{genome}"], 2, "name a file of patterns"),
        (["-P", "ACGT", "{genome}"], 2, "give the most errors"),
        (["-P", "ACGT", "{genome}", "-k", "1", "--split", "x"], 2, "needs --best-per-target"),
        (["-P", "ACGT,,A", "{genome}", "-k", "1"], 3, "pattern 2: it has no sequence"),
        (["-P", "AC!T", "{genome}", "-k", "1"], 3, "not a nucleotide code"),
        (["-P", "ACGT", "{genome}", "-k", "1", "--mismatches-only", "--max-bulges", "1"], 2, "allows no bulges"),
        (["-P", "AC,AC", "{genome}", "-k", "1", "--best-per-target", "--split", "x"], 2, "two patterns have one name"),
        (["-P", "ACGT", "{genome}", "-k", "1", "--bed", "-o", "x.parquet"], 2, "--bed is text"),
        (["-P", "ACGT", "{genome}", "-k", "1", "--plot", "x.gif"], 2, "png or .svg"),
        (["-P", "MKV", "{genome}", "-k", "0", "--alphabet", "protein", "--pam", "NGG"], 2, "a PAM is of dna"),
        (["-P", "ACGT", "{genome}", "-k", "1", "--bed", "--paf"], 2, "two formats of one output"),
        (["-P", "ACGT", "{genome}", "-k", "1", "--margin", "2"], 2, "it needs --best-per-target"),
        (["-P", "ACGT", "{genome}", "-k", "1", "--overhang-cost", "1"], 2, "it needs --ends free"),
    ],
)
def test_what_is_wrong(cli, genome: Path, words: list[str], status: int, what: str) -> None:
    code, _, errors = cli("search", *(word.format(genome=genome) for word in words))
    assert (code, what in errors) == (status, True), errors
