"""Mates that are so short that they fit somewhere by chance: what a locus says against the loci there are."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign.map.params import MapParams
from gpualign.seeds.index.minimizers import IndexParams, build_index
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.map_cases import PAIRS, assert_same, repetitive_reference
from tests.helpers.sam import records
from tests.helpers.scalar_kernels import map_scalar
from tests.helpers.sequences import batch_of, random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
#: of --insert-size 300,30: mean and four sd
LONGEST_INSERT = 420


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(62, 60_000)


def mapped(cli: Cli, folder: Path, genome: str, *mates: str, options: tuple[object, ...] = ()) -> list[list[str]]:
    """Records of the mates, each paired with the 100 bases from 1,000 on."""
    first = write_fastq(folder / "1.fq", *((f"p{i}", genome[1000:1100], "I" * 100) for i in range(len(mates))))
    second = write_fastq(folder / "2.fq", *((f"p{i}", mate, "I" * len(mate)) for i, mate in enumerate(mates)))
    reference = write_fasta(folder / "r.fa", g=genome)
    code, sam, error = cli("map", "-I", "300,30", *options, reference, first, second)
    assert code == 0, error
    rows = records(sam)
    assert [row[5] for row in rows[::2]] == ["100M"] * len(mates)
    return rows[1::2]


def nearby(genome: str, length: int) -> str:
    """The mate of so many bases at the end of the fragment of 300."""
    return reverse_complement(genome[1300 - length : 1300])


def test_mates_of_one_to_nine_bases_have_no_locus(cli: Cli, tmp_path: Path, genome: str) -> None:
    mates = [nearby(genome, length) for length in range(10)] + ["N" * length for length in range(1, 10)]
    for row in mapped(cli, tmp_path, genome, *mates):
        assert (row[1], row[2], row[3], row[4], row[5]) == ("133", "g", "1001", "0", "*")


def test_a_mate_of_no_base_that_is_known_can_be_sorted_and_indexed(cli: Cli, tmp_path: Path, genome: str) -> None:
    end = (genome[:100], "I" * 100)
    first = write_fastq(tmp_path / "1.fq", ("a", *end), ("b", *end))
    second = write_fastq(tmp_path / "2.fq", ("a", "N", "I"), ("b", "NNNNNNNNNNNN", "I" * 12))
    out = tmp_path / "o.bam"
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    assert cli("map", "--sort", "--write-index", "-o", out, reference, first, second)[0] == 0
    with pysam.AlignmentFile(str(out)) as file:
        placed = [(r.query_name, r.flag, r.reference_start) for r in file.fetch("g")]
    assert sorted(placed) == [("a", 73, 0), ("a", 133, 0), ("b", 73, 0), ("b", 133, 0)]


@pytest.mark.parametrize("options", [("-e", "0.99"), ("-e", "0.99", "--end-to-end"), ("-A", "100")])
def test_no_locus_without_a_base(cli: Cli, tmp_path: Path, genome: str, options: tuple[str, ...]) -> None:
    """However many edits are allowed, and whatever a base scores."""
    for row in mapped(cli, tmp_path, genome, "N" * 40, "N" * 31, "N", nearby(genome, 1), options=options):
        assert (row[1], row[3], row[5]) == ("133", "1001", "*")


@pytest.mark.parametrize(("length", "limit"), [(10, 0), (11, 0), (12, 0), (13, 1), (14, 1)])
def test_the_quality_of_a_short_mate_is_what_it_says(
    cli: Cli, tmp_path: Path, genome: str, length: int, limit: int
) -> None:
    """Two bits a base, less what it takes to name a base in four windows of the longest insert, in units of 3.01."""
    (row,) = mapped(cli, tmp_path, genome, nearby(genome, length), options=("-k", 15))
    bits = 2 * length - math.log2(4 * (LONGEST_INSERT + 2 * limit))
    assert (int(row[3]), int(row[4])) == (1301 - length, int(3.0103 * bits))


def test_a_short_mate_with_an_edit_says_less(cli: Cli, tmp_path: Path, genome: str) -> None:
    mate = nearby(genome, 16)
    edited = mate[:8] + "ACGT"["TGCA".index(mate[8])] + mate[9:]
    tail = random_genome(5, 400)  # where no seed is
    plain, worse = mapped(cli, tmp_path, genome[:1400] + tail, mate, edited, options=("-k", 19, "-w", 8))
    bits = 32 - (3.5 + 4) - math.log2(4 * (LONGEST_INSERT + 4))
    assert (plain[3], plain[4]) == ("1285", "60")
    assert (worse[3], int(worse[4])) == ("1285", int(3.0103 * bits))


@pytest.mark.parametrize("at", [1210, 1240, 1350])
def test_a_short_mate_that_is_twice_in_its_window_is_ambiguous(cli: Cli, tmp_path: Path, genome: str, at: int) -> None:
    """Whichever copy comes first, and however little the insert sizes tell."""
    mate = nearby(genome, 14)
    text = genome[:at] + genome[1286:1300] + genome[at + 14 :]
    (row,) = mapped(cli, tmp_path, text, mate)
    assert int(row[4]) < 10, row
    (row,) = mapped(cli, tmp_path, genome, mate)
    assert int(row[4]) > 30


def test_a_repeat_is_not_told_from_its_copy_by_a_few_bases(cli: Cli, tmp_path: Path) -> None:
    """The first end lies in one of two copies; the mate fits near one of them, as one of ten bases does by chance."""
    repeat, mate = random_genome(71, 300), "ACGATTGCAC"
    text = random_genome(72, 2000) + repeat + random_genome(73, 3000) + repeat + random_genome(74, 2000)
    text = text[:5500] + mate + text[5510:]
    first = write_fastq(tmp_path / "1.fq", ("p", repeat[100:200], "I" * 100))
    second = write_fastq(tmp_path / "2.fq", ("p", reverse_complement(mate), "I" * 10))
    rows = records(cli("map", "-I", "300,50", write_fasta(tmp_path / "r.fa", g=text), first, second)[1])
    bits = 20 - math.log2(4 * (500 + 2))
    assert [int(row[4]) for row in rows] == [int(3.0103 * bits)] * 2


def test_a_read_that_says_little_more_than_where_it_is(cli: Cli, tmp_path: Path, genome: str) -> None:
    reads = write_fastq(tmp_path / "r.fq", *((f"r{n}", genome[3000 : 3000 + n], "I" * n) for n in (11, 12, 100)))
    rows = records(cli("map", "-k", 11, "-w", 1, write_fasta(tmp_path / "r.fa", g=genome), reads)[1])
    assert [row[3] for row in rows] == ["3001"] * 3
    names = math.log2(2 * 60_000 + 1)
    assert [int(row[4]) for row in rows] == [int(3.0103 * (22 - names)), int(3.0103 * (24 - names)), 60]


@pytest.mark.parametrize("alphabet", ["ACGT", "AAATTTACGT"], ids=["even", "three quarters A and T"])
def test_short_mates_that_are_wrong_say_so(cli: Cli, tmp_path: Path, alphabet: str) -> None:
    """Mates of 1 to 31 bases with 1 % errors, on a genome where a tenth is of low complexity."""
    rng = random.Random(17)
    text = ""
    while len(text) < 200_000:
        text += "".join(rng.choices(alphabet, k=rng.randrange(900)))
        text += "".join(rng.choices("ACGT", k=rng.randint(1, 4))) * rng.randrange(20)
    sides: list[list[tuple[str, str, str]]] = [[], []]
    for i in range(4000):
        at, length, insert = rng.randrange(199_000), rng.randint(1, 31), int(rng.gauss(300, 30))
        bases = [base if rng.random() > 0.01 else rng.choice("ACGT") for base in text[at : at + insert]]
        ends = "".join(bases[:100]), reverse_complement("".join(bases[-length:]))
        for side, end in zip(sides, ends, strict=True):
            side.append((f"p{i}.{at + insert - length + 1}.", end, "I" * len(end)))
    files = [write_fastq(tmp_path / f"{i}.fq", *side) for i, side in enumerate(sides)]
    rows = records(cli("map", "-I", "300,30", write_fasta(tmp_path / "r.fa", g=text), *files)[1])
    far = [(int(row[4]), abs(int(row[3]) - int(row[0].split(".")[1])) > 5) for row in rows[1::2] if row[5] != "*"]
    for minimum, kept in ((1, 2500), (20, 1800)):
        wrong = [is_far for quality, is_far in far if quality >= minimum]
        assert len(wrong) > kept
        assert sum(wrong) <= len(wrong) * 10 ** (-minimum / 10) / 5


@pytest.mark.parametrize("library", PAIRS)
def test_the_device_gives_the_same(library: str) -> None:
    reference, contigs = repetitive_reference(3)
    index = build_index(reference, IndexParams(15, 8))
    rng = random.Random(9)
    reads: list[bytes] = []
    for _ in range(300):
        text = bytes(contigs[rng.choice([0, 0, 4])])
        at, length = rng.randrange(len(text) - 500), rng.randrange(60)
        mate = text[at + 300 - length : at + 300].decode()
        ends = [text[at : at + 100], reverse_complement(mate).encode() if rng.random() < 0.9 else b"N" * length]
        reads += ends if rng.random() < 0.5 else reversed(ends)
    batch = batch_of(reads, np.array([1, 2] * 300, np.uint8))
    for params in (MapParams(), MapParams.of_preset(end_to_end=True)):
        found = map_scalar(index, batch, params, PAIRS[library])
        assert_same(found, index, batch, params, PAIRS[library])
        # pairs with a mate that is looked for with a base changed, or clipped
        assert np.count_nonzero(found.on_host) <= 0.2 * len(batch)
