#!/usr/bin/env python3
"""Draw the pictures of the guides that no command draws, into docs/images: python docs/pictures.py

Each shows what gpualign writes for the example data or for data that this script makes up. Needs matplotlib and pysam.
"""

from __future__ import annotations

import bisect
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pysam

from gpualign.plots.drawing import new_figure, save_figure

DOCS = Path(__file__).resolve().parent
EXAMPLES, IMAGES = DOCS.parent / "examples" / "data", DOCS / "images"
BLUE, ORANGE, GREY = "#2f6f9f", "#d07020", "#999999"
_COMPLEMENT = str.maketrans("ACGT", "TGCA")


def gpualign(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "gpualign", *map(str, words), "-q"], check=True)


def random_bases(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("ACGT", k=count))


def reverse_complement(bases: str) -> str:
    return bases.translate(_COMPLEMENT)[::-1]


def write_fasta(path: Path, **records: str) -> Path:
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in records.items()))
    return path


def draw_protein_search(folder: Path) -> None:
    """Hits of a myoglobin among globins and other proteins."""
    table = folder / "hits.tsv"
    scoring = ("--matrix", "BLOSUM62", "--gapopen", 12, "--gapext", 1)
    queries, proteins = EXAMPLES / "protein_queries.fa", EXAMPLES / "proteins.fa"
    gpualign("pairwise", "--mode", "local", "--top", 60, *scoring, queries, proteins, "-o", table)
    header, *lines = (line.split("\t") for line in table.read_text().splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    hits = [row for row in rows if row["query"] == rows[0]["query"]]
    kinds = {True: ("globins", BLUE), False: ("other proteins", GREY)}
    figure = new_figure(6, 2.6)
    axes = figure.subplots()
    for is_globin, (name, colour) in kinds.items():
        shown = [(i + 1, row) for i, row in enumerate(hits) if bool(_GLOBIN.match(row["target"])) == is_globin]
        axes.plot([rank for rank, _ in shown], [float(row["bits"]) for _, row in shown], ".", color=colour, label=name)
    last = max(i + 1 for i, row in enumerate(hits) if float(row["evalue"]) <= 0.001)
    axes.axvline(last + 0.5, color=ORANGE, linewidth=1, label="E-value of 0.001")
    axes.set_yscale("log")
    scores = (20, 50, 100, 200, 300)
    axes.set_yticks(scores, map(str, scores))
    axes.set_yticks([], minor=True)
    axes.set_xlabel(f"rank of the hit of {hits[0]['query']}")
    axes.set_ylabel("bit score")
    axes.legend(frameon=False)
    save_figure(figure, str(IMAGES / "protein-search.png"))


_GLOBIN = re.compile(r"(?:HB|MYG|GLB|LGB|HMP)")


def aligned_segments(record: pysam.AlignedSegment) -> list[tuple[int, int, int, int]]:
    """Gapless parts of a record as (read start, read end, reference start, reference end), on the read's own strand."""
    assert record.cigartuples is not None
    whole = sum(length for operation, length in record.cigartuples if operation in (0, 1, 4, 5))
    at, position, parts = 0, record.reference_start, []
    for operation, length in record.cigartuples:
        if operation == 0:
            start, stop = (at, at + length) if not record.is_reverse else (whole - at, whole - at - length)
            parts.append((start, stop, position, position + length))
        at += length if operation in (0, 1, 4, 5) else 0
        position += length if operation in (0, 2, 3) else 0
    return parts


def draw_records(figure: Any, path: Path, reference: str) -> None:
    """The records of one read: the reference, which is called so, from left to right, the read upwards."""
    axes = figure.subplots()
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            colour, name = (ORANGE, "supplementary") if record.is_supplementary else (BLUE, "primary")
            for number, (start, stop, left, right) in enumerate(aligned_segments(record)):
                label = f"{name}, {'reverse' if record.is_reverse else 'forward'} strand" if number == 0 else None
                axes.plot([left, right], [start, stop], color=colour, linewidth=2, label=label)
    axes.legend(frameon=False, fontsize=7)
    axes.set_xlabel(f"position in the {reference}")
    axes.set_ylabel("position in the read")


def draw_long_read(folder: Path) -> None:
    """A read over a deletion of 2 kb and an inversion of 4 kb."""
    rng = random.Random(57)
    genome = random_bases(rng, 40_000)
    piece = (
        genome[4_000:10_000] + genome[12_000:20_000] + reverse_complement(genome[20_000:24_000]) + genome[24_000:32_000]
    )
    read = "".join(base if rng.random() > 0.04 else rng.choice(("", base + rng.choice("ACGT"), "A")) for base in piece)
    reference = write_fasta(folder / "genome.fa", chr1=genome)
    gpualign("map", "-x", "ont", reference, write_fasta(folder / "read.fa", read=read), "-o", folder / "long.sam")
    figure = new_figure(6, 3)
    draw_records(figure, folder / "long.sam", "reference")
    save_figure(figure, str(IMAGES / "long-read.png"))


def draw_spliced_read(folder: Path) -> None:
    """A read of 150 bases over an intron of 1,500 bases."""
    rng = random.Random(57)
    genome = random_bases(rng, 5_000)
    reference = write_fasta(folder / "gene.fa", chr1=genome)
    read = genome[1_000:1_090] + genome[2_590:2_650]
    gpualign("map", reference, write_fasta(folder / "spliced.fa", read=read), "-o", folder / "spliced.sam")
    figure = new_figure(6, 2)
    draw_records(figure, folder / "spliced.sam", "genome")
    save_figure(figure, str(IMAGES / "spliced-read.png"))


def draw_contacts(folder: Path) -> None:
    """A contact map of made-up Hi-C pairs: near bases meet often, bases of two domains seldom."""
    rng = random.Random(57)
    genome, borders = random_bases(rng, 300_000), (0, 80_000, 130_000, 220_000, 300_000)
    mates: tuple[list[str], list[str]] = ([], [])
    while len(mates[0]) < 30_000:
        first = rng.randrange(len(genome) - 80)
        second = first + int(2_000 * rng.paretovariate(0.7)) * rng.choice((-1, 1))
        apart = bisect.bisect(borders, first) != bisect.bisect(borders, second)
        if not 0 <= second < len(genome) - 80 or (apart and rng.random() < 0.8):
            continue
        for side, at in enumerate((first, second)):
            mates[side].append(f"@p{len(mates[side])}\n{genome[at : at + 80]}\n+\n{'I' * 80}\n")
    paths = [folder / "hic_1.fq", folder / "hic_2.fq"]
    for path, records in zip(paths, mates, strict=True):
        path.write_text("".join(records))
    gpualign("map", "--hic", write_fasta(folder / "hic.fa", chr1=genome), *paths, "-o", folder / "hic.sam")
    places: tuple[list[int], list[int]] = ([], [])
    with pysam.AlignmentFile(str(folder / "hic.sam")) as file:
        for record in file:
            places[record.is_read2].append(record.reference_start)
    bins = np.arange(0, len(genome) + 1, 5_000)
    counts = np.histogram2d(*places, bins=(bins, bins))[0]
    figure = new_figure(3.6, 3.2)
    axes = figure.subplots()
    shown = axes.imshow(np.log10(1 + counts + counts.T), cmap="Reds", extent=(0, 300, 300, 0))
    figure.colorbar(shown, label="contacts, log10")
    axes.set_xlabel("position, kb")
    save_figure(figure, str(IMAGES / "contacts.png"))


def draw_conversion(folder: Path) -> None:
    """The M-bias of made-up pairs: CpG are methylated to 70 %, the first ten bases of R2 are filled in."""
    rng = random.Random(57)
    genome = random_bases(rng, 100_000)
    methylated = [rng.random() < 0.7 for _ in genome]
    mates: tuple[list[str], list[str]] = ([], [])
    for number in range(6_000):
        at = rng.randrange(len(genome) - 300)
        fragment, end = list(genome[at : at + 250]), rng.random() < 0.5
        if end:
            fragment = list(reverse_complement("".join(fragment)))
        for i, base in enumerate(fragment):
            place = at + i if not end else at + 249 - i
            kept = fragment[i + 1 : i + 2] == ["G"] and methylated[place if not end else place - 1] and i < 240
            fragment[i] = "T" if base == "C" and not kept else base
        text = "".join(fragment)
        for side, read in enumerate((text[:100], reverse_complement(text)[:100])):
            mates[side].append(f"@p{number}\n{read}\n+\n{'I' * 100}\n")
    paths = [folder / "m_1.fq", folder / "m_2.fq"]
    for path, records in zip(paths, mates, strict=True):
        path.write_text("".join(records))
    reference = write_fasta(folder / "meth.fa", chr1=genome)
    gpualign("map", "--meth", reference, *paths, "-o", folder / "m.bam", "--json", folder / "m.json")
    by_position = json.loads((folder / "m.json").read_text())["conversion"]["by_position"]
    figure = new_figure(6, 2.4)
    for axes, (mate, contexts) in zip(figure.subplots(1, 2, sharey=True), by_position.items(), strict=True):
        counts = contexts["CpG"]
        shares = [100 * m / (m + u) for m, u in counts]
        axes.plot(range(1, len(shares) + 1), shares, color=BLUE)
        axes.set_ylim(-3, 100)
        axes.set_title(mate, fontsize=8)
        axes.set_xlabel("base of the read")
    figure.supylabel("methylated CpG, %", fontsize=8)
    save_figure(figure, str(IMAGES / "m-bias.png"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for draw in (draw_protein_search, draw_long_read, draw_spliced_read, draw_contacts, draw_conversion):
            draw(Path(folder))


if __name__ == "__main__":
    main()
