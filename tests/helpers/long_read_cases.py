"""Simulated long reads and their records, for the tests of chaining."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpualign import _native
from gpualign.map.params import LONG_READS, Chaining, MapScoring
from gpualign.map.rules import chain_rules
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.sequences.batch import SequenceBatch, join_bytes
from tests.helpers.sam import cigar_text
from tests.helpers.sequences import make_reference
from tests.reference.alignment import parse_cigar

ONT_SCORES = (2, 4, 4, 2, 0)
SHORT_SCORES = (1, 4, 6, 1, 5)


class Record(NamedTuple):
    """One record; begin and end in the contig, query_begin and query_end on the strand of the reference."""

    flag: int
    contig: int
    begin: int
    end: int
    query_begin: int
    query_end: int
    mapq: int
    score: int
    cigar: str

    @property
    def strand(self) -> str:
        return "-" if self.flag & 16 else "+"


def index_of(*contigs: str, k: int = 15, w: int = 10) -> MinimizerIndex:
    return build_index(make_reference(*contigs), IndexParams(k, w))


def map_by_chaining(
    index: MinimizerIndex,
    reads: list[str],
    chaining: Chaining = LONG_READS,
    scores: tuple[int, int, int, int, int] = ONT_SCORES,
    max_secondary: int = 0,
) -> list[list[Record]]:
    """Records of each read, the primary one first; none: unmapped."""
    bases, offsets = join_bytes([read.encode() for read in reads])
    flag, contig, position, mapq, score, _, cigar, cigar_offsets, record_offsets = _native.map_long_reads(
        *index.native,
        SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets).native,
        rules=chain_rules(index.params.k, index.params.w, MapScoring(*scores), chaining, 200).tobytes(),
        begins=np.zeros(0, np.int64),
        ends=np.zeros(0, np.int64),
        max_secondary=max_secondary,
    )
    found = []
    for first, last in zip(record_offsets[:-1].tolist(), record_offsets[1:].tolist(), strict=True):
        records = []
        for i in range(first, last):
            if contig[i] < 0:
                assert last - first == 1
                assert flag[i] == 4
                continue
            text = cigar_text(cigar[cigar_offsets[i] : cigar_offsets[i + 1]].tolist())
            operations = parse_cigar(text)
            head = operations[0][0] if operations[0][1] == "S" else 0
            span = sum(n for n, op in operations if op in "MD")
            aligned = sum(n for n, op in operations if op in "MI")
            begin = int(position[i])
            fields = (int(flag[i]), int(contig[i]), begin, begin + span, head, head + aligned)
            records.append(Record(*fields, int(mapq[i]), int(score[i]), text))
        found.append(records)
    return found
