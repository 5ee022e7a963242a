"""The tutorial runs as it stands, and what it says of the data is so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import parasail
import pytest
from matplotlib.image import imread

import gpualign
from tests.helpers.paths import EXAMPLES

TUTORIAL = EXAMPLES.parent / "tutorial.py"
pytestmark = pytest.mark.slow  # a tree and three pictures


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Its pictures, and what it prints."""
    folder = tmp_path_factory.mktemp("tutorial") / "pictures"
    done = subprocess.run(
        [sys.executable, str(TUTORIAL), str(folder)], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stderr == ""
    return folder, done.stdout


def test_pictures(tutorial: tuple[Path, str]) -> None:
    folder, _ = tutorial
    assert sorted(path.name for path in folder.iterdir()) == ["coverage.png", "dotplot.png", "tree.png"]
    for path in folder.iterdir():
        pixels = imread(path)
        assert min(pixels.shape[:2]) > 300
        assert 0.01 < np.mean(pixels[:, :, :3].min(axis=2) < 0.5) < 0.9  # some of it is drawn


def test_what_it_prints(tutorial: tuple[Path, str]) -> None:
    _, printed = tutorial
    assert "95 of 7140 pairs are at least 97 % identical" in printed
    assert "... 7,130 more rows" in printed
    records = gpualign.Mapper(EXAMPLES / "genomes.fa", device="cpu").map(EXAMPLES / "SRR059298_25k.fastq.gz")
    primary = (records["flag"] & 0x904) == 0
    assert f"{np.count_nonzero(primary)} reads are of these viruses" in printed


def test_the_closest_genes_by_parasail(tutorial: tuple[Path, str]) -> None:
    """The alignment that is printed first has one mismatch."""
    genes = gpualign.read_sequences(EXAMPLES / "amplicons.fa")
    names = [genes.name(i) for i in range(len(genes))]
    first = [line.split() for line in tutorial[1].splitlines() if line.startswith(("query b2", "target fb"))]
    query, target = (genes.sequence(names.index(line[1])).decode() for line in first[:2])
    traced = parasail.nw_trace(query, target, 20, 2, parasail.matrix_create("ACGT", 2, -4)).traceback
    assert "".join(line[3] for line in first if line[0] == "query") == traced.query
    assert "".join(line[3] for line in first if line[0] == "target") == traced.ref
    assert len(traced.query) - sum(a == b for a, b in zip(traced.query, traced.ref, strict=True)) == 1
