"""Every record that `map` writes keeps every rule (sam_rules.py), and the judge sees breaches."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.helpers.files import read_fasta, write_fasta, write_fastq
from tests.helpers.paths import GENOMES
from tests.helpers.sam_rules import broken_rules
from tests.helpers.sequences import random_genome, reverse_complement, substitute

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
Reads = dict[tuple[str, int], tuple[str, str]]


def read_fastq(path: Path, end: int = 0) -> Reads:
    lines = path.read_text().splitlines()
    names = [line[1:].split()[0] for line in lines[::4]]
    names = [name.removesuffix(f"/{end}") for name in names] if end else names
    return {(name, end): pair for name, pair in zip(names, zip(lines[1::4], lines[3::4], strict=True), strict=True)}


def interleave(first: Reads, second: Reads) -> Reads:
    return {key: value for pair in zip(first.items(), second.items(), strict=True) for key, value in pair}


# --- bundled reads of bee viruses, single and as pairs cut from their two halves


@pytest.mark.parametrize("options", [[], ["--eqx"], ["-R", r"@RG\tID:x\tSM:y"], ["-e", "0.15"]], ids=" ".join)
def test_single_reads(cli: Cli, some_reads: Path, options: list[str]) -> None:
    code, sam, _ = cli("map", GENOMES, some_reads, *options)
    assert code == 0
    assert broken_rules(sam.decode(), read_fasta(GENOMES), read_fastq(some_reads)) == []


@pytest.fixture(scope="session")
def halves(tmp_path_factory: pytest.TempPathFactory, some_reads: Path) -> tuple[Path, Path]:
    """Reads cut in two that face each other, as if they were pairs; every 7th with a stranger's second half."""
    folder = tmp_path_factory.mktemp("halves")
    given = list(read_fastq(some_reads).items())
    first, second = [], []
    for i, ((name, _), (bases, qualities)) in enumerate(given):
        middle = len(bases) // 2
        other, other_qualities = given[i - 1][1] if i % 7 == 0 else (bases, qualities)
        first.append((f"{name}/1", bases[:middle], qualities[:middle]))
        second.append((f"{name}/2", reverse_complement(other[middle:]), other_qualities[middle:][::-1]))
    return write_fastq(folder / "1.fq", *first), write_fastq(folder / "2.fq", *second)


@pytest.mark.parametrize("sort", [False, True])
def test_pairs(cli: Cli, tmp_path: Path, halves: tuple[Path, Path], sort: bool) -> None:
    out = tmp_path / "out.bam"
    assert cli("map", GENOMES, *halves, "-I", "72,10", "-o", out, *(["--sort"] if sort else []))[0] == 0
    text = pysam.samtools.view("-h", "--no-PG", str(out))
    reads = interleave(read_fastq(halves[0], 1), read_fastq(halves[1], 2))
    assert broken_rules(text, read_fasta(GENOMES), reads, by_coordinate=sort) == []


# --- what needs clips, parts, gaps, N, ends of contigs and unmapped ends


@pytest.fixture(scope="module")
def genome() -> dict[str, str]:
    one = random_genome(41, 6000)
    return {"one": one[:3000] + "N" * 30 + one[3030:], "two": random_genome(42, 4000)}


def with_changes(rng: random.Random, text: str) -> str:
    """About 3 % of mismatches, one gap in every third."""
    changed = list(substitute(rng, text, 0.03))
    at = rng.randrange(10, len(text) - 10)
    if rng.random() < 1 / 6:
        changed[at] += random_genome(at, 4)
    elif rng.random() < 1 / 5:
        changed[at : at + 3] = []
    return "".join(changed)


def hard_cases(genome: dict[str, str]) -> list[tuple[str, str]]:
    """Pairs of sequences: proper ones, chimeras, ends over the contigs' ends, strangers, empty reads."""
    rng = random.Random(43)
    pairs = []
    for i in range(300):
        contig = genome[rng.choice(["one", "two"])]
        start = rng.randrange(len(contig) - 400)
        left, right = contig[start : start + 120], reverse_complement(contig[start + 230 : start + 350])
        kind = i % 8
        if kind == 1:
            right = random_genome(i, 120)
        elif kind == 2:
            left = random_genome(i, 120)
        elif kind == 3:
            left = left[:60] + reverse_complement(genome["two"][500 + i : 560 + i])
        elif kind == 4:
            left, right = contig[:100], reverse_complement(contig[-100:])
        elif kind == 5:
            left, right = random_genome(i, 30) + left[:90], random_genome(i + 1, 40) + right
        elif kind == 6:
            left, right = (random_genome(i, 100), "") if i % 16 == 6 else (random_genome(i, 80), random_genome(-i, 80))
        ends = [with_changes(rng, end) if len(end) > 30 else end for end in (left, right)]
        pairs.append((ends[i % 2], ends[1 - i % 2]))
    return pairs


@pytest.mark.parametrize(
    "options", [[], ["-Y"], ["--eqx", "--secondary-seq"], ["--sort"], ["-U"], ["-e", "0.2"]], ids=" ".join
)
def test_hard_cases(cli: Cli, tmp_path: Path, genome: dict[str, str], options: list[str]) -> None:
    cases = [(f"p{i}", ends) for i, ends in enumerate(hard_cases(genome))]
    files = [
        write_fastq(
            tmp_path / f"{end}.fq", *((name, ends[end - 1], "AB"[end - 1] * len(ends[end - 1])) for name, ends in cases)
        )
        for end in (1, 2)
    ]
    reference = write_fasta(tmp_path / "ref.fa", **genome)
    code, sam, _ = cli("map", reference, *files, "-I", "350,50,600,100", *options)
    assert code == 0
    reads = interleave(read_fastq(files[0], 1), read_fastq(files[1], 2))
    if "-U" in options:
        named = {line.split("\t")[0] for line in sam.decode().splitlines()}
        reads = {key: value for key, value in reads.items() if key[0] in named}
        assert 0 < len(reads) < 600
    assert broken_rules(sam.decode(), genome, reads, by_coordinate="--sort" in options) == []


@pytest.mark.parametrize("preset", ["hifi", "ont"])
def test_long_reads(cli: Cli, tmp_path: Path, genome: dict[str, str], preset: str) -> None:
    """Parts of both strands and contigs in one read."""
    rng = random.Random(44)
    reads = []
    for i in range(40):
        at = rng.randrange(1000)
        text = genome["one"][at : at + 1500] + reverse_complement(genome["two"][at : at + 1200])
        text = "".join(rng.choice("ACGT") if rng.random() < 0.05 else base for base in text)
        reads.append((f"r{i}", text if i % 3 else text[:1400], "I" * len(text if i % 3 else text[:1400])))
    fastq = write_fastq(tmp_path / "r.fq", *reads)
    code, sam, _ = cli("map", "-x", preset, write_fasta(tmp_path / "ref.fa", **genome), fastq)
    assert code == 0
    assert b"\tSA:Z:" in sam
    assert broken_rules(sam.decode(), genome, read_fastq(fastq)) == []


# --- the judge


HEADER = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:c\tLN:40\n@PG\tID:gpualign\tPN:gpualign\tVN:1\tCL:x\n"
CONTIG = "ACGTACGTAACCGGTTACGATCGATTACAGATTACAGGCA"
SINGLE = ["r", "0", "c", "3", "60", "10M", "*", "0", "0", CONTIG[2:12], "I" * 10, "NM:i:0", "MD:Z:10", "AS:i:10"]
FIRST = ["p", "99", "c", "1", "60", "10M", "=", "21", "30", CONTIG[:10], "I" * 10, "NM:i:0", "MD:Z:10", "AS:i:9"]
FIRST += ["MC:Z:10M", "MQ:i:60"]
SECOND = ["p", "147", "c", "21", "60", "10M", "=", "1", "-30", CONTIG[20:30], "I" * 10, "NM:i:0", "MD:Z:10", "AS:i:9"]
SECOND += ["MC:Z:10M", "MQ:i:60"]


def judged(*records: list[str], header: str = HEADER) -> list[str]:
    return broken_rules(header + "".join("\t".join(fields) + "\n" for fields in records), {"c": CONTIG})


def test_the_judge_accepts_what_is_right() -> None:
    assert judged(SINGLE) == []
    assert judged(FIRST, SECOND) == []
    assert judged(["u", "4", "*", "0", "0", "*", "*", "0", "0", "ACG", "III"]) == []


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        (0, "", "field 1"),
        (0, "a@", "field 1"),
        (1, "1", "neither first nor second"),
        (1, "32", "flags of pairs without 0x1"),
        (1, "256", "0 primary records"),
        (2, "d", "without a position"),
        (3, "32", "ends beyond its contig"),
        (3, "4", "NM and MD are"),
        (4, "255", "MAPQ 255"),
        (5, "9M", "CIGAR and SEQ differ"),
        (5, "5M5M", "neighbours of one kind"),
        (5, "9M1I", "a gap at its end"),
        (5, "0M10M", "field 6"),
        (5, "2H10M", "a hard clip in a primary"),
        (5, "9=1X", "= and X are not"),
        (6, "c", "mate fields without a mate"),
        (9, "*", "no SEQ"),
        (10, "III", "SEQ and QUAL differ"),
        (11, "NM:i:1", "NM and MD are"),
        (11, "NM:i:x", "optional field"),
        (12, "MD:Z:9", "NM and MD are"),
        (13, "NM:i:0", "a tag twice"),
        (13, "XX:i:0", "no AS"),
    ],
)
def test_the_judge_sees_a_breach(field: int, value: str, sentence: str) -> None:
    record = [*SINGLE[:field], value, *SINGLE[field + 1 :]]
    assert any(sentence in what for what in judged(record)), judged(record)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        (1, "107", "0x8 is not the mate's"),
        (1, "67", "0x20 is not the mate's"),
        (1, "97", "0x2 at one end alone"),
        (6, "c", "spelled out"),
        (7, "22", "RNEXT and PNEXT"),
        (8, "31", "TLEN 31 and -30"),
        (14, "MC:Z:9M", "MC and MQ"),
        (15, "MQ:i:0", "MC and MQ"),
        (15, "SA:Z:c,1,+,10M,60,0;", "SA where the read has one part"),
    ],
)
def test_the_judge_sees_a_breach_between_mates(field: int, value: str, sentence: str) -> None:
    record = [*FIRST[:field], value, *FIRST[field + 1 :]]
    assert any(sentence in what for what in judged(record, SECOND)), judged(record, SECOND)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("SO:unsorted\tGO:query", "SO:unknown", "begins with"),
        ("LN:40", "LN:41", "@SQ lines"),
        ("@SQ\tSN:c\tLN:40\n", "", "@SQ lines"),
        ("CL:x", "CL:ä", "printable"),
        ("@PG", "@PG\tID:a\tPP:b\n@PG", "PP names no program"),
        ("\tVN:1\t", "\t", "no complete @PG"),
    ],
)
def test_the_judge_sees_a_breach_of_the_header(before: str, after: str, sentence: str) -> None:
    assert any(sentence in what for what in judged(SINGLE, header=HEADER.replace(before, after)))
