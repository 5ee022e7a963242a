"""`map -x splice`: introns, known ones, two passes, and STAR's table. Expectations follow from how the reads were
made.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
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
    mapped(cli, tmp_path, contig, reads, "--json", tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text())["introns"]
    assert found == {"distinct": 2, "of_reads": 4, "signals": {"GT-AG": 4, "GC-AG": 0, "AT-AC": 0, "other": 0}}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--two-pass",), "introns are those of spliced reads (add -x rna or -x splice)"),
        (("--max-intron", "5000"), "options of introns need -x rna, splice or splice:hq"),
        (("-x", "splice", "--max-intron", "3"), "the longest intron (--max-intron)"),
        (("-x", "splice", "--junctions", "other.bed"), "no intron is on a contig of the reference"),
    ],
)
def test_wrong_options(cli: Cli, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "ref.fa").write_text(f">c\n{random_genome(60, 2000)}\n")
    (tmp_path / "other.bed").write_text("d\t10\t500\tt\t0\t+\t10\t500\t0\t2\t50,50\t0,440\n")
    files = [str(tmp_path / word) if word == "other.bed" else word for word in words]
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
