"""`gpualign map -x ont` and `-x hifi` through the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pysam
import pytest

import gpualign
from tests.helpers.sequences import random_genome, reverse_complement, with_errors
from tests.reference.alignment import replay

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
CONTIGS = {"one": random_genome(31, 80_000), "two": random_genome(32, 40_000)}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "ref.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in CONTIGS.items()))
    return path


def simulated(folder: Path, rate: float) -> tuple[Path, dict[str, str]]:
    """Read i of 30 comes from 2,000 * i of contig one, every other one from the reverse strand. One more is of two
    parts, one of nothing."""
    reads = {}
    for i in range(30):
        text = with_errors(i, CONTIGS["one"][2000 * i :][: 1000 + 500 * i], rate)
        reads[f"r{i}"] = reverse_complement(text) if i % 2 else text
    reads["parts"] = CONTIGS["one"][:4000] + CONTIGS["two"][9000:11_000]
    reads["foreign"] = random_genome(33, 3000)
    path = folder / "reads.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in reads.items()))
    return path, reads


@pytest.mark.parametrize(("preset", "rate"), [("ont", 0.12), ("hifi", 0.005)])
def test_long_reads_are_where_they_came_from(
    cli: Cli, reference: Path, tmp_path: Path, preset: str, rate: float
) -> None:
    path, reads = simulated(tmp_path, rate)
    out = tmp_path / "out.sam"
    code, _, message = cli("map", "-x", preset, reference, path, "-o", out)
    assert code == 0, message
    with pysam.AlignmentFile(str(out), check_sq=True) as file:
        records = list(file)
    primary = {record.query_name: record for record in records if not record.flag & 0x900}
    assert list(primary) == list(reads)
    for i in range(30):
        record = primary[f"r{i}"]
        assert (record.reference_name, record.is_reverse) == ("one", bool(i % 2))
        assert record.reference_start == pytest.approx(2000 * i, abs=20)
        assert record.mapping_quality == 60
        assert record.query_sequence is not None
        edits, _, _ = replay(record.query_sequence, CONTIGS["one"], record.reference_start, str(record.cigarstring))
        assert record.get_tag("NM") == edits
    assert primary["foreign"].is_unmapped
    [extra] = [record for record in records if record.flag & 0x900]
    assert (extra.query_name, extra.flag, extra.reference_name) == ("parts", 0x800, "two")
    assert extra.reference_start == pytest.approx(9000, abs=5)
    assert str(primary["parts"].get_tag("SA")).startswith(f"two,{extra.reference_start + 1},+,")


def test_output_does_not_depend_on_batches(cli: Cli, reference: Path, tmp_path: Path) -> None:
    path, _ = simulated(tmp_path, 0.1)
    one = cli("map", "-x", "ont", reference, path, "-t", "1")
    many = cli("map", "-x", "ont", reference, path, "-t", "2", "--batch-size", "20K")

    def records(sam: bytes) -> list[bytes]:
        return [line for line in sam.splitlines() if not line.startswith(b"@PG")]

    assert one[0] == many[0] == 0
    assert records(one[1]) == records(many[1])


def test_an_explicit_option_wins_over_the_preset(cli: Cli, reference: Path, tmp_path: Path) -> None:
    """-A 1 is the default of short reads, and still not the preset's."""
    path, _ = simulated(tmp_path, 0.0)

    def score(*options: str) -> int:
        _, sam, _ = cli("map", "-x", "ont", *options, reference, path)
        [record] = [line for line in sam.decode().splitlines() if line.startswith("r29\t")]
        [tag] = [field for field in record.split("\t") if field.startswith("AS:i:")]
        return int(tag[5:])

    assert score() == 2 * 15_500
    assert score("-A", "1") == 15_500


def test_long_reads_have_no_pairs(cli: Cli, reference: Path, tmp_path: Path) -> None:
    path, _ = simulated(tmp_path, 0.0)
    code, _, message = cli("map", "-x", "ont", reference, path, reference)
    assert code == 2
    assert "no pairs" in message


def test_unknown_preset_is_refused(cli: Cli, reference: Path) -> None:
    code, _, message = cli("map", "-x", "asm50", reference, reference)
    assert code == 2
    assert "asm50" in message


@pytest.mark.parametrize("further", [(), ("-N", "5")])
def test_the_preset_of_short_reads_maps_long_ones_as_long(
    cli: Cli, reference: Path, tmp_path: Path, further: tuple[str, ...]
) -> None:
    """Whole, they took time and memory with the square of their length: 60 of 20 kb more than ten minutes."""
    path, reads = simulated(tmp_path, 0.08)
    path.write_text("".join(f">{name}\n{text}\n" for name, text in reads.items() if len(text) > 1000))
    short = ("-A", "1", "-B", "4", "-O", "6", "-E", "1", "-L", "5", *further)
    code, as_short, message = cli("map", "-k", "15", "-w", "10", *further, reference, path)
    assert code == 0
    assert "warning: 32 reads of more than 1,000 bases mapped by chaining" in message
    _, as_long, message = cli("map", "-x", "ont", *short, reference, path)
    assert "warning" not in message
    assert _records(as_short) == _records(as_long)


@pytest.mark.parametrize("preset", ["sr", "asm5"])
def test_a_read_too_long_for_chaining_is_left_unmapped_with_a_warning(
    cli: Cli, reference: Path, tmp_path: Path, preset: str
) -> None:
    _, reads = simulated(tmp_path, 0.0)
    name, text = next((name, text) for name, text in reads.items() if len(text) > 1000)
    long = tmp_path / "long.fa"
    long.write_text(f">long\n{text}{'N' * (16_777_216 - len(text))}\n>{name}\n{text}\n")
    code, sam, message = cli("map", "-x", preset, reference, long)
    assert code == 0
    assert [record.split(b"\t")[1] == b"4" for record in _records(sam)] == [True, False]
    why = "1 read of more than 16,777,215 bases left unmapped (cut such sequences into pieces to map them)"
    assert message.count("warning: 1 read of more than") == (2 if preset == "sr" else 1)
    assert f"gpualign map: warning: {why}\n" in message
    mapper = gpualign.Mapper(reference, preset)
    for reads in (long, "N" * 16_777_216):  # a file, and a single read
        with pytest.warns(UserWarning, match=re.escape(why)):
            mapper.map(reads)


def _records(sam: bytes) -> list[bytes]:
    return [line for line in sam.splitlines() if not line.startswith(b"@")]


def test_a_long_mate_is_not_looked_for_next_to_the_other_end(cli: Cli, reference: Path, tmp_path: Path) -> None:
    """Nor does it take the shorter end's locus away; reads of up to 1,000 bases are aligned end to end."""
    one, two = tmp_path / "1.fa", tmp_path / "2.fa"
    one.write_text("".join(f">p{i}\n{CONTIGS['one'][1000 * i :][:150]}\n" for i in range(3)))
    ends = [CONTIGS["one"][200:1200], CONTIGS["one"][1200:2201], random_genome(9, 30_000)]
    two.write_text("".join(f">p{i}\n{reverse_complement(text)}\n" for i, text in enumerate(ends)))
    _, sam, _ = cli("map", "-I", "1200,200", reference, one, two)
    fields = [line.split(b"\t") for line in _records(sam)]
    assert [int(f[3]) for f in fields] == [1, 201, 1001, 1201, 2001, 2001]
    assert [int(f[1]) & 4 for f in fields] == [0, 0, 0, 0, 0, 4]
    assert [any(tag.startswith(b"ed:") for tag in f[11:]) for f in fields] == [True, True, True, False, True, False]


Part = tuple[int, int, str, int, int]


def parts(cli: Cli, folder: Path, preset: Sequence[str], genome: dict[str, str], read: str) -> list[Part]:
    """Of a read's records, in its order: the bases on it, contig, position and mapping quality."""
    reference, reads = folder / "parts.fa", folder / "read.fa"
    reference.write_text("".join(f">{name}\n{text}\n" for name, text in genome.items()))
    reads.write_text(f">read\n{read}\n")
    code, sam, message = cli("map", "-x", *preset, reference, reads)
    assert code == 0, message
    (folder / "parts.sam").write_bytes(sam)
    found = []
    with pysam.AlignmentFile(str(folder / "parts.sam")) as file:
        for record in file:
            clips = [length if operation in (4, 5) else 0 for operation, length in record.cigartuples or []]
            begin, end = clips[0], len(read) - clips[-1]
            if record.is_reverse:
                begin, end = len(read) - end, len(read) - begin
            found.append((begin, end, str(record.reference_name), record.reference_start, record.mapping_quality))
    return sorted(found)


@pytest.mark.parametrize(("preset", "behind"), [("ont", 400), ("hifi", 1000)])
def test_a_piece_behind_a_long_deletion_is_found(cli: Cli, tmp_path: Path, preset: str, behind: int) -> None:
    """Deletion of 10,000 bases, of which 1,000 cost more than what is behind it is worth."""
    one = CONTIGS["one"]
    found = parts(cli, tmp_path, [preset], {"one": one}, one[1000:5000] + one[14_996:][:behind])
    assert found == [(0, 4000, "one", 1000, 60), (4000, 4000 + behind, "one", 14_996, 60)]


@pytest.mark.parametrize("preset", ["ont", "hifi"])
@pytest.mark.parametrize("side", [4000, 6000])
def test_a_very_long_gap_is_within_one_alignment(cli: Cli, tmp_path: Path, preset: str, side: int) -> None:
    """Though it costs more than a side, or both, are worth, and though a part of the read has a copy without it."""
    one, two = CONTIGS["one"], CONTIGS["two"]
    genome = {"one": one, "two": two[:9000] + with_errors(38, one[2500 : 1500 + side], 0.01) + two[9000:]}
    left = one[2000 : 2000 + side]
    deletion = left + one[12_000 + side :][:side]
    assert parts(cli, tmp_path, [preset], genome, with_errors(39, deletion, 0.01))[0][2:] == ("one", 2000, 60)
    assert parts(cli, tmp_path, [preset], genome, deletion) == [(0, len(deletion), "one", 2000, 60)]
    insertion = left + random_genome(39, 10_000) + one[2000 + side :][:side]
    assert parts(cli, tmp_path, [preset], genome, insertion) == [(0, len(insertion), "one", 2000, 60)]


@pytest.mark.parametrize("copies", [1, 2])
def test_a_deletion_as_long_as_its_sides_lies_in_one_record(cli: Cli, tmp_path: Path, copies: int) -> None:
    """It costs 3,026 and each side is worth 3,000; another copy of all of it differs by 1 %."""
    place = random_genome(38, 12_000)
    genome = {"place": place, "copy": with_errors(39, place, 0.01)}
    found = parts(cli, tmp_path, ["hifi"], dict(list(genome.items())[:copies]), place[1000:4000] + place[7000:10_000])
    assert [part[:4] for part in found] == [(0, 6000, "place", 1000)]


def test_records_meet_at_a_junction_within_a_repeat(cli: Cli, tmp_path: Path) -> None:
    """Half of each copy: a record ends at the first base of the other copy, and where both agree each has the bases."""
    repeat = random_genome(34, 3000)
    other = "".join("CGTA"["ACGT".index(base)] if i % 150 == 70 else base for i, base in enumerate(repeat))
    one, two = CONTIGS["one"], CONTIGS["two"]
    genome = {"one": one[:6000] + repeat + one[6000:], "two": two[:6000] + other + two[6000:]}
    read = one[3000:6000] + repeat[:1500] + other[1500:] + two[6000:9000]
    # the copies differ at 1,420 and 1,570 of the repeat
    assert parts(cli, tmp_path, ["hifi"], genome, read) == [
        (0, 3000 + 1570, "one", 3000, 60),
        (3000 + 1421, 9000, "two", 6000 + 1421, 60),
    ]


def test_pieces_are_together_better_than_another_copy(cli: Cli, tmp_path: Path) -> None:
    """A tandem duplication of 3,000 bases, and a copy of all of it that differs by 2 %."""
    place = random_genome(35, 12_000)
    genome = {"place": place, "copy": with_errors(36, place, 0.02), **CONTIGS}
    read = place[2000:8000] + place[5000:10_000]
    found = parts(cli, tmp_path, ["hifi"], genome, read)
    assert {contig for _, _, contig, _, _ in found} == {"place"}
    assert (found[0][0], found[-1][1]) == (0, len(read))


def test_pieces_of_a_contig_on_one_diagonal_are_all_reported(cli: Cli, tmp_path: Path) -> None:
    """Twelve copies of a mobile element, of whose hits so few are followed that chains end there and reach over it."""
    element = random_genome(37, 1200)
    genome = "".join(random_genome(40 + i, 8000) + element for i in range(12))
    found = parts(cli, tmp_path, ["asm5", "--max-hits", "200"], {"genome": genome}, genome)
    assert {begin - start for begin, _, _, start, mapq in found if mapq} == {0}
    assert (found[0][0], found[-1][1]) == (0, len(genome))
    assert all(after[0] <= before[1] for before, after in pairwise(found))
    assert len(parts(cli, tmp_path, ["asm5"], {"genome": genome}, genome)) == 1


def with_elements(element: str, places: Sequence[int]) -> str:
    """Nine pieces of 6,000 bases, with copies of an element after some of them, each with a mismatch of its own."""
    copies = {i: element[: 40 * i] + "CGTA"["ACGT".index(element[40 * i])] + element[40 * i + 1 :] for i in range(1, 8)}
    return "".join(random_genome(60 + i, 6000) + (copies[i] if i in places else "") for i in range(9))


@pytest.mark.parametrize("preset", ["hifi", "asm5", "asm20"])
@pytest.mark.parametrize("places", [(1, 2, 3, 5, 6, 7), (1, 2, 3, 4, 5, 6, 7)])
def test_a_mobile_element_is_one_gap(cli: Cli, tmp_path: Path, preset: str, places: Sequence[int]) -> None:
    """A genome has it after the pieces 1 to 6; another one lacks that after the fourth, and has one more."""
    element = random_genome(59, 1300)
    genome, other = with_elements(element, (1, 2, 3, 4, 5, 6)), with_elements(element, places)
    assert parts(cli, tmp_path, [preset], {"genome": genome}, other) == [(0, len(other), "genome", 0, 60)]


def test_a_tandem_duplication_is_two_records(cli: Cli, tmp_path: Path) -> None:
    one = CONTIGS["one"]
    read = with_errors(1, one[20_000:27_000] + one[25_000:32_000], 0.005)
    first, second = parts(cli, tmp_path, ["hifi"], {"one": one}, read)
    assert (first[0], *first[2:]) == (0, "one", 20_000, 60)
    assert (second[1:3], second[4]) == ((len(read), "one"), 60)
    # each record may have the duplicated bases up to where they begin or end
    assert first[1] == pytest.approx(second[0], abs=30)
    assert second[3] - second[0] == pytest.approx(20_000 - 2000, abs=60)


def test_bases_from_one_other_locus_have_a_record(cli: Cli, tmp_path: Path) -> None:
    one, two = CONTIGS["one"], CONTIGS["two"]
    read = one[20_000:24_000] + two[5000:8000] + one[24_000:28_000]
    found = [part[2:] for part in parts(cli, tmp_path, ["hifi"], {"one": one, "two": two}, read)]
    starts = pytest.approx(5000, abs=3), pytest.approx(24_000, abs=3)
    assert found == [("one", 20_000, 60), ("two", starts[0], 60), ("one", starts[1], 60)]
