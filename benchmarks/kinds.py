"""Reads of many kinds, with where they came from in their names. Same seed, same bytes.

A read's name is ``number|contig|start|end|strand`` (0-based, half-open), a pair's has both mates': so every mapper's
SAM brings the truth back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from bases import BASES, complement, substitute
from data import genome, read_fasta
from numpy.typing import NDArray

Bases = NDArray[np.uint8]
Contigs = Mapping[str, Bases]
Random = np.random.Generator
ADAPTERS = tuple(
    np.frombuffer(text, np.uint8)
    for text in (
        b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCCGTCTTCTGCTTG",
        b"AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATCATT",
    )
)


class Origin(NamedTuple):
    contig: str
    start: int
    end: int
    reverse: bool

    def __str__(self) -> str:
        return f"{self.contig}|{self.start}|{self.end}|{'-' if self.reverse else '+'}"


Template = tuple[tuple[Bases, Origin], ...]  # a read or a pair
Maker = Callable[[Contigs, Random, int], Iterator[Template]]


@dataclass(frozen=True)
class Kind:
    """A set of reads.

    Attributes:
        make: its templates.
        genome: of data.py, where the reads come from.
        reference: to which they are mapped; None: to the same.
        change: makes other contigs of the genome's.
        templates: how many.
        peers: against which it is judged.
        preset: of gpualign and minimap2.
        own_index: of gpualign, made for reads of that length.
    """

    make: Maker
    genome: str = "chr20"
    reference: str | None = None
    change: Callable[[Contigs, Random], Contigs] | None = None
    templates: int = 20_000
    peers: tuple[str, ...] = ("bwa", "bowtie2", "minibwa")
    preset: str = "sr"
    own_index: bool = False


def load(name: str) -> Contigs:
    return {contig: np.frombuffer(sequence, np.uint8) for contig, sequence in read_fasta(genome(name)).items()}


def locus(contigs: Contigs, rng: Random, span: int) -> tuple[str, Bases, int]:
    """A contig, its bases, and where a span without N begins."""
    names = list(contigs)
    share = np.array([max(0, len(contigs[name]) - span) for name in names], float)
    while True:
        name = names[int(rng.choice(len(names), p=share / share.sum()))]
        start = int(rng.integers(0, len(contigs[name]) - span))
        if np.isin(contigs[name][start : start + span], BASES).all():
            return name, contigs[name][start : start + span], start


def turned(bases: Bases, reverse: bool) -> Bases:
    return complement(bases[::-1]) if reverse else bases


def with_errors(bases: Bases, rate: float, rng: Random, gaps: float = 0.1) -> Bases:
    """Errors, a share of them gaps of one base."""
    kind = rng.random(len(bases)) / rate if rate else np.full(len(bases), 2.0)
    out = np.where(kind < 1 - gaps, substitute(bases, rng), bases)
    copies = np.where(kind >= 1, 1, np.where(kind < 1 - gaps, 1, np.where(kind < 1 - gaps / 2, 0, 2)))
    return np.repeat(out, copies)


def single(length: int, mismatches: int | None = None, errors: float = 0.01, n: float = 0.0, runs: int = 0) -> Maker:
    """Reads with so many mismatches or a rate of errors, a share of N, and so many runs of five N."""

    def make(contigs: Contigs, rng: Random, count: int) -> Iterator[Template]:
        for _ in range(count):
            contig, bases, start = locus(contigs, rng, length + 8)
            reverse = bool(rng.random() < 0.5)
            if mismatches is None:
                read = with_errors(turned(bases, reverse), errors, rng)[:length]
            else:
                read = turned(bases, reverse)[:length].copy()
                at = rng.choice(length, mismatches, replace=False)
                read[at] = substitute(read[at], rng)
            read[rng.random(len(read)) < n] = ord("N")
            for begin in rng.integers(0, length - 4, runs):
                read[begin : begin + 5] = ord("N")
            start += 8 if reverse else 0
            yield ((read, Origin(contig, start, start + length, reverse)),)

    return make


def read_through(contigs: Contigs, rng: Random, count: int) -> Iterator[Template]:
    """Reads of 150 bases of fragments of 10 to 140, that go on into an adapter and what follows it."""
    for _ in range(count):
        span = int(rng.integers(10, 140))
        contig, bases, start = locus(contigs, rng, span)
        reverse = bool(rng.random() < 0.5)
        behind = BASES[rng.integers(0, 4, 150)] if rng.random() < 0.5 else np.full(150, ord("G"), np.uint8)
        parts = (with_errors(turned(bases, reverse), 0.005, rng), ADAPTERS[int(rng.integers(2))], behind)
        yield ((np.concatenate(parts)[:150], Origin(contig, start, start + span, reverse)),)


def pairs(
    length: int,
    *inserts: tuple[float, float, float],
    orientation: str = "fr",
    edge: int | None = None,
    errors: float = 0.01,
) -> Maker:
    """Pairs.

    Args:
        inserts: share, mean and sd of each kind.
        edge: fragments lie so near to an end of a contig.
    """
    shares = np.array([share for share, _, _ in inserts])

    def make(contigs: Contigs, rng: Random, count: int) -> Iterator[Template]:
        for _ in range(count):
            _, mean, sd = inserts[int(rng.choice(len(inserts), p=shares))]
            span = max(length + 8, int(rng.normal(mean, sd)))
            contig, fragment, start = locus(contigs, rng, span)
            while edge is not None and edge < start < len(contigs[contig]) - edge - span:
                contig, fragment, start = locus(contigs, rng, span)
            turn = bool(rng.random() < 0.5)
            backs = {"fr": (False, True), "rf": (True, False), "ff": (False, False)}[orientation]
            mates = []
            for at, back in zip((0, span - length), backs, strict=True):
                read = turned(turned(fragment, turn)[at : at + length], back)
                begin = start + (span - length - at if turn else at)
                origin = Origin(contig, begin, begin + length, turn != back)
                mates.append((with_errors(read, errors, rng)[:length], origin))
            yield tuple(mates)

    return make


def long_reads(mean: int, errors: float, contig: str | None = None) -> Maker:
    """Reads of lengths of a gamma distribution, of one contig alone if it is named; 60 % of the errors are gaps."""

    def make(contigs: Contigs, rng: Random, count: int) -> Iterator[Template]:
        chosen = contigs if contig is None else {contig: contigs[contig]}
        for _ in range(count):
            span = int(np.clip(rng.gamma(3, mean / 3), 500, 8 * mean))
            name, bases, start = locus(chosen, rng, span)
            reverse = bool(rng.random() < 0.5)
            read = with_errors(turned(bases, reverse), errors, rng, 0.6)
            yield ((read, Origin(name, start, start + span, reverse)),)

    return make


def with_duplications(contigs: Contigs, rng: Random) -> Contigs:
    """10 Mb of the first contig, and copies of 40 of its stretches of 20 to 60 kb, of which 0.2 to 3 % are changed."""
    name, bases = next(iter(contigs.items()))
    first = bases[10_000_000:20_000_000]
    copies = []
    for _ in range(40):
        _, stretch, _ = locus({name: first}, rng, int(rng.integers(20_000, 60_000)))
        rate = float(rng.choice([0.002, 0.005, 0.01, 0.03]))
        copies += [with_errors(turned(stretch, bool(rng.random() < 0.5)), rate, rng), BASES[rng.integers(0, 4, 2000)]]
    return {name: first, "copies": np.concatenate(copies)}


def with_repeats(contigs: Contigs, rng: Random) -> Contigs:
    """5 Mb of random bases with 300 copies of 2,000 bases, of which 1 % are changed, and 2 exact copies of 20,000."""
    bases = BASES[rng.integers(0, 4, 5_000_000)]
    unit = BASES[rng.integers(0, 4, 2000)]
    for at in rng.choice(2000, 300, replace=False) * 2400:
        bases[at : at + 2000] = with_errors(unit, 0.01, rng, 0.0)
    bases[4_900_000:4_920_000] = bases[4_850_000:4_870_000]
    return {"family": bases}


KINDS = {
    **{
        f"{length}{', 1 mismatch' * mismatches}": Kind(
            single(length, mismatches), templates=10_000, peers=("bwa", "bwa-aln", "bowtie2"), own_index=True
        )
        for length in (20, 22, 24, 26)
        for mismatches in (0, 1)
    },
    "30, 1 mismatch": Kind(single(30, 1)),
    "50, 2 mismatches": Kind(single(50, 2)),
    "30": Kind(single(30), templates=40_000),
    "36": Kind(single(36), templates=40_000),
    "50": Kind(single(50), templates=40_000),
    "150": Kind(single(150)),
    "adapter": Kind(read_through),
    "10 % N": Kind(single(100, n=0.1)),
    "two runs of N": Kind(single(100, runs=2)),
    "fr": Kind(pairs(100, (1, 350, 40))),
    "rf": Kind(pairs(100, (1, 3000, 300), orientation="rf"), templates=10_000),
    "ff": Kind(pairs(50, (1, 1500, 200), orientation="ff"), templates=10_000),
    "two inserts": Kind(pairs(100, (0.6, 250, 30), (0.4, 2500, 300)), templates=10_000),
    "telomeres": Kind(pairs(100, (1, 350, 40), edge=30_000), "pf"),
    "family": Kind(single(100), change=with_repeats),
    "strain": Kind(pairs(100, (1, 350, 40)), "ecoli_536", "ecoli_mg1655"),
    "strain, long": Kind(long_reads(5000, 0.01), "ecoli_536", "ecoli_mg1655", None, 600, ("minimap2",), "hifi"),
    "duplications": Kind(
        long_reads(4000, 0.08, "copies"), change=with_duplications, templates=1500, peers=("minimap2",), preset="ont"
    ),
}
