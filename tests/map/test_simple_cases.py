"""What Bowtie 2's own simple cases say (scripts/test/simple_tests.pl, version 2.5), told again with other sequences:
where a read and its mate lie, their flags, CIGARs, MD and TLEN, and the ways in which files may be written. Left out is
what has no counterpart (seeds and scores by name, --no-overlap, trimming, raw, tabbed and qseq files), and TLEN of
mates that do not face each other, which other programs count otherwise (docs/commands/mem.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records, tags
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]

GENOME = random_genome(90, 3000)
NO_LOCUS = random_genome(91, 60)
RUN = "A" * 14
#: bases on both sides of the run that are not its own
LEFT, RIGHT = GENOME[100:140] + "C", "G" + GENOME[200:240]
TWICE = GENOME[1000:1060]
OTHER = {"A": "C", "C": "G", "G": "T", "T": "A"}


def changed(text: str, *places: int) -> str:
    """With other bases there."""
    return "".join(OTHER[base] if i in places else base for i, base in enumerate(text))


@dataclass(frozen=True)
class Single:
    """A read, and the records that it may have: positions from 0, and CIGARs; all of them where ``records`` says so."""

    contigs: tuple[str, ...]
    read: str
    expected: tuple[tuple[int, str], ...]
    options: tuple[str, ...] = ()
    records: int = 1
    flag: int = 0
    md: str = ""
    contig: str = "c0"


SINGLE: dict[str, Single] = {
    "a base more in a run stands at its left end": Single(
        (GENOME[:100] + LEFT + RUN + RIGHT + GENOME[240:],), LEFT + "A" + RUN + RIGHT, ((100, "41M1I55M"),), md="96"
    ),
    "a base less in a run is missing at its left end": Single(
        (GENOME[:100] + LEFT + RUN + RIGHT + GENOME[240:],), LEFT + RUN[1:] + RIGHT, ((100, "41M1D54M"),), md="41^A54"
    ),
    "and so where a mismatch follows": Single(
        (GENOME[:100] + LEFT + RUN + RIGHT + GENOME[240:],),
        LEFT + "T" + RUN[2:] + RIGHT,
        ((100, "41M1D54M"),),
        md="41^A0A53",
    ),
    "a read as it stands": Single((GENOME,), GENOME[12:72], ((12, "60M"),), md="60"),
    "its reverse complement": Single((GENOME,), reverse_complement(GENOME[12:72]), ((12, "60M"),), flag=16, md="60"),
    "the first bases": Single((GENOME,), GENOME[:60], ((0, "60M"),), md="60"),
    "the last bases": Single((GENOME,), GENOME[-60:], ((2940, "60M"),), md="60"),
    "all of the reference": Single((GENOME[:100],), GENOME[:100], ((0, "100M"),), md="100"),
    "one substitution": Single((GENOME,), changed(GENOME[12:72], 30), ((12, "60M"),), md=f"30{GENOME[42]}29"),
    "two next to each other": Single(
        (GENOME,), changed(GENOME[12:112], 30, 31), ((12, "100M"),), md=f"30{GENOME[42]}0{GENOME[43]}68"
    ),
    "unknown bases of the reference": Single(
        (GENOME[:42] + "NNN" + GENOME[45:],), GENOME[12:112], ((12, "100M"),), md="30N0N0N67"
    ),
    "a contig that begins with unknown bases": Single(("N" * 15 + GENOME,), GENOME[:60], ((15, "60M"),), md="60"),
    "a contig of unknown bases before it": Single(
        ("N" * 15, GENOME), GENOME[2:62], ((2, "60M"),), md="60", contig="c1"
    ),
    "contigs of unknown bases before it": Single(
        ("N" * 15, "N" * 15, GENOME), GENOME[2:62], ((2, "60M"),), md="60", contig="c2"
    ),
    "two loci, one is reported": Single(
        (GENOME[:1500] + TWICE + GENOME[1500:],), TWICE, ((1000, "60M"), (1500, "60M")), md="60"
    ),
    "two loci, both are asked for": Single(
        (GENOME[:1500] + TWICE + GENOME[1500:],), TWICE, ((1000, "60M"), (1500, "60M")), ("-N", "1"), 2
    ),
    "more are asked for than there are": Single(
        (GENOME[:1500] + TWICE + GENOME[1500:],), TWICE, ((1000, "60M"), (1500, "60M")), ("-N", "9"), 2
    ),
    "eight loci, five are asked for": Single(
        ("".join(GENOME[100 * i : 100 * i + 100] + TWICE for i in range(8)),),
        TWICE,
        tuple((160 * i + 100, "60M") for i in range(8)),
        ("-N", "4"),
        5,
    ),
    "eight loci, one is reported": Single(
        ("".join(GENOME[100 * i : 100 * i + 100] + TWICE for i in range(8)),),
        TWICE,
        tuple((160 * i + 100, "60M") for i in range(8)),
    ),
    "none": Single((GENOME,), NO_LOCUS, ((-1, "*"),), flag=4, contig="*"),
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_reads(cli: Cli, tmp_path: Path, name: str) -> None:
    case = SINGLE[name]
    reference = write_fasta(tmp_path / "r.fa", **{f"c{i}": contig for i, contig in enumerate(case.contigs)})
    reads = write_fastq(tmp_path / "r.fq", ("r", case.read, "I" * len(case.read)))
    code, out, error = cli("map", *case.options, reference, reads)
    assert code == 0, error
    rows = records(out)
    found = [(int(row[3]) - 1, row[5]) for row in rows]
    assert len(found) == len(set(found)) == case.records
    assert set(found) <= set(case.expected)
    assert {row[2] for row in rows} == {case.contig}
    if len(case.expected) == 1:
        assert int(rows[0][1]) == case.flag
    if case.md:
        assert tags(rows[0])["MD"] == case.md


#: an end of a template: from, to, strand; None: it has no locus
End = tuple[int, int, str] | None


@dataclass(frozen=True)
class Pair:
    """Both ends of a template, their flags, and TLEN of the first where it is compared."""

    ends: tuple[End, End]
    flags: tuple[int, int]
    tlen: int | None = None
    options: tuple[str, ...] = ()


FACING: tuple[End, End] = ((500, 560, "+"), (700, 750, "-"))
PAIRS: dict[str, Pair] = {
    "facing each other": Pair(FACING, (99, 147), 250),
    "facing each other, the second one first": Pair((FACING[1], FACING[0]), (83, 163), -250),
    "at one place": Pair(((500, 560, "+"), (500, 560, "-")), (99, 147), 60),
    "at one place, the first one reverse": Pair(((500, 560, "-"), (500, 560, "+")), (83, 163), -60),
    "overlapping": Pair(((500, 560, "+"), (530, 590, "-")), (99, 147), 90),
    "both forward, as said": Pair(((500, 560, "+"), (700, 750, "+")), (67, 131), None, ("--ff",)),
    "both forward at one place, as said": Pair(((500, 560, "+"), (500, 560, "+")), (67, 131), None, ("--ff",)),
    "facing away, as said": Pair(((500, 560, "-"), (700, 750, "+")), (83, 163), None, ("--rf",)),
    "both forward": Pair(((500, 560, "+"), (700, 750, "+")), (65, 129)),
    "both reverse": Pair(((500, 560, "-"), (700, 750, "-")), (113, 177)),
    "too far apart": Pair(((20, 80, "+"), (2800, 2860, "-")), (97, 145), 2840),
    "too far apart, both forward": Pair(((20, 80, "+"), (2800, 2860, "+")), (65, 129)),
    "the second one without a locus": Pair(((500, 560, "+"), None), (73, 133), 0),
    "the first one without a locus": Pair((None, (500, 560, "+")), (69, 137), 0),
    "the second one without a locus, the first one reverse": Pair(((500, 560, "-"), None), (89, 165), 0),
    "neither": Pair((None, None), (77, 141), 0),
}


def sequence(end: End, number: int) -> str:
    if end is None:
        return random_genome(95 + number, 60)
    begin, after, strand = end
    return GENOME[begin:after] if strand == "+" else reverse_complement(GENOME[begin:after])


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(cli: Cli, tmp_path: Path, name: str) -> None:
    case = PAIRS[name]
    files = [
        write_fastq(tmp_path / f"{i}.fq", ("p", (bases := sequence(end, i)), "I" * len(bases)))
        for i, end in enumerate(case.ends)
    ]
    code, out, error = cli("map", "-I", "200,40", *case.options, write_fasta(tmp_path / "r.fa", g=GENOME), *files)
    assert code == 0, error
    rows = records(out)
    assert tuple(int(row[1]) for row in rows) == case.flags
    mapped = next((end for end in case.ends if end is not None), None)
    for row, end in zip(rows, case.ends, strict=True):
        place = end or mapped  # an end without a locus stands where its mate does
        assert int(row[3]) - 1 == (place[0] if place else -1)
        assert row[5] == (f"{end[1] - end[0]}M" if end else "*")
    if case.tlen is not None:
        assert [int(row[8]) for row in rows] == [case.tlen, -case.tlen]


def test_a_pair_at_two_places_is_at_one_of_them(cli: Cli, tmp_path: Path) -> None:
    piece = GENOME[480:800]
    reference = write_fasta(tmp_path / "r.fa", g=GENOME[:2000] + piece + GENOME[2000:])
    files = [
        write_fastq(tmp_path / f"{i}.fq", ("p", bases := sequence(end, i), "I" * len(bases)))
        for i, end in enumerate(FACING)
    ]
    rows = records(cli("map", "-I", "200,40", reference, *files)[1])
    assert [int(row[3]) - 1 for row in rows] in ([500, 700], [2020, 2220])
    assert [int(row[1]) for row in rows] == [99, 147]
    both = records(cli("map", "-I", "200,40", "-N", "5", reference, *files)[1])
    kinds = [int(row[1]) & (64 | 128 | 256) for row in both]
    assert kinds == [64, 64 | 256, 128, 128 | 256]  # as bwa mem and minimap2 write them
    assert sorted(int(row[3]) - 1 for row in both) == [500, 700, 2020, 2220]


def test_a_mate_of_eight_places_is_next_to_the_other(cli: Cli, tmp_path: Path) -> None:
    mate = random_genome(97, 60)
    contig = GENOME[:500] + "".join(mate + GENOME[500 + 400 * i : 900 + 400 * i] for i in range(5))
    first = contig[contig.index(mate) - 100 : contig.index(mate) - 40]
    second = reverse_complement(mate)
    files = [write_fastq(tmp_path / f"{i}.fq", ("p", bases, "I" * 60)) for i, bases in enumerate((first, second))]
    rows = records(cli("map", "-I", "200,40", write_fasta(tmp_path / "r.fa", g=contig), *files)[1])
    assert [(int(row[1]), int(row[3]) - 1, row[5]) for row in rows] == [(99, 400, "60M"), (147, 500, "60M")]


#: files of two reads that begin at 2 and 3
ONE, TWO = GENOME[2:62], GENOME[3:63]
QUALITY = "I" * 60
FILES: dict[str, tuple[str, str]] = {
    "FASTQ": ("fq", f"@a\n{ONE}\n+\n{QUALITY}\n@b\n{TWO}\n+\n{QUALITY}\n"),
    "FASTQ without the last line end": ("fq", f"@a\n{ONE}\n+\n{QUALITY}\n@b\n{TWO}\n+\n{QUALITY}"),
    "FASTQ with line ends of Windows": ("fq", f"@a\r\n{ONE}\r\n+\r\n{QUALITY}\r\n@b\r\n{TWO}\r\n+\r\n{QUALITY}\r\n"),
    "FASTQ with line ends of both": ("fq", f"@a\n{ONE}\r\n+\n{QUALITY}\n@b\n{TWO}\r\n+\n{QUALITY}\r\n"),
    "FASTA": ("fa", f">a\n{ONE}\n>b\n{TWO}\n"),
    "FASTA without the last line end": ("fa", f">a\n{ONE}\n>b\n{TWO}"),
    "FASTA in lines": ("fa", f">a\n{ONE[:7]}\n{ONE[7:]}\n>b\n{TWO[:30]}\n{TWO[30:]}\n"),
    "FASTA with line ends of Windows, in lines": ("fa", f">a\r\n{ONE[:7]}\r\n{ONE[7:]}\r\n>b\r\n{TWO}\r\n"),
    "FASTA with empty lines": ("fa", f"\n\n\r\n>a\n{ONE}\r\n\n\n\r\n>b\n{TWO}\n\n"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_reads(cli: Cli, tmp_path: Path, name: str) -> None:
    suffix, text = FILES[name]
    (tmp_path / f"x.{suffix}").write_bytes(text.encode())
    code, out, error = cli("map", write_fasta(tmp_path / "r.fa", g=GENOME), tmp_path / f"x.{suffix}")
    assert code == 0, error
    assert [(row[0], int(row[3]) - 1, row[5]) for row in records(out)] == [("a", 2, "60M"), ("b", 3, "60M")]


@pytest.mark.parametrize(
    "text",
    [f"@a\n{ONE}\n+\n{QUALITY[1:]}\n", f"@a\n{ONE}\n+\n{QUALITY}I\n", f"a\n{ONE}\n+\n{QUALITY}\n"],
    ids=["a quality less", "a quality more", "no @"],
)
def test_files_that_are_refused(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.fq").write_text(text)
    assert cli("map", write_fasta(tmp_path / "r.fa", g=GENOME), tmp_path / "x.fq")[0] == 3
