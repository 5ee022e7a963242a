"""What `distances` takes for sequences, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

from gpualign import InputError, UsageError, distances, read_sequences, scores
from gpualign.align.matrix.symbols import symbols_of

TEXTS = ["GATTACA", "", "TACCA"]


@pytest.fixture
def three_records(tmp_path: Path) -> Path:
    path = tmp_path / "some.fa"
    path.write_text(">a\nGATTACA\n>b\n\n>c\nTAC\nCA\n")
    return path


def forms(three_records: Path) -> list[Any]:
    arrays = [np.frombuffer(text.encode(), np.uint8) for text in TEXTS]
    return [
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        [text.encode() for text in TEXTS],
        [bytearray(text.encode()) for text in TEXTS],
        [Seq(text) for text in TEXTS],
        [SeqRecord(Seq(text), id="x") for text in TEXTS],
        arrays,
        [array.astype(np.int64) for array in arrays],
        ["GATTACA", b"", np.array(list("TACCA"))],
        np.array(TEXTS),
        np.array(TEXTS, object),
        three_records,
        str(three_records),
        read_sequences(three_records),
        symbols_of(TEXTS),
    ]


@pytest.mark.parametrize("number", range(16))
def test_every_form_is_the_same(number: int, three_records: Path) -> None:
    found: Any = distances(forms(three_records)[number], ["GATTACA", "TACA"], device="cpu")
    assert found.values.tolist() == [[0, 3], [7, 4], [4, 1]]


def test_rows_of_an_array_are_sequences() -> None:
    rows = np.array([[1, 2, 3], [1, 9, 3]])
    assert distances(rows, device="cpu").values.tolist() == [[0, 1], [1, 0]]
    assert symbols_of(rows.astype(np.uint8)).symbols.dtype == np.uint8


def test_text_is_compared_by_code_points() -> None:
    # one code point each, whatever its bytes in UTF-8
    assert distances(["naïve", "日本語", "a😀c"], ["naive", "日本", "abc"], device="cpu").values.tolist() == [
        [1, 5, 4],
        [5, 1, 3],
        [4, 3, 1],
    ]
    assert distances(["é"], ["e\u0301"], device="cpu").values.tolist() == [[2]]
    # a character is the same symbol as its byte
    assert distances(["ABC"], [b"ABD"], device="cpu").values.tolist() == [[1]]


def test_nucleotides_are_alike_in_either_case_and_ambiguity_codes_are_like_nothing() -> None:
    found: Any = distances(["acgu", "ACGN"], ["ACGT", "ACGN"], alphabet="nucleotide", device="cpu")
    assert found.values.tolist() == [[0, 1], [1, 1]]
    assert distances(["acgu"], ["ACGT"], device="cpu").values.tolist() == [[4]]
    alone: Any = distances(["ACGN", "ACGR"], alphabet="nucleotide", device="cpu")
    assert alone.values.tolist() == [[1, 1], [1, 1]]
    for wrong in ("AC!T", "ACÀT"):
        with pytest.raises(InputError, match=f"sequence 1: '{wrong[2]}' is not a nucleotide"):
            distances(["ACGT", wrong], alphabet="nucleotide", device="cpu")


def test_no_sequences() -> None:
    for nothing, message in (
        (b"ACGT", "bytes are one sequence"),
        (7, "a path, a batch, an array or a list, not int"),
        ([1, 2], "sequence 0 is int"),
        ([np.zeros((2, 2))], "sequence 0 is ndarray"),
        ([np.zeros(2)], "sequence 0 is an array of float64"),
        ([np.array([-1])], "symbols are numbers from 0"),
        ([np.array([0x110000])], "symbols are numbers from 0"),
    ):
        with pytest.raises(UsageError, match=message):
            distances(nothing, device="cpu")
    with pytest.raises(InputError):
        distances("/no/such/file.fa", device="cpu")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"mode": "local"}, "mode must be one of"),
        ({"alphabet": "rna"}, "alphabet must be one of"),
        ({"max_errors": 1, "error_rate": 0.1}, "not both"),
        ({"max_errors": -1}, "max errors"),
        ({"error_rate": 5}, "a share, not a percentage"),
        ({"sparse": True}, "sparse needs max errors"),
        ({"nearest": 0}, "nearest"),
        ({"nearest": 1, "sparse": True, "max_errors": 1}, "are mutually exclusive"),
        ({"nearest": 1, "out": np.zeros((1, 1))}, "out is for a matrix"),
        ({"out": np.zeros((2, 1))}, r"shape \(1, 1\)"),
        ({"out": [[0]]}, "must be an array"),
        ({"device": "tpu"}, "device must be"),
    ],
)
def test_parameters_that_break_a_rule(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        distances(["A"], **{"device": "cpu"} | more)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.int16, np.float32])
@pytest.mark.parametrize("function", [distances, scores])
def test_values_go_where_they_are_asked_to(dtype: Any, function: Any) -> None:
    whole = np.full((3, 6), 99, dtype)
    for out in (np.full((3, 3), 99, dtype), whole[:, ::2]):
        result = function(["ACGT", "ACG", "ACGT"], device="cpu", out=out)
        assert result.values is out
        assert np.array_equal(out, np.asarray(function(["ACGT", "ACG", "ACGT"], device="cpu")).astype(dtype))
    assert (whole[:, 1::2] == 99).all()


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    distances(["ACGT"] * 100, ["A"], device="cpu", threads=1, progress=lambda *step: seen.append(step))
    scores(["ACGT"] * 100, ["A"], device="cpu", threads=1, progress=lambda *step: seen.append(step))
    assert [step for step in seen if step[0] == 100] == [(100, 100)] * 2


def test_a_matrix_is_an_array_where_one_is_wanted() -> None:
    matrix: Any = distances(["AC", "AG"], ["AC"], device="cpu")
    assert (len(matrix), matrix.shape, matrix[1, 0], np.asarray(matrix, float).tolist()) == (
        2,
        (2, 1),
        1,
        [[0.0], [1.0]],
    )
    assert np.array(matrix, copy=True).base is None
