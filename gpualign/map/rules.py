"""The rules of mapping as the structs of ``cuda/abi`` that native code and kernels take."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from gpualign import _native
from gpualign.map.pairs import ORIENTATIONS, PairModel
from gpualign.map.params import Chaining, MapParams, MapScoring
from gpualign.run.abi import filled


def affine_scores(scoring: MapScoring) -> np.void:
    """``AffineScores``."""
    return filled("AffineScores", **asdict(scoring))


def chain_rules(k: int, w: int, scoring: MapScoring, chaining: Chaining, max_hits: int) -> np.void:
    """``ChainRules``."""
    return filled("ChainRules", k=k, w=w, scores=affine_scores(scoring), max_hits=max_hits, **asdict(chaining))


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
        pairs=(pairs.min, pairs.max, ORIENTATIONS.index(pairs.orientation), pairs.unpaired_penalty),
        **params.reporting.native,
    )
