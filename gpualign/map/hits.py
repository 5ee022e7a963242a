"""Records of mapped reads as rows of a table, with the fields that mappy's hits have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpualign.io import table
from gpualign.map.params import Scoring
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from gpualign.tables.column import TextColumn
from gpualign.tables.drawing import Drawing, operations, reverse_complement
from gpualign.tables.row import Row
from gpualign.tables.table import Look, Table

_UNMAPPED, _REVERSE, _SECOND_END, _SECONDARY, _SUPPLEMENTARY = 0x4, 0x10, 0x80, 0x100, 0x800
_OPERATIONS = "MIDNSHP=X"


@dataclass(frozen=True, eq=False)
class Target:
    """What hits lie on.

    Attributes:
        names, lengths: of the contigs.
        scoring: of the alignments.
    """

    names: list[str]
    lengths: list[int]
    scoring: Scoring


class Hit(Row):
    """An alignment of a read: a row of :meth:`Mapper.map`, with mappy's names beside its own.

    >>> from gpualign import Mapper
    >>> genome = "ACGTTGCATTAGGCTAACCGTATTCGAGTCCATGCAAGCTTGACCGTACGATTGCAGC"
    >>> (hit,) = Mapper([genome]).map(genome[10:30] + genome[31:50])
    >>> hit.position, hit.cigar, hit.r_st, hit.r_en, hit.q_st, hit.q_en, hit.NM
    (10, '19M1D20M', 10, 50, 0, 39, 1)

    Attributes:
        read: the read's number; the mates of a pair are 2i and 2i + 1.
        flag: SAM's.
        contig: its number; -1 unmapped.
        position: 0-based, of the first aligned base.
        mapq: mapping quality.
        score: affine; clips cost nothing.
        distance: edits of the whole read; -1 where the record was not found by it.
        cigar: with clips; "*" unmapped.
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
        return self._target.names[self.contig] if self.contig >= 0 else "*"

    @property
    def ctg_len(self) -> int:
        """The contig's bases."""
        return self._target.lengths[self.contig] if self.contig >= 0 else 0

    @property
    def strand(self) -> int:
        """1 forward, -1 reverse; 0 unmapped."""
        return 0 if not self.is_mapped else -1 if self.flag & _REVERSE else 1

    @property
    def is_primary(self) -> bool:
        """No secondary alignment; parts of a split read are primary, as in mappy."""
        return not self.flag & _SECONDARY

    @property
    def is_supplementary(self) -> bool:
        return bool(self.flag & _SUPPLEMENTARY)

    @property
    def read_num(self) -> int:
        """2 for the second end of a pair, else 1."""
        return 2 if self.flag & _SECOND_END else 1

    @property
    def operations(self) -> list[list[int]]:
        """mappy's ``cigar``: [length, operation] without clips, operations numbered as in BAM."""
        every = ([length, _OPERATIONS.index(kind)] for length, kind in operations(self.cigar))
        return [each for each in every if each[1] not in (4, 5)]

    @property
    def cigar_str(self) -> str:
        """``cigar`` without clips, as mappy has it."""
        return "".join(f"{length}{_OPERATIONS[kind]}" for length, kind in self.operations)

    def _sum(self, kinds: str) -> int:
        return sum(length for length, kind in operations(self.cigar) if kind in kinds)

    @property
    def r_st(self) -> int:
        """``position``."""
        return self.position

    @property
    def r_en(self) -> int:
        """Behind the last aligned base of the contig."""
        return self.position + self._sum("MDN=X")

    @property
    def q_st(self) -> int:
        """First aligned base on the read's own strand."""
        return self._clips()[self.strand == -1]

    @property
    def q_en(self) -> int:
        """Behind the last aligned base on the read's own strand."""
        return self._sum("MI=XSH") - self._clips()[self.strand != -1]

    def _clips(self) -> tuple[int, int]:
        """Clipped bases at the CIGAR's two ends."""
        every = operations(self.cigar)
        middle = [i for i, (_, kind) in enumerate(every) if kind not in "SH"] or [0]
        first, last = every[: middle[0]], every[middle[-1] + 1 :]
        return sum(length for length, _ in first), sum(length for length, _ in last)

    @property
    def blen(self) -> int:
        """Columns of the alignment."""
        return self._sum("MID=X")

    @property
    def mlen(self) -> int:
        """Matching bases, which follow from the score; letters other than A, C, G and T match nothing."""
        cost = self._target.scoring
        gaps = [length for length, kind in operations(self.cigar) if kind in "ID"]
        aligned = self._sum("M=X")
        gained = self.score + len(gaps) * cost.gap_open + sum(gaps) * cost.gap_extend + aligned * cost.mismatch
        return gained // (cost.match + cost.mismatch)

    @property
    def NM(self) -> int:
        """Edits of what is aligned."""
        return self.blen - self.mlen


@dataclass(frozen=True)
class Drawer:
    """From a hit to its alignment.

    Attributes:
        reference: what the reads were mapped onto.
        batches: of the reads.
        firsts: the number of the first read of each.
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
            target=self.reference.letters(offset + hit.r_st, offset + hit.r_en),
            cigar=hit.cigar,
            query_name=f"read {hit.read}",
            target_name=hit.ctg,
            query_start=len(query) - hard[0] if minus else hard[0],
            target_start=hit.r_st,
            minus=minus,
        )


def hit_table(alignments: Alignments, first: int, target: Target, drawer: Drawer | None) -> Table[Hit]:
    """The records of a batch whose first read has the number ``first``."""
    numbers = np.repeat(np.arange(first, first + len(alignments)), np.diff(alignments.record_offsets))
    names = ("flag", "contig", "position", "mapq", "score", "distance")
    text = table.format_rows([table.cigars(alignments.cigar, alignments.cigar_offsets)], len(numbers))
    columns = {"read": numbers, **{name: getattr(alignments, name) for name in names}}
    look = Look(row=Hit, shared=target, draw=drawer)
    return Table({**columns, "cigar": TextColumn.of_lines(text)}, look)
