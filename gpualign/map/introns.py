"""Introns: found in alignments, known from a file, and written as STAR's table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError
from gpualign.map.alignments import Alignments
from gpualign.sequences.reference import Reference
from gpualign.text.annotation import Annotation, lines_of, read_annotation

#: flags above SAM's: the strand of the transcript (cuda/algo/map/sam_codes.hpp)
_FORWARD, _REVERSE, _SECONDARY, _SECOND = 0x2000, 0x4000, 0x100, 0x80
_N = 3
#: operations of a CIGAR that pair bases, and that take bases of the reference
PAIRED, ON_REFERENCE = (0, 7, 8), (0, 2, 3, 7, 8)
#: minimum mapping quality of a read that counts as unique
UNIQUE_MAPQ = 3
#: STAR's numbers of signals, by the first and last two bases on the forward strand; others are 0
_SIGNALS = {b"GTAG": 1, b"CTAC": 2, b"GCAG": 3, b"CTGC": 4, b"ATAC": 5, b"GTAT": 6}
#: an intron that fewer reads show than this share of those of another within so many bases of both ends is taken for
#: that one, read with an error; one with an odd signal, or in a single read, is as doubtful
_NEAR, _NEAR_SHARE, _FEWEST_READS = 12, 0.25, 2


@dataclass(frozen=True, eq=False)
class Introns:
    """``n`` introns, each once, in order of contig, start, end and strand.

    Attributes:
        contig: int32 (n,).
        start, end: int64 (n,), 0-based and half-open, in the contig.
        strand: int8 (n,), of the transcript: 1, -1, and 0 where it is not known.
        unique, multi: int64 (n,), reads over it with a mapping quality of at least :data:`UNIQUE_MAPQ`, and others.
        overhang: int64 (n,), the most bases that a read has on the side with fewer.
    """

    contig: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    strand: NDArray[np.int8]
    unique: NDArray[np.int64]
    multi: NDArray[np.int64]
    overhang: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.contig)

    @property
    def places(self) -> Iterator[tuple[int, int, int]]:
        """Contig, start and end of each."""
        return zip(self.contig.tolist(), self.start.tolist(), self.end.tolist(), strict=True)

    @classmethod
    def none(cls) -> Introns:
        """No introns."""
        none = np.zeros(0, np.int64)
        return cls(none.astype(np.int32), none, none, none.astype(np.int8), none, none, none)

    @classmethod
    def merged(cls, parts: Iterable[Introns]) -> Introns:
        """All introns of ``parts``; equal ones are counted together."""
        some = [part for part in parts if len(part)]
        if not some:
            return cls.none()
        columns = ([getattr(part, field.name) for part in some] for field in fields(cls))
        contig, start, end, strand, unique, multi, overhang = (np.concatenate(column) for column in columns)
        order = np.lexsort((strand, end, start, contig))
        keys = np.stack([column[order].astype(np.int64) for column in (contig, start, end, strand)])
        begins = np.flatnonzero(np.r_[True, (np.diff(keys) != 0).any(0)])
        unique, multi = (np.add.reduceat(column[order], begins) for column in (unique, multi))
        first, longest = order[begins], np.maximum.reduceat(overhang[order], begins)
        return cls(contig[first], start[first], end[first], strand[first], unique, multi, longest)

    @classmethod
    def added(cls, parts: tuple[Introns, ...], more: tuple[Introns, ...]) -> tuple[Introns, ...]:
        """The parts of both; they are merged when the later ones have more introns than the first one, so that merging
        all batches of a run takes no longer than sorting them, and memory for the distinct ones.
        """
        parts += more
        return (cls.merged(parts),) if sum(map(len, parts[1:])) > sum(map(len, parts[:1])) else parts

    def some(self, kept: NDArray[np.bool_]) -> Introns:
        """The introns where ``kept``, bool (n,), is true."""
        return Introns(*(getattr(self, field.name)[kept] for field in fields(self)))

    def supported(self) -> Introns:
        """The introns that are no misread form of another one nearby, for a second pass (STAR's, Dobin et al. 2013)."""
        reads = self.unique + self.multi
        kept = (reads >= _FEWEST_READS) & (self.strand != 0)
        for shift in range(1, len(self)):  # in order of starts: neighbours, until none is near
            near = (self.contig[shift:] == self.contig[:-shift]) & (self.start[shift:] - self.start[:-shift] <= _NEAR)
            if not near.any():
                break
            near &= np.abs(self.end[shift:] - self.end[:-shift]) <= _NEAR
            kept[shift:] &= ~near | (reads[shift:] >= _NEAR_SHARE * reads[:-shift])
            kept[:-shift] &= ~near | (reads[:-shift] >= _NEAR_SHARE * reads[shift:])
        return self.some(kept)

    def sites(self, reference: Reference) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """``KnownSite`` of cuda/abi/chains.hpp, int64 (3 n,): by the first bases, and by the last ones; an intron
        without a strand is on both.
        """
        offset = reference.contig_offsets[self.contig]
        rows = []
        for sign, code in ((1, 1), (-1, 2)):
            of = self.strand != -sign
            rows.append(np.stack([(offset + self.start)[of], (offset + self.end)[of] - 1, np.full(of.sum(), code)], 1))
        begins = np.concatenate(rows).astype(np.int64)
        ends = begins[:, [1, 0, 2]]
        in_order = (site[np.lexsort((site[:, 2], site[:, 1], site[:, 0]))] for site in (begins, ends))
        by_begin, by_end = (np.ascontiguousarray(site).reshape(-1) for site in in_order)
        return by_begin, by_end


def introns_of(alignments: Alignments) -> Introns:
    """The introns of primary and supplementary records, each once, with their reads."""
    operations, lengths = alignments.cigar & 15, (alignments.cigar >> 4).astype(np.int64)
    at = np.flatnonzero(operations == _N)
    if not len(at):
        return Introns.none()
    record = np.searchsorted(alignments.cigar_offsets, at, "right") - 1
    first = alignments.cigar_offsets[record]

    def before(codes: tuple[int, ...]) -> NDArray[np.int64]:
        """Bases of such operations before each operation of all records."""
        return np.concatenate(([0], np.cumsum(np.where(np.isin(operations, codes), lengths, 0)))).astype(np.int64)

    on_reference, paired = before(ON_REFERENCE), before(PAIRED)
    start = alignments.position[record] + on_reference[at] - on_reference[first]
    same = np.r_[False, record[1:] == record[:-1]]
    previous = np.where(same, np.r_[0, at[:-1]], first)
    following = np.where(np.r_[same[1:], False], np.r_[at[1:], 0], alignments.cigar_offsets[record + 1])
    overhang = np.minimum(paired[at] - paired[previous], paired[following] - paired[at])
    flag = alignments.flag[record]
    strand = np.where(flag & _FORWARD, 1, np.where(flag & _REVERSE, -1, 0)).astype(np.int8)
    unique = (alignments.mapq[record] >= UNIQUE_MAPQ).astype(np.int64)
    found = Introns(alignments.contig[record], start, start + lengths[at], strand, unique, 1 - unique, overhang)
    kept = (flag & _SECONDARY) == 0
    if (flag & _SECOND).any():
        read = np.searchsorted(alignments.record_offsets, record, "right") - 1
        kept &= _once_a_template(read - (flag & _SECOND != 0), found)
    return Introns.merged([found.some(kept)])


def _once_a_template(template: NDArray[np.int64], introns: Introns) -> NDArray[np.bool_]:
    """bool (n,): False for an intron that the other mate of the template has as well, but for the longer overhang."""
    order = np.lexsort((-introns.overhang, introns.strand, introns.end, introns.start, introns.contig, template))
    keys = [column[order] for column in (template, introns.contig, introns.start, introns.end, introns.strand)]
    kept = np.zeros(len(introns), bool)
    kept[order[np.r_[True, np.any([np.diff(key) != 0 for key in keys], axis=0)]]] = True
    return kept


def read_introns(path: str, reference: Reference) -> tuple[Introns, Annotation | None]:
    """The introns of a file of genes (GTF, GFF3, BED12), and the genes; or the introns of STAR's SJ.out.tab. Introns on
    contigs that the reference lacks are left out.

    Raises:
        InputError: the file is malformed, or no intron is on the reference.
    """
    numbers = {name: number for number, name in enumerate(reference.shown_names)}
    lines, genes = lines_of(path), None
    above = []
    for line in lines:
        above.append(line)
        if line and not line.startswith(b"#"):
            break
    lines, fields_of_first = chain(above, lines), above[-1].split(b"\t") if above else []
    if len(fields_of_first) == 9 and all(field.strip().isdigit() for field in fields_of_first[1:]):
        rows = _star_rows(path, lines)
    else:
        genes, rows = read_annotation(path, lines), []
        for transcript, (a, b) in enumerate(zip(genes.exon_offsets[:-1], genes.exon_offsets[1:], strict=True)):
            name, strand = genes.contigs[genes.contig[transcript]], int(genes.strand[transcript])
            ends, starts = genes.exon_ends[a : b - 1], genes.exon_starts[a + 1 : b]
            rows += [(name, int(start), int(end), strand) for start, end in zip(ends, starts, strict=True)]
    of = sorted({(numbers[name], start, end, strand) for name, start, end, strand in rows if name in numbers})
    inside = [row for row in of if 0 <= row[1] < row[2] <= reference.lengths[row[0]]]
    if not inside:
        raise InputError("no intron is on a contig of the reference (are the contigs named as there?)", path)
    columns = np.array(inside, np.int64).T
    none = np.zeros(len(inside), np.int64)
    numbered = columns[0].astype(np.int32), columns[1], columns[2], columns[3].astype(np.int8)
    return Introns(*numbered, none, none, none), genes


def _star_rows(path: str, lines: Iterable[bytes]) -> list[tuple[str, int, int, int]]:
    """Rows of SJ.out.tab: contig, start, end, strand."""
    rows = []
    for number, row in enumerate(lines, start=1):
        columns = row.split(b"\t")
        if not row or row.startswith(b"#"):
            continue
        if len(columns) < 4 or not all(column.isdigit() for column in columns[1:4]):
            raise InputError("this line is not one of SJ.out.tab: contig, first base, last base, strand", path, number)
        strand = {1: 1, 2: -1}.get(int(columns[3]), 0)
        rows.append((columns[0].decode(errors="replace"), int(columns[1]) - 1, int(columns[2]), strand))
    return rows


def signals_of(introns: Introns, reference: Reference) -> NDArray[np.int64]:
    """int64 (n,): STAR's numbers of the signals."""
    offsets = reference.contig_offsets[introns.contig]
    places = zip((offsets + introns.start).tolist(), (offsets + introns.end).tolist(), strict=True)
    ends = (reference.sequence(start, start + 2) + reference.sequence(end - 2, end) for start, end in places)
    return np.array([_SIGNALS.get(bases, 0) for bases in ends], np.int64)


def reported(introns: Introns, signals: NDArray[np.int64]) -> dict[str, Any]:
    """The fields of the JSON report: numbers of distinct introns and of introns in all reads, and the latter by signal
    (:func:`signals_of`).
    """
    reads = introns.unique + introns.multi
    pairs = {"GT-AG": (1, 2), "GC-AG": (3, 4), "AT-AC": (5, 6), "other": (0,)}
    by_signal = {name: int(reads[np.isin(signals, numbers)].sum()) for name, numbers in pairs.items()}
    return {"introns": {"distinct": len(introns), "of_reads": int(reads.sum()), "signals": by_signal}}


def kept_in_table(introns: Introns, signals: NDArray[np.int64], known: Introns | None) -> NDArray[np.bool_]:
    """bool (n,): known introns, and those of short reads that have enough reads and a long enough overhang for their
    signal, as STAR's table does by default (outSJfilterOverhangMin,
    outSJfilterCountUniqueMin, outSJfilterCountTotalMin).
    """
    odd = signals == 0
    enough = (introns.unique >= np.where(odd, 3, 1)) | (introns.unique + introns.multi >= np.where(odd, 3, 1))
    annotated = set() if known is None else set(known.places)
    of_known = np.array([place in annotated for place in introns.places], bool)
    return of_known | (enough & (introns.overhang >= np.where(odd, 30, 12)))


def star_table(introns: Introns, signals: NDArray[np.int64], known: Introns | None, reference: Reference) -> bytes:
    """The introns as STAR's SJ.out.tab (STAR manual, section 4.4): contig, first and last base, strand (0: not known,
    1: +, 2: -), signal, whether it was known, unique and other reads, and the longest overhang.
    """
    names = reference.shown_names
    annotated = set() if known is None else set(known.places)
    lines = []
    columns = [getattr(introns, field.name) for field in fields(introns)]
    rows = zip(*(column.tolist() for column in (*columns, signals)), strict=True)
    for contig, start, end, strand, unique, multi, overhang, signal in rows:
        shown = {1: 1, -1: 2}.get(strand, 0) or (0 if not signal else 2 - signal % 2)
        row = (start + 1, end, shown, signal, int((contig, start, end) in annotated), unique, multi, overhang)
        lines.append("\t".join((names[contig], *map(str, row))) + "\n")
    return "".join(lines).encode()
