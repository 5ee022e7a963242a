"""In-silico PCR, against a naive scan; melting temperatures by hand."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from gpualign.search.pcr import melting_temperature
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import reverse_complement

PRIMERS = {"one": ("ACGGTTCAAGCTTAGC", "GGCATTACCAGATTCA"), "two": ("TTGACCGTAGGCAATC", "CAGTTCGACCATAAGG")}


def sites(text: str, primer: str, k: int) -> list[tuple[int, int]]:
    """Start and mismatches of each site of the plus strand, of those that overlap the best and leftmost."""
    size = len(primer)
    errors = [sum(a != b for a, b in zip(primer, text[i:], strict=False)) for i in range(len(text) - size + 1)]
    found = [(i, n) for i, n in enumerate(errors) if n <= k]
    return [(i, n) for i, n in found if not any((m, j) < (n, i) and abs(i - j) < size for j, m in found)]


def expected_products(contigs: list[tuple[str, str]], k: int, least: int, most: int):
    """Rows and sequences of all products."""
    products = set()
    for name, text in contigs:
        for pair, (forward, reverse) in PRIMERS.items():
            for strand, left, right in (("+", forward, reverse), ("-", reverse, forward)):
                for start, e1 in sites(text, left, k):
                    for other, e2 in sites(text, reverse_complement(right), k):
                        end = other + len(right)
                        if other >= start and least <= end - start <= most:
                            errors = (e1, e2) if strand == "+" else (e2, e1)
                            bases = text[start:end] if strand == "+" else reverse_complement(text[start:end])
                            products.add((pair, name, strand, start, end, *errors, bases))
    return products


def genome(seed: int, sites: int, gap: int) -> str:
    """Primers with up to two mismatches, in any order and on either strand."""
    rng = random.Random(seed)
    parts = []
    for _ in range(sites):
        primer = list(rng.choice([each for pair in PRIMERS.values() for each in pair]))
        for at in rng.sample(range(len(primer)), rng.randrange(3)):
            primer[at] = rng.choice("ACGT")
        word = "".join(primer)
        parts += [word if rng.random() < 0.5 else reverse_complement(word), "".join(rng.choices("ACGT", k=gap))]
    return "".join(parts)


def run(cli, tmp_path: Path, path: Path, *more: str) -> tuple[set[tuple], str]:
    """Products as the oracle has them, and the table."""
    primers, amplicons = tmp_path / "primers.tsv", tmp_path / "amplicons.fa"
    primers.write_text("".join(f"{name}\t{a}\t{b}\n" for name, (a, b) in PRIMERS.items()))
    how = ("-k", 2, "--mismatches-only", "--hits", "all", "--pairs", "40-400", "--amplicons", amplicons, *more)
    status, out, errors = cli("search", primers, path, *how)
    assert status == 0, errors
    sequences = dict(record.split("\n")[:2] for record in amplicons.read_text().split(">")[1:])
    found = set()
    for row in rows_of(out):
        record = "{pair}:{target}:{tstart}-{tend}:{strand}".format(**row)
        start, end = int(row["tstart"]) - 1, int(row["tend"])
        assert int(row["size"]) == end - start
        errors_of = int(row["forward_distance"]), int(row["reverse_distance"])
        found.add((row["pair"], row["target"], row["strand"], start, end, *errors_of, sequences[record]))
    return found, out


def test_products_of_a_naive_scan(cli, tmp_path: Path) -> None:
    contigs = [("c1", genome(1, 40, 30)), ("c2", genome(2, 30, 12)), ("c3", "ACGT")]
    path = write_fasta(tmp_path / "g.fa", contigs)
    found, out = run(cli, tmp_path, path)
    expected = expected_products(contigs, 2, 40, 400)
    assert found == expected
    assert len(found) == len(rows_of(out)) > 20
    assert {(row["pair"], row["forward_tm"]) for row in rows_of(out)} == {
        (name, f"{melting_temperature(forward):.1f}") for name, (forward, _) in PRIMERS.items()
    }


def test_products_across_batches(cli, tmp_path: Path) -> None:
    contigs = [("long", genome(3, 2500, 30))]
    path = write_fasta(tmp_path / "g.fa", contigs)
    one, whole = run(cli, tmp_path, path)
    small, parts = run(cli, tmp_path, path, "--batch-size", "1K", "-t", "3")
    assert whole == parts
    assert one == small
    borders = range(0, len(contigs[0][1]), 1000)
    assert any(start < border < end for _, _, _, start, end, *_ in one for border in borders)


@pytest.mark.parametrize("separate", [True, False])
def test_names_of_pairs(cli, tmp_path: Path, separate: bool) -> None:
    forward, reverse = PRIMERS["one"]
    path = write_fasta(tmp_path / "g.fa", ["TT" + forward + "ACGT" * 5 + reverse_complement(reverse)])
    primers = write_fasta(tmp_path / "p.fa", [("F", forward), ("R", reverse)]) if separate else None
    words = (primers, path) if primers else ("-P", f"{forward},{reverse}", path)
    _, out, _ = cli("search", *words, "-k", 1, "--pairs", "1-100")
    (row,) = rows_of(out)
    name = "F+R" if separate else f"{forward}+{reverse}"
    assert (row["pair"], row["tstart"], row["size"], row["strand"]) == (name, "3", "52", "+")


def test_melting_temperatures() -> None:
    """CGTTGA by SantaLucia's parameters of 1997 (Biopython's DNA_NN3), without Biopython."""
    enthalpy = -10.6 - 8.4 - 7.9 - 8.5 - 8.2 + 0.1 + 2.3  # CG, GT, TT, TG, GA; ends C and A
    entropy = -27.2 - 22.4 - 22.2 - 22.7 - 22.2 - 2.8 + 4.1
    entropy += 0.368 * 5 * math.log(0.05)
    expected = 1000 * enthalpy / (entropy + 1.987 * math.log((25 - 12.5) * 1e-9)) - 273.15
    assert abs(melting_temperature("CGTTGA") - expected) < 0.01
    assert melting_temperature("CGYTGA") == min(melting_temperature("CGTTGA"), melting_temperature("CGCTGA"))
    assert math.isnan(melting_temperature("N" * 20))


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("-P ACGT --pairs 10-20 {fasta}", 3, "primers come in pairs"),
        ("-P ACGT,ACCA --pairs 20 {fasta}", 2, "--pairs is MIN-MAX"),
        ("-P ACGT,ACCA --pairs 20-10 {fasta}", 2, "--pairs is MIN-MAX"),
        ("-P ACGT,ACCA --pairs 10-20 {fasta} --bed", 2, "--pairs writes products"),
        ("-P ACGT,ACCA --pairs 10-20 {fasta} --strand plus", 2, "--pairs takes no other alphabet, strand"),
        ("-P ACGT,ACCA --amplicons {fasta}.out {fasta}", 2, "give --pairs"),
        ("-P ACGT,ACXA --pairs 10-20 {fasta}", 3, "pattern 2: 'X' is not a nucleotide code"),
    ],
)
def test_what_is_no_pair(cli, tmp_path: Path, options: str, status: int, message: str) -> None:
    path = write_fasta(tmp_path / "g.fa", ["ACGTTGACCA" * 5])
    found, _, errors = cli("search", *options.format(fasta=path).split(), "-k", "0")
    assert (found, message in errors) == (status, True), errors


@pytest.mark.gpu
def test_a_gpu_finds_the_same_products(tmp_path: Path) -> None:
    path, primers = write_fasta(tmp_path / "g.fa", [("c", genome(3, 2500, 30))]), tmp_path / "p.tsv"
    primers.write_text("".join(f"{name}\t{a}\t{b}\n" for name, (a, b) in PRIMERS.items()))
    out = same_on_gpu("search", primers, path, "-k", 2, "--pairs", "40-400", output=tmp_path / "products.tsv")
    assert len(rows_of(out)) > 100
