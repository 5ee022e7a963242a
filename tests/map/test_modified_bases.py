"""MM and ML, which count bases of the whole read: no record of a part of it has them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records, tags
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]


@pytest.fixture(scope="module")
def genome() -> str:
    """Two places that the read joins, and a copy of the first."""
    first = random_genome(71, 1500)
    return (
        random_genome(72, 2000)
        + first
        + random_genome(73, 5000)
        + first[:750]
        + "A"
        + first[751:]
        + random_genome(74, 500)
    )


@pytest.fixture(scope="module")
def read(genome: str) -> str:
    """1,500 bases of one place, then 1,000 of another strand."""
    return genome[2000:3500] + reverse_complement(genome[5000:6000])


@pytest.fixture(params=["sam", "bam", "comment"])
def reads(request: pytest.FixtureRequest, tmp_path: Path, read: str) -> tuple[Path, list[str]]:
    """Every C of the first part is methylated, none of the second; given as a reverse record where it is one."""
    count = read[:1500].count("C")
    modified = f"MM:Z:C+m{',0' * count};\tML:B:C{',200' * count}\tRX:Z:AC"
    if request.param == "comment":
        return write_fastq(tmp_path / "r.fq", (f"r {modified}", read, "I" * len(read))), ["-C"]
    sam = tmp_path / "r.sam"
    sam.write_text(
        f"@HD\tVN:1.6\n@SQ\tSN:x\tLN:9999\n"
        f"r\t16\tx\t1\t0\t{len(read)}M\t*\t0\t0\t{reverse_complement(read)}\t{'I' * len(read)}\t{modified}\n"
    )
    if request.param == "sam":
        return sam, []
    pysam.samtools.view("-b", "-o", str(tmp_path / "r.bam"), str(sam), catch_stdout=False)
    return tmp_path / "r.bam", []


def test_methylated_bases_are_those_of_the_read(
    cli: Cli, tmp_path: Path, genome: str, read: str, reads: tuple[Path, list[str]]
) -> None:
    reference, out = write_fasta(tmp_path / "g.fa", g=genome), tmp_path / "out.bam"
    options = ["-x", "hifi", "--sort", "--secondary", *reads[1]]
    code, _, error = cli("map", *options, reference, reads[0], "-o", out)
    assert code == 0, error
    with pysam.AlignmentFile(str(out)) as file:
        found = [(record.flag, dict(record.get_tags()), record.modified_bases) for record in file]
    assert sorted(flag & 0x900 for flag, _, _ in found) == [0, 0x100, 0x800]
    assert all(tags["RX"] == "AC" for _, tags, _ in found)
    for flag, of_record, modified in found:
        assert {"MM", "ML"} <= set(of_record) if not flag & 0x900 else not {"MM", "ML", "MN"} & set(of_record)
        assert sum(map(len, (modified or {}).values())) == (0 if flag & 0x900 else read[:1500].count("C"))
    if shutil.which("samtools"):
        pileup = subprocess.run(
            ["samtools", "mpileup", "-M", "-Q0", str(out)], capture_output=True, check=True, text=True
        )
        shown = sum(line.split("\t")[4].count("[+m") for line in pileup.stdout.splitlines())
        assert shown == read[:1500].count("C")
        assert "rror" not in pileup.stderr


@pytest.mark.parametrize("options", [["-Y"], ["--secondary-seq", "--secondary"]])
def test_records_of_the_whole_read_keep_them(
    cli: Cli, tmp_path: Path, genome: str, reads: tuple[Path, list[str]], options: list[str]
) -> None:
    reference = write_fasta(tmp_path / "g.fa", g=genome)
    code, sam, error = cli("map", "-x", "hifi", *options, *reads[1], reference, reads[0])
    assert code == 0, error
    lines = records(sam)
    assert len(lines) > 1
    for line in lines:
        assert ({"MM", "ML"} <= set(tags(line))) == ("H" not in line[5])


def test_older_names_and_lengths(cli: Cli, tmp_path: Path, genome: str, read: str) -> None:
    """Mm and Ml are what MM and ML were called before; MN is the length for which they hold."""
    given = f"r BC:Z:A\tMm:Z:C+m,0;\tMN:i:{len(read)}\tMX:i:1\tMl:B:C,7"
    reads = write_fastq(tmp_path / "r.fq", (given, read, "I" * len(read)))
    code, sam, _ = cli("map", "-x", "hifi", "-C", write_fasta(tmp_path / "g.fa", g=genome), reads)
    assert code == 0
    for line in records(sam):
        copied = {"BC", "Mm", "MN", "MX", "Ml"} & set(tags(line))
        assert copied == ({"BC", "MX"} if int(line[1]) & 0x800 else {"BC", "Mm", "MN", "MX", "Ml"})
    assert len(records(sam)) == 2


@pytest.mark.parametrize("form", ["sam", "bam"])
@pytest.mark.parametrize(("cigar", "copied"), [("9H2500M", False), ("2500M9H", False), ("2499M1S", True)])
def test_reads_that_were_hard_clipped(
    cli: Cli, tmp_path: Path, genome: str, read: str, form: str, cigar: str, copied: bool
) -> None:
    sam = tmp_path / "r.sam"
    fields = f"r\t0\tx\t1\t0\t{cigar}\t*\t0\t0\t{read}\t*\tMM:Z:C+m,0;\tML:B:C,7\tRX:Z:AC"
    sam.write_text(f"@HD\tVN:1.6\n@SQ\tSN:x\tLN:9999\n{fields}\n")
    reads = tmp_path / f"r.{form}"
    if form == "bam":
        pysam.samtools.view("-b", "-o", str(reads), str(sam), catch_stdout=False)
    code, out, error = cli("map", "-x", "hifi", write_fasta(tmp_path / "g.fa", g=genome), reads)
    assert code == 0, error
    assert {"RX", "MM", "ML"} & set(tags(records(out)[0])) == ({"RX", "MM", "ML"} if copied else {"RX"})
