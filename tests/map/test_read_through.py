"""Pairs whose insert is shorter than their reads: both mates are clipped behind it, where an adapter follows."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
#: TruSeq's, as Illumina publishes them
ADAPTERS = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCC", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCC"
LENGTH = 100


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(71, 60_000)


def read_pair(insert: str, lengths: tuple[int, int] = (LENGTH, LENGTH)) -> tuple[str, str]:
    behind = random_genome(5, 2 * LENGTH)
    first = insert + ADAPTERS[0] + behind
    second = reverse_complement(insert) + ADAPTERS[1] + behind[::-1]
    return first[: lengths[0]], second[: lengths[1]]


def mapped(
    cli: Cli, folder: Path, genome: str, *pairs: tuple[str, str], options: tuple[str, ...] = ()
) -> list[list[str]]:
    files = [
        write_fastq(
            folder / f"{mate}.fq", *((f"p{i}", pair[mate], "I" * len(pair[mate])) for i, pair in enumerate(pairs))
        )
        for mate in (0, 1)
    ]
    code, sam, error = cli("map", "-I", "100,60", *options, write_fasta(folder / "r.fa", g=genome), *files)
    assert code == 0, error
    return records(sam)


def loci(rows: list[list[str]]) -> list[tuple[str, ...]]:
    """Flag, position, CIGAR."""
    return [(row[1], row[3], row[5]) for row in rows]


@pytest.mark.parametrize("size", [40, 50, 63, 64, 65, 80])
def test_both_mates_end_where_the_insert_ends(cli: Cli, tmp_path: Path, genome: str, size: int) -> None:
    insert, clip = genome[2000 : 2000 + size], LENGTH - size
    forward, backward = read_pair(insert), read_pair(reverse_complement(insert))
    assert loci(mapped(cli, tmp_path, genome, forward, backward)) == [
        ("99", "2001", f"{size}M{clip}S"),
        ("147", "2001", f"{clip}S{size}M"),
        ("83", "2001", f"{clip}S{size}M"),
        ("163", "2001", f"{size}M{clip}S"),
    ]


def test_bases_of_the_adapter_that_equal_the_reference_are_clipped_as_well(
    cli: Cli, tmp_path: Path, genome: str
) -> None:
    """Three bases behind the insert are those of the adapter, by chance."""
    changed = genome[:2060] + ADAPTERS[0][:3] + genome[2063:]
    rows = mapped(cli, tmp_path, changed, read_pair(genome[2000:2060]))
    assert loci(rows) == [("99", "2001", "60M40S"), ("147", "2001", "40S60M")]


def test_reads_of_two_lengths(cli: Cli, tmp_path: Path, genome: str) -> None:
    """R2 ends before the insert does."""
    rows = mapped(cli, tmp_path, genome, read_pair(genome[2000:2060], (100, 50)))
    assert loci(rows) == [("99", "2001", "60M40S"), ("147", "2011", "50M")]


def test_errors_and_a_gap_within_the_insert(cli: Cli, tmp_path: Path, genome: str) -> None:
    """A base is missing in both mates, and R1 has a substitution."""
    first, second = read_pair(genome[2000:2040] + genome[2041:2071])
    other = "A" if first[20] != "A" else "C"
    rows = mapped(cli, tmp_path, genome, (first[:20] + other + first[21:], second))
    # the gap is left-aligned
    shift = next(n for n in range(40) if genome[2039 - n] != genome[2040 - n])
    cigar = f"{40 - shift}M1D{30 + shift}M"
    assert loci(rows) == [("99", "2001", f"{cigar}30S"), ("147", "2001", f"30S{cigar}")]


def test_a_tandem_copy_is_no_adapter(cli: Cli, tmp_path: Path, genome: str) -> None:
    """A fragment of 250 bases of units of 171: R1 begins as the reverse complement of R2 ends, 79 bases of them. Both
    mates go on as the reference does, apart from a gap of 12, too long to align end to end."""
    unit = random_genome(8, 171)
    repeats = genome[:3000] + unit * 2 + genome[3342:]
    fragment = repeats[3000:3250]
    first = fragment[:89] + fragment[101:112]
    second = reverse_complement(fragment)[:LENGTH]
    rows = mapped(cli, tmp_path, repeats, (first, second))
    assert first[:79] == reverse_complement(second)[-79:]
    assert rows[1][5] == "100M"
    assert "79M21S" not in rows[0][5]


def test_a_single_read_keeps_its_alignment(cli: Cli, tmp_path: Path, genome: str) -> None:
    reads = write_fastq(tmp_path / "s.fq", ("s", read_pair(genome[2000:2060])[0], "I" * LENGTH))
    code, sam, _ = cli("map", write_fasta(tmp_path / "r.fa", g=genome), reads)
    same = next(i for i in range(60, LENGTH) if genome[2000 + i] != records(sam)[0][9][i])
    assert code == 0
    assert loci(records(sam)) == [("0", "2001", f"{same}M{LENGTH - same}S")]


def test_a_repeat_that_goes_on_elsewhere_is_no_adapter(cli: Cli, tmp_path: Path, genome: str) -> None:
    """As above, but with an error in R1, by which its first 79 bases equal another copy that goes on otherwise."""
    unit = random_genome(8, 171)
    fragment = (unit * 2)[:250]
    other = "A" if fragment[40] != "A" else "C"
    first = fragment[:40] + other + fragment[41:LENGTH]
    repeats = genome[:3000] + unit * 2 + genome[3342:20_000] + first[:79] + genome[20_079:]
    rows = mapped(cli, tmp_path, repeats, (first, reverse_complement(fragment)[:LENGTH]))
    assert [row[5] for row in rows] == ["100M", "100M"]
    assert rows[0][3] in ("3001", "3172")  # of either unit


def test_every_insert_from_none_to_the_read(cli: Cli, tmp_path: Path, genome: str) -> None:
    """Right to the base where mates share 32 bases or more; nowhere is a base of the insert lost."""
    rng = random.Random(3)
    starts = [(rng.randrange(100, 59_000), size) for size in range(1, LENGTH + 1)]
    rows = mapped(cli, tmp_path, genome, *(read_pair(genome[start : start + size]) for start, size in starts))
    assert len(rows) == 2 * LENGTH
    for (start, size), first, second in zip(starts, rows[::2], rows[1::2], strict=True):
        if 32 <= size < LENGTH:
            assert (first[3], first[5]) == (str(start + 1), f"{size}M{LENGTH - size}S")
            assert (second[3], second[5]) == (str(start + 1), f"{LENGTH - size}S{size}M")
        elif size == LENGTH:
            assert (first[5], second[5]) == (f"{size}M", f"{size}M")


def test_the_fast_path_of_a_device_suffices(
    cli: Cli, use: Callable[[FakeDriver], FakeDriver], slow_templates: list[int], tmp_path: Path, genome: str
) -> None:
    """For mates that read through, with a substitution; R2 is shorter than some inserts."""
    use(FakeDriver())
    rng = random.Random(4)
    pairs = []
    for _ in range(200):
        start, size = rng.randrange(100, 59_000), rng.randrange(60, LENGTH)
        insert = genome[start : start + size]
        first, second = read_pair(reverse_complement(insert) if rng.random() < 0.5 else insert, (LENGTH, 80))
        at = rng.randrange(size)
        pairs.append((first[:at] + rng.choice("ACGT") + first[at + 1 :], second))
    of_cpu = mapped(cli, tmp_path, genome, *pairs)
    assert not slow_templates
    assert mapped(cli, tmp_path, genome, *pairs, options=("--device", "cuda")) == of_cpu
    assert max(slow_templates, default=0) < 0.05 * len(pairs)
    assert sum("S" in row[5] for row in of_cpu) > len(pairs)


def test_mates_of_one_insert_tell_no_more_than_one_read(cli: Cli, tmp_path: Path, genome: str) -> None:
    """Of a read below 52 bases, twice 19 + 7 bases, a locus with one edit more may have no seed: 40 at most."""
    sizes = [40, 46, 51, 52, 60, 90]
    pairs = [read_pair(genome[2000 : 2000 + size]) for size in sizes]
    rows = mapped(cli, tmp_path, genome, *pairs, options=("-k", "19", "-w", "8"))
    assert [row[4] for row in rows[::2]] == [row[4] for row in rows[1::2]] == ["40"] * 3 + ["60"] * 3


def test_a_copy_that_one_mate_shows_is_one_for_both(cli: Cli, tmp_path: Path, genome: str) -> None:
    """Two copies of the insert within a window of mate rescue, which gives one locus of R1; it has an error every 15
    bases, so that no seed shows it."""
    insert = genome[2000:2045]
    copies = genome[:2060] + insert + genome[2105:]
    first, second = read_pair(insert)
    for at in (15, 30):
        first = first[:at] + ("A" if first[at] != "A" else "C") + first[at + 1 :]
    rows = mapped(cli, tmp_path, copies, (first, second), options=("-k", "19", "-w", "8"))
    assert [row[5] for row in rows] == ["45M55S", "55S45M"]
    assert [row[4] for row in rows] == ["0", "0"]
    rows = mapped(cli, tmp_path, genome, (first, second), options=("-k", "19", "-w", "8"))
    assert all(int(row[4]) >= 30 for row in rows)


def test_a_locus_of_a_part_of_the_insert_does_not_move_its_end(cli: Cli, tmp_path: Path, genome: str) -> None:
    """An edit 10 bases before the insert's end; elsewhere are the bases before it, and others. The adapter's first base
    is the reference's as well."""
    insert = genome[2000:2042]
    other = "A" if insert[31] != "A" else "C"
    changed = genome[:2042] + "AC" + genome[2044:30_000] + insert[:31] + genome[30_031:]
    rows = mapped(cli, tmp_path, changed, read_pair(insert[:31] + other + insert[32:]))
    assert loci(rows) == [("99", "2001", "42M58S"), ("147", "2001", "58S42M")]


@pytest.mark.parametrize("size", [40, 60, 80])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("mate", [0, 1])
def test_an_indel_in_one_mate_does_not_hide_the_insert(
    cli: Cli, tmp_path: Path, genome: str, size: int, missing: bool, mate: int
) -> None:
    """A base too few or too many in the middle of a mate; it is clipped where its own bases of the insert end."""
    insert = genome[2000 : 2000 + size]
    pair = list(read_pair(insert, (LENGTH + 1, LENGTH + 1)))
    at = size // 2
    changed = pair[mate][:at] + ("" if missing else "AC"[pair[mate][at] == "A"]) + pair[mate][at + missing :]
    pair[mate], pair[1 - mate] = changed[:LENGTH], pair[1 - mate][:LENGTH]
    rows = mapped(cli, tmp_path, genome, (pair[0], pair[1]))
    own = size - 1 if missing else size + 1
    assert [row[3] for row in rows] == ["2001", "2001"]
    assert [row[1] for row in rows] == ["99", "147"]
    assert [clip(row) for row in rows] == [LENGTH - (own if number == mate else size) for number in (0, 1)]
    assert {"D" if missing else "I"} == set(rows[mate][5]) & set("DI")


def clip(row: list[str]) -> int:
    return sum(int(number) for number in re.findall(r"(\d+)S", row[5]))


def test_mates_with_an_indel_between_them_share_a_copy(cli: Cli, tmp_path: Path) -> None:
    """Each mate by itself would be chained, to any of 40 copies."""
    rng = random.Random(9)
    family = random_genome(10, 400)
    copies = "".join(family + random_genome(1000 + copy, 300) for copy in range(40))
    pairs = []
    for _ in range(60):
        start, size = rng.randrange(0, 300), rng.randrange(50, 95)
        first, second = read_pair(family[start : start + size], (LENGTH + 1, LENGTH))
        at = rng.randrange(12, size - 12)
        pairs.append((first[:at] + first[at + 1 :], second))
    rows = mapped(cli, tmp_path, copies, *pairs)
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert abs(int(first[3]) - int(second[3])) <= 1
        assert first[4] == second[4] == "0"
    assert len({int(row[3]) // 700 for row in rows}) > 20


def test_an_indel_between_mates_is_mapped_alike_on_a_device(
    cli: Cli, use: Callable[[FakeDriver], FakeDriver], tmp_path: Path, genome: str
) -> None:
    """Both mates are of another length than the insert of the other; a tandem repeat shows no single insert."""
    use(FakeDriver())
    rng = random.Random(6)
    pairs = []
    for _ in range(100):
        start, size = rng.randrange(100, 59_000), rng.randrange(34, LENGTH)
        mates = list(read_pair(genome[start : start + size], (LENGTH + 3, LENGTH - 20)))
        mate, at, gap = rng.randrange(2), rng.randrange(8, size - 8), rng.randrange(1, 4)
        mates[mate] = mates[mate][:at] + mates[mate][at + gap :]
        pairs.append((mates[0], mates[1]))
    pairs.append(read_pair("AC" * 30))
    of_cpu = mapped(cli, tmp_path, genome, *pairs)
    assert mapped(cli, tmp_path, genome, *pairs, options=("--device", "cuda")) == of_cpu


@pytest.mark.parametrize(("at", "gap"), [(5, 1), (4, 2), (7, 3)])
@pytest.mark.parametrize("mate", [0, 1])
def test_an_indel_near_the_end_of_a_mate_leaves_copies_of_the_insert_alike(
    cli: Cli, tmp_path: Path, genome: str, at: int, gap: int, mate: int
) -> None:
    """So few bases lie beyond the indel that the mates fit without it, at a size that is not that of both. Behind the
    first copy are bases of the adapter, behind the other one are not."""
    insert = "".join(random.Random(4).choices("ACGT", k=43))
    around = reverse_complement(ADAPTERS[1][:4]) + insert + ADAPTERS[0][:4]
    copies = genome[:2000] + around + genome[2051:9000] + insert + genome[9043:]
    pair = list(read_pair(insert, (LENGTH, LENGTH)))
    pair[mate] = (pair[mate][:at] + "GTC"[:gap] + pair[mate][at:])[:LENGTH]
    first, second = mapped(cli, tmp_path, copies, (pair[0], pair[1]))
    assert first[4] == second[4] == "0"
    assert first[3] == second[3] in ("2005", "9001")


def substituted(read: str, *positions: int) -> str:
    bases = list(read)
    for at in positions:
        bases[at] = "C" if bases[at] == "A" else "A"
    return "".join(bases)


@pytest.mark.parametrize("mate", [0, 1])
def test_a_mate_of_many_errors_ends_where_the_other_one_does(cli: Cli, tmp_path: Path, genome: str, mate: int) -> None:
    """Its insert by itself is no alignment, and the chain of a whole mate ends at an error."""
    pair = list(read_pair(genome[2000:2060]))
    pair[mate] = substituted(pair[mate], 3, 12, 20, 28, 37, 45, 56)
    rows = mapped(cli, tmp_path, genome, (pair[0], pair[1]))
    assert loci(rows) == [("99", "2001", "60M40S"), ("147", "2001", "40S60M")]


def test_mates_of_one_insert_share_a_copy(cli: Cli, use: Callable[[FakeDriver], FakeDriver], tmp_path: Path) -> None:
    """One mate has so many errors that it would be chained by itself, to any of 12 copies or across the gap between
    two of them; both are clipped where the insert ends all the same, on a device as well."""
    use(FakeDriver())
    rng = random.Random(12)
    family = random_genome(13, 300)
    between = family[100:140] + family[160:220]
    copies = "".join(family + random_genome(2000 + copy, 300) + between for copy in range(12))
    pairs, sizes = [], []
    for _ in range(60):
        start, size = rng.randrange(0, 200), rng.randrange(45, 95)
        mates = list(read_pair(family[start : start + size]))
        mate = rng.randrange(2)
        mates[mate] = substituted(mates[mate], *rng.sample(range(size - 5), size // 9))
        pairs.append((mates[0], mates[1]))
        sizes.append(size)
    rows = mapped(cli, tmp_path, copies, *pairs)
    for size, first, second in zip(sizes, rows[::2], rows[1::2], strict=True):
        assert (first[1], second[1]) == ("99", "147")
        assert abs(int(first[3]) - int(second[3])) < size
        behind = re.findall(r"(\d+)S$", first[5]) + re.findall(r"^(\d+)S", second[5])
        assert min(map(int, behind)) >= LENGTH - size
    assert mapped(cli, tmp_path, copies, *pairs, options=("--device", "cuda")) == rows
