"""How reads are mapped by chaining."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Chaining:
    """Parameters of chaining (docs/algorithms.md, "Chaining"). The defaults are those of short reads.

    Attributes:
        stretch: bases of a read for which ``MapParams.most_hits`` holds.
        most_gap: bases between neighbouring anchors, on the read and on the reference.
        most_difference: difference of these two distances: the longest gap inside an alignment.
        min_chain_score: bases that a chain covers, less what its gaps cost.
        min_anchors: anchors of a chain.
        most_rivals: other chains of a part of the read that are aligned.
        rival_percent: of the best one's score, which they must reach.
        hole: bases without an anchor, between two of a chain, that another chain may have as its part of the read.
        step: bases between the points of the chain that the alignment passes, at least.
        reach: bases that an end is extended by.
        drop: score that an alignment may lose, gaps between two anchors forgiven, before it is broken in two.
        min_score: score of an alignment.
        min_part: aligned bases of a supplementary alignment.
    """

    stretch: int = 500
    most_gap: int = 500
    most_difference: int = 100
    min_chain_score: int = 19
    min_anchors: int = 1
    most_rivals: int = 20
    rival_percent: int = 50
    hole: int = 30
    step: int = 50
    reach: int = 500
    drop: int = 100
    min_score: int = 30
    min_part: int = 30

    @property
    def native(self) -> dict[str, int]:
        return asdict(self)


SHORT_READS = Chaining()
#: ``MapParams.most_hits`` of long reads
LONG_READ_HITS = 200
LONG_READS = Chaining(
    most_gap=5000,
    most_difference=2000,
    min_chain_score=40,
    min_anchors=3,
    most_rivals=5,
    rival_percent=80,
    hole=300,
    step=100,
    reach=1500,
    drop=400,
    min_score=80,
)
