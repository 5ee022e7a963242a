"""What Python functions say of calls that cannot be meant so, and what they take as sequences."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gpualign
from gpualign.align.matrix import backends
from tests.helpers.files import write_fastq
from tests.helpers.sequences import random_genome

TEXTS = ["GATTACA", "GATTTACA", "TTTACA"]
GENOME = random_genome(3, 600)

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "verify": (lambda: gpualign.verify(TEXTS, TEXTS, max_error=1), r"verify\(\).*'max_error'.*'max_errors'"),
    "pairwise": (lambda: gpualign.pairwise(TEXTS, gapopen=1), r"pairwise\(\).*'gapopen'.*'gap_open'"),
    "iter_pairwise": (lambda: gpualign.iter_pairwise(TEXTS, scoreonly=1), r"iter_pairwise\(\).*'score_only'"),
    "lcs_filter": (lambda: gpualign.lcs_filter("A", TEXTS, tops=1), r"lcs_filter\(\).*'top'"),
    "find_mems": (lambda: gpualign.find_mems(TEXTS, TEXTS, minlength=3), r"find_mems\(\).*'min_length'"),
    "search": (lambda: gpualign.search(TEXTS, TEXTS, 1, strands="plus"), r"search\(\).*'strand'"),
    "iter_search": (lambda: gpualign.iter_search(TEXTS, TEXTS, 1, max_bulge=1), r"iter_search\(\).*'max_bulges'"),
    "cluster": (lambda: gpualign.cluster(TEXTS, 0.9, missmatch=3), r"cluster\(\).*'mismatch'"),
    "derep": (lambda: gpualign.derep(TEXTS, sizein=True), r"derep\(\).*'size_in'"),
    "chimeras": (lambda: gpualign.chimeras(TEXTS, min_diffs=3), r"chimeras\(\).*'min_differences'"),
    "sintax": (lambda: gpualign.sintax(TEXTS, TEXTS, cut_off=1), r"sintax\(\).*'cutoff'"),
    "distances": (lambda: gpualign.distances(TEXTS, max_dist=3), r"distances\(\).*'max_dist'"),
    "scores": (lambda: gpualign.scores(TEXTS, min_scores=3), r"scores\(\).*'min_score'"),
    "sort": (lambda: gpualign.sort("a", "b", formats="bam"), r"sort\(\).*'format'"),
    "mark_duplicates": (lambda: gpualign.mark_duplicates("a", "b", removes=True), r"mark_duplicates\(\).*'remove'"),
    "read_sequences": (lambda: gpualign.read_sequences("a", alpabet="any"), r"read_sequences\(\).*'alphabet'"),
    "Mapper": (lambda: gpualign.Mapper([GENOME], maxhits=3), r"Mapper\(\).*'max_hits'"),
    "map": (lambda: gpualign.Mapper([GENOME]).map([], mate=[]), r"Mapper.map\(\).*'mates'"),
    "no near one": (lambda: gpualign.verify(TEXTS, TEXTS, zzzz=1), r"'zzzz' \(see help\(gpualign.verify\)\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_unknown_keywords(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(gpualign.UsageError, match=message):
        call()


def test_functions_can_be_pickled_and_explained() -> None:
    assert pickle.loads(pickle.dumps(gpualign.verify)) is gpualign.verify
    assert "max_errors" in str(__import__("inspect").signature(gpualign.verify))


TAKERS: dict[str, Callable[[Any], Any]] = {
    "verify": lambda some: gpualign.verify(some, some).tolist(),
    "pairwise": lambda some: gpualign.pairwise(some).tolist(),
    "lcs_filter": lambda some: gpualign.lcs_filter("GATTACA", some).tolist(),
    "find_mems": lambda some: gpualign.find_mems(some, some, 4).tolist(),
    "search": lambda some: gpualign.search(some, some, 1).tolist(),
    "cluster": lambda some: gpualign.cluster(some, 0.8).labels.tolist(),
    "nearest": lambda some: gpualign.pairwise(some, some, identity=0.5, top=1, top_ties=True).tolist(),
    "derep": lambda some: gpualign.derep(some).table.tolist(),
    "chimeras": lambda some: gpualign.chimeras(some, some).tolist(),
    "sintax": lambda some: gpualign.sintax(some, some).tolist(),
    "distances": lambda some: gpualign.distances(some).values.tolist(),
    "scores": lambda some: gpualign.scores(some).values.tolist(),
    "Mapper": lambda some: gpualign.Mapper(some).map(some).tolist(),
    "stream": lambda some: [hits for _, hits in gpualign.Mapper([GENOME]).stream(some)],
}


@pytest.mark.parametrize("name", TAKERS)
def test_arrays_of_pyarrow_are_sequences(name: str) -> None:
    wanted = TAKERS[name](TEXTS)
    for array in (pa.array(TEXTS), pa.array(TEXTS, pa.large_string()), pa.chunked_array([TEXTS[:1], TEXTS[1:]])):
        assert TAKERS[name](array) == wanted
    assert TAKERS[name](pa.array(TEXTS).dictionary_encode()) == wanted
    with pytest.raises(gpualign.UsageError, match="sequence 1 is NoneType"):
        TAKERS[name](pa.array(["GATTACA", None]))


@pytest.mark.parametrize("name", [name for name in TAKERS if name != "stream"])
def test_one_text_where_a_list_is_meant(name: str) -> None:
    with pytest.raises(gpualign.UsageError, match=r"there is no file 'GATTACA' \(give a list of sequences\)"):
        TAKERS[name]("GATTACA")


def test_one_text_of_other_lists() -> None:
    with pytest.raises(gpualign.UsageError, match="free ends is a list of texts"):
        gpualign.pairwise(TEXTS, mode="semi-global", free_ends="query-start")
    with pytest.raises(gpualign.UsageError, match="barcode tags is a list of texts"):
        gpualign.mark_duplicates("a.bam", "b.bam", barcode_tags="RX")
    listed = gpualign.pairwise(TEXTS, mode="semi-global", free_ends=["query-start"], score_only=True)
    assert len(listed) == 3
    with pytest.raises(gpualign.InputError, match="no/such/file"):
        gpualign.pairwise("no/such/file.fa")


def test_sequences_in_memory(tmp_path: Path) -> None:
    path = write_fastq(tmp_path / "a.fq", ("a", "ACGT", "IIII"), ("b", "GG", "!!"), ("c", "T", "#"))
    batch = gpualign.read_sequences(path)
    assert tuple(batch[0]) == tuple(batch[-3]) == ("a", "ACGT", "IIII")
    assert batch[1].name == "b"
    assert [row.sequence for row in batch] == ["ACGT", "GG", "T"]
    assert [row.name for row in batch[1:]] == ["b", "c"]
    assert [row.name for row in batch[::-1]] == ["c", "b", "a"]
    assert [row.name for row in batch[batch.lengths > 1]] == ["a", "b"]
    assert repr(batch).splitlines()[:2] == ["name  sequence  quality", "a     ACGT      IIII"]
    with pytest.raises(IndexError, match="no sequence 3"):
        batch[3]


def test_names_that_are_public() -> None:
    assert set(dir(gpualign)) == {*gpualign._HOMES, "__version__"}


def test_a_mapper_says_what_it_is() -> None:
    mapper = gpualign.Mapper([GENOME, GENOME], "map-ont", device="cpu", threads=2)
    wanted = "<Mapper: 2 contigs, 1,200 bases, preset='map-ont', device='cpu', threads=2>"
    assert repr(mapper) == repr(pickle.loads(pickle.dumps(mapper))) == wanted
    mapper.close()
    assert repr(mapper).endswith(", closed>")


def test_matrices_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "available_memory", lambda: 100)
    monkeypatch.setattr(backends, "_SMALL", 0)
    for call in (gpualign.distances, gpualign.scores, lambda some: gpualign.scores(some, mode="lcs")):
        with pytest.raises(gpualign.UsageError, match=r"6 × 6 numbers takes .* \(give nearest=N, or sparse=True"):
            call(TEXTS * 2)
    assert gpualign.distances(TEXTS * 2, nearest=1).target.shape == (6, 1)


@pytest.mark.parametrize("dtype", [np.uint8, "int16", np.int64, float, "float32"])
def test_types_of_matrices(dtype: Any) -> None:
    for call in (gpualign.distances, lambda some, **k: gpualign.scores(some, mode="lcs", **k)):
        matrix = call(TEXTS, dtype=dtype)
        assert matrix.values.dtype == np.dtype(dtype)
        assert matrix.values.tolist() == call(TEXTS).values.tolist()


def test_numbers_that_do_not_fit_a_type() -> None:
    pair = ["A" * 300, "C" * 300]
    for more in ({"dtype": np.uint8}, {"out": np.empty((2, 2), np.int8)}):
        with pytest.raises(gpualign.UsageError, match=r"numbers from 0 to 300 do not fit u?int8"):
            gpualign.distances(pair, **more)
    with pytest.raises(gpualign.UsageError, match="numbers from -1 to 0 do not fit uint8"):
        gpualign.distances(pair, max_errors=3, dtype=np.uint8)
    for wrong in ("nonsense", "str", bool):
        with pytest.raises(gpualign.UsageError, match="dtype must be a type of numbers"):
            gpualign.distances(pair, dtype=wrong)
    with pytest.raises(gpualign.UsageError, match="dtype is for a matrix"):
        gpualign.distances(pair, nearest=1, dtype=int)
    with pytest.raises(gpualign.UsageError, match="out has its own dtype"):
        gpualign.distances(pair, out=np.empty((2, 2)), dtype=int)
