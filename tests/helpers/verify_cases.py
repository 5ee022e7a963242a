"""Random pairs for ``verify`` and what edlib says about them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import edlib
import numpy as np

from gpualign.align.edit.cpu import MODES, VerifyPairs
from gpualign.sequences.batch import join_bytes
from tests.helpers.sequences import make_reference, mutate, random_text, reverse_complement

_EDLIB_MODES = {"infix": "HW", "prefix": "SHW", "global": "NW"}
#: around the borders of words, lanes and tiles
LENGTHS = (1, 2, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 150, 160, 161, 255, 256, 257)
LONG_LENGTHS = (400, 511, 512, 513, 600, 1000, 1023, 1024, 1025, 1700, 2100)


@dataclass(frozen=True)
class Case:
    """A query as it lies on the text's strand, the text, whether the query is given reversed, the limit."""

    query: str
    text: str
    reverse: bool
    limit: int


def random_cases(rng: random.Random, count: int, lengths=LENGTHS) -> list[Case]:
    """Pairs near and far, with N in either side, on both strands, limits below, at and above the distance."""
    cases = []
    for i in range(count):
        length = rng.choice(lengths)
        text = random_text(rng, rng.choice(lengths) + rng.randrange(20), "ACGTN" if i % 7 == 0 else "ACGT")
        if rng.random() < 0.75:
            at = rng.randrange(len(text))
            query = mutate(rng, text[at : at + length], rng.choice((0, 0.02, 0.1, 0.3)))
            query += random_text(rng, max(0, length - len(query)) if i % 5 == 0 else 0)
        else:
            query = random_text(rng, length)
        if i % 11 == 0:
            query = query[:3] + "N" + query[4:]
        query = query or "A"
        limit = rng.choice((2 * len(query), len(query), len(query) // 5, len(query) // 20, 3, 0))
        cases.append(Case(query, text, rng.random() < 0.5, limit))
    return cases


def as_pairs(cases: list[Case], mode: str) -> VerifyPairs:
    """One batch of all cases, each against the whole of its text."""
    reference = make_reference(*(case.text for case in cases))
    queries = [reverse_complement(case.query) if case.reverse else case.query for case in cases]
    bases, offsets = join_bytes([query.encode() for query in queries])
    return VerifyPairs(
        reference,
        bases,
        offsets,
        np.array([case.limit for case in cases], np.int32),
        np.arange(len(cases), dtype=np.int32),
        reference.contig_offsets[:-1].astype(np.uint32),
        reference.contig_offsets[1:].astype(np.uint32),
        np.array([case.reverse for case in cases], np.uint8),
        MODES[mode],
    )


def edlib_answer(case: Case, mode: str) -> tuple[int, int, int] | None:
    """(distance, start, end) half-open, -1 beyond the limit; None for a start or end where edlib has no say.

    In edlib's infix mode an alignment that uses nothing of the text has no proper position; ours is the empty one at 0.
    """
    result = edlib.align(case.query.replace("N", "x"), case.text, mode=_EDLIB_MODES[mode], task="locations")
    distance = result["editDistance"]
    if distance > case.limit:
        return -1, 0, 0
    if mode == "global":
        return distance, 0, len(case.text)
    if distance == len(case.query):
        return distance, 0, 0
    start, end = result["locations"][0]
    return distance, start if mode == "infix" else 0, end + 1
