"""Long reads with known loci: pieces of a genome with a sequencer's errors. Same seed, same bytes.

python benchmarks/simulate_long.py SET FOLDER      reads.fq and truth.tsv of one of SETS
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bases import BASES, complement, substitute
from data import genome, read_fasta
from numpy.typing import NDArray


@dataclass(frozen=True)
class LongReadModel:
    """One set of reads. Lengths are log-normal and cut to 1,000 to 50,000 bases.

    Attributes:
        errors: share of the bases that are wrong; each error is a substitution, an insertion or a deletion with the
            probabilities of ``mix``. Insertions and deletions are of geometric length, 1.4 bases on average.
    """

    genome: str
    reads: int
    median: int
    sigma: float
    errors: float
    mix: tuple[float, float, float]
    seed: int


ONT = (0.4, 0.25, 0.35)  # substitutions, insertions, deletions
SETS = {
    "ont5": LongReadModel("chr20", 2000, 6000, 0.9, 0.05, ONT, 21),
    "ont10": LongReadModel("chr20", 2000, 6000, 0.9, 0.10, ONT, 22),
    "ont15": LongReadModel("chr20", 2000, 6000, 0.9, 0.15, ONT, 23),
    "hifi": LongReadModel("chr20", 1500, 13000, 0.35, 0.005, (0.3, 0.35, 0.35), 24),
}
PRESETS = {"ont5": "ont", "ont10": "ont", "ont15": "ont", "hifi": "hifi"}


def with_errors(
    piece: NDArray[np.uint8], errors: float, mix: tuple[float, float, float], rng: np.random.Generator
) -> NDArray[np.uint8]:
    """A read of ``piece``. An error of mean length 1.4 counts for that many bases, so gaps are begun less often."""
    substituted, inserted, deleted = errors / (mix[0] + 1.4 * (mix[1] + mix[2])) * np.array(mix)
    kind = rng.random(len(piece))
    sequence = piece.copy()
    changed = np.flatnonzero(kind < substituted)
    sequence[changed] = substitute(sequence[changed], rng)
    copies = np.ones(len(piece), np.int64)
    grown = np.flatnonzero((kind >= substituted) & (kind < substituted + inserted))
    copies[grown] += rng.geometric(1 / 1.4, len(grown))
    begun = np.flatnonzero((kind >= substituted + inserted) & (kind < substituted + inserted + deleted))
    for first, length in zip(begun, rng.geometric(1 / 1.4, len(begun)), strict=True):
        copies[first : first + length] = 0
    read = np.repeat(sequence, copies)
    new = np.ones(len(read), bool)
    starts = np.cumsum(copies) - copies
    new[starts[copies > 0]] = False
    read[new] = BASES[rng.integers(0, 4, int(new.sum()))]
    return read


def simulate(name: str, folder: Path) -> tuple[Path, Path]:
    """Reads (FASTQ) and truth (name, contig, begin, end, strand; 0-based, half-open) of a set, made if not there."""
    reads, truth = folder / f"{name}.fq", folder / f"{name}.truth.tsv"
    if not truth.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = truth.with_suffix(".part")
        write(SETS[name], reads, part)
        part.rename(truth)
    return reads, truth


def write(model: LongReadModel, reads: Path, truth: Path) -> None:
    """Draw a set."""
    rng = np.random.default_rng(model.seed)
    contigs = {n: np.frombuffer(text, np.uint8) for n, text in read_fasta(genome(model.genome)).items()}
    contig, sequence = max(contigs.items(), key=lambda item: len(item[1]))
    made = 0
    with reads.open("wb") as out, truth.open("w") as loci:
        while made < model.reads:
            length = int(np.clip(rng.lognormal(np.log(model.median), model.sigma), 1000, 50_000))
            begin = int(rng.integers(0, len(sequence) - length))
            piece = sequence[begin : begin + length]
            if (piece == ord("N")).any():
                continue
            strand = "+-"[int(rng.integers(2))]
            read = with_errors(piece, model.errors, model.mix, rng)
            if strand == "-":
                read = complement(read)[::-1]
            out.write(b"@r%d\n%s\n+\n%s\n" % (made, read.tobytes(), b"5" * len(read)))
            loci.write(f"r{made}\t{contig}\t{begin}\t{begin + length}\t{strand}\n")
            made += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    print(*simulate(arguments.set, arguments.folder))


if __name__ == "__main__":
    main()
