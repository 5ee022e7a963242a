"""How reads are mapped by chaining."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Chaining:
    """Parameters of chaining (docs/algorithms.md, "Chaining"). The defaults are those of short reads.

    Attributes:
        stretch: bases of a read for which ``Seeding.max_hits`` holds.
        max_gap: bases between neighbouring anchors, on the read or on the reference, whichever has fewer.
        max_difference: how many more the other has: the longest gap inside an alignment.
        min_chain_score: bases that a chain covers, less what its gaps cost.
        min_anchors: anchors of a chain.
        max_suboptimal: suboptimal chains of a stretch of the read that are aligned.
        suboptimal_percent: of the best one's score, which they must reach.
        query_gap: bases without an anchor, between two of a chain, that another chain may have as its own.
        step: bases between the points of the chain that the alignment passes, at least.
        reach: bases that each end of a chain is extended by.
        zdrop: score that an alignment may lose, gaps between two anchors forgiven, before it is broken in two.
        min_score: score of an alignment.
        min_split: aligned bases of a supplementary alignment.
        doubt: where a gap earns no more than that, its sides are aligned by themselves, too; 0: never.
        max_cells: of one dynamic program between two anchors; a larger one breaks the alignment.
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
        """As native functions take it."""
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
#: contigs against genomes: long gaps are common, what is short is a repeat, and a dynamic program is for what lies
#: between seeds, not for islands
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
#: ``Seeding.max_hits`` of contigs: all copies of a family lie between two of its seeds that belong together
CONTIG_HITS = 1000
