"""Genes with introns, and the introns of records."""

from __future__ import annotations

from collections.abc import Sequence

import pysam

from tests.helpers.sequences import random_genome

Introns = list[tuple[int, int]]


def gene(
    seed: int, exons: Sequence[int], introns: Sequence[int], ends: tuple[str, str] = ("GTAAGT", "TTTCAG")
) -> tuple[str, str, Introns]:
    """A contig with a gene of these lengths, its transcript, and its introns as BED has them."""
    text, transcript, places = random_genome(seed, 2000), "", []
    for number, length in enumerate(exons):
        exon = random_genome(100 * seed + number, length)
        text += exon
        transcript += exon
        if number < len(introns):
            inner = random_genome(100 * seed + 50 + number, introns[number] - len("".join(ends)))
            places.append((len(text), len(text) + introns[number]))
            text += ends[0] + inner + ends[1]
    return text + random_genome(seed + 1, 2000), transcript, places


def introns(record: pysam.AlignedSegment) -> Introns:
    at, found = record.reference_start, []
    for operation, length in record.cigartuples or ():
        if operation == 3:
            found.append((at, at + length))
        at += length if operation in (0, 2, 3) else 0
    return found
