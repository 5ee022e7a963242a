"""Long pairs on the CPU: the table in the lanes of a vector, tile by tile, and the traceback from kept borders."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import parasail
import pytest

from gpualign.cli import main
from gpualign.pairwise.run import cells_of_a_giant
from gpualign.sequences.matrices import match_mismatch
from tests.helpers.commands import program
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.pairwise_cases import align
from tests.helpers.sam import cigar_text
from tests.helpers.sequences import mutate
from tests.helpers.soak import some_of
from tests.reference.pairwise import replay

pytestmark = pytest.mark.usefixtures("level")

SCORING = match_mismatch(5, -4)
#: penalties, and symbols: of which more than 8,192 take several groups of lanes
GAPS = {"linear": (10, 10, 2700), "affine": (10, 1, 9400), "dear to open": (300, 2, 3000)}


def pairs(length: int) -> dict[str, tuple[str, str]]:
    """Of that many symbols or a few more, or (unequal) much fewer in one."""
    rng = random.Random(length)
    text = "".join(rng.choices("ACGT", k=length + 3000))
    other = "".join(rng.choices("ACGTN", [1, 1, 1, 1, 0.05], k=length + 100))
    return {
        "equal": (text, text),
        "similar": (text, mutate(rng, text, 0.1)),
        "unrelated": (text[: length + 1], other),
        "moved": (text, text[length // 2 :] + text[: length // 2]),
        "a long gap each way": (text[:1000] + text[2500:], text[:length] + text[length + 1900 :]),
        "unequal": (text, mutate(rng, text, 0.2)[: length + 130]),
    }


def parasail_score(query: str, target: str, gap_open: int, gap_extend: int) -> int:
    matrix = parasail.matrix_create("ACGTN", 5, -4)
    matrix[4, 4] = -4
    return int(parasail.nw_scan_32(query, target, gap_open, gap_extend, matrix).score)


#: parasail's names by our bits: 1 query start, 2 query end, 4 target start, 8 target end
FREE_ENDS = {
    1: "sg_qb", 2: "sg_qe", 3: "sg_qx", 4: "sg_db", 5: "sg_qb_db", 6: "sg_qe_db", 8: "sg_de", 9: "sg_qb_de",
    10: "sg_qe_de", 12: "sg_dx", 15: "sg",
}  # fmt: skip


def symbol_scores(a: str, b: str) -> int:
    return 5 if a == b != "N" else -4


@pytest.mark.parametrize("gaps", GAPS)
def test_scores_and_paths(gaps: str) -> None:
    gap_open, gap_extend, length = GAPS[gaps]
    for name, (query, target) in pairs(length).items():
        expected = parasail_score(query, target, gap_open, gap_extend)
        (score,) = align(SCORING, [query], [target], gap_open, gap_extend, traced=False)[0]
        assert score == expected, name
        for table in (1 << 28, 64 * max(len(query), len(target))):  # the smaller one splits parts again
            found = align(SCORING, [query], [target], gap_open, gap_extend, table=table)
            assert found[0][0] == expected, name
            cigar = cigar_text(found[3].tolist())
            replayed = replay(query, target, cigar, symbol_scores, gap_open, gap_extend)
            assert replayed == (expected, len(query), len(target)), name


@pytest.mark.parametrize("gaps", GAPS)
def test_the_path_is_the_one_that_shorter_pairs_get(gaps: str) -> None:
    """By the same rule for ties: as the engine that has a pair a lane, which takes any matrix."""
    gap_open, gap_extend, length = GAPS[gaps]
    as_matrix = match_mismatch(5, -4)
    object.__setattr__(as_matrix, "name", "a matrix")
    for name, (query, target) in pairs(min(length, 3000)).items():
        by_wave = align(SCORING, [query], [target], gap_open, gap_extend)
        by_lane = align(as_matrix, [query], [target], gap_open, gap_extend)
        for got, expected in zip(by_wave, by_lane, strict=True):
            assert np.array_equal(got, expected), name


@pytest.mark.parametrize("gaps", ["linear", "affine"])
@pytest.mark.parametrize("free", range(1, 16))
def test_free_ends(gaps: str, free: int) -> None:
    """Scores as parasail's, where it has these ends; the rest as the engine that has a pair a lane."""
    gap_open, gap_extend, _ = GAPS[gaps]
    rng = random.Random(free)
    text = "".join(rng.choices("ACGT", k=4000))
    nearby = ["".join(rng.choices("ACGT", k=length)) for length in (100, 700, 30, 1500)]
    query, target = nearby[0] + text[:3000] + nearby[1], nearby[2] + mutate(rng, text, 0.1) + nearby[3]
    as_matrix = match_mismatch(5, -4)
    object.__setattr__(as_matrix, "name", "a matrix")
    for a, b in ((query, target), (target, query), (text[:2500], text[1200:]), (text[1200:], text[:2500])):
        by_wave = align(SCORING, [a], [b], gap_open, gap_extend, free=free)
        by_lane = align(as_matrix, [a], [b], gap_open, gap_extend, free=free)
        for got, expected in zip(by_wave, by_lane, strict=True):
            assert np.array_equal(got, expected)
        assert align(SCORING, [a], [b], gap_open, gap_extend, free=free, traced=False)[0] == by_wave[0]
        if free in FREE_ENDS:
            score = getattr(parasail, f"{FREE_ENDS[free]}_scan_32")
            expected = score(a, b, gap_open, gap_extend, parasail.matrix_create("ACGT", 5, -4)).score
            nothing = free & 9 == 9 or free & 6 == 6  # an alignment as well, which parasail leaves out
            assert by_wave[0][0] == (max(expected, 0) if nothing else expected)


LOCAL_GAPS = {"linear": (10, 10), "affine": (10, 1), "dear to open": (300, 2)}


def local_pairs(length: int) -> dict[str, tuple[str, str]]:
    """As those of :func:`pairs`, and what local alignments differ in: where they begin and end."""
    rng = random.Random(length + 1)
    text, other = ("".join(rng.choices("ACGT", k=length)) for _ in range(2))
    inside = mutate(rng, text[length // 5 : length // 2], 0.15)
    unit = "".join(rng.choices("ACGT", k=700))
    return pairs(length) | {
        "inside": (text, other[: length // 3] + inside + other[length // 3 :]),
        "at the start": (text, mutate(rng, text[: length // 4], 0.1) + other),
        "at the end": (text, other + mutate(rng, text[-length // 4 :], 0.1)),
        "several times as good": (other[:2000] + unit + other[2000:] + unit, unit + text[:2000] + unit + text[2000:]),
        "nothing": ("A" * length, "C" * length),
        "no symbols": ("N" * length, text),
    }


@pytest.mark.parametrize("gaps", LOCAL_GAPS)
def test_local(gaps: str) -> None:
    """Scores as parasail's; the rest as the engine that has a pair a lane."""
    gap_open, gap_extend = LOCAL_GAPS[gaps]
    as_matrix = match_mismatch(5, -4)
    object.__setattr__(as_matrix, "name", "a matrix")
    matrix = parasail.matrix_create("ACGTN", 5, -4)
    matrix[4, 4] = -4
    for name, (query, target) in local_pairs(2300).items():
        expected = parasail.sw_scan_32(query, target, gap_open, gap_extend, matrix).score
        assert align(SCORING, [query], [target], gap_open, gap_extend, local=True, traced=False)[0] == expected, name
        by_lane = align(as_matrix, [query], [target], gap_open, gap_extend, local=True, table=1 << 28)
        for table in (1 << 28, 64 * max(len(query), len(target))):
            by_wave = align(SCORING, [query], [target], gap_open, gap_extend, local=True, table=table)
            for got, wanted in zip(by_wave, by_lane, strict=True):
                assert np.array_equal(got, wanted), name


def test_threads_and_memory_change_nothing(tmp_path) -> None:
    query, target = pairs(12_000)["similar"]
    fasta = str(write_fasta(tmp_path / "a.fa", [query, target]))
    outputs = []
    for threads, memory in ((1, "1G"), (4, "1G"), (3, "16M")):
        output = tmp_path / f"{threads}.tsv"
        with pytest.raises(SystemExit) as done:
            main(
                [
                    "pairwise",
                    "-q",
                    fasta,
                    "--device",
                    "cpu",
                    "-t",
                    str(threads),
                    "--max-memory",
                    memory,
                    "-o",
                    str(output),
                ]
            )
        assert done.value.code == 0
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]
    (row,) = rows_of(output)
    assert int(row["score"]) == parasail_score(query, target, 10, 1)


@pytest.mark.parametrize(
    ("records", "number", "threads"),
    some_of(
        product([2, 3], [signal.SIGINT, signal.SIGTERM], [1, 2]),
        lambda records, number, threads: (number, threads) == (signal.SIGINT, 2),
    ),
)
def test_a_signal_ends_what_would_take_a_minute(tmp_path: Path, records: int, number: int, threads: int) -> None:
    """One pair is aligned by the command's own thread, three by others, which see no signals."""
    rng = np.random.default_rng(5)
    symbols = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1_500_000)].tobytes()
    (tmp_path / "a.fa").write_bytes(b"".join(b">%d\n%b\n" % (i, symbols[i:]) for i in range(records)))
    out = tmp_path / "out"
    out.mkdir()
    options = ["-t", str(threads), "--device", "cpu", "-q", "-o", out / "x.tsv"]
    command = program("pairwise", tmp_path / "a.fa", *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not list(out.iterdir()):
            time.sleep(0.05)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(number)
        _, error = process.communicate(timeout=10)
    assert process.returncode == 128 + number
    assert error.count(b"\n") == 1
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "matrix", "on_gpu", "length", "warns"),
    [
        ("global", "match/mismatch", False, 1_400_000, False),
        ("global", "match/mismatch", False, 2_100_000, True),  # two threads for the pair: 4e12 cells
        ("semi-global", "match/mismatch", False, 2_100_000, True),
        ("global", "BLOSUM62", False, 310_000, False),
        ("global", "BLOSUM62", False, 320_000, True),
        ("local", "match/mismatch", False, 1_400_000, False),
        ("local", "match/mismatch", False, 2_100_000, True),
        ("global", "BLOSUM62", True, 5_000_000, False),
        ("local", "BLOSUM62", True, 5_000_000, False),
    ],
)
def test_work_of_hours_is_announced(mode: str, matrix: str, on_gpu: bool, length: int, warns: bool) -> None:
    lengths = np.array([length, 10])
    scoring = SimpleNamespace(name=matrix)
    problem: Any = SimpleNamespace(
        mode=mode,
        scoring=scoring,
        traced=True,
        pair_threads=2,
        query_lengths=lengths,
        target_lengths=lengths,
    )
    assert cells_of_a_giant(problem, on_gpu) == (length * length if warns else None)
    problem.traced = False
    assert cells_of_a_giant(problem, on_gpu) is None
