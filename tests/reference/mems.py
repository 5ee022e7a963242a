"""Maximal exact matches by definition: equal words of every pair of records, as far as they go on both sides."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from typing import NamedTuple

from tests.helpers.sequences import reverse_complement


class Match(NamedTuple):
    """A match of a strand of a query record; 0-based, ``start`` counts on that strand."""

    query: int
    strand: str
    start: int
    contig: int
    position: int
    length: int


def _runs(target: str, query: str, minimum: int) -> list[tuple[int, int, int]]:
    """(start in query, position in target, length) of the maximal runs of equal A, C, G, T."""
    target, query = re.sub("[^ACGT]", "-", target), re.sub("[^ACGT]", "+", query)
    words = defaultdict(list)
    for position in range(len(target) - minimum + 1):
        words[target[position : position + minimum]].append(position)
    found = []
    for start in range(len(query) - minimum + 1):
        for position in words.get(query[start : start + minimum], ()):
            if start and position and query[start - 1] == target[position - 1]:
                continue  # part of a longer one
            same = zip(query[start:], target[position:], strict=False)
            length = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], same))
            found.append((start, position, length))
    return found


def _occurs_more_often(sequence: str, maximum: int, texts: list[str]) -> bool:
    count = 0
    for text in texts:
        at = text.find(sequence)
        while at >= 0:
            count += 1
            if count > maximum:
                return True
            at = text.find(sequence, at + 1)
    return False


def matches(
    contigs: list[str],
    queries: list[str],
    minimum: int,
    strands: str = "+",
    kind: str = "maxmatch",
    max_occ: int | None = None,
) -> list[Match]:
    """All matches in gpualign's order: record, strand, query start, reference order and position."""
    contigs = [contig.upper() for contig in contigs]
    found = []
    for number, query in enumerate(queries):
        for strand in strands:
            text = query.upper() if strand == "+" else reverse_complement(query.upper())
            block = [
                Match(number, strand, start, contig, position, length)
                for contig, target in enumerate(contigs)
                for start, position, length in _runs(target, text, minimum)
            ]
            found += sorted(match for match in block if _wanted(match, text, contigs, kind, max_occ))
    return found


def _wanted(match: Match, text: str, contigs: list[str], kind: str, max_occ: int | None) -> bool:
    string = text[match.start : match.start + match.length]
    maximum = max_occ if kind == "maxmatch" else 1
    if maximum is not None and _occurs_more_often(string, maximum, contigs):
        return False
    return kind != "mum" or not _occurs_more_often(string, 1, [text])
