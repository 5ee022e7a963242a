"""`chimeras`: a naive UCHIME of sequences without gaps, planted chimeras, levels of abundance, and vsearch."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpualign.chimeras.run import levels
from tests.helpers.commands import program
from tests.helpers.files import read_fasta
from tests.helpers.implementations import ON_GPU, same_on_gpu
from tests.helpers.sequences import mutate


def chimeras(*words: object) -> list[list[str]]:
    done = subprocess.run(program("chimeras", *words, "--no-header"), capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def write(path: Path, records: list[tuple[str, int, str]]) -> Path:
    path.write_text("".join(f">{name};size={size}\n{text}\n" for name, size, text in records))
    return path


def substituted(rng: random.Random, text: str, count: int) -> str:
    symbols = list(text)
    for at in rng.sample(range(30, len(text) - 30), count):  # gaps at the ends do not pay
        symbols[at] = rng.choice("ACGT".replace(symbols[at], ""))
    return "".join(symbols)


def planted(seed: int, gaps: bool = False) -> list[tuple[str, int, str]]:
    """Templates (t), their errors (e) and chimeras (c) of two templates."""
    rng = random.Random(seed)
    root = "".join(rng.choices("ACGT", k=240))
    templates = [substituted(rng, root, rng.randint(25, 60)) for _ in range(6)]
    if gaps:
        templates = [mutate(rng, text, 0.02) for text in templates]
    records = [(f"t{i}", 1000 - 50 * i, text) for i, text in enumerate(templates)]
    for i in range(12):
        a, b = rng.sample(templates, 2)
        at = rng.randint(60, 180)
        records.append((f"c{i}", rng.randint(20, 90), substituted(rng, a[:at] + b[at:], i % 3)))
        records.append((f"e{i}", rng.randint(1, 90), substituted(rng, rng.choice(templates), rng.randint(1, 6))))
    return list({text: (name, size, text) for name, size, text in reversed(records)}.values())[::-1]


def naive(query: str, parents: list[str]) -> tuple[float, list[int]]:
    """Score and votes with the best two parents, of sequences of one length that are aligned without gaps."""
    n = len(query)
    matches = [[a == b for a, b in zip(query, parent, strict=True)] for parent in parents]
    chosen: list[int] = []
    for _ in range(2):
        left = [p for p in range(len(parents)) if p not in chosen]
        smooth = {p: [sum(matches[p][i - 31 : i + 1]) for i in range(31, n)] for p in left}
        highest = [max(smooth[p][i] for p in left) for i in range(n - 31)]
        wins = {p: sum(s == h and h > 0 for s, h in zip(smooth[p], highest, strict=True)) for p in left}
        best = max(left, key=lambda p: (wins[p], -p))
        if not wins[best]:
            return 0, []
        chosen.append(best)
        for i, (s, h) in enumerate(zip(smooth[best], highest, strict=True)):
            if s == h:
                for row in matches:
                    row[i : i + 32] = [False] * 32
    a, b = (parents[p] for p in chosen)
    columns = zip(query, a, b, strict=True)
    votes = ["" if x == y == q else "A" if q == x != y else "B" if q == y != x else "0" for q, x, y in columns]
    found: tuple[float, list[int]] = (0, [])
    for at in [i for i, vote in enumerate(votes) if vote]:
        for first, second in ("AB", "BA"):
            sides = (votes[: at + 1], (first, second, "0")), (votes[at + 1 :], (second, first, "0"))
            counts = [side.count(kind) for side, kinds in sides for kind in kinds]
            if counts[0] > counts[1] and counts[3] > counts[4]:
                score = 1.0
                for yes, no, abstain in (counts[:3], counts[3:]):
                    score *= yes / (8 * (no + 1.4) + abstain)
                if score > found[0]:
                    found = score, counts
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_are_those_of_the_naive_program(tmp_path: Path, seed: int) -> None:
    """With references, which are all candidates if there are four."""
    records = planted(seed)
    parents = [text for name, _, text in records if name in ("t0", "t1", "t2", "t3")]
    reference = write(tmp_path / "db.fa", [(f"t{i}", 1, text) for i, text in enumerate(parents)])
    rows = chimeras(write(tmp_path / "a.fa", records), "--ref", reference)
    texts = {name: text for name, _, text in records}
    judged = 0
    for row in rows:
        query = texts[row[1].split(";")[0]]
        if min(sum(a != b for a, b in zip(query, parent, strict=True)) for parent in parents) < 3:
            assert row[2:4] == ["*", "*"]
            continue
        score, votes = naive(query, parents)
        assert float(row[0]) == pytest.approx(score, abs=1e-4)
        assert list(map(int, row[10:16])) == (votes or [0] * 6)
        judged += score > 0
    assert judged > 10


def test_planted_chimeras_are_found_and_nothing_else(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("chimeras", "nonchimeras", "borderline")}
    outputs = [word for name, path in files.items() for word in (f"--{name}", path)]
    path = write(tmp_path / "a.fa", planted(3, gaps=True))
    rows = chimeras(path, "--denovo", *outputs)
    assert {row[1][0] for row in rows if row[-1] == "Y"} == {"c"}
    assert {row[1][0] for row in rows if row[-1] == "N"} >= {"t", "e"}
    assert sum(row[-1] == "Y" for row in rows) >= 11
    for name, flag in (("chimeras", "Y"), ("nonchimeras", "N"), ("borderline", "?")):
        assert sorted(read_fasta(files[name])) == sorted(row[1] for row in rows if row[-1] == flag)
    assert chimeras(path, "--denovo", "-t", "1") == rows
    # a chimera is at most half as abundant as its parents
    assert not [row for row in chimeras(path, "--denovo", "--abskew", "100") if row[-1] == "Y"]


def test_levels_hold_no_parents() -> None:
    sizes = np.array([100, 60, 51, 50, 26, 25, 1, 1])
    assert list(levels(sizes, 2.0)) == [(0, 3), (3, 5), (5, 6), (6, 8)]
    assert list(levels(sizes, 1.0)) == [(i, i + 1) for i in range(6)] + [(6, 7), (7, 8)]
    assert list(levels(sizes[:0], 2.0)) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say where parents are"),
        (["--denovo", "--ref", "a.fa"], "say where parents are"),
        (["--denovo", "--abskew", "0.5"], "abskew must be at least 1"),
        (["--denovo", "--mindiffs", "0"], "mindiffs must be from 1"),
        (["--denovo", "--chimeras", "-"], "two outputs go to standard output"),
    ],
)
def test_what_is_refused(tmp_path: Path, words: list[str], message: str) -> None:
    path = write(tmp_path / "a.fa", [("x", 1, "ACGT")])
    done = subprocess.run(program("chimeras", path, *words), capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_parents(tmp_path: Path) -> None:
    """Short sequences, a single one, and none."""
    row = ["0.0000", "x;size=3", *["*"] * 8, *["0"] * 6, "*", "N"]
    assert chimeras(write(tmp_path / "a.fa", [("x", 3, "ACGT")]), "--denovo") == [row]
    assert chimeras(write(tmp_path / "a.fa", []), "--denovo") == []


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
def test_the_rows_of_vsearch(tmp_path: Path) -> None:
    records = planted(4, gaps=True)
    path, rows = write(tmp_path / "a.fa", records), tmp_path / "rows"
    words = ["--uchime_denovo", path, "--uchimeout", rows, "--quiet"]
    subprocess.run(["vsearch", *words], check=True)
    theirs = {row[1]: row for row in (line.split("\t") for line in rows.read_text().splitlines())}
    ours = {row[1]: row for row in chimeras(path, "--denovo")}
    assert ours.keys() == theirs.keys()
    flagged = [name for name, row in theirs.items() if row[-1] == "Y"]
    assert len(flagged) > 8
    assert {name for name, row in ours.items() if row[-1] == "Y"} == {*flagged}
    # of equally good alignments and parents another one may have been taken
    assert sum(ours[name] == theirs[name] for name in flagged) >= len(flagged) - 2


@pytest.mark.gpu
def test_a_gpu_finds_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "a.fa", planted(5, gaps=True))
    same_on_gpu("chimeras", path, "--denovo", output=tmp_path / "rows", ways=[ON_GPU["one GPU"]])
