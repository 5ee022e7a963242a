"""The heat map of identities: its values, its size, and the files."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from gpualign.align.score.alignments import PairAlignments
from gpualign.pairwise import heatmap
from gpualign.pairwise.heatmap import Heatmap

SVG = "{http://www.w3.org/2000/svg}"
Run = Callable[..., tuple[int, bytes, str]]


def pairs(*rows: tuple[int, int, int, int]) -> PairAlignments:
    """Gapless alignments (query, target, matches, mismatches)."""
    query, target, matches, mismatches = np.array(rows, np.int32).reshape(-1, 4).T
    columns, none = matches + mismatches, np.zeros(len(rows), np.int32)
    return PairAlignments(
        query,
        target,
        np.zeros(len(rows), bool),
        none,
        np.stack([columns, columns], 1).astype(np.int64),
        np.stack([none, columns, none, columns], 1),
        np.stack([matches, mismatches, none, none], 1),
        np.zeros(0, np.uint32),
        np.zeros(len(rows) + 1, np.int64),
    )


def test_one_set_is_symmetric() -> None:
    drawn = Heatmap(["a", "b", "c"], ["a", "b", "c"], True, "global", 1)
    drawn.add(pairs((0, 1, 9, 1), (1, 2, 5, 5)))
    drawn.add(pairs())
    expected = [[100, 90, np.nan], [90, 100, 50], [np.nan, 50, 100]]
    np.testing.assert_allclose(drawn.values(), expected)


def test_two_sets() -> None:
    drawn = Heatmap(["a"], ["b", "c"], False, "global", 1)
    drawn.add(pairs((0, 1, 3, 1)))
    np.testing.assert_allclose(drawn.values(), [[np.nan, 75]])


def test_many_sequences_share_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heatmap, "MAX_CELLS", 2)
    names = [str(i) for i in range(4)]
    drawn = Heatmap(names, names, False, "global", 1)
    drawn.add(pairs((0, 0, 10, 0), (1, 1, 5, 5), (0, 3, 1, 9)))
    np.testing.assert_allclose(drawn.values(), [[75, 10], [np.nan, np.nan]])


@pytest.fixture
def three(tmp_path: Path) -> Path:
    path = tmp_path / "three.fa"
    path.write_text(">one\nACGTACGTAC\n>two$x$\nACGTACGTAA\n>three\nTTTTTTTTTT\n")
    return path


def test_svg_names_and_bytes(cli: Run, three: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / "1.svg", tmp_path / "2.svg"]
    for picture, threads in zip(pictures, (1, 4), strict=True):
        code, out, error = cli("pairwise", three, "--plot", picture, "--device", "cpu", "-t", threads)
        assert code == 0, error
        assert out.count(b"\n") == 4
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    root = ElementTree.fromstring(pictures[0].read_text())
    texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert texts.count("one") == texts.count("two$x$") == texts.count("three") == 2
    assert "identity, %" in texts
    assert len(list(root.iter(f"{SVG}image"))) == 2  # the map and the colour bar


def test_png_of_two_files_and_nothing(cli: Run, three: Path, tmp_path: Path) -> None:
    empty, picture = tmp_path / "empty.fa", tmp_path / "x.png"
    empty.write_text("")
    for second in (three, empty):
        code, _, error = cli("pairwise", three, second, "--plot", picture, "--device", "cpu", "--id", "0.9")
        assert code == 0, error
        assert picture.read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--plot", "x.gif"], ".png or .svg"),
        (["--plot", "x.png", "--score-only"], "--score-only finds no identity"),
        (["--plot", "x.png", "--max-gaps", "1"], "--plot cannot be used with --max-gaps"),
    ],
)
def test_refused(cli: Run, three: Path, options: list[str], reason: str) -> None:
    code, out, error = cli("pairwise", three, *options)
    assert (code, out) == (2, b"")
    assert reason in error


def test_without_matplotlib(cli: Run, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def missing(name: str, *rest: Any) -> Any:
        return None if name == "matplotlib" else found(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    code, out, error = cli("pairwise", three, "--plot", tmp_path / "x.png")
    assert (code, out) == (2, b"")
    assert "pip install 'gpualign[plot]'" in error
    assert not (tmp_path / "x.png").exists()
