"""The dot plot of matches: what is kept, the picture's structure, and the files."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from gpualign.mems import dotplot, loop
from gpualign.mems.dotplot import DotPlot
from gpualign.mems.run import run_mems
from gpualign.params import RunOptions
from gpualign.run import run_context
from gpualign.seeds.matches.params import MemsParams
from tests.helpers.files import write_fasta
from tests.helpers.sequences import reverse_complement
from tests.helpers.stand_ins import DeviceStandIn
from tests.reference.mems import matches

SVG = "{http://www.w3.org/2000/svg}"
Run = Callable[..., tuple[int, bytes, str]]
Match = tuple[int, int, int, int]


def sequences() -> tuple[list[str], list[str]]:
    """Contigs, and queries that share parts of both of their strands."""
    generator = np.random.default_rng(5)
    contigs = ["".join(generator.choice(list("ACGT"), size)) for size in (300, 40, 200)]
    contigs[2] += contigs[0][50:90]
    queries = [contigs[0][100:200] + "N" + contigs[2], reverse_complement(contigs[0][30:160]), "", "ACGT", contigs[1]]
    return contigs, queries


def expected(minimum: int, kind: str) -> list[Match]:
    """All matches by definition as (query position, reference position, length, reverse), the longest first."""
    contigs, queries = sequences()
    before_query = np.cumsum([0, *map(len, queries)]).tolist()
    before_contig = np.cumsum([0, *map(len, contigs)]).tolist()
    rows = []
    for m in matches(contigs, queries, minimum, "+-", kind):
        left = m.start if m.strand == "+" else len(queries[m.query]) - m.start - m.length
        rows.append(
            (before_query[m.query] + left, before_contig[m.contig] + m.position, m.length, int(m.strand == "-"))
        )
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1], row[3]))


@pytest.mark.parametrize("kind", ["maxmatch", "mum"])
@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("maximum", [1, 3, 1000])
@pytest.mark.parametrize("batch", [1, 1 << 20])
def test_the_longest_matches_are_kept_at_their_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, on_device: bool, maximum: int, batch: int
) -> None:
    contigs, queries = sequences()
    write_fasta(tmp_path / "ref.fa", contigs, prefix="c")
    write_fasta(tmp_path / "query.fa", queries, prefix="q")
    drawn: list[DotPlot] = []
    monkeypatch.setattr(DotPlot, "save", lambda plot, *_: drawn.append(plot))
    monkeypatch.setattr(dotplot, "MAX_DOTS", maximum)
    for sizes, positions in (("CPU_PIECES", 100), ("DEVICE_PIECES", 64), ("SUFFIX_PIECES", 64)):
        monkeypatch.setattr(loop, sizes, getattr(loop, sizes)._replace(first=positions, maximum=positions))
    if on_device:
        monkeypatch.setattr(run_context, "open_backend", lambda *_: DeviceStandIn(2))
    params = MemsParams(min_length=8, kind=kind, strands="both", dotplot="x.png", only_acgt=True)
    options = RunOptions(output=str(tmp_path / "out"), device="cpu", threads=2, quiet=True, batch_size=batch)
    run_mems(str(tmp_path / "ref.fa"), (str(tmp_path / "query.fa"),), params, options)
    rows = expected(8, kind)
    assert drawn[0].total == len(rows)
    assert list(zip(*(column.tolist() for column in drawn[0].longest()), strict=True)) == rows[:maximum]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    contigs, queries = sequences()
    write_fasta(tmp_path / "ref.fa", contigs, prefix="c")
    write_fasta(tmp_path / "query.fa", queries, prefix="q")
    return tmp_path / "ref.fa", tmp_path / "query.fa"


def test_svg(cli: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    pictures = [tmp_path / "1.svg", tmp_path / "2.svg"]
    for picture, threads in zip(pictures, (1, 4), strict=True):
        code, out, error = cli(
            "mems", "-maxmatch", "-b", "-n", "-l", "8", "--dotplot", picture, "--device", "cpu", "-t", threads, *files
        )
        assert code == 0, error
        assert out.count(b">") == 10
    text = pictures[0].read_text()
    assert text.encode() == pictures[1].read_bytes()
    root = ElementTree.fromstring(text)
    rows = expected(8, "maxmatch")
    for strand, (name, colour) in enumerate(dotplot.COLOURS.items()):
        path = root.find(f".//{SVG}g[@id='{name}']/{SVG}path")
        assert path is not None
        assert colour in path.attrib["style"]
        ends = np.array(re.findall(r"[ML] (\S+) (\S+)", path.attrib["d"]), float).reshape(-1, 2, 2)
        assert len(ends) == sum(row[3] == strand for row in rows)
        steps = ends[:, 1] - ends[:, 0]
        assert (steps[:, 0] > 0).all()
        assert ((steps[:, 1] > 0) == bool(strand)).all()  # y grows downwards
    words = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert {"forward", "reverse", "reference", "query", "c0", "c2", "q0", "q1", "q4"} <= set(words)
    assert f"{len(rows)} matches of 8 bases or more" in words
    assert text.count("#bbbbbb") == 2 + 4  # borders between three contigs and five queries


@pytest.mark.parametrize("records", [0, 1, 600])
def test_png_of_few_and_many_records(cli: Run, tmp_path: Path, records: int) -> None:
    write_fasta(tmp_path / "ref.fa", ["ACGTTGCAAC"], prefix="c")
    write_fasta(tmp_path / "query.fa", ["ACGTTGCA"] * records, prefix="q\x01" * 30)
    code, _, error = cli(
        "mems",
        "-l",
        "5",
        "--dotplot",
        tmp_path / "x.png",
        "--device",
        "cpu",
        tmp_path / "ref.fa",
        tmp_path / "query.fa",
    )
    assert code == 0, error
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_a_control_character_in_a_name_leaves_the_svg_readable(cli: Run, tmp_path: Path) -> None:
    write_fasta(tmp_path / "ref.fa", ["ACGTTGCAAC"], prefix="c\x01$x$")
    arguments = ["-l", "5", "--device", "cpu", tmp_path / "ref.fa", tmp_path / "ref.fa"]
    assert cli("mems", "--dotplot", tmp_path / "x.svg", *arguments)[0] == 0
    root = ElementTree.fromstring((tmp_path / "x.svg").read_text())
    assert "c?$x$0" in ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--dotplot", "x.gif"], ".png or .svg"),
        (["--dotplot", "x.png", "-o", "./x.png"], "two outputs are named"),
        (["--dotplot", "x.png", "--dask", "local:1"], "--dotplot cannot be used with --dask"),
    ],
)
def test_refused(cli: Run, files: tuple[Path, Path], options: list[str], reason: str) -> None:
    code, out, error = cli("mems", *options, *files)
    assert (code, out) == (2, b"")
    assert reason in error


def test_without_matplotlib(
    cli: Run, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec

    def missing(name: str, *rest: Any) -> Any:
        return None if name == "matplotlib" else found(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    code, out, error = cli("mems", "--dotplot", tmp_path / "x.png", *files)
    assert (code, out) == (2, b"")
    assert "pip install 'gpualign[plot]'" in error
    assert not (tmp_path / "x.png").exists()
