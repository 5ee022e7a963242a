"""Headers of SAM and BAM: bytes that are not UTF-8 stay as they are, and what is malformed is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from gpualign.records.header_text import bytes_of, header_fields, in_utf8, lines_of
from tests.helpers.files import write_fasta
from tests.helpers.record_files import write_sam

Cli = Callable[..., tuple[int, bytes, str]]
RECORD = "r\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII"
#: in Latin-1: a contig, a read group and a library with such names, a command line, and what some call ends of lines
LATIN_1 = [
    "@SQ\tSN:c\xe9\tLN:100",
    "@RG\tID:\xe9\tSM:s\tLB:b\xefb",
    "@RG\tID:b\tSM:s\tLB:b",
    "@PG\tID:x\tCL:/\xe9t\xe9 \x85 \x0c -",
    "@CO\tna\xefve",
]
LATIN_1_RECORD = "r{}\t{}\tc\xe9\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:\xe9"


@pytest.mark.parametrize("form", ["sam", "bam"])
@pytest.mark.parametrize("command", ["sort", "markdup --sort --coverage {0}/depth.bed --duplicate-metrics {0}/metrics"])
def test_bytes_that_are_not_utf_8_stay(cli: Cli, tmp_path: Path, command: str, form: str) -> None:
    lines = [*LATIN_1, *(LATIN_1_RECORD.format(number, 0) for number in range(2))]
    sam = tmp_path / "a.sam"
    sam.write_bytes("".join(f"{line}\n" for line in lines).encode("latin-1"))
    path, out = tmp_path / f"a.{form}", tmp_path / f"b.{form}"
    if form == "bam":
        pysam.samtools.view("-b", "--no-PG", "-o", str(path), str(sam), catch_stdout=False)
    words = command.format(tmp_path).split()
    code, _, error = cli(words[0], path, *words[1:], "-o", out, "--json", tmp_path / "report")
    assert code == 0, error
    if form == "bam":
        pysam.samtools.view("-h", "--no-PG", "-o", str(tmp_path / "b.sam"), str(out), catch_stdout=False)
    written = (tmp_path / "b.sam").read_bytes().split(b"\n")
    kept = [line for line in written if line.startswith(b"@") and not line.startswith((b"@HD", b"@PG\tID:gpualign"))]
    assert kept == [line.encode("latin-1") for line in LATIN_1]
    assert sum(line.startswith(b"r") and "\tc\xe9\t".encode("latin-1") in line for line in written) == 2
    report = json.loads((tmp_path / "report").read_text())
    if words[0] == "markdup":  # files in UTF-8 have the names as text
        assert "\nb\xefb\t2\t" in (tmp_path / "metrics").read_text()
        assert "c\xe9" in (tmp_path / "depth.bed").read_text()
        assert [library["library"] for library in report["duplicates"]["libraries"]] == ["b\xefb", "b"]
        assert report["duplicates"]["libraries"][0]["unpaired_duplicates"] == 1


def test_reads_keep_the_bytes_of_their_header(cli: Cli, tmp_path: Path) -> None:
    reference = write_fasta(tmp_path / "ref.fa", g="ACGGATTACAGATTACCAGGATACCAGT" * 4)
    path = tmp_path / "a.sam"
    path.write_bytes("\n".join([*LATIN_1, LATIN_1_RECORD.format("", 4), ""]).encode("latin-1"))
    assert cli("map", reference, path, "-o", tmp_path / "b.sam")[0] == 0
    written = (tmp_path / "b.sam").read_bytes().split(b"\n")
    for line in LATIN_1[1:4]:
        assert line.encode("latin-1") in written
    assert "RG:Z:\xe9".encode("latin-1") in written[-2]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("@SQ\tSN:c\tLN:1000\tx", "line 2 of its header (@SQ) has 'x', which is not a field (TAG:VALUE)"),
        ("@SQ\tSN:c", "line 2 of its header (@SQ) has no LN"),
        ("@SQ\tLN:7", "line 2 of its header (@SQ) has no SN"),
        ("@SQ", "line 2 of its header (@SQ) has no SN"),
        ("@SQ\tSN:c\tLN:1_000", "LN of the contig 'c' is '1_000', which is not a length"),
        ("@SQ\tSN:c\tLN:\u0663", "LN of the contig 'c' is '\u0663', which is not a length"),
        ("@SQ\tSN:c\tLN:", "LN of the contig 'c' is '', which is not a length"),
        ("@SQ\tSN:c\tLN:" + "9" * 5000, f"LN of the contig 'c' is '{'9' * 40}', which is not a length"),
    ],
)
def test_a_malformed_contig(cli: Cli, tmp_path: Path, line: str, what: str) -> None:
    path = write_sam(tmp_path / "a.sam", [RECORD], ["@HD\tVN:1.6", line])
    code, _, error = cli("sort", path, "-o", tmp_path / "b.bam")
    assert (code, error) == (3, f"gpualign sort: error: {path}: {what}\n")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("@RG\tSM:s", "line 2 of its header (@RG) has no ID"),
        ("@PG\tPN:s", "line 2 of its header (@PG) has no ID"),
        ("@RG\tID:a\tb", "line 2 of its header (@RG) has 'b', which is not a field (TAG:VALUE)"),
        ("@PG\tID:a\t\xe9", "line 2 of its header (@PG) has '\xe9', which is not a field (TAG:VALUE)"),
    ],
)
def test_a_malformed_line_of_reads(cli: Cli, tmp_path: Path, line: str, what: str) -> None:
    """Whose lines are joined with those of the output."""
    path = write_sam(tmp_path / "a.sam", [RECORD.replace("0\tc\t1", "4\t*\t0", 1)], ["@SQ\tSN:c\tLN:9", line])
    code, _, error = cli("map", write_fasta(tmp_path / "r.fa", g="ACGT" * 30), path, "-o", tmp_path / "b.sam")
    assert code == 3
    assert error == f"gpualign map: error: {path}: {what}\n"


def test_fields() -> None:
    """A command line may hold tabs, and what looks like fields that the line has already."""
    line = "@PG\tID:bwa\tCL:bwa mem -R @RG\tID:a\tx\tSM:b\tVN:2"
    expected = {"ID": "bwa", "CL": "bwa mem -R @RG\tID:a\tx", "SM": "b", "VN": "2"}
    assert header_fields(line) == expected
    assert header_fields("@RG\tx\tID:a:b") == {"ID": "a:b"}
    data = "@CO\tna\xefve\n@CO\t\u20ac\n".encode("latin-1", "ignore") + "@CO\t\u20ac\r\n".encode()
    assert b"".join(bytes_of(line) + b"\n" for line in lines_of(data)) == data.replace(b"\r", b"")
    assert [in_utf8(line) for line in lines_of(data)] == ["@CO\tna\xefve", "@CO\t", "@CO\t\u20ac"]
