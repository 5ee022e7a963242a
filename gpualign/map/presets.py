"""Presets of `map -x`: parameters for MapParams.of_preset, by the kind of reads. Explicit options win."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualign.map.chaining import CONTIG_HITS, CONTIGS, LONG_READ_HITS, LONG_READS


def _contigs(w: int, mismatch: int, gaps: tuple[int, int, int, int]) -> dict[str, Any]:
    """Presets of contigs, with minimap2's scores for genomes that differ by 5, 10 or 20 %."""
    names = ("gap_open", "gap_extend", "long_gap_open", "long_gap_extend")
    return {
        "k": 19,
        "w": w,
        "match": 1,
        "mismatch": mismatch,
        **dict(zip(names, gaps, strict=True)),
        "clip_penalty": 0,
        "max_hits": CONTIG_HITS,
        "long_reads": True,
        "chaining": CONTIGS,
    }


#: Long-read presets penalize gaps less relative to mismatches, as most errors of such reads are gaps. A second gap
#: penalty (minimap2's) treats a long gap as one event. Clipping is free, as adapters and foreign sequence are common.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "sr": {},
    "sr-sensitive": {"error_rate": 0.12, "max_hits": 10_000, "max_candidates": 512},
    "hifi": {
        "k": 19,
        "w": 19,
        "match": 1,
        "mismatch": 4,
        "gap_open": 6,
        "gap_extend": 2,
        "long_gap_open": 26,
        "long_gap_extend": 1,
        "clip_penalty": 0,
        "max_hits": LONG_READ_HITS,
        "long_reads": True,
        "chaining": LONG_READS,
    },
    "ont": {
        "k": 15,
        "w": 10,
        "match": 2,
        "mismatch": 4,
        "gap_open": 4,
        "gap_extend": 2,
        "long_gap_open": 24,
        "long_gap_extend": 1,
        "clip_penalty": 0,
        "max_hits": LONG_READ_HITS,
        "long_reads": True,
        "chaining": LONG_READS,
    },
    "asm5": _contigs(19, 19, (39, 3, 81, 1)),
    "asm10": _contigs(19, 9, (16, 2, 41, 1)),
    "asm20": _contigs(10, 4, (6, 2, 26, 1)),
}
