"""Short reads that go on to chaining: what sends them there and what comes of it; by hand, and by Smith-Waterman."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import parasail
import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records, tags
from tests.helpers.sequences import random_genome, reverse_complement
from tests.reference.alignment import affine_score, replay
from tests.reference.minimizers import minimizer_positions, mix, packed

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
SCORES = (1, 4, 6, 1, 5)  # match, mismatch, gap open and extension, clip


def mapped(cli: Cli, folder: Path, genome: str, reads: list[str], *options: str) -> list[list[str]]:
    """The primary records."""
    reads_file = write_fastq(folder / "r.fq", *((str(i), read, "I" * len(read)) for i, read in enumerate(reads)))
    code, sam, _ = cli("map", write_fasta(folder / "r.fa", g=genome), reads_file, *options)
    assert code == 0
    return [row for row in records(sam) if not int(row[1]) & 0x900]


def changed(text: str, *positions: int) -> str:
    bases = list(text)
    for at in positions:
        bases[at] = "CGTA"["ACGT".index(bases[at])]
    return "".join(bases)


def test_a_long_gap_is_preferred_to_the_edits_of_another_copy(cli: Cli, tmp_path: Path) -> None:
    """Seven mismatches cost 35, which is within the limit; a gap of 20, beyond the limit, costs 26."""
    left, right = random_genome(1, 75), random_genome(2, 75)
    copy = changed(left + right, 9, 29, 49, 69, 89, 109, 129)
    genome = (
        random_genome(3, 1000)
        + copy
        + random_genome(4, 1000)
        + left
        + random_genome(5, 20)
        + right
        + random_genome(6, 1000)
    )
    (row,) = mapped(cli, tmp_path, genome, [left + right])
    assert (row[3], tags(row)["AS"]) == ("2151", "124")
    assert "20D" in row[5]
    (row,) = mapped(cli, tmp_path, genome, [left + right], "--end-to-end")
    assert (row[3], row[5], tags(row)["ed"]) == ("1001", "150M", "7")
    few = copy[:60] + left[60:] + right  # three mismatches cost less than the gap
    (row,) = mapped(cli, tmp_path, genome.replace(copy, few), [left + right])
    assert (row[3], row[5], tags(row)["AS"]) == ("1001", "150M", "135")


@pytest.mark.parametrize(("side", "cigar"), [(20, "40S110M"), (21, "41S109M"), (22, "22M20I108M")])
def test_a_gap_has_to_earn_more_than_clipping_its_side(cli: Cli, tmp_path: Path, side: int, cigar: str) -> None:
    """A gap of 20 costs 26, and an end that is not clipped is worth 5."""
    genome = random_genome(7, 3000)
    before, after = genome[1000 : 1000 + side], genome[1000 + side : 1130]
    inserted = next(base for base in "ACGT" if base not in (before[-1], after[0])) * 20
    read = before + inserted + after
    (row,) = mapped(cli, tmp_path, genome, [read], "-k", "15", "-w", "5")
    assert row[5] == cigar


def test_long_gaps_in_tandem_repeats_are_aligned_as_well_as_smith_waterman_does(cli: Cli, tmp_path: Path) -> None:
    """An anchor's diagonal may be that of another copy: each side of a doubtful gap is aligned by itself, too."""
    rng = random.Random(11)
    genome, reads = "", []
    for seed in range(40):
        genome += random_genome(100 + seed, 400)
        repeat = random_genome(200 + seed, rng.randrange(22, 40)) * 12
        repeat = changed(repeat, *(rng.randrange(len(repeat)) for _ in range(8)))
        at = rng.randrange(0, len(repeat) - 130)
        half = rng.randrange(45, 85)
        reads.append(repeat[at : at + half] + random_genome(300 + seed, 20) + repeat[at + half : at + 130])
        genome += repeat
    matrix = parasail.matrix_create("ACGT", SCORES[0], -SCORES[1])
    rows = mapped(cli, tmp_path, genome, reads)
    for read, row in zip(reads, rows, strict=True):
        sequence = reverse_complement(read) if int(row[1]) & 16 else read
        _, _, columns = replay(sequence, genome, int(row[3]) - 1, row[5])
        score = affine_score(columns, SCORES)
        assert score == int(tags(row)["AS"])
        best = max(
            parasail.sw_striped_16(each, genome, 7, 1, matrix).score for each in (read, reverse_complement(read))
        )
        ends = sum(SCORES[4] for end in (columns[0], columns[-1]) if end != "S")  # what clipping them would have cost
        assert best <= score + ends


@pytest.mark.parametrize(
    ("edits", "expected"),
    [(1, ("1001", "150M", "145")), (2, ("2151", "141M9S", "141")), (3, ("1001", "142M8S", "142"))],
)
def test_a_copy_beyond_the_limit_may_be_better_clipped(
    cli: Cli, tmp_path: Path, edits: int, expected: tuple[str, str, str]
) -> None:
    """The copy lacks the read's last nine bases, which is beyond the limit of five edits; clipped it scores 141. Both
    loci have the seeds of the first 141 bases. With three edits in the last eight bases the locus is clipped itself.
    """
    read = random_genome(31, 150)
    locus = changed(read, *range(142, 142 + 3 * edits, 3))
    copy = changed(read, *range(141, 150))
    genome = random_genome(32, 1000) + locus + random_genome(33, 1000) + copy + random_genome(34, 1000)
    (row,) = mapped(cli, tmp_path, genome, [read], "-k", "15", "-w", "5", "--error-rate", "0.03")
    assert (row[3], row[5], tags(row)["AS"]) == expected


@pytest.mark.parametrize(("shared", "minimum", "maximum"), [(98, 0, 0), (97, 1, 5), (94, 10, 30)])
def test_a_lead_of_half_an_edit_is_none(cli: Cli, tmp_path: Path, shared: int, minimum: int, maximum: int) -> None:
    """Of 100 bases that a read has in common with one locus, another locus has the first 98, 97 or 94."""
    start, rest = random_genome(21, 100), random_genome(22, 50)
    copy = start[:shared] + changed(start, *range(shared, 100))[shared:]
    genome = (
        random_genome(23, 1000) + copy + random_genome(24, 1000) + start + changed(rest, 0) + random_genome(25, 1000)
    )
    read = start + "".join("TGAC"["ACGT".index(base)] for base in changed(rest, 0))
    (row,) = mapped(cli, tmp_path, genome, [read])
    assert (row[3], row[5]) == ("2101", "100M50S")
    assert minimum <= int(row[4]) <= maximum


@pytest.mark.parametrize(("aligned", "maximum"), [(74, 10), (76, 60)])
def test_reads_of_which_little_is_explained_are_not_trusted(
    cli: Cli, tmp_path: Path, aligned: int, maximum: int
) -> None:
    """Three tenths of 250 bases are 75."""
    genome = random_genome(31, 3000)
    other = random_genome(32, 250 - aligned)
    (row,) = mapped(
        cli, tmp_path, genome, [genome[1000 : 1000 + aligned] + changed(genome[1000 + aligned], 0) + other[1:]]
    )
    assert (row[3], row[5], row[4]) == ("1001", f"{aligned}M{250 - aligned}S", str(maximum))


def kmers(text: str, positions: list[int], k: int) -> set[str]:
    """On whichever strand comes first."""
    return {min(kmer, reverse_complement(kmer)) for kmer in (text[i : i + k] for i in positions)}


def minimizers(text: str, k: int = 19, w: int = 9) -> set[str]:
    return kmers(text, minimizer_positions(text, k, w, lambda kmer: mix(k, packed(kmer))), k)


def test_a_short_part_of_a_read_in_a_repeat_is_not_trusted(cli: Cli, tmp_path: Path) -> None:
    """The first 60 bases differ by one edit each from 40 copies and from another one, which only rare seeds show."""
    family = random_genome(12, 60)
    first = changed(family, 30)
    copies = [family] * 40 + [changed(first, 3)]
    genome = "".join(copy + random_genome(20 + i, 100) for i, copy in enumerate(copies))
    options = ("-k", "19", "-w", "8", "--max-hits", "10")
    (row,) = mapped(cli, tmp_path, genome, [first + random_genome(13, 90)], *options)
    assert row[3] == str(40 * 160 + 1)
    assert row[5].endswith("S")
    assert int(row[4]) <= 6


def test_reads_with_many_errors_are_chained_by_all_their_k_mers(cli: Cli, tmp_path: Path) -> None:
    """By definition no minimizer of the read's last 120 bases is of the reference there, but two other k-mers are.
    The first 31 bases, which come from a repeat, are what sends the read to chaining."""
    home, repeat = random_genome(1075, 400), random_genome(5075, 31)
    read = repeat + changed(home[100:220], 17, 41, 63, 86, 106)
    assert not minimizers(read) & minimizers(home)
    assert len(kmers(read, list(range(len(read) - 18)), 19) & minimizers(home)) == 2
    copies = "".join(random_genome(80 + i, 500) + repeat for i in range(2))
    genome = copies + random_genome(83, 500) + home + random_genome(84, 500)
    (row,) = mapped(cli, tmp_path, genome, [read])
    assert (int(row[3]), row[5]) == (genome.index(home) + 101, "31S120M")
    assert tags(row)["AS"] == "95"


def test_of_many_chains_by_chance_those_that_promise_nothing_are_left_out(cli: Cli, tmp_path: Path) -> None:
    """A 19-mer of each read is at 80 places; at one of them the read goes on, with a gap or behind a substitution."""
    genome, shared = random_genome(91, 60_000), random_genome(92, 19)
    pieces = [genome[i : i + 700] for i in range(0, 56_000, 700)]
    genome = shared.join(pieces)
    home = genome.index(shared, 20_000)
    gap = (
        changed(genome[home - 15 : home - 12], 0, 1, 2) + genome[home - 12 : home + 25] + genome[home + 28 : home + 70]
    )
    substitution = changed(genome[home - 5 : home + 75], 0, 1, 2, 30, 57)
    reads = [random_genome(93 + i, 57) + part for i, part in enumerate((gap, substitution))]
    reads.append(random_genome(95, 100) + shared + random_genome(96, 30))
    rows = mapped(cli, tmp_path, genome, reads)
    assert [int(row[3]) for row in rows] == [home - 12 + 1, home - 2 + 1, 0]
    assert [row[5] for row in rows] == ["60S37M3D42M", "60S77M", "*"]


def test_a_piece_of_another_copy_does_not_break_an_alignment(cli: Cli, tmp_path: Path) -> None:
    """In a stretch with an insertion some other copy of a repeat often has a piece that scores more: an alignment is
    broken only where that earns an alignment more."""
    rng = random.Random(6)

    def noisy(text: str, rate: float) -> str:
        return "".join(rng.choice("ACGT") if rng.random() < rate else base for base in text)

    family = random_genome(7, 300)
    genome = "".join(random_genome(100 + copy, 300) + noisy(family, 0.12) for copy in range(60))
    reads, loci = [], []
    for _ in range(300):
        start, left = 600 * rng.randrange(60) + 300 + rng.randrange(170), rng.randrange(40, 90)
        inserted = "".join(rng.choices("ACGT", k=20))
        reads.append(noisy(genome[start : start + left] + inserted + genome[start + left : start + 130], 0.01))
        loci.append(start + 1)
    rows = mapped(cli, tmp_path, genome, reads)
    assert [row[5] for row in rows if "S" in row[5]] == []
    assert [abs(int(row[3]) - locus) < 5 for row, locus in zip(rows, loci, strict=True)].count(False) == 0


def test_of_equally_good_parts_the_one_without_a_rival_is_primary(cli: Cli, tmp_path: Path) -> None:
    """Whatever the read's name; and each part has a record."""
    repeat, unique = random_genome(21, 100), random_genome(22, 100)
    genome = random_genome(23, 2000) + repeat + random_genome(24, 2000) + unique + random_genome(25, 2000)
    genome += repeat + random_genome(26, 2000)
    copies = {2001, 2001 + 100 + 2000 + 100 + 2000}
    reads = write_fastq(tmp_path / "r.fq", *((f"read{i}", repeat + unique, "I" * 200) for i in range(40)))
    code, sam, _ = cli("map", write_fasta(tmp_path / "r.fa", g=genome), reads, "-N", "5")
    assert code == 0
    found: dict[str, dict[int, list[str]]] = {}
    for row in records(sam):
        found.setdefault(row[0], {}).setdefault(int(row[1]) & 0x900, []).append(row)
    places = set()
    for of_read in found.values():
        ((primary,), (supplementary,)) = of_read[0], of_read[0x800]
        assert (int(primary[3]), primary[5]) == (4101, "100S100M")
        assert int(primary[4]) > 30
        assert (int(supplementary[3]) in copies, supplementary[5]) == (True, "100M100H")
        assert int(supplementary[4]) == 0
        places.add(int(supplementary[3]))
    assert len(found) == 40
    assert places == copies


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shared", [0, 5])
def test_pieces_of_a_read_end_where_they_meet(cli: Cli, tmp_path: Path, turned: bool, shared: int) -> None:
    """Without a base the reference goes on after the first piece as the second one begins, for 14 bases; to skip it
    costs 7. The first `shared` bases of the second piece are there without a gap, too."""
    genome, piece = random_genome(41, 20_000), random_genome(42, 75)
    after = piece[:shared] + ("A" if piece[shared] != "A" else "C") + piece[shared : shared + 14]
    genome = genome[:5075] + after + genome[5075 + len(after) : 12_000]
    genome += (reverse_complement(piece) if turned else piece) + random_genome(43, 5000)
    reads = write_fastq(tmp_path / "r.fq", ("r", genome[5000:5075] + piece, "I" * 150))
    code, sam, _ = cli("map", write_fasta(tmp_path / "r.fa", g=genome), reads, "-k", "19", "-w", "8")
    first, second = sorted(records(sam), key=lambda row: int(row[3]))
    assert code == 0
    assert (first[3], first[5].replace("H", "S")) == ("5001", f"{75 + shared}M{75 - shared}S")
    assert (second[3], second[5].replace("H", "S")) == ("12001", "75M75S" if turned else "75S75M")
