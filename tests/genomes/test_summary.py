"""`gpualign align --report`: dnadiff's report."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.files import write_fasta
from tests.helpers.genome_cases import genome_pair
from tests.helpers.sequences import reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]

#: seed, divergence; the MD5 sum of the sorted lines, without the first one, of the report of dnadiff 4.0.1, whose rows
#: of bases are in random order
DNADIFF = [(31, 0.01, "4772ebace2bce6dd1a41a87a561f09f5"), (32, 0.05, "95843285a64663d67733191a784d2741")]


def report_of(cli: Cli, folder: Path, reference: list[str], query: list[str], *more: str) -> str:
    files = write_fasta(folder / "ref.fa", reference, "r"), write_fasta(folder / "query.fa", query, "q")
    report = folder / "report"
    assert cli("align", *files, "-q", "-o", "/dev/null", "--report", report, *more)[0] == 0
    return report.read_text()


@pytest.mark.parametrize(("seed", "divergence", "digest"), DNADIFF)
def test_it_is_that_of_dnadiff(cli: Cli, tmp_path: Path, seed: int, divergence: float, digest: str) -> None:
    text = report_of(cli, tmp_path, *genome_pair(seed, divergence))
    assert hashlib.md5("\n".join(sorted(text.split("\n")[1:])).encode()).hexdigest() == digest


@pytest.mark.parametrize("more", [(), ("--filter", "1")])
def test_rearrangements_by_hand(cli: Cli, tmp_path: Path, more: tuple[str, ...]) -> None:
    draw = random.Random(5)
    a, b, c, d, new = ("".join(draw.choices("ACGT", k=1000)) for _ in range(5))
    text = report_of(cli, tmp_path, [a + b + c + d, new], [a + reverse_complement(b) + c + new[:400] + d], *more)
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if len(line.split()) == 3}
    assert rows["TotalSeqs"] == ["2", "1"]
    assert rows["TotalBases"] == ["5000", "4400"]
    assert rows["UnalignedBases"] == ["600(12.0000%)", "0(0.0000%)"]
    assert rows["Inversions"] == ["2", "2"]
    assert rows["Translocations"] == ["0", "2"]  # to the second sequence and back
    assert rows["TotalSNPs"] == rows["TotalIndels"] == ["0", "0"]


def test_nothing_aligned(cli: Cli, tmp_path: Path) -> None:
    text = report_of(cli, tmp_path, ["ACGT" * 20], ["GGCC" * 9])
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if len(line.split()) == 3}
    assert rows["AlignedBases"] == ["0(0.0000%)", "0(0.0000%)"]
    assert rows["AvgIdentity"] == rows["InsertionAvg"] == ["0.0000", "0.0000"]
