"""The rules of mapping as the structs of ``cuda/abi`` that native code and kernels take."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from gpualign import _native
from gpualign.map.pairs import ORIENTATIONS, PairModel
from gpualign.map.params import Chaining, MapParams, MapScoring, Splicing
from gpualign.run.abi import filled


def affine_scores(scoring: MapScoring) -> np.void:
    """``AffineScores``."""
    return filled("AffineScores", **asdict(scoring))


def chain_rules(
    k: int, w: int, scoring: MapScoring, chaining: Chaining, max_hits: int, splicing: Splicing | None = None
) -> np.void:
    """``ChainRules``; ``splicing``: alignments have introns."""
    introns, scores = intron_rules(splicing), affine_scores(scoring)
    return filled("ChainRules", k=k, w=w, scores=scores, max_hits=max_hits, introns=introns, **asdict(chaining))


def intron_rules(splicing: Splicing | None) -> np.void:
    """``IntronRules``, without introns if ``splicing`` is None. The costs of signals follow from how frequent they are
    (docs/internals/algorithms.md).
    """
    if splicing is None:
        return filled("IntronRules")
    flank = splicing.other_flank if splicing.splice_flank else 0
    rare, none = min(splicing.rare_signal, splicing.no_signal), splicing.no_signal
    return filled(
        "IntronRules",
        open=splicing.intron,
        donor=np.array([0, flank, min(splicing.gc_signal, none), rare, none], np.int32),
        acceptor=np.array([0, flank, rare, none], np.int32),
        known=splicing.known,
        shortest=splicing.min_intron,
        longest=splicing.max_intron,
        strands={"f": 1, "r": 2, "b": 3}[splicing.transcript_strand],
    )


def map_rules(k: int, w: int, bases: int, params: MapParams, pairs: PairModel) -> np.void:
    """``MapRules`` without its tables. ``bases``: of the reference."""
    return filled(
        "MapRules",
        k=k,
        w=w,
        max_hits=params.seeding.max_hits,
        max_candidates=params.seeding.max_candidates,
        scores=affine_scores(params.scoring),
        local=not params.end_to_end,
        locus_bits=_native.bits_of_locus(bases),
        pairs=(
            pairs.min,
            pairs.max,
            ORIENTATIONS.index(pairs.orientation),
            pairs.unpaired_penalty,
            params.splicing.max_intron if params.splicing else 0,
        ),
        **params.reporting.native,
    )
