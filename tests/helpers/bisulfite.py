"""Bisulfite strands and reads with edits, for the tests of `map --meth`."""

from __future__ import annotations

import random
import re

import numpy as np
from numpy.typing import NDArray

from tests.helpers.map_cases import BASES
from tests.helpers.sequences import reverse_complement


def bisulfite(text: str, kept: str = "") -> str:
    """The strand as it is read: C as T, but for the positions in ``kept``, given as CpG or as nothing."""
    if kept == "CpG":
        return re.sub("C(?!G)", "T", text)
    return text.replace("C", "T")


def edited(rng: random.Random, text: str, edits: int) -> str:
    bases = list(text)
    for _ in range(edits):
        at = rng.randrange(10, len(bases) - 10)
        kind = rng.randrange(4)
        if kind < 2:
            bases[at] = rng.choice("ACGT")
        elif kind == 2:
            bases[at] += rng.choice("ACGT")
        else:
            bases[at] = ""
    return "".join(bases)


def converted(rng: np.random.Generator, strand: bytes) -> bytes:
    """A strand as it is read: most C as T but in CpG, or hardly any."""
    kept, level = rng.random(len(strand)), float(rng.choice([0.03, 0.03, 0.95]))
    return bytes(
        ord("T") if base == ord("C") and kept[i] > (0.8 if strand[i + 1 : i + 2] == b"G" else level) else base
        for i, base in enumerate(strand)
    )


def with_some_edits(rng: np.random.Generator, read: bytes, rate: float) -> bytes:
    """Substitutions at a rate; now and then a gap of up to four bases, or an N."""
    bases = np.frombuffer(read, np.uint8).copy()
    changed = rng.random(len(bases)) < rate
    bases[changed] = BASES[rng.integers(0, 4, int(changed.sum()))]
    edited = bytes(bases)
    if rng.random() < 0.3 and len(edited) > 40:
        at, gap = int(rng.integers(5, len(edited) - 5)), int(rng.integers(1, 5))
        inserted = bytes(BASES[rng.integers(0, 4, gap)]) if rng.random() < 0.5 else b""
        edited = edited[:at] + inserted + edited[at + (0 if inserted else gap) :]
    if rng.random() < 0.05 and edited:
        at = int(rng.integers(0, len(edited)))
        edited = edited[:at] + b"N" + edited[at + 1 :]
    return edited


def fragment_of(contigs: list[NDArray[np.uint8]], rng: np.random.Generator, length: int) -> bytes:
    """A strand of a place of a random contig, as it is read; one in twelve is of two places."""
    if rng.random() < 1 / 12:
        half = length // 2
        return fragment_of(contigs, rng, half) + fragment_of(contigs, rng, length - half)
    text = contigs[int(rng.integers(0, len(contigs)))]
    start = int(rng.integers(0, max(1, len(text) - length)))
    piece = bytes(text[start : start + length])
    return converted(rng, reverse_complement(piece) if rng.random() < 0.5 else piece)


def bisulfite_reads(contigs: list[NDArray[np.uint8]], seed: int, count: int, longest: int, pbat: bool) -> list[bytes]:
    """Single reads of 20 bases and more of random strands, with edits; and odd ones."""
    rng = np.random.default_rng(seed)
    reads = []
    for _ in range(count):
        fragment = fragment_of(contigs, rng, int(rng.integers(20, longest)))
        reads.append(
            with_some_edits(rng, reverse_complement(fragment) if pbat else fragment, rng.choice([0, 0.01, 0.05]))
        )
    noise = bytes(BASES[rng.integers(0, 4, 120)])
    return [*reads, b"", b"A", b"ACGT", b"N" * 60, noise, b"T" * 100, b"A" * 100, b"TTG" * 30, b"TA" * 50]


def bisulfite_pairs(
    contigs: list[NDArray[np.uint8]], seed: int, count: int, pbat: bool
) -> tuple[list[bytes], NDArray[np.uint8]]:
    """Reads of up to 100 bases and their mate numbers. Inserts are of about 300, or shorter than the reads; some mates
    are noise or from elsewhere, some reads have none.
    """
    rng = np.random.default_rng(seed)
    reads: list[bytes] = []
    mates: list[int] = []
    adapters = bytes(BASES[rng.integers(0, 4, 100)]), bytes(BASES[rng.integers(0, 4, 100)])
    for _ in range(count):
        kind = rng.random()
        insert = int(rng.integers(32, 100)) if kind < 0.1 else int(rng.normal(300, 30))
        fragment = fragment_of(contigs, rng, max(32, insert))
        ends = [(fragment + adapters[0])[:100], (reverse_complement(fragment) + adapters[1])[:100]]
        ends = [with_some_edits(rng, end, float(rng.choice([0, 0.01, 0.03]))) for end in ends]
        if 0.1 < kind < 0.15:
            ends[1] = bytes(BASES[rng.integers(0, 4, 100)])
        elif kind < 0.2:
            ends[1] = reverse_complement(fragment_of(contigs, rng, 100))
        elif kind < 0.25:
            ends[1] = with_some_edits(rng, ends[1], 0.12)
        elif kind < 0.28:
            ends[1] = ends[1][: int(rng.integers(1, 40))]
        if pbat:
            ends.reverse()
        if kind > 0.95:
            reads.append(ends[0])
            mates.append(0)
        else:
            reads += ends
            mates += [1, 2]
    return reads, np.array(mates, np.uint8)
