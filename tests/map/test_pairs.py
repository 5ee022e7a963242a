"""Read pairs in `map`: flags and mate fields, rescue, insert sizes, input forms, mismatched files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.map_cases import pair
from tests.helpers.sam import records, tags, without_program
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
Read = tuple[str, str, str]
PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED, REVERSE, MATE_REVERSE, FIRST, SECOND = (1 << i for i in range(8))


def check_mate_fields(rows: list[list[str]]) -> None:
    """What every pair must satisfy, whatever the mapper found."""
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        assert one[0] == two[0]
        for mine, mate, order in ((one, two, FIRST), (two, one, SECOND)):
            flag, other = int(mine[1]), int(mate[1])
            assert flag & PAIRED
            assert flag & (FIRST | SECOND) == order
            assert bool(flag & MATE_UNMAPPED) == bool(other & UNMAPPED)
            assert bool(flag & MATE_REVERSE) == bool(other & REVERSE)
            assert flag & PROPER == other & PROPER
            if mate[2] == "*":
                assert mine[6:9] == ["*", "0", "0"]
            else:
                assert (mine[6], mine[7]) == ("=" if mine[2] == mate[2] else mate[2], mate[3])
            if other & UNMAPPED:
                assert not {"MC", "MQ"} & set(tags(mine))
            else:
                assert (tags(mine)["MC"], tags(mine)["MQ"]) == (mate[5], mate[4])
        assert int(one[8]) == -int(two[8])
        if one[2] != two[2] or int(one[1]) & (UNMAPPED | MATE_UNMAPPED):
            assert one[8] == "0"


def test_pairs_are_placed_and_described(cli: Cli, files: tuple[Path, Path, Path], library) -> None:
    code, sam, error = cli("map", *files)
    assert code == 0
    rows = records(sam)
    check_mate_fields(rows)
    assert [row[0] for row in rows] == [f"p{i // 2}" for i in range(800)]
    proper = sum(bool(int(row[1]) & PROPER) for row in rows)
    assert proper >= 796
    assert "insert size 300 ± 20" in error or "insert size 29" in error or "insert size 30" in error
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        if int(one[1]) & PROPER:
            assert {int(one[1]) & REVERSE, int(two[1]) & REVERSE} == {0, REVERSE}
            assert 200 <= abs(int(one[8])) <= 400


def test_golden_pair(cli: Cli, tmp_path: Path, genome: str) -> None:
    first, second = pair(genome, 1000, 350, "t")
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    ends = write_fastq(tmp_path / "1.fq", first), write_fastq(tmp_path / "2.fq", second)
    code, sam, _ = cli("map", "-I", "350,30", reference, *ends)
    assert code == 0
    left, right = genome[1000:1100], genome[1250:1350]
    assert sam.decode().splitlines()[-2:] == [
        f"t\t99\tg\t1001\t60\t100M\t=\t1251\t350\t{left}\t{'I' * 100}"
        "\tNM:i:0\tMD:Z:100\tAS:i:100\ted:i:0\tMC:Z:100M\tMQ:i:60",
        f"t\t147\tg\t1251\t60\t100M\t=\t1001\t-350\t{right}\t{'5' * 100}"
        "\tNM:i:0\tMD:Z:100\tAS:i:100\ted:i:0\tMC:Z:100M\tMQ:i:60",
    ]


def test_an_end_with_too_many_errors_is_found_next_to_its_mate(cli: Cli, tmp_path: Path, genome: str) -> None:
    """With a substitution every eight bases it has no seed, and more edits than --end-to-end allows."""
    first, (name, bases, quality) = pair(genome, 2000, 300, "t")
    poor = "".join("CGTA"["ACGT".index(base)] if i % 8 == 4 else base for i, base in enumerate(bases))
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    ends = write_fastq(tmp_path / "1.fq", first), write_fastq(tmp_path / "2.fq", (name, poor, quality))
    rows = records(cli("map", "-I", "300,30", "-k", "15", "-w", "5", reference, *ends)[1])
    check_mate_fields(rows)
    assert [(row[1], row[3], row[5]) for row in rows] == [("99", "2001", "100M"), ("147", "2201", "100M")]
    assert [tags(row)["NM"] for row in rows] == ["0", "12"]
    rows = records(cli("map", "-I", "300,30", "-k", "15", "-w", "5", "--end-to-end", reference, *ends)[1])
    assert [row[1] for row in rows] == ["73", "133"]


def test_one_end_unmapped(cli: Cli, tmp_path: Path, genome: str) -> None:
    first, _ = pair(genome, 500, 300, "t")
    foreign = ("t/2", random_genome(99, 100), "I" * 100)
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    for ends, flags in (
        ((first, foreign), ("73", "133")),
        ((("t/1", *foreign[1:]), ("t/2", *first[1:])), ("69", "137")),
    ):
        paths = write_fastq(tmp_path / "1.fq", ends[0]), write_fastq(tmp_path / "2.fq", ends[1])
        rows = records(cli("map", "-I", "300,30", reference, *paths)[1])
        check_mate_fields(rows)
        assert tuple(row[1] for row in rows) == flags
        lost = next(row for row in rows if int(row[1]) & UNMAPPED)
        assert lost[2:9] == ["g", "501", "0", "*", "=", "501", "0"]


def test_both_ends_unmapped_and_two_contigs(cli: Cli, tmp_path: Path, genome: str) -> None:
    reference = write_fasta(tmp_path / "r.fa", g=genome, h=random_genome(31, 5000))
    other = random_genome(31, 5000)
    foreign = [("n/1", random_genome(97, 80), "I" * 80), ("n/2", random_genome(98, 80), "I" * 80)]
    split = [("s/1", genome[700:800], "I" * 100), ("s/2", other[900:1000], "I" * 100)]
    ends = [write_fastq(tmp_path / f"{i}.fq", foreign[i], split[i]) for i in (0, 1)]
    rows = records(cli("map", "-I", "300,30", reference, *ends)[1])
    check_mate_fields(rows)
    assert [row[1] for row in rows] == ["77", "141", "65", "129"]
    assert [row[2] for row in rows] == ["*", "*", "g", "h"]


def test_mate_decides_between_repeats_and_is_rescued(cli: Cli, tmp_path: Path) -> None:
    """An end in a repeat goes where the other end says; one without seeds is found in the window it should lie in."""
    repeat, a, b = random_genome(41, 400), random_genome(42, 3000), random_genome(43, 3000)
    text = a + repeat + b + repeat + random_genome(44, 3000)
    reference = write_fasta(tmp_path / "r.fa", g=text)
    second_copy = len(a) + len(repeat) + len(b)
    ends = pair(text, second_copy - 200, 400, "t")
    assert reverse_complement(ends[1][1]) in repeat
    damaged = list(ends[1][1])
    for i in range(6, 100, 13):  # eight errors, never 14 bases in a row without one
        damaged[i] = "A" if damaged[i] != "A" else "C"
    for second in (ends[1], ("t/2", "".join(damaged), "I" * 100)):
        paths = write_fastq(tmp_path / "1.fq", ends[0]), write_fastq(tmp_path / "2.fq", second)
        rows = records(cli("map", "-k", 15, "-w", 3, "-I", "400,40", reference, *paths)[1])
        check_mate_fields(rows)
        assert [int(row[3]) for row in rows] == [second_copy - 199, second_copy + 101]
        assert all(int(row[1]) & PROPER for row in rows)
        assert int(rows[1][4]) > 0


def test_copies_apart_only_by_the_rounding_of_an_insert_size_are_ambiguous(cli: Cli, tmp_path: Path) -> None:
    copy = random_genome(11, 700)
    other = copy[:300] + copy[301:]  # a base less between the ends
    genome = random_genome(12, 2000) + copy + random_genome(13, 3000) + other + random_genome(14, 2000)
    one, two = pair(genome, 2000 + 100, 359, "p")
    # mean 300, sd 50: half of (59/50)^2 is 0.502 log 4, (58/50)^2 0.485 log 4: costs of 1 and 0
    _, sam, _ = cli(
        "map", write_fasta(tmp_path / "r.fa", g=genome), write_fastq(tmp_path / "1.fq", one),
        write_fastq(tmp_path / "2.fq", two), "--insert-size", "300,50"
    )  # fmt: skip
    rows = records(sam)
    assert [row[4] for row in rows] == ["0", "0"]
    assert all(int(row[1]) & PROPER for row in rows)


def test_orientations(cli: Cli, tmp_path: Path, genome: str) -> None:
    left, right = genome[100:200], genome[400:500]
    forms = {
        "--fr": (left, reverse_complement(right)),
        "--rf": (reverse_complement(left), right),
        "--ff": (left, right),
    }
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    for made, ends in forms.items():
        paths = [write_fastq(tmp_path / f"{i}.fq", ("t", ends[i], "I" * 100)) for i in (0, 1)]
        for asked in forms:
            rows = records(cli("map", asked, "-I", "400,40", reference, *paths)[1])
            check_mate_fields(rows)
            assert all(bool(int(row[1]) & PROPER) == (asked == made) for row in rows)


def interleave(path: Path, library: list[tuple[Read, Read]]) -> Path:
    return write_fastq(path, *(end for ends in library for end in ends))


def test_all_forms_of_pairs_give_the_same_records(cli: Cli, tmp_path: Path, files, library) -> None:
    reference = files[0]
    expected = without_program(cli("map", *files)[1])
    interleaved = interleave(tmp_path / "both.fq", library)
    bam = tmp_path / "both.bam"
    with pysam.AlignmentFile(str(bam), "wb", header={"HD": {"VN": "1.6"}}) as out:
        for i, ends in enumerate(library):
            for flag, (_, bases, quality) in zip((77, 141), ends, strict=True):
                record = pysam.AlignedSegment(out.header)
                record.query_name, record.flag, record.query_sequence = f"p{i}", flag, bases
                record.query_qualities = pysam.qualitystring_to_array(quality)
                out.write(record)
    assert without_program(cli("map", "-p", reference, interleaved)[1]) == expected
    assert without_program(cli("map", reference, bam)[1]) == expected


def test_output_does_not_depend_on_threads_or_batches(cli: Cli, tmp_path: Path, files, library) -> None:
    interleaved = interleave(tmp_path / "both.fq", library)
    outputs = {
        without_program(cli("map", "-t", threads, "--batch-size", batch, *arguments)[1])
        for threads, batch in ((1, "4M"), (2, "3K"), (3, "700"))
        for arguments in (files, ("-p", files[0], interleaved))
    }
    assert len(outputs) == 1


def test_interleaved_singletons(cli: Cli, tmp_path: Path, genome: str, library) -> None:
    single = ("alone", genome[100:200], "I" * 100)
    reads = write_fastq(tmp_path / "r.fq", single, *library[0], ("x/1", *single[1:]), *library[1], single)
    rows = records(cli("map", "-p", "-I", "300,30", write_fasta(tmp_path / "r.fa", g=genome), reads)[1])
    assert [row[0] for row in rows] == ["alone", "p0", "p0", "x", "p1", "p1", "alone"]
    assert [bool(int(row[1]) & PAIRED) for row in rows] == [False, True, True, False, True, True, False]
    check_mate_fields([row for row in rows if int(row[1]) & PAIRED])


@pytest.mark.parametrize(
    ("one", "two"), [("r/1", "r/2"), ("r", "r"), ("SRR1.7.1", "SRR1.7.2"), ("r 1:N:0:A", "r 2:N:0:A")]
)
def test_names_of_one_template(cli: Cli, tmp_path: Path, genome: str, one: str, two: str) -> None:
    (_, left, q), (_, right, _) = pair(genome, 100, 300, "t")
    ends = write_fastq(tmp_path / "1.fq", (one, left, q)), write_fastq(tmp_path / "2.fq", (two, right, q))
    code, sam, _ = cli("map", "-I", "300,30", write_fasta(tmp_path / "r.fa", g=genome), *ends)
    assert code == 0
    assert {row[0] for row in records(sam)} == {"SRR1.7" if "SRR" in one else "r"}


def test_names_that_differ(cli: Cli, tmp_path: Path, files, library) -> None:
    (_, *left), (_, *right) = library[0]
    ends = write_fastq(tmp_path / "a.fq", ("x/1", *left)), write_fastq(tmp_path / "b.fq", ("y/2", *right))
    code, out, error = cli("map", files[0], *ends)
    assert (code, out) == (3, b"")
    assert "named 'x/1' and 'y/2'" in error
    assert cli("map", "--no-check-names", "-I", "300,30", files[0], *ends)[0] == 0


@pytest.mark.parametrize("longer", [0, 1])
def test_files_of_unequal_length(cli: Cli, tmp_path: Path, files, library, longer: int) -> None:
    ends = list(files[1:])
    ends[1 - longer] = write_fastq(tmp_path / "short.fq", *(pair[1 - longer] for pair in library[:390]))
    code, _, error = cli("map", files[0], *ends, "-o", tmp_path / "out.sam", "--batch-size", "8K")
    assert code == 3
    assert "differ in length" in error
    assert "400" in error
    assert "390" in error
    assert not (tmp_path / "out.sam").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-I", "many"], "insert size must be MEAN"),
        (["-I", "300,0"], "sd above 0"),
        (["-I", "300,30,100,200"], "min at most max"),
        (["-p"], "interleaved pairs come from one file"),
    ],
)
def test_wrong_pair_options(cli: Cli, files, arguments: list[str], sentence: str) -> None:
    code, _, error = cli("map", *arguments, *files)
    assert code == 2
    assert sentence in error


def test_too_few_pairs_to_estimate(cli: Cli, tmp_path: Path, files, library) -> None:
    ends = [write_fastq(tmp_path / f"few{i}.fq", *(pair[i] for pair in library[:5])) for i in (0, 1)]
    code, sam, error = cli("map", files[0], *ends)
    assert code == 0
    assert "too few pairs to estimate insert sizes: taking 1 to 1000" in error
    check_mate_fields(records(sam))


def test_a_clipped_end_is_as_sure_as_its_seeds(cli: Cli, tmp_path: Path, genome: str) -> None:
    one, two = pair(genome, 1000, 350, "t")
    clipped = (two[0], two[1][:70] + random_genome(77, 30), two[2])
    paths = write_fastq(tmp_path / "1.fq", one), write_fastq(tmp_path / "2.fq", clipped)
    rows = records(cli("map", "-I", "350,30", write_fasta(tmp_path / "r.fa", g=genome), *paths)[1])
    assert [row[4] for row in rows] == ["60", "60"]
    assert all(int(row[1]) & PROPER for row in rows)
    assert "S" in rows[1][5]


def test_a_copy_of_a_split_mates_second_part_does_not_take_its_place(cli: Cli, tmp_path: Path, genome: str) -> None:
    """R1, and 60 bases of R2, lie in a repeat with two copies; 66 other bases of R2 are unique."""
    repeat = random_genome(5, 300)
    reference = write_fasta(tmp_path / "r.fa", g=genome[:3000] + repeat + genome[3000:6000] + repeat + genome[6000:])
    start = next(i for i in range(8000, 8100) if genome[i - 1] != repeat[249] and genome[i] != repeat[250])
    first, second = repeat[:100], reverse_complement(repeat[190:250] + genome[start : start + 66])
    one, two = (write_fastq(tmp_path / f"{i}.fq", ("p", s, "I" * len(s))) for i, s in enumerate((first, second)))
    code, sam, _ = cli("map", "-I", "300,50", reference, one, two)
    assert code == 0
    rows = {int(row[1]) & 0x8C0: row for row in records(sam)}
    assert (rows[0x40][4], rows[0x40][5]) == ("0", "100M")
    unique, part = rows[0x80], rows[0x880]
    assert int(unique[1]) & 0x1F == REVERSE | PAIRED
    assert (unique[3], unique[5]) == (str(600 + start + 1), "60S66M")
    assert int(unique[4]) >= 30
    assert part[5] == "60M66H"
    assert part[3] in ("3191", "6491")


def test_only_primary_records_of_a_proper_pair_say_so(cli: Cli, tmp_path: Path) -> None:
    """Not the secondary record of the mate in a repeat, nor the supplementary one of a split mate."""
    repeat, foreign = random_genome(51, 300), random_genome(54, 500)
    text = random_genome(52, 2000) + repeat + random_genome(53, 3000)
    other = repeat[:150] + "ACGT"[("ACGT".index(repeat[150]) + 1) % 4] + repeat[151:]
    reference = write_fasta(tmp_path / "r.fa", g=text + other + random_genome(55, 2000) + foreign)
    in_repeat = pair(text, 1800, 400, "s")
    (_, left, _), second = pair(text, 3000, 400, "t")
    split = ("t/1", left[:90] + foreign[200:250], "I" * 140)
    ends = write_fastq(tmp_path / "1.fq", in_repeat[0], split), write_fastq(tmp_path / "2.fq", in_repeat[1], second)
    rows = records(cli("map", "--secondary", "-I", "400,40", reference, *ends)[1])
    flags = [int(row[1]) for row in rows]
    assert len([flag for flag in flags if flag & 0x100]) == 1
    assert len([flag for flag in flags if flag & 0x800]) == 1
    assert [bool(flag & PROPER) for flag in flags] == [not flag & 0x900 for flag in flags]
