"""Guides that are designed, against a naive scan of the regions."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tests.helpers.files import rows_of, write_fasta
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import reverse_complement


def expected_guides(contigs: dict[str, str], regions: list[tuple[str, int, int]], before: str, after: str, size: int):
    """Names and bases by a scan of the regions; the first locus of each."""
    sets = {"A": "A", "C": "C", "G": "G", "T": "T", "N": "ACGTN", "V": "ACG"}
    whole, found = before + "N" * size + after, {}
    for contig, text in contigs.items():
        covered = [False] * len(text)
        for name, start, end in regions:
            if name == contig:
                covered[start:end] = [True] * len(covered[start:end])
        for start in range(len(text) - len(whole) + 1):
            end = start + len(whole)
            if not all(covered[start:end]):
                continue
            for strand, site in (("+", text[start:end]), ("-", reverse_complement(text[start:end]))):
                guide = site[len(before) : len(before) + size]
                if "N" not in guide and all(base in sets[code] for base, code in zip(site, whole, strict=True)):
                    found.setdefault(guide, f"{contig}:{start + 1}-{end}:{strand}")
    return {name: guide for guide, name in found.items()}


def longest_repeat(guide: str, units: tuple[int, ...], copies: int) -> int:
    """Bases of the longest interval in which each base is that of a unit before, with some copies at least."""
    best = 0
    for unit in units:
        for start, end in itertools.combinations(range(len(guide) + 1), 2):
            if all(guide[i] == guide[i - unit] for i in range(start + unit, end)) and end - start >= copies * unit:
                best = max(best, end - start)
    return best


def longest_stem(guide: str) -> int:
    """Base pairs of the longest word whose reverse complement follows after three bases or more."""
    for size in range(len(guide) // 2, 0, -1):
        for i in range(len(guide) - size + 1):
            if reverse_complement(guide[i : i + size]) in guide[i + size + 3 :]:
                return size
    return 0


def contigs_of(seed: int, size: int) -> dict[str, str]:
    rng = random.Random(seed)
    text = "".join(rng.choices("ACGT", k=size))
    return {"c1": text[:100] + "NN" + text[102:], "c2": "".join(rng.choices("ACG", k=60)) + text[40:100]}


@pytest.mark.parametrize(("pam", "before", "after", "size"), [("NGG", "", "NGG", 20), ("5:TTTV", "TTTV", "", 23)])
def test_guides_of_regions(cli, tmp_path: Path, pam: str, before: str, after: str, size: int) -> None:
    contigs = contigs_of(1, 1500)
    path = write_fasta(tmp_path / "g.fa", list(contigs.items()))
    regions = [("c1", 20, 300), ("c1", 250, 400), ("c1", 700, 1480), ("c2", 0, 120), ("absent", 0, 50)]
    bed, summary = tmp_path / "r.bed", tmp_path / "s.tsv"
    bed.write_text("".join(f"{name}\t{start}\t{end}\tgene{start}\n" for name, start, end in regions))
    how = ("search", "--candidates", pam, "--in", bed, "--guide-length", size, path, "-k", 1, "--summary", summary)
    status, out, errors = cli(*how)
    assert status == 0, errors
    rows = rows_of(summary)
    expected = expected_guides(contigs, regions, before, after, size)
    assert {row["pattern"]: row["sequence"] for row in rows} == expected
    assert len(expected) > 10
    hits = rows_of(out)
    for row in rows:
        guide = row["sequence"]
        assert row["gc"] == f"{sum(base in 'GC' for base in guide) / size + 1e-9:.2f}"
        assert int(row["homopolymer"]) == longest_repeat(guide, (1,), 1)
        assert int(row["repeat"]) == longest_repeat(guide, (2, 3), 2)
        assert int(row["self_complementarity"]) == longest_stem(guide)
        contig, interval, strand = row["pattern"].split(":")
        own = {"target": contig, "strand": strand, "tstart": interval.split("-")[0], "distance": "0"}
        mine = [hit for hit in hits if hit["pattern"] == row["pattern"]]
        assert any(own.items() <= hit.items() for hit in mine)
        assert int(row["loci"]) == len(mine)
        assert row["gene"] in {f"gene{start}" for name, start, _ in regions if name == contig}


def test_guides_of_whole_targets_in_any_batches(cli, tmp_path: Path) -> None:
    contigs = contigs_of(2, 70_000)
    path, summary = write_fasta(tmp_path / "g.fa", list(contigs.items())), tmp_path / "s.tsv"
    tables = []
    for batches in ("1K", "4M"):
        how = ("--candidates", "CCNGG", "-k", 0, "--pam", "NNGG", "--batch-size", batches, "--summary", summary)
        assert cli("search", *how, path)[0] == 0
        tables.append(summary.read_text())
    assert tables[0] == tables[1]
    whole = [(name, 0, len(text)) for name, text in contigs.items()]
    found = {row["pattern"]: row["sequence"] for row in rows_of(summary)}
    assert found == expected_guides(contigs, whole, "", "CCNGG", 20)


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--candidates NGG {fasta}", 2, "describes them in --summary"),
        ("--candidates NGG -P ACGT {fasta} --summary {out}", 2, "give no patterns"),
        ("--candidates NGG - --summary {out}", 2, "standard input cannot be one of them"),
        ("--candidates 3!GG {fasta} --summary {out}", 2, "a PAM is bases and IUPAC codes"),
        ("--candidates GGGGGGG {fasta} --summary {out}", 3, "no guide of 20 bases next to GGGGGGG"),
        ("--candidates NGG --in {bed} {fasta} --summary {out}", 3, "no guide of 20 bases next to NGG in the exons"),
        ("--candidates NGG --in {fasta} {fasta} --summary {out}", 3, "neither GTF, GFF3 nor BED"),
        ("--in {bed} -P ACGT {fasta}", 2, "--in and --guide-length are for guides"),
        ("--candidates NGG --trim 3 {fasta}", 2, ""),
    ],
)
def test_what_cannot_be_designed(cli, tmp_path: Path, options: str, status: int, message: str) -> None:
    path, bed = write_fasta(tmp_path / "g.fa", [("c", "ACGTTGACCA" * 5)]), tmp_path / "r.bed"
    bed.write_text("c\t3\t9\n")
    words = options.format(fasta=path, bed=bed, out=tmp_path / "s.tsv").split()
    found, _, errors = cli("search", *words, "-k", "0")
    assert (found, message in errors) == (status, True), errors


@pytest.mark.gpu
def test_a_gpu_searches_designed_guides(tmp_path: Path) -> None:
    contigs, summary = contigs_of(1, 1500), tmp_path / "s.tsv"
    path = write_fasta(tmp_path / "g.fa", list(contigs.items()))
    how = ("--candidates", "NGG", path, "-k", 3, "--mismatches-only", "--score", "mit", "--summary", summary)
    same_on_gpu("search", *how, output=tmp_path / "sites.tsv")
    whole = [(name, 0, len(text)) for name, text in contigs.items()]
    assert len(rows_of(summary)) == len(expected_guides(contigs, whole, "", "NGG", 20))
