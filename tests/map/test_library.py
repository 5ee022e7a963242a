"""Libraries of pairs: how mates face each other and how long inserts are, seen in the first pairs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
PROPER = 2


def make_pairs(genome: str, orientation: str, sizes: list[int], seed: int = 1) -> list[tuple[str, str]]:
    """Ends of 70 bases of fragments of either strand."""
    rng, pairs = random.Random(seed), []
    for size in sizes:
        at = rng.randrange(0, len(genome) - size)
        fragment = genome[at : at + size]
        if rng.random() < 0.5:
            fragment = reverse_complement(fragment)
        left, right = fragment[:70], fragment[-70:]
        pairs.append(
            {
                "fr": (left, reverse_complement(right)),
                "rf": (reverse_complement(left), right),
                "ff": (left, right),
            }[orientation]
        )
    return pairs


def map_pairs(cli: Cli, folder: Path, genome: str, pairs: list[tuple[str, str]], *options: str):
    """(share in proper pairs, what --json says, the summary)."""
    ends = [
        write_fastq(folder / f"{i}.fq", *((f"p{n}", pair[i], "I" * 70) for n, pair in enumerate(pairs))) for i in (0, 1)
    ]
    report = folder / "report.json"
    code, sam, error = cli("map", "--json", report, *options, write_fasta(folder / "r.fa", g=genome), *ends)
    assert code == 0
    proper = [bool(int(row[1]) & PROPER) for row in records(sam)]
    return sum(proper) / len(proper), json.loads(report.read_text())["insert_size"], error


@pytest.mark.parametrize("orientation", ["fr", "rf", "ff"])
def test_orientation_is_detected(cli: Cli, tmp_path: Path, genome: str, orientation: str) -> None:
    rng = random.Random(2)
    pairs = make_pairs(genome, orientation, [int(rng.gauss(1500, 100)) for _ in range(300)])
    share, library, summary = map_pairs(cli, tmp_path, genome, pairs)
    assert share > 0.99
    assert library["orientation"] == orientation
    assert 1480 < library["mean"] < 1520
    assert f"in proper pairs ({orientation}, insert size 1" in summary


def test_a_flag_overrides_what_is_detected(cli: Cli, tmp_path: Path, genome: str) -> None:
    rng = random.Random(2)
    mixed = make_pairs(genome, "rf", [int(rng.gauss(1500, 100)) for _ in range(200)])
    mixed += make_pairs(genome, "fr", [int(rng.gauss(300, 20)) for _ in range(100)], seed=3)
    share, library, _ = map_pairs(cli, tmp_path, genome, mixed)
    assert library["orientation"] == "rf"
    assert 0.65 < share < 0.68
    share, library, _ = map_pairs(cli, tmp_path, genome, mixed, "--fr")
    assert library["orientation"] == "fr"
    assert 0.32 < share < 0.35


@pytest.mark.parametrize("few", [0.2, 0.5])
def test_two_kinds_of_inserts(cli: Cli, tmp_path: Path, genome: str, few: float) -> None:
    rng = random.Random(4)
    sizes = [int(rng.gauss(2500, 150) if rng.random() < few else rng.gauss(250, 20)) for _ in range(400)]
    share, library, _ = map_pairs(cli, tmp_path, genome, make_pairs(genome, "fr", sizes))
    assert share > 0.99
    assert library["max"] < 10_000


def test_scattered_pairs_are_no_second_kind(cli: Cli, tmp_path: Path, genome: str) -> None:
    rng = random.Random(5)
    sizes = [rng.randrange(1000, 50_000) if rng.random() < 0.15 else int(rng.gauss(300, 20)) for _ in range(400)]
    _, library, _ = map_pairs(cli, tmp_path, genome, make_pairs(genome, "fr", sizes))
    assert library["max"] < 500


def test_a_mate_that_fits_in_part_is_found_next_to_the_other(cli: Cli, tmp_path: Path, genome: str) -> None:
    """24 bases are no alignment of a read by itself; next to the other mate they are. Foreign mates stay unmapped."""
    foreign = random_genome(99, 20_000)
    pairs = make_pairs(genome, "fr", [300] * 200)
    parts = [(one, two[:24] + foreign[i * 46 :][:46]) for i, (one, two) in enumerate(pairs)]
    share, _, _ = map_pairs(cli, tmp_path, genome, parts, "-I", "300,30")
    assert share > 0.99
    others = [(one, foreign[i * 70 :][:70]) for i, (one, _) in enumerate(pairs)]
    share, _, _ = map_pairs(cli, tmp_path, genome, others, "-I", "300,30")
    assert share == 0


@pytest.mark.parametrize("batch_size", ["10K", "4M"])
def test_as_many_pairs_are_looked_at_as_are_needed(cli: Cli, tmp_path: Path, genome: str, batch_size: str) -> None:
    """The first thousand, if four fifths of them have an insert size, and else up to five thousand."""
    rng = random.Random(5)

    def sized(mean: int, count: int) -> list[tuple[str, str]]:
        return make_pairs(genome, "fr", [int(rng.gauss(mean, 10)) for _ in range(count)], seed=rng.randrange(99))

    foreign = random_genome(6, 3000)
    noise = make_pairs(foreign, "fr", [300] * 201, seed=3)
    options = ("--batch-size", batch_size)
    enough = sized(300, 800) + noise[:200] + sized(400, 400)
    assert 297 < map_pairs(cli, tmp_path, genome, enough, *options)[1]["mean"] < 303
    lacking = sized(300, 799) + noise + sized(400, 799)
    assert 340 < map_pairs(cli, tmp_path, genome, lacking, *options)[1]["mean"] < 360
