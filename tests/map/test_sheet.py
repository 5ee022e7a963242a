"""The sample sheet: what other pipelines write is read, and what contradicts itself is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualign.errors import InputError
from gpualign.map.sheet import SheetSample, read_sheet


def read(tmp_path: Path, text: str | bytes) -> tuple[list[SheetSample], list[str]]:
    path = tmp_path / "sheet.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_sheet(str(path))


A = SheetSample("a", 2, ("1.fq",), ("2.fq",), ("@RG\tID:a\tSM:a",), None)


@pytest.mark.parametrize(
    "text",
    [
        "sample,fastq_1,fastq_2\na,1.fq,2.fq\n",
        "sample\tfastq_1\tfastq_2\na\t1.fq\t2.fq\n",
        b"\xef\xbb\xbfsample,fastq_1,fastq_2\r\na,1.fq,2.fq\r\n",  # a byte order mark
        " Sample , FASTQ_1,fastq_2 \n a , 1.fq ,2.fq\n\n,,\n",  # spaces, capitals, empty lines
        'sample,fastq_1,fastq_2\n"a","1.fq","2.fq"',
        "#sample,fastq_1,fastq_2\na,1.fq,2.fq\n",
        "sample_name\tunit_name\tfq1\tfq2\na\tu1\t1.fq\t2.fq\n",
    ],
)
def test_forms(tmp_path: Path, text: str | bytes) -> None:
    assert read(tmp_path, text) == ([A], [])


def test_sheets_of_nf_core(tmp_path: Path) -> None:
    sarek = "patient,sex,status,sample,lane,fastq_1,fastq_2\np,XX,0,a,L1,1.fq,2.fq\np,XX,0,a,L2,3.fq,4.fq\n"
    (sample,), unused = read(tmp_path, sarek)
    assert (sample.reads, sample.mates) == (("1.fq", "3.fq"), ("2.fq", "4.fq"))
    assert sample.read_groups == ("@RG\tID:a.L1\tSM:a", "@RG\tID:a.L2\tSM:a")
    assert unused == ["patient", "sex", "status"]
    rnaseq = "sample,fastq_1,fastq_2,strandedness\na,1.fq,,auto\nb,3.fq,4.fq,auto\n"
    found, _ = read(tmp_path, rnaseq)
    assert [(sample.name, sample.mates) for sample in found] == [("a", ()), ("b", ("4.fq",))]


def test_read_groups(tmp_path: Path) -> None:
    head = "sample,fastq_1,id,lb,platform,pu,sm\n"
    (sample,), _ = read(tmp_path, head + "a,1.fq,x,lib,ILLUMINA,flow.1,other\n")
    assert sample.read_groups == ("@RG\tID:x\tSM:other\tLB:lib\tPL:ILLUMINA\tPU:flow.1",)
    (sample,), _ = read(tmp_path, "sample,fastq_1,read_group\na,1.fq,@RG\\tID:q\\tSM:w\n")
    assert sample.read_groups == ("@RG\tID:q\tSM:w",)
    (sample,), _ = read(tmp_path, "sample,fastq_1\na,1.fq\na,2.fq\n")  # lanes without names
    assert sample.read_groups == ("@RG\tID:a.1\tSM:a", "@RG\tID:a.2\tSM:a")
    (sample,), _ = read(tmp_path, "sample,bam\na,1.bam\n")  # which has its own
    assert (sample.reads, sample.read_groups) == (("1.bam",), ())


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "the sample sheet is empty"),
        ("\n\n", None, "the sample sheet is empty"),
        ("sample,fastq_1\n", None, "has no sample"),
        ("a,1.fq,2.fq\n", 1, "no column 'sample'"),
        ("sample,reads\na,1.fq\n", 1, "no column 'fastq_1'"),
        ("sample,fastq_1,fastq2\na,1.fq,2.fq\n", 1, "unknown column 'fastq2' (did you mean 'fastq_2'?)"),
        ("sample,fastq_1,fq1\na,1.fq,2.fq\n", 1, "the column 'fastq_1' is there twice"),
        ("sample,fastq_1\na,1.fq,2.fq\n", 2, "3 fields, and the header has 2"),
        ("sample,fastq_1\n,1.fq\n", 2, "no sample"),
        ("sample,fastq_1,fastq_2\na,,2.fq\n", 2, "no fastq_1"),
        ("sample,fastq_1,fastq_2\na,1.fq,1.fq\n", 2, "are one file"),
        ("sample,fastq_1,fastq_2\na,1.fq,./1.fq\n", 2, "are one file"),
        ("sample,fastq_1,fastq_2\na,-,\n", 2, "standard input"),
        ("sample,fastq_1,fastq_2\na,1.fq,2.fq\na,3.fq,\n", 3, "lanes with pairs and without"),
        ("sample,fastq_1\na,1.fq\nb,1.fq\na,1.fq\n", 4, "has 1.fq twice"),
        ("sample,fastq_1,output\na,1.fq,x.bam\nb,2.fq,./x.bam\n", 3, "samples 'a' and 'b' have one output"),
        ("sample,fastq_1,output\na,1.fq,x.bam\na,2.fq,y.bam\n", 3, "has two outputs, x.bam and y.bam"),
        ("sample,fastq_1\na/b,1.fq\n", 2, "cannot have its name"),
        ("sample,fastq_1,id,lb\na,1.fq,x,l\na,2.fq,x,m\n", 3, "two read groups 'x'"),
        ("sample,fastq_1,read_group\na,1.fq,ID:q\n", 2, "read group must start with '@RG'"),
        ('sample,fastq_1\na,"1.fq\n', 2, "not a line of a table"),
        (b"sample,fastq_1\n\xff\xfe,1.fq\n", None, "not UTF-8"),
        (b"sample,fastq_1\na\0,1.fq\n", None, "is not text"),
    ],
)
def test_bad_sheets(tmp_path: Path, text: str | bytes, line: int | None, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert says in caught.value.what
    assert caught.value.line == line


def test_missing_sheet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_sheet(str(tmp_path / "no.csv"))
