"""The Python API against naive oracles and independent libraries, and its doctests."""

from __future__ import annotations

import doctest
import importlib
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import edlib
import numpy as np
import parasail
import pysam
import pytest

import gpualign
from gpualign.cli import main
from tests.helpers.paths import EXAMPLES
from tests.helpers.sequences import reverse_complement
from tests.reference.gapsmis import recurrence
from tests.reference.lcs import lcs_length

MODULES = ["gpualign", *sorted({*gpualign._HOMES.values(), "gpualign.pairwise.bounded_gaps.api"} - {"gpualign.errors"})]


def sequences(count: int, length: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("ACGT", k=rng.randint(1, length))) for _ in range(count)]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    assert result.attempted > 0 or name == "gpualign.reads.in_memory"


def test_import_is_light() -> None:
    """Neither NumPy nor the native code before the first call, and every public name is there."""
    code = (
        "import sys, gpualign; heavy = {'numpy', 'click', 'gpualign._native'} & set(sys.modules);"
        "assert not heavy, heavy; assert {'verify', 'pairwise', 'lcs_filter'} <= set(dir(gpualign))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_public_names_exist() -> None:
    for name in gpualign._HOMES:
        assert getattr(gpualign, name).__doc__
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = gpualign.no_such_name
    assert (Path(gpualign.__file__).parent / "py.typed").exists()


def test_verify_against_edlib() -> None:
    queries, targets = sequences(60, 40, 1), sequences(60, 90, 2)
    rows = gpualign.verify(queries, targets, max_errors=-1, cigar=True)
    for query, target, row in zip(queries, targets, rows, strict=True):
        expected = edlib.align(query, target, mode="HW", task="locations")
        assert row["distance"] == expected["editDistance"]
        assert row["end"] - 1 == expected["locations"][0][1]
        assert edlib.align(query, target[row["start"] : row["end"]])["editDistance"] == row["distance"]
        assert row["cigar"]


def test_verify_candidates_keep_their_order() -> None:
    rows = gpualign.verify(
        ["ACGT", "TTTT"],
        ["ACGTAAAA", "CC"],
        [[1, 0, 4, 8], [0, 0, 0, 99], [0, 1, 0, 2]],
        strand="both",
        error_rate=0.1,
    )
    assert rows["distance"].tolist() == [0, 0, None]
    assert rows["strand"].tolist() == ["-", "+", None]
    assert rows["start"].tolist() == [4, 0, None]


def test_verify_refuses() -> None:
    with pytest.raises(gpualign.UsageError, match="no query 1"):
        gpualign.verify(["A"], ["A"], [[1, 0, 0, 1]])
    with pytest.raises(gpualign.UsageError, match="2 queries but 1 target "):
        gpualign.verify(["A", "C"], ["A"])
    with pytest.raises(gpualign.InputError, match="sequence 1: '!' is not a nucleotide"):
        gpualign.verify(["A", "C!"], ["A", "A"])


@pytest.mark.parametrize("empty", [[], iter(())])
def test_nothing_gives_nothing(empty: list[str]) -> None:
    assert len(gpualign.verify(empty, [])) == 0
    assert len(gpualign.pairwise([])) == 0
    assert len(gpualign.lcs_filter("ACGT", [])) == 0
    assert len(gpualign.find_mems(["ACGT"], [], 3)) == len(gpualign.Mapper(["ACGT" * 9]).map([])) == 0


def test_pairwise_against_parasail() -> None:
    first, second = sequences(8, 50, 3), sequences(9, 50, 4)
    rows = gpualign.pairwise(first, second, gap_open=6, gap_extend=2, match=3, mismatch=-4)
    assert rows[["query", "target"]].tolist() == [(i, j) for i in range(8) for j in range(9)]
    matrix = parasail.matrix_create("ACGT", 3, -4)
    for row in rows:
        query, target = first[row["query"]], second[row["target"]]
        assert row["score"] == parasail.nw(query, target, 6, 2, matrix).score
        assert row["matches"] + row["mismatches"] + row["gaps"] == row["alnlen"]
        assert (row["qend"], row["tend"]) == (len(query), len(target))


def test_pairwise_list_and_blocks() -> None:
    texts = sequences(6, 30, 5)
    listed = [[4, 1], [0, 5], [4, 1]]
    rows = gpualign.pairwise(texts, pairs=listed, score_only=True)
    assert rows[["query", "target"]].tolist() == [tuple(pair) for pair in listed]
    parts = np.concatenate(list(gpualign.iter_pairwise(texts, include_self=True)))
    assert len(parts) == 21
    with pytest.raises(gpualign.UsageError, match="no target 6"):
        gpualign.pairwise(texts, pairs=[[0, 6]])


def test_bounded_gaps_against_the_recurrence(tmp_path: Path) -> None:
    patterns, texts = sequences(6, 25, 8), sequences(7, 30, 9)
    cost = {"match": 3, "mismatch": -4, "gap_open": 5, "gap_extend": 2}
    rows = gpualign.pairwise(patterns, texts, max_gaps=2, mode="semi-global", **cost)
    assert rows[["query", "target"]].tolist() == [(i, j) for i in range(6) for j in range(7)]
    for row in rows:
        pattern, text = patterns[row["query"]], texts[row["target"]]
        answer = recurrence(pattern, text, 2, lambda a, b: 3 if a == b else -4, 5, 2, "text-end")
        assert answer == (row["score"], row["gapopens"], row["tend"])
        lengths = [(int(length), kind) for length, kind in re.findall(r"(\d+)([MID])", row["cigar"])]
        assert sum(length for length, kind in lengths if kind in "MI") == len(pattern)
        assert sum(length for length, kind in lengths if kind in "MD") == row["tend"] - row["tstart"]
        assert sum(length for length, kind in lengths if kind in "ID") == row["gaps"]
    best = gpualign.pairwise(patterns, texts, max_gaps=2, mode="semi-global", best=True, score_only=True, **cost)
    assert best["score"].tolist() == [rows["score"][rows["query"] == i].max() for i in range(6)]
    with pytest.raises(gpualign.UsageError, match="--id cannot be used with --max-gaps"):
        gpualign.pairwise(patterns, texts, max_gaps=2, identity=0.9)


def test_names_that_end_lines_of_text(tmp_path: Path) -> None:
    """U+0085 as Latin-1, which str.splitlines takes for a line's end."""
    path = tmp_path / "a.fa"
    path.write_bytes(b">a\x85b\nACGT\n>b\x1cc\nACGA\n")
    assert gpualign.pairwise(path, path, max_gaps=0)["cigar"].tolist() == ["4M"] * 4
    assert gpualign.verify(path, path, cigar=True)["cigar"].tolist() == ["4=", "4="]


def test_lcs_filter_against_the_plain_recurrence() -> None:
    query, subjects = sequences(1, 80, 6)[0], sequences(40, 80, 7)
    rows = gpualign.lcs_filter(query, subjects, top=0, subsequence=True)
    expected = [lcs_length(query.encode(), subject.encode()) for subject in subjects]
    order = sorted(range(len(subjects)), key=lambda i: (-expected[i], i))
    assert rows["subject"].tolist() == order
    assert rows["lcs"].tolist() == [expected[i] for i in order]
    for row in rows:
        rest = iter(subjects[row["subject"]])
        assert all(symbol in rest for symbol in row["subsequence"].decode())


@pytest.mark.parametrize("text", ["naïve", "配列アラインメント", b"na\xc3\xafve", b"\xff\x00"])
def test_bytes_are_those_of_the_command(tmp_path: Path, text: str | bytes) -> None:
    """Text is UTF-8, as in a file."""
    raw = text.encode() if isinstance(text, str) else text
    (row,) = gpualign.lcs_filter(text, [text], alphabet="bytes", subsequence=True).tolist()
    assert row == (0, len(raw), len(raw), "+", raw, "0")
    (tmp_path / "x.txt").write_bytes(raw)
    arguments = ["--lines", "-Q", tmp_path / "x.txt", tmp_path / "x.txt", "--no-header", "-o", tmp_path / "out"]
    with pytest.raises(SystemExit, match="0"):
        main(["lcs-filter", "--device", "cpu", "-q", *map(str, arguments)])
    assert (tmp_path / "out").read_text("latin-1").split("\t")[3:6] == [str(len(raw))] * 3


@pytest.mark.parametrize("call", ["verify", "pairwise", "lcs_filter", "find_mems"])
def test_symbols_other_than_nucleotides(call: str) -> None:
    arguments = ("ACGT", ["AC酵"]) if call == "lcs_filter" else (["ACGT"], ["AC酵"])
    with pytest.raises(gpualign.InputError, match="sequence 0: '酵' is not a nucleotide"):
        getattr(gpualign, call)(*arguments)


def test_proteins_are_told_what_they_want() -> None:
    with pytest.raises(
        gpualign.InputError, match=r"'L' is not a nucleotide \(proteins need matrix, such as BLOSUM62\)"
    ):
        gpualign.pairwise(["MKLV"], ["MKLV"])
    with pytest.raises(gpualign.InputError, match=r"\(proteins need alphabet=\"protein\"\)"):
        gpualign.lcs_filter("MKLV", ["MKLV"])


def test_files_and_batches_are_sequences(tmp_path: Path) -> None:
    path = tmp_path / "two.fa"
    path.write_text(">a\nacgu\n>b x\nACGA\n")
    batch = gpualign.read_sequences(path)
    assert [batch.name(i) for i in range(2)] == ["a", "b"]
    for given in (path, str(path), batch, ["ACGT", b"ACGA"]):
        assert gpualign.pairwise(given, identity=0.7)["identity"].tolist() == [0.75]


@pytest.mark.parametrize("kind", ["maxmatch", "mumreference", "mum"])
def test_find_mems_against_brute_force(kind: str) -> None:
    rng = random.Random(8)
    reference = ["".join(rng.choices("ACG", k=60)) for _ in range(2)]
    queries = ["".join(rng.choices("ACG", k=40)) for _ in range(5)]
    rows = gpualign.find_mems(reference, iter(queries), 4, kind=kind, strands="both")
    expected = []
    for number, query in enumerate(queries):
        for strand, text in (("+", query), ("-", reverse_complement(query))):
            for start, contig, locus, length in mems_of(text, reference, 4):
                string = text[start : start + length]
                if kind != "maxmatch" and sum(occurrences(string, contig) for contig in reference) > 1:
                    continue
                if kind == "mum" and occurrences(string, text) > 1:
                    continue
                forward = start if strand == "+" else len(text) - start - length
                expected.append((number, strand, forward, contig, locus, length, str(number), str(contig)))
    assert sorted(rows.tolist()) == sorted(expected)


def mems_of(query: str, reference: list[str], minimum: int) -> list[tuple[int, int, int, int]]:
    """(start, contig, position, length) of every maximal exact match, base by base."""
    found = []
    for contig, text in enumerate(reference):
        for i in range(len(query)):
            for j in range(len(text)):
                if query[i] != text[j] or (i and j and query[i - 1] == text[j - 1]):
                    continue
                length = 0
                while i + length < len(query) and j + length < len(text) and query[i + length] == text[j + length]:
                    length += 1
                if length >= minimum:
                    found.append((i, contig, j, length))
    return found


def occurrences(string: str, text: str) -> int:
    return sum(text.startswith(string, locus) for locus in range(len(text)))


def test_mapper_says_what_the_command_says(tmp_path: Path) -> None:
    """Reads in memory, from a file and from an iterator give the records that map writes."""
    reads, out = tmp_path / "reads.fa", tmp_path / "out.sam"
    genomes = gpualign.read_sequences(EXAMPLES / "genomes.fa")
    rng = random.Random(9)
    texts = []
    for i in range(200):
        contig = genomes.sequence(i % len(genomes)).decode()
        start = rng.randrange(len(contig) - 100)
        read = list(contig[start : start + 100])
        read[rng.randrange(100)] = rng.choice("ACGT")
        texts.append("".join(read))
    reads.write_text("".join(f">{i}\n{text}\n" for i, text in enumerate(texts)))
    with pytest.raises(SystemExit):
        main(["map", "-q", "--device", "cpu", str(EXAMPLES / "genomes.fa"), str(reads), "-o", str(out)])
    lines = [line.split("\t") for line in out.read_text().splitlines() if line[0] != "@"]
    mapper = gpualign.Mapper(EXAMPLES / "genomes.fa")
    rows = mapper.map(gpualign.read_sequences(reads))  # names decide between equally good alignments
    assert [mapper.names[contig] for contig in rows["contig"]] == [line[2] for line in lines]
    assert (rows["position"] + 1).tolist() == [int(line[3]) for line in lines]
    assert rows["cigar"].tolist() == [line[5] for line in lines]
    assert rows["mapq"].tolist() == [int(line[4]) for line in lines]
    assert rows.tolist() == mapper.map(str(reads)).tolist()
    assert mapper.map(texts).tolist() == np.concatenate(list(mapper.iter_map(iter(texts)))).tolist()


def test_mapper_pairs(tmp_path: Path) -> None:
    contig = gpualign.read_sequences(EXAMPLES / "genomes.fa").sequence(0).decode()
    starts = range(100, 8000, 400)
    first = [contig[start : start + 80] for start in starts]
    second = [reverse_complement(contig[start + 220 : start + 300]) for start in starts]
    paths = [tmp_path / "1.fa", tmp_path / "2.fa"]
    for path, texts in zip(paths, (first, second), strict=True):
        path.write_text("".join(f">{i}\n{text}\n" for i, text in enumerate(texts)))
    mapper = gpualign.Mapper([contig], insert_size="300,20")
    rows = mapper.map(first, second)
    assert rows["read"].tolist() == list(range(2 * len(first)))
    assert (rows["flag"] & 2).all()
    assert rows["position"][::2].tolist() == list(starts)
    assert rows["position"][1::2].tolist() == [start + 220 for start in starts]
    assert rows.tolist() == mapper.map(*paths).tolist()
    with pytest.raises(gpualign.UsageError, match="20 reads but 19 mates"):
        mapper.map(first, second[:-1])
    with pytest.raises(gpualign.UsageError, match="long reads have no pairs"):
        gpualign.Mapper([contig], "ont").map(first, second)


def test_long_reads_map_by_chaining() -> None:
    contig = gpualign.read_sequences(EXAMPLES / "genomes.fa").sequence(0).decode()
    rows = gpualign.Mapper([contig], "hifi").map([contig[1000:6000]])
    assert rows[["read", "flag", "position", "cigar"]].tolist() == [(0, 0, 1000, "5000M")]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (b"ACGT", "bytes are one sequence: give a list of sequences"),
        (bytearray(b"ACGT"), "bytes are one sequence: give a list of sequences"),
        ([None], "sequence 0 is NoneType, not str or bytes"),
        (["ACGT", 5], "sequence 1 is int, not str or bytes"),
        ((text for text in ("ACGT", ["ACGT"])), "sequence 1 is list, not str or bytes"),
        (7, "sequences are a path, a batch or a list of str or bytes, not int"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda given: gpualign.Mapper(given),
        lambda given: gpualign.verify(given, ["ACGT"]),
        lambda given: gpualign.verify(["ACGT"], given),
        lambda given: gpualign.pairwise(given),
        lambda given: gpualign.pairwise(["ACGT"], given, max_gaps=1),
        lambda given: gpualign.lcs_filter("ACGT", given),
        lambda given: gpualign.find_mems(["ACGTTGCATTAGGCTAACCGTATTCGAGTCC"], given),
        lambda given: gpualign.find_mems(given, ["ACGT"]),
    ],
)
def test_what_is_no_sequence(call: Callable[[object], object], given: object, what: str) -> None:
    if isinstance(given, Iterator):  # each call takes one of its own
        given = iter(["ACGT", ["ACGT"]])
    with pytest.raises(gpualign.UsageError, match=re.escape(what)):
        call(given)


def test_bytes_are_as_good_as_text() -> None:
    texts = ["GATTACAGATTACA", "ACGT"]
    for given in ([text.encode() for text in texts], [bytearray(text.encode()) for text in texts]):
        assert gpualign.pairwise(given).tolist() == gpualign.pairwise(texts).tolist()
        assert gpualign.lcs_filter(texts[0].encode(), given).tolist() == gpualign.lcs_filter(texts[0], texts).tolist()


def test_sequences_of_a_bam_file(tmp_path: Path) -> None:
    texts = sequences(20, 60, 4)
    with pysam.AlignmentFile(str(tmp_path / "s.bam"), "wb", header={"HD": {"VN": "1.6"}}) as out:
        for i, text in enumerate(texts):
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag, record.query_sequence = f"s{i}", 4, text
            out.write(record)
    read = gpualign.read_sequences(tmp_path / "s.bam")
    assert [read.sequence(i).decode() for i in range(len(read))] == texts
    assert (gpualign.verify(tmp_path / "s.bam", texts)["distance"] == 0).all()
