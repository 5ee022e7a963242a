"""Tables as sequences of rows, as columns, and in other libraries."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gpualign
from gpualign.tables.column import SignColumn, TextColumn
from gpualign.tables.row import Row
from gpualign.tables.table import Table
from tests.helpers.paths import EXAMPLES

VALUES = [(7, "+", "4=", 0.5), (-1, "-", None, 0.25), (3, "-", "é", 1.0), (2, "+", "", 0.0)]


@pytest.fixture
def table() -> Table[Row]:
    numbers, strands, texts, shares = zip(*VALUES, strict=True)
    return Table(
        {
            "distance": np.array(numbers, np.int32),
            "strand": SignColumn.of_strands(np.array(strands) == "-"),
            "text": TextColumn.of(texts),
            "share": np.array(shares),
        }
    )


@pytest.mark.parametrize("key", [slice(1, 3), slice(None, None, -1), slice(3, 1), [2, 0], [-1], np.array([1, 1])])
def test_rows_are_taken_as_from_an_array(table: Table[Row], key: Any) -> None:
    objects = np.empty(len(VALUES), object)
    objects[:] = VALUES
    assert table[key].tolist() == objects[key].tolist()
    assert table[key][1:].tolist() == objects[key][1:].tolist()


def test_columns_and_masks(table: Table[Row]) -> None:
    assert table["distance"].tolist() == [7, -1, 3, 2]
    assert table["text"].tolist() == ["4=", None, "é", ""]
    assert table["strand"].dtype == "U1"
    assert table[table["strand"] == "-"].tolist() == VALUES[1:3]
    assert table[["text", "distance"]].tolist() == [(row[2], row[0]) for row in VALUES]
    assert table.names == table.dtype.names == ("distance", "strand", "text", "share")
    assert np.shares_memory(table["distance"], table[1:]["distance"])


def test_rows(table: Table[Row]) -> None:
    row = table[-2]
    assert row == VALUES[2]
    assert (row.distance, row["share"], row[1]) == (3, 1.0, "-")
    assert row.asdict() == dict(zip(table.names, VALUES[2], strict=True))
    assert repr(row) == "Row(distance=3, strand='-', text='é', share=1.0)"
    assert pickle.loads(pickle.dumps(row)).share == 1.0
    assert [row.text for row in table] == [row[2] for row in VALUES]
    assert pickle.loads(pickle.dumps(table)).tolist() == table.tolist() == VALUES


@pytest.mark.parametrize(
    ("key", "error", "what"),
    [
        ("nothing", KeyError, "no column 'nothing' .there are distance, strand, text, share"),
        (4, IndexError, "no row 4"),
        (-5, IndexError, "no row -5"),
        (np.array([True]), IndexError, "a mask of shape"),
    ],
)
def test_what_is_not_there(table: Table[Row], key: Any, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        table[key]


def test_structured_array_and_joining(table: Table[Row]) -> None:
    assert np.asarray(table).tolist() == VALUES
    assert np.concatenate([table, table[:1]]).tolist() == [*VALUES, VALUES[0]]
    assert Table.concat([table, table[:0], table[2:]]).tolist() == [*VALUES, *VALUES[2:]]


def test_text_is_what_is_printed(table: Table[Row]) -> None:
    assert repr(table[:2]).splitlines() == [
        "distance  strand  text  share",
        "7         +       4=    0.5",
        "-1        -       None  0.25",
    ]
    assert repr(Table({"n": np.arange(12)})).splitlines()[-1] == "... 2 more rows"


def test_arrow_shares_memory(table: Table[Row]) -> None:
    arrow = table[1:].to_arrow()
    assert [tuple(row.values()) for row in arrow.to_pylist()] == VALUES[1:]
    assert arrow.schema.types == [pa.int32(), pa.large_string(), pa.large_string(), pa.float64()]
    assert np.shares_memory(arrow["distance"].chunk(0).to_numpy(), table["distance"])
    buffer = np.frombuffer(arrow["text"].chunk(0).buffers()[2], np.uint8)
    assert np.shares_memory(buffer, table._columns["text"].utf8)
    assert arrow.validate(full=True) is None


def test_pandas_shares_memory(table: Table[Row]) -> None:
    frame = table.to_pandas()
    assert list(frame.columns) == list(table.names)
    assert np.shares_memory(frame["distance"].to_numpy(), table["distance"])
    assert frame["text"].isna().tolist() == [False, True, False, False]
    assert frame.loc[frame["strand"] == "-", "distance"].tolist() == [-1, 3]
    assert str(frame["text"].dtype) == "string"


def test_pandas_without_arrow(table: Table[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pd.option_context("mode.string_storage", "python"):
        frame = table.to_pandas()
    assert frame["text"].tolist() == ["4=", pd.NA, "é", ""]
    assert str(frame["text"].dtype) == "string"


def test_polars_shares_memory(table: Table[Row]) -> None:
    frame = table.to_polars()
    assert frame.rows() == VALUES
    assert np.shares_memory(frame["distance"].to_numpy(allow_copy=False), table["distance"])
    assert pl.DataFrame(table).equals(frame)


@pytest.mark.parametrize("missing", ["pandas", "pyarrow", "polars"])
def test_a_missing_library_is_named(table: Table[Row], missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    call = getattr(table, f"to_{missing.removeprefix('py')}")
    with pytest.raises(gpualign.UsageError, match=rf"{missing} \(pip install 'gpualign\[tables\]'\)"):
        call()


CALLS: list[Callable[[], Table[Row]]] = [
    lambda: gpualign.verify(["GATTACA", "TTTT"], ["CCGATTTACACC", "AAAA"], max_errors=1, cigar=True),
    lambda: gpualign.pairwise(["GATTACA", "GATTTACA"]),
    lambda: gpualign.pairwise(["GATTACA", "GATTTACA"], score_only=True),
    lambda: gpualign.pairwise(["GATTACA"], ["CGATACAGG"], max_gaps=1, mode="semi-global"),
    lambda: gpualign.lcs_filter("GATTACA", ["CCCC", "GCATGCT"], subsequence=True),
    lambda: gpualign.find_mems(["TTGATTACATT"], ["CCGATTACACC"], 5),
]


@pytest.mark.parametrize("call", CALLS)
def test_every_result_converts(call: Callable[[], Table[Row]]) -> None:
    rows = call()
    assert len(rows)
    as_rows = [tuple(row.values()) for row in rows.to_arrow().to_pylist()]
    assert as_rows == rows.tolist() == rows.to_polars().rows()
    assert rows.to_pandas().shape == (len(rows), len(rows.names))
    assert "<table>" in rows._repr_html_()
    assert pickle.loads(pickle.dumps(rows)).tolist() == rows.tolist()


@pytest.mark.parametrize("call", CALLS)
def test_empty_results_have_the_same_columns(call: Callable[[], Table[Row]]) -> None:
    rows = call()
    none = rows[:0]
    assert none.to_arrow().schema == rows.to_arrow().schema
    assert none.tolist() == []


def test_a_set_without_pairs_has_the_same_columns() -> None:
    for options in ({}, {"score_only": True}, {"max_gaps": 1}):
        few, none = gpualign.pairwise(["GATTACA", "GATTTACA"], **options), gpualign.pairwise([], **options)  # type: ignore[arg-type]
        assert few.to_arrow().schema == none.to_arrow().schema
    for cigar in (False, True):
        few, none = gpualign.verify(["ACGT"], ["ACGT"], cigar=cigar), gpualign.verify([], [], cigar=cigar)
        assert few.to_arrow().schema == none.to_arrow().schema
    assert gpualign.find_mems(["ACGT"], [], 3).to_arrow().schema == CALLS[-1]().to_arrow().schema


def test_progress_is_called() -> None:
    seen: list[tuple[int, int | None]] = []
    texts = ["GATTACA"] * 30
    gpualign.pairwise(texts, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (435, 435)
    gpualign.verify(texts, texts, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30, 30)
    gpualign.lcs_filter("GATTACA", texts, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (210, None)
    gpualign.find_mems(texts[:1], texts, 3, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (210, None)


def test_what_a_callback_raises_ends_the_call() -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gpualign.pairwise(EXAMPLES / "amplicons.fa", score_only=True, progress=stop, threads=2)


def test_distances_are_tables_too() -> None:
    texts = ["kitten", "sitting", "mitten"]
    matrix = gpualign.distances(texts)
    frame = matrix.to_pandas()
    assert frame.to_numpy().tolist() == [[0, 3, 1], [3, 0, 3], [1, 3, 0]]
    assert matrix.to_polars().columns == matrix.to_arrow().column_names == ["0", "1", "2"]
    assert np.shares_memory(frame["1"].to_numpy(), matrix.values)
    assert "3 × 3" in matrix._repr_html_()
    pairs = gpualign.distances(texts, max_errors=3, sparse=True)
    assert pairs.to_polars().rows() == pairs.table.tolist() == [(0, 1, 3), (0, 2, 1), (1, 2, 3)]
    assert np.shares_memory(pairs.to_pandas()["value"].to_numpy(), pairs.value)
    nearest = gpualign.distances(texts, nearest=5)
    assert nearest.to_arrow().to_pylist()[:2] == [
        {"query": 0, "rank": 1, "target": 2, "value": 1},
        {"query": 0, "rank": 2, "target": 1, "value": 3},
    ]
    assert len(nearest.to_pandas()) == 6
    assert "<table>" in nearest._repr_html_()


def test_sequences_are_tables_too(tmp_path: Path) -> None:
    (tmp_path / "r.fq").write_bytes("@é x\nACGT\n+\nIIII\n".encode() + b"@\xe9\nAC\n+\nFF\n")
    reads = gpualign.read_sequences(tmp_path / "r.fq")
    expected = [("é", "ACGT", "IIII"), ("é", "AC", "FF")]
    assert reads.to_polars().rows() == reads.table.tolist() == expected
    assert reads.to_pandas().columns.tolist() == reads.to_arrow().column_names == ["name", "sequence", "quality"]
    genes = gpualign.read_sequences(EXAMPLES / "amplicons.fa")
    buffer = genes.to_arrow()["sequence"].chunk(0).buffers()[2]
    assert np.shares_memory(np.frombuffer(buffer, np.uint8), genes.bases)
    assert "<table>" in genes._repr_html_()


def test_no_call_imports_a_library_for_tables() -> None:
    code = (
        "import sys, gpualign; gpualign.verify(['ACGT'], ['ACGT'], cigar=True);"
        "gpualign.Mapper(['ACGT' * 20]).map(['ACGT']);"
        "found = {'pandas', 'pyarrow', 'polars', 'matplotlib'} & set(sys.modules); assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
