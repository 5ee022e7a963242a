"""`gpualign align --vcf` and `--callable`, `gpualign.align`, and pictures: variants put back into the reference."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import gpualign
from tests.helpers.files import write_fasta
from tests.helpers.genome_cases import mutated
from tests.helpers.sequences import reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]


def called(cli: Cli, folder: Path, reference: str, query: str) -> tuple[list[list[str]], list[str]]:
    """Records of the VCF file, and lines of the BED file."""
    files = write_fasta(folder / "a.fa", ref=reference), write_fasta(folder / "b.fa", query=query)
    vcf, bed = folder / "x.vcf", folder / "x.bed"
    assert cli("align", *files, "-q", "-o", "/dev/null", "--vcf", vcf, "--callable", bed)[0] == 0
    lines = [line.split("\t") for line in vcf.read_text().splitlines()]
    assert next(line for line in lines if line[0] == "#CHROM")[-1] == "b"
    return [line for line in lines if not line[0].startswith("#")], bed.read_text().splitlines()


def put_into(reference: str, records: list[list[str]]) -> str:
    """The reference with all variants."""
    result, done = [], 0
    for record in records:
        start, ref, alt = int(record[1]) - 1, record[3], record[4]
        assert reference[start : start + len(ref)] == ref
        assert start >= done
        result.append(reference[done:start] + alt)
        done = start + len(ref)
    return "".join(result) + reference[done:]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [0.003, 0.03])
@pytest.mark.parametrize("reverse", [False, True])
def test_variants_make_the_query_of_the_reference(
    cli: Cli, tmp_path: Path, seed: int, rate: float, reverse: bool
) -> None:
    draw = random.Random(seed)
    reference = "".join(draw.choices("ACGT", k=6000))
    query = reference[:50] + mutated(draw, reference[50:-50], rate) + reference[-50:]
    records, regions = called(cli, tmp_path, reference, reverse_complement(query) if reverse else query)
    assert put_into(reference, records) == query
    assert regions == ["ref\t0\t6000"]
    assert all(record[7].startswith("QNAME=query;QSTART=") and record[8:] == ["GT", "1"] for record in records)


def test_variants_by_hand(cli: Cli, tmp_path: Path) -> None:
    draw = random.Random(7)
    left, right = "".join(draw.choices("ACGT", k=300)), "".join(draw.choices("ACGT", k=300))
    # the repeats are shortened and lengthened: the variant is at their left end
    reference = f"{left}GCACACACACT{right}GTTTTTC{left[::-1]}"
    query = f"{left}GCACACACT{right}GTTTTTTTC{left[::-1]}"
    records, _ = called(cli, tmp_path, reference, query)
    assert [record[1:5] for record in records] == [
        ["301", ".", "GCA", "G"],
        ["612", ".", "G", "GTT"],
    ]


@pytest.mark.parametrize("reverse", [False, True])
def test_what_lies_between_alignments(cli: Cli, tmp_path: Path, reverse: bool) -> None:
    draw = random.Random(8)
    parts = ["".join(draw.choices("ACGT", k=1500)) for _ in range(4)]
    reference, query = f"{parts[0]}A{parts[1]}A{parts[2]}", f"{parts[0]}C{parts[2]}"
    records, _ = called(cli, tmp_path, reference, reverse_complement(query) if reverse else query)
    assert put_into(reference, records) == query
    assert any("SVTYPE=DEL;SVLEN=-150" in record[7] for record in records)
    reference, query = f"{parts[0]}{parts[2]}", f"{parts[0]}{parts[1]}{parts[2]}"
    records, _ = called(cli, tmp_path, reference, reverse_complement(query) if reverse else query)
    assert put_into(reference, records) == query
    assert ["SVTYPE=INS", "SVLEN=1500"] in [record[7].split(";")[:2] for record in records]


def test_the_python_function(tmp_path: Path) -> None:
    draw = random.Random(9)
    reference = "".join(draw.choices("ACGT", k=2000))
    query = f"{reference[:700]}{reference[703:]}"
    found = gpualign.align([reference], [reverse_complement(query)])
    (block,) = found.blocks
    assert (block.strand, block.ref_start, block.ref_end, block.query_start, block.query_end) == ("-", 0, 2000, 0, 1997)
    assert (block.errors, block.columns, block.identity) == (3, 2000, 1 - 3 / 2000)
    assert [row.ref_base for row in found.differences] == list(reference[700:703])
    path = write_fasta(tmp_path / "a.fa", ref=reference)
    assert gpualign.align(path, [query], strands="reverse").blocks.tolist() == []


@pytest.mark.parametrize("name", ["dots.png", "dots.svg"])
def test_pictures(cli: Cli, tmp_path: Path, name: str) -> None:
    draw = random.Random(3)
    contigs = ["".join(draw.choices("ACGT", k=800)) for _ in range(3)]
    a = write_fasta(tmp_path / "a.fa", contigs)
    b = write_fasta(tmp_path / "b.fa", [contigs[2], reverse_complement(contigs[0]), "ACGT" * 30])
    picture = tmp_path / name
    assert cli("align", a, b, "-q", "-o", "/dev/null", "--dotplot", picture)[0] == 0
    content = picture.read_bytes()
    if name.endswith("png"):
        assert content.startswith(b"\x89PNG")
    else:
        assert b'id="forward"' in content
        assert b'id="reverse"' in content
        # s1 lies at the beginning of the reference, s0 at the end, s2 nowhere
        rows = content[content.index(b">reference<") :]
        assert rows.index(b">s1<") < rows.index(b">s0<") < rows.index(b">s2<")


def test_a_picture_of_another_kind_is_refused(cli: Cli, tmp_path: Path) -> None:
    path = write_fasta(tmp_path / "a.fa", ["ACGT" * 9])
    code, _, errors = cli("align", path, path, "--dotplot", tmp_path / "x.gif")
    assert (code, "must end in .png or .svg" in errors) == (2, True)


def test_frequent_seeds_are_left_out_where_there_are_many(cli: Cli, tmp_path: Path) -> None:
    draw = random.Random(4)
    family = "".join(draw.choices("ACGT", k=300))
    genome = "".join("".join(draw.choices("ACGT", k=60)) + mutated(draw, family, 0.02) for _ in range(300))
    query = mutated(draw, genome, 0.01)
    a, b = write_fasta(tmp_path / "a.fa", [genome]), write_fasta(tmp_path / "b.fa", [query])
    for more in ((), ("--max-seed-occ", "0"), ("--max-seed-occ", "40")):
        code, delta, _ = cli("align", a, b, "-q", "--filter", "1", *more)
        assert code == 0
        rows = [line.split() for line in delta.decode().splitlines() if len(line.split()) == 7]
        assert sum(int(row[1]) - int(row[0]) for row in rows) > 0.98 * len(genome)
