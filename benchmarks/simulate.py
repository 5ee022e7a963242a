"""Reads with known loci: a donor genome with variants, fragments of it, sequencing errors. Same seed, same bytes.

    python benchmarks/simulate.py SET FOLDER    reads.fq (or reads_1.fq, reads_2.fq), truth.npz of one of SETS

The truth of a read is the set of diagonals (reference position less read position, on the forward strand) on which its
parts lie: one for a plain read, another after each indel, others for parts from elsewhere.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bases import BASES, complement, substitute
from data import genome, read_fasta
from numpy.typing import NDArray

MAX_PARTS = 4  # diagonals of a read that the truth has space for
NO_DIAGONAL = np.iinfo(np.int64).min // 2


@dataclass(frozen=True)
class ReadModel:
    """One set of reads.

    Attributes:
        genomes: names of data.GENOMES, taken as one reference.
        reads: how many, or pairs.
        length: bases.
        errors: share of bases that are wrong; a tenth of them insertions, a tenth deletions of one base.
        insert: mean and sd of the outer distance of pairs, or None.
        event: "indel": 20 bases deleted or inserted in the middle of each read; "parts": the middle third of the read
            comes from elsewhere on the contig.
        variants: share of the donor's bases that are SNPs (85 %) or begin an indel of 1 to 8 bases.
    """

    genomes: tuple[str, ...]
    reads: int
    length: int
    errors: float
    seed: int
    insert: tuple[float, float] | None = None
    event: str = ""
    variants: float = 0.001


HUMAN = ("chr20", "chrXtrunc")
SETS = {
    "pe150": ReadModel(HUMAN, 500_000, 150, 0.01, 11, (400, 50)),
    "pe100": ReadModel(HUMAN, 200_000, 100, 0.02, 12, (300, 30)),
    "se150": ReadModel(HUMAN, 1_000_000, 150, 0.01, 13),
    "se250": ReadModel(HUMAN, 200_000, 250, 0.05, 14),
    "indel20": ReadModel(HUMAN, 100_000, 150, 0.01, 15, event="indel"),
    "parts3": ReadModel(HUMAN, 100_000, 150, 0.01, 16, event="parts"),
}


@dataclass(frozen=True)
class Donor:
    """One contig with variants: base i lies at ``i + shift`` of the reference, shift being that of the last border."""

    bases: NDArray[np.uint8]
    borders: NDArray[np.int64]
    shifts: NDArray[np.int64]

    def to_reference(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        return at + self.shifts[np.searchsorted(self.borders, at, side="right") - 1]


def donor(reference: NDArray[np.uint8], rate: float, rng: np.random.Generator) -> Donor:
    bases = reference.copy()
    snps = rng.choice(len(bases), int(0.85 * rate * len(bases)), replace=False)
    bases[snps] = substitute(bases[snps], rng)
    loci = np.unique(rng.integers(100, max(101, len(bases) - 100), int(0.15 * rate * len(bases))))
    loci = loci[np.diff(loci, prepend=-100) > 20]
    sizes = np.minimum(8, rng.geometric(0.5, len(loci))) * rng.choice([-1, 1], len(loci))
    pieces, borders, shifts, last, shift = [], [0], [0], 0, 0
    for locus, size in zip(loci.tolist(), sizes.tolist(), strict=True):
        pieces.append(bases[last:locus])
        if size > 0:
            pieces.append(BASES[rng.integers(0, 4, size)])
            last = locus
        else:
            last = locus - size
        shift -= size
        borders.append(last - shift)  # in the donor, after what was inserted
        shifts.append(shift)
    pieces.append(bases[last:])
    return Donor(np.concatenate(pieces), np.array(borders), np.array(shifts))


class Simulator:
    """Fragments and reads of all contigs."""

    def __init__(self, model: ReadModel) -> None:
        self.model = model
        self.rng = np.random.default_rng(model.seed)
        self.names: list[str] = []
        self.donors: list[Donor] = []
        for name in model.genomes:
            for contig, sequence in read_fasta(genome(name)).items():
                self.names.append(contig)
                self.donors.append(donor(np.frombuffer(sequence.upper(), np.uint8), model.variants, self.rng))
        sizes = np.array([len(each.bases) for each in self.donors], float)
        self._share = sizes / sizes.sum()

    def loci(self, count: int, span: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Contigs and starts of spans without N."""
        contig = self.rng.choice(len(self.donors), count, p=self._share)
        start = np.zeros(count, np.int64)
        waiting = np.arange(count)
        while len(waiting):
            for c, each in enumerate(self.donors):
                mine = waiting[contig[waiting] == c]
                start[mine] = self.rng.integers(0, len(each.bases) - span[mine] - 40)
            waiting = np.array([i for i in waiting if self._has_n(contig[i], start[i], span[i])], np.int64)
        return contig, start

    def _has_n(self, contig: int, start: int, span: int) -> bool:
        return b"N" in self.donors[contig].bases[start : start + span + 40].tobytes()

    def read(self, contig: int, start: int, reverse: bool) -> tuple[NDArray[np.uint8], list[int]]:
        """Bases as sequenced and the diagonals, for a read that begins (ends, on the reverse strand) at ``start``."""
        length = self.model.length
        each = self.donors[contig]
        sequence = each.bases[start : start + length + 40]
        if self.model.event == "indel":
            at = int(self.rng.integers(length // 4, 3 * length // 4))
            if self.rng.random() < 0.5:
                sequence = np.concatenate([sequence[:at], sequence[at + 20 :]])
                after = 20
            else:
                sequence = np.concatenate([sequence[:at], BASES[self.rng.integers(0, 4, 20)], sequence[at:]])
                after = -20
            here = each.to_reference(np.array([start, start + at + max(after, 0) + 1])) - [0, at + max(-after, 0) + 1]
            diagonals = [int(here[0]), int(here[1])]
        elif self.model.event == "parts":
            third = length // 3
            there = start
            while abs(there - start) < 1000 or b"N" in each.bases[there : there + third].tobytes():
                there = int(self.rng.integers(0, len(each.bases) - third))
            sequence = sequence.copy()
            sequence[third : 2 * third] = each.bases[there : there + third]
            here = each.to_reference(np.array([start, there, start + 2 * third])) - [0, third, 2 * third]
            diagonals = here.tolist()
        else:
            ends = each.to_reference(np.array([start, start + length - 1])) - [0, length - 1]
            diagonals = [int(ends[0]), int(ends[1])]
        sequence = self._errors(sequence, length)
        return (complement(sequence[::-1]) if reverse else sequence), diagonals

    def _errors(self, sequence: NDArray[np.uint8], length: int) -> NDArray[np.uint8]:
        hits = np.flatnonzero(self.rng.random(length) < self.model.errors)
        kinds = self.rng.random(len(hits))
        sequence = sequence.copy()
        swaps = hits[kinds < 0.8]
        sequence[swaps] = substitute(sequence[swaps], self.rng)
        for at in hits[kinds >= 0.8][::-1]:
            if self.rng.random() < 0.5:
                sequence = np.delete(sequence, at)
            else:
                sequence = np.insert(sequence, at, BASES[self.rng.integers(0, 4)])
        return sequence[:length]

    def run(self, folder: Path) -> None:
        model = self.model
        ends = 2 if model.insert else 1
        span = np.full(model.reads, model.length)
        if model.insert:
            mean, sd = model.insert
            span = np.maximum(model.length, self.rng.normal(mean, sd, model.reads).round().astype(np.int64))
        contig, start = self.loci(model.reads, span)
        turned = self.rng.random(model.reads) < 0.5
        diagonals = np.full((model.reads, ends, MAX_PARTS), NO_DIAGONAL)
        quality = b"F" * model.length
        files = [(folder / (f"reads_{end + 1}.fq" if ends == 2 else "reads.fq")).open("wb") for end in range(ends)]
        for i in range(model.reads):
            for end, file in enumerate(files):
                reverse = bool(turned[i]) != (end == 1)
                at = start[i] + (span[i] - model.length if reverse and ends == 2 else 0)
                sequence, found = self.read(int(contig[i]), int(at), reverse)
                diagonals[i, end, : len(found)] = found
                file.write(b"@%d\n%s\n+\n%s\n" % (i, sequence.tobytes(), quality))
        for file in files:
            file.close()
        reverse = np.stack([turned != (end == 1) for end in range(ends)], axis=1)
        np.savez(folder / "truth.npz", contig=contig, reverse=reverse, diagonals=diagonals, names=np.array(self.names))


def made(name: str, model: ReadModel, folder: Path) -> Path:
    """The folder of a set, made once per number of reads."""
    target = folder / f"{name}-{model.reads}"
    if not (target / "truth.npz").exists():
        target.mkdir(parents=True, exist_ok=True)
        Simulator(model).run(target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    Simulator(SETS[arguments.set]).run(arguments.folder)


if __name__ == "__main__":
    main()
