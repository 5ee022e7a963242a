"""Bisulfite reads: by hand, by a naive distance in four letters, and by where simulated reads come from."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest

import gpualign
from gpualign import _native
from tests.helpers.bisulfite import bisulfite, edited
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import Record, write_fasta, write_fastq
from tests.helpers.implementations import on_gpu
from tests.helpers.sam import records, tags, without_program
from tests.helpers.sequences import batch_of, random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
#: letters of a read that are no edit over a letter of the reference, besides the same one
CONVERTED = {"f": {"C": "T"}, "r": {"G": "A"}}


def reads_of(
    genome: str, count: int, length: int, seed: int, edits: int = 0, pbat: bool = False
) -> list[tuple[Record, Record]]:
    """Pairs of 250 bases, of both strands, with so many random edits in each read; their names tell where from."""
    rng = random.Random(seed)
    pairs = []
    for i in range(count):
        start, of_bottom = rng.randrange(0, len(genome) - 250), i % 2
        piece = genome[start : start + 250]
        strand = bisulfite(reverse_complement(piece) if of_bottom else piece, "CpG" if i % 3 else "")
        ends = [edited(rng, strand[:length], edits), edited(rng, reverse_complement(strand)[:length], edits)]
        if pbat:
            ends.reverse()
        name = f"p{i}:{start}:{'r' if of_bottom else 'f'}"
        pairs.append(tuple((f"{name}/{mate}", end, "I" * len(end)) for mate, end in enumerate(ends, 1)))
    return pairs  # type: ignore[return-value]


def least_edits(read: str, text: str, strand: str) -> int:
    """Sellers' recurrence, a T over C being no edit on the forward strand, an A over G on the reverse one."""
    row = np.zeros(len(text) + 1, np.int64)
    letters = np.array(list(text))
    for i, base in enumerate(read, 1):
        same = letters == base
        for met, shown in CONVERTED[strand].items():
            same |= (letters == met) & (base == shown)
        diagonal = row[:-1] + ~same
        below = np.minimum(diagonal, row[1:] + 1)
        above = np.concatenate(([i], below))
        # an insertion of reference bases: the least of what is before, one more for each base
        steps = np.arange(len(above))
        row = np.minimum.accumulate(above - steps) + steps
    return int(row.min())


def score_of(record: list[str], genome: str) -> int:
    """AS by the CIGAR: matches 1, mismatches -4, gaps -6 and -1 a base, with conversion."""
    strand, score, at, read = tags(record)["YD"], 0, int(record[3]) - 1, 0
    for number, kind in re.findall(r"(\d+)([MIDS])", record[5]):
        n = int(number)
        if kind == "M":
            for base, met in zip(record[9][read : read + n], genome[at : at + n], strict=True):
                score += 1 if base == met or CONVERTED[strand].get(met) == base else -4
        elif kind != "S":
            score -= 6 + n
        read += n if kind in "MIS" else 0
        at += n if kind in "MD" else 0
    return score


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(91, 20_000)


@pytest.fixture(params=["the CPU", "kernels in scalar code", *on_gpu("a GPU")])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "kernels in scalar code":
        request.getfixturevalue("use")(FakeDriver())
    return "cpu" if request.param == "the CPU" else "cuda"


@pytest.fixture
def mapped(tmp_path: Path, cli: Cli, genome: str, device: str) -> Callable[..., list[list[str]]]:
    """Records of pairs, or of single reads."""

    def run(reads: list[tuple[Record, Record]] | list[Record], *options: str, text: str = genome) -> list[list[str]]:
        files = [tmp_path / "1.fq"]
        if isinstance(reads[0][0], tuple):
            files.append(tmp_path / "2.fq")
            for file, mates in zip(files, zip(*reads, strict=True), strict=True):
                write_fastq(file, *mates)  # type: ignore[arg-type]
        else:
            write_fastq(files[0], *reads)  # type: ignore[arg-type]
        fasta = write_fasta(tmp_path / "g.fa", g=text)
        code, out, err = cli("map", "--meth", fasta, *files, *options, "--device", device)
        assert code == 0, err
        return records(out)

    return run


#                 1         2         3         4         5         6
HAND = "ACCGTTACAGTCAATGCATCCTTAGGCTAACCGGATTCAGAGTCCATGCAAGCTTGACCGTACGATTGCAGCTATTTGCGCGATATCTTGATC"


def test_tags_by_hand(mapped: Callable[..., list[list[str]]]) -> None:
    """A read of each strand: the first with its second C methylated, the other with none."""
    top, bottom = HAND[:40], reverse_complement(HAND[40:80])
    first = top[:2].replace("C", "T") + "C" + top[3:].replace("C", "T")
    reads = [("top", first, "I" * 40), ("bottom", bisulfite(bottom), "I" * 40)]
    one, two = mapped(reads, "--tags", "XM,XR,XG", text=HAND)
    assert one[1:6] == ["0", "g", "1", one[4], "40M"]
    assert two[1:6] == ["16", "g", "41", two[4], "40M"]
    found = tags(one)
    converted = top.count("C") - 1
    assert (found["YD"], found["YC"], found["XR"], found["XG"]) == ("f", "CT", "CT", "CT")
    assert found["ed"] == "0"
    assert found["AS"] == "40"
    assert found["NM"] == str(converted)
    #       ACCGTTACAGTCAATGCATCCTTAGGCTAACCGGATTCAG, and AGT after it
    assert found["XM"] == ".xZ....x...h....h..hh.....h...xz.....x.."
    found = tags(two)
    assert (found["YD"], found["YC"], found["XR"], found["XG"]) == ("r", "CT", "CT", "GA")
    #                 CAG, and AGTCCATGCAAGCTTGACCGTACGATTGCAGCTATTTGCG
    assert found["XM"] == ".h.....h...h...h...z...z...h..x......h.z"
    assert found["ed"] == "0"
    assert found["NM"] == str(HAND[40:80].count("G"))


def test_c_over_t_is_an_edit(mapped: Callable[..., list[list[str]]], genome: str) -> None:
    piece = genome[5000:5100]
    at = [i for i in range(30, 70) if piece[i] == "T"][:2]
    read = list(bisulfite(piece))
    for i in at:
        read[i] = "C"
    (found,) = mapped([("r", "".join(read), "I" * 100)])
    assert found[3] == "5001"
    assert found[5] == "100M"
    assert tags(found)["ed"] == "2"
    assert tags(found)["AS"] == "90"


def test_methylated_bases_tell_copies_apart(mapped: Callable[..., list[list[str]]]) -> None:
    """Two copies differ where one has C and the other T: the same in three letters."""
    piece = random_genome(7, 100)
    changed = list(piece)
    for i in [i for i in range(100) if piece[i] == "C"][3:12:3]:
        changed[i] = "T"
    other = "".join(changed)
    text = random_genome(8, 2000) + piece + random_genome(9, 2000) + other + random_genome(10, 2000)
    methylated, converted, of_other = mapped(
        [("m", piece, "I" * 100), ("c", bisulfite(piece), "I" * 100), ("o", other, "I" * 100)], text=text
    )
    assert methylated[3] == "2001"
    assert int(methylated[4]) >= 30
    assert tags(methylated)["ed"] == "0"
    assert converted[3] in ("2001", "4101")
    assert converted[4] == "0"
    # its T may be converted C: it fits the first copy as well
    assert of_other[4] == "0"
    assert tags(of_other)["ed"] == "0"


def test_the_likely_conversion_by_hand() -> None:
    """1: R1, or a single read, of few C, or R2 of few G; 2: the other way round; ties are directional."""
    reads = [b"TTGAGGTC", b"CCATACCA", b"CCATACCA", b"TTGAGGTC", b"ACGT", b"TGTA", b"CATA", b"AACT"]
    mates = np.array([1, 2, 1, 2, 0, 0, 0, 0], np.uint8)
    batch = batch_of(reads, mates)
    assert _native.likely_conversions(batch.bases, batch.base_offsets, mates).tolist() == [1, 2, 2, 1, 1, 1, 2, 2]
    alone = _native.likely_conversions(batch.bases, batch.base_offsets, None).tolist()
    assert alone == [1, 2, 2, 1, 1, 1, 2, 2]


def test_reads_that_may_be_of_either_library(mapped: Callable[..., list[list[str]]], genome: str) -> None:
    """Reads without a converted base fit both ways at one locus; a clipped one is found in its own way alone."""
    clipped = bisulfite(genome[12_000:12_070]) + random_genome(5, 30)
    other = reverse_complement(bisulfite(reverse_complement(genome[15_000:15_070]))) + random_genome(6, 30)
    reads = [("both", genome[7000:7100]), ("ct", clipped), ("ga", other)]
    both, ct, ga = mapped([(name, read, "I" * 100) for name, read in reads], "--non-directional")
    assert (both[3], both[4], tags(both)["YC"]) == ("7001", "0", "CT")
    assert (ct[3], tags(ct)["YC"]) == ("12001", "CT")
    assert (ga[3], tags(ga)["YC"]) == ("15001", "GA")
    assert all(re.fullmatch(r"[67]\dM\d\dS", record[5]) and int(record[4]) >= 20 for record in (ct, ga))


@pytest.mark.parametrize("edits", [0, 3])
@pytest.mark.parametrize("library", ["directional", "pbat", "non-directional"])
def test_reads_lie_where_they_come_from(
    mapped: Callable[..., list[list[str]]], genome: str, edits: int, library: str
) -> None:
    pairs = reads_of(genome, 60, 80, 3 + edits, edits, library == "pbat")
    if library == "non-directional":
        pairs += [tuple(("x" + end[0], *end[1:]) for end in pair) for pair in reads_of(genome, 60, 80, 8, edits, True)]  # type: ignore[misc]
    options = {"directional": [], "pbat": ["--pbat"], "non-directional": ["--non-directional"]}[library]
    found = mapped(pairs, *options)
    primary = [record for record in found if not int(record[1]) & 0x900]
    assert len(primary) == 2 * len(pairs)
    right = 0
    for record in primary:
        name, start, strand = record[0].split(":")
        swapped = library == "pbat" or name.startswith("x")
        first = bool(int(record[1]) & 64)
        near = abs(int(record[3]) - 1 - int(start)) < 250 and int(record[4]) >= 20
        if not near:
            continue
        right += 1
        assert tags(record)["YD"] == strand
        assert tags(record)["YC"] == ("CT" if first != swapped else "GA")
        # R1 of a directional library shows the strand itself
        assert bool(int(record[1]) & 16) == ((strand == "r") != (first == swapped))
        assert score_of(record, genome) == int(tags(record)["AS"])
    assert right >= 0.97 * len(primary)


@pytest.mark.parametrize("options", [(), ("--sensitivity", "full")])
def test_edits_are_the_least_in_four_letters(mapped: Callable[..., list[list[str]]], options: tuple[str, ...]) -> None:
    text = random_genome(17, 3000)
    rng = random.Random(4)
    reads = []
    for i in range(60):
        start = rng.randrange(0, 2900)
        strand = text[start : start + 90]
        strand = bisulfite(reverse_complement(strand) if i % 2 else strand, "CpG")
        reads.append((f"r{i}", edited(rng, strand, rng.randrange(6)), ""))
    reads = [(name, read, "I" * len(read)) for name, read, _ in reads]
    found = mapped(reads, "--end-to-end", *options, text=text)
    assert sum(record[1] != "4" for record in found) >= 55
    for record, (_, read, _) in zip(found, reads, strict=True):
        ways = (least_edits(read, text, "f"), least_edits(reverse_complement(read), text, "r"))
        if record[1] == "4":
            assert min(ways) > 12  # 0.14 of 90 bases
            continue
        assert int(tags(record)["ed"]) == min(ways)
        assert tags(record)["YD"] == "fr"[int(record[1] == "16")]
        assert score_of(record, text) == int(tags(record)["AS"])


def test_a_split_read(mapped: Callable[..., list[list[str]]], genome: str) -> None:
    read = bisulfite(genome[3000:3070] + genome[9000:9060], "CpG")
    first, second = mapped([("s", read, "I" * 130)])
    assert (first[3], second[3], second[1]) == ("3001", "9001", "2048")
    # the parts may share bases that fit both
    assert re.fullmatch(r"(69|7\d)M(6\d|5\d)S", first[5])
    assert re.fullmatch(r"(69|7\d)H(6\d|5\d)M", second[5])
    for record in (first, second):
        assert tags(record)["YD"] == "f"
        assert score_of(record, genome) == int(tags(record)["AS"])


def test_threads_batches_and_a_saved_index_change_nothing(tmp_path: Path, cli: Cli, genome: str) -> None:
    fasta, index = write_fasta(tmp_path / "g.fa", g=genome), tmp_path / "g.gpi"
    files = [tmp_path / "1.fq", tmp_path / "2.fq"]
    for file, mates in zip(files, zip(*reads_of(genome, 200, 80, 5, 2), strict=True), strict=True):
        write_fastq(file, *mates)
    assert cli("index", "--meth", fasta, "-d", index)[0] == 0
    ways = [(fasta, "-t", 1), (fasta, "-t", 3, "--batch-size", "5K"), (index, "-t", 2)]
    outputs = [without_program(cli("map", "--meth", way[0], *files, *way[1:])[1]) for way in ways]
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(records(outputs[0])) >= 400


def test_mem_and_samples(tmp_path: Path, cli: Cli, genome: str) -> None:
    fasta = write_fasta(tmp_path / "g.fa", g=genome)
    files = [tmp_path / "1.fq", tmp_path / "2.fq"]
    for file, mates in zip(files, zip(*reads_of(genome, 50, 80, 6), strict=True), strict=True):
        write_fastq(file, *mates)
    code, out, _ = cli("mem", "--meth", fasta, *files)
    assert code == 0
    assert (tmp_path / "g.fa.meth.gpi").exists()
    assert all(abs(int(r[3]) - 1 - int(r[0].split(":")[1])) < 250 for r in records(out))
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"sample,fastq_1,fastq_2\na,{files[0]},{files[1]}\n")
    code, _, err = cli("map", "--meth", fasta, "--samples", sheet, "-o", tmp_path / "out", "--output-format", "sam")
    assert code == 0, err
    alone = cli("map", "--meth", fasta, *files, "-R", r"@RG\tID:a\tSM:a")[1]
    assert records((tmp_path / "out" / "a.sam").read_bytes()) == records(alone)


def test_duplicates_are_of_one_strand(tmp_path: Path, cli: Cli, genome: str) -> None:
    """Pairs of both strands of one place: no duplicates of each other; of one strand they are."""
    piece = genome[4000:4250]
    top, bottom = bisulfite(piece, "CpG"), bisulfite(reverse_complement(piece), "CpG")
    pairs = [
        [(f"{name}/1", strand[:80], "I" * 80), (f"{name}/2", reverse_complement(strand)[:80], "I" * 80)]
        for name, strand in (("t1", top), ("b1", bottom), ("t2", top))
    ]
    files = [tmp_path / "1.fq", tmp_path / "2.fq"]
    for file, mates in zip(files, zip(*pairs, strict=True), strict=True):
        write_fastq(file, *mates)
    fasta = write_fasta(tmp_path / "g.fa", g=genome)
    _, out, _ = cli("map", "--meth", fasta, *files, "--mark-duplicates", "-I", "250,30")
    assert {r[0] for r in records(out) if int(r[1]) & 1024} == {"t2"}
    (tmp_path / "o.sam").write_bytes(cli("map", "--meth", fasta, *files, "-I", "250,30")[1])
    for options, names in (((), {"b1", "t2"}), (("--by-strand",), {"t2"})):
        code, out, err = cli("markdup", tmp_path / "o.sam", *options, "--output-format", "sam")
        assert code == 0, err
        assert {r[0] for r in records(out) if int(r[1]) & 1024} == names


def test_refused(tmp_path: Path, cli: Cli, genome: str) -> None:
    fasta, reads = (
        write_fasta(tmp_path / "g.fa", g=genome),
        write_fastq(tmp_path / "r.fq", ("r", genome[:80], "I" * 80)),
    )
    plain, meth = tmp_path / "plain.gpi", tmp_path / "meth.gpi"
    assert cli("index", fasta, "-d", plain)[0] == cli("index", "--meth", fasta, "-d", meth)[0] == 0
    for words, code, why in (
        (("--meth", "-x", "ont", fasta, reads), 2, "short reads"),
        (("--meth", "--alt", "names", fasta, reads), 2, "ALT contigs"),
        (("--pbat", fasta, reads), 2, "--pbat needs --meth"),
        (("--meth", "--pbat", "--non-directional", fasta, reads), 2, "mutually exclusive"),
        (("--tags", "XM", fasta, reads), 2, "XM is a tag for bisulfite reads"),
        (("--rrbs", fasta, reads), 2, "add --meth"),
        (("--meth", "--methylation", tmp_path / "x.cov", fasta, reads), 2, "add --sort"),
        (("--meth", plain, reads), 3, "index --meth"),
        ((meth, reads), 3, "for bisulfite reads"),
    ):
        found, _, err = cli("map", *words)
        assert found == code, words
        assert why in err
    code, _, err = cli("mems", meth, fasta)
    assert code in (2, 3)
    assert "bisulfite" in err


@pytest.mark.parametrize("library", ["--meth", "--pbat"])
def test_edits_in_every_seed(tmp_path: Path, cli: Cli, genome: str, library: str) -> None:
    """With one of two mismatches undone a read of 50 bases has a window of 31 bases."""
    fasta, reads, starts = write_fasta(tmp_path / "g.fa", g=genome), [], range(0, 2000, 50)
    for start in starts:
        read = list(bisulfite(genome[start : start + 50]))
        for at in (16, 33):
            read[at] = {"A": "G", "G": "A", "C": "A", "T": "G"}[read[at]]
        text = "".join(read)
        reads.append((f"r{start}", text if library == "--meth" else reverse_complement(text), "I" * 50))
    words = ("map", *{"--meth": 0, library: 0}, "-k", "23", "-w", "9", fasta)
    assert cli(*words, write_fastq(tmp_path / "r.fq", *reads), "-o", tmp_path / "o.sam")[0] == 0
    with pysam.AlignmentFile(str(tmp_path / "o.sam")) as records:
        assert [record.reference_start for record in records] == list(starts)


def test_a_mate_has_a_better_copy_near_the_other(tmp_path: Path, cli: Cli) -> None:
    """Of a family whose seeds are too frequent to follow; the other copy has a k-mer of its own."""
    copy, text = random_genome(6, 50), list(random_genome(7, 30_000))
    other = {"A": "G", "G": "A", "C": "A", "T": "A"}
    for start in range(8000, 29_000, 100):
        text[start : start + 50] = copy
    diverged, read = list(copy), list(copy)
    for at in (5, 25, 44, 48):
        diverged[at] = other[copy[at]]
    read[5] = diverged[5]
    starts = range(500, 6500, 1000)
    for start in starts:
        text[start + 200 : start + 250], text[start + 300 : start + 350] = copy, diverged
    genome = "".join(text)
    pairs = [(bisulfite(genome[start : start + 50]), bisulfite("".join(read))) for start in starts]
    files = [tmp_path / "1.fq", tmp_path / "2.fq"]
    write_fastq(files[0], *((f"r{i}", first, "I" * 50) for i, (first, _) in enumerate(pairs)))
    write_fastq(files[1], *((f"r{i}", reverse_complement(second), "I" * 50) for i, (_, second) in enumerate(pairs)))
    fasta = write_fasta(tmp_path / "g.fa", g=genome)
    found = records(cli("map", "--meth", fasta, *files, "--max-hits", "4", "-I", "250,50,400,50")[1])
    assert [int(record[3]) - 1 for record in found[1::2]] == [start + 200 for start in starts]


def test_mapping_qualities_of_copies(tmp_path: Path, cli: Cli) -> None:
    """Pairs in copies that differ by 3 % are mostly sure, those in equal copies are not, and no sure one is wrong."""
    rng, unit = random.Random(8), random_genome(9, 1500)
    text = random_genome(10, 6000) + unit + random_genome(11, 500) + edited(rng, unit, 45) + random_genome(12, 500)
    text += unit[:600]
    pairs = reads_of(text, 300, 75, 13, 3)
    files = [tmp_path / "1.fq", tmp_path / "2.fq"]
    for file, mates in zip(files, zip(*pairs, strict=True), strict=True):
        write_fastq(file, *mates)
    found = records(cli("map", "--meth", write_fasta(tmp_path / "g.fa", g=text), *files)[1])
    sure, equal, apart = [], [], []
    for record in found:
        start, right = int(record[0].split(":")[1]), int(record[3]) - 1
        if int(record[4]) >= 20:
            sure.append(start - 10 <= right <= start + 250)
        if 6000 <= start <= 6350 or len(text) - 600 <= start:  # in the beginning of the unit, and in its other copy
            equal.append(int(record[4]))
        if 6600 <= start <= 7250:
            apart.append(int(record[4]) >= 20)
    assert all(sure)
    assert len(equal) > 30
    assert max(equal) < 10
    assert len(apart) > 30
    assert sum(apart) >= 0.95 * len(apart)


def test_warnings(tmp_path: Path, cli: Cli, genome: str) -> None:
    """Of reads of another library, of long ones, and of duplicates among fragments between sites."""
    fasta, sheet = write_fasta(tmp_path / "g.fa", g=genome), tmp_path / "sheet.csv"
    one, two = (tmp_path / f"{mate}.fq" for mate in (1, 2))
    for file, mates in zip((one, two), zip(*reads_of(genome, 40, 80, 7), strict=True), strict=True):
        write_fastq(file, *mates)
    long = write_fastq(tmp_path / "long.fq", ("l", bisulfite(genome[:1500]), "I" * 1500))
    plain = write_fastq(tmp_path / "plain.fq", *((f"p{i}", genome[20 * i : 20 * i + 80], "I" * 80) for i in range(180)))
    sheet.write_text(f"sample,fastq_1,fastq_2\na,{two},{one}\n")
    other = "% of the reads suggest that they were converted the other way"
    out = tmp_path / "out"
    for words, why in (
        ((fasta, two, one), f"100 {other} (add --pbat)"),
        ((fasta, one, two, "--pbat"), f"100 {other} (leave out --pbat)"),
        ((fasta, f"{one},{two}"), f"50 {other} (--non-directional maps both kinds)"),
        ((fasta, "--samples", sheet), f"sample 'a': the bases of 100 {other}"),
        ((fasta, one, two, "--sort", "--rrbs", "--mark-duplicates"), "leave out --mark-duplicates"),
        ((fasta, long), "with the scores of short reads (--meth is for short reads)"),
        (
            (fasta, plain),
            "the reads do not look converted: 0 % of their cytosines outside CpG are",
        ),
        ((fasta, plain, "--non-directional"), "the reads do not look converted: they have C and G"),
        ((fasta, one, two), ""),
        ((fasta, f"{one},{two}", "--non-directional"), ""),
    ):
        folder = "--samples" in words
        code, _, err = cli("map", "--meth", *words, "-o", out if folder else tmp_path / "out.sam")
        assert code == 0, err
        assert ("warning" in err) == bool(why), err
        assert why in err


def test_forms_of_output(tmp_path: Path, cli: Cli, genome: str) -> None:
    fasta = write_fasta(tmp_path / "g.fa", g=genome)
    files = [tmp_path / "1.fq", tmp_path / "2.fq"]
    for file, mates in zip(files, zip(*reads_of(genome, 60, 80, 7, 2), strict=True), strict=True):
        write_fastq(file, *mates)
    words = ("map", "--meth", fasta, *files, "--tags", "XM,XR,XG")
    expected = [sorted(record) for record in records(cli(*words)[1])]
    for kind in ("bam", "cram"):
        assert cli(*words, "-o", tmp_path / f"o.{kind}")[0] == 0
        with pysam.AlignmentFile(str(tmp_path / f"o.{kind}"), reference_filename=str(fasta)) as file:
            found = [sorted(record.to_string().split("\t")) for record in file]
        assert found == expected
    lines = [line.split("\t") for line in cli(*words[:-2], "--paf")[1].decode().splitlines()]
    mapped = [record for record in records(cli(*words)[1]) if not int(record[1]) & 4]
    assert [(line[4], line[7]) for line in lines] == [
        ("-" if int(record[1]) & 16 else "+", str(int(record[3]) - 1)) for record in mapped
    ]


def test_a_mapper_of_bisulfite_reads(genome: str) -> None:
    pairs = reads_of(genome, 40, 80, 9, 1)
    with gpualign.Mapper([genome], meth="directional") as mapper:
        rows = mapper.map([first for first, _ in pairs], [second for _, second in pairs])
        assert len(rows) == 80
        assert all(row.flag < 4096 for row in rows)
        assert all(abs(row.position - int(pairs[row.read // 2][0][0].split(":")[1])) < 250 for row in rows)
        (alone,) = mapper.map(bisulfite(genome[700:800]))
        assert (alone.position, alone.strand, alone.distance) == (700, 1, 0)


def test_programs_that_know_no_such_index_refuse_it(cli: Cli, tmp_path: Path) -> None:
    """They read format version 3."""
    reference = write_fasta(tmp_path / "ref.fa", [random_genome(3, 3000)])
    versions = []
    for more in ((), ("--meth",)):
        assert cli("index", reference, "-d", tmp_path / "ref.gpi", *more)[0] == 0
        versions.append(int.from_bytes((tmp_path / "ref.gpi").read_bytes()[8:12], "little"))
    assert versions == [3, 4]
