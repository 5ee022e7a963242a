"""Alignments as three lines, by hand."""

from __future__ import annotations

import re

import pytest

import gpualign
from gpualign.sequences.strands import reverse_complement
from gpualign.tables import html
from gpualign.tables.drawing import Drawing


def test_three_lines() -> None:
    drawing = Drawing(b"TTGATTACAGG", b"GACTAA", "2S2=1X2=1I1=2S", query_start=0, target_start=40)
    assert drawing.lines() == ("GATTACA", "||.||-|", "GACTA-A")
    assert str(drawing).splitlines() == [
        "query    3 GATTACA 9",
        "           ||.||-|",
        "target  41 GACTA-A 46",
    ]


def test_positions_of_the_minus_strand_decrease() -> None:
    read = b"AACCGTTT"
    drawing = Drawing(reverse_complement(read), b"ACGGTT", "2S6M", query_start=len(read), minus=True)
    assert drawing.lines() == ("ACGGTT", "||||||", "ACGGTT")
    assert str(drawing).splitlines()[0] == "query   6 ACGGTT 1"
    assert drawing.text(4).splitlines() == [
        "query   6 ACGG 3",
        "          ||||",
        "target  1 ACGG 4",
        "",
        "query   2 TT 1",
        "          ||",
        "target  5 TT 6",
    ]


def test_skipped_and_deleted_bases() -> None:
    drawing = Drawing(b"ACGT", b"ACTTTTGAT", "2M4N1=1D1=")
    assert drawing.lines() == ("AC----G-T", "||~~~~|-|", "ACTTTTGAT")


def test_long_alignments_are_cut() -> None:
    text = str(Drawing(b"A" * 10**4, b"A" * 10**4, "10000="))
    assert text.endswith("...")
    assert len(text) < 12_000


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: gpualign.verify(["TTGTAATC"], ["CCGATTTACACC"], max_errors=2, strand="both", cigar=True),
            ("GATT-ACAA", "||||-|||-", "GATTTACA-"),
        ),
        (lambda: gpualign.pairwise(["TTGATTACA"], ["GATTTACA"], mode="local"), ("TTACA", "|||||", "TTACA")),
        (lambda: gpualign.pairwise(["TGTAATC"], ["GATTACA"], strand="both"), ("GATTACA", "|||||||", "GATTACA")),
        (
            lambda: gpualign.pairwise(["GATTACA"], ["CGATACAGG"], max_gaps=1, mode="semi-global", free_start=True),
            ("GATTACA", "||-||||", "GA-TACA"),
        ),
    ],
)
def test_alignments_of_results(call: object, expected: tuple[str, str, str]) -> None:
    rows = call()  # type: ignore[operator]
    first, marks, second = rows.alignment(0).lines()
    assert first.replace("-", "") == expected[0].replace("-", "")
    assert second.replace("-", "") == expected[2].replace("-", "")
    assert sorted(marks) == sorted(expected[1])
    assert rows.alignment(0)._repr_html_() in rows._repr_html_()


def test_rows_without_an_alignment() -> None:
    rows = gpualign.verify(["AAAAAAA"], ["CCCCCCC"], error_rate=0.1, cigar=True)
    with pytest.raises(gpualign.UsageError, match="row 0 has no alignment to draw"):
        rows.alignment(0)
    with pytest.raises(gpualign.UsageError, match="row 0 has no alignment to draw"):
        gpualign.find_mems(["GATTACA"], ["GATTACA"], 5).alignment(0)


def test_notebooks_get_readable_cigars_and_safe_names() -> None:
    assert html.cigar("4=1X3=") == '4= 1<b style="color:#d55e00">X</b> 3='
    long = html.cigar("1=1X" * 500)
    assert "… 984 more …" in long
    drawing = Drawing(b"ACGT", b"ACCT", "4M", query_name="<b>&")
    assert "&lt;b&gt;&amp;" in drawing._repr_html_()
    assert re.search('<b style="color:#d55e00">[.]</b>', drawing._repr_html_())
