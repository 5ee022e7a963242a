"""``gpualign verify`` through its command line, on every backend."""

from __future__ import annotations

import io
import itertools
import json
import re
import sys

import edlib
import pysam
import pytest

from gpualign.cli import main
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import reverse_complement

HEADER = "query\ttarget\tstrand\ttstart\ttend\tqlen\tdistance\tidentity"


def expected(data, rate):
    """(query, target, strand, tstart, tend, distance) by edlib; None where no strand is within the limit."""
    _, targets, queries, rows = data
    out = []
    for name, target, begin, end, strand in rows:
        best = None
        for one in "+-" if strand == "." else strand:
            query = reverse_complement(queries[name]) if one == "-" else queries[name]
            result = edlib.align(query, targets[target][begin:end].replace("N", "x"), mode="HW", task="locations")
            distance, (start, stop) = result["editDistance"], result["locations"][0]
            if distance <= int(rate * len(query) + 1e-9) and (best is None or distance < best[5]):
                best = (name, target, one, begin + start + 1, begin + stop + 1, distance)
        out.append(best)
    return out


def fields_of(text):
    lines = text.splitlines()
    assert lines[0].startswith(HEADER)
    return [line.split("\t") for line in lines[1:]]


def test_tsv_candidates_against_edlib(data, run):
    folder, _, queries, _ = data
    out, err = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-e", 0.12)
    wanted = [row for row in expected(data, 0.12) if row]
    got = fields_of(out)
    assert [(r[0], r[1], r[2], int(r[3]), int(r[4]), int(r[6])) for r in got] == wanted
    for row in got:
        length = len(queries[row[0]])
        span = max(length, int(row[4]) - int(row[3]) + 1)
        assert int(row[5]) == length
        assert float(row[7]) == pytest.approx(100 * (1 - int(row[6]) / span), abs=0.0051)
    assert "120 pairs" in err


def test_all_writes_a_line_for_every_candidate(data, run):
    folder, _, _, rows = data
    out, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-e", 0.1, "--all", "-p")
    got = fields_of(out)
    assert [(row[0], row[1]) for row in got] == [(row[0], row[1]) for row in rows]
    for row, wanted in zip(got, expected(data, 0.1), strict=True):
        if wanted is None:
            assert row[3:] == ["*", "*", row[5], "-1", "*", "*"]
        else:
            assert int(row[6]) == wanted[5]


def test_without_a_limit_every_distance_is_exact(data, run):
    folder, *_ = data
    for limit in ((), ("-k", -1)):
        out, told = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", *limit)
        wanted = expected(data, 1.0)
        assert [(row[0], row[1], int(row[6])) for row in fields_of(out)] == [(row[0], row[1], row[5]) for row in wanted]
        assert max(int(row[6]) / int(row[5]) for row in fields_of(out)) > 0.3
        assert "120 pairs, on " in told


def test_the_alignments_replay(data, run):
    folder, targets, queries, _ = data
    out, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-e", 0.2, "--cigar")
    for name, target, strand, start, end, _, distance, _, cigar in fields_of(out):
        query = reverse_complement(queries[name]) if strand == "-" else queries[name]
        text = targets[target][int(start) - 1 : int(end)]
        i = j = errors = 0
        for length, operation in re.findall(r"(\d+)([=XID])", cigar):
            for _ in range(int(length)):
                if operation in "=X":
                    assert (query[i] == text[j] != "N") == (operation == "=")
                errors += operation != "="
                i += operation != "D"
                j += operation != "I"
        assert (i, j, errors) == (len(query), len(text), int(distance))


def test_bed_is_the_same_as_tsv(data, run):
    folder, *_ = data
    tsv, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv")
    bed, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.bed")
    assert bed == tsv


def test_output_does_not_depend_on_threads_or_batches(data, run, tmp_path):
    folder, *_ = data
    whole, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-t", 1)
    for threads, batch in ((1, 100), (4, 100), (3, 1000)):
        path = tmp_path / f"{threads}-{batch}.tsv"
        run(
            *(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv"),
            *("-t", threads, "--batch-size", batch, "-o", path, "-q"),
        )
        assert path.read_text() == whole


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["infix", "prefix", "global"])
def test_a_gpu_writes_the_same(data, tmp_path, mode):
    folder, *_ = data
    files = (folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv")
    assert same_on_gpu("verify", *files, "-m", mode, "-p", "--all", "-k", 40, output=tmp_path / "rows.tsv")


def test_best_ranks_within_a_query(data, run):
    folder, *_ = data
    out, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-e", 1.0, "--best", 1)
    wanted = {}
    for row in expected(data, 1.0):
        if row and (row[0] not in wanted or row[5] < wanted[row[0]][5]):
            wanted[row[0]] = row
    got = fields_of(out)
    assert [(r[0], int(r[6])) for r in got] == [(name, row[5]) for name, row in wanted.items()]
    for batch in (60, 100, 1000):  # groups never break at a chunk's border
        again, _ = run(
            *(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-e", 1.0, "-n", 1, "--batch-size", batch)
        )
        assert again == out

    two, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-e", 1.0, "-n", 2)
    distances = [(row[0], int(row[6])) for row in fields_of(two)]
    assert len(distances) == 120
    assert all(a[0] != b[0] or a[1] <= b[1] for a, b in itertools.pairwise(distances))


def test_paf_positions_are_widened(data, run, tmp_path):
    """PAF of the middle third of each query: the whole query is found again."""
    folder, targets, queries, _ = data
    wanted = [row for row in expected(data, 0.1) if row and row[5] == 0]
    lines = []
    for name, target, strand, start, end, _ in wanted:
        third = (end - start + 1) // 3
        offset = 1 if strand == "+" else 2
        qstart = third if strand == "+" else len(queries[name]) - (third + third + offset)
        lines.append(
            f"{name}\t{len(queries[name])}\t{qstart}\t{qstart + third + offset}\t{strand}\t{target}\t"
            f"{len(targets[target])}\t{start - 1 + third}\t{start - 1 + 2 * third + offset}\t50\t50\t60\ttp:A:P\n"
        )
    (tmp_path / "c.paf").write_text("".join(lines))
    out, _ = run(folder / "ref.fa", folder / "q.fa", "-c", tmp_path / "c.paf")
    assert [(r[0], r[1], r[2], int(r[3]), int(r[4]), int(r[6])) for r in fields_of(out)] == wanted


def test_alignments_give_their_positions(data, run, tmp_path):
    folder, targets, queries, _ = data
    wanted = [row for row in expected(data, 0.1) if row and row[5] == 0]
    header = pysam.AlignmentHeader.from_references(list(targets), [len(text) for text in targets.values()])
    for path, mode in ((tmp_path / "c.bam", "wb"), (tmp_path / "c.sam", "w")):
        with pysam.AlignmentFile(str(path), mode, header=header) as out:
            for name, target, strand, start, *_ in wanted:
                record = pysam.AlignedSegment(header)
                record.query_name = name
                query = queries[name] if strand == "+" else reverse_complement(queries[name])
                record.query_sequence = query
                record.flag = 16 if strand == "-" else 0
                record.reference_name = target
                record.reference_start = start - 1 + 7
                record.cigarstring = f"7S{len(query) - 12}M5S"
                out.write(record)
            unmapped = pysam.AlignedSegment(header)
            unmapped.query_name, unmapped.query_sequence, unmapped.flag = "q0", "ACGT", 4
            out.write(unmapped)
        text, _ = run(folder / "ref.fa", folder / "q.fa", "-c", path)
        assert [(r[0], r[1], r[2], int(r[3]), int(r[4]), int(r[6])) for r in fields_of(text)] == wanted


def test_candidates_from_standard_input(data, run, monkeypatch):
    folder, *_ = data
    wanted, _ = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv")

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO((folder / "c.tsv").read_bytes()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert run(folder / "ref.fa", folder / "q.fa", "-c", "-")[0] == wanted


def test_records_paired_line_by_line(run, tmp_path):
    (tmp_path / "t.fa").write_text(">a\nTTACGTACGTTT\n>b\n\n>c\nACGT\n")
    (tmp_path / "q.fq").write_text("@x\nACGTACGT\n+\nIIIIIIII\n@y\nAC\n+\nII\n@z\nTTTT\n+\nIIII\n")
    out, _ = run(tmp_path / "t.fa", tmp_path / "q.fq", "-k", -1, "--all", "-p")
    assert fields_of(out) == [
        ["x", "a", "+", "3", "10", "8", "0", "100.00", "8="],
        ["y", "b", "+", "1", "0", "2", "2", "0.00", "2I"],
        ["z", "c", "+", "1", "4", "4", "3", "25.00", "3X1="],
    ]
    out, _ = run(tmp_path / "t.fa", tmp_path / "q.fq", "-k", 4, "-m", "global", "--strand", "both")
    assert fields_of(out) == [
        ["x", "a", "+", "1", "12", "8", "4", "66.67"],
        ["y", "b", "+", "1", "0", "2", "2", "0.00"],
        ["z", "c", "+", "1", "4", "4", "3", "25.00"],
    ]


def test_uneven_records_are_refused(run, tmp_path):
    (tmp_path / "t.fa").write_text(">a\nACGT\n")
    (tmp_path / "q.fa").write_text(">x\nACGT\n>y\nACGT\n")
    _, err = run(tmp_path / "t.fa", tmp_path / "q.fa", expect=3)
    assert "2 queries but 1 target in" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q0\tchr9\t1\t50\t+", "c.tsv:2: no target is named 'chr9'"),
        ("nobody\tchr1\t1\t50\t+", "c.tsv:2: no query is named 'nobody'"),
        ("q0\tchr1\t0\t50\t+", "c.tsv:2: start is 0"),
        ("q0\tchr1\tx\t50\t+", "c.tsv:2: start is not a number: 'x'"),
        ("q0\tchr1\t50\t1\t+", "c.tsv:2: the end lies before the start"),
        ("q0\tchr1\t5\t10\t?", "c.tsv:2: strand is '?'"),
        ("q0\tchr1", "c.tsv:2: 2 columns"),
    ],
)
def test_bad_candidates_are_named(data, run, tmp_path, line, message):
    folder, *_ = data
    (tmp_path / "c.tsv").write_text(f"q1\tchr1\t1\t50\t+\n{line}\n")
    _, err = run(folder / "ref.fa", folder / "q.fa", "-c", tmp_path / "c.tsv", expect=3)
    assert message in err


def test_odd_candidate_files(data, run, tmp_path):
    folder, *_ = data
    path = tmp_path / "c.txt"
    path.write_text("")
    out, err = run(folder / "ref.fa", folder / "q.fa", "-c", path)
    assert out == HEADER + "\n"
    assert "no candidates" in err
    path.write_text("this is not a candidate file\n")
    assert "c.txt:1: neither TSV" in run(folder / "ref.fa", folder / "q.fa", "-c", path, expect=3)[1]
    path.write_bytes(
        b"query\ttarget\tstart\tend\tstrand\r\n# remark\r\n\r\nq1\tchr2\t1\t99999\t.\r\nq1\tchr2\t5000\t6000\t+"
    )
    out, err = run(folder / "ref.fa", folder / "q.fa", "-c", path, "--all", "--no-header")
    assert out.count("\n") == 2
    assert "2 regions reached beyond the target's end: clipped" in err


def test_queries_must_have_names_of_their_own(data, run, tmp_path):
    folder, *_ = data
    (tmp_path / "q.fa").write_text(">a\nACGT\n>a\nACGT\n")
    (tmp_path / "c.tsv").write_text("a\tchr1\t1\t50\t+\n")
    _, err = run(folder / "ref.fa", tmp_path / "q.fa", "-c", tmp_path / "c.tsv", expect=3)
    assert "two queries are named 'a' (candidates go by name; rename one, mates to .../1 and .../2)" in err


def write_reads(path, rows):
    """Name, flags and bases of each record."""
    with pysam.AlignmentFile(str(path), "wb" if path.suffix == ".bam" else "w", header={"HD": {"VN": "1.6"}}) as out:
        for name, flag, bases in rows:
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag, record.query_sequence = name, flag, bases
            out.write(record)


@pytest.mark.parametrize("form", ["sam", "bam"])
def test_queries_of_sam_and_bam(data, run, tmp_path, form):
    """As FASTA gives them, in whatever direction a record has them; further records of a query are left out."""
    folder, _, queries, _ = data
    rows = [(name, 4, query) for name, query in queries.items()]
    rows[1] = (rows[1][0], 16 | 4, reverse_complement(rows[1][2]))
    rows[3:3] = [("q2", 0x100, "ACGT"), ("q2", 0x800, "ACGT")]
    reads = tmp_path / f"q.{form}"
    write_reads(reads, rows)
    for further in (("-c", folder / "c.tsv"), ("-c", folder / "c.bed", "-p")):
        assert run(folder / "ref.fa", reads, *further)[0] == run(folder / "ref.fa", folder / "q.fa", *further)[0]
    (tmp_path / "t.fa").write_text("".join(f">t{name}\n{query}\n" for name, query in queries.items()))
    by_line = run(tmp_path / "t.fa", reads, "--batch-size", "300")[0]
    assert by_line == run(tmp_path / "t.fa", folder / "q.fa")[0]
    assert by_line.count("\n") > 50


def test_mates_of_one_name(data, run, tmp_path):
    """Ends of pairs are x/1 and x/2 where they come from SAM or BAM, and candidates find them by their flags."""
    folder, targets, *_ = data
    text = targets["chr2"]
    ends = [text[100:160], text[300:360]]
    write_reads(tmp_path / "q.bam", [("x", 77, ends[0]), ("x", 141, ends[1])])
    (tmp_path / "q.fa").write_text(f">x/1\n{ends[0]}\n>x/2\n{ends[1]}\n")
    (tmp_path / "c.sam").write_text(
        f"@SQ\tSN:chr2\tLN:{len(text)}\n"
        "x\t65\tchr2\t101\t60\t60M\t=\t301\t0\t*\t*\n"
        "x\t129\tchr2\t301\t60\t60M\t=\t101\t0\t*\t*\n"
    )
    for queries in ("q.bam", "q.fa"):
        out, _ = run(folder / "ref.fa", tmp_path / queries, "-c", tmp_path / "c.sam", "--no-header")
        assert out == "x/1\tchr2\t+\t101\t160\t60\t0\t100.00\nx/2\tchr2\t+\t301\t360\t60\t0\t100.00\n"
    (tmp_path / "y.fa").write_text(">y\nACGT\n")
    _, err = run(folder / "ref.fa", tmp_path / "y.fa", "-c", tmp_path / "c.sam", expect=3)
    assert "no query is named 'x', 'x/1' or 'x/2'" in err


@pytest.mark.parametrize(
    "arguments",
    [("-k", "-2"), ("-e", "5"), ("-e", "-0.1"), ("-n", "0"), ("-n", "1", "-a"), ("-m", "local"), ("--strand", "left")],
)
def test_bad_parameters_exit_2(data, run, arguments):
    folder, *_ = data
    run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", *arguments, expect=2)


def test_a_limit_that_is_too_large_is_told_the_largest(data, run):
    folder, *_ = data
    _, err = run(folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-k", "99999999999", expect=2)
    assert "max errors (-1: no limit) must be from -1 to 2,147,483,646, not 99,999,999,999" in err


def test_the_report(data, run, tmp_path):
    folder, *_ = data
    files = folder / "ref.fa", folder / "q.fa", "-c", folder / "c.tsv", "-o", tmp_path / "o"
    _, told = run(*files, "-e", 0.1, "--json", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["command"] == "verify"
    assert report["candidates"] == 120
    within = len([row for row in expected(data, 0.1) if row])
    assert report["hits"] == within
    assert f"120 pairs, {within} within the limit, on " in told
    assert report["cells"] > 0
    assert report["device"]


def test_cuda_without_a_device_exits_4(data, capsys, monkeypatch):
    from gpualign.errors import DeviceError
    from gpualign.run.gpu import device as device_module

    def missing():
        raise DeviceError("PyCUDA is not installed (pip install 'gpualign[cuda]')")

    monkeypatch.setattr(device_module, "load_driver", missing)
    folder, *_ = data
    with pytest.raises(SystemExit) as exit_:
        main(["verify", str(folder / "ref.fa"), str(folder / "q.fa"), "-c", str(folder / "c.tsv"), "--device", "cuda"])
    assert exit_.value.code == 4
    assert "PyCUDA is not installed" in capsys.readouterr().err
