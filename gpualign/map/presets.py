"""Presets of `map -x`: parameters for MapParams.of_preset, by the kind of reads. Explicit options win."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualign.map.chaining import CONTIG_HITS, CONTIGS, LONG_READ_HITS, LONG_READS, Chaining


def _chained(
    k: int, w: int, match: int, mismatch: int, gaps: tuple[int, int, int, int], chaining: Chaining, max_hits: int
) -> dict[str, Any]:
    """A preset of reads or contigs that are mapped by chaining; ``gaps``: both gap penalties, each open and extend."""
    names = ("gap_open", "gap_extend", "long_gap_open", "long_gap_extend")
    scores = {"match": match, "mismatch": mismatch, **dict(zip(names, gaps, strict=True)), "clip_penalty": 0}
    return {"k": k, "w": w, **scores, "max_hits": max_hits, "long_reads": True, "chaining": chaining}


#: Long-read presets penalize gaps less relative to mismatches, as most errors of such reads are gaps. A second gap
#: penalty (minimap2's) treats a long gap as one event. Clipping is free, as adapters and foreign sequence are common.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "sr": {},
    "sr-sensitive": {"error_rate": 0.12, "max_hits": 10_000, "max_candidates": 512},
    "hifi": _chained(19, 19, 1, 4, (6, 2, 26, 1), LONG_READS, LONG_READ_HITS),
    "ont": _chained(15, 10, 2, 4, (4, 2, 24, 1), LONG_READS, LONG_READ_HITS),
    # minimap2's scores for genomes that differ by 5, 10 or 20 %
    "asm5": _chained(19, 19, 1, 19, (39, 3, 81, 1), CONTIGS, CONTIG_HITS),
    "asm10": _chained(19, 19, 1, 9, (16, 2, 41, 1), CONTIGS, CONTIG_HITS),
    "asm20": _chained(19, 10, 1, 4, (6, 2, 26, 1), CONTIGS, CONTIG_HITS),
}
