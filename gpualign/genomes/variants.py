"""Variants as VCF: substitutions, indels, and what lies between alignments; and where variants could be called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign.genomes.blocks import Comparison
from gpualign.genomes.tables import Differences, conflicts_of
from gpualign.sequences.strands import reverse_complement
from gpualign.version import __version__

#: bases between two alignments that are one variant, at most
MAX_BETWEEN = 50_000
#: bases from which on a variant is structural
_STRUCTURAL = 50
_MISSING = ord(".")


class Variant(NamedTuple):
    """A variant; ``start`` and ``end``: of ``ref`` in its sequence, 0-based, half-open."""

    sequence: int
    start: int
    ref: bytes
    alt: bytes
    query: int
    query_start: int

    @property
    def end(self) -> int:
        return self.start + len(self.ref)


def variants_of(comparison: Comparison, found: Differences) -> list[Variant]:
    """The variants where one alignment lies in the reference and in the query, and those between two neighbouring
    alignments of the same sequences and strand, by reference position.
    """
    conflicts = conflicts_of(comparison, found)
    alone = np.flatnonzero((conflicts[0] == 0) & (conflicts[1] == 0))
    small = _left_aligned(comparison, _in_alignments(comparison, found.take(alone)))
    listed = [*small, *_between(comparison)]
    return sorted(listed, key=lambda variant: (variant.sequence, variant.start, variant.end, variant.alt))


def _in_alignments(comparison: Comparison, found: Differences) -> Iterator[Variant]:
    """Substitutions one by one; neighbouring missing bases of an alignment as one indel without an anchor."""
    blocks = comparison.blocks
    reference, query = blocks.reference[found.alignment].tolist(), blocks.query[found.alignment].tolist()
    rows = zip(
        found.alignment.tolist(),
        reference,
        query,
        found.reference_position.tolist(),
        found.query_position.tolist(),
        found.reference_base.tolist(),
        found.query_base.tolist(),
        strict=True,
    )
    indel: Variant | None = None
    before = (-1, 0, 0)  # alignment, and positions
    for alignment, a, b, position, query_position, one, other in rows:
        deleted, inserted = other == _MISSING, one == _MISSING
        here = (alignment, position, query_position)
        if indel is not None:
            same = here[0] == before[0] and abs(position - before[1]) + abs(query_position - before[2]) == 1
            if same and deleted and not indel.alt and position == before[1] + 1:
                indel, before = indel._replace(ref=indel.ref + bytes([one])), here
                continue
            if same and inserted and not indel.ref and position == before[1]:
                indel, before = indel._replace(alt=indel.alt + bytes([other])), here
                continue
            yield indel
            indel = None
        before = here
        if deleted:
            indel = Variant(a, position - 1, bytes([one]), b"", b, query_position)
        elif inserted:
            indel = Variant(a, position, b"", bytes([other]), b, query_position)
        else:
            yield Variant(a, position - 1, bytes([one]), bytes([other]), b, query_position)
    if indel is not None:
        yield indel


def _left_aligned(comparison: Comparison, variants: Iterator[Variant]) -> Iterator[Variant]:
    """Indels as far left as the same sequence allows, not beyond the variant before, with the base before them."""
    side = comparison.reference
    last = (-1, 0)
    for variant in variants:
        if variant.ref and variant.alt:
            last = variant.sequence, variant.end
            yield variant
            continue
        offset, start = int(side.offsets[variant.sequence]), variant.start
        text = variant.ref or variant.alt
        limit = last[1] if last[0] == variant.sequence and last[1] <= start else 0
        shift = 0
        while start - shift > limit and side.bases[offset + start - shift - 1] == text[-1 - shift % len(text)]:
            shift += 1
        turn = shift % len(text)
        text = text[len(text) - turn :] + text[: len(text) - turn]
        moved = variant._replace(
            start=start - shift, ref=text if variant.ref else b"", alt=b"" if variant.ref else text
        )
        last = variant.sequence, variant.end
        yield _anchored(comparison, moved)


def _anchored(comparison: Comparison, variant: Variant) -> Variant:
    """With the base before it in both alleles; at the beginning of a sequence with the base after it."""
    side = comparison.reference
    offset = int(side.offsets[variant.sequence])
    if variant.start > 0:
        base = side.bases[offset + variant.start - 1 : offset + variant.start].tobytes()
        return variant._replace(start=variant.start - 1, ref=base + variant.ref, alt=base + variant.alt)
    base = side.bases[offset + variant.end : offset + variant.end + 1].tobytes()
    return variant._replace(ref=variant.ref + base, alt=variant.alt + base)


def _between(comparison: Comparison) -> Iterator[Variant]:
    """What two alignments that follow each other in both sequences leave out, or have twice."""
    blocks = comparison.blocks
    order = np.lexsort((blocks.reference_start, blocks.reference))
    for i, j in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        a, b, reverse = int(blocks.reference[i]), int(blocks.query[i]), bool(blocks.reverse[i])
        if (a, b, reverse) != (blocks.reference[j], blocks.query[j], blocks.reverse[j]):
            continue
        end, start = int(blocks.reference_end[i]), int(blocks.reference_start[j])
        ends = int(blocks.query_start[i]), int(blocks.query_end[j])
        if not reverse:
            ends = int(blocks.query_start[j]), int(blocks.query_end[i])
        gap, query_gap = start - end, ends[0] - ends[1]
        overlap = max(0, -gap, -query_gap)  # counted once
        if max(gap, query_gap) + overlap > MAX_BETWEEN or overlap > MAX_BETWEEN or gap == query_gap:
            continue
        if int(blocks.reference_end[j]) <= end or overlap >= int(blocks.reference_end[j]) - start:
            continue  # one covers the other
        first = ends[1] - (overlap if reverse else 0)
        part = comparison.query.bases[comparison.query.offsets[b] + first :][: query_gap + overlap].tobytes()
        alt = reverse_complement(part) if reverse else part
        offset = int(comparison.reference.offsets[a])
        ref = comparison.reference.bases[offset + end : offset + start + overlap].tobytes()
        yield _anchored(comparison, Variant(a, end, ref, alt, b, first + 1))


def vcf(comparison: Comparison, variants: list[Variant], sample: str, command_line: str) -> Iterator[bytes]:
    """The text of a VCF file with one haploid sample."""
    side = comparison.reference
    head = ["##fileformat=VCFv4.2", f"##source=gpualign {__version__}", f"##commandline={command_line}"]
    head += [f"##contig=<ID={name},length={length}>" for name, length in zip(side.names, side.lengths, strict=True)]
    head += [
        '##INFO=<ID=SVTYPE,Number=1,Type=String,Description="Type of a structural variant">',
        '##INFO=<ID=SVLEN,Number=1,Type=Integer,Description="Difference in length between ALT and REF">',
        '##INFO=<ID=END,Number=1,Type=Integer,Description="Last base of REF">',
        '##INFO=<ID=QNAME,Number=1,Type=String,Description="Sequence of the query">',
        '##INFO=<ID=QSTART,Number=1,Type=Integer,Description="Position in the query, from 1">',
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
        f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{sample}",
    ]
    yield ("\n".join(head) + "\n").encode("utf-8", "surrogateescape")
    for variant in variants:
        info = f"QNAME={comparison.query.names[variant.query]};QSTART={variant.query_start}"
        more = len(variant.alt) - len(variant.ref)
        if abs(more) >= _STRUCTURAL:
            kind = "INS" if more > 0 else "DEL"
            info = f"SVTYPE={kind};SVLEN={more};END={variant.end};{info}"
        yield (
            f"{side.names[variant.sequence]}\t{variant.start + 1}\t.\t{variant.ref.decode()}\t{variant.alt.decode()}"
            f"\t.\tPASS\t{info}\tGT\t1\n"
        ).encode("latin-1")


def callable_regions(comparison: Comparison) -> Iterator[bytes]:
    """BED of the reference's positions that exactly one alignment covers."""
    blocks = comparison.blocks
    for sequence, name in enumerate(comparison.reference.names):
        here = blocks.reference == sequence
        for start, end in _covered_once(blocks.reference_start[here], blocks.reference_end[here]):
            yield f"{name}\t{start}\t{end}\n".encode("latin-1")


def _covered_once(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[tuple[int, int]]:
    positions = np.concatenate([starts, ends])
    change = np.concatenate([np.ones_like(starts), -np.ones_like(ends)])
    order = np.argsort(positions, kind="stable")
    positions, depth = positions[order], np.cumsum(change[order])
    left, right = positions[:-1], positions[1:]
    once = (depth[:-1] == 1) & (right > left)
    return list(zip(left[once].tolist(), right[once].tolist(), strict=True))
