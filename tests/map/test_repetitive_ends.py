"""Reads that are partly a microsatellite or an interspersed repeat: the other part tells where they belong."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]


def mapped(cli: Cli, folder: Path, genome: str, *reads: str, max_hits: int = 1000) -> list[list[str]]:
    file = write_fastq(folder / "r.fq", *((f"r{i}", read, "I" * len(read)) for i, read in enumerate(reads)))
    code, sam, error = cli("map", write_fasta(folder / "r.fa", g=genome), file, "--max-hits", max_hits)
    assert code == 0, error
    return records(sam)


def with_copies(text: str, *copies: str) -> str:
    """A genome with copies planted 700 bases apart, from 10,000 on."""
    for number, copy in enumerate(copies):
        at = 10_000 + 700 * number
        text = text[:at] + copy + text[at + len(copy) :]
    return text


@pytest.mark.parametrize("unit", ["A", "AC", "AAG", "AGAT", "AAAAG", "AACCCT"])
def test_a_microsatellite_at_the_end_does_not_decide(cli: Cli, tmp_path: Path, unit: str) -> None:
    """It is longer than the rest of the read and has perfect copies elsewhere, after other bases than in the read."""
    genome = with_copies(random_genome(17, 60_000), *("GT" + (unit * 100)[: 60 + 2 * n] for n in range(30)))
    genome = genome[:4058] + "CC" + genome[4060:]
    start = genome[4000:4060]
    array = (unit * 100)[:90]
    rows = mapped(cli, tmp_path, genome, start + array, reverse_complement(start + array))
    assert [(row[1], row[3]) for row in rows] == [("0", "4001"), ("16", "4001")]
    assert all(int(row[5].split("M")[0]) in range(58, 70) for row in rows)
    assert all(int(row[4]) >= 30 for row in rows)


@pytest.mark.parametrize("unit", ["A", "AC", "AAG", "AGAT", "AAAAG", "AACCCT"])
def test_a_microsatellite_alone_is_never_certain(cli: Cli, tmp_path: Path, unit: str) -> None:
    """The reference has one, but the ends of the read belong to another place, which it lacks."""
    array = (unit * 100)[:90]
    genome = with_copies(random_genome(18, 60_000), array)
    strange = random_genome(19, 60)
    (row,) = mapped(cli, tmp_path, genome, strange[:30] + array + strange[30:])
    assert row[3] == "*" or int(row[4]) <= 15


@pytest.mark.parametrize("max_hits", [300, 1000])
def test_both_parts_of_a_read_half_in_a_repeat(cli: Cli, tmp_path: Path, max_hits: int) -> None:
    """The repeat has 120 copies with substitutions; the read joins one of them to another place. With 300 hits the
    search for an alignment end to end leaves some out."""
    rng = random.Random(4)
    repeat = random_genome(20, 300)
    copies = ["".join(rng.choice("ACGT") if rng.random() < 0.02 else base for base in repeat) for _ in range(120)]
    genome = with_copies(random_genome(21, 120_000), *copies)
    number, at = 37, 10_000 + 700 * 37
    assert sum(copy[100:175] == copies[number][100:175] for copy in copies) == 1
    rows = mapped(cli, tmp_path, genome, genome[3000:3075] + genome[at + 100 : at + 175], max_hits=max_hits)
    assert sorted((int(row[3]), row[5]) for row in rows)[0][0] == 3001
    assert any(abs(int(row[3]) - (at + 101)) <= 3 for row in rows)


@pytest.mark.parametrize("unit", ["GGAAT", "AC", "TTAGGG"])
def test_reads_with_errors_within_an_array(cli: Cli, tmp_path: Path, unit: str) -> None:
    """An error makes k-mers that are elsewhere by chance, and rarer than any of the array. Where in the array a read
    lies, it does not tell; a few fit an end of it, where some k-mers are rare.
    """
    rng = random.Random(7)
    array = (unit * 8000)[:40_000]
    genome = random_genome(22, 500_000) + array + random_genome(23, 500_000)
    reads = []
    for _ in range(200):
        start = rng.randrange(1000, len(array) - 1150)
        read = [rng.choice("ACGT") if rng.random() < 0.013 else base for base in array[start : start + 150]]
        reads.append("".join(read))
    rows = mapped(cli, tmp_path, genome, *reads)
    assert all(500_000 - 150 < int(row[3]) <= 540_000 for row in rows)
    assert sum(int(row[4]) > 3 for row in rows) <= 20
