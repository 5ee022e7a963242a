"""Draws the pictures of examples/README.md from what its commands write: python examples/pictures.py FOLDER

FOLDER is where the commands ran. Needs matplotlib. Those of `pairwise` and `mems` are drawn by the commands.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pysam

from gpualign.plots.drawing import new_figure, save_figure

BLUE, ORANGE = "#2f6f9f", "#d07020"
IMAGES = Path(__file__).parent / "images"


def column(path: Path, name: str) -> np.ndarray:
    """A column of numbers of a table with a header."""
    header, *rows = path.read_text().splitlines()
    number = header.split("\t").index(name)
    return np.array([float(row.split("\t")[number]) for row in rows])


def draw_map(folder: Path) -> None:
    """Depth along the genomes."""
    figure = new_figure(6, 3.2)
    with pysam.AlignmentFile(str(folder / "bee.bam")) as bam:
        names = [name for name in bam.references if bam.count(name)]
        for axes, name in zip(figure.subplots(len(names), sharex=True, squeeze=False)[:, 0], names, strict=True):
            depth = np.sum(bam.count_coverage(name, quality_threshold=0), axis=0)
            axes.fill_between(np.arange(len(depth)), depth, color=BLUE, linewidth=0)
            axes.set_title(name, loc="left", fontsize=7, pad=2)
    axes.set_xlabel("position")
    figure.supylabel("reads at a position", fontsize=8)
    save_figure(figure, str(IMAGES / "map.png"))


def draw_index(folder: Path) -> None:
    """What an index costs and finds: its minimizers by its window."""
    figure = new_figure(6, 2.2)
    axes = figure.subplots()
    sizes = {path.suffixes[-2][2:]: path.stat().st_size / 1000 for path in folder.glob("genomes.w*.gpi")}
    windows = sorted(sizes, key=int)
    axes.bar(windows, [sizes[window] for window in windows], color=BLUE)
    axes.set_xlabel("window w: every exact match of w + k - 1 bases has a minimizer in the index")
    axes.set_ylabel("size of the index, kB")
    save_figure(figure, str(IMAGES / "index.png"))


def draw_verify(folder: Path) -> None:
    """Edit distances of reads to the regions that they map to."""
    figure = new_figure(6, 2.2)
    axes = figure.subplots()
    distances = column(folder / "near.tsv", "distance").astype(int)
    axes.bar(np.arange(distances.max() + 1), np.bincount(distances), color=BLUE)
    axes.set_xlabel("edit distance of a read to its region")
    axes.set_ylabel("reads")
    save_figure(figure, str(IMAGES / "verify.png"))


def draw_lcs(folder: Path) -> None:
    """Lengths of the longest common subsequences, best first."""
    figure = new_figure(6, 2.2)
    axes = figure.subplots()
    lengths, subjects = column(folder / "best.tsv", "lcs"), column(folder / "best.tsv", "slen")
    ranks = np.arange(1, len(lengths) + 1)
    axes.plot(ranks, subjects, ".", color=ORANGE, markersize=3, label="bases of the gene")
    axes.plot(ranks, lengths, color=BLUE, label="in common with the query, in order")
    axes.set_xlabel("rank of the gene")
    axes.set_ylabel("bases")
    axes.legend(frameon=False)
    save_figure(figure, str(IMAGES / "lcs-filter.png"))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/pictures.py FOLDER")
    folder = Path(sys.argv[1])
    IMAGES.mkdir(exist_ok=True)
    for draw in (draw_map, draw_index, draw_verify, draw_lcs):
        draw(folder)


if __name__ == "__main__":
    main()
