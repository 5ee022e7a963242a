"""The Python API beside naive oracles and independent libraries, and its doctests."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import random
import subprocess
import sys
from pathlib import Path

import edlib
import numpy as np
import parasail
import pytest

import gpualign
import gpualign.api
from tests.reference.lcs import lcs_length

MODULES = ["gpualign", *(f"gpualign.api.{module.name}" for module in pkgutil.iter_modules(gpualign.api.__path__))]


def sequences(count: int, length: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("ACGT", k=rng.randint(1, length))) for _ in range(count)]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    assert result.attempted > 0 or name == "gpualign.api.sequences"


def test_import_is_light() -> None:
    """Neither NumPy nor the native code before the first call, and every public name is there."""
    code = (
        "import sys, gpualign; heavy = {'numpy', 'click', 'gpualign._native'} & set(sys.modules);"
        "assert not heavy, heavy; assert {'verify', 'pairwise', 'lcs_filter'} <= set(dir(gpualign))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_public_names_exist() -> None:
    for name in gpualign._HOMES:
        assert getattr(gpualign, name).__doc__
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = gpualign.no_such_name
    assert (Path(gpualign.__file__).parent / "py.typed").exists()


def test_verify_against_edlib() -> None:
    queries, targets = sequences(60, 40, 1), sequences(60, 90, 2)
    rows = gpualign.verify(queries, targets, max_errors=-1, cigar=True)
    for query, target, row in zip(queries, targets, rows, strict=True):
        expected = edlib.align(query, target, mode="HW", task="locations")
        assert row["distance"] == expected["editDistance"]
        assert row["end"] - 1 == expected["locations"][0][1]
        assert edlib.align(query, target[row["start"] : row["end"]])["editDistance"] == row["distance"]
        assert row["cigar"]


def test_verify_candidates_keep_their_order() -> None:
    rows = gpualign.verify(
        ["ACGT", "TTTT"], ["ACGTAAAA", "CC"], [[1, 0, 4, 8], [0, 0, 0, 99], [0, 1, 0, 2]], strand="both"
    )
    assert rows["distance"].tolist() == [0, 0, -1]
    assert rows["strand"].tolist() == ["-", "+", "+"]
    assert rows["start"].tolist() == [4, 0, -1]


def test_verify_refuses() -> None:
    with pytest.raises(gpualign.UsageError, match="no query 1"):
        gpualign.verify(["A"], ["A"], [[1, 0, 0, 1]])
    with pytest.raises(gpualign.UsageError, match="2 queries but 1 targets"):
        gpualign.verify(["A", "C"], ["A"])
    with pytest.raises(gpualign.InputError, match="sequence 1: '!' is not a nucleotide"):
        gpualign.verify(["A", "C!"], ["A", "A"])


@pytest.mark.parametrize("empty", [[], iter(())])
def test_nothing_gives_nothing(empty: list[str]) -> None:
    assert len(gpualign.verify(empty, [])) == 0
    assert len(gpualign.pairwise([])) == 0
    assert len(gpualign.lcs_filter("ACGT", [])) == 0


def test_pairwise_against_parasail() -> None:
    first, second = sequences(8, 50, 3), sequences(9, 50, 4)
    rows = gpualign.pairwise(first, second, gap_open=6, gap_extend=2, match=3, mismatch=-4)
    assert rows[["query", "target"]].tolist() == [(i, j) for i in range(8) for j in range(9)]
    matrix = parasail.matrix_create("ACGT", 3, -4)
    for row in rows:
        query, target = first[row["query"]], second[row["target"]]
        assert row["score"] == parasail.nw(query, target, 6, 2, matrix).score
        assert row["matches"] + row["mismatches"] + row["gaps"] == row["alnlen"]
        assert (row["qend"], row["tend"]) == (len(query), len(target))


def test_pairwise_list_and_blocks() -> None:
    texts = sequences(6, 30, 5)
    listed = [[4, 1], [0, 5], [4, 1]]
    rows = gpualign.pairwise(texts, pairs=listed, score_only=True)
    assert rows[["query", "target"]].tolist() == [tuple(pair) for pair in listed]
    parts = np.concatenate(list(gpualign.iter_pairwise(texts, include_self=True)))
    assert len(parts) == 21
    with pytest.raises(gpualign.UsageError, match="no target 6"):
        gpualign.pairwise(texts, pairs=[[0, 6]])


def test_lcs_filter_against_the_plain_recurrence() -> None:
    query, subjects = sequences(1, 80, 6)[0], sequences(40, 80, 7)
    rows = gpualign.lcs_filter(query, subjects, top=0, subsequence=True)
    expected = [lcs_length(query.encode(), subject.encode()) for subject in subjects]
    order = sorted(range(len(subjects)), key=lambda i: (-expected[i], i))
    assert rows["subject"].tolist() == order
    assert rows["lcs"].tolist() == [expected[i] for i in order]
    for row in rows:
        letters = iter(subjects[row["subject"]])
        assert all(letter in letters for letter in row["subsequence"].decode())


def test_files_and_batches_are_sequences(tmp_path: Path) -> None:
    path = tmp_path / "two.fa"
    path.write_text(">a\nacgu\n>b x\nACGA\n")
    batch = gpualign.read_sequences(path)
    assert [batch.name(i) for i in range(2)] == ["a", "b"]
    for given in (path, str(path), batch, ["ACGT", b"ACGA"]):
        assert gpualign.pairwise(given, identity=0.7)["identity"].tolist() == [0.75]
