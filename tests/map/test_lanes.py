"""Reads in several files, as the lanes of a sequencer give them: the output is that of one file with all of them."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

import gpualign
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records, unaligned_bam, without_program
from tests.helpers.sequences import random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
COUNTS = (40, 1, 25)  # reads of each lane


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three lanes of pairs, one of them compressed, and the same in one file: 1.fq and 2.fq."""
    monkeypatch.chdir(tmp_path)
    genome = random_genome(3, 20_000)
    write_fasta(tmp_path / "ref.fa", chr=genome)
    write_fasta(tmp_path / "one.fa", q=genome[:300])
    rng = random.Random(7)
    ends: dict[int, list[list[tuple[str, str, str]]]] = {1: [], 2: []}
    for lane, count in enumerate(COUNTS):
        starts = [rng.randrange(19_000) for _ in range(count)]
        names = [f"lane{lane}_{i}" for i in range(count)]
        quality = "I" * 100
        ends[1].append([(n, genome[at : at + 100], quality) for n, at in zip(names, starts, strict=True)])
        ends[2].append(
            [(n, reverse_complement(genome[at + 200 : at + 300]), quality) for n, at in zip(names, starts, strict=True)]
        )
    for end, lanes in ends.items():
        for lane, reads in enumerate(lanes):
            write_fastq(tmp_path / f"L{lane}_{end}.fq", *reads)
        write_fastq(tmp_path / f"{end}.fq", *(read for reads in lanes for read in reads))
    (tmp_path / "L2_1.fq").write_bytes(gzip.compress((tmp_path / "L2_1.fq").read_bytes()))
    return tmp_path


def lanes(end: int) -> str:
    return ",".join(f"L{lane}_{end}.fq" for lane in range(3))


@pytest.mark.parametrize("options", [[], ["--paf"], ["--batch-size", "1K", "-t", "3"]])
def test_lanes_of_reads(cli: Cli, here: Path, options: list[str]) -> None:
    code, found, _ = cli("map", "ref.fa", lanes(1), *options)
    assert code == 0
    assert without_program(found) == without_program(cli("map", "ref.fa", "1.fq", *options)[1])


@pytest.mark.parametrize(
    "files",
    [
        [lanes(1), lanes(2)],
        ["-1", lanes(1), "-2", lanes(2)],
        [word for i in range(3) for word in ("-1", f"L{i}_1.fq", "-2", f"L{i}_2.fq")],
        ["-1", "L0_1.fq,L1_1.fq", "-2", "L0_2.fq", "-1", "L2_1.fq", "-2", "L1_2.fq,L2_2.fq"],
    ],
)
@pytest.mark.parametrize("options", [[], ["-I", "300"], ["--batch-size", "1K", "-t", "3"]])
def test_lanes_of_pairs(cli: Cli, here: Path, files: list[str], options: list[str]) -> None:
    code, found, error = cli("map", "ref.fa", *files, *options)
    assert code == 0, error
    assert without_program(found) == without_program(cli("map", "ref.fa", "1.fq", "2.fq", *options)[1])
    assert len(records(found)) == 2 * sum(COUNTS)


def test_interleaved_lanes(cli: Cli, here: Path) -> None:
    for lane in ("", "L0_", "L1_", "L2_"):
        texts = [(here / f"{lane}{end}.fq").read_bytes() for end in (1, 2)]
        both = [(gzip.decompress(text) if text[:1] == b"\x1f" else text).splitlines(True) for text in texts]
        pairs = zip(*([b"".join(lines[i : i + 4]) for i in range(0, len(lines), 4)] for lines in both), strict=True)
        (here / f"{lane}both.fq").write_bytes(b"".join(a + b for a, b in pairs))
    code, found, _ = cli("map", "-p", "ref.fa", "L0_both.fq,L1_both.fq,L2_both.fq")
    assert code == 0
    assert without_program(found) == without_program(cli("map", "ref.fa", "1.fq", "2.fq")[1])


@pytest.mark.parametrize(
    ("lane", "one", "many"),
    [
        ("mems -maxmatch ref.fa {0}", "1.fq", lanes(1)),
        ("verify 1.fq {0}", "1.fq", lanes(1)),
        ("verify -a ref.fa {0} -c places.tsv", "1.fq", lanes(1)),
        ("lcs-filter -Q one.fa {0}", "1.fq", lanes(1)),
        ("lcs-filter -n 0 --input-order -Q one.fa L1_1.fq {0}", "1.fq", lanes(1)),
    ],
)
def test_lanes_of_other_commands(cli: Cli, here: Path, lane: str, one: str, many: str) -> None:
    (here / "places.tsv").write_text("lane2_3\tchr\t1\t400\t+\nlane0_39\tchr\t100\t9000\t.\n")
    (code, found, error), (_, expected, _) = (cli(*lane.format(files).split()) for files in (many, one))
    assert code == 0, error
    assert found == expected
    assert found.count(b"\n") > 1


@pytest.mark.parametrize("command", ["map ref.fa a,b.fq", "mems ref.fa a,b.fq", "verify 1.fq a,b.fq"])
def test_a_file_with_a_comma_goes_before_a_list(cli: Cli, here: Path, command: str) -> None:
    os.rename("L0_1.fq", "a,b.fq")
    os.rename("1.fq", "x.fq")
    os.link("a,b.fq", "1.fq")
    code, _, error = cli(*command.split())
    assert code == 0, error
    assert f"{COUNTS[0]} " in error


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ("L0_1.fq,L1_1.fq L0_2.fq,more.fq", 3, "L1_1.fq: the files of a pair differ in length: 1 read here, 2 in"),
        ("L0_1.fq,L1_1.fq L0_2.fq,L1_1b.fq", 3, "L1_1.fq and L1_1b.fq: "),
        ("L0_1.fq,none.fq", 3, "none.fq: No such file"),
        ("L0_1.fq,none.fq L0_2.fq,L1_2.fq", 3, "none.fq: No such file"),
        ("L0_1.fq,cut.fq", 3, "cut.fq:1: FASTQ record cut short"),
        ("L0_1.fq,,L1_1.fq", 2, "a file's name is empty"),
        ("L0_1.fq, L0_2.fq,", 2, "a file's name is empty"),
        ("L0_1.fq,L1_1.fq L0_2.fq", 2, "there are 2 files of R1, 1 of R2"),
        ("L0_1.fq L0_2.fq,L1_2.fq", 2, "there are 1 file of R1, 2 of R2"),
        ("L0_1.fq L0_1.fq", 2, "L0_1.fq is given as R1 and as R2"),
        ("L0_1.fq,L1_1.fq L0_2.fq,L1_1.fq", 2, "L1_1.fq is given as R1 and as R2"),
        ("L0_1.fq ./L0_1.fq", 2, "L0_1.fq, which is ./L0_1.fq, is given as R1 and as R2"),
        ("L0_1.fq linked.fq", 2, "L0_1.fq, which is linked.fq, is given as R1 and as R2"),
        ("L0_1.fq,L1_1.fq L0_2.fq,linked.fq", 2, "L0_1.fq, which is linked.fq, is given as R1 and as R2"),
        ("L0_1.fq,-,-", 2, "standard input (-) is given more than once"),
        ("-1 L0_1.fq", 2, "-1 and -2 go together"),
        ("-2 L0_1.fq", 2, "-1 and -2 go together"),
        ("-1 L0_1.fq -2 L0_2.fq 1.fq", 2, "by READS or by -1 and -2, not by both"),
        ("-p -1 L0_1.fq -2 L0_2.fq", 2, "interleaved pairs come from one file"),
        ("", 2, "Missing argument 'READS'"),
        ("L0_1.fq -o L1_1.fq,L0_1.fq", 0, ""),
        ("L0_1.fq,L1_1.fq -o L1_1.fq", 2, "the output L1_1.fq is also an input"),
    ],
)
def test_bad_lanes(cli: Cli, here: Path, arguments: str, code: int, sentence: str) -> None:
    (here / "cut.fq").write_text("@r1\nACGT\n+\n")
    (here / "linked.fq").symlink_to("L0_1.fq")
    (here / "L1_1b.fq").write_text("@other\nACGT\n+\nIIII\n")
    (here / "more.fq").write_text((here / "L1_2.fq").read_text() + "@r2\nACGT\n+\nIIII\n")
    found, out, error = cli("map", "ref.fa", *arguments.split())
    assert found == code, error
    assert sentence in error
    if code != 0:
        assert error.count("\n") == 1
        assert code == 3 or out == b""


def test_lanes_of_bam_have_all_read_groups(cli: Cli, here: Path) -> None:
    unaligned_bam(here / "a.bam", here / "L0_1.fq")
    with pysam.AlignmentFile("a.bam", check_sq=False) as source:
        header = source.header.to_dict()
        header["RG"] = [{"ID": "lane2", "SM": "bee"}]
        with pysam.AlignmentFile("b.bam", "wb", header=header) as out:
            for record in source:
                record.set_tag("RG", "lane2")
                out.write(record)
        header["RG"] = [{"ID": "lane1", "SM": "wasp"}]
        with pysam.AlignmentFile("c.bam", "wb", header=header) as out:
            pass
    code, sam, error = cli("map", "ref.fa", "a.bam,b.bam")
    assert code == 0, error
    assert [line for line in sam.splitlines() if line.startswith(b"@RG")] == [
        b"@RG\tID:lane1\tSM:bee",
        b"@RG\tID:lane2\tSM:bee",
    ]
    assert sam.count(b"\tID:basecaller") == 1
    assert sam.count(b"RG:Z:lane2") == COUNTS[0]
    code, _, error = cli("map", "ref.fa", "a.bam,c.bam")
    assert code == 3
    assert "c.bam: its read group 'lane1' differs from the one before" in error
    assert cli("map", "-R", r"@RG\tID:x", "ref.fa", "a.bam,c.bam")[0] == 0
    code, _, error = cli("map", "ref.fa", "a.bam,L0_1.fq")
    assert code == 3
    assert "L0_1.fq: not in the format of a.bam" in error


def test_one_file_as_reads_and_mates(here: Path) -> None:
    mapper = gpualign.Mapper("ref.fa")
    with pytest.raises(gpualign.UsageError, match="reads and mates are one file"):
        mapper.map("L0_1.fq", "./L0_1.fq")
