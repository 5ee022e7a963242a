"""Pairs of made-up genomes: contigs, and what became of them."""

from __future__ import annotations

import random

from tests.helpers.sequences import reverse_complement


def genome_pair(seed: int, divergence: float, bases: int = 12_000) -> tuple[list[str], list[str]]:
    """Contigs of a reference with a repeat family, and of a genome that has substitutions and indels at this rate, and
    inversions, duplications, deletions and insertions of some hundred bases.
    """
    draw = random.Random(seed)

    def dna(length: int) -> str:
        return "".join(draw.choices("ACGT", k=length))

    repeat = dna(700)
    reference = [dna(bases // 2), dna(bases // 3), dna(bases - bases // 2 - bases // 3)]
    reference = [_with_copies(draw, contig, repeat) for contig in reference]
    query = []
    for contig in reference:
        pieces = [contig[i : i + 1500] for i in range(0, len(contig), 1500)]
        for i in range(len(pieces)):
            event = draw.random()
            if event < 0.15:
                pieces[i] = reverse_complement(pieces[i])
            elif event < 0.25:
                pieces[i] += pieces[i][200:900]
            elif event < 0.35:
                pieces[i] = pieces[i][: draw.randrange(400, 1400)]
            elif event < 0.45:
                pieces[i] += dna(draw.randrange(10, 400))
        query.append(mutated(draw, "".join(pieces), divergence))
    draw.shuffle(query)
    return reference, [reverse_complement(contig) if draw.random() < 0.3 else contig for contig in query]


def mutated(draw: random.Random, text: str, rate: float) -> str:
    """With substitutions, and an indel of geometric length for each six of them."""
    result: list[str] = []
    i = 0
    while i < len(text):
        if draw.random() >= rate:
            result.append(text[i])
            i += 1
            continue
        kind = draw.randrange(14)
        if kind == 12:
            i += min(40, int(draw.expovariate(0.3)) + 1)
        elif kind == 13:
            result.extend(draw.choices("ACGT", k=min(40, int(draw.expovariate(0.3)) + 1)))
        else:
            result.append(draw.choice("ACGT".replace(text[i], "")))
            i += 1
    return "".join(result)


def _with_copies(draw: random.Random, contig: str, repeat: str) -> str:
    at = draw.randrange(len(contig))
    return contig[:at] + mutated(draw, repeat, 0.02) + contig[at:]
