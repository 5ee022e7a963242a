"""Maximal exact matches by definition: walk every diagonal of every pair of records."""

from __future__ import annotations

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
    found = []
    for diagonal in range(-len(query) + 1, len(target)):
        start = max(0, -diagonal)
        length = 0
        for i in range(start, min(len(query), len(target) - diagonal) + 1):
            inside = i < len(query) and i + diagonal < len(target)
            if inside and query[i] == target[i + diagonal] and query[i] in "ACGT":
                length += 1
                continue
            if length >= minimum:
                found.append((i - length, i - length + diagonal, length))
            length = 0
    return found


def _occurrences(text: str, sequence: str) -> int:
    return sum(text.startswith(sequence, i) for i in range(len(text)))


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
    if maximum is not None and sum(_occurrences(contig, string) for contig in contigs) > maximum:
        return False
    return kind != "mum" or _occurrences(text, string) == 1
