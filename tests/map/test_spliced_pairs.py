"""`map -x rna`: short reads and pairs across introns. Expectations follow from how the reads were made."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pysam
import pytest

from tests.helpers.implementations import ON_GPU, same_on_gpu
from tests.helpers.sequences import random_genome, reverse_complement, with_errors
from tests.helpers.spliced import Introns, gene, introns

Cli = Callable[..., tuple[int, bytes, str]]
LENGTH, INSERT = 100, 260
EXONS, GAPS = (200, 150, 300), (700, 5000)


def genomic(exons: list[tuple[int, int]], at: int) -> int:
    """Where a base of a transcript is on the contig."""
    for begin, end in exons:
        if at < end - begin:
            return begin + at
        at -= end - begin
    raise AssertionError(at)


def exons_of(places: Introns, length: int, start: int = 2000) -> list[tuple[int, int]]:
    """The exons around introns, of a transcript with so many bases."""
    edges = [start, *(edge for place in places for edge in place)]
    exons = list(zip(edges[::2], edges[1::2], strict=False))
    return [*exons, (edges[-1], edges[-1] + length - sum(b - a for a, b in exons))]


def crossed(exons: list[tuple[int, int]], begin: int, end: int) -> list[tuple[tuple[int, int], int]]:
    """The introns that bases [begin, end) of a transcript cross, and the bases on their shorter side."""
    found, at = [], 0
    for (first, last), (following, _) in pairwise(exons):
        at += last - first
        if begin < at < end:
            found.append(((last, following), min(at - begin, end - at)))
    return found


def write_pairs(folder: Path, pairs: dict[str, tuple[str, str]]) -> tuple[Path, Path]:
    files = folder / "r1.fa", folder / "r2.fa"
    for mate, file in enumerate(files):
        file.write_text("".join(f">{name}\n{pair[mate]}\n" for name, pair in pairs.items()))
    return files


def mapped(
    cli: Cli, folder: Path, contig: str, pairs: dict[str, tuple[str, str]], *words: object
) -> list[pysam.AlignedSegment]:
    """The primary records of pairs, in order."""
    (folder / "ref.fa").write_text(f">c\n{contig}\n")
    files = write_pairs(folder, pairs)
    code, _, message = cli("map", "-x", "rna", folder / "ref.fa", *files, "-o", folder / "o.sam", *words)
    assert code == 0, message
    with pysam.AlignmentFile(str(folder / "o.sam")) as file:
        return [record for record in file if not record.flag & 0x900]


def tiled(transcript: str, step: int = 7) -> dict[str, tuple[str, str]]:
    """Pairs of all parts of a transcript; every second one with the other mate first."""
    pairs = {}
    for begin in range(0, len(transcript) - INSERT + 1, step):
        fragment = transcript[begin : begin + INSERT]
        ends = fragment[:LENGTH], reverse_complement(fragment)[:LENGTH]
        pairs[str(begin)] = ends if begin // step % 2 else ends[::-1]
    return pairs


@pytest.mark.parametrize("reverse", [False, True], ids=["+", "-"])
def test_pairs_cross_introns(cli: Cli, tmp_path: Path, reverse: bool) -> None:
    """Every intron with 8 bases on both sides is found, no other one is; mates in other exons are proper pairs, and
    TLEN is what they span on the genome."""
    contig, transcript, places = gene(71, EXONS, GAPS)
    exons, size = exons_of(places, len(transcript)), len(contig)
    shown = reverse_complement(contig) if reverse else contig
    spans = 0
    for record in mapped(cli, tmp_path, shown, tiled(transcript), "-I", "260,30"):
        begin = int(str(record.query_name))
        is_left = record.is_reverse == reverse
        own = (begin, begin + LENGTH) if is_left else (begin + INSERT - LENGTH, begin + INSERT)
        found = introns(record)
        if reverse:
            found = [(size - end, size - start) for start, end in reversed(found)]
        truth = crossed(exons, *own)
        assert {place for place, bases in truth if bases >= 8} <= set(found) <= {place for place, _ in truth}
        assert record.is_proper_pair
        assert record.mapping_quality >= 50
        outer = genomic(exons, begin + INSERT - 1) + 1 - genomic(exons, begin)
        if all(bases >= 8 for place, bases in crossed(exons, begin, begin + INSERT)):
            assert abs(record.template_length) == outer
            spans += outer > 1000
        if found:
            assert record.get_tag("XS") == ("-" if reverse else "+")
            assert record.get_tag("NM") == 0
    assert spans > 20


def test_single_reads_with_errors(cli: Cli, tmp_path: Path) -> None:
    contig, transcript, places = gene(72, EXONS, GAPS)
    exons = exons_of(places, len(transcript))
    begins = range(0, len(transcript) - LENGTH, 3)
    reads = {str(at): with_errors(at, transcript[at : at + LENGTH], 0.01) for at in begins}
    (tmp_path / "ref.fa").write_text(f">c\n{contig}\n")
    (tmp_path / "r.fa").write_text("".join(f">{name}\n{read}\n" for name, read in reads.items()))
    code, _, message = cli("map", "-x", "rna", tmp_path / "ref.fa", tmp_path / "r.fa", "-o", tmp_path / "o.sam")
    assert code == 0, message
    true = right = given = 0
    with pysam.AlignmentFile(str(tmp_path / "o.sam")) as file:
        for record in file:
            at = int(str(record.query_name))
            truth = crossed(exons, at, at + LENGTH)
            found = introns(record)
            true += sum(bases >= 8 for _, bases in truth)
            right += sum(bases >= 8 and place in found for place, bases in truth)
            given += sum(place not in [place for place, _ in truth] for place in found)
    assert true > 50
    assert right >= 0.95 * true
    assert given == 0


def ending(transcript: str, border: int, bases: int) -> tuple[str, str]:
    """A pair of which R1 has so many bases after the border."""
    begin = border + bases - LENGTH
    fragment = transcript[begin : begin + INSERT]
    return fragment[:LENGTH], reverse_complement(fragment)[:LENGTH]


def test_overhangs(cli: Cli, tmp_path: Path) -> None:
    """Five bases beyond an intron without a known one, three beyond a known one, or one of a first pass."""
    contig, transcript, places = gene(73, EXONS, GAPS)
    pairs = {str(bases): ending(transcript, 200, bases) for bases in range(1, 13)}
    table = tmp_path / "known.tab"
    table.write_text("".join(f"c\t{a + 1}\t{b}\t1\t1\t1\t5\t0\t30\n" for a, b in places))

    def overhangs(*words: object) -> set[int]:
        records = mapped(cli, tmp_path, contig, pairs, "-I", "260,30", *words)
        firsts = [record for record in records if record.is_read1]
        assert all(introns(record) in ([], places[:1]) for record in firsts)
        return {int(str(record.query_name)) for record in firsts if introns(record)}

    assert overhangs() == set(range(5, 13))
    assert overhangs("--junctions", table) == set(range(3, 13))
    assert overhangs("--two-pass") == set(range(3, 13))


def test_long_introns_need_longer_overhangs(cli: Cli, tmp_path: Path) -> None:
    contig, transcript, places = gene(74, (200, 400), (90_000,))
    pairs = {str(bases): ending(transcript, 200, bases) for bases in (5, 6, 8, 9, 10, 12, 20)}
    records = mapped(cli, tmp_path, contig, pairs, "-I", "260,30")
    found = {int(str(record.query_name)) for record in records if record.is_read1 and introns(record) == places}
    assert found == {8, 9, 10, 12, 20}


def test_a_pseudogene_without_introns(cli: Cli, tmp_path: Path) -> None:
    """Pairs of a gene stay there although a copy without introns has their bases with one difference in fifty."""
    contig, transcript, _ = gene(75, EXONS, GAPS)
    copy = "".join("ACGT"["CGTA".index(base)] if i % 50 == 25 else base for i, base in enumerate(transcript))
    records = mapped(cli, tmp_path, contig + copy + random_genome(76, 2000), tiled(transcript), "-I", "260,30")
    assert all(record.reference_start < len(contig) for record in records)
    assert sum(len(introns(record)) for record in records) > 40


def test_insert_sizes_leave_introns_out(cli: Cli, tmp_path: Path) -> None:
    contig, transcript, _ = gene(77, (400, 100, 500, 90, 600), (300, 900, 4000, 150))
    mapped(cli, tmp_path, contig, tiled(transcript), "--json", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["insert_size"]["mean"] == pytest.approx(INSERT, abs=3)


def test_the_table_counts_a_pair_once(cli: Cli, tmp_path: Path) -> None:
    """Both mates cross the first intron, one of them with 14 bases; another pair's overhang of 8 is too short."""
    contig, transcript, places = gene(78, (200, 400), (700,))
    fragment = transcript[140:310]
    ends = fragment[:LENGTH], reverse_complement(fragment)[:LENGTH]
    table = tmp_path / "SJ.out.tab"
    mapped(cli, tmp_path, contig, {"a": ends}, "-I", "170,30", "--junctions-out", table)
    (start, end) = places[0]
    assert table.read_text() == f"c\t{start + 1}\t{end}\t1\t1\t0\t1\t0\t40\n"
    mapped(cli, tmp_path, contig, {"b": ending(transcript, 200, 8)}, "-I", "260,30", "--junctions-out", table)
    assert table.read_text() == ""


def test_reads_of_the_genome_are_as_without_introns(cli: Cli, tmp_path: Path) -> None:
    text = random_genome(79, 20_000)
    pairs = {}
    for at in range(0, 19_000, 97):
        fragment = with_errors(at, text[at : at + INSERT], 0.01)
        pairs[str(at)] = fragment[:LENGTH], reverse_complement(fragment)[:LENGTH]
    spliced = mapped(cli, tmp_path, text, pairs, "-I", "260,30")
    assert not any(introns(record) for record in spliced)
    code, _, message = cli(
        "map", tmp_path / "ref.fa", tmp_path / "r1.fa", tmp_path / "r2.fa", "-I", "260,30", "-o", tmp_path / "dna.sam"
    )
    assert code == 0, message
    with pysam.AlignmentFile(str(tmp_path / "dna.sam")) as file:
        shown = [record.to_string().split("\t")[:10] for record in file]
    assert shown == [record.to_string().split("\t")[:10] for record in spliced]


@pytest.mark.parametrize("words", [("--end-to-end",), ("--meth",), ("--sensitivity", "full")])
def test_options_without_introns(cli: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "ref.fa").write_text(f">c\n{random_genome(60, 2000)}\n")
    code, _, message = cli("map", "-x", "rna", tmp_path / "ref.fa", tmp_path / "ref.fa", *words)
    assert code == 2
    assert "spliced reads are aligned locally, by chaining" in message


@pytest.mark.gpu
def test_a_gpu_maps_the_same(tmp_path: Path) -> None:
    contig, transcript, places = gene(80, EXONS, GAPS)
    (tmp_path / "ref.fa").write_text(f">c\n{contig}\n>d\n{random_genome(81, 30_000)}{transcript}\n")
    pairs = tiled(transcript, 1) | {
        f"e{i}": (with_errors(i, one, 0.02), with_errors(i + 1, two, 0.02))
        for i, (one, two) in enumerate(tiled(transcript, 2).values())
    }
    files = write_pairs(tmp_path, pairs)
    table = tmp_path / "known.tab"
    table.write_text("".join(f"c\t{a + 1}\t{b}\t1\t1\t1\t5\t0\t30\n" for a, b in places))
    for number, words in enumerate(((), ("--two-pass",), ("--junctions", table))):
        arguments = ("map", "-x", "rna", tmp_path / "ref.fa", *files, *words)
        records = same_on_gpu(*arguments, output=tmp_path / f"o{number}.sam", ways=[ON_GPU["one GPU"]])
        assert records.count(b"N") > 100
