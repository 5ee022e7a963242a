"""Names and nulls in the tables of every function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpualign
from gpualign.tables.column import NameColumn, TextColumn, nullable
from gpualign.tables.table import Table
from tests.helpers.sequences import random_genome

GENOME = random_genome(5, 3000)
FASTA = {"chr1": GENOME[:1500], "chr2": GENOME[1500:]}
#: a read end to end, one whose end is foreign and clipped, with a deletion, one that is of neither contig
READS = {
    "whole": GENOME[100:200],
    "clipped": GENOME[2000:2060] + GENOME[2062:2100] + "ACGTTGCA" * 8,
    "foreign": random_genome(6, 100),
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "r.fa", tmp_path / "q.fa"
    for path, records in zip(paths, (FASTA, READS), strict=True):
        path.write_text("".join(f">{name} comment\n{text}\n" for name, text in records.items()))
    return paths


def test_mapped_reads_have_names_edits_and_nulls(files: tuple[Path, Path]) -> None:
    mapper = gpualign.Mapper(files[0], device="cpu")
    for reads in (files[1], gpualign.read_sequences(files[1]), list(READS.items())):
        rows = mapper.map(reads)
        assert rows["read_name"].tolist() == ["whole", "clipped", "foreign"]
        assert rows["contig_name"].tolist() == ["chr1", "chr2", None]
        assert rows["distance"].tolist() == [0, 2, None]
        assert rows["distance"].mean() == 1
        assert rows[2].asdict() == {**dict.fromkeys(rows.names), "read": 2, "flag": 4, "read_name": "foreign"}
    assert rows.to_arrow()["contig"].null_count == 1
    assert rows[rows["contig"] >= 0]["read"].tolist() == [0, 1]
    parts = list(mapper.iter_map(files[1]))
    assert Table.concat(parts).tolist() == rows.tolist()


def test_edits_are_those_of_sam() -> None:
    """Of short reads with clips and gaps, and of long reads with two gap costs."""
    reads = [(name, text + GENOME[:500] + GENOME[700:1400]) for name, text in READS.items()]
    for preset, some in (("sr", list(READS.items())), ("ont", reads), ("hifi", reads)):
        mapper = gpualign.Mapper(list(FASTA.values()), preset, device="cpu")
        rows = mapper.map(some)
        expected = [None if one.is_unmapped else one.get_tag("NM") for one in mapper.segments(some)]
        assert rows["distance"].tolist() == expected
        assert any(expected)
        assert [row.NM for row in rows] == [edits or 0 for edits in expected]


def test_reads_without_names_are_called_by_number() -> None:
    mapper = gpualign.Mapper([GENOME], device="cpu")
    texts = [GENOME[i : i + 90] for i in (0, 500, 1000)]
    assert mapper.map(texts)["read_name"].tolist() == ["0", "1", "2"]
    paired = mapper.map(texts[:2], texts[1:])
    assert paired["read_name"].tolist() == [one.query_name for one in mapper.segments(texts[:2], texts[1:])]


CALLS: dict[str, Callable[[Path, Path], tuple[Any, list[tuple[str, str, dict[str, str]]]]]] = {
    "verify": lambda r, q: (gpualign.verify(q, q), [("query", "query_name", READS), ("target", "target_name", READS)]),
    "pairwise": lambda r, q: (
        gpualign.pairwise(q, r, score_only=True),
        [("query", "query_name", READS), ("target", "target_name", FASTA)],
    ),
    "max_gaps": lambda r, q: (
        gpualign.pairwise(q, max_gaps=1),
        [("query", "query_name", READS), ("target", "target_name", READS)],
    ),
    "find_mems": lambda r, q: (
        gpualign.find_mems(r, q, 20),
        [("query", "query_name", READS), ("ref", "ref_name", FASTA)],
    ),
    "search": lambda r, q: (
        gpualign.search(q, r, 2),
        [("pattern", "pattern_name", READS), ("target", "target_name", FASTA)],
    ),
    "lcs_filter": lambda r, q: (gpualign.lcs_filter(GENOME[:50], r), [("subject", "subject_name", FASTA)]),
    "nearest": lambda r, q: (
        gpualign.pairwise(q, r, identity=0.01, top=1),
        [("query", "query_name", READS), ("target", "target_name", FASTA)],
    ),
    "derep": lambda r, q: (gpualign.derep(r).table, [("sequence", "sequence_name", FASTA)]),
    "chimeras": lambda r, q: (gpualign.chimeras(r), [("sequence", "sequence_name", FASTA)]),
    "sintax": lambda r, q: (gpualign.sintax(q, r), [("query", "query_name", READS)]),
    "cluster": lambda r, q: (
        gpualign.cluster(r, 0.9).table,
        [("sequence", "sequence_name", FASTA), ("centroid", "centroid_name", FASTA)],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_table_has_names(name: str, files: tuple[Path, Path]) -> None:
    table, columns = CALLS[name](*files)
    assert len(table) > 0
    for number, text, records in columns:
        assert table[text].tolist() == [list(records)[i] for i in table[number]]
        assert str(table.to_arrow().schema.field(text).type).startswith("dictionary<values=large_string")
        assert table.to_pandas()[text].dtype == "category"
        assert table.to_polars()[text].cast(str).to_list() == table[text].tolist()


def test_what_is_not_known_is_null() -> None:
    (row,) = gpualign.chimeras(["ACGT" * 20])
    assert row[:10] == (0, "N", 0.0, None, None, None, None, None, None, 0)
    assert row[-3:] == ("0", None, None)
    assert gpualign.sintax(["ACGT"], ["ACGT"], taxonomy={"0": "d:A"}, cutoff=0.5).tolist() == [
        (0, None, None, None, "0")
    ]


def test_no_alignment_is_null() -> None:
    (row,) = gpualign.pairwise(["ACGT"], ["ACG"], max_gaps=0)
    assert list(row) == [0, 0, None, None, None, None, None, None, "0", "0"]
    (row,) = gpualign.verify(["ACGT"], ["CCCC"], max_errors=1, strand="both", cigar=True)
    assert list(row) == [0, 0, None, None, None, None, None, "0", "0"]
    frame = gpualign.distances(["ACGT", "A"], ["ACG", "TTTT"], max_errors=1).to_pandas()
    assert frame["1"].isna().all()
    assert frame["0"].mean() == 1


@pytest.fixture
def table() -> Table[Any]:
    names = NameColumn(TextColumn.of(["a", "b", "a", "é"]), np.array([2, -1, 3, 0, 1], np.int32))
    numbers = nullable(np.arange(5, dtype=np.int32), np.array([True, False, True, True, True]))
    return Table({"name": names, "number": numbers, "share": nullable(np.arange(5) / 4, numbers.data != 3)})


def test_conversions(table: Table[Any]) -> None:
    wanted = [("a", 0, 0.0), (None, None, 0.25), ("é", 2, 0.5), ("a", 3, None), ("b", 4, 1.0)]
    assert table.tolist() == [tuple(row) for row in table] == wanted
    assert table.to_arrow().to_pylist() == [dict(zip(table.names, row, strict=True)) for row in wanted]
    assert table.to_polars().rows() == wanted
    frame = table.to_pandas()
    assert frame["name"].cat.categories.tolist() == ["a", "b", "é"]
    assert frame["number"].dtype == "Int32"
    assert frame["number"].sum() == 9
    assert np.shares_memory(table["number"].data, table[1:]["number"].data)
    rows = np.asarray(table)
    assert rows.dtype == table.dtype
    assert rows["number"].dtype == float
    assert np.isnan(rows["number"]).tolist() == [False, True, False, False, False]


def test_parts_of_columns(table: Table[Any]) -> None:
    rows = table.tolist()
    assert table[1:3].tolist() == rows[1:3]
    assert table[[4, 1]].tolist() == [rows[4], rows[1]]
    assert Table.concat([table, table[:1], table[:0]]).tolist() == [*rows, rows[0]]
    columns = {name: table._column(name) for name in table.names}
    others = Table({**columns, "name": NameColumn.of(TextColumn.of(["x", "y"]), np.ones(5))})
    assert Table.concat([table, others])["name"].tolist() == [*table["name"], *"yyyyy"]
    assert len(others._column("name").dictionary) == 2  # type: ignore[union-attr]
    few = NameColumn.of(TextColumn.of(list("abcdef")), np.array([4, -1]))
    assert (few.array.tolist(), few.dictionary.array.tolist()) == (["e", None], ["e"])
