"""`sintax`: votes that all words decide, against a naive program, strands, formats and what is refused."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpualign.seeds.words.cpu import DrawnBest, QueryWords, References, draw_on_cpu
from gpualign.sequences.batch import join_bytes
from gpualign.text.labels import common_ranks, ranks_in, taxonomy_of
from tests.helpers.commands import program
from tests.helpers.implementations import native_level
from tests.helpers.sequences import mutate, reverse_complement


def sintax(*words: object) -> list[list[str]]:
    done = subprocess.run(program("sintax", *words, device=None), capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def write(path: Path, records: dict[str, str]) -> Path:
    path.write_text("".join(f">{name}\n{text}\n" for name, text in records.items()))
    return path


def random_bases(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("ACGT", k=length))


def naive(queries: list[str], references: list[str]) -> list[list[int | None]]:
    """The reference of each bootstrap of each query: most words of the subset, then the shortest, then the first."""

    def words(text: str) -> list[str]:
        found = (text[i : i + 8] for i in range(len(text) - 7))
        return list(dict.fromkeys(word for word in found if set(word) <= set("ACGT")))

    mask = (1 << 64) - 1
    known = [set(words(text)) for text in references]
    winners = []
    for text in queries:
        state = 0xCBF29CE484222325  # the seed is FNV-1a, the numbers splitmix64
        for symbol in text.encode():
            state = (state ^ symbol) * 0x100000001B3 & mask
        of_query, best = words(text), []
        for _ in range(100):
            subset = set()
            for _ in range(32):
                state = (state + 0x9E3779B97F4A7C15) & mask
                z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
                z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
                subset.add(of_query[((z ^ z >> 31) >> 32) * len(of_query) >> 32])
            counts = [len(subset & each) for each in known]
            first = min(range(len(references)), key=lambda r: (-counts[r], len(references[r]), r))
            best.append(first if counts[first] > 1 else None)
        winners.append(best)
    return winners


@pytest.mark.parametrize("seed", [1, 2])
def test_draws_are_those_of_the_naive_program(level: str, seed: int) -> None:
    """Near relatives, which differ in their words by little, and unrelated ones, some with ambiguity codes."""
    rng = random.Random(seed)
    roots = [random_bases(rng, 150) for _ in range(5)]
    references = [mutate(rng, rng.choice(roots), rng.choice((0, 0.02, 0.1))) for _ in range(150)] + ["ACGTN" * 30, "A"]
    queries = [mutate(rng, rng.choice(roots), rng.choice((0.01, 0.05, 0.3))) for _ in range(12)]
    text, offsets = join_bytes([each.encode() for each in references])
    order = np.argsort(np.argsort(np.diff(offsets), kind="stable")).astype(np.int32)
    similar = np.array(rng.sample(range(len(references)), len(references)), np.int32)
    with native_level(level):
        words = QueryWords.of(*join_bytes([each.encode() for each in queries]))
        drawn = draw_on_cpu(References(text, offsets, similar, order, threads=2), words, False)
        halves = [
            draw_on_cpu(References(text, offsets, similar, order), words.part(*at), False) for at in ((0, 5), (5, 12))
        ]
    expected = [[-1 if best is None else order[best] for best in winners] for winners in naive(queries, references)]
    assert drawn.best.tolist() == expected
    assert DrawnBest.join(halves).best.tolist() == expected


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, dict[str, str]]:
    """Queries of which the first two are of references, on both strands, and one that is of none."""
    rng = random.Random(3)
    texts = [random_bases(rng, 300) for _ in range(3)]
    references = {f"r{i};tax=d:Life,p:P{i // 2},s:S{i};": text for i, text in enumerate(texts)}
    queries = {"plus": texts[0], "minus": reverse_complement(texts[2]), "none": random_bases(rng, 300), "short": "ACGT"}
    return write(tmp_path / "q.fa", queries), write(tmp_path / "db.fa", references), queries


def test_by_hand(files: tuple[Path, Path, dict[str, str]]) -> None:
    assert sintax(files[0], "--db", files[1], "--strand", "both", "--cutoff", "0.5", "-q") == [
        ["plus", "d:Life(1.00),p:P0(1.00),s:S0(1.00)", "+", "d:Life,p:P0,s:S0"],
        ["minus", "d:Life(1.00),p:P1(1.00),s:S2(1.00)", "-", "d:Life,p:P1,s:S2"],
        ["none", "", "", ""],
        ["short", "", "", ""],
    ]
    assert sintax(files[0], "--db", files[1], "-q")[1:3] == [["minus", ""], ["none", ""]]


def test_a_table_of_ranks(files: tuple[Path, Path, dict[str, str]], tmp_path: Path) -> None:
    names = [line[1:] for line in files[1].read_text().splitlines() if line.startswith(">")]
    (tmp_path / "tax").write_text("".join(f"{name}\td__X; g__G{i}\n" for i, name in enumerate(names)))
    rows = sintax(files[0], "--db", files[1], "--taxonomy", tmp_path / "tax", "-q")
    assert rows[0] == ["plus", "d:X(1.00),g:G0(1.00)", "+"]
    (tmp_path / "tax").write_text("no tab\n")
    done = subprocess.run(
        program("sintax", files[0], "--db", files[1], "--taxonomy", tmp_path / "tax", device=None), capture_output=True
    )
    assert done.returncode == 3
    assert b"no tab between a name and its taxonomy" in done.stderr


def test_threads_change_nothing(files: tuple[Path, Path, dict[str, str]]) -> None:
    assert sintax(files[0], "--db", files[1], "-t", "1", "-q") == sintax(files[0], "--db", files[1], "-t", "3", "-q")


def test_taxonomies() -> None:
    assert taxonomy_of("x;tax=d:A,p:B,zz,s:C c;size=3") == ["d:A", "p:B", "s:C c"]
    assert taxonomy_of("x;taxa=d:A") == []
    assert ranks_in("s__C; d__A;p__") == ["d:A", "s:C"]
    lines = [["d:A", "p:B", "g:C"], ["d:A", "p:B", "g:D"], ["d:A", "p:B"]]
    assert common_ranks(lines) == ["d:A", "p:B"]
    assert common_ranks([*lines, ["d:A", "p:X"]], 0.75) == ["d:A", "p:B"]
    assert common_ranks([["d:A", "s:S"], ["d:A", "s:S"]]) == ["d:A", "s:S"]
    assert common_ranks([[], ["d:A"]]) == []


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
def test_the_lines_of_vsearch(files: tuple[Path, Path, dict[str, str]], tmp_path: Path) -> None:
    """Where nothing depends on chance."""
    words = ["--db", files[1], "--strand", "both", "--quiet", "--threads", "1"]
    peer = ["vsearch", "--sintax", files[0], *words, "--sintax_cutoff", "0.9", "--tabbedout", tmp_path / "rows"]
    subprocess.run(list(map(str, peer)), check=True)
    theirs = sorted(line.split("\t") for line in (tmp_path / "rows").read_text().splitlines())
    assert sorted(sintax(files[0], "--db", files[1], "--strand", "both", "--cutoff", "0.9", "-q")) == theirs


def test_of_equal_strands_plus_counts(tmp_path: Path) -> None:
    half = random_bases(random.Random(4), 60)
    text = half + reverse_complement(half)
    files = write(tmp_path / "q.fa", {"q": text}), write(tmp_path / "db.fa", {"r;tax=d:A": text})
    assert sintax(files[0], "--db", files[1], "--strand", "both", "-q") == [["q", "d:A(1.00)", "+"]]
