"""Sequencing libraries with duplicates of all kinds, as SAM: aligned where the fragments come from, no mapper needed.

Molecules are drawn from a genome, copied by PCR and on the flow cell, and read with a UMI. There are pairs that face
each other, pairs that do not, on one strand and on two contigs, single reads, mates that are unmapped, clipped ends,
indels, supplementary and secondary records, reads that fail the filters, and several libraries and lanes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

READ = 100
#: read group, library, lane; one group has two lanes, with tiles of the same numbers
GROUPS = (("g1", "one", (1,)), ("g2", "one", (2,)), ("g3", "two", (1, 2)), ("g4", "three", (3,)))
_COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
_KINDS = {"facing": 86, "away": 2, "one strand": 3, "two contigs": 3, "single": 6}
_COPIES = (1, 1, 1, 1, 1, 1, 2, 2, 3, 5)
_TILE = 30_000
_UMIS = ("ACGTAC", "TTGCAA", "GGATCC", "CATGCA")


class Locus(NamedTuple):
    """Where a read begins: contig, 5' base from 0, strand."""

    contig: str
    base: int
    reverse: bool


@dataclass(frozen=True)
class Molecule:
    kind: str
    loci: tuple[Locus, ...]
    umi: str
    group: int


@dataclass(frozen=True, eq=False)
class Copy:
    """A molecule on the flow cell, one a pixel; ``swapped``: read 1 is at its second locus."""

    lane: int
    tile: int
    x: int
    y: int
    swapped: bool

    @property
    def name(self) -> str:
        return f"M:7:FLOWCELL:{self.lane}:{self.tile}:{self.x}:{self.y}"

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Copy) and self.name == other.name


def genome(path: Path) -> dict[str, str]:
    """Contigs of a FASTA file."""
    parts = [entry.split("\n", 1) for entry in path.read_text().split(">")[1:]]
    return {head.split()[0]: body.replace("\n", "").upper() for head, body in parts}


def header(contigs: dict[str, str]) -> str:
    lines = ["@HD\tVN:1.6\tSO:unsorted\tGO:query"]
    lines += [f"@SQ\tSN:{name}\tLN:{len(text)}" for name, text in contigs.items()]
    lines += [f"@RG\tID:{group}\tSM:sample\tLB:{library}\tPL:ILLUMINA" for group, library, _ in GROUPS]
    return "\n".join(lines) + "\n"


def records(contigs: dict[str, str], molecules: int, seed: int) -> Iterator[list[str]]:
    """SAM lines of the templates, in the order in which a sequencer would write them."""
    rng = random.Random(seed)
    drawn = _molecules(rng, contigs, molecules)
    at_pixels = {copy: molecule for molecule in drawn for copy in _copies(rng, molecule)}
    copies = list(at_pixels.items())
    rng.shuffle(copies)
    for copy, molecule in copies:
        yield _template(rng, contigs, molecule, copy)


def _molecules(rng: random.Random, contigs: dict[str, str], count: int) -> list[Molecule]:
    found: list[Molecule] = []
    for _ in range(count):
        umi, group = rng.choice(_UMIS), rng.randrange(len(GROUPS))
        if found and rng.random() < 0.1:  # another molecule of the same ends, or a single read at one of them
            other = rng.choice(found)
            if rng.random() < 0.5:
                found.append(replace(other, umi=umi, group=group))
            else:
                found.append(Molecule("single", (rng.choice(other.loci),), other.umi, other.group))
            continue
        kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
        found.append(Molecule(kind, _loci(rng, contigs, kind), umi, group))
    return found


def _loci(rng: random.Random, contigs: dict[str, str], kind: str) -> tuple[Locus, ...]:
    def drawn(reverse: bool) -> Locus:
        name = rng.choices(list(contigs), [len(text) for text in contigs.values()])[0]
        return Locus(name, rng.randrange(2 * READ, len(contigs[name]) - 1000), reverse)

    if kind == "single":
        return (drawn(rng.random() < 0.5),)
    if kind == "two contigs":
        return drawn(rng.random() < 0.5), drawn(rng.random() < 0.5)
    left = drawn(kind == "away" or (kind == "one strand" and rng.random() < 0.5))
    reverse = left.reverse if kind == "one strand" else not left.reverse
    return left, Locus(left.contig, left.base + rng.randrange(READ + 20, 600), reverse)


def _copies(rng: random.Random, molecule: Molecule) -> Iterator[Copy]:
    lanes = GROUPS[molecule.group][2]
    for _ in range(rng.choice(_COPIES)):
        copy = Copy(
            rng.choice(lanes), rng.choice((1101, 1102)), rng.randrange(_TILE), rng.randrange(_TILE), rng.random() < 0.5
        )
        yield copy
        while rng.random() < 0.15:  # near it, or near its copy
            near = replace(copy, x=copy.x + rng.randrange(90), y=max(0, copy.y + rng.randrange(-120, 120)))
            yield near
            copy = rng.choice((copy, near))


def _template(rng: random.Random, contigs: dict[str, str], molecule: Molecule, copy: Copy) -> list[str]:
    group, name = GROUPS[molecule.group][0], copy.name
    failed = 0x200 if rng.random() < 0.005 else 0
    tags = [f"RG:Z:{group}", f"RX:Z:{molecule.umi}"]
    loci: Sequence[Locus | None] = molecule.loci
    if len(loci) == 1:
        return _read(rng, contigs, name, failed, loci[0], tags)
    if copy.swapped:
        loci = loci[::-1]
    lost = rng.choices([(), (0,), (1,), (0, 1)], [94, 2, 3, 1])[0]
    loci = [None if i in lost else locus for i, locus in enumerate(loci)]
    lines = []
    for i, locus in enumerate(loci):
        mate = loci[1 - i]
        flag = 0x1 | (0x80 if i else 0x40) | failed | (0x8 if mate is None else 0x20 if mate.reverse else 0)
        lines += _read(rng, contigs, name, flag, locus, tags)
    return lines


def _read(
    rng: random.Random, contigs: dict[str, str], name: str, flag: int, locus: Locus | None, tags: list[str]
) -> list[str]:
    """A read's primary record, and at times a supplementary or a secondary one."""
    best = rng.choice("5?DI")  # few sums, so that there are ties
    qualities = (
        "".join(rng.choices(best + ",", [rng.choice((99, 4)), 1], k=READ)) if rng.random() < 0.7 else best * READ
    )
    if locus is None:
        bases = "".join(rng.choices("ACGT", k=READ))
        return [_line(name, flag | 0x4, None, 0, "*", bases, qualities, tags)]
    cigar, start, bases = _aligned(rng, contigs[locus.contig], locus)
    flag |= 0x10 if locus.reverse else 0
    split = cigar[0][0] == READ and rng.random() < 0.05
    elsewhere = rng.randrange(200, len(contigs[locus.contig]) - 1000)
    lines = []
    if split:
        cigar = [(READ - 40, "M"), (40, "S")] if not locus.reverse else [(40, "S"), (READ - 40, "M")]
        start += 40 if locus.reverse else 0
        strand = "-" if locus.reverse else "+"
        text = f"{locus.contig},{elsewhere + 1},{strand},{_text(cigar).translate(str.maketrans('MS', 'SM'))},60,0;"
        clipped = [(n, "H" if kind == "M" else "M") for n, kind in cigar]
        part = slice(READ - 40, READ) if not locus.reverse else slice(0, 40)
        back = f"{locus.contig},{start + 1},{strand},{_text(cigar)},60,0;"
        extra = [*tags, f"SA:Z:{back}"]
        line = _line(name, flag | 0x800, locus.contig, elsewhere, _text(clipped), bases[part], qualities[part], extra)
        lines.append(line)
        tags = [*tags, f"SA:Z:{text}"]
    elif rng.random() < 0.03:
        lines.append(_line(name, flag | 0x100, locus.contig, elsewhere, f"{READ}M", "*", "*", tags))
    return [_line(name, flag, locus.contig, start, _text(cigar), bases, qualities, tags), *lines]


def _aligned(rng: random.Random, text: str, locus: Locus) -> tuple[list[tuple[int, str]], int, str]:
    """CIGAR, first base, bases of the reference's strand; clipped bases and indels where chance has them."""
    clip, far = (rng.choice((0,) * 8 + (1, 7)) for _ in range(2))
    middle = READ - clip - far
    core: list[tuple[int, str]] = [(middle, "M")]
    shift = rng.choice((0,) * 8 + (-2, 3))
    if shift < 0:
        core = [(30, "M"), (-shift, "I"), (middle - 30 + shift, "M")]
    elif shift > 0:
        core = [(30, "M"), (shift, "D"), (middle - 30, "M")]
    span = sum(n for n, kind in core if kind != "I")
    first, last = (far, clip) if locus.reverse else (clip, far)
    start = locus.base - clip - span + 1 if locus.reverse else locus.base + clip
    bases = "".join(text[start - first : start - first + READ])
    return [pair for pair in ((first, "S"), *core, (last, "S")) if pair[0]], start, bases


def _text(cigar: Sequence[tuple[int, str]]) -> str:
    return "".join(f"{n}{kind}" for n, kind in cigar)


def _line(
    name: str, flag: int, contig: str | None, start: int, cigar: str, bases: str, qualities: str, tags: Sequence[str]
) -> str:
    fields = [name, str(flag), contig or "*", str(start + 1 if contig else 0), "60" if contig else "0", cigar]
    return "\t".join([*fields, "*", "0", "0", bases, qualities, *tags])
