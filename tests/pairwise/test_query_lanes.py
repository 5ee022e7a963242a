"""Scores with a query over the lanes of a group: planning, and on a GPU against parasail and the CPU."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpualign.align.score.device import query_lanes
from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.problem import PairProblem
from gpualign.align.score.tuning import LANE_SHAPES
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.matrices import match_mismatch
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import mutate

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
LANES = ("--device", "cuda", "--kernel", "lanes")


def _problem(**changes: object) -> PairProblem:
    scoring = load_matrix("BLOSUM62")
    sequences = encode([SequenceBatch.from_records([("a", "MKV"), ("b", "WW")])], scoring)
    ends = (False,) * 4
    local = {"mode": "local", "free_ends": ends, "traced": False, "identity": None, "definition": 1}
    problem = PairProblem((sequences,), sequences, scoring, 12, 1, table_bytes=1 << 20, **local)  # type: ignore[arg-type]
    return replace(problem, **changes)  # type: ignore[arg-type]


def test_every_row_has_a_place() -> None:
    for rows in (1, 100, 128, 129, 500, 1024, 1025, 5000, 35_000):
        shape = query_lanes.shape_of(rows)
        assert shape in LANE_SHAPES
        tiles = -(-rows // (shape.lanes * shape.rows))
        assert tiles * shape.lanes * shape.rows < 1.5 * rows + 128
    assert query_lanes.shape_of(100) == LANE_SHAPES[0]


@pytest.mark.parametrize("processors", [1, 132])
def test_tasks_cover_all_pairs_of_one_query_each(processors: int) -> None:
    rng = np.random.default_rng(3)
    queries = np.repeat(np.arange(4, dtype=np.int32), [500, 1, 70, 900])
    n = np.array([90, 3000, 700, 5000], np.int32)[queries]
    m = np.concatenate([np.sort(rng.integers(1, 2000, count)) for count in (500, 1, 70, 900)]).astype(np.int32)
    covered = np.zeros(len(queries), int)
    for launch in query_lanes.launches(queries, n, m, processors):
        for query, first, count, _ in launch.tasks.tolist():
            pairs = slice(first, first + count)
            covered[pairs] += 1
            assert (queries[pairs] == query).all()
            assert query_lanes.shape_of(int(n[first])) == launch.shape
            if n[first] > launch.shape.lanes * launch.shape.rows:
                groups = -(-count // (64 // launch.shape.lanes)) * (32 // launch.shape.lanes)
                assert groups * m[pairs].max() <= launch.columns
    assert (covered == 1).all()


def test_order_by_query_and_length() -> None:
    rng = np.random.default_rng(4)
    queries, m = np.sort(rng.integers(0, 9, 500)).astype(np.int32), rng.integers(0, 40, 500).astype(np.int32)
    expected = sorted(range(500), key=lambda i: (queries[i], m[i], i))
    assert query_lanes.by_query_and_length(queries, m).tolist() == expected
    assert query_lanes.by_query_and_length(queries, m + 70_000).tolist() == expected
    mixed = rng.permutation(queries)
    assert query_lanes.by_query_and_length(mixed, m).tolist() == sorted(range(500), key=lambda i: (mixed[i], m[i], i))


def test_what_half_a_word_holds() -> None:
    assert query_lanes.suits(_problem())
    assert query_lanes.suits(_problem(mode="global"))
    assert query_lanes.suits(_problem(mode="global", scoring=match_mismatch(5, -4), gap_open=10))
    assert not query_lanes.suits(_problem(mode="global", scoring=match_mismatch(90, -4)))
    assert not query_lanes.suits(_problem(scoring=match_mismatch(500, -300)))
    assert not query_lanes.suits(_problem(mode="global", gap_open=1))


def _proteins(seed: int, lengths: list[int]) -> list[str]:
    rng = random.Random(seed)
    base = "".join(rng.choices(AMINO_ACIDS, k=max(lengths)))
    return [mutate(rng, base[:length], 0.5 * rng.random(), AMINO_ACIDS) or "A" for length in lengths]


@pytest.mark.gpu
@pytest.mark.parametrize("lengths", [[1, 3, 60], [100, 128, 129], [250, 380, 512, 513], [900, 1024, 1025, 2500, 5000]])
@pytest.mark.parametrize("mode", ["local", "global", "semi-global"])
def test_scores_of_parasail(tmp_path: Path, mode: str, lengths: list[int]) -> None:
    parasail = pytest.importorskip("parasail")
    queries, targets = _proteins(1, lengths), _proteins(2, [*range(1, 40), 300, 420, 999, 2500])
    targets += [mutate(random.Random(i), queries[-1], 0.1 * i, AMINO_ACIDS) for i in range(3)]  # beyond half a word
    a, b = (str(write_fasta(tmp_path / name, texts)) for name, texts in (("a.fa", queries), ("b.fa", targets)))
    options = ["--mode", mode, "--matrix", "BLOSUM62", "--gapopen", "12", "--gapext", "1", "--score-only"]
    same_on_gpu("pairwise", "-q", a, b, *options, output=tmp_path / "rows", ways=[LANES])
    function = {
        "local": parasail.sw_striped_32,
        "global": parasail.nw_striped_32,
        "semi-global": parasail.sg_striped_32,
    }
    expected = [function[mode](x, y, 12, 1, parasail.blosum62).score for x in queries for y in targets]
    if mode == "semi-global":
        expected = [max(score, 0) for score in expected]
    assert [int(row["score"]) for row in rows_of(tmp_path / "rows")] == expected


@pytest.mark.gpu
@pytest.mark.parametrize(
    "options",
    [
        "--mode semi-global --free-ends query-start,target-end",
        "--mode semi-global --free-ends query-end",
        "--mode semi-global --free-ends target-start,target-end",
        "--gapopen 12I/4E --gapext 2I/1E",
        "--gapopen 12I/4L --gapext 2I/2L",
    ],
)
def test_ends_as_on_the_cpu(tmp_path: Path, options: str) -> None:
    queries, targets = _proteins(3, [40, 200, 600, 1500]), _proteins(4, [*range(1, 70, 3), 500, 1100])
    a, b = (str(write_fasta(tmp_path / name, texts)) for name, texts in (("a.fa", queries), ("b.fa", targets)))
    scoring = ["--matrix", "BLOSUM62", "--score-only", "--gapopen", "12", "--gapext", "2", *options.split()]
    assert same_on_gpu("pairwise", "-q", a, b, *scoring, output=tmp_path / "rows", ways=[LANES])


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["local", "global", "semi-global"])
def test_proteins_as_on_the_cpu(tmp_path: Path, mode: str) -> None:
    queries, targets = _proteins(1, [1, 90, 130, 300, 513, 1025, 3000]), _proteins(2, [*range(1, 90), 420, 999, 2500])
    targets += [mutate(random.Random(i), queries[-1], 0.1 * i, AMINO_ACIDS) for i in range(3)]  # beyond half a word
    a, b = (str(write_fasta(tmp_path / name, texts)) for name, texts in (("a.fa", queries), ("b.fa", targets)))
    scoring = ["--mode", mode, "--matrix", "BLOSUM62", "--gapopen", "12", "--score-only"]
    assert same_on_gpu("pairwise", "-q", a, b, *scoring, output=tmp_path / "rows", ways=[LANES])


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["local", "global"])
def test_nucleotides_as_on_the_cpu(tmp_path: Path, mode: str) -> None:
    rng = random.Random(7)
    base = "".join(rng.choices("ACGTN", k=1536))
    fasta = str(write_fasta(tmp_path / "a.fa", [mutate(rng, base, 0.4 * rng.random(), "ACGT") for _ in range(20)]))
    options = ["--mode", mode, "--score-only"]
    assert same_on_gpu("pairwise", "-q", fasta, *options, output=tmp_path / "rows", ways=[LANES])


@pytest.mark.gpu
def test_a_search_is_the_cpus(tmp_path: Path) -> None:
    queries, targets = _proteins(5, [80, 300, 1300]), _proteins(6, [*range(20, 400, 3)])
    a, b = (str(write_fasta(tmp_path / name, texts)) for name, texts in (("a.fa", queries), ("b.fa", targets)))
    options = ["--mode", "local", "--matrix", "BLOSUM62", "--gapopen", "12", "--top", "9", "--evalue", "10"]
    options += ["--batch-size", "200"]
    assert same_on_gpu("pairwise", "-q", a, b, *options, output=tmp_path / "rows")
