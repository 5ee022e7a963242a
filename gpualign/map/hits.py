"""Records of mapped reads as rows of a table, with the fields that mappy's hits have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign.map.alignments import Alignments
from gpualign.map.introns import PAIRED
from gpualign.map.params import MapScoring
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from gpualign.sequences.strands import reverse_complement
from gpualign.tables.column import NameColumn, TextColumn, nullable
from gpualign.tables.drawing import Drawing, operations
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Look, Table
from gpualign.text import table

_UNMAPPED, _REVERSE, _SECOND_MATE, _SECONDARY, _SUPPLEMENTARY = 0x4, 0x10, 0x80, 0x100, 0x800
#: those that SAM has; another bit is of bisulfite reads (alignments.py)
_SAM_FLAGS = 0xFFF
_OPERATIONS = "MIDNSHP=X"
_CLIPS = re.compile(r"\d+[SH]")
_SHORT_CIGAR = 64


@dataclass(frozen=True, eq=False)
class Target:
    """The reference of hits.

    Attributes:
        names, lengths: of the contigs.
        scoring: of the alignments.
    """

    names: list[str]
    lengths: list[int]
    scoring: MapScoring

    @cached_property
    def dictionary(self) -> TextColumn:
        """The names of all contigs."""
        return TextColumn.of(self.names)


class Sums(NamedTuple):
    """Sums over a CIGAR: aligned bases of reference and query, clips at either end, pairs, and bases of gaps."""

    reference: int
    query: int
    first_clip: int
    last_clip: int
    pairs: int
    gaps: int


def _count(cigar: str) -> Sums:
    every = operations(cigar)
    total = dict.fromkeys(_OPERATIONS, 0)
    for length, kind in every:
        total[kind] += length
    first = next((i for i, (_, kind) in enumerate(every) if kind not in "SH"), 0)
    clips = [length if kind in "SH" else 0 for length, kind in every]
    pairs, gaps = total["M"] + total["="] + total["X"], total["I"] + total["D"]
    return Sums(
        reference=pairs + total["D"] + total["N"],
        query=pairs + total["I"],
        first_clip=sum(clips[:first]),
        last_clip=sum(clips[first:]),
        pairs=pairs,
        gaps=gaps,
    )


_count_once = lru_cache(1 << 14)(_count)


def _sums(cigar: str) -> Sums:
    """Sums, cached for short CIGARs, which many reads share."""
    return _count_once(cigar) if len(cigar) <= _SHORT_CIGAR else _count(cigar)


class Hit(Row):
    """An alignment of a read: a row of :meth:`Mapper.map`, with mappy's names besides its own.

    >>> from gpualign import Mapper
    >>> genome = "ACGTTGCATTAGGCTAACCGTATTCGAGTCCATGCAAGCTTGACCGTACGATTGCAGC"
    >>> (hit,) = Mapper([genome]).map(genome[10:30] + genome[31:50])
    >>> hit.position, hit.cigar, hit.r_st, hit.r_en, hit.q_st, hit.q_en, hit.NM
    (10, '19M1D20M', 10, 50, 0, 39, 1)

    Attributes:
        read: the read's index; the mates of a pair are 2i and 2i + 1.
        flag: SAM's.
        contig: its index.
        position: 0-based, of the first aligned base.
        mapq: mapping quality.
        score: affine, without clip penalties.
        distance: edits of the aligned bases: NM in SAM, but of bisulfite reads without what the conversion may hide.
        cigar: with clips.
        read_name, contig_name: names in the files; reads without names are called by number, as in :meth:`segments`.

    Of an unmapped read all but ``read``, ``flag`` and ``read_name`` are None.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        read: int
        flag: int
        contig: int
        position: int
        mapq: int
        score: int
        distance: int
        cigar: str
        read_name: str
        contig_name: str

    @property
    def _target(self) -> Target:
        target: Target = self._shared
        return target

    @property
    def is_mapped(self) -> bool:
        return not self.flag & _UNMAPPED

    @property
    def ctg(self) -> str:
        """The contig's name; "*" unmapped."""
        return self._target.names[self.contig] if self.is_mapped else "*"

    @property
    def ctg_len(self) -> int:
        """The contig's bases."""
        return self._target.lengths[self.contig] if self.is_mapped else 0

    @property
    def strand(self) -> int:
        """1 forward, -1 reverse; 0 unmapped."""
        flag = self.flag
        return 0 if flag & _UNMAPPED else -1 if flag & _REVERSE else 1

    @property
    def is_primary(self) -> bool:
        """Not a secondary alignment; supplementary ones count as primary, as in mappy."""
        return not self.flag & _SECONDARY

    @property
    def is_supplementary(self) -> bool:
        return bool(self.flag & _SUPPLEMENTARY)

    @property
    def read_num(self) -> int:
        """2 for the second mate of a pair, else 1."""
        return 2 if self.flag & _SECOND_MATE else 1

    @property
    def operations(self) -> list[list[int]]:
        """mappy's ``cigar``: [length, operation] without clips, operations numbered as in BAM."""
        return [[length, _OPERATIONS.index(kind)] for length, kind in operations(self.cigar_str)]

    @property
    def cigar_str(self) -> str:
        """mappy's ``cigar_str``: ``cigar`` without clips."""
        return _CLIPS.sub("", self.cigar) if self.is_mapped else "*"

    @property
    def r_st(self) -> int:
        """``position``; 0 unmapped."""
        return self.position if self.is_mapped else 0

    @property
    def r_en(self) -> int:
        """First base of the contig after the alignment."""
        return self.r_st + self._sums.reference

    @property
    def q_st(self) -> int:
        """First aligned base on the read's own strand."""
        sums = self._sums
        return sums.last_clip if self.flag & _REVERSE else sums.first_clip

    @property
    def q_en(self) -> int:
        """First base of the read, on its own strand, after the alignment."""
        return self.q_st + self._sums.query

    @property
    def blen(self) -> int:
        """Columns of the alignment."""
        return self._sums.pairs + self._sums.gaps

    @property
    def mlen(self) -> int:
        """Matching bases; only A, C, G and T match."""
        return self.blen - self.NM

    @property
    def NM(self) -> int:
        """``distance``; 0 unmapped."""
        return self.distance if self.is_mapped else 0

    @property
    def _sums(self) -> Sums:
        return _sums(self.cigar_str if self.cigar is None else self.cigar)


@dataclass(frozen=True)
class Drawer:
    """Draws the alignment of a hit.

    Attributes:
        reference: the reference of the mapper.
        batches: the reads.
        firsts: index of the first read of each batch.
    """

    reference: Reference
    batches: list[SequenceBatch]
    firsts: list[int]

    def __call__(self, hit: Any) -> Drawing | None:
        if not hit.is_mapped or not self.batches:
            return None
        which = int(np.searchsorted(self.firsts, hit.read, "right")) - 1
        batch, number = self.batches[which], hit.read - self.firsts[which]
        query, minus = batch.sequence(number), hit.strand == -1
        hard = [length if kind == "H" else 0 for length, kind in operations(hit.cigar)]
        oriented = (reverse_complement(query) if minus else query)[hard[0] : len(query) - hard[-1]]
        offset = int(self.reference.contig_offsets[hit.contig])
        return Drawing(
            query=oriented,
            target=self.reference.sequence(offset + hit.r_st, offset + hit.r_en),
            cigar=hit.cigar,
            query_name=f"read {hit.read}",
            target_name=hit.ctg,
            query_start=len(query) - hard[0] if minus else hard[0],
            target_start=hit.r_st,
            minus=minus,
        )


def hit_table(
    alignments: Alignments, reads: SequenceBatch, first: int, target: Target, drawer: Drawer | None
) -> Table[Hit]:
    """The records of a batch of reads, of which the first has the index ``first``."""
    read = np.repeat(np.arange(len(alignments)), np.diff(alignments.record_offsets))
    text = table.format_rows([table.cigars(alignments.cigar, alignments.cigar_offsets)], len(read))
    mapped = alignments.contig >= 0
    numbers = {name: getattr(alignments, name) for name in ("contig", "position", "mapq", "score")}
    numbers["distance"] = edits_of(alignments, target.scoring)
    columns: dict[str, Column] = {
        "read": read + first,
        "flag": alignments.flag & _SAM_FLAGS,
        **{name: nullable(values, mapped) for name, values in numbers.items()},
        "cigar": TextColumn.of_lines(text),
        "read_name": NameColumn.of(_names_of(reads, first), read),
        "contig_name": NameColumn(target.dictionary, alignments.contig),
    }
    return Table(columns, Look(row=Hit, shared=target, draw=drawer))


def _names_of(reads: SequenceBatch, first: int) -> TextColumn:
    """The names of reads; unnamed templates are called by number."""
    if reads.names.size or not len(reads):
        return TextColumn.of_bytes(reads.names, reads.name_offsets)
    mates = 1 if reads.mates is None else 2
    return TextColumn.of([str(number // mates) for number in range(first, first + len(reads))])


def edits_of(alignments: Alignments, scoring: MapScoring) -> NDArray[np.int32]:
    """int32 (records,): edits of the aligned bases, which follow from score and CIGAR."""
    lengths, kinds = (alignments.cigar >> 4).astype(np.int64), alignments.cigar & 15
    is_gap = (kinds == 1) | (kinds == 2)
    cost = scoring.gap_open + lengths * scoring.gap_extend
    if scoring.has_long_gaps:
        cost = np.minimum(cost, scoring.long_gap_open + lengths * scoring.long_gap_extend)

    def sums(values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of the operations of each record."""
        until: NDArray[np.int64] = np.concatenate([[0], np.cumsum(values)])
        return until[alignments.cigar_offsets[1:]] - until[alignments.cigar_offsets[:-1]]

    pairs, gaps = sums(lengths * np.isin(kinds, PAIRED)), sums(lengths * is_gap)
    lost = pairs * scoring.match - sums(cost * is_gap) - alignments.score
    return (lost // (scoring.match + scoring.mismatch) + gaps).astype(np.int32)
