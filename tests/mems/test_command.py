"""`gpualign mems` through its command line: MUMmer's output, options, saved indexes, bad input."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import sys
from pathlib import Path

import pysam
import pytest

from gpualign.cli import main
from tests.helpers.paths import EXAMPLES, TESTS

GOLDEN = TESTS / "data" / "mems"

REF = ">r1 first\nACGTACGTTGCATTTTNNNNNNNNACGATCGATTACG\n>ref_two\nttttacgatcgattacgggrrrryyyycc\n"
QUERY = ">q1 x\nacgatcgattacgnnnnnnnnnnACGTACGTTGCAT\n>empty\n\n>q3\nTTACGggrrrryyyyccAAAACGTAATCGATCGTAAAA\n"


def run(*arguments: str | Path, quiet: str = "-q") -> int:
    with pytest.raises(SystemExit) as caught:
        main(["mems", "--device", "cpu", *map(str, arguments), *quiet.split()])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def output(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert run(*arguments) == 0
    return capfd.readouterr().out


def blocks(text: str) -> list[tuple[str, list[str]]]:
    """Headers in order, with the sorted matches (and their strings) of each."""
    result: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(">"):
            result.append((line, []))
        elif line[:1] == " " or line[:1].isdigit():
            result[-1][1].append(line)
        else:
            result[-1][1][-1] += "\n" + line
    return [(header, sorted(lines)) for header, lines in result]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mems")
    records = (EXAMPLES / "genomes.fa").read_text().split(">")[1:]
    for number, record in enumerate(records, 1):
        (folder / f"{number}.fa").write_text(">" + record)
    (folder / "genomes.fa").write_text((EXAMPLES / "genomes.fa").read_text())
    with gzip.open(EXAMPLES / "SRR059298_25k.fastq.gz", "rt") as fastq:
        lines = list(itertools.islice(fastq, 320))
    (folder / "reads.fq").write_text("".join(lines))
    fasta = "".join(f">{lines[i][1:]}{lines[i + 1]}" for i in range(0, 320, 4))
    (folder / "reads.fa").write_text(fasta)
    (folder / "ref.fa").write_text(REF)
    (folder / "query.fa").write_text(QUERY)
    return folder


@pytest.mark.parametrize(
    ("name", "options", "reference", "query"),
    [
        ("genomes.maxmatch.b.l12", "-maxmatch -b -n -l 12", "1.fa", "2.fa"),
        ("genomes.mum.b.c.L.l12", "--mum -b -c -L -n -l 12", "1.fa", "2.fa"),
        ("genomes.mumreference.s.l14", "-mumreference -s -n -l 14", "1.fa", "3.fa"),
        ("reads.maxmatch.b.l15", "-maxmatch -b -n -l 15", "genomes.fa", "reads.fa"),
        ("reads.mum.r.L.l11", "-mum -r -L -n -l 11", "genomes.fa", "reads.fq"),
        ("reads.F.l10", "-F -n -l 10", "4.fa", "reads.fq"),
    ],
)
@pytest.mark.parametrize("batch", ["4M", "64"])
def test_mummers_own_output(
    data: Path, capfd: pytest.CaptureFixture[str], name: str, options: str, reference: str, query: str, batch: str
) -> None:
    ours = output(capfd, *options.split(), "--batch-size", batch, data / reference, data / query)
    assert blocks(ours) == blocks((GOLDEN / f"{name}.txt").read_text())


def test_output_by_hand(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = output(capfd, "-maxmatch", "-b", "-c", "-L", "-s", "-l", "8", data / "ref.fa", data / "query.fa")
    assert text == (
        "> q1  Len = 36\n"
        "  r1             25         1        13\nacgatcgattacg\n"
        "  ref_two         5         1        13\nacgatcgattacg\n"
        "  r1              1        24        13\nacgtacgttgcat\n"
        "> q1 Reverse  Len = 36\n"
        "  r1              1        31         8\nacgtacgt\n"
        "> empty  Len = 0\n"
        "> empty Reverse  Len = 0\n"
        "> q3  Len = 38\n"
        "> q3 Reverse  Len = 38\n"
        "  ref_two         1        38        17\nttttacgatcgattacg\n"
        "  r1             25        34        13\nacgatcgattacg\n"
    )


def test_table(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = output(capfd, "--tsv", "-b", "-l", "14", data / "ref.fa", data / "query.fa")
    assert text == (
        "query\tqlen\tstrand\tqstart\tqend\tref\trstart\trend\tlength\nq3\t38\t-\t22\t38\tref_two\t1\t17\t17\n"
    )


@pytest.mark.parametrize("threads", ["1", "3"])
def test_several_query_files_and_standard_input(
    data: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    one = output(capfd, "-maxmatch", "-l", "12", data / "genomes.fa", data / "reads.fa")
    two = output(capfd, "-maxmatch", "-l", "12", data / "genomes.fa", data / "2.fa")
    packed = gzip.compress((data / "reads.fq").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed))))
    both = output(capfd, "-maxmatch", "-l", "12", "-t", threads, data / "genomes.fa", "-", data / "2.fa")
    assert both == one + two


@pytest.mark.parametrize("kind", ["-mum", "-mumcand", "-maxmatch"])
def test_threads_and_batches_change_nothing(data: Path, capfd: pytest.CaptureFixture[str], kind: str) -> None:
    texts = {
        output(capfd, kind, "-b", "-l", "11", "-t", threads, "--batch-size", batch, data / "genomes.fa", *files)
        for threads in ("1", "4")
        for batch in ("1", "1000", "4M")
        for files in [[data / "2.fa", data / "reads.fa"]]
    }
    assert len(texts) == 1


def test_max_occurrences(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ref.fa").write_text(">r\nACGTTGCAAACCACGTTGCAATTCACGTTGCA\n")
    (tmp_path / "query.fa").write_text(">q\nACGTTGCAAA\n")
    files = (tmp_path / "ref.fa", tmp_path / "query.fa")
    rows = [(1, 1, 10), (13, 1, 9), (25, 1, 8)]  # ACGTTGCAAA once, ACGTTGCAA twice, ACGTTGCA three times
    for maximum in (1, 2, 3, 4):
        expected = "".join(f"{r:8d}  {q:8d}  {n:8d}\n" for r, q, n in rows[:maximum])
        assert output(capfd, "-maxmatch", "-l", "8", "--max-occ", str(maximum), *files) == f"> q\n{expected}"
    assert output(capfd, "-mumreference", "-l", "8", *files) == output(
        capfd, "-maxmatch", "-max-occ", "1", "-l", "8", *files
    )


def test_saved_index(data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    index = tmp_path / "g.gpi"
    arguments = ["-maxmatch", "-l", "15"]
    built = output(capfd, *arguments, "--save-index", index, data / "genomes.fa", data / "reads.fa")
    assert output(capfd, *arguments, "-i", index, data / "genomes.fa", data / "reads.fa") == built
    assert output(capfd, *arguments, index, data / "reads.fa") == built
    longer = output(capfd, "-maxmatch", "-l", "30", data / "genomes.fa", data / "reads.fa")
    assert output(capfd, "-maxmatch", "-l", "30", "-i", index, data / "genomes.fa", data / "reads.fa") == longer
    assert run("-l", "14", "-i", index, data / "genomes.fa", data / "reads.fa") == 2
    assert run(*arguments, "-i", index, data / "1.fa", data / "reads.fa") == 3
    assert run(*arguments, "-i", data / "1.fa", data / "genomes.fa", data / "reads.fa") == 3


@pytest.mark.parametrize("kind", ["-mumreference", "-mum"])
def test_unique_matches_with_a_saved_index(
    data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    """It is used for few queries; for many the positions are sorted."""
    index, report, few = tmp_path / "g.gpi", tmp_path / "report.json", tmp_path / "few.fa"
    genomes = (data / "genomes.fa").read_text().split(">")[1:]
    few.write_text("".join(f">q{i}\n{''.join(genome.splitlines()[50:52])}\n" for i, genome in enumerate(genomes)))
    reference, arguments = data / "genomes.fa", [kind, "-l", "15", "-b", "--json", report]
    for query, window in ((few, 4), (data / "reads.fa", 1)):
        expected = output(capfd, *arguments, reference, query)
        assert json.loads(report.read_text())["w"] == 1
        assert "\n  " in expected
        assert output(capfd, *arguments, "--save-index", index, reference, query) == expected
        assert output(capfd, *arguments, index, query) == expected
        assert (json.loads(report.read_text())["w"] == 1) == (window == 1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["-l", "0"], "(-l) must be from 1 to 2,147,483,647, not 0"),
        (["-l", "1000000000000"], "must be from 1 to 2,147,483,647, not 1,000,000,000,000"),
        (["-l", "x"], "not a valid integer"),
        (["-b", "-r"], "-b and -r are mutually exclusive"),
        (["-c"], "needs -b or -r"),
        (["-mum", "-maxmatch"], "are mutually exclusive"),
        (["-maxmatch", "--max-occ", "0"], "(--max-occ) must be from 1 to 2,147,483,647, not 0"),
        (["-maxmatch", "--max-occ", "1000000000000"], "(--max-occ) must be from 1 to"),
        (["--max-occ", "3"], "needs -maxmatch"),
        (["--tsv", "-s", "-b"], "fixed columns"),
        (["--nonsense"], "No such option"),
        (["--device", "gpu"], "device must be"),
    ],
)
def test_bad_options(data: Path, capfd: pytest.CaptureFixture[str], options: list[str], reason: str) -> None:
    assert run(*options, data / "ref.fa", data / "query.fa") == 2
    assert reason in capfd.readouterr().err


def test_standard_input_is_read_once(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["-", "-"], [data / "ref.fa", "-", "-"]):
        assert run(*arguments) == 2
        assert "only one input can be standard input" in capfd.readouterr().err


def test_bad_input(data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.fq"
    broken.write_text("@a\nACGT\n+\nIIII\n@b\nACG\n")
    assert run(data / "ref.fa", broken) == 3
    assert "broken.fq:5" in capfd.readouterr().err
    assert run(data / "ref.fa", tmp_path / "none.fa") == 3
    protein = tmp_path / "p.fa"
    protein.write_text(">p\nMKLV*\n")
    assert run(data / "ref.fa", protein) == 3
    assert run(protein, data / "query.fa") == 3
    empty = tmp_path / "empty.fa"
    empty.write_text("")
    assert run(empty, data / "query.fa") == 3
    assert output(capfd, data / "ref.fa", empty) == ""


def test_other_bases_are_warned_of_once(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = (data / "ref.fa", data / "query.fa", data / "query.fa")
    assert run(*files, quiet="") == 0
    assert capfd.readouterr().err.count("match nothing") == 1
    for quiet in ("-n", "-q"):
        assert run(*files, quiet=quiet) == 0
        assert "match nothing" not in capfd.readouterr().err


def test_mummer_4_options(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = output(capfd, "-maxmatch", "-n", data / "ref.fa", data / "query.fa")
    for threads in ("-qthreads", "-threads", "-t"):
        assert output(capfd, "-maxmatch", "-n", "-k", "4", threads, "2", data / "ref.fa", data / "query.fa") == plain


def test_one_dash_or_two_and_options_anywhere(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = output(
        capfd, "-maxmatch", "-n", "-b", "-c", "-L", "-s", "-F", "-l", "9", data / "ref.fa", data / "query.fa"
    )
    two = ["--maxmatch", "--n", "--b", "--c", "--L", "--s", "--F", "--l", "9"]
    assert output(capfd, *two, data / "ref.fa", data / "query.fa") == plain
    assert output(capfd, data / "ref.fa", *two, data / "query.fa") == plain
    assert output(capfd, "--r", data / "ref.fa", data / "query.fa", "-n") == output(
        capfd, "-r", "-n", data / "ref.fa", data / "query.fa"
    )


def test_bam_queries(data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bam = tmp_path / "reads.bam"
    with pysam.AlignmentFile(str(bam), "wb", header={"HD": {"VN": "1.6"}}) as out:
        lines = (data / "reads.fa").read_text().splitlines()
        for name, sequence in zip(lines[::2], lines[1::2], strict=True):
            record = pysam.AlignedSegment()
            record.query_name, record.query_sequence, record.flag = name[1:].split()[0], sequence, 4
            out.write(record)
    arguments = ["-maxmatch", "-b", "-n", "-l", "12", data / "genomes.fa"]
    assert output(capfd, *arguments, bam) == output(capfd, *arguments, data / "reads.fa")
