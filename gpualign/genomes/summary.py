"""``align --report``: the tables of MUMmer's dnadiff, bases, alignments, rearrangements and differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gpualign.genomes.blocks import Blocks, Comparison, Side
from gpualign.genomes.filters import best_of
from gpualign.genomes.tables import conflicts_of, differences_of, distances_to_neighbours

#: equal bases around a "good" difference, at least
_GOOD = 20
_BASES = "ACGT"


@dataclass
class _Features:
    """What interrupts the alignments along the sequences of one genome; a sum is of bases."""

    aligned_sequences: int = 0
    aligned_bases: int = 0
    breakpoints: int = 0
    insertions: list[int] = field(default_factory=list)
    tandem: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


def report(comparison: Comparison, threads: int) -> bytes:
    """The report on alignments that are not filtered, as text."""
    blocks = comparison.blocks
    by_query, by_reference = best_of(blocks, by_query=True), best_of(blocks, by_query=False)
    many = blocks.take(by_query | by_reference)
    one = comparison.with_blocks(blocks.take(by_query & by_reference))
    flags = by_reference[by_query | by_reference], by_query[by_query | by_reference]
    sides = comparison.reference, comparison.query
    features = [_features(many, side, flags, of_query) for of_query, side in enumerate(sides)]
    lines = [f"{sides[0].path} {sides[1].path}\nNUCMER\n", _row("", "[REF]", "[QRY]"), "[Sequences]"]
    totals = [len(side.names) for side in sides]
    aligned = [found.aligned_sequences for found in features]
    lines += [_row("TotalSeqs", *totals), _shares("AlignedSeqs", aligned, totals)]
    lines.append(_shares("UnalignedSeqs", [all_ - part for all_, part in zip(totals, aligned, strict=True)], totals))
    bases = [int(side.lengths.sum()) for side in sides]
    aligned = [found.aligned_bases for found in features]
    lines += ["\n[Bases]", _row("TotalBases", *bases), _shares("AlignedBases", aligned, bases)]
    lines.append(_shares("UnalignedBases", [all_ - part for all_, part in zip(bases, aligned, strict=True)], bases))
    lines += ["\n[Alignments]", *_alignments("1-to-1", one.blocks), "", *_alignments("M-to-M", many)]
    lines += ["\n[Feature Estimates]", _row("Breakpoints", *(found.breakpoints for found in features))]
    for name, kind in (("Relocations", "JMP"), ("Translocations", "SEQ"), ("Inversions", "INV")):
        lines.append(_row(name, *(found.kinds[kind] for found in features)))
    lines += ["", *_sums("Insertion", "Insertions", [found.insertions for found in features])]
    lines += ["", *_sums("TandemIns", "TandemIns", [found.tandem for found in features])]
    lines += ["\n[SNPs]", *_differences(one, threads)]
    return ("\n".join(lines) + "\n").encode("latin-1")


def _row(name: str, one: object, other: object) -> str:
    return f"{name:<15} {one:>20} {other:>20}"


def _shares(name: str, parts: list[int], wholes: list[int]) -> str:
    shown = [
        f"{part:10d}({part / whole * 100 if whole else 0:.4f}%)" for part, whole in zip(parts, wholes, strict=True)
    ]
    return _row(name, *shown)


def _alignments(name: str, blocks: Blocks) -> list[str]:
    lengths = blocks.reference_end - blocks.reference_start, blocks.query_end - blocks.query_start
    sums = [int(length.sum()) for length in lengths]
    means = [f"{total / max(1, len(blocks)):.4f}" for total in sums]
    shown = np.array([float(f"{identity:.2f}") for identity in blocks.shown_identity.tolist()])
    weights = lengths[0] + lengths[1]
    identity = f"{float((shown * weights).sum() / max(1, weights.sum())):.4f}"
    return [
        _row(name, len(blocks), len(blocks)),
        _row("TotalLength", *sums),
        _row("AvgLength", *means),
        _row("AvgIdentity", identity, identity),
    ]


def _sums(name: str, count: str, found: list[list[int]]) -> list[str]:
    means = [f"{sum(each) / max(1, len(each)):.4f}" for each in found]
    sums = [sum(each) for each in found]
    return [_row(count, *map(len, found)), _row(f"{name}Sum", *sums), _row(f"{name}Avg", *means)]


def _features(blocks: Blocks, side: Side, flags: tuple[np.ndarray, np.ndarray], of_query: int) -> _Features:
    """Along the sequences of a side; ``flags``: which alignments are best by reference and by query."""
    sequence, other = (blocks.query, blocks.reference) if of_query else (blocks.reference, blocks.query)
    start, end, other_start, other_end = (
        (blocks.query_start, blocks.query_end, blocks.reference_start, blocks.reference_end)
        if of_query
        else (blocks.reference_start, blocks.reference_end, blocks.query_start, blocks.query_end)
    )
    here, there = (flags[1], flags[0]) if of_query else flags
    found = _Features()
    found.breakpoints = int((start != 0).sum() + (end != side.lengths[sequence]).sum())
    # the place of each alignment among those that are best in the other genome, by that genome's order
    rank = np.full(len(blocks), -1, np.int64)
    order = np.lexsort((other_start, other, sequence))
    order = order[there[order]]
    rank[order] = np.arange(len(order))
    by_start = np.lexsort((start, sequence))
    for number in np.unique(sequence).tolist():
        found.aligned_sequences += 1
        found.aligned_bases += int(side.lengths[number])
        listed = by_start[(sequence[by_start] == number) & here[by_start]].tolist()
        length = int(side.lengths[number])
        for kind, gap, other_gap in _walk(
            listed, length, start, end, other, other_start, other_end, blocks.reverse, rank, there
        ):
            if kind == "BRK" and gap <= 0:
                continue
            found.kinds[kind] += 1
            if kind != "DUP":
                found.aligned_bases -= max(0, gap)
            inserted = max(gap, gap - other_gap) if kind == "GAP" else gap
            if inserted > 0:
                found.insertions.append(inserted)
            if kind == "GAP" and gap <= 0 and other_gap <= 0 and gap > other_gap:
                found.tandem.append(gap - other_gap)
    return found


def _walk(
    listed: list[int],
    length: int,
    start: np.ndarray,
    end: np.ndarray,
    other: np.ndarray,
    other_start: np.ndarray,
    other_end: np.ndarray,
    reverse: np.ndarray,
    rank: np.ndarray,
    there: np.ndarray,
) -> Iterator[tuple[str, int, int]]:
    """The breaks between neighbouring alignments of a sequence: kind, bases in it, and bases in the other genome."""
    before = last = -1  # the alignment before, and the last one that is best in the other genome as well
    for i in listed:
        gap = int(start[i]) - (int(end[before]) if before >= 0 else 0)
        if not there[i]:
            yield "BRK", gap, 0
            yield "DUP", int(end[i] - start[i]), 0
        elif last < 0:
            yield "BRK", gap, 0
        elif other[i] != other[last]:
            yield "SEQ", gap, 0
        elif reverse[i] != reverse[last]:
            yield "INV", gap, 0
        elif rank[i] != rank[last] + (-1 if reverse[last] else 1):
            yield "JMP", gap, 0
        elif before != last:
            yield "BRK", gap, 0
        else:
            apart = other_start[last] - other_end[i] if reverse[i] else other_start[i] - other_end[last]
            yield "GAP", gap, int(apart)
        if there[i]:
            last = i
        before = i
    yield "BRK", length - (int(end[before]) if before >= 0 else 0), 0


def _differences(comparison: Comparison, threads: int) -> Iterator[str]:
    """Counts by the bases that differ, where one alignment lies."""
    found = differences_of(comparison, threads)
    conflicts, distances = conflicts_of(comparison, found), distances_to_neighbours(comparison, found, by_query=False)
    alone = (conflicts[0] == 0) & (conflicts[1] == 0)
    pairs = found.reference_base.astype(np.int64) * 256 + found.query_base
    counts, good = (Counter(pairs[chosen].tolist()) for chosen in (alone, alone & (distances >= _GOOD)))
    substitutions = [a + b for a in _BASES for b in _BASES if a != b]
    indels = [*(f"{base}." for base in _BASES), *(f".{base}" for base in _BASES)]
    sections = [
        (f"Total{kind}{name}", counted, gaps)
        for name, gaps in (("SNPs", False), ("Indels", True))
        for kind, counted in (("", counts), ("G", good))
    ]
    for number, (name, counted, gaps) in enumerate(sections):
        total = sum(count for pair, count in counted.items() if (ord(".") in divmod(pair, 256)) == gaps)
        if number:
            yield ""
        yield _row(name, total, total)
        for word in indels if gaps else substitutions:
            both = [counted[ord(a) * 256 + ord(b)] for a, b in (tuple(word), tuple(word[::-1]))]
            yield _shares(word, both, [total, total])
