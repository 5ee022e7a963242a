"""A genome of any size with repeats like the human one's, for what real genomes at hand are too small for.

    python benchmarks/synthetic_genome.py BASES OUTPUT.fa [--processes N]

Contigs of up to 130 Mbp of random bases, 41 % of them G or C, over which are written, by share of bases (Lander et al.
2001, Initial sequencing and analysis of the human genome, table 11 and section on duplications; rounded):

- copies of one family of 300 bases (as Alu, 10 %), of one of 6,000 of which most copies are a part (as L1, 17 %), and
  of 300 families of 200 to 3,000 bases (17 %), on either strand, each copy 2 to 25 % away from its family;
- arrays of a unit of 171 bases (as alpha satellites, 3 %) and of units of 1 to 6 (microsatellites, 2 %);
- stretches of 10,000 to 100,000 bases of the same contig once more, 1 to 5 % away (segmental duplications, 4 %).

Same bytes for the same size, whatever the processes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from bases import BASES, complement
from data import folder
from numpy.typing import NDArray

CONTIG = 130_000_000
LINE = 100
SEED = 23
_FAMILIES = 300
_MIX = np.frombuffer(b"A" * 59 + b"T" * 59 + b"C" * 41 + b"G" * 41, np.uint8)


def random_bases(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """41 % of them G or C."""
    return _MIX[rng.integers(0, len(_MIX), count, np.uint8)]


def away(sequence: NDArray[np.uint8], rate: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A copy with that share of its bases drawn anew, and half the time of the other strand."""
    copy = sequence.copy()
    at = rng.integers(0, len(copy), rng.poisson(rate * len(copy) * 4 / 3))
    copy[at] = BASES[rng.integers(0, 4, len(at))]
    return complement(copy)[::-1] if rng.random() < 0.5 else copy


def families() -> list[tuple[float, NDArray[np.uint8]]]:
    """(share of the genome, consensus), the same for all contigs."""
    rng = np.random.default_rng(SEED)
    others = [(0.17 / _FAMILIES, random_bases(rng, int(rng.integers(200, 3000)))) for _ in range(_FAMILIES)]
    return [(0.10, random_bases(rng, 300)), (0.17, random_bases(rng, 6000)), *others]


def contig(number: int, length: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng([SEED, number])
    sequence = random_bases(rng, length)
    for share, consensus in families():
        written = 0
        while written < share * length:
            part = consensus
            if len(part) > 3000:  # few copies are whole
                part = part[int(len(part) * (1 - rng.beta(0.5, 3))) - 1 :]
            written += paste(sequence, away(part, rng.uniform(0.02, 0.25), rng), rng)
    for share, minimum, maximum in ((0.03, 171, 171), (0.02, 1, 6)):
        written = 0
        while written < share * length:
            unit = random_bases(rng, int(rng.integers(minimum, maximum + 1)))
            size = int(rng.exponential(100 * len(unit))) + 10 * len(unit)
            written += paste(sequence, away(np.resize(unit, size), rng.uniform(0.01, 0.2), rng), rng)
    written = 0
    while written < 0.04 * length:
        size = min(length // 4, int(rng.integers(10_000, 100_000)))
        start = int(rng.integers(0, length - size))
        written += paste(sequence, away(sequence[start : start + size], rng.uniform(0.01, 0.05), rng), rng)
    return sequence


def paste(sequence: NDArray[np.uint8], copy: NDArray[np.uint8], rng: np.random.Generator) -> int:
    """Write it somewhere; returns its length."""
    copy = copy[: len(sequence) // 2]
    start = int(rng.integers(0, len(sequence) - len(copy)))
    sequence[start : start + len(copy)] = copy
    return len(copy)


def fasta_of(number: int, length: int) -> bytes:
    sequence = contig(number, length)
    lines = np.full((length // LINE, LINE + 1), ord("\n"), np.uint8)
    lines[:, :LINE] = sequence[: length // LINE * LINE].reshape(-1, LINE)
    rest = sequence[length // LINE * LINE :].tobytes()
    return b">synthetic%d\n" % (number + 1) + lines.tobytes() + (rest + b"\n" if rest else b"")


def make(bases: int, output: Path, processes: int) -> None:
    """Write the genome to ``output``."""
    lengths = [min(CONTIG, bases - start) for start in range(0, bases, CONTIG)]
    with ProcessPoolExecutor(processes) as pool, open(output, "wb") as file:
        for text in pool.map(fasta_of, range(len(lengths)), lengths):
            file.write(text)


def indexed(bases: int) -> tuple[Path, Path]:
    """A genome and its saved index, each made once."""
    fasta = folder() / "ref" / f"synthetic{bases}.fa"
    fasta.parent.mkdir(parents=True, exist_ok=True)
    if not fasta.exists():
        make(bases, fasta, 16)
    index = fasta.with_suffix(".gpi")
    if not index.exists():
        subprocess.run([sys.executable, "-m", "gpualign", "index", str(fasta), "-d", str(index)], check=True)
    return fasta, index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bases", type=int)
    parser.add_argument("output", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    make(arguments.bases, arguments.output, arguments.processes)


if __name__ == "__main__":
    main()
