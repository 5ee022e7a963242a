"""Parameters of mapping by chaining."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Chaining:
    """Parameters of chaining (docs/internals/algorithms.md, "Chaining"); the defaults are for short reads.

    Attributes:
        stretch: bases of a read segment to which ``Seeding.max_hits`` applies.
        max_gap: maximum bases between neighbouring anchors, on the read or the reference, whichever has fewer.
        max_difference: maximum difference of the two: the longest gap inside an alignment.
        min_chain_score: minimum of covered bases minus gap costs.
        min_anchors: minimum anchors of a chain.
        max_suboptimal: suboptimal chains to align per segment of the read.
        suboptimal_percent: their minimum score, in percent of the best.
        query_gap: minimum gap in the query between two anchors of a chain that another chain may fill.
        step: minimum bases between the anchors that an alignment must pass.
        reach: bases by which each end of a chain is extended.
        zdrop: drop of the score, gaps between two anchors excepted, at which an alignment is split.
        min_score: minimum score of an alignment.
        min_split: minimum aligned bases of a supplementary alignment.
        doubt: if a gap gains at most this score, its sides are also aligned separately; 0: never.
        max_cells: maximum DP cells between two anchors; a larger matrix splits the alignment.
    """

    stretch: int = 500
    max_gap: int = 500
    max_difference: int = 100
    min_chain_score: int = 19
    min_anchors: int = 1
    max_suboptimal: int = 20
    suboptimal_percent: int = 50
    query_gap: int = 30
    step: int = 50
    reach: int = 500
    zdrop: int = 100
    min_score: int = 30
    min_split: int = 30
    doubt: int = 0
    max_cells: int = 1 << 26

    def native(self, max_hits: int) -> dict[str, int]:
        """The fields for native functions."""
        return {**asdict(self), "max_hits": max_hits}


SHORT_READS = Chaining()
#: ``Seeding.max_hits`` of long reads
LONG_READ_HITS = 200
LONG_READS = Chaining(
    max_gap=20_000,
    max_difference=12_000,
    min_chain_score=40,
    min_anchors=3,
    max_suboptimal=5,
    suboptimal_percent=80,
    query_gap=300,
    step=100,
    reach=1500,
    zdrop=400,
    min_score=80,
    doubt=100,
)
#: contigs against genomes: long gaps are common, short chains are repeats, and DP is for sequence between seeds only
CONTIGS = replace(
    LONG_READS,
    max_gap=10_000,
    min_chain_score=100,
    reach=300,
    zdrop=300,
    min_score=100,
    min_split=100,
    max_cells=1 << 20,
)
#: ``Seeding.max_hits`` of contigs, enough for seeds in all copies of a repeat family
CONTIG_HITS = 1000
