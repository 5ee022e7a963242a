"""`map -x splice`: introns, known ones, two passes, and STAR's table. Expectations follow from how the reads were
made.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import pysam
import pytest

from tests.helpers.sequences import random_genome, reverse_complement, with_errors
from tests.helpers.spliced import gene, introns

Cli = Callable[..., tuple[int, bytes, str]]
Introns = list[tuple[int, int]]


def mapped(
    cli: Cli, folder: Path, contig: str, reads: dict[str, str], *words: object
) -> tuple[list[pysam.AlignedSegment], str]:
    """Primary records in order, and the messages."""
    (folder / "ref.fa").write_text(f">c\n{contig}\n")
    (folder / "reads.fa").write_text("".join(f">{name}\n{read}\n" for name, read in reads.items()))
    code, _, message = cli(
        "map", "-x", "splice", folder / "ref.fa", folder / "reads.fa", "-o", folder / "o.sam", *words
    )
    assert code == 0, message
    with pysam.AlignmentFile(str(folder / "o.sam")) as file:
        return [record for record in file if not record.flag & 0x900], message


def test_reads_cross_introns_on_both_strands(cli: Cli, tmp_path: Path) -> None:
    contig, transcript, places = gene(1, (200, 150, 300), (700, 5000))
    reads = {"forward": transcript, "reverse": reverse_complement(transcript)}
    records, _ = mapped(cli, tmp_path, contig, reads)
    for record, strand in zip(records, "+-", strict=True):
        assert (record.cigarstring, record.reference_start) == ("200M700N150M5000N300M", 2000)
        assert (record.get_tag("NM"), record.get_tag("MD"), record.mapping_quality) == (0, "650", 60)
        assert (record.get_tag("XS"), record.get_tag("ts")) == ("+", strand)
        assert introns(record) == places


def test_a_gene_on_the_reverse_strand(cli: Cli, tmp_path: Path) -> None:
    contig, transcript, places = gene(2, (200, 150, 300), (700, 5000))
    length = len(contig)
    (record,), _ = mapped(cli, tmp_path, reverse_complement(contig), {"read": transcript})
    assert introns(record) == [(length - end, length - start) for start, end in reversed(places)]
    assert (record.get_tag("XS"), record.get_tag("ts"), record.is_reverse) == ("-", "+", True)


@pytest.mark.parametrize("bases", [6, 10, 15, 21])
def test_exons_that_are_shorter_than_a_seed(cli: Cli, tmp_path: Path, bases: int) -> None:
    """Between perfect exons, where no other place of the intron has the same bases between the same signals."""
    for seed in range(10, 16):
        contig, transcript, places = gene(seed, (150, bases, 150), (600, 900))
        exon = transcript[150 : 150 + bases]
        assert contig.count("AG" + exon + "GT") == 1
        (record,), _ = mapped(cli, tmp_path, contig, {"read": transcript})
        assert introns(record) == places
        assert record.cigarstring == f"150M600N{bases}M900N150M"


def test_reads_with_errors(cli: Cli, tmp_path: Path) -> None:
    """Of 60 reads with 5 % errors nearly all have all four introns, each of them within a base or two."""
    contig, transcript, places = gene(20, (250, 120, 90, 180, 260), (400, 1500, 8000, 60_000))
    reads = {str(i): with_errors(i, transcript, 0.05) for i in range(60)}
    records, _ = mapped(cli, tmp_path, contig, reads)
    whole = sum(introns(record) == places for record in records)
    assert whole >= 50
    assert sum(len(introns(record)) for record in records) <= 4 * 60


@pytest.mark.parametrize(
    ("ends", "signal", "strand"),
    [(("GCAAGT", "TTTCAG"), "3", "+"), (("ATATCC", "CCTTAC"), "5", "+"), (("CTGAAA", "AACTAC"), "2", "-")],
)
def test_signals(cli: Cli, tmp_path: Path, ends: tuple[str, str], signal: str, strand: str) -> None:
    """GC-AG, AT-AC, and GT-AG of the other strand: the table has STAR's number of the signal."""
    contig, transcript, places = gene(30, (200, 200), (3000,), ends)
    table = tmp_path / "SJ.out.tab"
    (record,), _ = mapped(cli, tmp_path, contig, {"read": transcript}, "--junctions-out", table)
    assert introns(record) == places
    assert record.get_tag("XS") == strand
    (start, end) = places[0]
    columns = ["c", str(start + 1), str(end), "1" if strand == "+" else "2", signal, "0", "1", "0", "200"]
    assert table.read_text() == "\t".join(columns) + "\n"


def test_a_short_gap_is_a_deletion(cli: Cli, tmp_path: Path) -> None:
    text = random_genome(40, 3000)
    (record,), _ = mapped(cli, tmp_path, text, {"read": text[1000:1300] + text[1310:1600]})
    assert re.fullmatch(r"\d+M10D\d+M", str(record.cigarstring))
    assert not record.has_tag("XS")


def test_known_introns_reach_the_ends_of_reads(cli: Cli, tmp_path: Path) -> None:
    """A read's last 9 bases in the next exon, and its first 9 in the one before: too few without the annotation."""
    contig, transcript, places = gene(50, (200, 150, 300), (700, 5000))
    exons = [(2000, 2200), (2900, 3050), (8050, 8350)]
    gtf = tmp_path / "genes.gtf"
    rows = (f'c\tx\texon\t{a + 1}\t{b}\t.\t+\t.\tgene_id "g"; transcript_id "t";\n' for a, b in exons)
    gtf.write_text("".join(rows))
    reads = {"end": transcript[20:209], "begin": transcript[341:600]}
    alone, _ = mapped(cli, tmp_path, contig, reads)
    assert [introns(record) for record in alone] == [[], []]
    records, _ = mapped(cli, tmp_path, contig, reads, "--junctions", gtf)
    assert [record.cigarstring for record in records] == ["180M700N9M", "9M5000N250M"]
    assert [introns(record) for record in records] == [[places[0]], [places[1]]]
    assert [record.get_tag("XS") for record in records] == ["+", "+"]
    star = tmp_path / "known.tab"
    star.write_text("".join(f"c\t{a + 1}\t{b}\t1\t1\t1\t5\t0\t30\n" for a, b in places))
    same, _ = mapped(cli, tmp_path, contig, reads, "--junctions", star)
    assert [record.cigarstring for record in same] == [record.cigarstring for record in records]


def gtf_of(genes: dict[str, tuple[str, Sequence[tuple[int, int]]]]) -> str:
    """Rows of exons, by gene: strand, and intervals as BED has them."""
    rows = (
        f'c\tx\texon\t{start + 1}\t{end}\t.\t{strand}\t.\tgene_id "{name}"; transcript_id "{name}.1";\n'
        for name, (strand, exons) in genes.items()
        for start, end in exons
    )
    return "".join(rows)


def test_counts_of_genes(cli: Cli, tmp_path: Path) -> None:
    """Reads in one gene of two, in both, in neither, in two copies of a stretch, and nowhere."""
    contig, transcript, _ = gene(55, (200, 150, 300), (700, 5000))
    copied = random_genome(1056, 400)
    contig += copied + random_genome(1057, 500) + copied
    exons = [(2000, 2200), (2900, 3050), (8050, 8350)]
    (tmp_path / "genes.gtf").write_text(gtf_of({"late": ("-", [(8300, 8600)]), "spliced": ("+", exons)}))
    reads = {
        "same strand": transcript[:340],
        "other strand": reverse_complement(transcript[100:420]),
        "both genes": transcript,
        "second gene": contig[8400:8700],
        "intron": contig[4000:4300],
        "copies": copied,
        "nowhere": random_genome(58, 300),
    }
    table = tmp_path / "genes.tsv"
    mapped(cli, tmp_path, contig, reads, "--junctions", tmp_path / "genes.gtf", "--counts", table)
    assert table.read_text().splitlines() == [
        "N_unmapped\t1\t1\t1",
        "N_multimapping\t1\t1\t1",
        "N_noFeature\t1\t3\t2",
        "N_ambiguous\t1\t0\t0",
        "late\t1\t0\t2",
        "spliced\t2\t2\t1",
    ]


def test_a_pair_counts_once() -> None:
    """Random pairs and single reads against a loop over their bases."""
    import numpy as np

    from gpualign.map.alignments import Alignments
    from gpualign.map.gene_counts import GeneExons

    rng = random.Random(59)
    exons = [
        (rng.randrange(6), rng.choice((-1, 1)), start, start + rng.randint(1, 60))
        for start in rng.choices(range(900), k=25)
    ]
    bounds = np.arange(1001)
    at = [sorted({(g, s) for g, s, start, end in exons if start <= base < end}) for base in range(1001)]
    counted = [[g for g, _ in each] for each in at], [[s for _, s in each] for each in at]
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in at])))[:-1]
    genes = GeneExons([f"g{i}" for i in range(6)], bounds, offsets, *(np.array([*chain(*each)]) for each in counted))
    mates, rows, expected = [], [], np.zeros((10, 3), int)
    for _ in range(300):
        pair = rng.random() < 0.5
        touched: list[set[int]] = [set(), set(), set()]
        unique = mapped = False
        for mate in (1, 2) if pair else (0,):
            mates.append(mate)
            reverse, contig, mapq = rng.random() < 0.5, rng.choice((0, 0, 0, -1)), rng.choice((0, 60))
            start, operations = (
                rng.randrange(800),
                [(rng.randint(1, 20), rng.choice((0, 7, 8, 2, 3, 1, 4))) for _ in range(6)],
            )
            rows.append((16 * reverse, contig, start, mapq, [length << 4 | code for length, code in operations]))
            mapped |= contig >= 0
            if contig < 0 or mapq < 3:
                continue
            unique = True
            own = (-1 if reverse else 1) * (-1 if mate == 2 else 1)
            for length, code in operations:
                for base in range(start, start + length) if code in (0, 7, 8) else ():
                    for number, strand in at[base]:
                        for column, wanted in enumerate((strand, own, -own)):
                            touched[column] |= {number} if strand == wanted else set()
                start += length if code in (0, 2, 3, 7, 8) else 0
        for column, some in enumerate(touched):
            row = 0 if not mapped else 1 if not unique else 2 if not some else 3 if len(some) > 1 else 4 + min(some)
            expected[row, column] += 1
    flag, contig, position, mapq, cigars = zip(*rows, strict=True)
    n = len(rows)
    kinds = (np.uint16, np.int32, np.int64, np.uint8)
    columns = (np.array(column, kind) for column, kind in zip((flag, contig, position, mapq), kinds, strict=True))
    zeros = np.zeros(n, np.int32)
    cigar, steps = np.array([*chain(*cigars)], np.uint32), np.arange(n + 1)
    alignments = Alignments(*columns, zeros, zeros, cigar, 6 * steps, steps)
    found = genes.count(alignments, np.array(mates, np.uint8), np.array([0, 1000]))
    assert found.reshape(-1, 3).tolist() == expected.tolist()
    assert expected.min(axis=1).max() > 20


def test_annotations_from_a_pipe(cli: Cli, tmp_path: Path) -> None:
    """Read once: genes, and STAR's table."""
    contig, transcript, places = gene(50, (200, 150, 300), (700, 5000))
    reads = {"end": transcript[20:209]}
    star = "".join(f"c\t{a + 1}\t{b}\t1\t1\t1\t5\t0\t30\n" for a, b in places)
    genes = gtf_of({"g": ("+", [(2000, 2200), (2900, 3050), (8050, 8350)])})
    for number, text in enumerate((star, "#!genome\n" + genes)):
        pipe = tmp_path / f"pipe{number}"
        os.mkfifo(pipe)
        with ThreadPoolExecutor(1) as pool:
            written = pool.submit(pipe.write_text, text)
            (record,), _ = mapped(cli, tmp_path, contig, reads, "--junctions", pipe)
            written.result()
        assert introns(record) == [places[0]]


def test_many_samples(cli: Cli, tmp_path: Path) -> None:
    """Each sample has the files of a run of its own."""
    contig, transcript, _ = gene(61, (200, 150, 300), (700, 5000))
    (tmp_path / "genes.gtf").write_text(gtf_of({"g": ("+", [(2000, 2200), (2900, 3050), (8050, 8350)])}))
    (tmp_path / "a.fa").write_text(f">1\n{transcript}\n>2\n{transcript[20:209]}\n")
    (tmp_path / "b.fa").write_text(f">1\n{transcript[100:]}\n")
    (tmp_path / "ref.fa").write_text(f">c\n{contig}\n")
    (tmp_path / "sheet.tsv").write_text(f"sample\tfastq_1\na\t{tmp_path}/a.fa\nb\t{tmp_path}/b.fa\n")
    words = ("map", "-x", "splice", "--junctions", tmp_path / "genes.gtf")
    both = ("--junctions-out", ".tab", "--counts", ".tsv")
    code, _, message = cli(
        *words, *both, "--samples", tmp_path / "sheet.tsv", tmp_path / "ref.fa", "-o", tmp_path / "out"
    )
    assert code == 0, message
    for name in "ab":
        alone = ("--junctions-out", tmp_path / "x.tab", "--counts", tmp_path / "x.tsv", "-o", tmp_path / "x.bam")
        code, _, message = cli(*words, tmp_path / "ref.fa", tmp_path / f"{name}.fa", *alone)
        assert code == 0, message
        for ending in ("tab", "tsv"):
            assert (tmp_path / f"out/{name}.{ending}").read_text() == (tmp_path / f"x.{ending}").read_text()
        with pysam.AlignmentFile(str(tmp_path / f"out/{name}.bam"), check_sq=False) as file:
            assert {record.get_tag("XS") for record in file} == {"+"}
    code, _, message = cli(*words, "--two-pass", "--samples", tmp_path / "sheet.tsv", tmp_path / "ref.fa")
    assert code == 2
    assert "--two-pass is for one sample" in message


def test_sorted_and_marked_cram(cli: Cli, tmp_path: Path) -> None:
    """CRAM holds introns and tags; of two equal reads one is a duplicate."""
    contig, transcript, places = gene(62, (200, 150, 300), (700, 5000))
    (tmp_path / "ref.fa").write_text(f">c\n{contig}\n")
    (tmp_path / "reads.fa").write_text(f">a\n{transcript}\n>b\n{transcript}\n>c\n{contig[100:500]}\n")
    out = tmp_path / "o.cram"
    words = ("-x", "splice", tmp_path / "ref.fa", tmp_path / "reads.fa")
    code, _, message = cli("map", *words, "--sort", "--mark-duplicates", "--write-index", "-o", out)
    assert code == 0, message
    with pysam.AlignmentFile(str(out), reference_filename=str(tmp_path / "ref.fa")) as file:
        records = list(file.fetch("c", 2950, 2960))
    assert [introns(record) for record in records] == [places, places]
    assert sorted(record.is_duplicate for record in records) == [False, True]
    assert [record.get_tag("XS") for record in records] == ["+", "+"]


def test_a_second_pass_knows_the_introns_of_the_first(cli: Cli, tmp_path: Path) -> None:
    contig, transcript, places = gene(51, (200, 150, 300), (700, 5000))
    reads = {"a": transcript, "b": transcript[5:], "end": transcript[20:209]}
    once, _ = mapped(cli, tmp_path, contig, reads)
    assert introns(once[2]) == []
    twice, _ = mapped(cli, tmp_path, contig, reads, "--two-pass")
    assert introns(twice[2]) == [places[0]]


def test_transcript_strand(cli: Cli, tmp_path: Path) -> None:
    """With -u f a read of the wrong strand has no cheap introns, so its tag is that of the option."""
    contig, transcript, _ = gene(52, (200, 200), (3000,))
    records, _ = mapped(cli, tmp_path, contig, {"f": transcript, "r": reverse_complement(transcript)}, "-u", "f")
    assert [record.get_tag("ts") for record in records] == ["+", "+"]
    assert [record.get_tag("XS") for record in records] == ["+", "-"]


def test_paf_and_cs(cli: Cli, tmp_path: Path) -> None:
    contig, transcript, _ = gene(53, (200, 150), (700,))
    (tmp_path / "ref.fa").write_text(f">c\n{contig}\n")
    (tmp_path / "reads.fa").write_text(f">r\n{transcript}\n")
    words = ("-x", "splice", tmp_path / "ref.fa", tmp_path / "reads.fa", "--paf", "--cs", "short")
    code, out, message = cli("map", *words)
    assert code == 0, message
    fields = out.decode().rstrip().split("\t")
    assert fields[:12] == ["r", "350", "0", "350", "+", "c", str(len(contig)), "2000", "3050", "350", "350", "60"]
    assert {"cg:Z:200M700N150M", "ts:A:+", "cs:Z::200~gt700ag:150"} <= set(fields[12:])


def test_the_report_counts_introns(cli: Cli, tmp_path: Path) -> None:
    import json

    contig, transcript, _ = gene(54, (200, 150, 300), (700, 5000))
    reads = {"a": transcript, "b": reverse_complement(transcript)}
    mapped(cli, tmp_path, contig, reads, "--json", tmp_path / "r.json", "--report", tmp_path / "r.html")
    found = json.loads((tmp_path / "r.json").read_text())["introns"]
    assert found == {"distinct": 2, "of_reads": 4, "signals": {"GT-AG": 4, "GC-AG": 0, "AT-AC": 0, "other": 0}}
    page = (tmp_path / "r.html").read_text()
    assert "<td>2, crossed 4 times by reads</td>" in page
    assert "<td>GT-AG 100.00 %, GC-AG 0.00 %, AT-AC 0.00 %, other 0.00 %</td>" in page


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--two-pass",), "only spliced reads have introns (add -x rna or -x splice)"),
        (("-x", "splice", "--counts", "other.tsv"), "(add --junctions FILE.gtf)"),
        (("-x", "splice", "--counts", "other.tsv", "--junctions", "star.tab"), "star.tab has introns but no genes"),
        (("--max-intron", "5000"), "options of introns need -x rna, splice or splice:hq"),
        (("-x", "splice", "--max-intron", "3"), "the longest intron (--max-intron)"),
        (("-x", "splice", "--junctions", "other.bed"), "no intron is on a contig of the reference"),
    ],
)
def test_wrong_options(cli: Cli, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "ref.fa").write_text(f">c\n{random_genome(60, 2000)}\n")
    (tmp_path / "other.bed").write_text("d\t10\t500\tt\t0\t+\t10\t500\t0\t2\t50,50\t0,440\n")
    (tmp_path / "star.tab").write_text("c\t101\t500\t1\t1\t0\t3\t0\t20\n")
    files = [str(tmp_path / word) if "." in word else word for word in words]
    code, _, message = cli("map", tmp_path / "ref.fa", tmp_path / "ref.fa", *files)
    assert code != 0
    assert sentence in message


def test_introns_merge_and_lose_what_is_misread() -> None:
    import numpy as np

    from gpualign.map.introns import Introns

    def some(*rows: tuple[int, int, int, int]) -> Introns:
        contig, start, end, reads = (np.array(column) for column in zip(*rows, strict=True))
        one = np.ones(len(rows), np.int64)
        return Introns(contig.astype(np.int32), start, end, one.astype(np.int8), reads, 0 * one, one)

    both = Introns.merged((some((0, 100, 900, 3), (1, 50, 80, 1)), some((0, 100, 900, 4), (0, 104, 900, 1))))
    assert list(zip(both.contig, both.start, both.end, both.unique, strict=True)) == [
        (0, 100, 900, 7),
        (0, 104, 900, 1),
        (1, 50, 80, 1),
    ]
    kept = Introns.merged((some((0, 100, 900, 20), (0, 104, 900, 2), (0, 108, 904, 9), (0, 500, 900, 2)),)).supported()
    assert kept.start.tolist() == [100, 108, 500]


def test_small_genomes_with_many_genes(cli: Cli, tmp_path: Path) -> None:
    """Twenty genes of random exons and introns; every read without errors has exactly its introns."""
    rng = random.Random(7)
    text, reads, truth = "", {}, {}
    for number in range(20):
        exons = [rng.randint(60, 300) for _ in range(rng.randint(2, 6))]
        contig, transcript, places = gene(200 + number, exons, [rng.randint(80, 4000) for _ in exons[1:]])
        truth[f"g{number}"] = [(len(text) + start, len(text) + end) for start, end in places]
        reads[f"g{number}"] = transcript if number % 2 else reverse_complement(transcript)
        text += contig
    records, _ = mapped(cli, tmp_path, text, reads)
    assert {str(record.query_name): introns(record) for record in records} == truth
