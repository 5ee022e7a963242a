"""Transcripts of GTF, GFF3 and BED, by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gpualign.errors import InputError
from gpualign.text.annotation import Annotation, read_annotation

Rows = list[tuple[str, int, str, str, str, list[tuple[int, int]]]]


def annotation(folder: Path, *lines: str, name: str = "genes") -> Annotation:
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return read_annotation(str(folder / name))


def tab(text: str, last: str | None = None) -> str:
    return "\t".join([*text.split(), *([] if last is None else [last])])


def rows(genes: Annotation) -> Rows:
    exons = [*zip(genes.exon_starts.tolist(), genes.exon_ends.tolist(), strict=True)]
    offsets = genes.exon_offsets.tolist()
    return [
        (
            genes.contigs[genes.contig[i]],
            int(genes.strand[i]),
            genes.transcripts[i],
            genes.gene_ids[i],
            genes.gene_names[i],
            exons[offsets[i] : offsets[i + 1]],
        )
        for i in range(len(genes))
    ]


GTF = [
    "#!genome-build x",
    tab("c1 h gene 11 60 . + .", 'gene_id "G1"; gene_name "abc";'),
    tab("c1 h transcript 11 60 . + .", 'gene_id "G1"; transcript_id "T1"; gene_name "abc";'),
    tab("c1 h exon 41 60 . + .", 'gene_id "G1"; transcript_id "T1"; gene_name "abc"; note "a; b";'),
    tab("c1 h exon 11 20 . + .", 'gene_id "G1"; transcript_id "T1"; gene_name "abc";'),
    tab("c1 h CDS 15 20 . + 0", 'gene_id "G1"; transcript_id "T1"; gene_name "abc";'),
    tab("c2 h exon 1 5 . - .", "gene_id G2; transcript_id G2"),
    tab("c1 h gene 101 200 . - .", 'gene_id "G3";'),
]


def test_gtf(tmp_path: Path) -> None:
    expected: Rows = [
        ("c1", 1, "T1", "G1", "abc", [(10, 20), (40, 60)]),
        ("c2", -1, "G2", "G2", "G2", [(0, 5)]),
        ("c1", -1, "G3", "G3", "G3", [(100, 200)]),  # no exons
    ]
    genes = annotation(tmp_path, *GTF)
    assert rows(genes) == expected
    assert (genes.starts.tolist(), genes.ends.tolist()) == ([10, 0, 100], [60, 5, 200])
    (tmp_path / "genes.gz").write_bytes(gzip.compress((tmp_path / "genes").read_bytes().replace(b"\n", b"\r\n")))
    assert rows(read_annotation(str(tmp_path / "genes.gz"))) == expected


def test_one_transcript_id_on_two_contigs(tmp_path: Path) -> None:
    lines = [tab(f"chr{sex} h exon 1 9 . + .", 'gene_id "G"; transcript_id "T";') for sex in "XY"]
    assert [row[0] for row in rows(annotation(tmp_path, *lines))] == ["chrX", "chrY"]


def test_gff3(tmp_path: Path) -> None:
    genes = annotation(
        tmp_path,
        "##gff-version 3",
        tab("c1 h exon 1 10 . - .", "ID=e1;Parent=t1,t2"),  # before its parents
        tab("c1 h exon 21 30 . - .", "Parent=t1"),
        tab("c1 h CDS 5 10 . - 0", "ID=p;Parent=t1"),
        tab("c1 h gene 1 30 . - .", "ID=gene:g1;Name=a%3Bb;gene_id=g1"),
        tab("c1 h mRNA 1 30 . - .", "ID=t1;Parent=gene:g1;transcript_id=NM_1"),
        tab("c1 h mRNA 1 10 . - .", "ID=t2;Parent=gene:g1"),
        tab("c1 h gene 41 50 . + .", "ID=g2"),
        tab("c1 h CDS 41 50 . + 0", "ID=c2;Parent=g2"),  # as in bacteria
        tab("c1 h CDS 61 70 . ? 0", "ID=c3;locus_tag=L3"),
        tab("c1 h pseudogene 81 90 . + .", "ID=g4;gene=d"),
        "##FASTA",
        ">c1",
        "ACGT",
    )
    assert rows(genes) == [
        ("c1", -1, "NM_1", "g1", "a;b", [(0, 10), (20, 30)]),
        ("c1", -1, "t2", "g1", "a;b", [(0, 10)]),
        ("c1", 1, "g2", "g2", "g2", [(40, 50)]),
        ("c1", 0, "c3", "c3", "L3", [(60, 70)]),
        ("c1", 1, "g4", "g4", "d", [(80, 90)]),
    ]


def test_bed(tmp_path: Path) -> None:
    twelve = "c2 100 200 t 0 - 100 100 0 3 10,20,5, 0,15,95,"
    genes = annotation(tmp_path, "track name=x", "browser position c1", tab("c1 5 9"), tab("c1 0 2 n 0 +"), tab(twelve))
    assert rows(genes) == [
        ("c1", 0, "c1:6-9", "c1:6-9", "c1:6-9", [(5, 9)]),
        ("c1", 1, "n", "n", "n", [(0, 2)]),
        ("c2", -1, "t", "t", "t", [(100, 110), (115, 135), (195, 200)]),
    ]


def test_exons_that_overlap_or_touch_are_one(tmp_path: Path) -> None:
    bounds = [(1, 10), (11, 20), (15, 18), (30, 40)]
    lines = [tab(f"c h exon {start} {end} . + .", 'transcript_id "t"') for start, end in bounds]
    assert rows(annotation(tmp_path, *lines)) == [("c", 1, "t", "t", "t", [(0, 20), (29, 40)])]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], ": there are no transcripts (GTF and GFF3 need rows of exons or genes)"),
        ([tab("c h CDR 1 2 . + .", "ID=x")], ": there are no transcripts (GTF and GFF3 need rows of exons or genes)"),
        (["ACGT"], ":1: neither GTF, GFF3 nor BED (columns are set apart by tabs)"),
        ([*GTF, "c1 1 2"], ":9: 3 columns where there should be at least 8"),
        ([*GTF, tab("c1 h exon 5 x . + .", "")], ":9: '5' and 'x' should be a start and an end"),
        ([*GTF, tab("c1 h exon 5 4 . + .", "")], ":9: the interval from 5 to 4 has no bases"),
        ([*GTF, tab("c1 h exon 0 4 . + .", "")], ":9: the interval from 0 to 4 has no bases"),
        (
            [*GTF, tab("c1 h exon 1 4 . + .", "x")],
            ":9: no transcript is named for the exon (transcript_id in GTF, Parent in GFF3)",
        ),
        (["c 1 2", "c 1"], ":2: 2 columns where there should be at least 3"),
        ([tab("c 0 9 n 0 + 0 0 0 2 1,2 0")], ":1: 2 blocks, but 2 sizes and 1 starts"),
        ([tab("c 0 9 n 0 + 0 0 0 1 9 1")], ":1: a block is empty or does not lie in the line's interval"),
        ([tab("c 0 9 n 0 + 0 0 0 1 x 1")], ":1: columns 10 to 12 should be whole numbers, separated by commas"),
    ],
)
def test_bad_lines(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        annotation(tmp_path, *lines)
    assert str(error.value) == f"{tmp_path}/genes{message}"
