"""``pairwise --resume``: tiles are kept, found again, refused and repaired."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gpualign.errors import UsageError
from gpualign.pairwise import run as pairwise
from gpualign.run.tiles import Tiles, digest

Cli = Callable[..., tuple[int, bytes, str]]


@dataclass(frozen=True)
class Numbers:
    values: np.ndarray
    extra: np.ndarray | None = None


def compute(counted: list[int]) -> Callable[[Iterator[int]], Iterator[Numbers]]:
    def results(items: Iterator[int]) -> Iterator[Numbers]:
        for item in items:
            counted.append(item)
            yield Numbers(np.arange(item), None if item % 2 else np.array([item]))

    return results


def run(folder: Path, count: int, stop: int | None = None, name: str = "a") -> tuple[list[Numbers], list[int]]:
    counted: list[int] = []
    results = Tiles(str(folder), name, Numbers, "test").run(range(count), compute(counted))
    kept = []
    for result in results:
        kept.append(result)
        if stop is not None and len(kept) == stop:
            break
    return kept, counted


def check(results: list[Numbers], count: int) -> None:
    assert [len(result.values) for result in results] == list(range(count))
    assert [result.extra is None for result in results] == [bool(i % 2) for i in range(count)]


def test_a_run_goes_on(tmp_path: Path) -> None:
    assert run(tmp_path / "new" / "tiles", 9, stop=4)[1] == [0, 1, 2, 3]
    results, counted = run(tmp_path / "new" / "tiles", 9)
    assert counted == [4, 5, 6, 7, 8]
    check(results, 9)
    results, counted = run(tmp_path / "new" / "tiles", 9)
    assert counted == []
    check(results, 9)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-3], lambda data: b"", lambda data: data[:-9] + b"x" + data[-8:]]
)
def test_damaged_tiles_are_computed_again(
    damage: Callable[[bytes], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, 8)
    tiles = sorted(tmp_path.glob("*.tile"))
    for i in (2, 5):
        tiles[i].write_bytes(damage(tiles[i].read_bytes()))
    results, counted = run(tmp_path, 8)
    assert counted == [2, 5]
    check(results, 8)
    said = capsys.readouterr().err
    assert [said.count(f"{tile} is damaged: computing it again") for tile in tiles] == [0, 0, 1, 0, 0, 1, 0, 0]


def test_missing_tiles_are_computed(tmp_path: Path) -> None:
    run(tmp_path, 8)
    tiles = sorted(tmp_path.glob("*.tile"))
    for i in (0, 1, 7):
        tiles[i].unlink()
    results, counted = run(tmp_path, 8)
    assert counted == [0, 1, 7]
    check(results, 8)


def test_another_runs_tiles_are_refused(tmp_path: Path) -> None:
    run(tmp_path / "tiles", 3)
    with pytest.raises(UsageError, match="tiles of another run"):
        run(tmp_path / "tiles", 3, name="b")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.doc").write_text("")
    with pytest.raises(UsageError, match="a folder of its own"):
        run(tmp_path / "full", 3)
    (tmp_path / "tiles" / "run.json").write_text("[")
    with pytest.raises(UsageError, match="no tiles that can be used"):
        run(tmp_path / "tiles", 3)


def test_digests_tell_contents_apart() -> None:
    values = [
        1,
        "1",
        (1, 2),
        (12,),
        ("a", "bc"),
        ("ab", "c"),
        np.array([1, 2], np.int32),
        np.array([1, 2], np.int64),
        np.array([[1, 2]], np.int32),
        Numbers(np.array([1])),
        {"a": 1},
    ]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(Numbers(np.array([1]))) == digest(Numbers(np.array([1])))


@pytest.fixture
def sequences(tmp_path: Path) -> Path:
    symbols = random.Random(3)
    path = tmp_path / "sequences.fa"
    path.write_text("".join(f">s{i}\n{''.join(symbols.choices('ACGT', k=20 + i))}\n" for i in range(40)))
    return path


@pytest.mark.parametrize(
    "options", [(), ("--strand", "both", "--id", "0.5"), ("--max-gaps", 1), ("--max-gaps", 1, "--best")]
)
def test_interrupted_command_gives_the_same_bytes(
    options: tuple[object, ...], sequences: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairwise, "KEPT_BLOCK", (64, 1 << 29))
    words = ["pairwise", sequences, *options, "--batch-size", "1K"]
    alone = cli(*words)
    resume = [*words, "--resume", tmp_path / "tiles"]
    assert cli(*resume)[1] == alone[1]
    tiles = sorted((tmp_path / "tiles").glob("*.tile"))
    assert len(tiles) == -(-780 // 64)
    for tile in tiles[5:]:
        tile.unlink()
    before = {tile: tile.stat().st_mtime_ns for tile in tiles[:5]}
    assert cli(*resume, "-t", 1)[1] == alone[1]
    assert {tile: tile.stat().st_mtime_ns for tile in before} == before
    code, _, message = cli(*resume, "--gapext", 2)
    assert code == 2
    assert "holds tiles of another run" in message
